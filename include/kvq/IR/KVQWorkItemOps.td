//===- KVQWorkItemOps.td - Ops of work items ---------------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQWORKITEMOPS_TD
#define KVQ_IR_KVQWORKITEMOPS_TD

include "kvq/IR/KVQOpBase.td"
include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def KVQ_ForallOp : KVQ_Op<"forall", [
    AttrSizedOperandSegments, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
         "getAliasingValues", "isWritable", "isRepetitiveRegion",
         "isParallelRegion", "getBufferType", "verifyAnalysis",
         "bufferize"]>]> {
  let summary = "work items that write to the same tensors";
  let description = [{
    Runs its body for each point of a space of work items. On tensors it is a
    loop nest, the last axis innermost: an item gets the tensors that the item
    before it yields, the first one `inits`, and the last one yields the results.
    No item may depend on that order: what one writes no other reads or writes.
    So the items are for threads of a CPU or blocks of a GPU, in any order or at
    the same time.

    An `scf.forall` says the same by the slices that its items write, one for each
    result. Here an item writes what it finds out on the way, such as rows of the
    pages that a page table names, and whoever makes the op answers for it.

    It bufferizes in place, to an `scf.forall` whose axes are mapped to
    `#kvq.work_item`; a tensor that would have to be copied is an error.

    Errors: other block arguments than an index for each axis and then a tensor
    for each of `inits`; results of other types than these; a terminator that is
    no `kvq.yield`.

    ```mlir
    %r = kvq.forall (%b, %h) in (%batch, %heads) inits(%t = %c : tensor<2x8x64xi8>) {
      …
      kvq.yield %t1 : tensor<2x8x64xi8>
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents,
                       Variadic<AnyRankedTensor>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins
      "::mlir::ValueRange":$extents, "::mlir::ValueRange":$inits,
      "::llvm::function_ref<::llvm::SmallVector<::mlir::Value>("
      "::mlir::OpBuilder &, ::mlir::Location, ::mlir::ValueRange, "
      "::mlir::ValueRange)>":$body)>];
  let extraClassDeclaration = [{
    /// The place of an item along each axis.
    ::mlir::ValueRange getItem() {
      return getBody().getArguments().take_front(getExtents().size());
    }
    /// The tensors as an item finds them.
    ::mlir::ValueRange getTensors() {
      return getBody().getArguments().drop_front(getExtents().size());
    }
  }];
}

def KVQ_YieldOp : KVQ_Op<"yield", [
    Pure, ReturnLike, Terminator, HasParent<"ForallOp">,
    DeclareOpInterfaceMethods<BufferizableOpInterface,
        ["bufferizesToMemoryRead", "bufferizesToMemoryWrite",
         "getAliasingValues", "mustBufferizeInPlace", "bufferize"]>]> {
  let summary = "the tensors after a work item";
  let description = [{
    Ends an item of `kvq.forall`.

    Errors: other types than those of the tensors that the item got.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "attr-dict ($results^ `:` type($results))?";
  let builders = [OpBuilder<(ins), [{ /* Nothing to yield. */ }]>];
}

#endif // KVQ_IR_KVQWORKITEMOPS_TD
