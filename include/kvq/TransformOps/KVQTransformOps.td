//===- KVQTransformOps.td - Schedules of attention ---------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD
#define KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD

include "mlir/Dialect/Transform/IR/TransformDialect.td"
include "mlir/Dialect/Transform/IR/TransformTypes.td"
include "mlir/Dialect/Transform/Interfaces/TransformInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A step that replaces its targets: their handle is no longer valid.
class KVQ_ReplacingTransform<string mnemonic>
    : Op<Transform_Dialect, "kvq." # mnemonic,
         [FunctionalStyleTransformOpTrait, MemoryEffectsOpInterface,
          DeclareOpInterfaceMethods<TransformOpInterface>]> {
  let cppNamespace = "::mlir::kvq";
}

def FuseDequantizeTransformOp
    : Op<Transform_Dialect, "kvq.fuse_dequantize",
         [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
          DeclareOpInterfaceMethods<TransformOpInterface>]> {
  let cppNamespace = "::mlir::kvq";
  let summary = "Has attention read codes where it reads dequantized tensors";
  let description = [{
    What `kvq-fuse-dequantize` does, to each `kvq.attention` of `target`. The handle
    stays valid; those to ops that made the tensors lose the ops that are erased.

    Silenceable errors: a payload that is no `kvq.attention`; keys or values that are
    left as tensors, with the reason. What else fits has been changed then.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    transform.kvq.fuse_dequantize %attention : !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def SplitTokensTransformOp : KVQ_ReplacingTransform<"split_tokens"> {
  let summary = "Splits attention into work items";
  let description = [{
    What `kvq-split-tokens` does, to each `kvq.attention` of `target`, which is
    consumed; the attributes are the pass's options. A `schedule` of the op goes before
    `splits`. `loops` are the `scf.forall` over work items, each followed by the one
    that merges their states where there is more than one split.

    Silenceable errors: a payload that is no `kvq.attention`; attention over float
    tensors; a cache whose layout is open; a schedule whose vector width or prefetch
    distance is not that of the function's others, or that has no function around it.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    %loops = transform.kvq.split_tokens %attention {splits = 2}
      : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>, "1">:$splits,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<0>, IntMaxValue<4096>]>,
                      "1">:$query_tile,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>,
                      "8192">:$row_channels);
  let results = (outs TransformHandleTypeInterface:$loops);
  let assemblyFormat =
    "$target attr-dict `:` functional-type(operands, results)";
}

def SplitRegionsTransformOp : KVQ_ReplacingTransform<"split_regions"> {
  let summary = "Splits partial attention by the storage regions of its tokens";
  let description = [{
    What `kvq-split-regions` does, to each `kvq.partial_attention` of `target`, which
    is consumed. `parts` are those of the first payload, then those of the next.

    Silenceable errors: a payload that is no `kvq.partial_attention`, or that has
    regions.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    %parts = transform.kvq.split_regions %partial
      : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins TransformHandleTypeInterface:$target);
  let results = (outs TransformHandleTypeInterface:$parts);
  let assemblyFormat =
    "$target attr-dict `:` functional-type(operands, results)";
}

def TileAttentionTransformOp : KVQ_ReplacingTransform<"tile_attention"> {
  let summary = "Tiles partial attention over tokens";
  let description = [{
    What `kvq-tile-attention` does, to each `kvq.partial_attention` of `target`, which
    is consumed. A `tile` that the op has, from a schedule, goes before `tile_tokens`,
    and token groups cut it. `tiles` are the ops on one tile, `loops` the `scf.for`
    around each.

    Silenceable errors: a payload that is no `kvq.partial_attention`, or that has no
    regions.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    %tiles, %loops = transform.kvq.tile_attention %parts {tile_tokens = 64}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>,
                      "64">:$tile_tokens);
  let results = (outs TransformHandleTypeInterface:$tiles,
                      TransformHandleTypeInterface:$loops);
  let assemblyFormat =
    "$target attr-dict `:` functional-type(operands, results)";
}

def DecomposeAttentionTransformOp
    : KVQ_ReplacingTransform<"decompose_attention"> {
  let summary = "Decomposes tiles of attention into structured ops";
  let description = [{
    What `kvq-decompose-attention` does, to each tiled `kvq.partial_attention` and each
    `kvq.merge_partials` of `target`, which is consumed.

    Silenceable errors: a payload that is neither; one without tile bound or regions.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    transform.kvq.decompose_attention %tiles : (!transform.any_op) -> ()
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<0>]>,
                      "0">:$dequantize_rows);
  let results = (outs);
  let assemblyFormat =
    "$target attr-dict `:` functional-type(operands, results)";
}

def FoldScalesTransformOp : KVQ_ReplacingTransform<"fold_scales"> {
  let summary = "Moves scales and zeros of dequantized tiles out of contractions";
  let description = [{
    What `kvq-fold-scales` does, to each contraction (`linalg.generic`) that reads a
    `kvq.dequantize` of `target`, which is consumed: it and the `kvq.load_tile` behind
    it are erased where nothing reads them any more. `folded` are the ops whose results
    stand for those of the contractions.

    Silenceable errors: a payload that is no `kvq.dequantize`; one that no contraction
    reads; a contraction that cannot be folded, with the reason.

    Of test/Transforms/transform-ops.mlir:

    ```mlir
    %folded = transform.kvq.fold_scales %dequantized
      : (!transform.any_op) -> !transform.any_op
    ```
  }];
  let arguments = (ins
    TransformHandleTypeInterface:$target,
    DefaultValuedAttr<BoolAttr, "true">:$lanes);
  let results = (outs TransformHandleTypeInterface:$folded);
  let assemblyFormat =
    "$target attr-dict `:` functional-type(operands, results)";
}

#endif // KVQ_TRANSFORMOPS_KVQTRANSFORMOPS_TD
