// Ops of MLIR's dialects and of dialects that nobody knows stay as they are beside
// kvq's, through every stage: their operands and results are kept, their regions
// walked for ops of kvq, and their attributes left alone.

// RUN: kvq-opt %s --allow-unregistered-dialect | kvq-opt --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,READ
// RUN: kvq-opt %s --allow-unregistered-dialect --emit-bytecode | kvq-opt --allow-unregistered-dialect | FileCheck %s --check-prefixes=CHECK,READ
// RUN: kvq-opt %s --allow-unregistered-dialect --kvq-tile-pipeline | FileCheck %s --check-prefixes=CHECK,LOWERED

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!cache = !kvq.cache<1x2x128x64xf16, #i8>

// CHECK-LABEL: func.func @model(
func.func @model(%x: tensor<1x2x1x64xf16>, %q: tensor<1x4x1x64xf32>, %k: !cache, %v: !cache,
                 %n: tensor<1xi64>, %after: tensor<1xi64>, %out: tensor<1x4x1x64xf32>, %layers: index)
    -> (tensor<1x4x1x64xf32>, !cache) {
  // READ:     %[[Q:.*]] = "model.project"(%{{.*}}) <{weights = #model.weights<"q", [1, 2]>}> ({
  // LOWERED:  %[[Q:.*]] = "model.project"(%{{.*}}) <{weights = #model.weights<"q", [1, 2]>}> ({
  // CHECK:      ^bb0(%[[B:.*]]: !model.token<4>):
  // CHECK-NEXT:   "model.yield"(%[[B]]) {model.note = "kept"} : (!model.token<4>) -> ()
  // CHECK-NEXT: }) : (tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32>
  %0 = "model.project"(%q) <{weights = #model.weights<"q", [1, 2]>}> ({
  ^bb0(%token: !model.token<4>):
    "model.yield"(%token) {model.note = "kept"} : (!model.token<4>) -> ()
  }) : (tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // A cache runs through a loop beside what is not kvq's.
  // READ:     kvq.append
  // READ:     kvq.attention
  // LOWERED-NOT: kvq.append
  // LOWERED-NOT: kvq.attention
  %r:2 = scf.for %i = %c0 to %layers step %c1 iter_args(%a = %0, %c = %k) -> (tensor<1x4x1x64xf32>, !cache) {
    %k1 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !cache) -> !cache
    %o = kvq.attention ins(%a, %k1, %v : tensor<1x4x1x64xf32>, !cache, !cache)
        lengths(%after : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
        {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
    // CHECK: %[[N:.*]] = "model.norm"(%{{.*}}) {epsilon = 1.562500e-02 : f32} : (tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32>
    %normed = "model.norm"(%o) {epsilon = 0.015625 : f32} : (tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32>
    // CHECK: linalg.add ins(%{{.*}}, %[[N]] : tensor<1x4x1x64xf32>, tensor<1x4x1x64xf32>)
    %sum = linalg.add ins(%a, %normed : tensor<1x4x1x64xf32>, tensor<1x4x1x64xf32>)
        outs(%out : tensor<1x4x1x64xf32>) -> tensor<1x4x1x64xf32>
    scf.yield %sum, %k1 : tensor<1x4x1x64xf32>, !cache
  }
  // CHECK: %[[SLICE:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1]
  // CHECK: "model.log"(%[[SLICE]]) : (tensor<1x64xf32>) -> ()
  %head = tensor.extract_slice %r#0[0, 0, 0, 0] [1, 1, 1, 64] [1, 1, 1, 1] : tensor<1x4x1x64xf32> to tensor<1x64xf32>
  "model.log"(%head) : (tensor<1x64xf32>) -> ()
  return %r#0, %r#1 : tensor<1x4x1x64xf32>, !cache
}

// An op that kvq does not know takes no tensors of its own into its region: kvq's ops
// in there are lowered as anywhere.
// CHECK-LABEL: func.func @region(
// CHECK:         "model.on_device"() ({
// READ:            kvq.attention
// LOWERED:         scf.forall
// CHECK:           "model.done"
// CHECK:         }) {device = 3 : i64} : () -> ()
func.func @region(%q: tensor<1x4x1x64xf32>, %k: !cache, %v: !cache, %n: tensor<1xi64>, %out: tensor<1x4x1x64xf32>) {
  "model.on_device"() ({
    %o = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, !cache, !cache)
        lengths(%n : tensor<1xi64>) outs(%out : tensor<1x4x1x64xf32>)
        {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
    "model.done"(%o) : (tensor<1x4x1x64xf32>) -> ()
  }) {device = 3} : () -> ()
  return
}
