"""One side (K or V) of a cache, modelled as lists of tokens (rule R12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .calibration import Calibration
from .formats import Format
from .quantization import dequantize, dequantize64, element_type, quantize, to_element
from .rope import turn
from .rotation import restore, restore64


@dataclass
class _Sequence:
    """Tokens of one sequence. An exact token is [heads, dim]; a group is what `quantize` gives for n tokens."""

    first: list[np.ndarray] = field(default_factory=list)
    groups: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = field(default_factory=list)
    window: list[np.ndarray] = field(default_factory=list)

    def copy(self) -> _Sequence:
        """Another sequence of the same tokens; arrays are never written, so they are shared."""
        return _Sequence(list(self.first), list(self.groups), list(self.window))


class Cache:
    """A cache of `batch` sequences, each of up to `capacity` tokens of shape [heads, dim].

    fmt: the format of quantized tokens. dtype: the element type T, "f16", "bf16" or "f32". exact_first: how many tokens
    at the start stay exact. recent: how many of the newest tokens stay exact at least. In between, the n tokens of a
    group are quantized as soon as all of them and `recent` newer ones are there. calibration: the given values that fmt
    needs. residual, instead of recent: all tokens behind the first ones are quantized whenever their number reaches a
    multiple of it. ring: attention
    sees the first keep_first tokens and the newest, so many in all.
    Raises ValueError for negative sizes, for a dim that the format's groups do not tile, for a calibration that is not
    what the format needs, for both windows at once, and for a residual that is not whole groups.
    """

    def __init__(
        self,
        fmt: Format,
        batch: int,
        heads: int,
        dim: int,
        capacity: int,
        dtype: str = "f16",
        exact_first: int = 0,
        recent: int = 0,
        calibration: Calibration | None = None,
        residual: int | None = None,
        ring: int | None = None,
        keep_first: int = 0,
    ) -> None:
        if min(batch, heads, dim, capacity, exact_first, recent) < 0:
            sizes = f"{batch=} {heads=} {dim=} {capacity=} {exact_first=} {recent=}"
            raise ValueError(f"sizes must not be negative, got {sizes}")
        if residual is not None:
            if recent:
                raise ValueError(f"both recent = {recent} and residual = {residual} are given")
            if fmt.codes is None or residual < 1 or residual % fmt.tokens:
                raise ValueError(f"residual = {residual} is not one or more groups of {fmt.tokens} quantized tokens")
        if ring is not None and not exact_first <= keep_first < ring or ring is None and keep_first:
            raise ValueError(f"{ring = }, {keep_first = } and {exact_first = } do not go together")
        element_type(dtype)
        if fmt.codes is not None:
            fmt.channels(dim)
            fmt.group_heads(heads)
        self.calibration = Calibration() if calibration is None else calibration
        self.calibration.check(fmt, heads, dim)
        self.fmt, self.batch, self.heads, self.dim, self.capacity = fmt, batch, heads, dim, capacity
        self.dtype, self.exact_first, self.recent, self.residual = dtype, exact_first, recent, residual
        self.ring, self.keep_first = ring, keep_first
        self._sequences = [_Sequence() for _ in range(batch)]

    def held(self, length: int) -> np.ndarray:
        """Which of `length` tokens a ring still has, bool [length]: the first keep_first and the newest, ring in all.

        The model itself forgets nothing: values and codes of the others stay as they were.
        """
        tokens = np.arange(length)
        newest = length if self.ring is None else self.ring - self.keep_first
        return (tokens < self.keep_first) | (tokens >= length - newest)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens held by each sequence, int64 [batch]."""
        exact = np.array([len(s.first) + len(s.window) for s in self._sequences], np.int64)
        return exact + self.flushed

    @property
    def flushed(self) -> np.ndarray:
        """Quantized tokens of each sequence, int64 [batch]; a multiple of the format's token group."""
        return np.array([len(s.groups) * self.fmt.tokens for s in self._sequences], np.int64)

    def append(
        self,
        x: np.ndarray,
        counts: Sequence[int] | None = None,
        rope: tuple[np.ndarray, np.ndarray] | None = None,
        rope_style: str = "half",
    ) -> None:
        """Append tokens x [batch, heads, tokens, dim], float16, bfloat16 or float32.

        counts: how many of the tokens belong to each sequence, the first ones; the rest is padding and is not read.
        Default: all. rope: tables of cosines and sines, float32 [positions, pairs], by which keys are turned before they
        are rounded to elements (rule R42).
        Raises ValueError, leaving the cache as it was, for a wrong shape, a count beyond the tokens, a
        sequence that would outgrow the capacity (with both numbers), a position without a row in the tables, and for
        tables where the format has rope = pre.
        """
        x = np.asarray(x)
        if x.ndim != 4 or (x.shape[0], x.shape[1], x.shape[3]) != (self.batch, self.heads, self.dim):
            raise ValueError(f"expected [{self.batch}, {self.heads}, tokens, {self.dim}], got shape {x.shape}")
        tokens = x.shape[2]
        counts = [tokens] * self.batch if counts is None else [int(c) for c in counts]
        if len(counts) != self.batch:
            raise ValueError(f"expected {self.batch} counts, got {len(counts)}")
        for b, (count, length) in enumerate(zip(counts, self.lengths, strict=True)):
            if not 0 <= count <= tokens:
                raise ValueError(f"sequence {b}: count {count} is not within the {tokens} tokens given")
            if length + count > self.capacity:
                raise ValueError(f"sequence {b}: {length + count} tokens exceed the capacity of {self.capacity}")
        if rope is not None:
            x = self._turned_tokens(x, counts, (*rope, rope_style))
        elements = to_element(x, self.dtype)
        for sequence, rows, count in zip(self._sequences, elements, counts, strict=True):
            for t in range(count):
                self._append_token(sequence, rows[:, t].copy())

    def _turned_tokens(self, x: np.ndarray, counts: list[int], rope: tuple[np.ndarray, np.ndarray, str]) -> np.ndarray:
        """New tokens in f32, each turned by the row of its position; padding stays."""
        if self.fmt.rope == "pre":
            raise ValueError("keys with rope = pre are stored before RoPE")
        cos, sin, style = rope
        x = x.astype(np.float32)
        for b, (count, length) in enumerate(zip(counts, self.lengths.tolist(), strict=True)):
            if count and length + count > len(cos):
                raise ValueError(f"sequence {b}: position {length + count - 1} is not in tables of {len(cos)} rows")
            rows = slice(length, length + count)
            x[b, :, :count] = turn(x[b, :, :count], cos[rows], sin[rows], style)
        return x

    def _append_token(self, sequence: _Sequence, token: np.ndarray) -> None:
        if len(sequence.first) < self.exact_first:
            sequence.first.append(token)
            return
        sequence.window.append(token)
        n = self.fmt.tokens
        for _ in range(self._full_groups(sequence)):
            oldest = element_type(self.dtype).decode(np.stack(sequence.window[:n], axis=1))
            del sequence.window[:n]
            sequence.groups.append(_drop_batch(quantize(oldest[np.newaxis], self.fmt, self.dtype, self.calibration)))

    def _full_groups(self, sequence: _Sequence) -> int:
        """How many groups leave the window, now that a token has come."""
        n, waiting = self.fmt.tokens, len(sequence.window)
        if self.fmt.codes is None:
            return 0
        if self.residual is None:
            return int(waiting == self.recent + n)
        tokens = len(sequence.groups) * n + waiting
        return max(0, tokens // self.residual * self.residual // n - len(sequence.groups))

    def truncate(self, lengths: int | Sequence[int]) -> None:
        """Drop the newest tokens: each sequence keeps at most its first `lengths` (one number, or one per sequence).

        Raises ValueError, leaving the cache as it was, for a negative length or a wrong number of them, and with the
        nearest borders where a length lies inside a group of quantized tokens.
        """
        kept = [lengths] * self.batch if isinstance(lengths, int) else [int(length) for length in lengths]
        if len(kept) != self.batch:
            raise ValueError(f"expected {self.batch} lengths, got {len(kept)}")
        n = self.fmt.tokens
        for b, (sequence, length) in enumerate(zip(self._sequences, kept, strict=True)):
            if length < 0:
                raise ValueError(f"sequence {b}: length {length} is negative")
            inside = (length - len(sequence.first)) % n
            if len(sequence.first) < length < len(sequence.first) + n * len(sequence.groups) and inside:
                low, high = length - inside, length - inside + n
                raise ValueError(f"sequence {b}: length {length} lies inside a group, between borders {low} and {high}")
        for sequence, length in zip(self._sequences, kept, strict=True):
            del sequence.first[length:]
            length = max(length - self.exact_first, 0)
            flushed = min(length, n * len(sequence.groups))
            if flushed < n * len(sequence.groups):
                sequence.window.clear()
            del sequence.groups[flushed // n :]
            del sequence.window[length - flushed :]

    def reorder(self, indices: Sequence[int]) -> None:
        """Sequence b becomes a copy of what sequence indices[b] was. ValueError for an index out of range."""
        if len(indices) != self.batch or not all(0 <= index < self.batch for index in indices):
            raise ValueError(f"expected {self.batch} indices below {self.batch}, got {list(indices)}")
        self._sequences = [self._sequences[index].copy() for index in indices]

    def fork(self, source: int, targets: Sequence[int], length: int | None = None) -> None:
        """Sequences `targets` become copies of the first `length` tokens of sequence `source`, default all.

        Raises ValueError for an index out of range, a target that is the source, and where `truncate` would.
        """
        if not all(0 <= index < self.batch for index in (source, *targets)) or source in targets:
            raise ValueError(f"expected indices below {self.batch}, none twice, got {source} and {list(targets)}")
        model = Cache.__new__(Cache)
        model.__dict__.update(self.__dict__, batch=1, _sequences=[self._sequences[source].copy()])
        if length is not None:
            model.truncate(length)
        for target in targets:
            self._sequences[target] = model._sequences[0].copy()

    def shift(
        self,
        begin: Sequence[int],
        count: Sequence[int],
        rope: tuple[np.ndarray, np.ndarray] | None = None,
        rope_style: str = "half",
    ) -> None:
        """Drop tokens begin[b] to begin[b] + count[b] of each sequence.

        rope: tables of cosines and sines, float32 [positions, pairs]: the keys behind the dropped ones, which RoPE has
        turned, are turned back by count[b] positions, rounded to elements, and quantized again (rule R37).
        Raises ValueError, leaving the cache as it was, where what is dropped is not whole groups of quantized tokens
        (any tokens behind the first ones, where all are exact), and for tables where the format has rope = pre.
        """
        if rope is not None and self.fmt.rope == "pre":
            raise ValueError("keys before RoPE do not depend on positions")
        n = self.fmt.tokens
        for b, sequence in enumerate(self._sequences):
            held = len(sequence.window) if self.fmt.codes is None else n * len(sequence.groups)
            start, end = begin[b] - self.exact_first, begin[b] - self.exact_first + count[b]
            if count[b] and (not 0 <= start <= end <= held or start % n or end % n):
                raise ValueError(f"sequence {b}: tokens {begin[b]} to {begin[b] + count[b]} are no whole groups of codes")
        for b, sequence in enumerate(self._sequences):
            if not count[b]:
                continue
            start = begin[b] - self.exact_first
            if self.fmt.codes is None:
                del sequence.window[start : start + count[b]]
                moved, groups = start, 0
            else:
                moved, groups = 0, start // n
                del sequence.groups[groups : groups + count[b] // n]
            if rope is not None:
                # Back by as many positions: the sine of the angle is negated.
                tables = rope[0][count[b]][np.newaxis], -rope[1][count[b]][np.newaxis], rope_style
                sequence.window[moved:] = [self._turned(token, tables) for token in sequence.window[moved:]]
                sequence.groups[groups:] = [self._turned_group(group, tables) for group in sequence.groups[groups:]]

    def _turned(self, token: np.ndarray, tables: tuple) -> np.ndarray:
        """An exact token, turned."""
        values = element_type(self.dtype).decode(token).astype(np.float32)
        return to_element(turn(values, *tables), self.dtype)

    def _turned_group(self, group: tuple, tables: tuple) -> tuple:
        """A group, turned and quantized again."""
        values = restore(dequantize(*group, self.fmt, self.calibration), self.fmt, self.calibration)
        elements = to_element(turn(values, *tables), self.dtype)
        decoded = element_type(self.dtype).decode(elements)
        return _drop_batch(quantize(decoded[np.newaxis], self.fmt, self.dtype, self.calibration))

    def codes(self, b: int) -> np.ndarray:
        """Codes of sequence b's quantized tokens, int8 or uint8 [heads, flushed, dim]; ValueError if exact."""
        self._need_codes()
        return self._joined(b, 0, self.heads, self.dim, self.fmt.codes.dtype)

    def scales(self, b: int) -> np.ndarray:
        """Stored scales of sequence b's quantized tokens: [heads/h, flushed/n, dim/g]; [heads/h, 1, dim/g] if static."""
        self._need_codes()
        return self._metadata(b, 1, self.calibration.scales, self.fmt.scale.dtype)

    def zeros(self, b: int) -> np.ndarray | None:
        """Stored zeros, as `scales`, or None without a zero."""
        self._need_codes()
        if self.fmt.zero is None:
            return None
        return self._metadata(b, 2, self.calibration.zeros, self.fmt.zero.type.dtype)

    def _metadata(self, b: int, part: int, given: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
        groups, heads = self.dim // self.fmt.channels(self.dim), self.heads // self.fmt.group_heads(self.heads)
        if given is not None:
            return np.broadcast_to(given[:, np.newaxis], (heads, 1, groups))
        return self._joined(b, part, heads, groups, dtype)

    def _need_codes(self) -> None:
        if self.fmt.codes is None:
            raise ValueError("codes = none: this cache has neither codes nor scales nor zeros")

    def _joined(self, b: int, part: int, heads: int, width: int, dtype: np.dtype) -> np.ndarray:
        groups = [group[part] for group in self._sequences[b].groups]
        empty = np.zeros((heads, 0, width), dtype)
        return np.concatenate([empty, *groups], axis=1)

    def values64(self, b: int) -> np.ndarray:
        """What attention sees of sequence b: float64 [heads, length, dim]."""
        sequence = self._sequences[b]
        parts = [self._exact64(sequence.first)]
        if self.fmt.codes is not None:
            values = dequantize64(self.codes(b), self.scales(b), self.zeros(b), self.fmt, self.calibration)
            parts.append(restore64(values, self.fmt, self.calibration))
        parts.append(self._exact64(sequence.window))
        return np.concatenate(parts, axis=1)

    def _exact64(self, tokens: list[np.ndarray]) -> np.ndarray:
        if not tokens:
            return np.zeros((self.heads, 0, self.dim))
        return element_type(self.dtype).decode(np.stack(tokens, axis=1)).astype(np.float64)


def _drop_batch(parts: tuple[np.ndarray | None, ...]) -> tuple[np.ndarray | None, ...]:
    return tuple(None if part is None else part[0] for part in parts)
