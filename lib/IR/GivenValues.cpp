//===- GivenValues.cpp - Checks of given components -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/GivenValues.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

/// The number that the bytes `data` of one element stand for.
static double decode(Type type, bool isSigned, StringRef data) {
  uint64_t bits = 0;
  for (auto [index, byte] : llvm::enumerate(data))
    bits |= uint64_t(uint8_t(byte)) << (8 * index);
  unsigned width = 8 * data.size();
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return isSigned ? double(llvm::SignExtend64(bits, width)) : double(bits);
  APFloat value(floatType.getFloatSemantics(), APInt(width, bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

llvm::Error kvq::checkGivenValues(CacheType type,
                                  const StorageComponent &component,
                                  StringRef data) {
  size_t bytes = component.elementType.getIntOrFloatBitWidth() / 8;
  int64_t rowSize = component.shape.back();
  bool areSigns = component.kind == ComponentKind::Signs;
  auto [least, most] = type.getFormat().getGivenBounds(component.kind);
  for (int64_t index = 0; !data.empty(); ++index) {
    double value =
        decode(component.elementType, areSigns, data.take_front(bytes));
    data = data.drop_front(bytes);
    if (value >= least && value <= most && !(areSigns && value == 0.0))
      continue;
    std::string text;
    llvm::raw_string_ostream(text)
        << "expected given " << component.getName()
        << (areSigns ? " of " : " from ") << llvm::format("%.9g", least)
        << (areSigns ? " or " : " to ") << llvm::format("%.9g", most)
        << ", got " << llvm::format("%.9g", value) << " at [" << index / rowSize
        << ", " << index % rowSize << "]";
    return llvm::createStringError(text);
  }
  return llvm::Error::success();
}
