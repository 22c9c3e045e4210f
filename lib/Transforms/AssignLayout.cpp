//===- AssignLayout.cpp - Layouts of formats that leave them open ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheGraph.h"

#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Layouts.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Threading.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// One cache
//===----------------------------------------------------------------------===//

/// The format of rows, or of their segments, with `layout` for open ones; null,
/// with an error, where it does not fit.
static Attribute assignRowLayout(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute rowFormat, LayoutAttr layout) {
  auto segments = dyn_cast<SegmentsAttr>(rowFormat);
  if (!segments)
    return cast<FormatInterface>(rowFormat).assignLayout(emitError, layout);
  SmallVector<Attribute> formats;
  for (Attribute format : segments.getFormats()) {
    formats.push_back(assignRowLayout(emitError, format, layout));
    if (!formats.back())
      return {};
  }
  return SegmentsAttr::getChecked(
      emitError, segments.getContext(), segments.getEnds(),
      ArrayRef<Attribute>(formats), segments.getRow());
}

/// `cache` with `layout` for open ones; null, with an error, where it cannot be
/// that of its rows.
static CacheType assignCacheLayout(function_ref<InFlightDiagnostic()> emitError,
                                   CacheType cache, LayoutAttr layout) {
  Attribute rowFormat =
      assignRowLayout(emitError, cache.getRowFormat(), layout);
  if (!rowFormat)
    return {};
  return CacheType::getChecked(
      emitError, cache.getContext(), cache.getShape(), cache.getElementType(),
      rowFormat, cache.getExactFirst(), cache.getRecent(), cache.getResidual(),
      cache.getPage(), cache.getRing(), cache.getKeepFirst(),
      cache.getTokenMajor());
}

/// Why tiles, which rows may lie in, would not be read as they lie: empty if
/// they would.
static std::string whyTilesAreSlow(CacheType cache,
                                   const std::set<CacheSide> &sides,
                                   LayoutTarget target) {
  if (target == LayoutTarget::GPU)
    return "kernels for GPUs read rows";
  if (sides.empty())
    return "nothing shows whether it holds keys or values";
  if (sides.size() > 1)
    return "it holds keys and values";
  for (CacheType segment : cache.getSegmentCaches()) {
    if (cache.getSegments() && segment.isExact())
      continue;
    if (!segment.getFormat().hasIntegerCodes())
      return "it has no integer codes, and others are read row by row";
    if (segment.isBeforeRope())
      return "keys before RoPE are turned row by row";
  }
  if (cache.getExactFirst() != 0)
    return "tiles begin behind its exact_first tokens, where those of the "
           "other side may not";
  return "";
}

AssignedLayout kvq::assignLayout(CacheType cache,
                                 const std::set<CacheSide> &sides,
                                 LayoutTarget target) {
  MLIRContext *context = cache.getContext();
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  std::string reason = whyTilesAreSlow(cache, sides, target);
  if (reason.empty()) {
    // Of a tile that does not fit, the error is the reason.
    uint64_t thread = llvm::get_threadid();
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (llvm::get_threadid() != thread)
        return failure();
      reason = diagnostic.str();
      return success();
    });
    // 32 and 128 tokens are as fast within a few percent.
    TileOrder tile = {*sides.begin() == CacheSide::Keys ? TileKind::ChannelPairs
                                                        : TileKind::TokenPairs,
                      /*tokens=*/64};
    CacheType tiled = assignCacheLayout(emitError, cache,
                                        LayoutAttr::getTiles(context, tile));
    if (tiled)
      return {tiled, ""};
  }
  return {assignCacheLayout(emitError, cache, LayoutAttr::getPlanar(context)),
          reason};
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct AssignLayoutPass : kvq::impl::AssignLayoutPassBase<AssignLayoutPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult assignOpen();
  void assign(const CacheClass &cache);
  void makePlanar(TruncateOp op);
  void spellOutLayouts();
};

} // namespace

/// Whether the graph knows which caches of `op` are one.
static bool isKnown(Operation *op) {
  return isa<EmptyOp, AppendOp, AttentionOp, ReorderOp, ShiftOp, func::FuncOp,
             func::CallOp, func::ReturnOp, scf::ForOp, scf::IfOp, scf::WhileOp,
             scf::ConditionOp, scf::YieldOp, cf::BranchOp, cf::CondBranchOp,
             arith::SelectOp>(op);
}

void AssignLayoutPass::assign(const CacheClass &cache) {
  AssignedLayout assigned = assignLayout(cache.type, cache.sides, target);
  auto opts =
      remark::RemarkOpts::name("AssignLayout").category("kvq-assign-layout");
  if (assigned.whyPlanar.empty())
    remark::passed(*cache.loc, opts)
        << remark::add("a cache of {0} lies in tiles of {1} tokens",
                       stringifyCacheSide(*cache.sides.begin()).str(),
                       assigned.type.getTileOrder().tokens);
  else
    remark::missed(*cache.loc, opts)
        << remark::add("a cache lies row by row")
        << remark::reason("{0}", assigned.whyPlanar);
  // Batch and capacity are those of each value.
  cache.retype([&](CacheType old) {
    return assignLayout(old, cache.sides, target).type;
  });
}

/// Nothing but counts follow from the type that a truncate names.
void AssignLayoutPass::makePlanar(TruncateOp op) {
  if (op.getCache().hasOpenLayout())
    op.setCacheTypeAttr(
        TypeAttr::get(assignLayout(op.getCache(), {}, target).type));
}

LogicalResult AssignLayoutPass::assignOpen() {
  FailureOr<CacheGraph> graph = CacheGraph::build(
      getOperation(), [](CacheType cache) { return cache.hasOpenLayout(); });
  if (failed(graph))
    return failure();
  DenseSet<CacheClass *> changing;
  for (CacheClass &cache : graph->getClasses())
    changing.insert(&cache);
  bool areKnown = true;
  getOperation().walk([&](Operation *op) {
    if (auto truncate = dyn_cast<TruncateOp>(op))
      makePlanar(truncate);
    if (isKnown(op) ? !graph->hides(op) : !graph->carries(op, changing))
      return;
    op->emitError("op '") << op->getName()
                          << "' carries a !kvq.cache whose layout "
                             "kvq-assign-layout cannot choose: expected "
                             "another than auto";
    areKnown = false;
  });
  if (!areKnown)
    return failure();
  for (const CacheClass &cache : graph->getClasses())
    assign(cache);
  return success();
}

void AssignLayoutPass::spellOutLayouts() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](FormatAttr format) {
    if (format.isExact() || format.getLayout())
      return format;
    return format.withLayout(format.getLayoutOrDefault());
  });
  replacer.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void AssignLayoutPass::runOnOperation() {
  if (failed(assignOpen()))
    return signalPassFailure();
  if (spellOut)
    spellOutLayouts();
}
