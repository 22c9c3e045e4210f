//===- HostExpressions.cpp - What the host computes -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostExpressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

static Value skipCasts(Value array) {
  while (auto cast = array.getDefiningOp<memref::CastOp>())
    array = cast.getSource();
  return array;
}

std::string kvq::getSizeName(StringRef array, unsigned axis) {
  return (array + "_size" + llvm::Twine(axis)).str();
}

std::string HostExpressions::getName(Value value) const {
  return names.lookup(skipCasts(value));
}

llvm::Expected<HostExpression> HostExpressions::getExtent(Value array,
                                                          unsigned axis) const {
  array = skipCasts(array);
  auto type = cast<MemRefType>(array.getType());
  if (!type.isDynamicDim(axis))
    return HostExpression(type.getDimSize(axis));
  if (auto alloc = array.getDefiningOp<gpu::AllocOp>())
    return get(alloc.getDynamicSizes()[type.getDynamicDimIndex(axis)]);
  return HostExpression(getSizeName(getName(array), axis));
}

static StringRef getComparison(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return "==";
  case arith::CmpIPredicate::ne:
    return "!=";
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return "<";
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return "<=";
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return ">";
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return ">=";
  }
  llvm_unreachable("unknown predicate");
}

/// The operator of an op; empty where there is none. Numbers here are never
/// negative, so that unsigned ones are as signed ones.
static StringRef getOperator(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulIOp>([](auto) { return "*"; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(
          [](auto) { return "/"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [](auto) { return "ceildiv"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "%"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "max"; })
      .Case<arith::CmpIOp>(
          [](auto compare) { return getComparison(compare.getPredicate()); })
      .Case<arith::SelectOp>([](auto) { return "?"; })
      .Default([](auto) { return ""; });
}

llvm::Expected<HostExpression> HostExpressions::get(Value value) const {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return HostExpression(integer.getSExtValue());
  if (auto found = names.find(value); found != names.end())
    return HostExpression(found->second);
  Operation *op = value.getDefiningOp();
  APFloat number(0.0);
  if (op && matchPattern(value, m_ConstantFloat(&number)))
    return HostExpression(number.convertToDouble());
  if (auto dim = llvm::dyn_cast_if_present<memref::DimOp>(op))
    if (std::optional<int64_t> axis = dim.getConstantIndex())
      return getExtent(dim.getSource(), *axis);
  if (llvm::isa_and_present<arith::IndexCastOp, arith::IndexCastUIOp,
                            arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(
          op))
    return get(op->getOperand(0));
  StringRef symbol = op ? getOperator(op) : "";
  if (symbol.empty())
    return llvm::createStringError(
        "expected launches that depend on arguments by integer arithmetic, "
        "found '" +
        (op ? op->getName().getStringRef() : StringRef("a block argument")) +
        "'");
  llvm::json::Array expression{symbol};
  for (Value operand : op->getOperands()) {
    auto inner = get(operand);
    if (!inner)
      return inner.takeError();
    expression.push_back(std::move(*inner));
  }
  return HostExpression(std::move(expression));
}

std::string kvq::toC(const HostExpression &expression, StringRef prefix) {
  if (auto name = expression.getAsString())
    return (prefix + *name).str();
  if (auto integer = expression.getAsInteger())
    return std::to_string(*integer);
  if (auto number = expression.getAsNumber()) {
    llvm::SmallString<32> text;
    APFloat(*number).toString(text, /*FormatPrecision=*/17);
    return std::string(text);
  }
  const llvm::json::Array &array = *expression.getAsArray();
  StringRef symbol = *array.front().getAsString();
  std::string lhs = toC(array[1], prefix), rhs = toC(array[2], prefix);
  if (symbol == "?")
    return "(" + lhs + " ? " + rhs + " : " + toC(array[3], prefix) + ")";
  if (symbol == "ceildiv")
    return "((" + lhs + " + " + rhs + " - 1) / " + rhs + ")";
  if (symbol == "min" || symbol == "max")
    return "((" + lhs + (symbol == "min" ? " < " : " > ") + rhs + ") ? " + lhs +
           " : " + rhs + ")";
  return "(" + lhs + " " + symbol.str() + " " + rhs + ")";
}
