//===- ArithmeticFormat.cpp - The format that arithmetic stands for -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the values of all channels of a row have in common: the width of their
// codes and the order of these in bytes, the channels that share a scale, the
// tokens and heads that do.
//
//===----------------------------------------------------------------------===//

#include "../ElementTracing/ComponentView.h"
#include "ArithmeticMatcher.h"
#include "TracedColumns.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

namespace {

/// What all codes are.
struct CodeShape {
  unsigned width;
  bool isSigned;
  /// Null for integers.
  Type floatType;
  int64_t bias;

  bool operator==(const CodeShape &other) const {
    return width == other.width && isSigned == other.isSigned &&
           floatType == other.floatType && bias == other.bias;
  }
};

} // namespace

/// The lowest bits that tell a number.
static FailureOr<CodeShape> getCodeShape(ElementTracer &tracer,
                                         const TracedProduct &product) {
  ArrayRef<TracedBits::Bit> bits = product.code.bits;
  bool isSigned = product.isSigned && bits.back().source >= 0;
  while (bits.size() > 1 &&
         (isSigned ? bits.back() == bits.end()[-2] : bits.back().source < 0))
    bits = bits.drop_back();
  for (const TracedBits::Bit &bit : bits)
    if (bit.source < 0)
      return tracer.fail("not all bits of its codes come from bytes");
  return CodeShape{unsigned(bits.size()), isSigned, product.floatCode,
                   product.bias};
}

/// The element type of codes; null where no format has such ones.
static Type getCodeType(MLIRContext *context, const CodeShape &shape) {
  if (shape.floatType)
    return shape.floatType.getIntOrFloatBitWidth() == shape.width
               ? shape.floatType
               : Type();
  // Those that are counted from the least one are signed.
  bool isBiased = !shape.isSigned && shape.bias == int64_t(1)
                                                       << (shape.width - 1);
  if (shape.bias != 0 && !isBiased)
    return {};
  return IntegerType::get(context, shape.width,
                          shape.isSigned || isBiased ? IntegerType::Signless
                                                     : IntegerType::Unsigned);
}

/// The first bit of an element in the bytes of a part, by rules R13 and R29.
static int64_t getFirstBit(const CodePart &part, int64_t element) {
  constexpr int64_t kByte = 8;
  auto [kind, elements, stride] = part.order;
  int64_t bits = part.bits, inRound = element % elements,
          first = element / elements * elements * bits;
  if (kind == OrderKind::Reversed)
    return first + (elements - 1 - inRound) * bits;
  if (kind == OrderKind::Stream)
    return first +
           (inRound % stride * (elements / stride) + inRound / stride) * bits;
  int64_t plane = elements / (kByte / bits);
  return first + inRound % plane * kByte + inRound / plane * bits;
}

/// Whether the bits of all codes of a row lie where `layout` has them.
static bool liesAs(const RowLayout &layout, unsigned width, int64_t channels,
                   ArrayRef<int64_t> places) {
  for (int64_t channel = 0; channel < channels; ++channel) {
    int64_t partBegin = 0;
    for (const CodePart &part : layout.parts) {
      for (unsigned bit = 0; bit < part.bits; ++bit)
        if (places[channel * width + part.firstBit + bit] !=
            partBegin + getFirstBit(part, channel) + bit)
          return false;
      partBegin += channels * part.bits;
    }
  }
  return true;
}

/// The orders that codes may lie in.
static SmallVector<CodeOrder> listOrders(int64_t channels) {
  SmallVector<CodeOrder> orders = {
      {OrderKind::Planar}, {OrderKind::Stream}, {OrderKind::Reversed}};
  for (int64_t round = 2; round < channels; ++round) {
    if (channels % round != 0)
      continue;
    orders.push_back({OrderKind::Planar, round});
    for (int64_t stride = 2; stride < round; stride *= 2)
      if (round % stride == 0)
        orders.push_back({OrderKind::Stream, round, stride});
  }
  return orders;
}

//===----------------------------------------------------------------------===//
// The match
//===----------------------------------------------------------------------===//

