// RUN: kvq-opt %s --kvq-math-to-intrinsics | FileCheck %s

// CHECK-LABEL: func.func @math(
// CHECK-SAME:    %[[X:.+]]: f32, %[[W:.+]]: f64)
// CHECK-NEXT:    %[[P:.+]] = llvm.call_intrinsic "llvm.exp2"(%[[X]]) : (f32) -> f32
// CHECK-NEXT:    %[[A:.+]] = llvm.call_intrinsic "llvm.fabs"(%[[P]]) : (f32) -> f32
// CHECK-NEXT:    %[[C:.+]] = llvm.call_intrinsic "llvm.ceil"(%[[A]]) : (f32) -> f32
// CHECK-NEXT:    %[[F:.+]] = llvm.call_intrinsic "llvm.floor"(%[[C]]) : (f32) -> f32
// CHECK-NEXT:    %[[R:.+]] = llvm.call_intrinsic "llvm.roundeven"(%[[F]]) : (f32) -> f32
// No instruction for these.
// CHECK-NEXT:    math.exp2 %[[W]] : f64
// CHECK-NEXT:    math.sin %[[R]] : f32
func.func @math(%x: f32, %w: f64) -> (f32, f64) {
  %p = math.exp2 %x : f32
  %a = math.absf %p : f32
  %c = math.ceil %a : f32
  %f = math.floor %c : f32
  %r = math.roundeven %f : f32
  %q = math.exp2 %w : f64
  %s = math.sin %r : f32
  return %s, %q : f32, f64
}
