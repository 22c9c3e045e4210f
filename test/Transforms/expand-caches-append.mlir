// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// Every step of an append: exact first tokens, token groups that leave the
// window, the ring.

#format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #format, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x?x64xf32>, %[[LENGTHS:[^:]*]]: tensor<2xi64>, %[[FLUSHED:[^:]*]]: tensor<2xi64>,
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<2x3x?x32xi8>, %[[SCALES:[^:]*]]: tensor<2x3x?x64xf16>, %[[ZEROS:[^:]*]]: tensor<2x3x?x64xf16>, %[[FIRST:[^:]*]]: tensor<2x3x4x64xf16>, %[[RECENT:[^:]*]]: tensor<2x3x95x64xf16>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C68:.*]] = arith.constant 68 : index
// CHECK-DAG:     %[[C95:.*]] = arith.constant 95 : index
// CHECK-DAG:     %[[LARGEST:.*]] = arith.constant 6.550400e+04 : f32
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant -6.550400e+04 : f32
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in (%[[C2]], %[[C3]]) inits(%[[CODES1:.*]] = %[[CODES]], %[[SCALES1:.*]] = %[[SCALES]], %[[ZEROS1:.*]] = %[[ZEROS]], %[[FIRST1:.*]] = %[[FIRST]], %[[RECENT1:.*]] = %[[RECENT]] :

// What the sequence holds before and after.
// CHECK:           %[[LENGTH64:.*]] = tensor.extract %[[LENGTHS]][%[[B]]]
// CHECK:           %[[LENGTH:.*]] = arith.index_cast %[[LENGTH64]]
// CHECK:           %[[COUNT:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK:           %[[NEW:.*]] = arith.addi %[[LENGTH]], %[[COUNT]]
// CHECK:           %[[FLUSHED64:.*]] = tensor.extract %[[FLUSHED]][%[[B]]]
// CHECK:           %[[OLD_FLUSHED:.*]] = arith.index_cast %[[FLUSHED64]]
// CHECK:           %[[BEYOND:.*]] = arith.subi %[[NEW]], %[[C68]]
// CHECK:           %[[MAX:.*]] = arith.maxsi %[[BEYOND]], %[[C0]]
// CHECK:           %[[DIV:.*]] = arith.divui %[[MAX]], %[[C32]]
// CHECK:           %[[LEAVING:.*]] = arith.muli %[[DIV]], %[[C32]]
// CHECK:           %[[NEW_FLUSHED:.*]] = arith.maxsi %[[OLD_FLUSHED]], %[[LEAVING]]

// 1. The first tokens, rounded.
// CHECK:             %[[FIRST_END:.*]] = arith.minsi %[[NEW]], %[[C4]]
// CHECK:             %[[FIRST2:.*]] = scf.for %[[T:.*]] = %[[LENGTH]] to %[[FIRST_END]] step %[[C1]] iter_args(%[[FIRST3:.*]] = %[[FIRST1]])
// CHECK:               %[[TARGET:.*]] = tensor.extract_slice %[[FIRST3]][%[[B]], %[[H]], %[[T]], 0] [1, 1, 1, 64]
// CHECK:               %[[INPUT:.*]] = arith.subi %[[T]], %[[LENGTH]]
// CHECK:               %[[SOURCE:.*]] = tensor.extract_slice %[[X]][%[[B]], %[[H]], %[[INPUT]], 0] [1, 1, 1, 64] {{.*}} to tensor<1x64xf32>
// CHECK:               %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[SOURCE]] : {{.*}}) outs(%[[TARGET]] :
// CHECK:                 %[[HIGH:.*]] = arith.cmpf olt, %[[LARGEST]], %[[IN:.*]] : f32
// CHECK:                 %[[BELOW:.*]] = arith.select %[[HIGH]], %[[LARGEST]], %[[IN]] : f32
// CHECK:                 %[[LOW:.*]] = arith.cmpf ogt, %[[LEAST]], %[[BELOW]] : f32
// CHECK:                 %[[WITHIN:.*]] = arith.select %[[LOW]], %[[LEAST]], %[[BELOW]] : f32
// CHECK:                 arith.truncf %[[WITHIN]] : f32 to f16
// CHECK:               tensor.insert_slice %[[ROUNDED]] into %[[FIRST3]][%[[B]], %[[H]], %[[T]], 0] [1, 1, 1, 64]

// 2. Whole groups: old tokens from the ring, new ones from the input.
// CHECK:             %[[STORED:.*]]:3 = scf.for %[[ROW:.*]] = %[[OLD_FLUSHED]] to %[[NEW_FLUSHED]] step %[[C32]] iter_args(%[[CODES3:.*]] = %[[CODES1]], %[[SCALES3:.*]] = %[[SCALES1]], %[[ZEROS3:.*]] = %[[ZEROS1]])
// CHECK:               %[[TOKEN:.*]] = arith.addi %[[ROW]], %[[C4]]
// CHECK:               %[[SCRATCH:.*]] = tensor.empty() : tensor<32x64xf16>
// CHECK:               %[[BEHIND:.*]] = arith.subi %[[LENGTH]], %[[TOKEN]]
// CHECK:               %[[OLD0:.*]] = arith.maxsi %[[BEHIND]], %[[C0]]
// CHECK:               %[[OLD:.*]] = arith.minsi %[[OLD0]], %[[C32]]
// CHECK:               %[[HALF:.*]] = scf.for %[[I:.*]] = %[[C0]] to %[[OLD]] step %[[C1]] iter_args(%[[GROUP:.*]] = %[[SCRATCH]])
// CHECK:                 %[[SLOT:.*]] = arith.remui %{{.*}}, %[[C95]]
// CHECK:                 tensor.extract_slice %[[RECENT1]][%[[B]], %[[H]], %[[SLOT]], 0] [1, 1, 1, 64]
// CHECK:                 linalg.copy
// CHECK:                 tensor.insert_slice %{{.*}} into %[[GROUP]][%[[I]], 0] [1, 64]
// CHECK:               %[[FULL:.*]] = scf.for %[[I:.*]] = %[[OLD]] to %[[C32]] step %[[C1]] iter_args(%[[GROUP:.*]] = %[[HALF]])
// CHECK:                 %[[POSITION:.*]] = arith.addi %[[TOKEN]], %[[I]]
// CHECK:                 %[[INPUT:.*]] = arith.subi %[[POSITION]], %[[LENGTH]]
// CHECK:                 tensor.extract_slice %[[X]][%[[B]], %[[H]], %[[INPUT]], 0] [1, 1, 1, 64]
// CHECK:                 linalg.generic
// CHECK:                 arith.truncf
// CHECK:                 tensor.insert_slice %{{.*}} into %[[GROUP]][%[[I]], 0] [1, 64]
// CHECK:               %[[META:.*]] = arith.divui %[[ROW]], %[[C32]]
// CHECK:               %[[BYTES:.*]] = tensor.extract_slice %[[CODES3]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32] {{.*}} to tensor<32x32xi8>
// CHECK:               %[[ONE_A_BYTE:.*]] = tensor.empty() : tensor<32x64xi8>
// CHECK:               %[[SCALE_ROW:.*]] = tensor.extract_slice %[[SCALES3]][%[[B]], %[[H]], %[[META]], 0] [1, 1, 1, 64]
// CHECK:               %[[ZERO_ROW:.*]] = tensor.extract_slice %[[ZEROS3]][%[[B]], %[[H]], %[[META]], 0] [1, 1, 1, 64]
// CHECK:               %[[Q:.*]]:3 = kvq.quantize #{{.*}} ins(%[[FULL]] : {{.*}}) outs(%[[ONE_A_BYTE]], %[[SCALE_ROW]], %[[ZERO_ROW]] :
// CHECK:               %[[PACKED:.*]] = kvq.pack #{{.*}} ins(%[[Q]]#0 : {{.*}}) outs(%[[BYTES]] :
// CHECK:               tensor.insert_slice %[[PACKED]] into %[[CODES3]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               tensor.insert_slice %[[Q]]#1 into %[[SCALES3]][%[[B]], %[[H]], %[[META]], 0] [1, 1, 1, 64]
// CHECK:               tensor.insert_slice %[[Q]]#2 into %[[ZEROS3]][%[[B]], %[[H]], %[[META]], 0] [1, 1, 1, 64]

// 3. The rest goes into the ring.
// CHECK:             %[[QUANTIZED_END:.*]] = arith.addi %[[NEW_FLUSHED]], %[[C4]]
// CHECK:             %[[BEGIN:.*]] = arith.maxsi %[[LENGTH]], %[[QUANTIZED_END]]
// CHECK:             %[[RECENT2:.*]] = scf.for %[[T:.*]] = %[[BEGIN]] to %[[NEW]] step %[[C1]] iter_args(%[[RECENT3:.*]] = %[[RECENT1]])
// CHECK:               %[[OFFSET:.*]] = arith.subi %[[T]], %[[C4]]
// CHECK:               %[[SLOT:.*]] = arith.remui %[[OFFSET]], %[[C95]]
// CHECK:               tensor.insert_slice %{{.*}} into %[[RECENT3]][%[[B]], %[[H]], %[[SLOT]], 0] [1, 1, 1, 64]
// CHECK:             kvq.yield %[[STORED]]#0, %[[STORED]]#1, %[[STORED]]#2, %[[FIRST2]], %[[RECENT2]]
func.func @windows(%x: tensor<2x3x?x64xf32>, %lengths: tensor<2xi64>, %flushed: tensor<2xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<2x3x?x64xf32>) lengths(%lengths : tensor<2xi64>)
      flushed(%flushed : tensor<2xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Without a window, rows of the input are quantized as they are if they have the
// cache's element type, and 8-bit codes go where they belong. `counts` says how
// many tokens there are; 16 of them are a work item, as an append of their own.

#format = #kvq.format<codes = i8, group = [1, 32], scale = f32>
!v = !kvq.cache<2x3x?x64xf16, #format, exact_first = 2>

// CHECK-LABEL: func.func @direct(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x50x64xf16>, %[[LENGTHS:[^:]*]]: tensor<2xi64>, %[[COUNTS:[^:]*]]: tensor<2xi64>,
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C16:.*]] = arith.constant 16 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %[[CHUNK:[a-z0-9]+]]) in (%[[C2]], %[[C3]], %[[C4]])
// CHECK:         %[[LENGTH64:.*]] = tensor.extract %[[LENGTHS]][%[[B]]]
// CHECK:         %[[LENGTH:.*]] = arith.index_cast %[[LENGTH64]]
// CHECK:         %[[COUNT64:.*]] = tensor.extract %[[COUNTS]][%[[B]]]
// CHECK:         %[[COUNT:.*]] = arith.index_cast %[[COUNT64]]
// CHECK:         %[[NEW:.*]] = arith.addi %[[LENGTH]], %[[COUNT]]
// CHECK:         %[[DONE:.*]] = arith.muli %[[CHUNK]], %[[C16]]
// CHECK:         %[[BEHIND:.*]] = arith.addi %[[LENGTH]], %[[DONE]]
// CHECK:         %[[BEGIN:.*]] = arith.minsi %[[BEHIND]], %[[NEW]]
// CHECK:         %[[ALL:.*]] = arith.addi %[[BEGIN]], %[[C16]]
// CHECK:         %[[END:.*]] = arith.minsi %[[ALL]], %[[NEW]]
// CHECK:         %[[START:.*]] = arith.subi %[[BEGIN]], %[[LENGTH]]
// CHECK:         %[[OLD_BEYOND:.*]] = arith.subi %[[BEGIN]], %[[C2]]
// CHECK:         %[[OLD:.*]] = arith.maxsi %[[OLD_BEYOND]], %[[C0]]
// CHECK:         %[[NEW_BEYOND:.*]] = arith.subi %[[END]], %[[C2]]
// CHECK:         %[[NEW_MAX:.*]] = arith.maxsi %[[NEW_BEYOND]], %[[C0]]
// CHECK:         scf.for %[[ROW:.*]] = %[[OLD]] to %[[NEW_MAX]] step
// CHECK:           %[[TOKEN:.*]] = arith.addi %[[ROW]], %[[C2]]
// CHECK:           %[[OFFSET:.*]] = arith.subi %[[TOKEN]], %[[BEGIN]]
// CHECK:           %[[INPUT:.*]] = arith.addi %[[OFFSET]], %[[START]]
// CHECK:           %[[SOURCE:.*]] = tensor.extract_slice %[[X]][%[[B]], %[[H]], %[[INPUT]], 0] [1, 1, 1, 64]
// CHECK:           %[[CODES:.*]] = tensor.extract_slice %[[CACHE:.*]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 1, 64]
// CHECK:           %[[SCALES:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 1, 2]
// CHECK:           %[[Q:.*]]:2 = kvq.quantize #{{.*}} ins(%[[SOURCE]] : {{.*}}) outs(%[[CODES]], %[[SCALES]] :
// CHECK-NOT:       kvq.pack
// CHECK:           tensor.insert_slice %[[Q]]#0 into %[[CACHE]][%[[B]], %[[H]], %[[ROW]], 0]
func.func @direct(%x: tensor<2x3x50x64xf16>, %lengths: tensor<2xi64>, %counts: tensor<2xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<2x3x50x64xf16>) lengths(%lengths : tensor<2xi64>)
      counts(%counts : tensor<2xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// -----

// Other inputs are rounded to the cache's element type first.

#format = #kvq.format<codes = i8, group = [1, 32], scale = f32>
!v = !kvq.cache<1x3x?x64xbf16, #format>

// CHECK-LABEL: func.func @rounded(
// CHECK-DAG:     %[[LARGEST:.*]] = arith.constant 3.38953139E+38 : f32
// CHECK:         %[[SCRATCH:.*]] = tensor.empty() : tensor<1x64xbf16>
// CHECK:         %[[ROW:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<1x64xf16>) outs(%[[SCRATCH]] : tensor<1x64xbf16>)
// CHECK-NEXT:    ^bb0(%[[IN:.*]]: f16, %{{.*}}: bf16):
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[IN]] : f16 to f32
// CHECK-NEXT:      %[[HIGH:.*]] = arith.cmpf olt, %[[LARGEST]], %[[WIDE]] : f32
// CHECK-NEXT:      arith.select %[[HIGH]], %[[LARGEST]], %[[WIDE]] : f32
// CHECK:         kvq.quantize #{{.*}} ins(%[[ROW]] :
func.func @rounded(%x: tensor<1x3x8x64xf16>, %lengths: tensor<1xi64>, %c: !v) -> !v {
  %0 = kvq.append ins(%x : tensor<1x3x8x64xf16>) lengths(%lengths : tensor<1xi64>) into(%c : !v) -> !v
  return %0 : !v
}

