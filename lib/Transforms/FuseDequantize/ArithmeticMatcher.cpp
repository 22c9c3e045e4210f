//===- ArithmeticMatcher.cpp - Dequantization that is written out ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The value of one channel: from the operand back to bytes and metadata. What
// all channels have in common is found in ArithmeticFormat.cpp.
//
//===----------------------------------------------------------------------===//

#include "ArithmeticMatcher.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

static std::string describe(const TracedElement &element) {
  Operation *op = element.value.getDefiningOp();
  if (!op)
    return "a block argument";
  return ("made by '" + op->getName().getStringRef() + "'").str();
}

//===----------------------------------------------------------------------===//
// Integers that are known
//===----------------------------------------------------------------------===//

/// The number that an attribute has for an element.
static std::optional<int64_t> getNumber(Attribute constant,
                                        ArrayRef<AffineExpr> indices) {
  if (auto number = dyn_cast<IntegerAttr>(constant))
    return number.getValue().getSExtValue();
  if (auto number = dyn_cast<FloatAttr>(constant)) {
    double value = number.getValueAsDouble();
    int64_t integer = int64_t(value);
    return double(integer) == value ? std::optional(integer) : std::nullopt;
  }
  auto elements = dyn_cast<DenseElementsAttr>(constant);
  if (!elements)
    return std::nullopt;
  if (elements.isSplat())
    return getNumber(elements.getSplatValue<Attribute>(), {});
  SmallVector<uint64_t> position;
  for (AffineExpr index : indices) {
    std::optional<int64_t> number = getConstantIndex(index);
    if (!number)
      return std::nullopt;
    position.push_back(*number);
  }
  if (!ElementsAttr::isValidIndex(elements.getType(), position))
    return std::nullopt;
  return getNumber(elements.getValues<Attribute>()[position], {});
}

/// `lhs` and `rhs` under an op; nothing where it is another one, or undefined.
static std::optional<int64_t> compute(Operation *op, int64_t lhs, int64_t rhs) {
  bool divides =
      isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp>(op);
  if (divides && (lhs < 0 || rhs <= 0))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<arith::AddIOp>([&](auto) { return lhs + rhs; })
      .Case<arith::SubIOp>([&](auto) { return lhs - rhs; })
      .Case<arith::MulIOp>([&](auto) { return lhs * rhs; })
      .Case<arith::DivUIOp, arith::DivSIOp>([&](auto) { return lhs / rhs; })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return lhs % rhs; })
      .Case<arith::AndIOp>([&](auto) { return lhs & rhs; })
      .Case<arith::CmpIOp>([&](arith::CmpIOp compare) {
        constexpr unsigned kBits = 64;
        return int64_t(arith::applyCmpPredicate(compare.getPredicate(),
                                                APInt(kBits, lhs, true),
                                                APInt(kBits, rhs, true)));
      })
      .Default([](auto) { return std::nullopt; });
}

/// The integer that an element is, whatever batch, head and token.
std::optional<int64_t> ArithmeticMatcher::evaluate(TracedElement element) {
  if (failed(tracer.skipMoves(element)))
    return std::nullopt;
  Operation *op = element.value.getDefiningOp();
  if (!op)
    return std::nullopt;
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return getNumber(constant, element.indices);
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return getConstantIndex(element.indices[index.getDim()]);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
          arith::ExtSIOp, arith::TruncIOp>(op))
    return evaluate(tracer.getOperand(element, 0));
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<int64_t> lhs = evaluate(tracer.getOperand(element, 0));
  std::optional<int64_t> rhs = evaluate(tracer.getOperand(element, 1));
  return lhs && rhs ? compute(op, *lhs, *rhs) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The bits of a code
//===----------------------------------------------------------------------===//

FailureOr<TracedBits>
ArithmeticMatcher::traceShift(const TracedElement &element) {
  Operation *op = element.value.getDefiningOp();
  FailureOr<TracedBits> traced = traceBits(tracer.getOperand(element, 0));
  if (failed(traced))
    return failure();
  std::optional<int64_t> amount = evaluate(tracer.getOperand(element, 1));
  auto &bits = traced->bits;
  bool isQuotient = isa<arith::DivUIOp>(op);
  if (isQuotient && amount && llvm::isPowerOf2_64(*amount))
    amount = llvm::Log2_64(*amount);
  else if (isQuotient)
    amount = std::nullopt;
  if (!amount || *amount < 0 || *amount >= int64_t(bits.size()))
    return tracer.fail("its codes are shifted by a number of bits that is not "
                       "known");
  if (isa<arith::ShLIOp>(op)) {
    bits.insert(bits.begin(), *amount, TracedBits::Bit());
    bits.truncate(bits.size() - *amount);
    return traced;
  }
  TracedBits::Bit above =
      isa<arith::ShRSIOp>(op) ? bits.back() : TracedBits::Bit();
  bits.erase(bits.begin(), bits.begin() + *amount);
  bits.append(*amount, above);
  return traced;
}

