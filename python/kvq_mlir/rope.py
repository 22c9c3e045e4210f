"""RoPE: tables of its angles, and whether tables that are given fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import _kvq
from .arguments import on
from .cuda_arrays import Taken
from .devices import Cuda, Device
from .format import Format, Segments

if TYPE_CHECKING:
    from .cache import Cache

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


@dataclass(frozen=True)
class Rope:
    """How a model turns all channels of its queries and keys: the base of the angles, and which channels are a pair."""

    base: float
    style: str  # of STYLES

    def tables(self, positions: int, dim: int) -> Tables:
        """As `rope_tables`."""
        return rope_tables(positions, dim, self.base)

    def options(self, positions: int, dim: int) -> dict:
        """What `attention` takes to turn keys of so many positions as it reads them."""
        return {"rope": self.tables(positions, dim), "rope_style": self.style}

    def turn(self, x: np.ndarray, first: int = 0, sign: int = 1) -> np.ndarray:
        """Rows [..., T, D] of tokens at positions first, first + 1, ..., float32; with a sign of -1 the other way."""
        cos, sin = (table[first:] for table in self.tables(first + x.shape[-2], x.shape[-1]))
        half, sin = x.shape[-1] // 2, sign * sin
        pairs = (slice(half), slice(half, None)) if self.style == "half" else (slice(0, None, 2), slice(1, None, 2))
        left, right = (x[..., channels] for channels in pairs)
        out = np.empty(x.shape, np.float32)
        out[..., pairs[0]] = left * cos - right * sin
        out[..., pairs[1]] = left * sin + right * cos
        return out

    def turn_back(self, x: np.ndarray, first: int = 0) -> np.ndarray:
        """What `turn` made x of."""
        return self.turn(x, first, sign=-1)


def rope_on_reading(fmt: Format | Segments, rope: Rope | None, where: str) -> Rope | None:
    """What turns keys of a format as they are read; None where they are stored behind RoPE. `Error`, a ValueError, with
    `where`, for keys before a RoPE that is not known, or of which some channels are stored behind it."""
    if not fmt.is_before_rope:
        return None
    if isinstance(fmt, Segments):
        raise _kvq.Error(f"{where}: expected one format for all channels that are kept before RoPE, got segments")
    if rope is None:
        raise _kvq.Error(f"{where}: expected rope = post, as what has turned the keys is not known, got rope = pre")
    return rope


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


def on_place(rope: Tables | None, device: Device | None) -> Tables | None:
    """Tables for a call on a device; `Error` where they are elsewhere."""
    if rope is None or not isinstance(device, Cuda):
        return rope
    return tuple(on(device, "a table of RoPE", table) for table in rope)


def _turned_channels(cache: Cache, segment: int | None) -> int:
    """How many channels a row has that RoPE may turn; `Error` where it turns none as they are stored."""
    is_parted = isinstance(cache.format, Segments)
    if is_parted != (segment is not None):
        expected = "which of the segments RoPE turns" if is_parted else "None for a cache of one format"
        raise _kvq.Error(f"expected rope_segment as {expected}, got {segment}")
    if not is_parted:
        channels, fmt = cache.head_dim, cache.format
    elif 0 <= segment < len(cache.format.parts):
        begin, end, fmt = cache.format.parts[segment]
        channels = end - begin
    else:
        raise _kvq.Error(f"expected rope_segment from 0 to {len(cache.format.parts) - 1}, got {segment}")
    if fmt.is_before_rope:
        raise _kvq.Error("keys with rope = pre are stored before RoPE: expected no tables")
    return channels


def tables_of_append(
    cache: Cache, rope: Tables | None, style: str, segment: int | None, positions: np.ndarray, device: Device | None
) -> Tables | tuple[()]:
    """The tables that keys at `positions` are turned by as they are stored, as kernels take them; none without `rope`.

    `Error`, a ValueError, for values, for keys that are stored before RoPE, for tables that do not fit, and for a style
    or a segment without tables. TypeError where tables are no float32 arrays.
    """
    if rope is None:
        for name, given in (("rope_style", None if style == "half" else style), ("rope_segment", segment)):
            if given is not None:
                raise _kvq.Error(f"{name} {given!r} is given without tables of RoPE")
        return ()
    if cache.side == "values":
        raise _kvq.Error("RoPE turns keys only: expected no tables for a cache of values")
    channels, rows = _turned_channels(cache, segment), int(positions.max(initial=-1)) + 1
    return check_rope(on_place(rope, device), style, channels, rows, f"positions up to {rows - 1}")
