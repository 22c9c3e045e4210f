// RUN: kvq-opt %s --kvq-split-tokens --cse | FileCheck %s --check-prefix=SPLIT
// RUN: kvq-opt %s --kvq-split-tokens --kvq-split-regions --kvq-tile-attention --kvq-decompose-attention --canonicalize --cse | FileCheck %s --check-prefix=TILE
// RUN: kvq-opt %s --kvq-split-tokens --kvq-split-regions --kvq-tile-attention --kvq-decompose-attention --kvq-fold-scales --canonicalize --cse | FileCheck %s --check-prefix=FOLD
// RUN: kvq-opt %s --kvq-cpu-pipeline | FileCheck %s --check-prefix=LLVM
// RUN: kvq-opt %s --kvq-nvvm-pipeline=tile-tokens=32 | FileCheck %s --check-prefix=NVVM

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
#z = #kvq.format<codes = ui8, group = [64, 1], scale = f16, zero = min f16>
!c = !kvq.cache<2x2x?x64xf16, #f>
!z = !kvq.cache<2x2x?x64xf16, #z, recent = 0>

// Positions, window and its first tokens become ranges; the rest goes with each.
// SPLIT-LABEL: func.func @all(
// SPLIT:         scf.forall {{.*}} -> (tensor<2x8x1x64xf32>, tensor<2x8x1xf32>)
// A sink is a maximum with the sum 1.
// SPLIT:           %[[SINK:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>)
// SPLIT:             arith.constant 1.44269502
// SPLIT:           %[[ONE:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4xf32>)
// SPLIT:           %[[LENGTH:.*]] = arith.index_cast
// SPLIT:           %[[FIRST:.*]] = arith.index_cast
// SPLIT:           %[[END:.*]] = arith.minsi %{{.*}}, %[[LENGTH]]
// SPLIT:           %[[BEGIN:.*]] = affine.max {{.*}}(%[[FIRST]], %
// SPLIT:           %[[FIRSTEND:.*]] = arith.minsi %c4, %[[END]]
// SPLIT:           %[[MASK:.*]] = tensor.extract_slice %{{.*}}[0, %{{.*}}, %{{.*}}, 0] [1, 4, 1, %{{.*}}] [1, 1, 1, 1] : tensor<1x8x1x?xf16> to tensor<4x1x?xf16>
// SPLIT:           scf.for %[[RANGE:.*]] = %c0 to %c2 step %c1 iter_args(%{{.*}} = %{{.*}}, %[[MAX:.*]] = %[[SINK]], %[[SUM:.*]] = %[[ONE]])
// SPLIT:             %[[ISFIRST:.*]] = arith.cmpi eq, %[[RANGE]], %c0
// SPLIT:             %[[FROM:.*]] = arith.select %[[ISFIRST]], %c0, %[[BEGIN]]
// SPLIT:             %[[TO:.*]] = arith.select %[[ISFIRST]], %[[FIRSTEND]], %[[END]]
// SPLIT:             %[[POSITION:.*]] = affine.apply {{.*}}(%[[FIRST]], %
// SPLIT:             kvq.partial_attention {{.*}} tokens[%[[FROM]] to %[[TO]]]
// SPLIT-SAME:          slopes(%{{.*}} : tensor<4xf32>) position[%[[POSITION]]] mask(%[[MASK]] : tensor<4x1x?xf16>) outs(%{{.*}}, %[[MAX]], %[[SUM]] :
// SPLIT-SAME:          {softcap = 3.000000e+01 : f32}
// SPLIT:           math.log2

// Score by score: softcap (30 log2(e)), then the slope times the distance, then
// the mask times log2(e), -inf where that is; a hidden weight is -0.
// TILE-LABEL: func.func @all(
// TILE-DAG:     %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// TILE-DAG:     %[[HIDDEN:.*]] = arith.constant -0.000000e+00 : f32
// TILE-DAG:     %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// TILE-DAG:     %[[CAP:.*]] = arith.constant 43.2808495 : f32
// TILE:         %[[FROM:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// TILE:           linalg.index 0
// TILE:         ^bb0(%[[DISTANCE:.*]]: i32, %[[SLOPE:.*]]: f32, %[[M:.*]]: f16, %[[SCORE:.*]]: f32):
// TILE-NEXT:      %[[QUOTIENT:.*]] = arith.divf %[[SCORE]], %[[CAP]]
// TILE-NEXT:      %[[TANH:.*]] = math.tanh %[[QUOTIENT]]
// TILE-NEXT:      %[[CAPPED:.*]] = arith.mulf %[[TANH]], %[[CAP]]
// TILE-NEXT:      %[[TOKENS:.*]] = arith.sitofp %[[DISTANCE]]
// TILE-NEXT:      %[[FAR:.*]] = arith.mulf %[[SLOPE]], %[[TOKENS]]
// TILE-NEXT:      %[[BIASED:.*]] = arith.addf %[[CAPPED]], %[[FAR]]
// TILE-NEXT:      %[[WIDE:.*]] = arith.extf %[[M]]
// TILE-NEXT:      %[[ADDED:.*]] = arith.mulf %[[WIDE]], %[[LOG2E]]
// TILE-NEXT:      %[[SUM:.*]] = arith.addf %[[BIASED]], %[[ADDED]]
// TILE-NEXT:      %[[ISHIDDEN:.*]] = arith.cmpf oeq, %[[WIDE]], %[[LOWEST]]
// TILE-NEXT:      arith.select %[[ISHIDDEN]], %[[LOWEST]], %[[SUM]]
// The first exp2 weighs the old state.
// TILE:         math.exp2
// TILE:         %[[P:.*]] = math.exp2
// TILE:         arith.select %{{.*}}, %[[HIDDEN]], %[[P]]
// TILE:         ^bb0(%[[WEIGHT:.*]]: f32, %[[V:.*]]: f32, %[[ACC:.*]]: f32):
// TILE:           %[[PRODUCT:.*]] = arith.mulf %[[WEIGHT]], %[[V]]
// TILE:           %[[BITS:.*]] = arith.bitcast %[[WEIGHT]]
// TILE:           %[[IS:.*]] = arith.cmpi eq, %[[BITS]]
// TILE:           %[[KEPT:.*]] = arith.select %[[IS]], %[[WEIGHT]], %[[PRODUCT]]
// TILE:           arith.addf %[[ACC]], %[[KEPT]]

