//===- QuantizeDecomposition.cpp - kvq.quantize to structured ops ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AggregatedOpInterface of kvq.quantize: linalg.generic on tensors, with the
// format's arithmetic in the bodies. What is written goes into the op's inits
// or views of them, so that bufferization is in place.
//
//===----------------------------------------------------------------------===//

#include "GroupMetadata.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::kvq;

/// The codes of the split `input` under its metadata, written into `init`.
static Value buildCodes(OpBuilder &b, Location loc, FormatInterface format,
                        const GroupLoops &loops, Value input,
                        ValueRange metadata, Value init) {
  SmallVector<Value> inputs = {input};
  SmallVector<AffineMap> maps = {loops.getRowsMap()};
  for (Value part : metadata) {
    inputs.push_back(part);
    maps.push_back(loops.getMetadataMap(part.getType()));
  }
  maps.push_back(loops.getRowsMap());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [scale, zero] =
        readMetadata(b, loc, format, args.slice(1, metadata.size()));
    Value code =
        format.buildEncode(b, loc, buildElement(b, loc, args[0]), scale, zero);
    linalg::YieldOp::create(b, loc, code);
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   loops.getParallelIterators(), body)
      .getResult(0);
}

/// The scales that fit the `codes` of the elements `input`, both split, written
/// into `init`.
static Value buildFittedScales(OpBuilder &b, Location loc,
                               FormatInterface format, const GroupLoops &loops,
                               Value input, Value codes, ValueRange given,
                               Value init) {
  // The terms apart from their sums, whose order leaves no room for vectors.
  SmallVector<Value> terms(2);
  for (Value &term : terms)
    term = buildEmptyLike(b, loc, input, b.getF32Type());
  SmallVector<AffineMap> maps(4, loops.getRowsMap());
  auto buildTerms = [&](OpBuilder &b, Location loc, ValueRange args) {
    auto [first, second] =
        format.buildFitTerms(b, loc, args[1], buildElement(b, loc, args[0]));
    linalg::YieldOp::create(b, loc, {first, second});
  };
  terms = linalg::GenericOp::create(b, loc, ValueRange(terms).getTypes(),
                                    ValueRange{input, codes}, terms, maps,
                                    loops.getParallelIterators(), buildTerms)
              .getResults();
  auto add = [&](OpBuilder &b, Location loc, ValueRange args) {
    return SmallVector<Value>{arith::AddFOp::create(b, loc, args[2], args[0]),
                              arith::AddFOp::create(b, loc, args[3], args[1])};
  };
  SmallVector<Value> sums =
      reduceGroups(b, loc, loops, terms, init, {0.0, 0.0}, add);
  auto buildScale = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value outer = given.empty() ? Value() : args[2];
    return SmallVector<Value>{
        format.buildFittedScale(b, loc, args[0], args[1], outer)};
  };
  llvm::append_range(sums, given);
  return mapGroups(b, loc, sums, init, buildScale).front();
}
FailureOr<SmallVector<Value>> QuantizeOp::decomposeOperation(OpBuilder &b) {
  Location loc = getLoc();
  auto rows = cast<RankedTensorType>(getInputs().front().getType());
  FormatInterface format = resolveFormat(getFormat(), rows);
  Value codesInit = getInits().front();
  ValueRange given = getInputs().drop_front();
  GroupLoops loops(format, rows, getMetadataRows(format));

  Value input = loops.split(b, loc, getInputs().front());
  MetadataTensors metadata = measureGroups(b, loc, format, loops, input, given,
                                           getInits().drop_front());
  Value init = loops.split(b, loc, codesInit);
  Value codes = buildCodes(b, loc, format, loops, input, metadata.encode, init);
  if (format.fitsScale() && !format.hasStaticRange())
    metadata.stored.front() = buildFittedScales(
        b, loc, format, loops, input, codes, given, metadata.stored.front());
  SmallVector<Value> results = {loops.join(b, loc, codes, codesInit.getType())};
  llvm::append_range(results, metadata.stored);
  return results;
}
