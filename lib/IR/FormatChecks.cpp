//===- FormatChecks.cpp - Checks of #kvq.format ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"
#include "FloatText.h"
#include "FormatLayout.h"

#include "kvq/IR/KVQ.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

/// The types of real numbers that go with codes.
static bool isRealType(Type type) {
  return type.isF16() || type.isBF16() || type.isF32();
}

static bool isScaleType(Type type) {
  return isRealType(type) || isa<Float8E8M0FNUType, Float8E4M3FNType>(type);
}

/// Whether `type` holds zero points: i8, ui8 or a float.
static bool isPointType(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isRealType(type) ||
         (integer && integer.getWidth() == 8 && !integer.isSigned());
}

static LogicalResult verifyZero(function_ref<InFlightDiagnostic()> emitError,
                                Attribute codes, const Codec &codec,
                                ZeroKind kind, Type zero) {
  if (kind == ZeroKind::None) {
    if (codec.isUnsigned())
      return emitError() << "unsigned codes " << codes
                         << " need a zero: expected 'zero = min T' or 'zero = "
                            "point T'";
    return success();
  }
  if (kind == ZeroKind::Min && !isRealType(zero))
    return emitError() << "expected zero 'min T' of f16, bf16 or f32, got 'min "
                       << zero << "'";
  if (kind == ZeroKind::Point && !isPointType(zero))
    return emitError()
           << "expected zero 'point T' of i8, ui8, f16, bf16 or f32, got "
              "'point "
           << zero << "'";
  if (!codec.isUnsigned())
    return emitError()
           << "a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 "
              "or ui8, got "
           << codes;
  constexpr double kLargestI8 = 127;
  if (zero.isSignlessInteger() && codec.getLargest() > kLargestI8)
    return emitError() << "zero points in i8 go to " << int64_t(kLargestI8)
                       << ", codes " << codes << " to "
                       << int64_t(codec.getLargest())
                       << ": expected 'zero = point ui8'";
  return success();
}

/// Whether the scale is a norm of the group rather than an end of its range.
static bool isNorm(RangePolicy range) {
  return range == RangePolicy::Rms || range == RangePolicy::Norm;
}

static LogicalResult verifyRange(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute codes, ZeroKind zeroKind, Type zero,
                                 RangePolicy range, APFloat clip,
                                 int64_t steps) {
  bool hasZero = zeroKind != ZeroKind::None;
  if (!hasZero && range == RangePolicy::MinMax)
    return emitError() << "range minmax needs a zero; without one expected "
                          "range absmax, clip, search or static";
  if (hasZero && range == RangePolicy::AbsMax)
    return emitError() << "range absmax takes no zero; with '"
                       << stringifyZeroKind(zeroKind) << " " << zero
                       << "' expected range minmax, clip, search or static";
  if (isNorm(range) && !isa<CodebookAttr>(codes))
    return emitError() << "range " << stringifyRangePolicy(range)
                       << " needs a #kvq.codebook as codes, got " << codes;
  // Twice as many are exact in f32.
  constexpr int64_t kMaxSteps = int64_t(1) << 23;
  if (steps < 1 || steps > kMaxSteps)
    return emitError() << "expected 1 to " << kMaxSteps
                       << " steps of search, got " << steps;
  float ratio = clip.convertToFloat();
  if (range == RangePolicy::Clip && !(ratio > 0.0f && ratio <= 1.0f))
    return emitError() << "expected a clip ratio above 0 and at most 1, got "
                       << ratio;
  return success();
}

