// RUN: kvq-opt %s --kvq-nvvm-pipeline | FileCheck %s --check-prefix=IR
// RUN: kvq-compile %s --emit=ptx | FileCheck %s
// RUN: kvq-compile %s --emit=ptx | FileCheck %s --check-prefix=EXACT

// A cache rebuilt as f16, as Python's `Cache.to_exact` does it: one launch of a
// block for each sequence, KV head and group of tokens. The values in f32 are
// scratch of the block; those of codes are the processor's, each step rounded.

// IR-LABEL: func.func @rebuild(
// IR-NOT:     gpu.alloc
// IR:         %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c32
// IR:         %[[BLOCKS:.*]] = arith.muli %[[TILES]], %c16
// IR:         gpu.launch_func @kernels::@rebuild_kernel blocks in (%[[BLOCKS]], %c1, %c1) threads in (%c128, %c1, %c1)
// IR-NOT:     gpu.launch_func
// IR:         return

// CHECK: .visible .entry rebuild_kernel(
// CHECK:   mul.rn.f32
// CHECK:   add.rn.f32
// CHECK:   cvt.rn.f16.f32
// CHECK:   st.global.b16

// EXACT-NOT: .ftz
// EXACT-NOT: fma
// EXACT-NOT: .approx
// EXACT-NOT: {{add|sub|mul}}.f32

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x8x?x128xf16, #k, recent = 32, page = 64>
!rows = tensor<?x128xf16>
!out = tensor<2x8x?x128xf16>
func.func @rebuild(%c: !k, %coded: tensor<2xi64>, %lengths: tensor<2xi64>, %t: tensor<2x?xi64>, %out: !out) -> !out
    attributes {kvq.unfused} {
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %rows = tensor.dim %out, %c2 : !out
  %tiles = arith.ceildivui %rows, %c32 : index
  %0 = kvq.forall (%b, %h, %i) in (%c2, %c8, %tiles) inits(%o = %out : !out) {
    %skipped = arith.muli %i, %c32 : index
    %coded_i64 = tensor.extract %coded[%b] : tensor<2xi64>
    %length_i64 = tensor.extract %lengths[%b] : tensor<2xi64>
    %codes = arith.index_cast %coded_i64 : i64 to index
    %length = arith.index_cast %length_i64 : i64 to index
    %most = arith.addi %skipped, %c32 : index
    %end = arith.minsi %most, %codes : index
    %1 = scf.for %n = %skipped to %end step %c32 iter_args(%o1 = %o) -> (!out) {
      %left = arith.subi %end, %n : index
      %size = affine.min affine_map<(n) -> (n, 32)>(%left)
      %place = tensor.extract_slice %o1[%b, %h, %n, 0] [1, 1, %size, 128] [1, 1, 1, 1] : !out to !rows
      %tile:3 = kvq.load_tile %c <codes> at [%b, %h] tokens [%n to %end] pages(%t : tensor<2x?xi64>) {tile = 32}
          : !k -> tensor<?x128xi8>, tensor<1x128xf16>, tensor<1x128xf16>
      %scratch = tensor.empty() : tensor<32x128xf32>
      %wide = tensor.extract_slice %scratch[0, 0] [%size, 128] [1, 1] : tensor<32x128xf32> to tensor<?x128xf32>
      %full = kvq.dequantize #k ins(%tile#0, %tile#1, %tile#2 : tensor<?x128xi8>, tensor<1x128xf16>, tensor<1x128xf16>)
          outs(%wide : tensor<?x128xf32>) -> tensor<?x128xf32>
      %narrow = linalg.generic {indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
          iterator_types = ["parallel", "parallel"]} ins(%full : tensor<?x128xf32>) outs(%place : !rows) {
        ^bb0(%x: f32, %ignored: f16):
          %y = arith.truncf %x : f32 to f16
          linalg.yield %y : f16
        } -> !rows
      %stored = tensor.insert_slice %narrow into %o1[%b, %h, %n, 0] [1, 1, %size, 128] [1, 1, 1, 1] : !rows into !out
      scf.yield %stored : !out
    }
    %last = arith.addi %codes, %skipped : index
    %beyond = arith.addi %last, %c32 : index
    %stop = arith.minsi %beyond, %length : index
    %2 = scf.for %n = %last to %stop step %c32 iter_args(%o1 = %1) -> (!out) {
      %left = arith.subi %stop, %n : index
      %size = affine.min affine_map<(n) -> (n, 32)>(%left)
      %tile = kvq.load_tile %c <recent> at [%b, %h] tokens [%n to %stop] {tile = 32} : !k -> !rows
      %stored = tensor.insert_slice %tile into %o1[%b, %h, %n, 0] [1, 1, %size, 128] [1, 1, 1, 1] : !rows into !out
      scf.yield %stored : !out
    }
    kvq.yield %2 : !out
  }
  return %0 : !out
}
