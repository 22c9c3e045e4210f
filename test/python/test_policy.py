"""Policies: the caches that they give a model, and compiled code under one against caches made by hand."""

import re

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import _kvq

HEADS, DIM, RATIO, CAPACITY = 4, 32, 2, 64
POLICY = """
// Keys of layer 1 wait for a group of 8 tokens; of its values two heads have 4 bits, the others 8.
#k = #kvq.format<codes = ui4, group = [8, 1], scale = f16, zero = min f16>
#v4 = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#v8 = #kvq.format<codes = i8, group = [1, *], scale = f32>
module attributes {{kvq.policy = #kvq.policy<
  <side = keys, format = #k, exact_first = 2, recent = 5>,
  <side = values, format = #v8, exact_first = 2>,
  <side = values, layers = [1], heads = [1:3], format = #v4, exact_first = 2, residual = 3>,
  <layers = [0], format = #kvq.format<codes = none>>
>}} {{{body}}}
"""


def decode_step(batch: int) -> str:
    """@step: two layers, each an append and an attention. Float caches; nothing of a policy but the layers."""
    cache = f"!kvq.cache<{batch}x{HEADS}x?x{DIM}xf16, #kvq.format<codes = none>>"
    x, n = f"tensor<{batch}x{HEADS}x?x{DIM}xf32>", f"tensor<{batch}xi64>"
    q = f"tensor<{batch}x{HEADS * RATIO}x1x{DIM}xf32>"
    read_only = "{bufferization.writable = false}"
    parameters, body, results = [], "", []
    for layer in range(2):
        parameters += [f"%k{layer}: {cache} {{kvq.layer = {layer}}}", f"%v{layer}: {cache} {{kvq.layer = {layer}}}"]
        parameters += [f"%out{layer}: {q}"]
        for side in "kv":
            body += f"""
  %{side}a{layer} = kvq.append ins(%x{side} : {x}) lengths(%n : {n}) counts(%new : {n})
      into(%{side}{layer} : {cache}) -> {cache}"""
        body += f"""
  %o{layer} = kvq.attention ins(%q, %ka{layer}, %va{layer} : {q}, {cache}, {cache}) lengths(%after : {n})
      outs(%out{layer} : {q}) {{scale = 0.25 : f32}} -> {q}"""
        results += [(f"%o{layer}", q), (f"%ka{layer}", cache), (f"%va{layer}", cache)]
    counts = ", ".join(f"%{name}: {n} {read_only}" for name in ("n", "new", "after"))
    inputs = f"%xk: {x} {read_only}, %xv: {x} {read_only}, %q: {q} {read_only}, {counts}"
    names, types = (", ".join(column) for column in zip(*results, strict=True))
    return f"""
func.func @step({inputs}, {", ".join(parameters)}) -> ({types}) {{{body}
  return {names} : {types}
}}"""


def make_caches(batch: int) -> dict[tuple[int, str], list[tuple[tuple[int, int], kvq.Cache]]]:
    caches = {}
    for choice in kvq.Policy(POLICY.format(body="")).choose(2, HEADS):
        made = choice.cache(batch, CAPACITY, DIM)
        caches.setdefault((choice.layer, choice.side), []).append((choice.heads, made))
    return caches


