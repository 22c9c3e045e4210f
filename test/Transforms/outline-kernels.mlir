// RUN: kvq-opt %s --kvq-outline-kernels --split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-cpu-pipeline --split-input-file | FileCheck %s --check-prefix=LLVM

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
!q = tensor<1x4x1x64xf32>
!x = tensor<1x2x1x64xf16>
!n = tensor<1xi64>

// Two layers of three are alike; what is asked of the third differs. The labels
// go.
// CHECK-LABEL: func.func @layers(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x1x64xf16>, %[[Q:[^:]*]]: tensor<1x4x1x64xf32>, %[[K0:[^:]*]]: !cache, %[[V0:[^:]*]]: !cache, %[[K1:[^:]*]]: !cache, %[[V1:[^:]*]]: !cache, %[[N:[^:]*]]: tensor<1xi64>, %[[M:[^:]*]]: tensor<1xi64>, %[[O:[^:]*]]: tensor<1x4x1x64xf32>)
// CHECK:         %[[A0:.*]] = call @kvq_append(%[[X]], %[[K0]], %[[N]])
// CHECK:         %[[A1:.*]] = call @kvq_append(%[[X]], %[[K1]], %[[N]])
// CHECK:         %[[R0:.*]] = call @kvq_attention(%[[Q]], %[[A0]], %[[V0]], %[[M]], %[[O]])
// CHECK:         %[[R1:.*]] = call @kvq_attention(%[[R0]], %[[A1]], %[[V1]], %[[M]], %[[O]])
// CHECK:         kvq.attention ins(%[[R1]], {{.*}} {scale = 5.000000e-01 : f32}
// CHECK:         return
// CHECK:       func.func private @kvq_append(%[[X:.*]]: tensor<1x2x1x64xf16>, %[[C:.*]]: !cache, %[[N:.*]]: tensor<1xi64>) -> !cache {
// CHECK:         %[[R:.*]] = kvq.append ins(%[[X]] : tensor<1x2x1x64xf16>) lengths(%[[N]] : tensor<1xi64>) into(%[[C]] : !cache) -> !cache
// CHECK:         return %[[R]]
// CHECK:       func.func private @kvq_attention(
// CHECK:         kvq.attention {{.*}} {scale = 1.000000e+00 : f32}

