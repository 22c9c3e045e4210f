"""Adversarial data: what theory says of each fixture, measured through compiled caches."""

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import fixtures
from kvq_mlir.evaluation.finding import find, flushed_at, quantized_at
from kvq_mlir.metrics import attention_errors, relative_l2
from kvq_mlir.model import exact_attention
from kvq_mlir.policy import Choice

TOKENS = 256
PER_TOKEN = "codes = ui4, group = [1, 32], scale = f16, zero = min f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


@pytest.fixture
def seed(rng):
    return int(rng.integers(1 << 32))


def choose(text, side="keys", **windows):
    return Choice(0, side, (0, fixtures.KV_HEADS), kvq.Format(text), **windows)


def errors(layer, keys, values="codes = none", given=(None, None), **windows):
    """Of every fifth query from token 32 on, where every format has codes."""
    positions = np.arange(32, layer.k.shape[1], 5)
    k = find(choose(keys, **windows), layer.k, positions, given=given[0])
    v = find(choose(values, "values"), layer.v, positions, given=given[1])
    return attention_errors(layer.q[:, positions], k.rebuilt, v.rebuilt, positions)


def rebuilt(x, text, **settings):
    """Relative L2 error of x [heads, tokens, dim] alone."""
    cache = kvq.Cache(1, *x.shape, kvq.Format(text), **settings)
    cache.append(np.ascontiguousarray(x[None]))
    return relative_l2(cache.dequantize()[0], x.astype(np.float16))


@pytest.mark.parametrize("name", fixtures.FIXTURES)
def test_shapes_and_seeds(name, seed):
    layers = fixtures.make_fixture(name, TOKENS, seed)
    dim = 96 if name == "head-dim-96" else fixtures.HEAD_DIM
    for layer in layers:
        assert layer.q.shape == (fixtures.QUERY_HEADS, TOKENS, dim)
        assert layer.k.shape == layer.v.shape == (fixtures.KV_HEADS, TOKENS, dim)
        assert all(x.dtype == np.float32 and np.isfinite(x).all() for x in layer)
    again, other = fixtures.make_fixture(name, TOKENS, seed), fixtures.make_fixture(name, TOKENS, seed + 1)
    assert all(np.array_equal(a.k, b.k) for a, b in zip(layers, again, strict=True))
    assert not np.array_equal(layers[0].k, other[0].k)
    assert fixtures.FIXTURES[name].__doc__.count("Origin: ") == fixtures.FIXTURES[name].__doc__.count("Theory: ") == 1


def test_biased_channels(seed):
    biased, *plain, last = fixtures.make_fixture("biased-channels", TOKENS, seed)
    channels = np.abs(biased.k.mean(axis=1)) > 10
    assert channels.sum(axis=1).tolist() == (np.abs(last.k.mean(axis=1)) > 10).sum(axis=1).tolist() == [2, 2]
    assert all(np.abs(layer.k).max() < 10 for layer in plain)

    # Exact attention does not see what all tokens share, here in float64.
    bias = np.where(channels, biased.k.mean(axis=1, dtype=np.float64), 0)
    without = biased._replace(k=biased.k - bias[:, None])
    outputs = [exact_attention(*(x[None] for x in layer), np.float64) for layer in (biased, without)]
    assert relative_l2(*outputs) < 1e-10

    # The small channels beside a bias of 50 and more: steps of at least (50 - 4.5) / 15 = 3 for normal noise, so that
    # nearly all of it is lost; per channel a 4-bit step of normal noise.
    small = np.where(channels[:, None], 0, biased.k)
    lost, kept = (errors(biased, text).summary()["score_error_relative"] for text in (PER_TOKEN, PER_CHANNEL))
    assert lost > 0.3 and kept < 0.2
    assert lost > 3 * kept
    assert rebuilt(small, PER_CHANNEL) < 0.15
    # The other layers have no bias, and either way of grouping will do.
    assert errors(plain[0], PER_TOKEN).summary()["score_error_relative"] < 0.15