def test_compiled_code_under_a_policy_is_that_of_caches_made_by_hand(rng):
    """Storage and counts bit for bit, across flushes; keys and values of layer 1 are cut at the same heads."""
    batch = 2
    kernel = _kvq.compile(POLICY.format(body=decode_step(batch)))
    expected, found = make_caches(batch), make_caches(batch)
    for side in ("keys", "values"):
        assert [heads for heads, _ in expected[1, side]] == [(0, 1), (1, 3), (3, 4)]
    flushed = {id(cache): np.zeros(batch, np.int64) for caches in found.values() for _, cache in caches}
    lengths = np.zeros(batch, np.int64)
    for _ in range(12):
        tokens = int(rng.integers(1, 5))
        counts = rng.integers(0, tokens + 1, batch)
        counts[0] = tokens
        xk, xv = (rng.standard_normal((batch, HEADS, tokens, DIM)).astype(np.float32) for _ in range(2))
        q = rng.standard_normal((batch, HEADS * RATIO, 1, DIM)).astype(np.float32)
        outs = [np.full(q.shape, np.nan, np.float32) for _ in range(2)]
        arguments = [xk, xv, q, lengths, counts, lengths + counts]
        for layer in range(2):
            for side in ("keys", "values"):
                for _, cache in found[layer, side]:
                    arguments += cache.storage().values()
                    if cache.has_window:
                        arguments.append(flushed[id(cache)])
            arguments.append(outs[layer])
        kernel.invoke("step", arguments)
        lengths = lengths + counts

        for (_, side), caches in expected.items():
            for (a, b), cache in caches:
                cache.append(np.ascontiguousarray((xk if side == "keys" else xv)[:, a:b]), counts)
        for layer in range(2):
            for ((a, b), k), (_, v) in zip(expected[layer, "keys"], expected[layer, "values"], strict=True):
                rows = slice(a * RATIO, b * RATIO)
                out = kvq.attention(np.ascontiguousarray(q[:, rows]), k, v, scale=0.25, causal=False)
                assert np.abs(outs[layer][:, rows] - out).max() <= 1e-5
    for place, caches in expected.items():
        for (heads, cache), (_, other) in zip(caches, found[place], strict=True):
            if cache.has_window:
                assert flushed[id(other)].tolist() == cache.flushed.tolist(), (place, heads)
            for name, array in cache.storage().items():
                rows = {"codes": 1, "scales": cache.format.tokens, "zeros": cache.format.tokens}.get(name)
                for b, length in enumerate(cache.flushed.tolist() if rows else []):
                    stored = other.storage()[name][b, :, : length // rows]
                    assert np.array_equal(array[b, :, : length // rows], stored), (place, heads, name)
    assert max(cache.flushed.max() for _, cache in expected[1, "keys"]) >= 8


def test_packed_tokens_and_segments_under_a_policy(rng):
    """Packed tokens by starts, and by slots of pages, into ranges of heads and rows of several formats."""
    batch, page = 2, 8
    entries = """
#f = #kvq.format<codes = i8, group = [1, *], scale = f16>
#row = #kvq.segments<[0:16] = #kvq.format<codes = i4, group = [1, 16], scale = f16>, [16:32] = none>
module attributes {{kvq.policy = #kvq.policy<<side = keys, heads = [1:4], format = #f>, <side = values, heads = [1:4], format = #row>>}} {{{body}}}
"""
    whole = f"{batch}x{HEADS}x?x{DIM}xf16, #kvq.format<codes = none>, page = {page}"
    cache, x = f"!kvq.cache<{whole}>", f"tensor<?x{HEADS}x{DIM}xf32>"
    n, table = f"tensor<{batch}xi64>", f"tensor<{batch}x?xi64>"
    body = f"""
func.func @step(%x: {x}, %n: {n}, %table: {table}, %starts: tensor<{batch + 1}xi64>, %y: {x}, %slots: tensor<?xi64>,
    %k: {cache} {{kvq.side = #kvq.side<keys>}}, %v: {cache} {{kvq.side = #kvq.side<values>}}) -> ({cache}, {cache}) {{
  %k1 = kvq.append ins(%x : {x}) lengths(%n : {n}) pages(%table : {table}) starts(%starts : tensor<{batch + 1}xi64>)
      into(%k : {cache}) -> {cache}
  %v1 = kvq.append ins(%y : {x}) slots(%slots : tensor<?xi64>) into(%v : {cache}) -> {cache}
  return %k1, %v1 : {cache}, {cache}
}}"""
    kernel = _kvq.compile(entries.format(body=body))
    pages = rng.permutation(10)[:8].reshape(batch, 4)
    made = []
    for _ in range(2):
        choices = kvq.Policy(entries.format(body="")).choose(1, HEADS)
        options = dict(page=page, pages=10, page_table=pages, fill=0xFF)
        made.append(
            [
                kvq.Cache(batch, end - first, 30, DIM, choice.format, **options)
                for choice in choices
                for first, end in [choice.heads]
            ]
        )
    found, expected = made
    assert [cache.kv_heads for cache in found] == [1, 3, 1, 3]
    assert isinstance(found[3].format, kvq.Segments)

    x, y = (rng.standard_normal((20, HEADS, DIM)).astype(np.float32) for _ in range(2))
    starts, zeros = np.array([1, 8, 19]), np.zeros(batch, np.int64)
    slots = np.array([pages[0, t // page] * page + t % page for t in range(20)])
    arrays = [array for cache in found for array in cache.storage().values()]
    kernel.invoke("step", [x, zeros, pages, starts, y, slots, *arrays])
    for cache, (a, b) in zip(expected, [(0, 1), (1, 4)] * 2, strict=True):
        if cache in expected[:2]:
            cache.append(x[:, a:b], starts=starts)
        else:
            cache.store(y[:, a:b], slots, [20, 0])
    for cache, other in zip(expected, found, strict=True):
        for name, array in cache.storage().items():
            assert np.array_equal(array.view(np.uint8), other.storage()[name].view(np.uint8)), name


def test_choices():
    choices = kvq.Policy(POLICY.format(body="")).choose(3, HEADS)
    assert [(c.layer, c.side, c.heads, c.format.codes) for c in choices] == [
        (0, "keys", (0, 4), "none"),
        (0, "values", (0, 4), "none"),
        (1, "keys", (0, 1), "ui4"),
        (1, "keys", (1, 3), "ui4"),
        (1, "keys", (3, 4), "ui4"),
        (1, "values", (0, 1), "i8"),
        (1, "values", (1, 3), "i4"),
        (1, "values", (3, 4), "i8"),
        (2, "keys", (0, 4), "ui4"),
        (2, "values", (0, 4), "i8"),
    ]
    assert choices[2].windows == dict(exact_first=2, recent=5, residual=None)
    assert choices[6].windows == dict(exact_first=2, recent=0, residual=3)
    assert choices[8].type(7, 64, "f32").endswith("exact_first = 2, recent = 5>")
    assert choices[8].type(7, 64, "f32").startswith("!kvq.cache<7x4x?x64xf32, #kvq.format<codes = ui4,")


def test_what_no_entry_names_stays():
    policy = kvq.Policy("module attributes {kvq.policy = #kvq.policy<<side = keys, layers = [1], format = "
                        "#kvq.format<codes = i8, group = [1, *], scale = f16>>>} {}")
    assert [c.format.is_exact for c in policy.choose(2, 8)] == [True, True, False, True]
    assert str(policy).startswith("#kvq.policy<<side = keys, layers = [1], format = #kvq.format<codes = i8,")


@pytest.mark.parametrize(
    "entries, message",
    [
        ("<layers = [5], format = #f>", "entry 0 of the policy names layer 5, but .*: layers are 0 to 1"),
        ("<heads = [2:9], format = #f>", "entry 0 of the policy names head 8, but the keys of layer 0 have 4 KV heads"),
        ("<format = #f>, <layers = [0:2], format = #f>", "entry 0 of the policy matches no cache"),
        ("<layers = [1], format = #f>, <layers = [0:2], format = #f>", "keys of layer 1 are named twice, by entries 0"),
        ("<format = #f>, <side = keys, format = #f>", "keys of all other layers are named twice, by entries 0 and 1"),
        ("<form = #f>", "a.mlir:2:.* expected one of side, layers, heads, format"),
    ],
)
def test_errors(entries, message):
    text = "#f = #kvq.format<codes = i8, group = [1, *], scale = f16>\nmodule attributes {kvq.policy = #kvq.policy<"
    with pytest.raises(kvq.Error, match=message):
        kvq.Policy(f"{text}{entries}>}} {{}}", "a.mlir").choose(2, 4)


@pytest.mark.parametrize(
    "text, message",
    [
        ("module {}", "expected a module with the attribute kvq.policy"),
        (POLICY.format(body="func.func private @f()"), "expected a module with a policy and no ops"),
        ("codes = i4", "a.mlir:1:1"),
    ],
)
def test_no_policy(text, message):
    with pytest.raises(kvq.Error, match=re.escape(message)):
        kvq.Policy(text, "a.mlir")
