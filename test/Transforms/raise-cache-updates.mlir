// RUN: kvq-opt %s --kvq-raise-cache-updates -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-raise-cache-updates -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-cache-updates --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Caches that grow by concatenation: how long they are becomes an argument, and
// extents are told by it. An old extent is the number of tokens before the
// append, a new one that behind it.
!c = !kvq.cache<1x2x?x32xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func @grow
// CHECK-SAME:    %[[Q:.+]]: tensor<1x4x1x32xf32>, %[[K:.+]]: ![[C:[a-z0-9]+]] {kvq.layer = 0 : i64}, %[[V:.+]]: ![[C]] {kvq.layer = 0 : i64}
// CHECK-SAME:    %[[KN:.+]]: tensor<1x2x1x32xf16>, %[[VN:.+]]: tensor<1x2x1x32xf16>, %[[LENGTH:[a-z0-9]+]]: i64)
// CHECK-SAME:    -> (tensor<1x4x1x32xf32>, index, ![[C]], ![[C]])
// CHECK:       %[[OLD:.+]] = arith.index_cast %[[LENGTH]] : i64 to index
// CHECK:       %[[KL:.+]] = tensor.from_elements %[[LENGTH]] : tensor<1xi64>
// CHECK:       %[[ONE:.+]] = arith.constant 1 : i64
// CHECK:       %[[AFTER:.+]] = arith.addi %[[LENGTH]], %[[ONE]]
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[KN]] : {{.*}}) lengths(%[[KL]] : {{.*}}) into(%[[K]] : ![[C]])
// CHECK:       %[[V1:.+]] = kvq.append ins(%[[VN]] : {{.*}} into(%[[V]] : ![[C]])
// CHECK-NOT:   tensor.concat
// CHECK-NOT:   tensor.dim
// CHECK:       %[[NEW:.+]] = arith.index_cast %[[AFTER]] : i64 to index
// CHECK:       %[[N64:.+]] = arith.index_cast %[[NEW]] : index to i64
// CHECK:       %[[N:.+]] = tensor.from_elements %[[N64]]
// CHECK-NOT:   kvq.from_components
// CHECK:       %[[O:.+]] = kvq.attention ins(%[[Q]], %[[K1]], %[[V1]] : {{.*}}) lengths(%[[N]]
// CHECK:       return %[[O]], %[[OLD]], %[[K1]], %[[V1]]
// REMARK: remark: [Passed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=grow | Remark="argument 1 is the cache of the keys of attention 0"
// REMARK: remark: [Passed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=grow | Remark="argument 2 is the cache of the values of attention 0"
func.func @grow(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x?x32xf16>,
    %v: tensor<1x2x?x32xf16>, %kn: tensor<1x2x1x32xf16>, %vn: tensor<1x2x1x32xf16>)
    -> (tensor<1x4x1x32xf32>, index, tensor<1x2x?x32xf16>, tensor<1x2x?x32xf16>) {
  %c2 = arith.constant 2 : index
  %old = tensor.dim %v, %c2 : tensor<1x2x?x32xf16>
  %k1 = tensor.concat dim(2) %k, %kn : (tensor<1x2x?x32xf16>, tensor<1x2x1x32xf16>) -> tensor<1x2x?x32xf16>
  %v1 = tensor.concat dim(2) %v, %vn : (tensor<1x2x?x32xf16>, tensor<1x2x1x32xf16>) -> tensor<1x2x?x32xf16>
  %new = tensor.dim %k1, %c2 : tensor<1x2x?x32xf16>
  %n64 = arith.index_cast %new : index to i64
  %n = tensor.from_elements %n64 : tensor<1xi64>
  %kc = kvq.from_components %k1 : tensor<1x2x?x32xf16> -> !c
  %vc = kvq.from_components %v1 : tensor<1x2x?x32xf16> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %old, %k1, %v1 : tensor<1x4x1x32xf32>, index, tensor<1x2x?x32xf16>, tensor<1x2x?x32xf16>
}

// -----

// A concatenation as two slices of an empty tensor; several new tokens, of
// several sequences, which are all as long.
!c = !kvq.cache<2x2x?x32xf32, #kvq.format<codes = none>>

