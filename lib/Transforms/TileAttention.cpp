//===- TileAttention.cpp - Partial attention to token tiles ---------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"

#include <numeric>

namespace mlir::kvq {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The tile for a part: token groups that several tokens share divide it, or
/// it divides them, so that one row of metadata serves a tile; so do tiles of a
/// layout.
static int64_t getTileTokens(PartialAttentionOp op, int64_t tileTokens) {
  int64_t tile = 0;
  for (auto [cache, region] :
       {std::pair(op.getKey().getType(), op.getKeyRegion()),
        std::pair(op.getValue().getType(), op.getValueRegion())}) {
    if (region != TokenRegion::Codes)
      continue;
    if (cache.getTokenGroup() > 1)
      tile = std::gcd(tile, cache.getTokenGroup());
    else if (TileOrder order = cache.getTileOrder(); order.exists())
      tile = std::gcd(tile, order.tokens);
  }
  if (tile == 0)
    return tileTokens;
  // The largest divisor of the groups that is no more than asked for.
  for (int64_t divisor = std::min(tile, tileTokens); divisor > 1; --divisor)
    if (tile % divisor == 0)
      return divisor;
  return 1;
}

/// Whether tiles of so many tokens can be made to lie within the pages of both
/// sides, and within the tiles of their layouts: they divide them, and what
/// bounds tiles begins at the same token. Groups of several tokens keep a tile
/// within a page by themselves.
static bool fitsPages(PartialAttentionOp op, int64_t tile) {
  bool hasPages = false;
  std::optional<int64_t> origin;
  for (auto [cache, region] :
       {std::pair(op.getKey().getType(), op.getKeyRegion()),
        std::pair(op.getValue().getType(), op.getValueRegion())}) {
    TileOrder order = cache.getTileOrder();
    bool isBound =
        cache.isPaged() || cache.getTokenGroup() > 1 || order.exists();
    if (region != TokenRegion::Codes || !isBound)
      continue;
    if (origin.value_or(cache.getExactFirst()) != cache.getExactFirst())
      return false;
    origin = cache.getExactFirst();
    if (cache.getTokenGroup() > 1)
      continue;
    int64_t size = order.exists() ? order.tokens : *cache.getPage();
    if (size % tile != 0)
      return false;
    hasPages = true;
  }
  return hasPages;
}

FailureOr<TiledAttention> kvq::tileAttention(RewriterBase &rewriter,
                                             PartialAttentionOp op,
                                             int64_t tileTokens) {
  if (!op.getKeyRegion())
    return op.emitOpError("expected key_region and value_region, as "
                          "kvq-split-regions sets them, got neither");
  int64_t asked = op.getTile() ? int64_t(*op.getTile()) : tileTokens;
  int64_t size = getTileTokens(op, asked);
  rewriter.modifyOpInPlace(op, [&] { op.setWithinPages(fitsPages(op, size)); });
  scf::SCFTilingOptions options;
  options.setTileSizes({rewriter.getIndexAttr(size)});
  rewriter.setInsertionPoint(op);
  FailureOr<scf::SCFTilingResult> tiled = scf::tileUsingSCF(
      rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return op.emitOpError("could not be tiled over its tokens");
  auto tile = cast<PartialAttentionOp>(tiled->tiledOps.front());
  rewriter.modifyOpInPlace(tile, [&] { tile.setTile(size); });
  rewriter.replaceOp(op, tiled->replacements);
  return TiledAttention{tile,
                        cast<scf::ForOp>(tiled->loops.front().getOperation())};
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct TileAttentionPass : kvq::impl::TileAttentionPassBase<TileAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    if (tileTokens < 1) {
      emitError(getOperation()->getLoc())
          << "kvq-tile-attention: expected tiles of at least 1 token, got "
          << tileTokens.getValue();
      return signalPassFailure();
    }
    SmallVector<PartialAttentionOp> ops;
    getOperation()->walk([&](PartialAttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (PartialAttentionOp op : ops)
      if (failed(tileAttention(rewriter, op, tileTokens)))
        return signalPassFailure();
  }
};

} // namespace
