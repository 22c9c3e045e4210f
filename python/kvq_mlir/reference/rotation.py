"""What happens to elements before they are quantized, and its inverse: centring and rotation (rules R26 and R27)."""

from __future__ import annotations

import numpy as np

from .calibration import Calibration
from .floats import FloatType
from .formats import Format

_F32_LARGEST = np.float32(FloatType.named("f32").largest)


def hadamard(x: np.ndarray, size: int) -> np.ndarray:
    """The unnormalized Hadamard transform of each `size` consecutive channels, in the type of x: stride 1, 2, 4."""
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // size, size)
    stride = 1
    while stride < size:
        pairs = blocks.reshape(*blocks.shape[:-1], size // (2 * stride), 2, stride)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        blocks = np.stack([first + second, first - second], axis=-2).reshape(blocks.shape)
        stride *= 2
    return blocks.reshape(x.shape)


def prepare(elements: np.ndarray, fmt: Format, calibration: Calibration) -> np.ndarray:
    """What is quantized in place of float32 elements [..., heads, tokens, dim]."""
    if fmt.center is not None:
        mean = fmt.center.decode(calibration.mean)[:, np.newaxis]
        elements = np.clip(elements - mean, -_F32_LARGEST, _F32_LARGEST)
    if fmt.rotate is None:
        return elements
    if calibration.signs is not None:
        elements = elements * calibration.signs.astype(np.float32)
    size = fmt.rotated(elements.shape[-1])
    bound = _F32_LARGEST / np.float32(size)
    root = np.float32(1 / np.sqrt(np.float64(size)))
    return hadamard(np.clip(elements, -bound, bound), size) * root


@np.errstate(invalid="ignore", over="ignore")
def restore(values: np.ndarray, fmt: Format, calibration: Calibration) -> np.ndarray:
    """`restore64` in float32, every operation rounded in the order of rule R37."""
    if fmt.rotate is not None:
        size = fmt.rotated(values.shape[-1])
        values = hadamard(values, size) * np.float32(1 / np.sqrt(np.float64(size)))
        if calibration.signs is not None:
            values = values * calibration.signs.astype(np.float32)
    if fmt.center is not None:
        mean = fmt.center.decode(calibration.mean)[:, np.newaxis]
        values = np.clip(values + mean, -_F32_LARGEST, _F32_LARGEST)
    return values


def restore64(values: np.ndarray, fmt: Format, calibration: Calibration | None = None) -> np.ndarray:
    """The tokens that float64 values [..., heads, tokens, dim] of codes stand for: rotated back, the mean added."""
    calibration = Calibration() if calibration is None else calibration
    calibration.check(fmt, values.shape[-3], values.shape[-1])
    if fmt.rotate is not None:
        size = fmt.rotated(values.shape[-1])
        values = hadamard(values, size) / np.sqrt(np.float64(size))
        if calibration.signs is not None:
            values = values * calibration.signs
    if fmt.center is not None:
        values = values + fmt.center.decode(calibration.mean).astype(np.float64)[:, np.newaxis]
    return values
