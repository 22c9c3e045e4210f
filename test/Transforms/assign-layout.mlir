// RUN: kvq-opt %s -kvq-assign-layout -split-input-file | FileCheck %s
// RUN: kvq-opt %s -kvq-assign-layout=target=gpu -split-input-file | FileCheck %s --check-prefix=GPU
// RUN: kvq-opt %s -kvq-assign-layout -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-assign-layout --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Keys and values of one type get the tiles of their side, and formats that say
// nothing or something of a layout stay. Appends, loops, branches, calls and
// signatures follow; so does an external function.
// CHECK-DAG: #[[K:.+]] = #kvq.format<{{.*}}layout = #kvq.layout<codes = planar, tile = channel_pairs<64>>>
// CHECK-DAG: #[[V:.+]] = #kvq.format<{{.*}}layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
// CHECK-DAG: ![[KC:.+]] = !kvq.cache<1x2x?x64xf16, #[[K]]>
// CHECK-DAG: ![[VC:.+]] = !kvq.cache<1x2x?x64xf16, #[[V]]>
// CHECK-DAG: #[[S:.+]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax>
// CHECK-DAG: ![[SAID:.+]] = !kvq.cache<1x2x?x64xf16, #[[S]]>
// GPU: #kvq.format<{{.*}}layout = #kvq.layout<codes = planar>>
// GPU-NOT: tile =
// REMARK-DAG: [Passed] AssignLayout | Category:kvq-assign-layout | Remark="a cache of keys lies in tiles of 64 tokens"
// REMARK-DAG: [Passed] AssignLayout | Category:kvq-assign-layout | Remark="a cache of values lies in tiles of 64 tokens"

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
!said = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>>
!q = tensor<1x4x1x64xf32>
!n = tensor<1xi64>

// CHECK: func.func private @save(![[KC]])
func.func private @save(!open)

// CHECK: func.func @step(%{{.*}}: tensor<1x4x1x64xf32>, %{{.*}}: tensor<1x2x1x64xf16>, %{{.*}}: ![[KC]], %{{.*}}: ![[VC]], %{{.*}}: ![[SAID]]
// CHECK-SAME: -> (tensor<1x4x1x64xf32>, ![[KC]])
func.func @step(%q: !q, %x: tensor<1x2x1x64xf16>, %k: !open, %v: !open, %other: !said, %n: !n, %i: index, %c: i1)
    -> (!q, !open) {
  // CHECK: scf.for {{.*}} -> (![[KC]])
  %k1 = scf.for %j = %i to %i step %i iter_args(%a = %k) -> !open {
    %b = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%n : !n) into(%a : !open) -> !open
    scf.yield %b : !open
  }
  // CHECK: arith.select {{.*}} : ![[VC]]
  %v1 = arith.select %c, %v, %v : !open
  call @save(%k1) : (!open) -> ()
  // CHECK: kvq.attention ins({{.*}} : tensor<1x4x1x64xf32>, ![[KC]], ![[VC]])
  %o = kvq.attention ins(%q, %k1, %v1 : !q, !open, !open) lengths(%n : !n) outs(%q : !q) {scale = 1.0 : f32} -> !q
  return %o, %k1 : !q, !open
}

// -----

// A label says of a cache that nothing here attends to what it holds; without
// one it is planar. What truncate names has no bytes.
// CHECK-DAG: #[[V:.+]] = #kvq.format<{{.*}}layout = #kvq.layout<codes = planar, tile = token_pairs<64>>>
// CHECK-DAG: #[[P:.+]] = #kvq.format<{{.*}}layout = #kvq.layout<codes = planar>>
// CHECK: func.func @labelled(%{{.*}}: !cache {kvq.side = #kvq.side<values>}, %{{.*}}: !cache1,
// CHECK: kvq.truncate !cache1
// REMARK-DAG: [Missed] AssignLayout | Category:kvq-assign-layout | Reason="nothing shows whether it holds keys or values", Remark="a cache lies row by row"
!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = auto>>
func.func @labelled(%a: !open {kvq.side = #kvq.side<values>}, %b: !open, %n: tensor<1xi64>) -> tensor<1xi64> {
  %m = kvq.truncate !open lengths(%n : tensor<1xi64>) to(%n : tensor<1xi64>) -> tensor<1xi64>
  return %m : tensor<1xi64>
}

// -----

// What has no tiles, and why.
// CHECK-NOT: tile =
// CHECK-NOT: auto
// CHECK: func.func @planar
// REMARK-DAG: Reason="expected a page of whole tiles of 64 tokens, got 16"
// REMARK-DAG: Reason="expected groups of one token and one KV head, with a range of their own, in a tile"
// REMARK-DAG: Reason="it has no integer codes, and others are read row by row"
// REMARK-DAG: Reason="keys before RoPE are turned row by row"
// REMARK-DAG: Reason="tiles begin behind its exact_first tokens, where those of the other side may not"
// REMARK-DAG: Reason="segment [0:32]: expected no tiles in a segment, got {{.*}}"
// REMARK-DAG: Reason="it holds keys and values"
#open = #kvq.format<codes = i8, group = [1, 32], scale = f16, layout = auto>
!pages = !kvq.cache<1x2x?x64xf16, #open, page = 16>
!groups = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [8, 32], scale = f16, layout = auto>, recent = 0>
!floats = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f16, layout = auto>>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none, layout = auto>>
!before = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, rope = pre, layout = auto>>
!first = !kvq.cache<1x2x?x64xf16, #open, exact_first = 4>
!parts = !kvq.cache<1x2x?x64xf16, #kvq.segments<[0:32] = #open, [32:64] = none>>
!both = !kvq.cache<1x2x?x64xf16, #open>
#k = #kvq.side<keys>
func.func @planar(%a: !pages {kvq.side = #k}, %b: !groups {kvq.side = #k}, %c: !floats {kvq.side = #k},
    %d: !before {kvq.side = #k}, %e: !first {kvq.side = #k}, %f: !parts {kvq.side = #k}, %g: !exact {kvq.side = #k},
    %h: !both, %q: tensor<1x4x1x64xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
  %o = kvq.attention ins(%q, %h, %h : tensor<1x4x1x64xf32>, !both, !both) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x64xf32>) {scale = 1.0 : f32} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}
