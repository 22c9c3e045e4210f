// RUN: kvq-opt %s --kvq-raise-cache-updates --allow-unregistered-dialect -split-input-file \
// RUN:   | FileCheck %s --check-prefix=IR --implicit-check-not=kvq.append
// RUN: kvq-opt %s --kvq-raise-cache-updates --allow-unregistered-dialect -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-cache-updates --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s

// Tensors that stay tensors, with the op that each of them is left for.
// IR: kvq.from_components

// Something else reads the tensor.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=read | Reason="'tensor.extract' reads the tensor", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @read(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %x = tensor.extract %k1[%at, %at, %at, %at] : tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  "test.use"(%x) : (f32) -> ()
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// ... as it was before the update.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=read_old | Reason="'linalg.copy' reads the tensor", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @read_old(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %e = tensor.empty() : tensor<1x2x64x32xf32>
  %copy = linalg.copy ins(%k : tensor<1x2x64x32xf32>) outs(%e : tensor<1x2x64x32xf32>) -> tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  "test.use"(%copy) : (tensor<1x2x64x32xf32>) -> ()
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// ... by a view.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=read_view | Reason="'test.use' reads the tensor", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @read_view(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %w = tensor.collapse_shape %k1 [[0, 1], [2], [3]] : tensor<1x2x64x32xf32> into tensor<2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  "test.use"(%w) : (tensor<2x64x32xf32>) -> ()
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Another op makes it.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=made | Reason="'test.make' makes it: expected an argument of the function, and updates of it", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @made(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = "test.make"() : () -> tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// The update sets a part of the heads.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=part | Reason="'tensor.insert_slice' sets a part of an axis other than that of tokens, 2", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @part(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %head = tensor.extract_slice %new[0, 1, 0, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x1x1x32xf32>
  %k1 = tensor.insert_slice %head into %k[0, 1, %at, 0] [1, 1, 1, 32] [1, 1, 1, 1]
      : tensor<1x1x1x32xf32> into tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Tokens are not one after the other.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=strided | Reason="'tensor.insert_slice' sets a part of an axis other than that of tokens, 2", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @strided(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 2, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Heads are joined, not tokens.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=heads | Reason="'tensor.concat' joins tensors along axis 1, tokens lie along axis 2", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x4x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x4x64x32xf32, #kvq.format<codes = none>>
func.func @heads(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>, %more: tensor<1x2x64x32xf32>) -> (tensor<1x4x1x32xf32>, tensor<1x4x64x32xf32>) {
  %k1 = tensor.concat dim(1) %k, %more : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) -> tensor<1x4x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x4x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x4x64x32xf32>
}

// -----

// A tensor of a fixed size grows.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=fixed | Reason="a tensor of 64 tokens is extended: expected a dynamic number of them", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x65x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @fixed(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x65x32xf32>) {
  %k1 = tensor.concat dim(2) %k, %new : (tensor<1x2x64x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x65x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x65x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x65x32xf32>
}

// -----

// Tokens come from three tensors.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=three | Reason="'tensor.concat' joins 3 tensors: expected a cache and new tokens", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x?x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @three(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x?x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>) {
  %k1 = tensor.concat dim(2) %k, %new, %new : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x?x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>
}

// -----

// New tokens come before those that are there.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=front | Reason="'test.make' makes it: expected an argument of the function, and updates of it", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x?x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @front(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x?x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>) {
  %first = "test.make"() : () -> tensor<1x2x1x32xf32>
  %k1 = tensor.concat dim(2) %first, %k : (tensor<1x2x1x32xf32>, tensor<1x2x?x32xf32>) -> tensor<1x2x?x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x?x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>
}

// -----

// The capacity is asked for, which a cache does not tell.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=capacity | Reason="'tensor.dim' reads the tensor", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x?x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @capacity(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x?x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>) {
  %c2 = arith.constant 2 : index
  %d = tensor.dim %k, %c2 : tensor<1x2x?x32xf32>
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x?x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x?x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  "test.use"(%d) : (index) -> ()
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x?x32xf32>
}

// -----

