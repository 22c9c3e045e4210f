// RUN: kvq-opt %s --kvq-raise-attention --canonicalize -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-raise-attention -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-attention --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Attention of one query token over caches as they are after an update, scores scaled
// behind their contraction.
// CHECK-LABEL: func @decode
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<8x1x64xf32>, %[[K:[^:]+]]: tensor<8x128x64xf32>, %[[V:[^:]+]]: tensor<8x128x64xf32>
// CHECK-NOT:   linalg
// CHECK-DAG:   %[[N:.+]] = arith.constant dense<128> : tensor<1xi64>
// CHECK-DAG:   %[[Q4:.+]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<1x8x1x64xf32>
// CHECK-DAG:   %[[K4:.+]] = tensor.expand_shape %[[K]] {{.*}} into tensor<1x8x128x64xf32>
// CHECK-DAG:   %[[KC:.+]] = kvq.from_components %[[K4]] : tensor<1x8x128x64xf32> -> !cache
// CHECK-DAG:   %[[V4:.+]] = tensor.expand_shape %[[V]] {{.*}} into tensor<1x8x128x64xf32>
// CHECK-DAG:   %[[VC:.+]] = kvq.from_components %[[V4]] : tensor<1x8x128x64xf32> -> !cache
// CHECK:       %[[O:.+]] = kvq.attention ins(%[[Q4]], %[[KC]], %[[VC]] : tensor<1x8x1x64xf32>, !cache, !cache)
// CHECK-SAME:    lengths(%[[N]] : tensor<1xi64>) outs({{.*}}) {scale = 1.250000e-01 : f32}
// CHECK:       tensor.collapse_shape %[[O]] {{.*}} into tensor<8x1x64xf32>
// REMARK:      [[#@LINE+22]]:{{.*}} remark: [Passed] RaiseAttention | Category:kvq-raise-attention | Function=decode
// REMARK-SAME: "attention is raised"
func.func @decode(%q: tensor<8x1x64xf32>, %k: tensor<8x128x64xf32>, %v: tensor<8x128x64xf32>) -> tensor<8x1x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %s0 = tensor.empty() : tensor<8x1x128xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %t0 = tensor.empty() : tensor<8x64x128xf32>
  %t = linalg.transpose ins(%k : tensor<8x128x64xf32>) outs(%t0 : tensor<8x64x128xf32>) permutation = [0, 2, 1]
  %s2 = linalg.batch_matmul ins(%q, %t : tensor<8x1x64xf32>, tensor<8x64x128xf32>)
      outs(%s1 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %s3 = linalg.generic {
      indexing_maps = [affine_map<(h, i, t) -> (h, i, t)>, affine_map<(h, i, t) -> (h, i, t)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s2 : tensor<8x1x128xf32>) outs(%s0 : tensor<8x1x128xf32>) {
  ^bb0(%s: f32, %out: f32):
    %scaled = arith.mulf %s, %eighth : f32
    linalg.yield %scaled : f32
  } -> tensor<8x1x128xf32>
  %p = linalg.softmax dimension(2) ins(%s3 : tensor<8x1x128xf32>) outs(%s0 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
  %o0 = tensor.empty() : tensor<8x1x64xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<8x1x128xf32>, tensor<8x128x64xf32>)
      outs(%o1 : tensor<8x1x64xf32>) -> tensor<8x1x64xf32>
  return %o : tensor<8x1x64xf32>
}

// -----

#row = affine_map<(b, h, i, t) -> (b, h, i)>
#all = affine_map<(b, h, i, t) -> (b, h, i, t)>

// A softmax by parts, KV heads that are repeated by broadcasts, casts to f32, and a mask that compares
// tokens with the positions of the queries: lengths, positions and causality.
// CHECK-LABEL: func @grouped
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<1x8x3x64xf32>, %[[K:[^:]+]]: tensor<1x128x2x64xf16>, %[[V:[^:]+]]: tensor<1x2x128x64xf16>, %[[AT:[^:]+]]: i64
// CHECK-NOT:   linalg
// CHECK-DAG:   %[[KB:.+]] = bufferization.to_buffer %[[K]] read_only
// CHECK-DAG:   %[[KT:.+]] = memref.transpose %[[KB]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK-DAG:   %[[K4:.+]] = bufferization.to_tensor %[[KT]] restrict
// CHECK-DAG:   %[[KC:.+]] = kvq.from_components %[[K4]] : tensor<1x2x128x64xf16> -> !cache
// CHECK-DAG:   %[[VC:.+]] = kvq.from_components %[[V]] : tensor<1x2x128x64xf16> -> !cache
// CHECK-DAG:   %[[END:.+]] = arith.addi %[[AT]], %c3_i64 : i64
// CHECK-DAG:   %[[MIN:.+]] = arith.minsi %[[END]], %c128_i64 : i64
// CHECK-DAG:   %[[N:.+]] = tensor.from_elements %[[MIN]] : tensor<1xi64>
// CHECK-DAG:   %[[P:.+]] = tensor.from_elements %[[AT]] : tensor<1xi64>
// CHECK:       kvq.attention ins(%[[Q]], %[[KC]], %[[VC]] : tensor<1x8x3x64xf32>, !cache, !cache)
// CHECK-SAME:    lengths(%[[N]] : tensor<1xi64>) positions(%[[P]] : tensor<1xi64>)
// CHECK-SAME:    {causal, scale = 1.250000e-01 : f32, softcap = 3.000000e+01 : f32}
// CHECK-NOT:   linalg
func.func @grouped(%q: tensor<1x8x3x64xf32>, %k: tensor<1x128x2x64xf16>, %v: tensor<1x2x128x64xf16>, %at: i64) -> tensor<1x8x3x64xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %cap = arith.constant dense<30.0> : tensor<1x8x3x128xf32>
  %eighth = arith.constant dense<0.125> : tensor<1x8x3x128xf32>
  %k0 = tensor.empty() : tensor<1x2x4x128x64xf16>
  %k1 = linalg.generic {
      indexing_maps = [affine_map<(b, h, g, t, c) -> (b, t, h, c)>, affine_map<(b, h, g, t, c) -> (b, h, g, t, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<1x128x2x64xf16>) outs(%k0 : tensor<1x2x4x128x64xf16>) {
  ^bb0(%x: f16, %out: f16):
    linalg.yield %x : f16
  } -> tensor<1x2x4x128x64xf16>
  %k2 = tensor.collapse_shape %k1 [[0], [1, 2], [3], [4]] : tensor<1x2x4x128x64xf16> into tensor<1x8x128x64xf16>
  %k3 = arith.extf %k2 : tensor<1x8x128x64xf16> to tensor<1x8x128x64xf32>
  %v0 = tensor.empty() : tensor<1x2x4x128x64xf16>
  %v1 = linalg.broadcast ins(%v : tensor<1x2x128x64xf16>) outs(%v0 : tensor<1x2x4x128x64xf16>) dimensions = [2]
  %v2 = tensor.collapse_shape %v1 [[0], [1, 2], [3], [4]] : tensor<1x2x4x128x64xf16> into tensor<1x8x128x64xf16>
  %v3 = arith.extf %v2 : tensor<1x8x128x64xf16> to tensor<1x8x128x64xf32>
  %s0 = tensor.empty() : tensor<1x8x3x128xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<1x8x3x128xf32>) -> tensor<1x8x3x128xf32>
  %s2 = linalg.contract
      indexing_maps = [affine_map<(b, h, i, t, c) -> (b, h, i, c)>, affine_map<(b, h, i, t, c) -> (b, h, t, c)>,
                       affine_map<(b, h, i, t, c) -> (b, h, i, t)>]
      ins(%q, %k3 : tensor<1x8x3x64xf32>, tensor<1x8x128x64xf32>) outs(%s1 : tensor<1x8x3x128xf32>) -> tensor<1x8x3x128xf32>
  %s3 = arith.mulf %s2, %eighth : tensor<1x8x3x128xf32>
  %s4 = arith.divf %s3, %cap : tensor<1x8x3x128xf32>
  %s5 = math.tanh %s4 : tensor<1x8x3x128xf32>
  %s6 = arith.mulf %s5, %cap : tensor<1x8x3x128xf32>
  %s7 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s6 : tensor<1x8x3x128xf32>) outs(%s0 : tensor<1x8x3x128xf32>) {
  ^bb0(%s: f32, %out: f32):
    %i0 = linalg.index 2 : index
    %i = arith.index_cast %i0 : index to i64
    %t0 = linalg.index 3 : index
    %t = arith.index_cast %t0 : index to i64
    %p = arith.addi %at, %i : i64
    %seen = arith.cmpi sle, %t, %p : i64
    %y = arith.select %seen, %s, %low : f32
    linalg.yield %y : f32
  } -> tensor<1x8x3x128xf32>
  %r0 = tensor.empty() : tensor<1x8x3xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%r0 : tensor<1x8x3xf32>) -> tensor<1x8x3xf32>
  %m = linalg.reduce { arith.maximumf } ins(%s7 : tensor<1x8x3x128xf32>) outs(%m0 : tensor<1x8x3xf32>) dimensions = [3]
  %e = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s7, %m : tensor<1x8x3x128xf32>, tensor<1x8x3xf32>) outs(%s0 : tensor<1x8x3x128xf32>) {
  ^bb0(%s: f32, %most: f32, %out: f32):
    %x = arith.subf %s, %most : f32
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<1x8x3x128xf32>
  %d0 = linalg.fill ins(%zero : f32) outs(%r0 : tensor<1x8x3xf32>) -> tensor<1x8x3xf32>
  %d = linalg.reduce { arith.addf } ins(%e : tensor<1x8x3x128xf32>) outs(%d0 : tensor<1x8x3xf32>) dimensions = [3]
  %w = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%e, %d : tensor<1x8x3x128xf32>, tensor<1x8x3xf32>) outs(%s0 : tensor<1x8x3x128xf32>) {
  ^bb0(%x: f32, %sum: f32, %out: f32):
    %y = arith.divf %x, %sum : f32
    linalg.yield %y : f32
  } -> tensor<1x8x3x128xf32>
  %o0 = tensor.empty() : tensor<1x8x3x64xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<1x8x3x64xf32>) -> tensor<1x8x3x64xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, h, i, t, c) -> (b, h, i, t)>, affine_map<(b, h, i, t, c) -> (b, h, t, c)>,
                       affine_map<(b, h, i, t, c) -> (b, h, i, c)>]
      ins(%w, %v3 : tensor<1x8x3x128xf32>, tensor<1x8x128x64xf32>) outs(%o1 : tensor<1x8x3x64xf32>) -> tensor<1x8x3x64xf32>
  return %o : tensor<1x8x3x64xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Masks that say nothing of positions stay operands: numbers that are added, and bits, as bytes.
