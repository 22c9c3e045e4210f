// RUN: kvq-opt %s --kvq-raise-buffers -split-input-file | FileCheck %s --check-prefix=IR
// RUN: kvq-opt %s --kvq-raise-buffers -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-buffers --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=Missed

!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>

// CHECK: [Missed] RaiseBuffers | Category:kvq-raise-buffers | Function=late | Reason="the buffer is read after it is stored to", Remark="argument 1 stays a buffer"
// IR-LABEL: func @late
// IR-SAME:    memref<1x2x64x32xf32>
func.func @late(%q: tensor<1x4x1x32xf32>, %kb: memref<1x2x64x32xf32>, %n: tensor<1xi64>, %new: tensor<1x2x64x32xf32>)
    -> tensor<1x4x1x32xf32> {
  bufferization.materialize_in_destination %new in writable %kb
      : (tensor<1x2x64x32xf32>, memref<1x2x64x32xf32>) -> ()
  %k = bufferization.to_tensor %kb restrict : memref<1x2x64x32xf32> to tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k : tensor<1x2x64x32xf32> -> !c
  %o = kvq.attention ins(%q, %kc, %kc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o : tensor<1x4x1x32xf32>
}

// -----

// CHECK: [Missed] RaiseBuffers | Category:kvq-raise-buffers | Function=twice | Reason="the buffer is stored to more than once"
// CHECK: [Missed] RaiseBuffers | Category:kvq-raise-buffers | Function=twice | Reason="'memref.load' uses the buffer"
// CHECK: [Missed] RaiseBuffers | Category:kvq-raise-buffers | Function=twice | Reason="the buffer has strides or a memory space of its own"
// IR-LABEL: func @twice
// IR-SAME:    memref<4xf32>, %{{.+}}: memref<4xf32>, %{{.+}}: memref<4xf32, 3>
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @twice(%q: tensor<1x4x1x32xf32>, %c: !c, %a: memref<4xf32>, %b: memref<4xf32>, %s: memref<4xf32, 3>,
    %n: tensor<1xi64>, %i: index) -> (tensor<1x4x1x32xf32>, f32) {
  %x = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
  bufferization.materialize_in_destination %x in writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %x in writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  %y = bufferization.to_tensor %b restrict : memref<4xf32> to tensor<4xf32>
  bufferization.materialize_in_destination %y in writable %b : (tensor<4xf32>, memref<4xf32>) -> ()
  %f = memref.load %b[%i] : memref<4xf32>
  %z = bufferization.to_tensor %s restrict : memref<4xf32, 3> to tensor<4xf32>
  bufferization.materialize_in_destination %z in writable %s : (tensor<4xf32>, memref<4xf32, 3>) -> ()
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %f : tensor<1x4x1x32xf32>, f32
}

// -----

// Without attention nothing is looked at.
// IR-LABEL: func @other
// IR-SAME:    memref<4xf32>
func.func @other(%a: memref<4xf32>) {
  %x = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
  %y = arith.addf %x, %x : tensor<4xf32>
  bufferization.materialize_in_destination %y in writable %a : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
