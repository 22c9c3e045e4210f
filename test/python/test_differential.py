"""Compiled code against the NumPy oracle, on random cases with fresh seeds.

A failing test prints its seed; `KVQ_SEED=<seed>` runs it again with the same cases.
"""

import itertools
import os

import ml_dtypes
import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

FULL = bool(os.environ.get("KVQ_FULL"))
HEAD_DIMS = (64, 80, 96, 128)
RATIOS = (1, 3, 4, 7, 8)
INTEGERS = (2, 3, 4, 5, 6, 8)
SYMMETRIC = (
    *(f"i{bits}" for bits in INTEGERS),
    *("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"),
    *(f"#kvq.codebook<{name}>" for name in ("nf4", "iq4_nl", *(f"lloyd_max = {bits}" for bits in (1, 2, 3, 4)))),
    "#kvq.codebook<values = [-1.0, -0.25, 0.0, 0.5]>",
)
UNSIGNED = tuple(f"ui{bits}" for bits in INTEGERS)
GROUPS = ((1, "*"), (1, 16), (1, 32), (8, 1), (32, 1), (8, 16), (32, "*"), (5, 8))
SCALES = ("f16", "bf16", "f32", "f8E8M0FNU", "f8E4M3FN")
ZEROS = tuple(
    f"{kind} {element}"
    for kind, elements in (("min", ("f16", "bf16", "f32")), ("point", ("i8", "ui8", "f16", "bf16", "f32")))
    for element in elements
)
RANGES = ("", "clip<0.9>", "clip<0.37>", "search<1>", "search<7>")
CODEBOOK_RANGES = ("rms", "norm")
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
FLOATS = tuple(DTYPES)


def is_format(codes: str, scale: str, zero: str) -> bool:
    """Whether the fields go together."""
    if codes == "ui8" and zero == "point i8":
        return False
    return scale != "f8E8M0FNU" or "codebook" not in codes or codes.endswith(("<nf4>", "0.5]>"))


def format_text(codes: str, group: tuple[int, int | str], scale: str, zero: str, policy: str) -> str:
    fields = f"codes = {codes}, group = [{group[0]}, {group[1]}], scale = {scale}"
    return fields + (f", zero = {zero}" if zero else "") + (f", range = {policy}" if policy else "")


def ranges_for(codes: str) -> tuple[str, ...]:
    return RANGES + CODEBOOK_RANGES * ("codebook" in codes)


CODES = [(codes, "") for codes in SYMMETRIC] + [
    (codes, zero) for codes, zero in itertools.product(UNSIGNED, ZEROS) if is_format(codes, "f32", zero)
]
FORMATS = [
    format_text(codes, group, scale, zero, policy)
    for (codes, zero), group, scale in itertools.product(CODES, GROUPS, SCALES)
    for policy in ranges_for(codes)
    if is_format(codes, scale, zero)
]


def draw_format(rng: np.random.Generator, codes: str, zero: str) -> str:
    """A format of these codes with a group, scale and range by chance."""
    scales = [scale for scale in SCALES if is_format(codes, scale, zero)]
    text = format_text(codes, GROUPS[rng.integers(len(GROUPS))], rng.choice(scales), zero, rng.choice(ranges_for(codes)))
    return text + str(rng.choice(["", "", ", heads = *", ", heads = 3"]))


TOLERANCE = 1e-5  # relative L2 against float64 on the same codes


