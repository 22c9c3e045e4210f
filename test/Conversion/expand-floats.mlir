// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-expand-floats))' | FileCheck %s --check-prefix=NONE
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-expand-floats{half}))' | FileCheck %s --check-prefix=HALF
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-expand-floats{rounding}))' | FileCheck %s --check-prefix=ROUNDING
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-expand-floats{fma}))' | FileCheck %s --check-prefix=FMA
// What they compute is checked in test/python/test_processors.py, for every half.

// NONE-LABEL: func @extend
// NONE-NEXT:  arith.extf
// HALF-LABEL: func @extend
// HALF-SAME:    %[[X:.*]]: vector<8xf16>
// HALF:       %[[H:.*]] = arith.bitcast %[[X]] : vector<8xf16> to vector<8xi16>
// HALF:       %[[BITS:.*]] = arith.extui %[[H]] : vector<8xi16> to vector<8xi32>
// HALF:       %[[LOW:.*]] = arith.andi %[[BITS]], %{{.*}} : vector<8xi32>
// HALF:       %[[M:.*]] = arith.shli %[[LOW]], %{{.*}} : vector<8xi32>
// HALF:       %[[F:.*]] = arith.bitcast %[[M]] : vector<8xi32> to vector<8xf32>
// HALF:       arith.mulf %[[F]], %{{.*}} : vector<8xf32>
// HALF-NOT:   arith.extf
// HALF:       return
func.func @extend(%x: vector<8xf16>) -> vector<8xf32> {
  %0 = arith.extf %x : vector<8xf16> to vector<8xf32>
  return %0 : vector<8xf32>
}

// Numbers, too, and in the other direction.
// HALF-LABEL: func @round
// HALF-NOT:   arith.truncf
// HALF:       arith.trunci %{{.*}} : i32 to i16
// HALF:       arith.bitcast %{{.*}} : i16 to f16
func.func @round(%x: f32) -> f16 {
  %0 = arith.truncf %x : f32 to f16
  return %0 : f16
}

// Other types are not touched.
// HALF-LABEL: func @others
// HALF-NEXT:  arith.extf %{{.*}} : bf16 to f32
// HALF-NEXT:  arith.truncf %{{.*}} : f64 to f16
func.func @others(%x: bf16, %y: f64) -> (f32, f16) {
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.truncf %y : f64 to f16
  return %0, %1 : f32, f16
}

// NONE-LABEL: func @whole
// NONE-NEXT:  math.roundeven
// NONE-NEXT:  math.ceil
// NONE-NEXT:  math.floor
// ROUNDING-LABEL: func @whole
// ROUNDING-NOT: math.
// ROUNDING:   %[[C:.*]] = arith.constant dense<0x4B000000> : vector<4xf32>
// ROUNDING:   %[[SUM:.*]] = arith.addf %{{.*}}, %[[C]] : vector<4xf32>
// ROUNDING:   arith.subf %[[SUM]], %[[C]] : vector<4xf32>
// ROUNDING-NOT: math.
// ROUNDING:   return
func.func @whole(%x: vector<4xf32>, %y: f32) -> (vector<4xf32>, f32, f32) {
  %0 = math.roundeven %x : vector<4xf32>
  %1 = math.ceil %y : f32
  %2 = math.floor %y : f32
  return %0, %1, %2 : vector<4xf32>, f32, f32
}

// A polynomial's, and one of a rule, which asks for a single rounding.
// FMA-LABEL: func @fused
// FMA-NEXT:  %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// FMA-NEXT:  arith.addf %[[P]], %{{.*}} : vector<4xf32>
// FMA-NEXT:  math.fma
// NONE-LABEL: func @fused
// NONE-COUNT-2: math.fma
func.func @fused(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) {
  %0 = math.fma %a, %b, %c fastmath<afn> : vector<4xf32>
  %1 = math.fma %a, %b, %c : vector<4xf32>
  return %0, %1 : vector<4xf32>, vector<4xf32>
}

// The larger of two where neither NaN nor the sign of 0 matters is one instruction of
// x86; others are LLVM's.
// NONE-LABEL: func @larger
// NONE-SAME:    %[[X:.*]]: vector<8xf32>, %[[Y:.*]]: vector<8xf32>
// NONE-NEXT:  %[[IS:.*]] = arith.cmpf ogt, %[[X]], %[[Y]] : vector<8xf32>
// NONE-NEXT:  %[[M:.*]] = arith.select %[[IS]], %[[X]], %[[Y]]
// NONE-NEXT:  arith.maximumf %[[M]], %[[Y]] fastmath<nnan>
func.func @larger(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.maximumf %x, %y fastmath<nnan,nsz> : vector<8xf32>
  %1 = arith.maximumf %0, %y fastmath<nnan> : vector<8xf32>
  return %1 : vector<8xf32>
}
