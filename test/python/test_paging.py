"""Paged caches: the same bytes and bits as without pages, wherever the pages lie, whatever the others hold."""

import numpy as np
import pytest
from test_differential import same, stored_rows

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.ir.reorder import reorder as reorder_ir

HEADS, DIM = 2, 64
I4 = "codes = i4, group = [1, 32], scale = f16"
I8 = "codes = i8, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [4, 1], scale = f16, zero = min f16"
WINDOWS = [
    (I4, {}),
    (I8, dict(exact_first=3, recent=5)),
    (PER_CHANNEL, dict(exact_first=2, recent=7)),
    (PER_CHANNEL, dict(residual=12)),
    ("codes = none", {}),
]


def cache_of(text: str, batch: int = 1, capacity: int = 130, **options) -> kvq.Cache:
    return kvq.Cache(batch, HEADS, capacity, DIM, kvq.Format(text), **{"fill": 0xFF, **options})


def noise(rng: np.random.Generator, batch: int, tokens: int) -> np.ndarray:
    return rng.standard_normal((batch, HEADS, tokens, DIM)).astype(np.float32)


def query(rng: np.random.Generator, batch: int) -> np.ndarray:
    return rng.standard_normal((batch, 2 * HEADS, 2, DIM)).astype(np.float32)


