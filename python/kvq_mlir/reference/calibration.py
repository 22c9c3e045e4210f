"""What a format needs beside its elements: values that are given once, when a cache is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .formats import Format


@dataclass(frozen=True)
class Calibration:
    """Given values of one side of one layer, for a format that asks for them.

    outer: float32 [heads], or [1] for all heads: the outer scale of a two-level one.
    """

    outer: np.ndarray | None = None

    FIELDS = ("outer",)
    OUTER_RANGE = (2.0**-100, 2.0**100)

    def check(self, fmt: Format, heads: int, dim: int) -> None:
        """ValueError, with what was expected and found, unless this is what `fmt` needs for rows of `dim` elements."""
        needs = _needs(fmt)
        for name in self.FIELDS:
            if (getattr(self, name) is None) == needs[name]:
                what = "needs" if needs[name] else "has no use for"
                raise ValueError(f"'{fmt}' {what} a given '{name}'")
        if self.outer is not None:
            _check_array("outer", self.outer, np.dtype(np.float32), [(heads,), (1,)])
            lowest, highest = self.OUTER_RANGE
            if not np.all((self.outer >= lowest) & (self.outer <= highest)):
                raise ValueError(f"outer scales must be within 2^-100 ... 2^100, got {self.outer.tolist()}")


def _needs(fmt: Format) -> dict[str, bool]:
    return {"outer": fmt.outer is not None}


def _check_array(name: str, array: np.ndarray, dtype: np.dtype, shapes: list[tuple[int, ...]]) -> None:
    if array.dtype != dtype:
        raise ValueError(f"expected '{name}' as {dtype}, got {array.dtype}")
    if array.shape not in shapes:
        raise ValueError(f"expected '{name}' of shape {' or '.join(map(str, shapes))}, got {array.shape}")
