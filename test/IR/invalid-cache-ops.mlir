// RUN: kvq-opt %s -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @empty_dynamic() {
  // expected-error@+1 {{expected a capacity operand, as the type's capacity is dynamic}}
  %c = kvq.empty : !kvq.cache<1x2x?x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @empty_static(%n: index) {
  // expected-error@+1 {{expected no capacity operand, as the type's capacity is 64}}
  %c = kvq.empty(%n) : !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @component_count(%a: tensor<1x2x64x8xi8>) {
  // expected-error@+1 {{expected 2 storage components, got 1}}
  %c = kvq.from_components %a : tensor<1x2x64x8xi8> -> !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
func.func @component_type(%a: tensor<1x2x64x8xi8>, %b: tensor<1x2x64x1xf32>) {
  // expected-error@+1 {{expected scales of type 'tensor<1x2x64x1xf16>', got 'tensor<1x2x64x1xf32>'}}
  %c = kvq.from_components %a, %b : tensor<1x2x64x8xi8>, tensor<1x2x64x1xf32>
      -> !kvq.cache<1x2x64x16xf16, #f>
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
!d = !kvq.cache<1x2x32x16xf16, #f>
func.func @append_result(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error-re@+1 {{expected the result to be the cache's type '!kvq.cache<1x2x64x16xf16, {{.*}}>', got '!kvq.cache<1x2x32x16xf16, {{.*}}>'}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !d
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_rank(%x: tensor<2x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error@+1 {{expected tokens of rank 4, batch x kv_heads x new_tokens x head_dim, or packed ones of rank 3, total x kv_heads x head_dim, got rank 2}}
  %r = kvq.append ins(%x : tensor<2x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_heads(%x: tensor<1x4x4x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error@+1 {{expected tokens with the cache's kv_heads 2, got 4}}
  %r = kvq.append ins(%x : tensor<1x4x4x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_dynamic(%x: tensor<?x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error@+1 {{expected tokens with the cache's batch 1, got ?}}
  %r = kvq.append ins(%x : tensor<?x2x4x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_lengths(%x: tensor<1x2x4x16xf16>, %n: tensor<2xi64>, %c: !c) {
  // expected-error@+1 {{expected lengths for 1 sequences, got 2}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_counts(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %k: tensor<2xi64>, %c: !c) {
  // expected-error@+1 {{expected counts for 1 sequences, got 2}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>)
      counts(%k : tensor<2xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f, recent = 8>
func.func @append_no_flushed(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error@+1 {{a cache with a recent window needs flushed}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f>
func.func @append_flushed(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %c: !c) {
  // expected-error@+1 {{flushed is given for a cache without a recent window: every token is flushed at once}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>)
      flushed(%n : tensor<1xi64>) into(%c : !c) -> !c
  return
}

// -----

#f = #kvq.format<codes = i4, group = [1, *], scale = f16>
!c = !kvq.cache<1x2x64x16xf16, #f, recent = 8>
func.func @append_flushed_count(%x: tensor<1x2x4x16xf16>, %n: tensor<1xi64>, %k: tensor<3xi64>, %c: !c) {
  // expected-error@+1 {{expected flushed for 1 sequences, got 3}}
  %r = kvq.append ins(%x : tensor<1x2x4x16xf16>) lengths(%n : tensor<1xi64>)
      flushed(%k : tensor<3xi64>) into(%c : !c) -> !c
  return
}

// -----

!c = !kvq.cache<2x4x64x32xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>>
func.func @append_without_count(%c: !c, %x: tensor<2x4x1x32xf32>, %n: tensor<2xi64>, %s: tensor<2x4xi64>) -> !c {
  // expected-error@+1 {{expected as many results as it updates, 2, got 1}}
  %r = kvq.append ins(%x : tensor<2x4x1x32xf32>) lengths(%n : tensor<2xi64>)
      saturated(%s : tensor<2x4xi64>) into(%c : !c) -> !c
  return %r : !c
}

// -----

!c = !kvq.cache<2x4x64x32xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>>
func.func @append_count_of_other_heads(%c: !c, %x: tensor<2x4x1x32xf32>, %n: tensor<2xi64>, %s: tensor<2x3xi64>) -> !c {
  // expected-error@+1 {{expected counts of saturated elements of type 'tensor<2x4xi64>', got 'tensor<2x3xi64>'}}
  %r:2 = kvq.append ins(%x : tensor<2x4x1x32xf32>) lengths(%n : tensor<2xi64>)
      saturated(%s : tensor<2x3xi64>) into(%c : !c) -> !c, tensor<2x3xi64>
  return %r#0 : !c
}

// -----

!c = !kvq.cache<2x4x64x32xf16, #kvq.format<codes = none>>
func.func @append_count_of_exact(%c: !c, %x: tensor<2x4x1x32xf32>, %n: tensor<2xi64>, %s: tensor<2x4xi64>) -> !c {
  // expected-error@+1 {{exact elements do not saturate: expected no 'saturated' with codes = none}}
  %r:2 = kvq.append ins(%x : tensor<2x4x1x32xf32>) lengths(%n : tensor<2xi64>)
      saturated(%s : tensor<2x4xi64>) into(%c : !c) -> !c, tensor<2x4xi64>
  return %r#0 : !c
}
