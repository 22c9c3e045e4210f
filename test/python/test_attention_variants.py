"""What attention may do to scores, and see of a cache, against the oracle: every variant over formats drawn afresh."""

import numpy as np
import pytest
from test_differential import TOLERANCE, Side, fill, random_format, random_sides

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2


def random_mask(rng, batch, heads, q_len, tokens):
    """Shared or not, float or bool; rows that see nothing among them."""
    shape = (int(rng.choice([1, batch])), int(rng.choice([1, heads])), q_len, tokens + int(rng.integers(0, 4)))
    hidden = rng.random(shape) < rng.choice([0.0, 0.3, 0.95])
    hidden[rng.random(shape[:3]) < 0.1] = True
    if rng.random() < 0.4:
        return ~hidden
    mask = rng.standard_normal(shape).astype(rng.choice([np.float16, np.float32]))
    mask[hidden] = -np.inf
    return mask


def random_variant(rng, batch, heads, q_len, lengths, names):
    """Arguments of both attentions."""
    tokens = int(max(lengths, default=0))
    draw = {
        "causal": lambda: bool(rng.random() < 0.7),
        "positions": lambda: [int(rng.integers(0, n + 3)) for n in lengths],
        "mask": lambda: random_mask(rng, batch, heads, q_len, tokens),
        "slopes": lambda: (2.0 ** -rng.uniform(1, 8, heads)).astype(np.float32),
        "sinks": lambda: rng.normal(0, 2, heads).astype(np.float32),
        "softcap": lambda: float(np.float32(rng.uniform(0.5, 50))),
        "window": lambda: int(rng.choice([1, 2, rng.integers(1, tokens + 3)])),
    }
    arguments = {name: draw[name]() for name in names}
    if "window" in arguments:
        arguments["window_first"] = int(rng.choice([0, 1, 5]))
    return arguments


def compare(q, k, v, arguments, tolerance, lse_tolerance, **where):
    """Compiled, with the arguments `where` of it alone, against the oracle: output, which is returned, and lse."""
    expected, expected_lse = reference.attention(q, k.oracle, v.oracle, return_lse=True, **arguments)
    out = np.full(expected.shape, np.nan, np.float32)
    found, lse = kvq.attention(q, k.compiled, v.compiled, out=out, return_lse=True, **where, **arguments)
    assert found is out
    assert np.array_equal(np.isneginf(lse), np.isneginf(expected_lse))
    seen = np.isfinite(expected_lse)
    assert np.all(np.abs(lse[seen] - expected_lse[seen]) <= lse_tolerance * (1 + np.abs(expected_lse[seen])))
    for b in range(len(q)):
        error = relative_l2(out[b], expected[b])
        assert error <= tolerance, f"sequence {b}: relative L2 {error}"
    return out


def check(q, k, v, arguments, splits=1):
    """Compiled against the oracle, output and lse; the same again without lse."""
    out = compare(q, k, v, arguments, TOLERANCE, 2e-5, splits=splits)
    alone = kvq.attention(q, k.compiled, v.compiled, splits=splits, **arguments)
    assert np.array_equal(alone, out), "asking for lse changes the output"


NAMES = ("causal", "positions", "mask", "slopes", "sinks", "softcap", "window")


@pytest.mark.parametrize("case", range(16))
def test_variants_compose(case, rng):
    dim, ratio, batch, heads = 64, int(rng.choice([1, 3, 4])), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths = np.array([int(rng.choice([1, 63, 64, 65, 255, 256, 257, rng.integers(1, 200)])) for _ in range(batch)])
    texts = [random_format(rng, dim) for _ in range(2)]
    k, v = random_sides(rng, texts, batch, heads, int(lengths.max()) + 5, dim)
    fill(rng, [k, v], lengths, heads, dim)
    q_len = int(rng.integers(1, min(3, lengths.min()) + 1))
    # Each name in half of the cases, all of them in one.
    names = NAMES if case == 0 else [name for name in NAMES if rng.random() < 0.5]
    arguments = random_variant(rng, batch, heads * ratio, q_len, lengths, names)
    q = rng.standard_normal((batch, heads * ratio, q_len, dim)).astype(np.float32)
    splits = int(rng.choice([1, 1, 3]))
    print(f"K {k.compiled.type}; V {v.compiled.type}; ratio {ratio}, lengths {lengths}, splits {splits}, {arguments}")
    check(q, k, v, arguments, splits)


class Given:
    """A compiled cache and the oracle of it."""

    def __init__(self, fmt, batch, heads, capacity, dim, **arguments):
        self.compiled = kvq.Cache(batch, heads, capacity, dim, kvq.Format(fmt), fill=0xFF, **arguments)
        self.oracle = reference.Cache(
            reference.Format.parse(fmt), batch, heads, dim, capacity, dtype="f16", **arguments
        )

    def append(self, x, counts=None):
        self.compiled.append(x, counts)
        self.oracle.append(x, counts)


PER_TOKEN = "codes = i8, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"
FLOAT_CODES = "codes = f8E4M3FN, group = [1, 16], scale = f32"
EXACT = "codes = none"