def divides(text: str, dim: int) -> bool:
    """Whether the format's groups divide rows of `dim` channels."""
    return dim % (reference.Format.parse(text).group[1] or dim) == 0


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Normal noise with outlier channels, constant groups, zeros, and the ends of the type's range."""
    x = rng.standard_normal(shape) * np.exp(rng.normal(0, 2, (*shape[:2], 1, shape[3])))
    kind = rng.integers(0, 40, shape[:3])
    x[kind == 0] = 0
    x[kind == 1] = -0.0
    x[kind == 2] = rng.standard_normal()
    x[kind == 3] *= 1e-7
    x[kind == 4] *= 1e4
    x[rng.random(shape) < 0.002] = np.inf
    x[rng.random(shape) < 0.002] = -np.inf
    with np.errstate(over="ignore"):
        return x.astype(DTYPES[dtype])


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal bit for bit, NaNs apart: their sign and payload mean nothing."""
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    bits = f"u{found.dtype.itemsize}"
    nan = np.isnan(expected)
    return bool(np.all(np.where(nan, np.isnan(found), found.view(bits) == expected.view(bits))))


# --- codes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes, zero", CODES)
@pytest.mark.parametrize("draw", range(10 if FULL else 1))
def test_codes_equal_the_oracle(codes, zero, draw, rng):
    text = draw_format(rng, codes, zero)
    oracle, fmt = reference.Format.parse(text), kvq.Format(text)
    for dtype in FLOATS:
        dim = int(rng.choice([dim for dim in HEAD_DIMS if divides(text, dim)]))
        x = values(rng, (2, 3, fmt.tokens * int(rng.integers(1, 9)), dim), dtype)
        x[rng.random(x.shape) < 0.0005] = np.nan
        z = kvq.quantize(x, fmt)
        codes, scales, zeros = reference.quantize(x, oracle, dtype)
        case = f"{text}: T = {dtype}, shape {x.shape}"
        assert same(z.codes, codes), case
        assert same(z.scales, scales), case
        assert (z.zeros is None) == (zeros is None)
        assert zeros is None or same(z.zeros, zeros), case
        assert same(z.packed, reference.pack(codes, fmt.bits)), case
        assert same(kvq.dequantize(z), reference.dequantize(codes, scales, zeros, oracle)), case


# --- caches --------------------------------------------------------------------------------------------------------


class Side:
    """A compiled cache and its oracle, fed the same tokens. A sequence at a time, so that lengths may differ."""

    def __init__(
        self, rng: np.random.Generator, text: str, batch: int, heads: int, capacity: int, dim: int, exact_first: int
    ) -> None:
        arguments = dict(dtype=str(rng.choice(FLOATS)))
        if text != "codes = none":
            arguments.update(exact_first=exact_first, **random_window(rng, text))
        fill = int(rng.choice([0x00, 0x7F, 0xFF]))  # 0xFF.. are NaNs, 0x7F.. large numbers
        fmt = kvq.Format(text)
        paging = random_pages(rng, fmt.tokens, batch, capacity)
        self.compiled = kvq.Cache(batch, heads, capacity, dim, fmt, fill=fill, **arguments, **paging)
        self.oracle = reference.Cache(reference.Format.parse(text), batch, heads, dim, capacity, **arguments)

    def append(self, x: np.ndarray, counts: list[int]) -> None:
        self.compiled.append(x, counts)
        self.oracle.append(x, counts)

    def check_codes(self) -> None:
        """The stored bytes are the oracle's codes and metadata."""
        cache, oracle = self.compiled, self.oracle
        assert cache.lengths.tolist() == oracle.lengths.tolist()
        assert cache.flushed.tolist() == oracle.flushed.tolist()
        if cache.format.is_exact:
            return
        for b, flushed in enumerate(cache.flushed.tolist()):
            packed = stored_rows(cache, "codes", b, flushed).view(np.uint8)
            assert same(packed, reference.pack(oracle.codes(b), cache.format.bits)), cache
            rows = flushed // cache.format.tokens
            assert same(stored_rows(cache, "scales", b, rows), oracle.scales(b)), cache
            if cache.format.zero:
                assert same(stored_rows(cache, "zeros", b, rows), oracle.zeros(b)), cache

    def check_values(self) -> None:
        """Rebuilt values: the oracle's in float64, rounded twice."""
        rebuilt = self.compiled.dequantize()
        for b, length in enumerate(self.compiled.lengths.tolist()):
            expected = self.oracle.values64(b)
            error = np.abs(rebuilt[b, :, :length] - expected)
            assert np.all(error <= 2e-7 * (np.abs(expected) + np.abs(expected).max(initial=0))), self.compiled
            assert not rebuilt[b, :, length:].any()


