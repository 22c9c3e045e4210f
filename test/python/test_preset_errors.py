"""What the types of ggml cost: the error of attention's output, from compiled code."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir.metrics import relative_l2

TOKENS, HEADS, KV_HEADS, DIM, QUERIES = 4096, 32, 8, 128, 16


@pytest.fixture(scope="module")
def exact():
    """N(0, 1) queries, keys and values, and attention over them in float64.

    The queries are given rounded to q8_0: llama.cpp multiplies quantized keys by such a query.
    """
    rng = np.random.default_rng()
    q, k, v = (
        rng.standard_normal((1, heads, tokens, DIM), np.float32)
        for heads, tokens in ((HEADS, QUERIES), (KV_HEADS, TOKENS), (KV_HEADS, TOKENS))
    )
    grouped = q.reshape(KV_HEADS, -1, DIM).astype(np.float64)
    scores = grouped @ k[0].astype(np.float64).swapaxes(1, 2) / np.sqrt(DIM)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = (weights / weights.sum(-1, keepdims=True)) @ v[0].astype(np.float64)
    rounded = kvq.dequantize(kvq.quantize(q, kvq.Format.preset("ggml.q8_0")))
    return rounded, k, v, out.reshape(1, HEADS, QUERIES, DIM)


@pytest.mark.parametrize(
    "name, error",
    [("q8_0", 9.5e-3), ("q5_1", 5.5e-2), ("q5_0", 6.2e-2), ("iq4_nl", 0.109), ("q4_1", 0.113), ("q4_0", 0.121)],
)
def test_relative_output_error(name, error, exact):
    q, k, v, expected = exact
    keys, values = (kvq.Cache(1, KV_HEADS, TOKENS, DIM, kvq.Format.preset(f"ggml.{name}")) for _ in range(2))
    keys.append(k)
    values.append(v)
    found = relative_l2(kvq.attention(q, keys, values, causal=False), expected)
    assert abs(found - error) <= 0.05 * error, found
