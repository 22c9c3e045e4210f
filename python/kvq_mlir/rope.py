"""RoPE: tables of its angles, and whether tables that are given fit."""

from __future__ import annotations

import numpy as np

from . import _kvq
from .cuda_arrays import Taken

STYLES = ("half", "interleaved")
Tables = tuple[np.ndarray, np.ndarray]  # cosines and sines, [positions, pairs] float32


def rope_tables(positions: int, dim: int, base: float = 10000.0) -> Tables:
    """Cosines and sines of RoPE's angles, float32 [positions, dim / 2] each: row p for position p.

    Pair j of `dim` channels turns by p * base**(-2j / dim). dim may be less than a head has: the other channels are not
    turned. Raises `Error`, a ValueError, for a dim that is odd or below 2, or positions below 0.
    """
    if dim < 2 or dim % 2:
        raise _kvq.Error(f"expected an even number of channels, 2 or more, got {dim}")
    if positions < 0:
        raise _kvq.Error(f"expected at least 0 positions, got {positions}")
    angles = np.arange(positions)[:, np.newaxis] * base ** (-np.arange(0, dim, 2) / dim)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def check_rope(rope: Tables, style: str, channels: int, rows: int, what: str) -> Tables:
    """The tables, C-contiguous; `Error`, a ValueError, unless they turn pairs of `channels` at `rows` positions or more.

    what: what needs so many rows. TypeError where they are no float32 arrays.
    """
    if style not in STYLES:
        raise _kvq.Error(f"expected rope_style {' or '.join(map(repr, STYLES))}, got {style!r}")
    if not isinstance(rope, tuple | list) or len(rope) != 2:
        raise TypeError(f"expected rope as two tables, cosines and sines, got {type(rope).__name__}")
    for name, table in zip(("cosines", "sines"), rope, strict=True):
        if isinstance(table, Taken):
            if table.element != "f32":
                raise TypeError(f"expected a table of {name} as an array of f32, got {table.element}")
        elif not isinstance(table, np.ndarray) or table.dtype != np.float32:
            found = table.dtype if isinstance(table, np.ndarray) else type(table).__name__
            raise TypeError(f"expected a table of {name} as an array of float32, got {found}")
        if table.ndim != 2 or not 1 <= table.shape[1] <= channels // 2:
            expected = f"[positions, 1 to {channels // 2}], an angle for each pair of {channels} channels"
            raise _kvq.Error(f"expected a table of {name} of shape {expected}, got {list(table.shape)}")
    cos, sin = rope
    if cos.shape != sin.shape:
        raise _kvq.Error(f"expected tables of one shape, got {list(cos.shape)} and {list(sin.shape)}")
    if len(cos) < rows:
        raise _kvq.Error(f"{what} need {rows} rows of the tables of RoPE, got {len(cos)}")
    return tuple(table.array if isinstance(table, Taken) else np.ascontiguousarray(table) for table in rope)