def filled(rng, formats, tokens, batch=1, heads=2, dim=32, **arguments):
    x = rng.standard_normal((len(formats), batch, heads, tokens, dim)).astype(np.float16)
    sides = [Given(fmt, batch, heads, tokens + 3, dim, **arguments) for fmt in formats]
    for side, tokens_of_side in zip(sides, x, strict=True):
        side.append(tokens_of_side)
    return sides


@pytest.mark.parametrize("fmt", [PER_TOKEN, PER_CHANNEL, FLOAT_CODES, EXACT])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_nan_of_a_hidden_token_has_no_influence(fmt, kind, rng):
    """Whether the mask hides it, the window, or its position; one that is seen shows."""
    tokens, hidden = 48, np.arange(8, 24)  # whole groups of tokens, so that NaN metadata is theirs alone
    k, v = (Given(fmt, 1, 2, tokens, 32) for _ in range(2))
    for side in (k, v):
        x = rng.standard_normal((1, 2, tokens, 32)).astype(np.float16)
        x[:, :, hidden] = np.nan
        side.append(x)
    q = rng.standard_normal((1, 6, 1, 32)).astype(np.float32)
    sees = np.ones((1, 1, 1, tokens), bool)
    sees[..., hidden] = False
    mask = sees if kind == "bool" else np.where(sees, np.float32(0.5), -np.float32(np.inf))
    check(q, k, v, {"mask": mask})
    check(q, k, v, {"mask": mask}, splits=3)
    check(q, k, v, {"window": tokens - 24, "window_first": 8})
    check(q, k, v, {"positions": [7]})
    mask = mask.copy()
    mask[..., hidden[3]] = mask[..., 0]
    assert np.isnan(kvq.attention(q, k.compiled, v.compiled, mask=mask)).all()
    assert np.isnan(kvq.attention(q, k.compiled, v.compiled, window=tokens - 23)).all()
    # Per query head: those that do not see it are as they were.
    per_head = np.repeat(sees, 6, axis=1)
    per_head[:, 2, :, hidden] = True
    out = kvq.attention(q, k.compiled, v.compiled, mask=per_head)
    assert np.isnan(out[:, 2]).all()
    assert not np.isnan(np.delete(out, 2, axis=1)).any()


@pytest.mark.parametrize("fmt", [PER_TOKEN, PER_CHANNEL])
def test_rows_that_see_nothing(fmt, rng):
    """0 and lse -inf; with a sink alone 0 and lse the sink."""
    windows = dict(recent=8) if fmt == PER_CHANNEL else {}
    k, v = Given(fmt, 1, 2, 23, 32, **windows), Given(PER_TOKEN, 1, 2, 23, 32)
    for side in (k, v):
        side.append(rng.standard_normal((1, 2, 20, 32)).astype(np.float16))
    q = rng.standard_normal((1, 2, 1, 32)).astype(np.float32)
    nothing = np.zeros((1, 1, 1, 20), bool)
    out, lse = kvq.attention(q, k.compiled, v.compiled, mask=nothing, return_lse=True)
    assert not out.any()
    assert np.all(np.isneginf(lse))
    sinks = np.array([0.25, -3], np.float32)
    out, lse = kvq.attention(q, k.compiled, v.compiled, mask=nothing, sinks=sinks, return_lse=True)
    assert not out.any()
    assert np.allclose(lse[0, :, 0], sinks, rtol=1e-6)
    none = np.full(2, -np.inf, np.float32)
    check(q, k, v, {"sinks": none})
    assert np.isneginf(kvq.attention(q, k.compiled, v.compiled, mask=nothing, sinks=none, return_lse=True)[1]).all()


@pytest.mark.parametrize("window, first", [(3, 0), (3, 2), (9, 6), (40, 1), (1, 40)])
@pytest.mark.parametrize("keep_first", [0, 4])
def test_windows_in_rings(window, first, keep_first, rng):
    """What both the window and the ring let a query see."""
    tokens, ring = 37, 16 + keep_first
    k, v = filled(rng, [PER_TOKEN, EXACT], tokens, ring=ring, keep_first=keep_first)
    q = rng.standard_normal((1, 4, 3, 32)).astype(np.float32)
    for splits in (1, 2):
        check(q, k, v, {"window": window, "window_first": first}, splits)


def test_positions_of_queries_inside_the_sequence(rng):
    """Causality, window and ALiBi go by the positions; none beyond the end is seen."""
    k, v = filled(rng, [PER_TOKEN, PER_CHANNEL], 40, batch=3)
    slopes = np.array([0.5, 0.125, 0.01, 0.002], np.float32)
    q = rng.standard_normal((3, 4, 2, 32)).astype(np.float32)
    positions = [0, 17, 45]
    check(q, k, v, {"positions": positions})
    check(q, k, v, {"positions": positions, "window": 9, "slopes": slopes})
    check(q, k, v, {"positions": positions, "causal": False, "slopes": slopes})


def test_slopes_far_from_the_first_token(rng):
    """Distances, not positions, are multiplied: a long sequence costs no digits."""
    tokens = 3000
    k, v = filled(rng, [PER_TOKEN, PER_TOKEN], tokens, heads=1)
    q = rng.standard_normal((1, 2, 1, 32)).astype(np.float32)
    check(q, k, v, {"slopes": np.array([0.5, 1 / 256], np.float32)})


