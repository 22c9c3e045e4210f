#format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>
#format1 = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax>
#format2 = #kvq.format<codes = none>
!cache = !kvq.cache<1x8x?x128xf16, #format2>
module attributes {kvq.policy = #kvq.policy<<side = keys, format = #format, exact_first = 4, recent = 64>, <side = values, format = #format1>, <layers = [0, 30:32], format = #format2>, <side = keys, layers = [7], heads = [0:2, 5], format = #format, residual = 32>>} {
  func.func private @labels(!cache {kvq.layer = 3 : i64, kvq.side = #kvq.side<values>})
}

