//===- LaunchesToLLVM.cpp - What launches kernels, to the LLVM dialect ----===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Passes.h"

#include "kvq/Runtime/EntryPoints.h"

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_LAUNCHESTOLLVMPASS
#include "kvq/Conversion/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// The argument that says where kernels run
//===----------------------------------------------------------------------===//

/// Gives every function with a body the call that it is part of as its first
/// argument, and hands it on.
static LogicalResult addCallArguments(ModuleOp module) {
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        failed(function.insertArgument(0, pointer, {}, function.getLoc())))
      return failure();
  WalkResult result = module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    auto caller = call->getParentOfType<func::FuncOp>();
    if (callee && caller && !callee.isExternal())
      call.getOperandsMutable().assign(llvm::to_vector(llvm::concat<Value>(
          SmallVector<Value>{caller.getArgument(0)}, call.getOperands())));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The library's names are taken.
static LogicalResult checkNames(ModuleOp module) {
  for (StringRef name :
       {runtime::kLaunchEntry, runtime::kAllocateEntry, runtime::kFreeEntry})
    if (Operation *other = module.lookupSymbol(name))
      return other->emitError("expected no function called '")
             << name << "', which is the run-time library's";
  return success();
}

static Value getCallArgument(Operation *op) {
  return op->getParentOfType<FunctionOpInterface>().getArgument(0);
}

//===----------------------------------------------------------------------===//
// Calls of the run-time library
//===----------------------------------------------------------------------===//

/// The call of an entry point of the library, with the current call before
/// `arguments`.
static FailureOr<LLVM::CallOp> callRuntime(ConversionPatternRewriter &rewriter,
                                           Operation *op, StringRef name,
                                           ArrayRef<Value> arguments,
                                           Type result = {}) {
  SmallVector<Value> operands = {getCallArgument(op)};
  llvm::append_range(operands, arguments);
  SmallVector<Type> types(ValueRange(operands).getTypes());
  auto module = op->getParentOfType<ModuleOp>();
  FailureOr<LLVM::LLVMFuncOp> function = LLVM::lookupOrCreateFn(
      rewriter, module, name, types,
      result ? result : LLVM::LLVMVoidType::get(op->getContext()));
  if (failed(function))
    return failure();
  return LLVM::CallOp::create(rewriter, op->getLoc(), *function, operands);
}

/// The address of a string that ends with a zero.
static Value getNameAddress(ConversionPatternRewriter &rewriter, Operation *op,
                            StringRef name) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string symbol = ("kvq_name_" + name).str();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(symbol);
  if (!global) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    std::string text = name.str();
    text.push_back('\0');
    auto type =
        LLVM::LLVMArrayType::get(rewriter.getIntegerType(8), text.size());
    global =
        LLVM::GlobalOp::create(rewriter, op->getLoc(), type,
                               /*isConstant=*/true, LLVM::Linkage::Internal,
                               symbol, rewriter.getStringAttr(text));
  }
  return LLVM::AddressOfOp::create(rewriter, op->getLoc(), global);
}

