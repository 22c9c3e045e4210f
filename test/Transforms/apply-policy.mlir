// RUN: kvq-opt %s -kvq-apply-policy -canonicalize -split-input-file | FileCheck %s

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!exact = !kvq.cache<1x8x?x128xf16, #kvq.format<codes = none>>

// Keys get a window, and with it their flushed counts.

// CHECK-DAG: !cache = !kvq.cache<1x8x?x128xf16, #format, recent = 32>
// CHECK-DAG: !cache1 = !kvq.cache<1x8x?x128xf16, #format1>
// CHECK:     module {
module attributes {kvq.policy = #kvq.policy<
    <side = keys, layers = [3], format = #k, recent = 32>,
    <side = values, format = #v>>} {
  // CHECK-LABEL: func.func @decode(
  // CHECK-SAME:    %[[X:.*]]: tensor<1x8x1x128xf16>, %[[Q:.*]]: tensor<1x32x1x128xf32>,
  // CHECK-SAME:    %[[K:.*]]: !cache {kvq.layer = 3 : i64}, %[[F:.*]]: tensor<1xi64>, %[[V:.*]]: !cache1 {kvq.layer = 3 : i64},
  // CHECK-SAME:    %[[N:.*]]: tensor<1xi64>, %[[AFTER:.*]]: tensor<1xi64>, %[[OUT:.*]]: tensor<1x32x1x128xf32>)
  // CHECK-SAME:    -> (tensor<1x32x1x128xf32>, !cache, tensor<1xi64>)
  // CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
  // CHECK:         %[[K1:.*]] = kvq.append ins(%[[X]] : tensor<1x8x1x128xf16>) lengths(%[[N]] : tensor<1xi64>) flushed(%[[F]] : tensor<1xi64>) into(%[[K]] : !cache) -> !cache
  // CHECK:         %[[F2:.*]] = kvq.forall (%{{.*}}) in ({{.*}}) inits(%[[F1:.*]] = %[[F]] :
  // CHECK:         %[[OLD:.*]] = tensor.extract %[[F1]]
  // CHECK:         %[[LENGTH:.*]] = tensor.extract %[[N]]
  // CHECK:         %[[BEFORE:.*]] = arith.index_cast %[[LENGTH]] : i64 to index
  // CHECK:         %[[BEYOND:.*]] = arith.addi %[[BEFORE]], %c-31 : index
  // CHECK:         %[[HELD:.*]] = arith.maxsi %[[BEYOND]], %[[C0]] : index
  // CHECK:         %[[GROUPS:.*]] = arith.divui %[[HELD]], %[[C32]] : index
  // CHECK:         %[[ROWS:.*]] = arith.muli %[[GROUPS]], %[[C32]] : index
  // CHECK:         %[[NEW:.*]] = arith.index_cast %[[ROWS]] : index to i64
  // CHECK:         %[[MOST:.*]] = arith.maxsi %[[OLD]], %[[NEW]] : i64
  // CHECK:         tensor.insert %[[MOST]] into %[[F1]]
  // CHECK:         %[[O:.*]] = kvq.attention ins(%[[Q]], %[[K1]], %[[V]] : tensor<1x32x1x128xf32>, !cache, !cache1) lengths(%[[AFTER]] : tensor<1xi64>) key_flushed(%[[F2]] : tensor<1xi64>) outs(%[[OUT]]
  // CHECK:         return %[[O]], %[[K1]], %[[F2]]
  func.func @decode(%x: tensor<1x8x1x128xf16>, %q: tensor<1x32x1x128xf32>,
                    %k: !exact {kvq.layer = 3}, %v: !exact {kvq.layer = 3},
                    %n: tensor<1xi64>, %after: tensor<1xi64>,
                    %out: tensor<1x32x1x128xf32>) -> (tensor<1x32x1x128xf32>, !exact) {
    %k1 = kvq.append ins(%x : tensor<1x8x1x128xf16>) lengths(%n : tensor<1xi64>)
        into(%k : !exact) -> !exact
    %o = kvq.attention ins(%q, %k1, %v : tensor<1x32x1x128xf32>, !exact, !exact)
        lengths(%after : tensor<1xi64>) outs(%out : tensor<1x32x1x128xf32>)
        {scale = 0.125 : f32} -> tensor<1x32x1x128xf32>
    return %o, %k1 : tensor<1x32x1x128xf32>, !exact
  }
}

