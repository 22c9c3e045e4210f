"""Masks, and biases of scores, on tensor cores, on the emulator, against the oracle, with fresh draws."""

import numpy as np
import pytest
from test_attention_variants import random_variant
from test_blocks_of_tokens import damage, is_number
from test_emulated import check, draw_device
from test_fp8_products import draw_fp8_device
from test_rotation import oracle_given, random_given
from test_tensor_cores import FORMATS, KEY_FORMATS, VALUE_FORMATS, Side, draw_pair, format_of, maps

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.ir import attention as attention_ir
from kvq_mlir.metrics import relative_l2

OTHERS = ("causal", "positions", "slopes", "sinks", "softcap", "window")


def draw_hidden(rng, shape):
    """Some tokens, nearly all, those on the left, or those on the right, of which there are as many as steps have."""
    kind, tokens = str(rng.choice(["some", "most", "left", "right", "none"])), np.arange(shape[-1])
    if kind in ("left", "right"):
        border = rng.integers(0, shape[-1] + 1, (*shape[:-1], 1))
        return tokens < border if kind == "left" else tokens >= border
    hidden = rng.random(shape) < {"some": 0.3, "most": 0.97, "none": 0.0}[kind]
    hidden[rng.random(shape[:3]) < 0.1] = True  # rows that see nothing
    return hidden


def as_mask(rng, hidden):
    """Of what hides tokens, bool or float."""
    kind = rng.choice(["bool", "f16", "f32"])
    if kind == "bool":
        return ~hidden
    mask = rng.normal(0, 2, hidden.shape).astype({"f16": np.float16, "f32": np.float32}[str(kind)])
    mask[hidden] = -np.inf
    return mask


def draw_mask(rng, batch, heads, q_len, tokens):
    shape = (int(rng.choice([1, batch])), int(rng.choice([1, heads])), q_len, tokens + int(rng.integers(0, 4)))
    return as_mask(rng, draw_hidden(rng, shape))


def describe(mask):
    return f"mask {mask.dtype}{list(mask.shape)}"


def draw_case(rng, names, lengths, ratio, q_len):
    """A pair of caches, a query, and a variant with a mask."""
    heads = int(rng.integers(1, 3))
    k, v = draw_pair(rng, names, lengths, heads, 128)
    q_heads, batch = heads * ratio, len(lengths)
    variant = random_variant(rng, batch, q_heads, q_len, lengths, [name for name in OTHERS if rng.random() < 0.2])
    variant["mask"] = draw_mask(rng, batch, q_heads, q_len, max(lengths))
    q = rng.standard_normal((batch, q_heads, q_len, 128)).astype(np.float32)
    print(f"K {k.compiled.type}; V {v.compiled.type}; {q.shape}, {lengths=}, {describe(variant['mask'])}")
    print({name: given for name, given in variant.items() if name != "mask"})
    return k, v, q, variant


@pytest.mark.parametrize("names", [*((name, None) for name in KEY_FORMATS), *((None, name) for name in VALUE_FORMATS)])
def test_masks_are_within_bounds_of_the_oracle(names, rng):
    """Long enough for whole steps; rows by head, by query token, or with one mask."""
    names = [name or str(rng.choice(list(of))) for name, of in zip(names, (KEY_FORMATS, VALUE_FORMATS), strict=True)]
    ratio, q_len = int(rng.choice([1, 2, 4, 8, 12])), int(rng.choice([1, 1, 2, 3]))
    lengths = [int(rng.choice([q_len, 64, 257, rng.integers(300, 1500)])) for _ in range(2)]
    k, v, q, variant = draw_case(rng, names, lengths, ratio, q_len)
    device, splits, tile = draw_device(rng), int(rng.choice([1, 1, 3])), int(rng.choice([1, 2, 4]))
    print(f"{splits=}, {tile=}, {device}")
    check(q, k, v, device, variant, splits=splits, query_tile=tile)


@pytest.mark.parametrize("element", ["i8", "f16", "bf16", "f32"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 16), (3, 1), (3, 16)])
def test_masks_map_to_tensor_cores(element, shape):
    cache = kvq.Cache(3, 2, 256, 128, kvq.Format(FORMATS["i4"]))
    variant = attention_ir.Variant(scale=0.1, causal=True, mask=(*shape, element))
    text = attention_ir.attention((3, 16, 128), "f32", 128, cache.type, cache.type, (False, False), variant, (False, False))
    assert maps(text, "sm_80")


