//===- RowLayout.h - Codes and metadata of a row in bytes -------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a format says of the bytes of its rows, with all defaults resolved: what
// allocation, packing and reports of bytes ask. Included by KVQ.h.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_ROWLAYOUT_H
#define KVQ_IR_ROWLAYOUT_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::kvq {

/// An order of codes in bytes, in each `elements` of them. See `#kvq.layout`.
struct CodeOrder {
  OrderKind kind = OrderKind::Planar;
  /// Of an attribute: 0 where not given.
  int64_t elements = 0;
  int64_t stride = 1;

  bool operator==(const CodeOrder &other) const {
    return kind == other.kind && elements == other.elements &&
           stride == other.stride;
  }
  friend llvm::hash_code hash_value(const CodeOrder &order) {
    return llvm::hash_combine(order.kind, order.elements, order.stride);
  }
};

/// How the bytes of some rows lie together. See `#kvq.layout`.
struct TileOrder {
  TileKind kind = TileKind::None;
  int64_t tokens = 0;

  bool exists() const { return kind != TileKind::None; }
  bool hasFragments() const { return kind == TileKind::Fragments; }
  /// Whether metadata lie in tiles like codes, and not row by row.
  bool hasMetadata() const { return exists() && !hasFragments(); }
  bool operator==(const TileOrder &other) const {
    return kind == other.kind && tokens == other.tokens;
  }
  friend llvm::hash_code hash_value(const TileOrder &order) {
    return llvm::hash_combine(order.kind, order.tokens);
  }
  /// The shape of a tile of rows of `size` bytes or codes.
  llvm::SmallVector<int64_t> getShape(int64_t size) const {
    if (kind == TileKind::ChannelPairs)
      return {size / 2, tokens, 2};
    if (kind == TileKind::TokenPairs)
      return {tokens / 2, size, 2};
    // Fragments; loads; lanes as 8 x 4; pairs of rows of a load; tokens of a
    // lane; rows.
    int64_t pairs = size % 32 == 0 ? 2 : 1;
    return {tokens / 16, size / (16 * pairs), 8, 4, pairs, 4, 2};
  }
};

/// One row holds the codes of `tokens` tokens: of each `channels` channels
/// those of one token after the other. See `#kvq.layout`.
struct CodeBlock {
  int64_t tokens = 1;
  /// Of an attribute: kAllChannels for those of a field.
  static constexpr int64_t kAllChannels = -1;
  int64_t channels = kAllChannels;

  bool operator==(const CodeBlock &other) const {
    return tokens == other.tokens && channels == other.channels;
  }
  friend llvm::hash_code hash_value(const CodeBlock &block) {
    return llvm::hash_combine(block.tokens, block.channels);
  }
};

/// A field of a record, as a layout lists it.
struct LayoutField {
  RowField field;
  /// Of `skip`.
  int64_t bytes = 0;
  /// Of metadata of several groups: each how manieth of them comes next, from
  /// each of so many on.
  int64_t stride = 1;

  bool operator==(const LayoutField &other) const {
    return field == other.field && bytes == other.bytes &&
           stride == other.stride;
  }
  friend llvm::hash_code hash_value(const LayoutField &field) {
    return llvm::hash_combine(field.field, field.bytes, field.stride);
  }
};

/// A field of a segment, in a row of all segments.
struct SegmentField {
  RowField field;
  int64_t segment;
  int64_t stride = 1;

  bool operator==(const SegmentField &other) const {
    return field == other.field && segment == other.segment &&
           stride == other.stride;
  }
  friend llvm::hash_code hash_value(const SegmentField &field) {
    return llvm::hash_combine(field.field, field.segment, field.stride);
  }
};

/// Bits `firstBit` to `firstBit + bits` of each code.
struct CodePart {
  unsigned firstBit;
  unsigned bits;
  CodeOrder order;

  bool operator==(const CodePart &other) const {
    return firstBit == other.firstBit && bits == other.bits &&
           order == other.order;
  }
  int64_t getMask() const { return (1 << bits) - 1; }
  /// The bytes of one round of the order.
  int64_t getBytes() const { return order.elements * bits / 8; }
};

/// The bytes of a field in each record of a row.
struct StoredField {
  RowField field;
  int64_t firstByte;
  int64_t bytes;
  /// That of the layout's field.
  int64_t stride;

  bool operator==(const StoredField &other) const {
    return field == other.field && firstByte == other.firstByte &&
           bytes == other.bytes && stride == other.stride;
  }
};

/// A row of a component of packed bytes: equal records, one after the other.
struct PackedRow {
  /// Tokens that it is for.
  int64_t tokens = 1;
  /// None where there is no such component.
  int64_t records = 0;
  int64_t recordBytes = 0;
  llvm::SmallVector<StoredField, 4> fields;

  bool operator==(const PackedRow &other) const {
    return tokens == other.tokens && records == other.records &&
           recordBytes == other.recordBytes && fields == other.fields;
  }
  bool exists() const { return records != 0; }
  int64_t getBytes() const { return records * recordBytes; }
  const StoredField *find(RowField field) const {
    const auto *it = llvm::find_if(fields, [&](const StoredField &stored) {
      return stored.field == field;
    });
    return it == fields.end() ? nullptr : it;
  }
  void add(const LayoutField &field, int64_t bytes) {
    fields.push_back({field.field, recordBytes, bytes, field.stride});
    recordBytes += bytes;
  }
};

/// How the rows of a format lie in bytes.
struct RowLayout {
  /// What a code is cut into, lowest bits first; nothing where elements are
  /// exact.
  llvm::SmallVector<CodePart, 2> parts;
  /// Whether stored codes count from the least signed one.
  bool bias = false;
  CodeBlock block;
  /// The components `codes` and `records`.
  PackedRow codes, records;
  /// How rows lie together.
  TileOrder tile;

  bool operator==(const RowLayout &other) const {
    return parts == other.parts && bias == other.bias && block == other.block &&
           codes == other.codes && records == other.records &&
           tile == other.tile;
  }
  /// Where the codes are.
  const PackedRow &getRowOfCodes() const {
    return codes.exists() ? codes : records;
  }
  bool storesScales() const {
    return records.find(RowField::Scale) || records.find(RowField::ScaleZero);
  }
  bool storesZeros() const {
    return records.find(RowField::Zero) || records.find(RowField::ScaleZero);
  }
  /// Whether bytes in memory are the codes: nothing to pack.
  bool isUnpacked() const {
    return !records.exists() && !bias && block.tokens == 1 &&
           parts.front().bits == 8 && parts.front().order.stride == 1;
  }
  /// Tokens whose codes lie in one row, with or without metadata.
  int64_t getCodeTokens() const { return getRowOfCodes().tokens; }
};

} // namespace mlir::kvq

#endif // KVQ_IR_ROWLAYOUT_H