// CHECK-LABEL: func @two_slices
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{[a-z0-9]+}} {kvq.layer = 0 : i64}, %[[NEW:[a-z0-9]+]]: tensor<2x2x?x32xf32>
// CHECK-SAME:    %[[LENGTH:[a-z0-9]+]]: i64)
// CHECK:       %[[LENGTHS:.+]] = tensor.from_elements %[[LENGTH]], %[[LENGTH]] : tensor<2xi64>
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[NEW]] : {{.*}}) lengths(%[[LENGTHS]] : {{.*}}) into(%[[K]]
// CHECK-NOT:   tensor.insert_slice
// CHECK:       kvq.attention ins(%{{.+}}, %[[K1]], %[[K1]]
// CHECK:       return %{{.+}}, %[[K1]]
func.func @two_slices(%q: tensor<2x4x1x32xf32>, %k: tensor<2x2x?x32xf32>,
    %new: tensor<2x2x?x32xf32>, %n: tensor<2xi64>)
    -> (tensor<2x4x1x32xf32>, tensor<2x2x?x32xf32>) {
  %c2 = arith.constant 2 : index
  %old = tensor.dim %k, %c2 : tensor<2x2x?x32xf32>
  %more = tensor.dim %new, %c2 : tensor<2x2x?x32xf32>
  %all = arith.addi %old, %more : index
  %empty = tensor.empty(%all) : tensor<2x2x?x32xf32>
  %first = tensor.insert_slice %k into %empty[0, 0, 0, 0] [2, 2, %old, 32] [1, 1, 1, 1]
      : tensor<2x2x?x32xf32> into tensor<2x2x?x32xf32>
  %k1 = tensor.insert_slice %new into %first[0, 0, %old, 0] [2, 2, %more, 32] [1, 1, 1, 1]
      : tensor<2x2x?x32xf32> into tensor<2x2x?x32xf32>
  %kc = kvq.from_components %k1 : tensor<2x2x?x32xf32> -> !c
  %vc = kvq.from_components %k1 : tensor<2x2x?x32xf32> -> !c
  %out = tensor.empty() : tensor<2x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<2x4x1x32xf32>, !c, !c) lengths(%n : tensor<2xi64>)
      outs(%out : tensor<2x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<2x4x1x32xf32>
  return %o, %k1 : tensor<2x4x1x32xf32>, tensor<2x2x?x32xf32>
}

// -----

// Tensors of a fixed size, tokens before heads: what is written at a position is
// appended there, and the cache's storage is what the tensor's was. A layer that
// something names keeps its name.
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>

// CHECK: ![[C:.+]] = !kvq.cache<1x2x64x32xf32, #{{.+}}, token_major>
// CHECK-LABEL: func @slice
// CHECK-SAME:    %[[K:[a-z0-9]+]]: ![[C]] {kvq.layer = 7 : i64}, %[[NEW:[a-z0-9]+]]: tensor<1x1x2x32xf32>, %[[AT:[a-z0-9]+]]: index
// CHECK-NOT:     i64)
// CHECK:       %[[AT64:.+]] = arith.index_cast %[[AT]] : index to i64
// CHECK:       %[[LENGTHS:.+]] = tensor.from_elements %[[AT64]] : tensor<1xi64>
// CHECK:       %[[TOKENS:.+]] = linalg.transpose ins(%[[NEW]] : {{.*}} permutation = [0, 2, 1, 3]
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[TOKENS]] : tensor<1x2x1x32xf32>) lengths(%[[LENGTHS]] : {{.*}}) into(%[[K]] : ![[C]])
// CHECK-NOT:   bufferization
// CHECK:       kvq.attention ins(%{{.+}}, %[[K1]], %[[K1]]
// CHECK:       %[[CAPACITY:.+]] = arith.constant 64 : index
// CHECK:       return %{{.+}}, %[[K1]], %[[CAPACITY]]
func.func @slice(%q: tensor<1x4x1x32xf32>, %k: tensor<1x64x2x32xf32> {kvq.layer = 7},
    %new: tensor<1x1x2x32xf32>, %at: index, %n: tensor<1xi64>)
    -> (tensor<1x4x1x32xf32>, tensor<1x64x2x32xf32>, index) {
  %k1 = tensor.insert_slice %new into %k[0, %at, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1]
      : tensor<1x1x2x32xf32> into tensor<1x64x2x32xf32>
  %buffer = bufferization.to_buffer %k1 read_only : tensor<1x64x2x32xf32> to memref<1x64x2x32xf32>
  %turned = memref.transpose %buffer (a, b, c, d) -> (a, c, b, d)
      : memref<1x64x2x32xf32> to memref<1x2x64x32xf32, strided<[4096, 32, 64, 1]>>
  %k2 = bufferization.to_tensor %turned restrict
      : memref<1x2x64x32xf32, strided<[4096, 32, 64, 1]>> to tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k2 : tensor<1x2x64x32xf32> -> !c
  %vc = kvq.from_components %k2 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  %c1 = arith.constant 1 : index
  %capacity = tensor.dim %k, %c1 : tensor<1x64x2x32xf32>
  return %o, %k1, %capacity : tensor<1x4x1x32xf32>, tensor<1x64x2x32xf32>, index
}

