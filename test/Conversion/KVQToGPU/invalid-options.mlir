// RUN: not kvq-opt %s --convert-kvq-to-gpu=block-size=2048 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BLOCK
// BLOCK: error: expected a block-size from 1 to 1024, found 2048

// RUN: not kvq-opt %s --convert-kvq-to-gpu=chip=sm_70 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP

// RUN: not kvq-opt %s --convert-kvq-to-gpu="chip=sm_80 copies=bulk" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BULK
// BULK: error: expected a chip with bulk copies (sm_90a, sm_100a, sm_120a), found sm_80
// RUN: not kvq-opt %s --convert-kvq-to-gpu=copies=bulk 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ANY
// ANY: error: expected a chip with copies=bulk, got none

// Scratch is to fit the chip, and without one any.
// RUN: not kvq-opt %s --convert-kvq-to-gpu=chip=sm_89 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SMALL
// RUN: kvq-opt %s --convert-kvq-to-gpu
// SMALL: error: expected at most 101376 bytes of scratch in a kernel, found 131072; smaller tiles need less

// Code generation would end the process for these.
// RUN: not kvq-opt %s --kvq-attach-nvvm-target=chip=sm_70 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected one of sm_80, sm_89, sm_90a, sm_100a, sm_120a as chip, found 'sm_70'

// RUN: not kvq-opt %s --kvq-attach-nvvm-target="chip=sm_90a ptx=78" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OLD
// OLD: error: expected a PTX version that LLVM writes, from 80 for sm_90a, found 78

// RUN: not kvq-opt %s --kvq-attach-nvvm-target=ptx=79 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: error: expected a PTX version that LLVM writes, from 70 for sm_80, found 79

func.func @scratch() {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    %0 = memref.alloca() : memref<128x256xf32>
    linalg.fill ins(%one : f32) outs(%0 : memref<128x256xf32>)
  }
  return
}
