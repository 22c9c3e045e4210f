//===- Transforms.h - What passes do to one op ------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of the schedule of attention, for one op each: passes do them to
// all ops, ops of the transform dialect to those that a script names. Each
// emits an error at the op where it does not fit, and has changed nothing then.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_TRANSFORMS_H
#define KVQ_TRANSFORMS_TRANSFORMS_H

#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::kvq {

/// Reads sides of `op` that are dequantized tensors from caches over their
/// codes
/// (`kvq-fuse-dequantize`). Returns why a side, called by its name, is left as
/// a tensor; nothing where both are caches then.
SmallVector<std::string> fuseDequantize(RewriterBase &rewriter, AttentionOp op);

/// Replaces `op` by work items (`kvq-split-tokens`): the loop over them, and
/// one that merges their states where there is more than one split.
FailureOr<SmallVector<scf::ForallOp>>
splitTokens(RewriterBase &rewriter, AttentionOp op,
            const SplitTokensPassOptions &options);

/// Replaces `op` by its parts within regions of storage (`kvq-split-regions`),
/// in order.
FailureOr<SmallVector<PartialAttentionOp>> splitRegions(RewriterBase &rewriter,
                                                        PartialAttentionOp op);

/// A loop over tiles of tokens, and the attention to one of them.
struct TiledAttention {
  PartialAttentionOp tile;
  scf::ForOp loop;
};

/// Tiles `op` over its tokens (`kvq-tile-attention`), at most `tileTokens` of
/// them unless the op has a tile.
FailureOr<TiledAttention> tileAttention(RewriterBase &rewriter,
                                        PartialAttentionOp op,
                                        int64_t tileTokens);

/// Queries with rows side by side, channels x rows, by the query they are of.
using TransposedQueries = llvm::DenseMap<Value, Value>;

/// Replaces `op`, a tiled `kvq.partial_attention` or a `kvq.merge_partials`, by
/// structured ops (`kvq-decompose-attention`). Ops that read one query share
/// what is in `transposed`.
LogicalResult decomposeAttention(RewriterBase &rewriter, Operation *op,
                                 int64_t dequantizeRows,
                                 TransposedQueries &transposed);

/// Takes scales and zeros out of a contraction with a dequantized tile
/// (`kvq-fold-scales`), and returns what stands for its result. `lanes`:
/// whether lanes of vectors sum, and not threads of their own. Where it does
/// not fit no error is emitted: `notifyReason` is told why.
FailureOr<Value>
foldScales(RewriterBase &rewriter, linalg::GenericOp op, bool lanes,
           llvm::function_ref<LogicalResult(StringRef)> notifyReason);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_TRANSFORMS_H
