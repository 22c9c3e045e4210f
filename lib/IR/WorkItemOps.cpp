//===- WorkItemOps.cpp - Ops of work items --------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::bufferization;

//===----------------------------------------------------------------------===//
// Building, syntax, checks
//===----------------------------------------------------------------------===//

void ForallOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange extents, ValueRange inits,
                     function_ref<SmallVector<Value>(OpBuilder &, Location,
                                                     ValueRange, ValueRange)>
                         body) {
  state.addOperands(extents);
  state.addOperands(inits);
  state.addTypes(inits.getTypes());
  auto &sizes = state.getOrAddProperties<Properties>().operandSegmentSizes;
  sizes = {int32_t(extents.size()), int32_t(inits.size())};
  SmallVector<Type> types(extents.size(), builder.getIndexType());
  llvm::append_range(types, inits.getTypes());
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(state.addRegion(), /*insertPt=*/{}, types,
                          SmallVector<Location>(types.size(), state.location));
  ValueRange arguments = block->getArguments();
  SmallVector<Value> tensors =
      body(builder, state.location, arguments.take_front(extents.size()),
           arguments.drop_front(extents.size()));
  YieldOp::create(builder, state.location, tensors);
}

ParseResult ForallOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments, tensors;
  SmallVector<OpAsmParser::UnresolvedOperand> extents, inits;
  SmallVector<Type> types;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = index;
  auto parseInit = [&]() -> ParseResult {
    return failure(parser.parseArgument(tensors.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()));
  };
  SMLoc initsLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("inits")))
    if (parser.parseLParen() || parser.parseCommaSeparatedList(parseInit) ||
        parser.parseColonTypeList(types) || parser.parseRParen())
      return failure();
  if (types.size() != tensors.size())
    return parser.emitError(initsLoc)
           << "expected " << tensors.size() << " types, got " << types.size();
  for (auto [tensor, type] : llvm::zip_equal(tensors, types))
    tensor.type = type;
  llvm::append_range(arguments, tensors);
  if (parser.resolveOperands(extents, index, result.operands) ||
      parser.resolveOperands(inits, types, initsLoc, result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  auto &sizes = result.getOrAddProperties<Properties>().operandSegmentSizes;
  sizes = {int32_t(extents.size()), int32_t(inits.size())};
  result.addTypes(types);
  return success();
}

void ForallOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getItem(), printer);
  printer << ") in (";
  llvm::interleaveComma(getExtents(), printer);
  printer << ") ";
  if (!getInits().empty()) {
    printer << "inits(";
    llvm::interleaveComma(
        llvm::zip_equal(getTensors(), getInits()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << " : " << getInits().getTypes() << ") ";
  }
  printer.printRegion(getRegion(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getOperandSegmentSizeAttr()});
}

LogicalResult ForallOp::verify() {
  if (getExtents().empty())
    return emitOpError() << "expected at least one axis of work items";
  if (getResultTypes() != getInits().getTypes())
    return emitOpError() << "expected results of the types of inits, "
                         << getInits().getTypes() << ", got "
                         << getResultTypes();
  SmallVector<Type> types(getExtents().size(), IndexType::get(getContext()));
  llvm::append_range(types, getInits().getTypes());
  if (getBody().getArgumentTypes() != TypeRange(types))
    return emitOpError() << "expected block arguments of the types "
                         << TypeRange(types) << ", got "
                         << getBody().getArgumentTypes();
  return success();
}

LogicalResult ForallOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError() << "expected kvq.yield at the end of the body, got '"
                         << getBody().front().getTerminator()->getName() << "'";
  if (yield.getOperandTypes() != getInits().getTypes())
    return yield.emitOpError()
           << "expected values of the types " << getInits().getTypes()
           << ", got " << yield.getOperandTypes();
  return success();
}

/// Where an axis has one item, its place is 0; the axis stays.
static LogicalResult foldSinglePlaces(ForallOp op, PatternRewriter &rewriter) {
  bool found = false;
  for (auto [place, extent] : llvm::zip_equal(op.getItem(), op.getExtents())) {
    if (place.use_empty() || getConstantIntValue(extent) != 1)
      continue;
    rewriter.setInsertionPointToStart(&op.getBody().front());
    rewriter.replaceAllUsesWith(
        place, arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0));
    found = true;
  }
  return success(found);
}

