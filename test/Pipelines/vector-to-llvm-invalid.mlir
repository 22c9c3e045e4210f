// RUN: kvq-opt %s -kvq-vector-to-llvm-pipeline -verify-diagnostics

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'scf.forall' op expected buffers, got results of type 'tensor<4xf32>' (run kvq-bufferize-pipeline first)}}
  %0 = scf.forall (%i) in (4) shared_outs(%out = %x) -> tensor<4xf32> {
    %one = tensor.extract_slice %out[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %one into %out[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %0 : tensor<4xf32>
}
