#format = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, layout = #kvq.layout<codes = planar, bias, record = [scale, codes]>>
#format1 = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax, layout = #kvq.layout<codes = planar, record = [scale, zero]>>
module {
  func.func private @layouts() attributes {layouts = [#kvq.layout<codes = planar>, #kvq.layout<codes = planar<32>>, #kvq.layout<codes = stream, bias>, #kvq.layout<codes = stream<8, 2>, record = [scale, zero]>, #kvq.layout<codes = reversed, row = [codes, scale_zero]>, #kvq.layout<codes = planar, high = stream, bias, record = [scale, high, codes]>, #kvq.layout<codes = planar, tile = channel_pairs<64>>, #kvq.layout<codes = planar, bias, tile = token_pairs<16>>, #kvq.layout<codes = planar, tile = fragments<32>>]}
  func.func @records(%arg0: tensor<?x64xi8>, %arg1: tensor<?x2xf16>, %arg2: tensor<?x36xi8>) -> (tensor<?x64xi8>, tensor<?x2xf16>) {
    %0 = kvq.pack #format ins(%arg0, %arg1 : tensor<?x64xi8>, tensor<?x2xf16>) outs(%arg2 : tensor<?x36xi8>) -> tensor<?x36xi8>
    %1:2 = kvq.unpack #format ins(%0 : tensor<?x36xi8>) outs(%arg0, %arg1 : tensor<?x64xi8>, tensor<?x2xf16>) -> tensor<?x64xi8>, tensor<?x2xf16>
    return %1#0, %1#1 : tensor<?x64xi8>, tensor<?x2xf16>
  }
  func.func @beside(%arg0: tensor<64x16xi8>, %arg1: tensor<2x16xf16>, %arg2: tensor<2x16xf16>, %arg3: tensor<64x8xi8>, %arg4: tensor<2x64xi8>) -> (tensor<64x8xi8>, tensor<2x64xi8>) {
    %0:2 = kvq.pack #format1 ins(%arg0, %arg1, %arg2 : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>) outs(%arg3, %arg4 : tensor<64x8xi8>, tensor<2x64xi8>) -> tensor<64x8xi8>, tensor<2x64xi8>
    return %0#0, %0#1 : tensor<64x8xi8>, tensor<2x64xi8>
  }
}

