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
  func.func @decode(%arg0: tensor<1xi64>, %arg1: tensor<1xi64>, %arg2: tensor<1x1x64x32xf32>, %arg3: tensor<1x1x64x32xf32>, %arg4: tensor<1x1x64x32xf32>, %arg5: tensor<1x1x64x32xf32>, %arg6: tensor<32x48xf32>, %arg7: tensor<48xf32>, %arg8: tensor<128x48xf32>, %arg9: tensor<32x48xf32>, %arg10: tensor<32x48xf32>, %arg11: tensor<48x128xf32>, %arg12: tensor<48xf32>, %arg13: tensor<48xf32>, %arg14: tensor<64x48xf32>, %arg15: tensor<64x48xf32>, %arg16: tensor<48x64xf32>, %arg17: tensor<48xf32>, %arg18: tensor<48xf32>, %arg19: tensor<128x48xf32>, %arg20: tensor<32x48xf32>, %arg21: tensor<32x48xf32>, %arg22: tensor<48x128xf32>, %arg23: tensor<48xf32>, %arg24: tensor<48xf32>, %arg25: tensor<64x48xf32>, %arg26: tensor<64x48xf32>, %arg27: tensor<48x64xf32>, %arg28: tensor<48xf32>, %arg29: tensor<48xf32>) -> (tensor<1x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>) {
    %c9_i64 = arith.constant 9 : i64
    %c64_i64 = arith.constant 64 : i64
    %c63_i64 = arith.constant 63 : i64
    %c2_i64 = arith.constant 2 : i64
    %c0_i64 = arith.constant 0 : i64
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %c3_i64 = arith.constant 3 : i64
    %cst_1 = arith.constant 4.471500e-02 : f32
    %cst_2 = arith.constant 7.977240e-01 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %cst_4 = arith.constant 5.000000e-01 : f32
    %cst_5 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_6 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_7 = arith.constant 0.17677669529663689 : f64
    %cst_8 = arith.constant 9.9999999999999995E-7 : f64
    %cst_9 = arith.constant 6.9282032302755088 : f64
    %cst_10 = arith.constant 2.000000e+00 : f32
    %cst_11 = arith.constant 3.200000e+01 : f32
    %cst_12 = arith.constant 1.000000e+04 : f32
    %cst_13 = arith.constant 4.800000e+01 : f32
    %cst_14 = arith.constant 2.000000e+01 : f32
    %expanded = tensor.expand_shape %arg0 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %0 = tensor.empty() : tensor<1x1x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1xi64>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: i64, %out: f32):
      %208 = arith.index_cast %in : i64 to index
      %209 = linalg.index 2 : index
      %210 = arith.cmpi slt, %208, %c32 : index
      cf.assert %210, "index must be smaller than dim size"
      %211 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %211, "index must be larger or equal to 0"
      %extracted_95 = tensor.extract %arg6[%208, %209] : tensor<32x48xf32>
      linalg.yield %extracted_95 : f32
    } -> tensor<1x1x48xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_9 : f64 to f32
      %209 = arith.mulf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x48xf32>
    %3 = tensor.empty() : tensor<16xf32>
    %4 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%3 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %208 = linalg.index 0 : index
      %209 = arith.index_cast %208 : index to i64
      %210 = arith.sitofp %209 : i64 to f32
      %211 = arith.mulf %210, %cst_10 : f32
      %212 = arith.addf %211, %cst : f32
      linalg.yield %212 : f32
    } -> tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%4 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.negf %in : f32
      linalg.yield %208 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%5 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_11 : f32
      linalg.yield %208 : f32
    } -> tensor<16xf32>
    %7 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%6 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.powf %cst_12, %in : f32
      linalg.yield %208 : f32
    } -> tensor<16xf32>
    %expanded_15 = tensor.expand_shape %arg1 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %8 = tensor.empty() : tensor<1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded_15 : tensor<1x1xi64>) outs(%8 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %208 = arith.sitofp %in : i64 to f32
      linalg.yield %208 : f32
    } -> tensor<1x1xf32>
    %expanded_16 = tensor.expand_shape %7 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %10 = tensor.empty() : tensor<1x16xf32>
    %11 = linalg.generic {indexing_maps = [#map4, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%9, %expanded_16 : tensor<1x1xf32>, tensor<1x16xf32>) outs(%10 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x16xf32>
    %concat = tensor.concat dim(1) %11, %11 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
    %12 = tensor.empty() : tensor<1x32xf32>
    %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.cos %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x32xf32>
    %14 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.sin %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x32xf32>
    %15 = tensor.empty() : tensor<48xf32>
    %16 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg7 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %18 = tensor.empty() : tensor<1x1x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%17 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %23 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %16 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
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
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice = tensor.extract_slice %transposed_18[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %37 = tensor.empty() : tensor<1x4x1x16xf32>
    %38 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x4x1x16xf32>) outs(%37 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.negf %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_25 = tensor.extract_slice %transposed_18[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_26 = tensor.concat dim(3) %38, %extracted_slice_25 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %39 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_26, %14 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %40 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %39 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %41 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_21, %13 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted_slice_27 = tensor.extract_slice %transposed_21[0, 0, 0, 16] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %42 = tensor.empty() : tensor<1x1x1x16xf32>
    %43 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_27 : tensor<1x1x1x16xf32>) outs(%42 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.negf %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x16xf32>
    %extracted_slice_28 = tensor.extract_slice %transposed_21[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %concat_29 = tensor.concat dim(3) %43, %extracted_slice_28 : (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x32xf32>
    %44 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_29, %14 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %45 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41, %44 : tensor<1x1x1x32xf32>, tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted = tensor.extract %arg1[%c0] : tensor<1xi64>
    %46 = arith.cmpi sge, %extracted, %c0_i64 : i64
    cf.assert %46, "Runtime assertion failed for expression u0 >= 0 on node 'ge_5'"
    %47 = arith.cmpi sle, %extracted, %c63_i64 : i64
    cf.assert %47, "Runtime assertion failed for expression u0 <= 63 on node 'le_3'"
    %48 = arith.cmpi slt, %extracted, %c64_i64 : i64
    cf.assert %48, "Runtime assertion failed for expression u0 < 64 on node 'lt_1'"
    %49 = arith.addi %extracted, %c64_i64 : i64
    %50 = arith.cmpi sge, %extracted, %c0_i64 : i64
    %51 = arith.select %50, %extracted, %49 : i64
    %52 = arith.maxsi %51, %c0_i64 : i64
    %53 = arith.minsi %52, %c64_i64 : i64
    %54 = arith.index_cast %53 : i64 to index
    %inserted_slice = tensor.insert_slice %45 into %arg2[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x64x32xf32>
    %inserted_slice_30 = tensor.insert_slice %transposed_24 into %arg3[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x64x32xf32>
    %collapsed_31 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    %55 = tensor.empty() : tensor<1x1x4x64x32xf32>
    %56 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice : tensor<1x1x64x32xf32>) outs(%55 : tensor<1x1x4x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x64x32xf32>
    %collapsed_32 = tensor.collapse_shape %56 [[0], [1, 2], [3], [4]] : tensor<1x1x4x64x32xf32> into tensor<1x4x64x32xf32>
    %57 = tensor.empty() : tensor<1x4x32x64xf32>
    %transposed_33 = linalg.transpose ins(%collapsed_32 : tensor<1x4x64x32xf32>) outs(%57 : tensor<1x4x32x64xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_34 = tensor.collapse_shape %transposed_33 [[0, 1], [2], [3]] : tensor<1x4x32x64xf32> into tensor<4x32x64xf32>
    %58 = tensor.empty() : tensor<4x1x64xf32>
    %59 = linalg.fill ins(%cst : f32) outs(%58 : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
    %60 = linalg.batch_matmul ins(%collapsed_31, %collapsed_34 : tensor<4x1x32xf32>, tensor<4x32x64xf32>) outs(%59 : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
    %expanded_35 = tensor.expand_shape %60 [[0, 1], [2], [3]] output_shape [1, 4, 1, 64] : tensor<4x1x64xf32> into tensor<1x4x1x64xf32>
    %61 = tensor.empty() : tensor<1x4x1x64xf32>
    %62 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_35 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_7 : f64 to f32
      %209 = arith.mulf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x4x1x64xf32>
    %63 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_14 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %64 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%63 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.tanh %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %65 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.mulf %in, %cst_14 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %66 = tensor.empty() : tensor<64xi64>
    %67 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%66 : tensor<64xi64>) {
    ^bb0(%out: i64):
      %208 = linalg.index 0 : index
      %209 = arith.index_cast %208 : index to i64
      linalg.yield %209 : i64
    } -> tensor<64xi64>
    %68 = tensor.empty() : tensor<64xi1>
    %69 = linalg.generic {indexing_maps = [#map2, #map11, #map2], iterator_types = ["parallel"]} ins(%67, %arg1 : tensor<64xi64>, tensor<1xi64>) outs(%68 : tensor<64xi1>) {
    ^bb0(%in: i64, %in_95: i64, %out: i1):
      %208 = arith.cmpi sle, %in, %in_95 : i64
      linalg.yield %208 : i1
    } -> tensor<64xi1>
    %70 = tensor.empty() : tensor<1xi64>
    %71 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg1 : tensor<1xi64>) outs(%70 : tensor<1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %208 = arith.subi %in, %c9_i64 : i64
      linalg.yield %208 : i64
    } -> tensor<1xi64>
    %72 = linalg.generic {indexing_maps = [#map2, #map11, #map2], iterator_types = ["parallel"]} ins(%67, %71 : tensor<64xi64>, tensor<1xi64>) outs(%68 : tensor<64xi1>) {
    ^bb0(%in: i64, %in_95: i64, %out: i1):
      %208 = arith.cmpi sgt, %in, %in_95 : i64
      linalg.yield %208 : i1
    } -> tensor<64xi1>
    %73 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel"]} ins(%69, %72 : tensor<64xi1>, tensor<64xi1>) outs(%68 : tensor<64xi1>) {
    ^bb0(%in: i1, %in_95: i1, %out: i1):
      %208 = arith.andi %in, %in_95 : i1
      linalg.yield %208 : i1
    } -> tensor<64xi1>
    %74 = tensor.empty() : tensor<64xf32>
    %75 = linalg.generic {indexing_maps = [#map2, #map12, #map12, #map2], iterator_types = ["parallel"]} ins(%73, %cst_5, %cst_6 : tensor<64xi1>, tensor<f32>, tensor<f32>) outs(%74 : tensor<64xf32>) {
    ^bb0(%in: i1, %in_95: f32, %in_96: f32, %out: f32):
      %208 = arith.select %in, %in_95, %in_96 : f32
      linalg.yield %208 : f32
    } -> tensor<64xf32>
    %expanded_36 = tensor.expand_shape %75 [[0, 1, 2, 3]] output_shape [1, 1, 1, 64] : tensor<64xf32> into tensor<1x1x1x64xf32>
    %76 = linalg.generic {indexing_maps = [#map7, #map13, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65, %expanded_36 : tensor<1x4x1x64xf32>, tensor<1x1x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %77 = tensor.empty() : tensor<1x4x1xi64>
    %78 = linalg.fill ins(%c0_i64 : i64) outs(%77 : tensor<1x4x1xi64>) -> tensor<1x4x1xi64>
    %79 = tensor.empty() : tensor<1x4x1xf32>
    %80 = linalg.fill ins(%cst_0 : f32) outs(%79 : tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
    %81:2 = linalg.generic {indexing_maps = [#map7, #map14, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%76 : tensor<1x4x1x64xf32>) outs(%80, %78 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_95: i64):
      %208 = linalg.index 3 : index
      %209 = arith.index_cast %208 : index to i64
      %210 = arith.maximumf %in, %out : f32
      %211 = arith.cmpf ogt, %in, %out : f32
      %212 = arith.select %211, %209, %out_95 : i64
      linalg.yield %210, %212 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_37 = tensor.expand_shape %81#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %82 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%76, %expanded_37 : tensor<1x4x1x64xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.subf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %83 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%82 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.exp %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %84 = tensor.empty() : tensor<1x4x1x1xf32>
    %85 = linalg.fill ins(%cst : f32) outs(%84 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %86 = linalg.generic {indexing_maps = [#map7, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%83 : tensor<1x4x1x64xf32>) outs(%85 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x1xf32>
    %87 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%83, %86 : tensor<1x4x1x64xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.divf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %collapsed_38 = tensor.collapse_shape %87 [[0, 1], [2], [3]] : tensor<1x4x1x64xf32> into tensor<4x1x64xf32>
    %88 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_30 : tensor<1x1x64x32xf32>) outs(%55 : tensor<1x1x4x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x64x32xf32>
    %collapsed_39 = tensor.collapse_shape %88 [[0, 1, 2], [3], [4]] : tensor<1x1x4x64x32xf32> into tensor<4x64x32xf32>
    %89 = tensor.empty() : tensor<4x1x32xf32>
    %90 = linalg.fill ins(%cst : f32) outs(%89 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %91 = linalg.batch_matmul ins(%collapsed_38, %collapsed_39 : tensor<4x1x64xf32>, tensor<4x64x32xf32>) outs(%90 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
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
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %98 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %99 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%98 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %100 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%99 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %101 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%100 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %102 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%101 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %103 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44, %102 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %104 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103, %97 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %105 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %104 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %106 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg13 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %107 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %108 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%107 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %109 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%108 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %110 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %111 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%110 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %112 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %111 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %113 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%112, %106 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %114 = tensor.empty() : tensor<48x64xf32>
    %transposed_45 = linalg.transpose ins(%arg14 : tensor<64x48xf32>) outs(%114 : tensor<48x64xf32>) permutation = [1, 0] 
    %collapsed_46 = tensor.collapse_shape %113 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %115 = tensor.empty() : tensor<1x64xf32>
    %116 = linalg.fill ins(%cst : f32) outs(%115 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %117 = linalg.matmul ins(%collapsed_46, %transposed_45 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%116 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_47 = tensor.expand_shape %117 [[0], [1, 2]] output_shape [1, 1, 64] : tensor<1x64xf32> into tensor<1x1x64xf32>
    %118 = tensor.empty() : tensor<1x1x64xf32>
    %119 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_47 : tensor<1x1x64xf32>) outs(%118 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c3_i64 : f32, i64
      %209 = arith.mulf %208, %cst_1 : f32
      %210 = arith.addf %in, %209 : f32
      %211 = arith.mulf %210, %cst_2 : f32
      %212 = math.tanh %211 : f32
      %213 = arith.addf %212, %cst_3 : f32
      %214 = arith.mulf %213, %cst_4 : f32
      %215 = arith.mulf %in, %214 : f32
      linalg.yield %215 : f32
    } -> tensor<1x1x64xf32>
    %transposed_48 = linalg.transpose ins(%arg15 : tensor<64x48xf32>) outs(%114 : tensor<48x64xf32>) permutation = [1, 0] 
    %120 = linalg.matmul ins(%collapsed_46, %transposed_48 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%116 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_49 = tensor.expand_shape %120 [[0], [1, 2]] output_shape [1, 1, 64] : tensor<1x64xf32> into tensor<1x1x64xf32>
    %121 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119, %expanded_49 : tensor<1x1x64xf32>, tensor<1x1x64xf32>) outs(%118 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x64xf32>
    %122 = tensor.empty() : tensor<64x48xf32>
    %transposed_50 = linalg.transpose ins(%arg16 : tensor<48x64xf32>) outs(%122 : tensor<64x48xf32>) permutation = [1, 0] 
    %collapsed_51 = tensor.collapse_shape %121 [[0], [1, 2]] : tensor<1x1x64xf32> into tensor<1x64xf32>
    %123 = linalg.matmul ins(%collapsed_51, %transposed_50 : tensor<1x64xf32>, tensor<64x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_52 = tensor.expand_shape %123 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %124 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg17 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %125 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_52 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %126 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%125 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %127 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %128 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%127 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %129 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %130 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_52, %129 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %131 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130, %124 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %132 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %131 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %133 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg18 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %134 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%132 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %135 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%134 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %136 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%135 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %137 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %138 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %139 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%132, %138 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %140 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139, %133 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %transposed_53 = linalg.transpose ins(%arg19 : tensor<128x48xf32>) outs(%26 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed_54 = tensor.collapse_shape %140 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %141 = linalg.matmul ins(%collapsed_54, %transposed_53 : tensor<1x48xf32>, tensor<48x128xf32>) outs(%28 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_55 = tensor.expand_shape %141 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %transposed_56 = linalg.transpose ins(%expanded_55 : tensor<1x1x4x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_57 = linalg.transpose ins(%arg20 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %142 = linalg.matmul ins(%collapsed_54, %transposed_57 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_58 = tensor.expand_shape %142 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %transposed_59 = linalg.transpose ins(%expanded_58 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_60 = linalg.transpose ins(%arg21 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %143 = linalg.matmul ins(%collapsed_54, %transposed_60 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %expanded_61 = tensor.expand_shape %143 [[0], [1, 2, 3]] output_shape [1, 1, 1, 32] : tensor<1x32xf32> into tensor<1x1x1x32xf32>
    %transposed_62 = linalg.transpose ins(%expanded_61 : tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) permutation = [0, 2, 1, 3] 
    %144 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_56, %13 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice_63 = tensor.extract_slice %transposed_56[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %145 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_63 : tensor<1x4x1x16xf32>) outs(%37 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.negf %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_64 = tensor.extract_slice %transposed_56[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_65 = tensor.concat dim(3) %145, %extracted_slice_64 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %146 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_65, %14 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %147 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%144, %146 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x32xf32>
    %148 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_59, %13 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %extracted_slice_66 = tensor.extract_slice %transposed_59[0, 0, 0, 16] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %149 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_66 : tensor<1x1x1x16xf32>) outs(%42 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.negf %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x16xf32>
    %extracted_slice_67 = tensor.extract_slice %transposed_59[0, 0, 0, 0] [1, 1, 1, 16] [1, 1, 1, 1] : tensor<1x1x1x32xf32> to tensor<1x1x1x16xf32>
    %concat_68 = tensor.concat dim(3) %149, %extracted_slice_67 : (tensor<1x1x1x16xf32>, tensor<1x1x1x16xf32>) -> tensor<1x1x1x32xf32>
    %150 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_68, %14 : tensor<1x1x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %151 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%148, %150 : tensor<1x1x1x32xf32>, tensor<1x1x1x32xf32>) outs(%34 : tensor<1x1x1x32xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1x32xf32>
    %inserted_slice_69 = tensor.insert_slice %151 into %arg4[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x64x32xf32>
    %inserted_slice_70 = tensor.insert_slice %transposed_62 into %arg5[0, 0, %54, 0] [1, 1, 1, 32] [1, 1, 1, 1] : tensor<1x1x1x32xf32> into tensor<1x1x64x32xf32>
    %collapsed_71 = tensor.collapse_shape %147 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    %152 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_69 : tensor<1x1x64x32xf32>) outs(%55 : tensor<1x1x4x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x64x32xf32>
    %collapsed_72 = tensor.collapse_shape %152 [[0], [1, 2], [3], [4]] : tensor<1x1x4x64x32xf32> into tensor<1x4x64x32xf32>
    %transposed_73 = linalg.transpose ins(%collapsed_72 : tensor<1x4x64x32xf32>) outs(%57 : tensor<1x4x32x64xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_74 = tensor.collapse_shape %transposed_73 [[0, 1], [2], [3]] : tensor<1x4x32x64xf32> into tensor<4x32x64xf32>
    %153 = linalg.batch_matmul ins(%collapsed_71, %collapsed_74 : tensor<4x1x32xf32>, tensor<4x32x64xf32>) outs(%59 : tensor<4x1x64xf32>) -> tensor<4x1x64xf32>
    %expanded_75 = tensor.expand_shape %153 [[0, 1], [2], [3]] output_shape [1, 4, 1, 64] : tensor<4x1x64xf32> into tensor<1x4x1x64xf32>
    %154 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_75 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_7 : f64 to f32
      %209 = arith.mulf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x4x1x64xf32>
    %155 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%154 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_14 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %156 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%155 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.tanh %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %157 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%156 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.mulf %in, %cst_14 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %158 = linalg.generic {indexing_maps = [#map2, #map12, #map12, #map2], iterator_types = ["parallel"]} ins(%69, %cst_5, %cst_6 : tensor<64xi1>, tensor<f32>, tensor<f32>) outs(%74 : tensor<64xf32>) {
    ^bb0(%in: i1, %in_95: f32, %in_96: f32, %out: f32):
      %208 = arith.select %in, %in_95, %in_96 : f32
      linalg.yield %208 : f32
    } -> tensor<64xf32>
    %expanded_76 = tensor.expand_shape %158 [[0, 1, 2, 3]] output_shape [1, 1, 1, 64] : tensor<64xf32> into tensor<1x1x1x64xf32>
    %159 = linalg.generic {indexing_maps = [#map7, #map13, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%157, %expanded_76 : tensor<1x4x1x64xf32>, tensor<1x1x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %160:2 = linalg.generic {indexing_maps = [#map7, #map14, #map14], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%159 : tensor<1x4x1x64xf32>) outs(%80, %78 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_95: i64):
      %208 = linalg.index 3 : index
      %209 = arith.index_cast %208 : index to i64
      %210 = arith.maximumf %in, %out : f32
      %211 = arith.cmpf ogt, %in, %out : f32
      %212 = arith.select %211, %209, %out_95 : i64
      linalg.yield %210, %212 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_77 = tensor.expand_shape %160#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %161 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%159, %expanded_77 : tensor<1x4x1x64xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.subf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %162 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%161 : tensor<1x4x1x64xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.exp %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %163 = linalg.generic {indexing_maps = [#map7, #map15], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%162 : tensor<1x4x1x64xf32>) outs(%85 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x1xf32>
    %164 = linalg.generic {indexing_maps = [#map7, #map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%162, %163 : tensor<1x4x1x64xf32>, tensor<1x4x1x1xf32>) outs(%61 : tensor<1x4x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.divf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x4x1x64xf32>
    %collapsed_78 = tensor.collapse_shape %164 [[0, 1], [2], [3]] : tensor<1x4x1x64xf32> into tensor<4x1x64xf32>
    %165 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%inserted_slice_70 : tensor<1x1x64x32xf32>) outs(%55 : tensor<1x1x4x64x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x64x32xf32>
    %collapsed_79 = tensor.collapse_shape %165 [[0, 1, 2], [3], [4]] : tensor<1x1x4x64x32xf32> into tensor<4x64x32xf32>
    %166 = linalg.batch_matmul ins(%collapsed_78, %collapsed_79 : tensor<4x1x64xf32>, tensor<4x64x32xf32>) outs(%90 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_80 = tensor.expand_shape %166 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %transposed_81 = linalg.transpose ins(%expanded_80 : tensor<1x4x1x32xf32>) outs(%92 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_82 = linalg.transpose ins(%arg22 : tensor<48x128xf32>) outs(%93 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_83 = tensor.collapse_shape %transposed_81 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %167 = linalg.matmul ins(%collapsed_83, %transposed_82 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_84 = tensor.expand_shape %167 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %168 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg23 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %169 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_84 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %170 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%169 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %171 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%170 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %172 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%171 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %173 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%172 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %174 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_84, %173 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %175 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%174, %168 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %176 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%132, %175 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %177 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg24 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %178 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%176 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %179 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%178 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %180 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%179 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %181 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%180 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %182 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%181 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %183 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%176, %182 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %184 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183, %177 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %transposed_85 = linalg.transpose ins(%arg25 : tensor<64x48xf32>) outs(%114 : tensor<48x64xf32>) permutation = [1, 0] 
    %collapsed_86 = tensor.collapse_shape %184 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %185 = linalg.matmul ins(%collapsed_86, %transposed_85 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%116 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_87 = tensor.expand_shape %185 [[0], [1, 2]] output_shape [1, 1, 64] : tensor<1x64xf32> into tensor<1x1x64xf32>
    %186 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_87 : tensor<1x1x64xf32>) outs(%118 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c3_i64 : f32, i64
      %209 = arith.mulf %208, %cst_1 : f32
      %210 = arith.addf %in, %209 : f32
      %211 = arith.mulf %210, %cst_2 : f32
      %212 = math.tanh %211 : f32
      %213 = arith.addf %212, %cst_3 : f32
      %214 = arith.mulf %213, %cst_4 : f32
      %215 = arith.mulf %in, %214 : f32
      linalg.yield %215 : f32
    } -> tensor<1x1x64xf32>
    %transposed_88 = linalg.transpose ins(%arg26 : tensor<64x48xf32>) outs(%114 : tensor<48x64xf32>) permutation = [1, 0] 
    %187 = linalg.matmul ins(%collapsed_86, %transposed_88 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%116 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_89 = tensor.expand_shape %187 [[0], [1, 2]] output_shape [1, 1, 64] : tensor<1x64xf32> into tensor<1x1x64xf32>
    %188 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %expanded_89 : tensor<1x1x64xf32>, tensor<1x1x64xf32>) outs(%118 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x64xf32>
    %transposed_90 = linalg.transpose ins(%arg27 : tensor<48x64xf32>) outs(%122 : tensor<64x48xf32>) permutation = [1, 0] 
    %collapsed_91 = tensor.collapse_shape %188 [[0], [1, 2]] : tensor<1x1x64xf32> into tensor<1x64xf32>
    %189 = linalg.matmul ins(%collapsed_91, %transposed_90 : tensor<1x64xf32>, tensor<64x48xf32>) outs(%95 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_92 = tensor.expand_shape %189 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %190 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg28 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %191 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_92 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %192 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%191 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %193 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%192 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %194 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%193 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %195 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%194 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %196 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_92, %195 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %197 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196, %190 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %198 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%176, %197 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.addf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %199 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%arg29 : tensor<48xf32>) outs(%15 : tensor<48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %cst_3 : f32
      linalg.yield %208 : f32
    } -> tensor<48xf32>
    %200 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%198 : tensor<1x1x48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %201 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%200 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.addf %in, %out : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %202 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%201 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.divf %in, %cst_13 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %203 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%202 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = arith.truncf %cst_8 : f64 to f32
      %209 = arith.addf %in, %208 : f32
      linalg.yield %209 : f32
    } -> tensor<1x1x1xf32>
    %204 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%203 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %208 = math.rsqrt %in : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x1xf32>
    %205 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%198, %204 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %206 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%205, %199 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_95: f32, %out: f32):
      %208 = arith.mulf %in, %in_95 : f32
      linalg.yield %208 : f32
    } -> tensor<1x1x48xf32>
    %collapsed_93 = tensor.collapse_shape %206 [[0, 1], [2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %transposed_94 = linalg.transpose ins(%arg6 : tensor<32x48xf32>) outs(%31 : tensor<48x32xf32>) permutation = [1, 0] 
    %207 = linalg.matmul ins(%collapsed_93, %transposed_94 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%32 : tensor<1x32xf32>) -> tensor<1x32xf32>
    return %207, %inserted_slice, %inserted_slice_30, %inserted_slice_69, %inserted_slice_70 : tensor<1x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>, tensor<1x1x64x32xf32>
  }
}