def test_huge_first_tokens(seed):
    (layer,) = fixtures.make_fixture("huge-first-tokens", TOKENS, seed)
    sizes = np.linalg.norm(layer.k, axis=-1)
    assert sizes[:, :4].min() > 30 * sizes[:, 4:].mean()
    widened = rebuilt(layer.k[:, 4:32], PER_CHANNEL.replace("32, 1", "28, 1"))

    def error(**windows):
        """Of tokens 4 to 31, which share groups with the huge ones, or do not."""
        cache = kvq.Cache(1, *layer.k.shape, kvq.Format(PER_CHANNEL), **windows)
        cache.append(np.ascontiguousarray(layer.k[None]))
        return relative_l2(cache.dequantize()[0, :, 4:32], layer.k[:, 4:32])

    assert error() > 4 * error(exact_first=4)
    assert error(exact_first=4) < 1.5 * widened  # what such tokens cost where there is no huge one beside them
    without, with_first = (errors(layer, PER_CHANNEL, exact_first=first).summary() for first in (0, 4))
    assert with_first["attention_kl_mean"] < without["attention_kl_mean"]
    # Most attention is theirs.
    exact = errors(layer, "codes = none")
    farthest = sum(row["attention"] for row in exact.distances() if row["from"] >= 64)
    assert farthest > 0.5


def test_slow_rope_outliers(seed):
    (layer,) = fixtures.make_fixture("slow-rope-outliers", TOKENS, seed)
    slow = [30, 31, 62, 63]
    size = np.abs(layer.k).max(axis=1)
    assert size[:, slow].reshape(2, 2, 2).max(axis=1).min() > 3 * np.delete(size, slow, axis=1).max()  # of each pair
    assert 31 * fixtures.rope_frequencies()[30] < 0.006  # radians that 32 tokens turn it by
    lost, kept = (errors(layer, text).summary() for text in (PER_TOKEN, PER_CHANNEL))
    assert kept["score_error_relative"] < 0.15
    assert lost["score_error_relative"] > 2 * kept["score_error_relative"]
    assert lost["attention_kl_mean"] > 3 * kept["attention_kl_mean"]


def test_drifting_ranges(seed):
    (layer,) = fixtures.make_fixture("drifting-ranges", TOKENS, seed)
    start = TOKENS // 4
    static = kvq.Format("codes = i8, group = [*, 1], scale = f32, range = static")
    given = kvq.calibrate(np.ascontiguousarray(layer.k[None, :, :start]), static)
    positions = np.arange(TOKENS)
    assert find(choose(str(static)), layer.k[:, :start], positions[:start], given=given).saturated.sum() == 0
    side = find(choose(str(static)), layer.k, positions, given=given)
    elements = layer.k[0].size
    assert (side.saturated > 0.05 * elements).all()
    # Clipping grows with the position; ranges taken at append follow.
    lost = np.linalg.norm(side.rebuilt.rebuilt - side.rebuilt.exact, axis=(0, 2)) / np.linalg.norm(side.rebuilt.exact, axis=(0, 2))
    quarters = lost.reshape(4, -1).mean(axis=1)
    assert quarters[0] < 0.02 < quarters[1] < quarters[2] < quarters[3]
    dynamic = find(choose("codes = i8, group = [1, 32], scale = f32"), layer.k, positions)
    assert dynamic.saturated.sum() == 0
    assert relative_l2(dynamic.rebuilt.rebuilt, dynamic.rebuilt.exact) < 0.02


def test_heavy_tails(seed):
    (layer,) = fixtures.make_fixture("heavy-tails", TOKENS, seed)
    text = "codes = i4, group = [1, {}], scale = f32{}"
    assert rebuilt(layer.k, text.format(16, "")) < rebuilt(layer.k, text.format(64, ""))
    normal = np.random.default_rng(seed).standard_normal(layer.k.shape).astype(np.float32)

    # Relative to what an element in the middle is worth: squares of such tails are of a few elements.
    def typical(x, more):
        cache = kvq.Cache(1, *x.shape, kvq.Format(text.format(64, more)), "f32")
        cache.append(x[None])
        return np.median(np.abs(cache.dequantize()[0] - x)) / np.median(np.abs(x))

    assert typical(layer.k, "") > 1.5 * typical(normal, "")
    squares = {}
    for more in ("", ", range = search<16>"):
        cache = kvq.Cache(1, *layer.k.shape, kvq.Format(text.format(64, more)), "f32")
        cache.append(layer.k[None])
        squares[more] = np.sum((cache.dequantize()[0] - layer.k).astype(np.float64) ** 2, axis=-1)
    # The range that is searched has the whole one among its candidates, so no row gets worse, up to rounding.
    assert np.all(squares[", range = search<16>"] <= squares[""] * (1 + 1e-5))
    assert squares[", range = search<16>"].sum() < 0.95 * squares[""].sum()


