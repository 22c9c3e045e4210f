"""Products of floats of 8 bits on tensor cores (`query_codes = "f8E4M3FN"`, docs/Semantics.md, R41), on the emulator."""

import math

import numpy as np
import pytest
from test_attention_variants import random_variant
from test_emulated import draw_device
from test_differential import fill
from test_tensor_cores import WINDOWS, Side

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.devices import Emulator
from kvq_mlir.metrics import relative_l2

FORMATS = {
    "E4M3": "codes = f8E4M3FN, group = [1, *], scale = f32",
    "E4M3 by 32": "codes = f8E4M3FN, group = [1, 32], scale = f16",
    "E5M2": "codes = f8E5M2, group = [1, *], scale = f16",
    "E5M2 by 64": "codes = f8E5M2, group = [1, 64], scale = f32",
    "E4M3 static": "codes = f8E4M3FN, group = [*, 8], scale = f32, range = static",
}
KEY_FORMATS = FORMATS | {
    "E4M3 by channel": "codes = f8E4M3FN, group = [32, 1], scale = f32",
    "E5M2 by 64 tokens, 16 channels": "codes = f8E5M2, group = [64, 16], scale = f16",
}
OTHERS = {"i8": "codes = i8, group = [1, *], scale = f16", "exact": "codes = none"}
STEP = 2.0**-4  # half of what numbers of e4m3 are apart, relative to them
CHIPS = ("sm_89", "sm_90a", "sm_100a", "sm_120a")


def draw_fp8_device(rng):
    device = draw_device(rng)
    return Emulator(str(rng.choice(CHIPS)), device.order, device.seed, device.workers)


def both(q, k, v, device, **options):
    """The outputs of products of floats of 8 bits, and of float64."""
    found = kvq.attention(q, k.compiled, v.compiled, device=device, query_codes="f8E4M3FN", **options)
    options.pop("splits", None)
    return found, reference.attention(q, k.oracle, v.oracle, **options)


@pytest.mark.parametrize("keys", [*KEY_FORMATS, *OTHERS])
def test_outputs_are_near_the_oracle(keys, rng):
    values = str(rng.choice([*FORMATS, *OTHERS] if keys in KEY_FORMATS else list(FORMATS)))
    dim = 128
    ratio, q_len = int(rng.choice([1, 3, 8, 12])), int(rng.choice([1, 1, 3]))
    lengths = [int(rng.integers(q_len, 400)) for _ in range(2)]
    sides = []
    for name in (keys, values):
        text = (KEY_FORMATS | OTHERS)[name]
        parameters = {} if name == "exact" else dict(WINDOWS[rng.integers(len(WINDOWS))])
        if (tokens := reference.Format.parse(text).tokens) > 1:
            parameters = {"recent": 20, "page": tokens} if rng.random() < 0.5 else {"recent": 20}
        sides.append(Side(text, 2, 2, 460, dim, **parameters))
    fill(rng, sides, np.array(lengths), 2, dim)
    names = [name for name in ("causal", "positions", "mask") if rng.random() < 0.4]
    variant = random_variant(rng, 2, 2 * ratio, q_len, lengths, names)
    q = rng.standard_normal((2, 2 * ratio, q_len, dim)).astype(np.float32)
    print(keys, values, ratio, q_len, lengths, names)
    found, expected = both(q, *sides, draw_fp8_device(rng), splits=int(rng.choice([1, 2])), **variant)
    error = relative_l2(found, expected)
    print(f"error {error:.2e}")
    assert error <= 0.1


def bounds(q, keys, values, scale):
    """What docs/Semantics.md allows an output to be off by: [heads, channels], of one sequence and KV head."""
    magnitude = np.abs(q).max(-1, keepdims=True)
    off = (STEP * np.abs(q) + magnitude * 2.0**-10 / 448) @ np.abs(keys).T * scale
    scores = q @ keys.T * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    weighted = p @ np.abs(values)
    of_keys = np.expm1(2 * off.max(-1, keepdims=True)) * weighted
    # Probabilities of a row are rounded beside others of its warp: the largest of all is the most that they lose 2^-17 of.
    lost = 2.0**-17 * p.max(-1, keepdims=True) * len(keys) * np.abs(values).max()
    return of_keys, 2 * (STEP * weighted + lost)


