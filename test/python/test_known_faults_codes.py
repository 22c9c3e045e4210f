"""Faults that other systems had in codes, scales and zeros: that none of kvq's formats and paths has them.

Each test names the public report. The right values follow from the data: they lie on the format's grid, or within its
step. Most data have one shape, so that tests share kernels.
"""

import numpy as np
import pytest
from attention_paths import CHIPS
from known_faults import (
    BITS,
    DTYPES,
    FLOATS,
    FULL,
    GROUPS,
    PICK,
    UNIT,
    attend,
    blocks,
    emulator_for,
    every_path,
    filled,
    formats,
    group_of,
    highest_code,
    mean,
    metadata,
    on_grid,
    pattern_keys,
    patterns,
    pick,
    spans,
    worst,
)

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

BATCH, HEADS, DIM = 2, 2, 64


def by_group(values: list[float], text: str, tokens: int) -> np.ndarray:
    """[BATCH, HEADS, tokens, DIM], one value in a group, all of them in turn."""
    group, _ = blocks(text, tokens, DIM)
    sequence = np.arange(BATCH * HEADS).reshape(BATCH, HEADS, 1, 1) * (group.max() + 1) + group
    return np.array(values, np.float32)[sequence % len(values)]


# --- 1: padding enters the range -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [96, 72, 80, 112])
def test_rows_that_are_no_power_of_two(dim):
    """lmdeploy#4849: the error of 4-bit codes grows at head_dim 96, where padded lanes enter the minimum."""
    text = "codes = ui4, group = [1, *], scale = f32, zero = min f32"
    x = (5 + 0.1 * (np.arange(dim) % 16)).astype(np.float32).reshape(1, 1, 1, dim)
    assert kvq.quantize(x, kvq.Format(text)).codes.flatten().tolist() == [i % 16 for i in range(dim)]
    for path, found in every_path(x, text).items():
        assert worst(found, x) <= 1e-6, path


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dim", [8, 24, 40, 72, 80, 88, 96, 100, 104, 112, 120, 136, 200])
def test_ragged_rows(dim, bits):
    """lmdeploy#4849, in every width of row and of codes: values far from 0, so that a 0 beside them would show."""
    highest = 2**bits - 1
    place = np.arange(dim) % (highest + 1)
    place[-1] = highest  # rows shorter than the codes reach both ends too
    x = (5 + 0.125 * place).astype(np.float32).reshape(1, 1, 1, dim)
    x = np.concatenate([x, -x, 3 * x], axis=2)
    text = f"codes = ui{bits}, group = [1, *], scale = f16, zero = min f16"
    codes, scales, zeros = metadata(x, text)
    assert np.array_equal(codes[0, 0, 0], place) and np.array_equal(codes[0, 0, 1], highest - place)
    assert scales.flatten().tolist() == [0.125, 0.125, 0.375]
    assert zeros.flatten().tolist() == [5, -5 - 0.125 * highest, 15]
    for path, found in every_path(x, text).items():
        assert worst(found, x) == 0, path


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize(
    "tokens, channels, dim",
    [(3, 1, 8), (5, 1, 24), (7, 1, 40), (24, 1, 8), (1, 12, 72), (1, 20, 80), (1, 36, 72)],
)
def test_ragged_groups(tokens, channels, dim, bits):
    """lmdeploy#4849, in groups of tokens and of channels that no power of two describes."""
    text = f"codes = ui{bits}, group = [{tokens}, {channels}], scale = f16, zero = min f16"
    _, place = blocks(text, 2 * tokens, dim)
    code = np.where(place == place.max(), 2**bits - 1, place % 2**bits)
    x = np.broadcast_to((5 + 0.125 * code).astype(np.float32), (1, 2, *code.shape))
    assert np.array_equal(metadata(x, text)[0][0, 1], code)
    for path, found in every_path(x, text).items():
        assert worst(found, x) == 0, path


# --- 2, 4, 5: groups without a range, or nearly ----------------------------------------------------------------------

CONSTANTS = [0, 0.01, 100, -3.5, 60000, -0.0, -1e-6, 65504, 1e-7]


@pytest.mark.parametrize("text", formats(groups=((16, 1), (1, 16), *GROUPS), signed=False))
def test_constant_groups(text):
    """openvino#37095: a constant key channel, whose reciprocal overflows. With a zero, its value is the constant."""
    x = by_group(CONSTANTS, text, 32)
    for dtype in FLOATS if FULL else ("f32",):
        expected = x.astype(DTYPES[dtype]).astype(DTYPES[kvq.Format(text).zero]).astype(np.float32)
        codes, scales, zeros = metadata(x, text, dtype)
        assert not codes.any() and not scales.any() and np.isfinite(zeros).all()
        for path, found in every_path(x, text, dtype).items():
            assert worst(found, expected) == 0, (path, dtype)


