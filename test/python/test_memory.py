"""What a cache's memory holds, and where: unwritten bytes, ragged and empty sequences, offsets beyond 2^31.

Each test of a kind of fault that other systems had names the public report.
"""

import numpy as np
import pytest
from test_differential import FORMATS, TOLERANCE, divides, same

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.compiler import kernel
from kvq_mlir.ir.append import append as append_ir
from kvq_mlir.metrics import relative_l2

HEADS, DIM = 2, 64
I4 = "codes = i4, group = [1, 32], scale = f16"
UI2_PER_CHANNEL = "codes = ui2, group = [32, 1], scale = f16, zero = min f16"
LIVES = [
    (I4, {}),
    ("codes = none", {}),
    ("codes = ui8, group = [1, *], scale = f32, zero = min f32", dict(exact_first=3)),
    (UI2_PER_CHANNEL, dict(exact_first=2, recent=7)),
    ("codes = i8, group = [8, 1], scale = f32", dict(residual=24)),
]


def cache_of(text: str, batch: int = 1, capacity: int = 100, dim: int = DIM, **options) -> kvq.Cache:
    return kvq.Cache(batch, HEADS, capacity, dim, kvq.Format(text), **{"fill": 0xFF, **options})


def tokens(batch: int, count: int, seed: int = 7, dim: int = DIM) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((batch, HEADS, count, dim)).astype(np.float32)


# --- unwritten memory ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, windows", LIVES)
def test_unwritten_memory_has_no_influence(text, windows):
    """Pools that start as 0xFF.., NaNs wherever floats lie, give the bits of pools that start as zeros (vllm#47305,
    openvino#28681: 0 times NaN in the tail)."""
    outputs, values, stored = [], [], []
    for fill in (0x00, 0xFF, 0x7F):
        k, v = (cache_of(text, batch=3, fill=fill, **windows) for _ in range(2))
        for side, seed in ((k, 1), (v, 2)):
            side.append(tokens(3, 70, seed), [70, 1, 45])
            side.truncate([70, 1, 34])
            side.append(tokens(3, 9, seed + 2), [0, 1, 9])
            side.reorder([0, 2, 1])
            side.fork(1, [2], length=34)
        outputs.append(kvq.attention(tokens(3, 2), k, v, splits=2))
        values.append(k.dequantize())
        stored.append(k.flushed.tolist())
    assert np.isfinite(outputs[0]).all()
    for other in (1, 2):
        assert same(outputs[other], outputs[0]) and same(values[other], values[0]) and stored[other] == stored[0]


def test_views_of_one_storage_keep_their_scales():
    """Storage is made once: a second look at it resets nothing (vllm#51091: scales reset by an initialization per
    view)."""
    cache = cache_of(I4)
    cache.append(tokens(1, 20))
    first = cache.storage()
    before = {name: array.copy() for name, array in first.items()}
    second = cache.storage()
    kvq.attention(tokens(1, 1), cache, cache)
    cache.dequantize()
    for name in first:
        assert np.shares_memory(first[name], second[name])
        assert same(first[name].view(np.uint8), before[name].view(np.uint8)), name


@pytest.mark.parametrize("text, windows", LIVES)
def test_copies_into_poisoned_memory_are_whole(text, windows):
    """Codes, metadata and windows of a prefix saved to another sequence and restored from it (imp#1189: scales left
    out)."""
    cache = cache_of(text, batch=2, **windows)
    cache.append(tokens(2, 60), [60, 0])
    saved, out = cache.dequantize()[0], kvq.attention(tokens(2, 1), cache, cache)[0]
    cache.fork(0, [1])
    cache.truncate([0, 60])
    for array in cache.storage().values():
        array[0].view(np.uint8)[...] = 0xFF
    cache.fork(1, [0])
    assert same(cache.dequantize()[0], saved)
    for b in range(2):
        assert same(kvq.attention(np.repeat(tokens(2, 1)[:1], 2, axis=0), cache, cache)[b], out)


# --- ragged and empty sequences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, windows", LIVES)
@pytest.mark.parametrize("splits", [1, 2, 8])
def test_an_empty_sequence_between_others(text, windows, splits):
    """Lengths [5, 0, 3]: the empty one gives 0, whatever the output held (flashinfer#4051, #4975)."""
    k, v = (cache_of(text, batch=3, **windows) for _ in range(2))
    oracles = [reference.Cache(reference.Format.parse(text), 3, HEADS, DIM, 100, **windows) for _ in range(2)]
    for compiled, oracle, seed in zip((k, v), oracles, (1, 2), strict=True):
        x = tokens(3, 5, seed)
        x[1], x[2, :, 3:] = np.nan, np.nan  # padding
        compiled.append(x, [5, 0, 3])
        oracle.append(x, [5, 0, 3])
    q = tokens(3, 1)
    out = np.full(q.shape, np.nan, np.float32)
    kvq.attention(q, k, v, out=out, splits=splits)
    assert not out[1].any()
    expected = reference.attention(q, *oracles)
    for b in (0, 2):
        assert relative_l2(out[b], expected[b]) <= TOLERANCE


