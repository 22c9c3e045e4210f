// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
!d = !kvq.cache<2x2x32x16xf16, #f>
func.func @result(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{expected the result to be the cache's type}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @begin(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{expected begin for 2 sequences, got 3}}
  %r = kvq.shift drop(%m, %n : tensor<3xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @count(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{expected count for 2 sequences, got 3}}
  %r = kvq.shift drop(%n, %m : tensor<2xi64>, tensor<3xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @lengths(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{expected lengths for 2 sequences, got 3}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%m : tensor<3xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @flushed(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{flushed is given for a cache without a recent window}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) flushed(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, recent = 8>
func.func @no_flushed(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{a cache with a recent window needs flushed}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f>
func.func @pages(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{pages is given for a cache without pages}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) pages(%t : tensor<2x?xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, page = 8>
func.func @no_pages(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{a cache with pages of 8 tokens needs pages}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<2x2x64x16xf16, #f, ring = 8>
func.func @ring(%c: !c, %n: tensor<2xi64>, %m: tensor<3xi64>, %t: tensor<2x?xi64>) {
  // expected-error@+1 {{expected a cache without a ring, whose slots follow from positions, got}}
  %r = kvq.shift drop(%n, %n : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}
