// RUN: kvq-opt %s --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=PURE
// RUN: kvq-opt %s --loop-invariant-code-motion --split-input-file | FileCheck %s --check-prefix=LICM
// RUN: kvq-opt %s --inline --split-input-file | FileCheck %s --check-prefix=INLINE

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// Memory effects: an unused op goes, equal ones become one.

// PURE-LABEL: func.func @pure
// PURE-COUNT-1: kvq.dequantize
// PURE-NOT: kvq.
// PURE: return
func.func @pure(%c: tensor<4x64xi8>, %s: tensor<4x2xf16>, %y: tensor<4x64xf32>,
    %b: tensor<4x32xi8>) -> (tensor<4x64xf32>, tensor<4x64xf32>) {
  %p = kvq.pack #f ins(%c : tensor<4x64xi8>) outs(%b : tensor<4x32xi8>) -> tensor<4x32xi8>
  %0 = kvq.dequantize #f ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = kvq.dequantize #f ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>)
      outs(%y : tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0, %1 : tensor<4x64xf32>, tensor<4x64xf32>
}

// An op on values from outside a loop leaves it.

// LICM-LABEL: func.func @hoisted
// LICM: kvq.unpack
// LICM: scf.for
func.func @hoisted(%b: tensor<4x32xi8>, %c: tensor<4x64xi8>, %n: index) -> tensor<4x64xi8> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %c) -> tensor<4x64xi8> {
    %u = kvq.unpack #f ins(%b : tensor<4x32xi8>) outs(%c : tensor<4x64xi8>) -> tensor<4x64xi8>
    %o = arith.ori %a, %u : tensor<4x64xi8>
    scf.yield %o : tensor<4x64xi8>
  }
  return %r : tensor<4x64xi8>
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>

func.func private @append(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) -> !c {
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %r : !c
}

// INLINE-LABEL: func.func @inlined
// INLINE-NOT: call
// INLINE: kvq.append
func.func @inlined(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) -> !c {
  %r = call @append(%x, %n, %c) : (tensor<1x2x4x16xf16>, tensor<1xi64>, !c) -> !c
  return %r : !c
}
