// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt %s -emit-bytecode | kvq-opt | FileCheck %s
// RUN: kvq-opt %s -kvq-expand-caches | FileCheck %s --check-prefix=EXPAND
// RUN: kvq-opt %s -kvq-expand-caches -kvq-bufferize-pipeline | FileCheck %s --check-prefix=BUFFERS

#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #i8, page = 64>

// CHECK-LABEL: func.func @block(
// CHECK:         kvq.block_attention ins(%arg0 : tensor<4x64xf32>) keys(%arg1 : !cache) values(%arg1 : !cache)
// CHECK-SAME:      at[%arg3, %arg3] tokens[%arg3 to %arg3]
// CHECK-SAME:      key_pages(%arg2 : tensor<1x8xi64>) value_pages(%arg2 : tensor<1x8xi64>)
// CHECK-SAME:      bias(%arg4 : tensor<4xf32>) slopes(%arg4 : tensor<4xf32>) position[%arg3]
// CHECK-SAME:      mask(%arg5 : tensor<2x?x?xi8>)
// CHECK-SAME:      outs(%arg6, %arg7, %arg8 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME:      {causal, key_region = #kvq.region<codes>, key_type = !cache, query_tokens = 2 : i64, shared_bytes = 65536 : i64,
// CHECK-SAME:      softcap = 2.000000e+01 : f32, value_region = #kvq.region<codes>, value_type = !cache, window = 9 : i64}
// CHECK-SAME:      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>

// Caches are expanded to their components, tensors become buffers, written in place.
// EXPAND-LABEL: func.func @block(
// EXPAND:         keys(%{{.*}}, %{{.*}} : tensor<?x2x64x64xi8>, tensor<?x2x64x1xf16>) values(%{{.*}}, %{{.*}} : tensor<?x2x64x64xi8>, tensor<?x2x64x1xf16>)

// BUFFERS-LABEL: func.func @block(
// BUFFERS-SAME:    %[[Q:[^:]*]]: memref<4x64xf32>
// BUFFERS-SAME:    %[[BIAS:[^:]*]]: memref<4xf32>, %[[MASK:[^:]*]]: memref<2x?x?xi8>
// BUFFERS-SAME:    %[[ACC:[^:]*]]: memref<4x64xf32>, %[[M:[^:]*]]: memref<4xf32>, %[[S:[^:]*]]: memref<4xf32>)
// BUFFERS-NOT:     memref.alloc
// BUFFERS-NOT:     memref.copy
// BUFFERS:         kvq.block_attention ins(%[[Q]] : memref<4x64xf32>) keys(%{{.*}}, %{{.*}} : memref<?x2x64x64xi8>, memref<?x2x64x1xf16>)
// BUFFERS-SAME:      bias(%[[BIAS]] : memref<4xf32>)
// BUFFERS-SAME:      mask(%[[MASK]] : memref<2x?x?xi8>)
// BUFFERS-SAME:      outs(%[[ACC]], %[[M]], %[[S]] : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
// BUFFERS-NOT:       ->
// BUFFERS:         return
func.func @block(%q: tensor<4x64xf32>, %c: !c, %t: tensor<1x8xi64>, %i: index,
                 %perRow: tensor<4xf32>, %mask: tensor<2x?x?xi8>, %acc: tensor<4x64xf32>,
                 %max: tensor<4xf32>, %sum: tensor<4xf32>)
    -> (tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = kvq.block_attention ins(%q : tensor<4x64xf32>) keys(%c : !c) values(%c : !c)
      at [%i, %i] tokens [%i to %i]
      key_pages(%t : tensor<1x8xi64>) value_pages(%t : tensor<1x8xi64>)
      bias(%perRow : tensor<4xf32>) slopes(%perRow : tensor<4xf32>) position [%i]
      mask(%mask : tensor<2x?x?xi8>)
      outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
      {key_type = !c, value_type = !c, key_region = #kvq.region<codes>,
       value_region = #kvq.region<codes>, shared_bytes = 65536, softcap = 20.0 : f32,
       causal, query_tokens = 2, window = 9}
      -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
  return %0#0, %0#1, %0#2 : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
}
