"""MLX's affine quantization, 2 to 8 bits: codes in a stream of bits, scales and biases apart.

s = max((max - min)/(2^b - 1), 1e-7), negated unless |min| > |max|; edge = the end of larger magnitude; q0 = edge/s
rounded. If q0 is not 0, s = edge/q0 and bias = edge, else bias = 0. code = (x - bias)/s, rounded and clamped; value
code s + bias. Codes go lowest bit first: the words of 2, 4 and 8 bit codes are little endian uint32, 8 codes of 3 bits
take 3 bytes, 8 of 5 bits 5, 4 of 6 bits 3. The backends differ: the CPU's takes ties to even; Metal's and CUDA's take
them away from zero, and Metal's maximum is at least 0. Source: ml-explore/mlx, mlx/backend/{cpu,metal,cuda}.
"""

from __future__ import annotations

import numpy as np

from . import words


def affine(x: np.ndarray, bits: int, group: int, backend: str = "cpu") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(bytes, scales, biases) of rows [..., n]: uint8 [..., n bits/8], f32 [..., n/group] each.

    The scales and biases are those before rounding to the model's type; codes use them. backend: "cpu" or "metal".
    """
    if backend not in ("cpu", "metal"):
        raise ValueError(f"unknown backend '{backend}', expected cpu or metal")
    nearest = np.rint if backend == "cpu" else words.half_away
    x = words.rows(x, group)
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    if backend == "metal":
        high = np.maximum(high, np.float32(0))
    by_low = np.abs(low) > np.abs(high)
    scale = np.maximum((high - low) / np.float32(2**bits - 1), np.float32(1e-7))
    scale = np.where(by_low, scale, -scale)
    edge = np.where(by_low, low, high)
    steps = nearest(edge / scale)
    bias = np.where(steps == 0, np.float32(0), edge)
    scale = np.where(steps == 0, scale, edge / np.where(steps == 0, words.ONE, steps))
    codes = np.clip(nearest((x - bias) / scale), 0, 2**bits - 1).astype(np.uint8)
    return words.bitstream(codes.reshape(*codes.shape[:-2], -1), bits), scale[..., 0], bias[..., 0]
