#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map6 = affine_map<(d0, d1, d2) -> (d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map9 = affine_map<()[s0] -> (s0 + 1)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @decode(%arg0: tensor<1xi64>, %arg1: tensor<1x2x?x32xf32>, %arg2: tensor<1x2x?x32xf32>, %arg3: tensor<1x2x?x32xf32>, %arg4: tensor<1x2x?x32xf32>, %arg5: tensor<32x48xf32>, %arg6: tensor<48xf32>, %arg7: tensor<128x48xf32>, %arg8: tensor<64x48xf32>, %arg9: tensor<64x48xf32>, %arg10: tensor<48x128xf32>, %arg11: tensor<48xf32>, %arg12: tensor<80x48xf32>, %arg13: tensor<80x48xf32>, %arg14: tensor<48x80xf32>, %arg15: tensor<48xf32>, %arg16: tensor<128x48xf32>, %arg17: tensor<64x48xf32>, %arg18: tensor<64x48xf32>, %arg19: tensor<48x128xf32>, %arg20: tensor<48xf32>, %arg21: tensor<80x48xf32>, %arg22: tensor<80x48xf32>, %arg23: tensor<48x80xf32>, %arg24: tensor<48xf32>) -> (tensor<1x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>) {
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %c2_i64 = arith.constant 2 : i64
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 1.000000e+00 : f32
    %cst_2 = arith.constant 0.17677669529663689 : f64
    %cst_3 = arith.constant 9.9999999999999995E-7 : f64
    %cst_4 = arith.constant 2.000000e+00 : f32
    %cst_5 = arith.constant 3.200000e+01 : f32
    %cst_6 = arith.constant 1.000000e+04 : f32
    %cst_7 = arith.constant 4.800000e+01 : f32
    %dim = tensor.dim %arg2, %c2 : tensor<1x2x?x32xf32>
    %0 = arith.index_cast %dim : index to i64
    %1 = tensor.empty() : tensor<i64>
    %expanded = tensor.expand_shape %arg0 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %2 = tensor.empty() : tensor<1x1x48xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x1xi64>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: i64, %out: f32):
      %163 = arith.index_cast %in : i64 to index
      %164 = linalg.index 2 : index
      %165 = arith.cmpi slt, %163, %c32 : index
      cf.assert %165, "index must be smaller than dim size"
      %166 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %166, "index must be larger or equal to 0"
      %extracted = tensor.extract %arg5[%163, %164] : tensor<32x48xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x1x48xf32>
    %4 = tensor.empty() : tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%4 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 0 : index
      %164 = arith.index_cast %163 : index to i64
      %165 = arith.sitofp %164 : i64 to f32
      %166 = arith.mulf %165, %cst_4 : f32
      %167 = arith.addf %166, %cst : f32
      linalg.yield %167 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%5 : tensor<16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      linalg.yield %163 : f32
    } -> tensor<16xf32>
    %7 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%6 : tensor<16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_5 : f32
      linalg.yield %163 : f32
    } -> tensor<16xf32>
    %8 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%7 : tensor<16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.powf %cst_6, %in : f32
      linalg.yield %163 : f32
    } -> tensor<16xf32>
    %expanded_8 = tensor.expand_shape %1 [] output_shape [1, 1] : tensor<i64> into tensor<1x1xi64>
    %9 = linalg.fill ins(%0 : i64) outs(%expanded_8 : tensor<1x1xi64>) -> tensor<1x1xi64>
    %10 = tensor.empty() : tensor<1x1xf32>
    %11 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<1x1xi64>) outs(%10 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %163 = arith.sitofp %in : i64 to f32
      linalg.yield %163 : f32
    } -> tensor<1x1xf32>
    %expanded_9 = tensor.expand_shape %8 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %12 = tensor.empty() : tensor<1x16xf32>
    %13 = linalg.generic {indexing_maps = [#map4, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%11, %expanded_9 : tensor<1x1xf32>, tensor<1x16xf32>) outs(%12 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x16xf32>
    %concat = tensor.concat dim(1) %13, %13 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
    %14 = tensor.empty() : tensor<1x32xf32>
    %15 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%14 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.cos %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x32xf32>
    %16 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%14 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.sin %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x32xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3 : tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %18 = tensor.empty() : tensor<1x1x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%17 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_7 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_3 : f64 to f32
      %164 = arith.addf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.rsqrt %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3, %23 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %arg6 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %26 = tensor.empty() : tensor<48x128xf32>
    %transposed = linalg.transpose ins(%arg7 : tensor<128x48xf32>) outs(%26 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed = tensor.collapse_shape %25 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %27 = tensor.empty() : tensor<1x128xf32>
    %28 = linalg.fill ins(%cst : f32) outs(%27 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %29 = linalg.matmul ins(%collapsed, %transposed : tensor<1x48xf32>, tensor<48x128xf32>) outs(%28 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_10 = tensor.expand_shape %29 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %30 = tensor.empty() : tensor<1x4x1x32xf32>
    %transposed_11 = linalg.transpose ins(%expanded_10 : tensor<1x1x4x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %31 = tensor.empty() : tensor<48x64xf32>
    %transposed_12 = linalg.transpose ins(%arg8 : tensor<64x48xf32>) outs(%31 : tensor<48x64xf32>) permutation = [1, 0] 
    %32 = tensor.empty() : tensor<1x64xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %34 = linalg.matmul ins(%collapsed, %transposed_12 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%33 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_13 = tensor.expand_shape %34 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %35 = tensor.empty() : tensor<1x2x1x32xf32>
    %transposed_14 = linalg.transpose ins(%expanded_13 : tensor<1x1x2x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_15 = linalg.transpose ins(%arg9 : tensor<64x48xf32>) outs(%31 : tensor<48x64xf32>) permutation = [1, 0] 
    %36 = linalg.matmul ins(%collapsed, %transposed_15 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%33 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_16 = tensor.expand_shape %36 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %transposed_17 = linalg.transpose ins(%expanded_16 : tensor<1x1x2x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %37 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_11, %15 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice = tensor.extract_slice %transposed_11[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %38 = tensor.empty() : tensor<1x4x1x16xf32>
    %39 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x4x1x16xf32>) outs(%38 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_18 = tensor.extract_slice %transposed_11[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_19 = tensor.concat dim(3) %39, %extracted_slice_18 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %40 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_19, %16 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %41 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %40 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %42 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_14, %15 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %extracted_slice_20 = tensor.extract_slice %transposed_14[0, 0, 0, 16] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %43 = tensor.empty() : tensor<1x2x1x16xf32>
    %44 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_20 : tensor<1x2x1x16xf32>) outs(%43 : tensor<1x2x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x16xf32>
    %extracted_slice_21 = tensor.extract_slice %transposed_14[0, 0, 0, 0] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %concat_22 = tensor.concat dim(3) %44, %extracted_slice_21 : (tensor<1x2x1x16xf32>, tensor<1x2x1x16xf32>) -> tensor<1x2x1x32xf32>
    %45 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_22, %16 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %46 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42, %45 : tensor<1x2x1x32xf32>, tensor<1x2x1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %concat_23 = tensor.concat dim(2) %arg1, %46 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %concat_24 = tensor.concat dim(2) %arg2, %transposed_17 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %dim_25 = tensor.dim %arg1, %c2 : tensor<1x2x?x32xf32>
    %47 = affine.apply #map9()[%dim_25]
    %expanded_26 = tensor.expand_shape %concat_23 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %47, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    %48 = arith.addi %0, %c1_i64 : i64
    %49 = arith.index_cast %48 : i64 to index
    %50 = arith.cmpi sge, %48, %c0_i64 : i64
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %51 = tensor.empty(%49) : tensor<1x2x2x?x32xf32>
    %52 = linalg.generic {indexing_maps = [#map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%51 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = linalg.index 4 : index
      %166 = arith.cmpi eq, %47, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %expanded_26[%c0, %163, %c0, %167, %165] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_27 = tensor.collapse_shape %52 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    %53 = tensor.empty(%49) : tensor<1x4x32x?xf32>
    %transposed_28 = linalg.transpose ins(%collapsed_27 : tensor<1x4x?x32xf32>) outs(%53 : tensor<1x4x32x?xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_29 = tensor.collapse_shape %41 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %54 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%53 : tensor<1x4x32x?xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 2 : index
      %165 = linalg.index 3 : index
      %166 = arith.cmpi eq, %49, %c1 : index
      %167 = arith.select %166, %c0, %165 : index
      %extracted = tensor.extract %transposed_28[%c0, %163, %164, %167] : tensor<1x4x32x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x32x?xf32>
    %collapsed_30 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<1x4x32x?xf32> into tensor<4x32x?xf32>
    %55 = tensor.empty(%49) : tensor<4x1x?xf32>
    %56 = linalg.fill ins(%cst : f32) outs(%55 : tensor<4x1x?xf32>) -> tensor<4x1x?xf32>
    %57 = linalg.batch_matmul ins(%collapsed_29, %collapsed_30 : tensor<4x1x32xf32>, tensor<4x32x?xf32>) outs(%56 : tensor<4x1x?xf32>) -> tensor<4x1x?xf32>
    %expanded_31 = tensor.expand_shape %57 [[0, 1], [2], [3]] output_shape [1, 4, 1, %49] : tensor<4x1x?xf32> into tensor<1x4x1x?xf32>
    %58 = tensor.empty(%49) : tensor<1x4x1x?xf32>
    %59 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_31 : tensor<1x4x1x?xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_2 : f64 to f32
      %164 = arith.mulf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x4x1x?xf32>
    %60 = tensor.empty() : tensor<1x4x1xi64>
    %61 = linalg.fill ins(%c0_i64 : i64) outs(%60 : tensor<1x4x1xi64>) -> tensor<1x4x1xi64>
    %62 = tensor.empty() : tensor<1x4x1xf32>
    %63 = linalg.fill ins(%cst_0 : f32) outs(%62 : tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
    %64:2 = linalg.generic {indexing_maps = [#map7, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%59 : tensor<1x4x1x?xf32>) outs(%63, %61 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_96: i64):
      %163 = linalg.index 3 : index
      %164 = arith.index_cast %163 : index to i64
      %165 = arith.maximumf %in, %out : f32
      %166 = arith.cmpf ogt, %in, %out : f32
      %167 = arith.select %166, %164, %out_96 : i64
      linalg.yield %165, %167 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_32 = tensor.expand_shape %64#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %65 = linalg.generic {indexing_maps = [#map7, #map12, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59, %expanded_32 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.subf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %66 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65 : tensor<1x4x1x?xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.exp %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %67 = tensor.empty() : tensor<1x4x1x1xf32>
    %68 = linalg.fill ins(%cst : f32) outs(%67 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %69 = linalg.generic {indexing_maps = [#map7, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%66 : tensor<1x4x1x?xf32>) outs(%68 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x1xf32>
    %70 = linalg.generic {indexing_maps = [#map7, #map12, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%66, %69 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.divf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %71 = affine.apply #map9()[%dim]
    %expanded_33 = tensor.expand_shape %concat_24 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %71, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %72 = linalg.generic {indexing_maps = [#map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%51 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = linalg.index 4 : index
      %166 = arith.cmpi eq, %71, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %expanded_33[%c0, %163, %c0, %167, %165] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_34 = tensor.collapse_shape %72 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %73 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = arith.cmpi eq, %49, %c1 : index
      %166 = arith.select %165, %c0, %164 : index
      %extracted = tensor.extract %70[%c0, %163, %c0, %166] : tensor<1x4x1x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x1x?xf32>
    %collapsed_35 = tensor.collapse_shape %73 [[0, 1], [2], [3]] : tensor<1x4x1x?xf32> into tensor<4x1x?xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %74 = tensor.empty(%49) : tensor<1x4x?x32xf32>
    %75 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%74 : tensor<1x4x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 2 : index
      %165 = linalg.index 3 : index
      %166 = arith.cmpi eq, %49, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %collapsed_34[%c0, %163, %167, %165] : tensor<1x4x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x?x32xf32>
    %collapsed_36 = tensor.collapse_shape %75 [[0, 1], [2], [3]] : tensor<1x4x?x32xf32> into tensor<4x?x32xf32>
    %76 = tensor.empty() : tensor<4x1x32xf32>
    %77 = linalg.fill ins(%cst : f32) outs(%76 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %78 = linalg.batch_matmul ins(%collapsed_35, %collapsed_36 : tensor<4x1x?xf32>, tensor<4x?x32xf32>) outs(%77 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_37 = tensor.expand_shape %78 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %79 = tensor.empty() : tensor<1x1x4x32xf32>
    %transposed_38 = linalg.transpose ins(%expanded_37 : tensor<1x4x1x32xf32>) outs(%79 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %80 = tensor.empty() : tensor<128x48xf32>
    %transposed_39 = linalg.transpose ins(%arg10 : tensor<48x128xf32>) outs(%80 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_40 = tensor.collapse_shape %transposed_38 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %81 = tensor.empty() : tensor<1x48xf32>
    %82 = linalg.fill ins(%cst : f32) outs(%81 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %83 = linalg.matmul ins(%collapsed_40, %transposed_39 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%82 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_41 = tensor.expand_shape %83 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %84 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%3, %expanded_41 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %85 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%84 : tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %86 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%85 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %87 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%86 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_7 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %88 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%87 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_3 : f64 to f32
      %164 = arith.addf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x1x1xf32>
    %89 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%88 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.rsqrt %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %90 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%84, %89 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %91 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%90, %arg11 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %92 = tensor.empty() : tensor<48x80xf32>
    %transposed_42 = linalg.transpose ins(%arg12 : tensor<80x48xf32>) outs(%92 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_43 = tensor.collapse_shape %91 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %93 = tensor.empty() : tensor<1x80xf32>
    %94 = linalg.fill ins(%cst : f32) outs(%93 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %95 = linalg.matmul ins(%collapsed_43, %transposed_42 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%94 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_44 = tensor.expand_shape %95 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %96 = tensor.empty() : tensor<1x1x80xf32>
    %97 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44 : tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      %164 = math.exp %163 : f32
      %165 = arith.addf %164, %cst_1 : f32
      %166 = arith.divf %cst_1, %165 : f32
      linalg.yield %166 : f32
    } -> tensor<1x1x80xf32>
    %98 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_44, %97 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x80xf32>
    %transposed_45 = linalg.transpose ins(%arg13 : tensor<80x48xf32>) outs(%92 : tensor<48x80xf32>) permutation = [1, 0] 
    %99 = linalg.matmul ins(%collapsed_43, %transposed_45 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%94 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_46 = tensor.expand_shape %99 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %100 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%98, %expanded_46 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x80xf32>
    %101 = tensor.empty() : tensor<80x48xf32>
    %transposed_47 = linalg.transpose ins(%arg14 : tensor<48x80xf32>) outs(%101 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_48 = tensor.collapse_shape %100 [[0], [1, 2]] : tensor<1x1x80xf32> into tensor<1x80xf32>
    %102 = linalg.matmul ins(%collapsed_48, %transposed_47 : tensor<1x80xf32>, tensor<80x48xf32>) outs(%82 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_49 = tensor.expand_shape %102 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %103 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%84, %expanded_49 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %104 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103 : tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %105 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%104 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %106 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_7 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %107 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%106 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_3 : f64 to f32
      %164 = arith.addf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x1x1xf32>
    %108 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.rsqrt %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %109 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103, %108 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %110 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %arg15 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %transposed_50 = linalg.transpose ins(%arg16 : tensor<128x48xf32>) outs(%26 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed_51 = tensor.collapse_shape %110 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %111 = linalg.matmul ins(%collapsed_51, %transposed_50 : tensor<1x48xf32>, tensor<48x128xf32>) outs(%28 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_52 = tensor.expand_shape %111 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %transposed_53 = linalg.transpose ins(%expanded_52 : tensor<1x1x4x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_54 = linalg.transpose ins(%arg17 : tensor<64x48xf32>) outs(%31 : tensor<48x64xf32>) permutation = [1, 0] 
    %112 = linalg.matmul ins(%collapsed_51, %transposed_54 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%33 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_55 = tensor.expand_shape %112 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %transposed_56 = linalg.transpose ins(%expanded_55 : tensor<1x1x2x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_57 = linalg.transpose ins(%arg18 : tensor<64x48xf32>) outs(%31 : tensor<48x64xf32>) permutation = [1, 0] 
    %113 = linalg.matmul ins(%collapsed_51, %transposed_57 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%33 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_58 = tensor.expand_shape %113 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %transposed_59 = linalg.transpose ins(%expanded_58 : tensor<1x1x2x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %114 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_53, %15 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice_60 = tensor.extract_slice %transposed_53[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %115 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_60 : tensor<1x4x1x16xf32>) outs(%38 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_61 = tensor.extract_slice %transposed_53[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_62 = tensor.concat dim(3) %115, %extracted_slice_61 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %116 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_62, %16 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %117 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%114, %116 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%30 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x32xf32>
    %118 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_56, %15 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %extracted_slice_63 = tensor.extract_slice %transposed_56[0, 0, 0, 16] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %119 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_63 : tensor<1x2x1x16xf32>) outs(%43 : tensor<1x2x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x16xf32>
    %extracted_slice_64 = tensor.extract_slice %transposed_56[0, 0, 0, 0] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %concat_65 = tensor.concat dim(3) %119, %extracted_slice_64 : (tensor<1x2x1x16xf32>, tensor<1x2x1x16xf32>) -> tensor<1x2x1x32xf32>
    %120 = linalg.generic {indexing_maps = [#map7, #map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_65, %16 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %121 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%118, %120 : tensor<1x2x1x32xf32>, tensor<1x2x1x32xf32>) outs(%35 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x2x1x32xf32>
    %concat_66 = tensor.concat dim(2) %arg3, %121 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %concat_67 = tensor.concat dim(2) %arg4, %transposed_59 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %dim_68 = tensor.dim %arg3, %c2 : tensor<1x2x?x32xf32>
    %122 = affine.apply #map9()[%dim_68]
    %expanded_69 = tensor.expand_shape %concat_66 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %122, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %123 = linalg.generic {indexing_maps = [#map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%51 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = linalg.index 4 : index
      %166 = arith.cmpi eq, %122, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %expanded_69[%c0, %163, %c0, %167, %165] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_70 = tensor.collapse_shape %123 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    %transposed_71 = linalg.transpose ins(%collapsed_70 : tensor<1x4x?x32xf32>) outs(%53 : tensor<1x4x32x?xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_72 = tensor.collapse_shape %117 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %124 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%53 : tensor<1x4x32x?xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 2 : index
      %165 = linalg.index 3 : index
      %166 = arith.cmpi eq, %49, %c1 : index
      %167 = arith.select %166, %c0, %165 : index
      %extracted = tensor.extract %transposed_71[%c0, %163, %164, %167] : tensor<1x4x32x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x32x?xf32>
    %collapsed_73 = tensor.collapse_shape %124 [[0, 1], [2], [3]] : tensor<1x4x32x?xf32> into tensor<4x32x?xf32>
    %125 = linalg.batch_matmul ins(%collapsed_72, %collapsed_73 : tensor<4x1x32xf32>, tensor<4x32x?xf32>) outs(%56 : tensor<4x1x?xf32>) -> tensor<4x1x?xf32>
    %expanded_74 = tensor.expand_shape %125 [[0, 1], [2], [3]] output_shape [1, 4, 1, %49] : tensor<4x1x?xf32> into tensor<1x4x1x?xf32>
    %126 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_74 : tensor<1x4x1x?xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_2 : f64 to f32
      %164 = arith.mulf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x4x1x?xf32>
    %127:2 = linalg.generic {indexing_maps = [#map7, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%126 : tensor<1x4x1x?xf32>) outs(%63, %61 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_96: i64):
      %163 = linalg.index 3 : index
      %164 = arith.index_cast %163 : index to i64
      %165 = arith.maximumf %in, %out : f32
      %166 = arith.cmpf ogt, %in, %out : f32
      %167 = arith.select %166, %164, %out_96 : i64
      linalg.yield %165, %167 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_75 = tensor.expand_shape %127#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %128 = linalg.generic {indexing_maps = [#map7, #map12, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%126, %expanded_75 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.subf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %129 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%128 : tensor<1x4x1x?xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.exp %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %130 = linalg.generic {indexing_maps = [#map7, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%129 : tensor<1x4x1x?xf32>) outs(%68 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x1xf32>
    %131 = linalg.generic {indexing_maps = [#map7, #map12, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%129, %130 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.divf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x4x1x?xf32>
    %dim_76 = tensor.dim %arg4, %c2 : tensor<1x2x?x32xf32>
    %132 = affine.apply #map9()[%dim_76]
    %expanded_77 = tensor.expand_shape %concat_67 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %132, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %133 = linalg.generic {indexing_maps = [#map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%51 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = linalg.index 4 : index
      %166 = arith.cmpi eq, %132, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %expanded_77[%c0, %163, %c0, %167, %165] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_78 = tensor.collapse_shape %133 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %134 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%58 : tensor<1x4x1x?xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 3 : index
      %165 = arith.cmpi eq, %49, %c1 : index
      %166 = arith.select %165, %c0, %164 : index
      %extracted = tensor.extract %131[%c0, %163, %c0, %166] : tensor<1x4x1x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x1x?xf32>
    %collapsed_79 = tensor.collapse_shape %134 [[0, 1], [2], [3]] : tensor<1x4x1x?xf32> into tensor<4x1x?xf32>
    cf.assert %50, "unimplemented: dynamic negative broadcast sizes"
    %135 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%74 : tensor<1x4x?x32xf32>) {
    ^bb0(%out: f32):
      %163 = linalg.index 1 : index
      %164 = linalg.index 2 : index
      %165 = linalg.index 3 : index
      %166 = arith.cmpi eq, %49, %c1 : index
      %167 = arith.select %166, %c0, %164 : index
      %extracted = tensor.extract %collapsed_78[%c0, %163, %167, %165] : tensor<1x4x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x?x32xf32>
    %collapsed_80 = tensor.collapse_shape %135 [[0, 1], [2], [3]] : tensor<1x4x?x32xf32> into tensor<4x?x32xf32>
    %136 = linalg.batch_matmul ins(%collapsed_79, %collapsed_80 : tensor<4x1x?xf32>, tensor<4x?x32xf32>) outs(%77 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_81 = tensor.expand_shape %136 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %transposed_82 = linalg.transpose ins(%expanded_81 : tensor<1x4x1x32xf32>) outs(%79 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_83 = linalg.transpose ins(%arg19 : tensor<48x128xf32>) outs(%80 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_84 = tensor.collapse_shape %transposed_82 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %137 = linalg.matmul ins(%collapsed_84, %transposed_83 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%82 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_85 = tensor.expand_shape %137 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %138 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%103, %expanded_85 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %139 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%138 : tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %140 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%139 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %141 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%140 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_7 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %142 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%141 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_3 : f64 to f32
      %164 = arith.addf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x1x1xf32>
    %143 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%142 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.rsqrt %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %144 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%138, %143 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %145 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144, %arg20 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %transposed_86 = linalg.transpose ins(%arg21 : tensor<80x48xf32>) outs(%92 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_87 = tensor.collapse_shape %145 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %146 = linalg.matmul ins(%collapsed_87, %transposed_86 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%94 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_88 = tensor.expand_shape %146 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %147 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_88 : tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.negf %in : f32
      %164 = math.exp %163 : f32
      %165 = arith.addf %164, %cst_1 : f32
      %166 = arith.divf %cst_1, %165 : f32
      linalg.yield %166 : f32
    } -> tensor<1x1x80xf32>
    %148 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_88, %147 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x80xf32>
    %transposed_89 = linalg.transpose ins(%arg22 : tensor<80x48xf32>) outs(%92 : tensor<48x80xf32>) permutation = [1, 0] 
    %149 = linalg.matmul ins(%collapsed_87, %transposed_89 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%94 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_90 = tensor.expand_shape %149 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %150 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%148, %expanded_90 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%96 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x80xf32>
    %transposed_91 = linalg.transpose ins(%arg23 : tensor<48x80xf32>) outs(%101 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_92 = tensor.collapse_shape %150 [[0], [1, 2]] : tensor<1x1x80xf32> into tensor<1x80xf32>
    %151 = linalg.matmul ins(%collapsed_92, %transposed_91 : tensor<1x80xf32>, tensor<80x48xf32>) outs(%82 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_93 = tensor.expand_shape %151 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %152 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%138, %expanded_93 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.addf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %153 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%152 : tensor<1x1x48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %154 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%153 : tensor<1x1x48xf32>) outs(%19 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.addf %in, %out : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %155 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.divf %in, %cst_7 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %156 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%155 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = arith.truncf %cst_3 : f64 to f32
      %164 = arith.addf %in, %163 : f32
      linalg.yield %164 : f32
    } -> tensor<1x1x1xf32>
    %157 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%156 : tensor<1x1x1xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %163 = math.rsqrt %in : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x1xf32>
    %158 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%152, %157 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %159 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%158, %arg24 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%2 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_96: f32, %out: f32):
      %163 = arith.mulf %in, %in_96 : f32
      linalg.yield %163 : f32
    } -> tensor<1x1x48xf32>
    %collapsed_94 = tensor.collapse_shape %159 [[0, 1], [2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %160 = tensor.empty() : tensor<48x32xf32>
    %transposed_95 = linalg.transpose ins(%arg5 : tensor<32x48xf32>) outs(%160 : tensor<48x32xf32>) permutation = [1, 0] 
    %161 = linalg.fill ins(%cst : f32) outs(%14 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %162 = linalg.matmul ins(%collapsed_94, %transposed_95 : tensor<1x48xf32>, tensor<48x32xf32>) outs(%161 : tensor<1x32xf32>) -> tensor<1x32xf32>
    return %162, %concat_23, %concat_24, %concat_66, %concat_67 : tensor<1x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>
  }
}
