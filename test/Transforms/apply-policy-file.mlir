// RUN: kvq-opt %s -kvq-apply-policy=policy-file=%S/Inputs/policy.mlir | FileCheck %s
// RUN: kvq-opt %s -kvq-apply-policy | FileCheck %s --check-prefix=NONE
// RUN: kvq-opt %s -kvq-cpu-pipeline | FileCheck %s --check-prefix=PIPELINE
// RUN: not kvq-opt %s -kvq-apply-policy=policy-file=%t.none 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not kvq-opt %s -kvq-apply-policy=policy-file=%S/Inputs/policy-ops.mlir 2>&1 | FileCheck %s --check-prefix=OPS
// RUN: not kvq-opt %s -kvq-apply-policy=policy-file=%s 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed -e 's/^module/module attributes {kvq.policy = #kvq.policy<<format = #kvq.format<codes = none>>>}/' %s \
// RUN:   | not kvq-opt -kvq-apply-policy=policy-file=%S/Inputs/policy.mlir 2>&1 | FileCheck %s --check-prefix=TWO

// CHECK: #kvq.format<codes = i8, group = [1, *], scale = f16, range = absmax>
// CHECK: !kvq.cache<1x2x?x64xf16, #format>
// CHECK: @attend(%{{.*}}: tensor<1x2x1x64xf32>, %{{.*}}: !cache, %{{.*}}: !cache,
// NONE: #kvq.format<codes = none>
// PIPELINE: llvm.func @attend
// MISSING: error: could not open input file
// OPS: policy-ops.mlir:2:3: error: expected a module with a policy and no ops
// OTHER: error: expected a module with the attribute kvq.policy
// TWO: error: expected one policy, got one of the module and one of the file
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>
module {
  func.func @attend(%q: tensor<1x2x1x64xf32>, %k: !exact, %v: !exact, %n: tensor<1xi64>,
                    %out: tensor<1x2x1x64xf32>) -> tensor<1x2x1x64xf32> {
    %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !exact, !exact)
        lengths(%n : tensor<1xi64>) outs(%out : tensor<1x2x1x64xf32>)
        {scale = 1.0 : f32} -> tensor<1x2x1x64xf32>
    return %o : tensor<1x2x1x64xf32>
  }
}
