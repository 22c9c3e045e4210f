// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// One tensor per component, in the order of the type, where the cache stood.

!k = !kvq.cache<2x3x100x64xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f32>,
                exact_first = 4, recent = 31>

// CHECK-LABEL: func.func @signature(
// CHECK-SAME:    %[[I:.*]]: index,
// CHECK-SAME:    %[[CODES:.*]]: tensor<2x3x64x32xi8>
// CHECK-SAME:    %[[SCALES:.*]]: tensor<2x3x2x64xf16>
// CHECK-SAME:    %[[ZEROS:.*]]: tensor<2x3x2x64xf32>
// CHECK-SAME:    %[[FIRST:.*]]: tensor<2x3x4x64xf16>
// CHECK-SAME:    %[[RECENT:.*]]: tensor<2x3x62x64xf16>
// CHECK-SAME:    -> (tensor<2x3x64x32xi8>, tensor<2x3x2x64xf16>, tensor<2x3x2x64xf32>, tensor<2x3x4x64xf16>, tensor<2x3x62x64xf16>, index)
// CHECK-NEXT:    return %[[CODES]], %[[SCALES]], %[[ZEROS]], %[[FIRST]], %[[RECENT]], %[[I]]
func.func @signature(%i: index, %c: !k) -> (!k, index) {
  return %c, %i : !k, index
}

// -----

// Attributes of an argument or a result hold for each of its components.

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func private @declared(
// CHECK-SAME:    tensor<1x2x?x64xi8> {llvm.noalias}, tensor<1x2x?x2xf16> {llvm.noalias}, index {llvm.noundef})
// CHECK-SAME:    -> (index, tensor<1x2x?x64xi8> {test.mark}, tensor<1x2x?x2xf16> {test.mark})
func.func private @declared(!c {llvm.noalias}, index {llvm.noundef}) -> (index, !c {test.mark})

// -----

// Calls and structured control flow carry the components.

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func private @callee
func.func private @callee(!c, index) -> !c

// CHECK-LABEL: func.func @structured(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<1x2x?x64xi8>, %[[SCALES:[^:]*]]: tensor<1x2x?x2xf16>, %[[N:[^:]*]]: index, %[[P:[^:]*]]: i1)
func.func @structured(%c: !c, %n: index, %p: i1) -> !c {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[CALL:.*]]:2 = call @callee(%[[CODES]], %[[SCALES]], %[[N]])
  %0 = call @callee(%c, %n) : (!c, index) -> !c
  // CHECK: %[[FOR:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %[[CALL]]#0, %[[B:.*]] = %[[CALL]]#1)
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0) -> !c {
    // CHECK-NEXT: %[[IF:.*]]:2 = scf.if %[[P]] -> (tensor<1x2x?x64xi8>, tensor<1x2x?x2xf16>)
    // CHECK-NEXT:   func.call @callee(%[[A]], %[[B]], %{{.*}})
    // CHECK:      } else {
    // CHECK-NEXT:   scf.yield %[[A]], %[[B]]
    %2 = scf.if %p -> !c {
      %4 = func.call @callee(%a, %i) : (!c, index) -> !c
      scf.yield %4 : !c
    } else {
      scf.yield %a : !c
    }
    // CHECK: scf.yield %[[IF]]#0, %[[IF]]#1
    scf.yield %2 : !c
  }
  // CHECK: %[[WHILE:.*]]:3 = scf.while (%{{.*}} = %[[FOR]]#0, %{{.*}} = %[[FOR]]#1, %{{.*}} = %[[N]])
  // CHECK:   scf.condition(%{{.*}}) %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2x?x64xi8>, tensor<1x2x?x2xf16>, index
  // CHECK: ^bb0(%{{.*}}: tensor<1x2x?x64xi8>, %{{.*}}: tensor<1x2x?x2xf16>, %{{.*}}: index):
  %3:2 = scf.while (%a = %1, %k = %n) : (!c, index) -> (!c, index) {
    %more = arith.cmpi sgt, %k, %c0 : index
    scf.condition(%more) %a, %k : !c, index
  } do {
  ^bb0(%a: !c, %k: index):
    %5 = func.call @callee(%a, %k) : (!c, index) -> !c
    %6 = arith.subi %k, %c1 : index
    scf.yield %5, %6 : !c, index
  }
  // CHECK: return %[[WHILE]]#0, %[[WHILE]]#1
  return %3#0 : !c
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func @branches(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<1x2x?x64xi8>, %[[SCALES:[^:]*]]: tensor<1x2x?x2xf16>,
// CHECK-SAME:    %[[CODES2:[^:]*]]: tensor<1x2x?x64xi8>, %[[SCALES2:[^:]*]]: tensor<1x2x?x2xf16>,
// CHECK:         cf.cond_br %{{.*}}, ^bb1(%[[CODES]], %[[SCALES]] : {{.*}}), ^bb2(%[[CODES2]], %[[SCALES2]] :
// CHECK:       ^bb1(%[[A:.*]]: tensor<1x2x?x64xi8>, %[[B:.*]]: tensor<1x2x?x2xf16>):
// CHECK:         call @effect
// CHECK:         cf.br ^bb2(%[[A]], %[[B]] :
// CHECK:       ^bb2(%[[D:.*]]: tensor<1x2x?x64xi8>, %[[E:.*]]: tensor<1x2x?x2xf16>):
// CHECK-NEXT:    return %[[D]], %[[E]]
func.func private @effect(index)
func.func @branches(%c: !c, %d: !c, %p: i1, %i: index) -> !c {
  cf.cond_br %p, ^bb1(%c : !c), ^bb2(%d : !c)
^bb1(%a: !c):
  call @effect(%i) : (index) -> ()
  cf.br ^bb2(%a : !c)
^bb2(%e: !c):
  return %e : !c
}

// -----

// A body that captures a cache reads its components.

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @captured(
// CHECK-SAME:    %[[VALUES:.*]]: tensor<1x2x?x64xf16>
// CHECK:         scf.forall (%[[H:.*]]) in (2)
// CHECK:           tensor.extract_slice %[[VALUES]][0, %[[H]], 0, 0] [1, 1, 16, 64]
func.func @captured(%c: !c, %out: tensor<2x16x64xf16>) -> tensor<2x16x64xf16> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = scf.forall (%h) in (2) shared_outs(%o = %out) -> tensor<2x16x64xf16> {
    %1 = kvq.load_tile %c <codes> at [%c0, %h] tokens [%c0 to %c16] : !c -> tensor<?x64xf16>
    %2 = tensor.cast %1 : tensor<?x64xf16> to tensor<16x64xf16>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %o[%h, 0, 0] [1, 16, 64] [1, 1, 1]
          : tensor<16x64xf16> into tensor<2x16x64xf16>
    }
  }
  return %0 : tensor<2x16x64xf16>
}