FailureOr<TracedBits>
ArithmeticMatcher::traceMask(const TracedElement &element) {
  Operation *op = element.value.getDefiningOp();
  for (unsigned side : {1, 0}) {
    std::optional<int64_t> mask = evaluate(tracer.getOperand(element, side));
    if (!mask || (side == 0 && isa<arith::RemUIOp>(op)))
      continue;
    if (isa<arith::RemUIOp>(op)) {
      if (!llvm::isPowerOf2_64(*mask))
        break;
      --*mask;
    }
    FailureOr<TracedBits> traced =
        traceBits(tracer.getOperand(element, 1 - side));
    if (failed(traced))
      return failure();
    for (auto [position, bit] : llvm::enumerate(traced->bits))
      if (!(*mask >> position & 1))
        bit = TracedBits::Bit();
    return traced;
  }
  return tracer.fail("its codes are masked by what is not known");
}

FailureOr<TracedBits> ArithmeticMatcher::traceOr(const TracedElement &element) {
  FailureOr<TracedBits> lhs = traceBits(tracer.getOperand(element, 0));
  if (failed(lhs))
    return failure();
  FailureOr<TracedBits> rhs = traceBits(tracer.getOperand(element, 1));
  if (failed(rhs))
    return failure();
  for (auto [bit, other] : llvm::zip_equal(lhs->bits, rhs->bits)) {
    if (other.source < 0)
      continue;
    if (bit.source >= 0)
      return tracer.fail("bits of its codes are joined with other ones");
    bit = {other.source + int(lhs->sources.size()), other.position};
  }
  llvm::append_range(lhs->sources, rhs->sources);
  return lhs;
}

FailureOr<TracedBits> ArithmeticMatcher::traceBits(TracedElement element) {
  if (failed(tracer.skipMoves(element)))
    return failure();
  Operation *op = element.value.getDefiningOp();
  unsigned width = getElementTypeOrSelf(element.value).getIntOrFloatBitWidth();
  if (isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp>(op)) {
    FailureOr<TracedBits> traced = traceBits(tracer.getOperand(element, 0));
    if (succeeded(traced))
      traced->bits.resize(width, isa<arith::ExtSIOp>(op) ? traced->bits.back()
                                                         : TracedBits::Bit());
    return traced;
  }
  if (isa_and_nonnull<arith::ShRUIOp, arith::ShRSIOp, arith::ShLIOp,
                      arith::DivUIOp>(op))
    return traceShift(element);
  if (isa_and_nonnull<arith::AndIOp, arith::RemUIOp>(op))
    return traceMask(element);
  if (isa_and_nonnull<arith::OrIOp>(op))
    return traceOr(element);
  if (isa_and_nonnull<arith::SelectOp>(op)) {
    std::optional<int64_t> condition = evaluate(tracer.getOperand(element, 0));
    if (!condition)
      return tracer.fail("its codes are chosen by what is not known");
    return traceBits(tracer.getOperand(element, *condition ? 1 : 2));
  }
  if (evaluate(element) == 0) {
    TracedBits zero;
    zero.bits.resize(width);
    return zero;
  }
  constexpr unsigned kByte = 8;
  if (!isa<RankedTensorType>(element.value.getType()))
    return tracer.fail("its codes are " + describe(element) +
                       ", not from bytes");
  if (width != kByte)
    return tracer.fail("its codes lie in integers of " + Twine(width) +
                       " bits: a cache has bytes");
  TracedBits traced;
  for (unsigned position = 0; position < kByte; ++position)
    traced.bits.push_back({0, position});
  traced.sources.push_back(element);
  return traced;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// A zero point: a float, or an integer that becomes one.
LogicalResult ArithmeticMatcher::tracePoint(TracedElement element,
                                            TracedProduct &product) {
  while (true) {
    if (failed(tracer.skipFloatCasts(element)))
      return failure();
    Operation *op = element.value.getDefiningOp();
    if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp, arith::ExtSIOp,
                         arith::ExtUIOp>(op))
      break;
    product.hasSignedPoint = isa<arith::SIToFPOp, arith::ExtSIOp>(op);
    element = tracer.getOperand(element, 0);
  }
  if (!isa<RankedTensorType>(element.value.getType()))
    return tracer.fail("its zero point is " + describe(element) +
                       ", not of a tensor");
  product.point = element;
  return success();
}

