"""Attention and metrics of the reference."""

import math

import numpy as np
import pytest
from kvq_mlir import metrics, reference
from kvq_mlir.reference import Cache
from reference_helpers import INT8, fmt, tokens

# --- attention -----------------------------------------------------------------------------------------------------


def test_attention_of_two_keys():
    # Scores 0 and ln 3: weights 1/4 and 3/4, denominator 4.
    k, v = [np.array([[[0.0], [math.log(3)]]])], [np.array([[[0.0, 8.0], [4.0, 0.0]]])]
    out, lse = reference.attention(np.ones((1, 1, 1, 1)), k, v, return_lse=True)
    assert np.allclose(out, [[[[3, 2]]]], rtol=1e-15)
    assert np.allclose(lse, math.log(4), rtol=1e-15)


def test_default_scale_is_one_over_root_dim():
    # q.k = 2 ln 3 over four channels: the default 1/2 gives the weights above, an explicit 1 gives 1/10 and 9/10.
    k = [np.array([[[0.0] * 4, [math.log(3) / 2] * 4]])]
    v = [np.array([[[0.0], [4.0]]])]
    q = np.ones((1, 1, 1, 4))
    assert np.allclose(reference.attention(q, k, v), 3)
    assert np.allclose(reference.attention(q, k, v, scale=1), 3.6)


def test_causal_rows():
    v = [np.arange(5.0).reshape(1, 5, 1)]
    k = [np.zeros((1, 5, 1))]
    q = np.zeros((1, 1, 3, 1))
    # Queries at positions 2, 3 and 4: means of 0..2, 0..3, 0..4. With three tokens of the five: positions 0, 1, 2.
    out, lse = reference.attention(q, k, v, return_lse=True)
    assert np.allclose(out[0, 0, :, 0], [1, 1.5, 2]) and np.allclose(lse, np.log([3, 4, 5]))
    assert np.allclose(reference.attention(q, k, v, lengths=[3])[0, 0, :, 0], [0, 0.5, 1])
    assert np.allclose(reference.attention(q, k, v, causal=False), 2)
    # Two tokens, three queries: the first stands before the sequence and sees nothing.
    out, lse = reference.attention(q, k, v, lengths=[2], return_lse=True)
    assert np.allclose(out[0, 0, :, 0], [0, 0, 0.5])
    assert lse[0, 0].tolist() == [-np.inf, 0, math.log(2)]


def test_case_28_rows_without_a_key():
    k = [np.zeros((1, n, 2)) for n in (5, 0, 3)]
    v = [np.full((1, n, 2), 7.0) for n in (5, 0, 3)]
    out, lse = reference.attention(np.ones((3, 2, 1, 2)), k, v, return_lse=True)
    assert np.allclose(out[[0, 2]], 7) and not out[1].any()
    assert np.all(lse[1] == -np.inf)


def test_hidden_tokens_have_no_influence_but_a_visible_nan_shows():
    k, v = np.zeros((1, 4, 2)), np.ones((1, 4, 2))
    k[:, 3], v[:, 3] = np.nan, np.nan
    q = np.zeros((1, 1, 2, 2))
    out = reference.attention(q, [k], [v])  # query 0 sees three tokens, query 1 all four
    assert np.all(out[0, 0, 0] == 1) and np.isnan(out[0, 0, 1]).all()
    assert np.all(reference.attention(q, [k], [v], lengths=[3], causal=False) == 1)


@pytest.mark.parametrize("q_heads, kv_heads", [(28, 4), (24, 4), (40, 8), (48, 2), (3, 3)])
def test_case_22_query_heads_share_kv_heads(q_heads, kv_heads):
    v = [np.repeat(np.arange(kv_heads, dtype=float), 6).reshape(kv_heads, 3, 2)]
    k = [tokens(kv_heads, 3, 4)]
    out = reference.attention(tokens(1, q_heads, 1, 4), k, v)
    expected = np.arange(q_heads) // (q_heads // kv_heads)
    assert np.allclose(out[0, :, 0, 0], expected, rtol=1e-15)


