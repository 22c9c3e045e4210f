"""The public API: properties, round trips, and every error with what it expected and found."""

import dataclasses
import re
import threading

import ml_dtypes
import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq, compiler

I8 = "codes = i8, group = [1, *], scale = f32"
I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


def tokens(*shape: int, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def filled(text: str = I4, batch=1, heads=2, length=40, dim=64, capacity=64, **options) -> kvq.Cache:
    cache = kvq.Cache(batch, heads, capacity, dim, kvq.Format(text), fill=0xFF, **options)
    cache.append(tokens(batch, heads, length, dim))
    return cache


# --- formats -------------------------------------------------------------------------------------------------------


def test_format_fields():
    fmt = kvq.Format("group=[32,1], codes=ui4, zero=min f32, scale=f16")
    assert (fmt.codes, fmt.bits, fmt.signed, fmt.group, fmt.tokens) == ("ui4", 4, False, (32, 1), 32)
    assert (fmt.scale, fmt.zero, fmt.range, fmt.is_exact) == ("f16", "f32", "minmax", False)
    assert fmt.code_dtype == np.uint8
    whole = kvq.Format(I8)
    assert (whole.group, whole.zero, whole.range, whole.channels(128)) == ((1, None), None, "absmax", 128)
    assert whole.code_dtype == np.int8


def test_exact_format():
    fmt = kvq.Format("codes = none")
    assert (str(fmt), fmt.is_exact, fmt.bits, fmt.codes, fmt.tokens) == ("codes = none", True, 0, "none", 1)
    assert (fmt.group, fmt.scale, fmt.zero, fmt.range) == (None, None, None, None)


def test_format_text_is_canonical():
    fmt = kvq.Format(" scale = f16,codes=i4,  group = [1,32]")
    assert str(fmt) == "codes = i4, group = [1, 32], scale = f16, range = absmax"
    assert fmt == kvq.Format(str(fmt)) == kvq.Format(fmt) and hash(fmt) == hash(kvq.Format(str(fmt)))
    assert fmt != kvq.Format(I8) and fmt != str(fmt)
    assert repr(fmt) == f"Format('{fmt}')"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "codes"),
        ("codes = i7, group = [1, 32], scale = f16", "i7"),
        ("codes = i4, group = [1, 32]", "scale"),
        ("codes = i4, scale = f16", "group"),
        ("codes = ui4, group = [1, 32], scale = f16", "zero"),
        ("codes = i4, group = [*, 1], scale = f16", "range"),
        ("codes = i4, group = [1, 32], scale = f16, scales = f16", "scales"),
        ("codes = none>, #kvq.format<codes = none", "codes = none"),
    ],
)
def test_format_errors(text, message):
    with pytest.raises(kvq.Error, match=message):
        kvq.Format(text)


def test_error_is_a_value_error():
    assert issubclass(kvq.Error, ValueError)


