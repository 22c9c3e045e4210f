//===- CountSaturated.cpp - kvq.count_saturated to structured ops ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupMetadata.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::kvq;

FailureOr<SmallVector<Value>>
CountSaturatedOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto rows = cast<RankedTensorType>(getInputs().front().getType());
  FormatInterface format = resolveFormat(getFormat(), rows);
  GroupLoops loops(format, rows, getMetadataRows(format));
  SmallVector<Value> inputs(getInputs());
  inputs.front() = loops.split(b, loc, inputs.front());
  Value init = loops.split(b, loc, getInit());

  // All tokens and channels, whether within a group or not, add to one count.
  unsigned leading = loops.countLoops(rows.getRank() - 2);
  SmallVector<utils::IteratorType> iterators(loops.size(),
                                             utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), leading, utils::IteratorType::parallel);
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value metadata : ArrayRef(inputs).drop_front())
    maps.push_back(loops.getMetadataMap(metadata.getType()));
  maps.push_back(AffineMap::get(
      loops.size(), 0, loops.getRowsMap().getResults().take_front(leading),
      getContext()));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [scale, zero] =
        readMetadata(b, loc, format, args.slice(1, inputs.size() - 1));
    Value saturates = format.buildSaturates(
        b, loc, buildElement(b, loc, args.front()), scale, zero);
    Value one = arith::ExtUIOp::create(b, loc, b.getI64Type(), saturates);
    Value sum = arith::AddIOp::create(b, loc, args.back(), one);
    linalg::YieldOp::create(b, loc, sum);
  };
  Value counts = linalg::GenericOp::create(b, loc, init.getType(), inputs, init,
                                           maps, iterators, body)
                     .getResult(0);
  return SmallVector<Value>{loops.join(b, loc, counts, getInit().getType())};
}
