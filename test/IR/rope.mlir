// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// Keys before RoPE: of any format, in windows, pages and segments.

// CHECK-DAG: #[[I4:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax, rope = pre, layout = #kvq.layout<codes = stream>>
// CHECK-DAG: #[[EXACT:[a-z0-9]+]] = #kvq.format<codes = none, rope = pre>
// CHECK-DAG: #[[POST:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax>
// CHECK-DAG: #kvq.segments<[0:32] = #[[POST]], [32:48] = none, [48:64] = #[[EXACT]]>
#i4 = #kvq.format<rope = pre, codes = i4, group = [1, 16], scale = f16, layout = #kvq.layout<codes = stream>>
#exact = #kvq.format<codes = none, rope = pre>
#plain = #kvq.format<codes = none, rope = post>
#post = #kvq.format<codes = i4, group = [1, 16], scale = f16, rope = post>

!k = !kvq.cache<2x2x?x64xf16, #i4, exact_first = 2, recent = 8>
!e = !kvq.cache<2x2x?x64xf16, #exact, page = 16>
!s = !kvq.cache<2x2x?x64xf16, #kvq.segments<[0:32] = #post, [32:48] = #plain, [48:64] = #exact>>
!p = !kvq.cache<2x2x?x64xf16, #post, recent = 8>
!o = !kvq.cache<2x2x?x64xf16, #post, page = 16>

// CHECK-LABEL: func.func @caches(
func.func @caches(%k: !k, %e: !e, %s: !s) {
  return
}

// CHECK-LABEL: func.func @shift(
func.func @shift(%c: !p, %k: !k, %n: tensor<2xi64>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>) {
  // CHECK: kvq.shift drop(%[[N:.*]], %[[N]] : tensor<2xi64>, tensor<2xi64>) lengths(%[[N]] : tensor<2xi64>) flushed(%[[N]] : tensor<2xi64>) rope(%[[COS:.*]], %[[SIN:.*]] : tensor<?x32xf32>, tensor<?x32xf32>) into(%{{.*}} : ![[P:.*]]) -> ![[P]]
  %0 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !p) -> !p
  // CHECK: rope(%[[COS]], %[[SIN]] : {{.*}}) into(%{{.*}}) {rope_style = #kvq.rope_style<interleaved>} -> ![[P]]
  %1 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>) into(%0 : !p) {rope_style = #kvq.rope_style<interleaved>} -> !p
  // CHECK: kvq.shift {{.*}} flushed(%[[N]] : tensor<2xi64>) into(
  %2 = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      into(%k : !k) -> !k
  return
}

// CHECK-LABEL: func.func @append(
func.func @append(%x: tensor<2x2x?x64xf32>, %y: tensor<?x2x64xf16>, %c: !p, %o: !o, %s: !s, %n: tensor<2xi64>,
                  %i: tensor<?xi64>, %t: tensor<2x?xi64>, %cos: tensor<?x32xf32>, %sin: tensor<?x32xf32>,
                  %short: tensor<?x5xf32>, %count: tensor<2x2xi64>) {
  // CHECK: kvq.append ins(%{{.*}} : tensor<2x2x?x64xf32>) lengths(%[[N:.*]] : tensor<2xi64>) flushed(%[[N]] : tensor<2xi64>) counts(%[[N]] : tensor<2xi64>) rope(%[[COS:.*]], %[[SIN:.*]] : tensor<?x32xf32>, tensor<?x32xf32>) saturated(%{{.*}} : tensor<2x2xi64>) into(%{{.*}} : ![[P:.*]]) -> ![[P]], tensor<2x2xi64>
  %0:2 = kvq.append ins(%x : tensor<2x2x?x64xf32>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      counts(%n : tensor<2xi64>) rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>)
      saturated(%count : tensor<2x2xi64>) into(%c : !p) -> !p, tensor<2x2xi64>
  // CHECK: kvq.append {{.*}} slots(%[[I:.*]] : tensor<?xi64>) positions(%[[I]] : tensor<?xi64>) rope(%[[COS]], %[[SIN]] : {{.*}}) into(%{{.*}}) {rope_style = #kvq.rope_style<interleaved>}
  %1 = kvq.append ins(%y : tensor<?x2x64xf16>) slots(%i : tensor<?xi64>) positions(%i : tensor<?xi64>)
      rope(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>) into(%o : !o) {rope_style = #kvq.rope_style<interleaved>} -> !o
  // CHECK: kvq.append {{.*}} rope(%{{.*}}, %{{.*}} : tensor<?x5xf32>, tensor<?x5xf32>) into(%{{.*}}) {rope_segment = 1 : i64}
  %2 = kvq.append ins(%x : tensor<2x2x?x64xf32>) lengths(%n : tensor<2xi64>)
      rope(%short, %short : tensor<?x5xf32>, tensor<?x5xf32>) into(%s : !s) {rope_segment = 1 : i64} -> !s
  return
}

// CHECK-LABEL: func.func @attention(
func.func @attention(%q: tensor<2x4x1x64xf32>, %k: !e, %s: !s, %v: !p, %n: tensor<2xi64>, %t: tensor<2x?xi64>,
                     %cos: tensor<?x20xf32>, %sin: tensor<?x20xf32>, %short: tensor<?x8xf32>, %out: tensor<2x4x1x64xf32>) {
  // CHECK: kvq.attention {{.*}} key_pages(%{{.*}} : tensor<2x?xi64>) rope(%[[COS:.*]], %[[SIN:.*]] : tensor<?x20xf32>, tensor<?x20xf32>) outs(%{{.*}} : tensor<2x4x1x64xf32>) {rope_style = #kvq.rope_style<interleaved>, scale = 1.250000e-01 : f32}
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x4x1x64xf32>, !e, !p) lengths(%n : tensor<2xi64>)
      value_flushed(%n : tensor<2xi64>) key_pages(%t : tensor<2x?xi64>)
      rope(%cos, %sin : tensor<?x20xf32>, tensor<?x20xf32>) outs(%out : tensor<2x4x1x64xf32>)
      {scale = 0.125 : f32, rope_style = #kvq.rope_style<interleaved>} -> tensor<2x4x1x64xf32>
  // CHECK: kvq.attention {{.*}} rope(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32>) outs(%{{.*}} : tensor<2x4x1x64xf32>) {scale = 1.250000e-01 : f32}
  %1 = kvq.attention ins(%q, %s, %v : tensor<2x4x1x64xf32>, !s, !p) lengths(%n : tensor<2xi64>)
      value_flushed(%n : tensor<2xi64>)
      rope(%short, %short : tensor<?x8xf32>, tensor<?x8xf32>) outs(%out : tensor<2x4x1x64xf32>)
      {scale = 0.125 : f32} -> tensor<2x4x1x64xf32>
  return
}

// CHECK-LABEL: func.func @partial(
func.func @partial(%q: tensor<2x64xf32>, %k: !k, %v: !p, %b: index, %acc: tensor<2x64xf32>, %max: tensor<2xf32>,
                   %cos: tensor<?x32xf32>) {
  // CHECK: kvq.partial_attention {{.*}} rope(%[[T:.*]], %[[T]] : tensor<?x32xf32>, tensor<?x32xf32>) outs(
  // CHECK-SAME: {rope_style = #kvq.rope_style<half>}
  %0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x64xf32>, !k, !p) at [%b, %b] tokens [%b to %b] flushed [%b, %b]
      rope(%cos, %cos : tensor<?x32xf32>, tensor<?x32xf32>)
      outs(%acc, %max, %max : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>)
      {rope_style = #kvq.rope_style<half>} -> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>
  return
}
