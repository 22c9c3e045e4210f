// RUN: kvq-compile %s --emit=manifest --chip=sm_80,sm_90a --splits=2 | FileCheck %s

// What --emit=header says in C, by chip, as JSON: numbers that depend on sizes are
// an operator and its operands.

// CHECK-LABEL: "sm_80": {
// CHECK:         "decode": {
// CHECK:           "arguments": [
// CHECK:               "element": "f16",
// CHECK-NEXT:          "name": "argument0",
// CHECK-NEXT:          "shape": [
// CHECK-NEXT:            2,
// CHECK-NEXT:            8,
// CHECK-NEXT:            "argument0_size2",
// CHECK-NEXT:            64
// CHECK-NEXT:          ],
// CHECK-NEXT:          "written": false
// CHECK:               "element": "i8",
// CHECK-NEXT:          "name": "argument1_codes",
// CHECK:               "element": "f16",
// CHECK-NEXT:          "name": "argument1_scales",
// CHECK:           "launches": [
// CHECK:               "arguments": [
// CHECK:                   "array": "argument0",
// CHECK-NEXT:              "extents": [
// CHECK-NEXT:                2,
// CHECK-NEXT:                8,
// CHECK-NEXT:                "argument0_size2",
// CHECK-NEXT:                64
// CHECK:                   "array": "workspace{{[0-9]}}",
// CHECK:               "block": [
// CHECK-NEXT:            128,
// CHECK:               "dynamic_shared_bytes": {{[0-9]+}},
// CHECK:               "grid": [
// CHECK-NEXT:            [
// CHECK-NEXT:              "*",
// CHECK-NEXT:              "argument0_size2",
// CHECK-NEXT:              8
// CHECK-NEXT:            ],
// CHECK:               "kernel": "decode_kernel",
// CHECK-NEXT:          "static_shared_bytes": {{[0-9]+}}
// CHECK:               "kernel": "decode_kernel_1",
// CHECK:           "workspace": [
// CHECK:               "bytes": [
// CHECK-NEXT:            "*",
// CHECK-NEXT:            4,
// CHECK:               "name": "workspace0"
// CHECK-LABEL: "sm_90a": {
// CHECK:         "decode": {

!cache = !kvq.cache<2x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>, page = 32>
func.func @decode(%q: tensor<2x8x?x64xf16> {bufferization.writable = false}, %k: !cache, %v: !cache,
                  %lengths: tensor<2xi64>, %kp: tensor<2x?xi64>, %vp: tensor<2x?xi64>, %out: tensor<2x8x?x64xf32>)
    -> tensor<2x8x?x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<2x8x?x64xf16>, !cache, !cache)
    lengths(%lengths : tensor<2xi64>) key_pages(%kp : tensor<2x?xi64>) value_pages(%vp : tensor<2x?xi64>)
    outs(%out : tensor<2x8x?x64xf32>) {scale = 0.125 : f32, causal} -> tensor<2x8x?x64xf32>
  return %0 : tensor<2x8x?x64xf32>
}
