//===- IntegerFolder.h - Contractions of integers with codes ----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_FOLDSCALES_INTEGERFOLDER_H
#define KVQ_LIB_TRANSFORMS_FOLDSCALES_INTEGERFOLDER_H

#include "ScaleFolder.h"

namespace mlir::kvq {

/// Emits the form of a contraction where the operand that is not codes becomes
/// integers (rule R38).
class IntegerFolder : public ScaleFolder {
public:
  IntegerFolder(RewriterBase &b, Location loc, Contraction contraction,
                int64_t tokenBound, unsigned width, bool lanes)
      : ScaleFolder(b, loc, contraction, tokenBound, lanes), width(width),
        type(b.getIntegerType(16)) {}

private:
  /// Elements as `codes` times `steps`, of which there is one for all elements
  /// that are summed.
  struct Integers {
    Value codes, steps;
  };

  Value foldKeysOfToken() override;
  Value foldValuesOfToken() override;
  Value foldKeysOfTile(LoadTileOp load) override;
  Value foldValuesOfTile(LoadTileOp load) override;
  Value contractCodes(StringRef axes, StringRef reduced, StructuredOperand left,
                      StructuredOperand right,
                      StructuredOperand output) override;

  /// Numbers that are computed where they are read, of several operands'
  /// elements.
  struct Numbers {
    StringRef axes;
    SmallVector<StructuredOperand, 2> operands;
    std::function<Value(OpBuilder &, Location, ValueRange)> compute;
  };
  Numbers getNumbers(StructuredOperand values);
  Numbers getWeights(StructuredOperand scales);
  /// The codes are of `type`, or, with `init`, written there.
  Integers buildIntegers(const Numbers &numbers, StringRef summed,
                         IntegerType type, Value init = {});
  Value buildSums(const Integers &integers, Value steps, StringRef axes,
                  StringRef summed);
  /// Extends an element that holds a code to i32; null where it is the code.
  using CodeBody = std::function<Value(OpBuilder &, Location, Value)>;
  Value contractIntegers(StringRef axes, StringRef reduced,
                         StructuredOperand integers, StructuredOperand codes,
                         ArrayRef<StructuredOperand> scales,
                         StructuredOperand output,
                         const CodeBody &extend = nullptr);
  /// A part of a tile's channels, and how its codes are extended.
  struct IntegerPart : TilePart {
    CodeBody extend;
  };
  SmallVector<IntegerPart> getIntegerParts(std::optional<CodePlanes> planes,
                                           bool aboveLeast);
  bool paysToTurnRows() const;
  Value turn(Value value, StringRef axes, StringRef turned);
  SmallVector<Value> turnRows();
  Value contractKeysOfTile(std::optional<CodePlanes> planes, OpFoldResult first,
                           function_ref<SmallVector<Value>()> load);
  Value contractPairsOfKeys(const IntegerPart &part, Value query, Value stored,
                            ArrayRef<StructuredOperand> factors, Value scores);
  Value contractQuadsOfKeys(const IntegerPart &part, Value query, Value stored,
                            ArrayRef<StructuredOperand> factors, Value scores);
  Value addLeast(const Integers &query, unsigned bits, Value steps,
                 Value scales, Value scores);
  Value scaleSteps(Value steps, StringRef axes);
  /// Scratch for the `axes`, each of which is one of some operand's.
  Value scratchFor(ArrayRef<StructuredOperand> operands, StringRef axes,
                   Type elementType);

  /// Bits of the integers, and the type that products are taken of: processors
  /// multiply pairs of i16, to which codes are extended anyway.
  unsigned width;
  IntegerType type;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_FOLDSCALES_INTEGERFOLDER_H