@pytest.mark.parametrize("text, windows", LIVES)
def test_empty_sequences_beside_full_ones(text, windows):
    full = cache_of(text, batch=2, **windows)
    full.append(tokens(2, 100), [100, 0])
    out = kvq.attention(tokens(2, 1), full, full)
    assert out[0].any() and not out[1].any()
    with pytest.raises(kvq.Error, match="sequence 0 holds 100 tokens and cannot take 1 more, its capacity is 100"):
        full.append(tokens(2, 1))
    full.reorder([1, 0])
    assert full.lengths.tolist() == [0, 100]
    assert same(kvq.attention(tokens(2, 1)[::-1].copy(), full, full)[::-1].copy(), out)


def test_dropping_a_sequence_keeps_the_other():
    """Lengths 10 and 6, the first dropped, then an append: behind its own 6 tokens, not behind 10 (omlx#2172)."""
    cache = cache_of(I4, batch=2)
    cache.append(tokens(2, 10), [10, 6])
    kept = cache.dequantize()[1, :, :6]
    cache.reorder([1, 1])
    cache.append(tokens(2, 1, seed=9), [1, 0])
    assert cache.lengths.tolist() == [7, 6]
    assert same(cache.dequantize()[0, :, :6], kept)
    alone = cache_of(I4)
    alone.append(tokens(2, 1, seed=9)[:1])
    assert same(cache.dequantize()[0, :, 6:], alone.dequantize()[0])


# --- windows -------------------------------------------------------------------------------------------------------


def test_the_newest_tokens_stay_exact():
    """R = 128, 300 tokens, groups of 32: 160 are quantized, 140 exact (transformers#34189: the last R were not)."""
    cache = cache_of("codes = ui4, group = [32, 1], scale = f16, zero = min f16", capacity=300, recent=128)
    x = tokens(1, 300).astype(np.float16)
    exact = []
    for begin in range(300):
        cache.append(x[:, :, begin : begin + 1])
        exact.append(int(cache.lengths[0] - cache.flushed[0]))
    assert cache.flushed.tolist() == [160] and exact[-1] == 140
    assert all(128 <= count <= 128 + 31 for count in exact[127:])
    values = cache.dequantize()
    assert np.array_equal(values[:, :, 160:], x[:, :, 160:].astype(np.float32))
    assert not np.array_equal(values[:, :, :160], x[:, :, :160].astype(np.float32))


