//===- ExpandIntrinsics.cpp - Intrinsics that LLVM has code for -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionLowering.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace mlir::kvq::emulator;

using Builder = FunctionLowering::Builder;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

static std::optional<Register> lookUpRegister(StringRef name) {
  return llvm::StringSwitch<std::optional<Register>>(name)
      .Case("tid.x", TidX)
      .Case("tid.y", TidY)
      .Case("tid.z", TidZ)
      .Case("ntid.x", NTidX)
      .Case("ntid.y", NTidY)
      .Case("ntid.z", NTidZ)
      .Case("ctaid.x", CtaIdX)
      .Case("ctaid.y", CtaIdY)
      .Case("ctaid.z", CtaIdZ)
      .Case("nctaid.x", NCtaIdX)
      .Case("nctaid.y", NCtaIdY)
      .Case("nctaid.z", NCtaIdZ)
      .Case("laneid", LaneId)
      .Case("warpid", WarpId)
      .Case("nwarpid", NWarpId)
      .Case("lanemask.eq", LaneMaskEq)
      .Case("lanemask.le", LaneMaskLe)
      .Case("lanemask.lt", LaneMaskLt)
      .Case("lanemask.ge", LaneMaskGe)
      .Case("lanemask.gt", LaneMaskGt)
      .Case("dynamic_smem_size", DynamicSharedSize)
      .Case("total_smem_size", TotalSharedSize)
      .Default(std::nullopt);
}

llvm::Value *
mlir::kvq::emulator::readSpecialRegister(FunctionLowering &lowering,
                                         Builder &builder, StringRef name) {
  if (std::optional<Register> index = lookUpRegister(name))
    return lowering.readRegister(builder, *index);
  if (name == "warpsize")
    return builder.getInt32(kWarpSize);
  auto readClock = [&] {
    return builder.CreateIntrinsic(builder.getInt64Ty(),
                                   llvm::Intrinsic::readcyclecounter, {});
  };
  if (name == "clock64" || name == "globaltimer")
    return readClock();
  if (name == "clock")
    return builder.CreateTrunc(readClock(), builder.getInt32Ty());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

/// What the parts of an intrinsic's name ask for beside its operation.
namespace {
struct Modifiers {
  bool flushes = false, saturates = false, clamps = false, keepsNaN = false;
};
} // namespace

/// Takes the modifiers out of a name, and the type at its end. Fails for what
/// PTX has and no kernel here uses, such as other rounding modes.
static bool takeModifiers(StringRef name, Modifiers &modifiers,
                          std::string &operation) {
  llvm::SmallVector<StringRef, 6> parts;
  name.split(parts, '.');
  operation = parts.front().str();
  for (StringRef part : llvm::drop_begin(parts)) {
    if (part == "ftz")
      modifiers.flushes = true;
    else if (part == "sat")
      modifiers.saturates = true;
    else if (part == "relu")
      modifiers.clamps = true;
    else if (part == "nan")
      modifiers.keepsNaN = true;
    else if (!llvm::is_contained({"rn", "approx", "full", "f", "d", "f16",
                                  "f16x2", "bf16", "bf16x2", "f32", "v2f16",
                                  "v2bf16"},
                                 part))
      return false;
  }
  return true;
}

/// Subnormal f32 become zero.
static llvm::Value *flushSubnormal(Builder &builder, llvm::Value *value) {
  if (!value->getType()->isFloatTy())
    return value;
  llvm::Value *magnitude =
      builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  llvm::Value *isSubnormal = builder.CreateFCmpOLT(
      magnitude, llvm::ConstantFP::get(value->getType(), 0x1p-126));
  llvm::Value *zero = builder.CreateBinaryIntrinsic(
      llvm::Intrinsic::copysign, llvm::ConstantFP::get(value->getType(), 0.0),
      value);
  return builder.CreateSelect(isSubnormal, zero, value);
}

static llvm::Value *invert(Builder &builder, llvm::Value *value) {
  return builder.CreateFDiv(llvm::ConstantFP::get(value->getType(), 1.0),
                            value);
}

/// Computes functions of one number in f32, as the hardware does.
static llvm::Value *
computeInFloat(Builder &builder, llvm::Value *value,
               llvm::function_ref<llvm::Value *(llvm::Value *)> compute) {
  llvm::Type *type = value->getType();
  if (!type->getScalarType()->isHalfTy() &&
      !type->getScalarType()->isBFloatTy())
    return compute(value);
  llvm::Type *wide = type->getWithNewType(builder.getFloatTy());
  return builder.CreateFPTrunc(compute(builder.CreateFPExt(value, wide)), type);
}

static llvm::Value *computeFloat(Builder &builder, StringRef operation,
                                 const Modifiers &modifiers,
                                 llvm::ArrayRef<llvm::Value *> arguments) {
  auto unary = [&](llvm::Intrinsic::ID intrinsic) {
    return computeInFloat(builder, arguments[0], [&](llvm::Value *value) {
      return builder.CreateUnaryIntrinsic(intrinsic, value);
    });
  };
  if (operation == "ex2")
    return unary(llvm::Intrinsic::exp2);
  if (operation == "lg2")
    return unary(llvm::Intrinsic::log2);
  if (operation == "sqrt")
    return unary(llvm::Intrinsic::sqrt);
  if (operation == "fabs")
    return unary(llvm::Intrinsic::fabs);
  if (operation == "sin" || operation == "cos" || operation == "tanh")
    return unary(operation == "sin"   ? llvm::Intrinsic::sin
                 : operation == "cos" ? llvm::Intrinsic::cos
                                      : llvm::Intrinsic::tanh);
  if (operation == "neg")
    return builder.CreateFNeg(arguments[0]);
  if (operation == "saturate")
    return arguments[0];
  if (operation == "rcp")
    return invert(builder, arguments[0]);
  if (operation == "rsqrt")
    return invert(builder, unary(llvm::Intrinsic::sqrt));
  if (operation == "fma")
    return builder.CreateIntrinsic(llvm::Intrinsic::fma,
                                   {arguments[0]->getType()}, arguments);
  if (operation == "add")
    return builder.CreateFAdd(arguments[0], arguments[1]);
  if (operation == "mul")
    return builder.CreateFMul(arguments[0], arguments[1]);
  if (operation == "div")
    return builder.CreateFDiv(arguments[0], arguments[1]);
  if (operation == "fmin" || operation == "fmax") {
    bool isMin = operation == "fmin";
    return builder.CreateBinaryIntrinsic(
        modifiers.keepsNaN
            ? (isMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum)
            : (isMin ? llvm::Intrinsic::minnum : llvm::Intrinsic::maxnum),
        arguments[0], arguments[1]);
  }
  return nullptr;
}

/// From below at zero, and from above at one. NaN becomes zero.
static llvm::Value *clamp(Builder &builder, llvm::Value *value,
                          bool saturates) {
  llvm::Type *type = value->getType();
  value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::maxnum, value,
                                        llvm::ConstantFP::get(type, 0.0));
  if (!saturates)
    return value;
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::minnum, value,
                                       llvm::ConstantFP::get(type, 1.0));
}

