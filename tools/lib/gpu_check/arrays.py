"""Arrays of NumPy and of PyTorch, for code that is for both. Types are named as in MLIR, "u8" for bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .formats import Format


class Arrays:
    """What both have: `xp` is the package, for functions that are called the same."""

    xp: Any

    def random_cache(self, fmt: Format, shape: tuple[int, int, int, int]) -> list[Any]:
        """The arrays of a cache [batch, heads, tokens, dim] full of tokens, with values of about 1."""
        if fmt.is_exact:
            return [self.normal(shape)]
        (codes, _), (scales, _) = fmt.components(*shape)
        spread = (0.75 + 0.1 * self.cast(self.normal(scales), "f32")) * fmt.unit_scale
        return [self.random_bytes(codes) & fmt.code_mask, self.cast(spread, "f16")]


class NumpyArrays(Arrays):
    def __init__(self) -> None:
        import numpy as np

        self.xp, self._rng = np, np.random.default_rng(0)
        self._types = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i64": np.int64, "u8": np.uint8}

    def full(self, shape: Sequence[int], value: float, kind: str) -> Any:
        return self.xp.full(shape, value, self._types[kind])

    def array(self, values: Sequence[float], kind: str) -> Any:
        return self.xp.array(values, self._types[kind])

    def normal(self, shape: Sequence[int]) -> Any:
        return self._rng.standard_normal(shape, self.xp.float32).astype(self.xp.float16)

    def random_bytes(self, shape: Sequence[int]) -> Any:
        return self._rng.integers(0, 256, shape, self.xp.uint8)

    def cast(self, x: Any, kind: str) -> Any:
        return x.astype(self._types[kind])

    def copy(self, x: Any) -> Any:
        return x.copy()


class TorchArrays(Arrays):
    """On a device of PyTorch's."""

    def __init__(self, torch: Any, device: str) -> None:
        self.xp, self._device = torch, device
        self._types = {
            "f16": torch.float16,
            "f32": torch.float32,
            "f64": torch.float64,
            "i64": torch.int64,
            "u8": torch.uint8,
        }

    def full(self, shape: Sequence[int], value: float, kind: str) -> Any:
        return self.xp.full(tuple(shape), value, dtype=self._types[kind], device=self._device)

    def array(self, values: Sequence[float], kind: str) -> Any:
        return self.xp.tensor(list(values), dtype=self._types[kind], device=self._device)

    def normal(self, shape: Sequence[int]) -> Any:
        return self.xp.randn(tuple(shape), dtype=self.xp.float16, device=self._device)

    def random_bytes(self, shape: Sequence[int]) -> Any:
        return self.xp.randint(0, 256, tuple(shape), dtype=self.xp.uint8, device=self._device)

    def cast(self, x: Any, kind: str) -> Any:
        return x.to(self._types[kind])

    def copy(self, x: Any) -> Any:
        return x.clone()
