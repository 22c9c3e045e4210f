//===- KVQDialect.cpp - The kvq dialect ----------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

#include "kvq/IR/KVQDialect.cpp.inc"
#include "kvq/IR/KVQEnums.cpp.inc"

#include "kvq/IR/KVQAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvq/IR/KVQAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvq/IR/KVQTypes.cpp.inc"

#define GET_OP_CLASSES
#include "kvq/IR/KVQOps.cpp.inc"

namespace {

/// All ops are free of side effects, so each may be inlined anywhere.
struct KVQInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, mlir::Region *, bool,
                       IRMapping &) const final {
    return true;
  }
};

/// Short names for formats and caches in printed IR.
struct KVQAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<FormatAttr>(attr))
      return AliasResult::NoAlias;
    os << "format";
    return AliasResult::OverridableAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!isa<CacheType>(type))
      return AliasResult::NoAlias;
    os << "cache";
    return AliasResult::OverridableAlias;
  }
};

} // namespace

void KVQDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvq/IR/KVQAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvq/IR/KVQTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvq/IR/KVQOps.cpp.inc"
      >();
  addInterfaces<KVQAsmInterface, KVQInlinerInterface>();
}
