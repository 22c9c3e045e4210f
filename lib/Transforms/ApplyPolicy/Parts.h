//===- Parts.h - What a cache becomes under a policy ------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cache becomes one cache for each range of heads of one type, and each that
// has a recent window is followed by its flushed counts. Where that is more
// than a cache, its value has, within the pass, the tuple of these types.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_APPLYPOLICY_PARTS_H
#define KVQ_LIB_TRANSFORMS_APPLYPOLICY_PARTS_H

#include "kvq/IR/KVQ.h"

#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvq {

/// The types of the parts of a cache, flushed counts among them.
SmallVector<Type> getPartTypes(ArrayRef<CacheType> caches);

/// The type of a value that stands for all of them.
Type bundle(ArrayRef<Type> parts);

/// Takes the bundles apart.
struct PartConverter : TypeConverter {
  PartConverter();
};

void populateApplyPolicyPatterns(const PartConverter &converter,
                                 RewritePatternSet &patterns);

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_APPLYPOLICY_PARTS_H
