//===- HostExpressions.cpp - What the host computes, as C -----------------===//
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

std::string HostExpressions::getName(Value value) const {
  return names.lookup(skipCasts(value));
}

llvm::Expected<std::string> HostExpressions::getExtent(Value array,
                                                       unsigned axis) const {
  array = skipCasts(array);
  auto type = cast<MemRefType>(array.getType());
  if (!type.isDynamicDim(axis))
    return std::to_string(type.getDimSize(axis));
  if (auto alloc = array.getDefiningOp<gpu::AllocOp>())
    return get(alloc.getDynamicSizes()[type.getDynamicDimIndex(axis)]);
  return (prefix + getName(array) + "_size" + llvm::Twine(axis)).str();
}

/// The operator of C between the operands; empty where there is none. Numbers
/// here are never negative, so that unsigned ones are as signed ones.
static StringRef getOperator(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulIOp>([](auto) { return "*"; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(
          [](auto) { return "/"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "%"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "<"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return ">"; })
      .Default([](auto) { return ""; });
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

llvm::Expected<std::string> HostExpressions::getBinary(Operation *op) const {
  auto lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
  if (!lhs || !rhs)
    return llvm::joinErrors(lhs.takeError(), rhs.takeError());
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return "((" + *lhs + " + " + *rhs + " - 1) / " + *rhs + ")";
  StringRef symbol = getOperator(op);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    symbol = getComparison(compare.getPredicate());
  std::string text = "(" + *lhs + " " + symbol.str() + " " + *rhs + ")";
  if (isa<arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp>(op))
    return "(" + text + " ? " + *lhs + " : " + *rhs + ")";
  return text;
}

llvm::Expected<std::string> HostExpressions::get(Value value) const {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return std::to_string(integer.getSExtValue());
  if (auto found = names.find(value); found != names.end())
    return (prefix + found->second).str();
  Operation *op = value.getDefiningOp();
  APFloat number(0.0);
  if (op && matchPattern(value, m_ConstantFloat(&number))) {
    llvm::SmallString<32> text;
    number.toString(text, /*FormatPrecision=*/17);
    return std::string(text);
  }
  if (auto dim = llvm::dyn_cast_if_present<memref::DimOp>(op))
    if (std::optional<int64_t> axis = dim.getConstantIndex())
      return getExtent(dim.getSource(), *axis);
  if (op && isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                arith::ExtUIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  if (auto select = llvm::dyn_cast_if_present<arith::SelectOp>(op)) {
    auto condition = get(select.getCondition()),
         yes = get(select.getTrueValue()), no = get(select.getFalseValue());
    if (!condition || !yes || !no)
      return llvm::joinErrors(
          llvm::joinErrors(condition.takeError(), yes.takeError()),
          no.takeError());
    return "(" + *condition + " ? " + *yes + " : " + *no + ")";
  }
  if (op && (!getOperator(op).empty() ||
             isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::CmpIOp>(op)))
    return getBinary(op);
  return llvm::createStringError(
      "--emit=header: expected launches that depend on arguments by integer "
      "arithmetic, found '" +
      (op ? op->getName().getStringRef() : StringRef("a block argument")) +
      "'");
}
