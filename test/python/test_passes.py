"""Passes of a model over caches: equal to decoding token by token, and what they predict against float64."""

from types import SimpleNamespace

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import demo
from kvq_mlir.evaluation import EXACT, Baseline, CachedModel, Kept, LayerCaches, bootstrap_interval, uniform
from kvq_mlir.evaluation.distributions import block_means
from kvq_mlir.evaluation.passes import steady_tokens
from kvq_mlir.model import Model, exact_attention
from test_demo import CONFIG
from test_model import PLAGUE_YEAR, needs_model

PER_TOKEN = ("codes = i4, group = [1, 32], scale = f16", "codes = ui3, group = [1, 16], scale = f16, zero = min f16")
PER_CHANNEL = "codes = ui2, group = [{}, 1], scale = f16, zero = min f16"


def draw_kept(rng: np.random.Generator, exact_first: int = 0) -> Kept:
    """A side with any of the exact windows that its format allows."""
    group = int(rng.choice((1, 8, 16)))
    fmt = str(rng.choice(PER_TOKEN)) if group == 1 else PER_CHANNEL.format(group)
    if rng.random() < 0.4:
        return Kept(fmt, exact_first, residual=group * int(rng.choice((1, 2, 5))))
    return Kept(fmt, exact_first, recent=int(rng.choice((0, 0, 1, 17, 40))))


def draw_side(tokens: int, heads: int, sequences: int = 1) -> np.ndarray:
    rng = np.random.default_rng()
    return rng.standard_normal((sequences, heads, tokens, CONFIG.head_dim), np.float32)


def caches(keys: Kept, values: Kept, tokens: int, sequences: int = 1) -> list[kvq.Cache]:
    pairs = zip(("keys", "values"), (keys, values), strict=True)
    return [kept.choice(0, side, CONFIG.kv_heads).cache(sequences, tokens, CONFIG.head_dim) for side, kept in pairs]


@pytest.mark.parametrize("draw", range(3))
def test_blocks_equal_decoding_token_by_token(draw, rng):
    """Both are within 1e-5 of float64 on the same codes."""
    first = int(rng.choice((0, 3)))
    keys, values, tokens, sequences = draw_kept(rng, first), draw_kept(rng, first), int(rng.integers(40, 150)), 2
    print(keys, "|", values, "|", tokens)
    q, k, v = (draw_side(tokens, heads, sequences) for heads in (CONFIG.query_heads, CONFIG.kv_heads, CONFIG.kv_heads))
    one_by_one = caches(keys, values, tokens, sequences)
    expected = np.full_like(q, np.nan)
    for t in range(tokens):
        for cache, x in zip(one_by_one, (k, v), strict=True):
            cache.append(np.ascontiguousarray(x[:, :, t : t + 1]))
        expected[:, :, t : t + 1] = kvq.attention(np.ascontiguousarray(q[:, :, t : t + 1]), *one_by_one)
    layer, cut = LayerCaches(*caches(keys, values, tokens, sequences)), int(rng.integers(1, tokens))
    parts = ([x[:, :, rows] for x in (q, k, v)] for rows in (slice(cut), slice(cut, None)))
    found = np.concatenate([layer.attend(0, *part) for part in parts], axis=2)
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert not (not error <= 2e-5), error


def test_one_sequence_equals_the_decoding_of_the_demo():
    q, k, v = draw_side(100, CONFIG.query_heads), *(draw_side(100, CONFIG.kv_heads) for _ in range(2))
    expected = demo.decode(CONFIG, demo.UI4_PER_CHANNEL, demo.I4, q, k, v)
    keys, values = (Kept(side.format, recent=side.recent) for side in (demo.UI4_PER_CHANNEL, demo.I4))
    found = LayerCaches(*caches(keys, values, 100)).attend(0, q, k, v)
    assert np.linalg.norm(found - expected) <= 2e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("draw", range(6))
def test_tokens_of_a_block_leave_what_is_quantized_as_it_is(draw, rng):
    """... and the token behind the block does not."""
    kept, tokens = draw_kept(rng, int(rng.choice((0, 3)))), 120
    print(kept)
    (cache, _), x = caches(kept, EXACT, tokens), draw_side(1, CONFIG.kv_heads)
    counts = []
    for _ in range(tokens):
        cache.append(x)
        counts.append(int(cache.flushed[0]))
    length = 0
    while length < tokens:
        steady = steady_tokens(cache, length)
        if steady is None:
            assert not cache.has_window
            return
        block = counts[length : length + steady]
        assert steady >= 1 and len(set(block)) == 1
        length += steady
        assert length >= tokens or counts[length] != block[0]


def test_observers_see_every_block_and_what_its_queries_found():
    tokens, keys = 70, Kept(PER_CHANNEL.format(16), recent=8)
    q, k, v = draw_side(tokens, CONFIG.query_heads), *(draw_side(tokens, CONFIG.kv_heads) for _ in range(2))
    seen = []

    def observe(block):
        found = exact_attention(block.q, block.keys.dequantize(), block.values.dequantize(), np.float64)
        assert np.linalg.norm(block.out - found) <= 1e-5 * np.linalg.norm(found)
        seen.append((block.first, block.last, block.kv_heads))

    LayerCaches(*caches(keys, EXACT, tokens)).attend(3, q, k, v, observe)
    # 16 tokens are quantized as soon as 8 newer ones are there.
    assert [(first, last) for first, last, _ in seen] == [(0, 23), (23, 39), (39, 55), (55, 70)]
    assert {heads for *_, heads in seen} == {(0, CONFIG.kv_heads)}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load()


