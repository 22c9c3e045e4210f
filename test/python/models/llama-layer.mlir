#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map8 = affine_map<()[s0] -> (s0 + 1)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @layer(%arg0: tensor<1x1x48xf32>, %arg1: tensor<1x2x?x32xf32>, %arg2: tensor<1x2x?x32xf32>, %arg3: tensor<48xf32>, %arg4: tensor<128x48xf32>, %arg5: tensor<64x48xf32>, %arg6: tensor<64x48xf32>, %arg7: tensor<48x128xf32>, %arg8: tensor<48xf32>, %arg9: tensor<80x48xf32>, %arg10: tensor<80x48xf32>, %arg11: tensor<48x80xf32>) -> (tensor<1x1x48xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>) {
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %c2_i64 = arith.constant 2 : i64
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
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
    %dim = tensor.dim %arg1, %c2 : tensor<1x2x?x32xf32>
    %0 = arith.index_cast %dim : index to i64
    %1 = tensor.empty() : tensor<i64>
    %2 = tensor.empty() : tensor<16xf32>
    %3 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%2 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 0 : index
      %104 = arith.index_cast %103 : index to i64
      %105 = arith.sitofp %104 : i64 to f32
      %106 = arith.mulf %105, %cst_4 : f32
      %107 = arith.addf %106, %cst : f32
      linalg.yield %107 : f32
    } -> tensor<16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%3 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.negf %in : f32
      linalg.yield %103 : f32
    } -> tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%4 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.divf %in, %cst_5 : f32
      linalg.yield %103 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%5 : tensor<16xf32>) outs(%2 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.powf %cst_6, %in : f32
      linalg.yield %103 : f32
    } -> tensor<16xf32>
    %expanded = tensor.expand_shape %1 [] output_shape [1, 1] : tensor<i64> into tensor<1x1xi64>
    %7 = linalg.fill ins(%0 : i64) outs(%expanded : tensor<1x1xi64>) -> tensor<1x1xi64>
    %8 = tensor.empty() : tensor<1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<1x1xi64>) outs(%8 : tensor<1x1xf32>) {
    ^bb0(%in: i64, %out: f32):
      %103 = arith.sitofp %in : i64 to f32
      linalg.yield %103 : f32
    } -> tensor<1x1xf32>
    %expanded_8 = tensor.expand_shape %6 [[0, 1]] output_shape [1, 16] : tensor<16xf32> into tensor<1x16xf32>
    %10 = tensor.empty() : tensor<1x16xf32>
    %11 = linalg.generic {indexing_maps = [#map2, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%9, %expanded_8 : tensor<1x1xf32>, tensor<1x16xf32>) outs(%10 : tensor<1x16xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x16xf32>
    %concat = tensor.concat dim(1) %11, %11 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x32xf32>
    %12 = tensor.empty() : tensor<1x32xf32>
    %13 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.cos %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x32xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%concat : tensor<1x32xf32>) outs(%12 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.sin %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x32xf32>
    %15 = tensor.empty() : tensor<1x1x48xf32>
    %16 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %17 = tensor.empty() : tensor<1x1x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    %19 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<1x1x48xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.addf %in, %out : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.divf %in, %cst_7 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.truncf %cst_3 : f64 to f32
      %104 = arith.addf %in, %103 : f32
      linalg.yield %104 : f32
    } -> tensor<1x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.rsqrt %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %22 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %24 = linalg.generic {indexing_maps = [#map3, #map5, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23, %arg3 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %25 = tensor.empty() : tensor<48x128xf32>
    %transposed = linalg.transpose ins(%arg4 : tensor<128x48xf32>) outs(%25 : tensor<48x128xf32>) permutation = [1, 0] 
    %collapsed = tensor.collapse_shape %24 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %26 = tensor.empty() : tensor<1x128xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %28 = linalg.matmul ins(%collapsed, %transposed : tensor<1x48xf32>, tensor<48x128xf32>) outs(%27 : tensor<1x128xf32>) -> tensor<1x128xf32>
    %expanded_9 = tensor.expand_shape %28 [[0], [1, 2, 3]] output_shape [1, 1, 4, 32] : tensor<1x128xf32> into tensor<1x1x4x32xf32>
    %29 = tensor.empty() : tensor<1x4x1x32xf32>
    %transposed_10 = linalg.transpose ins(%expanded_9 : tensor<1x1x4x32xf32>) outs(%29 : tensor<1x4x1x32xf32>) permutation = [0, 2, 1, 3] 
    %30 = tensor.empty() : tensor<48x64xf32>
    %transposed_11 = linalg.transpose ins(%arg5 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %31 = tensor.empty() : tensor<1x64xf32>
    %32 = linalg.fill ins(%cst : f32) outs(%31 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %33 = linalg.matmul ins(%collapsed, %transposed_11 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_12 = tensor.expand_shape %33 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %34 = tensor.empty() : tensor<1x2x1x32xf32>
    %transposed_13 = linalg.transpose ins(%expanded_12 : tensor<1x1x2x32xf32>) outs(%34 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %transposed_14 = linalg.transpose ins(%arg6 : tensor<64x48xf32>) outs(%30 : tensor<48x64xf32>) permutation = [1, 0] 
    %35 = linalg.matmul ins(%collapsed, %transposed_14 : tensor<1x48xf32>, tensor<48x64xf32>) outs(%32 : tensor<1x64xf32>) -> tensor<1x64xf32>
    %expanded_15 = tensor.expand_shape %35 [[0], [1, 2, 3]] output_shape [1, 1, 2, 32] : tensor<1x64xf32> into tensor<1x1x2x32xf32>
    %transposed_16 = linalg.transpose ins(%expanded_15 : tensor<1x1x2x32xf32>) outs(%34 : tensor<1x2x1x32xf32>) permutation = [0, 2, 1, 3] 
    %36 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_10, %13 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x32xf32>
    %extracted_slice = tensor.extract_slice %transposed_10[0, 0, 0, 16] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %37 = tensor.empty() : tensor<1x4x1x16xf32>
    %38 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<1x4x1x16xf32>) outs(%37 : tensor<1x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.negf %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x16xf32>
    %extracted_slice_17 = tensor.extract_slice %transposed_10[0, 0, 0, 0] [1, 4, 1, 16] [1, 1, 1, 1] : tensor<1x4x1x32xf32> to tensor<1x4x1x16xf32>
    %concat_18 = tensor.concat dim(3) %38, %extracted_slice_17 : (tensor<1x4x1x16xf32>, tensor<1x4x1x16xf32>) -> tensor<1x4x1x32xf32>
    %39 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_18, %14 : tensor<1x4x1x32xf32>, tensor<1x32xf32>) outs(%29 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x32xf32>
    %40 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %39 : tensor<1x4x1x32xf32>, tensor<1x4x1x32xf32>) outs(%29 : tensor<1x4x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.addf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x32xf32>
    %41 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_13, %13 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x2x1x32xf32>
    %extracted_slice_19 = tensor.extract_slice %transposed_13[0, 0, 0, 16] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %42 = tensor.empty() : tensor<1x2x1x16xf32>
    %43 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_19 : tensor<1x2x1x16xf32>) outs(%42 : tensor<1x2x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.negf %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x2x1x16xf32>
    %extracted_slice_20 = tensor.extract_slice %transposed_13[0, 0, 0, 0] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x1x32xf32> to tensor<1x2x1x16xf32>
    %concat_21 = tensor.concat dim(3) %43, %extracted_slice_20 : (tensor<1x2x1x16xf32>, tensor<1x2x1x16xf32>) -> tensor<1x2x1x32xf32>
    %44 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_21, %14 : tensor<1x2x1x32xf32>, tensor<1x32xf32>) outs(%34 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x2x1x32xf32>
    %45 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%41, %44 : tensor<1x2x1x32xf32>, tensor<1x2x1x32xf32>) outs(%34 : tensor<1x2x1x32xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.addf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x2x1x32xf32>
    %concat_22 = tensor.concat dim(2) %arg1, %45 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %concat_23 = tensor.concat dim(2) %arg2, %transposed_16 : (tensor<1x2x?x32xf32>, tensor<1x2x1x32xf32>) -> tensor<1x2x?x32xf32>
    %46 = affine.apply #map8()[%dim]
    %expanded_24 = tensor.expand_shape %concat_22 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %46, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    %47 = arith.addi %0, %c1_i64 : i64
    %48 = arith.index_cast %47 : i64 to index
    %49 = arith.cmpi sge, %47, %c0_i64 : i64
    cf.assert %49, "unimplemented: dynamic negative broadcast sizes"
    %50 = tensor.empty(%48) : tensor<1x2x2x?x32xf32>
    %51 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%50 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 1 : index
      %104 = linalg.index 3 : index
      %105 = linalg.index 4 : index
      %106 = arith.cmpi eq, %46, %c1 : index
      %107 = arith.select %106, %c0, %104 : index
      %extracted = tensor.extract %expanded_24[%c0, %103, %c0, %107, %105] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_25 = tensor.collapse_shape %51 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    %52 = tensor.empty(%48) : tensor<1x4x32x?xf32>
    %transposed_26 = linalg.transpose ins(%collapsed_25 : tensor<1x4x?x32xf32>) outs(%52 : tensor<1x4x32x?xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_27 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<1x4x1x32xf32> into tensor<4x1x32xf32>
    cf.assert %49, "unimplemented: dynamic negative broadcast sizes"
    %53 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%52 : tensor<1x4x32x?xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 1 : index
      %104 = linalg.index 2 : index
      %105 = linalg.index 3 : index
      %106 = arith.cmpi eq, %48, %c1 : index
      %107 = arith.select %106, %c0, %105 : index
      %extracted = tensor.extract %transposed_26[%c0, %103, %104, %107] : tensor<1x4x32x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x32x?xf32>
    %collapsed_28 = tensor.collapse_shape %53 [[0, 1], [2], [3]] : tensor<1x4x32x?xf32> into tensor<4x32x?xf32>
    %54 = tensor.empty(%48) : tensor<4x1x?xf32>
    %55 = linalg.fill ins(%cst : f32) outs(%54 : tensor<4x1x?xf32>) -> tensor<4x1x?xf32>
    %56 = linalg.batch_matmul ins(%collapsed_27, %collapsed_28 : tensor<4x1x32xf32>, tensor<4x32x?xf32>) outs(%55 : tensor<4x1x?xf32>) -> tensor<4x1x?xf32>
    %expanded_29 = tensor.expand_shape %56 [[0, 1], [2], [3]] output_shape [1, 4, 1, %48] : tensor<4x1x?xf32> into tensor<1x4x1x?xf32>
    %57 = tensor.empty(%48) : tensor<1x4x1x?xf32>
    %58 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_29 : tensor<1x4x1x?xf32>) outs(%57 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.truncf %cst_2 : f64 to f32
      %104 = arith.mulf %in, %103 : f32
      linalg.yield %104 : f32
    } -> tensor<1x4x1x?xf32>
    %59 = tensor.empty() : tensor<1x4x1xi64>
    %60 = linalg.fill ins(%c0_i64 : i64) outs(%59 : tensor<1x4x1xi64>) -> tensor<1x4x1xi64>
    %61 = tensor.empty() : tensor<1x4x1xf32>
    %62 = linalg.fill ins(%cst_0 : f32) outs(%61 : tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
    %63:2 = linalg.generic {indexing_maps = [#map6, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%58 : tensor<1x4x1x?xf32>) outs(%62, %60 : tensor<1x4x1xf32>, tensor<1x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_49: i64):
      %103 = linalg.index 3 : index
      %104 = arith.index_cast %103 : index to i64
      %105 = arith.maximumf %in, %out : f32
      %106 = arith.cmpf ogt, %in, %out : f32
      %107 = arith.select %106, %104, %out_49 : i64
      linalg.yield %105, %107 : f32, i64
    } -> (tensor<1x4x1xf32>, tensor<1x4x1xi64>)
    %expanded_30 = tensor.expand_shape %63#0 [[0], [1], [2, 3]] output_shape [1, 4, 1, 1] : tensor<1x4x1xf32> into tensor<1x4x1x1xf32>
    %64 = linalg.generic {indexing_maps = [#map6, #map11, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%58, %expanded_30 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%57 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.subf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x?xf32>
    %65 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<1x4x1x?xf32>) outs(%57 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.exp %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x?xf32>
    %66 = tensor.empty() : tensor<1x4x1x1xf32>
    %67 = linalg.fill ins(%cst : f32) outs(%66 : tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
    %68 = linalg.generic {indexing_maps = [#map6, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%65 : tensor<1x4x1x?xf32>) outs(%67 : tensor<1x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.addf %in, %out : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x1xf32>
    %69 = linalg.generic {indexing_maps = [#map6, #map11, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65, %68 : tensor<1x4x1x?xf32>, tensor<1x4x1x1xf32>) outs(%57 : tensor<1x4x1x?xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.divf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x4x1x?xf32>
    %dim_31 = tensor.dim %arg2, %c2 : tensor<1x2x?x32xf32>
    %70 = affine.apply #map8()[%dim_31]
    %expanded_32 = tensor.expand_shape %concat_23 [[0], [1], [2, 3], [4]] output_shape [1, 2, 1, %70, 32] : tensor<1x2x?x32xf32> into tensor<1x2x1x?x32xf32>
    cf.assert %49, "unimplemented: dynamic negative broadcast sizes"
    %71 = linalg.generic {indexing_maps = [#map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} outs(%50 : tensor<1x2x2x?x32xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 1 : index
      %104 = linalg.index 3 : index
      %105 = linalg.index 4 : index
      %106 = arith.cmpi eq, %70, %c1 : index
      %107 = arith.select %106, %c0, %104 : index
      %extracted = tensor.extract %expanded_32[%c0, %103, %c0, %107, %105] : tensor<1x2x1x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x2x2x?x32xf32>
    %collapsed_33 = tensor.collapse_shape %71 [[0], [1, 2], [3], [4]] : tensor<1x2x2x?x32xf32> into tensor<1x4x?x32xf32>
    cf.assert %49, "unimplemented: dynamic negative broadcast sizes"
    %72 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%57 : tensor<1x4x1x?xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 1 : index
      %104 = linalg.index 3 : index
      %105 = arith.cmpi eq, %48, %c1 : index
      %106 = arith.select %105, %c0, %104 : index
      %extracted = tensor.extract %69[%c0, %103, %c0, %106] : tensor<1x4x1x?xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x1x?xf32>
    %collapsed_34 = tensor.collapse_shape %72 [[0, 1], [2], [3]] : tensor<1x4x1x?xf32> into tensor<4x1x?xf32>
    cf.assert %49, "unimplemented: dynamic negative broadcast sizes"
    %73 = tensor.empty(%48) : tensor<1x4x?x32xf32>
    %74 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%73 : tensor<1x4x?x32xf32>) {
    ^bb0(%out: f32):
      %103 = linalg.index 1 : index
      %104 = linalg.index 2 : index
      %105 = linalg.index 3 : index
      %106 = arith.cmpi eq, %48, %c1 : index
      %107 = arith.select %106, %c0, %104 : index
      %extracted = tensor.extract %collapsed_33[%c0, %103, %107, %105] : tensor<1x4x?x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<1x4x?x32xf32>
    %collapsed_35 = tensor.collapse_shape %74 [[0, 1], [2], [3]] : tensor<1x4x?x32xf32> into tensor<4x?x32xf32>
    %75 = tensor.empty() : tensor<4x1x32xf32>
    %76 = linalg.fill ins(%cst : f32) outs(%75 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %77 = linalg.batch_matmul ins(%collapsed_34, %collapsed_35 : tensor<4x1x?xf32>, tensor<4x?x32xf32>) outs(%76 : tensor<4x1x32xf32>) -> tensor<4x1x32xf32>
    %expanded_36 = tensor.expand_shape %77 [[0, 1], [2], [3]] output_shape [1, 4, 1, 32] : tensor<4x1x32xf32> into tensor<1x4x1x32xf32>
    %78 = tensor.empty() : tensor<1x1x4x32xf32>
    %transposed_37 = linalg.transpose ins(%expanded_36 : tensor<1x4x1x32xf32>) outs(%78 : tensor<1x1x4x32xf32>) permutation = [0, 2, 1, 3] 
    %79 = tensor.empty() : tensor<128x48xf32>
    %transposed_38 = linalg.transpose ins(%arg7 : tensor<48x128xf32>) outs(%79 : tensor<128x48xf32>) permutation = [1, 0] 
    %collapsed_39 = tensor.collapse_shape %transposed_37 [[0], [1, 2, 3]] : tensor<1x1x4x32xf32> into tensor<1x128xf32>
    %80 = tensor.empty() : tensor<1x48xf32>
    %81 = linalg.fill ins(%cst : f32) outs(%80 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %82 = linalg.matmul ins(%collapsed_39, %transposed_38 : tensor<1x128xf32>, tensor<128x48xf32>) outs(%81 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_40 = tensor.expand_shape %82 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %83 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %expanded_40 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.addf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %84 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %85 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%84 : tensor<1x1x48xf32>) outs(%18 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.addf %in, %out : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %86 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%85 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.divf %in, %cst_7 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %87 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%86 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.truncf %cst_3 : f64 to f32
      %104 = arith.addf %in, %103 : f32
      linalg.yield %104 : f32
    } -> tensor<1x1x1xf32>
    %88 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%87 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = math.rsqrt %in : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x1xf32>
    %89 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83, %88 : tensor<1x1x48xf32>, tensor<1x1x1xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %90 = linalg.generic {indexing_maps = [#map3, #map5, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%89, %arg8 : tensor<1x1x48xf32>, tensor<48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    %91 = tensor.empty() : tensor<48x80xf32>
    %transposed_41 = linalg.transpose ins(%arg9 : tensor<80x48xf32>) outs(%91 : tensor<48x80xf32>) permutation = [1, 0] 
    %collapsed_42 = tensor.collapse_shape %90 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %92 = tensor.empty() : tensor<1x80xf32>
    %93 = linalg.fill ins(%cst : f32) outs(%92 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %94 = linalg.matmul ins(%collapsed_42, %transposed_41 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%93 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_43 = tensor.expand_shape %94 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %95 = tensor.empty() : tensor<1x1x80xf32>
    %96 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_43 : tensor<1x1x80xf32>) outs(%95 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %103 = arith.negf %in : f32
      %104 = math.exp %103 : f32
      %105 = arith.addf %104, %cst_1 : f32
      %106 = arith.divf %cst_1, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<1x1x80xf32>
    %97 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_43, %96 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%95 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x80xf32>
    %transposed_44 = linalg.transpose ins(%arg10 : tensor<80x48xf32>) outs(%91 : tensor<48x80xf32>) permutation = [1, 0] 
    %98 = linalg.matmul ins(%collapsed_42, %transposed_44 : tensor<1x48xf32>, tensor<48x80xf32>) outs(%93 : tensor<1x80xf32>) -> tensor<1x80xf32>
    %expanded_45 = tensor.expand_shape %98 [[0], [1, 2]] output_shape [1, 1, 80] : tensor<1x80xf32> into tensor<1x1x80xf32>
    %99 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%97, %expanded_45 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%95 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.mulf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x80xf32>
    %100 = tensor.empty() : tensor<80x48xf32>
    %transposed_46 = linalg.transpose ins(%arg11 : tensor<48x80xf32>) outs(%100 : tensor<80x48xf32>) permutation = [1, 0] 
    %collapsed_47 = tensor.collapse_shape %99 [[0], [1, 2]] : tensor<1x1x80xf32> into tensor<1x80xf32>
    %101 = linalg.matmul ins(%collapsed_47, %transposed_46 : tensor<1x80xf32>, tensor<80x48xf32>) outs(%81 : tensor<1x48xf32>) -> tensor<1x48xf32>
    %expanded_48 = tensor.expand_shape %101 [[0], [1, 2]] output_shape [1, 1, 48] : tensor<1x48xf32> into tensor<1x1x48xf32>
    %102 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%83, %expanded_48 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%15 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_49: f32, %out: f32):
      %103 = arith.addf %in, %in_49 : f32
      linalg.yield %103 : f32
    } -> tensor<1x1x48xf32>
    return %102, %concat_22, %concat_23 : tensor<1x1x48xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x32xf32>
  }
}
