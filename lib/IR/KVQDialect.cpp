//===- KVQDialect.cpp - The kvq dialect ----------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bytecode.h"

#include "kvq/IR/KVQ.h"
#include "kvq/IR/Presets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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

//===----------------------------------------------------------------------===//
// Attributes of the dialect
//===----------------------------------------------------------------------===//

Attribute KVQDialect::parseAttribute(DialectAsmParser &parser,
                                     Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef mnemonic;
  Attribute attribute;
  if (generatedAttributeParser(parser, &mnemonic, type, attribute).has_value())
    return attribute;
  if (mnemonic == "preset")
    return parsePreset(parser);
  parser.emitError(loc) << "unknown attribute '" << mnemonic
                        << "' in dialect 'kvq'";
  return {};
}

void KVQDialect::printAttribute(Attribute attribute,
                                DialectAsmPrinter &printer) const {
  // A preset has become the format it stands for.
  (void)generatedAttributePrinter(attribute, printer);
}

//===----------------------------------------------------------------------===//
// Work items
//===----------------------------------------------------------------------===//

int64_t WorkItemAttr::getMappingId() const { return getAxis(); }

bool WorkItemAttr::isLinearMapping() const { return false; }

int64_t WorkItemAttr::getRelativeIndex() const { return getAxis(); }

ArrayAttr WorkItemAttr::getMapping(MLIRContext *context, int64_t rank) {
  SmallVector<Attribute> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(WorkItemAttr::get(context, axis));
  return ArrayAttr::get(context, axes);
}

//===----------------------------------------------------------------------===//
// Attributes of other ops
//===----------------------------------------------------------------------===//

/// Checks `kvq.layer` and `kvq.side`; true if it was one of them.
static FailureOr<bool>
verifyLabel(llvm::function_ref<InFlightDiagnostic()> emitError,
            NamedAttribute attribute) {
  if (attribute.getName() == kLayerAttrName) {
    auto layer = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!layer || !layer.getType().isInteger(64) || layer.getInt() < 0)
      return emitError() << "expected kvq.layer as an i64 of at least 0, got "
                         << attribute.getValue();
    return true;
  }
  if (attribute.getName() == kSideAttrName) {
    if (!isa<CacheSideAttr>(attribute.getValue()))
      return emitError() << "expected kvq.side as #kvq.side<keys> or "
                            "#kvq.side<values>, got "
                         << attribute.getValue();
    return true;
  }
  return false;
}

LogicalResult KVQDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  auto emitError = [&] { return op->emitError(); };
  FailureOr<bool> isLabel = verifyLabel(emitError, attribute);
  if (failed(isLabel) || *isLabel)
    return isLabel;
  if (attribute.getName() == kPolicyAttrName) {
    if (isa<ModuleOp>(op) && isa<PolicyAttr>(attribute.getValue()))
      return success();
    return emitError() << "expected kvq.policy as a #kvq.policy<...> of a "
                          "module, got "
                       << attribute.getValue() << " of '" << op->getName()
                       << "'";
  }
  if (attribute.getName() == kUnfusedAttrName) {
    if (isa<FunctionOpInterface>(op) && isa<UnitAttr>(attribute.getValue()))
      return success();
    return emitError() << "expected kvq.unfused as a unit attribute of a "
                          "function, got "
                       << attribute.getValue() << " of '" << op->getName()
                       << "'";
  }
  if (attribute.getName() == kQueryCodesAttrName) {
    auto type = dyn_cast<TypeAttr>(attribute.getValue());
    if (isa<linalg::GenericOp>(op) && type &&
        (type.getValue().isSignlessInteger(8) ||
         type.getValue().isSignlessInteger(16)))
      return success();
    return emitError() << "expected kvq.query_codes as i8 or i16 of a "
                          "linalg.generic, got "
                       << attribute.getValue() << " of '" << op->getName()
                       << "'";
  }
  if (attribute.getName() == kScheduleAttrName) {
    if (isa<FunctionOpInterface>(op) && isa<ScheduleAttr>(attribute.getValue()))
      return success();
    return emitError() << "expected kvq.schedule as a #kvq.schedule<...> of a "
                          "function, got "
                       << attribute.getValue() << " of '" << op->getName()
                       << "'";
  }
  return emitError() << "expected an attribute of kvq.layer, kvq.policy, "
                        "kvq.query_codes, kvq.schedule, kvq.side, kvq.unfused, "
                        "got "
                     << attribute.getName();
}

LogicalResult KVQDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned index,
                                                   NamedAttribute attribute) {
  auto emitError = [&] {
    return op->emitError() << "argument " << index << ": ";
  };
  FailureOr<bool> isLabel = verifyLabel(emitError, attribute);
  if (failed(isLabel) || *isLabel)
    return isLabel;
  return emitError() << "expected an attribute of kvq.layer, kvq.side, got "
                     << attribute.getName();
}

LogicalResult kvq::verifyKnownAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    if (attribute.getNameDialect() ||
        attribute.getName().strref().contains('.'))
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "has no attribute '"
                               << attribute.getName().getValue() << "'";
    if (auto info = op->getRegisteredInfo();
        info && !info->getAttributeNames().empty()) {
      error << ": expected one of ";
      llvm::interleaveComma(info->getAttributeNames(), error,
                            [&](StringAttr name) { error << name.getValue(); });
    }
    return error;
  }
  return success();
}

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
  addBytecodeInterface(*this);
}
