// RUN: kvq-opt %s -kvq-apply-policy -verify-diagnostics -split-input-file

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// expected-error@+1 {{entry 1 of the policy names layer 32, but no cache that it could be for has it: layers are 0 to 3}}
module attributes {kvq.policy = #kvq.policy<<format = #f>, <layers = [3, 32:34], format = #f>>} {
  func.func private @f(!exact {kvq.layer = 0}, !exact {kvq.layer = 3})
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// A layer that there is, but not of this side.
// expected-error@+1 {{entry 0 of the policy names layer 0, but no cache that it could be for has it: layers are 0 to 0}}
module attributes {kvq.policy = #kvq.policy<<side = values, layers = [0], format = #f>>} {
  func.func private @f(!exact {kvq.layer = 0, kvq.side = #kvq.side<keys>})
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// expected-error@+1 {{entry 0 of the policy matches no cache: others name all, or there is none}}
module attributes {kvq.policy = #kvq.policy<<format = #f>, <layers = [0], format = #f>>} {
  func.func private @f(!exact {kvq.layer = 0})
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>

// Caches that are quantized already are none of the policy's.
// expected-error@+1 {{entry 0 of the policy matches no cache}}
module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  func.func private @f(!kvq.cache<1x2x?x64xf16, #f>)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>, <layers = [0], format = #f>>} {
  // expected-error@+1 {{entry 1 of the policy names layers, but not all caches have one: expected the attribute kvq.layer}}
  func.func private @f(!exact, !exact {kvq.layer = 0})
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<heads = [1:4], format = #f>>} {
  // expected-error@+1 {{entry 0 of the policy names head 3, but the keys of layer 5 have 2 KV heads}}
  func.func private @f(!exact {kvq.layer = 5})
}

// -----

#f = #kvq.format<codes = i8, group = [1, 48], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{policy of the keys of layer 5: group of 48 channels does not divide head_dim 64}}
  func.func private @f(!exact {kvq.layer = 5})
}

// -----

!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #kvq.format<codes = none>, recent = 3>>} {
  // expected-error@+1 {{policy of the keys without a layer: exact elements need no exact window}}
  func.func private @f(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<side = keys, format = #f>>} {
  // expected-error@+1 {{the policy gives one cache two types, as keys of layer 5 and as values of layer 5: expected kvq.side, as no kvq.attention reads it}}
  func.func private @f(!exact {kvq.layer = 5})
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<side = keys, format = #f>>} {
  // expected-error@+1 {{the policy gives one cache two types, as keys of layer 5 and as values of layer 5}}
  func.func @both(%q: tensor<1x2x1x64xf32>, %c: !exact, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
    %o = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !exact, !exact)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>)
        {scale = 1.0 : f32, kvq.layer = 5} -> tensor<1x2x1x64xf32>
    return %o : tensor<1x2x1x64xf32>
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// One function for two layers.
module attributes {kvq.policy = #kvq.policy<<layers = [0], format = #f>>} {
  // expected-error@+1 {{the policy gives one cache two types, as keys of layer 0 and as keys of layer 1}}
  func.func private @append(!exact {kvq.side = #kvq.side<keys>}) -> !exact
  func.func @model(%a: !exact {kvq.layer = 0}, %b: !exact {kvq.layer = 1}) -> (!exact, !exact) {
    %0 = call @append(%a) : (!exact) -> !exact
    %1 = call @append(%b) : (!exact) -> !exact
    return %0, %1 : !exact, !exact
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  func.func @select(%p: i1, %a: !exact, %b: !exact) {
    // expected-error@+1 {{op 'arith.select' carries a !kvq.cache whose type kvq-apply-policy cannot change: expected it exempt, or the policy applied before}}
    %0 = arith.select %p, %a, %b : !exact
    return
  }
  func.func @given(%values: tensor<1x2x?x64xf16>) {
    // expected-error@+1 {{op 'kvq.from_components' carries a !kvq.cache whose type kvq-apply-policy cannot change}}
    %0 = kvq.from_components %values : tensor<1x2x?x64xf16> -> !exact
    return
  }
  func.func @indirect() {
    // expected-error@+1 {{op 'func.constant' carries a !kvq.cache whose type kvq-apply-policy cannot change}}
    %0 = func.constant @select : (i1, !exact, !exact) -> ()
    return
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f, recent = 2>>} {
  func.func @truncate(%c: !exact, %n: tensor<1xi64>, %to: tensor<1xi64>) -> tensor<1xi64> {
    // expected-error@+1 {{the policy gives caches a recent window, and what this op does to their flushed counts is not known}}
    %0 = kvq.truncate !exact lengths(%n : tensor<1xi64>) to(%to : tensor<1xi64>) -> tensor<1xi64>
    return %0 : tensor<1xi64>
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<side = keys, heads = [0], format = #f>>} {
  func.func @float_values(%q: tensor<1x2x1x64xf32>, %k: !exact, %v: tensor<1x2x?x64xf16>, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
    // expected-error@+1 {{the policy has 2 ranges of heads for one operand: expected an exact cache as the other one, which can be cut alike, got 'tensor<1x2x?x64xf16>'}}
    %o = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !exact, tensor<1x2x?x64xf16>)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>)
        {scale = 1.0 : f32} -> tensor<1x2x1x64xf32>
    return %o : tensor<1x2x1x64xf32>
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{argument 0: expected kvq.layer on a cache, got it on 'i1'}}
  func.func private @f(i1 {kvq.layer = 1}, !exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{expected kvq.side on a function argument or an op on caches, got it on 'func.func'}}
  func.func private @f(!exact) attributes {kvq.side = #kvq.side<keys>}
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  func.func @side(%q: tensor<1x2x1x64xf32>, %c: !exact, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {
    // expected-error@+1 {{expected no kvq.side on 'kvq.attention', whose operands have sides}}
    %o = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !exact, !exact)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>)
        {scale = 1.0 : f32, kvq.side = #kvq.side<keys>} -> tensor<1x2x1x64xf32>
    return %o : tensor<1x2x1x64xf32>
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>, page = 16>

module attributes {kvq.policy = #kvq.policy<<format = #f, recent = 3>>} {
  func.func @slots(%c: !exact, %x: tensor<?x2x64xf16>, %slots: tensor<?xi64>) -> !exact {
    // expected-error@+1 {{the policy gives this cache a recent window, but its tokens are stored by slots: expected none, and groups of one token}}
    %0 = kvq.append ins(%x : tensor<?x2x64xf16>) slots(%slots : tensor<?xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

#f = #kvq.format<codes = i8, group = [32, 1], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>, page = 16>

module attributes {kvq.policy = #kvq.policy<<format = #f, recent = 0>>} {
  // expected-error@+1 {{policy of the keys without a layer: expected a page of whole groups of 32 tokens, got 16}}
  func.func private @pages(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [4, 16], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f, recent = 0>>} {
  func.func @shift(%c: !exact, %begin: tensor<1xi64>, %count: tensor<1xi64>, %n: tensor<1xi64>) -> !exact {
    // expected-error@+1 {{the policy gives this cache token groups or exact windows, and not any tokens can be dropped from among them: expected groups of one token and no windows}}
    %0 = kvq.shift drop(%begin, %count : tensor<1xi64>, tensor<1xi64>) lengths(%n : tensor<1xi64>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16, rope = pre>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{policy of the keys without a layer: attention has no tables to turn these keys by: expected no rope = pre, got #kvq.format<codes = i8}}
  func.func private @no_tables(!exact)
}

// -----

#f = #kvq.format<codes = none, rope = pre>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

// Not an exemption.
module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{attention has no tables to turn these keys by: expected no rope = pre, got #kvq.format<codes = none, rope = pre>}}
  func.func private @no_exemption(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none, rope = pre>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  // expected-error@+1 {{attention turns these keys as it reads them: expected one format with rope = pre, got #kvq.format<codes = i8}}
  func.func private @tables(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
#row = #kvq.segments<[0:32] = #f, [32:48] = none>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #row>>} {
  // expected-error@+1 {{policy of the keys without a layer: expected segments up to head_dim 64, the last one ends at 48}}
  func.func private @segments(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16, rope = pre>
#row = #kvq.segments<[0:32] = #f, [32:64] = none>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none, rope = pre>>

module attributes {kvq.policy = #kvq.policy<<format = #row>>} {
  // expected-error@+1 {{attention turns these keys as it reads them: expected one format with rope = pre, got #kvq.segments<[0:32]}}
  func.func private @segments_of_turned_keys(!exact)
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
#row = #kvq.segments<[0:32] = #f, [32:64] = none>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #row>>} {
  func.func @turned(%x: tensor<1x2x1x64xf16>, %c: !exact, %n: tensor<1xi64>, %t: tensor<?x32xf32>) -> !exact {
    // expected-error@+1 {{the policy gives this cache segments, but RoPE turns its tokens as rows of one format: expected one format}}
    %0 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%n : tensor<1xi64>)
        rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%c : !exact) -> !exact
    return %0 : !exact
  }
}

// -----

#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
!exact = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>

module attributes {kvq.policy = #kvq.policy<<format = #f>>} {
  func.func @values(%q: tensor<1x2x1x64xf32>, %x: tensor<1x2x1x64xf16>, %k: !exact, %v: !exact, %n: tensor<1xi64>,
                    %t: tensor<?x32xf32>) -> (tensor<1x2x1x64xf32>, !exact) {
    // expected-error@+1 {{RoPE turns keys only: expected no tables for a cache that is read as values}}
    %0 = kvq.append ins(%x : tensor<1x2x1x64xf16>) lengths(%n : tensor<1xi64>)
        rope(%t, %t : tensor<?x32xf32>, tensor<?x32xf32>) into(%v : !exact) -> !exact
    %o = kvq.attention ins(%q, %k, %0 : tensor<1x2x1x64xf32>, !exact, !exact)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x2x1x64xf32>) {scale = 1.0 : f32} -> tensor<1x2x1x64xf32>
    return %o, %0 : tensor<1x2x1x64xf32>, !exact
  }
}
