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

// The same row as one record: what a segment skips is the others', and counts
// with them.

// CHECK-LABEL: footprint of @row
// CHECK: bytes 4096 tokens fixed per token
// CHECK: codes 2097152 0 512
// CHECK: scales 65536 0 16
// CHECK: values 524288 0 128
// CHECK: padding 0 0 0
// CHECK: total 2686976 0 656
func.func @row(%c: !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #latent, [512:576] = none, row = [codes.0, scale.0, values.1]>>) {
  return
}

// In pages; the scale of one segment is given.

// CHECK-LABEL: footprint of @pages
// CHECK: codes 1310720 0 320
// CHECK: scales 131076 4 32
// CHECK: padding 0 0 0
// CHECK: page_tails 0 0 0
// CHECK: total 1441796 4 352
func.func @pages(%c: !kvq.cache<1x1x?x576xbf16, #kvq.preset<"vllm.mla_nvfp4_row">, page = 64>) {
  return
}

// Bytes of a layout that are nobody's are padding.

// CHECK-LABEL: footprint of @padding
// CHECK: codes 262144 0 64
// CHECK: scales 16384 0 4
// CHECK: padding 16384 0 4
// CHECK: total 294912 0 72
#p = #kvq.format<codes = i8, group = [1, *], scale = f32, layout = #kvq.layout<row = [codes, scale, skip<4>]>>
func.func @padding(%c: !kvq.cache<1x1x?x64xf16, #p>) {
  return
}

// Words of tokens: as many bytes as rows of tokens.

// CHECK-LABEL: footprint of @words
// CHECK: codes 65536 0 16
// CHECK: scales 16384 0 4
// CHECK: zeros 16384 0 4
// CHECK: recent 3968 3968 0
// CHECK: total 102272 3968 24
func.func @words(%c: !kvq.cache<1x1x?x64xf16, #kvq.preset<"kivi.2bit_keys">, residual = 32>) {
  return
}
