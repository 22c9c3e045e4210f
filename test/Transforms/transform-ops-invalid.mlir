// RUN: kvq-opt %s --transform-interpreter --split-input-file --verify-diagnostics

// Payloads that a step does not fit: silenceable, with what the pass would say.

module attributes {transform.with_named_sequence} {
  // expected-note @below {{payload}}
  func.func @no_attention() {
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root
      : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{expected kvq.attention, got func.func}}
    %loops = transform.kvq.split_tokens %functions : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-note @below {{payload}}
  func.func @neither() {
    return
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %functions = transform.structured.match ops{["func.func"]} in %root
      : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{expected kvq.partial_attention or kvq.merge_partials, got func.func}}
    transform.kvq.decompose_attention %functions : (!transform.any_op) -> ()
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @tensors(%q: tensor<1x4x1x64xf32>, %k: tensor<1x2x128x64xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
    // expected-error @below {{'kvq.attention' op keys are not read as codes: }}
    %o = kvq.attention ins(%q, %k, %k : tensor<1x4x1x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
    return %o : tensor<1x4x1x64xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["kvq.attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.kvq.fuse_dequantize %attention : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  func.func @tensors(%q: tensor<1x4x1x64xf32>, %k: tensor<1x2x128x64xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x64xf32> {
    // expected-error @below {{'kvq.attention' op expected a cache as the key, got 'tensor<1x2x128x64xf32>'}}
    %o = kvq.attention ins(%q, %k, %k : tensor<1x4x1x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>)
        lengths(%n : tensor<1xi64>) outs(%q : tensor<1x4x1x64xf32>) {scale = 0.125 : f32} -> tensor<1x4x1x64xf32>
    return %o : tensor<1x4x1x64xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %attention = transform.structured.match ops{["kvq.attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %loops = transform.kvq.split_tokens %attention : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A host's schedule may go on after such a failure: nothing has been changed.

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x128x64xf16, #i8>
module attributes {transform.with_named_sequence} {
  func.func @unsplit(%q: tensor<4x64xf32>, %c: !c, %i: index, %acc: tensor<4x64xf32>,
                     %max: tensor<4xf32>, %sum: tensor<4xf32>) -> tensor<4x64xf32> {
    // expected-remark @below {{still here}}
    %r:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x64xf32>, !c, !c)
        at [%i, %i] tokens [%i to %i] flushed [%i, %i]
        outs(%acc, %max, %sum : tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>)
        -> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
    return %r#0 : tensor<4x64xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.sequence %root : !transform.any_op failures(suppress) {
    ^bb0(%scope: !transform.any_op):
      %partial = transform.structured.match ops{["kvq.partial_attention"]} in %scope
        : (!transform.any_op) -> !transform.any_op
      %tiles, %loops = transform.kvq.tile_attention %partial
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    %left = transform.structured.match ops{["kvq.partial_attention"]} in %root
      : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %left, "still here" : !transform.any_op
    transform.yield
  }
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
module attributes {transform.with_named_sequence} {
  func.func @whole(%c: tensor<128x64xi8>, %s: tensor<128x2xf16>, %x: tensor<128x64xf32>) -> tensor<128x64xf32> {
    // expected-error @below {{'kvq.dequantize' op expected a linalg.generic that reads it}}
    %y = kvq.dequantize #i8 ins(%c, %s : tensor<128x64xi8>, tensor<128x2xf16>)
        outs(%x : tensor<128x64xf32>) -> tensor<128x64xf32>
    return %y : tensor<128x64xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %dequantized = transform.structured.match ops{["kvq.dequantize"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %folded = transform.kvq.fold_scales %dequantized : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

#i8 = #kvq.format<codes = i8, group = [1, 32], scale = f16>
module attributes {transform.with_named_sequence} {
  func.func @sum(%c: tensor<128x64xi8>, %s: tensor<128x2xf16>, %x: tensor<128x64xf32>, %z: tensor<128xf32>) -> tensor<128xf32> {
    %y = kvq.dequantize #i8 ins(%c, %s : tensor<128x64xi8>, tensor<128x2xf16>)
        outs(%x : tensor<128x64xf32>) -> tensor<128x64xf32>
    // expected-error @below {{'linalg.generic' op does not take scales: not a contraction of a static number of f32 rows with a dequantized tile}}
    %r = linalg.generic {indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t)>],
                         iterator_types = ["parallel", "reduction"]}
        ins(%y : tensor<128x64xf32>) outs(%z : tensor<128xf32>) {
    ^bb0(%in: f32, %o: f32):
      %0 = arith.addf %in, %o : f32
      linalg.yield %0 : f32
    } -> tensor<128xf32>
    return %r : tensor<128xf32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %dequantized = transform.structured.match ops{["kvq.dequantize"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %folded = transform.kvq.fold_scales %dequantized : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What a pass would refuse as an option is no attribute.

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    // expected-error @below {{attribute 'splits' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1}}
    %loops = transform.kvq.split_tokens %root {splits = 0} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
