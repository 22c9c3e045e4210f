// One decode step after each stage of kvq-cpu-pipeline, as docs/Pipeline.md quotes
// it: keys per channel in groups of 32 tokens with a minimum and a recent window,
// values per token.

// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens),canonicalize)' | FileCheck %s --check-prefix=SPLIT
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention),canonicalize)' | FileCheck %s --check-prefix=TILE
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention),canonicalize)' | FileCheck %s --check-prefix=DECOMPOSE
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales),canonicalize)' | FileCheck %s --check-prefix=FOLD
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales),kvq-expand-caches,canonicalize)' | FileCheck %s --check-prefix=EXPAND
// RUN: kvq-opt %s -o %t.mlir -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales),kvq-expand-caches,func.func(kvq-decompose-values),canonicalize)'
// RUN: FileCheck %s --check-prefix=VALUES < %t.mlir
// RUN: kvq-opt %t.mlir -o %t.buffers.mlir -pass-pipeline='builtin.module(kvq-bufferize-pipeline,kvq-verify-fused)'
// RUN: FileCheck %s --check-prefix=BUFFERS < %t.buffers.mlir
// RUN: kvq-opt %t.buffers.mlir -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),canonicalize,cse)' | FileCheck %s --check-prefix=VECTOR

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!kc = !kvq.cache<1x8x?x128xf16, #k, recent = 32>
!vc = !kvq.cache<1x8x?x128xf16, #v>

func.func @decode(%q: tensor<1x32x1x128xf32>, %k: !kc, %v: !vc,
                  %n: tensor<1xi64>, %f: tensor<1xi64>,
                  %init: tensor<1x32x1x128xf32>) -> tensor<1x32x1x128xf32> {
  %o = kvq.attention ins(%q, %k, %v : tensor<1x32x1x128xf32>, !kc, !vc)
      lengths(%n : tensor<1xi64>) key_flushed(%f : tensor<1xi64>)
      outs(%init : tensor<1x32x1x128xf32>)
      {scale = 0.0883883461 : f32, causal} -> tensor<1x32x1x128xf32>
  return %o : tensor<1x32x1x128xf32>
}

// Split: one work item a KV head, with its four query heads as rows.
//
// SPLIT-LABEL: func.func @decode(
// SPLIT-SAME:    %[[Q:[^:]+]]: tensor<1x32x1x128xf32>, %[[K:[^:]+]]: !cache, %[[V:[^:]+]]: !cache1, %[[N:[^:]+]]: tensor<1xi64>, %[[F:[^:]+]]: tensor<1xi64>, %[[INIT:[^:]+]]: tensor<1x32x1x128xf32>)
// SPLIT-DAG:     %[[FACTOR:.+]] = arith.constant 0.127517432 : f32
// SPLIT-NOT:     kvq.attention
// SPLIT:         scf.forall (%{{.+}}, %[[H:.+]], %{{.+}}) in (1, 8, 1) shared_outs(%[[O:.+]] = %[[INIT]])
// SPLIT:           %[[ROW:.+]] = affine.apply #{{.+}}(%[[H]])
// SPLIT:           tensor.extract %[[N]]
// SPLIT:           tensor.extract_slice %[[Q]][0, %[[ROW]], 0, 0] [1, 4, 1, 128]
// SPLIT:           %[[ROWS:.+]] = linalg.generic
// SPLIT:             arith.mulf %{{.+}}, %[[FACTOR]]
// SPLIT:           tensor.extract %[[F]]
// SPLIT:           %[[ACC:.+]], %[[MAX:.+]], %[[SUM:.+]] = kvq.partial_attention ins(%[[ROWS]], %[[K]], %[[V]] : tensor<4x128xf32>, !cache, !cache1) at[%c0, %[[H]]] tokens[%c0 to %[[VISIBLE:.+]]] flushed[%[[KF:.+]], %{{.+}}]
// SPLIT:           linalg.generic {{.*}} ins(%[[ACC]], %[[SUM]] :
// SPLIT:             arith.divf
// SPLIT:           tensor.parallel_insert_slice %{{.+}} into %[[O]][0, %[[ROW]], 0, 0] [1, 4, 1, 128]

