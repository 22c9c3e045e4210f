//===- AssignLayout.cpp - Layouts of formats that leave them open ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/AttrTypeSubElements.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct AssignLayoutPass : kvq::impl::AssignLayoutPassBase<AssignLayoutPass> {
  using Base::Base;

  void runOnOperation() override {
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
};

} // namespace
