// RUN: kvq-opt %s -verify-diagnostics -split-input-file

func.func @types(%n: index, %x: tensor<4xf32>) {
  // expected-error@+1 {{expected 1 types, got 2}}
  %r = kvq.forall (%i) in (%n) inits(%a = %x : tensor<4xf32>, tensor<4xf32>) {
    kvq.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @no_axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected at least one axis of work items}}
  %r = kvq.forall () in () inits(%a = %x : tensor<4xf32>) {
    kvq.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @places(%n: index, %x: tensor<4xf32>) {
  // expected-error@+1 {{expected block arguments of the types 'index', 'index', 'tensor<4xf32>', got 'index', 'tensor<4xf32>'}}
  %r = kvq.forall (%i) in (%n, %n) inits(%a = %x : tensor<4xf32>) {
    kvq.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @results(%n: index, %x: tensor<4xf32>) {
  // expected-error@+1 {{expected results of the types of inits, 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %r = "kvq.forall"(%n, %x) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%i: index, %a: tensor<4xf32>):
    kvq.yield %a : tensor<4xf32>
  }) : (index, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @yield(%n: index, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  %r = kvq.forall (%i) in (%n) inits(%a = %x : tensor<4xf32>) {
    // expected-error@+1 {{expected values of the types 'tensor<4xf32>', got 'tensor<5xf32>'}}
    kvq.yield %y : tensor<5xf32>
  }
  return
}

// -----

func.func @terminator(%n: index) {
  // expected-error@+1 {{expected kvq.yield at the end of the body, got 'llvm.unreachable'}}
  kvq.forall (%i) in (%n) {
    llvm.unreachable
  }
  return
}

// -----

func.func @elsewhere(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects parent op 'kvq.forall'}}
  kvq.yield %x : tensor<4xf32>
}