@pytest.mark.parametrize("text, windows", WINDOWS)
def test_pages_change_no_bit(text, windows, rng):
    """Codes, values and attention of a paged cache are those of one without pages (up to the order of sums where tiles
    begin at borders of pages); neither an entry of the table
    behind the last token nor a page that nobody has is read (0xFF.. are NaNs)."""
    n = kvq.Format(text).tokens
    page = n * int(rng.choice([1, 4, 16, 25, 64]))
    plain = cache_of(text, 3, **windows)
    rows = -(-130 // page)
    table = rng.permutation(3 * rows + 5)[: 3 * rows].reshape(3, rows)
    table[1, 40 // page + 1 :] = 2**58  # would be far beyond the pool
    paged = cache_of(text, 3, page=page, pages=3 * rows + 5, page_table=table, **windows)
    zeroed = cache_of(text, 3, page=page, pages=3 * rows + 5, page_table=table, fill=0, **windows)
    for tokens, counts in ((37, [37, 20, 0]), (1, [1, 1, 0]), (60, [60, 9, 0])):
        x = noise(rng, 3, tokens)
        for cache in (plain, paged, zeroed):
            cache.append(x, counts)
    for b, flushed in enumerate(plain._stored.tolist()):
        for name in [name for name in plain.storage() if name not in ("first", "recent")]:
            count = flushed // n if name in ("scales", "zeros") else flushed
            assert same(stored_rows(paged, name, b, count), stored_rows(plain, name, b, count)), name
    assert np.array_equal(paged.dequantize(), plain.dequantize())
    q = query(rng, 3)
    out = kvq.attention(q, plain, plain, splits=2)
    for key, value in ((paged, paged), (zeroed, paged), (paged, zeroed)):
        found = kvq.attention(q, key, value, splits=2)
        assert np.allclose(found, out, rtol=0, atol=2e-6 if page % 64 == 0 else 0), np.abs(found - out).max()


@pytest.mark.parametrize("text", [I4, I8, "codes = none"])
def test_tiles_within_pages(text, rng):
    """Pages that tiles of 64 divide: from the start of a sequence the same tiles, so the same bits."""
    plain, paged = cache_of(text, 2, 300), cache_of(text, 2, 300, page=128, page_table=rng.permutation(6).reshape(2, 3))
    x = noise(rng, 2, 299)
    for cache in (plain, paged):
        cache.append(x, [299, 128])
    q = query(rng, 2)
    assert np.array_equal(kvq.attention(q, paged, paged), kvq.attention(q, plain, plain))
    error = np.abs(kvq.attention(q, paged, paged, splits=5) - kvq.attention(q, plain, plain, splits=5)).max()
    assert error <= 2e-6


def test_pages_are_taken_as_tokens_come_and_given_back(rng):
    cache = cache_of(PER_CHANNEL, 2, page=8, pages=6, exact_first=2, recent=4)
    assert cache.storage()["codes"].shape == (6, HEADS, 8, 32) and cache.storage()["scales"].shape == (6, HEADS, 2, 64)
    assert cache.storage()["first"].shape[0] == cache.storage()["recent"].shape[0] == 2
    assert (cache.page_table == -1).all() and cache.page_table.shape == (2, 16)
    cache.append(noise(rng, 2, 30), [30, 5])
    assert (cache.page_table >= 0).sum(axis=1).tolist() == [3, 0]  # 24 of 30 tokens are quantized, and none of 5
    before = cache.page_table, cache.lengths, {name: array.tobytes() for name, array in cache.storage().items()}
    with pytest.raises(kvq.Error, match="pool full: 4 more pages are needed, .*; 3 of 6 are free"):
        cache.append(noise(rng, 2, 35), [1, 33])
    after = cache.page_table, cache.lengths, {name: array.tobytes() for name, array in cache.storage().items()}
    assert before[2] == after[2] and all(np.array_equal(x, y) for x, y in zip(before[:2], after[:2], strict=True))
    cache.truncate(10)
    assert (cache.page_table >= 0).sum(axis=1).tolist() == [1, 0]
    cache.append(noise(rng, 2, 20), [12, 20])
    assert (cache.page_table >= 0).sum(axis=1).tolist() == [2, 2] and np.unique(cache.page_table).size == 5


def test_forks_share_pages_until_they_write(rng):
    """A shared page is copied before it is written, and only the one that is."""
    cache, plain = (cache_of(PER_CHANNEL, 3, exact_first=2, recent=4, **paging) for paging in (dict(page=8), {}))
    prompt = noise(rng, 3, 34)
    for each in (cache, plain):
        each.append(prompt, [34, 9, 0])
        each.fork(0, [1, 2])
    assert (cache.page_table == cache.page_table[0]).all() and (cache.page_table[0, :4] >= 0).all()
    for each in (cache, plain):
        each.truncate([34, 22, 34])  # 20 quantized: in the middle of page 2
    x = noise(rng, 3, 12)
    for each in (cache, plain):
        each.append(x, [0, 12, 12])
    table = cache.page_table
    assert (table[0, :4] == cache.page_table[0, :4]).all()
    assert (table[1, :2] == table[0, :2]).all() and not np.isin(table[1, 2:4], table[0]).any()
    assert (table[2, :3] == table[0, :3]).all() and table[2, 3] not in table[:2]  # 28 quantized: in page 3
    assert np.array_equal(cache.dequantize(), plain.dequantize())
    for each in (cache, plain):
        each.reorder([2, 0, 1])
        each.append(x)
    assert np.array_equal(cache.dequantize(), plain.dequantize())
    used = np.unique(cache.page_table[cache.page_table >= 0])
    assert len(used) < (cache.page_table >= 0).sum()  # some are shared still
    cache.truncate(0)
    assert (cache.page_table == -1).all() and len(cache._pages._free) == cache.storage()["codes"].shape[0]


def test_given_scales_are_no_pages(rng):
    """What is given with the cache is one for all pages: copies of shared pages leave it alone."""
    text = "codes = i8, group = [*, 32], scale = f16, range = static"
    given = {"scales": np.full((HEADS, 2), 0.05, np.float16)}
    cache, plain = (cache_of(text, 3, given=given, **paging) for paging in (dict(page=8), {}))
    x = noise(rng, 3, 21)
    for each in (cache, plain):
        each.append(x, [21, 3, 0])
        each.fork(0, [1, 2])
        each.append(x[:, :, :5])
        each.shift([0, 3, 0], [2, 4, 0])
    assert np.array_equal(cache.dequantize(), plain.dequantize())
    assert same(cache.storage()["scales"], plain.storage()["scales"])


@pytest.mark.parametrize("text, windows", [WINDOWS[0], (PER_CHANNEL, dict(exact_first=2, recent=4)), WINDOWS[-1]])
def test_a_given_table_is_left_alone(text, windows, rng):
    """Reordering and forking copy rows into the pages of their targets."""
    table = rng.permutation(4 * 17).reshape(4, 17)
    cache = cache_of(text, 4, page=8, pages=4 * 17, page_table=table, **windows)
    plain = cache_of(text, 4, **windows)
    x = noise(rng, 4, 50)
    for each in (cache, plain):
        each.append(x, [50, 21, 7, 40])
        each.reorder([1, 0, 3, 3])
        each.fork(0, [2])
        each.append(x[:, :, :5])
    assert np.array_equal(cache.page_table, table)
    assert np.array_equal(cache.dequantize(), plain.dequantize())


def test_reorder_copies_what_is_not_shared(rng):
    """The op itself: rows below `shared` stay as they are in the destination's pages."""
    cache = cache_of(PER_CHANNEL, 1, page=8, pages=17, page_table=np.arange(17)[None], exact_first=2, recent=4)
    cache.append(noise(rng, 1, 60))
    table = rng.permutation(40)[:34].reshape(2, 17)
    target = cache_of(PER_CHANNEL, 2, page=8, pages=40, page_table=table, exact_first=2, recent=4)
    kernel = _kvq.compile(reorder_ir((1, 2), cache.dynamic_type, target.dynamic_type, True, True))
    counts = np.array([0, -1]), cache.lengths, cache.flushed
    tables = cache.page_table, target.page_table, np.array([20, 0])
    kernel.invoke("reorder", (*cache.storage().values(), *counts, *tables, *target.storage().values()))
    for name, group in (("codes", 1), ("scales", 4), ("zeros", 4)):
        found, expected = (stored_rows(each, name, 0, 52 // group) for each in (target, cache))
        assert np.all(found[:, : 20 // group].view(np.uint8) == 0xFF)
        assert same(found[:, 20 // group :], expected[:, 20 // group :])
        assert np.all(stored_rows(target, name, 1, 100 // group).view(np.uint8) == 0xFF)
    assert same(target.storage()["first"][0], cache.storage()["first"][0])


def test_groups_never_span_requests():
    """Sequences of 5 tokens (around 1) and 3 (around 1000), groups of 4 tokens: the first one's codes are as if it were
    alone, and allocated bytes are reported bytes (sglang#22777)."""
    x = np.zeros((2, HEADS, 5, DIM), np.float32)
    x[0] = np.where(np.arange(DIM) % 2, 1, -1)
    x[1] = 1000
    for paging in ({}, dict(page=4), dict(page=8)):
        both, alone = (cache_of(PER_CHANNEL, batch, capacity=16, **paging) for batch in (2, 1))
        both.append(x, [5, 3])
        alone.append(x[:1])
        assert both.flushed.tolist() == [4, 0]
        for name, rows in (("codes", 4), ("scales", 1), ("zeros", 1)):
            assert same(stored_rows(both, name, 0, rows), stored_rows(alone, name, 0, rows))
        assert _kvq.Footprint(both.type).allocated(16)["total"] == both.nbytes


@pytest.mark.parametrize(
    "text, page, last",
    [
        (I8.replace("32", "64"), 480, 7768),  # the element and the byte 2,147,696,640: beyond 2^31
        (I4.replace("32", "64"), 480, 7768),  # the code, but not its byte
        (I4.replace("32", "64"), 480, 15534),  # the byte too
        (I8.replace("32", "64"), 480, 15534),  # beyond 2^32
        ("codes = none", 480, 3884),  # the byte, but not the element
        (PER_CHANNEL.replace("zero = min f16", "zero = min f32"), 480, 7768),
    ],
)
def test_offsets_beyond_two_to_the_31(text, page, last, rng):
    """A page of 480 x 576 far behind in a pool of which little is ever written (vllm#47671, vllm#50427)."""
    dim = 576
    assert last * page * dim >= 2**31 or text == "codes = none"
    table = np.array([[last, 3, last - 1]])
    fmt = kvq.Format(text)
    far = kvq.Cache(1, 1, 1200, dim, fmt, page=page, pages=last + 1, page_table=table)
    near = kvq.Cache(1, 1, 1200, dim, fmt)
    x = rng.standard_normal((1, 1, 1100, dim)).astype(np.float16)
    for cache in (far, near):
        cache.append(x[:, :, :700])
        cache.append(x[:, :, 700:])
    q = rng.standard_normal((1, 4, 1, dim)).astype(np.float32)
    assert np.array_equal(kvq.attention(q, far, far), kvq.attention(q, near, near))
    assert np.array_equal(far.dequantize(), near.dequantize())


def test_dropping_a_sequence_leaves_the_others(rng):
    """Lengths 10 and 6: the first goes, the other grows, and its 6 old tokens are as they were (omlx#2172)."""
    for paging in ({}, dict(page=4)):
        cache = cache_of(I4, 2, **paging)
        x = noise(rng, 2, 10)
        cache.append(x, [10, 6])
        before = cache.dequantize()[1, :, :6]
        cache.reorder([1, 1])
        cache.truncate([6, 0])
        cache.append(noise(rng, 2, 5), [5, 0])
        assert cache.lengths.tolist() == [11, 0]
        assert np.array_equal(cache.dequantize()[0, :, :6], before)


def test_page_tails_are_reported():
    """Unused rows of the last pages: apart from all other bytes."""
    fmt = f"#kvq.format<{PER_CHANNEL}>"
    plain, paged = (
        _kvq.Footprint(f"!kvq.cache<3x2x?x64xf16, {fmt}, exact_first = 2, recent = 4{page}>")
        for page in ("", ", page = 8")
    )
    rows = 3 * 2 * 8 * (32 + 2 * 64 * 2 // 4)  # a page for each sequence
    for length, tails in ((6, 0), (10, 4), (14, 0), (30, 0), (31, 0), (34, 4)):
        for name in ("allocated", "retained"):
            without, found = getattr(plain, name)(length), getattr(paged, name)(length)
            assert found["page_tails"] == rows * tails // 8
            assert found["total"] == without["total"] + found["page_tails"]
            assert all(found[part] == size for part, size in without.items() if part not in ("total", "alignment"))
    assert paged.token_group_bytes == plain.token_group_bytes | {"page_tails": 0}


@pytest.mark.parametrize(
    "text, options, message",
    [
        (PER_CHANNEL, dict(page=6), "expected a page of whole groups of 4 tokens, got 6"),
        (I4, dict(page=0), "expected a page of at least 1 token, got 0"),
        (I4, dict(pages=4), "a cache with a page size, got page = None"),
        (I4, dict(page_table=np.zeros((1, 4), int)), "a cache with a page size, got page = None"),
        (I4, dict(page=4, pages=-1), "expected at least 0 pages, got -1"),
        (I4, dict(page=4, page_table=np.zeros((2, 4), int)), r"integers \[1, pages\], got int64 of shape \(2, 4\)"),
        (I4, dict(page=4, page_table=np.zeros((1, 4))), "got float64"),
    ],
)
def test_page_errors(text, options, message):
    with pytest.raises(kvq.Error, match=message):
        cache_of(text, **options)


def test_append_needs_the_pages_that_it_writes(rng):
    cache = cache_of(I4, 1, page=4, pages=3, page_table=np.array([[2, 5, -1]]))
    cache.append(noise(rng, 1, 4))
    with pytest.raises(kvq.Error, match="sequence 0: expected a page from 0 to 2 as page 1, got 5"):
        cache.append(noise(rng, 1, 1))
    with pytest.raises(kvq.Error, match="sequence 0 needs 4 pages, its page table has 3"):
        cache.append(noise(rng, 1, 12))
    assert cache.lengths.tolist() == [4]


def test_paged_attention_equals_the_oracle(rng):
    """Caches of different pages on both sides, and of different windows."""
    key, value = cache_of(PER_CHANNEL, 2, page=12, recent=9), cache_of(I4, 2, page=7)
    oracles = [
        reference.Cache(reference.Format.parse(str(cache.format)), 2, HEADS, DIM, 130, recent=cache.recent)
        for cache in (key, value)
    ]
    for cache, oracle in zip((key, value), oracles, strict=True):
        x = noise(rng, 2, 90)
        for each in (cache, oracle):
            each.append(x, [90, 41])
    q = query(rng, 2)
    expected = reference.attention(q, *oracles)
    error = np.linalg.norm(kvq.attention(q, key, value) - expected) / np.linalg.norm(expected)
    assert error <= 1e-5


# --- packed tokens -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text, windows", WINDOWS)
def test_packed_tokens_with_starts(text, windows, rng):
    """The bytes of padded tokens; sequences without tokens, and rows that belong to none."""
    paging = dict(page=12) if rng.random() < 0.5 else {}
    packed, padded = (cache_of(text, 3, **windows, **paging) for _ in range(2))
    for counts in ([30, 0, 7], [1, 1, 1], [0, 45, 20]):
        x = noise(rng, 3, max(counts))
        rows = [x[b, :, :count].transpose(1, 0, 2) for b, count in enumerate(counts)]
        around = np.full((5, HEADS, DIM), np.nan, np.float32)
        packed.append(np.concatenate([around, *rows, around]), starts=5 + np.cumsum([0, *counts]))
        padded.append(x, counts)
    assert packed.lengths.tolist() == padded.lengths.tolist() and packed.flushed.tolist() == padded.flushed.tolist()
    for name, array in padded.storage().items():
        assert same(packed.storage()[name].view(np.uint8), array.view(np.uint8)), name


@pytest.mark.parametrize("text", [I4, I8, "codes = ui4, group = [1, 16], scale = bf16, zero = min f32", "codes = none"])
def test_packed_tokens_with_slots(text, rng):
    """Slots of pages in any order are what appends write; a negative one is skipped."""
    table = rng.permutation(40)[:22].reshape(2, 11)
    by_slot, appended = (cache_of(text, 2, page=12, pages=40, page_table=table) for _ in range(2))
    x = noise(rng, 2, 50)
    appended.append(x, [50, 31])
    places = [(b, t) for b, count in enumerate((50, 31)) for t in range(count)]
    order = rng.permutation(len(places))
    tokens = np.stack([x[b, :, t] for b, t in (places[i] for i in order)])
    slots = np.array([table[b, t // 12] * 12 + t % 12 for b, t in (places[i] for i in order)])
    wrong = np.full((2, HEADS, DIM), 7, np.float32)  # skipped
    by_slot.store(np.concatenate([wrong, tokens]), np.concatenate([[-1, -9], slots]), [50, 31])
    assert by_slot.lengths.tolist() == [50, 31]
    for name, array in appended.storage().items():
        assert same(by_slot.storage()[name].view(np.uint8), array.view(np.uint8)), name
    q = query(rng, 2)
    assert np.array_equal(kvq.attention(q, by_slot, by_slot), kvq.attention(q, appended, appended))


def test_packed_errors(rng):
    cache = cache_of(I4, 2)
    x = noise(rng, 1, 6)[0].transpose(1, 0, 2)
    for arguments, message in [
        (dict(starts=[0, 6]), r"3 integer starts, got int64 of shape \(2,\)"),
        (dict(starts=[0, 4, 7]), r"ascend from 0 to the 6 tokens given, got \[0, 4, 7\]"),
        (dict(starts=[0, 4, 3]), r"ascend from 0 to the 6 tokens given, got \[0, 4, 3\]"),
        (dict(starts=[0, 4, 6], counts=[4, 2]), "either counts or starts, got both"),
    ]:
        with pytest.raises(kvq.Error, match=message):
            cache.append(x, **arguments)
    with pytest.raises(kvq.Error, match=r"packed tokens of shape \[total, 2, 64\], got \[6, 2, 32\]"):
        cache.append(x[..., :32], starts=[0, 4, 6])
    with pytest.raises(kvq.Error, match="a given page table"):
        cache.store(x, range(6), [4, 2])
    paged = cache_of(I4, 2, page=4, pages=3, page_table=np.array([[0, 1], [2, -1]]))
    with pytest.raises(kvq.Error, match="slots below 12, got 12"):
        paged.store(x, [0, 1, 2, 3, 4, 12], [4, 2])
    with pytest.raises(kvq.Error, match="slots of one token each, got slot 3 for 2"):
        paged.store(x, [0, 3, -1, -1, 5, 3], [4, 2])
    with pytest.raises(kvq.Error, match=r"6 integer slots, got int64 of shape \(5,\)"):
        paged.store(x, range(5), [4, 2])
    with pytest.raises(kvq.Error, match="slots need groups of 1 token, .* got groups of 4"):
        grouped = cache_of(PER_CHANNEL, 2, page=4, pages=3, page_table=np.array([[0, 1], [2, -1]]))
        grouped.store(x, range(6), [4, 2])
    with pytest.raises(kvq.Error, match="slots need a cache without exact windows, got exact_first = 1"):
        windowed = cache_of(I4, 2, page=4, pages=3, page_table=np.array([[0, 1], [2, -1]]), exact_first=1)
        windowed.store(x, range(6), [4, 2])