# --- quantized arrays ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [I8, I4, PER_CHANNEL, "codes = ui2, group = [1, 16], scale = f16, zero = min f16"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_quantize_round_trip(text, dtype):
    fmt = kvq.Format(text)
    x = tokens(2, 3, 64, 64, dtype=dtype)
    z = kvq.quantize(x, fmt)
    groups = (2, 3, 64 // fmt.tokens, 64 // fmt.channels(64))
    assert (z.codes.shape, z.codes.dtype, z.scales.shape) == (x.shape, fmt.code_dtype, groups)
    assert z.format is fmt and (z.zeros is None) == (fmt.zero is None)
    assert (z.packed.dtype, z.packed.shape) == (np.uint8, (2, 3, 64, 64 * fmt.bits // 8))
    y = kvq.dequantize(z)
    assert (y.dtype, y.shape) == (np.float32, x.shape)
    step = np.repeat(np.repeat(z.scales.astype(np.float32), fmt.tokens, axis=2), fmt.channels(64), axis=3)
    assert np.all(np.abs(y - x.astype(np.float32)) <= 0.51 * step + 1e-3)


def test_packed_bytes_are_planar():
    fmt = kvq.Format("codes = ui4, group = [1, *], scale = f32, zero = min f32")
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 1, 16)  # minimum 0, scale 1: the codes are the values
    assert kvq.quantize(x, fmt).packed.flatten().tolist() == [j | (j + 8) << 4 for j in range(8)]
    signed = kvq.quantize(x - 127, kvq.Format(I8))
    assert signed.packed.view(np.int8).tolist() == signed.codes.tolist()


def test_quantize_takes_strided_arrays():
    x = tokens(1, 2, 8, 128)[..., ::2]
    fmt = kvq.Format(I8)
    assert np.array_equal(kvq.quantize(x, fmt).codes, kvq.quantize(x.copy(), fmt).codes)


def test_quantize_no_tokens():
    z = kvq.quantize(np.zeros((1, 2, 0, 64), np.float32), kvq.Format(I4))
    assert z.codes.shape == (1, 2, 0, 64) and z.scales.shape == (1, 2, 0, 2)


@pytest.mark.parametrize(
    "x, text, error, message",
    [
        (tokens(1, 2, 40, 64), PER_CHANNEL, kvq.Error, "40 tokens.*32 tokens"),
        (tokens(1, 2, 4, 80), I4, kvq.Error, "32.*80|80.*32"),
        (tokens(2, 4, 64), I4, kvq.Error, "3 axes"),
        (tokens(1, 2, 4, 64), "codes = none", kvq.Error, "nothing to quantize"),
        (tokens(1, 2, 4, 64, dtype=np.float64), I4, TypeError, "float16, bfloat16 or float32, got float64"),
        ([[1.0]], I4, TypeError, "float16, bfloat16 or float32, got list"),
    ],
)
def test_quantize_errors(x, text, error, message):
    with pytest.raises(error, match=message):
        kvq.quantize(x, kvq.Format(text))


# --- caches --------------------------------------------------------------------------------------------------------


def test_parts_that_do_not_belong_together_are_rejected():
    z = kvq.quantize(tokens(1, 2, 64, 64), kvq.Format(PER_CHANNEL))
    for name, part in (("scales", z.scales[:, :, :1]), ("zeros", z.zeros[:, :1])):
        broken = dataclasses.replace(z, **{name: np.ascontiguousarray(part)})
        expected = f"expected {name} of shape [1, 2, 2, 64], got {list(part.shape)}"
        with pytest.raises(kvq.Error, match=re.escape(expected)):
            kvq.dequantize(broken)
    with pytest.raises(kvq.Error, match="expected codes as .*, got 3 axes"):
        kvq.dequantize(dataclasses.replace(z, codes=z.codes[0]))


def test_cache_type_and_storage():
    cache = kvq.Cache(2, 3, 1000, 128, kvq.Format(PER_CHANNEL), exact_first=4, recent=64)
    assert cache.type == (
        "!kvq.cache<2x3x1000x128xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, "
        "range = minmax>, exact_first = 4, recent = 64>"
    )
    rows = (1000 - 4 - 64) // 32 * 32
    shapes = {name: (array.shape, array.dtype) for name, array in cache.storage().items()}
    assert shapes == {
        "codes": ((2, 3, rows, 64), np.int8),
        "scales": ((2, 3, rows // 32, 128), np.float16),
        "zeros": ((2, 3, rows // 32, 128), np.float16),
        "first": ((2, 3, 4, 128), np.float16),
        "recent": ((2, 3, 64 + 31, 128), np.float16),
    }
    assert cache.nbytes == 6 * (rows * 64 + 2 * rows // 32 * 128 * 2 + (4 + 95) * 128 * 2)
    assert all(array.ctypes.data % 64 == 0 for array in cache.storage().values())


def test_window_is_in_the_type_only_where_tokens_wait():
    def type_of(text, **windows):
        return kvq.Cache(1, 1, 64, 64, kvq.Format(text), **windows).type

    assert "recent" not in type_of(I4)
    assert "recent = 0" in type_of(PER_CHANNEL)
    assert "recent = 8" in type_of(I4, recent=8)
    assert "exact_first = 2" in type_of(I4, exact_first=2) and "recent" not in type_of(I4, exact_first=2)
    assert "xf32," in type_of(I4, dtype="f32")


def test_lengths_and_flushed():
    cache = kvq.Cache(2, 1, 100, 64, kvq.Format(PER_CHANNEL), exact_first=2, recent=10)
    assert cache.lengths.tolist() == cache.flushed.tolist() == [0, 0]
    cache.append(tokens(2, 1, 44, 64), counts=[44, 43])
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([44, 43], [32, 0])
    cache.lengths[:] = 7  # a copy
    assert cache.lengths.tolist() == [44, 43] and cache.lengths.dtype == np.int64
    plain = filled(I4, length=5, exact_first=2)
    assert plain.flushed.tolist() == [3]
    assert filled("codes = none", length=5).flushed.tolist() == [0]


def test_storage_is_live_and_padding_is_not_written():
    cache = kvq.Cache(2, 2, 16, 64, kvq.Format(I8), fill=0xAB)
    codes = cache.storage()["codes"]
    assert np.all(codes.view(np.uint8) == 0xAB)
    cache.append(tokens(2, 2, 5, 64), counts=[5, 3])
    assert np.all(codes[0, :, 5:].view(np.uint8) == 0xAB) and np.all(codes[1, :, 3:].view(np.uint8) == 0xAB)
    z = kvq.quantize(tokens(2, 2, 5, 64).astype(np.float16), cache.format)
    assert np.array_equal(codes[0, :, :5], z.codes[0]) and np.array_equal(codes[1, :, :3], z.codes[1, :, :3])


def test_bfloat16():
    """Arrays of ml_dtypes go in; what a cache stores is their bits, which are what a mean may be given as too."""
    x = tokens(1, 2, 9, 64).astype(ml_dtypes.bfloat16)
    exact = kvq.Cache(1, 2, 9, 64, kvq.Format("codes = none"), "bf16")
    exact.append(x)
    exact_bits = exact.storage()["values"]
    assert exact_bits.dtype == np.uint16 and np.array_equal(exact_bits, x.view(np.uint16))
    q = tokens(1, 4, 1, 64).astype(ml_dtypes.bfloat16)
    found = kvq.attention(q, exact, exact)
    np.testing.assert_allclose(found, kvq.attention(q.astype(np.float32), exact, exact), rtol=1e-5)
    fmt = kvq.Format(I8 + ", center = bf16")
    means = x.astype(np.float32).mean(axis=2)[0].astype(ml_dtypes.bfloat16)
    z = kvq.quantize(x, fmt, {"means": means})
    assert np.array_equal(z.codes, kvq.quantize(x, fmt, {"means": means.view(np.uint16)}).codes)
    with pytest.raises(TypeError, match="expected x as an array of float16, bfloat16 or float32, got uint16"):
        kvq.quantize(x.view(np.uint16), fmt)


@pytest.mark.parametrize("text", ["codes = none", I8, I4, PER_CHANNEL])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("exact_first, recent", [(0, 0), (3, 40)])
def test_dequantize_a_cache(text, dtype, exact_first, recent):
    if text == "codes = none" and recent:
        return  # nothing to keep exact
    cache = kvq.Cache(2, 2, 150, 64, kvq.Format(text), dtype, exact_first=exact_first, recent=recent, fill=0xFF)
    x = tokens(2, 2, 120, 64)
    cache.append(x, counts=[120, 90])
    elements = x.astype({"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[dtype])
    y = cache.dequantize()
    assert (y.shape, y.dtype) == (x.shape, np.float32)
    assert not y[1, :, 90:].any()
    for b, length in enumerate((120, 90)):
        coded = slice(exact_first, exact_first + int(cache.flushed[b]))
        expected = elements[b, :, :length].astype(np.float32)
        if not cache.format.is_exact:
            z = kvq.quantize(np.ascontiguousarray(elements[b : b + 1, :, coded]), cache.format)
            expected[:, coded] = kvq.dequantize(z)[0]
        assert np.array_equal(y[b, :, :length], expected)
    out = np.full(y.shape, np.nan, np.float32)
    assert cache.dequantize(out=out) is out and np.array_equal(out, y)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: kvq.Cache(1, 2, 8, 64, I4), "expected fmt as a kvq_mlir.Format, got str"),
        (lambda: kvq.quantize(tokens(1, 2, 4, 64), I4), "expected fmt as a kvq_mlir.Format, got str"),
        (lambda: kvq.dequantize(tokens(1, 2, 4, 64)), "expected z as a kvq_mlir.Quantized, got ndarray"),
        (lambda: kvq.attention(tokens(1, 2, 1, 64), None, filled()), "expected k as a kvq_mlir.Cache, got NoneType"),
        (lambda: kvq.attention(tokens(1, 2, 1, 64), filled(), I4), "expected v as a kvq_mlir.Cache, got str"),
    ],
)
def test_arguments_of_another_type(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_dequantize_an_empty_cache():
    assert kvq.Cache(1, 2, 8, 64, kvq.Format(I4)).dequantize().shape == (1, 2, 0, 64)


def test_streaming_equals_one_shot():
    x = tokens(1, 2, 100, 64)
    whole, streamed = (kvq.Cache(1, 2, 100, 64, kvq.Format(PER_CHANNEL), recent=8, fill=0) for _ in range(2))
    whole.append(x)
    for t in range(100):
        streamed.append(x[:, :, t : t + 1])
    for name in ("codes", "scales", "zeros"):
        assert np.array_equal(whole.storage()[name], streamed.storage()[name]), name
    # Slots of the recent ring that hold no token differ: one shot never wrote tokens there that were flushed at once.
    assert np.array_equal(whole.dequantize(), streamed.dequantize())


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(head_dim=80), "32.*80|80.*32"),
        (dict(batch=0), "batch of at least 1, got 0"),
        (dict(kv_heads=-1), "kv_heads of at least 1, got -1"),
        (dict(capacity=-1), "capacity of at least 0, got -1"),
        (dict(recent=-5), "recent of at least 0, got -5"),
        (dict(dtype="f64"), "'f16', 'bf16' or 'f32', got 'f64'"),
        (dict(fmt=kvq.Format("codes = none"), exact_first=4), "exact"),
    ],
)
def test_cache_errors(arguments, message):
    defaults = dict(batch=1, kv_heads=2, capacity=64, head_dim=64, fmt=kvq.Format(I4))
    with pytest.raises(kvq.Error, match=message):
        kvq.Cache(**{**defaults, **arguments})


@pytest.mark.parametrize(
    "x, counts, error, message",
    [
        (tokens(2, 4, 64), None, kvq.Error, "3 axes"),
        (tokens(2, 2, 4, 32), None, kvq.Error, r"\[2, 2, tokens, 64\], got \[2, 2, 4, 32\]"),
        (tokens(2, 3, 4, 64), None, kvq.Error, r"\[2, 2, tokens, 64\], got \[2, 3, 4, 64\]"),
        (tokens(2, 2, 4, 64), [4], kvq.Error, r"2 integer counts, got .* of shape \(1,\)"),
        (tokens(2, 2, 4, 64), [1.5, 2], kvq.Error, "2 integer counts, got float64"),
        (tokens(2, 2, 4, 64), [0, 5], kvq.Error, "sequence 1: expected a count from 0 to the 4 tokens given, got 5"),
        (tokens(2, 2, 4, 64), [-1, 0], kvq.Error, "sequence 0: .* got -1"),
        (tokens(2, 2, 9, 64), [0, 9], kvq.Error, "cache full: sequence 1 holds 2 tokens and cannot take 9 more.* 10"),
        (tokens(2, 2, 4, 64, dtype=np.float64), None, TypeError, "float16, bfloat16 or float32, got float64"),
        (tokens(2, 2, 4, 64).astype(np.int8), None, TypeError, "got int8"),
    ],
)
def test_append_errors_leave_the_cache_unchanged(x, counts, error, message):
    cache = kvq.Cache(2, 2, 10, 64, kvq.Format(I4), fill=0xFF)
    cache.append(tokens(2, 2, 3, 64), counts=[3, 2])
    before = {name: array.copy() for name, array in cache.storage().items()}
    with pytest.raises(error, match=message):
        cache.append(x, counts)
    assert cache.lengths.tolist() == [3, 2]
    for name, array in cache.storage().items():
        assert array.tobytes() == before[name].tobytes()


# --- attention -----------------------------------------------------------------------------------------------------


def test_attention_of_one_token_is_its_value():
    k, v = filled(I8, length=1), filled(I8, length=1)
    out = kvq.attention(tokens(1, 6, 1, 64), k, v)
    assert (out.dtype, out.shape) == (np.float32, (1, 6, 1, 64))
    np.testing.assert_allclose(out[0, :, 0], np.repeat(v.dequantize()[0, :, 0], 3, axis=0), rtol=1e-6)


def test_attention_writes_into_out():
    k, v = filled(), filled()
    q = tokens(1, 4, 3, 64)
    out = np.full(q.shape, np.nan, np.float32)
    assert kvq.attention(q, k, v, out=out) is out
    assert np.array_equal(out, kvq.attention(q, k, v))
    assert np.isfinite(out).all()


def test_attention_options_change_the_result():
    k, v = filled(length=40), filled(length=40)
    q = tokens(1, 4, 3, 64)
    plain = kvq.attention(q, k, v)
    assert not np.allclose(plain, kvq.attention(q, k, v, scale=0.5))
    assert np.array_equal(plain, kvq.attention(q, k, v, scale=1 / 8))
    full = kvq.attention(q, k, v, causal=False)
    assert not np.allclose(plain[:, :, 0], full[:, :, 0]) and np.allclose(plain[:, :, 2], full[:, :, 2], rtol=1e-5)
    np.testing.assert_allclose(kvq.attention(q, k, v, splits=3), plain, rtol=1e-4, atol=1e-6)
    halves = kvq.attention(q.astype(np.float16), k, v)
    assert halves.dtype == np.float32
    np.testing.assert_allclose(halves, kvq.attention(q.astype(np.float16).astype(np.float32), k, v), rtol=1e-5)


def test_attention_without_tokens_is_zero():
    k, v = (kvq.Cache(1, 2, 8, 64, kvq.Format(I4), fill=0xFF) for _ in range(2))
    out = np.full((1, 2, 1, 64), np.nan, np.float32)
    assert not kvq.attention(tokens(1, 2, 1, 64), k, v, out=out).any()


def test_one_kernel_serves_every_capacity_and_query_length():
    """Of one number of query tokens in a work item: 1, and 32 for most long prompts with these heads."""
    k, v = filled(length=10, capacity=16), filled(length=10, capacity=16)
    kvq.attention(tokens(1, 4, 1, 64), k, v)
    kvq.attention(tokens(1, 4, 32, 64), k, v)
    before = len(compiler._kernels)
    k, v = filled(length=300, capacity=512), filled(length=300, capacity=300)
    kvq.attention(tokens(1, 4, 1, 64), k, v)
    for queries in (64, 95, 250):
        kvq.attention(tokens(1, 4, queries, 64), k, v)
    kvq.attention(tokens(1, 4, 5, 64), k, v, query_tile=32)
    assert len(compiler._kernels) == before


@pytest.mark.parametrize(
    "q, options, error, message",
    [
        (tokens(4, 1, 64), {}, kvq.Error, "3 axes"),
        (tokens(2, 4, 1, 64), {}, kvq.Error, "caches' batch 1, got 2"),
        (tokens(1, 4, 1, 32), {}, kvq.Error, "head_dim 64, got 32"),
        (tokens(1, 5, 1, 64), {}, kvq.Error, "5 query heads are not a multiple of 2 KV heads"),
        (tokens(1, 4, 1, 64), dict(splits=0), kvq.Error, "at least 1 split, got 0"),
        (tokens(1, 4, 1, 64), dict(query_tile=0), kvq.Error, "a query_tile of at least 1 token, got 0"),
        (tokens(1, 4, 1, 64), dict(query_tile=4097), kvq.Error, "1 to 4096 query tokens in a work item, or 0, got 4097"),
        (tokens(1, 4, 1, 64), dict(scale=float("nan")), kvq.Error, "finite scale, got nan"),
        (tokens(1, 4, 1, 64), dict(out=np.zeros((1, 4, 1, 32), np.float32)), kvq.Error, r"\(1, 4, 1, 64\), got .*32\)"),
        (tokens(1, 4, 1, 64), dict(out=np.zeros((1, 4, 1, 64))), kvq.Error, "float32 .*, got float64"),
        (tokens(1, 4, 1, 64), dict(out=np.zeros((1, 4, 2, 64), np.float32)[:, :, ::2]), kvq.Error, "contiguous"),
        (tokens(1, 4, 1, 64, dtype=np.float64), {}, TypeError, "float16, bfloat16 or float32, got float64"),
    ],
)
def test_attention_errors(q, options, error, message):
    with pytest.raises(error, match=message):
        kvq.attention(q, filled(), filled(), **options)


@pytest.mark.parametrize(
    "k, v, message",
    [
        (dict(batch=2), {}, "K cache has batch 2, the V cache 1"),
        (dict(heads=4), {}, "K cache has 4 KV heads, the V cache 2"),
        (dict(length=40), dict(length=39), r"K cache holds \[40\] tokens, the V cache \[39\]"),
        (dict(text=PER_CHANNEL, exact_first=1), dict(text=PER_CHANNEL), "exact_first is 1 for keys and 0 for values"),
    ],
)
def test_caches_that_disagree(k, v, message):
    with pytest.raises(kvq.Error, match=message):
        kvq.attention(tokens(1, 4, 1, 64), filled(**k), filled(**v))


def test_read_only_out_is_rejected():
    out = np.zeros((1, 4, 1, 64), np.float32)
    out.flags.writeable = False
    with pytest.raises(kvq.Error, match="writable.*read-only"):
        kvq.attention(tokens(1, 4, 1, 64), filled(), filled(), out=out)
    q = tokens(1, 4, 1, 64)
    q.flags.writeable = False  # only read
    kvq.attention(q, filled(), filled())


def test_threads_share_one_compilation():
    k, v = filled(dim=96, length=10), filled(dim=96, length=10)
    q = tokens(1, 2, 1, 96)
    before, results = len(compiler._kernels), []
    threads = [threading.Thread(target=lambda: results.append(kvq.attention(q, k, v, scale=0.3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiler._kernels) == before + 1
    assert len(results) == 8 and all(np.array_equal(result, results[0]) for result in results)


# --- modules as text -----------------------------------------------------------------------------------------------

ADD = """
func.func @add(%a: memref<?x4xf32> {bufferization.writable = false}, %b: memref<?x4xf32>, %n: index, %s: f32) {
  linalg.add ins(%a, %b : memref<?x4xf32>, memref<?x4xf32>) outs(%b : memref<?x4xf32>)
  %c0 = arith.constant 0 : index
  memref.store %s, %b[%n, %c0] : memref<?x4xf32>
  return
}
"""


def test_parse_and_run_pipeline():
    text = "func.func @f(%x : !kvq.cache<1x1x8x64xf16,#kvq.format<codes=none>>){return}"
    canonical = kvq.parse(text)
    assert "!kvq.cache<1x1x8x64xf16, #kvq.format<codes = none>>" in canonical
    assert kvq.parse(canonical) == canonical
    assert "x1x8x64xf16>" in kvq.run_pipeline(text, "builtin.module(kvq-expand-caches)")
    with pytest.raises(kvq.Error, match=r"<module>:1:\d+: error: "):
        kvq.parse("func.func @f( {")
    with pytest.raises(kvq.Error, match="no-such-pass"):
        kvq.run_pipeline(text, "builtin.module(no-such-pass)")
    with pytest.raises(kvq.Error, match="expected a pipeline on builtin.module, got one on func.func"):
        kvq.run_pipeline(text, "func.func(canonicalize)")


@pytest.fixture(scope="module")
def add() -> _kvq.Kernel:
    return _kvq.compile(ADD)


def test_invoke(add):
    a, b = tokens(5, 4), tokens(5, 4)
    expected = a + b
    expected[3, 0] = 2.5
    a.flags.writeable = False
    add.invoke("add", (a, b, 3, 2.5))
    assert np.array_equal(b, expected)
    assert 0 < add.compile_seconds < 60


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((tokens(5, 4),), kvq.Error, "expected 4 arguments, got 1"),
        ((tokens(5, 4), tokens(5, 4, dtype=np.float16), 0, 1), kvq.Error, "argument 1: .* f32 .*got .*'e'"),
        ((tokens(5, 4), tokens(5, 3), 0, 1), kvq.Error, r"argument 1: .*\[\?, 4\], got .*\[5, 3\]"),
        ((tokens(5, 4), tokens(5, 8)[:, ::2], 0, 1), kvq.Error, "argument 1: .*strided"),
        ((tokens(5, 4), 7, 0, 1), TypeError, "argument 1: expected an array, got int"),
        ((tokens(5, 4), np.zeros(81, np.uint8)[1:].view(np.float32).reshape(5, 4), 0, 1), kvq.Error, "unaligned"),
    ],
)
def test_invoke_errors(add, arguments, error, message):
    with pytest.raises(error, match=message):
        add.invoke("add", arguments)


def test_unknown_function(add):
    with pytest.raises(kvq.Error, match="no function 'sub'"):
        add.invoke("sub", ())


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(cpu="itanium"), "processor .*, got 'itanium'"),
        (dict(features="+mmx3"), "feature .*, got 'mmx3'"),
        (dict(pipeline="builtin.module(canonicalize)"), "func.func"),
    ],
)
def test_compile_errors(options, message):
    with pytest.raises(kvq.Error, match=message):
        _kvq.compile(ADD, **options)


def test_values_cannot_be_returned():
    with pytest.raises(kvq.Error, match="'f' returns values"):
        _kvq.compile("func.func @f(%x: f32) -> f32 {\n %y = arith.addf %x, %x : f32\n return %y : f32 }")
    with pytest.raises(kvq.Error, match=re.escape("got complex<f32>")):
        _kvq.compile("func.func @f(%x: complex<f32>) { return }")


# --- storage of the caller's ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, options",
    [(I4, {}), (PER_CHANNEL, dict(exact_first=4, recent=8)), (I8, dict(ring=24, keep_first=2)), ("codes = none", {})],
)
def test_storage_that_holds_tokens_already(text, options):
    there = filled(text, **options)
    here = kvq.Cache(1, 2, 64, 64, kvq.Format(text), storage=there.storage(), lengths=there.lengths, **options)
    assert all(here.storage()[name] is array for name, array in there.storage().items())
    assert here.flushed.tolist() == there.flushed.tolist()
    assert np.array_equal(here.dequantize(), there.dequantize())
    assert np.array_equal(kvq.attention(tokens(1, 2, 1, 64), here, here), kvq.attention(tokens(1, 2, 1, 64), there, there))
    here.append(tokens(1, 2, 3, 64))  # goes on where those tokens end
    there.append(tokens(1, 2, 3, 64))
    assert np.array_equal(here.dequantize(), there.dequantize())


@pytest.mark.parametrize(
    "change, options, message",
    [
        (lambda s: s | {"more": s["codes"]}, {}, "expected storage of codes, scales, got codes, scales, more"),
        (lambda s: s | {"codes": s["codes"][:, :, :32]}, {}, "expected storage 'codes' as a C-contiguous, writable array"),
        (lambda s: s | {"codes": s["codes"].view(np.uint8)}, {}, r"as int8 of shape \[1, 2, 64, 32\], got uint8 of shape"),
        (lambda s: s | {"scales": np.zeros((1, 2, 64, 1), np.float16)}, {}, r"shape \[1, 2, 64, 2\], got float16 of"),
        (lambda s: s, dict(fill=0), "fill = 0 is for new memory: expected none beside storage"),
        (lambda s: s, dict(lengths=[65]), "expected lengths of at most the capacity 64, got 65"),
        (lambda s: s, dict(lengths=[-1]), "sequence 0: expected a length of at least 0, got -1"),
        (lambda s: None, dict(page=8, lengths=[4]), "lengths of a cache with pages need a page_table"),
    ],
)
def test_storage_that_does_not_fit(change, options, message):
    storage = change(filled().storage())
    with pytest.raises(kvq.Error, match=message):
        kvq.Cache(1, 2, 64, 64, kvq.Format(I4), storage=storage, **options)


def test_storage_of_another_kind():
    with pytest.raises(TypeError, match="expected storage 'codes' as an array of int8, got list"):
        kvq.Cache(1, 2, 64, 64, kvq.Format(I4), storage=filled().storage() | {"codes": [1]})
    storage = filled().storage()
    raw = np.zeros(storage["codes"].nbytes + 65, np.int8)
    odd = raw[-raw.ctypes.data % 64 + 1 :][: storage["codes"].size].reshape(storage["codes"].shape)
    with pytest.raises(kvq.Error, match="expected storage 'codes' aligned to 64 bytes, got address 0x"):
        kvq.Cache(1, 2, 64, 64, kvq.Format(I4), storage=storage | {"codes": odd})