def test_each_query_head_keeps_its_own_query():
    # Scores 0 and ln w: the second weight is w / (1 + w). Heads 0, 1 read KV head 0, heads 2, 3 the other one.
    q = np.log([[1, 3, 7, 9]]).reshape(1, 4, 1, 1)
    k, v = [np.array([[[0.0], [1.0]]] * 2)], [np.array([[[0.0], [1.0]], [[0.0], [10.0]]])]
    assert np.allclose(reference.attention(q, k, v, scale=1).flatten(), [0.5, 0.75, 8.75, 9])


def test_attention_errors():
    k = [np.zeros((2, 4, 8))]
    with pytest.raises(ValueError, match="33.*2"):  # case 23
        reference.attention(np.zeros((1, 33, 1, 8)), k, k)
    with pytest.raises(ValueError, match="dim 6.*8"):
        reference.attention(np.zeros((1, 2, 1, 6)), k, k)
    with pytest.raises(ValueError, match="length 5.*4"):
        reference.attention(np.zeros((1, 2, 1, 8)), k, k, lengths=[5])
    with pytest.raises(ValueError, match="2 sequences.*1"):
        reference.attention(np.zeros((2, 2, 1, 8)), k, k)


def test_attention_over_caches():
    # One key picked out by a large score: the output is its value (fixture P), exact in the window, quantized before.
    k, v = Cache(fmt(INT8), 1, 1, 4, 8, recent=2), Cache(fmt(INT8), 1, 1, 4, 8, recent=2)
    k.append(np.eye(4, dtype=np.float32)[None, None])
    rows = np.float32([[127, 0.4, -3.6, 1], [0] * 4, [0] * 4, [0.1, 0.2, 0.3, 0.4]])
    v.append(rows[None, None])
    q = np.zeros((1, 1, 1, 4))
    q[..., 0] = 1e4
    assert reference.attention(q, k, v).flatten().tolist() == [127, 0, -4, 1]  # scale 1
    q = np.roll(q, 3, axis=-1)
    assert reference.attention(q, k, v).flatten().tolist() == rows[3].astype(np.float16).tolist()


# --- metrics -------------------------------------------------------------------------------------------------------


def test_relative_l2():
    assert metrics.relative_l2(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == 0.1  # 0.5 / 5
    assert metrics.relative_l2(np.zeros(2), np.zeros(2)) == 0
    assert metrics.relative_l2(np.ones(2), np.zeros(2)) == math.inf
    assert math.isnan(metrics.relative_l2(np.array([math.nan]), np.ones(1)))
    with pytest.raises(ValueError, match="shapes differ"):
        metrics.relative_l2(np.ones(2), np.ones(3))


def test_key_score_error():
    q = np.array([[[[1.0, 2.0]]]])
    k = np.array([[[1.0, 0.0], [-1.0, 0.0]]])  # scores 1 and -1, mean 0, norm sqrt 2
    assert metrics.key_score_error(q, [k], [k]) == 0
    # The same error on every key shifts the row: nothing.
    assert metrics.key_score_error(q, [k + np.array([0.5, -3.0])], [k]) == 0
    # Scores 2 and -1, centred 1.5 and -1.5: differences 0.5 and -0.5.
    other = np.array([[[2.0, 0.0], [-1.0, 0.0]]])
    assert metrics.key_score_error(q, [other], [k]) == pytest.approx(0.5)


def test_key_score_error_is_causal():
    q = np.ones((1, 2, 2, 1))  # two query heads on one KV head, at positions 1 and 2
    k = np.array([[[1.0], [-1.0], [0.0]]])
    other = np.array([[[1.0], [-1.0], [3.0]]])
    # Row 0 sees no error. Row 1: centred (1, -1, 0) against (0, -2, 2), squared error 1 + 1 + 4; norms 2 and 2.
    assert metrics.key_score_error(q, [other], [k]) == pytest.approx(math.sqrt(6 / 4))
    assert metrics.key_score_error(q, [other], [k], causal=False) == pytest.approx(math.sqrt(6 / 2))
