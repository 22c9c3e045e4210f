"""Layouts: bytes against packings of engines that know nothing of kvq, and caches against planar ones.

The rounding of engines is not the subject here: codes and metadata are given.
"""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.format import DTYPES
from kvq_mlir.reference.layouts import ggml, words

GGML = "group = [1, 32], scale = f16"
ROW = "group = [1, *]"


def text(fields: str, layout: str) -> str:
    return f"{fields}, layout = #kvq.layout<{layout}>"


Q8_0 = text(f"codes = i8, {GGML}", "record = [scale, codes]")
Q4_0 = text(f"codes = i4, {GGML}", "bias, record = [scale, codes]")
Q4_1 = text(f"codes = ui4, {GGML}, zero = min f16", "record = [scale, zero, codes]")
Q5_0 = text(f"codes = i5, {GGML}", "high = stream, bias, record = [scale, high, codes]")
Q5_1 = text(f"codes = ui5, {GGML}, zero = min f16", "high = stream, record = [scale, zero, high, codes]")
IQ4_NL = text(f"codes = #kvq.codebook<iq4_nl>, {GGML}", "record = [scale, codes]")
MXFP4 = text("codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU", "record = [scale, codes]")
ENGINES = {
    "q8_0": Q8_0,
    "q4_0": Q4_0,
    "q4_1": Q4_1,
    "q5_0": Q5_0,
    "q5_1": Q5_1,
    "iq4_nl": IQ4_NL,
    "mxfp4": MXFP4,
    "nvfp4": text("codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN", "codes = stream, row = [codes, scale]"),
    "vllm_int8": text(f"codes = i8, {ROW}, scale = f32", "record = [codes, scale]"),
    "vllm_int4": text(
        f"codes = ui4, {ROW}, scale = f32, zero = point i8", "codes = stream, record = [codes, scale_zero]"
    ),
    "mla_latent": text("codes = f8E4M3FN, group = [1, 16], scale = f32", "row = [codes, scale]"),
    "lmdeploy": text(f"codes = ui4, {ROW}, scale = f16, zero = point f16", "record = [scale, zero]"),
    "turbomind": text(
        f"codes = ui4, {ROW}, scale = f16, zero = min f16", "codes = stream<8, 2>, record = [scale, zero]"
    ),
    "onnxruntime": text(f"codes = i4, {ROW}, scale = f32", "codes = stream, bias"),
    "openvino_u8": text(f"codes = ui8, {GGML}, zero = point f32", "record = [scale, zero, codes]"),
    "openvino_u4": text(f"codes = ui4, {GGML}, zero = point f32", "codes = reversed, record = [scale, zero, codes]"),
    "mlx_3": text("codes = ui3, group = [1, 32], scale = f32, zero = min f32", "codes = stream"),
    "mlx_5": text("codes = ui5, group = [1, 32], scale = f32, zero = min f32", "codes = stream"),
    "mlx_6": text("codes = ui6, group = [1, 32], scale = f32, zero = min f32", "codes = stream"),
    "kivi": text("codes = ui2, group = [1, 32], scale = f16, zero = min f16", "codes = stream"),
}


def given(fmt: str, codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None = None) -> kvq.Quantized:
    """Rows [..., dim] of codes and [..., groups] of metadata as the parts of an array."""
    parts = (codes, scales, zeros)
    rows = [part if part is None else np.asarray(part).reshape(1, 1, -1, part.shape[-1]) for part in parts]
    return kvq.Quantized(kvq.Format(fmt), *rows)


