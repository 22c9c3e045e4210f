"""Keys that RoPE turns in the append that stores them: bytes are the oracle's, on the processor and on the emulator."""

import draws
import numpy as np
import pytest
from test_differential import DTYPES, same, values
from test_emulated import draw_device
from test_emulated_append import assert_same
from test_rotation import oracle_given
from test_segments import Oracle, check_bytes

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

HEADS = 2
I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"
EXACT = "codes = none"


def draw_rope(rng: np.random.Generator, positions: int, dim: int) -> dict:
    """Tables of so many positions, for all channels or some, of numbers that no angle has now and then."""
    pairs = int(rng.choice([dim // 2, rng.integers(1, dim // 2)]))
    tables = kvq.rope_tables(positions, 2 * pairs, base=100.0)
    if rng.random() < 0.25:  # as those of scaled frequencies
        tables = tuple(np.float32(1.37) * table for table in tables)
    style = str(rng.choice(reference.rope.STYLES))
    print(f"{pairs} pairs, {style}")
    return dict(rope=tables, rope_style=style)


def finite(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Values of all sizes, but infinities: these may be turned into NaN, whose sign and payload mean nothing."""
    x = values(rng, shape, dtype)
    x[np.isposinf(x)], x[np.isneginf(x)] = 6e4, -6e4
    return x


def check_exact_tokens(cache: kvq.Cache, oracle: reference.Cache) -> None:
    """Tokens in windows, and those of exact caches, are the oracle's elements."""
    found = cache.dequantize()
    for b, (length, flushed) in enumerate(zip(cache.lengths.tolist(), cache.flushed.tolist(), strict=True)):
        expected = oracle.values64(b)
        exact = np.ones(length, bool)
        exact[cache.exact_first : cache.exact_first + flushed] = False
        assert np.array_equal(found[b, :, :length][:, exact], expected[:, exact], equal_nan=True), f"sequence {b}"


@pytest.mark.parametrize("case", range(10))
def test_drawn_caches(case, rng):
    """Ragged appends to formats, windows, pages and rings of all kinds; the padding is NaN, the tables end where the
    longest sequence does."""
    fields = None
    while fields is None:
        fields = draws.draw(rng, dict(appends=str(rng.choice(["at once", "ragged"])), rope="post", side="keys"))
    text = draws.complete(rng, fields)
    print(text)
    case, fmt = draws.json.loads(text), draws.format_text(fields)
    batch, heads, dim = case["batch"], case["heads"], case["dim"]
    ring = {name: case["storage"][name] for name in ("ring", "keep_first") if name in case["storage"]}
    parameters = dict(dtype=case["dtype"], exact_first=case["exact_first"], **case["window"], **ring)
    longest = int(max(np.sum(case["appends"], axis=0)))
    capacity = longest + int(rng.integers(0, 9))
    rope = draw_rope(rng, longest, dim)
    given = kvq.calibrate(rng.standard_normal((2, heads, 40, dim)).astype(np.float32), kvq.Format(fmt))
    paging, device = draws._pages(rng, case, capacity), draw_device(rng)
    shape, options = (batch, heads, capacity, dim), dict(given=given, fill=0xFF, **parameters, **paging)
    cpu, gpu = (kvq.Cache(*shape, kvq.Format(fmt), device=each, **options) for each in (None, device))
    sizes = batch, heads, dim, capacity
    oracle = reference.Cache(reference.Format.parse(fmt), *sizes, calibration=oracle_given(given), **parameters)
    for counts in case["appends"]:
        x = finite(rng, (batch, heads, max(counts) + int(rng.integers(0, 2)), dim), case["input"])
        for b, count in enumerate(counts):
            x[b, :, count:] = np.nan  # padding
        for cache in (cpu, gpu, oracle):
            cache.append(x, counts, **rope)
    assert_same(cpu, gpu)
    if not ring:
        draws.check_storage(cpu, oracle)
        check_exact_tokens(cpu, oracle)


@pytest.mark.parametrize("paging", [{}, dict(page=12)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_caches(dtype, paging, rng):
    dim, source = 80, str(rng.choice(list(DTYPES)))
    rope = draw_rope(rng, 70, dim)
    cpu, gpu = (
        kvq.Cache(2, HEADS, 90, dim, kvq.Format(EXACT), dtype, fill=0xFF, device=device, **paging)
        for device in (None, draw_device(rng))
    )
    oracle = reference.Cache(reference.Format(None), 2, HEADS, dim, 90, dtype)
    for counts in ([33, 0], [37, 5]):
        x = finite(rng, (2, HEADS, 37, dim), source)
        for cache in (cpu, gpu, oracle):
            cache.append(x, counts, **rope)
    assert_same(cpu, gpu)
    check_exact_tokens(cpu, oracle)


@pytest.mark.parametrize("text", [I4, EXACT])
def test_infinities_are_turned_as_arithmetic_does(text, rng):
    """What stays infinite is the largest element; what is undefined is NaN."""
    rope, recent = draw_rope(rng, 30, 64), 5 * (text == I4)
    cpu, gpu = (
        kvq.Cache(1, HEADS, 30, 64, kvq.Format(text), recent=recent, fill=0xFF, device=device)
        for device in (None, draw_device(rng))
    )
    oracle = reference.Cache(reference.Format.parse(text), 1, HEADS, 64, 30, recent=recent)
    x = values(rng, (1, HEADS, 30, 64), "f32")
    x[:, :, 3, 0], x[:, :, 4, 5] = np.inf, np.nan
    for cache in (cpu, gpu, oracle):
        cache.append(x, **rope)
    assert_same(cpu, gpu)
    check_exact_tokens(cpu, oracle)
    if text == I4:
        draws.check_storage(cpu, oracle)


@pytest.mark.parametrize(
    "text, windows", [(I4, {}), (I4, dict(recent=5)), (PER_CHANNEL, dict(exact_first=2, recent=9)), (EXACT, {})]
)
def test_the_bytes_are_those_of_turned_keys(text, windows, rng):
    """As if f32 keys had been turned before: in whichever append they come, and beside appends of keys that were."""
    rope = draw_rope(rng, 60, 64)
    x = rng.standard_normal((1, HEADS, 60, 64)).astype(np.float32)
    turned = reference.rope.turn(x, *rope["rope"], rope["rope_style"])
    whole, parts = (kvq.Cache(1, HEADS, 60, 64, kvq.Format(text), fill=0xFF, **windows) for _ in range(2))
    whole.append(turned)
    for begin, end in ((0, 7), (7, 8), (8, 50)):
        parts.append(x[:, :, begin:end], **rope)
    parts.append(turned[:, :, 50:])
    assert whole.flushed.tolist() == parts.flushed.tolist()
    for name, array in whole.storage().items():
        assert name == "recent" or same(parts.storage()[name], array), name  # slots keep tokens that have left
    assert np.array_equal(whole.dequantize(), parts.dequantize())


@pytest.mark.parametrize(
    "text, options",
    [
        (f"{I4}, layout = auto", dict(side="keys")),  # tiles of tokens
        (I4, dict(token_major=True)),
        (EXACT, dict(token_major=True)),
        ("codes = i8, group = [1, *], heads = *, scale = f32", {}),
    ],
)
def test_layouts_and_threads(text, options, rng):
    rope = draw_rope(rng, 140, 64)
    whole, parted, gpu = (
        kvq.Cache(2, 4, 150, 64, kvq.Format(text), fill=0xFF, device=device, **options)
        for device in (None, None, draw_device(rng))
    )
    x = rng.standard_normal((2, 4, 140, 64)).astype(np.float16)
    whole.append(reference.rope.turn(x.astype(np.float32), *rope["rope"], rope["rope_style"]), [140, 77])
    parted.append(x, [140, 77], threads=2, **rope)
    gpu.append(x, [140, 77], **rope)
    assert_same(whole, parted)
    assert_same(whole, gpu)


def test_packed_tokens(rng):
    """Rows outside of all sequences are NaN, and are not read."""
    rope = draw_rope(rng, 75, 64)
    paging = dict(page=32) if rng.random() < 0.5 else {}
    cpu, gpu = (
        kvq.Cache(2, HEADS, 90, 64, kvq.Format(PER_CHANNEL), recent=32, fill=0xFF, device=device, **paging)
        for device in (None, draw_device(rng))
    )
    oracle = reference.Cache(reference.Format.parse(PER_CHANNEL), 2, HEADS, 64, 90, recent=32)
    for starts in ([3, 70, 125], [0, 8, 22]):
        x = rng.standard_normal((130, HEADS, 64)).astype(np.float16)
        x[: starts[0]] = x[starts[2] :] = np.nan
        padded = np.zeros((2, HEADS, max(np.diff(starts)), 64), np.float16)
        for b in range(2):
            rows = x[starts[b] : starts[b + 1]]
            padded[b, :, : len(rows)] = rows.transpose(1, 0, 2)
        for cache in (cpu, gpu):
            cache.append(x, starts=starts, **rope)
        oracle.append(padded, np.diff(starts).tolist(), **rope)
    assert_same(cpu, gpu)
    draws.check_storage(cpu, oracle)
    check_exact_tokens(cpu, oracle)


@pytest.mark.parametrize("text", [I4, EXACT])
def test_slots(text, rng):
    """Tokens come in any order with their positions; those that are left out have none that could be read."""
    rope = draw_rope(rng, 96, 64)
    table = rng.permutation(12).reshape(1, 12)
    options = dict(page=8, pages=12, fill=0xFF)
    stored, gpu = (
        kvq.Cache(1, HEADS, 96, 64, kvq.Format(text), page_table=table, device=device, **options)
        for device in (None, draw_device(rng))
    )
    appended = kvq.Cache(1, HEADS, 96, 64, kvq.Format(text), page_table=table, **options)
    x = rng.standard_normal((1, HEADS, 96, 64)).astype(np.float32)
    appended.append(x, **rope)
    order = rng.permutation(96)
    packed, positions = np.empty((100, HEADS, 64), np.float32), np.empty(100, np.int64)
    slots = np.full(100, -1)
    kept = np.sort(rng.permutation(100)[:96])
    packed[:], positions[:] = np.nan, 1 << 60
    packed[kept], positions[kept] = x[0].transpose(1, 0, 2)[order], order
    slots[kept] = table[0, order // 8] * 8 + order % 8
    for cache in (stored, gpu):
        cache.store(packed, slots, [96], positions=positions, **rope)
        assert_same(appended, cache)


@pytest.mark.parametrize("layout", ["", ", row = [codes.0, scale.0, values.1]"])
def test_a_segment_is_turned(layout, rng):
    """The last channels of latent rows, as they are stored."""
    segments = kvq.Segments(f"[0:64] = #kvq.format<codes = i8, group = [1, *], scale = f32>, [64:96] = none{layout}")
    rope = draw_rope(rng, 40, 32)
    cpu, gpu = (kvq.Cache(2, 1, 40, 96, segments, fill=0xFF, device=device) for device in (None, draw_device(rng)))
    turned = kvq.Cache(2, 1, 40, 96, segments, fill=0xFF)
    oracle = Oracle(segments, 2, 1, 40)
    x = rng.standard_normal((2, 1, 40, 96)).astype(np.float32)
    for cache in (cpu, gpu):
        cache.append(x, [40, 7], **rope, rope_segment=1)
    x[..., 64:] = reference.rope.turn(x[..., 64:], *rope["rope"], rope["rope_style"])
    turned.append(x, [40, 7])
    oracle.append(x, [40, 7])
    assert_same(turned, cpu)
    assert_same(cpu, gpu)
    if not layout:
        check_bytes(cpu, oracle)


def test_attention_sees_what_it_would_turn_itself(rng):
    """Keys turned as they are stored, or before RoPE and turned as they are read: f32 keys lose nothing by either."""
    rope = draw_rope(rng, 50, 64)
    texts = (EXACT, f"{EXACT}, rope = pre", EXACT)
    after, before, v = (kvq.Cache(2, HEADS, 50, 64, kvq.Format(text), "f32", fill=0xFF) for text in texts)
    x, y = (rng.standard_normal((2, HEADS, 50, 64)).astype(np.float32) for _ in range(2))
    after.append(x, [50, 19], **rope)
    before.append(x, [50, 19])
    v.append(y, [50, 19])
    q = rng.standard_normal((2, 2 * HEADS, 1, 64)).astype(np.float32)
    assert relative_l2(kvq.attention(q, after, v), kvq.attention(q, before, v, **rope)) <= 2e-5


def test_shifts_turn_back_what_appends_turned(rng):
    """Keys behind a gap are those of RoPE at their new positions, but for the rounding of elements of 32 bits."""
    rope = draw_rope(rng, 40, 64)
    cos, sin = rope["rope"]
    length = np.float32(np.hypot(cos[0, 0], sin[0, 0]))  # turning back and forth scales by its square
    rope["rope"] = cos / length, sin / length
    shifted, direct = (kvq.Cache(1, HEADS, 40, 64, kvq.Format(EXACT), "f32", fill=0xFF) for _ in range(2))
    x = rng.standard_normal((1, HEADS, 40, 64)).astype(np.float32)
    shifted.append(x, **rope)
    shifted.shift(10, 12, **rope)
    direct.append(np.delete(x, range(10, 22), axis=2), **rope)
    # A turn rounds table and arithmetic some 5 times, by 2^-24 of pairs of a length up to 7 or so: 2e-6 in each of three.
    assert np.abs(shifted.dequantize() - direct.dequantize()).max() <= 2e-5


def test_the_tables_of_other_positions_have_no_influence(rng):
    rope = draw_rope(rng, 30, 64)
    nan = np.full_like(rope["rope"][0], np.nan)
    poisoned = tuple(np.concatenate([nan[:9], table[9:], nan]) for table in rope["rope"])
    one, other = (kvq.Cache(1, HEADS, 60, 64, kvq.Format(I4), recent=4, fill=0xFF) for _ in range(2))
    x = rng.standard_normal((1, HEADS, 30, 64)).astype(np.float32)
    for cache, tables in ((one, rope["rope"]), (other, poisoned)):
        cache.append(x[:, :, :9])
        cache.append(x[:, :, 9:], rope=tables, rope_style=rope["rope_style"])
    assert_same(one, other)
    assert np.isfinite(one.dequantize()).all()


TABLES = kvq.rope_tables(21, 64)
BEFORE = f"{I4}, rope = pre"
LATENT = "[0:32] = #kvq.format<codes = i4, group = [1, 32], scale = f16>, [32:64] = {}"


@pytest.mark.parametrize(
    "fmt, options, error, message",
    [
        (I4, dict(rope=kvq.rope_tables(20, 64)), kvq.Error, "up to 20 need 21 rows of the tables of RoPE, got 20"),
        (I4, dict(rope=kvq.rope_tables(21, 66)), kvq.Error, r"1 to 32\], .* of 64 channels, got \[21, 33\]"),
        (I4, dict(rope=TABLES, rope_style="gpt"), kvq.Error, "'half' or 'interleaved', got 'gpt'"),
        (I4, dict(rope=(TABLES[0], TABLES[1][1:])), kvq.Error, r"one shape, got \[21, 32\] and \[20, 32\]"),
        (I4, dict(rope=3), TypeError, "two tables, cosines and sines, got int"),
        (I4, dict(rope=(TABLES[0].astype(np.float64), TABLES[1])), TypeError, "as an array of float32, got float64"),
        (I4, dict(rope_style="interleaved"), kvq.Error, "rope_style 'interleaved' is given without tables of RoPE"),
        (I4, dict(rope_segment=0), kvq.Error, "rope_segment 0 is given without tables of RoPE"),
        (I4, dict(rope=TABLES, rope_segment=0), kvq.Error, "rope_segment as None for a cache of one format, got 0"),
        (BEFORE, dict(rope=TABLES), kvq.Error, "keys with rope = pre are stored before RoPE: expected no tables"),
        (LATENT.format("none"), dict(rope=TABLES), kvq.Error, "as which of the segments RoPE turns, got None"),
        (LATENT.format("none"), dict(rope=TABLES, rope_segment=2), kvq.Error, "rope_segment from 0 to 1, got 2"),
        (LATENT.format("none"), dict(rope=TABLES, rope_segment=1), kvq.Error, r"1 to 16\], .* of 32 channels"),
        (
            LATENT.format("#kvq.format<codes = none, rope = pre>"),
            dict(rope=kvq.rope_tables(21, 32), rope_segment=1),
            kvq.Error,
            "keys with rope = pre are stored before RoPE",
        ),
    ],
)
def test_tables_that_do_not_fit(fmt, options, error, message, rng):
    """Nothing is written then."""
    fmt = kvq.Segments(fmt) if fmt.startswith("[") else kvq.Format(fmt)
    cache = kvq.Cache(2, HEADS, 30, 64, fmt, fill=0xFF)
    x = rng.standard_normal((2, HEADS, 20, 64)).astype(np.float32)
    cache.append(x, [19, 20])
    before = {name: array.copy() for name, array in cache.storage().items()}
    with pytest.raises(error, match=message):
        cache.append(x, [2, 0], **options)
    assert cache.lengths.tolist() == [19, 20]
    assert all(same(array, before[name]) for name, array in cache.storage().items())


def test_sequences_without_new_tokens_need_no_rows():
    cache = kvq.Cache(2, HEADS, 30, 64, kvq.Format(I4))
    x = np.ones((2, HEADS, 20, 64), np.float32)
    cache.append(x, [20, 0])
    cache.append(x, [0, 3], rope=kvq.rope_tables(3, 64))
    cache.append(x, [0, 0], rope=kvq.rope_tables(0, 64))
    assert cache.lengths.tolist() == [20, 3]


def test_values_are_not_turned():
    cache = kvq.Cache(1, HEADS, 30, 64, kvq.Format(I4), side="values")
    with pytest.raises(kvq.Error, match="RoPE turns keys only: expected no tables for a cache of values"):
        cache.append(np.ones((1, HEADS, 1, 64), np.float32), rope=TABLES)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(rope=TABLES), "expected positions, which slots do not say, with tables of RoPE"),
        (dict(positions=[0, 1]), "expected no positions without tables of RoPE"),
        (dict(rope=TABLES, positions=[0]), r"expected 2 integer positions, got int64 of shape \(1,\)"),
        (dict(rope=TABLES, positions=[0.0, 1.0]), "expected 2 integer positions, got float64"),
        (dict(rope=TABLES, positions=[3, -1]), "expected positions of at least 0, got -1"),
        (dict(rope=TABLES, positions=[3, 21]), "positions up to 21 need 22 rows of the tables of RoPE, got 21"),
    ],
)
def test_positions_that_do_not_fit(options, message):
    table = np.arange(3).reshape(1, 3)
    cache = kvq.Cache(1, HEADS, 24, 64, kvq.Format(I4), page=8, pages=3, page_table=table)
    with pytest.raises(kvq.Error, match=message):
        cache.store(np.ones((2, HEADS, 64), np.float32), [0, 1], [2], **options)
    assert cache.lengths.tolist() == [0]
