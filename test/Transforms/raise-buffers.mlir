// RUN: kvq-opt %s --kvq-raise-buffers -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-raise-buffers --kvq-raise-cache-updates -split-input-file \
// RUN:   | FileCheck %s --check-prefix=CACHE
// RUN: kvq-opt %s --kvq-raise -split-input-file | kvq-opt --kvq-cpu-pipeline -split-input-file \
// RUN:   | FileCheck %s --check-prefix=LLVM

// A buffer that is read as a tensor and stored to becomes an argument and a
// result; one that is only read stays. With updates raised it is a cache, whose
// append is in place.
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>

// CHECK-LABEL: func @step
// CHECK-SAME:    %[[K:[a-z0-9]+]]: tensor<1x2x64x32xf32>, %[[V:[a-z0-9]+]]: memref<1x2x64x32xf32>
// CHECK-SAME:    -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>)
// CHECK-NOT:   to_tensor %[[K]]
// CHECK:       %[[K1:.+]] = tensor.insert_slice %{{.+}} into %[[K]]
// CHECK:       %[[O:.+]] = kvq.attention
// CHECK:       %[[STORED:.+]] = bufferization.materialize_in_destination %[[K1]] in %[[K]]
// CHECK:       return %[[O]], %[[STORED]]

// CACHE-LABEL: func @step
// CACHE-SAME:    %[[K:[a-z0-9]+]]: ![[C:[a-z0-9]+]] {kvq.layer = 0 : i64}, %{{[a-z0-9]+}}: memref
// CACHE:       %[[K1:.+]] = kvq.append {{.*}} into(%[[K]] : ![[C]])
// CACHE-NOT:   materialize_in_destination
// CACHE:       return %{{.+}}, %[[K1]] : tensor<1x4x1x32xf32>, ![[C]]

// LLVM: llvm.func @step
// LLVM-NOT: memcpy
func.func @step(%q: tensor<1x4x1x32xf32>, %kb: memref<1x2x64x32xf32>, %vb: memref<1x2x64x32xf32>,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>, %out: tensor<1x4x1x32xf32>)
    -> tensor<1x4x1x32xf32> {
  %k = bufferization.to_tensor %kb restrict : memref<1x2x64x32xf32> to tensor<1x2x64x32xf32>
  %v = bufferization.to_tensor %vb restrict : memref<1x2x64x32xf32> to tensor<1x2x64x32xf32>
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %vc = kvq.from_components %v : tensor<1x2x64x32xf32> -> !c
  %o = kvq.attention ins(%q, %kc, %vc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  bufferization.materialize_in_destination %k1 in writable %kb
      : (tensor<1x2x64x32xf32>, memref<1x2x64x32xf32>) -> ()
  return %o : tensor<1x4x1x32xf32>
}

// -----

// What is no cache in the end is stored in the buffer's place all the same.
#map = affine_map<(d0) -> (d0)>
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>

// CHECK-LABEL: func @counts
// CACHE-LABEL: func @counts
// CACHE-SAME:    %[[S:[a-z0-9]+]]: tensor<4xf32>
// CACHE:       %[[S1:.+]] = linalg.generic {{.*}} ins(%[[S]]
// CACHE:       %[[STORED:.+]] = bufferization.materialize_in_destination %[[S1]] in %[[S]]
// CACHE:       return %{{.+}}, %[[STORED]]

// The function returns nothing that it stores.
// LLVM-LABEL: llvm.func @counts
// LLVM:       llvm.fadd
// LLVM:       llvm.return{{$}}
func.func @counts(%q: tensor<1x4x1x32xf32>, %c: !c, %s: memref<4xf32>, %n: tensor<1xi64>,
    %out: tensor<1x4x1x32xf32>) -> tensor<1x4x1x32xf32> {
  %t = bufferization.to_tensor %s restrict : memref<4xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %t1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%t : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %x : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  bufferization.materialize_in_destination %t1 in writable %s : (tensor<4xf32>, memref<4xf32>) -> ()
  return %o : tensor<1x4x1x32xf32>
}
