// RUN: kvq-opt %s --kvq-report-footprint="output=table capacity=4096" -o /dev/null 2>&1 | FileCheck %s

// vLLM's latent row of 656 bytes: 512 codes, 4 scales of f32 and 64 channels
// of 16 bits. A kind of component is counted once for all segments.

// CHECK-LABEL: footprint of @latent
// CHECK: bytes 4096 tokens fixed per token
// CHECK: codes 2097152 0 512
// CHECK: scales 65536 0 16
// CHECK: values 524288 0 128
// CHECK: total 2686976 0 656
#latent = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>
func.func @latent(%c: !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #latent, [512:576] = none>>) {
  return
}

// Windows are those of segments with codes.

// CHECK-LABEL: footprint of @window
// CHECK: codes 16256 0 4
// CHECK: scales 16256 0 4
// CHECK: recent 512 512 0
// CHECK: values 131072 0 32
// CHECK: total 164096 512 40
#k = #kvq.format<codes = i4, group = [1, 4], scale = f16>
func.func @window(%c: !kvq.cache<1x1x?x24xf16, #kvq.segments<[0:8] = #k, [8:24] = none>, recent = 32>) {
  return
}
