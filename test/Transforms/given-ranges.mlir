// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize))' | FileCheck %s --check-prefix=FUSE
// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize))' -o /dev/null \
// RUN:   --remarks-filter=kvq-fuse-dequantize --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales{lanes=false}))' 2>/dev/null | FileCheck %s --check-prefix=FOLD

// Metadata that is given for each head becomes a component of the cache. One row
// of it serves all tokens, so that scales go into the query and into the
// accumulator, as with groups of several tokens.

#k = #kvq.format<codes = ui8, group = [*, 1], scale = f16, zero = min f16, range = static>
#v = #kvq.format<codes = i8, group = [*, 32], scale = f32, range = static>

// FUSE-LABEL: func.func @given
// FUSE-SAME:    %[[KC:[^:]*]]: tensor<2x3x?x64xi8>, %[[KS:[^:]*]]: tensor<1x3x1x64xf16>, %[[KZ:[^:]*]]: tensor<1x3x1x64xf16>, %[[VC:[^:]*]]: tensor<2x3x?x64xi8>, %[[VS:[^:]*]]: tensor<1x3x1x2xf32>
// FUSE:         %[[K:.*]] = kvq.from_components %[[KC]], %[[KS]], %[[KZ]] : tensor<2x3x?x64xi8>, tensor<1x3x1x64xf16>, tensor<1x3x1x64xf16> -> !cache{{$}}
// FUSE:         %[[V:.*]] = kvq.from_components %[[VC]], %[[VS]] : tensor<2x3x?x64xi8>, tensor<1x3x1x2xf32> -> !cache1{{$}}
// FUSE:         kvq.attention ins(%{{.*}}, %[[K]], %[[V]] :

// Keys' metadata goes into the query before the loop over tiles.
// FOLD-LABEL: func.func @given
// FOLD-DAG:     %[[S:.*]] = kvq.load_given {{.*}} <scales> at[%[[H:.*]]] : {{.*}} -> tensor<1x64xf16>
// FOLD-DAG:     %[[Z:.*]] = kvq.load_given {{.*}} <zeros> at[%[[H]]] : {{.*}} -> tensor<1x64xf16>
// FOLD:         %[[S0:.*]] = tensor.collapse_shape %[[S]] {{.*}} : tensor<1x64xf16> into tensor<64xf16>
// FOLD:         %[[QS:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[S0]] : tensor<4x64xf32>, tensor<64xf16>)
// FOLD:         %[[Z0:.*]] = tensor.collapse_shape %[[Z]]
// FOLD:         %[[QZ:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[Z0]] : tensor<4x64xf32>, tensor<64xf16>)
// FOLD:         scf.for
// FOLD:           %[[KC:.*]] = kvq.load_tile {{.*}} -> tensor<?x64xi8>
// FOLD:           %[[DOTS:.*]] = linalg.generic {{.*}} ins(%[[QS]], %[[KC]] : tensor<4x64xf32>, tensor<?x64xi8>)
// FOLD:           linalg.generic {{.*}} ins(%[[QZ]] : tensor<4xf32>) outs(%[[DOTS]] :
// FOLD:           %[[VC:.*]] = kvq.load_tile {{.*}} -> tensor<?x64xi8>
// FOLD:           %[[VS:.*]] = kvq.load_given {{.*}} <scales> at[%[[H]]] : {{.*}} -> tensor<1x2xf32>
// FOLD:           %[[PC:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[VC]] : tensor<4x?xf32>, tensor<?x64xi8>)
// FOLD:           %[[PG:.*]] = tensor.expand_shape %[[PC]]
// FOLD:           %[[VS0:.*]] = tensor.collapse_shape %[[VS]]
// FOLD:           linalg.generic {{.*}} ins(%[[PG]], %[[VS0]] : tensor<4x2x32xf32>, tensor<2xf32>)
// FOLD-NOT:     kvq.dequantize
func.func @given(%kc: tensor<2x3x?x64xi8>, %ks: tensor<1x3x1x64xf16>, %kz: tensor<1x3x1x64xf16>,
    %vc: tensor<2x3x?x64xi8>, %vs: tensor<1x3x1x2xf32>,
    %q: tensor<2x12x1x64xf32>, %n: tensor<2xi64>, %t: index) -> tensor<2x12x1x64xf32> {
  %k0 = tensor.empty(%t) : tensor<2x3x?x64xf32>
  %k = kvq.dequantize #k ins(%kc, %ks, %kz : tensor<2x3x?x64xi8>, tensor<1x3x1x64xf16>, tensor<1x3x1x64xf16>)
      outs(%k0 : tensor<2x3x?x64xf32>) -> tensor<2x3x?x64xf32>
  %v0 = tensor.empty(%t) : tensor<2x3x?x64xf32>
  %v = kvq.dequantize #v ins(%vc, %vs : tensor<2x3x?x64xi8>, tensor<1x3x1x2xf32>)
      outs(%v0 : tensor<2x3x?x64xf32>) -> tensor<2x3x?x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<2x12x1x64xf32>, tensor<2x3x?x64xf32>, tensor<2x3x?x64xf32>)
      lengths(%n : tensor<2xi64>) outs(%q : tensor<2x12x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x12x1x64xf32>
  return %o : tensor<2x12x1x64xf32>
}