def drawn(fmt: kvq.Format, dim: int, tokens: int, rng: np.random.Generator) -> kvq.Quantized:
    """Any codes and any bits of metadata; zero points that are codes."""
    def bits(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0]

    lowest = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
    codes = rng.integers(lowest, lowest + 2**fmt.bits, (2, 2, tokens, dim)).astype(fmt.code_dtype)
    shape = (2, 2, -(-tokens // fmt.tokens), dim // fmt.channels(dim))
    scales = bits(shape, DTYPES[fmt.scale])
    zeros = bits(shape, DTYPES[fmt.zero]) if fmt.zero else None
    if fmt.zero in ("i8", "ui8"):
        zeros &= 2**fmt.bits - 1
    return kvq.Quantized(fmt, codes, scales, zeros)


def as_hex(z: kvq.Quantized) -> list[str]:
    return [row.tobytes().hex() for row in z.packed.reshape(-1, z.packed.shape[-1])]


# --- Bytes written by hand -----------------------------------------------------------------------------------------

J = np.arange(32)
COUNTING = "00112233445566778899aabbccddeeff"


@pytest.mark.parametrize(
    "fmt, codes, scales, zeros, expected",
    [
        (Q8_0, [127, 1, 2, 3, -1, -2, -3, 3] + [0] * 24, 1.0, None, "003c7f010203fffefd03" + "00" * 24),
        (Q4_0, np.minimum((J + 1) // 2, 15) - 8, 2.0, None, "0040809191a2a2b3b3c4c4d5d5e6e6f7f7f8"),
        (Q4_0, np.zeros(32), 0.0, None, "0000" + "88" * 16),
        (Q4_1, J % 16, 1.0, -4.0, "003c00c4" + COUNTING),
        (Q5_0, J - 16, 1.0, None, "003c0000ffff" + COUNTING),
        (Q5_0, np.zeros(32), 0.0, None, "0000ffffffff" + "00" * 16),
        (Q5_1, J, 1.0, 2.0, "003c00400000ffff" + COUNTING),
        (IQ4_NL, J % 16, 1 / 64, None, "0024" + COUNTING),
    ],
)
def test_ggml_blocks(fmt, codes, scales, zeros, expected):
    z = kvq.Format(fmt)
    zeros = None if zeros is None else np.float16([[zeros]])
    assert as_hex(given(fmt, np.array([codes]).astype(z.code_dtype), np.float16([[scales]]), zeros)) == [expected]


def test_other_engines_by_hand():
    """Vectors worked out from published layouts: MXFP4, NVFP4, vLLM, LMDeploy, ONNX Runtime, OpenVINO, MLX, KIVI."""
    grid = np.uint8([0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6, 6, 7, 7])  # e2m1 codes of 0, 0.25, 0.5, 0.75, 1 ... 7
    mx = text("codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU", "codes = stream")
    block = np.concatenate([grid, grid + np.uint8(8)])[np.newaxis]
    assert as_hex(given(mx, block, np.uint8([[127]]))) == ["002122434465667788a9aacbccedeeff"]
    lower = np.uint8([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7])  # ties to the smaller magnitude
    block = np.concatenate([lower, np.where(lower == 0, 0, lower + 8).astype(np.uint8)])[np.newaxis]
    assert as_hex(given(MXFP4, block, np.uint8([[127]]))) == ["7f" + "00009191a2a2b3b3c4c4d5d5e6e6f7f7"]
    block = np.uint8([[0, 1, 2, 11, 4, 5, 14, 7, 0, 2, 2, 4, 4, 6, 6, 15]])
    assert as_hex(given(ENGINES["nvfp4"], block, np.uint8([[0x30]]))) == ["10b2547e204264f6" + "30"]
    b = np.float32([-3, -1, 0, 1, 2.5, 4.5, 12, 7.4])
    quantized = np.clip(np.trunc(b / 1 + 3 + 0.5), 0, 15).astype(np.uint8)[np.newaxis]
    assert as_hex(given(ENGINES["vllm_int4"], quantized, np.float32([[1]]), np.int8([[3]]))) == ["204386af0300803f"]
    minimum = np.rint(b + 3).astype(np.uint8)[np.newaxis]
    z = given(ENGINES["turbomind"], minimum, np.float16([[1]]), np.float16([[-3]]))
    packed = {name: part.tobytes().hex() for name, part in z.packed_components().items()}
    assert packed == {"codes": "30f642a8", "records": "003c00c2"}
    z = given(ENGINES["lmdeploy"], quantized, np.float16([[1]]), np.float16([[3]]))
    packed = {name: part.tobytes().hex() for name, part in z.packed_components().items()}
    assert packed == {"codes": "6082f3a4", "records": "003c0042"}
    assert as_hex(given(ENGINES["onnxruntime"], np.int8([[2, -2, 0, 2, -8, 7, 0, 0]]), np.float32([[0.5]]))) == [
        "6aa8f088"
    ]
    u4 = ENGINES["openvino_u4"].replace("[1, 32]", "[1, 8]").replace("scale = f16", "scale = f32")
    assert as_hex(given(u4, minimum, np.float32([[1]]), np.float32([[3]]))) == ["0000803f00004040" + "023468fa"]
    u8 = ENGINES["openvino_u8"].replace("[1, 32]", "[1, 4]").replace("scale = f16", "scale = f32")
    z = given(u8, np.uint8([[0, 51, 102, 255]]), np.float32([[1]]), np.float32([[51]]))
    assert as_hex(z) == ["0000803f00004c42" + "003366ff"]
    mlx = text("codes = ui4, group = [1, 16], scale = f32, zero = min f32", "codes = stream")
    z = given(mlx, np.arange(15, -1, -1, dtype=np.uint8)[np.newaxis], np.float32([[-1]]), np.float32([[11]]))
    assert z.packed.view("<u4").ravel().tolist() == [0x89ABCDEF, 0x01234567]
    codes = np.rint(7 * J % 32 / (31 / 3)).astype(np.uint8)[np.newaxis]
    z = given(ENGINES["kivi"], codes, np.float16([[1]]), np.float16([[0]]))
    assert as_hex(z) == ["94935e4e3a39e5a4"]
    assert as_hex(given(ENGINES["kivi"], np.uint8([J % 4]), np.float16([[1]]), np.float16([[0]]))) == ["e4" * 8]


def test_the_table_of_the_attribute():
    """The bytes that the description of `#kvq.layout` shows."""
    four, one = np.int8([[1, 2, 3, 4]]), np.float16([[1]])
    signed = "codes = i4, group = [1, 4], scale = f16"
    for layout, expected in {
        "codes = planar": "3142",
        "codes = planar<2>": "2143",
        "codes = stream": "2143",
        "codes = reversed": "1234",
        "codes = planar, bias": "b9ca",
        "record = [scale, codes]": "003c3142",
        "row = [codes, scale]": "3142003c",
    }.items():
        assert as_hex(given(text(signed, layout), four, one)) == [expected], layout
    pairs = text("codes = i4, group = [2, 2], scale = f16", "codes = stream, block = [2, {}]")
    for channels, expected in (("1", "3142"), ("*", "2143")):
        assert as_hex(given(pairs.format(channels), np.int8([[1, 2], [3, 4]]), one)) == [expected], channels
    unsigned = "codes = ui{}, group = [1, 8], scale = f16, zero = min f16"
    for bits, first, layout, expected in (
        (4, 0, "codes = stream<8, 2>", "20643175"),
        (5, 16, "codes = planar", "40516273ff"),
        (5, 16, "codes = stream", "30ca49abbd"),
        (5, 16, "high = stream, record = [scale, high, codes]", "003cff40516273"),
    ):
        codes = np.arange(first, first + 8, dtype=np.uint8)[np.newaxis]
        z = given(text(unsigned.format(bits), layout), codes, one, one)
        assert as_hex(z) == [expected], layout


# --- Random rows ---------------------------------------------------------------------------------------------------


def check_bytes(fmt: str, dim: int, rng: np.random.Generator) -> None:
    """What is packed, against the reference."""
    z = drawn(kvq.Format(fmt), dim, 3 * kvq.Format(fmt).tokens, rng)
    expected = reference.pack_rows(z.codes, z.scales, z.zeros, z.format.bits, reference.Format.parse(fmt).layout)
    found = z.packed_components()
    assert found.keys() == expected.keys()
    for name, part in expected.items():
        assert np.array_equal(found[name], part), (fmt, name)


def test_rows_of_engines(rng):
    for engine in rng.choice(list(ENGINES), 6, replace=False):
        check_bytes(ENGINES[engine], 64, rng)


def test_blocks_of_ggml_from_their_own_packer(rng):
    """The bytes of the engine's own function hold what its fields say: codes and metadata taken out of them by hand."""
    x = rng.standard_normal((5, 64), np.float32)
    for name in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1"):
        fmt, metadata = ENGINES[name], 4 if name.endswith("1") else 2
        blocks = getattr(ggml, name)(x).reshape(5, 2, -1)
        halves = np.ascontiguousarray(blocks[..., :metadata]).view(np.float16)
        rest = blocks[..., metadata:]
        if name == "q8_0":
            codes = rest.view(np.int8)
        else:
            codes = np.concatenate([rest[..., -16:] & 15, rest[..., -16:] >> 4], axis=-1)
            if "5" in name:
                codes = codes | np.unpackbits(rest[..., :4], axis=-1, bitorder="little") << 4
            if name.endswith("_0"):
                codes = codes.astype(np.int8) - np.int8(8 if "4" in name else 16)
        zeros = halves[..., 1].copy() if metadata == 4 else None
        z = given(fmt, codes.reshape(5, 64), halves[..., 0].copy(), zeros)
        assert np.array_equal(z.packed.reshape(5, 2, -1), blocks), name


def draw_layout(rng: np.random.Generator) -> tuple[str, dict]:
    """The text of a format with some layout, and windows of a cache for it."""
    bits = int(rng.choice([2, 3, 4, 5, 6, 8]))
    signed = bool(rng.integers(2))
    zero = "" if signed else str(rng.choice([", zero = min f16", ", zero = point f32", ", zero = point ui8"]))
    tokens = int(rng.choice([1, 1, 8, 16]))
    channels = int(rng.choice([16, 32, 64]))
    scale = str(rng.choice(["f16", "bf16", "f32"]))
    order = str(rng.choice(["planar", "planar<16>", "stream", "stream<16, 4>", "reversed"]))
    if order == "reversed" and bits in (3, 5, 6):
        order = "stream"
    parts = [f"codes = {order}"]
    cut = order.startswith("planar") and bits in (3, 5, 6)
    if cut and rng.integers(2):
        parts.append(f"high = {rng.choice(['stream', 'planar<8>', 'reversed'])}")
    if signed and rng.integers(2):
        parts.append("bias")
    scope = str(rng.choice(["record", "row"]))
    stride = str(rng.choice(["", "<2>"])) if scope == "row" and channels < 64 else ""
    fields = [f"scale{stride}"] + [f"zero{stride}"] * bool(zero)
    if scale == "f32" and zero.endswith("ui8") and rng.integers(2):
        fields = ["scale_zero"]
    has_codes = bool(rng.integers(4))
    fields += (["codes"] + ["high"] * cut) * has_codes + ["skip<3>"] * (not rng.integers(4))
    has_record = len(fields) > 1 and bool(rng.integers(4))
    tile = int(rng.choice([1, 2, 8])) if tokens > 1 else 1
    if has_record:
        parts.append(f"{scope} = [{', '.join(rng.permutation(fields))}]")
        tile = tokens if has_codes else tile
    if tile > 1:
        parts.append(f"block = [{tile}, {rng.choice(['*', '1', '4'])}]")
    fields = f"codes = {'' if signed else 'u'}i{bits}, group = [{tokens}, {channels}], scale = {scale}{zero}"
    windows = {"exact_first": int(rng.integers(3)), "recent": int(rng.integers(4))}
    return text(fields, ", ".join(parts)), windows


def test_random_layouts_pack_as_the_reference(rng):
    for _ in range(6):
        fmt = draw_layout(rng)[0]
        check_bytes(fmt, int(rng.choice([64, 6 * kvq.Format(fmt).group[1]])), rng)


# --- Caches --------------------------------------------------------------------------------------------------------


def check_cache(fmt: str, windows: dict, rng: np.random.Generator) -> None:
    """Appends in pieces into storage full of 0xFF: bytes as the reference packs the codes of the reference's cache,
    the rest untouched, attention as over float64 values, and the same after sequences changed places."""
    ours = kvq.Cache(2, 2, 96, 64, kvq.Format(fmt), fill=0xFF, **windows)
    oracle = reference.Cache(reference.Format.parse(fmt), 2, 2, 64, 96, **windows)
    x = rng.standard_normal((2, 2, 70, 64), np.float32)
    for begin, end in ((0, 1), (1, 30), (30, 70)):
        counts = [end - begin, int(rng.integers(end - begin + 1))]
        for cache in (ours, oracle):
            cache.append(x[:, :, begin:end], counts)
    check_storage(ours, oracle)
    q = rng.standard_normal((2, 4, 1, 64), np.float32)
    keys = [oracle.values64(b) for b in range(2)]
    found = kvq.attention(q, ours, ours)
    for b, values in enumerate(keys):
        scores = np.einsum("hgd,htd->hgt", q[b, :, 0].reshape(2, 2, 64), values) / 8
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = np.einsum("hgt,htd->hgd", weights / weights.sum(-1, keepdims=True), values).reshape(4, 64)
        error = np.linalg.norm(found[b, :, 0] - expected) / np.linalg.norm(expected)
        assert not error > 1e-5 or "scale_zero" in fmt, (fmt, error)
    for cache in (ours, oracle):
        cache.reorder([1, 0])
    rows = ours.dequantize()
    for b in range(2):
        found = rows[b, :, : ours.lengths[b]]
        assert "scale_zero" in fmt or np.allclose(found, oracle.values64(b), rtol=1e-5, atol=1e-6)


def check_storage(ours: kvq.Cache, oracle: reference.Cache) -> None:
    storage, n = ours.storage(), ours.format.tokens
    for b in range(ours.batch):
        flushed = int(ours.flushed[b])
        parts = oracle.codes(b), oracle.scales(b), oracle.zeros(b)
        expected = reference.pack_rows(*parts, ours.format.bits, oracle.fmt.layout, skipped=0xFF)
        for name, part in expected.items():
            rows = flushed // (oracle.fmt.layout.block[0] if name == "codes" else n)
            stored = storage[name][b].view(np.uint8)
            assert np.array_equal(stored[:, :rows], part), (str(ours.format), name)
            assert np.all(stored[:, rows:] == 0xFF), "rows of no token are written"


@pytest.mark.parametrize("engine", ["q5_0", "turbomind"])
def test_caches_of_engines(engine, rng):
    check_cache(ENGINES[engine], {"exact_first": 1, "recent": 2}, rng)


def test_cache_with_a_random_layout(rng):
    check_cache(*draw_layout(rng), rng)


@pytest.mark.parametrize("storage", [dict(page=8, pages=40), dict(ring=24, keep_first=3)])
def test_records_in_pages_and_rings(storage, rng):
    """What is read back is what planar components give that lie in the same way."""
    planar = "codes = i5, group = [1, 32], scale = f16"
    x, q = rng.standard_normal((2, 2, 60, 64), np.float32), rng.standard_normal((2, 4, 1, 64), np.float32)
    caches = [kvq.Cache(2, 2, 96, 64, kvq.Format(fmt), fill=0xFF, **storage) for fmt in (Q5_0, planar)]
    for cache in caches:
        cache.append(x[:, :, :20])
        cache.append(x[:, :, 20:], [40, 17])
    assert set(caches[0].storage()) == {"records"}
    found, expected = (kvq.attention(q, cache, cache) for cache in caches)
    assert np.array_equal(found, expected) and not np.isnan(found).any()


@pytest.mark.parametrize("storage", [dict(page=32), dict(ring=48, keep_first=7), {}])
def test_tiles_of_tokens(storage, rng):
    """Words of tokens, and records of token groups, give what planar rows give, wherever tiles of attention begin."""
    fields = "codes = ui2, group = [16, 1], scale = f16, zero = min f16"
    layouts = ["codes = stream, block = [16, 1]", "codes = stream, block = [8, 4]", "block = [16, *], row = [scale, zero, codes]"]
    x, q = rng.standard_normal((2, 2, 90, 64), np.float32), rng.standard_normal((2, 2, 2, 64), np.float32)
    results = []
    for fmt in (fields, text(fields, str(rng.choice(layouts)))):
        cache = kvq.Cache(2, 2, 96, 64, kvq.Format(fmt), exact_first=3, recent=5, fill=0xFF, **storage)
        for begin, end in ((0, 40), (40, 90)):
            cache.append(x[:, :, begin:end], [end - begin, (end - begin) // 2])
        if not storage:
            cache.shift([3, 19], [32, 0])
        values = kvq.Cache(2, 2, 96, 64, kvq.Format("codes = i8, group = [1, 32], scale = f16"), exact_first=7, **storage)
        values.append(x[:, :, : cache.lengths.max()], cache.lengths.tolist())
        results.append((cache.dequantize(), kvq.attention(q, cache, values, splits=3)))
    (rows, out), (tiled_rows, tiled_out) = results
    assert np.array_equal(rows, tiled_rows) and np.array_equal(out, tiled_out) and not np.isnan(out).any()


def test_reports_split_records(rng):
    """Bytes of records are reported as the codes, scales and zeros in them, and sum up to what is allocated."""
    for fmt, codes, scales, zeros in ((Q4_0, 64, 8, 0), (Q5_1, 80, 8, 8), (ENGINES["vllm_int4"], 64, 4, 0)):
        cache = kvq.Cache(1, 1, 10, 128, kvq.Format(fmt))
        found = kvq._kvq.Footprint(cache.type).allocated(10)
        expected = {"codes": 10 * codes, "scales": 10 * scales, "zeros": 10 * zeros}
        assert {name: size for name, size in found.items() if name in expected} == {
            name: size for name, size in expected.items() if size
        }
        assert found["total"] == cache.nbytes == cache.storage()["records"].nbytes


def test_layout_of_a_format():
    fmt = kvq.Format(text("codes = i4, group = [1, 32], scale = f16", "record = [scale, codes], bias"))
    assert fmt.layout == "#kvq.layout<codes = planar, bias, record = [scale, codes]>"
    assert kvq.Format(str(fmt)) == fmt
    assert kvq.Format("codes = i4, group = [1, 32], scale = f16").layout is None