@pytest.mark.parametrize("name, damaged", [*((name, 0) for name in KEY_FORMATS), *((name, 1) for name in VALUE_FORMATS)])
def test_only_rows_that_see_a_token_see_that_it_is_no_number(name, damaged, rng):
    """A mask hides it from some query heads and tokens, or from all."""
    ratio, q_len = int(rng.choice([1, 2, 4, 12])), int(rng.choice([1, 2, 3]))
    tokens = int(rng.choice([q_len, 20, 100, rng.integers(300, 1000)]))
    names = [str(rng.choice(["i8", "exact"]))] * 2
    names[damaged] = name
    sides = [
        Side(format_of(of), 1, 1, -(-tokens // 128) * 128, 128, str(rng.choice(["f16", "bf16"]))) for of in names
    ]
    for side in sides:
        side.append(rng.standard_normal((1, 1, tokens, 128)).astype(np.float32), [tokens])
    places = rng.integers(tokens, size=3)
    shape = (1, int(rng.choice([1, ratio])), q_len, tokens)
    hidden = draw_hidden(rng, shape)
    hidden[..., places] = rng.random((*shape[:3], 1)) < 0.6
    # What shares a scale or a zero with a token is not to be seen where that is not.
    group = reference.Format.parse(format_of(name)).tokens
    for place in places:
        first = place // group * group
        hidden[..., first : first + group] |= hidden[..., place : place + 1]
    damage(rng, sides[damaged].compiled, name, places, damaged == 0)
    variant = dict(mask=as_mask(rng, hidden), causal=bool(rng.random() < 0.3))
    q = rng.standard_normal((1, ratio, q_len, 128)).astype(np.float32)
    device, tile, splits = draw_device(rng), int(rng.choice([1, 2, 4])), int(rng.choice([1, 1, 3]))
    k, v = (side.compiled for side in sides)
    print(f"K {k.type}; V {v.type}; {q.shape}, {tokens=}, {places=}, {tile=}, {splits=}, {describe(variant['mask'])}, {device}")
    keys, values = (list(side.dequantize()[:, :, :tokens].astype(np.float64)) for side in (k, v))
    with np.errstate(invalid="ignore"):
        expected = reference.attention(q, keys, values, **variant)
    found = kvq.attention(q, k, v, device=device, query_tile=tile, splits=splits, **variant)
    numbers = is_number(expected)
    assert np.array_equal(is_number(found), numbers)
    assert not numbers.any() or relative_l2(found[numbers], expected[numbers]) <= 2e-3


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2"])
def test_products_of_floats_of_8_bits(name, rng):
    """Of a value that is no number those rows that a mask hides it from see nothing."""
    tokens, heads = int(rng.choice([40, 500])), 8
    k, v = (Side(FORMATS[name], 1, 1, 512, 128) for _ in range(2))
    for side in (k, v):
        side.append(rng.standard_normal((1, 1, tokens, 128)).astype(np.float16), [tokens])
    places = rng.integers(tokens, size=2)
    damage(rng, v.compiled, name, places, only_nan=False)
    hidden = rng.random((1, heads, 1, tokens)) < 0.3
    hidden[..., places] = rng.random((1, heads, 1, 1)) < 0.6
    q = rng.standard_normal((1, heads, 1, 128)).astype(np.float32)
    mask, device = as_mask(rng, hidden), draw_fp8_device(rng)
    print(f"{tokens=}, {places=}, {describe(mask)}, {device}")
    keys, values = (list(side.compiled.dequantize()[:, :, :tokens].astype(np.float64)) for side in (k, v))
    with np.errstate(invalid="ignore"):
        expected = reference.attention(q, keys, values, mask=mask)
    found = kvq.attention(q, k.compiled, v.compiled, mask=mask, device=device, query_codes="f8E4M3FN")
    numbers = is_number(expected)
    assert np.array_equal(is_number(found), numbers)
    assert not numbers.any() or relative_l2(found[numbers], expected[numbers]) <= 0.1


@pytest.mark.parametrize("most", [-1e4, -65504, -1e9, -1e30])
@pytest.mark.parametrize("names", [("i8", "i4"), ("exact", "exact"), ("ui4 by channel", "i4 by 32")])
def test_finite_numbers_that_hide(names, most, rng):
    """The tokens that weigh come after others that the mask adds a large number to, which must leave no trace."""
    tokens = int(rng.integers(500, 1200))
    k, v = draw_pair(rng, names, [tokens], 1, 128)
    mask = np.full((1, 4, 1, tokens), rng.choice([0, 40]), np.float32)
    for head, border in enumerate(rng.integers(0, tokens + 1, 4)):
        mask[:, head, :, :border] = most
    if most >= -65504:
        mask = mask.astype(np.float16)
    if most == -1e30:
        mask[:, 3] = most  # alone they are as if it were 0, as far as scores are not lost beside it
        mask[:, 3, :, tokens // 2 :] = -np.inf
    q = rng.standard_normal((1, 4, 1, 128)).astype(np.float32)
    if most == -1e30:
        q[:, 3] = 0
    check(q, k, v, draw_device(rng), {"mask": mask}, splits=int(rng.choice([1, 3])))


def test_bf16_masks(rng):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    k, v = draw_pair(rng, ("i8", "i8"), [700], 1, 128)
    mask = rng.normal(0, 2, (1, 1, 1, 700)).astype(ml_dtypes.bfloat16)
    mask[..., rng.random(700) < 0.3] = -np.inf
    q = rng.standard_normal((1, 4, 1, 128)).astype(np.float32)
    expected = reference.attention(q, k.oracle, v.oracle, mask=mask.astype(np.float32))
    found = kvq.attention(q, k.compiled, v.compiled, mask=mask, device=draw_device(rng))
    assert relative_l2(found, expected) <= 2e-3


PREPARED = {
    "rotated": ", rotate = hadamard<64>",
    "centred": ", center = f16",
    "both": ", rotate = hadamard<128>, center = f32",
}


@pytest.mark.parametrize("tail", PREPARED.values(), ids=PREPARED)
@pytest.mark.parametrize("name", ["i8", "i4 by 32", "ui4", "ui4 by channel", "f8E5M2"])
def test_rotations_and_means(name, tail, rng):
    """What scores of centred keys begin with is a bias of each row; values have a state of their own."""
    tokens, dim = int(rng.integers(100, 900)), 128
    q_len, ratio = int(rng.choice([1, 1, 3])), int(rng.choice([1, 4, 12]))
    sides, types = [], []
    for text in (KEY_FORMATS[name] + tail, FORMATS[str(rng.choice(["i8", "i4", "f8E5M2"]))] + str(rng.choice(["", tail]))):
        fmt = kvq.Format(text)
        given = random_given(rng, fmt, 2, dim)
        windows = dict(exact_first=3, recent=int(rng.integers(0, 40)))
        side = Side.__new__(Side)
        side.compiled = kvq.Cache(1, 2, tokens + 9, dim, fmt, fill=0xFF, given=given, **windows)
        oracle = reference.Format.parse(text)
        side.oracle = reference.Cache(oracle, 1, 2, dim, tokens + 9, dtype="f16", calibration=oracle_given(given), **windows)
        mean = rng.normal(0, 1, (1, 2, 1, dim))
        side.append((mean + rng.standard_normal((1, 2, tokens, dim))).astype(np.float16), [tokens])
        sides.append(side)
        types.append(side.compiled.type)
    variant = random_variant(rng, 1, 2 * ratio, q_len, [tokens], [of for of in OTHERS if rng.random() < 0.3])
    variant |= {"mask": draw_mask(rng, 1, 2 * ratio, q_len, tokens)} if rng.random() < 0.5 else {}
    q = rng.standard_normal((1, 2 * ratio, q_len, dim)).astype(np.float32)
    device, splits, tile = draw_device(rng), int(rng.choice([1, 3])), int(rng.choice([1, 2, 4]))
    print(f"K {types[0]}; V {types[1]}; {q.shape}, {tokens=}, {splits=}, {tile=}, {device}, {variant.keys()}")
    of_ir = attention_ir.Variant(scale=0.1, causal=True)
    windows = tuple(side.compiled.has_window for side in sides)
    assert maps(attention_ir.attention((1, 2 * ratio, dim), "f32", dim, *types, windows, of_ir, (False, False)), "sm_80")
    check(q, *sides, device, variant, splits=splits, query_tile=tile)