namespace {

/// Puts together what the products of all channels are.
class FormatFinder {
public:
  FormatFinder(ElementTracer &tracer, ArrayRef<TracedProduct> products)
      : tracer(tracer), products(products), channels(products.size()) {}

  FailureOr<ArithmeticMatch> find();

private:
  /// Metadata of one kind, and the elements that share one of it.
  struct Metadata {
    TracedColumns columns;
    int64_t channels;
    std::optional<int64_t> tokens, heads;

    bool hasGroupsOf(const Metadata &other) const {
      return channels == other.channels && tokens == other.tokens &&
             heads == other.heads;
    }
    Type getType() const { return getElementTypeOrSelf(columns.element.value); }
  };
  FailureOr<Metadata> getMetadata(TracedElement TracedProduct::*member,
                                  StringRef name);
  LogicalResult findCodes();
  LogicalResult findUnpackedCodes();
  LogicalResult findZeros(const Metadata &scales);
  LogicalResult findLayout();
  FailureOr<int64_t> getSharedHeads(const Metadata &scales);
  FormatAttr makeFormat(LayoutAttr layout);
  LayoutAttr makeLayout(CodeOrder order) const;

  ElementTracer &tracer;
  ArrayRef<TracedProduct> products;
  int64_t channels;
  ArithmeticMatch match;

  CodeShape shape = {};
  TracedColumns codes;
  /// The place of each bit of each code in a row.
  SmallVector<int64_t> places;
  Attribute codeType;
  int64_t groupTokens = 1, groupChannels = 1, groupHeads = 1;
  Type scale, zero;
  ZeroKind zeroKind = ZeroKind::None;
  bool isStatic = false;
};

} // namespace

LogicalResult FormatFinder::findCodes() {
  constexpr int64_t kByte = 8;
  SmallVector<TracedElement> sources;
  SmallVector<int64_t> inByte;
  for (const TracedProduct &product : products) {
    FailureOr<CodeShape> found = getCodeShape(tracer, product);
    if (failed(found))
      return failure();
    if (sources.empty())
      shape = *found;
    if (!(*found == shape))
      return tracer.fail("its channels have different codes");
    for (const TracedBits::Bit &bit :
         ArrayRef(product.code.bits).take_front(shape.width)) {
      sources.push_back(product.code.sources[bit.source]);
      inByte.push_back(bit.position);
    }
  }
  FailureOr<TracedColumns> columns = getColumns(tracer, sources, "codes");
  if (failed(columns))
    return failure();
  codes = std::move(*columns);
  for (auto [column, bit] : llvm::zip_equal(codes.columns, inByte))
    places.push_back(column * kByte + bit);
  match.components.push_back(codes.element);
  if (codes.element.value.getDefiningOp<UnpackOp>())
    return findUnpackedCodes();
  Type type = getCodeType(tracer.context, shape);
  if (!type && shape.floatType)
    return tracer.fail("its codes of " + Twine(shape.width) +
                       " bits are no floats of a format");
  if (!type)
    return tracer.fail(Twine(shape.bias) + " is subtracted from its codes of " +
                       Twine(shape.width) +
                       " bits: only the middle of unsigned ones is no zero "
                       "point");
  codeType = TypeAttr::get(type);
  return success();
}

/// Codes that are the numbers of a kvq.unpack, one a channel.
LogicalResult FormatFinder::findUnpackedCodes() {
  auto unpack = codes.element.value.getDefiningOp<UnpackOp>();
  auto format = dyn_cast<FormatAttr>(unpack.getFormat());
  bool areNumbers = format && format.hasIntegerCodes() && shape.width == 8 &&
                    codes.getGroup() == shape.width && shape.bias == 0;
  // Small unsigned ones are the same number either way.
  if (areNumbers && !format.hasSignedCodes() && format.getCodeBits() < 8)
    shape.isSigned = false;
  if (!areNumbers || format.hasSignedCodes() != shape.isSigned)
    return tracer.fail("what is scaled is not the number of a code that "
                       "kvq.unpack gives");
  codeType = format.getCodes();
  return success();
}

