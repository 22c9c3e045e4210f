"""Faults that other systems had in attention: which heads and which tokens it reads.

Each test names the public report.
"""

import itertools

import numpy as np
import pytest
from attention_paths import CHIPS
from known_faults import (
    BITS,
    FULL,
    GROUPS,
    PICK,
    attend,
    emulator_for,
    filled,
    formats,
    highest_code,
    mean,
    on_grid,
    patterns,
    worst,
)

import kvq_mlir as kvq

CODES = [f"{sign}i{bits}" for sign in ("", "u") for bits in BITS]
DIM = 64


# --- 22, 23: which query head reads which KV head --------------------------------------------------------------------

REPORTED = [(28, 4), (24, 4), (40, 8), (48, 2)]
OTHERS = [(5, 1), (6, 1), (7, 1), (9, 9), (22, 2), (26, 2), (33, 3), (32, 8), (64, 1)]
HEAD_FORMATS = [
    "codes = none",
    "codes = i8, group = [1, *], scale = f32",
    "codes = ui4, group = [1, 32], scale = f16, zero = min f16",
    "codes = ui4, group = [1, *], scale = f16, zero = min f16",
    "codes = i4, group = [32, 1], scale = f16",
    "codes = ui2, group = [8, 1], scale = f16, zero = min f32",
    "codes = i2, group = [1, 8], scale = f32",
]


def numbered(kv_heads: int, tokens: int, text: str) -> tuple[np.ndarray, np.ndarray]:
    """The number of each block of 32 tokens of each head, [kv_heads, tokens], and rows of that value, or of a multiple
    that the format holds without error: [1, kv_heads, tokens, DIM]."""
    number = np.arange(kv_heads)[:, None] * 8 + np.arange(tokens) // 32
    is_symmetric = not kvq.Format(text).is_exact and kvq.Format(text).signed
    rows = number * (highest_code(text) if is_symmetric else 1)  # so that the scale is the number
    return number, np.repeat(rows[None, ..., None], DIM, axis=3).astype(np.float32)