/// (x ^ m) - m with a single bit m, above which x has none: x as a signed
/// number.
std::optional<TracedBits>
ArithmeticMatcher::traceSignExtension(TracedElement element, int64_t middle) {
  if (failed(tracer.skipMoves(element)) || !llvm::isPowerOf2_64(middle) ||
      !element.value.getDefiningOp<arith::XOrIOp>() ||
      evaluate(tracer.getOperand(element, 1)) != middle)
    return std::nullopt;
  std::optional<TracedBits> traced = traceBits(tracer.getOperand(element, 0));
  if (!traced)
    return std::nullopt;
  unsigned sign = llvm::Log2_64(middle);
  for (unsigned position = sign + 1; position < traced->bits.size();
       ++position) {
    if (traced->bits[position].source >= 0)
      return std::nullopt;
    traced->bits[position] = traced->bits[sign];
  }
  return traced;
}

/// Less a constant or a zero point, in integers.
LogicalResult ArithmeticMatcher::traceDifference(const TracedElement &element,
                                                 TracedProduct &product) {
  Operation *op = element.value.getDefiningOp();
  TracedElement other = tracer.getOperand(element, 1);
  std::optional<int64_t> constant = evaluate(other);
  if (constant && isa<arith::AddIOp>(op))
    constant = -*constant;
  product.isSigned = true;
  if (constant)
    if (auto bits =
            traceSignExtension(tracer.getOperand(element, 0), *constant)) {
      product.code = std::move(*bits);
      return success();
    }
  FailureOr<TracedBits> traced = traceBits(tracer.getOperand(element, 0));
  if (failed(traced))
    return failure();
  product.code = std::move(*traced);
  ArrayRef<TracedBits::Bit> bits = product.code.bits;
  int64_t middle = int64_t(1) << (bits.size() - 1);
  bool isFull = bits.back().source >= 0 && bits.back() != bits.end()[-2];
  if (isFull && constant && std::abs(*constant) == middle) {
    // Around zero, whatever the number was taken for: unsigned, less the
    // middle.
    product.isSigned = false;
    product.bias = middle;
    return success();
  }
  if (isFull)
    return tracer.fail("differences of its codes do not fit in " +
                       Twine(bits.size()) + " bits");
  if (constant)
    product.bias = *constant;
  else if (isa<arith::AddIOp>(op))
    return tracer.fail("what is added to its codes is not known");
  else
    return tracePoint(other, product);
  return success();
}

/// Codes as an integer, less a zero point or a constant.
LogicalResult ArithmeticMatcher::traceInteger(TracedElement element,
                                              bool isSigned,
                                              TracedProduct &product) {
  if (failed(tracer.skipMoves(element)))
    return failure();
  // Their difference as it is, not as bytes that have wrapped round.
  while (element.value.getDefiningOp<arith::ExtSIOp>()) {
    TracedElement inner = tracer.getOperand(element, 0);
    if (failed(tracer.skipMoves(inner)))
      return failure();
    if (!inner.value.getDefiningOp<arith::SubIOp>())
      break;
    element = inner;
  }
  if (isa_and_nonnull<arith::SubIOp, arith::AddIOp>(
          element.value.getDefiningOp())) {
    if (!isSigned)
      return tracer.fail("differences of its codes count as unsigned");
    return traceDifference(element, product);
  }
  FailureOr<TracedBits> bits = traceBits(element);
  if (failed(bits))
    return failure();
  product.code = std::move(*bits);
  product.isSigned = isSigned;
  return success();
}