@pytest.mark.parametrize("spread", [0.1, 1, 4])
@pytest.mark.parametrize("side", ["keys", "values"])
def test_outputs_are_within_the_bounds(side, spread, rng):
    """Of one side alone, the other exact; scores near each other and far apart."""
    dim, tokens = 64, 500
    texts = [OTHERS["exact"], FORMATS["E4M3"]]
    k, v = (Side(text, 1, 1, tokens, dim) for text in (reversed(texts) if side == "keys" else texts))
    fill(rng, [k, v], np.array([tokens]), 1, dim)
    q = (spread * rng.standard_normal((1, 8, 1, dim))).astype(np.float32)
    found, expected = both(q, k, v, draw_fp8_device(rng))
    keys, values = (np.asarray(of.compiled.dequantize(), np.float64)[0, 0, :tokens] for of in (k, v))
    of_keys, of_values = bounds(q[0, :, 0].astype(np.float64), keys, values, 1 / math.sqrt(dim))
    bound = (of_keys if side == "keys" else of_values) + 2e-3 * np.abs(expected[0, :, 0]).max()
    assert (np.abs(found - expected)[0, :, 0] <= bound).all()


@pytest.mark.parametrize(("spread", "error"), [(1, 0.06), (0.001, 0.01)])
def test_long_contexts(spread, error, rng):
    """Equal probabilities are all rounded the same way, which must not move the mean; typical ones average out."""
    tokens, dim = 3000, 64
    k, v = (Side(FORMATS["E4M3"], 1, 1, tokens, dim) for _ in range(2))
    x = rng.standard_normal((1, 1, tokens, dim)).astype(np.float16)
    k.append(x, [tokens])
    v.append((1 + 0.1 * x).astype(np.float16), [tokens])
    q = (spread * rng.standard_normal((1, 4, 1, dim))).astype(np.float32)
    found, expected = both(q, k, v, draw_fp8_device(rng))
    assert relative_l2(found, expected) <= error
    assert abs(found.mean() / expected.mean() - 1) <= 2e-3


def test_what_is_not_finite_shows(rng):
    k, v = (Side(FORMATS["E4M3"], 1, 1, 64, 64) for _ in range(2))
    fill(rng, [k, v], np.array([64]), 1, 64)
    q = rng.standard_normal((1, 3, 1, 64)).astype(np.float32)
    q[0, 0, 0, 5], q[0, 1, 0, 9] = np.nan, np.inf
    found, expected = both(q, k, v, draw_fp8_device(rng))
    assert np.isnan(found[0, 0]).all() and not np.isfinite(found[0, 1]).any()
    assert relative_l2(found[0, 2], expected[0, 2]) <= 0.1


def test_a_query_of_zeros_sees_all_tokens_alike(rng):
    k, v = (Side(FORMATS["E4M3"], 1, 1, 64, 64) for _ in range(2))
    fill(rng, [k, v], np.array([64]), 1, 64)
    found, expected = both(np.zeros((1, 2, 1, 64), np.float32), k, v, draw_fp8_device(rng))
    assert relative_l2(found, expected) <= 0.1


def test_errors(rng):
    floats, integers = (kvq.Cache(1, 1, 64, 64, kvq.Format(text)) for text in (FORMATS["E4M3"], OTHERS["i8"]))
    records = kvq.Cache(1, 1, 64, 64, kvq.Format(FORMATS["E4M3"] + ", layout = #kvq.layout<record = [scale, codes]>"))
    q = np.zeros((1, 1, 1, 64), np.float32)
    for keys, device, options, message in (
        (integers, "emulator", {}, "query_codes needs codes of f8E4M3FN or f8E5M2 of keys or of values, got 'codes = i8"),
        (floats, "cpu", {}, "expected a GPU of sm_89 or newer for query_codes 'f8E4M3FN'"),
        (floats, Emulator("sm_80"), {}, "sm_80 with PTX 78 multiplies no f8E4M3FN"),
        (floats, Emulator("sm_89"), {"value_channels": (0, 64)}, "got that its values are among the channels of keys"),
        (records, Emulator("sm_89"), {}, "got that keys have"),
    ):
        with pytest.raises(kvq.Error, match=message):
            kvq.attention(q, keys, keys, device=device, query_codes="f8E4M3FN", **options)
    with pytest.raises(kvq.Error, match="expected query_codes 'i8', 'i16', 'f8E4M3FN' or None, got 'i4'"):
        kvq.attention(q, floats, floats, query_codes="i4")
