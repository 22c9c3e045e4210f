//===- CodeBlocks.h - Codes of tokens in the order of fields -----*- C++
//-*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_CODEBLOCKS_H
#define KVQ_LIB_IR_CODEBLOCKS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// The codes of some tokens, `... x tokens x head_dim`, as the elements of
/// fields, `... x rows [x records] x elements`: what a packed row holds, in its
/// order (rules R29 and R40). Packing and unpacking see elements alone.
class CodeBlocks {
public:
  CodeBlocks(const RowLayout &layout, int64_t headDim);

  /// `codes` as elements: a view where they lie in that order already.
  Value toElements(OpBuilder &b, Location loc, Value codes) const;
  /// Where elements are unpacked to: `codes` itself, or scratch.
  Value getDestination(OpBuilder &b, Location loc, Value codes) const;
  /// `codes` with the unpacked `elements`.
  Value fromElements(OpBuilder &b, Location loc, Value elements,
                     Value codes) const;

private:
  struct Axes;
  Axes getAxes(Value codes) const;
  /// Whether the tokens of a row lie one after the other.
  bool isView() const { return records == 1 && runs == 1; }
  Value splitCodes(OpBuilder &b, Location loc, Value codes) const;

  /// Of a row: its tokens, its records, and of one record the runs of channels
  /// and the channels of a run.
  int64_t tokens, records, runs, channels;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_CODEBLOCKS_H