// CHECK-LABEL: func @masks
// CHECK-SAME:    %[[M:[^:]+]]: tensor<2x32xf32>, %[[B:[^:]+]]: tensor<2x32xi1>
// CHECK:       %[[M4:.+]] = tensor.expand_shape %[[M]] {{.*}} into tensor<1x1x2x32xf32>
// CHECK:       kvq.attention {{.*}} mask(%[[M4]] : tensor<1x1x2x32xf32>)
// CHECK:       %[[B4:.+]] = tensor.expand_shape %[[B]] {{.*}} into tensor<1x1x2x32xi1>
// CHECK:       %[[I8:.+]] = linalg.generic {{.*}} ins(%[[B4]] : tensor<1x1x2x32xi1>)
// CHECK:         arith.extui
// CHECK:       kvq.attention {{.*}} mask(%[[I8]] : tensor<1x1x2x32xi8>)
func.func @masks(%q: tensor<4x2x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<2x32xf32>, %b: tensor<2x32xi1>)
    -> (tensor<4x2x16xf32>, tensor<4x2x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<4x2x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x2x16xf32>
  %low = arith.constant dense<-1.0e9> : tensor<4x2x32xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x2x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %m1 = linalg.broadcast ins(%m : tensor<2x32xf32>) outs(%zero : tensor<4x2x32xf32>) dimensions = [0]
  %x = arith.addf %s, %m1 : tensor<4x2x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x2x32xf32>) outs(%zero : tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x2x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x2x16xf32>) -> tensor<4x2x16xf32>
  %b0 = tensor.empty() : tensor<4x2x32xi1>
  %b1 = linalg.broadcast ins(%b : tensor<2x32xi1>) outs(%b0 : tensor<4x2x32xi1>) dimensions = [0]
  %x1 = arith.select %b1, %s, %low : tensor<4x2x32xi1>, tensor<4x2x32xf32>
  %p1 = linalg.softmax dimension(2) ins(%x1 : tensor<4x2x32xf32>) outs(%zero : tensor<4x2x32xf32>) -> tensor<4x2x32xf32>
  %o1 = linalg.batch_matmul ins(%p1, %v : tensor<4x2x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x2x16xf32>) -> tensor<4x2x16xf32>
  return %o, %o1 : tensor<4x2x16xf32>, tensor<4x2x16xf32>
}

