//===- FormatAttr.cpp - Queries of #kvq.format ----------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codec.h"

#include "kvq/IR/KVQ.h"

using namespace mlir;
using namespace mlir::kvq;

FormatAttr FormatAttr::getExact(MLIRContext *context, RopeOrder rope) {
  return FormatAttr::get(context, TypeAttr::get(NoneType::get(context)),
                         /*tokens=*/1, /*channels=*/1, /*scale=*/Type(),
                         /*outer=*/Type(), ZeroKind::None, /*zero=*/Type(),
                         RangePolicy::AbsMax, APFloat(1.0f), /*steps=*/1,
                         /*heads=*/1, RuleAttr::getDefault(context),
                         /*center=*/Type(), /*rotation=*/0, rope,
                         /*layout=*/LayoutAttr());
}

LayoutAttr FormatAttr::getLayoutOrDefault() const {
  return getLayout() ? getLayout() : LayoutAttr::getPlanar(getContext());
}

FormatAttr FormatAttr::withLayout(LayoutAttr layout) const {
  return FormatAttr::get(
      getContext(), getCodes(), getTokens(), getChannels(), getScale(),
      getOuter(), getZeroKind(), getZero(), getRange(), getClip(), getSteps(),
      getHeads(), getRule(), getCenter(), getRotation(), getRope(), layout);
}

bool FormatAttr::hasOpenLayout() const {
  return getLayout() && getLayout().getOpen();
}

FormatInterface
FormatAttr::assignLayout(function_ref<InFlightDiagnostic()> emitError,
                         Attribute layout) const {
  if (!hasOpenLayout())
    return *this;
  // Exact elements have one order, which nothing is written for.
  if (isExact())
    return withLayout(LayoutAttr());
  return FormatAttr::getChecked(
      emitError, getContext(), getCodes(), getTokens(), getChannels(),
      getScale(), getOuter(), getZeroKind(), getZero(), getRange(), getClip(),
      getSteps(), getHeads(), getRule(), getCenter(), getRotation(), getRope(),
      cast<LayoutAttr>(layout));
}

FormatInterface FormatAttr::resolve(int64_t headDim) const {
  if (isExact() || (getChannels() != kWholeAxis && getRotation() != kWholeAxis))
    return *this;
  int64_t rotation = getRotation() == kWholeAxis ? headDim : getRotation();
  return FormatAttr::get(getContext(), getCodes(), getTokens(),
                         getGroupChannels(headDim), getScale(), getOuter(),
                         getZeroKind(), getZero(), getRange(), getClip(),
                         getSteps(), getHeads(), getRule(), getCenter(),
                         rotation, getRope(), getLayout());
}

FormatInterface FormatAttr::resolveHeads(int64_t kvHeads) const {
  if (getHeads() != kWholeAxis)
    return *this;
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), kvHeads, getRule(),
                         getCenter(), getRotation(), getRope(), getLayout());
}

bool FormatAttr::isExact() const { return isExactCodes(getCodes()); }

unsigned FormatAttr::getCodeBits() const {
  return isExact() ? 0 : getCodec(getCodes())->getBits();
}

bool FormatAttr::hasSignedCodes() const {
  return !isExact() && getCodec(getCodes())->isSigned();
}

bool FormatAttr::hasIntegerCodes() const {
  return !isExact() && (getCodec(getCodes())->isSigned() ||
                        getCodec(getCodes())->isUnsigned());
}

bool FormatAttr::hasFP8Codes() const {
  auto codes = dyn_cast<TypeAttr>(getCodes());
  return codes && isa<Float8E4M3FNType, Float8E5M2Type>(codes.getValue());
}

Type FormatAttr::getCenterType() const { return getCenter(); }

bool FormatAttr::isBeforeRope() const { return getRope() == RopeOrder::Pre; }

FormatInterface FormatAttr::getBeforeRope() const {
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), getHeads(),
                         getRule(), getCenter(), getRotation(), RopeOrder::Pre,
                         getLayout());
}

FormatInterface FormatAttr::getCore() const {
  if (!isPrepared() && !isBeforeRope())
    return *this;
  return FormatAttr::get(getContext(), getCodes(), getTokens(), getChannels(),
                         getScale(), getOuter(), getZeroKind(), getZero(),
                         getRange(), getClip(), getSteps(), getHeads(),
                         getRule(), /*center=*/Type(), /*rotation=*/0,
                         RopeOrder::Post, getLayout());
}

int64_t FormatAttr::getGroupTokens() const {
  return hasStaticRange() ? 1 : getTokens();
}

bool FormatAttr::hasStaticRange() const {
  return getRange() == RangePolicy::Static;
}

int64_t FormatAttr::getGroupChannels(int64_t headDim) const {
  return getChannels() == kWholeAxis ? headDim : getChannels();
}

int64_t FormatAttr::getGroupHeads(int64_t kvHeads) const {
  return getHeads() == kWholeAxis ? kvHeads : getHeads();
}

Type FormatAttr::getScaleType() const { return getScale(); }

Type FormatAttr::getOuterScaleType() const { return getOuter(); }

Type FormatAttr::getZeroType() const {
  Type zero = getZero();
  if (zero && zero.isUnsignedInteger())
    return IntegerType::get(getContext(), zero.getIntOrFloatBitWidth());
  return zero;
}
