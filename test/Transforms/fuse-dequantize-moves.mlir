// RUN: kvq-opt %s --kvq-fuse-dequantize -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-fuse-dequantize -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-fuse-dequantize --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-fuse-dequantize),kvq-outline-kernels)' -split-input-file \
// RUN:   | FileCheck %s --check-prefix=OUTLINE

// What moves values between a kvq.dequantize and attention, and what of it does
// not become a view of the codes. test/python/test_fuse_dequantize.py runs them.

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Tokens before heads: a transposed view of the buffers.
// CHECK-LABEL: func @transposed
// CHECK-SAME:    %[[C:[^:]+]]: tensor<1x?x2x64xi8>, %[[S:[^:]+]]: tensor<1x?x2x1xf32>
// CHECK-NOT:   linalg
// CHECK:       %[[CB:.+]] = bufferization.to_buffer %[[C]] read_only : tensor<1x?x2x64xi8> to memref<1x?x2x64xi8>
// CHECK:       %[[CT:.+]] = memref.transpose %[[CB]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK-SAME:    to memref<1x2x?x64xi8, strided<[?, 64, 128, 1]>>
// CHECK:       %[[CV:.+]] = bufferization.to_tensor %[[CT]] restrict : {{.*}} to tensor<1x2x?x64xi8>
// CHECK:       %[[SV:.+]] = bufferization.to_tensor {{.*}} to tensor<1x2x?x1xf32>
// CHECK:       kvq.from_components %[[CV]], %[[SV]]
// CHECK:       kvq.attention
func.func @transposed(%q: tensor<1x4x1x64xf32>, %c: tensor<1x?x2x64xi8>, %s: tensor<1x?x2x1xf32>,
    %v: !kvq.cache<1x2x?x64xf32, #f>, %n: tensor<1xi64>, %t: index) -> tensor<1x4x1x64xf32> {
  %y0 = tensor.empty(%t) : tensor<1x?x2x64xf32>
  %y = kvq.dequantize #f ins(%c, %s : tensor<1x?x2x64xi8>, tensor<1x?x2x1xf32>)
      outs(%y0 : tensor<1x?x2x64xf32>) -> tensor<1x?x2x64xf32>
  %k0 = tensor.empty(%t) : tensor<1x2x?x64xf32>
  %k = linalg.transpose ins(%y : tensor<1x?x2x64xf32>) outs(%k0 : tensor<1x2x?x64xf32>) permutation = [0, 2, 1, 3]
  %o = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, tensor<1x2x?x64xf32>, !kvq.cache<1x2x?x64xf32, #f>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}

// -----

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Keys from a border of groups on, values from where the host says: heads 1 and 2
// of both.
// CHECK-LABEL: func @slices
// CHECK-SAME:    %[[P:[^:]+]]: tensor<1x4x96x32xi8>, %[[S:[^:]+]]: tensor<1x4x3x64xf16>, %[[Z:[^:]+]]: tensor<1x4x3x64xf16>
// CHECK-SAME:    %[[C:[^:]+]]: tensor<1x4x?x64xi8>, %[[VS:[^:]+]]: tensor<1x4x?x1xf32>
// CHECK-SAME:    %[[AT:[^:]+]]: index
// CHECK-DAG:   tensor.extract_slice %[[P]][0, 1, 32, 0] [1, 2, 64, 32] [1, 1, 1, 1]
// CHECK-DAG:   tensor.extract_slice %[[S]][0, 1, 1, 0] [1, 2, 2, 64] [1, 1, 1, 1]
// CHECK-DAG:   tensor.extract_slice %[[Z]][0, 1, 1, 0] [1, 2, 2, 64] [1, 1, 1, 1]
// CHECK-DAG:   tensor.extract_slice %[[C]][0, 1, %[[AT]], 0] [1, 2, %{{.+}}, 64] [1, 1, 1, 1]
// CHECK-DAG:   tensor.extract_slice %[[VS]][0, 1, %[[AT]], 0] [1, 2, %{{.+}}, 1] [1, 1, 1, 1]
// CHECK:       kvq.attention
// CHECK-SAME:    key_flushed
func.func @slices(%q: tensor<1x4x1x64xf32>, %p: tensor<1x4x96x32xi8>, %s: tensor<1x4x3x64xf16>,
    %z: tensor<1x4x3x64xf16>, %c: tensor<1x4x?x64xi8>, %vs: tensor<1x4x?x1xf32>, %n: tensor<1xi64>, %at: index,
    %all: index) -> tensor<1x4x1x64xf32> {
  %u0 = tensor.empty() : tensor<1x4x96x64xi8>
  %u = kvq.unpack #k ins(%p : tensor<1x4x96x32xi8>) outs(%u0 : tensor<1x4x96x64xi8>) -> tensor<1x4x96x64xi8>
  %k0 = tensor.empty() : tensor<1x4x96x64xf32>
  %k1 = kvq.dequantize #k ins(%u, %s, %z : tensor<1x4x96x64xi8>, tensor<1x4x3x64xf16>, tensor<1x4x3x64xf16>)
      outs(%k0 : tensor<1x4x96x64xf32>) -> tensor<1x4x96x64xf32>
  %k = tensor.extract_slice %k1[0, 1, 32, 0] [1, 2, 64, 64] [1, 1, 1, 1] : tensor<1x4x96x64xf32> to tensor<1x2x64x64xf32>
  %v0 = tensor.empty(%all) : tensor<1x4x?x64xf32>
  %v1 = kvq.dequantize #v ins(%c, %vs : tensor<1x4x?x64xi8>, tensor<1x4x?x1xf32>)
      outs(%v0 : tensor<1x4x?x64xf32>) -> tensor<1x4x?x64xf32>
  %v = tensor.extract_slice %v1[0, 1, %at, 0] [1, 2, 64, 64] [1, 1, 1, 1] : tensor<1x4x?x64xf32> to tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x4x1x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f32>

// One row for keys and values: channels 0 to 63 and 64 to 127, heads of all
// sequences along one axis.
// CHECK-LABEL: func @channels
// CHECK-SAME:    %[[C:[^:]+]]: tensor<4x64x128xi8>, %[[S:[^:]+]]: tensor<4x64x4xf32>
// CHECK:       %[[C4:.+]] = tensor.expand_shape %[[C]] {{\[\[}}0, 1], [2], [3]] output_shape [2, 2, 64, 128]
// CHECK:       tensor.extract_slice %[[C4]][0, 0, 0, 0] [2, 2, 64, 64] [1, 1, 1, 1]
// CHECK:       tensor.expand_shape %[[S]] {{\[\[}}0, 1], [2], [3]] output_shape [2, 2, 64, 4]
// CHECK:       tensor.extract_slice %{{.+}}[0, 0, 0, 64] [2, 2, 64, 64] [1, 1, 1, 1]
// CHECK:       tensor.extract_slice %{{.+}}[0, 0, 0, 2] [2, 2, 64, 2] [1, 1, 1, 1]
// CHECK:       kvq.attention
func.func @channels(%q: tensor<2x4x1x64xf32>, %c: tensor<4x64x128xi8>, %s: tensor<4x64x4xf32>, %n: tensor<2xi64>)
    -> tensor<2x4x1x64xf32> {
  %x0 = tensor.empty() : tensor<4x64x128xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<4x64x128xi8>, tensor<4x64x4xf32>)
      outs(%x0 : tensor<4x64x128xf32>) -> tensor<4x64x128xf32>
  %y = tensor.expand_shape %x [[0, 1], [2], [3]] output_shape [2, 2, 64, 128]
      : tensor<4x64x128xf32> into tensor<2x2x64x128xf32>
  %k = tensor.extract_slice %y[0, 0, 0, 0] [2, 2, 64, 64] [1, 1, 1, 1] : tensor<2x2x64x128xf32> to tensor<2x2x64x64xf32>
  %v = tensor.extract_slice %y[0, 0, 0, 64] [2, 2, 64, 64] [1, 1, 1, 1] : tensor<2x2x64x128xf32> to tensor<2x2x64x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<2x4x1x64xf32>, tensor<2x2x64x64xf32>, tensor<2x2x64x64xf32>)
      lengths(%n : tensor<2xi64>) outs(%q : tensor<2x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x4x1x64xf32>
  return %o : tensor<2x4x1x64xf32>
}

// -----

#f = #kvq.format<codes = i8, group = [1, 32], scale = f32>

// Rows of all heads of a token, keys behind queries and before values: heads 3 and
// 4 of 7.
// CHECK-LABEL: func @heads_in_rows
// CHECK-SAME:    %[[C:[^:]+]]: tensor<2x64x448xi8>, %[[S:[^:]+]]: tensor<2x64x14xf32>
// CHECK:       %[[C4:.+]] = tensor.expand_shape %[[C]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 64, 7, 64]
// CHECK:       memref.transpose {{.*}} (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK:       tensor.extract_slice %{{.+}}[0, 3, 0, 0] [2, 2, 64, 64] [1, 1, 1, 1]
// CHECK:       tensor.expand_shape %[[S]] {{\[\[}}0], [1], [2, 3]] output_shape [2, 64, 7, 2]
// CHECK:       tensor.extract_slice %{{.+}}[0, 3, 0, 0] [2, 2, 64, 2] [1, 1, 1, 1]
// CHECK:       kvq.attention
func.func @heads_in_rows(%q: tensor<2x6x1x64xf32>, %c: tensor<2x64x448xi8>, %s: tensor<2x64x14xf32>,
    %v: !kvq.cache<2x2x?x64xf32, #f>, %n: tensor<2xi64>) -> tensor<2x6x1x64xf32> {
  %x0 = tensor.empty() : tensor<2x64x448xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<2x64x448xi8>, tensor<2x64x14xf32>)
      outs(%x0 : tensor<2x64x448xf32>) -> tensor<2x64x448xf32>
  %y = tensor.extract_slice %x[0, 0, 192] [2, 64, 128] [1, 1, 1] : tensor<2x64x448xf32> to tensor<2x64x128xf32>
  %z = tensor.expand_shape %y [[0], [1], [2, 3]] output_shape [2, 64, 2, 64] : tensor<2x64x128xf32> into tensor<2x64x2x64xf32>
  %k0 = tensor.empty() : tensor<2x2x64x64xf32>
  %k = linalg.transpose ins(%z : tensor<2x64x2x64xf32>) outs(%k0 : tensor<2x2x64x64xf32>) permutation = [0, 2, 1, 3]
  %o = kvq.attention ins(%q, %k, %v : tensor<2x6x1x64xf32>, tensor<2x2x64x64xf32>, !kvq.cache<2x2x?x64xf32, #f>)
      lengths(%n : tensor<2xi64>) outs(%q : tensor<2x6x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x6x1x64xf32>
  return %o : tensor<2x6x1x64xf32>
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f32>

// Views of a part are not given to a shared kernel, which would copy them.
// OUTLINE-LABEL: func @layers
// OUTLINE-COUNT-2: kvq.attention
func.func @layers(%q: tensor<1x2x1x64xf32>, %c: tensor<2x1x2x64x64xi8>, %s: tensor<2x1x2x64x1xf32>, %n: tensor<1xi64>)
    -> (tensor<1x2x1x64xf32>, tensor<1x2x1x64xf32>) {
  %x0 = tensor.empty() : tensor<2x1x2x64x64xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<2x1x2x64x64xi8>, tensor<2x1x2x64x1xf32>)
      outs(%x0 : tensor<2x1x2x64x64xf32>) -> tensor<2x1x2x64x64xf32>
  %k = tensor.extract_slice %x[0, 0, 0, 0, 0] [1, 1, 2, 64, 64] [1, 1, 1, 1, 1] : tensor<2x1x2x64x64xf32> to tensor<1x2x64x64xf32>
  %v = tensor.extract_slice %x[1, 0, 0, 0, 0] [1, 1, 2, 64, 64] [1, 1, 1, 1, 1] : tensor<2x1x2x64x64xf32> to tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  %p = kvq.attention ins(%o, %k, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o, %p : tensor<1x2x1x64xf32>, tensor<1x2x1x64xf32>
}

// -----

// What is no view of the codes.

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#f = #kvq.format<codes = i8, group = [1, *], scale = f32>
#g = #kvq.format<codes = i8, group = [1, 32], scale = f32>

// A slice within a group; one of packed channels.
// REMARK: Function=within | Reason="its tokens begin within a row or a group of those of what it comes from, or where is not known", Remark="keys are not read as codes"
// REMARK: Function=within | Reason="a tensor.extract_slice takes some of the channels of packed codes", Remark="values are not read as codes"
func.func @within(%q: tensor<1x2x1x32xf32>, %p: tensor<1x2x96x32xi8>, %s: tensor<1x2x3x64xf16>, %n: tensor<1xi64>)
    -> tensor<1x2x1x32xf32> {
  %u0 = tensor.empty() : tensor<1x2x96x64xi8>
  %u = kvq.unpack #k ins(%p : tensor<1x2x96x32xi8>) outs(%u0 : tensor<1x2x96x64xi8>) -> tensor<1x2x96x64xi8>
  %x0 = tensor.empty() : tensor<1x2x96x64xf32>
  %x = kvq.dequantize #k ins(%u, %s, %s : tensor<1x2x96x64xi8>, tensor<1x2x3x64xf16>, tensor<1x2x3x64xf16>)
      outs(%x0 : tensor<1x2x96x64xf32>) -> tensor<1x2x96x64xf32>
  %ws = tensor.extract_slice %s[0, 0, 0, 0] [1, 2, 3, 32] [1, 1, 1, 1] : tensor<1x2x3x64xf16> to tensor<1x2x3x32xf16>
  %w0 = tensor.empty() : tensor<1x2x96x32xf32>
  %w = kvq.dequantize #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16>
      ins(%p, %ws, %ws : tensor<1x2x96x32xi8>, tensor<1x2x3x32xf16>, tensor<1x2x3x32xf16>)
      outs(%w0 : tensor<1x2x96x32xf32>) -> tensor<1x2x96x32xf32>
  %k = tensor.extract_slice %w[0, 0, 16, 0] [1, 2, 64, 32] [1, 1, 1, 1] : tensor<1x2x96x32xf32> to tensor<1x2x64x32xf32>
  %v = tensor.extract_slice %x[0, 0, 0, 0] [1, 2, 64, 32] [1, 1, 1, 1] : tensor<1x2x96x64xf32> to tensor<1x2x64x32xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x32xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x32xf32>
  return %o : tensor<1x2x1x32xf32>
}

// Tokens of two tensors; every third token of 64.
// REMARK: Function=joined | Reason="a tensor.concat joins parts along axis 2", Remark="keys are not read as codes"
// REMARK: Function=joined | Reason="axis 2 of what it comes from is not read at one index after the other", Remark="values are not read as codes"
func.func @joined(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64x1xf32>,
    %new: tensor<1x2x1x64xf32>, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64x1xf32>)
      outs(%x0 : tensor<1x2x64x64xf32>) -> tensor<1x2x64x64xf32>
  %k = tensor.concat dim(2) %x, %new : (tensor<1x2x64x64xf32>, tensor<1x2x1x64xf32>) -> tensor<1x2x65x64xf32>
  %v = tensor.extract_slice %x[0, 0, 0, 0] [1, 2, 21, 64] [1, 1, 3, 1] : tensor<1x2x64x64xf32> to tensor<1x2x21x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, tensor<1x2x65x64xf32>, tensor<1x2x21x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Channels before tokens; codes that all sequences share.
// REMARK: Function=channels_first | Reason="its tokens and channels are not the last two axes of the kvq.dequantize", Remark="keys are not read as codes"
// REMARK: Function=channels_first | Reason="its codes are the same for all sequences, of which a cache has 2", Remark="values are not read as codes"
func.func @channels_first(%q: tensor<2x2x1x64xf32>, %c: tensor<2x2x64x64xi8>, %s: tensor<2x2x64x1xf32>,
    %vc: tensor<2x64x64xi8>, %vs: tensor<2x64x1xf32>, %n: tensor<2xi64>) -> tensor<2x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<2x2x64x64xf32>
  %x = kvq.dequantize #f ins(%c, %s : tensor<2x2x64x64xi8>, tensor<2x2x64x1xf32>)
      outs(%x0 : tensor<2x2x64x64xf32>) -> tensor<2x2x64x64xf32>
  %k = linalg.transpose ins(%x : tensor<2x2x64x64xf32>) outs(%x0 : tensor<2x2x64x64xf32>) permutation = [0, 1, 3, 2]
  %y0 = tensor.empty() : tensor<2x64x64xf32>
  %y = kvq.dequantize #f ins(%vc, %vs : tensor<2x64x64xi8>, tensor<2x64x1xf32>)
      outs(%y0 : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %v = linalg.broadcast ins(%y : tensor<2x64x64xf32>) outs(%x0 : tensor<2x2x64x64xf32>) dimensions = [0]
  %o = kvq.attention ins(%q, %k, %v : tensor<2x2x1x64xf32>, tensor<2x2x64x64xf32>, tensor<2x2x64x64xf32>)
      lengths(%n : tensor<2xi64>) outs(%q : tensor<2x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<2x2x1x64xf32>
  return %o : tensor<2x2x1x64xf32>
}

// Codes that are turned before they are unpacked into rows; half a group.
// REMARK: Function=columns | Reason="the codes of a row do not lie side by side", Remark="keys are not read as codes"
// REMARK: Function=columns | Reason="its channels are other than whole groups of those of the kvq.dequantize", Remark="values are not read as codes"
func.func @columns(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64x1xf32>,
    %vc: tensor<1x2x64x128xi8>, %vs: tensor<1x2x64x4xf32>, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
  %ct0 = tensor.empty() : tensor<1x2x64x64xi8>
  %ct = linalg.transpose ins(%c : tensor<1x2x64x64xi8>) outs(%ct0 : tensor<1x2x64x64xi8>) permutation = [0, 1, 3, 2]
  %k0 = tensor.empty() : tensor<1x2x64x64xf32>
  %k = kvq.dequantize #f ins(%ct, %s : tensor<1x2x64x64xi8>, tensor<1x2x64x1xf32>)
      outs(%k0 : tensor<1x2x64x64xf32>) -> tensor<1x2x64x64xf32>
  %y0 = tensor.empty() : tensor<1x2x64x128xf32>
  %y = kvq.dequantize #g ins(%vc, %vs : tensor<1x2x64x128xi8>, tensor<1x2x64x4xf32>)
      outs(%y0 : tensor<1x2x64x128xf32>) -> tensor<1x2x64x128xf32>
  %v = tensor.extract_slice %y[0, 0, 0, 16] [1, 2, 64, 64] [1, 1, 1, 1] : tensor<1x2x64x128xf32> to tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, tensor<1x2x64x64xf32>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}