@needs_model
def test_greedy_tokens_over_exact_caches_are_those_without_caches(model):
    prompt = model.tokenize(PLAGUE_YEAR, 64)
    cached = CachedModel(model, uniform(30, 3, EXACT, EXACT), 1, 96)
    hidden, found = cached.extend(prompt[None])[0, -1], []
    for _ in range(24):
        found.append(int(model.logits(hidden).argmax()))
        hidden = cached.extend(np.array([found[-1:]]))[0, -1]
    ids = prompt
    for _ in range(24):
        hidden = model.forward(ids, lambda layer, q, k, v: exact_attention(q, k, v))
        ids = np.append(ids, model.logits(hidden[-1]).argmax())
    assert found == ids[64:].tolist()


@needs_model
def test_keys_before_rope_and_heads_apart_change_nothing_but_rounding(model):
    """16-bit keys, rounded before or after they are turned; a policy that names heads, over two sequences."""
    ids = model.tokenize(PLAGUE_YEAR, 120).reshape(2, 60)
    expected = CachedModel(model, uniform(30, 3, EXACT, EXACT), 2, 60).extend(ids)
    heads = "<heads = [0, 1], format = #kvq.format<codes = none>>"
    policy = kvq.Policy(f"module attributes {{kvq.policy = #kvq.policy<{heads}>}} {{}}").choose(30, 3)
    for choices in (policy, uniform(30, 3, Kept("codes = none, rope = pre"), EXACT)):
        found = CachedModel(model, choices, 2, 60).extend(ids)
        assert np.linalg.norm(found - expected) <= 2e-3 * np.linalg.norm(expected)  # float16 has 11 bits
    assert {choice.heads for choice in policy} == {(0, 2), (2, 3)}


@needs_model
def test_a_pass_from_a_later_layer_is_the_rest_of_the_pass(model):
    ids = model.tokenize(PLAGUE_YEAR, 48)[None]
    choices = uniform(30, 3, Kept(PER_TOKEN[0]), EXACT)
    whole, x = CachedModel(model, choices, 1, 48), model.embed(ids)
    for layer in range(20):
        x = model.layer(layer, x, whole.attend)
    rest = CachedModel(model, [choice for choice in choices if choice.layer >= 20], 1, 48)
    found, expected = rest.extend_from(20, x), CachedModel(model, choices, 1, 48).extend(ids)
    np.testing.assert_array_equal(found, expected)


def test_statistics_match_float64():
    """Differences of logits from large to tiny, where KL is far below the rounding of the logits' exponentials."""
    rng = np.random.default_rng()
    sequences, tokens, channels, vocabulary = 2, 80, 8, 500
    weights = rng.standard_normal((vocabulary, channels), np.float32)
    fake = SimpleNamespace(logits=lambda hidden: hidden @ weights.T)
    ids = rng.integers(0, vocabulary, (sequences, tokens))
    hidden = rng.standard_normal((sequences, tokens, channels), np.float32)
    baseline = Baseline(fake, ids, hidden)
    for scale in (1.0, 1e-2, 1e-3):
        other = hidden + np.float32(scale) * rng.standard_normal(hidden.shape, np.float32)
        found = baseline.compare(other)
        p, q = (_log_softmax(x.astype(np.float64) @ weights.T) for x in (hidden, other))
        kl = np.sum(np.exp(p) * (p - q), axis=-1)
        # Logarithms of 8 and more in f32 are rounded by up to 5e-7, of which a mean over the vocabulary leaves a part.
        np.testing.assert_allclose(found.kl, kl, rtol=2e-3, atol=3e-7)
        np.testing.assert_allclose(found.nll, -np.take_along_axis(q[:, :-1], ids[:, 1:, None], 2)[..., 0], atol=1e-5)
        assert np.mean(found.same_top == (p.argmax(-1) == q.argmax(-1))) > 0.98  # ties within rounding
    np.testing.assert_allclose(
        baseline.statistics.nll, -np.take_along_axis(p[:, :-1], ids[:, 1:, None], 2)[..., 0], atol=1e-5
    )
    with pytest.raises(ValueError, match=r"expected hidden states of shape \(2, 80, 8\)"):
        baseline.compare(hidden[:1])


def _log_softmax(x: np.ndarray) -> np.ndarray:
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def test_bootstrap_interval_of_a_mean():
    """Of n independent values it is 2 x 1.96 standard errors wide, here within a fifth: the spread of 400 values is
    known to 3.5 %, the ends of 2,000 draws to about as much."""
    x = np.random.default_rng().standard_normal((4, 6400)) + 5
    means = block_means(x)
    low, high = bootstrap_interval(lambda weights: weights @ means / len(means), 4, 6400)
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(x.size), rel=0.2)
    assert low < x.mean() < high
    with pytest.raises(ValueError, match="expected blocks that divide 100 tokens, got 64"):
        bootstrap_interval(lambda weights: weights @ means, 1, 100)