def stored_rows(cache: kvq.Cache, name: str, b: int, rows: int) -> np.ndarray:
    """The first `rows` rows of sequence b in a component of codes or metadata, wherever they lie."""
    array = cache.storage()[name]
    if cache.page is not None:
        pages = cache.page_table[b, : -(-rows // array.shape[2])]
        b, array = 0, array[pages].transpose(1, 0, 2, 3).reshape(1, array.shape[1], -1, array.shape[3])
    return array[b, :, :rows].copy()


def expected_storage(oracle: reference.Cache, b: int) -> dict[str, np.ndarray]:
    """The components of codes and metadata of sequence b, as the reference packs what it holds."""
    fmt, (codes, scales, zeros) = oracle.fmt, (oracle.codes(b), oracle.scales(b), oracle.zeros(b))
    fields = fmt.layout.fields if fmt.layout else ()
    if fmt.layout is None:
        found = {"codes": reference.pack(codes, fmt.codes.bits)}
    else:
        found = reference.pack_rows(codes, scales, zeros, fmt.codes.bits, fmt.layout)
    if fmt.policy.kind == "static":
        return found  # scales and zeros are given, not stored by an append
    if not {"scale", "scale_zero"} & set(fields):
        found["scales"] = scales
    if zeros is not None and not {"zero", "scale_zero"} & set(fields):
        found["zeros"] = zeros
    return found


def random_pages(rng: np.random.Generator, n: int, batch: int, capacity: int) -> dict:
    """Half of the time pages: the cache's own or, of a larger pool, those of a given table in any order."""
    if rng.random() < 0.5:
        return {}
    page = n * int(rng.choice([1, 2, rng.integers(1, 12), 1 + 64 // n]))
    if rng.random() < 0.5:
        return dict(page=page)
    rows = -(-capacity // page)
    pages = batch * rows + int(rng.integers(0, 9))
    return dict(page=page, pages=pages, page_table=rng.permutation(pages)[: batch * rows].reshape(batch, rows))


def random_window(rng: np.random.Generator, text: str) -> dict[str, int]:
    """`recent` or, one time in three, `residual`."""
    if rng.random() < 1 / 3:
        n = reference.Format.parse(text).tokens
        return dict(residual=n * int(rng.integers(1, max(2, 70 // n + 1))))
    return dict(recent=int(rng.choice([0, rng.integers(0, 70)])))


def random_format(rng: np.random.Generator, dim: int) -> str:
    if rng.random() < 0.1:
        return "codes = none"
    return str(rng.choice([text for text in FORMATS if divides(text, dim)])) + str(rng.choice(["", "", ", heads = *"]))


def random_sides(
    rng: np.random.Generator, texts: list[str], batch: int, heads: int, capacity: int, dim: int
) -> list[Side]:
    """K and V caches of formats and windows drawn apart."""
    first = [int(n) for n in rng.choice([0, *rng.integers(0, 6, 3)], 2)]
    if all(reference.Format.parse(text).tokens > 1 for text in texts):
        first[1] = first[0]  # groups of several tokens have to start at the same token
    return [Side(rng, text, batch, heads, capacity, dim, n) for text, n in zip(texts, first, strict=True)]


def fill(rng: np.random.Generator, sides: list[Side], lengths: np.ndarray, heads: int, dim: int) -> None:
    """Appends random tokens up to `lengths`, in a few steps of different sizes; padding is NaN."""
    left = lengths.copy()
    steps = int(rng.integers(1, 4))
    for step in range(steps):
        counts = left if step == steps - 1 else rng.integers(0, left + 1)
        longest = int(counts.max()) + int(rng.integers(0, 3))
        for side in sides:
            x = rng.standard_normal((len(lengths), heads, longest, dim)).astype(DTYPES[str(rng.choice(FLOATS))])
            for b, count in enumerate(counts):
                x[b, :, count:] = np.nan
            side.append(x, counts.tolist())
        left = left - counts


@pytest.mark.parametrize("case", range(60 if FULL else 12))
def test_attention_is_within_bounds_of_the_oracle(case, rng):
    dim, ratio = int(rng.choice(HEAD_DIMS)), int(rng.choice(RATIOS))
    batch, heads = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    lengths = rng.integers(1, 2001 if case % 4 == 0 else 200, batch)
    capacity = int(lengths.max()) + int(rng.integers(0, 100))
    texts = [random_format(rng, dim) for _ in range(2)]
    k, v = random_sides(rng, texts, batch, heads, capacity, dim)
    print(f"K {k.compiled.type}; V {v.compiled.type}; ratio {ratio}, lengths {lengths}")
    fill(rng, [k, v], lengths, heads, dim)
    for side in (k, v):
        side.check_codes()
        side.check_values()

    q_len = int(rng.integers(1, min(4, lengths.min()) + 1))
    q = rng.standard_normal((batch, heads * ratio, q_len, dim)).astype(DTYPES[str(rng.choice(FLOATS))])
    causal, splits = bool(rng.random() < 0.7), int(rng.choice([1, 1, 2, 5]))
    scale = None if rng.random() < 0.7 else float(rng.uniform(0.01, 0.5))
    expected = reference.attention(q, k.oracle, v.oracle, scale=scale, causal=causal)
    out = np.full(q.shape, np.nan, np.float32)
    kvq.attention(q, k.compiled, v.compiled, scale=scale, causal=causal, out=out, splits=splits)
    for b in range(batch):
        error = relative_l2(out[b], expected[b])
        assert error <= TOLERANCE, f"sequence {b}: relative L2 {error}, splits {splits}, causal {causal}"
    again = kvq.attention(q, k.compiled, v.compiled, scale=scale, causal=causal, splits=splits)
    assert np.array_equal(out, again), "the same inputs and splits gave other bits"


def test_decoding_token_by_token_equals_the_oracle(rng):
    """Appends of one token with attention after each, across the borders of groups and windows."""
    dim, heads = 64, 2
    text = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"
    k, v = random_sides(rng, [text, text], 1, heads, 60, dim)
    for _ in range(60):
        fill(rng, [k, v], np.array([1]), heads, dim)
        q = rng.standard_normal((1, 2 * heads, 1, dim)).astype(np.float32)
        error = relative_l2(kvq.attention(q, k.compiled, v.compiled), reference.attention(q, k.oracle, v.oracle))
        assert error <= TOLERANCE, f"length {k.compiled.lengths}: relative L2 {error}"
    k.check_codes()
    v.check_codes()
