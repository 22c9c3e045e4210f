//===- FieldList.cpp - Lists of named fields of attributes ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldList.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kvq;

static ParseResult parseOne(AsmParser &parser, ArrayRef<ListedField> fields,
                            llvm::StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  const ListedField *field = llvm::find_if(
      fields, [&](const ListedField &field) { return field.name == name; });
  if (field == fields.end()) {
    InFlightDiagnostic diagnostic = parser.emitError(loc, "expected one of ");
    llvm::interleaveComma(fields, diagnostic, [&](const ListedField &field) {
      diagnostic << field.name;
    });
    return diagnostic << ", got '" << name << "'";
  }
  if (!seen.insert(name).second)
    return parser.emitError(loc) << "field '" << name << "' is given twice";
  if (!field->isFlag && parser.parseEqual())
    return failure();
  return field->parseValue();
}

ParseResult kvq::parseFieldList(AsmParser &parser, StringRef what,
                                ArrayRef<ListedField> fields,
                                llvm::StringSet<> &seen) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::LessGreater,
      [&] { return parseOne(parser, fields, seen); }, what);
}
