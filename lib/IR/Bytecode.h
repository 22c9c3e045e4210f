//===- Bytecode.h - The version of the dialect in bytecode ------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_BYTECODE_H
#define KVQ_LIB_IR_BYTECODE_H

namespace mlir::kvq {

class KVQDialect;

/// Has bytecode say which version of the dialect it was written by, and files
/// of later versions refused.
void addBytecodeInterface(KVQDialect &dialect);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_BYTECODE_H