// -----

// An empty cache has buffers of its own: two components of equal types are not
// one tensor.

!k = !kvq.cache<1x3x?x64xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>,
                exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[CAPACITY:.*]]: index
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C68:.*]] = arith.constant 68 : index
// CHECK:         %[[BEYOND:.*]] = arith.subi %[[CAPACITY]], %[[C68]]
// CHECK:         %[[QUANTIZED:.*]] = arith.maxsi %[[BEYOND]], %[[C0]]
// CHECK:         %[[FULL:.*]] = arith.divui %[[QUANTIZED]], %[[C32]]
// CHECK:         %[[ROWS:.*]] = arith.muli %[[FULL]], %[[C32]]
// CHECK:         %[[CODES:.*]] = bufferization.alloc_tensor(%[[ROWS]]) : tensor<1x3x?x32xi8>
// CHECK:         %[[GROUPS:.*]] = arith.divui %[[ROWS]], %[[C32]]
// CHECK:         %[[SCALES:.*]] = bufferization.alloc_tensor(%[[GROUPS]]) : tensor<1x3x?x64xf16>
// CHECK:         %[[ZEROS:.*]] = bufferization.alloc_tensor(%[[GROUPS]]) : tensor<1x3x?x64xf16>
// CHECK:         %[[FIRST:.*]] = bufferization.alloc_tensor() : tensor<1x3x4x64xf16>
// CHECK:         %[[RECENT:.*]] = bufferization.alloc_tensor() : tensor<1x3x95x64xf16>
// CHECK:         return %[[CODES]], %[[SCALES]], %[[ZEROS]], %[[FIRST]], %[[RECENT]]
func.func @empty(%capacity: index) -> !k {
  %0 = kvq.empty(%capacity) : !k
  return %0 : !k
}