// -----

// Ranges of heads: the values of heads 2 and 3 stay exact, so that keys are cut
// alike, and attention is two ops. Counts are those of the host.

#k = #kvq.format<codes = i8, group = [1, *], scale = f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!exact = !kvq.cache<2x4x64x64xf16, #kvq.format<codes = none>>

// CHECK-DAG: !cache = !kvq.cache<2x2x64x64xf16, #format>
// CHECK-DAG: !cache1 = !kvq.cache<2x2x64x64xf16, #format1, recent = 5>
// CHECK-DAG: !cache2 = !kvq.cache<2x2x64x64xf16, #format2>
module attributes {kvq.policy = #kvq.policy<
    <side = keys, format = #k>,
    <side = values, heads = [0:2], format = #v, recent = 5>>} {
  // CHECK-LABEL: func.func @heads(
  // CHECK-SAME:    %[[Q:.*]]: tensor<2x12x?x64xf32>, %[[K0:.*]]: !cache, %[[K1:.*]]: !cache,
  // CHECK-SAME:    %[[V0:.*]]: !cache1, %[[F0:.*]]: tensor<2xi64>, %[[V1:.*]]: !cache2,
  // CHECK:         %[[X0:.*]] = tensor.extract_slice %[[X:.*]][0, 0, 0, 0] [2, 2, 3, 64] [1, 1, 1, 1]
  // CHECK:         %[[W0:.*]] = kvq.append ins(%[[X0]] : tensor<2x2x3x64xf16>) lengths(%[[N:.*]] : tensor<2xi64>) flushed(%[[F0]] : tensor<2xi64>) counts(%[[NEW:.*]] : tensor<2xi64>) into(%[[V0]] : !cache1) -> !cache1
  // CHECK:         %[[F1:.*]] = kvq.forall (%[[B:[a-z0-9]+]]) in ({{.*}}) inits(%[[FB:.*]] = %[[F0]] :
  // CHECK:           tensor.extract %[[NEW]][%[[B]]]
  // CHECK:         %[[X1:.*]] = tensor.extract_slice %[[X]][0, 2, 0, 0] [2, 2, 3, 64] [1, 1, 1, 1]
  // CHECK:         %[[W1:.*]] = kvq.append ins(%[[X1]] : tensor<2x2x3x64xf16>) lengths(%[[N]] : tensor<2xi64>) counts(%[[NEW]] : tensor<2xi64>) into(%[[V1]] : !cache2) -> !cache2
  // CHECK:         %[[Q0:.*]] = tensor.extract_slice %[[Q]][0, 0, 0, 0] [2, 6, %{{.*}}, 64] [1, 1, 1, 1]
  // CHECK:         %[[O0:.*]] = tensor.extract_slice %[[OUT:.*]][0, 0, 0, 0] [2, 6, %{{.*}}, 64] [1, 1, 1, 1]
  // CHECK:         %[[A0:.*]] = kvq.attention ins(%[[Q0]], %[[K0]], %[[W0]] : {{.*}}) lengths(%{{.*}}) value_flushed(%[[F1]] : tensor<2xi64>) outs(%[[O0]] : {{.*}}) {scale = 1.000000e+00 : f32}
  // CHECK:         %[[R0:.*]] = tensor.insert_slice %[[A0]] into %[[OUT]][0, 0, 0, 0]
  // CHECK:         %[[Q1:.*]] = tensor.extract_slice %[[Q]][0, 6, 0, 0]
  // CHECK:         %[[O1:.*]] = tensor.extract_slice %[[R0]][0, 6, 0, 0]
  // CHECK:         %[[A1:.*]] = kvq.attention ins(%[[Q1]], %[[K1]], %[[W1]] : {{.*}}) lengths(%{{.*}}) outs(%[[O1]]
  // CHECK:         %[[R1:.*]] = tensor.insert_slice %[[A1]] into %[[R0]][0, 6, 0, 0]
  // CHECK:         return %[[R1]], %[[W0]], %[[F1]], %[[W1]]
  func.func @heads(%q: tensor<2x12x?x64xf32>, %k: !exact, %v: !exact, %x: tensor<2x4x3x64xf16>,
                   %n: tensor<2xi64>, %new: tensor<2xi64>, %after: tensor<2xi64>,
                   %out: tensor<2x12x?x64xf32>) -> (tensor<2x12x?x64xf32>, !exact) {
    %v1 = kvq.append ins(%x : tensor<2x4x3x64xf16>) lengths(%n : tensor<2xi64>)
        counts(%new : tensor<2xi64>) into(%v : !exact) -> !exact
    %o = kvq.attention ins(%q, %k, %v1 : tensor<2x12x?x64xf32>, !exact, !exact)
        lengths(%after : tensor<2xi64>) outs(%out : tensor<2x12x?x64xf32>)
        {scale = 1.0 : f32} -> tensor<2x12x?x64xf32>
    return %o, %v1 : tensor<2x12x?x64xf32>, !exact
  }

