"""OCP Microscaling formats (MX v1.0): blocks of 32 with one E8M0 scale.

E = floor(log2 amax) - emax + 127, emax the exponent of the element type's largest value, within 0 ... 254; elements are
x / 2^(E-127) to nearest even, saturating. The specification prescribes no layout for the elements; 4-bit ones are
packed here with the even element in the low nibble. A block of zeros has E = 0, one with a NaN E = 255 and codes 0.
"""

from __future__ import annotations

import numpy as np

from ..floats import FloatType
from . import words

BLOCK = 32
EMAX = {"f8E4M3FN": 8, "f8E5M2": 15, "f6E2M3FN": 2, "f6E3M2FN": 4, "f4E2M1FN": 2}


def quantize(x: np.ndarray, element: str, block: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """(E, codes): uint8 [..., n/block] and uint8 [..., n], one element's bit pattern each."""
    x = words.rows(x, block)
    amax = np.max(np.abs(x), axis=-1)
    _, exponent = np.frexp(amax)  # amax = m 2^exponent with 1/2 <= m < 1
    scale = np.where(amax > 0, np.clip(exponent - 1 - EMAX[element] + 127, 0, 254), 0)
    nan = np.isnan(amax)
    scaled = np.ldexp(x.astype(np.float64), (127 - scale)[..., np.newaxis])
    codes = FloatType.named(element).nearest(np.where(nan[..., np.newaxis], 0, scaled))
    return np.where(nan, 255, scale).astype(np.uint8), codes.reshape(*codes.shape[:-2], -1)


def fp4(x: np.ndarray, block: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """MXFP4: (E, bytes [..., n/2])."""
    scale, codes = quantize(x, "f4E2M1FN", block)
    return scale, words.even_low(codes)
