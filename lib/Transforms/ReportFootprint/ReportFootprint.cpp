//===- ReportFootprint.cpp - Bytes of caches and of what else runs --------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Footprint.h"
#include "kvq/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_REPORTFOOTPRINTPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// The default of the option `capacity`.
constexpr int64_t kNoCapacity = -1;

struct ReportFootprintPass
    : kvq::impl::ReportFootprintPassBase<ReportFootprintPass> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

static remark::RemarkOpts getRemarkOpts(FunctionOpInterface function) {
  return remark::RemarkOpts::name("ReportFootprint")
      .category("kvq-report-footprint")
      .function(function.getName());
}

static void emitRemark(FunctionOpInterface function,
                       const CacheFootprint &cache) {
  auto out = remark::analysis(cache.value.getLoc(), getRemarkOpts(function));
  if (!out)
    return;
  const ByteSplit &split = cache.capacity ? cache.allocated : cache.group;
  std::string tokens = std::to_string(
      cache.capacity ? *cache.capacity : cache.type.getTokenGroup());
  out << remark::add("cache {0} takes {1} bytes {2}", cache.name, split.total,
                     cache.capacity ? "for " + tokens + " tokens"
                                    : "for each " + tokens + " tokens beside " +
                                          std::to_string(cache.fixed.total));
  for (auto [part, bytes] : split.getParts())
    out << remark::metric(part, bytes);
  out << remark::metric("fixed", cache.fixed.total)
      << remark::metric("perToken", getPerToken(cache.group.total,
                                                cache.type.getTokenGroup()));
}

static void emitRemark(FunctionOpInterface function,
                       const Temporaries &temporaries) {
  auto out = remark::analysis(function.getLoc(), getRemarkOpts(function));
  if (!out)
    return;
  auto orNone = [](std::string text) { return text.empty() ? "none" : text; };
  out << remark::add("temporaries of a call: {0}, of a work item: {1}",
                     orNone(toText(temporaries.call)),
                     orNone(toText(temporaries.workItem)))
      << remark::metric("launches", temporaries.launches)
      << remark::metric("launchesInControlFlow",
                        temporaries.launchesInControlFlow);
}

void ReportFootprintPass::runOnOperation() {
  markAllAnalysesPreserved();
  std::optional<int64_t> tokens;
  if (capacity != kNoCapacity) {
    tokens = capacity;
    if (*tokens < 0) {
      getOperation().emitError("expected a capacity of at least 0, got ")
          << *tokens;
      return signalPassFailure();
    }
  }

  FailureOr<std::vector<FunctionFootprint>> functions =
      measure(getOperation(), tokens);
  if (failed(functions))
    return signalPassFailure();

  for (const FunctionFootprint &footprint : *functions) {
    for (const CacheFootprint &cache : footprint.caches)
      emitRemark(footprint.function, cache);
    if (!footprint.temporaries.empty())
      emitRemark(footprint.function, footprint.temporaries);
  }
  // Beside the module, as upstream's reports are.
  if (output == FootprintOutput::Table)
    printTables(*functions, llvm::errs());
  if (output == FootprintOutput::JSON)
    printJSON(*functions, llvm::errs());
}
