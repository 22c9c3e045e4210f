//===- Presets.h - Formats of engines by name -------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_PRESETS_H
#define KVQ_IR_PRESETS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// A format that an engine stores its caches in. A preset is an alias: nothing
/// but this table knows its name.
struct Preset {
  llvm::StringLiteral name;
  /// What stands between the angle brackets of `#kvq.format<...>`, or of
  /// `#kvq.segments<...>`.
  llvm::StringLiteral format;
  /// The engine's rule, in its words.
  llvm::StringLiteral rule;
  /// Where the engine's files, or whose specification, state it.
  llvm::StringLiteral source;
  /// What to know beside that: what is not part of the format, and where bytes
  /// may differ.
  llvm::StringLiteral notes;
  bool isSegments = false;

  /// The attribute that the preset stands for, as text.
  std::string getAttribute() const;
};

/// All presets, by engine.
llvm::ArrayRef<Preset> getPresets();

/// The preset called `name`; null if there is none.
const Preset *findPreset(llvm::StringRef name);

/// What to say of a name that no preset has: those nearest to it.
std::string describeUnknownPreset(llvm::StringRef name);

/// Parses what follows `#kvq.preset`, `<"name">`, to the format it stands for.
Attribute parsePreset(AsmParser &parser);

} // namespace mlir::kvq

#endif // KVQ_IR_PRESETS_H