// The kernels of the calls, and the third op's in its place.
// LLVM-LABEL: llvm.func @layers(
// LLVM-COUNT-2: llvm.call @kvq_append
// LLVM-COUNT-2: llvm.call @kvq_attention
// LLVM-NOT:     llvm.call
// LLVM-LABEL: llvm.func @kvq_append(
// LLVM-LABEL: llvm.func @kvq_attention(
func.func @layers(%x: !x, %q: !q, %k0: !c, %v0: !c, %k1: !c, %v1: !c, %n: !n, %m: !n, %o: !q) -> (!q, !c, !c) {
  %a0 = kvq.append ins(%x : !x) lengths(%n : !n) into(%k0 : !c) {kvq.layer = 0} -> !c
  %a1 = kvq.append ins(%x : !x) lengths(%n : !n) into(%k1 : !c) {kvq.layer = 1} -> !c
  %r0 = kvq.attention ins(%q, %a0, %v0 : !q, !c, !c) lengths(%m : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  %r1 = kvq.attention ins(%r0, %a1, %v1 : !q, !c, !c) lengths(%m : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  %r2 = kvq.attention ins(%r1, %a1, %v1 : !q, !c, !c) lengths(%m : !n) outs(%o : !q) {scale = 0.5 : f32} -> !q
  return %r2, %a0, %a1 : !q, !c, !c
}

// -----

// Rows of one cache and rows of two are not read alike. A name that is taken is
// left to its owner.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
!q = tensor<1x4x1x64xf32>
!n = tensor<1xi64>

// CHECK-LABEL: func.func @latent(
// CHECK:         %[[A:.*]] = kvq.attention
// CHECK:         %[[B:.*]] = call @kvq_attention_0(%[[A]], %[[K:.*]], %[[N:.*]], %[[O:.*]])
// CHECK:         call @kvq_attention_0(%[[B]], %[[K]], %[[N]], %[[O]])
// CHECK:       func.func private @kvq_attention_0(%[[Q:.*]]: tensor<1x4x1x64xf32>, %[[C:.*]]: !cache, %{{.*}}: tensor<1xi64>, %{{.*}}: tensor<1x4x1x64xf32>)
// CHECK:         kvq.attention ins(%[[Q]], %[[C]], %[[C]] :
// LLVM-LABEL: llvm.func @latent(
func.func @latent(%q: !q, %k: !c, %v: !c, %n: !n, %o: !q) -> !q {
  %0 = kvq.attention ins(%q, %k, %v : !q, !c, !c) lengths(%n : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  %1 = kvq.attention ins(%0, %k, %k : !q, !c, !c) lengths(%n : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  %2 = kvq.attention ins(%1, %k, %k : !q, !c, !c) lengths(%n : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  return %2 : !q
}
func.func private @kvq_attention()

// -----

// Parts of tensors stay in place: as arguments they would be copied.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
!q = tensor<1x4x1x64xf32>
!n = tensor<1xi64>

// CHECK-LABEL: func.func @slices(
// CHECK-COUNT-2: kvq.attention
// LLVM-LABEL: llvm.func @slices(
// LLVM-NOT:     llvm.call
func.func @slices(%q: tensor<1x8x1x64xf32>, %k: !c, %v: !c, %n: !n, %o: !q) -> !q {
  %a = tensor.extract_slice %q[0, 0, 0, 0] [1, 4, 1, 64] [1, 1, 1, 1] : tensor<1x8x1x64xf32> to !q
  %b = tensor.extract_slice %q[0, 4, 0, 0] [1, 4, 1, 64] [1, 1, 1, 1] : tensor<1x8x1x64xf32> to !q
  %0 = kvq.attention ins(%a, %k, %v : !q, !c, !c) lengths(%n : !n) outs(%o : !q) {scale = 1.0 : f32} -> !q
  %1 = kvq.attention ins(%b, %k, %v : !q, !c, !c) lengths(%n : !n) outs(%0 : !q) {scale = 1.0 : f32} -> !q
  return %1 : !q
}

// -----

// Appends that turn keys are equal where their tables and pairs are.

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
!x = tensor<1x2x1x64xf16>
!n = tensor<1xi64>
!t = tensor<?x32xf32>

// CHECK-LABEL: func.func @turned(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x2x1x64xf16>, %[[A:[^:]*]]: !cache, %[[B:[^:]*]]: !cache, %[[N:[^:]*]]: tensor<1xi64>, %[[COS:[^:]*]]: tensor<?x32xf32>, %[[SIN:[^:]*]]: tensor<?x32xf32>)
// CHECK:         call @kvq_append(%[[X]], %[[A]], %[[N]], %[[COS]], %[[SIN]])
// CHECK:         call @kvq_append(%[[X]], %[[B]], %[[N]], %[[COS]], %[[SIN]])
// CHECK:         kvq.append {{.*}} {rope_style = #kvq.rope_style<interleaved>}
// CHECK:         kvq.append ins(%{{.*}}) lengths(%{{.*}}) into(
// CHECK:       func.func private @kvq_append(
// CHECK:         kvq.append {{.*}} rope(%{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<?x32xf32>) into(
// LLVM-LABEL: llvm.func @turned(
func.func @turned(%x: !x, %a: !c, %b: !c, %n: !n, %cos: !t, %sin: !t) -> (!c, !c) {
  %a0 = kvq.append ins(%x : !x) lengths(%n : !n) rope(%cos, %sin : !t, !t) into(%a : !c) -> !c
  %b0 = kvq.append ins(%x : !x) lengths(%n : !n) rope(%cos, %sin : !t, !t) into(%b : !c) -> !c
  %a1 = kvq.append ins(%x : !x) lengths(%n : !n) rope(%cos, %sin : !t, !t) into(%a0 : !c) {rope_style = #kvq.rope_style<interleaved>} -> !c
  %b1 = kvq.append ins(%x : !x) lengths(%n : !n) into(%b0 : !c) -> !c
  return %a1, %b1 : !c, !c
}
