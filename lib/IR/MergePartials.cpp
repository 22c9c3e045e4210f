//===- MergePartials.cpp - Decomposition of kvq.merge_partials ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/StructuredOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvq;

FailureOr<SmallVector<Value>>
MergePartialsOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  Value accs = getInputs()[0], maxes = getInputs()[1], sums = getInputs()[2];
  int64_t rowAxes = cast<RankedTensorType>(getInits()[1].getType()).getRank();
  if (rowAxes > 20)
    return emitOpError("expected at most 20 row axes, got ") << rowAxes;

  // s: split; rows: one letter an axis; z: channel.
  std::string rows, splitRows = "s", rowChannels, all = "s";
  for (int64_t i = 0; i < rowAxes; ++i)
    rows += static_cast<char>('a' + i == 's' ? 'z' - 1 : 'a' + i);
  splitRows += rows;
  rowChannels = rows + "z";
  all += rowChannels;

  // The new maximum in place of the old one, which nothing reads any more then;
  // the old state weighed by what it is worth beside it.
  Value oldMax = getInits()[1];
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, oldMax);
  Value none = buildF32(b, loc, -std::numeric_limits<float>::infinity());
  Value lowest =
      linalg::FillOp::create(
          b, loc, none,
          tensor::EmptyOp::create(b, loc, extents, b.getF32Type()).getResult())
          .getResult(0);
  Value ofPartials =
      buildStructuredOp(
          b, loc, splitRows, "s", {{maxes, splitRows}}, {{lowest, rows}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
            return SmallVector<Value>{
                arith::MaximumFOp::create(b, loc, ins[0], outs[0])};
          })
          .front();
  Value weightInit = tensor::EmptyOp::create(b, loc, extents, b.getF32Type());
  SmallVector<Value> merged = buildStructuredOp(
      b, loc, rows, "", {{ofPartials, rows}},
      {{oldMax, rows}, {weightInit, rows}},
      [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
        Value max = arith::MaximumFOp::create(b, loc, ins[0], outs[0]);
        return SmallVector<Value>{max,
                                  buildSoftmaxWeight(b, loc, outs[0], max)};
      });
  Value max = merged[0], oldWeight = merged[1];
  auto scale = [&](Value state, StringRef axes) {
    return buildStructuredOp(
               b, loc, axes, "", {{oldWeight, rows}}, {{state, axes}},
               [](OpBuilder &b, Location loc, ValueRange ins, ValueRange outs) {
                 return SmallVector<Value>{buildMul(b, loc, outs[0], ins[0])};
               })
        .front();
  };

  // The partials, each weighed alike, in the order of the splits.
  Value weightsInit = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, maxes), b.getF32Type());
  Value weights =
      buildStructuredOp(
          b, loc, splitRows, "", {{maxes, splitRows}, {max, rows}},
          {{weightsInit, splitRows}},
          [](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
            return SmallVector<Value>{
                buildSoftmaxWeight(b, loc, ins[0], ins[1])};
          })
          .front();
  auto identity = [](OpBuilder &, Location, Value value) { return value; };
  Value sum = buildContraction(b, loc, splitRows, "s", {weights, splitRows},
                               {sums, splitRows},
                               {scale(getInits()[2], rows), rows}, identity);
  Value acc = buildContraction(
      b, loc, all, "s", {weights, splitRows}, {accs, all},
      {scale(getInits()[0], rowChannels), rowChannels}, identity);
  return SmallVector<Value>{acc, max, sum};
}
