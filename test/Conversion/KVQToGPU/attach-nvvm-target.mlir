// RUN: kvq-opt %s --kvq-attach-nvvm-target | FileCheck %s
// RUN: kvq-opt %s --kvq-attach-nvvm-target=chip=sm_120a \
// RUN:   | FileCheck %s --check-prefix=NEWEST
// RUN: kvq-opt %s --kvq-attach-nvvm-target="chip=sm_90a ptx=83" \
// RUN:   | FileCheck %s --check-prefix=VERSION

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx78">]
// NEWEST: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_120a", features = "+ptx87">]
// VERSION: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">]
module attributes {gpu.container_module} {
  gpu.module @kernels {
  }
}
