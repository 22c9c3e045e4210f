//===- Codebook.cpp - Codes by table --------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FloatText.h"

#include "kvq/IR/FloatArithmetic.h"
#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// NormalFloat of 4 bits, as bitsandbytes has it.
static constexpr float kNF4[] = {-1.0f,
                                 -0.6961928009986877f,
                                 -0.5250730514526367f,
                                 -0.39491748809814453f,
                                 -0.28444138169288635f,
                                 -0.18477343022823334f,
                                 -0.09105003625154495f,
                                 0.0f,
                                 0.07958029955625534f,
                                 0.16093020141124725f,
                                 0.24611230194568634f,
                                 0.33791524171829224f,
                                 0.44070982933044434f,
                                 0.5626170039176941f,
                                 0.7229568362236023f,
                                 1.0f};

/// ggml's kvalues_iq4nl.
static constexpr float kIQ4NL[] = {-127.f, -104.f, -83.f, -65.f, -49.f, -35.f,
                                   -22.f,  -10.f,  1.f,   13.f,  25.f,  38.f,
                                   53.f,   69.f,   89.f,  113.f};

/// The positive values of the least squared error for N(0, 1).
static constexpr float kLloydMax1[] = {0.797885f};
static constexpr float kLloydMax2[] = {0.452780f, 1.510418f};
static constexpr float kLloydMax3[] = {0.245094f, 0.756005f, 1.343909f,
                                       2.151946f};
static constexpr float kLloydMax4[] = {0.128395f, 0.388048f, 0.656759f,
                                       0.942340f, 1.256231f, 1.618046f,
                                       2.069017f, 2.732590f};
static constexpr int64_t kMaxLloydMaxBits = 4;
static constexpr int64_t kMaxValues = 16;

static SmallVector<float> getLloydMax(int64_t bits) {
  ArrayRef<float> tables[] = {kLloydMax1, kLloydMax2, kLloydMax3, kLloydMax4};
  ArrayRef<float> positive = tables[bits - 1];
  SmallVector<float> values;
  for (float value : llvm::reverse(positive))
    values.push_back(-value);
  llvm::append_range(values, positive);
  return values;
}

//===----------------------------------------------------------------------===//
// Attribute
//===----------------------------------------------------------------------===//

static ParseResult parseValues(AsmParser &parser, SmallVector<float> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    APFloat value(APFloat::IEEEsingle());
    if (parser.parseFloat(value.getSemantics(), value))
      return failure();
    values.push_back(value.convertToFloat());
    return success();
  });
}

static ParseResult parseLloydMax(AsmParser &parser,
                                 SmallVector<float> &values) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t bits;
  if (parser.parseInteger(bits))
    return failure();
  if (bits < 1 || bits > kMaxLloydMaxBits)
    return parser.emitError(loc) << "expected lloyd_max of 1 to "
                                 << kMaxLloydMaxBits << " bits, got " << bits;
  values = getLloydMax(bits);
  return success();
}

Attribute CodebookAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  SmallVector<float> values;
  if (parser.parseLess() || parser.parseKeyword(&name))
    return {};
  if (name == "nf4") {
    values.assign(std::begin(kNF4), std::end(kNF4));
  } else if (name == "iq4_nl") {
    values.assign(std::begin(kIQ4NL), std::end(kIQ4NL));
  } else if (name == "lloyd_max") {
    if (parser.parseEqual() || parseLloydMax(parser, values))
      return {};
  } else if (name == "values") {
    if (parser.parseEqual() || parseValues(parser, values))
      return {};
  } else {
    parser.emitError(loc) << "expected codebook nf4, iq4_nl, lloyd_max = bits "
                             "or values = [...], got '"
                          << name << "'";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CodebookAttr>(
      loc, parser.getContext(),
      DenseF32ArrayAttr::get(parser.getContext(), values));
}

void CodebookAttr::print(AsmPrinter &printer) const {
  ArrayRef<float> values = getValues();
  printer << "<";
  if (values == ArrayRef(kNF4)) {
    printer << "nf4>";
    return;
  }
  if (values == ArrayRef(kIQ4NL)) {
    printer << "iq4_nl>";
    return;
  }
  for (int64_t bits = 1; bits <= kMaxLloydMaxBits; ++bits)
    if (values == ArrayRef(getLloydMax(bits))) {
      printer << "lloyd_max = " << bits << ">";
      return;
    }
  printer << "values = [";
  llvm::interleaveComma(values, printer,
                        [&](float value) { printer << toShortestText(value); });
  printer << "]>";
}

LogicalResult CodebookAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   DenseF32ArrayAttr attribute) {
  ArrayRef<float> values = attribute.asArrayRef();
  if (values.size() < 2 || values.size() > kMaxValues)
    return emitError() << "expected a codebook of 2 to " << kMaxValues
                       << " values, got " << values.size();
  for (float value : values)
    if (!std::isfinite(value))
      return emitError() << "expected finite values in a codebook, got "
                         << value;
  for (size_t i = 1; i < values.size(); ++i)
    if (!(values[i - 1] < values[i]))
      return emitError()
             << "expected strictly increasing values in a codebook, got "
             << toShortestText(values[i]) << " after "
             << toShortestText(values[i - 1]);
  return success();
}

bool CodebookAttr::hasZero() const {
  return llvm::is_contained(getValues().asArrayRef(), 0.0f);
}

/// Bits that the index of a value takes.
static unsigned getIndexBits(ArrayRef<float> values) {
  return llvm::Log2_64_Ceil(values.size());
}

