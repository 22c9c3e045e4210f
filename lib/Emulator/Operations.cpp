//===- Operations.cpp - The intrinsics that the emulator executes ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionLowering.h"
#include "Matrix.h"
#include "SmallFloats.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir::kvq::emulator;

using llvm::StringRef;
using Result = std::optional<Operation>;

/// Takes the number at the front of `name`.
static std::optional<unsigned> takeNumber(StringRef &name) {
  unsigned number;
  if (name.consumeInteger(10, number))
    return std::nullopt;
  return number;
}

/// `barrier.cta.{sync,arrive,red.*}[.aligned].{all,count}`, and older names.
static Result lookUpBarrier(StringRef name) {
  if (name == "barrier0")
    return Operation{synchronizeBlock, int64_t(BarrierReduction::None), 0,
                     true};
  if (!name.consume_front("barrier.cta."))
    return std::nullopt;
  bool hasCount = name.consume_back(".count");
  if (!hasCount && !name.consume_back(".all"))
    return std::nullopt;
  bool isAligned = name.consume_back(".aligned");
  if (name == "arrive")
    return Operation{arriveAtBarrier, 0, hasCount, isAligned};
  auto reduction = llvm::StringSwitch<std::optional<BarrierReduction>>(name)
                       .Case("sync", BarrierReduction::None)
                       .Case("red.popc", BarrierReduction::Count)
                       .Case("red.and", BarrierReduction::And)
                       .Case("red.or", BarrierReduction::Or)
                       .Default(std::nullopt);
  if (!reduction)
    return std::nullopt;
  return Operation{synchronizeBlock, int64_t(*reduction), hasCount, isAligned};
}

static Result lookUpWarpOperation(StringRef name) {
  if (name == "bar.warp.sync")
    return Operation{synchronizeWarp};
  if (name == "nanosleep")
    return Operation{sleep};
  if (name == "elect.sync")
    return Operation{elect};
  if (name.consume_front("shfl.sync.")) {
    auto [kindName, type] = name.split('.');
    auto kind = llvm::StringSwitch<std::optional<ShuffleKind>>(kindName)
                    .Case("up", ShuffleKind::Up)
                    .Case("down", ShuffleKind::Down)
                    .Case("bfly", ShuffleKind::Butterfly)
                    .Case("idx", ShuffleKind::Index)
                    .Default(std::nullopt);
    if (!kind ||
        !(type == "i32" || type == "f32" || type == "i32p" || type == "f32p"))
      return std::nullopt;
    return Operation{shuffle, int64_t(*kind)};
  }
  if (name.consume_front("vote.")) {
    auto kind = llvm::StringSwitch<std::optional<VoteKind>>(name)
                    .Case("all.sync", VoteKind::All)
                    .Case("any.sync", VoteKind::Any)
                    .Case("uni.sync", VoteKind::Uniform)
                    .Case("ballot.sync", VoteKind::Ballot)
                    .Default(std::nullopt);
    if (!kind)
      return std::nullopt;
    return Operation{vote, int64_t(*kind)};
  }
  if (name.consume_front("match."))
    return llvm::StringSwitch<Result>(name)
        .Case("any.sync.i32", Operation{match, 0, 4, false})
        .Case("any.sync.i64", Operation{match, 0, 8, false})
        .Case("all.sync.i32p", Operation{match, 0, 4, true})
        .Case("all.sync.i64p", Operation{match, 0, 8, true})
        .Default(std::nullopt);
  if (!name.consume_front("redux.sync."))
    return std::nullopt;
  if (auto kind = llvm::StringSwitch<std::optional<ReduxKind>>(name)
                      .Case("add", ReduxKind::Add)
                      .Case("min", ReduxKind::Min)
                      .Case("max", ReduxKind::Max)
                      .Case("umin", ReduxKind::UMin)
                      .Case("umax", ReduxKind::UMax)
                      .Case("and", ReduxKind::And)
                      .Case("or", ReduxKind::Or)
                      .Case("xor", ReduxKind::Xor)
                      .Default(std::nullopt))
    return Operation{redux, int64_t(*kind)};
  int64_t kind = name.consume_front("fmax") ? 1 : 0;
  if (!kind && !name.consume_front("fmin"))
    return std::nullopt;
  kind |= name.consume_front(".abs") ? 2 : 0;
  kind |= name.consume_front(".NaN") ? 4 : 0;
  if (!name.empty())
    return std::nullopt;
  return Operation{reduxFloat, kind};
}

