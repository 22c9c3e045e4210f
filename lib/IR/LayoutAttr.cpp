//===- LayoutAttr.cpp - Syntax and checks of #kvq.layout -----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FieldList.h"
#include "FormatLayout.h"

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
  CodeBlock block;
  RecordScope scope = RecordScope::None;
  SmallVector<LayoutField> fields;
  TileOrder tile;
};

} // namespace

static ParseResult parseOrder(AsmParser &parser, CodeOrder &order) {
  if (parseSymbol(parser, "planar, planar<n>, stream, stream<n, s> or reversed",
                  symbolizeOrderKind, order.kind))
    return failure();
  if (order.kind == OrderKind::Reversed || failed(parser.parseOptionalLess()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
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

/// Parses `[t, c]` or `[t, *]`.
static ParseResult parseBlock(AsmParser &parser, CodeBlock &block) {
  if (parser.parseLSquare() || parser.parseInteger(block.tokens) ||
      parser.parseComma())
    return failure();
  if (succeeded(parser.parseOptionalStar())) {
    block.channels = CodeBlock::kAllChannels;
    return parser.parseRSquare();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(block.channels))
    return failure();
  // The number that stands for all is not to be written.
  if (block.channels < 1)
    return parser.emitError(loc)
           << "expected a block of at least 1 channel or '*', got "
           << block.channels;
  return parser.parseRSquare();
}

static ParseResult parseTile(AsmParser &parser, TileOrder &tile) {
  // 'none' is written by leaving the field out.
  auto symbolize = [](StringRef name) {
    std::optional<TileKind> kind = symbolizeTileKind(name);
    return kind == TileKind::None ? std::nullopt : kind;
  };
  if (parseSymbol<TileKind>(parser,
                            "channel_pairs<T>, token_pairs<T> or fragments<T>",
                            symbolize, tile.kind))
    return failure();
  return failure(parser.parseLess() || parser.parseInteger(tile.tokens) ||
                 parser.parseGreater());
}

ParseResult kvq::parseFieldStride(AsmParser &parser, int64_t &stride) {
  if (failed(parser.parseOptionalLess()))
    return success();
  return failure(parser.parseInteger(stride) || parser.parseGreater());
}

static ParseResult parseRecordField(AsmParser &parser,
                                    SmallVectorImpl<LayoutField> &fields) {
  RowField field;
  if (parseSymbol(parser,
                  "one of codes, high, scale, zero, scale_zero, values, "
                  "skip<bytes>",
                  symbolizeRowField, field))
    return failure();
  fields.push_back({field});
  if (field == RowField::Skip)
    return failure(parser.parseLess() ||
                   parser.parseInteger(fields.back().bytes) ||
                   parser.parseGreater());
  return parseFieldStride(parser, fields.back().stride);
}

static ParseResult parseRecord(AsmParser &parser, RecordScope scope,
                               LayoutFields &fields) {
  SMLoc loc = parser.getCurrentLocation();
  if (fields.scope != RecordScope::None)
    return parser.emitError(loc)
           << "expected one of 'record' and 'row', got both";
  fields.scope = scope;
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseRecordField(parser, fields.fields);
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
      {"block", [&] { return parseBlock(parser, fields.block); }},
      {"tile", [&] { return parseTile(parser, fields.tile); }},
      {"record", [&] { return parseScope(RecordScope::Group); }},
      {"row", [&] { return parseScope(RecordScope::Row); }}};
  if (parseFieldList(parser, " of a layout", listed, seen))
    return {};
  return parser.getChecked<LayoutAttr>(
      loc, parser.getContext(), fields.codes,
      fields.high.value_or(fields.codes), fields.bias, fields.block,
      fields.scope, ArrayRef<LayoutField>(fields.fields), fields.tile,
      /*open=*/false);
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
  if (getOpen()) { // never by itself: a format prints it
    printer << "auto>";
    return;
  }
  printOrder(printer, "codes", getCodes());
  if (!(getHigh() == getCodes()))
    printOrder(printer << ", ", "high", getHigh());
  if (getBias())
    printer << ", bias";
  if (CodeBlock block = getBlock(); !(block == CodeBlock())) {
    printer << ", block = [" << block.tokens << ", ";
    if (block.channels == CodeBlock::kAllChannels)
      printer << "*]";
    else
      printer << block.channels << "]";
  }
  if (getTile().exists())
    printer << ", tile = " << stringifyTileKind(getTile().kind) << "<"
            << getTile().tokens << ">";
  if (getScope() != RecordScope::None) {
    printer << ", " << stringifyRecordScope(getScope()) << " = [";
    llvm::interleaveComma(getFields(), printer, [&](const LayoutField &field) {
      printer << stringifyRowField(field.field);
      if (field.field == RowField::Skip)
        printer << "<" << field.bytes << ">";
      else if (field.stride != 1)
        printer << "<" << field.stride << ">";
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

static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError,
                                const CodeOrder &codes, const CodeOrder &high,
                                const CodeBlock &block, RecordScope scope,
                                const TileOrder &tile) {
  if (!tile.exists())
    return success();
  if (tile.tokens < 2 || tile.tokens % 2 != 0)
    return emitError() << "expected a tile of an even number of tokens, got "
                       << tile.tokens;
  if (tile.hasFragments() && tile.tokens % 16 != 0)
    return emitError() << "expected fragments of a multiple of 16 tokens, got "
                       << tile.tokens;
  if (!(codes == CodeOrder()) || !(high == CodeOrder()))
    return emitError() << "expected planar codes in a tile, of a row together";
  if (!(block == CodeBlock()))
    return emitError() << "expected no 'block' in a tile";
  if (scope != RecordScope::None)
    return emitError() << "expected no '" << stringifyRecordScope(scope)
                       << "' in a tile";
  return success();
}

static LogicalResult verifyBlock(function_ref<InFlightDiagnostic()> emitError,
                                 const CodeBlock &block) {
  if (block.tokens < 1)
    return emitError() << "expected a block of at least 1 token, got "
                       << block.tokens;
  if (block.channels < 1 && block.channels != CodeBlock::kAllChannels)
    return emitError() << "expected a block of at least 1 channel or '*', got "
                       << block.channels;
  if (block.tokens == 1 && block.channels != CodeBlock::kAllChannels)
    return emitError() << "expected '*' as the channels of a block of one "
                          "token, whose channels lie in order anyway, got "
                       << block.channels;
  return success();
}

static LogicalResult verifyFields(function_ref<InFlightDiagnostic()> emitError,
                                  RecordScope scope,
                                  ArrayRef<LayoutField> fields) {
  llvm::SmallDenseSet<RowField> seen;
  for (auto [field, bytes, stride] : fields) {
    bool isMetadata = field == RowField::Scale || field == RowField::Zero;
    if (stride != 1 && (!isMetadata || scope != RecordScope::Row))
      return emitError()
             << "expected a stride of a scale or zero in a row, got "
                "one of '"
             << stringifyRowField(field) << "' in a "
             << stringifyRecordScope(scope);
    if (stride < 1)
      return emitError() << "expected a stride of at least 1, got " << stride;
    if (field == RowField::Skip) {
      if (bytes < 1)
        return emitError() << "expected to skip at least 1 byte, got " << bytes;
      continue;
    }
    if (!seen.insert(field).second)
      return emitError() << "field '" << stringifyRowField(field)
                         << "' of a record is given twice";
  }
  bool hasBoth = seen.contains(RowField::ScaleZero);
  for (RowField part : {RowField::Scale, RowField::Zero})
    if (hasBoth && seen.contains(part))
      return emitError() << "expected one of the fields 'scale_zero' and '"
                         << stringifyRowField(part) << "', got both";
  if (fields.size() < 2)
    return emitError() << "expected a record of at least two fields, got "
                       << fields.size();
  if (seen.empty())
    return emitError() << "expected a record with a field beside what it skips";
  return success();
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 CodeOrder codes, CodeOrder high, bool bias,
                                 CodeBlock block, RecordScope scope,
                                 ArrayRef<LayoutField> fields, TileOrder tile,
                                 bool) {
  if (failed(verifyOrder(emitError, codes)) ||
      failed(verifyOrder(emitError, high)) ||
      failed(verifyBlock(emitError, block)) ||
      failed(verifyTile(emitError, codes, high, block, scope, tile)))
    return failure();
  return scope == RecordScope::None ? success()
                                    : verifyFields(emitError, scope, fields);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getPlanar(MLIRContext *context) {
  return LayoutAttr::get(context, CodeOrder(), CodeOrder(), /*bias=*/false,
                         CodeBlock(), RecordScope::None,
                         ArrayRef<LayoutField>(), TileOrder(), /*open=*/false);
}

LayoutAttr LayoutAttr::getOpen(MLIRContext *context) {
  return LayoutAttr::get(context, CodeOrder(), CodeOrder(), /*bias=*/false,
                         CodeBlock(), RecordScope::None,
                         ArrayRef<LayoutField>(), TileOrder(), /*open=*/true);
}

LayoutAttr LayoutAttr::getTiles(MLIRContext *context, TileOrder tile) {
  return LayoutAttr::get(context, CodeOrder(), CodeOrder(), /*bias=*/false,
                         CodeBlock(), RecordScope::None,
                         ArrayRef<LayoutField>(), tile, /*open=*/false);
}

LayoutAttr LayoutAttr::withoutTile() const {
  return LayoutAttr::get(getContext(), getCodes(), getHigh(), getBias(),
                         getBlock(), getScope(), getFields(), TileOrder(),
                         getOpen());
}

LayoutAttr LayoutAttr::withRow(ArrayRef<LayoutField> fields) const {
  return LayoutAttr::get(getContext(), getCodes(), getHigh(), getBias(),
                         getBlock(), RecordScope::Row, fields, getTile(),
                         /*open=*/false);
}

bool LayoutAttr::hasField(RowField field) const {
  return llvm::any_of(getFields(), [&](const LayoutField &listed) {
    return listed.field == field;
  });
}
