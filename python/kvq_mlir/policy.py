"""Policies: which layers, sides and heads of a model are kept in which format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import _kvq
from .cache import Cache
from .cache_types import SIDES, assign_layout, cache_type
from .devices import Device
from .format import Format, Segments
from .given import Given


@dataclass(frozen=True)
class Choice:
    """What a policy says of the KV heads `heads` = (first, end) of one side of one layer.

    Without an entry for them the format is `codes = none`. Pages and rings are no matter of a policy: `replace` sets
    them.
    """

    layer: int
    side: str
    heads: tuple[int, int]
    format: Format | Segments
    exact_first: int = 0
    recent: int = 0
    residual: int | None = None
    page: int | None = None
    ring: int | None = None
    keep_first: int = 0

    @property
    def storage(self) -> dict[str, int | None]:
        """Pages or a ring, as `Cache` takes them."""
        return dict(page=self.page, ring=self.ring, keep_first=self.keep_first)

    @property
    def windows(self) -> dict[str, int | None]:
        """The exact windows, as `Cache` takes them."""
        return dict(exact_first=self.exact_first, recent=self.recent, residual=self.residual)

    @property
    def entry(self) -> str:
        """The text of a policy's entry that says this of all layers and heads."""
        windows = f", exact_first = {self.exact_first}" if self.exact_first else ""
        if self.residual is not None:
            windows += f", residual = {self.residual}"
        elif self.recent or self.format.tokens > 1:
            windows += f", recent = {self.recent}"
        return f"<side = {self.side}, format = {self.format.attribute}{windows}>"

    def anywhere(self) -> Choice:
        """The same of as many heads, from head 0 on, of layer 0: equal for all that are kept alike."""
        first, end = self.heads
        return replace(self, layer=0, heads=(0, end - first))

    def type(self, batch: int, head_dim: int, dtype: str = "f16") -> str:
        """The cache's type, "!kvq.cache<...>", for any capacity."""
        first, end = self.heads

        def of(fmt: Format | Segments) -> str:
            return cache_type(batch, end - first, "?", head_dim, fmt, dtype, **self.windows, **self.storage)

        return of(assign_layout(of(self.format), self.format, self.side)[0])

    def cache(
        self,
        batch: int,
        capacity: int,
        head_dim: int,
        dtype: str = "f16",
        *,
        given: Given | None = None,
        name: str | None = None,
        device: str | Device | None = None,
    ) -> Cache:
        """An empty cache of these heads; given, name and device as `Cache` takes them."""
        first, end = self.heads
        kept = self.windows | self.storage | {"side": self.side, "given": given, "name": name, "device": device}
        return Cache(batch, end - first, capacity, head_dim, self.format, dtype, **kept)


def _format_of(attribute: str) -> Format | Segments:
    """That of "#kvq.format<...>" or "#kvq.segments<...>"."""
    kind, _, fields = attribute.removesuffix(">").partition("<")
    return Segments(fields) if kind == "#kvq.segments" else Format(fields)


class Policy:
    """A policy, as the attribute `kvq.policy` of a module that holds nothing else:

        #k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
        module attributes {kvq.policy = #kvq.policy<
          <side = keys, format = #k, recent = 64>,
          <layers = [0, 31], format = #kvq.format<codes = none>>
        >} {}

    It is what `kvq-apply-policy` takes as `policy-file`. str() gives the canonical text of the attribute. Raises
    `Error`, a ValueError, with line and column, for text that is none.
    """

    def __init__(self, text: str, name: str = "<policy>") -> None:
        self._policy = _kvq.Policy(text, name)

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """The policy in a file."""
        return cls(Path(path).read_text(encoding="utf-8"), str(path))

    def choose(self, layers: int, kv_heads: int, sides: Sequence[str] = SIDES) -> list[Choice]:
        """The caches of a model, layer by layer: several for a layer of whose heads the policy makes ranges.

        Keys and values of a layer are cut at the same heads, so that attention can take the ranges one by one.

        Raises `Error`, a ValueError, for an entry, or a layer that it names, that the model does not have, and for
        heads beyond its own.
        """
        return [
            Choice(layer, side, (first, end), _format_of(text), exact_first, recent or 0, residual)
            for layer, side, first, end, text, exact_first, recent, residual in self._policy.choose(
                layers, kv_heads, list(sides)
            )
        ]

    def __str__(self) -> str:
        return str(self._policy)