// -----

// Without sequences, and another axis first: tokens come to the order of a cache
// by the same steps as the tensor did. Of two updates the second is behind the
// first; attention between them sees one.
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>

// CHECK-LABEL: func @reshaped
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{[a-z0-9]+}} {kvq.layer = 0 : i64}, %[[A:[a-z0-9]+]]: tensor<3x2x32xf32>, %[[B:[a-z0-9]+]]: tensor<1x2x32xf32>
// CHECK:       %[[ZERO:.+]] = arith.constant 0 : i64
// CHECK:       %[[LENGTHS:.+]] = tensor.from_elements %[[ZERO]] : tensor<1xi64>
// CHECK:       %[[A4:.+]] = tensor.expand_shape %[[A]] {{\[}}[0, 1], [2], [3]] output_shape [1, 3, 2, 32]
// CHECK:       %[[AT:.+]] = linalg.transpose ins(%[[A4]] : {{.*}} permutation = [0, 2, 1, 3]
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[AT]] : tensor<1x2x3x32xf32>) lengths(%[[LENGTHS]] : {{.*}}) into(%[[K]]
// CHECK:       %[[B4:.+]] = tensor.expand_shape %[[B]] {{\[}}[0, 1], [2], [3]] output_shape [1, 1, 2, 32]
// CHECK:       %[[K2:.+]] = kvq.append ins(%{{.+}} : tensor<1x2x1x32xf32>) {{.*}} into(%[[K1]]
// CHECK:       kvq.attention ins(%{{.+}}, %[[K1]], %[[K2]]
// CHECK:       return %{{.+}}, %[[K2]]
func.func @reshaped(%q: tensor<1x4x1x32xf32>, %k: tensor<64x2x32xf32>,
    %a: tensor<3x2x32xf32>, %b: tensor<1x2x32xf32>, %n: tensor<1xi64>)
    -> (tensor<1x4x1x32xf32>, tensor<64x2x32xf32>) {
  %k1 = tensor.insert_slice %a into %k[0, 0, 0] [3, 2, 32] [1, 1, 1] : tensor<3x2x32xf32> into tensor<64x2x32xf32>
  %k2 = tensor.insert_slice %b into %k1[3, 0, 0] [1, 2, 32] [1, 1, 1] : tensor<1x2x32xf32> into tensor<64x2x32xf32>
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %empty = tensor.empty() : tensor<1x2x64x32xf32>
  %k14 = tensor.expand_shape %k1 [[0, 1], [2], [3]] output_shape [1, 64, 2, 32] : tensor<64x2x32xf32> into tensor<1x64x2x32xf32>
  %k1t = linalg.transpose ins(%k14 : tensor<1x64x2x32xf32>) outs(%empty : tensor<1x2x64x32xf32>) permutation = [0, 2, 1, 3]
  %kc = kvq.from_components %k1t : tensor<1x2x64x32xf32> -> !c
  %k24 = tensor.expand_shape %k2 [[0, 1], [2], [3]] output_shape [1, 64, 2, 32] : tensor<64x2x32xf32> into tensor<1x64x2x32xf32>
  %k2t = linalg.transpose ins(%k24 : tensor<1x64x2x32xf32>) outs(%empty : tensor<1x2x64x32xf32>) permutation = [0, 2, 1, 3]
  %vc = kvq.from_components %k2t : tensor<1x2x64x32xf32> -> !c
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k2 : tensor<1x4x1x32xf32>, tensor<64x2x32xf32>
}

// -----

// Scattered element by element at indices that are written out, as torch-mlir
// has index_copy, each sequence at a position of its own.
!c = !kvq.cache<2x2x64x4xf32, #kvq.format<codes = none>>
#all = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#axis0 = affine_map<(d0, d1, d2, d3) -> (d0)>
#axis1 = affine_map<(d0, d1, d2, d3) -> (d1)>
#axis3 = affine_map<(d0, d1, d2, d3) -> (d3)>

// CHECK-LABEL: func @scatter
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{[a-z0-9]+}} {kvq.layer = 0 : i64}, %[[NEW:[a-z0-9]+]]: tensor<2x2x1x4xf32>, %[[AT:[a-z0-9]+]]: tensor<2xi32>
// CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:   %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:   %[[AT0:.+]] = tensor.extract %[[AT]][%[[C0]]]
// CHECK-DAG:   %[[P0:.+]] = arith.extsi %[[AT0]] : i32 to i64
// CHECK-DAG:   %[[AT1:.+]] = tensor.extract %[[AT]][%[[C1]]]
// CHECK-DAG:   %[[P1:.+]] = arith.extsi %[[AT1]] : i32 to i64
// CHECK:       %[[LENGTHS:.+]] = tensor.from_elements %[[P0]], %[[P1]] : tensor<2xi64>
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[NEW]] : tensor<2x2x1x4xf32>) lengths(%[[LENGTHS]] : {{.*}}) into(%[[K]]
// CHECK-NOT:   tensor.scatter
func.func @scatter(%q: tensor<2x4x1x4xf32>, %k: tensor<2x2x64x4xf32>,
    %new: tensor<2x2x1x4xf32>, %at: tensor<2xi32>, %n: tensor<2xi64>)
    -> (tensor<2x4x1x4xf32>, tensor<2x2x64x4xf32>) {
  %empty = tensor.empty() : tensor<2x2x1x4xi64>
  %one = tensor.empty() : tensor<4xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%one : tensor<4xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<4xi64>
  %i0 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%empty : tensor<2x2x1x4xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<2x2x1x4xi64>
  %i1 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%empty : tensor<2x2x1x4xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<2x2x1x4xi64>
  %i2 = linalg.generic {indexing_maps = [#axis0, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%at : tensor<2xi32>) outs(%empty : tensor<2x2x1x4xi64>) {
  ^bb0(%p: i32, %o: i64):
    %j = arith.extsi %p : i32 to i64
    linalg.yield %j : i64
  } -> tensor<2x2x1x4xi64>
  %i3 = linalg.generic {indexing_maps = [#axis3, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%iota : tensor<4xi64>) outs(%empty : tensor<2x2x1x4xi64>) {
  ^bb0(%i: i64, %o: i64):
    linalg.yield %i : i64
  } -> tensor<2x2x1x4xi64>
  %f0 = tensor.collapse_shape %i0 [[0, 1, 2, 3]] : tensor<2x2x1x4xi64> into tensor<16xi64>
  %f1 = tensor.collapse_shape %i1 [[0, 1, 2, 3]] : tensor<2x2x1x4xi64> into tensor<16xi64>
  %f2 = tensor.collapse_shape %i2 [[0, 1, 2, 3]] : tensor<2x2x1x4xi64> into tensor<16xi64>
  %f3 = tensor.collapse_shape %i3 [[0, 1, 2, 3]] : tensor<2x2x1x4xi64> into tensor<16xi64>
  %e0 = tensor.expand_shape %f0 [[0, 1]] output_shape [16, 1] : tensor<16xi64> into tensor<16x1xi64>
  %e1 = tensor.expand_shape %f1 [[0, 1]] output_shape [16, 1] : tensor<16xi64> into tensor<16x1xi64>
  %e2 = tensor.expand_shape %f2 [[0, 1]] output_shape [16, 1] : tensor<16xi64> into tensor<16x1xi64>
  %e3 = tensor.expand_shape %f3 [[0, 1]] output_shape [16, 1] : tensor<16xi64> into tensor<16x1xi64>
  %indices = tensor.concat dim(1) %e0, %e1, %e2, %e3
      : (tensor<16x1xi64>, tensor<16x1xi64>, tensor<16x1xi64>, tensor<16x1xi64>) -> tensor<16x4xi64>
  %flat = tensor.collapse_shape %new [[0, 1, 2, 3]] : tensor<2x2x1x4xf32> into tensor<16xf32>
  %updates = tensor.expand_shape %flat [[0, 1, 2, 3, 4]] output_shape [16, 1, 1, 1, 1] : tensor<16xf32> into tensor<16x1x1x1x1xf32>
  %k1 = tensor.scatter %updates into %k[%indices] scatter_dims([0, 1, 2, 3]) unique
      : (tensor<16x1x1x1x1xf32>, tensor<2x2x64x4xf32>, tensor<16x4xi64>) -> tensor<2x2x64x4xf32>
  %kc = kvq.from_components %k1 : tensor<2x2x64x4xf32> -> !c
  %vc = kvq.from_components %k1 : tensor<2x2x64x4xf32> -> !c
  %out = tensor.empty() : tensor<2x4x1x4xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<2x4x1x4xf32>, !c, !c) lengths(%n : tensor<2xi64>)
      outs(%out : tensor<2x4x1x4xf32>) {scale = 0.25 : f32} -> tensor<2x4x1x4xf32>
  return %o, %k1 : tensor<2x4x1x4xf32>, tensor<2x2x64x4xf32>
}

// -----

// Rows at positions that follow each other: those of the tokens are added to
// one number.
!c = !kvq.cache<1x2x64x8xf32, #kvq.format<codes = none>>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#token = affine_map<(d0, d1, d2) -> (d2)>
#none = affine_map<(d0, d1, d2) -> ()>

// CHECK-LABEL: func @rows
// CHECK-SAME:    %[[K:[a-z0-9]+]]: !{{[a-z0-9]+}} {kvq.layer = 0 : i64}, %[[NEW:[a-z0-9]+]]: tensor<1x2x3x8xf32>, %[[AT:[a-z0-9]+]]: tensor<i64>
// CHECK:       %[[P:.+]] = tensor.extract %[[AT]][] : tensor<i64>
// CHECK:       %[[LENGTHS:.+]] = tensor.from_elements %[[P]] : tensor<1xi64>
// CHECK:       %[[K1:.+]] = kvq.append ins(%[[NEW]] : tensor<1x2x3x8xf32>) lengths(%[[LENGTHS]] : {{.*}}) into(%[[K]]
// CHECK-NOT:   tensor.scatter
func.func @rows(%q: tensor<1x4x3x8xf32>, %k: tensor<1x2x64x8xf32>, %new: tensor<1x2x3x8xf32>, %at: tensor<i64>,
    %n: tensor<1xi64>) -> (tensor<1x4x3x8xf32>, tensor<1x2x64x8xf32>) {
  %empty = tensor.empty() : tensor<1x2x3xi64>
  %one = tensor.empty() : tensor<3xi64>
  %iota = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%one : tensor<3xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<3xi64>
  %i0 = arith.constant dense<0> : tensor<1x2x3xi64>
  %i1 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%empty : tensor<1x2x3xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    linalg.yield %j : i64
  } -> tensor<1x2x3xi64>
  %i2 = linalg.generic {indexing_maps = [#none, #token, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%at, %iota : tensor<i64>, tensor<3xi64>) outs(%empty : tensor<1x2x3xi64>) {
  ^bb0(%p: i64, %i: i64, %o: i64):
    %s = arith.addi %i, %p : i64
    linalg.yield %s : i64
  } -> tensor<1x2x3xi64>
  %e0 = tensor.collapse_shape %i0 [[0, 1], [2]] : tensor<1x2x3xi64> into tensor<2x3xi64>
  %f0 = tensor.collapse_shape %e0 [[0, 1]] : tensor<2x3xi64> into tensor<6xi64>
  %c0 = tensor.expand_shape %f0 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %f1 = tensor.collapse_shape %i1 [[0, 1, 2]] : tensor<1x2x3xi64> into tensor<6xi64>
  %c1 = tensor.expand_shape %f1 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %f2 = tensor.collapse_shape %i2 [[0, 1, 2]] : tensor<1x2x3xi64> into tensor<6xi64>
  %c2 = tensor.expand_shape %f2 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
  %indices = tensor.concat dim(1) %c0, %c1, %c2 : (tensor<6x1xi64>, tensor<6x1xi64>, tensor<6x1xi64>) -> tensor<6x3xi64>
  %flat = tensor.collapse_shape %new [[0, 1, 2], [3]] : tensor<1x2x3x8xf32> into tensor<6x8xf32>
  %updates = tensor.expand_shape %flat [[0], [1, 2, 3, 4]] output_shape [6, 1, 1, 1, 8] : tensor<6x8xf32> into tensor<6x1x1x1x8xf32>
  %k1 = tensor.scatter %updates into %k[%indices] scatter_dims([0, 1, 2]) unique
      : (tensor<6x1x1x1x8xf32>, tensor<1x2x64x8xf32>, tensor<6x3xi64>) -> tensor<1x2x64x8xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x8xf32> -> !c
  %vc = kvq.from_components %k1 : tensor<1x2x64x8xf32> -> !c
  %out = tensor.empty() : tensor<1x4x3x8xf32>
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x3x8xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x3x8xf32>) {scale = 0.25 : f32} -> tensor<1x4x3x8xf32>
  return %o, %k1 : tensor<1x4x3x8xf32>, tensor<1x2x64x8xf32>
}