// Tile: the quantized keys in tiles of a token group, the recent ones in tiles of
// 64; values are codes in both.
//
// TILE-LABEL: func.func @decode(
// TILE:         scf.forall
// TILE:           %[[CODES:.+]]:3 = scf.for %{{.+}} = %c0 to %{{.+}} step %c32 iter_args(%[[A:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
// TILE:             kvq.partial_attention {{.*}} outs(%[[A]], %[[M]], %[[S]] : {{.*}}) {key_region = #kvq.region<codes>, tile = 32 : i64, value_region = #kvq.region<codes>}
// TILE:           scf.for %{{.+}} = %c0 to %{{.+}} step %c64 iter_args(%[[A2:.+]] = %[[CODES]]#0, %[[M2:.+]] = %[[CODES]]#1, %[[S2:.+]] = %[[CODES]]#2)
// TILE:             kvq.partial_attention {{.*}} outs(%[[A2]], %[[M2]], %[[S2]] : {{.*}}) {key_region = #kvq.region<recent>, tile = 64 : i64, value_region = #kvq.region<codes>}
// TILE-NOT:       kvq.partial_attention

// Decompose: a tile is loaded and dequantized; contraction, online softmax,
// contraction.
//
// DECOMPOSE-LABEL: func.func @decode(
// DECOMPOSE-NOT:     kvq.partial_attention
// DECOMPOSE:         scf.for {{.*}} step %c32
// DECOMPOSE:           %[[KT:.+]]:3 = kvq.load_tile %{{.+}} <codes> {{.*}} {tile = 32 : i64} : !cache -> tensor<?x128xi8>, tensor<1x128xf16>, tensor<1x128xf16>
// DECOMPOSE:           %[[KEYS:.+]] = kvq.dequantize #format ins(%[[KT]]#0, %[[KT]]#1, %[[KT]]#2 :
// DECOMPOSE:           %[[SCORES:.+]] = linalg.generic {{.*}} ins(%[[ROWS:.+]], %[[KEYS]] : tensor<4x128xf32>, tensor<?x128xf32>)
// DECOMPOSE:           linalg.generic {{.*}} ins(%[[SCORES]] : tensor<4x?xf32>)
// DECOMPOSE:             arith.maximumf
// DECOMPOSE:           %[[STATE:.+]]:3 = linalg.generic
// DECOMPOSE:             math.exp2
// DECOMPOSE:           %[[ACC:.+]] = linalg.generic {{.*}} ins(%[[STATE]]#0 :
// DECOMPOSE:           %[[P:.+]] = linalg.generic {{.*}} ins(%[[STATE]]#1 : tensor<4xf32>) outs(%[[SCORES]] :
// DECOMPOSE:             math.exp2
// DECOMPOSE:           %[[SUM:.+]] = linalg.generic {{.*}} ins(%[[P]] : {{.*}}) outs(%[[STATE]]#2 :
// DECOMPOSE:           %[[VT:.+]]:2 = kvq.load_tile %{{.+}} <codes> {{.*}} {tile = 32 : i64} : !cache1 -> tensor<?x128xi8>, tensor<?x4xf16>
// DECOMPOSE:           %[[VALS:.+]] = kvq.dequantize #format1 ins(%[[VT]]#0, %[[VT]]#1 :
// DECOMPOSE:           %[[ACC1:.+]] = linalg.generic {{.*}} ins(%[[P]], %[[VALS]] : {{.*}}) outs(%[[ACC]] :
// DECOMPOSE:           scf.yield %[[ACC1]], %[[STATE]]#1, %[[SUM]]
// DECOMPOSE:         scf.for {{.*}} step %c64
// DECOMPOSE:           %[[RECENT:.+]] = kvq.load_tile %{{.+}} <recent> {{.*}} {tile = 64 : i64} : !cache -> tensor<?x128xf16>
// DECOMPOSE-NOT:       kvq.dequantize
// DECOMPOSE:           linalg.generic {{.*}} ins(%[[ROWS]], %[[RECENT]] : tensor<4x128xf32>, tensor<?x128xf16>)