@pytest.mark.parametrize("q_heads, kv_heads", REPORTED + OTHERS)
def test_query_heads_read_their_kv_head(q_heads, kv_heads, rng):
    """flashinfer#996, #2986, vllm#40792: ratios 5, 6 and 7 are missing, and heads bleed into each other at 24."""
    ratio, tokens = q_heads // kv_heads, 96
    is_reported = (q_heads, kv_heads) in REPORTED
    texts = HEAD_FORMATS if FULL or is_reported else rng.choice(HEAD_FORMATS, 2, replace=False).tolist()
    on_gpu = str(rng.choice(texts)) if is_reported or rng.random() < 0.3 else None
    for text in texts:
        number, x = numbered(kv_heads, tokens, text)
        factor = x[0, :, -1:, :1] / number[:, -1:, None]
        values = filled(x, text)
        # The keys of head h are those of head 0, 5 h tokens later.
        shifted = [np.roll(patterns(tokens, DIM), 5 * h, axis=0) for h in range(kv_heads)]
        keys = filled(np.stack(shifted)[None], text)
        head = np.arange(q_heads)
        # Each query head picks a token of its own, and three more with other query positions.
        target = (np.arange(q_heads)[:, None] * 37 + np.arange(4) * 29) % tokens
        expected = number[head[:, None] // ratio, (target + 5 * (head[:, None] // ratio)) % tokens]
        equal = filled(np.stack(shifted)[None][:, :, :64], text), filled(np.repeat(x[:, :, :1], 64, axis=2), text)
        factor = np.repeat(factor, ratio, axis=0)
        for device in [None] + [kvq.Emulator(str(rng.choice(CHIPS)))] * (FULL or text == on_gpu):
            print(text, device)
            # Tensor cores multiply by f16, within 2^-11; the numbers of heads are 8 apart.
            bound = 1e-3 * expected.max() if device else 0
            found = attend(PICK * patterns(tokens, DIM)[target][None], keys, values, device=device)[0]
            assert worst(found / factor, expected[..., None]) <= bound, text
            # The mean of values that are all the head's number.
            found = mean(*equal, ratio, device=device)[0]
            assert worst(found / factor, (head // ratio * 8)[:, None, None]) <= bound, text


@pytest.mark.parametrize("q_heads, kv_heads", [(33, 2), (3, 2), (1, 2), (2, 4), (5, 3), (7, 4), (0, 2)])
def test_heads_that_do_not_divide(q_heads, kv_heads):
    """fla#1029: with 33 query heads and 2 KV heads, one head of the output is never written."""
    cache = filled(np.ones((1, kv_heads, 4, DIM), np.float32), "codes = i8, group = [1, *], scale = f32")
    out = np.full((1, q_heads, 1, DIM), np.nan, np.float32)
    with pytest.raises(kvq.Error, match=rf"{q_heads} query heads are not a multiple of {kv_heads} KV heads"):
        kvq.attention(np.zeros(out.shape, np.float32), cache, cache, out=out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("q_heads, kv_heads", [(33, 2), (3, 2), (1, 2), (2, 4), (5, 3), (7, 4)])
@pytest.mark.parametrize("side", ["!kvq.cache<1x{}x?x64xf16, #kvq.format<codes = none>>", "tensor<1x{}x?x64xf16>"])
def test_heads_that_do_not_divide_in_ir(side, q_heads, kv_heads):
    """fla#1029, over caches and over tensors."""
    side, query = side.format(kv_heads), f"tensor<1x{q_heads}x1x64xf32>"
    text = f"""
    func.func @f(%q: {query}, %c: {side}, %n: tensor<1xi64>) -> {query} {{
      %r = kvq.attention ins(%q, %c, %c : {query}, {side}, {side}) lengths(%n : tensor<1xi64>)
        outs(%q : {query}) {{scale = 1.0 : f32}} -> {query}
      return %r : {query}
    }}"""
    with pytest.raises(kvq.Error, match=f"query_heads {q_heads} is not a multiple of kv_heads {kv_heads}"):
        kvq.parse(text)


# --- 26: tokens behind the last --------------------------------------------------------------------------------------

LENGTHS = np.array([1, 63, 64, 65, 255, 256, 257])
TOKENS = 288  # whole groups of every format
VARIANTS = [dict(splits=2), dict(splits=8), dict(causal=True), dict(causal=True, splits=3)]


def of_lengths(x: np.ndarray, text: str, fill: int, **windows) -> kvq.Cache:
    """A cache whose sequences hold the first LENGTHS tokens of x; the padding is NaN."""
    padded = x.copy()
    for b, length in enumerate(LENGTHS):
        padded[b, :, length:] = np.nan
    cache = kvq.Cache(*x.shape[:2], TOKENS + 5, x.shape[3], kvq.Format(text), "f32", fill=fill, **windows)
    cache.append(np.ascontiguousarray(padded[:, :, : LENGTHS.max() + 2]), LENGTHS.tolist())
    return cache


@pytest.mark.parametrize("codes, group", [("none", None), *itertools.product(CODES, GROUPS)])
def test_only_valid_tokens_count(codes, group, rng):
    """flashinfer#3716: non-causal decoding counts lanes behind the last token."""
    if codes == "none":
        text, windows = "codes = none", {}
        x = rng.integers(-100, 100, (len(LENGTHS), 1, TOKENS, DIM)).astype(np.float32)
    else:
        text = str(rng.choice([text for text in formats(groups=[group]) if text.startswith(f"codes = {codes},")]))
        windows = dict(exact_first=int(rng.choice([0, 3])), recent=int(rng.choice([0, 0, 40])))
        x = on_grid(rng, text, (len(LENGTHS), 1, TOKENS, DIM))
        # Groups start behind the first exact tokens.
        x = np.concatenate([x[:, :, -1 : -1 - windows["exact_first"] : -1], x], axis=2)[:, :, :TOKENS]
    variants = [{}, *(VARIANTS if FULL else [VARIANTS[int(rng.integers(len(VARIANTS)))]])]
    calls = list(variants)
    if device := emulator_for(text):
        calls.append({**variants[-1], "device": device})
    print(f"{text} {windows} {calls}")
    k = np.broadcast_to(patterns(TOKENS, DIM), x.shape)
    for fill in (0xFF, 0x00):  # NaN, and numbers that would go unnoticed but for the mean
        keys, values = (of_lengths(part, text, fill, **windows) for part in (k, x))
        for variant in calls:
            q_len, exact = 3, "device" not in variant
            found = mean(keys, values, q_len=q_len, **variant)
            targets = np.stack([LENGTHS - 1, LENGTHS // 2, 0 * LENGTHS], axis=1)[:, None]
            picked = attend(PICK * patterns(TOKENS, DIM)[targets], keys, values, **variant)
            for b, length in enumerate(LENGTHS):
                for i in range(q_len):
                    seen = max(0, length - q_len + 1 + i) if variant.get("causal") else length
                    expected = x[b, :, :seen].astype(np.float64).mean(axis=1) if seen else 0
                    error = worst(found[b, :, i], expected)
                    largest = np.abs(x[b]).max()
                    assert error <= (1e-6 if exact else 2e-3) * largest, (length, i, fill, variant)
                    if targets[b, 0, i] < seen:
                        error = worst(picked[b, :, i], x[b, :, targets[b, 0, i]])
                        assert error <= (0 if exact else 2e-3 * largest), (length, i, fill, variant)


@pytest.mark.parametrize("dims", [(64, 128), (128, 64), (96, 80), (16, 256)])
def test_values_of_another_width_than_keys(dims, rng):
    """Rows of the output are as wide as those of the values, also where the keys' are not."""
    text = "codes = ui4, group = [1, 16], scale = f16, zero = min f16"
    x = on_grid(rng, text, (1, 2, 70, dims[1]))
    values, keys = filled(x, text), filled(np.broadcast_to(patterns(70, dims[0]), (1, 2, 70, dims[0])), text)
    q = PICK * np.broadcast_to(patterns(70, dims[0]), (1, 2, 70, dims[0]))
    assert worst(attend(q, keys, values), x) == 0
    assert worst(attend(0 * q, keys, values), x.astype(np.float64).mean(axis=2, keepdims=True)) <= 1e-4
