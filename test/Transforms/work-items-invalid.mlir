// RUN: kvq-opt %s -kvq-bufferize-pipeline -verify-diagnostics -split-input-file

// Another tensor in place of the one that an item gets: every item would have to
// copy it.
func.func @another(%n: index, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{expected items that write tensor 0 in place, found one that yields another}}
  %r = kvq.forall (%i) in (%n) inits(%a = %x : tensor<4xf32>) {
    kvq.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
