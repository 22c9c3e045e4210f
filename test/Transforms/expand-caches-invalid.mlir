// RUN: kvq-opt %s -kvq-expand-caches -verify-diagnostics -split-input-file

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

// Each of them is reported.
func.func @unlowered(%q: tensor<1x2x1x64xf32>, %c: !c, %lengths: tensor<1xi64>) -> (tensor<1x2x1x64xf32>, !c) {
  // expected-error@+1 {{op 'kvq.attention' carries a !kvq.cache that kvq-expand-caches cannot expand}}
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !c, !c)
      lengths(%lengths : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>)
      {scale = 1.0 : f32} -> tensor<1x2x1x64xf32>
  // expected-error@+1 {{op 'scf.execute_region' carries a !kvq.cache that kvq-expand-caches cannot expand}}
  %1 = scf.execute_region -> !c {
    scf.yield %c : !c
  }
  return %0, %1 : tensor<1x2x1x64xf32>, !c
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

func.func private @callee(!c)

// A function value carries the caches of its signature.
func.func @indirect(%c: !c) {
  // expected-error@+1 {{op 'func.constant' carries a !kvq.cache that kvq-expand-caches cannot expand}}
  %f = func.constant @callee : (!c) -> ()
  // expected-error@+1 {{op 'func.call_indirect' carries a !kvq.cache that kvq-expand-caches cannot expand}}
  func.call_indirect %f(%c) : (!c) -> ()
  return
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

func.func @switch(%i: i32, %c: !c) -> !c {
  // expected-error@+1 {{op 'cf.switch' carries a !kvq.cache that kvq-expand-caches cannot expand}}
  cf.switch %i : i32, [default: ^bb1(%c : !c), 1: ^bb1(%c : !c)]
^bb1(%d: !c):
  return %d : !c
}

// -----

!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>

func.func @tile(%c: !c, %i: index) {
  // expected-error@+1 {{'kvq.load_tile' op expected a tile of at least 1 token, got 0}}
  %0:2 = kvq.load_tile %c <codes> at [%i, %i] tokens [%i to %i] {tile = 0} : !c -> tensor<?x64xi8>, tensor<?x2xf16>
  return
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x1x?x96xf16, #kvq.segments<[0:64] = #i8, [64:96] = none>>

// Ops on segments are split first, attention to them aside.
func.func @segments(%x: tensor<1x1x?x96xf16>, %n: tensor<1xi64>, %c: !c) -> !c {
  // expected-error @below {{'kvq.append' op expected a cache of one format, got segments (run kvq-split-segments first)}}
  %r = kvq.append ins(%x : tensor<1x1x?x96xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %r : !c
}