def test_near_identical_keys(seed):
    (layer,) = fixtures.make_fixture("near-identical-keys", TOKENS, seed)
    assert layer.k.std(axis=1).max() < 0.015
    lost, kept = (errors(layer, text).summary() for text in (PER_TOKEN, PER_CHANNEL))
    assert lost["attention_top_1"] < 0.5 < kept["attention_top_1"]
    assert lost["attention_kl_mean"] > 5 * kept["attention_kl_mean"]
    # Peaked: the largest of 256 weights has most of the mass in most rows.
    scores = layer.q[:, -1:] @ layer.k.repeat(4, axis=0).swapaxes(1, 2) / 8
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    assert np.median(weights.max(axis=-1) / weights.sum(axis=-1)) > 0.3


def test_head_dim_96(seed):
    (layer,) = fixtures.make_fixture("head-dim-96", TOKENS, seed)
    cache = kvq.Cache(1, *layer.k.shape, kvq.Format("codes = ui4, group = [1, *], scale = f32, zero = min f32"), "f32")
    cache.append(layer.k[None])
    # Half a step of a range of at most 2 and no more; with zeros of padding it would be 6 / 15 / 2.
    worst = np.abs(cache.dequantize()[0] - layer.k).max()
    assert 0.8 * (2 / 15 / 2) < worst <= 2 / 15 / 2 * (1 + 1e-5)


def test_key_outlier_channel(seed):
    """llama.cpp#21385, Qwen3#840: one channel of 100 among ±1; per token every +1 comes back as -1."""
    x = np.where((np.arange(32)[:, None] + np.arange(64)) % 2, -1, 1).astype(np.float32)
    x[:, 0] = 100
    positions = np.arange(31, 32)
    q = np.random.default_rng(seed).standard_normal((1, 1, 64)).astype(np.float32)
    found, score_error = {}, {}
    for group in ("[1, *]", "[32, 1]"):
        text = f"codes = ui4, group = {group}, scale = f32, zero = min f32"
        kept = find(Choice(0, "keys", (0, 1), kvq.Format(text)), x[None], positions, "f32").rebuilt
        found[group] = kept.rebuilt[0]
        exact = kept._replace(rebuilt=kept.exact)
        score_error[group] = attention_errors(q, kept, exact, positions).summary()["score_error_relative"]
    assert np.allclose(found["[1, *]"][:, 1:], -1, atol=1e-5)
    assert np.abs(found["[32, 1]"] - x).max() <= 1e-6
    # All keys alike: nothing is left of the scores.
    assert score_error["[1, *]"] == pytest.approx(1, abs=1e-4)
    assert score_error["[32, 1]"] < 1e-5


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        ("codes = i4, group = [1, 32], scale = f16", {}),
        ("codes = i4, group = [1, 32], scale = f16", {"exact_first": 3, "recent": 5}),
        (PER_CHANNEL, {"exact_first": 4, "recent": 40}),
        (PER_CHANNEL, {"residual": 64}),
        ("codes = none", {}),
    ],
)
def test_queries_find_what_caches_hold(text, windows, rng):
    """Token by token: what a cache gives back at each length, and how much of it is quantized."""
    tokens = 150
    x = rng.standard_normal((2, tokens, 64), np.float32)
    choice = Choice(0, "keys", (0, 2), kvq.Format(text), **windows)
    positions = np.arange(tokens)
    side = find(choice, x, positions)
    quantized = quantized_at(choice, positions, tokens)
    cache = choice.cache(1, tokens, 64)
    for position in range(tokens):
        cache.append(np.ascontiguousarray(x[None, :, position : position + 1]))
        assert cache.flushed[0] == flushed_at(choice, np.array([position + 1]))[0]
        mask = quantized[position, : position + 1, None]
        expected = np.where(mask, side.rebuilt.rebuilt[:, : position + 1], side.rebuilt.exact[:, : position + 1])
        np.testing.assert_array_equal(cache.dequantize()[0], expected)


def test_wrong_names():
    with pytest.raises(ValueError, match="unknown fixture 'heavy-tail', nearest: heavy-tails"):
        fixtures.make_fixture("heavy-tail", 64, 0)
    with pytest.raises(ValueError, match="expected a fixture of at least 64 tokens, found 63"):
        fixtures.make_fixture("heavy-tails", 63, 0)


def test_keys_before_rope_are_refused(rng):
    choice = Choice(3, "keys", (0, 1), kvq.Format("codes = i8, group = [1, 32], scale = f16, rope = pre"))
    with pytest.raises(kvq.Error, match="layer 3, keys: expected rope = post, as what has turned the keys is not known"):
        find(choice, rng.standard_normal((1, 64, 64), np.float32), np.arange(64))
