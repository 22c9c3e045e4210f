"""Rotations and means, against the NumPy oracle.

A failing test prints its seed; `KVQ_SEED=<seed>` runs it again with the same cases.
"""

import os

import numpy as np
import pytest
from test_differential import SYMMETRIC, TOLERANCE, UNSIGNED, same, values
from test_given import draw_given, fill

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

FULL = bool(os.environ.get("KVQ_FULL"))
BASE = "codes = i4, group = [1, 32], scale = f16"


def oracle_given(given: dict[str, np.ndarray]) -> reference.Calibration:
    fields = dict(given)
    for name, other in (("outer_scales", "outer"), ("means", "mean")):
        if name in fields:
            fields[other] = fields.pop(name)
    if "outer" in fields:
        fields["outer"] = fields["outer"].reshape(-1)
    return reference.Calibration(**fields)


def draw_prepared(rng: np.random.Generator, dim: int) -> str:
    """A format with a rotation, a mean or both; now and then with a static range or two levels."""
    text = draw_given(rng) if rng.random() < 0.3 else plain(rng)
    sizes = [size for size in (2, 4, 8, 16, 32, 64, 128) if dim % size == 0]
    rotate = f", rotate = hadamard<{rng.choice(sizes)}>"
    center = f", center = {rng.choice(['f16', 'bf16', 'f32'])}"
    return text + str(rng.choice([rotate, center, rotate + center]))


def plain(rng: np.random.Generator) -> str:
    """Codes of any kind, in groups of one token or of several."""
    group = rng.choice(["[1, 16]", "[8, 1]", "[8, *]"])
    codes = str(rng.choice(SYMMETRIC + UNSIGNED))
    return f"codes = {codes}, group = {group}, scale = f32" + (", zero = min f16" if codes in UNSIGNED else "")


def random_given(rng: np.random.Generator, fmt: kvq.Format, heads: int, dim: int) -> dict[str, np.ndarray]:
    x = rng.standard_normal((2, heads, 40, dim)).astype(np.float32) + rng.normal(0, 3, (1, heads, 1, dim))
    signs = rng.choice(np.int8([-1, 1]), dim) if fmt.rotation != 0 and rng.random() < 0.7 else None
    return kvq.calibrate(x.astype(np.float32), fmt, signs)


@pytest.mark.parametrize("draw", range(80 if FULL else 16))
def test_codes_equal_the_oracle(draw, rng):
    """Outliers, infinities and NaNs among the elements; a NaN spreads over what is rotated with it."""
    dim, heads = int(rng.choice([64, 96, 128])), int(rng.integers(1, 4))
    fmt, oracle = kvq.Format(text := draw_prepared(rng, dim)), reference.Format.parse(text)
    given = random_given(rng, fmt, heads, dim)
    x = values(rng, (2, heads, 8 * int(rng.integers(1, 6)), dim), dtype := str(rng.choice(["f16", "f32"])))
    x[rng.random(x.shape) < 0.0005] = np.nan
    z = kvq.quantize(x, fmt, given)
    calibration = oracle_given(given)
    codes, scales, zeros = reference.quantize(x, oracle, dtype, calibration)
    assert same(z.codes, codes), text
    assert same(np.broadcast_to(z.scales, scales.shape), scales), text
    assert zeros is None or same(np.broadcast_to(z.zeros, zeros.shape), zeros), text
    expected = reference.restore64(
        reference.dequantize64(codes, scales, zeros, oracle, calibration), oracle, calibration
    )
    found = kvq.dequantize(z)
    nan = np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan), text
    # Rounding errors of the largest value spread over the row, and those of a group's ends over its tokens.
    bound = 1e-5 * np.nan_to_num(np.abs(expected)).max(axis=(-2, -1), keepdims=True) + 1e-30
    # Sums are taken before 1/sqrt(n), and may be infinite where what they stand for is not.
    sums = expected * np.sqrt(max(fmt.rotated(dim), 1))
    overflows = (np.abs(sums) > 0.999999 * np.finfo(np.float32).max) & (found == np.copysign(np.inf, expected))
    assert np.all((np.abs(found - expected) <= bound) | nan | overflows), text


@pytest.mark.parametrize("draw", range(24 if FULL else 6))
def test_a_cache_through_its_life(draw, rng):
    """Exact tokens are not rotated; windows that are flushed, forks and attention see the same tokens."""
    heads, dim, batch = int(rng.integers(1, 4)), 64, 3
    caches, oracles = [], []
    for windows in (dict(exact_first=3), dict(exact_first=3, recent=int(rng.integers(0, 9)))):
        text = draw_prepared(rng, dim)
        given = random_given(rng, kvq.Format(text), heads, dim)
        caches.append(kvq.Cache(batch, heads, 90, dim, kvq.Format(text), given=given, fill=0xFF, **windows))
        oracles.append(
            reference.Cache(
                reference.Format.parse(text), batch, heads, dim, 90, calibration=oracle_given(given), **windows
            )
        )
    print([cache.type for cache in caches])
    fill(rng, caches, oracles, [[5, 1, 1], [30, 40, 20], [1, 1, 1]])
    for side in (*caches, *oracles):
        side.truncate([19, 42, 11])
        side.fork(1, [0], 19)
        side.reorder([1, 0, 2])
    fill(rng, caches, oracles, [[7, 7, 2]])
    for cache, oracle in zip(caches, oracles, strict=True):
        rebuilt = cache.dequantize()
        for b, length in enumerate(cache.lengths.tolist()):
            flushed = int(cache.flushed[b])
            packed = np.ascontiguousarray(cache.storage()["codes"][b, :, :flushed]).view(np.uint8)
            assert same(packed, reference.pack(oracle.codes(b), cache.format.bits)), cache
            expected = oracle.values64(b)
            assert np.all(np.abs(rebuilt[b, :, :length] - expected) <= 1e-5 * np.abs(expected).max()), cache
    q = rng.standard_normal((batch, heads * 4, 2, dim)).astype(np.float32)
    for splits in (1, 3):
        error = relative_l2(kvq.attention(q, *caches, splits=splits), reference.attention(q, *oracles))
        assert error <= TOLERANCE


