//===- ExpandCaches.cpp - Caches to storage components ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rows.h"

#include "kvq/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_EXPANDCACHESPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

struct ExpandCachesPass : kvq::impl::ExpandCachesPassBase<ExpandCachesPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// A cache is the tensors that it is stored in.
struct CacheTypeConverter : TypeConverter {
  CacheTypeConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](CacheType cache, SmallVectorImpl<Type> &types) {
      for (const StorageComponent &component : cache.getComponents())
        types.push_back(component.getTensorType());
      return success();
    });
  }
};

struct EmptyPattern : OpConversionPattern<EmptyOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(EmptyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

struct FromComponentsPattern : OpConversionPattern<FromComponentsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(FromComponentsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op, {adaptor.getComponents()});
    return success();
  }
};

/// One of two caches: as canonicalization writes a branch that does nothing
/// else.
struct SelectPattern : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> components;
    for (auto [yes, no] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      components.push_back(arith::SelectOp::create(
          rewriter, op.getLoc(), adaptor.getCondition().front(), yes, no));
    rewriter.replaceOpWithMultiple(op, {components});
    return success();
  }
};

/// A segment's cache has some of the components.
struct ExtractSegmentPattern : OpConversionPattern<ExtractSegmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ExtractSegmentOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> components;
    for (unsigned index :
         op.getCache().getType().getSegmentComponents(op.getSegment()))
      components.push_back(adaptor.getCache()[index]);
    rewriter.replaceOpWithMultiple(op, {components});
    return success();
  }
};

struct InsertSegmentPattern : OpConversionPattern<InsertSegmentOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(InsertSegmentOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> components(adaptor.getCache());
    for (auto [index, component] : llvm::zip_equal(
             op.getCache().getType().getSegmentComponents(op.getSegment()),
             adaptor.getPart()))
      components[index] = component;
    rewriter.replaceOpWithMultiple(op, {components});
    return success();
  }
};

/// The components take the place of the caches.
struct BlockAttentionPattern : OpConversionPattern<BlockAttentionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BlockAttentionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.startOpModification(op);
    auto assign = [](MutableOperandRange operands,
                     ArrayRef<ValueRange> components) {
      SmallVector<Value> flat;
      for (ValueRange range : components)
        llvm::append_range(flat, range);
      operands.assign(flat);
    };
    assign(op.getKeysMutable(), adaptor.getKeys());
    assign(op.getValuesMutable(), adaptor.getValues());
    rewriter.finalizeOpModification(op);
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Empty caches
//===----------------------------------------------------------------------===//

