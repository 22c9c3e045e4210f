//===- RematerializeQueries.h - Queries are made where they are read -*-C++-*-//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_REMATERIALIZEQUERIES_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_REMATERIALIZEQUERIES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kvq {

/// Makes rows of the query, which several block attentions of `launch` read,
/// anew for each but the first one, where that leaves more memory for rings.
/// Fails with an error where rings cannot be made to fit.
LogicalResult rematerializeQueries(RewriterBase &rewriter,
                                   gpu::LaunchOp launch);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_REMATERIALIZEQUERIES_H