def test_rotated_exact_tokens_keep_a_nan_in_its_channel(rng):
    """What is exact never meets the rotation: a NaN value of the window spoils its own channel alone."""
    fmt = kvq.Format(f"{BASE}, rotate = hadamard<64>")
    keys, values_ = (kvq.Cache(1, 1, 16, 64, fmt, recent=4) for _ in range(2))
    x = rng.standard_normal((1, 1, 12, 64)).astype(np.float32)
    keys.append(x)
    x[0, 0, 10, 7] = np.nan
    values_.append(x)
    out = kvq.attention(rng.standard_normal((1, 2, 1, 64)).astype(np.float32), keys, values_)
    assert np.isnan(out[..., 7]).all() and not np.isnan(np.delete(out, 7, axis=-1)).any()


def test_a_rotation_spreads_outliers(rng):
    """Why one rotates: keys with an outlier channel lose less."""
    x = rng.standard_normal((1, 2, 64, 128)).astype(np.float32)
    x[..., 5] += 30
    errors = [
        relative_l2(kvq.dequantize(kvq.quantize(x, kvq.Format(f"codes = i4, group = [1, *], scale = f16{tail}"))), x)
        for tail in ("", ", rotate = hadamard<128>")
    ]
    assert errors[1] < errors[0] / 2


def test_a_mean_costs_nothing_where_it_is_all(rng):
    """Tokens that are their mean are stored exactly, up to the mean's type."""
    mean = rng.standard_normal((1, 2, 1, 64)).astype(np.float32)
    x = np.broadcast_to(mean, (1, 2, 9, 64)).copy()
    fmt = kvq.Format(f"{BASE}, center = f32")
    assert same(kvq.dequantize(kvq.quantize(x, fmt, {"means": mean.reshape(2, 64)})), x)


@pytest.mark.parametrize("bits, error", [(1, 0.361), (2, 0.116), (3, 0.0340), (4, 0.0093)])
def test_lloyd_max_of_rotated_unit_vectors(bits, error, rng):
    """Squared error of unit vectors at d = 128, each one's norm its scale: within 2% of the theory."""
    fmt = kvq.Format(
        f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [1, *], scale = f32, range = norm, rotate = hadamard<128>"
    )
    x = rng.standard_normal((1, 1, 5000, 128))
    x = (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)
    signs = rng.choice(np.int8([-1, 1]), 128)
    z = kvq.quantize(x, fmt, {"signs": signs})
    found = np.square(kvq.dequantize(z) - x).sum(axis=-1).mean()
    assert abs(found / error - 1) <= 0.02, found


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tail, dim, expected",
    [
        ("rotate = hadamard<96>", 96, "rotation of a power of two of channels, such as 128, got 96"),
        ("rotate = hadamard<1>", 64, "rotation of 2 or more channels, got 1"),
        ("rotate = hadamard<64>", 96, "rotation of 64 channels does not divide head_dim 96"),
        ("rotate = givens<64>", 64, "expected rotation hadamard<channels>, got 'givens'"),
        ("center = f64", 64, "expected a center of f16, bf16 or f32, got 'f64'"),
        ("rotate = hadamard<32>, rope = pre", 64, "expected no 'rotate' with rope = pre, got hadamard<32>"),
        ("center = f16, rope = pre", 64, "expected no 'center' with rope = pre, got 'f16'"),
    ],
)
def test_formats_that_are_none(tail, dim, expected):
    with pytest.raises(kvq.Error, match=expected):
        kvq.Cache(1, 1, 8, dim, kvq.Format(f"{BASE}, {tail}"))


def test_given_values_that_are_none():
    fmt = kvq.Format(f"{BASE}, rotate = hadamard<32>, center = f16")
    means, signs = np.zeros((2, 64), np.float16), np.ones(64, np.int8)
    kvq.Cache(1, 2, 8, 64, fmt, given={"means": means})
    with pytest.raises(kvq.Error, match=r"layer 7, keys: .* needs given means of shape \[2, 64\]"):
        kvq.Cache(1, 2, 8, 64, fmt, given={"signs": signs}, name="layer 7, keys")
    signs[5] = 0
    with pytest.raises(kvq.Error, match=r"given signs of -1 or 1, got 0 at \[0, 5\]"):
        kvq.Cache(1, 2, 8, 64, fmt, given={"means": means, "signs": signs})
    with pytest.raises(kvq.Error, match=r"given signs of shape \[1, 64\] or .* or \[64\], got \[32\]"):
        kvq.Cache(1, 2, 8, 64, fmt, given={"means": means, "signs": signs[:32]})
    means[1, 3] = np.inf
    with pytest.raises(kvq.Error, match=r"given means from -65504 to 65504, got inf at \[1, 3\]"):
        kvq.Cache(1, 2, 8, 64, fmt, given={"means": means})
