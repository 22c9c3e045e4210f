"""What the tests of the reference share."""

import numpy as np
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Format

INT8 = "codes = i8, group = [1, *], scale = f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
F32_LARGEST = (2**24 - 1) * 2.0**104
UNIT = 2.0**-24  # the smallest positive f16


def fmt(text: str) -> Format:
    return Format.parse(text)


def one_group(values, text: str, dtype: str = "f32"):
    """Quantize one row as one token of one head: (codes, scale, zero), of the first group."""
    x = np.asarray(values, np.float32).reshape(1, 1, 1, -1)
    codes, scales, zeros = reference.quantize(x, fmt(text), dtype)
    return codes[0, 0, 0].tolist(), float(scales.flat[0]), None if zeros is None else float(zeros.flat[0])


def round_trip(x, text: str, dtype: str = "f32") -> np.ndarray:
    f = fmt(text)
    return reference.dequantize(*reference.quantize(np.asarray(x, np.float32), f, dtype), f)


def tokens(*shape: int) -> np.ndarray:
    return fresh_rng().standard_normal(shape).astype(np.float32)
