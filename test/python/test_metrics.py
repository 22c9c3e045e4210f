"""Error metrics: against plain float64 loops written from the formulas, and what theory says of them."""

import math

import numpy as np
import pytest
from kvq_mlir.metrics import AttentionErrors, Rebuilt, attention_errors, next_token_kl, relative_l2


def softmax(scores):
    weights = [math.exp(s - max(scores)) for s in scores]
    return [w / sum(weights) for w in weights]


def plain_row(q, keys, found_keys, values, found_values, top):
    """The figures of one row by the formulas of kvq_mlir.metrics; q scaled, lists of tokens' rows that it sees."""
    n = len(keys)
    scores = [float(np.dot(q, k)) for k in keys]
    found_scores = [float(np.dot(q, k)) for k in found_keys]
    errors = [b - a for a, b in zip(scores, found_scores)]
    centred = [e - sum(errors) / n for e in errors]
    p, p_found = softmax(scores), softmax(found_scores)
    first, first_found = (
        sorted(range(n), key=lambda t: (-each[t], t))[: min(top, n)] for each in (scores, found_scores)
    )

    def output(weights, rows):
        return sum(w * row for w, row in zip(weights, rows))

    exact = output(p, values)
    outputs = {
        "keys": output(p_found, values),
        "values": output(p, found_values),
        "both": output(p_found, found_values),
    }
    total = outputs["both"] - exact
    key_part = output([b - a for a, b in zip(p, p_found)], [(v + w) / 2 for v, w in zip(values, found_values)])
    value_part = output([(a + b) / 2 for a, b in zip(p, p_found)], [w - v for v, w in zip(values, found_values)])
    result = {
        "score_max": max(abs(c) for c in centred),
        "score_mean": sum(abs(c) for c in centred) / n,
        "score_error": sum(c * c for c in centred),
        "score_norm": sum((s - sum(scores) / n) ** 2 for s in scores),
        "kl": sum(a * math.log(a / b) for a, b in zip(p, p_found)),
        "top_1": float(first[0] == first_found[0]),
        "top_k": len(set(first) & set(first_found)) / len(first),
        "key_part": float(np.dot(key_part, total)),
        "value_part": float(np.dot(value_part, total)),
    }
    for name, found in outputs.items():
        result[f"{name}.error"] = float(np.dot(found - exact, found - exact))
        result[f"{name}.norm"] = float(np.dot(exact, exact))
        result[f"{name}.cosine"] = float(np.dot(found, exact)) / math.sqrt(np.dot(found, found) * np.dot(exact, exact))
    return result


def draw(rng, noise=0.1):
    """q, exact and found keys and values, masks and positions of random sizes."""
    kv_heads, ratio, tokens, dim, value_dim = (int(rng.integers(1, high)) for high in (4, 4, 40, 20, 20))
    queries = int(rng.integers(1, tokens + 1))
    q = rng.standard_normal((kv_heads * ratio, queries, dim))
    k, v = rng.standard_normal((kv_heads, tokens, dim)), rng.standard_normal((kv_heads, tokens, value_dim))
    found = [x + noise * rng.standard_normal(x.shape) for x in (k, v)]
    masks = [rng.random((queries, tokens)) < 0.7 if rng.random() < 0.7 else None for _ in found]
    positions = np.sort(rng.choice(tokens, queries, replace=False))
    return q, Rebuilt(k, found[0], masks[0]), Rebuilt(v, found[1], masks[1]), positions


def found_by(side, query):
    """[kv_heads, tokens, dim] that query i finds."""
    return side.rebuilt if side.quantized is None else np.where(side.quantized[query][:, None], side.rebuilt, side.exact)


def at(errors, name, head, query):
    first, _, second = name.partition(".")
    value = getattr(errors, first)
    return (getattr(value, second) if second else value)[head, query]


def test_rows_are_those_of_plain_sums(rng):
    for _ in range(12):
        q, keys, values, positions = draw(rng)
        top, scale = int(rng.integers(1, 10)), float(rng.uniform(0.1, 2))
        errors = attention_errors(q, keys, values, positions, scale, top, block=int(rng.integers(1, 9)))
        ratio = len(q) // len(keys.exact)
        for head, query in np.ndindex(q.shape[:2]):
            kv, n = head // ratio, positions[query] + 1
            expected = plain_row(
                q[head, query] * scale,
                keys.exact[kv, :n],
                found_by(keys, query)[kv, :n],
                values.exact[kv, :n],
                found_by(values, query)[kv, :n],
                top,
            )
            for name, value in expected.items():
                found = at(errors, name, head, query)
                assert math.isclose(found, value, rel_tol=1e-6, abs_tol=1e-9), (name, found, value)


