module {
  func.func @items(%arg0: index, %arg1: tensor<?xf32>, %arg2: tensor<4xi8>) -> (tensor<?xf32>, tensor<4xi8>) {
    %cst = arith.constant 0.000000e+00 : f32
    %0:2 = kvq.forall (%arg3, %arg4) in (%arg0, %arg0) inits(%arg5 = %arg1, %arg6 = %arg2 : tensor<?xf32>, tensor<4xi8>) {
      %inserted = tensor.insert %cst into %arg5[%arg3] : tensor<?xf32>
      kvq.yield %inserted, %arg6 : tensor<?xf32>, tensor<4xi8>
    } {test.note = "kept"}
    return %0#0, %0#1 : tensor<?xf32>, tensor<4xi8>
  }
  func.func @no_tensor(%arg0: index) {
    kvq.forall (%arg1) in (%arg0) {
      kvq.yield
    }
    return
  }
}

