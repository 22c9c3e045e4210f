//===- IntegerTiles.cpp - Integers with codes in tiles of a layout --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntegerFolder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvq;

/// How the codes of each part are extended; with `aboveLeast` as unsigned
/// numbers, by which they are above the least code.
SmallVector<IntegerFolder::IntegerPart>
IntegerFolder::getIntegerParts(std::optional<CodePlanes> planes,
                               bool aboveLeast) {
  CodePlanes bytes{/*count=*/1, /*bits=*/8, format.hasSignedCodes(),
                   /*bias=*/false};
  CodePlanes held = planes.value_or(bytes);
  bool isCode = !planes && !aboveLeast;
  SmallVector<IntegerPart> parts;
  for (const TilePart &part : getTileParts(planes)) {
    int64_t plane = parts.size();
    auto extend = [=](OpBuilder &b, Location loc, Value byte) -> Value {
      Type i32 = b.getI32Type();
      if (aboveLeast)
        return arith::ExtUIOp::create(
            b, loc, i32, held.buildCodeAboveLeast(b, loc, byte, plane));
      return arith::ExtSIOp::create(b, loc, i32,
                                    held.buildCode(b, loc, byte, plane));
    };
    parts.push_back({part, isCode ? CodeBody() : extend});
  }
  return parts;
}

/// scores[r, t] += sum over pairs p of channels, for all tokens of the tile.
Value IntegerFolder::contractPairsOfKeys(const IntegerPart &part, Value query,
                                         Value stored,
                                         ArrayRef<StructuredOperand> factors,
                                         Value scores) {
  Value pairs =
      slice(splitPairs(query), {0, part.firstGroup, part.firstChannel / 2, 0},
            {rows, part.groups, part.channels / 2, 2});
  return contractIntegers("rtgcp", "gcp", {pairs, "rgcp"}, {stored, "gctp"},
                          factors, {scores, "rt"}, part.extend);
}

/// The same over four channels q at once, of two pairs that lie `tokens` apart.
Value IntegerFolder::contractQuadsOfKeys(const IntegerPart &part, Value query,
                                         Value stored,
                                         ArrayRef<StructuredOperand> factors,
                                         Value scores) {
  Value quads =
      slice(splitLast(query, 4), {0, part.firstGroup, part.firstChannel / 4, 0},
            {rows, part.groups, part.channels / 4, 4});
  AffineExpr r, t, g, c, q;
  bindDims(b.getContext(), r, t, g, c, q);
  AffineMap map = AffineMap::get(5, 0, {g, c * 2 + q.floorDiv(2), t, q % 2},
                                 b.getContext());
  return contractIntegers("rtgcq", "gcq", {quads, "rgcq"}, {stored, "", map},
                          factors, {scores, "rt"}, part.extend);
}

/// scores[r, t] += sum_g s[g, t] step[r, g] least (sum_c n[r, g, c]): what
/// codes that count from the least one leave out.
Value IntegerFolder::addLeast(const Integers &query, unsigned bits, Value steps,
                              Value scales, Value scores) {
  Value least;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({query.codes, steps});
    Value sums = buildSums(query, steps, "rgc", "c");
    double code = -static_cast<double>(1 << (bits - 1));
    least = buildStructuredOp(
                b, loc, "rg", "", {{sums, "rg"}},
                {{buildEmpty({rows, groups}), "rg"}},
                [&](OpBuilder &b, Location loc, ValueRange ins, ValueRange) {
                  return SmallVector<Value>{
                      buildMul(b, loc, ins[0], buildF32(b, loc, code))};
                })
                .front();
  }
  return contract("rtg", "g", {least, "rg"}, {scales, "gt"}, {scores, "rt"});
}

Value IntegerFolder::foldKeysOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  return contractKeysOfTile(planes, getFirstOfTile(load), [&] {
    return loadStored(load, planes.has_value());
  });
}

/// `value`, whose `axes` begin with tokens, as part of a tensor of all tokens
/// of a tile, with its axes in the order of `turned`.
Value IntegerFolder::turn(Value value, StringRef axes, StringRef turned) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes;
  for (char axis : turned) {
    bool isTokens = axis == axes.front();
    shape.push_back(isTokens ? tokenBound : type.getDimSize(axes.find(axis)));
    sizes.push_back(isTokens ? tokens : fixed(shape.back()));
  }
  Value all = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  SmallVector<OpFoldResult> first(shape.size(), fixed(0)),
      ones(shape.size(), fixed(1));
  Value part = tensor::ExtractSliceOp::create(b, loc, all, first, sizes, ones);
  part =
      buildStructuredOp(b, loc, turned, "", {{value, axes}}, {{part, turned}},
                        [](OpBuilder &, Location, ValueRange ins, ValueRange) {
                          return SmallVector<Value>{ins.front()};
                        })
          .front();
  return tensor::InsertSliceOp::create(b, loc, part, all, first, sizes, ones);
}