def test_summary_is_of_the_rows(rng):
    q, keys, values, positions = draw(rng)
    errors = attention_errors(q, keys, values, positions)
    found = errors.summary()
    assert found["score_error_max"] == errors.score_max.max()
    assert found["score_error_mean"] == pytest.approx(np.mean(errors.score_mean))
    # Scores of rows that see one token are all their mean, without an error.
    norm = errors.score_norm.sum()
    relative = math.sqrt(errors.score_error.sum() / norm) if norm else 0
    assert found["score_error_relative"] == pytest.approx(relative)
    order = np.sort(errors.kl.ravel())
    assert found["attention_kl_max"] == order[-1] >= found["attention_kl_p99"] >= found["attention_kl_p50"] >= order[0]
    assert found["attention_kl_mean"] == pytest.approx(order.mean())
    for name in ("keys", "values", "both"):
        side = getattr(errors, name)
        assert found[f"output_error_{name}"] == pytest.approx(math.sqrt(side.error.sum() / side.norm.sum()))
        assert found[f"output_cosine_{name}"] == pytest.approx(side.cosine.mean())
    assert found["output_share_keys"] + found["output_share_values"] == pytest.approx(1)
    # Of one head and one query alone.
    head, query = (int(rng.integers(n)) for n in q.shape[:2])
    alone = errors.summary(rows=[query], heads=[head])
    assert alone["attention_kl_mean"] == alone["attention_kl_p50"] == errors.kl[head, query]
    with pytest.raises(ValueError, match="expected at least one row, found none"):
        errors.summary(rows=[])


def test_distances(rng):
    q, keys, values, positions = draw(rng)
    errors = attention_errors(q, keys, values, positions)
    ratio = len(q) // len(keys.exact)
    score, attention, value, tokens = {}, {}, {}, {}
    for head, query in np.ndindex(q.shape[:2]):
        n, kv = positions[query] + 1, head // ratio
        scale = 1 / math.sqrt(q.shape[2])
        e = (found_by(keys, query)[kv, :n] - keys.exact[kv, :n]) @ q[head, query] * scale
        p = softmax(list(keys.exact[kv, :n] @ q[head, query] * scale))
        r = np.linalg.norm(found_by(values, query)[kv, :n] - values.exact[kv, :n], axis=-1)
        for t in range(n):
            distance = positions[query] - t
            start = 0 if distance == 0 else 1 << (int(distance).bit_length() - 1)
            tokens[start] = tokens.get(start, 0) + 1
            score[start] = score.get(start, 0) + abs(e[t] - e.mean())
            attention[start] = attention.get(start, 0) + p[t]
            value[start] = value.get(start, 0) + p[t] * r[t]
    found = errors.distances()
    assert [row["from"] for row in found] == sorted(tokens)
    for row in found:
        start = row["from"]
        assert row["score_error_mean"] == pytest.approx(score[start] / tokens[start], rel=1e-6)
        assert row["attention"] == pytest.approx(attention[start] / errors.kl.size, rel=1e-6)
        assert row["value_error"] == pytest.approx(value[start] / errors.kl.size, rel=1e-6)


def test_an_error_that_all_tokens_share_costs_nothing(rng):
    q, keys, values, positions = draw(rng)
    shared = 3 * rng.standard_normal((len(keys.exact), 1, keys.exact.shape[2]))
    errors = attention_errors(q, Rebuilt(keys.exact, keys.exact + shared), Rebuilt(values.exact, values.exact), positions)
    assert errors.score_max.max() < 1e-12
    assert errors.kl.max() < 1e-12
    assert errors.top_1.min() == errors.top_k.min() == 1
    assert errors.summary()["output_error_both"] < 1e-12
    seen = keys.exact[:, : positions[-1] + 1]  # by the last query
    expected = math.sqrt(np.sum(shared**2) * seen.shape[1] / np.sum(seen**2))
    assert errors.reconstruction_error("keys") == pytest.approx(expected)


def test_larger_reconstruction_error_with_smaller_output_error(rng):
    """Keys: an error that all tokens share, beside a small one on each. Values: an error of a token nobody attends to."""
    q, k, v = rng.standard_normal((1, 8, 16)), rng.standard_normal((1, 64, 16)), rng.standard_normal((1, 64, 16))
    small = 0.1 * rng.standard_normal(k.shape)
    shared = np.broadcast_to(5 * rng.standard_normal((1, 1, 16)), k.shape)
    exact = Rebuilt(v, v)
    harmless, harmful = (attention_errors(q, Rebuilt(k, k + e), exact) for e in (shared, small))
    assert harmless.reconstruction_error("keys") > 5 * harmful.reconstruction_error("keys")
    assert harmless.summary()["output_error_keys"] < 1e-9 < harmful.summary()["output_error_keys"]

    q = 1 + 0.1 * q
    k[:, 10:20] = -4  # scores of about -16: nobody attends to these
    unread = np.zeros_like(v)
    unread[:, 10:20] = 1
    harmless, harmful = (attention_errors(q, Rebuilt(k, k), Rebuilt(v, v + e)) for e in (unread, small))
    assert harmless.reconstruction_error("values") > 2 * harmful.reconstruction_error("values")
    assert harmless.summary()["output_error_values"] < 0.1 * harmful.summary()["output_error_values"]


