//===- AttentionLike.h - Attention of other dialects ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which ops of other dialects say that they are attention.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_ATTENTIONLIKE_H
#define KVQ_IR_ATTENTIONLIKE_H

#include "mlir/IR/OpDefinition.h"

#include <optional>

#include "kvq/IR/KVQOpInterfaces.h.inc"

#endif // KVQ_IR_ATTENTIONLIKE_H