/// Whether `value` is computed for each element of a structured op, and so is
/// nothing that a cache could have.
static bool isComputedInBody(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa_and_nonnull<linalg::LinalgOp>(op->getParentOp()) &&
         !op->hasTrait<OpTrait::ConstantLike>();
}

FailureOr<FormatFinder::Metadata>
FormatFinder::getMetadata(TracedElement TracedProduct::*member,
                          StringRef name) {
  auto elements = llvm::map_to_vector(
      products, [&](const TracedProduct &product) { return product.*member; });
  for (const TracedElement &element : elements) {
    if (!element.value)
      return tracer.fail("its channels have different arithmetic");
    if (isComputedInBody(element.value))
      return tracer.fail(
          "its " + name + " are made by '" +
          element.value.getDefiningOp()->getName().getStringRef() +
          "' with its values, not read");
  }
  FailureOr<TracedColumns> columns = getColumns(tracer, elements, name);
  if (failed(columns))
    return failure();
  std::optional<int64_t> group = columns->getGroup();
  if (!group)
    return tracer.fail("its " + name +
                       " do not go with as many channels each, in order");
  FailureOr<ComponentView> view = ComponentView::get(tracer, columns->element);
  if (failed(view))
    return failure();
  return Metadata{std::move(*columns), *group, view->getSharing(kTokens),
                  view->getSharing(kHeads)};
}

/// KV heads that share a scale.
FailureOr<int64_t> FormatFinder::getSharedHeads(const Metadata &scales) {
  FailureOr<ComponentView> view = ComponentView::get(tracer, codes.element);
  if (failed(view))
    return failure();
  int64_t operandHeads = tracer.extents[kHeads];
  int64_t repeat = view->getSharing(kHeads).value_or(operandHeads);
  if (!scales.heads)
    return repeat == operandHeads ? 1 : FormatAttr::kWholeAxis;
  if (*scales.heads % repeat != 0)
    return tracer.fail("its scales are those of other heads than its codes");
  return *scales.heads / repeat;
}

LogicalResult FormatFinder::findZeros(const Metadata &scales) {
  const TracedProduct &any = products.front();
  if (!any.min.value && !any.point.value)
    return success();
  zeroKind = any.min.value ? ZeroKind::Min : ZeroKind::Point;
  if (any.min.value && (any.point.value || shape.bias != 0))
    return tracer.fail("it has both a zero point and a minimum");
  FailureOr<Metadata> zeros =
      any.min.value ? getMetadata(&TracedProduct::min, "minima")
                    : getMetadata(&TracedProduct::point, "zero points");
  if (failed(zeros))
    return failure();
  if (!zeros->hasGroupsOf(scales))
    return tracer.fail("its zeros are those of other groups than its scales");
  zero = zeros->getType();
  if (zero.isInteger() && !any.hasSignedPoint)
    zero = IntegerType::get(tracer.context, zero.getIntOrFloatBitWidth(),
                            IntegerType::Unsigned);
  if (shape.floatType || shape.isSigned || shape.bias != 0)
    return tracer.fail("it has a zero, and its codes are not unsigned");
  match.components.push_back(zeros->columns.element);
  return success();
}

LayoutAttr FormatFinder::makeLayout(CodeOrder order) const {
  return LayoutAttr::get(tracer.context, order, order, shape.bias != 0,
                         CodeBlock(), RecordScope::None, {}, TileOrder(),
                         /*open=*/false);
}

