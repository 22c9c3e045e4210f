// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --mlir-print-op-generic %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// Paged caches, page tables and packed tokens print what they were parsed from.

#i4 = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#u4 = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>

// CHECK-DAG: ![[PLAIN:[a-z0-9]+]] = !kvq.cache<2x2x?x16xf16, #{{.*}}, page = 16>
// CHECK-DAG: ![[WINDOW:[a-z0-9]+]] = !kvq.cache<2x2x256x16xf16, #{{.*}}, exact_first = 4, recent = 64, page = 96>
// CHECK-DAG: ![[RESIDUAL:[a-z0-9]+]] = !kvq.cache<2x2x?x16xf16, #{{.*}}, residual = 64, page = 32>
// CHECK-DAG: ![[RING:[a-z0-9]+]] = !kvq.cache<2x2x?x16xf16, #{{.*}}, residual = 64, page = 32, ring = 200, keep_first = 3>
!plain = !kvq.cache<2x2x?x16xf16, #i4, page = 16>
!window = !kvq.cache<2x2x256x16xf16, #u4, page = 96, recent = 64, exact_first = 4>
!residual = !kvq.cache<2x2x?x16xf16, #u4, residual = 64, page = 32>
!ring = !kvq.cache<2x2x?x16xf16, #u4, residual = 64, page = 32, ring = 200, keep_first = 3>

// CHECK-LABEL: func.func @ops(
func.func @ops(%x: tensor<2x2x?x16xf16>, %y: tensor<?x2x16xf16>, %n: tensor<2xi64>,
               %t: tensor<2x?xi64>, %u: tensor<2x4xi64>, %s: tensor<3xi64>, %slots: tensor<?xi64>,
               %i: index, %r: !residual, %q: tensor<2x4x1x16xf32>,
               %rows: tensor<2x16xf32>, %max: tensor<2xf32>)
    -> (!plain, !window, tensor<2x4x1x16xf32>) {
  // CHECK: kvq.empty pages(%{{.*}}) : ![[PLAIN]]
  %p0 = kvq.empty pages(%i) : !plain
  %w0 = kvq.empty pages(%i) : !window
  // CHECK: kvq.append {{.*}} lengths(%{{.*}} : tensor<2xi64>) pages(%{{.*}} : tensor<2x?xi64>) into(
  %p1 = kvq.append ins(%x : tensor<2x2x?x16xf16>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%p0 : !plain) -> !plain
  // CHECK: kvq.append ins(%{{.*}} : tensor<?x2x16xf16>) lengths(%{{.*}}) flushed(%{{.*}}) pages(%{{.*}} : tensor<2x4xi64>) starts(%{{.*}} : tensor<3xi64>) into(
  %w1 = kvq.append ins(%y : tensor<?x2x16xf16>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      pages(%u : tensor<2x4xi64>) starts(%s : tensor<3xi64>) into(%w0 : !window) -> !window
  // CHECK: kvq.append ins(%{{.*}} : tensor<?x2x16xf16>) slots(%{{.*}} : tensor<?xi64>) into(
  %p2 = kvq.append ins(%y : tensor<?x2x16xf16>) slots(%slots : tensor<?xi64>) into(%p1 : !plain) -> !plain
  // CHECK: kvq.attention {{.*}} key_flushed({{.*}}) key_pages(%{{.*}} : tensor<2x4xi64>) value_pages(%{{.*}} : tensor<2x?xi64>) outs(
  %o = kvq.attention ins(%q, %w1, %p2 : tensor<2x4x1x16xf32>, !window, !plain)
      lengths(%n : tensor<2xi64>) key_flushed(%n : tensor<2xi64>)
      key_pages(%u : tensor<2x4xi64>) value_pages(%t : tensor<2x?xi64>)
      outs(%q : tensor<2x4x1x16xf32>) {scale = 1.0 : f32} -> tensor<2x4x1x16xf32>
  // CHECK: kvq.partial_attention {{.*}} flushed[{{.*}}] value_pages(%{{.*}} : tensor<2x?xi64>) outs(
  %m = kvq.empty(%i) : !kvq.cache<2x2x?x16xf16, #i4>
  %a:3 = kvq.partial_attention ins(%rows, %m, %p2 : tensor<2x16xf32>, !kvq.cache<2x2x?x16xf16, #i4>, !plain)
      at [%i, %i] tokens [%i to %i] flushed [%i, %i] value_pages(%t : tensor<2x?xi64>)
      outs(%rows, %max, %max : tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>)
      -> tensor<2x16xf32>, tensor<2xf32>, tensor<2xf32>
  // CHECK: kvq.load_tile %{{.*}} <codes> {{.*}} pages(%{{.*}} : tensor<2x?xi64>) {tile = 8 : i64} : ![[PLAIN]]
  %l:2 = kvq.load_tile %p2 <codes> at [%i, %i] tokens [%i to %i] pages(%t : tensor<2x?xi64>) {tile = 8}
      : !plain -> tensor<?x16xi8>, tensor<?x1xf16>
  // CHECK: kvq.load_tile %{{.*}} <recent> at[%{{.*}}, %{{.*}}] tokens[%{{.*}} to %{{.*}}] : ![[RESIDUAL]]
  %e = kvq.load_tile %r <recent> at [%i, %i] tokens [%i to %i] : !residual -> tensor<?x16xf16>
  // CHECK: kvq.reorder {{.*}} pages(%{{.*}} : tensor<2x?xi64>) to_pages(%{{.*}} : tensor<2x?xi64>) shared(%{{.*}} : tensor<2xi64>) into(
  %z = kvq.empty pages(%i) : !plain
  %p3 = kvq.reorder ins(%p2 : !plain) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) to_pages(%t : tensor<2x?xi64>) shared(%n : tensor<2xi64>)
      into(%z : !plain) -> !plain
  return %p3, %w1, %o : !plain, !window, tensor<2x4x1x16xf32>
}

// CHECK-LABEL: func.func @shift(
func.func @shift(%p: !plain, %w: !window, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %u: tensor<2x4xi64>)
    -> (!plain, !window) {
  // CHECK: kvq.shift drop(%{{.*}}, %{{.*}} : tensor<2xi64>, tensor<2xi64>) lengths(%{{.*}} : tensor<2xi64>) pages(%{{.*}} : tensor<2x?xi64>) into(%{{.*}} : ![[PLAIN]]) -> ![[PLAIN]]
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%p : !plain) -> !plain
  // CHECK: kvq.shift {{.*}} flushed(%{{.*}} : tensor<2xi64>) pages(
  %1 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%n : tensor<2xi64>) pages(%u : tensor<2x4xi64>) into(%w : !window) -> !window
  return %0, %1 : !plain, !window
}

// CHECK-LABEL: func.func @ring_of_pages(
// CHECK: kvq.empty pages(%{{.*}}) : ![[RING]]
func.func @ring_of_pages(%i: index) -> !ring {
  %c = kvq.empty pages(%i) : !ring
  return %c : !ring
}
