// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @lengths(%n: tensor<3xi64>, %to: tensor<2xi64>) {
  // expected-error@+1 {{expected lengths for 2 sequences, got 3}}
  %r = kvq.truncate !c lengths(%n : tensor<3xi64>) to(%to : tensor<2xi64>) -> tensor<3xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @to(%n: tensor<2xi64>, %to: tensor<1xi64>) {
  // expected-error@+1 {{expected new lengths for 2 sequences, got 1}}
  %r = kvq.truncate !c lengths(%n : tensor<2xi64>) to(%to : tensor<1xi64>) -> tensor<2xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, recent = 8>
func.func @no_flushed(%n: tensor<2xi64>) {
  // expected-error@+1 {{a cache with a recent window needs flushed}}
  %r = kvq.truncate !c lengths(%n : tensor<2xi64>) to(%n : tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @flushed(%n: tensor<2xi64>) {
  // expected-error@+1 {{flushed is given for a cache without a recent window: every token is flushed at once}}
  %r, %f = kvq.truncate !c lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      to(%n : tensor<2xi64>) -> tensor<2xi64>, tensor<2xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, recent = 8>
func.func @results(%n: tensor<2xi64>) {
  // expected-error@+1 {{expected as many results as counts given, 2, got 1}}
  %r = kvq.truncate !c lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>)
      to(%n : tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @result_type(%n: tensor<2xi64>) {
  // expected-error@+1 {{expected a result of the type of lengths 'tensor<2xi64>', got 'tensor<?xi64>'}}
  %r = kvq.truncate !c lengths(%n : tensor<2xi64>) to(%n : tensor<2xi64>) -> tensor<?xi64>
  return
}
