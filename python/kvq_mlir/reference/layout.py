"""Layouts: how the codes and metadata of rows lie in bytes (rules R13, R14 and R29 to R31, R40)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import gcd

import numpy as np

from .packing import PARTS

FIELDS = ("codes", "high", "scale", "zero", "scale_zero")
SKIP, STRIDDEN = r"skip<\s*(\d+)\s*>", r"(scale|zero)<\s*(\d+)\s*>"


@dataclass(frozen=True)
class Order:
    """An order of codes in bytes, in each `elements` of them (None: all of a planar field, whole bytes of a stream)."""

    kind: str = "planar"
    elements: int | None = None
    stride: int = 1

    @staticmethod
    def parse(text: str) -> Order:
        """`planar`, `planar<n>`, `stream`, `stream<n, s>` or `reversed`; ValueError for anything else."""
        sized = r"planar<\s*(?P<n>\d+)\s*>|stream<\s*(?P<m>\d+)\s*,\s*(?P<s>\d+)\s*>"
        match = re.fullmatch(rf"planar|stream|reversed|{sized}", text)
        if not match:
            raise ValueError(f"unknown order '{text}', expected planar, planar<n>, stream, stream<n, s> or reversed")
        elements = match["n"] or match["m"]
        return Order(text.partition("<")[0], int(elements) if elements else None, int(match["s"] or 1))

    def __str__(self) -> str:
        if self.elements is None:
            return self.kind
        return f"{self.kind}<{self.elements}{f', {self.stride}' if self.kind == 'stream' else ''}>"

    def places(self, count: int, bits: int) -> np.ndarray:
        """The position in the stream of codes of each of `count` elements: position p has the bits from p * bits on.

        ValueError if rounds of the order do not tile them, or do not fill whole bytes.
        """
        per_byte = 8 // gcd(8, bits)
        size = self.elements or (count if self.kind == "planar" else per_byte)
        if count % size or size % per_byte:
            raise ValueError(f"{count} codes of {bits} bits do not fill rounds of {size} codes in whole bytes")
        i = np.arange(size)
        if self.kind == "reversed":
            order = i[::-1].reshape(-1, per_byte)[::-1].ravel()
        elif self.kind == "planar":
            order = i.reshape(8 // bits, -1).T.ravel()  # byte after byte, one element of each plane
        else:
            order = np.concatenate([i[first :: self.stride] for first in range(self.stride)])
        places = np.empty(size, np.int64)
        places[order] = i
        return (np.arange(0, count, size)[:, np.newaxis] + places).ravel()


@dataclass(frozen=True)
class Layout:
    """The fields of `#kvq.layout`. high: None where it is as codes. block: tokens of a row of codes, and how many channels
    of each follow each other, None for all. scope: "record" or "row" with fields, else None. tile: "channel_pairs",
    "token_pairs" or "fragments" and how many tokens, else None."""

    codes: Order = Order()
    high: Order | None = None
    bias: bool = False
    block: tuple[int, int | None] = (1, None)
    scope: str | None = None
    fields: tuple[str, ...] = ()
    tile: tuple[str, int] | None = None

    @staticmethod
    def parse(text: str) -> Layout:
        """Read "#kvq.layout<...>"; ValueError for what is none."""
        match = re.fullmatch(r"#kvq\.layout<(.*)>", text)
        if not match:
            raise ValueError(f"expected #kvq.layout<...>, got '{text}'")
        found = {}
        for part in re.findall(r"(?:[^,\[<]|\[[^\]]*\]|<[^>]*>)+", match[1]):
            name, _, value = (piece.strip() for piece in part.partition("="))
            if name == "bias":
                found["bias"] = True
            elif name in ("codes", "high"):
                found[name] = Order.parse(value)
            elif name == "block":
                tokens, channels = (size.strip() for size in value.strip("[]").split(","))
                found["block"] = int(tokens), None if channels == "*" else int(channels)
            elif name == "tile":
                order = re.fullmatch(r"(channel_pairs|token_pairs|fragments)<\s*(\d+)\s*>", value)
                if not order:
                    raise ValueError(f"unknown tile '{value}', expected channel_pairs<T>, token_pairs<T> or fragments<T>")
                found["tile"] = order[1], int(order[2])
            elif name in ("record", "row"):
                found["scope"] = name
                found["fields"] = tuple(field.strip() for field in value.strip("[]").split(","))
                known = f"{'|'.join(FIELDS)}|{SKIP}|{STRIDDEN}"
                if unknown := [field for field in found["fields"] if not re.fullmatch(known, field)]:
                    raise ValueError(f"unknown fields {unknown}, expected {', '.join(FIELDS)}, skip<bytes>")
            else:
                raise ValueError(f"unknown field '{name}' of a layout")
        return Layout(**found)

    def __str__(self) -> str:
        parts = [f"codes = {self.codes}"]
        if self.high not in (None, self.codes):
            parts.append(f"high = {self.high}")
        if self.bias:
            parts.append("bias")
        if self.block != (1, None):
            parts.append(f"block = [{self.block[0]}, {self.block[1] or '*'}]")
        if self.tile:
            parts.append("tile = {}<{}>".format(*self.tile))
        if self.scope:
            parts.append(f"{self.scope} = [{', '.join(self.fields)}]")
        return f"#kvq.layout<{', '.join(parts)}>"

    def parts(self, bits: int) -> list[tuple[str, int, int, Order]]:
        """(field, first bit, bits, order) of what a code is cut into, lowest first."""
        if self.codes.kind != "planar" or len(PARTS[bits]) == 1:
            return [("codes", 0, bits, self.codes)]
        low, high = PARTS[bits]
        return [("codes", 0, low, self.codes), ("high", low, high, self.high or self.codes)]


def pack_rows(
    codes: np.ndarray, scales: np.ndarray, zeros: np.ndarray | None, bits: int, layout: Layout, skipped: int = 0
) -> dict[str, np.ndarray]:
    """The packed components of rows, uint8 [..., rows, bytes] by name: "codes", "records" or both.

    codes: int8 or uint8 [..., tokens, dim]. scales, zeros: stored ones, arrays of bit patterns for types that NumPy
    lacks, [..., groups of tokens, groups]. skipped: the bytes that a record skips.
    """
    fields = codes.view(np.uint8) & np.uint8(2**bits - 1)
    if layout.bias:
        fields = (fields + np.uint8(2 ** (bits - 1))) & np.uint8(2**bits - 1)
    groups = scales.shape[-1]
    records = groups if layout.scope == "record" else 1
    elements = _elements(fields, layout.block, records if "codes" in layout.fields else 1)
    found = {
        name: _stream((elements >> np.uint8(first)) & np.uint8(2**width - 1), width, order)
        for name, first, width, order in layout.parts(bits)
    }
    packed = {}
    if "codes" not in layout.fields:
        packed["codes"] = np.concatenate([part[..., 0, :] for part in found.values()], axis=-1)
    if layout.scope:
        found |= {"scale": _bytes(scales, records)}
        if zeros is not None:
            found["zero"] = _bytes(zeros, records)
        for name in layout.fields:
            if match := re.fullmatch(STRIDDEN, name):
                stride = int(match[2])
                metadata = scales if match[1] == "scale" else zeros
                ordered = [metadata[..., first::stride] for first in range(stride)]
                found[name] = _bytes(np.concatenate(ordered, axis=-1), records)
        if "scale_zero" in layout.fields:
            mask = np.uint32(2**bits - 1)
            merged = (scales.view(np.uint32) & ~mask) | (zeros.astype(np.uint32) & mask)
            found["scale_zero"] = _bytes(merged, records)
        for name in layout.fields:
            if match := re.fullmatch(SKIP, name):
                found[name] = np.full((*found["scale"].shape[:-1], int(match[1])), skipped, np.uint8)
        joined = np.concatenate([found[name] for name in layout.fields], axis=-1)
        packed["records"] = joined.reshape(*joined.shape[:-2], joined.shape[-2] * joined.shape[-1])
    return packed


def _elements(fields: np.ndarray, block: tuple[int, int | None], shares: int) -> np.ndarray:
    """Rows [..., tokens, dim], those of a block's tokens together, each cut into equal shares of its channels:
    [..., rows, shares, elements]."""
    *outer, tokens, dim = fields.shape
    share = dim // shares
    channels = block[1] or share
    split = fields.reshape(*outer, tokens // block[0], block[0], shares, share // channels, channels)
    # Tokens come behind the runs of channels.
    ordered = np.moveaxis(split, -4, -2)
    return ordered.reshape(*outer, tokens // block[0], shares, block[0] * share)


def _stream(fields: np.ndarray, bits: int, order: Order) -> np.ndarray:
    """Elements [..., n] in an order as bytes [..., bytes]."""
    placed = np.empty_like(fields)
    placed[..., order.places(fields.shape[-1], bits)] = fields
    planes = (placed[..., np.newaxis] >> np.arange(bits, dtype=np.uint8)) & np.uint8(1)
    return np.packbits(planes.reshape(*placed.shape[:-1], placed.shape[-1] * bits), axis=-1, bitorder="little")


def _bytes(metadata: np.ndarray, records: int) -> np.ndarray:
    """[..., groups] little endian as bytes [..., records, bytes]."""
    metadata = np.ascontiguousarray(metadata)
    size = metadata.shape[-1] * metadata.itemsize // records
    return metadata.view(np.uint8).reshape(*metadata.shape[:-1], records, size)


def tile_codes(rows: np.ndarray, tile: tuple[str, int]) -> np.ndarray:
    """Rows of bytes [..., tokens, bytes] in tiles of T: [..., tiles, bytes / 2, T, 2], [..., tiles, T / 2, bytes, 2], or
    [..., tiles, T / 16, bytes / (16 n), 8, 4, n, 4, 2], n = 2 where rows are a multiple of 32 bytes, else 1.

    What has no token is 0.
    """
    order, size = tile
    rows = _padded(rows, size)
    tiles = rows.reshape(*rows.shape[:-2], rows.shape[-2] // size, size, rows.shape[-1])
    if order == "fragments":
        return _fragments(tiles)
    if order == "channel_pairs":
        pairs = tiles.reshape(*tiles.shape[:-1], tiles.shape[-1] // 2, 2)
        return np.swapaxes(pairs, -3, -2)
    pairs = tiles.reshape(*tiles.shape[:-2], size // 2, 2, tiles.shape[-1])
    return np.swapaxes(pairs, -2, -1)


def _fragments(tiles: np.ndarray) -> np.ndarray:
    """Rule R39, from [..., T, bytes]: token 2 F (2 t + e) + 2 f + h, byte 16 n x + 16 i + 8 r + g."""
    *outer, tokens, size = tiles.shape
    n = 2 if size % 32 == 0 else 1
    split = tiles.reshape(*outer, 4, 2, tokens // 16, 2, size // (16 * n), n, 2, 8)
    t, e, f, h, x, i, r, g = range(len(outer), len(outer) + 8)
    ordered = split.transpose(*range(len(outer)), f, x, g, t, i, h, e, r)
    return ordered.reshape(*outer, tokens // 16, size // (16 * n), 8, 4, n, 4, 2)


def tile_metadata(rows: np.ndarray, size: int) -> np.ndarray:
    """Metadata [..., tokens, groups] in tiles of `size` tokens, [..., tiles, groups, size]."""
    rows = _padded(rows, size)
    return np.swapaxes(rows.reshape(*rows.shape[:-2], rows.shape[-2] // size, size, rows.shape[-1]), -2, -1)


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    missing = -rows.shape[-2] % size
    return np.pad(rows, [(0, 0)] * (rows.ndim - 2) + [(0, missing), (0, 0)])
