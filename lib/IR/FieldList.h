//===- FieldList.h - Lists of named fields of attributes --------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_FIELDLIST_H
#define KVQ_LIB_IR_FIELDLIST_H

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace mlir::kvq {

/// A field of an attribute: its name, and what parses its value.
struct ListedField {
  StringRef name;
  std::function<ParseResult()> parseValue;
  /// Whether the name says all: no `=` and value follow it.
  bool isFlag = false;
};

/// Parses `<name = value, flag, ...>` in any order, each field at most once,
/// and adds the names to `seen`. `what` names the attribute in errors.
ParseResult parseFieldList(AsmParser &parser, StringRef what,
                           ArrayRef<ListedField> fields,
                           llvm::StringSet<> &seen);

/// Parses a word that `symbolize` knows. `expected` says in errors which ones
/// there are: "expected <expected>, got 'word'".
template <typename Enum>
ParseResult parseSymbol(AsmParser &parser, StringRef expected,
                        std::optional<Enum> (*symbolize)(StringRef),
                        Enum &symbol) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Enum> known = symbolize(name);
  if (!known)
    return parser.emitError(loc)
           << "expected " << expected << ", got '" << name << "'";
  symbol = *known;
  return success();
}

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_FIELDLIST_H
