#format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>
#format1 = #kvq.format<codes = i4, group = [1, 16], scale = f16, range = absmax>
!cache = !kvq.cache<2x2x256x16xf16, #format, exact_first = 2, recent = 64, ring = 128, keep_first = 4>
!cache1 = !kvq.cache<2x2x?x16xf16, #format1, ring = 128>
module {
  func.func @empty(%arg0: !cache) -> !cache1 {
    %0 = kvq.empty : !cache1
    return %0 : !cache1
  }
}