// CHECK-LABEL: func.func @two_empties
// CHECK-COUNT-10: bufferization.alloc_tensor
func.func @two_empties(%capacity: index) -> (!k, !k) {
  %0 = kvq.empty(%capacity) : !k
  %1 = kvq.empty(%capacity) : !k
  return %0, %1 : !k, !k
}

// -----

!c = !kvq.cache<1x2x8x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// CHECK-LABEL: func.func @from_components(
// CHECK-SAME:    %[[CODES:.*]]: tensor<1x2x8x64xi8>, %[[SCALES:.*]]: tensor<1x2x8x2xf16>)
// CHECK-NEXT:    return %[[CODES]], %[[SCALES]]
func.func @from_components(%codes: tensor<1x2x8x64xi8>, %scales: tensor<1x2x8x2xf16>) -> !c {
  %0 = kvq.from_components %codes, %scales : tensor<1x2x8x64xi8>, tensor<1x2x8x2xf16> -> !c
  return %0 : !c
}

// -----

// 8-bit codes are read where they lie.

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = ui8, group = [1, 32], scale = f16, zero = min f16>>

// CHECK-LABEL: func.func @load_bytes(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<1x2x?x64xi8>, %[[SCALES:[^:]*]]: tensor<1x2x?x2xf16>, %[[ZEROS:[^:]*]]: tensor<1x2x?x2xf16>,
// CHECK-SAME:    %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK-NEXT:    %[[N:.*]] = arith.subi %[[HI]], %[[LO]]
// CHECK-NEXT:    %[[C:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[LO]], 0] [1, 1, %[[N]], 64] {{.*}} to tensor<?x64xi8>
// CHECK-NEXT:    %[[S:.*]] = tensor.extract_slice %[[SCALES]][%[[B]], %[[H]], %[[LO]], 0] [1, 1, %[[N]], 2] {{.*}} to tensor<?x2xf16>
// CHECK-NEXT:    %[[Z:.*]] = tensor.extract_slice %[[ZEROS]][%[[B]], %[[H]], %[[LO]], 0] [1, 1, %[[N]], 2] {{.*}} to tensor<?x2xf16>
// CHECK-NEXT:    return %[[C]], %[[S]], %[[Z]]
func.func @load_bytes(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>) {
  %0:3 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64}
      : !c -> tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
  return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i2, group = [32, 1], scale = f32>, exact_first = 4, recent = 8>

// Narrower codes are unpacked into scratch of the tile's size, if it has one.
// A range within a group of tokens has one row of scales.

// CHECK-LABEL: func.func @load_packed(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<1x2x?x16xi8>, %[[SCALES:[^:]*]]: tensor<1x2x?x64xf32>,
// CHECK-SAME:    %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK:         %[[N:.*]] = arith.subi %[[HI]], %[[LO]]
// CHECK:         %[[ROW:.*]] = arith.subi %[[LO]], %[[C4]]
// CHECK:         %[[BYTES:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, %[[N]], 16]
// CHECK:         %[[SCRATCH:.*]] = tensor.empty() : tensor<32x64xi8>
// CHECK:         %[[TILE:.*]] = tensor.extract_slice %[[SCRATCH]][0, 0] [%[[N]], 64]
// CHECK:         %[[UNPACKED:.*]] = kvq.unpack #{{.*}} ins(%[[BYTES]] : {{.*}}) outs(%[[TILE]] :
// CHECK:         %[[GROUP:.*]] = arith.divui %[[ROW]], %[[C32]]
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[SCALES]][%[[B]], %[[H]], %[[GROUP]], 0] [1, 1, 1, 64] {{.*}} to tensor<1x64xf32>
// CHECK:         return %[[UNPACKED]], %[[S]]
func.func @load_packed(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<1x64xf32>) {
  %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 32}
      : !c -> tensor<?x64xi8>, tensor<1x64xf32>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<1x64xf32>
}

// CHECK-LABEL: func.func @load_unbounded(
// CHECK:         %[[N:.*]] = arith.subi
// CHECK:         tensor.empty(%[[N]]) : tensor<?x64xi8>
func.func @load_unbounded(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<1x64xf32>) {
  %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi]
      : !c -> tensor<?x64xi8>, tensor<1x64xf32>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<1x64xf32>
}

// The exact windows: the first tokens are rows, the recent ones are gathered
// from the ring of 8 + 32 - 1 slots.

