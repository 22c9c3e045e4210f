//===- Signature.cpp - What a compiled function takes -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Signature.h"

#include "kvq/IR/KVQ.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Index counts as an integer of 64 bits: it is one on every CPU target. Floats
/// that C and NumPy lack are passed as their bit patterns.
static bool setElement(ArgumentSpec &argument, Type type) {
  if (!type.isIntOrIndexOrFloat())
    return false;
  bool isNumber = type.isF16() || type.isF32() || type.isF64();
  argument.kind = isNumber ? ElementKind::Float : ElementKind::Integer;
  argument.bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return argument.bits == 8 || argument.bits == 16 || argument.bits == 32 ||
         argument.bits == 64;
}

/// Adds what `type` is passed as; false where that is not known.
static bool addArguments(std::vector<ArgumentSpec> &arguments, Type type,
                         const std::string &name, bool isWritten) {
  ArgumentSpec argument;
  argument.name = name;
  argument.isWritten = isWritten;
  if (auto cache = dyn_cast<CacheType>(type)) {
    for (const StorageComponent &component : cache.getComponents()) {
      std::string part = name + " (" + component.getName() + ")";
      if (!addArguments(arguments, component.getTensorType(), part,
                        isWritten && !component.given))
        return false;
    }
    return true;
  }
  auto shaped = dyn_cast<ShapedType>(type);
  argument.isArray = bool(shaped);
  if (shaped) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!isa<RankedTensorType>(type) &&
        !(memref && memref.getLayout().isIdentity()))
      return false;
    argument.shape = llvm::to_vector(shaped.getShape());
  }
  if (!setElement(argument, shaped ? shaped.getElementType() : type))
    return false;
  arguments.push_back(std::move(argument));
  return true;
}

llvm::Expected<Signature> kvq::getSignature(FunctionOpInterface function) {
  Signature signature;
  signature.name = function.getName().str();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    std::string name = "argument " + std::to_string(index);
    auto writable =
        function.getArgAttrOfType<BoolAttr>(index, "bufferization.writable");
    bool isWritten = !writable || writable.getValue();
    if (!addArguments(signature.arguments, type, name, isWritten))
      return llvm::createStringError(
          "function '" + signature.name + "', " + name +
          ": expected a cache, a tensor or a memref of integers or floats of "
          "8 to 64 bits, or such a scalar, got " +
          toText(type));
  }
  return signature;
}

llvm::Expected<std::vector<Signature>> kvq::getSignatures(ModuleOp module) {
  std::vector<Signature> signatures;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal() || function.isPrivate())
      continue;
    auto signature = getSignature(function);
    if (!signature)
      return signature.takeError();
    signatures.push_back(std::move(*signature));
  }
  return signatures;
}
