// RUN: kvq-opt %s -kvq-assign-layout=spell-out | FileCheck %s

// Layouts of which nothing is said become planar, in types and attributes alike;
// given ones stay, and exact formats have none.

// CHECK-DAG: #[[OPEN:.*]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, layout = #kvq.layout<codes = planar>>
// CHECK-DAG: #[[GIVEN:.*]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, layout = #kvq.layout<codes = stream>>
// CHECK-DAG: #[[EXACT:.*]] = #kvq.format<codes = none>
// CHECK-DAG: ![[OPENED:.*]] = !kvq.cache<1x2x?x64xf16, #[[OPEN]]>
// CHECK-DAG: ![[STAYED:.*]] = !kvq.cache<1x2x?x64xf16, #[[GIVEN]]>
// CHECK-DAG: ![[PLAIN:.*]] = !kvq.cache<1x2x?x64xf16, #[[EXACT]]>

#open = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!open = !kvq.cache<1x2x?x64xf16, #open>
!given = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<codes = stream>>>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// CHECK: func.func @caches(%arg0: ![[OPENED]], %arg1: ![[STAYED]], %arg2: ![[PLAIN]], %arg3: index) -> ![[OPENED]]
func.func @caches(%a: !open, %b: !given, %c: !exact, %n: index) -> !open {
  // CHECK: kvq.empty(%arg3) : ![[OPENED]]
  %0 = kvq.empty(%n) : !open
  return %0 : !open
}

// CHECK: func.func @values
func.func @values(%c: tensor<8x64xi8>, %b: tensor<8x32xi8>) -> tensor<8x32xi8> {
  // CHECK: kvq.pack #[[OPEN]]
  %0 = kvq.pack #open ins(%c : tensor<8x64xi8>) outs(%b : tensor<8x32xi8>) -> tensor<8x32xi8>
  return %0 : tensor<8x32xi8>
}
