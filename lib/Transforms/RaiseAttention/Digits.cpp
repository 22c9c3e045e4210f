//===- Digits.cpp - Loops as numbers of several digits --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Digits.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::kvq;

bool DigitSum::hasRest() const {
  auto constant = dyn_cast<AffineConstantExpr>(rest);
  return !constant || constant.getValue() != 0;
}

Digits::Digits(MLIRContext *context, ArrayRef<int64_t> extents,
               ArrayRef<unsigned> splittable)
    : context(context), extents(extents), splittable(splittable),
      strides(extents.size()) {
  makeDigits();
}

void Digits::makeDigits() {
  digits.clear();
  for (unsigned loop = 0; loop < extents.size(); ++loop) {
    SmallVector<int64_t> borders(strides[loop].begin(), strides[loop].end());
    llvm::sort(borders, std::greater<>());
    borders.push_back(1);
    int64_t outer = extents[loop];
    for (int64_t stride : borders) {
      bool isDynamic = ShapedType::isDynamic(outer);
      int64_t extent = isDynamic ? outer : outer / stride;
      if (extent != 1)
        digits.push_back({loop, stride, extent});
      outer = stride;
    }
  }
}

namespace {

/// The part of a loop that an expression is: x floordiv low mod (high / low).
struct LoopPart {
  unsigned loop;
  int64_t low, high;
};

} // namespace

/// Calls `split` for each border between digits of a loop that `expr` needs.
static std::optional<LoopPart>
findParts(AffineExpr expr, ArrayRef<int64_t> extents,
          function_ref<void(unsigned loop, int64_t stride)> split) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr))
    return LoopPart{loop.getPosition(), 1, extents[loop.getPosition()]};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LoopPart> part = findParts(binary.getLHS(), extents, split);
  findParts(binary.getRHS(), extents, split);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool divides = binary.getKind() == AffineExprKind::FloorDiv ||
                 binary.getKind() == AffineExprKind::Mod;
  if (!part || !constant || !divides || constant.getValue() < 1)
    return std::nullopt;
  int64_t border = part->low * constant.getValue();
  split(part->loop, border);
  if (binary.getKind() == AffineExprKind::Mod)
    return LoopPart{part->loop, part->low, border};
  return LoopPart{part->loop, border, part->high};
}

void Digits::splitFor(AffineExpr expr) {
  findParts(expr, extents, [&](unsigned loop, int64_t stride) {
    int64_t extent = extents[loop];
    if (!llvm::is_contained(splittable, loop) ||
        ShapedType::isDynamic(extent) || stride >= extent ||
        extent % stride != 0)
      return;
    // Digits need borders each of which divides the next one.
    if (llvm::all_of(strides[loop], [&](int64_t other) {
          return other % stride == 0 || stride % other == 0;
        }))
      strides[loop].insert(stride);
  });
  makeDigits();
}

/// The quotient or the remainder, where it is a sum of digits, too: those that
/// are not multiples of the divisor stay below it.
std::optional<DigitSum> Digits::divide(DigitSum sum, int64_t divisor,
                                       bool isRemainder) const {
  auto rest = dyn_cast<AffineConstantExpr>(sum.rest);
  if (!rest || rest.getValue() < 0 || divisor < 1)
    return std::nullopt;
  int64_t below = rest.getValue() % divisor;
  for (auto [digit, factor] : llvm::zip_equal(digits, sum.factors)) {
    bool isMultiple = factor % divisor == 0;
    if (!isMultiple && (factor < 0 || ShapedType::isDynamic(digit.extent)))
      return std::nullopt;
    if (!isMultiple)
      below += factor * (digit.extent - 1);
    if (isRemainder)
      factor = isMultiple ? 0 : factor;
    else
      factor = isMultiple ? factor / divisor : 0;
  }
  if (below >= divisor)
    return std::nullopt;
  sum.rest = getAffineConstantExpr(isRemainder ? rest.getValue() % divisor
                                               : rest.getValue() / divisor,
                                   context);
  return sum;
}

std::optional<DigitSum> Digits::getSum(AffineExpr expr) const {
  DigitSum sum = {SmallVector<int64_t>(digits.size()),
                  getAffineConstantExpr(0, context)};
  if (expr.isSymbolicOrConstant()) {
    sum.rest = expr;
    return sum;
  }
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    for (auto [digit, factor] : llvm::zip_equal(digits, sum.factors))
      if (digit.loop == loop.getPosition())
        factor = digit.stride;
    return sum;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<DigitSum> left = getSum(binary.getLHS());
  if (!left)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    std::optional<DigitSum> right = getSum(binary.getRHS());
    if (!right)
      return std::nullopt;
    for (auto [factor, other] : llvm::zip_equal(left->factors, right->factors))
      factor += other;
    left->rest = left->rest + right->rest;
    return left;
  }
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!constant)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    for (int64_t &factor : left->factors)
      factor *= constant.getValue();
    left->rest = left->rest * constant;
    return left;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod:
    return divide(std::move(*left), constant.getValue(),
                  binary.getKind() == AffineExprKind::Mod);
  default:
    return std::nullopt;
  }
}

std::optional<SmallVector<unsigned>> Digits::getAxis(AffineExpr expr,
                                                     int64_t extent) const {
  std::optional<DigitSum> sum = getSum(expr);
  if (!sum || sum->hasRest())
    return std::nullopt;
  SmallVector<unsigned> axis;
  for (unsigned number = 0; number < digits.size(); ++number)
    if (sum->factors[number] != 0)
      axis.push_back(number);
  llvm::sort(axis, [&](unsigned left, unsigned right) {
    return sum->factors[left] > sum->factors[right];
  });
  int64_t inner = 1;
  for (unsigned number : llvm::reverse(axis)) {
    if (ShapedType::isDynamic(inner) || sum->factors[number] != inner)
      return std::nullopt;
    int64_t own = digits[number].extent;
    inner = ShapedType::isDynamic(own) ? own : inner * own;
  }
  if (inner != extent && !ShapedType::isDynamic(extent))
    return std::nullopt;
  return axis;
}
