// RUN: kvq-opt %s -kvq-assign-layout -verify-diagnostics -split-input-file

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
func.func @unknown(%c: !open) {
  // expected-error @+1 {{op 'builtin.unrealized_conversion_cast' carries a !kvq.cache whose layout kvq-assign-layout cannot choose: expected another than auto}}
  %0 = builtin.unrealized_conversion_cast %c : !open to i64
  return
}

// -----

!open = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = auto>>
// expected-error @+1 {{op 'func.func' carries a !kvq.cache whose layout}}
func.func @hidden(%c: tuple<!open>) {
  return
}