/// Takes away the tensors that items only read.
static LogicalResult dropReadTensors(ForallOp op, PatternRewriter &rewriter) {
  Block *body = &op.getBody().front();
  SmallVector<bool> areWritten;
  SmallVector<Value> written;
  for (auto [init, tensor, yielded] :
       llvm::zip_equal(op.getInits(), op.getTensors(),
                       body->getTerminator()->getOperands())) {
    areWritten.push_back(tensor != yielded);
    if (areWritten.back())
      written.push_back(init);
  }
  if (written.size() == areWritten.size())
    return rewriter.notifyMatchFailure(op, "every tensor is written");
  // What is written from `values`, and the rest from `inits`.
  auto merge = [&](ValueRange values) {
    SmallVector<Value> merged;
    for (auto [isWritten, init] : llvm::zip_equal(areWritten, op.getInits())) {
      merged.push_back(isWritten ? values.front() : init);
      values = values.drop_front(isWritten);
    }
    return merged;
  };
  auto moveBody = [&](OpBuilder &builder, Location, ValueRange item,
                      ValueRange tensors) {
    SmallVector<Value> arguments(item), results;
    llvm::append_range(arguments, merge(tensors));
    Block *target = builder.getInsertionBlock();
    rewriter.inlineBlockBefore(body, target, target->end(), arguments);
    Operation *yield = &target->back();
    for (auto [isWritten, value] :
         llvm::zip_equal(areWritten, yield->getOperands()))
      if (isWritten)
        results.push_back(value);
    rewriter.eraseOp(yield);
    return results;
  };
  auto fewer = ForallOp::create(rewriter, op.getLoc(), op.getExtents(), written,
                                moveBody);
  rewriter.replaceOp(op, merge(fewer.getResults()));
  return success();
}

void ForallOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *) {
  patterns.add(foldSinglePlaces);
  patterns.add(dropReadTensors);
}

//===----------------------------------------------------------------------===//
// Bufferization
//===----------------------------------------------------------------------===//

/// What `kvq.yield` ends an item with in place of `tensor`, one of its block
/// arguments.
static Value getYielded(ForallOp op, BlockArgument tensor) {
  Operation *yield = op.getBody().front().getTerminator();
  return yield->getOperand(tensor.getArgNumber() - op.getExtents().size());
}

static BlockArgument getTensor(ForallOp op, OpOperand &init) {
  return op.getBody().getArgument(init.getOperandNumber());
}

bool ForallOp::bufferizesToMemoryRead(OpOperand &operand,
                                      const AnalysisState &state) {
  return state.isValueRead(getTensor(*this, operand));
}

bool ForallOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return true;
}

AliasingValueList ForallOp::getAliasingValues(OpOperand &operand,
                                              const AnalysisState &state) {
  BlockArgument tensor = getTensor(*this, operand);
  bool isSame =
      state.areEquivalentBufferizedValues(tensor, getYielded(*this, tensor));
  OpResult result = getOperation()->getResult(operand.getOperandNumber() -
                                              getExtents().size());
  return {
      {result, isSame ? BufferRelation::Equivalent : BufferRelation::Unknown}};
}

bool ForallOp::isWritable(Value, const AnalysisState &) { return true; }

bool ForallOp::isRepetitiveRegion(unsigned) { return true; }

bool ForallOp::isParallelRegion(unsigned) { return true; }

FailureOr<BufferLikeType>
ForallOp::getBufferType(Value value, const BufferizationOptions &options,
                        const BufferizationState &state,
                        SmallVector<Value> &invocationStack) {
  unsigned index =
      isa<BlockArgument>(value)
          ? cast<BlockArgument>(value).getArgNumber() - getExtents().size()
          : cast<OpResult>(value).getResultNumber();
  return bufferization::getBufferType(getInits()[index], options, state,
                                      invocationStack);
}

LogicalResult ForallOp::verifyAnalysis(const AnalysisState &state) {
  for (auto [index, tensor] : llvm::enumerate(getTensors()))
    if (!state.areEquivalentBufferizedValues(
            tensor, getYielded(*this, cast<BlockArgument>(tensor))))
      return emitOpError() << "expected items that write tensor " << index
                           << " in place, found one that yields another";
  return success();
}

LogicalResult ForallOp::bufferize(RewriterBase &rewriter,
                                  const BufferizationOptions &options,
                                  BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value init : getInits()) {
    FailureOr<Value> buffer = getBuffer(rewriter, init, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  rewriter.setInsertionPoint(*this);
  auto forall = scf::ForallOp::create(
      rewriter, getLoc(), getAsOpFoldResult(getExtents()),
      /*outputs=*/ValueRange(),
      WorkItemAttr::getMapping(getContext(), getExtents().size()));
  Block *body = forall.getBody();
  rewriter.setInsertionPointToStart(body);
  SmallVector<Value> arguments(forall.getInductionVars());
  for (auto [tensor, buffer] : llvm::zip_equal(getTensors(), buffers))
    arguments.push_back(
        ToTensorOp::create(rewriter, getLoc(), tensor.getType(), buffer));
  rewriter.eraseOp(getBody().front().getTerminator());
  rewriter.inlineBlockBefore(&getBody().front(), body->getTerminator(),
                             arguments);
  replaceOpWithBufferizedValues(rewriter, *this, buffers);
  return success();
}

bool YieldOp::bufferizesToMemoryRead(OpOperand &, const AnalysisState &) {
  return true;
}

bool YieldOp::bufferizesToMemoryWrite(OpOperand &, const AnalysisState &) {
  return false;
}

AliasingValueList YieldOp::getAliasingValues(OpOperand &,
                                             const AnalysisState &) {
  return {};
}

bool YieldOp::mustBufferizeInPlace(OpOperand &, const AnalysisState &) {
  // Nothing is allocated in an item and handed on.
  return true;
}

LogicalResult YieldOp::bufferize(RewriterBase &, const BufferizationOptions &,
                                 BufferizationState &) {
  // Goes with its parent.
  return success();
}
