"""Blocks that attend to several query tokens at once on tensor cores, so that rows of a tile see different tokens."""

import numpy as np
import pytest
from test_attention_variants import random_variant
from test_emulated import check, draw_device
from test_tensor_cores import FORMATS, FRAGMENTS, KEY_FORMATS, VALUE_FORMATS, WINDOWS, Side, draw_pair, format_of, maps

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.ir import attention as attention_ir
from kvq_mlir.metrics import relative_l2

NAMES = ("causal", "positions", "mask", "slopes", "softcap", "window")


@pytest.mark.parametrize("case", range(8))
def test_variants_are_within_bounds_of_the_oracle(case, rng):
    names = str(rng.choice(list(KEY_FORMATS))), str(rng.choice(list(VALUE_FORMATS)))
    ratio, q_len = int(rng.choice([1, 2, 3, 4])), int(rng.choice([2, 3, 5, 9]))
    lengths = [q_len + int(rng.choice([0, 15, 64, 255, rng.integers(400)]))]
    k, v = draw_pair(rng, names, lengths, 1, 128)
    device, query_tile = draw_device(rng), int(rng.choice([2, 4, 8]))
    variant = random_variant(rng, 1, ratio, q_len, lengths, [name for name in NAMES if rng.random() < 0.5])
    q = rng.standard_normal((1, ratio, q_len, 128)).astype(np.float32)
    print(f"K {k.compiled.type}; V {v.compiled.type}; {q.shape}, {query_tile=}, {lengths=}, {variant}, {device}")
    check(q, k, v, device, variant, splits=int(rng.choice([1, 1, 3])), query_tile=query_tile)


# As bits: infinities and a NaN.
CODES_OF_NO_NUMBERS = {"f8E4M3FN": (0x7F, 0xFF, 0x7F), "f8E5M2": (0x7C, 0xFC, 0x7F)}
BF16_OF_NO_NUMBERS = (0x7F80, 0xFF80, 0x7FC0)


def damage(rng, side, name, tokens, only_nan):
    """Writes what is no number over an element, a scale or a zero of each of some tokens of a cache without windows.

    only_nan: of scales and zeros. Infinite ones of keys make scores that are infinite, without the products in between.
    """
    # Given ones are of all tokens, and integers are numbers.
    components = {key: array for key, array in side.storage().items() if key not in side._given}
    if "zeros" in components and components["zeros"].dtype == np.uint8:
        components.pop("zeros")
    if name not in CODES_OF_NO_NUMBERS:
        components.pop("codes", None)
    if not components:
        return
    for token in tokens:
        component = rng.choice(list(components))
        array = components[component]
        row = array[0, 0, token * array.shape[2] // side.capacity]
        choices = (np.inf, -np.inf, np.nan)
        if component == "scales" and array.dtype == np.uint8:
            choices = [0xFF if "f8E8M0FNU" in str(side.format) else 0x7F] * 3
        elif component == "codes":
            row, choices = row.view(np.uint8), CODES_OF_NO_NUMBERS[name]
        elif array.dtype == np.uint16:
            choices = BF16_OF_NO_NUMBERS
        row[rng.integers(len(row))] = choices[-1 if only_nan and component != "codes" else rng.integers(3)]


def is_number(x):
    """Outputs that are infinite are the largest f32."""
    return np.abs(x) < 3e38


@pytest.mark.parametrize("name, damaged", [*((name, 0) for name in KEY_FORMATS), *((name, 1) for name in VALUE_FORMATS)])
def test_only_rows_that_see_a_token_see_that_it_is_no_number(name, damaged, rng):
    ratio, q_len = int(rng.choice([1, 2, 4])), int(rng.choice([2, 3, 5, 9]))
    tokens = q_len + int(rng.choice([0, 20, 100, rng.integers(300)]))
    names = [str(rng.choice(["i8", "exact"]))] * 2
    names[damaged] = name
    is_appended = rng.random() < 0.4  # or written over what is stored
    sides = []
    for text in map(format_of, names):
        parameters = {"dtype": str(rng.choice(["f16", "bf16"]))}
        if is_appended and text != FORMATS["exact"]:
            parameters |= WINDOWS[rng.integers(len(WINDOWS))]
            if name in FRAGMENTS:  # steps of both sides are to begin at the same tokens
                parameters.pop("exact_first", None)
        sides.append(Side(text, 1, 1, -(-tokens // 128) * 128, 128, **parameters))
    # In the last ones, of which queries see some, or anywhere.
    first = max(0, tokens - q_len) if rng.random() < 0.5 else 0
    places = rng.integers(first, tokens, 2)
    x = rng.standard_normal((2, 1, 1, tokens, 128)).astype(np.float32)
    if is_appended:
        x[damaged, 0, 0, places, rng.integers(128, size=2)] = np.nan
    for side, values in zip(sides, x, strict=True):
        side.append(values, [tokens])
    if not is_appended:
        damage(rng, sides[damaged].compiled, name, places[places < sides[damaged].compiled.flushed[0]], damaged == 0)

    variant = dict(causal=bool(rng.random() < 0.6))
    if not variant["causal"] or rng.random() < 0.5:
        variant |= dict(window=int(rng.choice([1, 3, 20, 70])), window_first=int(rng.choice([0, 0, 5])))
    q = rng.standard_normal((1, ratio, q_len, 128)).astype(np.float32)
    device, query_tile, splits = draw_device(rng), int(rng.choice([2, 4, 8])), int(rng.choice([1, 1, 3]))
    k, v = (side.compiled for side in sides)
    print(f"K {k.type}; V {v.type}; {q.shape}, {tokens=}, {places=}, {is_appended=}, {query_tile=}, {splits=}, {variant}, {device}")
    keys, values = (list(side.dequantize()[:, :, :tokens].astype(np.float64)) for side in (k, v))
    with np.errstate(invalid="ignore"):
        expected = reference.attention(q, keys, values, **variant)
    found = kvq.attention(q, k, v, device=device, query_tile=query_tile, splits=splits, **variant)
    numbers = is_number(expected)
    assert np.array_equal(is_number(found), numbers)
    assert not numbers.any() or relative_l2(found[numbers], expected[numbers]) <= 2e-3


@pytest.mark.parametrize("tokens", [1, 2, 3, 40])
def test_blocks_have_as_many_query_tokens_as_columns(tokens):
    """By how many there are, where that is known; 16 rows of 128 channels at most."""
    cache = kvq.Cache(1, 1, 256, 128, kvq.Format(FORMATS["i4"]))
    variant = attention_ir.Variant(scale=0.1, causal=True)
    text = attention_ir.attention((1, 4, 128), "f32", 128, cache.type, cache.type, (False, False), variant, (False, False))
    text = text.replace("4x?x128xf32", f"4x{tokens}x128xf32")
    passes = "kvq-split-tokens{query-tile=0 row-channels=2048},kvq-split-regions,kvq-map-to-tensor-cores"
    assert maps(text, "sm_80")
    found = kvq.run_pipeline(text, f"builtin.module(func.func({passes}))")
    expected = {1: 1, 2: 2, 3: 4, 40: 4}[tokens]
    assert (f"query_tokens = {expected}" in found) == (expected > 1)
