//===- AssignSchedule.cpp - Schedules of attention ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"
#include "kvq/Transforms/QueryTile.h"
#include "kvq/Transforms/Schedules.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ASSIGNSCHEDULEPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct AssignSchedulePass
    : kvq::impl::AssignSchedulePassBase<AssignSchedulePass> {
  using Base::Base;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult verifyOptions(MLIRContext *context);
  ScheduleAttr choose(AttentionOp op);

  /// From the file, if there is one; shared by clones of the pass.
  std::shared_ptr<const ScheduleFile> schedules;
};

} // namespace

LogicalResult AssignSchedulePass::verifyOptions(MLIRContext *context) {
  auto fail = [&](StringRef name, int64_t least, int64_t most, int64_t found) {
    return emitError(UnknownLoc::get(context))
           << "kvq-assign-schedule: expected " << name << " from " << least
           << " to " << most << ", got " << found;
  };
  constexpr int64_t kMany = int64_t(1) << 40;
  for (auto [name, number, least, most] :
       {std::tuple("splits", &splits, 0, ScheduleAttr::kMostSplits),
        std::tuple("tile-tokens", &tileTokens, 0,
                   ScheduleAttr::kMostTileTokens),
        std::tuple("heads-inside", &headsInside, -1,
                   ScheduleAttr::kMostHeadsInside),
        std::tuple("prefetch", &prefetch, -1, ScheduleAttr::kMostPrefetch),
        std::tuple("threads", &threads, 1, kMany),
        std::tuple("l1-bytes", &l1Bytes, 1, kMany),
        std::tuple("l2-bytes", &l2Bytes, 1, kMany)})
    if (*number < least || *number > most)
      return fail(name, least, most, *number);
  if (queryTile < 0 || queryTile > kMostQueryTokens)
    return emitError(UnknownLoc::get(context))
           << "kvq-assign-schedule: expected 1 to " << kMostQueryTokens
           << " query tokens in a work item, or 0, got " << int64_t(queryTile);
  if (vectorWidth < 1 || !llvm::isPowerOf2_64(vectorWidth))
    return emitError(UnknownLoc::get(context))
           << "kvq-assign-schedule: expected a power of two as vector-width, "
              "found "
           << int64_t(vectorWidth);
  if (!file.empty() && cpu.empty())
    return emitError(UnknownLoc::get(context))
           << "kvq-assign-schedule: expected a cpu whose entries of the file "
              "hold, got none";
  return success();
}

LogicalResult AssignSchedulePass::initialize(MLIRContext *context) {
  if (failed(verifyOptions(context)))
    return failure();
  if (file.empty())
    return success();
  llvm::Expected<ScheduleFile> read = ScheduleFile::read(file, context);
  if (!read)
    return emitError(UnknownLoc::get(context))
           << "kvq-assign-schedule: " << llvm::toString(read.takeError());
  schedules = std::make_shared<const ScheduleFile>(std::move(*read));
  return success();
}

/// All that the options, the file and the model say, each before the next.
ScheduleAttr AssignSchedulePass::choose(AttentionOp op) {
  ScheduleAttr chosen =
      chooseSchedule(op, {threads, vectorWidth, l1Bytes, l2Bytes}, queryTile);
  if (schedules)
    if (ScheduleAttr found = schedules->find(cpu, threads, getScheduleKey(op)))
      chosen = found.withDefaults(chosen);
  return ScheduleAttr::get(
      op.getContext(),
      tileTokens != 0 ? int64_t(tileTokens) : *chosen.getTile(),
      splits != 0 ? int64_t(splits) : *chosen.getSplits(),
      headsInside >= 0 ? int64_t(headsInside) : *chosen.getHeadsInside(),
      chosen.getVectorWidth(),
      prefetch >= 0 ? int64_t(prefetch) : *chosen.getPrefetch());
}

/// A missed remark where tiles of attention cut those of a layout.
static void remarkCutTiles(AttentionOp op) {
  int64_t tile = *op.getScheduleAttr().getTile();
  for (auto [name, side] :
       {std::pair("keys", op.getKey()), std::pair("values", op.getValue())})
    for (CacheType cache : cast<CacheType>(side.getType()).getSegmentCaches())
      if (int64_t stored = cache.getTileOrder().tokens; tile < stored)
        remark::missed(op.getLoc(), remark::RemarkOpts::name("AssignSchedule")
                                        .category("kvq-assign-schedule"))
            << remark::add("{0} are read row by row", name)
            << remark::reason("tiles of {0} tokens cut those of {1} that they "
                              "are stored in",
                              tile, stored);
}

void AssignSchedulePass::runOnOperation() {
  getOperation().walk([&](AttentionOp op) {
    // Over tensors it has no lowering, which a later pass says.
    if (!isa<CacheType>(op.getKey().getType()) ||
        !isa<CacheType>(op.getValue().getType()))
      return;
    ScheduleAttr chosen = choose(op);
    if (ScheduleAttr own = op.getScheduleAttr())
      chosen = own.withDefaults(chosen);
    op.setScheduleAttr(chosen);
    remarkCutTiles(op);
  });
}