// -----

// An exact cache takes all rows of a work item at once.

!c = !kvq.cache<1x3x?x64xf16, #kvq.format<codes = none>>

// CHECK-LABEL: func.func @exact(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x3x?x64xf32>
// CHECK:         kvq.forall (%{{.*}}, %[[H:[a-z0-9]+]], %{{.*}}) in {{.*}} inits(%[[VALUES:.*]] = %{{.*}} :
// CHECK:           %[[BEGIN:.*]] = arith.minsi
// CHECK:           %[[END:.*]] = arith.minsi
// CHECK:           %[[START:.*]] = arith.subi %[[BEGIN]], %{{.*}}
// CHECK:           %[[N:.*]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:           %[[TARGET:.*]] = tensor.extract_slice %[[VALUES]][0, %[[H]], %[[BEGIN]], 0] [1, 1, %[[N]], 64]
// CHECK:           %[[SOURCE:.*]] = tensor.extract_slice %[[X]][0, %[[H]], %[[START]], 0] [1, 1, %[[N]], 64]
// CHECK:           %[[ROUNDED:.*]] = linalg.generic {{.*}} ins(%[[SOURCE]] : {{.*}}) outs(%[[TARGET]] :
// CHECK:           tensor.insert_slice %[[ROUNDED]] into %[[VALUES]][0, %[[H]], %[[BEGIN]], 0] [1, 1, %[[N]], 64]
func.func @exact(%x: tensor<1x3x?x64xf32>, %lengths: tensor<1xi64>, %c: !c) -> !c {
  %0 = kvq.append ins(%x : tensor<1x3x?x64xf32>) lengths(%lengths : tensor<1xi64>) into(%c : !c) -> !c
  return %0 : !c
}

