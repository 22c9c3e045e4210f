// RUN: kvq-opt %s --kvq-fuse-dequantize -split-input-file | FileCheck %s
// RUN: kvq-opt %s --kvq-fuse-dequantize -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-fuse-dequantize --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Dequantization that is written out: the format that it is, its layout seen from
// the places of the bits. test/python/test_fuse_dequantize.py runs these, and more.

#v = #kvq.format<codes = i8, group = [1, *], scale = f32>
#id = affine_map<(b, h, t, c) -> (b, h, t, c)>
#row = affine_map<(b, h, t, c) -> (b, h, t)>
#group = affine_map<(b, h, t, c) -> (b, h, t floordiv 32, c)>
#half = affine_map<(b, h, t, c) -> (b, h, t, c floordiv 2)>

// Signed bytes, all values of which they may have, times a scale of the token.
// CHECK-DAG:   #[[BYTES:.+]] = #kvq.format<codes = i8, group = [1, *], scale = f32, range = absmax, rule = #kvq.rule<bounds = full>>
// CHECK-DAG:   #[[NIBBLES:.+]] = #kvq.format<codes = i4, group = [1, *], scale = f32, range = absmax, rule = #kvq.rule<bounds = full>, layout = #kvq.layout<codes = stream, bias>>
// CHECK-DAG:   #[[MINIMA:.+]] = #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16, range = minmax>
// CHECK-DAG:   ![[CB:.+]] = !kvq.cache<1x2x64x64xf32, #[[BYTES]]>
// CHECK-DAG:   ![[CN:.+]] = !kvq.cache<1x2x64x64xf32, #[[NIBBLES]]>
// CHECK-DAG:   #[[SIGNED:.+]] = #kvq.format<codes = i4, group = [1, *], scale = f32, range = absmax, rule = #kvq.rule<bounds = full>, layout = #kvq.layout<codes = reversed>>
// CHECK-DAG:   ![[CS:.+]] = !kvq.cache<1x2x64x64xf32, #[[SIGNED]]>
// CHECK-DAG:   ![[CM:.+]] = !kvq.cache<1x2x64x64xf32, #[[MINIMA]], recent = 0>
// CHECK-LABEL: func @bytes
// CHECK-SAME:    %[[C:[^:]+]]: tensor<1x2x64x64xi8>, %[[S:[^:]+]]: tensor<1x2x64xf32>
// CHECK-NOT:   linalg
// CHECK:       %[[SX:.+]] = tensor.expand_shape %[[S]] {{.*}} into tensor<1x2x64x1xf32>
// CHECK:       kvq.from_components %[[C]], %[[SX]] : {{.*}} -> ![[CB]]{{$}}
// REMARK: [Passed] FuseDequantize | {{.*}}Function=bytes
func.func @bytes(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Two nibbles of a byte, the first one in its low bits, less 8.
// CHECK-LABEL: func @nibbles
// CHECK:       kvq.from_components {{.*}} -> ![[CN]]{{$}}
func.func @nibbles(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x32xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#half, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x32xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %i = linalg.index 3 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %odd = arith.remui %i, %c2 : index
    %bits = arith.muli %odd, %c4 : index
    %shift = arith.index_cast %bits : index to i8
    %mask = arith.constant 15 : i8
    %middle = arith.constant 8 : i8
    %m = arith.shrui %in, %shift : i8
    %code = arith.andi %m, %mask : i8
    %d = arith.subi %code, %middle : i8
    %f = arith.sitofp %d : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Minima of 32 tokens, by channel: as ops on whole tensors, the metadata spread by
// reshapes.
// CHECK-LABEL: func @whole_tensors
// CHECK:       kvq.from_components {{.*}} : tensor<1x2x64x64xi8>, tensor<1x2x2x64xf16>, tensor<1x2x2x64xf16>, tensor<1x2x31x64xf32> -> ![[CM]]{{$}}
// CHECK:       key_flushed
func.func @whole_tensors(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x2x64xf16>, %z: tensor<1x2x2x64xf16>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %g0 = tensor.empty() : tensor<1x2x2x32x64xf16>
  %sb = linalg.broadcast ins(%s : tensor<1x2x2x64xf16>) outs(%g0 : tensor<1x2x2x32x64xf16>) dimensions = [3]
  %zb = linalg.broadcast ins(%z : tensor<1x2x2x64xf16>) outs(%g0 : tensor<1x2x2x32x64xf16>) dimensions = [3]
  %st = tensor.collapse_shape %sb [[0], [1], [2, 3], [4]] : tensor<1x2x2x32x64xf16> into tensor<1x2x64x64xf16>
  %zt = tensor.collapse_shape %zb [[0], [1], [2, 3], [4]] : tensor<1x2x2x32x64xf16> into tensor<1x2x64x64xf16>
  %f = arith.uitofp %c : tensor<1x2x64x64xi8> to tensor<1x2x64x64xf16>
  %m = arith.mulf %f, %st : tensor<1x2x64x64xf16>
  %y = arith.addf %m, %zt : tensor<1x2x64x64xf16>
  %x = arith.extf %y : tensor<1x2x64x64xf16> to tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Codes of kvq.unpack, and of its records with the scales of these.
#r = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<bias, record = [scale, codes]>>
// CHECK-LABEL: func @records
// CHECK-SAME:    %[[R:[^:]+]]: tensor<1x2x64x34xi8>
// CHECK-NOT:   kvq.unpack
// CHECK:       kvq.from_components %[[R]] :
func.func @records(%q: tensor<1x2x1x64xf32>, %r: tensor<1x2x64x34xi8>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %c0 = tensor.empty() : tensor<1x2x64x64xi8>
  %s0 = tensor.empty() : tensor<1x2x64x1xf16>
  %u:2 = kvq.unpack #r ins(%r : tensor<1x2x64x34xi8>) outs(%c0, %s0 : tensor<1x2x64x64xi8>, tensor<1x2x64x1xf16>)
      -> tensor<1x2x64x64xi8>, tensor<1x2x64x1xf16>
  %s1 = tensor.collapse_shape %u#1 [[0], [1], [2, 3]] : tensor<1x2x64x1xf16> into tensor<1x2x64xf16>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%u#0, %s1 : tensor<1x2x64x64xi8>, tensor<1x2x64xf16>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f16, %out: f32):
    %s = arith.extf %scale : f16 to f32
    %f = arith.sitofp %in : i8 to f32
    %y = arith.mulf %s, %f : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Signs are extended by a difference; the high nibble comes first.
// CHECK-LABEL: func @sign_extended
// CHECK:       kvq.from_components {{.*}} -> ![[CS]]{{$}}
func.func @sign_extended(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x32xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#half, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x32xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %i = linalg.index 3 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %odd = arith.remui %i, %c2 : index
    %even = arith.subi %c1, %odd : index
    %bits = arith.muli %even, %c4 : index
    %shift = arith.index_cast %bits : index to i8
    %mask = arith.constant 15 : i8
    %sign = arith.constant 8 : i8
    %m = arith.shrui %in, %shift : i8
    %code = arith.andi %m, %mask : i8
    %flipped = arith.xori %code, %sign : i8
    %d = arith.subi %flipped, %sign : i8
    %f = arith.sitofp %d : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// -----

// What is no format, or not known to be one.

#v = #kvq.format<codes = i8, group = [1, *], scale = f32>
#id = affine_map<(b, h, t, c) -> (b, h, t, c)>
#row = affine_map<(b, h, t, c) -> (b, h, t)>
#group = affine_map<(b, h, t, c) -> (b, h, t floordiv 32, c)>
#half = affine_map<(b, h, t, c) -> (b, h, t, c floordiv 2)>
#back = affine_map<(b, h, t, c) -> (b, h, t, 63 - c)>
#odd = affine_map<(b, h, t, c) -> (b, h, t, (c + 16) floordiv 32)>
#wide = affine_map<(b, h, t, c) -> (b, h, t, c floordiv 4)>
#other = affine_map<(b, h, t, c) -> (b, h, t, c floordiv 16)>
#r = #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<bias, record = [scale, codes]>>

// Unsigned codes about zero.
// REMARK: Function=unsigned | Reason="unsigned codes ui8 need a zero: expected 'zero = min T' or 'zero = point T'"
func.func @unsigned(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.uitofp %in : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Signed codes, and a minimum.
// REMARK: Function=signed | Reason="it has a zero, and its codes are not unsigned"
func.func @signed(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %m = arith.mulf %f, %scale : f32
    %y = arith.addf %m, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Less 100, which is not the middle.
// REMARK: Function=middle | Reason="100 is subtracted from its codes of 8 bits: only the middle of unsigned ones is no zero point"
func.func @middle(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %k = arith.constant 100.0 : f32
    %g = arith.uitofp %in : i8 to f32
    %f = arith.subf %g, %k : f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// A minimum that is subtracted.
// REMARK: Function=minus | Reason="what is subtracted from its scaled codes is no zero point times their scale: a minimum is added"
func.func @minus(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.uitofp %in : i8 to f32
    %m = arith.mulf %f, %scale : f32
    %y = arith.subf %m, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Shifted by what is in memory.
// REMARK: Function=shifted | Reason="its codes are shifted by a number of bits that is not known"
func.func @shifted(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64x64xi8>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64x64xi8>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: i8, %out: f32):
    %m = arith.shrui %in, %scale : i8
    %f = arith.uitofp %m : i8 to f32
    %y = arith.mulf %f, %f : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Eight codes in a word.
// REMARK: Function=words | Reason="its codes lie in integers of 32 bits: a cache has bytes"
func.func @words(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x16xi32>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#wide, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x16xi32>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i32, %scale: f32, %out: f32):
    %mask = arith.constant 15 : i32
    %m = arith.andi %in, %mask : i32
    %f = arith.uitofp %m : i32 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// The last channel first.
// REMARK: Function=backwards | Reason="its codes do not lie in the order of the channels"
func.func @backwards(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#back, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// The low nibble of each byte twice.
// REMARK: Function=low_only | Reason="no layout has its codes of 4 bits in their order"
func.func @low_only(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x32xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#half, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x32xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %mask = arith.constant 15 : i8
    %z = arith.constant 8 : i8
    %m = arith.andi %in, %mask : i8
    %d = arith.subi %m, %z : i8
    %f = arith.sitofp %d : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Groups of 16, 32 and 16 channels.
// REMARK: Function=uneven | Reason="its scales do not go with as many channels each, in order"
func.func @uneven(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64x3xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #odd, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64x3xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Minima of other groups than the scales.
// REMARK: Function=other_groups | Reason="its zeros are those of other groups than its scales"
func.func @other_groups(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %z: tensor<1x2x64x4xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #other, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s, %z : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>, tensor<1x2x64x4xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %min: f32, %out: f32):
    %f = arith.uitofp %in : i8 to f32
    %m = arith.mulf %f, %scale : f32
    %y = arith.addf %m, %min : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// A product of two scales.
// REMARK: Function=twice | Reason="what is scaled is a block argument, not from codes"
func.func @twice(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %m = arith.mulf %f, %scale : f32
    %y = arith.mulf %scale, %m : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// Other scales than those of the records.
// REMARK: Function=records_of_others | Reason="its records have other groups, scales or zeros than its values are made with"
func.func @records_of_others(%q: tensor<1x2x1x64xf32>, %r: tensor<1x2x64x34xi8>, %s: tensor<1x2x64xf32>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %c0 = tensor.empty() : tensor<1x2x64x64xi8>
  %s0 = tensor.empty() : tensor<1x2x64x1xf16>
  %u:2 = kvq.unpack #r ins(%r : tensor<1x2x64x34xi8>) outs(%c0, %s0 : tensor<1x2x64x64xi8>, tensor<1x2x64x1xf16>)
      -> tensor<1x2x64x64xi8>, tensor<1x2x64x1xf16>
  %x = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%u#0, %s : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %f = arith.sitofp %in : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}

// A difference of bytes, in bytes.
// REMARK: Function=wraps | Reason="differences of its codes do not fit in 8 bits"
func.func @wraps(%q: tensor<1x2x1x64xf32>, %c: tensor<1x2x64x64xi8>, %s: tensor<1x2x64xf32>, %z: tensor<1x2x64xi8>, %v: !kvq.cache<1x2x?x64xf32, #v>, %n: tensor<1xi64>)
    -> tensor<1x2x1x64xf32> {
  %x0 = tensor.empty() : tensor<1x2x64x64xf32>
  %x = linalg.generic {indexing_maps = [#id, #row, #row, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %s, %z : tensor<1x2x64x64xi8>, tensor<1x2x64xf32>, tensor<1x2x64xi8>) outs(%x0 : tensor<1x2x64x64xf32>) {
  ^bb0(%in: i8, %scale: f32, %point: i8, %out: f32):
    %d = arith.subi %in, %point : i8
    %f = arith.sitofp %d : i8 to f32
    %y = arith.mulf %f, %scale : f32
    linalg.yield %y : f32
  } -> tensor<1x2x64x64xf32>
  %o = kvq.attention ins(%q, %x, %v : tensor<1x2x1x64xf32>, tensor<1x2x64x64xf32>, !kvq.cache<1x2x?x64xf32, #v>)
      lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x2x1x64xf32>
  return %o : tensor<1x2x1x64xf32>
}
