//===- KVQOps.td - The ops of the kvq dialect --------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQOPS_TD
#define KVQ_IR_KVQOPS_TD

include "kvq/IR/KVQValueOps.td"
include "kvq/IR/KVQCacheOps.td"
include "kvq/IR/KVQTileOps.td"
include "kvq/IR/KVQWorkItemOps.td"

#endif // KVQ_IR_KVQOPS_TD