@pytest.mark.parametrize("begin, end", [(0, 64), (0, 32), (32, 64), (16, 48)])
@pytest.mark.parametrize(
    "fmt",
    [
        "codes = i8, group = [1, 16], scale = f16",
        "codes = ui4, group = [1, 16], scale = f16, zero = min f16",
        "codes = ui4, group = [8, 1], scale = f16, zero = min f16",
        EXACT,
    ],
)
def test_values_are_channels_of_keys(fmt, begin, end, rng):
    """One cache whose rows hold both; with windows where groups span tokens."""
    windows = dict(recent=11, exact_first=2) if "[8, 1]" in fmt else {}
    k = Given(fmt, 2, 1, 60, 64, **windows)
    k.append(rng.standard_normal((2, 1, 50, 64)).astype(np.float16), [50, 23])
    q = rng.standard_normal((2, 8, 2, 64)).astype(np.float32)
    expected, expected_lse = reference.attention(q, k.oracle, k.oracle, value_channels=(begin, end), return_lse=True)
    out, lse = kvq.attention(q, k.compiled, None, value_channels=(begin, end), return_lse=True)
    assert out.shape == expected.shape
    assert relative_l2(out, expected) <= TOLERANCE
    assert np.allclose(lse, expected_lse, rtol=2e-5)
    # Of another cache the same.
    assert np.array_equal(kvq.attention(q, k.compiled, k.compiled, value_channels=(begin, end)), out)


def test_latent_attention(rng):
    """MLA: rows of 576 channels in two formats, values the first 512, 16 query heads over one row."""
    text = "codes = f8E4M3FN, group = [1, 128], scale = f32"
    rows = kvq.Segments(f"[0:512] = #kvq.format<{text}>, [512:576] = none")
    cache = kvq.Cache(1, 1, 80, 576, rows, fill=0xFF)
    x = rng.standard_normal((1, 1, 70, 576)).astype(np.float16)
    cache.append(x)
    rebuilt = cache.dequantize()[:, :, :70].astype(np.float64)
    q = rng.standard_normal((1, 16, 1, 576)).astype(np.float32)
    expected = reference.attention(q, [rebuilt[0]], [rebuilt[0, :, :, :512]])
    out = kvq.attention(q, cache, None, value_channels=(0, 512))
    assert relative_l2(out, expected) <= TOLERANCE


ERRORS = [
    (dict(positions=[0]), kvq.Error, r"expected positions as 2 integers, one for each sequence, got int64 of shape \[1\]"),
    (dict(positions=[0.5, 1]), kvq.Error, "expected positions as 2 integers, .* got float64"),
    (dict(positions=[0, -1]), kvq.Error, r"expected positions of at least 0, got \[0, -1\]"),
    (dict(slopes=np.ones(3)), kvq.Error, r"expected slopes of shape \[4\], one for each query head, got \[3\]"),
    (dict(sinks=np.ones((4, 1))), kvq.Error, r"expected sinks of shape \[4\], .* got \[4, 1\]"),
    (dict(softcap=0.0), kvq.Error, "expected, in float32, a positive, finite softcap, got 0.0"),
    (dict(softcap=float("nan")), kvq.Error, "positive, finite softcap, got nan"),
    (dict(window=0), kvq.Error, "expected a window of at least 1 token, got 0"),
    (dict(window_first=2), kvq.Error, "window_first = 2 is given without a window"),
    (dict(window=3, window_first=-1), kvq.Error, "expected window_first of at least 0 tokens, got -1"),
    (dict(mask=np.ones((1, 1, 1, 9), bool)), kvq.Error, "at least the 10 tokens of the longest sequence, got 9"),
    (dict(mask=np.ones((1, 3, 1, 10), bool)), kvq.Error, r"\[1 or 2, 1 or 4, 1, tokens\], got \[1, 3, 1, 10\]"),
    (dict(mask=np.ones((1, 1, 1, 10), np.int32)), TypeError, "mask as an array of float16, bfloat16 or float32, got int32"),
    (dict(value_channels=(0, 40)), kvq.Error, r"expected value_channels within 32 channels of a row, got \[0, 40\]"),
    (dict(value_channels=(0, 12)), kvq.Error, "cut a group of 32 channels at channel 12"),
]


@pytest.mark.parametrize("arguments, error, message", ERRORS, ids=lambda value: str(value)[:40])
def test_bad_arguments(arguments, error, message, rng):
    k, v = filled(rng, [PER_TOKEN, PER_TOKEN], 10, batch=2)
    with pytest.raises(error, match=message):
        kvq.attention(np.zeros((2, 4, 1, 32), np.float32), k.compiled, v.compiled, **arguments)


def test_values_have_to_be_somewhere(rng):
    (k,) = filled(rng, [PER_TOKEN], 10)
    with pytest.raises(kvq.Error, match="expected v, or value_channels of k's rows"):
        kvq.attention(np.zeros((1, 4, 1, 32), np.float32), k.compiled, None)
