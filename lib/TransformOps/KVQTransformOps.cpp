//===- KVQTransformOps.cpp - Schedules of attention -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/TransformOps/KVQTransformOps.h"

#include "kvq/Transforms/Transforms.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::kvq;

#define GET_OP_CLASSES
#include "kvq/TransformOps/KVQTransformOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Payloads
//===----------------------------------------------------------------------===//

/// Runs `step`; what it emits as it fails becomes a silenceable failure.
static DiagnosedSilenceableFailure
runSilenceably(MLIRContext *context, llvm::function_ref<LogicalResult()> step) {
  SmallVector<Diagnostic> diagnostics;
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    // Passes on other functions may run at the same time.
    if (llvm::get_threadid() != thread)
      return failure();
    diagnostics.push_back(std::move(diagnostic));
    return success();
  });
  if (succeeded(step()))
    return DiagnosedSilenceableFailure::success();
  return DiagnosedSilenceableFailure::silenceableFailure(
      std::move(diagnostics));
}

/// Runs `step` on each payload of a handle, which is to be of one of the kinds
/// of op `Kinds`, and stops at the first failure.
template <typename... Kinds>
static DiagnosedSilenceableFailure
applyToEach(transform::TransformOpInterface transform,
            transform::TransformState &state, Value handle,
            llvm::function_ref<LogicalResult(Operation *)> step) {
  for (Operation *payload : llvm::to_vector(state.getPayloadOps(handle))) {
    if (!isa<Kinds...>(payload)) {
      std::string kinds =
          llvm::join(ArrayRef<StringRef>{Kinds::getOperationName()...}, " or ");
      DiagnosedSilenceableFailure failure = transform.emitSilenceableError()
                                            << "expected " << kinds << ", got "
                                            << payload->getName();
      failure.attachNote(payload->getLoc()) << "payload";
      return failure;
    }
    DiagnosedSilenceableFailure failure =
        runSilenceably(payload->getContext(), [&] { return step(payload); });
    if (!failure.succeeded())
      return failure;
  }
  return DiagnosedSilenceableFailure::success();
}

/// Of a transform that has failed too, whose results stand for what it has
/// done.
static void setResults(transform::TransformResults &results, Value handle,
                       ArrayRef<Operation *> ops) {
  results.set(cast<OpResult>(handle), ops);
}

//===----------------------------------------------------------------------===//
// fuse_dequantize
//===----------------------------------------------------------------------===//

void FuseDequantizeTransformOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getTargetMutable(), effects);
  transform::modifiesPayload(effects);
}

DiagnosedSilenceableFailure
FuseDequantizeTransformOp::apply(transform::TransformRewriter &rewriter,
                                 transform::TransformResults &,
                                 transform::TransformState &state) {
  return applyToEach<AttentionOp>(
      *this, state, getTarget(), [&](Operation *op) -> LogicalResult {
        SmallVector<std::string> left =
            fuseDequantize(rewriter, cast<AttentionOp>(op));
        if (left.empty())
          return success();
        return op->emitOpError(llvm::join(left, "; "));
      });
}

//===----------------------------------------------------------------------===//
// Steps that replace their targets
//===----------------------------------------------------------------------===//

DiagnosedSilenceableFailure
SplitTokensTransformOp::apply(transform::TransformRewriter &rewriter,
                              transform::TransformResults &results,
                              transform::TransformState &state) {
  SmallVector<Operation *> loops;
  SplitTokensPassOptions options{int64_t(getSplits()), int64_t(getQueryTile()),
                                 int64_t(getRowChannels())};
  DiagnosedSilenceableFailure outcome = applyToEach<AttentionOp>(
      *this, state, getTarget(), [&](Operation *op) -> LogicalResult {
        auto split = splitTokens(rewriter, cast<AttentionOp>(op), options);
        if (succeeded(split))
          llvm::append_range(loops, *split);
        return split;
      });
  setResults(results, getLoops(), loops);
  return outcome;
}

DiagnosedSilenceableFailure
SplitRegionsTransformOp::apply(transform::TransformRewriter &rewriter,
                               transform::TransformResults &results,
                               transform::TransformState &state) {
  SmallVector<Operation *> parts;
  DiagnosedSilenceableFailure outcome = applyToEach<PartialAttentionOp>(
      *this, state, getTarget(), [&](Operation *op) -> LogicalResult {
        auto split = splitRegions(rewriter, cast<PartialAttentionOp>(op));
        if (succeeded(split))
          llvm::append_range(parts, *split);
        return split;
      });
  setResults(results, getParts(), parts);
  return outcome;
}