static llvm::Value *expandFloat(Builder &builder, StringRef name,
                                llvm::SmallVector<llvm::Value *> arguments) {
  Modifiers modifiers;
  std::string operation;
  if (!takeModifiers(name, modifiers, operation))
    return nullptr;
  if (operation == "saturate")
    modifiers.saturates = true;
  if (modifiers.flushes)
    for (llvm::Value *&argument : arguments)
      argument = flushSubnormal(builder, argument);
  llvm::Value *result = computeFloat(builder, operation, modifiers, arguments);
  if (!result)
    return nullptr;
  if (modifiers.flushes)
    result = flushSubnormal(builder, result);
  if (modifiers.saturates || modifiers.clamps)
    result = clamp(builder, result, modifiers.saturates);
  return result;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

llvm::Value *mlir::kvq::emulator::permuteBytes(Builder &builder,
                                               llvm::Value *low,
                                               llvm::Value *high,
                                               llvm::Value *selector) {
  llvm::Type *wide = builder.getInt64Ty();
  llvm::Value *bytes =
      builder.CreateOr(builder.CreateZExt(low, wide),
                       builder.CreateShl(builder.CreateZExt(high, wide), 32));
  llvm::Value *result = builder.getInt32(0);
  for (unsigned i = 0; i != 4; ++i) {
    llvm::Value *choice = builder.CreateLShr(selector, 4 * i);
    llvm::Value *shift = builder.CreateShl(builder.CreateAnd(choice, 7), 3);
    llvm::Value *byte = builder.CreateTrunc(
        builder.CreateLShr(bytes, builder.CreateZExt(shift, wide)),
        builder.getInt8Ty());
    // The byte, or its sign in all bits.
    llvm::Value *sign = builder.CreateAShr(byte, 7);
    byte = builder.CreateSelect(
        builder.CreateIsNotNull(builder.CreateAnd(choice, 8)), sign, byte);
    result = builder.CreateOr(
        result, builder.CreateShl(
                    builder.CreateZExt(byte, builder.getInt32Ty()), 8 * i));
  }
  return result;
}

/// The upper half of a product.
static llvm::Value *multiplyHigh(Builder &builder, llvm::Value *a,
                                 llvm::Value *b, bool isSigned) {
  auto *type = llvm::cast<llvm::IntegerType>(a->getType());
  unsigned bits = type->getBitWidth();
  llvm::Type *wide = builder.getIntNTy(2 * bits);
  llvm::Value *product =
      builder.CreateMul(builder.CreateIntCast(a, wide, isSigned),
                        builder.CreateIntCast(b, wide, isSigned));
  return builder.CreateTrunc(builder.CreateLShr(product, bits), type);
}

/// `idp4a`: the sum of products of bytes, and an addend.
static llvm::Value *multiplyBytes(Builder &builder, llvm::Value *a,
                                  llvm::Value *b, llvm::Value *addend,
                                  bool aIsSigned, bool bIsSigned) {
  llvm::Type *type = builder.getInt32Ty();
  llvm::Value *sum = addend;
  for (unsigned i = 0; i != 4; ++i) {
    auto getByte = [&](llvm::Value *value, bool isSigned) {
      llvm::Value *byte = builder.CreateTrunc(builder.CreateLShr(value, 8 * i),
                                              builder.getInt8Ty());
      return builder.CreateIntCast(byte, type, isSigned);
    };
    sum = builder.CreateAdd(
        sum, builder.CreateMul(getByte(a, aIsSigned), getByte(b, bIsSigned)));
  }
  return sum;
}

static llvm::Value *expandInteger(Builder &builder, StringRef name,
                                  llvm::ArrayRef<llvm::Value *> arguments) {
  if (name == "prmt")
    return permuteBytes(builder, arguments[0], arguments[1], arguments[2]);
  if (name.consume_front("mulhi."))
    return multiplyHigh(builder, arguments[0], arguments[1],
                        !name.starts_with("u"));
  if (name.consume_front("idp4a."))
    return multiplyBytes(builder, arguments[0], arguments[1], arguments[2],
                         name.starts_with("s"), name.ends_with("s"));
  if (name.starts_with("move."))
    return arguments[0];
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Memory order and hints
//===----------------------------------------------------------------------===//

/// What only matters to other blocks, or not at all here.
static llvm::Value *expandFence(Builder &builder, StringRef name) {
  // Whatever orders blocks on a GPU orders the threads that run them.
  if (name.starts_with("fence.proxy.async") &&
      !name.starts_with("fence.proxy.async_generic."))
    return nullptr; // Of shared memory: an operation.
  if (name.starts_with("membar.") || name.starts_with("fence."))
    builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  else if (!name.starts_with("prefetch") &&
           !name.starts_with("griddepcontrol.") &&
           !name.starts_with("cp.async.bulk.prefetch.L2") &&
           // Bulk stores are done as soon as they begin.
           name != "cp.async.bulk.commit.group" &&
           name != "cp.async.bulk.wait.group" &&
           name != "cp.async.bulk.wait.group.read")
    return nullptr;
  return llvm::PoisonValue::get(builder.getInt32Ty());
}

llvm::Value *mlir::kvq::emulator::expandIntrinsic(FunctionLowering &lowering,
                                                  llvm::CallInst &call,
                                                  StringRef name) {
  Builder builder(&call);
  if (name.consume_front("read.ptx.sreg."))
    return readSpecialRegister(lowering, builder, name);
  if (llvm::Value *value = expandFence(builder, name))
    return value;
  llvm::SmallVector<llvm::Value *> arguments =
      FunctionLowering::getArguments(call);
  if (llvm::Value *value = expandInteger(builder, name, arguments))
    return value;
  if (call.getType()->isFPOrFPVectorTy())
    return expandFloat(builder, name, arguments);
  return nullptr;
}