// Fold: the keys' scales go into the query, their zeros become one number a row;
// the values' scales go into the probabilities, one for each group of channels.
//
// FOLD-LABEL: func.func @decode(
// FOLD-NOT:     kvq.dequantize
// FOLD:         scf.for {{.*}} step %c32
// FOLD:           %[[KT:.+]]:3 = kvq.load_tile %{{.+}} <codes>
// FOLD:           %[[SCALES:.+]] = tensor.collapse_shape %[[KT]]#1
// FOLD:           %[[QS:.+]] = linalg.generic {{.*}} ins(%[[ROWS:.+]], %[[SCALES]] : tensor<4x128xf32>, tensor<128xf16>)
// FOLD:           %[[DOTS:.+]] = linalg.generic {{.*}} ins(%[[QS]], %[[KT]]#0 : tensor<4x128xf32>, tensor<?x128xi8>)
// FOLD:             arith.uitofp
// FOLD:           %[[ZEROS:.+]] = tensor.collapse_shape %[[KT]]#2
// FOLD:           %[[QZ:.+]] = linalg.generic {{.*}} ins(%[[ROWS]], %[[ZEROS]] : tensor<4x128xf32>, tensor<128xf16>)
// FOLD:           linalg.generic {{.*}} ins(%[[QZ]] : tensor<4xf32>) outs(%[[DOTS]] : tensor<4x?xf32>)
// FOLD:           %[[VT:.+]]:2 = kvq.load_tile %{{.+}} <codes>
// FOLD:           %[[PS:.+]] = linalg.generic {{.*}} ins(%{{.+}}, %[[VT]]#1 : tensor<4x?xf32>, tensor<?x4xf16>) outs(%{{.+}} : tensor<4x?x4xf32>)
// FOLD:           %[[VC:.+]] = tensor.expand_shape %[[VT]]#0 {{.*}} into tensor<?x4x32xi8>
// FOLD:           linalg.generic {{.*}} ins(%[[PS]], %[[VC]] : tensor<4x?x4xf32>, tensor<?x4x32xi8>) outs(%{{.+}} : tensor<4x4x32xf32>)
// FOLD:             arith.sitofp

// Expand: caches are their components; a tile is a slice of them.
//
// EXPAND-LABEL: func.func @decode(
// EXPAND-SAME:    %{{[^:]+}}: tensor<1x32x1x128xf32>,
// EXPAND-SAME:    %[[KB:[^:]+]]: tensor<1x8x?x64xi8>, %[[KS:[^:]+]]: tensor<1x8x?x128xf16>, %[[KZ:[^:]+]]: tensor<1x8x?x128xf16>, %[[RING:[^:]+]]: tensor<1x8x63x128xf16>,
// EXPAND-SAME:    %[[VB:[^:]+]]: tensor<1x8x?x64xi8>, %[[VS:[^:]+]]: tensor<1x8x?x4xf16>,
// EXPAND-NOT:     kvq.load_tile
// EXPAND:         scf.forall (%{{.+}}, %[[H:.+]], %{{.+}}) in (1, 8, 1)
// EXPAND:           scf.for {{.*}} step %c32
// EXPAND:             %[[BYTES:.+]] = tensor.extract_slice %[[KB]][0, %[[H]], %[[T:.+]], 0] [1, 1, %{{.+}}, 64]
// EXPAND:             kvq.unpack #format ins(%[[BYTES]] : tensor<?x64xi8>) outs(%{{.+}} : tensor<?x128xi8>)
// EXPAND:             %[[G:.+]] = arith.divui %[[T]], %c32
// EXPAND:             tensor.extract_slice %[[KS]][0, %[[H]], %[[G]], 0] [1, 1, 1, 128]
// EXPAND:             tensor.extract_slice %[[KZ]][0, %[[H]], %{{.+}}, 0] [1, 1, 1, 128]
// EXPAND:             tensor.extract_slice %[[VB]][0, %[[H]], %[[T]], 0] [1, 1, %{{.+}}, 64]
// EXPAND:             kvq.unpack #format1
// EXPAND:             tensor.extract_slice %[[VS]][0, %[[H]], %[[T]], 0] [1, 1, %{{.+}}, 4]
// EXPAND:           scf.for {{.*}} step %c64
// EXPAND:             scf.for
// EXPAND:               %[[SLOT:.+]] = arith.remui %{{.+}}, %c63
// EXPAND:               tensor.extract_slice %[[RING]][0, %[[H]], %[[SLOT]], 0] [1, 1, 1, 128]

