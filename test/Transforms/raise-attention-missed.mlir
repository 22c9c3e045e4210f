// RUN: kvq-opt %s --kvq-raise-attention -split-input-file -o /dev/null \
// RUN:   --remarks-filter=kvq-raise-attention --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark: --implicit-check-not=error:
// RUN: kvq-opt %s --kvq-raise-attention -split-input-file | FileCheck %s --check-prefix=LEFT \
// RUN:   --implicit-check-not=kvq.

// What is not attention stays as it is, and a remark says which op does not fit.

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// A function of scores that is not in attention.
// LEFT-LABEL: func @function(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=function
// CHECK-SAME: Reason="scores are made by 'math.absf', which attention has no part for", Remark="attention is not raised"
func.func @function(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x = math.absf %s : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Scores are added to something.
// LEFT-LABEL: func @start(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=start
// CHECK-SAME: Reason="the sums that scores are do not start from 0", Remark="attention is not raised"
func.func @start(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %init = arith.constant dense<1.0> : tensor<4x1x32xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%init : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// A softmax along heads.
// LEFT-LABEL: func @axis(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+8]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=axis
// CHECK-SAME: Reason="a linalg.softmax is along another axis than that of tokens", Remark="attention is not raised"
func.func @axis(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Weights that change behind the softmax, as those of dropout do.
// LEFT-LABEL: func @scaled_weights(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=scaled_weights
// CHECK-SAME: Reason="weights are made by 'arith.mulf', which is no softmax", Remark="attention is not raised"
func.func @scaled_weights(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %w = arith.mulf %p, %m : tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%w, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Softcaps of softcaps.
// LEFT-LABEL: func @two_softcaps(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+10]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=two_softcaps
// CHECK-SAME: Reason="scores have two softcaps", Remark="attention is not raised"
func.func @two_softcaps(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x0 = math.tanh %s : tensor<4x1x32xf32>
  %x = math.tanh %x0 : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// A mask inside of a softcap would be no mask: tanh(-inf) is -1.
// LEFT-LABEL: func @early_mask(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+10]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=early_mask
// CHECK-SAME: Reason="scores are masked before their softcap", Remark="attention is not raised"
func.func @early_mask(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x0 = arith.addf %s, %m : tensor<4x1x32xf32>
  %x = math.tanh %x0 : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// 0 hides no token.
// LEFT-LABEL: func @no_mask(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=no_mask
// CHECK-SAME: Reason="an 'arith.select' chooses scores, but none of what it chooses from is -inf or another number that hides", Remark="attention is not raised"
func.func @no_mask(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xi1>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x = arith.select %m, %s, %zero : tensor<4x1x32xi1>, tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// A mask is not scaled.
// LEFT-LABEL: func @scaled_mask(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+11]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=scaled_mask
// CHECK-SAME: Reason="masked scores are multiplied by 0.500000", Remark="attention is not raised"
func.func @scaled_mask(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %half = arith.constant dense<0.5> : tensor<4x1x32xf32>
  %x0 = arith.addf %s, %m : tensor<4x1x32xf32>
  %x = arith.mulf %x0, %half : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// One tensor of masks.
// LEFT-LABEL: func @two_masks(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+10]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=two_masks
// CHECK-SAME: Reason="scores are masked by several tensors", Remark="attention is not raised"
func.func @two_masks(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>, %m1: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x0 = arith.addf %s, %m : tensor<4x1x32xf32>
  %x = arith.addf %x0, %m1 : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// No scores at all.
// LEFT-LABEL: func @two_sums(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=two_sums
// CHECK-SAME: Reason="scores are a sum, but none of its terms comes from a contraction of queries and keys", Remark="attention is not raised"
func.func @two_sums(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x = arith.addf %m, %m : tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%x : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>
#kt = affine_map<(h, i, t, c) -> (h, c, t)>

// Keys that are stored by channel: no cache has such rows.
// LEFT-LABEL: func @channels_first(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+8]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=channels_first
// CHECK-SAME: Reason="its keys: the values of a row do not lie side by side", Remark="attention is not raised"
func.func @channels_first(%q: tensor<4x1x16xf32>, %k: tensor<4x16x32xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #kt, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x16x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>
#kt = affine_map<(h, i, t, c) -> (t, c)>

// One head of keys for four heads of values.
// LEFT-LABEL: func @shared_keys(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+8]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=shared_keys
// CHECK-SAME: Reason="its values differ between query heads of a group or query tokens, those of the other side do not", Remark="attention is not raised"
func.func @shared_keys(%q: tensor<4x1x16xf32>, %k: tensor<32x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #kt, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----
#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// A softmax by parts, divided by the sum of other exponentials.
// LEFT-LABEL: func @other_sum(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+15]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=other_sum
// CHECK-SAME: Reason="weights are divided by the sum of something else than their exponentials along the axis of tokens", Remark="attention is not raised"
func.func @other_sum(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x = arith.addf %s, %zero : tensor<4x1x32xf32>
  %e = math.exp %x : tensor<4x1x32xf32>
  %e1 = math.exp %m : tensor<4x1x32xf32>
  %zeros = arith.constant dense<0.0> : tensor<4x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%e1 : tensor<4x1x32xf32>) outs(%zeros : tensor<4x1xf32>) dimensions = [2]
  %sums = tensor.empty() : tensor<4x1x32xf32>
  %den = linalg.broadcast ins(%sum : tensor<4x1xf32>) outs(%sums : tensor<4x1x32xf32>) dimensions = [2]
  %p = arith.divf %e, %den : tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----
#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Less another number for each token.
// LEFT-LABEL: func @shift(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+14]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=shift
// CHECK-SAME: Reason="what is subtracted before the exponential, a block argument, differs between tokens", Remark="attention is not raised"
func.func @shift(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %m: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x32x16xf32>) outs(%zero : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
  %x = arith.subf %s, %m : tensor<4x1x32xf32>
  %e = math.exp %x : tensor<4x1x32xf32>
  %zeros = arith.constant dense<0.0> : tensor<4x1xf32>
  %sum = linalg.reduce { arith.addf } ins(%e : tensor<4x1x32xf32>) outs(%zeros : tensor<4x1xf32>) dimensions = [2]
  %sums = tensor.empty() : tensor<4x1x32xf32>
  %den = linalg.broadcast ins(%sum : tensor<4x1xf32>) outs(%sums : tensor<4x1x32xf32>) dimensions = [2]
  %p = arith.divf %e, %den : tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----
#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Any number of heads.
// LEFT-LABEL: func @dynamic_heads(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<?x1x16xf32>
// CHECK: [[#@LINE+9]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=dynamic_heads
// CHECK-SAME: Reason="the number of its sequences or heads is not static", Remark="attention is not raised"
func.func @dynamic_heads(%q: tensor<?x1x16xf32>, %k: tensor<?x32x16xf32>, %v: tensor<?x32x16xf32>, %zero: tensor<?x1x32xf32>, %none: tensor<?x1x16xf32>) -> tensor<?x1x16xf32> {
  %f0 = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%f0 : f32) outs(%zero : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %nones = linalg.fill ins(%f0 : f32) outs(%none : tensor<?x1x16xf32>) -> tensor<?x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<?x1x16xf32>, tensor<?x32x16xf32>) outs(%zeros : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<?x1x32xf32>) outs(%zero : tensor<?x1x32xf32>) -> tensor<?x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<?x1x32xf32>, tensor<?x32x16xf32>) outs(%nones : tensor<?x1x16xf32>) -> tensor<?x1x16xf32>
  return %o : tensor<?x1x16xf32>
}

// -----
#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Caches have no f64.
// LEFT-LABEL: func @doubles(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf64>
// CHECK: [[#@LINE+8]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=doubles
// CHECK-SAME: Reason="expected queries and a result of f16, bf16 or f32, got f64", Remark="attention is not raised"
func.func @doubles(%q: tensor<4x1x16xf64>, %k: tensor<4x32x16xf64>, %v: tensor<4x32x16xf64>) -> tensor<4x1x16xf64> {
  %zero = arith.constant dense<0.0> : tensor<4x1x32xf64>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf64>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf64>, tensor<4x32x16xf64>) outs(%zero : tensor<4x1x32xf64>) -> tensor<4x1x32xf64>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x32xf64>) outs(%zero : tensor<4x1x32xf64>) -> tensor<4x1x32xf64>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf64>, tensor<4x32x16xf64>) outs(%none : tensor<4x1x16xf64>) -> tensor<4x1x16xf64>
  return %o : tensor<4x1x16xf64>
}

// -----

// No attention: a gated projection, whose exponential is not summed up. No remark.
// LEFT-LABEL: func @gate(
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
func.func @gate(%q: tensor<4x1x16xf32>, %k: tensor<4x32x16xf32>, %v: tensor<4x32x16xf32>, %g: tensor<4x1x32xf32>) -> tensor<4x1x16xf32> {
  %one = arith.constant dense<1.0> : tensor<4x1x32xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %n = arith.negf %g : tensor<4x1x32xf32>
  %e = math.exp %n : tensor<4x1x32xf32>
  %d = arith.addf %one, %e : tensor<4x1x32xf32>
  %p = arith.divf %g, %d : tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}

// -----

#q = affine_map<(h, i, t, c) -> (h, i, c)>
#k = affine_map<(h, i, t, c) -> (h, t, c)>
#s = affine_map<(h, i, t, c) -> (h, i, t)>

// Weights of tokens that are not there are 0: padded after the softmax.
// LEFT-LABEL: func @padded_weights(
// LEFT:       tensor.pad
// LEFT:       linalg.batch_matmul{{.*}} -> tensor<4x1x16xf32>
// CHECK: [[#@LINE+14]]:{{.*}} remark: [Missed] RaiseAttention | Category:kvq-raise-attention | Function=padded_weights
// CHECK-SAME: tensor.pad
// CHECK-SAME: Remark="attention is not raised"
func.func @padded_weights(%q: tensor<4x1x16xf32>, %k: tensor<4x30x16xf32>, %v: tensor<4x32x16xf32>) -> tensor<4x1x16xf32> {
  %0 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : tensor<4x1x30xf32>
  %none = arith.constant dense<0.0> : tensor<4x1x16xf32>
  %s = linalg.contract indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<4x1x16xf32>, tensor<4x30x16xf32>) outs(%zero : tensor<4x1x30xf32>) -> tensor<4x1x30xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<4x1x30xf32>) outs(%zero : tensor<4x1x30xf32>) -> tensor<4x1x30xf32>
  %w = tensor.pad %p low[0, 0, 0] high[0, 0, 2] {
  ^bb0(%a: index, %b: index, %c: index):
    tensor.yield %0 : f32
  } : tensor<4x1x30xf32> to tensor<4x1x32xf32>
  %o = linalg.batch_matmul ins(%w, %v : tensor<4x1x32xf32>, tensor<4x32x16xf32>) outs(%none : tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  return %o : tensor<4x1x16xf32>
}