/// Rows in the order of a tile of pairs of channels, as far as there are any.
SmallVector<Value> IntegerFolder::turnRows() {
  Value turned = turn(splitPairs(expandChannels(codes)), "tgcp", "gctp");
  SmallVector<Value> tile = {
      tensor::CollapseShapeOp::create(
          b, loc, turned, SmallVector<ReassociationIndices>{{0, 1}, {2}, {3}}),
      turn(scales, "tg", "gt")};
  if (zeros)
    tile.push_back(turn(zeros, "tg", "gt"));
  return tile;
}

/// Whether rows are turned into a tile: it costs about what the products of one
/// row of the query do, and spares the sums over lanes of each row and token.
bool IntegerFolder::paysToTurnRows() const {
  return lanes && rows > 1 && (headDim / groups) % 2 == 0;
}

/// As foldKeysOfToken, for all tokens of a tile of pairs of channels: what is
/// no token of the load gives a score that nothing reads. Of a query of i8,
/// four products with unsigned codes are added at once where processors can.
Value IntegerFolder::contractKeysOfTile(
    std::optional<CodePlanes> planes, OpFoldResult first,
    function_ref<SmallVector<Value>()> load) {
  int64_t ofPart =
      std::min(headDim / groups, headDim / (planes ? planes->count : 1));
  bool inQuads = width == 8 && ofPart % 4 == 0;
  Integers integers;
  Value steps, sums;
  {
    OpBuilder::InsertionGuard guard(b);
    leaveLoops({op.other, outer});
    Value query = expandChannels(op.other);
    integers = buildIntegers(getNumbers({query, "rgc"}), "c",
                             inQuads ? b.getIntegerType(8) : type);
    steps = scaleSteps(integers.steps, "rg");
    if (zeros)
      sums = buildSums(integers,
                       format.offsetNeedsScale() ? steps : integers.steps,
                       "rgc", "c");
  }
  SmallVector<Value> stored = load();
  Type byte = getElementTypeOrSelf(stored[0]);
  SmallVector<int64_t> ofRows = {rows, tokenBound};
  Value scores = buildFill(b, loc, buildEmpty(ofRows), 0.f);
  for (const IntegerPart &part :
       getIntegerParts(planes, /*aboveLeast=*/inQuads)) {
    Value tile = tensor::ExpandShapeOp::create(
        b, loc,
        RankedTensorType::get({part.groups, part.channels / 2, tokenBound, 2},
                              byte),
        stored[0], SmallVector<ReassociationIndices>{{0, 1}, {2}, {3}});
    Value ofQuery = slice(steps, {0, part.firstGroup}, {rows, part.groups});
    Value ofKeys =
        slice(stored[1], {part.firstGroup, 0}, {part.groups, tokenBound});
    SmallVector<StructuredOperand> factors = {{ofQuery, "rg"}, {ofKeys, "gt"}};
    scores =
        inQuads
            ? contractQuadsOfKeys(part, integers.codes, tile, factors, scores)
            : contractPairsOfKeys(part, integers.codes, tile, factors, scores);
  }
  if (inQuads && format.hasSignedCodes())
    scores =
        addLeast(integers, planes ? planes->bits : 8, steps, stored[1], scores);
  return finishKeysOfTile(scores, sums, first, stored);
}

/// As foldValuesOfToken, in a tile of pairs p of tokens: what is no token of
/// the load has the integer 0.
Value IntegerFolder::foldValuesOfTile(LoadTileOp load) {
  std::optional<CodePlanes> planes = findPlanes(load);
  SmallVector<Value> stored = loadStored(load, planes.has_value());
  SmallVector<int64_t> shape = {rows, groups, tokenBound};
  OpFoldResult first = getFirstOfTile(load);
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, 0));
  Value all = tensor::EmptyOp::create(b, loc, shape, type);
  all = linalg::FillOp::create(b, loc, zero, all).getResult(0);
  Integers integers =
      buildIntegers(getWeights({cutTokens(stored[1], first), "gt"}), "t", type,
                    cutTokens(all, first));
  all = splitPairs(insertTokens(integers.codes, all, first));
  Type byte = getElementTypeOrSelf(stored[0]);
  Value result = expandChannels(op.output);
  for (const IntegerPart &part :
       getIntegerParts(planes, /*aboveLeast=*/false)) {
    Value tile = tensor::ExpandShapeOp::create(
        b, loc,
        RankedTensorType::get({tokenBound / 2, part.groups, part.channels, 2},
                              byte),
        stored[0], SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}});
    Value pairs = slice(all, {0, part.firstGroup, 0, 0},
                        {rows, part.groups, tokenBound / 2, 2});
    Value steps =
        slice(integers.steps, {0, part.firstGroup}, {rows, part.groups});
    auto output = slice(result, {0, part.firstGroup, part.firstChannel},
                        {rows, part.groups, part.channels});
    Value sums =
        contractIntegers("rgcsp", "sp", {pairs, "rgsp"}, {tile, "sgcp"},
                         {{steps, "rg"}}, {output, "rgc"}, part.extend);
    result = tensor::InsertSliceOp::create(
        b, loc, sums, result, output.getMixedOffsets(), output.getMixedSizes(),
        output.getMixedStrides());
  }
  return finishValuesOfTile(result, first, stored);
}
