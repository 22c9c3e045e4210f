//===- Passes.td - Passes on the kvq dialect ---------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_PASSES_TD
#define KVQ_TRANSFORMS_PASSES_TD

// In the order of the pipelines.
include "kvq/Transforms/RaisePasses.td"
include "kvq/Transforms/CachePasses.td"
include "kvq/Transforms/AttentionPasses.td"
include "kvq/Transforms/StoragePasses.td"
include "kvq/Transforms/CheckPasses.td"

#endif // KVQ_TRANSFORMS_PASSES_TD
