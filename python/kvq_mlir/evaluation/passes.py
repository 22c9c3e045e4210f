"""Passes of a model whose attention reads kvq caches, with the semantics of decoding, at the speed of a prefill.

In decoding each token is appended to the caches and attends to what they then hold. Many tokens at once see the same,
as long as none of them makes others leave an exact window: a block of them is appended, and its queries attend
causally. Without windows a pass is one block, with windows a block ends where tokens are quantized.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..attend import attention
from ..cache import Cache
from ..cache_types import SIDES
from ..given import Given
from ..policy import Choice
from ..rope import Rope, rope_on_reading

if TYPE_CHECKING:
    from ..model import Model


@dataclass(frozen=True)
class Block:
    """Queries of a layer that find the same in its caches, in float32.

    q: [sequences, query_heads, last - first, head_dim], those of tokens first to last - 1 of each sequence; k, v: their
    exact keys and values, [sequences, kv_heads, last - first, head_dim]; out: what attention gave, as q. The caches
    hold `last` tokens, as `keys.dequantize()` shows them, and query i saw the first i + 1 of these. kv_heads: the first
    and end of the KV heads, where a policy keeps ranges of them apart.
    """

    layer: int
    kv_heads: tuple[int, int]
    first: int
    last: int
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    keys: Cache
    values: Cache
    out: np.ndarray


Observe = Callable[[Block], None]


def steady_tokens(cache: Cache, length: int) -> int | None:
    """How many tokens may be appended to `length` ones at once without any of them finding less exact than in decoding:
    as many as quantize together with the first of them, or before it. None for any number."""
    if cache.ring is not None:  # the oldest tokens go one by one
        return 1
    if not cache.has_window:
        return None
    held, flush = cache.exact_first + cache.recent, cache.residual or cache.format.tokens
    quantized = max(length + 1 - held, 0) // flush * flush
    return held + quantized + flush - 1 - length


class LayerCaches:
    """Keys and values of a layer, of a range of its KV heads, for several sequences of the same length."""

    def __init__(self, keys: Cache, values: Cache, first_head: int = 0, rope: Rope | None = None):
        self.keys, self.values, self.first_head, self._rope = keys, values, first_head, rope

    def attend(
        self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray, observe: Observe | None = None, threads: int = 1
    ) -> np.ndarray:
        """Appends k and v and attends, as if token by token. Shapes and result as in `Block`, of all new tokens."""
        out = np.empty((*q.shape[:3], v.shape[3]), np.float32)
        length, done, tokens = int(self.keys.lengths[0]), 0, q.shape[2]
        while done < tokens:
            steady = (steady_tokens(cache, length + done) for cache in (self.keys, self.values))
            end = min(tokens, *(done + count for count in steady if count is not None), tokens)
            rows = slice(done, end)
            block = [np.ascontiguousarray(x[:, :, rows]) for x in (q, k, v)]
            out[:, :, rows] = self._attend_block(*block, length + done, threads)
            if observe is not None:
                heads = (self.first_head, self.first_head + self.keys.kv_heads)
                where = (layer, heads, length + done, length + end)
                observe(Block(*where, *block, self.keys, self.values, out[:, :, rows]))
            done = end
        return out

    def _attend_block(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, first: int, threads: int) -> np.ndarray:
        options, rope = {}, rope_on_reading(self.keys.format, self._rope, self.keys.name or "keys")
        if rope is not None:
            options = rope.options(first + k.shape[2], k.shape[3])
            k = rope.turn_back(k, first)
        self.keys.append(k, threads=threads)
        self.values.append(v, threads=threads)
        return attention(q, self.keys, self.values, threads=threads, **options)


class CachedModel:
    """A model, and the caches of several sequences of the same length, kept as a policy says.

    choices: what `Policy.choose` or `uniform` gives, for all layers or, for passes that start later, for the last ones.
    given: what the cache of a choice asks for (static ranges, means, outer scales), by (layer, side). observe: is
    called with each block of each layer. threads: how many work on a call of a kernel.
    """

    def __init__(
        self,
        model: Model,
        choices: Sequence[Choice],
        sequences: int,
        capacity: int,
        *,
        given: Mapping[tuple[int, str], Given] | None = None,
        observe: Observe | None = None,
        threads: int = 1,
    ):
        self.model, self.sequences, self.observe, self.threads = model, sequences, observe, threads
        self.length = 0
        config, found = model.config, {}
        for choice in choices:
            cache = choice.cache(
                sequences,
                capacity,
                config.head_dim,
                given=(given or {}).get((choice.layer, choice.side)),
                name=f"layer {choice.layer}, {choice.side}",
            )
            found.setdefault(choice.layer, {}).setdefault(choice.heads, {})[choice.side] = cache
        self._layers: dict[int, list[LayerCaches]] = {
            layer: [
                LayerCaches(*(sides[side] for side in SIDES), first_head=first, rope=config.rope)
                for (first, _), sides in sorted(ranges.items())
            ]
            for layer, ranges in found.items()
        }

    @property
    def nbytes(self) -> int:
        """Bytes of all caches."""
        return sum(each.keys.nbytes + each.values.nbytes for ranges in self._layers.values() for each in ranges)

    def extend(self, ids: np.ndarray) -> np.ndarray:
        """Takes the next tokens of all sequences, [sequences, T]; returns the normalized last hidden states of them,
        [sequences, T, channels] float32."""
        return self.extend_from(0, self.model.embed(ids))

    def extend_from(self, first_layer: int, x: np.ndarray) -> np.ndarray:
        """The same from hidden states x [sequences, T, channels] that layer `first_layer` is given."""
        for layer in range(first_layer, self.model.config.layers):
            x = self.model.layer(layer, x, self.attend, self.length)
        self.length += x.shape[1]
        return self.model.normalize(x)

    def attend(self, layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        outs, ratio = [], q.shape[1] // k.shape[1]
        for each in self._layers[layer]:
            first, end = each.first_head, each.first_head + each.keys.kv_heads
            heads = q[:, first * ratio : end * ratio], k[:, first:end], v[:, first:end]
            outs.append(each.attend(layer, *heads, self.observe, self.threads))
        return outs[0] if len(outs) == 1 else np.concatenate(outs, axis=1)