LogicalResult
EmptyPattern::matchAndRewrite(EmptyOp op, OpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  CacheType cache = op.getCache().getType();
  IndexMath math(rewriter, loc);
  std::vector<CacheType> segments = cache.getSegmentCaches();
  // Pools are dynamic in their pages, other components in their rows: by
  // segment, and by the tokens of a row.
  DenseMap<std::pair<int64_t, int64_t>, Value> extents;
  auto getExtent = [&](const StorageComponent &component) {
    if (Value pages = adaptor.getPages())
      return pages;
    int64_t index = component.segment.value_or(0);
    CacheType segment = segments[index];
    Value &rows = extents[{index, 1}];
    if (!rows)
      rows = buildFlushed(math, segment, adaptor.getCapacity());
    Value whole = rows;
    int64_t tokens = segment.getRowTokens(component.kind);
    Value &extent = extents[{index, tokens}];
    if (!extent)
      extent = math.div(whole, tokens);
    return extent;
  };
  SmallVector<Value> tensors;
  ValueRange given = adaptor.getGiven();
  for (const StorageComponent &component : cache.getComponents()) {
    if (component.given) {
      tensors.push_back(given.front());
      given = given.drop_front();
      continue;
    }
    RankedTensorType type = component.getTensorType();
    SmallVector<Value> extents;
    if (!type.hasStaticShape())
      extents.push_back(getExtent(component));
    // Not `tensor.empty`: equal ones are merged, and scales and zeros are
    // equal.
    tensors.push_back(
        bufferization::AllocTensorOp::create(rewriter, loc, type, extents));
  }
  rewriter.replaceOpWithMultiple(op, {tensors});
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// True if the conversion knows how to expand the caches of `op`.
static bool isExpandable(Operation *op) {
  return isa<EmptyOp, FromComponentsOp, ExtractSegmentOp, InsertSegmentOp,
             AppendOp, BlockAttentionOp, LoadTileOp, LoadGivenOp, ReorderOp,
             ShiftOp, func::FuncOp, func::CallOp, func::ReturnOp, scf::ForOp,
             scf::IfOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp,
             cf::BranchOp, cf::CondBranchOp, arith::SelectOp>(op);
}

static bool mentionsCache(Type type) {
  return type.walk([](CacheType) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// True if a cache is an operand, a result or a block argument of `op`.
static bool carriesCache(Operation *op) {
  if (llvm::any_of(op->getOperandTypes(), mentionsCache) ||
      llvm::any_of(op->getResultTypes(), mentionsCache))
    return true;
  for (mlir::Region &region : op->getRegions())
    for (Block &block : region)
      if (llvm::any_of(block.getArgumentTypes(), mentionsCache))
        return true;
  return false;
}

/// The first cache of `op`, a function's arguments among them, whose layout is
/// open; null without.
static CacheType findOpenCache(Operation *op) {
  CacheType found;
  auto check = [&](Type type) {
    type.walk([&](CacheType cache) {
      if (!found && cache.hasOpenLayout())
        found = cache;
    });
  };
  llvm::for_each(op->getOperandTypes(), check);
  llvm::for_each(op->getResultTypes(), check);
  if (auto function = dyn_cast<func::FuncOp>(op))
    check(function.getFunctionType());
  return found;
}

/// Whether the op works on one format at a time, and its cache has several.
static bool hasUnsplitSegments(Operation *op) {
  auto isSegmented = [](Type type) {
    auto cache = dyn_cast<CacheType>(type);
    return cache && cache.getSegments();
  };
  return isa<AppendOp, ReorderOp, ShiftOp, LoadTileOp, LoadGivenOp>(op) &&
         (llvm::any_of(op->getOperandTypes(), isSegmented) ||
          llvm::any_of(op->getResultTypes(), isSegmented));
}

/// Reports every op that carries a cache and is not known to the conversion,
/// and the first one with a cache that has no storage.
static LogicalResult verifyExpandable(ModuleOp module) {
  bool expandable = true;
  WalkResult open = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    CacheType cache = findOpenCache(op);
    if (!cache)
      return WalkResult::advance();
    (void)verifyAssignedLayout(op, cache);
    return WalkResult::interrupt();
  });
  if (open.wasInterrupted())
    return failure();
  module.walk([&](Operation *op) {
    if (hasUnsplitSegments(op)) {
      op->emitOpError("expected a cache of one format, got segments (run "
                      "kvq-split-segments first)");
      expandable = false;
    }
    if (isExpandable(op) || !carriesCache(op))
      return;
    op->emitError("op '") << op->getName()
                          << "' carries a !kvq.cache that kvq-expand-caches "
                             "cannot expand";
    expandable = false;
  });
  return success(expandable);
}

/// The attributes of arguments or results of `types`, once each has become its
/// components: those of a cache hold for all of them. The conversion of
/// signatures by itself keeps them for the first one.
static ArrayAttr spreadAttributes(ArrayAttr attributes, ArrayRef<Type> types,
                                  const TypeConverter &converter) {
  if (!attributes)
    return {};
  SmallVector<Attribute> spread;
  for (auto [attribute, type] : llvm::zip_equal(attributes, types)) {
    SmallVector<Type> converted;
    if (failed(converter.convertType(type, converted)))
      return {};
    spread.append(converted.size(), attribute);
  }
  return ArrayAttr::get(attributes.getContext(), spread);
}

namespace {

/// What the attributes of a function's arguments and results have to become.
struct SignatureAttributes {
  func::FuncOp function;
  ArrayAttr arguments, results;

  SignatureAttributes(func::FuncOp function, const TypeConverter &converter)
      : function(function),
        arguments(spreadAttributes(function.getArgAttrsAttr(),
                                   function.getArgumentTypes(), converter)),
        results(spreadAttributes(function.getResAttrsAttr(),
                                 function.getResultTypes(), converter)) {}

  void apply() {
    if (arguments)
      function.setArgAttrsAttr(arguments);
    if (results)
      function.setResAttrsAttr(results);
  }
};

} // namespace

/// Every op is legal once no cache is left in its types.
static void configureTarget(ConversionTarget &target,
                            const TypeConverter &converter) {
  target.addIllegalOp<EmptyOp, FromComponentsOp, ExtractSegmentOp,
                      InsertSegmentOp, AppendOp, LoadTileOp, LoadGivenOp,
                      ReorderOp, ShiftOp, TruncateOp>();
  // Its signature alone: branches convert the blocks that they lead to.
  target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
    return converter.isSignatureLegal(op.getFunctionType());
  });
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
}

void ExpandCachesPass::runOnOperation() {
  if (failed(verifyExpandable(getOperation())))
    return signalPassFailure();

  CacheTypeConverter converter;
  SmallVector<SignatureAttributes> attributes;
  getOperation().walk([&](func::FuncOp function) {
    attributes.emplace_back(function, converter);
  });
  ConversionTarget target(getContext());
  configureTarget(target, converter);
  RewritePatternSet patterns(&getContext());
  patterns.add<EmptyPattern, FromComponentsPattern, ExtractSegmentPattern,
               InsertSegmentPattern, SelectPattern, BlockAttentionPattern>(
      converter, &getContext());
  populateLoadTilePatterns(converter, patterns);
  populateAppendPatterns(converter, patterns);
  populateReorderPatterns(converter, patterns);
  populateShiftPatterns(converter, patterns);
  populateTruncatePatterns(converter, patterns);
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  cf::populateCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                     target);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
    return signalPassFailure();
  for (SignatureAttributes &signature : attributes)
    signature.apply();
}