/// Stores `values` and their addresses; returns where the addresses are.
static Value storeArguments(ConversionPatternRewriter &rewriter, Operation *op,
                            ValueRange values) {
  Location loc = op->getLoc();
  auto pointer = LLVM::LLVMPointerType::get(op->getContext());
  auto structure = LLVM::LLVMStructType::getLiteral(
      op->getContext(), llvm::to_vector(values.getTypes()));
  auto addressesType = LLVM::LLVMArrayType::get(pointer, values.size());
  Value storage, addresses;
  {
    // Once a call, however often the launch is run.
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(
        &op->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
    Value one = LLVM::ConstantOp::create(rewriter, loc, rewriter.getI64Type(),
                                         rewriter.getI64IntegerAttr(1));
    storage = LLVM::AllocaOp::create(rewriter, loc, pointer, structure, one);
    addresses =
        LLVM::AllocaOp::create(rewriter, loc, pointer, addressesType, one);
  }
  for (auto [index, value] : llvm::enumerate(values)) {
    Value field =
        LLVM::GEPOp::create(rewriter, loc, pointer, structure, storage,
                            ArrayRef<LLVM::GEPArg>{0, int(index)});
    LLVM::StoreOp::create(rewriter, loc, value, field);
    Value slot =
        LLVM::GEPOp::create(rewriter, loc, pointer, addressesType, addresses,
                            ArrayRef<LLVM::GEPArg>{0, int(index)});
    LLVM::StoreOp::create(rewriter, loc, field, slot);
  }
  return addresses;
}

namespace {

struct LaunchToLLVM : ConvertOpToLLVMPattern<gpu::LaunchFuncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::LaunchFuncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getAsyncToken() || !op.getAsyncDependencies().empty())
      return op.emitError("expected launches without tokens: one call's are in "
                          "order");
    if (op.hasClusterSize())
      return op.emitError("expected launches without clusters");
    Location loc = op.getLoc();
    Type i64 = rewriter.getI64Type();
    Value shared = adaptor.getDynamicSharedMemorySize();
    shared = shared ? LLVM::ZExtOp::create(rewriter, loc, i64, shared)
                    : Value(LLVM::ConstantOp::create(
                          rewriter, loc, i64, rewriter.getI64IntegerAttr(0)));
    SmallVector<Value> arguments = getTypeConverter()->promoteOperands(
        loc, op.getKernelOperands(), adaptor.getKernelOperands(), rewriter);
    Value addresses = storeArguments(rewriter, op, arguments);
    Value count = LLVM::ConstantOp::create(
        rewriter, loc, i64, rewriter.getI64IntegerAttr(arguments.size()));
    Value name = getNameAddress(rewriter, op, op.getKernelName());
    auto call =
        callRuntime(rewriter, op, runtime::kLaunchEntry,
                    {name, adaptor.getGridSizeX(), adaptor.getGridSizeY(),
                     adaptor.getGridSizeZ(), adaptor.getBlockSizeX(),
                     adaptor.getBlockSizeY(), adaptor.getBlockSizeZ(), shared,
                     addresses, count});
    if (failed(call))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct AllocToLLVM : ConvertOpToLLVMPattern<gpu::AllocOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::AllocOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MemRefType type = op.getType();
    if (op.getAsyncToken() || op.getHostShared() ||
        !isConvertibleAndHasIdentityMaps(type))
      return op.emitError("expected contiguous memory of the device, without "
                          "tokens");
    SmallVector<Value> sizes, strides;
    Value bytes;
    getMemRefDescriptorSizes(op.getLoc(), type, adaptor.getDynamicSizes(),
                             rewriter, sizes, strides, bytes);
    auto call = callRuntime(rewriter, op, runtime::kAllocateEntry, bytes,
                            LLVM::LLVMPointerType::get(op.getContext()));
    if (failed(call))
      return failure();
    Value memory = call->getResult();
    rewriter.replaceOp(
        op, Value(createMemRefDescriptor(op.getLoc(), type, memory, memory,
                                         sizes, strides, rewriter)));
    return success();
  }
};

struct DeallocToLLVM : ConvertOpToLLVMPattern<gpu::DeallocOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(gpu::DeallocOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (op.getAsyncToken())
      return op.emitError("expected memory to be freed without tokens");
    MemRefDescriptor descriptor(adaptor.getMemref());
    Value memory = descriptor.allocatedPtr(rewriter, op.getLoc());
    if (failed(callRuntime(rewriter, op, runtime::kFreeEntry, memory)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct LaunchesToLLVMPass
    : kvq::impl::LaunchesToLLVMPassBase<LaunchesToLLVMPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkNames(module)) || failed(addCallArguments(module)))
      return signalPassFailure();
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    patterns.add<LaunchToLLVM, AllocToLLVM, DeallocToLLVM>(converter);
    ConversionTarget target(getContext());
    target.addIllegalDialect<gpu::GPUDialect>();
    target.addLegalDialect<LLVM::LLVMDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    target.markOpRecursivelyLegal<gpu::GPUModuleOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    // They are the device's. Nothing refers to them any more.
    for (auto kernels :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
      kernels.erase();
  }
};

} // namespace
