"""Adversarial data: queries, keys and values on which cache formats fail in ways that real models are known for.

Each generator says where its pattern was seen, and what theory says of it; test/python/test_fixtures.py holds it to that.
The sizes are chosen to show the pattern, not measured on a model.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

QUERY_HEADS, KV_HEADS, HEAD_DIM = 8, 2, 64
ROPE_BASE = 10000.0


class Layer(NamedTuple):
    """What one layer's attention takes: q [query_heads, tokens, dim], k, v [kv_heads, tokens, dim], float32; k after RoPE."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray


Generator = Callable[[np.random.Generator, int], list[Layer]]


def _normal(rng: np.random.Generator, tokens: int, dim: int = HEAD_DIM) -> Layer:
    """Independent normal noise."""
    return Layer(
        rng.standard_normal((QUERY_HEADS, tokens, dim), np.float32),
        rng.standard_normal((KV_HEADS, tokens, dim), np.float32),
        rng.standard_normal((KV_HEADS, tokens, dim), np.float32),
    )


def biased_channels(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Keys with a large constant bias in a few channels, in the first and the last of four layers.

    Origin: the key projections of Qwen2 and Qwen2.5 have biases, huge at the boundary layers: for the 7B model norms of
    605 and 921 are reported against a median of 22, and 3-bit keys break it unless those layers are spared
    (ggml-org/llama.cpp issue 21385, and QwenLM/Qwen3 issue 840).
    Theory: a bias that all tokens share leaves exact attention as it is. A scale for each channel with a minimum takes it
    up, up to the rounding of the minimum; groups within a token get steps as wide as the bias, so that the small channels
    beside it all round to the same code.
    """
    layers = [_normal(rng, tokens) for _ in range(4)]
    for layer in (layers[0], layers[-1]):
        for head in range(KV_HEADS):
            # One in each 32 channels, so that no group of 32 is spared.
            channels = [rng.integers(0, 32), rng.integers(32, 64)]
            layer.k[head, :, channels] += rng.choice([-1, 1], (2, 1)) * rng.uniform(50, 150, (2, 1)).astype(np.float32)
    return layers


def huge_first_tokens(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """The first four tokens have keys of 50 times the norm of others, and attract most of the attention.

    Origin: attention sinks (Xiao et al., Efficient Streaming Language Models with Attention Sinks, arXiv 2309.17453) and
    massive activations (Sun et al., arXiv 2402.17762), which sit at the first tokens.
    Theory: in groups along tokens the 28 others that share the first group of 32 get steps 50 times as wide.
    `exact_first = 4` brings their error back to what it is without such tokens, for 4 exact rows.
    """
    layer = _normal(rng, tokens)
    direction = rng.standard_normal((KV_HEADS, 1, HEAD_DIM)).astype(np.float32)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    layer.k[:, :4] = 50 * np.sqrt(HEAD_DIM) * direction * rng.uniform(0.9, 1.1, (KV_HEADS, 4, 1))
    layer.v[:, :4] *= 0.05  # what sinks attract is hardly passed on
    sight = direction.repeat(QUERY_HEADS // KV_HEADS, axis=0)  # queries see the sinks at scores of about 5
    queries = layer.q - (layer.q * sight).sum(axis=-1, keepdims=True) * sight + np.float32(0.1) * sight
    return [layer._replace(q=queries)]


def rope_frequencies(dim: int = HEAD_DIM) -> np.ndarray:
    """RoPE's angle for one position, of each pair of channels (c, c + dim / 2)."""
    return ROPE_BASE ** (-2 * np.arange(dim // 2) / dim)


def slow_rope_outliers(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Keys with large values in the channel pairs of RoPE's lowest frequencies: a bias before RoPE, turned by it.

    Origin: Jin et al., Massive Values in Self-Attention Modules are the Key to Contextual Knowledge Understanding
    (arXiv 2502.01563), find them in the low-frequency channels of keys and queries.
    Theory: pair i turns by base^(-2i/dim) a position. At the lowest frequencies 32 tokens turn it by less than 0.005 of
    its size, so that a group of 32 tokens of a channel sees a constant; groups within a token have steps as wide as the
    outlier.
    """
    layer = _normal(rng, tokens)
    pairs = [HEAD_DIM // 2 - 1, HEAD_DIM // 2 - 2]
    angles = np.arange(tokens)[:, None] * rope_frequencies()[pairs]
    size = rng.uniform(40, 60, (KV_HEADS, 1, len(pairs)))
    phase = rng.uniform(0, 2 * np.pi, (KV_HEADS, 1, len(pairs)))
    layer.k[..., pairs] += (size * np.cos(angles + phase)).astype(np.float32)
    layer.k[..., [pair + HEAD_DIM // 2 for pair in pairs]] += (size * np.sin(angles + phase)).astype(np.float32)
    return [layer]


def drifting_ranges(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Keys and values that grow along the context, to six times their size at the start.

    Origin: static scales, as vLLM loads them from checkpoints, come from prompts of a dataset, and what is served is
    longer than these.
    Theory: a static range of the first quarter holds all of that quarter, and clips more and more tokens behind it, whose
    error grows with their position; ranges taken at append follow.
    """
    layer = _normal(rng, tokens)
    growth = np.linspace(1, 6, tokens, dtype=np.float32)[:, None]
    return [layer._replace(k=layer.k * growth, v=layer.v * growth)]


def heavy_tails(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Keys and values of Student's t with 2 degrees of freedom, whose variance is infinite.

    Origin: single large elements at no fixed place, as the dense-and-sparse formats of KVQuant (Hooper et al., arXiv
    2401.18079) take them out.
    Theory: the largest element sets the step of its group, so wider groups lose more, and a range that gives up outliers
    for a smaller step (`range = search`) has the smaller squared error by construction, much smaller here.
    """
    layer = _normal(rng, tokens)
    k, v = (rng.standard_t(2, x.shape).astype(np.float32) for x in (layer.k, layer.v))
    return [layer._replace(k=k, v=v)]


def near_identical_keys(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Keys that differ by 1 % of their size, and queries so large that the softmax is peaked all the same.

    Origin: repeated text, whose tokens have nearly the same keys, the pattern that retrieval prompts ("needle in a
    haystack") are made of.
    Theory: attention depends on differences that are smaller than the steps of groups within a token, so that many tokens
    share their codes and the largest is lost; groups along tokens with a minimum spend all their codes on the differences.
    """
    layer = _normal(rng, tokens)
    common = rng.standard_normal((KV_HEADS, 1, HEAD_DIM)).astype(np.float32)
    return [layer._replace(q=600 * layer.q, k=common + np.float32(0.01) * layer.k)]


def head_dim_96(rng: np.random.Generator, tokens: int) -> list[Layer]:
    """Rows of 96 channels, all of them around 5.

    Origin: models with 96 channels a head (Phi-3-mini), on which rows padded to 128 gave larger errors, as zeros of the
    padding entered the ranges (InternLM/lmdeploy issue 4849).
    Theory: the step of a group comes from its own elements alone, a range of about 2 and not of 6, whatever their offset.
    """
    layer = _normal(rng, tokens, dim=96)
    return [layer._replace(k=5 + rng.random(layer.k.shape, np.float32) * 2 - 1, v=5 + rng.random(layer.v.shape, np.float32))]


FIXTURES: dict[str, Generator] = {
    "biased-channels": biased_channels,
    "huge-first-tokens": huge_first_tokens,
    "slow-rope-outliers": slow_rope_outliers,
    "drifting-ranges": drifting_ranges,
    "heavy-tails": heavy_tails,
    "near-identical-keys": near_identical_keys,
    "head-dim-96": head_dim_96,
}


def make_fixture(name: str, tokens: int, seed: int) -> list[Layer]:
    """The layers of a fixture; the same for the same seed. Raises ValueError for an unknown name, with the nearest ones,
    and for fewer tokens than 64."""
    if name not in FIXTURES:
        nearest = get_close_matches(name, FIXTURES, n=2, cutoff=0.4) or list(FIXTURES)
        raise ValueError(f"unknown fixture '{name}', nearest: {', '.join(nearest)}")
    if tokens < 64:
        raise ValueError(f"expected a fixture of at least 64 tokens, found {tokens}")
    return FIXTURES[name](np.random.default_rng(seed), tokens)