/// What is scaled.
FailureOr<TracedProduct> ArithmeticMatcher::traceNumber(TracedElement element) {
  if (failed(tracer.skipFloatCasts(element)))
    return failure();
  Operation *op = element.value.getDefiningOp();
  foundArithmetic |=
      isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp, arith::BitcastOp>(op);
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    TracedProduct product;
    if (failed(traceInteger(tracer.getOperand(element, 0),
                            isa<arith::SIToFPOp>(op), product)))
      return failure();
    return product;
  }
  if (auto bitcast = dyn_cast_or_null<arith::BitcastOp>(op)) {
    TracedProduct product;
    product.floatCode = getElementTypeOrSelf(bitcast.getType());
    FailureOr<TracedBits> bits = traceBits(tracer.getOperand(element, 0));
    if (failed(bits))
      return failure();
    product.code = std::move(*bits);
    return product;
  }
  if (isa_and_nonnull<arith::SubFOp, arith::AddFOp>(op)) {
    FailureOr<TracedProduct> product =
        traceNumber(tracer.getOperand(element, 0));
    if (failed(product))
      return failure();
    if (product->bias != 0 || product->point.value || product->floatCode)
      return tracer.fail("more than one number is subtracted from its codes");
    TracedElement other = tracer.getOperand(element, 1);
    if (std::optional<int64_t> constant = evaluate(other))
      product->bias = isa<arith::SubFOp>(op) ? *constant : -*constant;
    else if (isa<arith::AddFOp>(op))
      return tracer.fail("what is added to its codes is not known");
    else if (failed(tracePoint(other, *product)))
      return failure();
    return product;
  }
  return tracer.fail("what is scaled is " + describe(element) +
                     ", not from codes");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A number times a scale, the first two operands of `element`.
FailureOr<TracedProduct>
ArithmeticMatcher::traceFactors(const TracedElement &element) {
  std::string reason;
  for (unsigned side : {0, 1}) {
    bool foundBefore = foundArithmetic;
    FailureOr<TracedProduct> product =
        traceNumber(tracer.getOperand(element, side));
    // The side with codes is the one that says why.
    if (failed(product) && (side == 0 || foundArithmetic != foundBefore))
      reason = tracer.reason;
    if (failed(product))
      continue;
    product->scale = tracer.getOperand(element, 1 - side);
    if (failed(tracer.skipFloatCasts(product->scale)))
      return failure();
    return product;
  }
  return tracer.fail(reason);
}

FailureOr<TracedProduct>
ArithmeticMatcher::traceProduct(TracedElement element) {
  if (failed(tracer.skipFloatCasts(element)))
    return failure();
  if (!element.value.getDefiningOp<arith::MulFOp>())
    return tracer.fail(
        describe(element) +
        (element.value.getDefiningOp() ? ", not by" : ", not made by") +
        " a kvq.dequantize");
  return traceFactors(element);
}

/// Whether both are the same number.
static bool areEqual(const TracedElement &left, const TracedElement &right) {
  return left.value == right.value && left.indices == right.indices;
}

FailureOr<TracedProduct> ArithmeticMatcher::traceValue(TracedElement element) {
  if (failed(tracer.skipFloatCasts(element)))
    return failure();
  Operation *op = element.value.getDefiningOp();
  auto withMin = [&](FailureOr<TracedProduct> product, TracedElement min) {
    if (succeeded(product) && failed(tracer.skipFloatCasts(min)))
      return FailureOr<TracedProduct>(failure());
    if (succeeded(product))
      product->min = min;
    return product;
  };
  if (isa_and_nonnull<arith::AddFOp>(op)) {
    std::string reason;
    for (unsigned side : {0, 1}) {
      bool foundBefore = foundArithmetic;
      auto product = traceProduct(tracer.getOperand(element, side));
      if (succeeded(product))
        return withMin(product, tracer.getOperand(element, 1 - side));
      if (side == 0 || foundArithmetic != foundBefore)
        reason = tracer.reason;
    }
    return tracer.fail(reason);
  }
  if (isa_and_nonnull<math::FmaOp>(op))
    return withMin(traceFactors(element), tracer.getOperand(element, 2));
  // code * scale - point * scale
  if (isa_and_nonnull<arith::SubFOp>(op)) {
    FailureOr<TracedProduct> product =
        traceProduct(tracer.getOperand(element, 0));
    if (failed(product))
      return failure();
    TracedElement offset = tracer.getOperand(element, 1);
    if (failed(tracer.skipFloatCasts(offset)))
      return failure();
    if (offset.value.getDefiningOp<arith::MulFOp>())
      for (unsigned side : {0, 1}) {
        TracedElement scale = tracer.getOperand(offset, side);
        if (failed(tracer.skipFloatCasts(scale)) ||
            !areEqual(scale, product->scale))
          continue;
        if (failed(tracePoint(tracer.getOperand(offset, 1 - side), *product)))
          return failure();
        return product;
      }
    return tracer.fail("what is subtracted from its scaled codes is no zero "
                       "point times their scale: a minimum is added");
  }
  return traceProduct(element);
}
