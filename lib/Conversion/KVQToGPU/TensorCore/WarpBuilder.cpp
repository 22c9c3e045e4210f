//===- WarpBuilder.cpp - The instructions of a warp -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpBuilder.h"

#include "kvq/IR/FloatArithmetic.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mlir::kvq;

/// Of NVVM's numbers of address spaces.
static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value WarpBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, int32_t(value), 32);
}

Value WarpBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 64);
}

Value WarpBuilder::f32(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

static VectorType getHalf2Type(OpBuilder &builder) {
  return VectorType::get({2}, builder.getF16Type());
}

Value WarpBuilder::half2(double value) {
  return arith::ConstantOp::create(
      builder, loc,
      SplatElementsAttr::get(getHalf2Type(builder),
                             builder.getF16FloatAttr(value).getValue()));
}

Value WarpBuilder::zero(Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value WarpBuilder::add(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}

Value WarpBuilder::add(Value lhs, int64_t rhs) {
  if (rhs == 0)
    return lhs;
  return add(lhs, lhs.getType().isInteger(64) ? i64(rhs) : i32(rhs));
}

Value WarpBuilder::sub(Value lhs, Value rhs) {
  return builder.createOrFold<arith::SubIOp>(loc, lhs, rhs);
}

Value WarpBuilder::mul(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MulIOp>(loc, lhs, rhs);
}

Value WarpBuilder::mul(Value lhs, int64_t rhs) {
  return mul(lhs, lhs.getType().isInteger(64) ? i64(rhs) : i32(rhs));
}

Value WarpBuilder::divideUnsigned(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::DivUIOp>(loc, lhs, i32(rhs));
}

Value WarpBuilder::remUnsigned(Value lhs, int64_t rhs) {
  return builder.createOrFold<arith::RemUIOp>(loc, lhs, i32(rhs));
}

Value WarpBuilder::bitAnd(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AndIOp>(loc, lhs, rhs);
}

Value WarpBuilder::bitAnd(Value lhs, int64_t rhs) {
  return bitAnd(lhs, i32(rhs));
}

Value WarpBuilder::shiftRight(Value lhs, Value bits) {
  return builder.createOrFold<arith::ShRUIOp>(loc, lhs, bits);
}

Value WarpBuilder::bitXor(Value lhs, Value rhs) {
  return builder.createOrFold<arith::XOrIOp>(loc, lhs, rhs);
}

Value WarpBuilder::shiftRight(Value lhs, int64_t bits) {
  if (bits == 0)
    return lhs;
  return builder.createOrFold<arith::ShRUIOp>(loc, lhs, i32(bits));
}

Value WarpBuilder::shiftLeft(Value lhs, int64_t bits) {
  if (bits == 0)
    return lhs;
  return builder.createOrFold<arith::ShLIOp>(loc, lhs, i32(bits));
}

Value WarpBuilder::min(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MinSIOp>(loc, lhs, rhs);
}

Value WarpBuilder::max(Value lhs, Value rhs) {
  return builder.createOrFold<arith::MaxSIOp>(loc, lhs, rhs);
}

Value WarpBuilder::compare(arith::CmpIPredicate predicate, Value lhs,
                           Value rhs) {
  return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
}

Value WarpBuilder::bothTrue(Value lhs, Value rhs) {
  return builder.createOrFold<arith::AndIOp>(loc, lhs, rhs);
}

Value WarpBuilder::isFalse(Value condition) {
  Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return builder.createOrFold<arith::XOrIOp>(loc, condition, yes);
}

Value WarpBuilder::eitherTrue(Value lhs, Value rhs) {
  return builder.createOrFold<arith::OrIOp>(loc, lhs, rhs);
}

Value WarpBuilder::select(Value condition, Value yes, Value no) {
  return arith::SelectOp::create(builder, loc, condition, yes, no);
}

Value WarpBuilder::toI32(Value value) {
  Type type = builder.getI32Type();
  if (value.getType().isIndex())
    return builder.createOrFold<arith::IndexCastOp>(loc, type, value);
  return builder.createOrFold<arith::TruncIOp>(loc, type, value);
}

Value WarpBuilder::toI64(Value value) {
  Type type = builder.getI64Type();
  if (value.getType().isIndex())
    return builder.createOrFold<arith::IndexCastOp>(loc, type, value);
  if (value.getType() == type)
    return value;
  return builder.createOrFold<arith::ExtSIOp>(loc, type, value);
}

Value WarpBuilder::toIndex(Value value) {
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                  value);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value WarpBuilder::intrinsic(StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

Value WarpBuilder::fadd(Value lhs, Value rhs) {
  return arith::AddFOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::fsub(Value lhs, Value rhs) {
  return arith::SubFOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::fmul(Value lhs, Value rhs) {
  return arith::MulFOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::fma(Value lhs, Value rhs, Value addend) {
  return LLVM::FMAOp::create(builder, loc, lhs, rhs, addend);
}

Value WarpBuilder::fmax(Value lhs, Value rhs) {
  return LLVM::MaxNumOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::fmaxOrNaN(Value lhs, Value rhs) {
  return LLVM::MaximumOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::fneg(Value value) {
  return arith::NegFOp::create(builder, loc, value);
}

Value WarpBuilder::fabs(Value value) {
  return math::AbsFOp::create(builder, loc, value);
}

Value WarpBuilder::fdiv(Value lhs, Value rhs) {
  return arith::DivFOp::create(builder, loc, lhs, rhs);
}

Value WarpBuilder::exp2(Value value) {
  return intrinsic("llvm.nvvm.ex2.approx.ftz.f32", builder.getF32Type(), value);
}

Value WarpBuilder::log2(Value value) {
  return intrinsic("llvm.nvvm.lg2.approx.ftz.f", builder.getF32Type(), value);
}

Value WarpBuilder::isGreater(Value lhs, Value rhs) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, lhs,
                               rhs);
}

Value WarpBuilder::exceeds(Value lhs, Value rhs) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT, lhs,
                               rhs);
}

Value WarpBuilder::areFinite(Value pair) {
  Value magnitude = toHalf2(bitAnd(toWord(pair), int32_t(0x7fff7fff)));
  Value infinity = half2(std::numeric_limits<double>::infinity());
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                               magnitude, infinity);
}

Value WarpBuilder::isEqual(Value lhs, double rhs) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, lhs,
                               f32(rhs));
}

Value WarpBuilder::isNaN(Value value) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value,
                               value);
}

