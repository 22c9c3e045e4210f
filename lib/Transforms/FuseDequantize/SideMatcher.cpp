//===- SideMatcher.cpp - From an operand to its codes ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideMatcher.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

LogicalResult SideMatcher::addView(TracedElement element) {
  if (failed(tracer.skipMoves(element)))
    return failure();
  FailureOr<ComponentView> view = ComponentView::get(tracer, element);
  if (failed(view))
    return failure();
  views.push_back(std::move(*view));
  return success();
}

/// Packed rows, those that hold the codes `element`.
LogicalResult SideMatcher::addUnpacked(const TracedElement &element) {
  ArrayRef<int64_t> shape = getShape(element.value);
  AffineExpr column = getAffineDimExpr(kChannels, tracer.context);
  if (element.indices.back() != column || shape.back() != channels)
    return tracer.fail("a tensor.extract_slice takes some of the channels of "
                       "packed codes");
  RowLayout layout =
      unpack.getFormat().getRowLayout(channels, getElementTypeOrSelf(operand));
  auto inputs = unpack.getInputs();
  for (const PackedRow *row : {&layout.codes, &layout.records}) {
    if (!row->exists())
      continue;
    TracedElement packed = {inputs.front(), element.indices};
    inputs = inputs.drop_front();
    AffineExpr &tokens = packed.indices.end()[-2];
    tokens = tracer.simplify(tokens.floorDiv(row->tokens));
    if (failed(addView(packed)))
      return failure();
  }
  return success();
}

/// Whether bytes of one format are those of the other, as far as packing goes.
static bool packAlike(FormatInterface a, FormatInterface b, int64_t headDim,
                      Type codes) {
  return a.getCodeBits() == b.getCodeBits() &&
         a.hasSignedCodes() == b.hasSignedCodes() &&
         a.getRowLayout(headDim, codes) == b.getRowLayout(headDim, codes);
}

/// The codes at `element`: bytes by themselves, or what they are unpacked from.
LogicalResult SideMatcher::addCodes(TracedElement element,
                                    FormatInterface format) {
  if (failed(tracer.skipMoves(element)))
    return failure();
  unpack = element.value.getDefiningOp<UnpackOp>();
  if (format.hasOpenLayout())
    return tracer.fail("its format leaves open how bytes lie (layout = auto)");
  int64_t headDim = getShape(element.value).back();
  Type type = getElementTypeOrSelf(element.value);
  RowLayout layout = format.getRowLayout(headDim, type);
  if (layout.tile.exists())
    return tracer.fail("its layout has tiles, which kvq.unpack does not read");
  if (unpack && !packAlike(unpack.getFormat(), format, headDim, type))
    return tracer.fail("its codes are unpacked in another format than they "
                       "are dequantized in");
  codes = element;
  if (unpack)
    return addUnpacked(element);
  if (!layout.isUnpacked())
    return tracer.fail("its codes of " + Twine(format.getCodeBits()) +
                       " bits do not come from a kvq.unpack: packing them "
                       "would copy the cache");
  return addView(element);
}

