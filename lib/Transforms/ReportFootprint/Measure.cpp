//===- Measure.cpp - What a function keeps and allocates ------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Footprint.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Measures one function.
class Measurer {
public:
  Measurer(FunctionOpInterface function, std::optional<int64_t> capacity)
      : capacity(capacity), state(function, OpPrintingFlags().useLocalScope()) {
    result.function = function;
  }

  FailureOr<FunctionFootprint> run();

private:
  std::string getName(Value value);
  LogicalResult addCache(Value value, std::optional<int64_t> ownCapacity = {});
  LogicalResult addCachesOf(Operation *op);

  std::string getExtentName(Value extent);
  void addBuffer(Operation *op, MemRefType type, ValueRange extents,
                 BufferBytes &buffers);
  void addBuffersOf(Operation *op);
  void addLaunch(Operation *op);

  FunctionFootprint result;
  std::optional<int64_t> capacity;
  AsmState state;
};

} // namespace

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

std::string Measurer::getName(Value value) {
  std::string name;
  llvm::raw_string_ostream os(name);
  value.printAsOperand(os, state);
  return name;
}

LogicalResult Measurer::addCache(Value value,
                                 std::optional<int64_t> ownCapacity) {
  auto type = dyn_cast<CacheType>(value.getType());
  if (!type)
    return success();
  CacheFootprint &cache = result.caches.emplace_back();
  cache.value = value;
  cache.name = getName(value);
  cache.type = type;
  if (!ShapedType::isDynamic(type.getCapacity()))
    cache.capacity = type.getCapacity();
  else
    cache.capacity = ownCapacity ? ownCapacity : capacity;

  if (type.hasOpenLayout())
    return emitError(value.getLoc()) << "expected a layout of bytes, which "
                                        "kvq-assign-layout chooses, got "
                                        "layout = auto in "
                                     << type;
  FailureOr<ByteSplit> fixed = getAllocatedBytes(type, 0);
  FailureOr<ByteSplit> group = getTokenGroupBytes(type);
  FailureOr<ByteSplit> allocated =
      getAllocatedBytes(type, cache.capacity.value_or(0));
  if (failed(fixed) || failed(group) || failed(allocated))
    return emitError(value.getLoc())
           << "expected a cache of fewer than 2^63 bytes, got " << type
           << " for " << cache.capacity.value_or(0) << " tokens";
  cache.fixed = *fixed;
  cache.group = *group;
  cache.allocated = *allocated;
  return success();
}