Value WarpBuilder::extend(Value value) {
  if (value.getType().isF32())
    return value;
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
}

Type WarpBuilder::getStoredType(Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 8 ? IntegerType::get(type.getContext(), bits) : type;
}

Value WarpBuilder::extend(Value value, Type type) {
  if (!isa<FloatType>(type))
    return arith::UIToFPOp::create(builder, loc, builder.getF32Type(), value);
  if (value.getType() == type)
    return extend(value);
  return buildExtend(builder, loc,
                     arith::BitcastOp::create(builder, loc, type, value));
}

Value WarpBuilder::bitcast(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(builder, loc, type, value);
}

//===----------------------------------------------------------------------===//
// Bits of words
//===----------------------------------------------------------------------===//

Words WarpBuilder::splitI64(Value value) {
  Value both = bitcast(value, VectorType::get({2}, builder.getI32Type()));
  return {extractElement(both, 0), extractElement(both, 1)};
}

Value WarpBuilder::joinI64(Value low, Value high) {
  auto type = VectorType::get({2}, builder.getI32Type());
  Value both = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, word] : llvm::enumerate(Words{low, high}))
    both = LLVM::InsertElementOp::create(builder, loc, both, word, i32(i));
  return bitcast(both, builder.getI64Type());
}

Value WarpBuilder::inlineAssembly(StringRef text, StringRef constraints,
                                  ValueRange operands, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(
             builder, loc, builder.getI32Type(), operands, text, constraints,
             hasSideEffects, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(builder.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getResult(0);
}

// LLVM would make two instructions of an and and an or of constants.
Value WarpBuilder::maskOr(Value word, uint32_t mask, Value bits) {
  return inlineAssembly("lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,r,r",
                        {word, i32(mask), bits}, false);
}

Value WarpBuilder::maskOr(Value word, uint32_t mask, uint32_t bits) {
  return maskOr(word, mask, i32(bits));
}

Value WarpBuilder::maskXor(Value word, uint32_t mask, uint32_t bits) {
  return inlineAssembly("lop3.b32 $0, $1, $2, $3, 0x6a;", "=r,r,r,r",
                        {word, i32(mask), i32(bits)}, false);
}

Value WarpBuilder::conceal(Value value) {
  return inlineAssembly("mov.b32 $0, $1;", "=r,r", value,
                        /*hasSideEffects=*/true);
}

Value WarpBuilder::readThread() {
  return inlineAssembly("mov.u32 $0, %tid.x;", "=r", {},
                        /*hasSideEffects=*/true);
}

Value WarpBuilder::readBlock() {
  return inlineAssembly("mov.u32 $0, %ctaid.x;", "=r", {},
                        /*hasSideEffects=*/true);
}

Value WarpBuilder::permuteBytes(Value low, Value high, uint32_t selector) {
  return permuteBytes(low, high, i32(selector));
}

Value WarpBuilder::permuteBytes(Value low, Value high, Value selector) {
  return NVVM::PermuteOp::create(builder, loc, builder.getI32Type(), low, high,
                                 selector, NVVM::PermuteMode::DEFAULT);
}

Value WarpBuilder::toHalf2(Value word) {
  return bitcast(word, getHalf2Type(builder));
}

Value WarpBuilder::convertE4M3(Value word, int64_t pair) {
  Type byte = builder.getI8Type();
  Value bytes = bitcast(word, VectorType::get({4}, byte));
  int32_t first = 2 * pair;
  Value two = LLVM::ShuffleVectorOp::create(builder, loc, bytes, bytes,
                                            {first, first + 1});
  return NVVM::ConvertF8x2ToF16x2Op::create(
      builder, loc, getHalf2Type(builder), two,
      /*relu=*/builder.getBoolAttr(false),
      TypeAttr::get(Float8E4M3FNType::get(builder.getContext())));
}

Value WarpBuilder::toWord(Value half2) {
  return bitcast(half2, builder.getI32Type());
}

Value WarpBuilder::pair(Value low, Value high) {
  return vector::FromElementsOp::create(builder, loc, getHalf2Type(builder),
                                        ValueRange{low, high});
}

Value WarpBuilder::packHalf2(Value low, Value high) {
  // The intrinsic takes the high one first.
  return intrinsic("llvm.nvvm.ff2f16x2.rn", getHalf2Type(builder), {high, low});
}

Value WarpBuilder::packE4M3(std::array<Value, 4> values) {
  Type i16 = builder.getI16Type();
  SmallVector<Value> pairs;
  for (int64_t i = 0; i != 4; i += 2) // the high one first
    pairs.push_back(intrinsic("llvm.nvvm.ff.to.e4m3x2.rn", i16,
                              {values[i + 1], values[i]}));
  Value both = vector::FromElementsOp::create(builder, loc,
                                              VectorType::get({2}, i16), pairs);
  return bitcast(both, builder.getI32Type());
}

std::array<Value, 2> WarpBuilder::packBFloat2(Value low, Value high) {
  auto pack = [&](Value low, Value high) {
    Type type = VectorType::get({2}, builder.getBF16Type());
    return toWord(intrinsic("llvm.nvvm.ff2bf16x2.rn", type, {high, low}));
  };
  Value rounded = pack(low, high);
  Type f32 = builder.getF32Type();
  Value lowBits = builder.createOrFold<arith::ShLIOp>(loc, rounded, i32(16));
  Value highBits = bitAnd(rounded, int32_t(0xffff0000));
  return {rounded, pack(fsub(low, bitcast(lowBits, f32)),
                        fsub(high, bitcast(highBits, f32)))};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// An offset that is a constant stays in the instruction.
static Value buildPointer(WarpBuilder &w, Value address, int64_t offset,
                          unsigned space) {
  OpBuilder &b = w.builder;
  Type type = LLVM::LLVMPointerType::get(b.getContext(), space);
  Value pointer = LLVM::IntToPtrOp::create(b, w.loc, type, address);
  if (offset == 0)
    return pointer;
  return LLVM::GEPOp::create(b, w.loc, type, b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value WarpBuilder::sharedPointer(Value address, int64_t offset) {
  return buildPointer(*this, address, offset, kSharedSpace);
}

Value WarpBuilder::globalPointer(Value address, int64_t offset) {
  return buildPointer(*this, address, offset, kGlobalSpace);
}

Words WarpBuilder::loadShared(Value address, int64_t offset, int64_t bytes) {
  Value pointer = sharedPointer(address, offset);
  Type word = builder.getI32Type();
  if (bytes == 4)
    return {LLVM::LoadOp::create(builder, loc, word, pointer, 4)};
  Value vector = LLVM::LoadOp::create(
      builder, loc, VectorType::get({bytes / 4}, word), pointer, bytes);
  Words words;
  for (int64_t i = 0; i != bytes / 4; ++i)
    words.push_back(
        LLVM::ExtractElementOp::create(builder, loc, vector, i32(i)));
  return words;
}

Words WarpBuilder::loadMatrices(Value address, int64_t offset, int64_t count,
                                bool transposes) {
  SmallVector<Type> types(count, builder.getI32Type());
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc,
      LLVM::LLVMStructType::getLiteral(builder.getContext(), types),
      sharedPointer(address, offset), count,
      transposes ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  Words words;
  for (int64_t i = 0; i != count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return words;
}

Value WarpBuilder::loadSharedF32(Value address, int64_t offset) {
  return LLVM::LoadOp::create(builder, loc, builder.getF32Type(),
                              sharedPointer(address, offset), 4);
}

void WarpBuilder::storeSharedF32(Value value, Value address, int64_t offset) {
  LLVM::StoreOp::create(builder, loc, value, sharedPointer(address, offset), 4);
}

void WarpBuilder::storeShared(ArrayRef<Value> words, Value address,
                              int64_t offset) {
  if (words.size() == 1) {
    LLVM::StoreOp::create(builder, loc, words.front(),
                          sharedPointer(address, offset), 4);
    return;
  }
  auto type = VectorType::get({int64_t(words.size())}, builder.getI32Type());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, word] : llvm::enumerate(words))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, word, i32(i));
  LLVM::StoreOp::create(builder, loc, vector, sharedPointer(address, offset),
                        4 * words.size());
}

Value WarpBuilder::loadGlobal(Value address, int64_t offset, Type type,
                              int64_t alignment) {
  return LLVM::LoadOp::create(builder, loc, type,
                              globalPointer(address, offset), alignment);
}

Value WarpBuilder::extractElement(Value vector, int64_t index) {
  return LLVM::ExtractElementOp::create(builder, loc, vector, i32(index));
}

void WarpBuilder::copyAsync(Value shared, int64_t sharedOffset, Value global,
                            int64_t globalOffset, Value size, int64_t bytes) {
  // What passes the first cache by is 16 bytes.
  NVVM::CpAsyncOp::create(builder, loc, sharedPointer(shared, sharedOffset),
                          globalPointer(global, globalOffset), bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          size);
}

void WarpBuilder::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

void WarpBuilder::waitForCopies(int64_t pendingGroups) {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, pendingGroups);
}

void WarpBuilder::syncWarp() {
  NVVM::SyncWarpOp::create(builder, loc, i32(-1));
}

void WarpBuilder::syncBlock() { gpu::BarrierOp::create(builder, loc); }

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value>
WarpBuilder::buildIf(Value condition, TypeRange types,
                     llvm::function_ref<SmallVector<Value>()> then,
                     llvm::function_ref<SmallVector<Value>()> otherwise) {
  OpBuilder::InsertionGuard guard(builder);
  auto op = scf::IfOp::create(builder, loc, types, condition,
                              /*addThenBlock=*/true,
                              /*addElseBlock=*/bool(otherwise));
  auto fill = [&](Block *block,
                  llvm::function_ref<SmallVector<Value>()> build) {
    // Without results there may be one already.
    if (!block->empty())
      block->back().erase();
    builder.setInsertionPointToStart(block);
    SmallVector<Value> results = build();
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, results);
  };
  fill(op.thenBlock(), then);
  if (otherwise)
    fill(op.elseBlock(), otherwise);
  return llvm::to_vector_of<Value>(op.getResults());
}

SmallVector<Value> WarpBuilder::buildFor(
    Value begin, Value end, Value step, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::ForOp::create(builder, loc, begin, end, step, inits);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  builder.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(builder, loc, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> WarpBuilder::buildWhile(
    ValueRange inits, llvm::function_ref<Value(ValueRange)> condition,
    llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::WhileOp::create(builder, loc, inits.getTypes(), inits);
  SmallVector<Location> locs(inits.size(), loc);
  Block *before =
      builder.createBlock(&loop.getBefore(), {}, inits.getTypes(), locs);
  Value isMore = condition(before->getArguments());
  builder.setInsertionPointToEnd(before);
  scf::ConditionOp::create(builder, loc, isMore, before->getArguments());
  Block *after =
      builder.createBlock(&loop.getAfter(), {}, inits.getTypes(), locs);
  SmallVector<Value> results = body(after->getArguments());
  builder.setInsertionPointToEnd(after);
  scf::YieldOp::create(builder, loc, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> WarpBuilder::buildDoWhile(
    ValueRange inits,
    llvm::function_ref<std::pair<Value, SmallVector<Value>>(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  auto loop = scf::WhileOp::create(builder, loc, inits.getTypes(), inits);
  SmallVector<Location> locs(inits.size(), loc);
  Block *before =
      builder.createBlock(&loop.getBefore(), {}, inits.getTypes(), locs);
  auto [condition, results] = body(before->getArguments());
  builder.setInsertionPointToEnd(before);
  scf::ConditionOp::create(builder, loc, condition, results);
  Block *after =
      builder.createBlock(&loop.getAfter(), {}, inits.getTypes(), locs);
  scf::YieldOp::create(builder, loc, after->getArguments());
  return llvm::to_vector_of<Value>(loop.getResults());
}

void WarpBuilder::keepRolled() {
  LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(), ValueRange(), ".pragma \"nounroll\";", "",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}
