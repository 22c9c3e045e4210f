//===- WarpBuilder.h - The instructions of a warp ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the arith, LLVM and NVVM ops that code for a warp consists of: 32-bit
// integers and addresses of workgroup memory, f32, pairs of f16.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_WARPBUILDER_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_WARPBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

#include <array>

namespace mlir::kvq {

/// A pair of f16 is a vector<2xf16>, 32 bits of anything else an i32.
using Words = SmallVector<Value, 4>;
/// The operands and the result of a 16 x 8 x 16 product of matrices.
using FragmentA = std::array<Value, 4>;
using FragmentB = std::array<Value, 2>;
using FragmentC = std::array<Value, 4>;

class WarpBuilder {
public:
  WarpBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  OpBuilder &builder;
  Location loc;

  // Constants.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(double value);
  /// A pair of one f16.
  Value half2(double value);
  Value zero(Type type);

  // Integers. A constant operand may be given as a number.
  Value add(Value lhs, Value rhs);
  Value add(Value lhs, int64_t rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, int64_t rhs);
  Value mul(Value lhs, Value rhs);
  Value divideUnsigned(Value lhs, int64_t rhs);
  Value remUnsigned(Value lhs, int64_t rhs);
  Value bitAnd(Value lhs, int64_t rhs);
  Value bitAnd(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftLeft(Value lhs, int64_t bits);
  Value shiftRight(Value lhs, int64_t bits);
  Value shiftRight(Value lhs, Value bits);
  Value min(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs);
  Value bothTrue(Value lhs, Value rhs);
  Value eitherTrue(Value lhs, Value rhs);
  Value isFalse(Value condition);
  Value select(Value condition, Value yes, Value no);
  /// Of an index or an i64, which it fits.
  Value toI32(Value value);
  Value toI64(Value value);
  Value toIndex(Value value);
  /// The lower and the upper word of an i64.
  Words splitI64(Value value);
  Value joinI64(Value low, Value high);
  /// An i32 of which nothing is known here, so that what follows from it is not
  /// computed before.
  Value conceal(Value value);
  /// The thread in its block, or the block in its grid, i32 along x: read where
  /// it is asked for.
  Value readThread();
  Value readBlock();

  // Floats, f32, or pairs of f16.
  Value fadd(Value lhs, Value rhs);
  Value fsub(Value lhs, Value rhs);
  Value fmul(Value lhs, Value rhs);
  Value fma(Value lhs, Value rhs, Value addend);
  /// The larger one; the other one of a NaN.
  Value fmax(Value lhs, Value rhs);
  /// The larger one; a NaN of any.
  Value fmaxOrNaN(Value lhs, Value rhs);
  Value fneg(Value value);
  Value fabs(Value value);
  Value fdiv(Value lhs, Value rhs);
  Value exp2(Value value);
  Value log2(Value value);
  Value isGreater(Value lhs, Value rhs);
  /// The same, and of a NaN.
  Value exceeds(Value lhs, Value rhs);
  /// Whether each of a pair is neither infinite nor NaN.
  Value areFinite(Value pair);
  Value isEqual(Value lhs, double rhs);
  Value isNaN(Value value);
  Value extend(Value value);
  /// Of a number of `type` as it is loaded: an unsigned integer, or a float, of
  /// 8 bits as these.
  Value extend(Value value, Type type);
  /// What numbers of a type are loaded as.
  static Type getStoredType(Type type);
  Value bitcast(Value value, Type type);

  // Bits of words.
  /// (`word` & `mask`) op `bits`, op being or, or exclusive or.
  Value maskOr(Value word, uint32_t mask, Value bits);
  Value maskOr(Value word, uint32_t mask, uint32_t bits);
  Value maskXor(Value word, uint32_t mask, uint32_t bits);
  /// Byte i of the result is that byte of `low`, bytes 0 to 3, and `high`, 4 to
  /// 7, that nibble i of `selector` names.
  Value permuteBytes(Value low, Value high, uint32_t selector);
  Value permuteBytes(Value low, Value high, Value selector);
  Value toHalf2(Value word);
  /// The f16s of bytes 0 and 1, or 2 and 3, of e4m3.
  Value convertE4M3(Value word, int64_t pair);
  Value toWord(Value half2);
  /// The word of four e4m3, rounded to nearest even, at most 448.
  Value packE4M3(std::array<Value, 4> values);
  /// The pair of two f16.
  Value pair(Value low, Value high);
  /// f16s of two f32s, rounded to nearest even.
  Value packHalf2(Value low, Value high);
  /// The word of bf16s of two f32s, and that of what rounding takes off them.
  std::array<Value, 2> packBFloat2(Value low, Value high);

  // Memory. Addresses of workgroup memory are i32, global ones i64.
  Words loadShared(Value address, int64_t offset, int64_t bytes);
  /// `count` matrices of 8 rows of 16 bytes. Lane 8 m + r's address is that of
  /// row r of matrix m; lane 4 g + t gets word t of row g of each, or half word
  /// g of rows 2 t and 2 t + 1.
  Words loadMatrices(Value address, int64_t offset, int64_t count,
                     bool transposes);
  Value loadSharedF32(Value address, int64_t offset);
  void storeSharedF32(Value value, Value address, int64_t offset);
  /// One, two or four words.
  void storeShared(ArrayRef<Value> words, Value address, int64_t offset);
  Value extractElement(Value vector, int64_t index);
  Value loadGlobal(Value address, int64_t offset, Type type, int64_t alignment);
  /// Copies 4, 8 or 16 bytes, or `size` of them and zeros, without waiting.
  void copyAsync(Value shared, int64_t sharedOffset, Value global,
                 int64_t globalOffset, Value size = {}, int64_t bytes = 16);
  void commitCopies();
  void waitForCopies(int64_t pendingGroups);

  // WarpBarriers.cpp: bulk copies, and the mbarriers that count their bytes.
  /// True in one lane of the warp.
  Value electLane();
  /// At workgroup memory, of one arrival in a phase.
  void initBarrier(Value shared, int64_t offset);
  void invalidateBarrier(Value shared, int64_t offset);
  void arrive(Value shared, int64_t offset);
  /// The phase is also to have bytes.
  void arriveExpecting(Value shared, int64_t offset, int64_t bytes);
  /// Waits for the last phase of a parity, 0 or 1.
  void awaitPhase(Value shared, int64_t offset, int64_t parity);
  /// Bulk copies that are started later write after what the lane has written.
  void fenceForBulkCopies();
  /// The mbarrier, an offset from `shared`, counts the bytes.
  void copyInBulk(Value shared, int64_t sharedOffset, Value global,
                  int64_t globalOffset, int64_t bytes, int64_t barrierOffset);

  // Threads wait for each other.
  void syncWarp();
  void syncBlock();

  // WarpMatrices.cpp: matrices and lanes.
  /// 16 x 8 x 16, of pairs of f16, or of words with pairs of bf16.
  FragmentC multiply(const FragmentA &a, const FragmentB &b,
                     const FragmentC &c);
  /// 16 x 8 x 8, of half as many pairs of f16.
  FragmentC multiplyHalves(const std::array<Value, 2> &a, Value b,
                           const FragmentC &c);
  /// 16 x 8 x 32, of words of four e4m3, or e5m2 and e4m3.
  FragmentC multiplyFP8(const FragmentA &a, bool isE5M2, const FragmentB &b,
                        const FragmentC &c);
  /// Ones, as e4m3.
  FragmentA onesOfFP8();
  /// Transposes an 8 x 8 matrix of f16, of which a lane has a pair of a row.
  Value transpose(Value pair);
  Value shuffleXor(Value value, int64_t lanes);
  /// That of another lane.
  Value shuffleFrom(Value value, Value lane);
  Value anyLane(Value condition);
  /// A bit of each lane.
  Value ballot(Value condition);
  /// Of the 4 lanes that have the columns of a row of fragments.
  Value reduceQuad(Value value, Value (WarpBuilder::*combine)(Value, Value));
  /// Of the 8 lanes that have the rows of a column of fragments.
  Value sumRows(Value value);
  Value maxRows(Value value);

  // Control flow.
  SmallVector<Value>
  buildIf(Value condition, TypeRange types,
          llvm::function_ref<SmallVector<Value>()> then,
          llvm::function_ref<SmallVector<Value>()> otherwise = {});
  SmallVector<Value>
  buildFor(Value begin, Value end, Value step, ValueRange inits,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  /// As long as a condition holds.
  SmallVector<Value>
  buildWhile(ValueRange inits, llvm::function_ref<Value(ValueRange)> condition,
             llvm::function_ref<SmallVector<Value>(ValueRange)> body);
  /// Of a body that also says whether it is to run again.
  SmallVector<Value> buildDoWhile(
      ValueRange inits,
      llvm::function_ref<std::pair<Value, SmallVector<Value>>(ValueRange)>
          body);
  /// In the body of a loop without others: it is one in machine code, too.
  void keepRolled();

private:
  Value intrinsic(StringRef name, Type type, ValueRange operands);
  Value inlineAssembly(StringRef text, StringRef constraints,
                       ValueRange operands, bool hasSideEffects);
  FragmentC multiplyPairs(ValueRange a, ValueRange b, const FragmentC &c);
  FragmentC unpackProduct(Value result);
  Value sharedPointer(Value address, int64_t offset);
  Value globalPointer(Value address, int64_t offset);
};

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_TENSORCORE_WARPBUILDER_H
