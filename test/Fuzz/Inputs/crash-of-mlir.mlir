// pipeline: builtin.module(canonicalize)
func.func @f(%a: tensor<4xf32>, %b: tensor<4x8xf32>) {
  %0 = linalg.broadcast ins(%a : tensor<4xf32>) outs(%b : tensor<4x8xf32>) dimensions = [x]
  return
}