// What is returned has not been updated.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=old | Reason="it is returned as it was before an update", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @old(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Two updates of one tensor are two caches.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=fork | Reason="'tensor.insert_slice' reads the tensor", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @fork(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %k2 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  "test.use"(%k2) : (tensor<1x2x64x32xf32>) -> ()
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// An update in the body of another op.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=body | Reason="'scf.if' makes it: expected an argument of the function, and updates of it", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @body(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>, %b: i1) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %k1 = scf.if %b -> tensor<1x2x64x32xf32> {
  %k2 = tensor.insert_slice %new into %k[0, 0, %at, 0] [1, 2, 1, 32] [1, 1, 1, 1]
      : tensor<1x2x1x32xf32> into tensor<1x2x64x32xf32>
    scf.yield %k2 : tensor<1x2x64x32xf32>
  } else {
    scf.yield %k : tensor<1x2x64x32xf32>
  }
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Indices that are not written out.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=scatter | Reason="'tensor.scatter' does not write elements or rows by indices of all leading axes that are concatenated", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
!v = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @scatter(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %v: !v,
    %new: tensor<1x2x1x32xf32>, %at: index, %n: tensor<1xi64>, %where: tensor<1x2x3xindex>) -> (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>) {
  %rows = tensor.expand_shape %new [[0], [1], [2, 3, 4], [5]] output_shape [1, 2, 1, 1, 1, 32] : tensor<1x2x1x32xf32> into tensor<1x2x1x1x1x32xf32>
  %k1 = tensor.scatter %rows into %k[%where] scatter_dims([0, 1, 2]) unique
      : (tensor<1x2x1x1x1x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x3xindex>) -> tensor<1x2x64x32xf32>
  %kc = kvq.from_components %k1 : tensor<1x2x64x32xf32> -> !c
  %out = tensor.empty() : tensor<1x4x1x32xf32>
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x4x1x32xf32>, !c, !v) lengths(%n : tensor<1xi64>)
      outs(%out : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o, %k1 : tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>
}

// -----

// Positions of several tokens that the caller gives may be any.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=positions | Reason="'tensor.scatter' writes tokens that are not told to follow one position of each sequence", Remark="keys of attention 0 stay a tensor"
!c = !kvq.cache<1x1x64x8xf32, #kvq.format<codes = none>>
func.func @positions(%q: tensor<1x1x1x8xf32>, %k: tensor<1x1x64x8xf32>, %new: tensor<3x1x1x1x8xf32>, %v: !c,
    %at: tensor<1x1x3xi64>, %n: tensor<1xi64>) -> (tensor<1x1x1x8xf32>, tensor<1x1x64x8xf32>) {
  %zero = arith.constant dense<0> : tensor<1x1x3xi64>
  %c0 = tensor.collapse_shape %zero [[0, 1, 2]] : tensor<1x1x3xi64> into tensor<3xi64>
  %e0 = tensor.expand_shape %c0 [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %c2 = tensor.collapse_shape %at [[0, 1, 2]] : tensor<1x1x3xi64> into tensor<3xi64>
  %e2 = tensor.expand_shape %c2 [[0, 1]] output_shape [3, 1] : tensor<3xi64> into tensor<3x1xi64>
  %indices = tensor.concat dim(1) %e0, %e0, %e2 : (tensor<3x1xi64>, tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x3xi64>
  %k1 = tensor.scatter %new into %k[%indices] scatter_dims([0, 1, 2]) unique
      : (tensor<3x1x1x1x8xf32>, tensor<1x1x64x8xf32>, tensor<3x3xi64>) -> tensor<1x1x64x8xf32>
  %kc = kvq.from_components %k1 : tensor<1x1x64x8xf32> -> !c
  %o = kvq.attention ins(%q, %kc, %v : tensor<1x1x1x8xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x1x1x8xf32>) {scale = 0.25 : f32} -> tensor<1x1x1x8xf32>
  return %o, %k1 : tensor<1x1x1x8xf32>, tensor<1x1x64x8xf32>
}

// -----

// The signature of a function that is called stays.
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=called | Reason="'func.call' refers to the function: expected it inlined", Remark="keys of attention 0 stay a tensor"
// CHECK: [Missed] RaiseCacheUpdates | Category:kvq-raise-cache-updates | Function=called | Reason="'func.call' refers to the function: expected it inlined", Remark="values of attention 0 stay a tensor"
!c = !kvq.cache<1x2x64x32xf32, #kvq.format<codes = none>>
func.func @called(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x32xf32> {
  %kc = kvq.from_components %k : tensor<1x2x64x32xf32> -> !c
  %o = kvq.attention ins(%q, %kc, %kc : tensor<1x4x1x32xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x32xf32>) {scale = 0.25 : f32} -> tensor<1x4x1x32xf32>
  return %o : tensor<1x4x1x32xf32>
}
func.func @caller(%q: tensor<1x4x1x32xf32>, %k: tensor<1x2x64x32xf32>, %n: tensor<1xi64>) -> tensor<1x4x1x32xf32> {
  %o = call @called(%q, %k, %n) : (tensor<1x4x1x32xf32>, tensor<1x2x64x32xf32>, tensor<1xi64>) -> tensor<1x4x1x32xf32>
  return %o : tensor<1x4x1x32xf32>
}