/// Null, with the reason, where there is no such format.
FormatAttr FormatFinder::makeFormat(LayoutAttr layout) {
  MLIRContext *context = tracer.context;
  RangePolicy range = RangePolicy::AbsMax;
  if (isStatic)
    range = RangePolicy::Static;
  else if (zero)
    range = RangePolicy::MinMax;
  RuleAttr rule = RuleAttr::getDefault(context);
  // Nothing says that the least signed code is not there.
  if (auto type = dyn_cast<IntegerType>(cast<TypeAttr>(codeType).getValue());
      type && type.isSignless())
    rule =
        RuleAttr::get(context, rule.getTies(), rule.getQuotient(),
                      rule.getMetadata(), RuleBounds::Full, rule.getExtremum(),
                      rule.getSpan(), rule.getScale(), rule.getLeast(),
                      rule.getConstant(), rule.getFit(), rule.getPrecision());
  auto withFields = [&](auto make) {
    return make(codeType, isStatic ? FormatAttr::kWholeAxis : groupTokens,
                groupChannels == channels ? FormatAttr::kWholeAxis
                                          : groupChannels,
                scale, /*outer=*/Type(), zeroKind, zero, range,
                /*clip=*/APFloat(1.0f), /*steps=*/1, groupHeads, rule,
                /*center=*/Type(), /*rotation=*/0, RopeOrder::Post, layout);
  };
  FormatAttr format;
  LogicalResult isFormat =
      tracer.verify([&](function_ref<InFlightDiagnostic()> emitError) {
        LogicalResult hasFields = withFields([&](auto... fields) {
          return FormatAttr::verify(emitError, fields...);
        });
        if (failed(hasFields))
          return hasFields;
        format = withFields([&](auto... fields) {
          return FormatAttr::get(context, fields...);
        });
        return format.verifyHeadDim(emitError, channels);
      });
  return failed(isFormat) ? FormatAttr() : format;
}

/// The layout in which the codes lie, and the format with it.
LogicalResult FormatFinder::findLayout() {
  if (auto unpack = codes.element.value.getDefiningOp<UnpackOp>()) {
    auto format = cast<FormatAttr>(unpack.getFormat());
    match.format = makeFormat(format.getLayout());
    if (!match.format)
      return failure();
    if (format.getLayoutOrDefault().getScope() == RecordScope::None)
      return success();
    // The records of a row are those of its groups.
    bool isSame = format.getGroupTokens() == groupTokens && groupHeads == 1 &&
                  format.getGroupChannels(channels) == groupChannels &&
                  format.getScale() == scale &&
                  format.getZeroKind() == zeroKind &&
                  format.getZero() == zero && !format.getOuter();
    if (!isSame)
      return tracer.fail("its records have other groups, scales or zeros than "
                         "its values are made with");
    match.format = format;
    return success();
  }
  constexpr unsigned kByte = 8;
  match.format = makeFormat(LayoutAttr());
  if (!match.format)
    return failure();
  if (shape.width == kByte && shape.bias == 0) {
    if (!liesAs(match.format.getRowLayout(channels, Type()), shape.width,
                channels, places))
      return tracer.fail("its codes do not lie in the order of the channels");
    return success();
  }
  for (CodeOrder order : listOrders(channels)) {
    FormatAttr format = makeFormat(makeLayout(order));
    if (!format || !liesAs(format.getRowLayout(channels, Type()), shape.width,
                           channels, places))
      continue;
    match.format = format;
    return success();
  }
  return tracer.fail("no layout has its codes of " + Twine(shape.width) +
                     " bits in their order");
}

FailureOr<ArithmeticMatch> FormatFinder::find() {
  if (failed(findCodes()))
    return failure();
  FailureOr<Metadata> scales = getMetadata(&TracedProduct::scale, "scales");
  if (failed(scales))
    return failure();
  scale = scales->getType();
  isStatic = !scales->tokens;
  groupTokens = scales->tokens.value_or(1);
  groupChannels = scales->channels;
  FailureOr<int64_t> heads = getSharedHeads(*scales);
  if (failed(heads))
    return failure();
  groupHeads = *heads;
  match.components.push_back(scales->columns.element);
  if (failed(findZeros(*scales)) || failed(findLayout()))
    return failure();
  return match;
}

FailureOr<ArithmeticMatch> ArithmeticMatcher::match() {
  int64_t channels = tracer.extents[kChannels];
  std::vector<TracedProduct> products;
  for (int64_t channel = 0; channel < channels; ++channel) {
    FailureOr<TracedProduct> product = traceValue(tracer.getElement(channel));
    if (failed(product))
      return failure();
    products.push_back(std::move(*product));
  }
  return FormatFinder(tracer, products).find();
}
