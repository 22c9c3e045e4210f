// RUN: kvq-opt %s --kvq-nvvm-pipeline | FileCheck %s
// RUN: kvq-compile %s --emit=ptx -o /dev/null

// Every other op that touches storage or counts is one launch as well.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x8x?x128xf16, #k, exact_first = 4, recent = 32>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!v = !kvq.cache<2x8x?x128xf16, #v, page = 64>

// CHECK-LABEL: func.func @reorder(
// CHECK:         gpu.launch_func @kernels::@reorder_kernel blocks in (%c16,
// CHECK-NOT:     gpu.launch_func
func.func @reorder(%c: !k, %d: !k, %i: tensor<2xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>) -> !k {
  %0 = kvq.reorder ins(%c : !k) sources(%i : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%d : !k) -> !k
  return %0 : !k
}

// CHECK-LABEL: func.func @shift(
// CHECK:         gpu.launch_func @kernels::@shift_kernel blocks in (%c16,
// CHECK-NOT:     gpu.launch_func
func.func @shift(%c: !k, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>,
                 %cos: tensor<?x64xf32>, %sin: tensor<?x64xf32>) -> !k {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) rope(%cos, %sin : tensor<?x64xf32>, tensor<?x64xf32>) into(%c : !k) -> !k
  return %0 : !k
}

// CHECK-LABEL: func.func @shift_pages(
// CHECK:         gpu.launch_func @kernels::@shift_pages_kernel blocks in (%c16,
// CHECK-NOT:     gpu.launch_func
func.func @shift_pages(%c: !v, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %t: tensor<2x?xi64>) -> !v {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// CHECK-LABEL: func.func @truncate(
// CHECK:         gpu.launch_func @kernels::@truncate_kernel blocks in (%c2,
// CHECK-NOT:     gpu.launch_func
func.func @truncate(%n: tensor<2xi64>, %f: tensor<2xi64>, %to: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %0, %1 = kvq.truncate !k lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
      to(%to : tensor<2xi64>) -> tensor<2xi64>, tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi64>
}
