"""Faults that other systems had in storage: packed codes at odd places, signs, sizes, rows that groups do not divide.

Each test names the public report.
"""

import re

import numpy as np
import pytest
from known_faults import BITS, FLOATS, filled, formats, on_grid, patterns, pick, worst

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.ir import append as append_ir
from kvq_mlir.ir import attention as attention_ir
from kvq_mlir.ir import values as values_ir

WIDTHS = (1, 4, 8, 16)  # elements of a vector register
NARROW = re.compile(r"(?:x|: |<|, )[su]?i[2-7]\b")  # integers of less than a byte


def format_of(bits: int, signed: bool) -> str:
    return f"codes = {'i' if signed else 'ui'}{bits}, group = [1, *], scale = f32{'' if signed else ', zero = min f32'}"


def unpacked(stored: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    """The codes of packed rows, by the arithmetic of their definition."""
    planes = [stored.astype(np.int64) // 2 ** (bits * plane) % 2**bits for plane in range(8 // bits)]
    codes = np.concatenate(planes, axis=-1)
    return codes - 2**bits * (codes >= 2 ** (bits - 1)) if signed else codes


def columns(name: str, bits: int, signed: bool, size: int, vector_width: int) -> _kvq.Kernel:
    """@write(codes, bytes, at): packs rows into the columns of `bytes` from `at` on. @read(bytes, codes, at): the
    opposite, into the last columns of `codes`. `size`: the bytes of a row."""
    fmt, dim = f"#kvq.format<{format_of(bits, signed)}>", size * 8 // bits
    codes, row = f"tensor<?x{dim}xi8>", f"tensor<?x{size}xi8>"
    wide_codes, wide = f"tensor<?x{dim + 3}xi8>", f"tensor<?x{size + 5}xi8>"
    read_only = "{bufferization.writable = false}"
    functions = {
        "write": f"""
        func.func @write(%codes: {codes} {read_only}, %bytes: {wide}, %at: index) -> {wide}
            attributes {{kvq.unfused}} {{
          %c0 = arith.constant 0 : index
          %n = tensor.dim %codes, %c0 : {codes}
          %place = tensor.extract_slice %bytes[0, %at] [%n, {size}] [1, 1] : {wide} to {row}
          %packed = kvq.pack {fmt} ins(%codes : {codes}) outs(%place : {row}) -> {row}
          %all = tensor.insert_slice %packed into %bytes[0, %at] [%n, {size}] [1, 1] : {row} into {wide}
          return %all : {wide}
        }}""",
        "read": f"""
        func.func @read(%bytes: {wide} {read_only}, %codes: {wide_codes}, %at: index) -> {wide_codes}
            attributes {{kvq.unfused}} {{
          %c0 = arith.constant 0 : index
          %n = tensor.dim %bytes, %c0 : {wide}
          %packed = tensor.extract_slice %bytes[0, %at] [%n, {size}] [1, 1] : {wide} to {row}
          %place = tensor.extract_slice %codes[0, 3] [%n, {dim}] [1, 1] : {wide_codes} to {codes}
          %unpacked = kvq.unpack {fmt} ins(%packed : {row}) outs(%place : {codes}) -> {codes}
          %all = tensor.insert_slice %unpacked into %codes[0, 3] [%n, {dim}] [1, 1] : {codes} into {wide_codes}
          return %all : {wide_codes}
        }}""",
    }
    return _kvq.compile(functions[name], vector_width=vector_width)


# --- 51: packed elements at odd offsets ------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 9, 17])
def test_packing_into_odd_columns(bits, size, rng):
    """llvm#131528: storing four 2-bit elements at an odd offset overwrites those before. Neighbours stay."""
    for vector_width in WIDTHS:
        signed = bool(rng.integers(2))
        kernel = columns("write", bits, signed, size, vector_width)
        stored = rng.integers(0, 256, (5, size)).astype(np.uint8)
        codes = unpacked(stored, bits, signed).astype(np.int8 if signed else np.uint8).view(np.int8)
        for at in range(6):
            before = rng.integers(0, 256, (5, size + 5)).astype(np.uint8)
            after = before.copy()
            kernel.invoke("write", (codes, after.view(np.int8), at))
            before[:, at : at + size] = stored
            assert np.array_equal(after, before), (vector_width, at)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits, dims", [(2, (4, 12, 20)), (4, (2, 6, 10)), (8, (1, 3, 5))])
def test_appending_rows_of_odd_size(bits, dims, signed, rng):
    """llvm#131528, in caches: a token whose row has an odd number of bytes leaves all others as they are."""
    for dim in dims:
        for text in (format_of(bits, signed), format_of(bits, signed).replace("[1, *]", "[3, 1]")):
            x = on_grid(rng, text, (2, 3, 9, dim))
            cache = kvq.Cache(2, 3, 11, dim, kvq.Format(text), "f32", fill=int(rng.integers(256)))
            for t in range(9):
                before = {name: array.copy() for name, array in cache.storage().items()}
                flushed = int(cache.flushed[0])
                cache.append(np.ascontiguousarray(x[:, :, t : t + 1]))
                n = cache.format.tokens
                rows = {"codes": slice(flushed, int(cache.flushed[0]))}
                rows["scales"] = rows["zeros"] = slice(flushed // n, int(cache.flushed[0]) // n)
                rows["recent"] = slice(t % (n - 1), t % (n - 1) + 1) if n > 1 else slice(0)
                for name, array in cache.storage().items():
                    changed = (array.view(np.uint8) != before[name].view(np.uint8)).any(axis=(0, 1, 3))
                    changed[rows[name]] = False
                    assert not changed.any(), (text, dim, t, name)
            assert worst(cache.dequantize(), x) == 0, (text, dim)
            keys = filled(np.broadcast_to(patterns(9, 16), (2, 3, 9, 16)), "codes = none")
            assert worst(pick(keys, cache, 9), x) == 0, (text, dim)


# --- 52: signs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 16, 19, 32])
def test_unpacking_every_byte(bits, signed, size, rng):
    """llvm#199243: the sign is lost where narrow vectors are widened; llvm#131528: elements read at an odd offset are
    shifted. Every byte in every place of vectors of every width, between neighbours that stay."""
    for vector_width in WIDTHS:
        kernel = columns("read", bits, signed, size, vector_width)
        for at in (0, 1, int(rng.integers(2, 6))):
            stored = (np.arange(256)[:, None] + np.arange(size + 5)).astype(np.uint8)
            codes = np.full((256, size * 8 // bits + 3), 0x55, np.int8)
            kernel.invoke("read", (stored.view(np.int8), codes, at))
            expected = unpacked(stored[:, at : at + size], bits, signed)
            found = codes[:, 3:] if signed else codes[:, 3:].view(np.uint8)
            assert np.array_equal(found, expected), (vector_width, at)
            assert np.all(codes[:, :3] == 0x55), (vector_width, at)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("dim", [8, 12, 20, 64])
def test_dequantizing_every_code(bits, signed, dim):
    """llvm#199243: codes of every value, also the smallest, which quantization never makes, become floats."""
    text = format_of(bits, signed)
    lowest = -(2 ** (bits - 1)) if signed else 0
    codes = lowest + (np.arange(256)[:, None] + np.arange(dim)) % 2**bits
    fmt = kvq.Format(text)
    scales = np.float32([0.5, 3]).repeat(128).reshape(1, 1, 256, 1)
    zeros = [] if signed else [np.float32([-7, 100]).repeat(128).reshape(1, 1, 256, 1)]
    expected = codes * scales + (zeros[0] if zeros else 0)
    for vector_width in WIDTHS:
        kernel = _kvq.compile(
            values_ir.dequantize(text, 0, fmt.row_types(fmt.rows_type(1, dim)), None, dim), vector_width=vector_width
        )
        found = np.full((1, 1, 256, dim), np.nan, np.float32)
        kernel.invoke("dequantize", (codes.astype(np.uint8).view(np.int8)[None, None], scales, *zeros, found))
        assert worst(found, expected) == 0, vector_width


# --- 53: what storage takes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", formats())
def test_storage_is_as_small_as_its_codes(text, rng):
    """llvm#70999, iree#14481: 4-bit elements take a byte each. Allocated bytes are those of the codes."""
    fmt = kvq.Format(text)
    size = {"f16": 2, "f32": 4}
    for dim, capacity in ((64, 64), (96, 65), (128, 1000), (32, 7)):
        n, g = fmt.tokens, fmt.channels(dim)
        cache = kvq.Cache(2, 3, capacity, dim, fmt)
        rows = capacity // n * n
        codes = 2 * 3 * rows * dim * fmt.bits // 8
        metadata = 2 * 3 * rows // n * dim // g * (size[fmt.scale] + (size[fmt.zero] if fmt.zero else 0))
        window = 2 * 3 * (n - 1) * dim * 2
        assert cache.storage()["codes"].nbytes == codes
        assert cache.nbytes == codes + metadata + window


def attention_and_append(text: str, dim: int) -> str:
    fmt = kvq.Format(text)
    cache = kvq.Cache(1, 2, 0, dim, fmt).dynamic_type
    window = fmt.tokens > 1
    attention = attention_ir.attention((1, 4, dim), "f32", dim, cache, cache, (window, window), attention_ir.Variant(1.0, True))
    return attention + append_ir.append((1, 2, dim), "f16", cache, window)


@pytest.mark.parametrize("text", formats(scales=("f16",), zeros=("f32",)))
def test_no_element_is_narrower_than_a_byte(text):
    """llvm#70999, llvm#131528, llvm#199243: upstream's sub-byte memrefs and vectors fail or compute wrong values. No
    stage behind the caches has any."""
    assert not NARROW.search("memref<4xi8> vector<8xi16> : i32 xi1") and NARROW.search("vector<8xi4>")
    tile = "kvq-fuse-dequantize,kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales"
    stages = [f"func.func({tile}),kvq-expand-caches,func.func(kvq-decompose-values)"]
    stages.append(f"{stages[0]},kvq-bufferize-pipeline")
    stages += [f"{stages[1]},func.func(convert-kvq-to-vector{{vector-width={width}}})" for width in WIDTHS]
    stages.append("kvq-cpu-pipeline")
    source = attention_and_append(text, 64)
    for stage in stages:
        ir = kvq.run_pipeline(source, f"builtin.module({stage})")
        assert "kvq.attention" not in ir
        found = NARROW.search(ir)
        assert not found, f"{stage}: {ir[max(0, found.start() - 80) : found.end() + 20]}"


# --- 20: rows that groups do not divide ------------------------------------------------------------------------------

RAGGED = [(dim, g) for dim in (64, 72, 80, 96, 100, 112, 128) for g in (8, 24, 32, 48, 64, 128) if dim % g]


@pytest.mark.parametrize("dim, group", RAGGED)
def test_groups_that_do_not_divide_the_row(dim, group, rng):
    """llama.cpp#13121, mlx-vlm#2061: head_dim 80 with blocks of 32 stops with an assertion at run time. Here, with both
    numbers, before anything runs."""
    texts = formats(groups=[(1, group)])
    for text in rng.choice(texts, 6, replace=False).tolist():
        fmt = kvq.Format(text)
        message = f"group of {group} channels does not divide head_dim {dim}"
        with pytest.raises(kvq.Error, match=message):
            kvq.Cache(1, 2, 64, dim, fmt)
        with pytest.raises(kvq.Error, match=message):
            kvq.quantize(np.zeros((1, 1, 1, dim), np.float32), fmt)
        with pytest.raises(kvq.Error, match=message):
            kvq.parse(f"func.func private @f(!kvq.cache<1x1x?x{dim}xf16, #kvq.format<{text}>>)")


@pytest.mark.parametrize("bits, dim", [(2, 2), (2, 6), (2, 65), (2, 66), (4, 1), (4, 65), (4, 81)])
@pytest.mark.parametrize("signed", [True, False])
def test_rows_that_fill_no_whole_bytes(bits, dim, signed):
    """llama.cpp#13121, for bytes instead of groups."""
    message = f"{bits}-bit codes fill whole bytes only if {8 // bits} divides head_dim, got {dim}"
    for text in (format_of(bits, signed), format_of(bits, signed).replace("[1, *]", "[4, 1]")):
        with pytest.raises(kvq.Error, match=message):
            kvq.Cache(1, 2, 64, dim, kvq.Format(text))
        with pytest.raises(kvq.Error, match=message):
            kvq.quantize(np.zeros((1, 1, 4, dim), np.float32), kvq.Format(text))


@pytest.mark.parametrize("tokens, group", [(1, 2), (33, 32), (40, 32), (7, 8), (63, 64)])
def test_groups_that_do_not_divide_the_tokens(tokens, group):
    """llama.cpp#13121, along tokens: `quantize` says both numbers; a cache keeps those that fill no group exact."""
    for text in formats(groups=[(group, 1)]):
        x = np.full((1, 1, tokens, 8), 0.3, np.float32)
        with pytest.raises(kvq.Error, match=f"{tokens} tokens do not fill groups of {group} tokens"):
            kvq.quantize(x, kvq.Format(text))
    for dtype in FLOATS:
        cache = filled(x, text, dtype)
        exact = cache.dequantize()[:, :, int(cache.flushed[0]) :]
        assert exact.shape[2] == tokens % group
        assert worst(exact, np.float64(np.float16(0.3) if dtype == "f16" else np.float32(0.3))) == 0