@pytest.mark.parametrize("window, flushed", [(dict(recent=32), 160), (dict(residual=32), 192)])
def test_keys_of_a_decode_are_quantized(window, flushed):
    """G = R = 32, 2 bits: 32 tokens at once and 168 one by one give the codes of 200 at once (VeloxQuant#162: keys of
    a decode were never quantized)."""
    x = tokens(1, 200, dim=128)
    streamed, whole = (cache_of(UI2_PER_CHANNEL, capacity=200, dim=128, **window) for _ in range(2))
    streamed.append(x[:, :, :32])
    for t in range(32, 200):
        streamed.append(x[:, :, t : t + 1])
    whole.append(x)
    assert streamed.flushed.tolist() == whole.flushed.tolist() == [flushed]
    for name in ("codes", "scales", "zeros"):
        assert same(streamed.storage()[name].view(np.uint8), whole.storage()[name].view(np.uint8)), name
    stored = streamed.storage()
    rows = {"codes": flushed, "scales": flushed // 32, "zeros": flushed // 32}
    quantized = sum(stored[name][0, 0, :n].nbytes for name, n in rows.items())
    assert quantized == flushed * 32 + flushed // 32 * 2 * 128 * 2
    if "recent" in window:
        assert (quantized, (200 - flushed) * 128 * 2) == (7680, 10240)


def test_repeats_give_the_same_codes(rng):
    """The same input three times (llama.cpp#28527)."""
    for text in rng.choice([text for text in FORMATS if divides(text, DIM)], 4):
        x = rng.standard_normal((2, HEADS, 96, DIM)).astype(np.float32)
        caches = []
        for fill in (0x00, 0xFF, 0x55):
            caches.append(cache_of(str(text), batch=2, fill=fill))
            caches[-1].append(x)
        for cache in caches[1:]:
            for name in cache.storage().keys() - {"recent"}:
                n = int(cache.flushed[0]) // (1 if name == "codes" else cache.format.tokens)
                assert same(cache.storage()[name][:, :, :n], caches[0].storage()[name][:, :, :n]), text


# --- offsets beyond 2^31 -------------------------------------------------------------------------------------------

LOAD = """
!c = {cache}
func.func @load(%c: !c, %b: index, %begin: index, %out: tensor<{heads}x4x{dim}xf32>)
    -> tensor<{heads}x4x{dim}xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %heads = arith.constant {heads} : index
  %end = arith.addi %begin, %c4 : index
  %r = scf.for %h = %c0 to %heads step %c1 iter_args(%o = %out) -> tensor<{heads}x4x{dim}xf32> {{
    %t:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%begin to %end] {{tile = 4}}
        : !c -> tensor<?x{dim}xi8>, tensor<?x1xf16>
    %codes = tensor.cast %t#0 : tensor<?x{dim}xi8> to tensor<4x{dim}xi8>
    %scales = tensor.cast %t#1 : tensor<?x1xf16> to tensor<4x1xf16>
    %place = tensor.extract_slice %o[%h, 0, 0] [1, 4, {dim}] [1, 1, 1]
        : tensor<{heads}x4x{dim}xf32> to tensor<4x{dim}xf32>
    %y = kvq.dequantize {fmt} ins(%codes, %scales : tensor<4x{dim}xi8>, tensor<4x1xf16>)
        outs(%place : tensor<4x{dim}xf32>) -> tensor<4x{dim}xf32>
    %s = tensor.insert_slice %y into %o[%h, 0, 0] [1, 4, {dim}] [1, 1, 1]
        : tensor<4x{dim}xf32> into tensor<{heads}x4x{dim}xf32>
    scf.yield %s : tensor<{heads}x4x{dim}xf32>
  }}
  return %r : tensor<{heads}x4x{dim}xf32>
}}
"""


@pytest.mark.parametrize(
    "bits, rows",
    [
        (8, 2**20 + 1000),  # bytes, and codes, pass 2^31 in the second sequence
        (4, 2**20 + 1000),  # codes pass 2^31, bytes do not
        (4, 2**21 + 1000),  # bytes do
    ],
)
def test_offsets_beyond_two_to_the_31(bits, rows):
    """A pool that is mapped but hardly touched: an append at its very end, and what attention and a tile read there
    (vllm#47671, #50427: an offset that wraps)."""
    batch, dim = 2, 512
    fmt = kvq.Format(f"codes = i{bits}, group = [1, *], scale = f16")
    cache = kvq.Cache(batch, HEADS, rows, dim, fmt)
    codes = cache.storage()["codes"]
    assert batch * HEADS * rows * dim > 2**31 and (codes.nbytes > 2**31) == ((bits, rows) != (4, 2**20 + 1000))
    edges = [(b, h, t) for b in range(batch) for h in range(HEADS) for t in (0, 1, 2, rows - 6, rows - 5, rows - 1)]
    for edge in edges:
        codes[edge] = 0x11
        cache.storage()["scales"][edge] = np.nan

    x = tokens(batch, 4, dim=dim)
    append = kernel(append_ir, (batch, HEADS, dim), "f32", cache.dynamic_type, False)
    arrays = tuple(cache.storage().values())
    lengths = np.array([rows - 4, rows - 4])
    append.invoke("append", (x, *arrays, lengths, np.array([0, 4])))

    z = kvq.quantize(x.astype(np.float16), fmt)
    assert np.array_equal(codes[1, :, rows - 4 :].view(np.uint8), z.packed[1].view(np.uint8))
    assert same(cache.storage()["scales"][1, :, rows - 4 :], z.scales[1])
    for edge in edges:
        if edge[0] == 0 or edge[2] != rows - 1:
            assert np.all(codes[edge] == 0x11) and np.isnan(cache.storage()["scales"][edge]), edge

    load = _kvq.compile(LOAD.format(cache=cache.dynamic_type, heads=HEADS, dim=dim, fmt=f"#kvq.format<{fmt}>"))
    out = np.full((HEADS, 4, dim), np.nan, np.float32)
    load.invoke("load", (*arrays, 1, rows - 4, out))
    assert np.array_equal(out, kvq.dequantize(z)[1])

    # The second sequence starts beyond, in its last head: attention over its first tokens.
    append.invoke("append", (x, *arrays, np.zeros(batch, np.int64), np.array([0, 4])))
    cache._lengths[:] = [0, 4]
    q = tokens(batch, 1, seed=8, dim=dim)
    expected = reference.attention(q[1:], [kvq.dequantize(z)[1]], [kvq.dequantize(z)[1]])
    found = kvq.attention(q, cache, cache)
    assert not found[0].any() and relative_l2(found[1], expected[0]) <= TOLERANCE
