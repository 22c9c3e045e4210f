"""How one side of a layer is kept, without saying of which layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .. import _kvq
from ..cache_types import SIDES
from ..format import Format, Segments, read_format
from ..policy import Choice

_format = cache(read_format)  # the same few texts again and again


@dataclass(frozen=True)
class Kept:
    """A format, as text, and exact windows as those of `Cache`."""

    format: str
    exact_first: int = 0
    recent: int = 0
    residual: int | None = None

    @property
    def parsed(self) -> Format | Segments:
        """The format itself. Raises `Error`, a ValueError, for text that is none."""
        return _format(self.format)

    def choice(self, layer: int, side: str, kv_heads: int) -> Choice:
        """This of all KV heads of one side of a layer."""
        return Choice(layer, side, (0, kv_heads), self.parsed, self.exact_first, self.recent, self.residual)

    def bytes(
        self, side: str, kv_heads: int, head_dim: int, tokens: int, sequences: int = 1, dtype: str = "f16"
    ) -> int:
        """What a cache of so many sequences of so many tokens allocates: codes, metadata, padding, windows, and the
        alignment between them."""
        footprint = _kvq.Footprint(self.choice(0, side, kv_heads).type(sequences, head_dim, dtype))
        allocated = footprint.allocated(tokens)
        return allocated["total"] + allocated["alignment"]

    @classmethod
    def parse(cls, text: str) -> Kept:
        """What str() gives: a format, segments or the name of a preset, and windows, "codes = i4, …; recent = 32".

        Raises `Error`, a ValueError, for another format or window.
        """
        format_, *windows = (part.strip() for part in text.split(";"))
        found = {}
        for window in windows:
            match = re.fullmatch(r"(exact_first|recent|residual) *= *(\d+)", window)
            if not match or match[1] in found:
                raise _kvq.Error(
                    f"expected exact_first, recent or residual = a number, each once, got '{window}' in '{text}'"
                )
            found[match[1]] = int(match[2])
        _format(format_)  # where it is wrong, here
        return cls(format_, **found)

    def __str__(self) -> str:
        windows = {"exact_first": self.exact_first, "recent": self.recent, "residual": self.residual}
        return "; ".join([self.format, *(f"{name} = {tokens}" for name, tokens in windows.items() if tokens)])


EXACT = Kept("codes = none")


def uniform(layers: int, kv_heads: int, keys: Kept, values: Kept) -> list[Choice]:
    """All layers alike."""
    kept: Sequence[tuple[str, Kept]] = list(zip(SIDES, (keys, values), strict=True))
    return [each.choice(layer, side, kv_heads) for layer in range(layers) for side, each in kept]