/// Scales or zeros: in the records that the codes are unpacked from, or apart.
LogicalResult SideMatcher::addMetadata(TracedElement element, bool isStored,
                                       FormatInterface format) {
  if (!isStored)
    return addView(element);
  if (failed(tracer.skipMoves(element)))
    return failure();
  // Of the very groups of the codes.
  TracedElement expected = {unpack.getResult(nextUnpacked++), codes.indices};
  AffineExpr &tokens = expected.indices.end()[-2];
  tokens = tracer.simplify(tokens.floorDiv(format.getGroupTokens()));
  if (getShape(expected.value).back() == 1)
    expected.indices.back() = getAffineConstantExpr(0, tracer.context);
  if (element.value != expected.value || element.indices != expected.indices)
    return tracer.fail("its scales or zeros are not those of the records that "
                       "its codes are unpacked from");
  return success();
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Where the metadata `input` of a dequantize has that of its result's
/// `element`, whose channels begin at `firstChannel`.
TracedElement SideMatcher::getMetadataElement(DequantizeOp op,
                                              const TracedElement &element,
                                              AffineExpr firstChannel,
                                              Value input, bool isGiven) {
  FormatInterface format = op.getFormat();
  ArrayRef<int64_t> shape = getShape(element.value);
  int64_t rank = shape.size();
  TracedElement metadata = {input, element.indices};
  if (rank > 2)
    if (int64_t heads = format.getGroupHeads(shape[rank - 3]); heads > 1)
      metadata.indices[rank - 3] = metadata.indices[rank - 3].floorDiv(heads);
  AffineExpr &row = metadata.indices[rank - 2];
  row = isGiven ? getAffineConstantExpr(0, tracer.context)
                : row.floorDiv(format.getGroupTokens());
  metadata.indices.back() =
      getAffineDimExpr(kChannels, tracer.context) +
      firstChannel.floorDiv(format.getGroupChannels(shape.back()));
  return metadata;
}

LogicalResult SideMatcher::matchDequantize(DequantizeOp op,
                                           const TracedElement &element) {
  FormatInterface format = op.getFormat();
  ArrayRef<int64_t> shape = getShape(element.value);
  int64_t rank = shape.size(), group = format.getGroupTokens();
  AffineExpr column = getAffineDimExpr(kChannels, tracer.context);
  // Channels of several heads may lie in one row.
  AffineExpr firstChannel =
      shape.back() == 1 ? getAffineConstantExpr(0, tracer.context)
                        : tracer.simplify(element.indices.back() - column);
  AffineExpr tokens = element.indices[rank - 2];
  if (firstChannel.isFunctionOfDim(kChannels) ||
      (group > 1 && !tokens.isFunctionOfDim(kTokens) && shape[rank - 2] != 1))
    return tracer.fail("its tokens and channels are not the last two axes of "
                       "the kvq.dequantize");
  if (rank > 2 && format.getGroupHeads(/*kvHeads=*/0) != 1 &&
      shape[rank - 3] != 1 &&
      !element.indices[rank - 3].isFunctionOfDim(kHeads))
    return tracer.fail("its heads, which share metadata, are not the axis "
                       "before the tokens of the kvq.dequantize");
  if (!ShapedType::isDynamic(shape[rank - 2]) && shape[rank - 2] % group != 0)
    return tracer.fail(Twine(shape[rank - 2]) +
                       " tokens are not whole groups of " + Twine(group));
  int64_t inGroup = format.getGroupChannels(shape.back());
  bool areGroups =
      firstChannel.isMultipleOf(inGroup) && channels % inGroup == 0;
  bool isWholeRow = inGroup == shape.back() &&
                    isa<AffineConstantExpr>(firstChannel) &&
                    format.getGroupChannels(channels) == channels;
  if (!areGroups && !isWholeRow)
    return tracer.fail("its channels are other than whole groups of those of "
                       "the kvq.dequantize");

  auto inputs = op.getInputs();
  if (failed(addCodes({inputs.front(), element.indices}, format)))
    return failure();
  RowLayout layout =
      format.getRowLayout(shape.back(), getElementTypeOrSelf(inputs.front()));
  bool areStored[] = {layout.storesScales(), layout.storesZeros(), false};
  unsigned firstGiven = inputs.size() - countGivenInputs(format);
  for (auto [index, input] : llvm::enumerate(inputs.drop_front())) {
    TracedElement metadata = getMetadataElement(op, element, firstChannel,
                                                input, index + 1 >= firstGiven);
    if (failed(addMetadata(metadata, areStored[index], format)))
      return failure();
  }
  return makeCacheType(format, getElementTypeOrSelf(op.getResult(0).getType()));
}

LogicalResult SideMatcher::matchArithmetic(const ArithmeticMatch &found) {
  // Bytes that no kvq.unpack reads are packed by the layout that was found.
  const TracedElement &bytes = found.components.front();
  bool isPacked = !bytes.value.getDefiningOp<UnpackOp>();
  if (failed(isPacked ? addView(bytes) : addCodes(bytes, found.format)))
    return failure();
  RowLayout layout =
      found.format.getRowLayout(channels, getElementTypeOrSelf(operand));
  bool areStored[] = {layout.storesScales(), layout.storesZeros()};
  for (auto [index, metadata] :
       llvm::enumerate(ArrayRef(found.components).drop_front()))
    if (failed(addMetadata(metadata, areStored[index], found.format)))
      return failure();
  return makeCacheType(found.format, getElementTypeOrSelf(operand));
}

/// The type of a cache with all tokens quantized, as the views have them.
LogicalResult SideMatcher::makeCacheType(FormatInterface format,
                                         Type elementType) {
  SmallVector<int64_t> shape(getShape(operand));
  repeat = views.front().getSharing(kHeads).value_or(shape[kHeads]);
  if (shape[kHeads] % repeat != 0)
    return tracer.fail("its " + Twine(shape[kHeads]) +
                       " heads are not those of KV heads that are repeated " +
                       Twine(repeat) + " times");
  shape[kHeads] /= repeat;
  // All tokens of the codes, where they are known for codes and metadata.
  RowLayout layout = format.getRowLayout(channels, elementType);
  bool isKnown = llvm::none_of(views, [](const ComponentView &view) {
    return ShapedType::isDynamic(view.getRows());
  });
  shape[kTokens] = isKnown ? views.front().getRows() * layout.getCodeTokens()
                           : ShapedType::kDynamic;
  if (isTurned)
    format = format.getBeforeRope();
  std::optional<int64_t> recent;
  if (format.getGroupTokens() > 1)
    recent = 0;
  auto withShape = [&](auto make) {
    return make(ArrayRef<int64_t>(shape), elementType, format,
                /*exactFirst=*/0, recent, /*residual=*/std::nullopt,
                /*page=*/std::nullopt, /*ring=*/std::nullopt, /*keepFirst=*/0,
                /*tokenMajor=*/false);
  };
  if (failed(tracer.verify([&](function_ref<InFlightDiagnostic()> emitError) {
        return withShape([&](auto... parameters) {
          return CacheType::verify(emitError, parameters...);
        });
      })))
    return failure();
  type = withShape([&](auto... parameters) {
    return CacheType::get(operand.getContext(), parameters...);
  });
  const auto *view = views.begin();
  for (const StorageComponent &component : type.getComponents())
    if (component.kind != ComponentKind::Recent &&
        failed((view++)->verifyExtents(tracer, component)))
      return failure();
  return success();
}

LogicalResult SideMatcher::match() {
  TracedElement element = tracer.getElement();
  bool isMoved = succeeded(tracer.skipFloatCasts(element));
  if (isMoved)
    if (auto op = element.value.getDefiningOp<DequantizeOp>())
      return matchDequantize(op, element);
  std::string reason = tracer.reason;
  ArithmeticMatcher arithmetic(tracer);
  FailureOr<ArithmeticMatch> found = arithmetic.match();
  if (succeeded(found))
    return matchArithmetic(*found);
  // What stands in the way of all is not to be found among what is computed.
  if (!isMoved && !arithmetic.hasArithmetic())
    tracer.reason = reason;
  return failure();
}

SmallVector<Value> SideMatcher::buildComponents(OpBuilder &b,
                                                Location loc) const {
  SmallVector<Value> components;
  const auto *view = views.begin();
  for (const StorageComponent &component : type.getComponents()) {
    // The ring of the window, in which no token ever lies: all are flushed.
    if (component.kind == ComponentKind::Recent)
      components.push_back(tensor::EmptyOp::create(
          b, loc, component.getTensorType(), ValueRange()));
    else
      components.push_back((view++)->build(b, loc, tracer, component));
  }
  return components;
}