unsigned CodebookAttr::getBits() const { return getIndexBits(getValues()); }

SmallVector<float> CodebookAttr::getQuotients(float divisor) const {
  return llvm::map_to_vector(getValues().asArrayRef(),
                             [&](float value) { return value / divisor; });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// The largest f32 that is at most half of a step beyond the value `outer`,
/// where `inner` is the one before it.
static float getUpperBound(float inner, float outer) {
  constexpr APFloat::roundingMode kDown = APFloat::rmTowardNegative;
  APFloat bound(static_cast<double>(outer));
  bound.subtract(APFloat(static_cast<double>(inner)), kDown);
  bound.multiply(APFloat(0.5), kDown);
  bound.add(APFloat(static_cast<double>(outer)), kDown);
  bool losesInfo;
  bound.convert(APFloat::IEEEsingle(), kDown, &losesInfo);
  return bound.convertToFloat();
}

namespace {

class CodebookCodec : public Codec {
public:
  CodebookCodec(ArrayRef<float> values, RuleTies ties)
      : bits(getIndexBits(values)), values(values), ties(ties) {}

  unsigned getBits() const override { return bits; }
  double getLargest() const override {
    return std::max(std::abs(values.front()), std::abs(values.back()));
  }
  double getLowest() const override { return values.front(); }
  double getNumberOfZero() const override { return values.front(); }
  bool supportsTies(RuleTies ties) const override {
    return ties == RuleTies::Even || ties == RuleTies::Up;
  }
  std::pair<float, float> getBounds() const override {
    size_t last = values.size() - 1;
    return {-getUpperBound(-values[1], -values[0]),
            getUpperBound(values[last - 1], values[last])};
  }

  Value buildCode(OpBuilder &b, Location loc, Value number) const override;
  Value buildNumber(OpBuilder &b, Location loc, Value code) const override;

private:
  unsigned bits;
  SmallVector<float> values;
  RuleTies ties;
};

} // namespace

std::unique_ptr<Codec> kvq::getCodebookCodec(ArrayRef<float> values,
                                             RuleTies ties) {
  return std::make_unique<CodebookCodec>(values, ties);
}

/// The middle between two numbers, rounded to f32: down, an f32 is above it if
/// and only if it is nearer to the upper one; up, it is below it if and only if
/// it is nearer to the lower one.
static float getThreshold(float lower, float upper,
                          llvm::RoundingMode direction) {
  APFloat sum(static_cast<double>(lower));
  sum.add(APFloat(static_cast<double>(upper)), direction);
  sum.multiply(APFloat(0.5), direction);
  bool losesInfo;
  sum.convert(APFloat::IEEEsingle(), direction, &losesInfo);
  return sum.convertToFloat();
}

Value CodebookCodec::buildCode(OpBuilder &b, Location loc, Value number) const {
  // The index is the number of thresholds below, or at, the number.
  bool up = ties == RuleTies::Up;
  auto direction = up ? APFloat::rmTowardPositive : APFloat::rmTowardNegative;
  auto predicate = up ? arith::CmpFPredicate::OGE : arith::CmpFPredicate::OGT;
  Type i32 = b.getI32Type();
  Value index;
  for (size_t i = 1; i < values.size(); ++i) {
    Value threshold =
        buildF32(b, loc, getThreshold(values[i - 1], values[i], direction));
    Value above = arith::CmpFOp::create(b, loc, predicate, number, threshold);
    Value step = arith::ExtUIOp::create(b, loc, i32, above);
    index =
        index ? arith::AddIOp::create(b, loc, index, step).getResult() : step;
  }
  return arith::TruncIOp::create(b, loc, b.getI8Type(), index);
}

/// Elements of a table that one shuffle of a vector looks up.
static constexpr int64_t kShuffledValues = 8;

static Value buildI32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantOp::create(b, loc,
                                   b.getIntegerAttr(b.getI32Type(), value));
}

/// The element of `table`, of `kShuffledValues` values, that the lowest bits of
/// the i32 `index` name. On vectors it is a shuffle where a target has one.
static Value buildShuffle(OpBuilder &b, Location loc, Value index,
                          ArrayRef<float> table) {
  auto type = VectorType::get({kShuffledValues}, b.getF32Type());
  Value values =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, table));
  Value position = arith::AndIOp::create(b, loc, index,
                                         buildI32(b, loc, kShuffledValues - 1));
  position = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), position);
  return vector::ExtractOp::create(b, loc, values, OpFoldResult(position));
}

/// The element of `table`, of 2^n values, that the lowest bits of the i32
/// `index` name: short tables by selects, longer ones by shuffles.
static Value buildLookup(OpBuilder &b, Location loc, Value index,
                         ArrayRef<float> table) {
  int64_t size = table.size(), half = size / 2;
  if (size == 1)
    return buildF32(b, loc, table.front());
  if (size == kShuffledValues)
    return buildShuffle(b, loc, index, table);
  Value lower = buildLookup(b, loc, index, table.take_front(half));
  Value upper = buildLookup(b, loc, index, table.drop_front(half));
  Value isUpper = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ne,
      arith::AndIOp::create(b, loc, index, buildI32(b, loc, half)),
      buildI32(b, loc, 0));
  return arith::SelectOp::create(b, loc, isUpper, upper, lower);
}

Value CodebookCodec::buildNumber(OpBuilder &b, Location loc, Value code) const {
  SmallVector<float> table(values);
  table.resize(size_t(1) << bits, values.back());
  Value index = arith::ExtUIOp::create(b, loc, b.getI32Type(), code);
  return buildLookup(b, loc, index, table);
}
