// RUN: kvq-opt %s -verify-diagnostics -split-input-file

// What attention may do to scores, and see: shapes and values that do not fit.

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @positions(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %p: tensor<2xi64>) {
  // expected-error@+1 {{expected positions for 1 sequences, got 2}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      positions(%p : tensor<2xi64>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @slopes(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %s: tensor<2xf32>) {
  // expected-error@+1 {{expected slopes for 4 query heads, got 2}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      slopes(%s : tensor<2xf32>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @sinks(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %s: tensor<?xf32>) {
  // expected-error@+1 {{expected sinks for 4 query heads, got ?}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      sinks(%s : tensor<?xf32>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask_rank(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %m: tensor<2x64xf32>) {
  // expected-error@+1 {{expected a mask of rank 4, batch x query_heads x query_tokens x tokens, got rank 2}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      mask(%m : tensor<2x64xf32>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask_heads(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %m: tensor<1x2x2x64xf32>) {
  // expected-error@+1 {{expected a mask with query_heads 1 or 4, got 2}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      mask(%m : tensor<1x2x2x64xf32>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask_batch(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %m: tensor<3x1x2x64xi8>) {
  // expected-error@+1 {{expected a mask with batch 1 or 1, got 3}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      mask(%m : tensor<3x1x2x64xi8>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask_queries(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %m: tensor<1x4x3x64xf16>) {
  // expected-error@+1 {{expected a mask with the query's query_tokens 2, got 3}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      mask(%m : tensor<1x4x3x64xf16>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @mask_tokens(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %m: tensor<1x4x2x60xf16>) {
  // expected-error@+1 {{expected a mask for at least 64 tokens, got 60}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      mask(%m : tensor<1x4x2x60xf16>)
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @lse_heads(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>, %l: tensor<1x3x2xf32>) {
  // expected-error@+1 {{expected an lse with the query's query_heads 4, got 3}}
  %r:2 = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o, %l : tensor<1x4x2x16xf32>, tensor<1x3x2xf32>) {scale = 1.0 : f32} -> tensor<1x4x2x16xf32>, tensor<1x3x2xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @window(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected a window of at least 1 token, got 0}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, window = 0} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @window_first_alone(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{window_first = 4 is given without a window}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, window_first = 4} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @window_first(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected a window_first of at least 1 token, got -1}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, window = 3, window_first = -1} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @softcap(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected a positive, finite softcap, got 0.000000e+00 : f32}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, softcap = 0.0 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @softcap_nan(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected a positive, finite softcap, got 0x7FC00000 : f32}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, softcap = 0x7FC00000 : f32} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_count(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected value_channels = [begin, end], got 1 numbers}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, value_channels = array<i64: 8>} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_range(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected value_channels within 16 channels of a row, got [8, 24]}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, value_channels = array<i64: 8, 24>} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_group(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x12xf32>) {
  // expected-error@+1 {{value_channels = [4, 16] cut a group of 8 channels at channel 4}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x12xf32>) {scale = 1.0 : f32, value_channels = array<i64: 4, 16>} -> tensor<1x4x2x12xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_output(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x16xf32>) {
  // expected-error@+1 {{expected an output of the value_channels, 8, got 16}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x16xf32>) {scale = 1.0 : f32, value_channels = array<i64: 0, 8>} -> tensor<1x4x2x16xf32>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, 8], scale = f16, rotate = hadamard<8>>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @channels_rotated(%q: tensor<1x4x2x16xf32>, %k: !c, %n: tensor<1xi64>, %o: tensor<1x4x2x8xf32>) {
  // expected-error@+1 {{value_channels = [0, 8] cut rows that are rotated}}
  %r = kvq.attention ins(%q, %k, %k : tensor<1x4x2x16xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      
      outs(%o : tensor<1x4x2x8xf32>) {scale = 1.0 : f32, value_channels = array<i64: 0, 8>} -> tensor<1x4x2x8xf32>
  return
}
