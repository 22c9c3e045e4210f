//===- BufferizeBlockAttention.cpp - kvq.block_attention on buffers -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"
#include "kvq/Transforms/Bufferization.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace {

/// Every other op of the dialect is gone by then.
// An external model shadows the methods of the interface.
// NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
struct BlockAttentionInterface
    : DstBufferizableOpInterfaceExternalModel<BlockAttentionInterface,
                                              kvq::BlockAttentionOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    auto attention = cast<kvq::BlockAttentionOp>(op);
    return !(attention.getOverwrites() && operand == attention.getAccMutable());
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    auto onBuffers = cast<kvq::BlockAttentionOp>(
        Operation::create(op->getLoc(), op->getName(), TypeRange(), operands,
                          op->getDiscardableAttrDictionary(),
                          op->getPropertiesStorage(), BlockRange(), 0));
    rewriter.insert(onBuffers);
    replaceOpWithBufferizedValues(rewriter, op, onBuffers.getDpsInits());
    return success();
  }
};
// NOLINTEND(bugprone-derived-method-shadowing-base-method)

} // namespace

void kvq::registerBufferizableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVQDialect *) {
    BlockAttentionOp::attachInterface<BlockAttentionInterface>(*context);
  });
}