// -----

// A cache has one row for all its sequences, and one for each head.

// REMARK: FuseDequantize | Category:kvq-fuse-dequantize | Function=not_a_cache | Reason="metadata that is given is not the same for all sequences", Remark="keys are not read as codes"
// REMARK: FuseDequantize | Category:kvq-fuse-dequantize | Function=not_a_cache | Reason="metadata that is given is not given for each head", Remark="values are not read as codes"
// FUSE-LABEL: func.func @not_a_cache
// FUSE-COUNT-2: kvq.dequantize
#f = #kvq.format<codes = i8, group = [*, *], scale = f16, range = static>
func.func @not_a_cache(%c: tensor<2x3x?x64xi8>, %ks: tensor<2x3x1x1xf16>, %vs: tensor<1x1x1x1xf16>,
    %q: tensor<2x12x1x64xf32>, %n: tensor<2xi64>, %t: index) -> tensor<2x12x1x64xf32> {
  %k0 = tensor.empty(%t) : tensor<2x3x?x64xf32>
  %k = kvq.dequantize #f ins(%c, %ks : tensor<2x3x?x64xi8>, tensor<2x3x1x1xf16>)
      outs(%k0 : tensor<2x3x?x64xf32>) -> tensor<2x3x?x64xf32>
  %v = kvq.dequantize #f ins(%c, %vs : tensor<2x3x?x64xi8>, tensor<1x1x1x1xf16>)
      outs(%k0 : tensor<2x3x?x64xf32>) -> tensor<2x3x?x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<2x12x1x64xf32>, tensor<2x3x?x64xf32>, tensor<2x3x?x64xf32>)
      lengths(%n : tensor<2xi64>) outs(%q : tensor<2x12x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x12x1x64xf32>
  return %o : tensor<2x12x1x64xf32>
}

// -----

// Two levels: the outer scale goes into the other operand, the stored one where
// it goes by itself. A real minimum sees the operand as it is.

#two = #kvq.format<codes = ui8, group = [1, 32], scale = f8E4M3FN of f32, zero = min f16>

// FOLD-LABEL: func.func @two_levels
// FOLD-SAME:    %[[Q:[^:]*]]: tensor<4x64xf32>, %[[C:[^:]*]]: tensor<32x64xi8>, %[[S:[^:]*]]: tensor<32x2xf8E4M3FN>, %[[Z:[^:]*]]: tensor<32x2xf16>, %[[O:[^:]*]]: tensor<1x1xf32>,
// FOLD:         %[[O0:.*]] = tensor.extract %[[O]]
// FOLD:         %[[QO:.*]] = linalg.generic {{.*}} ins(%[[Q]] : tensor<4x64xf32>)
// FOLD:           arith.mulf %in, %[[O0]]
// FOLD:         %[[QG:.*]] = tensor.expand_shape %[[QO]]
// FOLD:         %[[DOTS:.*]] = linalg.generic {{.*}} ins(%[[QG]], %{{.*}} : tensor<4x2x32xf32>, tensor<32x2x32xi8>)
// FOLD:         linalg.generic {{.*}} ins(%[[DOTS]], %[[S]] : tensor<4x32x2xf32>, tensor<32x2xf8E4M3FN>)
// FOLD:         %[[PLAIN:.*]] = tensor.expand_shape %[[Q]]
// FOLD:         %[[SUMS:.*]] = linalg.generic {{.*}} ins(%[[PLAIN]] : tensor<4x2x32xf32>)
// FOLD:         linalg.generic {{.*}} ins(%[[SUMS]], %[[Z]] : tensor<4x2xf32>, tensor<32x2xf16>)
// FOLD-NOT:     kvq.dequantize
func.func @two_levels(%q: tensor<4x64xf32>, %c: tensor<32x64xi8>, %s: tensor<32x2xf8E4M3FN>, %z: tensor<32x2xf16>,
    %o: tensor<1x1xf32>, %tile: tensor<32x64xf32>, %out: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %k = kvq.dequantize #two ins(%c, %s, %z, %o : tensor<32x64xi8>, tensor<32x2xf8E4M3FN>, tensor<32x2xf16>, tensor<1x1xf32>)
      outs(%tile : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>, affine_map<(r, t, c) -> (r, t)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<4x64xf32>, tensor<32x64xf32>) outs(%out : tensor<4x32xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %acc, %m : f32
    linalg.yield %n : f32
  } -> tensor<4x32xf32>
  return %r : tensor<4x32xf32>
}