  // What query heads have of their own is cut as they are; a mask that they share
  // is not.
  // CHECK-LABEL: func.func @variants(
  // CHECK-SAME:    %[[Q:.*]]: tensor<2x12x1x64xf32>, {{.*}}, %[[M:.*]]: tensor<2x1x1x?xi8>, %[[S:.*]]: tensor<12xf32>, %[[OUT:.*]]: tensor<2x12x1x64xf32>, %[[LSE:.*]]: tensor<2x12x1xf32>)
  // CHECK:         %[[S1:.*]] = tensor.extract_slice %[[S]][6] [6] [1]
  // CHECK:         %[[A1:.*]], %[[ALSE:.*]] = kvq.attention {{.*}} mask(%[[M]] : tensor<2x1x1x?xi8>) slopes(%[[S1]] : tensor<6xf32>) sinks(%{{.*}} : tensor<6xf32>)
  // CHECK:         %[[R1:.*]] = tensor.insert_slice %[[A1]] into %{{.*}}[0, 6, 0, 0]
  // CHECK:         %[[L1:.*]] = tensor.insert_slice %[[ALSE]] into %{{.*}}[0, 6, 0] [2, 6, 1]
  // CHECK:         return %[[R1]], %[[L1]]
  func.func @variants(%q: tensor<2x12x1x64xf32>, %k: !exact, %v: !exact, %n: tensor<2xi64>,
                      %m: tensor<2x1x1x?xi8>, %s: tensor<12xf32>, %out: tensor<2x12x1x64xf32>,
                      %lse: tensor<2x12x1xf32>) -> (tensor<2x12x1x64xf32>, tensor<2x12x1xf32>) {
    %o:2 = kvq.attention ins(%q, %k, %v : tensor<2x12x1x64xf32>, !exact, !exact)
        lengths(%n : tensor<2xi64>) mask(%m : tensor<2x1x1x?xi8>) slopes(%s : tensor<12xf32>)
        sinks(%s : tensor<12xf32>) outs(%out, %lse : tensor<2x12x1x64xf32>, tensor<2x12x1xf32>)
        {scale = 1.0 : f32} -> tensor<2x12x1x64xf32>, tensor<2x12x1xf32>
    return %o#0, %o#1 : tensor<2x12x1x64xf32>, tensor<2x12x1xf32>
  }
}

// -----

// Through calls, loops and declarations; the layer of an op is that of its
// caches. Layer 1 stays exact.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = none>>
!x = tensor<2x2x1x64xf16>
!n = tensor<2xi64>

