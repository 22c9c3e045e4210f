#map = affine_map<(d0, d1, d2) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> (d0, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map6 = affine_map<(d0, d1, d2) -> (d2)>
#map7 = affine_map<(d0, d1) -> (d1)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d2)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map14 = affine_map<(d0) -> (0)>
#map15 = affine_map<(d0, d1, d2, d3) -> ()>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map18 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map19 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @decode(%arg0: tensor<2xi64>, %arg1: tensor<1xi64>, %arg2: tensor<2x2x56x32xf32>, %arg3: tensor<2x2x56x32xf32>, %arg4: tensor<2x2x56x32xf32>, %arg5: tensor<2x2x56x32xf32>, %arg6: tensor<32x48xf32>, %arg7: tensor<48xf32>, %arg8: tensor<128x48xf32>, %arg9: tensor<128xf32>, %arg10: tensor<64x48xf32>, %arg11: tensor<64xf32>, %arg12: tensor<64x48xf32>, %arg13: tensor<64xf32>, %arg14: tensor<48x128xf32>, %arg15: tensor<48xf32>, %arg16: tensor<80x48xf32>, %arg17: tensor<80x48xf32>, %arg18: tensor<48x80xf32>, %arg19: tensor<48xf32>, %arg20: tensor<128x48xf32>, %arg21: tensor<128xf32>, %arg22: tensor<64x48xf32>, %arg23: tensor<64xf32>, %arg24: tensor<64x48xf32>, %arg25: tensor<64xf32>, %arg26: tensor<48x128xf32>, %arg27: tensor<48xf32>, %arg28: tensor<80x48xf32>, %arg29: tensor<80x48xf32>, %arg30: tensor<48x80xf32>, %arg31: tensor<48xf32>) -> (tensor<2x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>) {
    %c2_i64 = arith.constant 2 : i64
    %c0_i64 = arith.constant 0 : i64
    %c32 = arith.constant 32 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %false = arith.constant false
    %cst_1 = arith.constant 1.000000e+00 : f32
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<2x4x1x56xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_5 = arith.constant 0.42044820762685725 : f64
    %cst_6 = arith.constant 0xFFF0000000000000 : f64
    %cst_7 = arith.constant 9.9999999999999995E-7 : f64
    %cst_8 = arith.constant 2.000000e+00 : f32
    %cst_9 = arith.constant 3.200000e+01 : f32
    %cst_10 = arith.constant 1.000000e+06 : f32
    %cst_11 = arith.constant 4.800000e+01 : f32
    %expanded = tensor.expand_shape %arg0 [[0, 1]] output_shape [2, 1] : tensor<2xi64> into tensor<2x1xi64>
    %0 = tensor.empty() : tensor<2x1x48xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x1xi64>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: i64, %out: f32):
      %195 = arith.index_cast %in : i64 to index
      %196 = linalg.index 2 : index
      %197 = arith.cmpi slt, %195, %c32 : index
      cf.assert %197, "index must be smaller than dim size"
      %198 = arith.cmpi sge, %in, %c0_i64 : i64
      cf.assert %198, "index must be larger or equal to 0"
      %extracted = tensor.extract %arg6[%195, %196] : tensor<32x48xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x1x48xf32>
    %2 = tensor.empty() : tensor<16xf32>
    %3 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%2 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %195 = linalg.index 0 : index
      %196 = arith.index_cast %195 : index to i64
      %197 = arith.sitofp %196 : i64 to f32
      %198 = arith.mulf %197, %cst_8 : f32
      %199 = arith.addf %198, %cst : f32
      linalg.yield %199 : f32
    } -> tensor<16xf32>
    %4 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%3 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      linalg.yield %195 : f32
    } -> tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%4 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_9 : f32
      linalg.yield %195 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%5 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.powf %cst_10, %in : f32
      linalg.yield %195 : f32
    } -> tensor<16xf32>
    %expanded_12 = tensor.expand_shape %arg1 [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %7 = tensor.empty() : tensor<1x1xf32>
    %8 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%expanded_12 : tensor<1x1xi64>) outs(%7 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %195 = arith.sitofp %in : i64 to f32
      linalg.yield %195 : f32
    } -> tensor<1x1xf32>
    %expanded_13 = tensor.expand_shape %6 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %9 = tensor.empty() : tensor<1x16xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%8, %expanded_13 : tensor<1x1xf32>, tensor<1x16xf32>) outs(%9 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<1x16xf32>
    %concat = tensor.concat dim(1) %10, %10 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
    %11 = tensor.empty() : tensor<1x32xf32>
    %12 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%11 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.cos %in : f32
      linalg.yield %195 : f32
    } -> tensor<1x32xf32>
    %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%11 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.sin %in : f32
      linalg.yield %195 : f32
    } -> tensor<1x32xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %15 = tensor.empty() : tensor<2x1x1xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%14 : tensor<2x1x48xf32>) outs(%16 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %18 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_11 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %19 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_7 : f64 to f32
      %196 = arith.addf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.rsqrt %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %20 : tensor<2x1x48xf32>, tensor<2x1x1xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21, %arg7 : tensor<2x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %collapsed = tensor.collapse_shape %22 [[0], [1, 2]] : tensor<2x1x48xf32> into tensor<2x48xf32>
    %23 = tensor.empty() : tensor<48x128xf32>
    %transposed = linalg.transpose ins(%arg8 : tensor<128x48xf32>) outs(%23 : tensor<48x128xf32>) permutation = [1, 0] 
    %24 = tensor.empty() : tensor<2x128xf32>
    %25 = linalg.fill ins(%cst : f32) outs(%24 : tensor<2x128xf32>) -> tensor<2x128xf32>
    %26 = linalg.matmul ins(%collapsed, %transposed : tensor<2x48xf32>, tensor<48x128xf32>) outs(%25 : tensor<2x128xf32>) -> tensor<2x128xf32>
    %27 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg9 : tensor<128xf32>) outs(%24 : tensor<2x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x128xf32>
    %28 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%26, %27 : tensor<2x128xf32>, tensor<2x128xf32>) outs(%24 : tensor<2x128xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x128xf32>
    %expanded_14 = tensor.expand_shape %28 [[0], [1, 2, 3]] output_shape [2, 1, 4, 32] : tensor<2x128xf32> into tensor<2x1x4x32xf32>
    %29 = tensor.empty() : tensor<2x4x1x32xf32>
    %transposed_15 = linalg.transpose ins(%expanded_14 : tensor<2x1x4x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %30 = tensor.empty() : tensor<48x64xf32>
    %transposed_16 = linalg.transpose ins(%arg10 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %31 = tensor.empty() : tensor<2x64xf32>
    %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %33 = linalg.matmul ins(%collapsed, %transposed_16 : tensor<2x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %34 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg11 : tensor<64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x64xf32>
    %35 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%33, %34 : tensor<2x64xf32>, tensor<2x64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x64xf32>
    %expanded_17 = tensor.expand_shape %35 [[0], [1, 2, 3]] output_shape [2, 1, 2, 32] : tensor<2x64xf32> into tensor<2x1x2x32xf32>
    %36 = tensor.empty() : tensor<2x2x1x32xf32>
    %transposed_18 = linalg.transpose ins(%expanded_17 : tensor<2x1x2x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_19 = linalg.transpose ins(%arg12 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %37 = linalg.matmul ins(%collapsed, %transposed_19 : tensor<2x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %38 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg13 : tensor<64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x64xf32>
    %39 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%37, %38 : tensor<2x64xf32>, tensor<2x64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x64xf32>
    %expanded_20 = tensor.expand_shape %39 [[0], [1, 2, 3]] output_shape [2, 1, 2, 32] : tensor<2x64xf32> into tensor<2x1x2x32xf32>
    %transposed_21 = linalg.transpose ins(%expanded_20 : tensor<2x1x2x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %40 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_15, %12 : tensor<2x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %extracted_slice = tensor.extract_slice %transposed_15[0, 0, 0, 16] [2, 4, 1, 16] [1, 1, 1, 1] : tensor<2x4x1x32xf32> to tensor<2x4x1x16xf32>
    %41 = tensor.empty() : tensor<2x4x1x16xf32>
    %42 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<2x4x1x16xf32>) outs(%41 : tensor<2x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x16xf32>
    %extracted_slice_22 = tensor.extract_slice %transposed_15[0, 0, 0, 0] [2, 4, 1, 16] [1, 1, 1, 1] : tensor<2x4x1x32xf32> to tensor<2x4x1x16xf32>
    %concat_23 = tensor.concat dim(3) %42, %extracted_slice_22 : (tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>) -> tensor<2x4x1x32xf32>
    %43 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_23, %13 : tensor<2x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %44 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40, %43 : tensor<2x4x1x32xf32>, tensor<2x4x1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %45 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_18, %12 : tensor<2x2x1x32xf32>, tensor<1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %extracted_slice_24 = tensor.extract_slice %transposed_18[0, 0, 0, 16] [2, 2, 1, 16] [1, 1, 1, 1] : tensor<2x2x1x32xf32> to tensor<2x2x1x16xf32>
    %46 = tensor.empty() : tensor<2x2x1x16xf32>
    %47 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_24 : tensor<2x2x1x16xf32>) outs(%46 : tensor<2x2x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x16xf32>
    %extracted_slice_25 = tensor.extract_slice %transposed_18[0, 0, 0, 0] [2, 2, 1, 16] [1, 1, 1, 1] : tensor<2x2x1x32xf32> to tensor<2x2x1x16xf32>
    %concat_26 = tensor.concat dim(3) %47, %extracted_slice_25 : (tensor<2x2x1x16xf32>, tensor<2x2x1x16xf32>) -> tensor<2x2x1x32xf32>
    %48 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_26, %13 : tensor<2x2x1x32xf32>, tensor<1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %49 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%45, %48 : tensor<2x2x1x32xf32>, tensor<2x2x1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %50 = tensor.empty() : tensor<32xi64>
    %51 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%50 : tensor<32xi64>) {
    ^bb0(%out: i64):
      %195 = linalg.index 0 : index
      %196 = arith.index_cast %195 : index to i64
      linalg.yield %196 : i64
    } -> tensor<32xi64>
    %52 = tensor.empty() : tensor<2xi64>
    %53 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%52 : tensor<2xi64>) {
    ^bb0(%out: i64):
      %195 = linalg.index 0 : index
      %196 = arith.index_cast %195 : index to i64
      linalg.yield %196 : i64
    } -> tensor<2xi64>
    %54 = tensor.empty() : tensor<2x2x1x32xi64>
    %expanded_27 = tensor.expand_shape %53 [[0, 1]] output_shape [2, 1] : tensor<2xi64> into tensor<2x1xi64>
    %55 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_27 : tensor<2x1xi64>) outs(%54 : tensor<2x2x1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<2x2x1x32xi64>
    %collapsed_28 = tensor.collapse_shape %55 [[0, 1, 2, 3]] : tensor<2x2x1x32xi64> into tensor<128xi64>
    %56 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_27 : tensor<2x1xi64>) outs(%54 : tensor<2x2x1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<2x2x1x32xi64>
    %collapsed_29 = tensor.collapse_shape %56 [[0, 1, 2, 3]] : tensor<2x2x1x32xi64> into tensor<128xi64>
    %57 = linalg.generic {indexing_maps = [#map12, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<1xi64>) outs(%54 : tensor<2x2x1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<2x2x1x32xi64>
    %collapsed_30 = tensor.collapse_shape %57 [[0, 1, 2, 3]] : tensor<2x2x1x32xi64> into tensor<128xi64>
    %58 = linalg.generic {indexing_maps = [#map13, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%51 : tensor<32xi64>) outs(%54 : tensor<2x2x1x32xi64>) {
    ^bb0(%in: i64, %out: i64):
      linalg.yield %in : i64
    } -> tensor<2x2x1x32xi64>
    %collapsed_31 = tensor.collapse_shape %58 [[0, 1, 2, 3]] : tensor<2x2x1x32xi64> into tensor<128xi64>
    %expanded_32 = tensor.expand_shape %collapsed_28 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %expanded_33 = tensor.expand_shape %collapsed_29 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %expanded_34 = tensor.expand_shape %collapsed_30 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %expanded_35 = tensor.expand_shape %collapsed_31 [[0, 1]] output_shape [128, 1] : tensor<128xi64> into tensor<128x1xi64>
    %concat_36 = tensor.concat dim(1) %expanded_32, %expanded_33, %expanded_34, %expanded_35 : (tensor<128x1xi64>, tensor<128x1xi64>, tensor<128x1xi64>, tensor<128x1xi64>) -> tensor<128x4xi64>
    %collapsed_37 = tensor.collapse_shape %49 [[0, 1, 2, 3]] : tensor<2x2x1x32xf32> into tensor<128xf32>
    %expanded_38 = tensor.expand_shape %collapsed_37 [[0, 1, 2, 3, 4]] output_shape [128, 1, 1, 1, 1] : tensor<128xf32> into tensor<128x1x1x1x1xf32>
    %59 = tensor.scatter %expanded_38 into %arg2[%concat_36] scatter_dims([0, 1, 2, 3]) unique : (tensor<128x1x1x1x1xf32>, tensor<2x2x56x32xf32>, tensor<128x4xi64>) -> tensor<2x2x56x32xf32>
    %collapsed_39 = tensor.collapse_shape %transposed_21 [[0, 1, 2, 3]] : tensor<2x2x1x32xf32> into tensor<128xf32>
    %expanded_40 = tensor.expand_shape %collapsed_39 [[0, 1, 2, 3, 4]] output_shape [128, 1, 1, 1, 1] : tensor<128xf32> into tensor<128x1x1x1x1xf32>
    %60 = tensor.scatter %expanded_40 into %arg3[%concat_36] scatter_dims([0, 1, 2, 3]) unique : (tensor<128x1x1x1x1xf32>, tensor<2x2x56x32xf32>, tensor<128x4xi64>) -> tensor<2x2x56x32xf32>
    %61 = tensor.empty() : tensor<56xi64>
    %62 = linalg.generic {indexing_maps = [#map2], iterator_types = ["parallel"]} outs(%61 : tensor<56xi64>) {
    ^bb0(%out: i64):
      %195 = linalg.index 0 : index
      %196 = arith.index_cast %195 : index to i64
      linalg.yield %196 : i64
    } -> tensor<56xi64>
    %63 = tensor.empty() : tensor<56xi1>
    %64 = linalg.generic {indexing_maps = [#map2, #map14, #map2], iterator_types = ["parallel"]} ins(%62, %arg1 : tensor<56xi64>, tensor<1xi64>) outs(%63 : tensor<56xi1>) {
    ^bb0(%in: i64, %in_106: i64, %out: i1):
      %195 = arith.cmpi sle, %in, %in_106 : i64
      linalg.yield %195 : i1
    } -> tensor<56xi1>
    %expanded_41 = tensor.expand_shape %64 [[0, 1, 2, 3]] output_shape [1, 1, 1, 56] : tensor<56xi1> into tensor<1x1x1x56xi1>
    %65 = tensor.empty() : tensor<1x1x1x56xf32>
    %66 = linalg.generic {indexing_maps = [#map8, #map15, #map15, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_41, %cst_3, %cst_4 : tensor<1x1x1x56xi1>, tensor<f32>, tensor<f32>) outs(%65 : tensor<1x1x1x56xf32>) {
    ^bb0(%in: i1, %in_106: f32, %in_107: f32, %out: f32):
      %195 = arith.select %in, %in_106, %in_107 : f32
      linalg.yield %195 : f32
    } -> tensor<1x1x1x56xf32>
    %67 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<2x4x1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_5 : f64 to f32
      %196 = arith.mulf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x4x1x32xf32>
    %68 = tensor.empty() : tensor<2x2x2x56x32xf32>
    %69 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%59 : tensor<2x2x56x32xf32>) outs(%68 : tensor<2x2x2x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x56x32xf32>
    %collapsed_42 = tensor.collapse_shape %69 [[0], [1, 2], [3], [4]] : tensor<2x2x2x56x32xf32> into tensor<2x4x56x32xf32>
    %70 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%60 : tensor<2x2x56x32xf32>) outs(%68 : tensor<2x2x2x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x56x32xf32>
    %71 = tensor.empty() : tensor<2x4x32x56xf32>
    %transposed_43 = linalg.transpose ins(%collapsed_42 : tensor<2x4x56x32xf32>) outs(%71 : tensor<2x4x32x56xf32>) permutation = [0, 1, 3, 2] 
    %72 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_43 : tensor<2x4x32x56xf32>) outs(%71 : tensor<2x4x32x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_5 : f64 to f32
      %196 = arith.mulf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x4x32x56xf32>
    %collapsed_44 = tensor.collapse_shape %67 [[0, 1], [2], [3]] : tensor<2x4x1x32xf32> into tensor<8x1x32xf32>
    %collapsed_45 = tensor.collapse_shape %72 [[0, 1], [2], [3]] : tensor<2x4x32x56xf32> into tensor<8x32x56xf32>
    %73 = tensor.empty() : tensor<8x1x56xf32>
    %74 = linalg.fill ins(%cst : f32) outs(%73 : tensor<8x1x56xf32>) -> tensor<8x1x56xf32>
    %75 = linalg.batch_matmul ins(%collapsed_44, %collapsed_45 : tensor<8x1x32xf32>, tensor<8x32x56xf32>) outs(%74 : tensor<8x1x56xf32>) -> tensor<8x1x56xf32>
    %expanded_46 = tensor.expand_shape %75 [[0, 1], [2], [3]] output_shape [2, 4, 1, 56] : tensor<8x1x56xf32> into tensor<2x4x1x56xf32>
    %76 = tensor.empty() : tensor<2x4x1x56xf32>
    %77 = linalg.generic {indexing_maps = [#map8, #map18, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_46, %66 : tensor<2x4x1x56xf32>, tensor<1x1x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %78 = tensor.empty() : tensor<2x4x1xi64>
    %79 = linalg.fill ins(%c0_i64 : i64) outs(%78 : tensor<2x4x1xi64>) -> tensor<2x4x1xi64>
    %80 = tensor.empty() : tensor<2x4x1xf32>
    %81 = linalg.fill ins(%cst_0 : f32) outs(%80 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %82:2 = linalg.generic {indexing_maps = [#map8, #map19, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%77 : tensor<2x4x1x56xf32>) outs(%81, %79 : tensor<2x4x1xf32>, tensor<2x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_106: i64):
      %195 = linalg.index 3 : index
      %196 = arith.index_cast %195 : index to i64
      %197 = arith.maximumf %in, %out : f32
      %198 = arith.cmpf ogt, %in, %out : f32
      %199 = arith.select %198, %196, %out_106 : i64
      linalg.yield %197, %199 : f32, i64
    } -> (tensor<2x4x1xf32>, tensor<2x4x1xi64>)
    %expanded_47 = tensor.expand_shape %82#0 [[0], [1], [2, 3]] output_shape [2, 4, 1, 1] : tensor<2x4x1xf32> into tensor<2x4x1x1xf32>
    %83 = linalg.generic {indexing_maps = [#map8, #map20, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%77, %expanded_47 : tensor<2x4x1x56xf32>, tensor<2x4x1x1xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.subf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %84 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%83 : tensor<2x4x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.exp %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %85 = tensor.empty() : tensor<2x4x1x1xf32>
    %86 = linalg.fill ins(%cst : f32) outs(%85 : tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %87 = linalg.generic {indexing_maps = [#map8, #map20], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%84 : tensor<2x4x1x56xf32>) outs(%86 : tensor<2x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x1xf32>
    %88 = linalg.generic {indexing_maps = [#map8, #map20, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84, %87 : tensor<2x4x1x56xf32>, tensor<2x4x1x1xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.divf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %89 = tensor.empty() : tensor<2x4x1x56xi1>
    %90 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%77 : tensor<2x4x1x56xf32>) outs(%89 : tensor<2x4x1x56xi1>) {
    ^bb0(%in: f32, %out: i1):
      %195 = arith.extf %in : f32 to f64
      %196 = arith.cmpf oeq, %195, %cst_6 : f64
      linalg.yield %196 : i1
    } -> tensor<2x4x1x56xi1>
    %91 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%90 : tensor<2x4x1x56xi1>) outs(%89 : tensor<2x4x1x56xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.cmpi eq, %in, %false : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x56xi1>
    %92 = tensor.empty() : tensor<2x4x1x1xi1>
    %93 = linalg.fill ins(%false : i1) outs(%92 : tensor<2x4x1x1xi1>) -> tensor<2x4x1x1xi1>
    %94 = linalg.generic {indexing_maps = [#map8, #map20], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%91 : tensor<2x4x1x56xi1>) outs(%93 : tensor<2x4x1x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.ori %in, %out : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x1xi1>
    %95 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%94 : tensor<2x4x1x1xi1>) outs(%92 : tensor<2x4x1x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.cmpi eq, %in, %false : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x1xi1>
    %96 = linalg.generic {indexing_maps = [#map20, #map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%95, %cst_2, %88 : tensor<2x4x1x1xi1>, tensor<2x4x1x56xf32>, tensor<2x4x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: i1, %in_106: f32, %in_107: f32, %out: f32):
      %195 = arith.select %in, %in_106, %in_107 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %collapsed_48 = tensor.collapse_shape %96 [[0, 1], [2], [3]] : tensor<2x4x1x56xf32> into tensor<8x1x56xf32>
    %collapsed_49 = tensor.collapse_shape %70 [[0, 1, 2], [3], [4]] : tensor<2x2x2x56x32xf32> into tensor<8x56x32xf32>
    %97 = tensor.empty() : tensor<8x1x32xf32>
    %98 = linalg.fill ins(%cst : f32) outs(%97 : tensor<8x1x32xf32>) -> tensor<8x1x32xf32>
    %99 = linalg.batch_matmul ins(%collapsed_48, %collapsed_49 : tensor<8x1x56xf32>, tensor<8x56x32xf32>) outs(%98 : tensor<8x1x32xf32>) -> tensor<8x1x32xf32>
    %expanded_50 = tensor.expand_shape %99 [[0, 1], [2], [3]] output_shape [2, 4, 1, 32] : tensor<8x1x32xf32> into tensor<2x4x1x32xf32>
    %100 = tensor.empty() : tensor<2x1x4x32xf32>
    %transposed_51 = linalg.transpose ins(%expanded_50 : tensor<2x4x1x32xf32>) outs(%100 : tensor<2x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %101 = tensor.empty() : tensor<128x48xf32>
    %transposed_52 = linalg.transpose ins(%arg14 : tensor<48x128xf32>) outs(%101 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_53 = tensor.collapse_shape %transposed_51 [[0], [1, 2, 3]] : tensor<2x1x4x32xf32> into tensor<2x128xf32>
    %102 = tensor.empty() : tensor<2x48xf32>
    %103 = linalg.fill ins(%cst : f32) outs(%102 : tensor<2x48xf32>) -> tensor<2x48xf32>
    %104 = linalg.matmul ins(%collapsed_53, %transposed_52 : tensor<2x128xf32>, tensor<128x48xf32>) outs(%103 : tensor<2x48xf32>) -> tensor<2x48xf32>
    %expanded_54 = tensor.expand_shape %104 [[0], [1, 2]] output_shape [2, 1, 48] : tensor<2x48xf32> into tensor<2x1x48xf32>
    %105 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %expanded_54 : tensor<2x1x48xf32>, tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %106 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105 : tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %107 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%106 : tensor<2x1x48xf32>) outs(%16 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %108 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%107 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_11 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %109 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%108 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_7 : f64 to f32
      %196 = arith.addf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x1x1xf32>
    %110 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.rsqrt %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %111 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %110 : tensor<2x1x48xf32>, tensor<2x1x1xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %112 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%111, %arg15 : tensor<2x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %113 = tensor.empty() : tensor<48x80xf32>
    %transposed_55 = linalg.transpose ins(%arg16 : tensor<80x48xf32>) outs(%113 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_56 = tensor.collapse_shape %112 [[0], [1, 2]] : tensor<2x1x48xf32> into tensor<2x48xf32>
    %114 = tensor.empty() : tensor<2x80xf32>
    %115 = linalg.fill ins(%cst : f32) outs(%114 : tensor<2x80xf32>) -> tensor<2x80xf32>
    %116 = linalg.matmul ins(%collapsed_56, %transposed_55 : tensor<2x48xf32>, tensor<48x80xf32>) outs(%115 : tensor<2x80xf32>) -> tensor<2x80xf32>
    %expanded_57 = tensor.expand_shape %116 [[0], [1, 2]] output_shape [2, 1, 80] : tensor<2x80xf32> into tensor<2x1x80xf32>
    %117 = tensor.empty() : tensor<2x1x80xf32>
    %118 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_57 : tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      %196 = math.exp %195 : f32
      %197 = arith.addf %196, %cst_1 : f32
      %198 = arith.divf %cst_1, %197 : f32
      linalg.yield %198 : f32
    } -> tensor<2x1x80xf32>
    %119 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_57, %118 : tensor<2x1x80xf32>, tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x80xf32>
    %transposed_58 = linalg.transpose ins(%arg17 : tensor<80x48xf32>) outs(%113 : tensor<48x80xf32>) permutation = [1, 0] 
    %120 = linalg.matmul ins(%collapsed_56, %transposed_58 : tensor<2x48xf32>, tensor<48x80xf32>) outs(%115 : tensor<2x80xf32>) -> tensor<2x80xf32>
    %expanded_59 = tensor.expand_shape %120 [[0], [1, 2]] output_shape [2, 1, 80] : tensor<2x80xf32> into tensor<2x1x80xf32>
    %121 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119, %expanded_59 : tensor<2x1x80xf32>, tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x80xf32>
    %122 = tensor.empty() : tensor<80x48xf32>
    %transposed_60 = linalg.transpose ins(%arg18 : tensor<48x80xf32>) outs(%122 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_61 = tensor.collapse_shape %121 [[0], [1, 2]] : tensor<2x1x80xf32> into tensor<2x80xf32>
    %123 = linalg.matmul ins(%collapsed_61, %transposed_60 : tensor<2x80xf32>, tensor<80x48xf32>) outs(%103 : tensor<2x48xf32>) -> tensor<2x48xf32>
    %expanded_62 = tensor.expand_shape %123 [[0], [1, 2]] output_shape [2, 1, 48] : tensor<2x48xf32> into tensor<2x1x48xf32>
    %124 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%105, %expanded_62 : tensor<2x1x48xf32>, tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %125 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124 : tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %126 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%125 : tensor<2x1x48xf32>) outs(%16 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %127 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_11 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %128 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%127 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_7 : f64 to f32
      %196 = arith.addf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x1x1xf32>
    %129 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.rsqrt %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %130 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124, %129 : tensor<2x1x48xf32>, tensor<2x1x1xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %131 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130, %arg19 : tensor<2x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %collapsed_63 = tensor.collapse_shape %131 [[0], [1, 2]] : tensor<2x1x48xf32> into tensor<2x48xf32>
    %transposed_64 = linalg.transpose ins(%arg20 : tensor<128x48xf32>) outs(%23 : tensor<48x128xf32>) permutation = [1, 0] 
    %132 = linalg.matmul ins(%collapsed_63, %transposed_64 : tensor<2x48xf32>, tensor<48x128xf32>) outs(%25 : tensor<2x128xf32>) -> tensor<2x128xf32>
    %133 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg21 : tensor<128xf32>) outs(%24 : tensor<2x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x128xf32>
    %134 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%132, %133 : tensor<2x128xf32>, tensor<2x128xf32>) outs(%24 : tensor<2x128xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x128xf32>
    %expanded_65 = tensor.expand_shape %134 [[0], [1, 2, 3]] output_shape [2, 1, 4, 32] : tensor<2x128xf32> into tensor<2x1x4x32xf32>
    %transposed_66 = linalg.transpose ins(%expanded_65 : tensor<2x1x4x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_67 = linalg.transpose ins(%arg22 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %135 = linalg.matmul ins(%collapsed_63, %transposed_67 : tensor<2x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %136 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg23 : tensor<64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x64xf32>
    %137 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%135, %136 : tensor<2x64xf32>, tensor<2x64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x64xf32>
    %expanded_68 = tensor.expand_shape %137 [[0], [1, 2, 3]] output_shape [2, 1, 2, 32] : tensor<2x64xf32> into tensor<2x1x2x32xf32>
    %transposed_69 = linalg.transpose ins(%expanded_68 : tensor<2x1x2x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_70 = linalg.transpose ins(%arg24 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %138 = linalg.matmul ins(%collapsed_63, %transposed_70 : tensor<2x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<2x64xf32>) -> tensor<2x64xf32>
    %139 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel"]} ins(%arg25 : tensor<64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x64xf32>
    %140 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%138, %139 : tensor<2x64xf32>, tensor<2x64xf32>) outs(%31 : tensor<2x64xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x64xf32>
    %expanded_71 = tensor.expand_shape %140 [[0], [1, 2, 3]] output_shape [2, 1, 2, 32] : tensor<2x64xf32> into tensor<2x1x2x32xf32>
    %transposed_72 = linalg.transpose ins(%expanded_71 : tensor<2x1x2x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %141 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_66, %12 : tensor<2x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %extracted_slice_73 = tensor.extract_slice %transposed_66[0, 0, 0, 16] [2, 4, 1, 16] [1, 1, 1, 1] : tensor<2x4x1x32xf32> to tensor<2x4x1x16xf32>
    %142 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_73 : tensor<2x4x1x16xf32>) outs(%41 : tensor<2x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x16xf32>
    %extracted_slice_74 = tensor.extract_slice %transposed_66[0, 0, 0, 0] [2, 4, 1, 16] [1, 1, 1, 1] : tensor<2x4x1x32xf32> to tensor<2x4x1x16xf32>
    %concat_75 = tensor.concat dim(3) %142, %extracted_slice_74 : (tensor<2x4x1x16xf32>, tensor<2x4x1x16xf32>) -> tensor<2x4x1x32xf32>
    %143 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_75, %13 : tensor<2x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %144 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%141, %143 : tensor<2x4x1x32xf32>, tensor<2x4x1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x32xf32>
    %145 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_69, %12 : tensor<2x2x1x32xf32>, tensor<1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %extracted_slice_76 = tensor.extract_slice %transposed_69[0, 0, 0, 16] [2, 2, 1, 16] [1, 1, 1, 1] : tensor<2x2x1x32xf32> to tensor<2x2x1x16xf32>
    %146 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_76 : tensor<2x2x1x16xf32>) outs(%46 : tensor<2x2x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x16xf32>
    %extracted_slice_77 = tensor.extract_slice %transposed_69[0, 0, 0, 0] [2, 2, 1, 16] [1, 1, 1, 1] : tensor<2x2x1x32xf32> to tensor<2x2x1x16xf32>
    %concat_78 = tensor.concat dim(3) %146, %extracted_slice_77 : (tensor<2x2x1x16xf32>, tensor<2x2x1x16xf32>) -> tensor<2x2x1x32xf32>
    %147 = linalg.generic {indexing_maps = [#map8, #map9, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_78, %13 : tensor<2x2x1x32xf32>, tensor<1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %148 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%145, %147 : tensor<2x2x1x32xf32>, tensor<2x2x1x32xf32>) outs(%36 : tensor<2x2x1x32xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x2x1x32xf32>
    %collapsed_79 = tensor.collapse_shape %148 [[0, 1, 2, 3]] : tensor<2x2x1x32xf32> into tensor<128xf32>
    %expanded_80 = tensor.expand_shape %collapsed_79 [[0, 1, 2, 3, 4]] output_shape [128, 1, 1, 1, 1] : tensor<128xf32> into tensor<128x1x1x1x1xf32>
    %149 = tensor.scatter %expanded_80 into %arg4[%concat_36] scatter_dims([0, 1, 2, 3]) unique : (tensor<128x1x1x1x1xf32>, tensor<2x2x56x32xf32>, tensor<128x4xi64>) -> tensor<2x2x56x32xf32>
    %collapsed_81 = tensor.collapse_shape %transposed_72 [[0, 1, 2, 3]] : tensor<2x2x1x32xf32> into tensor<128xf32>
    %expanded_82 = tensor.expand_shape %collapsed_81 [[0, 1, 2, 3, 4]] output_shape [128, 1, 1, 1, 1] : tensor<128xf32> into tensor<128x1x1x1x1xf32>
    %150 = tensor.scatter %expanded_82 into %arg5[%concat_36] scatter_dims([0, 1, 2, 3]) unique : (tensor<128x1x1x1x1xf32>, tensor<2x2x56x32xf32>, tensor<128x4xi64>) -> tensor<2x2x56x32xf32>
    %151 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%144 : tensor<2x4x1x32xf32>) outs(%29 : tensor<2x4x1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_5 : f64 to f32
      %196 = arith.mulf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x4x1x32xf32>
    %152 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%149 : tensor<2x2x56x32xf32>) outs(%68 : tensor<2x2x2x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x56x32xf32>
    %collapsed_83 = tensor.collapse_shape %152 [[0], [1, 2], [3], [4]] : tensor<2x2x2x56x32xf32> into tensor<2x4x56x32xf32>
    %153 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%150 : tensor<2x2x56x32xf32>) outs(%68 : tensor<2x2x2x56x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x56x32xf32>
    %transposed_84 = linalg.transpose ins(%collapsed_83 : tensor<2x4x56x32xf32>) outs(%71 : tensor<2x4x32x56xf32>) permutation = [0, 1, 3, 2] 
    %154 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_84 : tensor<2x4x32x56xf32>) outs(%71 : tensor<2x4x32x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_5 : f64 to f32
      %196 = arith.mulf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x4x32x56xf32>
    %collapsed_85 = tensor.collapse_shape %151 [[0, 1], [2], [3]] : tensor<2x4x1x32xf32> into tensor<8x1x32xf32>
    %collapsed_86 = tensor.collapse_shape %154 [[0, 1], [2], [3]] : tensor<2x4x32x56xf32> into tensor<8x32x56xf32>
    %155 = linalg.batch_matmul ins(%collapsed_85, %collapsed_86 : tensor<8x1x32xf32>, tensor<8x32x56xf32>) outs(%74 : tensor<8x1x56xf32>) -> tensor<8x1x56xf32>
    %expanded_87 = tensor.expand_shape %155 [[0, 1], [2], [3]] output_shape [2, 4, 1, 56] : tensor<8x1x56xf32> into tensor<2x4x1x56xf32>
    %156 = linalg.generic {indexing_maps = [#map8, #map18, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_87, %66 : tensor<2x4x1x56xf32>, tensor<1x1x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %157:2 = linalg.generic {indexing_maps = [#map8, #map19, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%156 : tensor<2x4x1x56xf32>) outs(%81, %79 : tensor<2x4x1xf32>, tensor<2x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_106: i64):
      %195 = linalg.index 3 : index
      %196 = arith.index_cast %195 : index to i64
      %197 = arith.maximumf %in, %out : f32
      %198 = arith.cmpf ogt, %in, %out : f32
      %199 = arith.select %198, %196, %out_106 : i64
      linalg.yield %197, %199 : f32, i64
    } -> (tensor<2x4x1xf32>, tensor<2x4x1xi64>)
    %expanded_88 = tensor.expand_shape %157#0 [[0], [1], [2, 3]] output_shape [2, 4, 1, 1] : tensor<2x4x1xf32> into tensor<2x4x1x1xf32>
    %158 = linalg.generic {indexing_maps = [#map8, #map20, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%156, %expanded_88 : tensor<2x4x1x56xf32>, tensor<2x4x1x1xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.subf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %159 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%158 : tensor<2x4x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.exp %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %160 = linalg.generic {indexing_maps = [#map8, #map20], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%159 : tensor<2x4x1x56xf32>) outs(%86 : tensor<2x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x1xf32>
    %161 = linalg.generic {indexing_maps = [#map8, #map20, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%159, %160 : tensor<2x4x1x56xf32>, tensor<2x4x1x1xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.divf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %162 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%156 : tensor<2x4x1x56xf32>) outs(%89 : tensor<2x4x1x56xi1>) {
    ^bb0(%in: f32, %out: i1):
      %195 = arith.extf %in : f32 to f64
      %196 = arith.cmpf oeq, %195, %cst_6 : f64
      linalg.yield %196 : i1
    } -> tensor<2x4x1x56xi1>
    %163 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%162 : tensor<2x4x1x56xi1>) outs(%89 : tensor<2x4x1x56xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.cmpi eq, %in, %false : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x56xi1>
    %164 = linalg.generic {indexing_maps = [#map8, #map20], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%163 : tensor<2x4x1x56xi1>) outs(%93 : tensor<2x4x1x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.ori %in, %out : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x1xi1>
    %165 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%164 : tensor<2x4x1x1xi1>) outs(%92 : tensor<2x4x1x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %195 = arith.cmpi eq, %in, %false : i1
      linalg.yield %195 : i1
    } -> tensor<2x4x1x1xi1>
    %166 = linalg.generic {indexing_maps = [#map20, #map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%165, %cst_2, %161 : tensor<2x4x1x1xi1>, tensor<2x4x1x56xf32>, tensor<2x4x1x56xf32>) outs(%76 : tensor<2x4x1x56xf32>) {
    ^bb0(%in: i1, %in_106: f32, %in_107: f32, %out: f32):
      %195 = arith.select %in, %in_106, %in_107 : f32
      linalg.yield %195 : f32
    } -> tensor<2x4x1x56xf32>
    %collapsed_89 = tensor.collapse_shape %166 [[0, 1], [2], [3]] : tensor<2x4x1x56xf32> into tensor<8x1x56xf32>
    %collapsed_90 = tensor.collapse_shape %153 [[0, 1, 2], [3], [4]] : tensor<2x2x2x56x32xf32> into tensor<8x56x32xf32>
    %167 = linalg.batch_matmul ins(%collapsed_89, %collapsed_90 : tensor<8x1x56xf32>, tensor<8x56x32xf32>) outs(%98 : tensor<8x1x32xf32>) -> tensor<8x1x32xf32>
    %expanded_91 = tensor.expand_shape %167 [[0, 1], [2], [3]] output_shape [2, 4, 1, 32] : tensor<8x1x32xf32> into tensor<2x4x1x32xf32>
    %transposed_92 = linalg.transpose ins(%expanded_91 : tensor<2x4x1x32xf32>) outs(%100 : tensor<2x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_93 = linalg.transpose ins(%arg26 : tensor<48x128xf32>) outs(%101 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_94 = tensor.collapse_shape %transposed_92 [[0], [1, 2, 3]] : tensor<2x1x4x32xf32> into tensor<2x128xf32>
    %168 = linalg.matmul ins(%collapsed_94, %transposed_93 : tensor<2x128xf32>, tensor<128x48xf32>) outs(%103 : tensor<2x48xf32>) -> tensor<2x48xf32>
    %expanded_95 = tensor.expand_shape %168 [[0], [1, 2]] output_shape [2, 1, 48] : tensor<2x48xf32> into tensor<2x1x48xf32>
    %169 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124, %expanded_95 : tensor<2x1x48xf32>, tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %170 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%169 : tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %171 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%170 : tensor<2x1x48xf32>) outs(%16 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %172 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%171 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_11 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %173 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%172 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_7 : f64 to f32
      %196 = arith.addf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x1x1xf32>
    %174 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%173 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.rsqrt %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %175 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%169, %174 : tensor<2x1x48xf32>, tensor<2x1x1xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %176 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%175, %arg27 : tensor<2x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %transposed_96 = linalg.transpose ins(%arg28 : tensor<80x48xf32>) outs(%113 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_97 = tensor.collapse_shape %176 [[0], [1, 2]] : tensor<2x1x48xf32> into tensor<2x48xf32>
    %177 = linalg.matmul ins(%collapsed_97, %transposed_96 : tensor<2x48xf32>, tensor<48x80xf32>) outs(%115 : tensor<2x80xf32>) -> tensor<2x80xf32>
    %expanded_98 = tensor.expand_shape %177 [[0], [1, 2]] output_shape [2, 1, 80] : tensor<2x80xf32> into tensor<2x1x80xf32>
    %178 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_98 : tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.negf %in : f32
      %196 = math.exp %195 : f32
      %197 = arith.addf %196, %cst_1 : f32
      %198 = arith.divf %cst_1, %197 : f32
      linalg.yield %198 : f32
    } -> tensor<2x1x80xf32>
    %179 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_98, %178 : tensor<2x1x80xf32>, tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x80xf32>
    %transposed_99 = linalg.transpose ins(%arg29 : tensor<80x48xf32>) outs(%113 : tensor<48x80xf32>) permutation = [1, 0] 
    %180 = linalg.matmul ins(%collapsed_97, %transposed_99 : tensor<2x48xf32>, tensor<48x80xf32>) outs(%115 : tensor<2x80xf32>) -> tensor<2x80xf32>
    %expanded_100 = tensor.expand_shape %180 [[0], [1, 2]] output_shape [2, 1, 80] : tensor<2x80xf32> into tensor<2x1x80xf32>
    %181 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%179, %expanded_100 : tensor<2x1x80xf32>, tensor<2x1x80xf32>) outs(%117 : tensor<2x1x80xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x80xf32>
    %transposed_101 = linalg.transpose ins(%arg30 : tensor<48x80xf32>) outs(%122 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_102 = tensor.collapse_shape %181 [[0], [1, 2]] : tensor<2x1x80xf32> into tensor<2x80xf32>
    %182 = linalg.matmul ins(%collapsed_102, %transposed_101 : tensor<2x80xf32>, tensor<80x48xf32>) outs(%103 : tensor<2x48xf32>) -> tensor<2x48xf32>
    %expanded_103 = tensor.expand_shape %182 [[0], [1, 2]] output_shape [2, 1, 48] : tensor<2x48xf32> into tensor<2x1x48xf32>
    %183 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%169, %expanded_103 : tensor<2x1x48xf32>, tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.addf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %184 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183 : tensor<2x1x48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %185 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%184 : tensor<2x1x48xf32>) outs(%16 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.addf %in, %out : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %186 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%185 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.divf %in, %cst_11 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %187 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = arith.truncf %cst_7 : f64 to f32
      %196 = arith.addf %in, %195 : f32
      linalg.yield %196 : f32
    } -> tensor<2x1x1xf32>
    %188 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%187 : tensor<2x1x1xf32>) outs(%15 : tensor<2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %195 = math.rsqrt %in : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x1xf32>
    %189 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%183, %188 : tensor<2x1x48xf32>, tensor<2x1x1xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %190 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%189, %arg31 : tensor<2x1x48xf32>, tensor<48xf32>) outs(%0 : tensor<2x1x48xf32>) {
    ^bb0(%in: f32, %in_106: f32, %out: f32):
      %195 = arith.mulf %in, %in_106 : f32
      linalg.yield %195 : f32
    } -> tensor<2x1x48xf32>
    %collapsed_104 = tensor.collapse_shape %190 [[0, 1], [2]] : tensor<2x1x48xf32> into tensor<2x48xf32>
    %191 = tensor.empty() : tensor<48x32xf32>
    %transposed_105 = linalg.transpose ins(%arg6 : tensor<32x48xf32>) outs(%191 : tensor<48x32xf32>) permutation = [1, 0] 
    %192 = tensor.empty() : tensor<2x32xf32>
    %193 = linalg.fill ins(%cst : f32) outs(%192 : tensor<2x32xf32>) -> tensor<2x32xf32>
    %194 = linalg.matmul ins(%collapsed_104, %transposed_105 : tensor<2x48xf32>, tensor<48x32xf32>) outs(%193 : tensor<2x32xf32>) -> tensor<2x32xf32>
    return %194, %59, %60, %149, %150 : tensor<2x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>, tensor<2x2x56x32xf32>
  }
}