LogicalResult FormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Attribute codes, int64_t tokens,
                                 int64_t channels, Type scale, Type outer,
                                 ZeroKind zeroKind, Type zero,
                                 RangePolicy range, APFloat clip, int64_t steps,
                                 int64_t heads, RuleAttr rule, Type center,
                                 int64_t rotation, RopeOrder rope,
                                 LayoutAttr layout) {
  if (isExactCodes(codes))
    return layout ? verifyExactLayout(emitError, layout) : success();
  std::unique_ptr<Codec> codec = getCodec(codes);
  if (!codec)
    return emitError()
           << "expected codes of i2, i3, i4, i5, i6, i8, ui2, ui3, ui4, ui5, "
              "ui6, ui8, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN, a "
              "#kvq.codebook or none, got "
           << codes;
  if (!scale || !isScaleType(scale))
    return emitError()
           << "expected scale f16, bf16, f32, f8E8M0FNU or f8E4M3FN, got "
           << scale;
  if (outer && (!isa<Float8E4M3FNType>(scale) || !outer.isF32()))
    return emitError()
           << "expected two levels of scales as f8E4M3FN of f32, got " << scale
           << " of " << outer;
  if (auto codebook = dyn_cast<CodebookAttr>(codes);
      codebook && isa<Float8E8M0FNUType>(scale) && !codebook.hasZero())
    return emitError() << "scale f8E8M0FNU is never 0, and neither is a value "
                          "of "
                       << codebook
                       << ": expected another scale, or a value 0.0, for "
                          "groups of zeros";
  if (failed(verifyZero(emitError, codes, *codec, zeroKind, zero)) ||
      failed(
          verifyRange(emitError, codes, zeroKind, zero, range, clip, steps)) ||
      failed(rule.verifyFormat(emitError, codes, *codec, scale, zeroKind, zero,
                               range)))
    return failure();
  if (center && !isRealType(center))
    return emitError() << "expected a center of f16, bf16 or f32, got "
                       << center;
  if (rotation != 0 && rotation != kWholeAxis &&
      (rotation < 2 || !llvm::isPowerOf2_64(rotation)))
    return emitError() << "expected a rotation of a power of two of channels, "
                          "such as "
                       << llvm::NextPowerOf2(std::max<int64_t>(rotation, 1))
                       << ", got " << rotation;
  if (rope == RopeOrder::Pre && rotation != 0)
    return emitError() << "keys before RoPE cannot be rotated as well, since "
                          "RoPE turns them as they are read: expected no "
                          "'rotate' with rope = pre, got hadamard<"
                       << rotation << ">";
  if (rope == RopeOrder::Pre && center)
    return emitError() << "the product of a query and a mean depends on "
                          "positions before RoPE: expected no 'center' with "
                          "rope = pre, got "
                       << center;
  bool allTokens = tokens == kWholeAxis;
  if (allTokens && range != RangePolicy::Static)
    return emitError() << "a group over all tokens needs a static range, since "
                          "its range is never known at append: expected "
                          "'range = static' or a number of tokens, got range "
                       << stringifyRangePolicy(range) << " and '*'";
  if (!allTokens && range == RangePolicy::Static)
    return emitError() << "a static range is that of a group over all tokens: "
                          "expected '*' for tokens, got "
                       << tokens;
  if ((tokens < 1 && !allTokens) || (channels < 1 && channels != kWholeAxis))
    return emitError() << "expected positive group extents, got [" << tokens
                       << ", " << channels << "]";
  if (heads < 1 && heads != kWholeAxis)
    return emitError() << "expected a positive number of heads, got " << heads;
  if (!layout)
    return success();
  return verifyFormatLayout(emitError, codes, tokens, heads, scale, zeroKind,
                            zero, range, layout);
}

/// Checks that codes of a codebook still stand for different numbers once the
/// size of a group has divided them.
static LogicalResult
verifyCodeValues(function_ref<InFlightDiagnostic()> emitError,
                 FormatAttr format) {
  // Without the number of heads the size is not known.
  if (format.getRange() != RangePolicy::Norm ||
      format.getHeads() == FormatAttr::kWholeAxis)
    return success();
  auto codebook = cast<CodebookAttr>(format.getCodes());
  SmallVector<float> values = format.getCodebookValues();
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i - 1] == values[i])
      return emitError() << "range norm over " << format.getGroupSize()
                         << " elements makes " << toShortestText(values[i])
                         << " of both "
                         << toShortestText(codebook.getValues()[i - 1])
                         << " and " << toShortestText(codebook.getValues()[i])
                         << ": expected values farther apart";
  return success();
}

LogicalResult
FormatAttr::verifyHeadDim(function_ref<InFlightDiagnostic()> emitError,
                          int64_t headDim) const {
  if (headDim < 1)
    return emitError() << "expected a head_dim of at least 1, got " << headDim;
  if (isExact())
    return success();
  if (int64_t group = getGroupChannels(headDim); headDim % group != 0)
    return emitError() << "group of " << group
                       << " channels does not divide head_dim " << headDim;
  if (getRotation() == kWholeAxis &&
      (headDim < 2 || !llvm::isPowerOf2_64(headDim)))
    return emitError() << "rotation of all channels needs a head_dim that is a "
                          "power of two, got "
                       << headDim;
  if (int64_t size = getRotation(); size > 0 && headDim % size != 0)
    return emitError() << "rotation of " << size
                       << " channels does not divide head_dim " << headDim;
  if (failed(verifyRowLayout(emitError, *this, headDim)))
    return failure();
  return verifyCodeValues(emitError, cast<FormatAttr>(resolve(headDim)));
}

LogicalResult
FormatAttr::verifyHeads(function_ref<InFlightDiagnostic()> emitError,
                        int64_t kvHeads) const {
  if (int64_t group = getGroupHeads(kvHeads); kvHeads % group != 0)
    return emitError() << "group of " << group << " heads does not divide "
                       << kvHeads << " KV heads";
  return success();
}
