"""Rows of codes to bytes and back (rules R13 and R14)."""

from __future__ import annotations

import numpy as np

# The parts of a code, lowest bits first: widths that divide a byte.
PARTS = {1: (1,), 2: (2,), 3: (2, 1), 4: (4,), 5: (4, 1), 6: (4, 2), 8: (8,)}


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Pack rows of codes [..., dim] (int8 or uint8) into bytes [..., dim*bits/8].

    Raises ValueError if the planes do not divide dim (with both numbers) or a code does not fit into `bits` bits.
    """
    codes = np.asarray(codes)
    if codes.dtype not in (np.int8, np.uint8):
        raise TypeError(f"expected int8 or uint8 codes, got {codes.dtype}")
    parts = _parts(bits)
    _check_width(codes.shape[-1], parts)
    lowest, highest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if codes.dtype == np.int8 else (0, 2**bits - 1)
    if np.any((codes < lowest) | (codes > highest)):
        raise ValueError(f"codes outside {lowest} ... {highest} do not fit into {bits} bits")
    fields, packed, shift = codes.view(np.uint8), [], 0
    for width in parts:
        part = (fields >> np.uint8(shift)) & np.uint8(2**width - 1)
        packed.append(_pack_planes(part, width))
        shift += width
    return np.concatenate(packed, axis=-1)


def unpack(packed: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    """The inverse of `pack`: bytes [..., dim*bits/8] to codes [..., dim], int8 if signed, else uint8."""
    packed = np.asarray(packed)
    if packed.dtype != np.uint8:
        raise TypeError(f"expected uint8 bytes, got {packed.dtype}")
    parts = _parts(bits)
    if packed.shape[-1] * 8 % bits:
        raise ValueError(f"row of {packed.shape[-1]} bytes does not hold whole codes of {bits} bits")
    dim = packed.shape[-1] * 8 // bits
    _check_width(dim, parts)
    fields, start, shift = np.zeros((*packed.shape[:-1], dim), np.uint8), 0, 0
    for width in parts:
        size = dim * width // 8
        fields |= _unpack_planes(packed[..., start : start + size], width) << np.uint8(shift)
        start += size
        shift += width
    if not signed:
        return fields
    sign = np.int16(2 ** (bits - 1))
    return ((fields.astype(np.int16) ^ sign) - sign).astype(np.int8)


def _pack_planes(fields: np.ndarray, width: int) -> np.ndarray:
    packed = np.zeros((*fields.shape[:-1], fields.shape[-1] * width // 8), np.uint8)
    for plane, part in enumerate(np.split(fields, 8 // width, axis=-1)):
        packed |= part << np.uint8(plane * width)
    return packed


def _unpack_planes(packed: np.ndarray, width: int) -> np.ndarray:
    planes = [(packed >> np.uint8(plane * width)) & np.uint8(2**width - 1) for plane in range(8 // width)]
    return np.concatenate(planes, axis=-1)


def _parts(bits: int) -> tuple[int, ...]:
    if bits not in PARTS:
        raise ValueError(f"cannot pack codes of {bits} bits, expected one of {tuple(PARTS)}")
    return PARTS[bits]


def _check_width(dim: int, parts: tuple[int, ...]) -> None:
    planes = 8 // min(parts)
    if dim % planes:
        raise ValueError(f"row of {dim} codes is not divisible by the {planes} codes of a byte")
