//===- FloatText.h - Floats as they were written ----------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_FLOATTEXT_H
#define KVQ_LIB_IR_FLOATTEXT_H

#include <string>

namespace mlir::kvq {

/// The shortest decimal that MLIR reads as the finite float `value`: 0.9, where
/// its printer has 0.899999976.
std::string toShortestText(float value);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_FLOATTEXT_H