// -----

// One token more than there were, joined to the others, and an axis of a dynamic extent read as if it could be broadcast, as
// torch-mlir writes it: the cache is what has been joined, its length is reckoned from the extents of the parts.
// CHECK-LABEL: func @joined
// CHECK-SAME:    %[[K:[^:]+]]: tensor<1x2x?x16xf32>, %[[NEW:[^:]+]]: tensor<1x2x1x16xf32>, %[[T:[^:]+]]: index
// CHECK:       %[[ALL:.+]] = tensor.concat dim(2) %[[K]], %[[NEW]]
// CHECK:       %[[KC:.+]] = kvq.from_components %[[ALL]] : tensor<1x2x?x16xf32> -> !cache
// CHECK:       %[[N:.+]] = arith.index_cast %[[T]] : index to i64
// CHECK:       %[[L:.+]] = tensor.from_elements %[[N]] : tensor<1xi64>
// CHECK:       kvq.attention {{.*}} lengths(%[[L]] : tensor<1xi64>)
func.func @joined(%q: tensor<1x4x1x16xf32>, %k: tensor<1x2x?x16xf32>, %new: tensor<1x2x1x16xf32>, %t: index) -> tensor<2x2x16xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k1 = tensor.concat dim(2) %k, %new : (tensor<1x2x?x16xf32>, tensor<1x2x1x16xf32>) -> tensor<1x2x?x16xf32>
  %k2 = tensor.expand_shape %k1 [[0], [1, 2], [3], [4]] output_shape [1, 2, 1, %t, 16]
      : tensor<1x2x?x16xf32> into tensor<1x2x1x?x16xf32>
  %x0 = tensor.empty(%t) : tensor<2x?x16xf32>
  %x = linalg.generic {
      indexing_maps = [affine_map<(h, t, c) -> (h, t, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%x0 : tensor<2x?x16xf32>) {
  ^bb0(%out: f32):
    %h = linalg.index 0 : index
    %i = linalg.index 1 : index
    %c = linalg.index 2 : index
    %one = arith.cmpi eq, %t, %c1 : index
    %at = arith.select %one, %c0, %i : index
    %e = tensor.extract %k2[%c0, %h, %c0, %at, %c] : tensor<1x2x1x?x16xf32>
    linalg.yield %e : f32
  } -> tensor<2x?x16xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<1x4x1x16xf32> into tensor<4x1x16xf32>
  %q4 = tensor.expand_shape %q3 [[0, 1], [2], [3]] output_shape [2, 2, 1, 16] : tensor<4x1x16xf32> into tensor<2x2x1x16xf32>
  %q5 = tensor.collapse_shape %q4 [[0], [1, 2], [3]] : tensor<2x2x1x16xf32> into tensor<2x2x16xf32>
  %s0 = tensor.empty(%t) : tensor<2x2x?xf32>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(h, i, t, c) -> (h, i, c)>, affine_map<(h, i, t, c) -> (h, t, c)>, affine_map<(h, i, t, c) -> (h, i, t)>]
      ins(%q5, %x : tensor<2x2x16xf32>, tensor<2x?x16xf32>) outs(%s1 : tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x2x?xf32>) outs(%s0 : tensor<2x2x?xf32>) -> tensor<2x2x?xf32>
  %o0 = tensor.empty() : tensor<2x2x16xf32>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<2x2x16xf32>) -> tensor<2x2x16xf32>
  %o = linalg.batch_matmul ins(%p, %x : tensor<2x2x?xf32>, tensor<2x?x16xf32>) outs(%o1 : tensor<2x2x16xf32>) -> tensor<2x2x16xf32>
  return %o : tensor<2x2x16xf32>
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Keys that are dequantized stay a tensor, for kvq-fuse-dequantize; values are an exact cache.
// CHECK-LABEL: func @codes
// CHECK:       %[[K:.+]] = kvq.dequantize
// CHECK:       %[[K4:.+]] = tensor.expand_shape %[[K]] {{.*}} into tensor<1x4x32x16xf32>
// CHECK:       %[[V:.+]] = kvq.from_components
// CHECK:       kvq.attention ins(%{{.+}}, %[[K4]], %[[V]] : tensor<1x4x1x16xf32>, tensor<1x4x32x16xf32>, !cache)
func.func @codes(%q: tensor<4x1x16xf32>, %c: tensor<4x32x16xi8>, %f: tensor<4x32x1xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %k0 = tensor.empty() : tensor<4x32x16xf32>
  %k = kvq.dequantize #f ins(%c, %f : tensor<4x32x16xi8>, tensor<4x32x1xf32>) outs(%k0 : tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  %s = linalg.batch_matmul
      indexing_maps = [affine_map<(h, i, t, c) -> (h, i, c)>, affine_map<(h, i, t, c) -> (h, t, c)>, affine_map<(h, i, t, c) -> (h, i, t)>]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}
