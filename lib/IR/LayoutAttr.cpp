//===- LayoutAttr.cpp - Syntax and checks of #kvq.layout -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldList.h"

#include "kvq/IR/KVQ.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {

/// The fields of a layout as they are written, before defaults.
struct LayoutFields {
  CodeOrder codes;
  std::optional<CodeOrder> high;
  bool bias = false;
  RecordScope scope = RecordScope::None;
  SmallVector<RowField> fields;
};

} // namespace

static ParseResult parseOrder(AsmParser &parser, CodeOrder &order) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<OrderKind> kind = symbolizeOrderKind(name);
  if (!kind)
    return parser.emitError(loc)
           << "expected planar, planar<n>, stream, stream<n, s> or reversed, "
              "got '"
           << name << "'";
  order.kind = *kind;
  if (order.kind == OrderKind::Reversed ||
      failed(parser.parseOptionalLess()))
    return success();
  loc = parser.getCurrentLocation();
  if (parser.parseInteger(order.elements) ||
      (order.kind == OrderKind::Stream &&
       (parser.parseComma() || parser.parseInteger(order.stride))) ||
      parser.parseGreater())
    return failure();
  // 0 would read as not given.
  if (order.elements < 1)
    return parser.emitError(loc)
           << "expected an order of at least 1 element, got " << order.elements;
  return success();
}

static ParseResult parseRecord(AsmParser &parser, RecordScope scope,
                               LayoutFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  if (fields.scope != RecordScope::None)
    return parser.emitError(loc)
           << "expected one of 'record' and 'row', got both";
  fields.scope = scope;
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc loc = parser.getCurrentLocation();
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        std::optional<RowField> field = symbolizeRowField(name);
        if (!field)
          return parser.emitError(loc)
                 << "expected one of codes, high, scale, zero, scale_zero, "
                    "got '"
                 << name << "'";
        fields.fields.push_back(*field);
        return success();
      });
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  LayoutFields fields;
  llvm::StringSet<> seen;
  SMLoc loc = parser.getCurrentLocation();
  auto parseScope = [&](RecordScope scope) {
    return parseRecord(parser, scope, fields);
  };
  const ListedField listed[] = {
      {"codes", [&] { return parseOrder(parser, fields.codes); }},
      {"high", [&] { return parseOrder(parser, fields.high.emplace()); }},
      {"bias",
       [&] {
         fields.bias = true;
         return ParseResult::success();
       },
       /*isFlag=*/true},
      {"record", [&] { return parseScope(RecordScope::Group); }},
      {"row", [&] { return parseScope(RecordScope::Row); }}};
  if (parseFieldList(parser, " of a layout", listed, seen))
    return {};
  return parser.getChecked<LayoutAttr>(
      loc, parser.getContext(), fields.codes,
      fields.high.value_or(fields.codes), fields.bias, fields.scope,
      ArrayRef<RowField>(fields.fields));
}

static void printOrder(AsmPrinter &printer, StringRef name,
                       const CodeOrder &order) {
  printer << name << " = " << stringifyOrderKind(order.kind);
  if (order.elements == 0)
    return;
  printer << "<" << order.elements;
  if (order.kind == OrderKind::Stream)
    printer << ", " << order.stride;
  printer << ">";
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printOrder(printer, "codes", getCodes());
  if (!(getHigh() == getCodes()))
    printOrder(printer << ", ", "high", getHigh());
  if (getBias())
    printer << ", bias";
  if (getScope() != RecordScope::None) {
    printer << ", " << stringifyRecordScope(getScope()) << " = [";
    llvm::interleaveComma(getFields(), printer, [&](RowField field) {
      printer << stringifyRowField(field);
    });
    printer << "]";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static LogicalResult verifyOrder(function_ref<InFlightDiagnostic()> emitError,
                                 const CodeOrder &order) {
  if (order.elements < 0)
    return emitError() << "expected an order of at least 1 element, got "
                       << order.elements;
  if (order.stride < 1)
    return emitError() << "expected a stride of at least 1, got "
                       << order.stride;
  if (order.elements % order.stride != 0)
    return emitError() << "stride " << order.stride << " does not divide the "
                       << order.elements << " elements of its order";
  return success();
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 CodeOrder codes, CodeOrder high, bool bias,
                                 RecordScope scope, ArrayRef<RowField> fields) {
  if (failed(verifyOrder(emitError, codes)) ||
      failed(verifyOrder(emitError, high)))
    return failure();
  if (scope == RecordScope::None)
    return success();
  llvm::SmallDenseSet<RowField> seen;
  for (RowField field : fields)
    if (!seen.insert(field).second)
      return emitError() << "field '" << stringifyRowField(field)
                         << "' of a record is given twice";
  bool hasBoth = seen.contains(RowField::ScaleZero);
  for (RowField part : {RowField::Scale, RowField::Zero})
    if (hasBoth && seen.contains(part))
      return emitError() << "expected one of the fields 'scale_zero' and '"
                         << stringifyRowField(part) << "', got both";
  if (fields.size() < 2)
    return emitError() << "expected a record of at least two fields, got "
                       << fields.size();
  return success();
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getPlanar(MLIRContext *context) {
  return LayoutAttr::get(context, CodeOrder(), CodeOrder(), /*bias=*/false,
                         RecordScope::None, ArrayRef<RowField>());
}

bool LayoutAttr::hasField(RowField field) const {
  return llvm::is_contained(getFields(), field);
}