@pytest.mark.parametrize("text", formats(groups=((16, 1), (1, 16), *GROUPS), unsigned=False))
def test_constant_groups_of_symmetric_codes(text):
    """openvino#37095: without a zero, within half a step, and no metadata is infinite."""
    x = by_group(CONSTANTS, text, 32)
    for dtype in FLOATS if FULL else ("f32",):
        elements = x.astype(DTYPES[dtype]).astype(np.float32)
        codes, scales, _ = metadata(x, text, dtype)
        assert np.isfinite(scales).all() and np.array_equal(codes == 0, elements == 0)
        bound = spans(elements, text)[0] / 2 * 1.001 + UNIT[kvq.Format(text).scale]
        for path, found in every_path(x, text, dtype).items():
            assert np.all(np.abs(found - elements) <= np.where(elements == 0, 0, bound)), (path, dtype)


@pytest.mark.parametrize("text", formats())
def test_channel_of_zeros(text, rng):
    """aiter#4289: a value channel of zeros gives 0/0. Its codes are 0, and so is the output, whatever the query."""
    g = group_of(text, DIM)[1]
    zeros = [7] if kvq.Format(text).signed or g == 1 else range(7 // g * g, 7 // g * g + g)  # with a zero: its group
    x = rng.standard_normal((BATCH, HEADS, 64, DIM)).astype(np.float32)
    x[..., zeros] = np.where(rng.random((BATCH, HEADS, 64, len(zeros))) < 0.5, 0.0, -0.0)
    codes, scales, minima = metadata(x, text)
    assert not codes[..., zeros].any() and np.isfinite(scales).all()
    assert minima is None or np.isfinite(minima).all()
    for path, found in every_path(x, text).items():
        assert np.all(found[..., zeros] == 0) and np.isfinite(found).all(), path
    cache = filled(x, text)
    out = attend(rng.standard_normal((BATCH, HEADS, 2, DIM)).astype(np.float32), cache, cache)
    assert np.all(out[..., zeros] == 0) and np.isfinite(out).all()
    assert np.all(mean(cache, cache)[..., zeros] == 0)


@pytest.mark.parametrize("text", formats())
def test_nothing_but_zeros(text):
    """aiter#4289: whole caches of zeros, as keys too."""
    x = np.zeros((BATCH, HEADS, 64, DIM), np.float32)
    for path, found in every_path(x, text).items():
        assert np.all(found == 0), path
    cache = filled(x, text)
    assert np.all(attend(np.ones((BATCH, HEADS, 1, DIM), np.float32), cache, cache) == 0)


@pytest.mark.parametrize("text", formats())
def test_tiny_groups(text):
    """llama.cpp#7313: a group of tiny elements whose scale underflows to 0 gives NaN."""
    fmt = kvq.Format(text)
    coarse = max(UNIT[kind] for kind in (fmt.scale, fmt.zero) if kind)
    for tiny in (2.0**-24, 1e-30, -1e-30, 2.0**-126, 2.0**-149, -(2.0**-149), 2.0**-20, 3e-7):
        x = np.zeros((BATCH, HEADS, 32, DIM), np.float32)
        x[0, 0, 0] = x[0, 0, :, 0] = tiny  # rows and columns of it
        x[1, 1, ::2, 1::2] = tiny  # a part of each group
        codes, scales, zeros = metadata(x, text)
        assert np.isfinite(scales).all() and (zeros is None or np.isfinite(zeros).all())
        spread = spans(x, text)[0][..., :: fmt.tokens, :: group_of(text, DIM)[1]]
        assert np.array_equal(scales > 0, spread > 0), tiny
        # A scale that is rounded up, a minimum that is rounded: at most one unit, or half of a step.
        bound = max(coarse, abs(tiny) / highest_code(text) / 2 * 1.001)
        for path, found in every_path(x, text).items():
            assert worst(found, x) <= bound, (path, tiny)
        cache = filled(x, text)
        assert worst(mean(cache, cache), x.astype(np.float64).mean(axis=2, keepdims=True)) <= bound * 1.001


# --- 10: bytes with the high bit -------------------------------------------------------------------------------------


def raw_codes(stored: np.ndarray, text: str) -> np.ndarray:
    """The codes of packed rows [tokens, bytes], by the arithmetic of their definition: float64 [tokens, dim]."""
    fmt = kvq.Format(text)
    planes = stored.astype(np.int64) // 2 ** (fmt.bits * np.arange(8 // fmt.bits)[:, None, None]) % 2**fmt.bits
    if fmt.signed:
        planes -= 2**fmt.bits * (planes >= 2 ** (fmt.bits - 1))
    return np.concatenate(list(planes), axis=-1).astype(np.float64)


def raw_cache(text: str, tokens: int) -> tuple[kvq.Cache, np.ndarray]:
    """A cache whose storage is written byte by byte: codes of every byte in every place, and metadata of whose bytes
    all but perhaps the last have their high bit set. And its values, float64 [tokens, DIM]."""
    fmt = kvq.Format(text)
    cache = filled(np.zeros((BATCH, HEADS, tokens, DIM), np.float32), text)
    storage = cache.storage()
    stored = (np.arange(tokens)[:, None] + np.arange(DIM * fmt.bits // 8)).astype(np.uint8)
    storage["codes"].view(np.uint8)[:, :, :tokens] = stored
    values = raw_codes(stored, text)
    for name, sign in [("scales", 0x00)] + [("zeros", 0x80)] * bool(fmt.zero):
        part = storage[name]
        rows, groups = tokens // fmt.tokens, part.shape[3]
        raw = part.view(np.uint8).reshape(*part.shape, part.itemsize)
        raw[:, :, :rows] = 0x80 + np.arange(rows * groups * part.itemsize).reshape(rows, groups, -1) * 7 % 128
        raw[:, :, :rows, :, -1] = sign | (0x3C if part.itemsize == 2 else 0x3F)  # +-1 to 1.5
        assert np.all(raw[:, :, :rows, :, :-1] >= 0x80) and np.isfinite(part[:, :, :rows]).all()
        spread = np.repeat(np.repeat(part[0, 0, :rows].astype(np.float64), fmt.tokens, axis=0), DIM // groups, axis=1)
        values = values * spread if name == "scales" else values + spread
    return cache, values


@pytest.mark.parametrize("text", formats())
def test_every_byte_of_codes_and_metadata(text):
    """FBGEMM#5705: a byte of metadata from 128 on is sign-extended. All bytes, read from storage by every path."""
    tokens = 256
    cache, expected = raw_cache(text, tokens)
    bound = 2.0**-22 * np.abs(expected).max()
    assert worst(cache.dequantize(), expected) <= bound
    keys = pattern_keys(cache, tokens, text)
    assert worst(pick(keys, cache, tokens), expected) <= bound
    assert worst(mean(cache, cache), expected.mean(axis=0)) <= 10 * bound
    # As keys: query i sees channel i alone. The scores of all tokens weigh values that alternate.
    alternating = np.broadcast_to(np.arange(tokens)[:, None] % 2, (BATCH, HEADS, tokens, DIM)).astype(np.float32)
    values = filled(alternating, text)
    q = np.float32(1 / np.abs(expected).max()) * np.eye(DIM, dtype=np.float32)
    weights = np.exp(q[0, 0] * expected)  # [tokens, channels]
    share = (weights / weights.sum(axis=0)).T @ values.dequantize()[0, 0].astype(np.float64)
    found = attend(np.broadcast_to(q, (BATCH, HEADS, DIM, DIM)), cache, values)
    assert worst(found, share) <= 1e-5
    assert np.ptp(share[:, 0]) >= 1e-4  # which the bound tells apart
    if device := emulator_for(text):
        targets = slice(0, tokens, 37)
        signs = np.broadcast_to(patterns(tokens, DIM)[targets], (BATCH, HEADS, 7, DIM))
        found = attend(PICK * signs, keys, cache, device=device)
        assert worst(found, expected[targets]) <= 2e-3 * np.abs(expected).max()
        assert worst(mean(cache, cache, device=device), expected.mean(axis=0)) <= 2e-3 * np.abs(expected).max()
        weights = np.exp(8 * q[0, 0] * (expected - expected.max(axis=0)))
        share = (weights / weights.sum(axis=0)).T @ values.dequantize()[0, 0].astype(np.float64)
        found = attend(8 * np.broadcast_to(q, (BATCH, HEADS, DIM, DIM))[:, :, ::9], cache, values, device=device)
        print(np.ptp(share[:, 0]), worst(found, share[::9]))
        assert worst(found, share[::9]) <= 5e-3


@pytest.mark.parametrize("text", formats(signed=False))
def test_codes_from_128_on(text):
    """FBGEMM#5705: the upper half of the codes survives quantizing, packing and reading."""
    highest = highest_code(text)
    _, place = blocks(text, 256, DIM)
    code = np.add(*np.indices((256, DIM))) % (highest + 1)
    code = np.where(place == 0, 0, np.where(place == place.max(), highest, code))
    assert len(np.unique(code)) == highest + 1
    x = np.broadcast_to(code, (BATCH, HEADS, 256, DIM)).astype(np.float32)
    assert np.array_equal(metadata(x, text)[0], x)
    for path, found in every_path(x, text).items():
        assert worst(found, x) == 0, path


# --- 11: a parameter that the kernel ignores -------------------------------------------------------------------------

WIDE_GROUPS = [(1, g) for g in (8, 16, 32, 64, 128)] + [(n, 1) for n in (8, 16, 32, 64, 128)]


def shape_for(text: str) -> tuple[int, int, int, int]:
    """At least two groups in each direction."""
    tokens = kvq.Format(text).tokens
    return (1, 2, 6, 256) if tokens == 1 else (1, 2, 2 * tokens, 16)


@pytest.mark.parametrize("text", formats(groups=WIDE_GROUPS))
def test_data_on_the_grid_is_exact(text, rng):
    """vllm#38479, VeloxQuant#97: the kernel ignores the width of codes or the size of groups."""
    for dtype in FLOATS:
        x = on_grid(rng, text, shape_for(text))
        assert worst(kvq.dequantize(kvq.quantize(x.astype(DTYPES[dtype]), kvq.Format(text))), x) == 0


@pytest.mark.parametrize("codes", [f"{sign}i{bits}" for sign in ("", "u") for bits in BITS])
@pytest.mark.parametrize("group", WIDE_GROUPS)
def test_caches_on_the_grid_are_exact(codes, group, rng):
    """vllm#38479, VeloxQuant#97, in caches and in attention, as values and as keys."""
    texts = [text for text in formats(groups=[group]) if text.startswith(f"codes = {codes},")]
    for text in texts if FULL else [str(rng.choice(texts))]:
        dtype = str(rng.choice(FLOATS))
        print(f"{text}, T = {dtype}")
        k, v = (on_grid(rng, text, shape_for(text)) for _ in range(2))
        for path, found in every_path(v, text, dtype).items():
            assert worst(found, v) == 0, path
        # As keys: scores between -4 and 4, where each of them counts.
        q = rng.uniform(-1, 1, (1, 2, 5, k.shape[3])).astype(np.float32)
        q *= 4 / np.abs(q @ k.swapaxes(2, 3)).max()
        expected = reference.attention(q, list(k), list(v), scale=1.0, causal=False)
        sides = filled(k, text, "f32"), filled(v, text, dtype)
        assert relative_l2(attend(q, *sides), expected) <= 1e-5
        if device := emulator_for(text):
            assert relative_l2(attend(q, *sides, device=device), expected) <= 2e-3


# --- 16: a scale shared by what is unlike ----------------------------------------------------------------------------


def test_keys_and_values_have_scales_of_their_own(rng):
    """TensorRT-LLM#967: one scale for K and V; keys reach 20, values 0.5."""
    text = "codes = i8, group = [1, *], scale = f32"
    k = rng.uniform(-20, 20, (BATCH, HEADS, 64, DIM)).astype(np.float32)
    v = rng.uniform(-0.5, 0.5, (BATCH, HEADS, 64, DIM)).astype(np.float32)
    k[..., 0], v[..., 1] = 20, -0.5
    keys, values = filled(k, text), filled(v, text)
    separate = values.dequantize()
    shared = filled(np.concatenate([k, v], axis=3), text).dequantize()[..., DIM:]
    assert worst(separate, v) <= 0.002 and 0.07 <= worst(shared, v) <= 0.079
    assert 35 <= relative_l2(shared, v) / relative_l2(separate, v) <= 45
    # Attention scales each side by its own.
    assert worst(pick(pattern_keys(values, 64, text), values, 64), v) <= 0.002
    q = rng.uniform(-0.1, 0.1, (BATCH, HEADS, 2, DIM)).astype(np.float32)
    expected = reference.attention(q, list(keys.dequantize()), list(separate), scale=1.0, causal=False)
    assert relative_l2(attend(q, keys, values), expected) <= 1e-5


@pytest.mark.parametrize("text", formats())
def test_scales_are_shared_within_a_group_only(text, rng):
    """TensorRT-LLM#967: sequences, heads and groups of very different size do not see each other."""
    fmt = kvq.Format(text)
    group, _ = blocks(text, 2 * fmt.tokens, DIM)
    groups = group.max() + 1
    exponents = rng.permuted(np.linspace(-6, 6, BATCH * HEADS * groups)).reshape(BATCH, HEADS, groups)[:, :, group]
    x = (rng.uniform(-1, 1, exponents.shape) * 2**exponents).astype(np.float32)
    step, largest = spans(x, text)
    # Half a step, and what metadata of 11 bits can add.
    rounding = highest_code(text) * step * (fmt.scale == "f16") + largest * (fmt.zero == "f16")
    bound = 0.51 * step + 2.0**-11 * rounding
    for path, found in every_path(x, text).items():
        assert np.all(np.abs(found - x) <= bound), path


# --- 49: the axis of groups ------------------------------------------------------------------------------------------


def outlier() -> np.ndarray:
    """+1 and -1 in turn along tokens and channels, and 100 in channel 0."""
    t, c = np.indices((32, DIM))
    x = ((-1.0) ** (t + c)).astype(np.float32)
    x[:, 0] = 100
    return np.broadcast_to(x, (BATCH, HEADS, 32, DIM))


@pytest.mark.parametrize("bits", (2, 4))
@pytest.mark.parametrize("scale", FLOATS)
def test_outlier_channel_per_token(bits, scale):
    """llama.cpp#21385, Qwen3#840: groups along a token lose what lies beside an outlier: +1 becomes -1, or 0."""
    x = outlier()
    ordinary = np.broadcast_to(np.arange(DIM) > 0, x.shape)
    for path, found in every_path(x, f"codes = ui{bits}, group = [1, *], scale = {scale}, zero = min f32").items():
        assert np.all(found[ordinary] == -1), path
    for path, found in every_path(x, f"codes = i{bits}, group = [1, *], scale = {scale}").items():
        assert np.all(found[ordinary] == 0), path


@pytest.mark.parametrize("text", formats(groups=((32, 1), (8, 1))))
def test_outlier_channel_per_channel(text):
    """llama.cpp#21385, Qwen3#840: groups along a channel keep everything, in 2 bits as in 8."""
    x = outlier()
    # A scale in f16 is good for 11 bits.
    bound = np.abs(x) * (1e-6 if kvq.Format(text).scale == "f32" else 2.0**-10)
    for path, found in every_path(x, text).items():
        assert np.all(np.abs(found - x) <= bound), path


# --- 55: conversions of the compiler's own --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, given, x, expected",
    [
        (
            "codes = ui8, group = [*, *], scale = f32, range = static, zero = point ui8",
            {"scales": np.float32([[2]]), "zeros": np.uint8([[10]])},
            [3.9, 1000, -1000, np.inf, 0],
            [12, 255, 0, 255, 10],
        ),
        (
            "codes = i8, group = [*, *], scale = f32, range = static",
            {"scales": np.float32([[2]])},
            [1000, -1000, 254, 255.1, 3, 5, -np.inf],
            [127, -127, 127, 127, 2, 2, -127],
        ),
        (
            "codes = f8E4M3FN, group = [*, *], scale = f32, range = static",
            {"scales": np.float32([[2]])},
            [896, 930, 1e6, -1e6, np.inf, 2.125],
            [0x7E, 0x7E, 0x7E, 0xFE, 0x7E, 0x38],
        ),
    ],
)
def test_given_scales_saturate(text, given, x, expected):
    """llvm#216653: upstream's qcast truncates, and does not clamp; f32 to f8E4M3FN stays unconverted. Here every path
    rounds to nearest even and saturates."""
    row = np.zeros((1, 1, 1, 64), np.float32)
    row[..., : len(x)] = x
    fmt = kvq.Format(text)
    z = kvq.quantize(row, fmt, given)
    assert z.codes[0, 0, 0, : len(x)].view(np.uint8).tolist() == [code & 0xFF for code in expected]
    for device in (None, *map(kvq.Emulator, CHIPS)):
        cache = kvq.Cache(1, 1, 4, 64, fmt, "f32", given=given, fill=0xFF, device=device)
        cache.append(row)
        stored = cache.storage()["codes"][0, 0, 0, : len(x)].view(np.uint8)
        assert stored.tolist() == [code & 0xFF for code in expected], device
        assert np.array_equal(cache.dequantize()[0, 0, 0], kvq.dequantize(z)[0, 0, 0])