// CHECK-LABEL: func.func @load_exact(
// CHECK-SAME:    %[[FIRST:[^:]*]]: tensor<1x2x4x64xf16>, %[[RECENT:[^:]*]]: tensor<1x2x39x64xf16>,
// CHECK-SAME:    %[[B:[^:]*]]: index, %[[H:[^:]*]]: index, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C39:.*]] = arith.constant 39 : index
// CHECK:         %[[N:.*]] = arith.subi %[[HI]], %[[LO]]
// CHECK:         %[[F:.*]] = tensor.extract_slice %[[FIRST]][%[[B]], %[[H]], %[[LO]], 0] [1, 1, %[[N]], 64]
// CHECK:         %[[SCRATCH:.*]] = tensor.empty() : tensor<16x64xf16>
// CHECK:         %[[GATHERED:.*]] = scf.for %[[I:.*]] = %[[C0]] to %[[N]] step %[[C1]] iter_args(%[[TILE:.*]] = %[[SCRATCH]])
// CHECK:           %[[TARGET:.*]] = tensor.extract_slice %[[TILE]][%[[I]], 0] [1, 64]
// CHECK:           %[[TOKEN:.*]] = arith.addi %[[LO]], %[[I]]
// CHECK:           %[[OFFSET:.*]] = arith.subi %[[TOKEN]], %[[C4]]
// CHECK:           %[[SLOT:.*]] = arith.remui %[[OFFSET]], %[[C39]]
// CHECK:           %[[SOURCE:.*]] = tensor.extract_slice %[[RECENT]][%[[B]], %[[H]], %[[SLOT]], 0] [1, 1, 1, 64]
// CHECK:           %[[COPY:.*]] = linalg.copy ins(%[[SOURCE]] : {{.*}}) outs(%[[TARGET]] :
// CHECK:           tensor.insert_slice %[[COPY]] into %[[TILE]][%[[I]], 0] [1, 64]
// CHECK:         %[[R:.*]] = tensor.extract_slice %[[GATHERED]][0, 0] [%[[N]], 64]
// CHECK:         return %[[F]], %[[R]]
func.func @load_exact(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
    -> (tensor<?x64xf16>, tensor<?x64xf16>) {
  %0 = kvq.load_tile %c <first> at [%b, %h] tokens [%lo to %hi] {tile = 16} : !c -> tensor<?x64xf16>
  %1 = kvq.load_tile %c <recent> at [%b, %h] tokens [%lo to %hi] {tile = 16} : !c -> tensor<?x64xf16>
  return %0, %1 : tensor<?x64xf16>, tensor<?x64xf16>
}

// -----

// A head's scales are those of the heads that it shares them with.

// CHECK-LABEL: func.func @shared_scales
// CHECK: %[[PLACE:.*]] = arith.divui %[[HEAD:.*]], %c4
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, %[[PLACE]], %{{.*}}, 0] [1, 1, %{{.*}}, 4] [1, 1, 1, 1] : tensor<1x2x?x4xf16> to tensor<?x4xf16>
!c = !kvq.cache<1x8x?x64xf16, #kvq.format<codes = i8, group = [1, 16], heads = 4, scale = f16>>
func.func @shared_scales(%c: !c, %b: index, %h: index, %lo: index, %hi: index) -> tensor<?x4xf16> {
  %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi]
      : !c -> tensor<?x64xi8>, tensor<?x4xf16>
  return %0#1 : tensor<?x4xf16>
}

// -----

// A choice between caches is one between their components.

// CHECK-LABEL: func.func @choice(
// CHECK-SAME:    %[[P:[^:]*]]: i1, %[[A:[^:]*]]: tensor<1x2x?x64xi8>, %[[AS:[^:]*]]: tensor<1x2x?x2xf16>, %[[B:[^:]*]]: tensor<1x2x?x64xi8>, %[[BS:[^:]*]]: tensor<1x2x?x2xf16>
// CHECK-DAG:     %[[C:.*]] = arith.select %[[P]], %[[A]], %[[B]] : tensor<1x2x?x64xi8>
// CHECK-DAG:     %[[S:.*]] = arith.select %[[P]], %[[AS]], %[[BS]] : tensor<1x2x?x2xf16>
// CHECK:         return %[[C]], %[[S]]
!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>
func.func @choice(%p: i1, %a: !c, %b: !c) -> !c {
  %0 = arith.select %p, %a, %b : !c
  return %0 : !c
}
