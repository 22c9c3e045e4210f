"""ggml's blocks of 32 (llama.cpp's --cache-type-k / -v), as the reference functions of ggml-quants.c write them.

All arithmetic is f32; codes use the unrounded 1/d; d and m are stored as f16. The SIMD functions of some processors
differ in ties. Source: ggml-org/ggml, src/ggml-common.h and src/ggml-quants.c (quantize_row_*_ref).
"""

from __future__ import annotations

import numpy as np

from . import words

BLOCK = 32
IQ4_NL = np.float32([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
FP4 = np.float32([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _joined(*fields: np.ndarray) -> np.ndarray:
    blocks = np.concatenate(fields, axis=-1)
    return blocks.reshape(*blocks.shape[:-2], -1)


def _f16(x: np.ndarray) -> np.ndarray:
    return words.little_endian(x, "<f2")


def q8_0(x: np.ndarray) -> np.ndarray:
    """34 bytes: d, 32 signed codes. d = amax/127, code = x/d, ties away from zero."""
    x = words.rows(x, BLOCK)
    d = np.max(np.abs(x), axis=-1, keepdims=True) / np.float32(127)
    codes = words.half_away(x * words.reciprocal(d))
    return _joined(_f16(d), words.little_endian(codes, "i1"))


def _symmetric(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """d = (the first element of largest magnitude) / -2^(bits-1); codes are offset by 2^(bits-1)."""
    offset = np.float32(2 ** (bits - 1))
    d = words.first_largest(x) / -offset
    codes = np.trunc(x * words.reciprocal(d) + (offset + words.HALF))
    return d, np.minimum(codes, 2 * offset - 1).astype(np.uint8)


def _affine(x: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    low = words.minimum(x)
    d = (words.maximum(x) - low) / np.float32(2**bits - 1)
    codes = np.trunc((x - low) * words.reciprocal(d) + words.HALF)
    return d, low, np.minimum(codes, 2**bits - 1).astype(np.uint8)


def _fifth_bits(codes: np.ndarray) -> np.ndarray:
    return np.packbits(codes >> 4, axis=-1, bitorder="little")


def q4_0(x: np.ndarray) -> np.ndarray:
    """18 bytes: d, nibbles of elements j and j + 16. Code = min(15, trunc(x/d + 8.5)), value (code - 8) d."""
    d, codes = _symmetric(words.rows(x, BLOCK), 4)
    return _joined(_f16(d), words.halves(codes))


def q4_1(x: np.ndarray) -> np.ndarray:
    """20 bytes: d, m, nibbles. d = (max - min)/15, m = min, code = min(15, trunc((x - m)/d + 0.5)), so d code + m"""
    d, low, codes = _affine(words.rows(x, BLOCK), 4)
    return _joined(_f16(d), _f16(low), words.halves(codes))


def q5_0(x: np.ndarray) -> np.ndarray:
    """22 bytes: d, fifth bits (element j in bit j), nibbles. As q4_0 with 31 and 16.5, value (code - 16) d."""
    d, codes = _symmetric(words.rows(x, BLOCK), 5)
    return _joined(_f16(d), _fifth_bits(codes), words.halves(codes))


def q5_1(x: np.ndarray) -> np.ndarray:
    """24 bytes: d, m, fifth bits, nibbles. As q4_1 with 31."""
    d, low, codes = _affine(words.rows(x, BLOCK), 5)
    return _joined(_f16(d), _f16(low), _fifth_bits(codes), words.halves(codes))


def iq4_nl(x: np.ndarray) -> np.ndarray:
    """18 bytes: d, nibbles. Codes: nearest of IQ4_NL to x/d0, ties to the higher index, d0 = (first largest)/-127.

    The stored d is the weighted fit sum(w v x) / sum(w v v), w = x x, summed in order. A block whose largest magnitude
    is below 1e-15 stores d = 0; its codes, which the engine leaves unset, are 0 here.
    """
    x = words.rows(x, BLOCK)
    largest = words.first_largest(x)
    usable = np.abs(largest) >= np.float32(1e-15)
    d0 = np.where(usable, largest, words.ONE) / IQ4_NL[0]
    scaled = (words.ONE / d0) * x
    above = np.clip(np.searchsorted(IQ4_NL, scaled, side="right"), 1, 15)
    nearer = scaled - IQ4_NL[above - 1] < IQ4_NL[above] - scaled
    codes = np.where(scaled <= IQ4_NL[0], 0, np.where(scaled >= IQ4_NL[15], 15, above - nearer))
    values, weights = IQ4_NL[codes], x * x
    products = np.zeros_like(d0), np.zeros_like(d0)
    for j in range(BLOCK):
        v, w, e = values[..., j : j + 1], weights[..., j : j + 1], x[..., j : j + 1]
        products = products[0] + w * v * e, products[1] + w * v * v
    d = np.where(usable, products[0] / np.where(usable, products[1], words.ONE), np.float32(0))
    return _joined(_f16(d), words.halves(np.where(usable, codes, 0)))


def mxfp4(x: np.ndarray) -> np.ndarray:
    """17 bytes: e, nibbles. e = floor(log2 amax) - 2 + 127 (log2 in f32), codes nearest, ties to the lower code.

    So ties go to the smaller magnitude and -0 is never written. A block of zeros has e = 0.
    """
    x = words.rows(x, BLOCK)
    amax = np.max(np.abs(x), axis=-1, keepdims=True)
    exponent = np.floor(np.log2(np.where(amax > 0, amax, words.ONE)).astype(np.float32)) - 2
    exponent = np.where(amax > 0, np.maximum(exponent, -127), -127)
    values = FP4 * np.ldexp(words.ONE, exponent.astype(np.int32))[..., np.newaxis]
    codes = np.argmin(np.abs(values - x[..., np.newaxis]), axis=-1)  # the first of equal ones
    return _joined((exponent + 127).astype(np.uint8), words.halves(codes))
