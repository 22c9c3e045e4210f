// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @itself(%c: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected a destination other than the cache that is read}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
!d = !kvq.cache<2x2x32x16xf16, #f>
func.func @result(%c: !c, %d: !d, %n: tensor<2xi64>) {
  // expected-error-re@+1 {{expected the result to be the destination's type '!kvq.cache<2x2x32x16xf16, {{.*}}>', got '!kvq.cache<2x2x64x16xf16, {{.*}}>'}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !d) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
#g = #kvq.format<codes = i8, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
!d = !kvq.cache<2x2x64x16xf16, #g>
func.func @format(%c: !c, %d: !d, %n: tensor<2xi64>) {
  // expected-error-re@+1 {{expected caches that differ only in batch and capacity, got '!kvq.cache<{{.*}}codes = i4{{.*}}>' into '!kvq.cache<{{.*}}codes = i8{{.*}}>'}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !d) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, residual = 8>
!d = !kvq.cache<2x2x64x16xf16, #f, recent = 8>
func.func @windows(%c: !c, %d: !d, %n: tensor<2xi64>) {
  // expected-error-re@+1 {{expected caches that differ only in batch and capacity, got '!kvq.cache<{{.*}}residual = 8>' into '!kvq.cache<{{.*}}recent = 8>'}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%n : tensor<2xi64>) into(%d : !d) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
!d = !kvq.cache<3x2x64x16xf16, #f>
func.func @sources(%c: !c, %d: !d, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected sources for 3 sequences, got 2}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !d) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
!d = !kvq.cache<3x2x64x16xf16, #f>
func.func @lengths(%c: !c, %d: !d, %n: tensor<3xi64>) {
  // expected-error@+1 {{expected lengths for 2 sequences, got 3}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<3xi64>) lengths(%n : tensor<3xi64>)
      into(%d : !d) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, recent = 8>
func.func @no_flushed(%c: !c, %d: !c, %n: tensor<2xi64>) {
  // expected-error@+1 {{a cache with a recent window needs flushed}}
  %r = kvq.reorder ins(%c : !c) sources(%n : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !c) -> !c
  return
}