static Result lookUpAsyncCopy(StringRef name) {
  if (name.consume_front("cp.async.ca.shared.global.") ||
      name.consume_front("cp.async.cg.shared.global.")) {
    bool hasSourceSize = name.consume_back(".s");
    std::optional<unsigned> size = takeNumber(name);
    if (!size || !name.empty())
      return std::nullopt;
    return Operation{startAsyncCopy, 0, *size, hasSourceSize};
  }
  return llvm::StringSwitch<Result>(name)
      .Case("cp.async.commit.group", Operation{commitAsyncCopies})
      .Case("cp.async.wait.group", Operation{waitForAsyncCopies})
      .Case("cp.async.wait.all", Operation{waitForAllAsyncCopies})
      .Cases({"cp.async.mbarrier.arrive", "cp.async.mbarrier.arrive.shared"},
             Operation{arriveAfterAsyncCopies, 0, 0, false})
      .Cases({"cp.async.mbarrier.arrive.noinc",
              "cp.async.mbarrier.arrive.noinc.shared"},
             Operation{arriveAfterAsyncCopies, 0, 0, true})
      .Cases({"fence.proxy.async", "fence.proxy.async.global",
              "fence.proxy.async.shared_cta",
              "fence.proxy.async.shared_cluster"},
             Operation{fenceAsyncProxy})
      .Case("cp.async.bulk.global.to.shared.cta", Operation{startBulkCopy})
      .Case("cp.async.bulk.global.to.shared.cluster", Operation{startBulkCopy})
      .Case("cp.async.bulk.shared.cta.to.global", Operation{storeBulk})
      .Default(std::nullopt);
}

/// The mbarrier operations, whose generic addresses are not known here.
static Result lookUpMBarrier(StringRef name) {
  if (!name.consume_front("mbarrier."))
    return std::nullopt;
  name.consume_back(".space.cta");
  bool isScoped =
      name.consume_back(".scope.cta") || name.consume_back(".scope.cluster");
  name.consume_back(".relaxed");
  bool isShared = name.consume_back(".shared");
  if (isShared == isScoped)
    return std::nullopt;
  using namespace MBarrierArrival;
  if (isShared)
    return llvm::StringSwitch<Result>(name)
        .Case("init", Operation{initializeMBarrier})
        .Case("inval", Operation{invalidateMBarrier})
        .Case("arrive", Operation{arriveAtMBarrier, One})
        .Case("arrive.noComplete", Operation{arriveAtMBarrier, Count})
        .Case("arrive.drop", Operation{arriveAtMBarrier, Drop})
        .Case("arrive.drop.noComplete",
              Operation{arriveAtMBarrier, Drop | Count})
        .Case("test.wait", Operation{waitForMBarrier, 0, 0, false})
        .Default(std::nullopt);
  return llvm::StringSwitch<Result>(name)
      .Case("expect.tx", Operation{expectBytes})
      .Case("arrive", Operation{arriveAtMBarrier, Count})
      .Case("arrive.expect.tx", Operation{arriveAtMBarrier, ExpectedBytes})
      .Case("arrive.drop", Operation{arriveAtMBarrier, Drop | Count})
      .Case("arrive.drop.expect.tx",
            Operation{arriveAtMBarrier, Drop | ExpectedBytes})
      .Cases({"test.wait", "try.wait", "try.wait.tl"},
             Operation{waitForMBarrier, 0, 0, false})
      .Cases({"test.wait.parity", "try.wait.parity", "try.wait.parity.tl"},
             Operation{waitForMBarrier, 1, 0, false})
      .Default(std::nullopt);
}

static std::optional<MatrixElement> lookUpElement(StringRef name) {
  return llvm::StringSwitch<std::optional<MatrixElement>>(name)
      .Case("f16", MatrixElement::F16)
      .Case("bf16", MatrixElement::BF16)
      .Case("tf32", MatrixElement::TF32)
      .Case("e4m3", MatrixElement::E4M3)
      .Case("e5m2", MatrixElement::E5M2)
      .Case("s8", MatrixElement::S8)
      .Case("u8", MatrixElement::U8)
      .Default(std::nullopt);
}

/// Whether `m16n8k` products of the elements have this depth.
static bool hasDepth(MatrixElement element, unsigned depth) {
  switch (element) {
  case MatrixElement::TF32:
    return depth == 4 || depth == 8;
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return depth == 8 || depth == 16;
  default:
    return depth == 16 || depth == 32;
  }
}

