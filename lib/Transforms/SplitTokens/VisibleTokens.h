//===- VisibleTokens.h - Which tokens a query sees --------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_SPLITTOKENS_VISIBLETOKENS_H
#define KVQ_LIB_TRANSFORMS_SPLITTOKENS_VISIBLETOKENS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// The element of `counts` for a sequence, as an index.
Value loadCount(OpBuilder &b, Location loc, Value counts, Value sequence);

/// Tokens that a query sees; none where the end is not behind the begin.
struct VisibleRange {
  Value begin, end;
};

/// The tokens that query `token` of a sequence sees, by causality, window and
/// ring.
class VisibleTokens {
public:
  VisibleTokens(OpBuilder &b, AttentionOp op, Value sequence,
                OpFoldResult token)
      : b(b), op(op), loc(op.getLoc()), sequence(sequence), token(token) {}

  /// The query's position in the sequence; negative where there are fewer
  /// tokens than queries.
  OpFoldResult getPosition();
  /// What is seen as ranges, in order, as many for every query.
  SmallVector<VisibleRange> getRanges();

private:
  /// Of all tokens those before `first`, which is no more than `newest`, and
  /// those from there on.
  struct Limit {
    int64_t first;
    Value newest;
  };

  Value getLength();
  Value getEnd();
  SmallVector<Limit> getLimits();

  OpBuilder &b;
  AttentionOp op;
  Location loc;
  Value sequence;
  OpFoldResult token;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_SPLITTOKENS_VISIBLETOKENS_H
