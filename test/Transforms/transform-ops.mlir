// A schedule in the transform dialect gives the IR of the passes that it names.

// RUN: split-file %s %t
// RUN: kvq-opt %decode --transform-preload-library=transform-library-paths=%t/schedule.mlir --transform-interpreter -o %t/scheduled.mlir
// RUN: kvq-opt %decode --pass-pipeline='builtin.module(func.func(kvq-split-tokens{splits=2},kvq-split-regions,kvq-tile-attention{tile-tokens=48},kvq-decompose-attention,kvq-fold-scales))' -o %t/passes.mlir
// RUN: diff %t/passes.mlir %t/scheduled.mlir
// RUN: FileCheck %s < %t/scheduled.mlir

// CHECK-LABEL: func.func @decode(
// CHECK:         scf.forall
// CHECK:           kvq.load_tile
// CHECK:         scf.forall
// CHECK-NOT:     kvq.dequantize
// CHECK-NOT:     kvq.merge_partials

// RUN: kvq-opt %t/dequantized.mlir --transform-preload-library=transform-library-paths=%t/fuse.mlir --transform-interpreter -o %t/fused.mlir
// RUN: kvq-opt %t/dequantized.mlir --pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens{query-tile=0},kvq-split-regions,kvq-tile-attention,kvq-decompose-attention{dequantize-rows=16}))' | diff - %t/fused.mlir
// RUN: FileCheck %s --check-prefix=FUSED < %t/fused.mlir

// FUSED-LABEL: func.func @prompt(
// FUSED:         kvq.from_components
// FUSED:         scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 2, 1)

// What the schedule leaves is for the pipeline, whose own steps find nothing left.
// RUN: kvq-opt %t/scheduled.mlir --kvq-cpu-pipeline | FileCheck %s --check-prefix=LLVM
// LLVM: llvm.func @decode(

//--- schedule.mlir

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["kvq.attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %loops = transform.kvq.split_tokens %attention {splits = 2}
      : (!transform.any_op) -> !transform.any_op
    %partial = transform.structured.match ops{["kvq.partial_attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %parts = transform.kvq.split_regions %partial
      : (!transform.any_op) -> !transform.any_op
    %tiles, %token_loops = transform.kvq.tile_attention %parts {tile_tokens = 48}
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %states = transform.structured.match ops{["kvq.merge_partials"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %steps = transform.merge_handles %tiles, %states : !transform.any_op
    transform.kvq.decompose_attention %steps : (!transform.any_op) -> ()
    %dequantized = transform.structured.match ops{["kvq.dequantize"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %folded = transform.kvq.fold_scales %dequantized
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

//--- fuse.mlir

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["kvq.attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.kvq.fuse_dequantize %attention : !transform.any_op
    %loops = transform.kvq.split_tokens %attention {query_tile = 0}
      : (!transform.any_op) -> !transform.any_op
    %partial = transform.structured.match ops{["kvq.partial_attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %parts = transform.kvq.split_regions %partial
      : (!transform.any_op) -> !transform.any_op
    %tiles, %token_loops = transform.kvq.tile_attention %parts
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.kvq.decompose_attention %tiles {dequantize_rows = 16}
      : (!transform.any_op) -> ()
    transform.yield
  }
}

//--- dequantized.mlir

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>

func.func @prompt(%q: tensor<1x4x16x64xf32>, %kc: tensor<1x2x128x64xi8>,
                  %ks: tensor<1x2x128x2xf16>, %vc: tensor<1x2x128x64xi8>,
                  %vs: tensor<1x2x128x2xf16>, %n: tensor<1xi64>,
                  %out: tensor<1x4x16x64xf32>) -> tensor<1x4x16x64xf32> {
  %init = tensor.empty() : tensor<1x2x128x64xf32>
  %k = kvq.dequantize #i8 ins(%kc, %ks : tensor<1x2x128x64xi8>, tensor<1x2x128x2xf16>)
      outs(%init : tensor<1x2x128x64xf32>) -> tensor<1x2x128x64xf32>
  %v = kvq.dequantize #i8 ins(%vc, %vs : tensor<1x2x128x64xi8>, tensor<1x2x128x2xf16>)
      outs(%init : tensor<1x2x128x64xf32>) -> tensor<1x2x128x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x4x16x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x16x64xf32>)
      {scale = 0.125 : f32, causal} -> tensor<1x4x16x64xf32>
  return %o : tensor<1x4x16x64xf32>
}
