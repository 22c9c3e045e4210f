// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// Quantized tokens of a paged cache lie in pools. A pool is dynamic in its pages
// alone; windows have a sequence axis.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #f, exact_first = 4, recent = 64, page = 96>

// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[PAGES:.*]]: index) -> (tensor<?x3x96x32xi8>, tensor<?x3x3x64xf16>, tensor<?x3x3x64xf16>, tensor<2x3x4x64xf16>, tensor<2x3x95x64xf16>)
// CHECK:         bufferization.alloc_tensor(%[[PAGES]]) : tensor<?x3x96x32xi8>
// CHECK:         bufferization.alloc_tensor(%[[PAGES]]) : tensor<?x3x3x64xf16>
// CHECK:         bufferization.alloc_tensor() : tensor<2x3x4x64xf16>
func.func @empty(%n: index) -> !k {
  %0 = kvq.empty pages(%n) : !k
  return %0 : !k
}

// A group of tokens lies within a page, and its metadata in the same page.

// CHECK-LABEL: func.func @append(
// CHECK-SAME:    %{{[^:]*}}: tensor<2x3x?x64xf16>, %{{[^:]*}}: tensor<2xi64>, %{{[^:]*}}: tensor<2xi64>, %[[TABLE:[^:]*]]: tensor<2x?xi64>,
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C96:.*]] = arith.constant 96 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in ({{.*}}) inits(
// CHECK:             scf.for %[[ROW:.*]] = %{{.*}} step %[[C32]] iter_args(%[[CODES:[a-z0-9]*]] = %{{[a-z0-9]*}}, %[[SCALES:[a-z0-9]*]] = %{{[a-z0-9]*}},
// CHECK:               %[[INDEX:.*]] = arith.divui %[[ROW]], %[[C96]]
// CHECK:               %[[PAGE64:.*]] = tensor.extract %[[TABLE]][%[[B]], %[[INDEX]]]
// CHECK:               %[[PAGE:.*]] = arith.index_cast %[[PAGE64]] : i64 to index
// CHECK:               %[[PLACE:.*]] = arith.remui %[[ROW]], %[[C96]]
// CHECK:               %[[GROUP:.*]] = arith.divui %[[PLACE]], %[[C32]]
// CHECK:               tensor.extract_slice %[[CODES]][%[[PAGE]], %[[H]], %[[PLACE]], 0] [1, 1, 32, 32]
// CHECK:               tensor.insert_slice %{{.*}} into %[[SCALES]][%[[PAGE]], %[[H]], %[[GROUP]], 0] [1, 1, 1, 64]
func.func @append(%x: tensor<2x3x?x64xf16>, %n: tensor<2xi64>, %f: tensor<2xi64>, %t: tensor<2x?xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x3x?x64xf16>) lengths(%n : tensor<2xi64>) flushed(%f : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// A tile of grouped tokens is a slice, as it lies within a group.

// CHECK-LABEL: func.func @load_group(
// CHECK-NOT:     scf.for
// CHECK:         %[[PLACE:.*]] = arith.remui
// CHECK:         tensor.extract_slice %{{.*}}[%{{.*}}, %{{.*}}, %[[PLACE]], 0] [1, 1, %{{.*}}, 32]
// CHECK:         %[[GROUP:.*]] = arith.divui %[[PLACE]], %{{.*}}
// CHECK:         tensor.extract_slice %{{.*}}[%{{.*}}, %{{.*}}, %[[GROUP]], 0] [1, 1, 1, 64]
// CHECK-NOT:     scf.for
func.func @load_group(%c: !k, %t: tensor<2x?xi64>, %i: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>) {
  %0:3 = kvq.load_tile %c <codes> at [%i, %i] tokens [%lo to %hi] pages(%t : tensor<2x?xi64>) {tile = 32}
      : !k -> tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>
  return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>
}

// -----

// Tokens with scales of their own: the pages that a tile spans, each as far as it
// belongs to it. An empty tile reads no entry of the table.

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!v = !kvq.cache<2x3x?x64xf16, #f, exact_first = 4, page = 16>

// CHECK-LABEL: func.func @load_rows(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<?x3x16x32xi8>, %[[SCALES:[^:]*]]: tensor<?x3x16x2xf16>, %{{[^:]*}}: tensor<2x3x4x64xf16>, %[[TABLE:[^:]*]]: tensor<2x?xi64>, %[[I:[^:]*]]: index, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         %[[ROW:.*]] = arith.subi %[[LO]], %{{.*}}
// CHECK:         %[[TILE:.*]] = tensor.empty() : tensor<64x64xi8>
// CHECK:         %[[METADATA:.*]] = tensor.empty() : tensor<64x2xf16>
// CHECK:         %[[END:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:         %[[EMPTY:.*]] = arith.cmpi sge, %[[ROW]], %[[END]]
// CHECK:         %[[BEGIN:.*]] = arith.select %[[EMPTY]], %[[LAST:.*]], %{{.*}}
// CHECK:         scf.for %[[P:.*]] = %[[BEGIN]] to %[[LAST]] step %{{.*}} iter_args(%[[OUT:.*]] = %[[TILE]], %{{.*}} = %[[METADATA]])
// CHECK:           %[[BORDER:.*]] = arith.muli %[[P]], %[[C16]]
// CHECK:           %[[FIRST:.*]] = arith.maxsi %[[ROW]], %[[BORDER]]
// CHECK:           %[[COUNT:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK:           tensor.extract %[[TABLE]][%[[I]], %{{.*}}]
// CHECK:           %[[PAGE:.*]] = arith.index_cast
// CHECK:           %[[PLACE:.*]] = arith.remui %[[FIRST]], %[[C16]]
// CHECK:           %[[OFFSET:.*]] = arith.subi %[[FIRST]], %[[ROW]]
// CHECK:           %[[BYTES:.*]] = tensor.extract_slice %[[CODES]][%[[PAGE]], %[[I]], %[[PLACE]], 0] [1, 1, %[[COUNT]], 32]
// CHECK:           %[[TARGET:.*]] = tensor.extract_slice %[[OUT]][%[[OFFSET]], 0] [%[[COUNT]], 64]
// CHECK:           kvq.unpack #{{.*}} ins(%[[BYTES]] : {{.*}}) outs(%[[TARGET]] :
// CHECK:           linalg.copy
func.func @load_rows(%c: !v, %t: tensor<2x?xi64>, %i: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%lo to %hi] pages(%t : tensor<2x?xi64>) {tile = 64}
      : !v -> tensor<?x64xi8>, tensor<?x2xf16>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// A tile within one page is a slice.

// CHECK-LABEL: func.func @load_within(
// CHECK-NOT:     scf.for
// CHECK:         %[[PAGE:.*]] = arith.index_cast
// CHECK:         %[[PLACE:.*]] = arith.remui
// CHECK:         %[[BYTES:.*]] = tensor.extract_slice %{{.*}}[%[[PAGE]], %{{.*}}, %[[PLACE]], 0] [1, 1, %{{.*}}, 32]
// CHECK:         kvq.unpack #{{.*}} ins(%[[BYTES]] :
// CHECK:         tensor.extract_slice %{{.*}}[%[[PAGE]], %{{.*}}, %[[PLACE]], 0] [1, 1, %{{.*}}, 2]
// CHECK-NOT:     scf.for
func.func @load_within(%c: !v, %t: tensor<2x?xi64>, %i: index, %lo: index, %hi: index)
    -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%lo to %hi] pages(%t : tensor<2x?xi64>) {tile = 8, within_page}
      : !v -> tensor<?x64xi8>, tensor<?x2xf16>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// Packed tokens: those of sequence b from row starts[b] on.

// CHECK-LABEL: func.func @starts(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x3x64xf16>, %{{[^:]*}}: tensor<2xi64>, %{{[^:]*}}: tensor<2x?xi64>, %[[STARTS:[^:]*]]: tensor<3xi64>,
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %{{.*}}) in
// CHECK:           tensor.extract %[[STARTS]][%[[B]]]
// CHECK:           %[[START:.*]] = arith.index_cast
// CHECK:           %[[NEXT:.*]] = arith.addi %[[B]], %{{.*}}
// CHECK:           tensor.extract %[[STARTS]][%[[NEXT]]]
// CHECK:             %[[FIRST:.*]] = arith.addi %[[START]], %{{.*}}
// CHECK:             %[[TOKEN:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK:             tensor.extract_slice %[[X]][%[[TOKEN]], %[[H]], 0] [1, 1, 64] [1, 1, 1] : tensor<?x3x64xf16> to tensor<1x64xf16>
func.func @starts(%x: tensor<?x3x64xf16>, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %s: tensor<3xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<?x3x64xf16>) lengths(%n : tensor<2xi64>) pages(%t : tensor<2x?xi64>)
      starts(%s : tensor<3xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// -----

// Slots: a token is not stored where its slot is negative.

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!v = !kvq.cache<2x3x?x64xf16, #f, page = 16>

// CHECK-LABEL: func.func @slots(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x3x64xf16>, %[[SLOTS:[^:]*]]: tensor<?xi64>,
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         %[[TOTAL:.*]] = tensor.dim %[[X]], %[[C0]]
// CHECK:         kvq.forall (%[[T:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in (%[[TOTAL]], %[[C3]])
// CHECK:           tensor.extract %[[SLOTS]][%[[T]]]
// CHECK:           %[[SLOT:.*]] = arith.index_cast
// CHECK:           %[[STORED:.*]] = arith.cmpi sge, %[[SLOT]], %[[C0]]
// CHECK:           %[[TIMES:.*]] = arith.select %[[STORED]], %[[C1]], %[[C0]]
// CHECK:           scf.for %{{.*}} = %[[C0]] to %[[TIMES]]
// CHECK-DAG:         %[[PAGE:.*]] = arith.divui %[[SLOT]], %[[C16]]
// CHECK-DAG:         %[[ROW:.*]] = arith.remui %[[SLOT]], %[[C16]]
// CHECK:             tensor.extract_slice %[[X]][%[[T]], %[[H]], 0] [1, 1, 64]
// CHECK:             tensor.insert_slice %{{.*}}[%[[PAGE]], %[[H]], %[[ROW]], 0] [1, 1, 1, 32]
func.func @slots(%x: tensor<?x3x64xf16>, %s: tensor<?xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<?x3x64xf16>) slots(%s : tensor<?xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// What two sequences share is not copied.

// CHECK-LABEL: func.func @reorder(
// CHECK-SAME:    %[[SHARED:[^:]*]]: tensor<2xi64>)
// CHECK:           tensor.extract %[[SHARED]][%[[B:.*]]]
// CHECK:           %[[BEGIN:.*]] = arith.select
// CHECK:             scf.for %[[ROW:.*]] = %[[BEGIN]] to %{{.*}}
// CHECK:               tensor.extract %{{.*}}[%{{.*}}, %[[INDEX:.*]]] : tensor<2x?xi64>
// CHECK:               tensor.extract %{{.*}}[%[[B]], %[[INDEX]]] : tensor<2x8xi64>
func.func @reorder(%c: !v, %d: !v, %i: tensor<2xi64>, %n: tensor<2xi64>, %t: tensor<2x?xi64>, %u: tensor<2x8xi64>, %shared: tensor<2xi64>) -> !v {
  %0 = kvq.reorder ins(%c : !v) sources(%i : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) to_pages(%u : tensor<2x8xi64>) shared(%shared : tensor<2xi64>)
      into(%d : !v) -> !v
  return %0 : !v
}