// No library is called.
// LLVM-NOT:    @tanhf
// LLVM-NOT:    @log2f
// NVVM-NOT:    @__nv_
func.func @all(%q: tensor<2x8x1x64xf32>, %k: !c, %v: !c, %n: tensor<2xi64>, %p: tensor<2xi64>,
               %m: tensor<1x8x1x?xf16>, %a: tensor<8xf32>, %s: tensor<8xf32>, %o: tensor<2x8x1x64xf32>,
               %l: tensor<2x8x1xf32>) -> (tensor<2x8x1x64xf32>, tensor<2x8x1xf32>) {
  %r:2 = kvq.attention ins(%q, %k, %v : tensor<2x8x1x64xf32>, !c, !c) lengths(%n : tensor<2xi64>)
      positions(%p : tensor<2xi64>) mask(%m : tensor<1x8x1x?xf16>) slopes(%a : tensor<8xf32>) sinks(%s : tensor<8xf32>)
      outs(%o, %l : tensor<2x8x1x64xf32>, tensor<2x8x1xf32>)
      {scale = 1.0 : f32, causal, softcap = 30.0 : f32, window = 100 : i64, window_first = 4 : i64}
      -> tensor<2x8x1x64xf32>, tensor<2x8x1xf32>
  return %r#0, %r#1 : tensor<2x8x1x64xf32>, tensor<2x8x1xf32>
}

// A scale that tokens share counts for rows that see one of them: their weights'
// sum, from -0 on, is another.
// FOLD-LABEL: func.func @hidden_values_of_blocks(
// FOLD-DAG:     %[[HIDDEN:.*]] = arith.constant -0.000000e+00 : f32
// FOLD:         %[[INIT:.*]] = linalg.fill ins(%[[HIDDEN]] : f32) outs(%{{.*}} : tensor<4xf32>)
// FOLD:         %[[WEIGHT:.*]] = linalg.generic {{.*}} outs(%[[INIT]] : tensor<4xf32>)
// FOLD:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[WEIGHT]] : tensor<4x64xf32>, tensor<64xf16>, tensor<4xf32>)
// FOLD:         ^bb0(%[[SUM:.*]]: f32, %[[S:.*]]: f16, %[[W:.*]]: f32, %[[OUT:.*]]: f32):
// FOLD:           %[[SCALE:.*]] = arith.extf %[[S]]
// FOLD:           %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[SCALE]]
// FOLD:           %[[NEW:.*]] = arith.addf %[[OUT]], %[[PRODUCT]]
// FOLD:           arith.bitcast %[[W]]
// FOLD:           arith.select %{{.*}}, %[[OUT]], %[[NEW]]
func.func @hidden_values_of_blocks(%q: tensor<2x8x1x64xf32>, %k: !c, %v: !z, %n: tensor<2xi64>, %m: tensor<1x1x1x?xi8>,
                                   %o: tensor<2x8x1x64xf32>) -> tensor<2x8x1x64xf32> {
  %r = kvq.attention ins(%q, %k, %v : tensor<2x8x1x64xf32>, !c, !z) lengths(%n : tensor<2xi64>)
      value_flushed(%n : tensor<2xi64>) mask(%m : tensor<1x1x1x?xi8>)
      outs(%o : tensor<2x8x1x64xf32>) {scale = 1.0 : f32} -> tensor<2x8x1x64xf32>
  return %r : tensor<2x8x1x64xf32>
}

// Keys are whole rows, values their last 32 channels, a group: codes and scales
// are cut, nothing else.
// FOLD-LABEL: func.func @shared_rows(
// FOLD:         %[[V:.*]]:2 = kvq.load_tile
// FOLD-DAG:     tensor.extract_slice %[[V]]#0[0, 32] [%{{.*}}, 32] [1, 1] : tensor<?x64xi8> to tensor<?x32xi8>
// FOLD-DAG:     tensor.extract_slice %[[V]]#1[0, 1] [%{{.*}}, 1] [1, 1] : tensor<?x2xf16> to tensor<?x1xf16>
func.func @shared_rows(%q: tensor<2x8x1x64xf32>, %k: !c, %n: tensor<2xi64>, %o: tensor<2x8x1x32xf32>)
    -> tensor<2x8x1x32xf32> {
  %r = kvq.attention ins(%q, %k, %k : tensor<2x8x1x64xf32>, !c, !c) lengths(%n : tensor<2xi64>)
      outs(%o : tensor<2x8x1x32xf32>) {scale = 1.0 : f32, value_channels = array<i64: 32, 64>} -> tensor<2x8x1x32xf32>
  return %r : tensor<2x8x1x32xf32>
}