// Values: unpacking is a structured op for each plane of a byte. No op of the
// dialect is left.
//
// VALUES-NOT:   {{[^#]kvq[.]}}
// VALUES-LABEL: func.func @decode(
// VALUES-NOT:     {{[^#]kvq[.]}}
// VALUES:         %[[BYTES:.+]] = tensor.extract_slice %{{.+}}[0, %{{.+}}, %{{.+}}, 0] [1, 1, %{{.+}}, 64] {{.*}} : tensor<1x8x?x64xi8> to tensor<?x64xi8>
// VALUES:         %[[LOW:.+]] = linalg.generic {{.*}} ins(%[[BYTES]] :
// VALUES:           arith.andi %in, %c15_i8
// VALUES:         %[[HALF:.+]] = tensor.insert_slice %[[LOW]] into %{{.+}}[0, 0] [%{{.+}}, 64] [1, 1]
// VALUES:         %[[HIGH:.+]] = linalg.generic {{.*}} ins(%[[BYTES]] :
// VALUES:           arith.shrui %in, %c4_i8
// VALUES:         %[[CODES:.+]] = tensor.insert_slice %[[HIGH]] into %[[HALF]][0, 64] [%{{.+}}, 64] [1, 1]
// VALUES:         linalg.generic {{.*}} ins(%{{.+}}, %[[CODES]] : tensor<4x128xf32>, tensor<?x128xi8>)
// VALUES-NOT:   {{[^#]kvq[.]}}

// Buffers: scratch lies on the stack of a work item, nothing is allocated or
// copied, the result is written where it belongs.
//
// BUFFERS-LABEL: func.func @decode(
// BUFFERS-SAME:    %[[KB:[^:]+]]: memref<1x8x?x64xi8>
// BUFFERS-SAME:    %[[OUT:[^:]+]]: memref<1x32x1x128xf32>) {
// BUFFERS-NOT:     memref.alloc
// BUFFERS:         scf.forall (%{{.+}}, %[[H:.+]], %{{.+}}) in (1, 8, 1) {
// BUFFERS-NEXT:      %[[ACC:.+]] = memref.alloca() {{.*}} : memref<4x128xf32>
// BUFFERS:           %[[CODES:.+]] = memref.alloca() {{.*}} : memref<32x128xi8>
// BUFFERS:           scf.for
// BUFFERS-NOT:         memref.alloca
// BUFFERS-NOT:         memref.copy
// BUFFERS:             %[[BYTES:.+]] = memref.subview %[[KB]][0, %[[H]], %{{.+}}, 0] [1, 1, %{{.+}}, 64]
// BUFFERS:             %[[KTILE:.+]] = memref.subview %[[CODES]][0, 0] [%{{.+}}, 128]
// BUFFERS:             linalg.generic {{.*}} ins(%[[BYTES]] :
// BUFFERS:             linalg.generic {{.*}} ins(%{{.+}}, %[[KTILE]] : memref<4x128xf32>, memref<?x128xi8, strided<[128, 1]>>)
// BUFFERS-NOT:         memref.alloc
// BUFFERS-NOT:         memref.copy
// BUFFERS:           %[[ROWS:.+]] = memref.subview %[[OUT]][0, %{{.+}}, 0, 0] [1, 4, 1, 128]
// BUFFERS:           linalg.generic {{.*}} ins(%[[ACC]], %{{.+}} : memref<4x128xf32>, memref<4xf32>) outs(%[[ROWS]] :
// BUFFERS-NOT:     memref.copy
// BUFFERS:         return{{$}}

// Vector: loops over vectors of 8 f32, or of 32 bytes.
//
// VECTOR-LABEL: func.func @decode(
// VECTOR-NOT:     linalg.
// VECTOR:         scf.forall
// VECTOR:           scf.for {{.*}} step %c2 {
// VECTOR:             %[[BYTES:.+]] = vector.load %{{.+}} : memref<?x64xi8, {{.*}}>, vector<32xi8>
// VECTOR-NEXT:        %[[LOW:.+]] = arith.andi %[[BYTES]]
// VECTOR:             vector.store %[[LOW]], %{{.+}} : memref<?x64xi8, {{.*}}>, vector<32xi8>
// VECTOR:             vector.load %{{.+}} : memref<?x128xi8, strided<[128, 1]>>, vector<8xi8>
// VECTOR-NEXT:        arith.uitofp %{{.+}} : vector<8xi8> to vector<8xf32>
// VECTOR:             arith.mulf %{{.+}} fastmath<contract> : vector<8xf32>
// VECTOR-NEXT:        arith.addf %{{.+}} fastmath<contract> : vector<8xf32>
// VECTOR-NOT:     linalg.
