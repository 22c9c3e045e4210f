#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map7 = affine_map<(d0, d1, d2) -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map9 = affine_map<(d0, d1, d2) -> (d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map13 = affine_map<() -> ()>
#map14 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map16 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, d3)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
#map18 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4, d5)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map20 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3, d2)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map22 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map23 = affine_map<(d0, d1, d2, d3, d4) -> (d4)>
#map24 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map25 = affine_map<(d0, d1, d2, d3) -> ()>
#map26 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map27 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map28 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4, d5)>
#map29 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
#map30 = affine_map<(d0, d1, d2) -> (d1, d2)>
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1xi32>, %arg1: tensor<i32>, %arg2: tensor<1x56x2x32xf32>, %arg3: tensor<1x56x2x32xf32>, %arg4: tensor<1x56x2x32xf32>, %arg5: tensor<1x56x2x32xf32>, %arg6: tensor<32x48xf32>, %arg7: tensor<48xf32>, %arg8: tensor<128x48xf32>, %arg9: tensor<64x48xf32>, %arg10: tensor<64x48xf32>, %arg11: tensor<48x128xf32>, %arg12: tensor<48xf32>, %arg13: tensor<80x48xf32>, %arg14: tensor<80x48xf32>, %arg15: tensor<48x80xf32>, %arg16: tensor<48xf32>, %arg17: tensor<128x48xf32>, %arg18: tensor<64x48xf32>, %arg19: tensor<64x48xf32>, %arg20: tensor<48x128xf32>, %arg21: tensor<48xf32>, %arg22: tensor<80x48xf32>, %arg23: tensor<80x48xf32>, %arg24: tensor<48x80xf32>, %arg25: tensor<48xf32>) -> (tensor<1x32xf32> {jax.result_info = "result[0]"}, tensor<1x56x2x32xf32> {jax.result_info = "result[1]"}, tensor<1x56x2x32xf32> {jax.result_info = "result[2]"}, tensor<1x56x2x32xf32> {jax.result_info = "result[3]"}, tensor<1x56x2x32xf32> {jax.result_info = "result[4]"}) {
    %c16 = arith.constant 16 : index
    %cst = arith.constant 0xFF800000 : f32
    %c55 = arith.constant 55 : index
    %c56_i32 = arith.constant 56 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %c31 = arith.constant 31 : index
    %c0 = arith.constant 0 : index
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = arith.constant dense<0.176776692> : tensor<f32>
    %cst_4 = arith.constant dense<1.000000e+04> : tensor<f32>
    %cst_5 = arith.constant dense<1.600000e+01> : tensor<f32>
    %cst_6 = arith.constant dense<9.99999997E-7> : tensor<f32>
    %cst_7 = arith.constant dense<4.800000e+01> : tensor<f32>
    %cst_8 = arith.constant dense<32> : tensor<i32>
    %cst_9 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<1xi32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_9 : tensor<i32>) outs(%0 : tensor<1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1xi32>
    %2 = tensor.empty() : tensor<1xi1>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg0, %1 : tensor<1xi32>, tensor<1xi32>) outs(%2 : tensor<1xi1>) {
    ^bb0(%in: i32, %in_29: i32, %out: i1):
      %222 = arith.cmpi slt, %in, %in_29 : i32
      linalg.yield %222 : i1
    } -> tensor<1xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_8 : tensor<i32>) outs(%0 : tensor<1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1xi32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg0, %4 : tensor<1xi32>, tensor<1xi32>) outs(%0 : tensor<1xi32>) {
    ^bb0(%in: i32, %in_29: i32, %out: i32):
      %222 = arith.addi %in, %in_29 : i32
      linalg.yield %222 : i32
    } -> tensor<1xi32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel"]} ins(%3, %5, %arg0 : tensor<1xi1>, tensor<1xi32>, tensor<1xi32>) outs(%0 : tensor<1xi32>) {
    ^bb0(%in: i1, %in_29: i32, %in_30: i32, %out: i32):
      %222 = arith.select %in, %in_29, %in_30 : i32
      linalg.yield %222 : i32
    } -> tensor<1xi32>
    %7 = tensor.empty() : tensor<1x1xi32>
    %8 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<1xi32>) outs(%7 : tensor<1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x1xi32>
    %9 = tensor.empty() : tensor<1x48xf32>
    %10 = linalg.generic {indexing_maps = [#map3], iterator_types = ["parallel", "parallel"]} outs(%9 : tensor<1x48xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 1 : index
      %extracted_29 = tensor.extract %8[%c0, %c0] : tensor<1x1xi32>
      %223 = arith.index_cast %extracted_29 : i32 to index
      %224 = arith.maxsi %223, %c0 : index
      %225 = arith.minsi %224, %c31 : index
      %extracted_30 = tensor.extract %arg6[%225, %222] : tensor<32x48xf32>
      linalg.yield %extracted_30 : f32
    } -> tensor<1x48xf32>
    %11 = tensor.empty() : tensor<1x1x48xf32>
    %12 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %13 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %12 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %14 = tensor.empty() : tensor<1x1xf32>
    %15 = linalg.fill ins(%cst_0 : f32) outs(%14 : tensor<1x1xf32>) -> tensor<1x1xf32>
    %16 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%13 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %17 = tensor.empty() : tensor<1x1x1xf32>
    %18 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16 : tensor<1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %19 = linalg.generic {indexing_maps = [#map7, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18, %19 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map7, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %21 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %24 = linalg.generic {indexing_maps = [#map8, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23 : tensor<1x1x1xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %25 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %24 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %26 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg7 : tensor<48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %27 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%25, %26 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %28 = tensor.empty() : tensor<1x1x128xf32>
    %29 = linalg.fill ins(%cst_0 : f32) outs(%28 : tensor<1x1x128xf32>) -> tensor<1x1x128xf32>
    %30 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27, %arg8 : tensor<1x1x48xf32>, tensor<128x48xf32>) outs(%29 : tensor<1x1x128xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x128xf32>
    %expanded = tensor.expand_shape %30 [[0], [1], [2, 3]] output_shape [1, 1, 4, 32] : tensor<1x1x128xf32> into tensor<1x1x4x32xf32>
    %31 = tensor.empty() : tensor<1x1x64xf32>
    %32 = linalg.fill ins(%cst_0 : f32) outs(%31 : tensor<1x1x64xf32>) -> tensor<1x1x64xf32>
    %33 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27, %arg9 : tensor<1x1x48xf32>, tensor<64x48xf32>) outs(%32 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x64xf32>
    %expanded_10 = tensor.expand_shape %33 [[0], [1], [2, 3]] output_shape [1, 1, 2, 32] : tensor<1x1x64xf32> into tensor<1x1x2x32xf32>
    %34 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27, %arg10 : tensor<1x1x48xf32>, tensor<64x48xf32>) outs(%32 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x64xf32>
    %expanded_11 = tensor.expand_shape %34 [[0], [1], [2, 3]] output_shape [1, 1, 2, 32] : tensor<1x1x64xf32> into tensor<1x1x2x32xf32>
    %35 = tensor.empty() : tensor<16xf32>
    %36 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%35 : tensor<16xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 0 : index
      %223 = arith.index_cast %222 : index to i32
      %224 = arith.sitofp %223 : i32 to f32
      linalg.yield %224 : f32
    } -> tensor<16xf32>
    %37 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%36 : tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %38 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_5 : tensor<f32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %39 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%37, %38 : tensor<16xf32>, tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %40 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_4 : tensor<f32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %41 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%40, %39 : tensor<16xf32>, tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = math.powf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %42 = tensor.empty() : tensor<f32>
    %43 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%42 : tensor<f32>) {
    ^bb0(%in: i32, %out: f32):
      %222 = arith.sitofp %in : i32 to f32
      linalg.yield %222 : f32
    } -> tensor<f32>
    %44 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%43 : tensor<f32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %45 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%44, %41 : tensor<16xf32>, tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %46 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%45 : tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.cos %in : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %47 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%45 : tensor<16xf32>) outs(%35 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.sin %in : f32
      linalg.yield %222 : f32
    } -> tensor<16xf32>
    %extracted_slice = tensor.extract_slice %expanded[0, 0, 0, 0] [1, 1, 4, 16] [1, 1, 1, 1] : tensor<1x1x4x32xf32> to tensor<1x1x4x16xf32>
    %extracted_slice_12 = tensor.extract_slice %expanded[0, 0, 0, 16] [1, 1, 4, 16] [1, 1, 1, 1] : tensor<1x1x4x32xf32> to tensor<1x1x4x16xf32>
    %48 = tensor.empty() : tensor<1x1x1x16xf32>
    %49 = linalg.generic {indexing_maps = [#map14, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<16xf32>) outs(%48 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x16xf32>
    %50 = tensor.empty() : tensor<1x1x4x16xf32>
    %51 = linalg.generic {indexing_maps = [#map16, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<1x1x1x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x16xf32>
    %52 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %51 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %53 = linalg.generic {indexing_maps = [#map14, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<16xf32>) outs(%48 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x16xf32>
    %54 = linalg.generic {indexing_maps = [#map16, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<1x1x1x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x16xf32>
    %55 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_12, %54 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %56 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%52, %55 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %57 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice, %54 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %58 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_12, %51 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %59 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%57, %58 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %60 = tensor.empty() : tensor<1x1x4x32xf32>
    %61 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%60 : tensor<1x1x4x32xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 2 : index
      %223 = linalg.index 3 : index
      %224 = arith.cmpi ult, %223, %c16 : index
      %225 = scf.if %224 -> (f32) {
        %extracted_29 = tensor.extract %56[%c0, %c0, %222, %223] : tensor<1x1x4x16xf32>
        scf.yield %extracted_29 : f32
      } else {
        %226 = arith.subi %223, %c16 : index
        %extracted_29 = tensor.extract %59[%c0, %c0, %222, %226] : tensor<1x1x4x16xf32>
        scf.yield %extracted_29 : f32
      }
      linalg.yield %225 : f32
    } -> tensor<1x1x4x32xf32>
    %extracted_slice_13 = tensor.extract_slice %expanded_10[0, 0, 0, 0] [1, 1, 2, 16] [1, 1, 1, 1] : tensor<1x1x2x32xf32> to tensor<1x1x2x16xf32>
    %extracted_slice_14 = tensor.extract_slice %expanded_10[0, 0, 0, 16] [1, 1, 2, 16] [1, 1, 1, 1] : tensor<1x1x2x32xf32> to tensor<1x1x2x16xf32>
    %62 = tensor.empty() : tensor<1x1x2x16xf32>
    %63 = linalg.generic {indexing_maps = [#map16, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<1x1x1x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2x16xf32>
    %64 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_13, %63 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %65 = linalg.generic {indexing_maps = [#map16, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<1x1x1x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2x16xf32>
    %66 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_14, %65 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %67 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%64, %66 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %68 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_13, %65 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %69 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_14, %63 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %70 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%68, %69 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %71 = tensor.empty() : tensor<1x1x2x32xf32>
    %72 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%71 : tensor<1x1x2x32xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 2 : index
      %223 = linalg.index 3 : index
      %224 = arith.cmpi ult, %223, %c16 : index
      %225 = scf.if %224 -> (f32) {
        %extracted_29 = tensor.extract %67[%c0, %c0, %222, %223] : tensor<1x1x2x16xf32>
        scf.yield %extracted_29 : f32
      } else {
        %226 = arith.subi %223, %c16 : index
        %extracted_29 = tensor.extract %70[%c0, %c0, %222, %226] : tensor<1x1x2x16xf32>
        scf.yield %extracted_29 : f32
      }
      linalg.yield %225 : f32
    } -> tensor<1x1x2x32xf32>
    %73 = tensor.empty() : tensor<i1>
    %74 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%73 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %222 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %222 : i1
    } -> tensor<i1>
    %75 = tensor.empty() : tensor<i32>
    %76 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%75 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %222 = arith.addi %in, %c56_i32 : i32
      linalg.yield %222 : i32
    } -> tensor<i32>
    %77 = linalg.generic {indexing_maps = [#map13, #map13, #map13, #map13], iterator_types = []} ins(%74, %76, %arg1 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%75 : tensor<i32>) {
    ^bb0(%in: i1, %in_29: i32, %in_30: i32, %out: i32):
      %222 = arith.select %in, %in_29, %in_30 : i32
      linalg.yield %222 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %77[] : tensor<i32>
    %78 = arith.index_cast %extracted : i32 to index
    %79 = arith.maxsi %78, %c0 : index
    %80 = arith.minsi %79, %c55 : index
    %inserted_slice = tensor.insert_slice %72 into %arg2[0, %80, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] : tensor<1x1x2x32xf32> into tensor<1x56x2x32xf32>
    %inserted_slice_15 = tensor.insert_slice %expanded_11 into %arg3[0, %80, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] : tensor<1x1x2x32xf32> into tensor<1x56x2x32xf32>
    %expanded_16 = tensor.expand_shape %61 [[0], [1], [2, 3], [4]] output_shape [1, 1, 2, 2, 32] : tensor<1x1x4x32xf32> into tensor<1x1x2x2x32xf32>
    %81 = tensor.empty() : tensor<1x2x56x1x2xf32>
    %82 = linalg.fill ins(%cst_0 : f32) outs(%81 : tensor<1x2x56x1x2xf32>) -> tensor<1x2x56x1x2xf32>
    %83 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice, %expanded_16 : tensor<1x56x2x32xf32>, tensor<1x1x2x2x32xf32>) outs(%82 : tensor<1x2x56x1x2xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x2x56x1x2xf32>
    %84 = tensor.empty() : tensor<1x2x2x1x56xf32>
    %85 = linalg.generic {indexing_maps = [#map20, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%83 : tensor<1x2x56x1x2xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %86 = linalg.generic {indexing_maps = [#map22, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %87 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%85, %86 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %88 = tensor.empty() : tensor<56xi32>
    %89 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%88 : tensor<56xi32>) {
    ^bb0(%out: i32):
      %222 = linalg.index 0 : index
      %223 = arith.index_cast %222 : index to i32
      linalg.yield %223 : i32
    } -> tensor<56xi32>
    %90 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%arg1 : tensor<i32>) outs(%88 : tensor<56xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<56xi32>
    %91 = tensor.empty() : tensor<56xi1>
    %92 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%89, %90 : tensor<56xi32>, tensor<56xi32>) outs(%91 : tensor<56xi1>) {
    ^bb0(%in: i32, %in_29: i32, %out: i1):
      %222 = arith.cmpi sle, %in, %in_29 : i32
      linalg.yield %222 : i1
    } -> tensor<56xi1>
    %93 = linalg.generic {indexing_maps = [#map13], iterator_types = []} outs(%42 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %94 = tensor.empty() : tensor<1x2x2x1x56xi1>
    %95 = linalg.generic {indexing_maps = [#map23, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%92 : tensor<56xi1>) outs(%94 : tensor<1x2x2x1x56xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x2x1x56xi1>
    %96 = linalg.generic {indexing_maps = [#map22, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%93 : tensor<f32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %97 = linalg.generic {indexing_maps = [#map21, #map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%95, %87, %96 : tensor<1x2x2x1x56xi1>, tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: i1, %in_29: f32, %in_30: f32, %out: f32):
      %222 = arith.select %in, %in_29, %in_30 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %98 = tensor.empty() : tensor<1x2x2x1xf32>
    %99 = linalg.fill ins(%cst : f32) outs(%98 : tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
    %100 = linalg.generic {indexing_maps = [#map21, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%97 : tensor<1x2x2x1x56xf32>) outs(%99 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.maximumf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %101 = linalg.generic {indexing_maps = [#map25, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%98 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1xf32>
    %102 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%101, %100 : tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) outs(%98 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.maximumf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %103 = tensor.empty() : tensor<1x2x2x1x1xf32>
    %104 = linalg.generic {indexing_maps = [#map24, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%102 : tensor<1x2x2x1xf32>) outs(%103 : tensor<1x2x2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x1xf32>
    %105 = linalg.generic {indexing_maps = [#map26, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%104 : tensor<1x2x2x1x1xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %106 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%97, %105 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %107 = linalg.generic {indexing_maps = [#map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%106 : tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %108 = linalg.fill ins(%cst_0 : f32) outs(%98 : tensor<1x2x2x1xf32>) -> tensor<1x2x2x1xf32>
    %109 = linalg.generic {indexing_maps = [#map21, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%107 : tensor<1x2x2x1x56xf32>) outs(%108 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %110 = linalg.generic {indexing_maps = [#map24, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%109 : tensor<1x2x2x1xf32>) outs(%103 : tensor<1x2x2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x1xf32>
    %111 = linalg.generic {indexing_maps = [#map26, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%110 : tensor<1x2x2x1x1xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %112 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%107, %111 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %113 = tensor.empty() : tensor<1x2x32x2x1xf32>
    %114 = linalg.fill ins(%cst_0 : f32) outs(%113 : tensor<1x2x32x2x1xf32>) -> tensor<1x2x32x2x1xf32>
    %115 = linalg.generic {indexing_maps = [#map27, #map28, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice_15, %112 : tensor<1x56x2x32xf32>, tensor<1x2x2x1x56xf32>) outs(%114 : tensor<1x2x32x2x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x2x32x2x1xf32>
    %116 = tensor.empty() : tensor<1x1x2x2x32xf32>
    %117 = linalg.generic {indexing_maps = [#map29, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%115 : tensor<1x2x32x2x1xf32>) outs(%116 : tensor<1x1x2x2x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2x2x32xf32>
    %collapsed = tensor.collapse_shape %117 [[0], [1], [2, 3, 4]] : tensor<1x1x2x2x32xf32> into tensor<1x1x128xf32>
    %118 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<1x1x48xf32>) -> tensor<1x1x48xf32>
    %119 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed, %arg11 : tensor<1x1x128xf32>, tensor<48x128xf32>) outs(%118 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x48xf32>
    %120 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %119 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %121 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%120, %120 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %122 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%121 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %123 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%122 : tensor<1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %124 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%123, %19 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %125 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%124, %21 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %126 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%125 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %127 = linalg.generic {indexing_maps = [#map8, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%126 : tensor<1x1x1xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %128 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%120, %127 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %129 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg12 : tensor<48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %130 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128, %129 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %131 = tensor.empty() : tensor<1x1x80xf32>
    %132 = linalg.fill ins(%cst_0 : f32) outs(%131 : tensor<1x1x80xf32>) -> tensor<1x1x80xf32>
    %133 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%130, %arg13 : tensor<1x1x48xf32>, tensor<80x48xf32>) outs(%132 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %134 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133 : tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %135 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%134 : tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %136 = linalg.generic {indexing_maps = [#map7, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x80xf32>
    %137 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136, %135 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %138 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136, %137 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %139 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133, %138 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %140 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%130, %arg14 : tensor<1x1x48xf32>, tensor<80x48xf32>) outs(%132 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %141 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139, %140 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %142 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%141, %arg15 : tensor<1x1x80xf32>, tensor<48x80xf32>) outs(%118 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x48xf32>
    %143 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%120, %142 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %144 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%143, %143 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %145 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%144 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %146 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%145 : tensor<1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %147 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%146, %19 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %148 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%147, %21 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %149 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%148 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %150 = linalg.generic {indexing_maps = [#map8, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%149 : tensor<1x1x1xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %151 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%143, %150 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %152 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg16 : tensor<48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %153 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%151, %152 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %154 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%153, %arg17 : tensor<1x1x48xf32>, tensor<128x48xf32>) outs(%29 : tensor<1x1x128xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x128xf32>
    %expanded_17 = tensor.expand_shape %154 [[0], [1], [2, 3]] output_shape [1, 1, 4, 32] : tensor<1x1x128xf32> into tensor<1x1x4x32xf32>
    %155 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%153, %arg18 : tensor<1x1x48xf32>, tensor<64x48xf32>) outs(%32 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x64xf32>
    %expanded_18 = tensor.expand_shape %155 [[0], [1], [2, 3]] output_shape [1, 1, 2, 32] : tensor<1x1x64xf32> into tensor<1x1x2x32xf32>
    %156 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%153, %arg19 : tensor<1x1x48xf32>, tensor<64x48xf32>) outs(%32 : tensor<1x1x64xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x64xf32>
    %expanded_19 = tensor.expand_shape %156 [[0], [1], [2, 3]] output_shape [1, 1, 2, 32] : tensor<1x1x64xf32> into tensor<1x1x2x32xf32>
    %extracted_slice_20 = tensor.extract_slice %expanded_17[0, 0, 0, 0] [1, 1, 4, 16] [1, 1, 1, 1] : tensor<1x1x4x32xf32> to tensor<1x1x4x16xf32>
    %extracted_slice_21 = tensor.extract_slice %expanded_17[0, 0, 0, 16] [1, 1, 4, 16] [1, 1, 1, 1] : tensor<1x1x4x32xf32> to tensor<1x1x4x16xf32>
    %157 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_20, %51 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %158 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_21, %54 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %159 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%157, %158 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %160 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_20, %54 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %161 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_21, %51 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %162 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%160, %161 : tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>) outs(%50 : tensor<1x1x4x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x4x16xf32>
    %163 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%60 : tensor<1x1x4x32xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 2 : index
      %223 = linalg.index 3 : index
      %224 = arith.cmpi ult, %223, %c16 : index
      %225 = scf.if %224 -> (f32) {
        %extracted_29 = tensor.extract %159[%c0, %c0, %222, %223] : tensor<1x1x4x16xf32>
        scf.yield %extracted_29 : f32
      } else {
        %226 = arith.subi %223, %c16 : index
        %extracted_29 = tensor.extract %162[%c0, %c0, %222, %226] : tensor<1x1x4x16xf32>
        scf.yield %extracted_29 : f32
      }
      linalg.yield %225 : f32
    } -> tensor<1x1x4x32xf32>
    %extracted_slice_22 = tensor.extract_slice %expanded_18[0, 0, 0, 0] [1, 1, 2, 16] [1, 1, 1, 1] : tensor<1x1x2x32xf32> to tensor<1x1x2x16xf32>
    %extracted_slice_23 = tensor.extract_slice %expanded_18[0, 0, 0, 16] [1, 1, 2, 16] [1, 1, 1, 1] : tensor<1x1x2x32xf32> to tensor<1x1x2x16xf32>
    %164 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_22, %63 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %165 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_23, %65 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %166 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%164, %165 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %167 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_22, %65 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %168 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_23, %63 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %169 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%167, %168 : tensor<1x1x2x16xf32>, tensor<1x1x2x16xf32>) outs(%62 : tensor<1x1x2x16xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x2x16xf32>
    %170 = linalg.generic {indexing_maps = [#map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%71 : tensor<1x1x2x32xf32>) {
    ^bb0(%out: f32):
      %222 = linalg.index 2 : index
      %223 = linalg.index 3 : index
      %224 = arith.cmpi ult, %223, %c16 : index
      %225 = scf.if %224 -> (f32) {
        %extracted_29 = tensor.extract %166[%c0, %c0, %222, %223] : tensor<1x1x2x16xf32>
        scf.yield %extracted_29 : f32
      } else {
        %226 = arith.subi %223, %c16 : index
        %extracted_29 = tensor.extract %169[%c0, %c0, %222, %226] : tensor<1x1x2x16xf32>
        scf.yield %extracted_29 : f32
      }
      linalg.yield %225 : f32
    } -> tensor<1x1x2x32xf32>
    %inserted_slice_24 = tensor.insert_slice %170 into %arg4[0, %80, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] : tensor<1x1x2x32xf32> into tensor<1x56x2x32xf32>
    %inserted_slice_25 = tensor.insert_slice %expanded_19 into %arg5[0, %80, 0, 0] [1, 1, 2, 32] [1, 1, 1, 1] : tensor<1x1x2x32xf32> into tensor<1x56x2x32xf32>
    %expanded_26 = tensor.expand_shape %163 [[0], [1], [2, 3], [4]] output_shape [1, 1, 2, 2, 32] : tensor<1x1x4x32xf32> into tensor<1x1x2x2x32xf32>
    %171 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice_24, %expanded_26 : tensor<1x56x2x32xf32>, tensor<1x1x2x2x32xf32>) outs(%82 : tensor<1x2x56x1x2xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x2x56x1x2xf32>
    %172 = linalg.generic {indexing_maps = [#map20, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%171 : tensor<1x2x56x1x2xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %173 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%172, %86 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %174 = linalg.generic {indexing_maps = [#map21, #map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%95, %173, %96 : tensor<1x2x2x1x56xi1>, tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: i1, %in_29: f32, %in_30: f32, %out: f32):
      %222 = arith.select %in, %in_29, %in_30 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %175 = linalg.generic {indexing_maps = [#map21, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%174 : tensor<1x2x2x1x56xf32>) outs(%99 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.maximumf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %176 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%101, %175 : tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32>) outs(%98 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.maximumf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %177 = linalg.generic {indexing_maps = [#map24, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%176 : tensor<1x2x2x1xf32>) outs(%103 : tensor<1x2x2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x1xf32>
    %178 = linalg.generic {indexing_maps = [#map26, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%177 : tensor<1x2x2x1x1xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %179 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%174, %178 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.subf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %180 = linalg.generic {indexing_maps = [#map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%179 : tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %181 = linalg.generic {indexing_maps = [#map21, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%180 : tensor<1x2x2x1x56xf32>) outs(%108 : tensor<1x2x2x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1xf32>
    %182 = linalg.generic {indexing_maps = [#map24, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%181 : tensor<1x2x2x1xf32>) outs(%103 : tensor<1x2x2x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x1xf32>
    %183 = linalg.generic {indexing_maps = [#map26, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%182 : tensor<1x2x2x1x1xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x2x1x56xf32>
    %184 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%180, %183 : tensor<1x2x2x1x56xf32>, tensor<1x2x2x1x56xf32>) outs(%84 : tensor<1x2x2x1x56xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x2x2x1x56xf32>
    %185 = linalg.generic {indexing_maps = [#map27, #map28, #map19], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%inserted_slice_25, %184 : tensor<1x56x2x32xf32>, tensor<1x2x2x1x56xf32>) outs(%114 : tensor<1x2x32x2x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x2x32x2x1xf32>
    %186 = linalg.generic {indexing_maps = [#map29, #map21], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%185 : tensor<1x2x32x2x1xf32>) outs(%116 : tensor<1x1x2x2x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x2x2x32xf32>
    %collapsed_27 = tensor.collapse_shape %186 [[0], [1], [2, 3, 4]] : tensor<1x1x2x2x32xf32> into tensor<1x1x128xf32>
    %187 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed_27, %arg20 : tensor<1x1x128xf32>, tensor<48x128xf32>) outs(%118 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x48xf32>
    %188 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%143, %187 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %189 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188, %188 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %190 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%189 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %191 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%190 : tensor<1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %192 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%191, %19 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %193 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%192, %21 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %194 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%193 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %195 = linalg.generic {indexing_maps = [#map8, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%194 : tensor<1x1x1xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %196 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188, %195 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %197 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg21 : tensor<48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %198 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196, %197 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %199 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%198, %arg22 : tensor<1x1x48xf32>, tensor<80x48xf32>) outs(%132 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %200 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%199 : tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.negf %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %201 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%200 : tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.exp %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %202 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136, %201 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %203 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%136, %202 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %204 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%199, %203 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %205 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%198, %arg23 : tensor<1x1x48xf32>, tensor<80x48xf32>) outs(%132 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x80xf32>
    %206 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%204, %205 : tensor<1x1x80xf32>, tensor<1x1x80xf32>) outs(%131 : tensor<1x1x80xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x80xf32>
    %207 = linalg.generic {indexing_maps = [#map10, #map11, #map12], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%206, %arg24 : tensor<1x1x80xf32>, tensor<48x80xf32>) outs(%118 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x1x48xf32>
    %208 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%188, %207 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %209 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%208, %208 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %210 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%209 : tensor<1x1x48xf32>) outs(%15 : tensor<1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = arith.addf %out, %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1xf32>
    %211 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210 : tensor<1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1xf32>
    %212 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%211, %19 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.divf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %213 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%212, %21 : tensor<1x1x1xf32>, tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.addf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %214 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%213 : tensor<1x1x1xf32>) outs(%17 : tensor<1x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %222 = math.rsqrt %in : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x1xf32>
    %215 = linalg.generic {indexing_maps = [#map8, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%214 : tensor<1x1x1xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %216 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%208, %215 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %217 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg25 : tensor<48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x48xf32>
    %218 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel"]} ins(%216, %217 : tensor<1x1x48xf32>, tensor<1x1x48xf32>) outs(%11 : tensor<1x1x48xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      linalg.yield %222 : f32
    } -> tensor<1x1x48xf32>
    %collapsed_28 = tensor.collapse_shape %218 [[0], [1, 2]] : tensor<1x1x48xf32> into tensor<1x48xf32>
    %219 = tensor.empty() : tensor<1x32xf32>
    %220 = linalg.fill ins(%cst_0 : f32) outs(%219 : tensor<1x32xf32>) -> tensor<1x32xf32>
    %221 = linalg.generic {indexing_maps = [#map4, #map30, #map6], iterator_types = ["parallel", "parallel", "reduction"]} ins(%collapsed_28, %arg6 : tensor<1x48xf32>, tensor<32x48xf32>) outs(%220 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %in_29: f32, %out: f32):
      %222 = arith.mulf %in, %in_29 : f32
      %223 = arith.addf %out, %222 : f32
      linalg.yield %223 : f32
    } -> tensor<1x32xf32>
    return %221, %inserted_slice, %inserted_slice_15, %inserted_slice_24, %inserted_slice_25 : tensor<1x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>, tensor<1x56x2x32xf32>
  }
}
