// RUN: kvq-opt %s --kvq-nvvm-pipeline="chip=sm_90a copies=bulk" | FileCheck %s
// RUN: kvq-opt %s --kvq-nvvm-pipeline="chip=sm_90a copies=async" | FileCheck %s --check-prefix=ASYNC
// RUN: kvq-opt %s --kvq-nvvm-pipeline="chip=sm_90a copies=bulk format=isa" | FileCheck %s --check-prefix=PTX

// RUN: kvq-opt %s --kvq-nvvm-pipeline="chip=sm_90a copies=bulk" -o /dev/null \
// RUN:   --remarks-filter=convert-kvq-to-gpu --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK:         remark: {{.*}}Reason="rows of a step do not lie together", Remark="codes are not copied in bulk"
// REMARK-NOT:     remark:

// RUN: not kvq-opt %s --kvq-nvvm-pipeline="chip=sm_89 copies=bulk" 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: expected a chip with bulk copies (sm_90a, sm_100a, sm_120a), found sm_89

// Keys and values of 8 bits, in steps of 64 tokens of 64 channels.
#i8 = #kvq.format<codes = i8, group = [1, *], scale = f16>
!cache = !kvq.cache<1x2x256x64xf16, #i8>
// Rows of several heads are between those of one.
!apart = !kvq.cache<1x2x256x64xf16, #i8, token_major>

// CHECK-LABEL: llvm.func @decode_kernel(
// What lanes have copied is ordered before what comes in bulk.
// CHECK:         nvvm.cp.async.wait.group 0
// CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT:    nvvm.bar.warp.sync
// CHECK-NEXT:    nvvm.elect.sync -> i1
// CHECK-COUNT-3: nvvm.mbarrier.init
// CHECK-COUNT-3: nvvm.mbarrier.arrive
// CHECK:         nvvm.fence.proxy
// CHECK:         nvvm.bar.warp.sync

// In the loop over whole steps: 8 runs of keys of 8 rows, then as many of values.
// CHECK:         nvvm.mbarrier.try_wait %{{.*}}, %[[KEYS:[^ ]+]] :
// CHECK:         nvvm.bar.warp.sync
// CHECK:         nvvm.elect.sync -> i1
// CHECK:         nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-8: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NOT:     nvvm.cp.async
// CHECK:         nvvm.mma.sync
// CHECK:         nvvm.mbarrier.try_wait
// CHECK:         nvvm.bar.warp.sync
// CHECK:         nvvm.elect.sync -> i1
// CHECK:         nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-8: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NOT:     nvvm.cp.async
// CHECK:         nvvm.mma.sync

// Where rows do not lie together lanes copy them.
// CHECK-LABEL: llvm.func @heads_kernel(
// CHECK-NOT:     nvvm.cp.async.bulk
// CHECK:         nvvm.cp.async.shared.global

// ASYNC-LABEL: llvm.func @decode_kernel(
// ASYNC-NOT:     mbarrier
// ASYNC-NOT:     nvvm.cp.async.bulk
// ASYNC-LABEL: llvm.func @heads_kernel(

// PTX: .target sm_90a
// PTX: fence.proxy.async.shared::cta
// PTX: mbarrier.init.shared.b64
// PTX: mbarrier.try_wait.parity.shared.b64
// PTX: elect.sync
// PTX: mbarrier.arrive.expect_tx.shared.b64 {{.*}}, 4096
// PTX: cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%{{[^,]*}}], [%{{[^,]*}}], %{{[^,]*}}, [
func.func @decode(%q: tensor<1x8x1x64xf32>, %k: !cache, %v: !cache,
                  %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !cache, !cache)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}

func.func @heads(%q: tensor<1x8x1x64xf32>, %k: !apart, %v: !apart,
                 %lengths: tensor<1xi64>, %out: tensor<1x8x1x64xf32>)
    -> tensor<1x8x1x64xf32> {
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x8x1x64xf32>, !apart, !apart)
    lengths(%lengths : tensor<1xi64>) outs(%out : tensor<1x8x1x64xf32>)
    {scale = 0.125 : f32, causal} -> tensor<1x8x1x64xf32>
  return %0 : tensor<1x8x1x64xf32>
}
