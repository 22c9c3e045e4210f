"""What the benchmarks of attention run: formats by name, filled caches, and the arguments that say how large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _kvq
from .cache import Cache
from .format import Format
from .formats import kinds
from .text import InputError

CHUNK = 4096  # tokens of noise that are made at a time


@dataclass(frozen=True)
class NamedFormat:
    """A format as a benchmark calls it, and what exact elements are."""

    name: str
    format: Format
    dtype: str = "f16"


def named_format(name: str, option: str) -> NamedFormat:
    """One of "f16", "bf16", "f32", of `kvq_mlir formats`' kinds ("i8", "ui4, per channel of 32 tokens") or presets, or
    the text of a format. `InputError`, of the option, for another name."""
    if name in ("f16", "bf16", "f32"):
        return NamedFormat(name, Format("codes = none"), name)
    known = kinds()
    try:
        if name in known:
            text, dtype = known[name]
            return NamedFormat(name, Format(text), dtype)
        return NamedFormat(name, Format(name) if "=" in name else Format.preset(name))
    except _kvq.Error as error:
        raise InputError(f"{option}: {error}") from error


def positive(text: str, option: str, of: str = "") -> int:
    """A number of at least 1; `InputError` for another text."""
    try:
        number = int(text)
    except ValueError:
        raise InputError(f"{option}: expected a number{of}, found '{text}'") from None
    if number < 1:
        raise InputError(f"{option}: expected at least 1, found {number}")
    return number


def positives(text: str, option: str) -> list[int]:
    """Numbers of at least 1, with commas between them."""
    return [positive(part.strip(), option, " or several with commas") for part in text.split(",")]


def filled(
    rng: np.random.Generator,
    named: NamedFormat,
    shape: tuple[int, int, int, int],
    lengths: np.ndarray,
    page: int | None = None,
    side: str | None = None,
    token_major: bool = False,
) -> Cache:
    """A cache of `shape` (batch, KV heads, capacity, head dim) with `lengths` tokens of normal noise, what it asks for
    given from such noise, for keys or values or either. With a page size, each sequence's pages lie anywhere in a pool for all capacities.
    token_major: as `Cache` takes it."""
    from .calibration import calibrate

    batch, kv_heads, capacity, head_dim = shape
    tokens = rng.standard_normal((batch, kv_heads, min(CHUNK, capacity), head_dim), np.float32)
    given = calibrate(tokens[:1, :, :256], named.format)
    recent = named.format.tokens if named.format.tokens > 1 else 0
    table = None if page is None else rng.permutation(batch * -(-capacity // page)).reshape(batch, -1)
    try:
        cache = Cache(
            *(batch, kv_heads, capacity, head_dim, named.format, named.dtype),
            **dict(recent=recent, page=page, page_table=table, given=given, side=side, token_major=token_major),
        )
    except _kvq.Error as error:
        raise InputError(f"{named.name}: {error}") from error
    left = lengths.copy()
    while left.any():
        counts = np.minimum(left, tokens.shape[2])
        cache.append(tokens, counts)
        left -= counts
    return cache


def used_bytes(cache: Cache) -> int:
    """Bytes of the tokens that a cache holds, windows included: what attention has to read."""
    return round(cache.nbytes * int(cache.lengths.sum()) / (cache.batch * cache.capacity))
