"""The MLIR type of a cache, as text and by its fields."""

from __future__ import annotations

from . import _kvq
from .format import Component, Format, Segments, parse_attribute

SIDES = ("keys", "values")


def cache_type(
    batch: int,
    kv_heads: int,
    capacity: int | str,
    head_dim: int,
    fmt: Format | Segments,
    dtype: str = "f16",
    exact_first: int = 0,
    recent: int = 0,
    residual: int | None = None,
    page: int | None = None,
    ring: int | None = None,
    keep_first: int = 0,
    token_major: bool = False,
) -> str:
    """The text of the cache's type, "!kvq.cache<...>"; a capacity of "?" leaves it open."""
    windows = f", exact_first = {exact_first}" if exact_first else ""
    if recent or (residual is None and has_window(fmt, recent)):
        windows += f", recent = {recent}"
    if residual is not None:
        windows += f", residual = {residual}"
    if page is not None:
        windows += f", page = {page}"
    if ring is not None:
        windows += f", ring = {ring}"
    if keep_first:
        windows += f", keep_first = {keep_first}"
    if token_major:
        windows += ", token_major"
    return f"!kvq.cache<{batch}x{kv_heads}x{capacity}x{head_dim}x{dtype}, {fmt.attribute}{windows}>"


def has_window(fmt: Format | Segments, recent: int, residual: int | None = None) -> bool:
    """Whether the newest tokens wait exact, by choice or until their group is full."""
    return recent + (residual or fmt.tokens) > 1


def assign_layout(type_: str, fmt: Format | Segments, side: str | None) -> tuple[Format | Segments, str | None]:
    """`fmt` with the layouts that it leaves open chosen for a cache of this type, of keys or values, and why that has no
    tiles; None if it has, or where nothing is chosen."""
    if side is not None and side not in SIDES:
        raise _kvq.Error(f"expected side 'keys', 'values' or None, got {side!r}")
    if not fmt.has_open_layout:
        return fmt, None
    if side is None:
        raise _kvq.Error("layout = auto is chosen for what a cache holds: expected side 'keys' or 'values', got None")
    text, reason = _kvq.assign_layout(type_, side)
    return parse_attribute(text), reason


class CacheType:
    """A `!kvq.cache` type, built of its fields as `Cache` is; a capacity of None leaves it open.

    str() gives the canonical text; types are equal, and hash alike, if their canonical texts are. Raises `Error`, a
    ValueError, with what was expected and found, for fields that do not go together.

    Attributes: batch, kv_heads, capacity, head_dim, format, dtype, exact_first, recent, residual, page, ring,
    keep_first and token_major, each None where the type has none; token_group, tokens that are quantized together.
    """

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        capacity: int | None,
        head_dim: int,
        fmt: Format | Segments,
        dtype: str = "f16",
        exact_first: int = 0,
        recent: int = 0,
        *,
        residual: int | None = None,
        page: int | None = None,
        ring: int | None = None,
        keep_first: int = 0,
        token_major: bool = False,
    ) -> None:
        extent = "?" if capacity is None else capacity
        windows = (exact_first, recent, residual, page, ring, keep_first, token_major)
        self._adopt(cache_type(batch, kv_heads, extent, head_dim, fmt, dtype, *windows))

    @classmethod
    def parse(cls, text: str) -> CacheType:
        """The type that is written so; `Error`, a ValueError, where that is none."""
        found = cls.__new__(cls)
        found._adopt(text)
        return found

    def _adopt(self, text: str) -> None:
        self._text, fields = _kvq.parse_cache_type(text)
        self.format = parse_attribute(fields.pop("format"))
        self.__dict__.update(fields)
        self._footprint = _kvq.Footprint(self._text)

    def components(self, capacity: int, pages: int | None = None) -> list[Component]:
        """The arrays that `capacity` tokens of each sequence are stored in, of `pages` pages where that is given."""
        return self.format.components(self._text, capacity, pages)

    def allocated_bytes(self, capacity: int) -> dict[str, int]:
        """Bytes of storage for so many tokens of each sequence: of each component, and their "total"."""
        return self._footprint.allocated(capacity)

    def retained_bytes(self, length: int) -> dict[str, int]:
        """Those of them that hold tokens once each sequence has so many."""
        return self._footprint.retained(length)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"CacheType.parse({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, CacheType) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)