/// The caches that an op makes. All others are these, seen after an append or
/// through control flow.
LogicalResult Measurer::addCachesOf(Operation *op) {
  if (auto empty = dyn_cast<EmptyOp>(op)) {
    std::optional<int64_t> tokens;
    if (Value operand = empty.getCapacity())
      tokens = getConstantIntValue(operand);
    if (tokens && *tokens < 0)
      return op->emitError("expected a capacity of at least 0, got ")
             << *tokens;
    return addCache(empty.getCache(), tokens);
  }
  if (auto given = dyn_cast<FromComponentsOp>(op))
    return addCache(given.getCache());
  return success();
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

/// What one axis of an argument says is named so; anything else by its value.
std::string Measurer::getExtentName(Value extent) {
  auto dim = extent.getDefiningOp<memref::DimOp>();
  std::optional<int64_t> axis = dim ? dim.getConstantIndex() : std::nullopt;
  if (!axis)
    return getName(extent);
  return "dim(" + getName(dim.getSource()) + ", " + std::to_string(*axis) + ")";
}

/// Bytes of the static extents; nothing for elements of no known size.
static std::optional<int64_t> getStaticBytes(MemRefType type) {
  Type element = type.getElementType();
  if (!type.getLayout().isIdentity() || !element.isIntOrIndexOrFloat())
    return std::nullopt;
  std::optional<int64_t> bytes =
      element.isIndex()
          ? int64_t(sizeof(int64_t))
          : int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  for (int64_t extent : type.getShape())
    if (bytes && !ShapedType::isDynamic(extent))
      bytes = llvm::checkedMul(*bytes, extent);
  return bytes;
}

void Measurer::addBuffer(Operation *op, MemRefType type, ValueRange extents,
                         BufferBytes &buffers) {
  std::vector<std::string> product;
  for (Value extent : extents)
    product.push_back(getExtentName(extent));
  llvm::sort(product);
  std::optional<int64_t> bytes = getStaticBytes(type);
  if (bytes)
    bytes = llvm::checkedAdd(buffers[product], *bytes);
  if (!bytes) {
    op->emitWarning("temporary not counted: the size of ")
        << type << " is not known";
    return;
  }
  buffers[product] = *bytes;
}

/// Whether work items run at once around `op`.
static bool isInWorkItem(Operation *op) {
  return isa<gpu::GPUFuncOp>(op) || op->getParentOfType<gpu::GPUFuncOp>() ||
         op->getParentOfType<gpu::LaunchOp>() ||
         op->getParentOfType<scf::ForallOp>() ||
         op->getParentOfType<scf::ParallelOp>();
}

void Measurer::addBuffersOf(Operation *op) {
  auto add = [&](Value buffer, ValueRange extents, bool inWorkItem) {
    addBuffer(op, cast<MemRefType>(buffer.getType()), extents,
              inWorkItem ? result.temporaries.workItem
                         : result.temporaries.call);
  };
  auto addAttributions = [&](ArrayRef<BlockArgument> attributions) {
    for (BlockArgument buffer : attributions)
      add(buffer, {}, /*inWorkItem=*/true);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<memref::AllocOp, memref::AllocaOp, gpu::AllocOp>([&](auto alloc) {
        add(alloc.getMemref(), alloc.getDynamicSizes(), isInWorkItem(op));
      })
      .Case<gpu::LaunchOp, gpu::GPUFuncOp>([&](auto kernel) {
        addAttributions(kernel.getWorkgroupAttributions());
        addAttributions(kernel.getPrivateAttributions());
      });
}

void Measurer::addLaunch(Operation *op) {
  if (!isa<gpu::LaunchFuncOp, gpu::LaunchOp>(op))
    return;
  // Nothing branches back to a region's first block.
  bool isMadeOnce =
      op->getParentOp() == result.function && op->getBlock()->isEntryBlock();
  ++(isMadeOnce ? result.temporaries.launches
                : result.temporaries.launchesInControlFlow);
}

//===----------------------------------------------------------------------===//
// All
//===----------------------------------------------------------------------===//

FailureOr<FunctionFootprint> Measurer::run() {
  FunctionOpInterface function = result.function;
  for (Value argument : function.getArguments())
    if (failed(addCache(argument)))
      return failure();
  WalkResult walk = function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    addBuffersOf(op);
    addLaunch(op);
    return failed(addCachesOf(op)) ? WalkResult::interrupt()
                                   : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return std::move(result);
}

FailureOr<FunctionFootprint> kvq::measure(FunctionOpInterface function,
                                          std::optional<int64_t> capacity) {
  return Measurer(function, capacity).run();
}

FailureOr<std::vector<FunctionFootprint>>
kvq::measure(ModuleOp module, std::optional<int64_t> capacity) {
  std::vector<FunctionFootprint> functions;
  WalkResult walk =
      module.walk<WalkOrder::PreOrder>([&](FunctionOpInterface function) {
        if (function.isExternal())
          return WalkResult::advance();
        FailureOr<FunctionFootprint> footprint = measure(function, capacity);
        if (failed(footprint))
          return WalkResult::interrupt();
        if (!footprint->empty())
          functions.push_back(std::move(*footprint));
        return WalkResult::advance();
      });
  if (walk.wasInterrupted())
    return failure();
  return functions;
}