def test_sides_are_apart(rng):
    q, keys, values, positions = draw(rng)
    exact_keys, exact_values = Rebuilt(keys.exact, keys.exact), Rebuilt(values.exact, values.exact)
    both = attention_errors(q, keys, values, positions)
    keys_alone = attention_errors(q, keys, exact_values, positions)
    values_alone = attention_errors(q, exact_keys, values, positions)
    np.testing.assert_allclose(both.keys.error, keys_alone.both.error, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(both.values.error, values_alone.both.error, rtol=1e-9, atol=1e-18)
    np.testing.assert_array_equal(both.kl, keys_alone.kl)
    assert values_alone.kl.max() == values_alone.score_max.max() == 0
    assert np.abs(keys_alone.value_part).max() == np.abs(values_alone.key_part).max() == 0


def test_ties_go_to_the_earlier_token():
    """Two equal keys: the top is the earlier one, whichever way it is found; swapped keys are another top."""
    k = np.array([[[1.0], [1.0], [0.0]]])
    exact = Rebuilt(k, k)
    assert attention_errors(np.ones((1, 1, 1)), exact, exact, top=2).top_k.item() == 1
    later = Rebuilt(k, np.array([[[0.9], [1.0], [0.0]]]))
    found = attention_errors(np.ones((1, 1, 1)), later, exact, top=2)
    assert (found.top_1.item(), found.top_k.item()) == (0, 1)


def test_layers_are_pooled(rng):
    q, keys, values, positions = draw(rng)
    parts = [attention_errors(q * size, keys, values, positions) for size in (0.5, 2)]
    pooled = AttentionErrors.pooled(parts)
    assert pooled.kl.tolist() == np.concatenate([part.kl for part in parts]).tolist()
    assert pooled.both.error.tolist() == np.concatenate([part.both.error for part in parts]).tolist()
    heads = len(q)
    assert pooled.summary(heads=slice(heads, None)) == parts[1].summary()
    with pytest.raises(ValueError, match="expected one or more layers with queries at the same positions"):
        AttentionErrors.pooled([])


def test_nan_shows(rng):
    q, keys, values, positions = draw(rng)
    found = values.rebuilt.copy()
    found[:, 0] = np.nan
    errors = attention_errors(q, keys, Rebuilt(values.exact, found), positions)
    assert math.isnan(errors.summary()["output_error_both"])
    assert not math.isnan(errors.summary()["attention_kl_max"])


def test_next_token_distributions(rng):
    logits, exact = 3 * rng.standard_normal((2, 5, 50))
    for row, found in enumerate(next_token_kl(logits, exact)):
        p, p_found = softmax(list(exact[row])), softmax(list(logits[row]))
        assert math.isclose(found, sum(a * math.log(a / b) for a, b in zip(p, p_found)), rel_tol=1e-6)
    assert next_token_kl(exact + 7, exact).max() < 1e-12  # a shift of all logits changes nothing


def test_errors_name_what_was_found(rng):
    x = np.zeros((2, 6, 4))
    side = Rebuilt(x, x)
    q = np.zeros((4, 3, 4))
    cases = {
        "expected q as \\[q_heads, queries, dim\\], none of them 0, found shape \\(3, 4\\)": (q[0], side, side),
        "3 query heads are not a multiple of 2 KV heads": (q[:3], side, side),
        "expected exact and rebuilt values of one shape .*, found \\(2, 6, 4\\) and \\(2, 5, 4\\)": (
            q,
            side,
            Rebuilt(x, x[:, :5]),
        ),
        "expected keys and values of as many heads and tokens, found \\(2, 6\\) and \\(2, 5\\)": (
            q,
            side,
            Rebuilt(x[:, :5], x[:, :5]),
        ),
        "expected q with the keys' 4 channels, found 3": (q[..., :3], side, side),
        "expected quantized keys as bool of shape \\(3, 6\\), found bool of shape \\(3, 5\\)": (
            q,
            Rebuilt(x, x, np.ones((3, 5), bool)),
            side,
        ),
        "expected positions of 0 to 5, found 3 to 6": (q, side, side, [3, 5, 6]),
        "expected 3 integer positions, found int64 of shape \\(2,\\)": (q, side, side, [3, 5]),
        "expected a top of at least 1, found 0": (q, side, side, None, None, 0),
    }
    for message, arguments in cases.items():
        with pytest.raises(ValueError, match=message):
            attention_errors(*arguments)


def test_relative_l2_of_zeros():
    assert relative_l2(np.zeros(3), np.zeros(3)) == 0
    assert relative_l2(np.ones(3), np.zeros(3)) == math.inf
    assert math.isnan(relative_l2(np.array([np.nan]), np.ones(1)))