// -----

// With a residual, all tokens are flushed once so many are there, group by group;
// the ring holds one less.

#format = #kvq.format<codes = i8, group = [32, 1], scale = f32>
!k = !kvq.cache<1x3x?x64xf16, #format, exact_first = 4, residual = 96>

// CHECK-LABEL: func.func @residual(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x3x?x64xf16>, %{{.*}}: tensor<1xi64>, %[[FLUSHED:[^:]*]]: tensor<1xi64>,
// CHECK-SAME:    tensor<1x3x?x64xi8>, %{{[^:]*}}: tensor<1x3x?x64xf32>, %{{[^:]*}}: tensor<1x3x4x64xf16>, %[[RECENT:[^:]*]]: tensor<1x3x95x64xf16>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C95:.*]] = arith.constant 95 : index
// CHECK-DAG:     %[[C96:.*]] = arith.constant 96 : index
// CHECK:         %[[NEW:.*]] = arith.addi
// CHECK:         %[[OLD:.*]] = arith.index_cast
// CHECK:         %[[BEYOND:.*]] = arith.subi %[[NEW]], %[[C4]]
// CHECK:         %[[MAX:.*]] = arith.maxsi %[[BEYOND]], %[[C0]]
// CHECK:         %[[DIV:.*]] = arith.divui %[[MAX]], %[[C96]]
// CHECK:         %[[LEAVING:.*]] = arith.muli %[[DIV]], %[[C96]]
// CHECK:         %[[END:.*]] = arith.maxsi %[[OLD]], %[[LEAVING]]
// CHECK:         scf.for %{{.*}} = %[[OLD]] to %[[END]] step %[[C32]]
// CHECK:           arith.remui %{{.*}}, %[[C95]]
// CHECK:           kvq.quantize
func.func @residual(%x: tensor<1x3x?x64xf16>, %lengths: tensor<1xi64>, %flushed: tensor<1xi64>, %c: !k) -> !k {
  %0 = kvq.append ins(%x : tensor<1x3x?x64xf16>) lengths(%lengths : tensor<1xi64>)
      flushed(%flushed : tensor<1xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Heads that share metadata are gathered, and quantized together into their
// codes and the one row of metadata.

// CHECK-LABEL: func.func @shared_heads
// CHECK-SAME: %[[CODES:.*]]: tensor<1x4x?x64xi8>, %[[SCALES:.*]]: tensor<1x2x?x4xf16>
// CHECK: kvq.forall (%{{.*}}, %[[PLACE:[a-z0-9]+]], %{{.*}}) in (%c1{{.*}}, %c2{{.*}}, %{{.*}})
// CHECK: %[[HEAD:.*]] = arith.muli %[[PLACE]], %c2
// CHECK: scf.for %[[ROW:[a-z0-9]+]] =
// CHECK: %[[ALL:.*]] = tensor.empty() : tensor<2x1x64xf16>
// CHECK: %[[GROUP:.*]] = scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}} = %[[ALL]])
// CHECK: %[[ONE:.*]] = arith.addi %[[HEAD]], %[[I]]
// CHECK: tensor.extract_slice %{{.*}}[0, %[[ONE]], %{{.*}}, 0] [1, 1, 1, 64]
// CHECK: %[[META:.*]] = arith.divui %[[HEAD]], %c2
// CHECK: %[[BYTES:.*]] = tensor.extract_slice %{{.*}}[0, %[[HEAD]], %[[ROW]], 0] [1, 2, 1, 64] [1, 1, 1, 1] : tensor<1x4x?x64xi8> to tensor<2x1x64xi8>
// CHECK: %[[SCALE:.*]] = tensor.extract_slice %{{.*}}[0, %[[META]], %[[ROW]], 0] [1, 1, 1, 4] [1, 1, 1, 1] : tensor<1x2x?x4xf16> to tensor<1x1x4xf16>
// CHECK: kvq.quantize #{{.*}} ins(%[[GROUP]] : tensor<2x1x64xf16>) outs(%[[BYTES]], %[[SCALE]] :
!c = !kvq.cache<1x4x?x64xf16, #kvq.format<codes = i8, group = [1, 16], heads = 2, scale = f16>>
func.func @shared_heads(%c: !c, %x: tensor<1x4x?x64xf32>, %n: tensor<1xi64>) -> !c {
  %r = kvq.append ins(%x : tensor<1x4x?x64xf32>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %r : !c
}
