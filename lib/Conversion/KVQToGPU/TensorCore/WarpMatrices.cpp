//===- WarpMatrices.cpp - What lanes of a warp do together ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of matrices, and exchanges between lanes.
//
//===----------------------------------------------------------------------===//

#include "WarpBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::kvq;

/// Four f32.
static Type getProductType(OpBuilder &builder) {
  SmallVector<Type> types(4, builder.getF32Type());
  return LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
}

FragmentC WarpBuilder::unpackProduct(Value result) {
  FragmentC product;
  for (auto [i, element] : llvm::enumerate(product))
    element = LLVM::ExtractValueOp::create(builder, loc, result, int64_t(i));
  return product;
}

FragmentC WarpBuilder::multiplyPairs(ValueRange a, ValueRange b,
                                     const FragmentC &c) {
  int64_t shape[] = {16, 8, 4 * int64_t(a.size())};
  // The op infers f16; bf16 is words to it.
  std::optional<std::array<NVVM::MMATypes, 2>> types;
  if (a.front().getType().isInteger())
    types = {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
  return unpackProduct(NVVM::MmaOp::create(
      builder, loc, getProductType(builder), a, b, c, shape,
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt, types,
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col}));
}

FragmentC WarpBuilder::multiply(const FragmentA &a, const FragmentB &b,
                                const FragmentC &c) {
  return multiplyPairs(a, b, c);
}

FragmentC WarpBuilder::multiplyHalves(const std::array<Value, 2> &a, Value b,
                                      const FragmentC &c) {
  return multiplyPairs(a, b, c);
}

FragmentC WarpBuilder::multiplyFP8(const FragmentA &a, bool isE5M2,
                                   const FragmentB &b, const FragmentC &c) {
  // NVVM's op has no floats of 8 bits.
  StringRef name = isE5M2 ? "llvm.nvvm.mma.m16n8k32.row.col.f32.e5m2.e4m3.f32"
                          : "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32";
  SmallVector<Value> operands(a.begin(), a.end());
  llvm::append_range(operands, b);
  llvm::append_range(operands, c);
  return unpackProduct(intrinsic(name, getProductType(builder), operands));
}

FragmentA WarpBuilder::onesOfFP8() {
  Value ones = i32(0x38383838);
  return {ones, ones, ones, ones};
}

Value WarpBuilder::transpose(Value pair) {
  // NVVM has no op for it. It is an exchange between lanes, and so must stay
  // where it is.
  Value transposed =
      inlineAssembly("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r",
                     toWord(pair), /*hasSideEffects=*/true);
  return bitcast(transposed, pair.getType());
}

Value WarpBuilder::shuffleXor(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(builder, loc, value.getType(), i32(-1), value,
                              i32(lanes), i32(31), NVVM::ShflKind::bfly,
                              /*return_value_and_is_valid=*/UnitAttr());
}

Value WarpBuilder::shuffleFrom(Value value, Value lane) {
  return NVVM::ShflOp::create(builder, loc, value.getType(), i32(-1), value,
                              lane, i32(31), NVVM::ShflKind::idx,
                              /*return_value_and_is_valid=*/UnitAttr());
}

Value WarpBuilder::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI1Type(), i32(-1),
                                  condition, NVVM::VoteSyncKind::any);
}

Value WarpBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI32Type(), i32(-1),
                                  condition, NVVM::VoteSyncKind::ballot);
}

/// Lanes of the same column.
static constexpr int64_t kRowLanes[] = {4, 8, 16};

Value WarpBuilder::reduceQuad(Value value,
                              Value (WarpBuilder::*combine)(Value, Value)) {
  for (int64_t lanes : {1, 2})
    value = (this->*combine)(value, shuffleXor(value, lanes));
  return value;
}

Value WarpBuilder::sumRows(Value value) {
  for (int64_t lanes : kRowLanes)
    value = fadd(value, shuffleXor(value, lanes));
  return value;
}

Value WarpBuilder::maxRows(Value value) {
  for (int64_t lanes : kRowLanes)
    value = fmax(value, shuffleXor(value, lanes));
  return value;
}