// CHECK-DAG: !cache = !kvq.cache<2x2x?x64xf16, #format, residual = 16>
// CHECK-DAG: !cache1 = !kvq.cache<2x2x?x64xf16, #format1>
module attributes {kvq.policy = #kvq.policy<
    <format = #f, residual = 16>, <layers = [1], format = #kvq.format<codes = none>>>} {
  // CHECK: func.func private @make() -> (!cache, tensor<2xi64>)
  func.func private @make() -> !exact
  // CHECK: func.func private @step(%{{.*}}: !cache, %{{.*}}: tensor<2xi64>, %{{.*}}: tensor<2x2x1x64xf16>, %{{.*}}: tensor<2xi64>) -> (!cache, tensor<2xi64>)
  func.func private @step(%c: !exact, %x: !x, %n: !n) -> !exact {
    %0 = kvq.append ins(%x : !x) lengths(%n : !n) into(%c : !exact) {kvq.layer = 0, kvq.side = #kvq.side<keys>} -> !exact
    return %0 : !exact
  }
  // CHECK-LABEL: func.func @life(
  // CHECK-SAME:    %[[OTHER:.*]]: !cache1 {kvq.layer = 1 : i64}
  func.func @life(%other: !exact {kvq.layer = 1}, %x: !x, %n: !n, %sources: !n, %steps: index, %p: i1) -> !exact {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[MADE:.*]]:2 = call @make() : () -> (!cache, tensor<2xi64>)
    %made = call @make() : () -> !exact
    // CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[C:.*]] = %[[MADE]]#0, %[[F:.*]] = %[[MADE]]#1) -> (!cache, tensor<2xi64>)
    %loop = scf.for %i = %c0 to %steps step %c1 iter_args(%c = %made) -> !exact {
      // CHECK: %[[STEP:.*]]:2 = func.call @step(%[[C]], %[[F]],
      %0 = func.call @step(%c, %x, %n) : (!exact, !x, !n) -> !exact
      // CHECK: scf.yield %[[STEP]]#0, %[[STEP]]#1
      scf.yield %0 : !exact
    }
    // CHECK: %[[EMPTY:.*]] = kvq.empty(%{{.*}}) : !cache
    %empty = kvq.empty(%steps) : !exact
    // CHECK: %[[COPY:.*]] = kvq.reorder ins(%[[LOOP]]#0 : !cache) sources(%[[SOURCES:.*]] : tensor<2xi64>) lengths(%{{.*}}) flushed(%[[LOOP]]#1 : tensor<2xi64>) into(%[[EMPTY]] : !cache) -> !cache
    // CHECK: %[[FLUSHED:.*]] = kvq.forall
    // CHECK:   %[[OLD:.*]] = tensor.extract
    // CHECK:   tensor.extract %[[SOURCES]]
    // CHECK:   %[[IS_COPIED:.*]] = arith.cmpi sge
    // CHECK:   %[[NEW:.*]] = tensor.extract %[[LOOP]]#1
    // CHECK:   arith.select %[[IS_COPIED]], %[[NEW]], %[[OLD]]
    %copy = kvq.reorder ins(%loop : !exact) sources(%sources : !n) lengths(%n : !n) into(%empty : !exact) -> !exact
    // CHECK: scf.if %{{.*}} -> (!cache, tensor<2xi64>)
    %r = scf.if %p -> !exact {
      // CHECK: %[[LONGER:.*]]:2 = func.call @step(%[[COPY]], %[[FLUSHED]],
      // CHECK: scf.yield %[[LONGER]]#0, %[[LONGER]]#1
      %longer = func.call @step(%copy, %x, %n) : (!exact, !x, !n) -> !exact
      scf.yield %longer : !exact
    } else {
      // CHECK: scf.yield %[[LOOP]]#0, %[[LOOP]]#1
      scf.yield %loop : !exact
    }
    return %r : !exact
  }
}

// -----

// Pages stay, and page tables with them; packed tokens are counted by their
// starts.

#f = #kvq.format<codes = ui4, group = [8, 1], scale = f16, zero = min f16>
!exact = !kvq.cache<2x4x?x64xf16, #kvq.format<codes = none>, page = 16>