/// `mma.m16n8kK.row.col[.satfinite]` and the types: of D and C for f16, of A
/// and B for integers (of both if they are the same), of D, A, B and C for fp8.
static Result lookUpMatrixProduct(StringRef name) {
  if (!name.consume_front("mma.m16n8k"))
    return std::nullopt;
  std::optional<unsigned> depth = takeNumber(name);
  if (!depth || !name.consume_front(".row.col"))
    return std::nullopt;
  MatrixProduct product = {};
  name.consume_front(".kind.f8f6f4");
  product.saturates = name.consume_front(".satfinite");
  llvm::SmallVector<StringRef, 4> types;
  name.drop_front(name.starts_with(".")).split(types, '.');
  auto isAccumulator = [](StringRef type) {
    return type == "f16" || type == "f32";
  };
  std::optional<MatrixElement> a, b;
  if (types.size() == 2 && isAccumulator(types[0]) && isAccumulator(types[1])) {
    a = b = MatrixElement::F16;
  } else if (types.size() == 4 && isAccumulator(types[0]) &&
             isAccumulator(types[3])) {
    a = lookUpElement(types[1]);
    b = lookUpElement(types[2]);
  } else if (types.size() <= 2) {
    a = lookUpElement(types.front());
    b = lookUpElement(types.back());
  }
  if (!a || !b || !hasDepth(*a, *depth) || !hasDepth(*b, *depth))
    return std::nullopt;
  product.a = *a;
  product.b = *b;
  product.halfResult = types.front() == "f16";
  product.halfAddend = types.back() == "f16";
  return Operation{multiplyMatrices, product.encode(), *depth};
}

static Result lookUpMatrixMove(StringRef name) {
  bool isLoad = name.consume_front("ldmatrix.sync.aligned.m8n8.x");
  if (!isLoad && !name.consume_front("stmatrix.sync.aligned.m8n8.x"))
    return std::nullopt;
  std::optional<unsigned> count = takeNumber(name);
  bool transposed = name.consume_front(".trans");
  if (!count || name != ".b16")
    return std::nullopt;
  return Operation{isLoad ? loadMatrices : storeMatrices, 0, *count,
                   transposed};
}

/// Conversions between f32, f16 or bf16 and pairs of small formats.
static Result lookUpConversion(StringRef name) {
  bool saturates = name.consume_back(".satfinite");
  bool clamps = name.consume_back(".relu");
  static constexpr StringRef formats[] = {"e4m3x2", "e5m2x2", "e2m1x2",
                                          "e2m3x2", "e3m2x2"};
  assert(std::size(formats) == getPairFormats().size());
  for (auto [index, format] : llvm::enumerate(formats)) {
    int64_t kind = index;
    if (name == ("ff.to." + format + ".rn").str())
      return Operation{pairFromFloats, kind, 0, clamps};
    if (name == ("f16x2.to." + format + ".rn").str())
      return Operation{pairFromHalves, kind, 0, clamps};
    if (name == (format + ".to.f16x2.rn").str())
      return Operation{pairToHalves, kind, 0, clamps};
  }
  if (!clamps) {
    if (name == "ue8m0x2.to.bf16x2")
      return Operation{scalesToBFloats};
    for (auto [handler, prefix] :
         {std::pair<Handler, StringRef>{scalesFromFloats, "ff.to.ue8m0x2."},
          {scalesFromBFloats, "bf16x2.to.ue8m0x2."}}) {
      if (name == (prefix + "rz").str())
        return Operation{handler, 0, 0, saturates};
      if (name == (prefix + "rp").str())
        return Operation{handler, 1, 0, saturates};
    }
  }
  bool isPair = name.consume_front("ff2");
  if (!isPair && !name.consume_front("f2"))
    return std::nullopt;
  int64_t kind = name.consume_front("b") ? 1 : 0;
  if (!name.consume_front("f16") || (isPair && !name.consume_front("x2")))
    return std::nullopt;
  if (name == ".rz")
    kind |= 2;
  else if (name != ".rn")
    return std::nullopt;
  kind |= (clamps ? 4 : 0) | (saturates ? 8 : 0);
  return Operation{narrowFloats, kind, isPair ? 2 : 1};
}

std::optional<Operation> mlir::kvq::emulator::lookUpOperation(StringRef name) {
  for (auto lookUp :
       {lookUpBarrier, lookUpWarpOperation, lookUpAsyncCopy, lookUpMBarrier,
        lookUpMatrixProduct, lookUpMatrixMove, lookUpConversion})
    if (Result operation = lookUp(name))
      return operation;
  return std::nullopt;
}
