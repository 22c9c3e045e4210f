#format = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, range = absmax>
#format1 = #kvq.format<codes = none>
#format2 = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, range = absmax, layout = #kvq.layout<codes = planar, row = [codes, scale, skip<128>]>>
#format3 = #kvq.format<codes = none, layout = #kvq.layout<codes = planar, row = [skip<528>, values]>>
#format4 = #kvq.format<codes = i4, group = [1, 128], scale = f16, range = absmax, rotate = hadamard<128>, center = bf16>
!cache = !kvq.cache<1x1x?x512xbf16, #format, exact_first = 4, recent = 16>
!cache1 = !kvq.cache<1x1x?x64xbf16, #format1>
!cache2 = !kvq.cache<1x1x?x512xbf16, #format2>
!cache3 = !kvq.cache<1x1x?x64xbf16, #format3>
!cache4 = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #format, [512:576] = none>, exact_first = 4, recent = 16>
!cache5 = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #format, [512:576] = none, row = [codes.0, scale.0, values.1]>>
!cache6 = !kvq.cache<1x1x?x576xbf16, #kvq.segments<[0:512] = #format4, [512:576] = none>, ring = 64, keep_first = 4>
module {
  func.func @ops(%arg0: !cache4) -> (!cache4, !cache) {
    %0 = kvq.extract_segment %arg0[1] : !cache4 -> !cache1
    %1 = kvq.insert_segment %0 into %arg0[1] : !cache1 into !cache4
    %2 = kvq.extract_segment %1[0] : !cache4 -> !cache
    return %1, %2 : !cache4, !cache
  }
  func.func @components(%arg0: tensor<1x1x?x512xi8>, %arg1: tensor<1x1x?x4xf32>, %arg2: tensor<1x1x4x512xbf16>, %arg3: tensor<1x1x16x512xbf16>, %arg4: tensor<1x1x?x64xbf16>) -> !cache4 {
    %0 = kvq.from_components %arg0, %arg1, %arg2, %arg3, %arg4 : tensor<1x1x?x512xi8>, tensor<1x1x?x4xf32>, tensor<1x1x4x512xbf16>, tensor<1x1x16x512xbf16>, tensor<1x1x?x64xbf16> -> !cache4
    return %0 : !cache4
  }
  func.func @row(%arg0: tensor<1x1x?x656xi8>) -> (!cache2, !cache3) {
    %0 = kvq.from_components %arg0 : tensor<1x1x?x656xi8> -> !cache5
    %1 = kvq.extract_segment %0[0] : !cache5 -> !cache2
    %2 = kvq.extract_segment %0[1] : !cache5 -> !cache3
    return %1, %2 : !cache2, !cache3
  }
  func.func private @ring(!cache6)
}

