#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map6 = affine_map<(d0, d1, d2) -> (d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map11 = affine_map<(d0) -> (0)>
#map12 = affine_map<(d0) -> ()>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @decode(%arg0: tensor<1xi64>, %arg1: tensor<1xi64>, %arg2: tensor<1x1x56x32xf32>, %arg3: tensor<1x1x56x32xf32>, %arg4: tensor<1x1x56x32xf32>, %arg5: tensor<1x1x56x32xf32>, %arg6: tensor<32x48xf32>, %arg7: tensor<48xf32>, %arg8: tensor<128x48xf32>, %arg9: tensor<32x48xf32>, %arg10: tensor<32x48xf32>, %arg11: tensor<48x128xf32>, %arg12: tensor<48xf32>, %arg13: tensor<48xf32>, %arg14: tensor<80x48xf32>, %arg15: tensor<80x48xf32>, %arg16: tensor<48x80xf32>, %arg17: tensor<48xf32>, %arg18: tensor<48xf32>, %arg19: tensor<128x48xf32>, %arg20: tensor<32x48xf32>, %arg21: tensor<32x48xf32>, %arg22: tensor<48x128xf32>, %arg23: tensor<48xf32>, %arg24: tensor<48xf32>, %arg25: tensor<80x48xf32>, %arg26: tensor<80x48xf32>, %arg27: tensor<48x80xf32>, %arg28: tensor<48xf32>, %arg29: tensor<48xf32>) -> (tensor<1x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>) {
    %c9_i64 = arith.constant 9 : i64
    %c56_i64 = arith.constant 56 : i64
    %c55_i64 = arith.constant 55 : i64
    %c3_i64 = arith.constant 3 : i64
    %c2_i64 = arith.constant 2 : i64
    %c0_i64 = arith.constant 0 : i64
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_3 = arith.constant 0.79788456080286541 : f64
    %cst_4 = arith.constant 4.471500e-02 : f64
    %cst_5 = arith.constant 0.17677669529663689 : f64
    %cst_6 = arith.constant 9.9999999999999995E-7 : f64
    %cst_7 = arith.constant 6.9282032302755088 : f64
    %cst_8 = arith.constant 2.000000e+00 : f32
    %cst_9 = arith.constant 3.200000e+01 : f32
    %cst_10 = arith.constant 1.000000e+04 : f32
    %cst_11 = arith.constant 1.000000e+00 : f32
    %cst_12 = arith.constant 4.800000e+01 : f32
    %cst_13 = arith.constant 2.000000e+01 : f32
    %cst_14 = arith.constant 5.000000e-01 : f32
    %expanded = tensor.expand_shape %arg0 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %0 = tensor.empty() : tensor<1x1x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1xi64>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: i64, %out: f32):
      %222 = arith.index_cast %in : i64 to index
      %223 = linalg.index 2 : index
      %224 = arith.cmpi slt, %222, %c32 : index
      cf.assert %224, "index must be smaller than dim size"
      %225 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %225, "index must be larger or equal to 0"
      %extracted_95 = tensor.extract %arg6[%222, %223] : tensor<32x48xf32>
      linalg.yield %extracted_95 : f32
    } -> tensor<1x1x48xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_7 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x48xf32>
    %3 = tensor.empty() : tensor<16xf32>
    %4 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%3 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 0 : index
      %223 = arith.index_cast %222 : index to i64
      %224 = arith.sitofp %223 : i64 to f32
      %225 = arith.mulf %224, %cst_8 : f32
      %226 = arith.addf %225, %cst : f32
      linalg.yield %226 : f32
    } -> tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%4 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%5 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_9 : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %7 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%6 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.powf %cst_10, %in : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %expanded_15 = tensor.expand_shape %arg1 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %8 = tensor.empty() : tensor<1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded_15 : tensor<1x1xi64>) outs(%8 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %222 = arith.sitofp %in : i64 to f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %expanded_16 = tensor.expand_shape %7 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %10 = tensor.empty() : tensor<1x16xf32>
    %11 = linalg.generic {indexing_maps = [#map4, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%9, %expanded_16 : tensor<1x1xf32>, tensor<1x16xf32>) outs(%10 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x16xf32>
    %concat = tensor.concat dim(1) %11, %11 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
    %12 = tensor.empty() : tensor<1x32xf32>
    %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.cos %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x32xf32>
    %14 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.sin %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x32xf32>
    %15 = tensor.empty() : tensor<48xf32>
    %16 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg7 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %18 = tensor.empty() : tensor<1x1x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%17 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %23 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %16 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %26 = tensor.empty() : tensor<48x128xf32>
    %transposed = linalg.transpose ins(%arg8 : tensor<128x48xf32>) outs(%26 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed = tensor.collapse_shape %25 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %27 = tensor.empty() : tensor<1x128xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %29 = linalg.matmul ins(%collapsed, %transposed : tensor<1x48xf32>, tensor<48x128xf32>) outs(%28 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_17 = tensor.expand_shape %29 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %30 = tensor.empty() : tensor<1x4x1x32xf32>
    %transposed_18 = linalg.transpose ins(%expanded_17 : tensor<1x1x4x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %31 = tensor.empty() : tensor<48x32xf32>
    %transposed_19 = linalg.transpose ins(%arg9 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %32 = linalg.fill ins(%cst : f32) outs(%12 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %33 = linalg.matmul ins(%collapsed, %transposed_19 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_20 = tensor.expand_shape %33 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %34 = tensor.empty() : tensor<1x1x1x32xf32>
    %transposed_21 = linalg.transpose ins(%expanded_20 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_22 = linalg.transpose ins(%arg10 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %35 = linalg.matmul ins(%collapsed, %transposed_22 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_23 = tensor.expand_shape %35 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %transposed_24 = linalg.transpose ins(%expanded_23 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %36 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_18, %13 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice = tensor.extract_slice %transposed_18[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %37 = tensor.empty() : tensor<1x4x1x16xf32>
    %38 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x4x1x16xf32>) outs(%37 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_25 = tensor.extract_slice %transposed_18[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_26 = tensor.concat dim(3) %38, %extracted_slice_25 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %39 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_26, %14 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %40 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %39 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %41 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_21, %13 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted_slice_27 = tensor.extract_slice %transposed_21[0, 0, 0, 16] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %42 = tensor.empty() : tensor<1x1x1x16xf32>
    %43 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_27 : tensor<1x1x1x16xf32>) outs(%42 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x16xf32>
    %extracted_slice_28 = tensor.extract_slice %transposed_21[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %concat_29 = tensor.concat dim(3) %43, %extracted_slice_28 : (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x32xf32>
    %44 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_29, %14 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %45 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41, %44 : tensor<1x1x1x32xf32>, tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted = tensor.extract %arg1[%c0] : tensor<1xi64>
    %46 = arith.cmpi sge, %extracted, %c0_i64 : i64
    cf.assert %46, "Runtime assertion failed for expression u0 >= 0 on node 'ge_5'"
    %47 = arith.cmpi sle, %extracted, %c55_i64 : i64
    cf.assert %47, "Runtime assertion failed for expression u0 <= 55 on node 'le_3'"
    %48 = arith.cmpi slt, %extracted, %c56_i64 : i64
    cf.assert %48, "Runtime assertion failed for expression u0 < 56 on node 'lt_1'"
    %49 = arith.addi %extracted, %c56_i64 : i64
    %50 = arith.cmpi sge, %extracted, %c0_i64 : i64
    %51 = arith.select %50, %extracted, %49 : i64
    %52 = arith.maxsi %51, %c0_i64 : i64
    %53 = arith.minsi %52, %c56_i64 : i64
    %54 = arith.index_cast %53 : i64 to index
    %inserted_slice = tensor.insert_slice %45 into %arg2[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x56x32xf32>
    %inserted_slice_30 = tensor.insert_slice %transposed_24 into %arg3[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x56x32xf32>
    %collapsed_31 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    %55 = tensor.empty() : tensor<1x1x4x56x32xf32>
    %56 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice : tensor<1x1x56x32xf32>) outs(%55 : tensor<1x1x4x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x56x32xf32>
    %collapsed_32 = tensor.collapse_shape %56 [[0], [1, 2], [3], [4]] : tensor<1x1x4x56x32xf32> into tensor<1x4x56x32xf32>
    %57 = tensor.empty() : tensor<1x4x32x56xf32>
    %transposed_33 = linalg.transpose ins(%collapsed_32 : tensor<1x4x56x32xf32>) outs(%57 : tensor<1x4x32x56xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_34 = tensor.collapse_shape %transposed_33 [[0, 1], [2], [3]] : tensor<1x4x32x56xf32> into tensor<4x32x56xf32>
    %58 = tensor.empty() : tensor<4x1x56xf32>
    %59 = linalg.fill ins(%cst : f32) outs(%58 : tensor<4x1x56xf32>) -> tensor<4x1x56xf32>
    %60 = linalg.batch_matmul ins(%collapsed_31, %collapsed_34 : tensor<4x1x32xf32>, tensor<4x32x56xf32>) outs(%59 : tensor<4x1x56xf32>) -> tensor<4x1x56xf32>
    %expanded_35 = tensor.expand_shape %60 [[0, 1], [2], [3]] output_shape [1, 4, 1, 56] : tensor<4x1x56xf32> into tensor<1x4x1x56xf32>
    %61 = tensor.empty() : tensor<1x4x1x56xf32>
    %62 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_35 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_5 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x4x1x56xf32>
    %63 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_13 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %64 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%63 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.tanh %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %65 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.mulf %in, %cst_13 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %66 = tensor.empty() : tensor<56xi64>
    %67 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%66 : tensor<56xi64>) {
    ^bb0(%out: i64):
      %222 = linalg.index 0 : index
      %223 = arith.index_cast %222 : index to i64
      linalg.yield %223 : i64
    } -> tensor<56xi64>
    %68 = tensor.empty() : tensor<56xi1>
    %69 = linalg.generic {indexing_maps = [#map2, #map11, #map2], iterator_types = ["parallel"]} ins(%67, %arg1 : tensor<56xi64>, tensor<1xi64>) outs(%68 : tensor<56xi1>) {
    ^bb0(%in: i64, %in_95: i64, %out: i1):
      %222 = arith.cmpi sle, %in, %in_95 : i64
      linalg.yield %222 : i1
    } -> tensor<56xi1>
    %70 = tensor.empty() : tensor<1xi64>
    %71 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg1 : tensor<1xi64>) outs(%70 : tensor<1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %222 = arith.subi %in, %c9_i64 : i64
      linalg.yield %222 : i64
    } -> tensor<1xi64>
    %72 = linalg.generic {indexing_maps = [#map2, #map11, #map2], iterator_types = ["parallel"]} ins(%67, %71 : tensor<56xi64>, tensor<1xi64>) outs(%68 : tensor<56xi1>) {
    ^bb0(%in: i64, %in_95: i64, %out: i1):
      %222 = arith.cmpi sgt, %in, %in_95 : i64
      linalg.yield %222 : i1
    } -> tensor<56xi1>
    %73 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel"]} ins(%69, %72 : tensor<56xi1>, tensor<56xi1>) outs(%68 : tensor<56xi1>) {
    ^bb0(%in: i1, %in_95: i1, %out: i1):
      %222 = arith.andi %in, %in_95 : i1
      linalg.yield %222 : i1
    } -> tensor<56xi1>
    %74 = tensor.empty() : tensor<56xf32>
    %75 = linalg.generic {indexing_maps = [#map2, #map12, #map12, #map2], iterator_types = ["parallel"]} ins(%73, %cst_1, %cst_2 : tensor<56xi1>, tensor<f32>, tensor<f32>) outs(%74 : tensor<56xf32>) {
    ^bb0(%in: i1, %in_95: f32, %in_96: f32, %out: f32):
      %222 = arith.select %in, %in_95, %in_96 : f32
      linalg.yield %222 : f32
    } -> tensor<56xf32>
    %expanded_36 = tensor.expand_shape %75 [[0, 1, 2, 3]] output_shape [1, 1, 1, 56] : tensor<56xf32> into tensor<1x1x1x56xf32>
    %76 = linalg.generic {indexing_maps = [#map7, #map13, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65, %expanded_36 : tensor<1x4x1x56xf32>, tensor<1x1x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %77 = tensor.empty() : tensor<1x4x1xi64>
    %78 = linalg.fill ins(%c0_i64 : i64) outs(%77 : tensor<1x4x1xi64>) -> tensor<1x4x1xi64>
    %79 = tensor.empty() : tensor<1x4x1xf32>
    %80 = linalg.fill ins(%cst_0 : f32) outs(%79 : tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
    %81:2 = linalg.generic {indexing_maps = [#map7, #map14, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%76 : tensor<1x4x1x56xf32>) outs(%80, %78 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_95: i64):
      %222 = linalg.index 3 : index
      %223 = arith.index_cast %222 : index to i64
      %224 = arith.maximumf %in, %out : f32
      %225 = arith.cmpf ogt, %in, %out : f32
      %226 = arith.select %225, %223, %out_95 : i64
      linalg.yield %224, %226 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_37 = tensor.expand_shape %81#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %82 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%76, %expanded_37 : tensor<1x4x1x56xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.subf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %83 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%82 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %84 = tensor.empty() : tensor<1x4x1x1xf32>
    %85 = linalg.fill ins(%cst : f32) outs(%84 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %86 = linalg.generic {indexing_maps = [#map7, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%83 : tensor<1x4x1x56xf32>) outs(%85 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x1xf32>
    %87 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%83, %86 : tensor<1x4x1x56xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.divf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %collapsed_38 = tensor.collapse_shape %87 [[0, 1], [2], [3]] : tensor<1x4x1x56xf32> into tensor<4x1x56xf32>
    %88 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_30 : tensor<1x1x56x32xf32>) outs(%55 : tensor<1x1x4x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x56x32xf32>
    %collapsed_39 = tensor.collapse_shape %88 [[0, 1, 2], [3], [4]] : tensor<1x1x4x56x32xf32> into tensor<4x56x32xf32>
    %89 = tensor.empty() : tensor<4x1x32xf32>
    %90 = linalg.fill ins(%cst : f32) outs(%89 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %91 = linalg.batch_matmul ins(%collapsed_38, %collapsed_39 : tensor<4x1x56xf32>, tensor<4x56x32xf32>) outs(%90 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_40 = tensor.expand_shape %91 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %92 = tensor.empty() : tensor<1x1x4x32xf32>
    %transposed_41 = linalg.transpose ins(%expanded_40 : tensor<1x4x1x32xf32>) outs(%92 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %93 = tensor.empty() : tensor<128x48xf32>
    %transposed_42 = linalg.transpose ins(%arg11 : tensor<48x128xf32>) outs(%93 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_43 = tensor.collapse_shape %transposed_41 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %94 = tensor.empty() : tensor<1x48xf32>
    %95 = linalg.fill ins(%cst : f32) outs(%94 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %96 = linalg.matmul ins(%collapsed_43, %transposed_42 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_44 = tensor.expand_shape %96 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %97 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg12 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %98 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %99 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%98 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %100 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %101 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%100 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %102 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%101 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %103 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44, %102 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %104 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103, %97 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %105 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %104 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %106 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg13 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %107 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %108 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%107 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %109 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%108 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %110 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %111 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%110 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %112 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %111 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %113 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%112, %106 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %114 = tensor.empty() : tensor<48x80xf32>
    %transposed_45 = linalg.transpose ins(%arg14 : tensor<80x48xf32>) outs(%114 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_46 = tensor.collapse_shape %113 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %115 = tensor.empty() : tensor<1x80xf32>
    %116 = linalg.fill ins(%cst : f32) outs(%115 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %117 = linalg.matmul ins(%collapsed_46, %transposed_45 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%116 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_47 = tensor.expand_shape %117 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %118 = tensor.empty() : tensor<1x1x80xf32>
    %119 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_47 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.mulf %in, %cst_14 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %120 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_47 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c3_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %121 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%120 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_4 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %122 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_47, %121 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %123 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%122 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_3 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %124 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.tanh %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %125 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %126 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119, %125 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %transposed_48 = linalg.transpose ins(%arg15 : tensor<80x48xf32>) outs(%114 : tensor<48x80xf32>) permutation = [1, 0] 
    %127 = linalg.matmul ins(%collapsed_46, %transposed_48 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%116 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_49 = tensor.expand_shape %127 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %128 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126, %expanded_49 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %129 = tensor.empty() : tensor<80x48xf32>
    %transposed_50 = linalg.transpose ins(%arg16 : tensor<48x80xf32>) outs(%129 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_51 = tensor.collapse_shape %128 [[0], [1, 2]] : tensor<1x1x80xf32> into tensor<1x80xf32>
    %130 = linalg.matmul ins(%collapsed_51, %transposed_50 : tensor<1x80xf32>, tensor<80x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_52 = tensor.expand_shape %130 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %131 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg17 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %132 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_52 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %133 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%132 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %134 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %135 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%134 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %136 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%135 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %137 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_52, %136 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %138 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137, %131 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %139 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %138 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %140 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg18 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %141 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %142 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%141 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %143 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%142 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %144 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%143 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %145 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %146 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139, %145 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %147 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%146, %140 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %transposed_53 = linalg.transpose ins(%arg19 : tensor<128x48xf32>) outs(%26 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed_54 = tensor.collapse_shape %147 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %148 = linalg.matmul ins(%collapsed_54, %transposed_53 : tensor<1x48xf32>, tensor<48x128xf32>) outs(%28 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_55 = tensor.expand_shape %148 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %transposed_56 = linalg.transpose ins(%expanded_55 : tensor<1x1x4x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_57 = linalg.transpose ins(%arg20 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %149 = linalg.matmul ins(%collapsed_54, %transposed_57 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_58 = tensor.expand_shape %149 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %transposed_59 = linalg.transpose ins(%expanded_58 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_60 = linalg.transpose ins(%arg21 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %150 = linalg.matmul ins(%collapsed_54, %transposed_60 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_61 = tensor.expand_shape %150 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %transposed_62 = linalg.transpose ins(%expanded_61 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %151 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_56, %13 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice_63 = tensor.extract_slice %transposed_56[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %152 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_63 : tensor<1x4x1x16xf32>) outs(%37 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_64 = tensor.extract_slice %transposed_56[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_65 = tensor.concat dim(3) %152, %extracted_slice_64 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %153 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_65, %14 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %154 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%151, %153 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x32xf32>
    %155 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_59, %13 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted_slice_66 = tensor.extract_slice %transposed_59[0, 0, 0, 16] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %156 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_66 : tensor<1x1x1x16xf32>) outs(%42 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x16xf32>
    %extracted_slice_67 = tensor.extract_slice %transposed_59[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %concat_68 = tensor.concat dim(3) %156, %extracted_slice_67 : (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x32xf32>
    %157 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_68, %14 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %158 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%155, %157 : tensor<1x1x1x32xf32>, tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1x32xf32>
    %inserted_slice_69 = tensor.insert_slice %158 into %arg4[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x56x32xf32>
    %inserted_slice_70 = tensor.insert_slice %transposed_62 into %arg5[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x56x32xf32>
    %collapsed_71 = tensor.collapse_shape %154 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    %159 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_69 : tensor<1x1x56x32xf32>) outs(%55 : tensor<1x1x4x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x56x32xf32>
    %collapsed_72 = tensor.collapse_shape %159 [[0], [1, 2], [3], [4]] : tensor<1x1x4x56x32xf32> into tensor<1x4x56x32xf32>
    %transposed_73 = linalg.transpose ins(%collapsed_72 : tensor<1x4x56x32xf32>) outs(%57 : tensor<1x4x32x56xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_74 = tensor.collapse_shape %transposed_73 [[0, 1], [2], [3]] : tensor<1x4x32x56xf32> into tensor<4x32x56xf32>
    %160 = linalg.batch_matmul ins(%collapsed_71, %collapsed_74 : tensor<4x1x32xf32>, tensor<4x32x56xf32>) outs(%59 : tensor<4x1x56xf32>) -> tensor<4x1x56xf32>
    %expanded_75 = tensor.expand_shape %160 [[0, 1], [2], [3]] output_shape [1, 4, 1, 56] : tensor<4x1x56xf32> into tensor<1x4x1x56xf32>
    %161 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_75 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_5 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x4x1x56xf32>
    %162 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%161 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_13 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %163 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%162 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.tanh %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %164 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%163 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.mulf %in, %cst_13 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %165 = linalg.generic {indexing_maps = [#map2, #map12, #map12, #map2], iterator_types = ["parallel"]} ins(%69, %cst_1, %cst_2 : tensor<56xi1>, tensor<f32>, tensor<f32>) outs(%74 : tensor<56xf32>) {
    ^bb0(%in: i1, %in_95: f32, %in_96: f32, %out: f32):
      %222 = arith.select %in, %in_95, %in_96 : f32
      linalg.yield %222 : f32
    } -> tensor<56xf32>
    %expanded_76 = tensor.expand_shape %165 [[0, 1, 2, 3]] output_shape [1, 1, 1, 56] : tensor<56xf32> into tensor<1x1x1x56xf32>
    %166 = linalg.generic {indexing_maps = [#map7, #map13, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%164, %expanded_76 : tensor<1x4x1x56xf32>, tensor<1x1x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %167:2 = linalg.generic {indexing_maps = [#map7, #map14, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%166 : tensor<1x4x1x56xf32>) outs(%80, %78 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_95: i64):
      %222 = linalg.index 3 : index
      %223 = arith.index_cast %222 : index to i64
      %224 = arith.maximumf %in, %out : f32
      %225 = arith.cmpf ogt, %in, %out : f32
      %226 = arith.select %225, %223, %out_95 : i64
      linalg.yield %224, %226 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_77 = tensor.expand_shape %167#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %168 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%166, %expanded_77 : tensor<1x4x1x56xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.subf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %169 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%168 : tensor<1x4x1x56xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %170 = linalg.generic {indexing_maps = [#map7, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%169 : tensor<1x4x1x56xf32>) outs(%85 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x1xf32>
    %171 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%169, %170 : tensor<1x4x1x56xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x56xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.divf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x4x1x56xf32>
    %collapsed_78 = tensor.collapse_shape %171 [[0, 1], [2], [3]] : tensor<1x4x1x56xf32> into tensor<4x1x56xf32>
    %172 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_70 : tensor<1x1x56x32xf32>) outs(%55 : tensor<1x1x4x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x56x32xf32>
    %collapsed_79 = tensor.collapse_shape %172 [[0, 1, 2], [3], [4]] : tensor<1x1x4x56x32xf32> into tensor<4x56x32xf32>
    %173 = linalg.batch_matmul ins(%collapsed_78, %collapsed_79 : tensor<4x1x56xf32>, tensor<4x56x32xf32>) outs(%90 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_80 = tensor.expand_shape %173 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %transposed_81 = linalg.transpose ins(%expanded_80 : tensor<1x4x1x32xf32>) outs(%92 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_82 = linalg.transpose ins(%arg22 : tensor<48x128xf32>) outs(%93 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_83 = tensor.collapse_shape %transposed_81 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %174 = linalg.matmul ins(%collapsed_83, %transposed_82 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_84 = tensor.expand_shape %174 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %175 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg23 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %176 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_84 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %177 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%176 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %178 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%177 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %179 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%178 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %180 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%179 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %181 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_84, %180 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %182 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%181, %175 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %183 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139, %182 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %184 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg24 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %185 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %186 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%185 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %187 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %188 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%187 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %189 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %190 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183, %189 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %191 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%190, %184 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %transposed_85 = linalg.transpose ins(%arg25 : tensor<80x48xf32>) outs(%114 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_86 = tensor.collapse_shape %191 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %192 = linalg.matmul ins(%collapsed_86, %transposed_85 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%116 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_87 = tensor.expand_shape %192 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %193 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_87 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.mulf %in, %cst_14 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %194 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_87 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c3_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %195 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%194 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_4 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %196 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_87, %195 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %197 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_3 : f64 to f32
      %223 = arith.mulf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %198 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%197 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.tanh %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %199 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%198 : tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %200 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%193, %199 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %transposed_88 = linalg.transpose ins(%arg26 : tensor<80x48xf32>) outs(%114 : tensor<48x80xf32>) permutation = [1, 0] 
    %201 = linalg.matmul ins(%collapsed_86, %transposed_88 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%116 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_89 = tensor.expand_shape %201 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %202 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%200, %expanded_89 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%118 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %transposed_90 = linalg.transpose ins(%arg27 : tensor<48x80xf32>) outs(%129 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_91 = tensor.collapse_shape %202 [[0], [1, 2]] : tensor<1x1x80xf32> into tensor<1x80xf32>
    %203 = linalg.matmul ins(%collapsed_91, %transposed_90 : tensor<1x80xf32>, tensor<80x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_92 = tensor.expand_shape %203 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %204 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg28 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %205 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_92 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %206 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%205 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %207 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%206 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %208 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%207 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %209 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%208 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %210 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_92, %209 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %211 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210, %204 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %212 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183, %211 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.addf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %213 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg29 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %cst_11 : f32
      linalg.yield %222 : f32
    } -> tensor<48xf32>
    %214 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%212 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %215 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%214 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %in, %out : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %216 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%215 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.divf %in, %cst_12 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %217 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%216 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.truncf %cst_6 : f64 to f32
      %223 = arith.addf %in, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x1xf32>
    %218 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%217 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %219 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%212, %218 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %220 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%219, %213 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %222 = arith.mulf %in, %in_95 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %collapsed_93 = tensor.collapse_shape %220 [[0, 1], [2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %transposed_94 = linalg.transpose ins(%arg6 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %221 = linalg.matmul ins(%collapsed_93, %transposed_94 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    return %221, %inserted_slice, %inserted_slice_30, %inserted_slice_69, %inserted_slice_70 : tensor<1x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>, tensor<1x1x56x32xf32>
  }
}
