//===- AttentionLike.cpp - Attention of other dialects --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/AttentionLike.h"

#include "kvq/IR/KVQOpInterfaces.cpp.inc"