// CHECK: !cache = !kvq.cache<2x2x?x64xf16, #format, recent = 0, page = 16>
module attributes {kvq.policy = #kvq.policy<
    <heads = [0:2], format = #f, recent = 0>,
    <heads = [2:4], format = #kvq.format<codes = i8, group = [1, *], scale = f16>>>} {
  // CHECK-LABEL: func.func @packed(
  // CHECK-SAME:    %[[C0:.*]]: !cache {kvq.side = #kvq.side<keys>}, %[[F:.*]]: tensor<2xi64>, %[[C1:.*]]: !cache1 {kvq.side = #kvq.side<keys>}, %[[X:.*]]: tensor<?x4x64xf16>,
  // CHECK:         %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [%{{.*}}, 2, 64] [1, 1, 1]
  // CHECK:         kvq.append ins(%[[X0]] : tensor<?x2x64xf16>) lengths(%{{.*}}) flushed(%[[F]] : tensor<2xi64>) pages(%[[T:.*]] : tensor<2x8xi64>) starts(%[[S:.*]] : tensor<3xi64>)
  // CHECK:         kvq.forall (%[[B:[a-z0-9]+]]) in
  // CHECK:           %[[NEXT:.*]] = arith.addi %[[B]], %c1
  // CHECK:           tensor.extract %[[S]][%[[NEXT]]]
  // CHECK:           tensor.extract %[[S]][%[[B]]]
  // CHECK:           arith.subi
  // CHECK:         %[[X1:.*]] = tensor.extract_slice %[[X]][0, 2, 0] [%{{.*}}, 2, 64] [1, 1, 1]
  // CHECK:         kvq.append ins(%[[X1]] : tensor<?x2x64xf16>) lengths(%{{.*}}) pages(%[[T]] : tensor<2x8xi64>) starts(%[[S]] : tensor<3xi64>) into(%[[C1]] : !cache1)
  func.func @packed(%c: !exact {kvq.side = #kvq.side<keys>}, %x: tensor<?x4x64xf16>, %n: tensor<2xi64>,
                    %starts: tensor<3xi64>, %pages: tensor<2x8xi64>) -> !exact {
    %0 = kvq.append ins(%x : tensor<?x4x64xf16>) lengths(%n : tensor<2xi64>)
        pages(%pages : tensor<2x8xi64>) starts(%starts : tensor<3xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

// A shift drops any tokens, which caches without windows and token groups allow.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<heads = [0], format = #f>>} {
  // CHECK-LABEL: func.func @shift(%{{.*}}: !cache, %{{.*}}: !cache1,
  func.func @shift(%c: !exact, %begin: tensor<1xi64>, %count: tensor<1xi64>, %n: tensor<1xi64>) -> !exact {
    // CHECK: %[[A:.*]] = kvq.shift {{.*}} : !cache) -> !cache
    // CHECK: %[[B:.*]] = kvq.shift {{.*}} : !cache1) -> !cache1
    // CHECK: return %[[A]], %[[B]]
    %0 = kvq.shift drop(%begin, %count : tensor<1xi64>, tensor<1xi64>) lengths(%n : tensor<1xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

// Keys before RoPE stay so; values have a format of their own.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16, rope = pre>
#g = #kvq.format<codes = i8, group = [1, *], scale = f16>
!before = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none, rope = pre>>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<side = keys, format = #f>, <side = values, format = #g>>} {
  // CHECK-LABEL: func.func @rope(
  // CHECK: kvq.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x4x1x64xf32>, !cache, !cache1)
  // CHECK-SAME: rope(%{{.*}}, %{{.*}} : tensor<?x16xf32>, tensor<?x16xf32>)
  // CHECK-SAME: rope_style = #kvq.rope_style<interleaved>
  func.func @rope(%q: tensor<1x4x1x64xf32>, %k: !before, %v: !exact, %n: tensor<1xi64>,
                  %t: tensor<?x16xf32>, %out: tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32> {
    %0 = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !before, !exact)
        lengths(%n : tensor<1xi64>) rope(%t, %t : tensor<?x16xf32>, tensor<?x16xf32>)
        outs(%out : tensor<1x4x1x64xf32>)
        {scale = 0.125 : f32, rope_style = #kvq.rope_style<interleaved>} -> tensor<1x4x1x64xf32>
    return %0 : tensor<1x4x1x64xf32>
  }
}

// -----

// A row of several formats; its windows are those of the segment with codes.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
#row = #kvq.segments<[0:32] = #f, [32:64] = none>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// CHECK: !cache = !kvq.cache<1x2x?x64xf16, #kvq.segments<[0:32] = #format, [32:64] = none>, recent = 4>
module attributes {kvq.policy = #kvq.policy<<side = keys, format = #row, recent = 4>>} {
  // CHECK-LABEL: func.func @segments(
  // CHECK-SAME:    %{{.*}}: !cache {kvq.side = #kvq.side<keys>}, %[[F:.*]]: tensor<1xi64>,
  func.func @segments(%c: !exact {kvq.side = #kvq.side<keys>}, %x: tensor<1x2x1x64xf16>, %n: tensor<1xi64>) -> !exact {
    // CHECK: kvq.append ins(%{{.*}}) lengths(%{{.*}}) flushed(%[[F]] : tensor<1xi64>) into(%{{.*}} : !cache) -> !cache
    %0 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

// Slots of tokens serve the heads of each entry.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<2x4x?x64xf16, #kvq.format<codes = none>, page = 16>

module attributes {kvq.policy = #kvq.policy<<heads = [1:4], format = #f>>} {
  // CHECK-LABEL: func.func @slots(
  // CHECK-SAME:    %[[C0:.*]]: !cache {{{.*}}}, %[[C1:.*]]: !cache1 {{{.*}}}, %[[X:.*]]: tensor<?x4x64xf16>, %[[S:.*]]: tensor<?xi64>)
  // CHECK:         %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [%{{.*}}, 1, 64] [1, 1, 1]
  // CHECK:         kvq.append ins(%[[X0]] : tensor<?x1x64xf16>) slots(%[[S]] : tensor<?xi64>) into(%[[C0]] : !cache)
  // CHECK:         %[[X1:.*]] = tensor.extract_slice %[[X]][0, 1, 0] [%{{.*}}, 3, 64] [1, 1, 1]
  // CHECK:         kvq.append ins(%[[X1]] : tensor<?x3x64xf16>) slots(%[[S]] : tensor<?xi64>) into(%[[C1]] : !cache1)
  func.func @slots(%c: !exact {kvq.side = #kvq.side<keys>}, %x: tensor<?x4x64xf16>, %slots: tensor<?xi64>) -> !exact {
    %0 = kvq.append ins(%x : tensor<?x4x64xf16>) slots(%slots : tensor<?xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

// Keys of each range of heads are turned by the same tables.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<2x4x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<heads = [1:4], format = #f>>} {
  // CHECK-LABEL: func.func @turned(
  // CHECK:         kvq.append ins(%{{.*}} : tensor<2x1x3x64xf16>) {{.*}} rope(%[[COS:.*]], %[[SIN:.*]] : tensor<?x24xf32>, tensor<?x24xf32>) into(%{{.*}}) {kvq.side = #kvq.side<keys>, rope_style = #kvq.rope_style<interleaved>}
  // CHECK:         kvq.append ins(%{{.*}} : tensor<2x3x3x64xf16>) {{.*}} rope(%[[COS]], %[[SIN]] : tensor<?x24xf32>, tensor<?x24xf32>) into(%{{.*}}) {kvq.side = #kvq.side<keys>, rope_style = #kvq.rope_style<interleaved>}
  func.func @turned(%c: !exact, %x: tensor<2x4x3x64xf16>, %n: tensor<2xi64>, %cos: tensor<?x24xf32>, %sin: tensor<?x24xf32>) -> !exact {
    %0 = kvq.append ins(%x : tensor<2x4x3x64xf16>) lengths(%n : tensor<2xi64>)
        rope(%cos, %sin : tensor<?x24xf32>, tensor<?x24xf32>) into(%c : !exact)
        {kvq.side = #kvq.side<keys>, rope_style = #kvq.rope_style<interleaved>} -> !exact
    return %0 : !exact
  }
}