DiagnosedSilenceableFailure
TileAttentionTransformOp::apply(transform::TransformRewriter &rewriter,
                                transform::TransformResults &results,
                                transform::TransformState &state) {
  SmallVector<Operation *> tiles, loops;
  DiagnosedSilenceableFailure outcome = applyToEach<PartialAttentionOp>(
      *this, state, getTarget(), [&](Operation *op) -> LogicalResult {
        auto tiled = tileAttention(rewriter, cast<PartialAttentionOp>(op),
                                   getTileTokens());
        if (failed(tiled))
          return failure();
        tiles.push_back(tiled->tile);
        loops.push_back(tiled->loop);
        return success();
      });
  setResults(results, getTiles(), tiles);
  setResults(results, getLoops(), loops);
  return outcome;
}

DiagnosedSilenceableFailure
DecomposeAttentionTransformOp::apply(transform::TransformRewriter &rewriter,
                                     transform::TransformResults &,
                                     transform::TransformState &state) {
  TransposedQueries transposed;
  return applyToEach<PartialAttentionOp, MergePartialsOp>(
      *this, state, getTarget(), [&](Operation *op) {
        return decomposeAttention(rewriter, op, getDequantizeRows(),
                                  transposed);
      });
}

//===----------------------------------------------------------------------===//
// fold_scales
//===----------------------------------------------------------------------===//

/// Folds each contraction that reads `op` into `folded`, and erases what
/// nothing reads any more.
static LogicalResult foldReaders(RewriterBase &rewriter, DequantizeOp op,
                                 bool lanes,
                                 SmallVectorImpl<Operation *> &folded) {
  SmallVector<linalg::GenericOp> readers;
  for (Operation *user : op->getUsers())
    if (auto reader = dyn_cast<linalg::GenericOp>(user))
      readers.push_back(reader);
  if (readers.empty())
    return op.emitOpError("expected a linalg.generic that reads it");
  for (linalg::GenericOp reader : readers) {
    FailureOr<Value> result =
        foldScales(rewriter, reader, lanes, [&](StringRef reason) {
          return reader.emitOpError("does not take scales: ") << reason;
        });
    if (failed(result))
      return failure();
    folded.push_back(result->getDefiningOp());
  }
  if (!isOpTriviallyDead(op))
    return success();
  SmallVector<Value> inputs = op.getInputs();
  rewriter.eraseOp(op);
  for (Value input : inputs) {
    auto load = input.getDefiningOp<LoadTileOp>();
    if (load && isOpTriviallyDead(load))
      rewriter.eraseOp(load);
  }
  return success();
}

DiagnosedSilenceableFailure
FoldScalesTransformOp::apply(transform::TransformRewriter &rewriter,
                             transform::TransformResults &results,
                             transform::TransformState &state) {
  SmallVector<Operation *> folded;
  DiagnosedSilenceableFailure outcome =
      applyToEach<DequantizeOp>(*this, state, getTarget(), [&](Operation *op) {
        return foldReaders(rewriter, cast<DequantizeOp>(op), getLanes(),
                           folded);
      });
  setResults(results, getFolded(), folded);
  return outcome;
}

//===----------------------------------------------------------------------===//
// The extension
//===----------------------------------------------------------------------===//

namespace {

struct KVQTransformExtension
    : transform::TransformDialectExtension<KVQTransformExtension> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KVQTransformExtension)

  KVQTransformExtension() {
    declareDependentDialect<KVQDialect>();
    declareGeneratedDialect<affine::AffineDialect>();
    declareGeneratedDialect<arith::ArithDialect>();
    declareGeneratedDialect<KVQDialect>();
    declareGeneratedDialect<linalg::LinalgDialect>();
    declareGeneratedDialect<math::MathDialect>();
    declareGeneratedDialect<scf::SCFDialect>();
    declareGeneratedDialect<tensor::TensorDialect>();
    declareGeneratedDialect<vector::VectorDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "kvq/TransformOps/KVQTransformOps.cpp.inc"
        >();
  }
};

} // namespace

void kvq::registerTransformExtension(DialectRegistry &registry) {
  registry.addExtensions<KVQTransformExtension>();
}
