"""The cache of one layer, as transformers' caches are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers.cache_utils import CacheLayerMixin

from .. import _kvq
from ..attend import attention
from ..cache import Cache
from ..checks import check_border
from ..copies import select
from ..devices import Device
from ..given import Given
from ..policy import Choice
from .arrays import device_of, element_of, to_array, to_tensor
from .attention import StoredTokens

_FIRST_CAPACITY = 256  # tokens; caches grow by half as they fill
_ANY_LENGTH = 1 << 31  # a ring's capacity takes no memory


@dataclass(frozen=True)
class Settings:
    """What the layers of a cache have in common; as `KvqCache` takes it."""

    head_dim: int
    dtype: str | None = None
    max_length: int | None = None
    given: Mapping[tuple[int, str], Given] | None = None
    threads: int = 1
    device: str | Device | None = None


@dataclass
class Heads:
    """The caches of a range of KV heads."""

    first: int
    end: int
    keys: Cache
    values: Cache

    def of(self, x: torch.Tensor, ratio: int = 1) -> Any:
        """Their heads of keys or values, or, `ratio` for each, of queries."""
        return to_array(x[:, self.first * ratio : self.end * ratio])

    def select(self, indices: Sequence[int], capacity: int) -> Heads:
        return replace(self, **{side: select(getattr(self, side), indices, capacity) for side in ("keys", "values")})


class KvqLayer(CacheLayerMixin):
    """Keys and values of layer `index` in kvq caches, one of each side for each range of KV heads.

    choices: (keys, values) for each range. window: how many tokens a query sees with its own; None for all. Tokens that
    `update` takes are stored once something needs them: with a window in steps between which queries attend, as a ring
    has room for few more tokens than the window.
    """

    is_compileable = False
    supports_early_init = False

    def __init__(self, index: int, choices: Sequence[tuple[Choice, Choice]], window: int | None, settings: Settings):
        super().__init__()
        self.index, self.window, self._settings = index, window, settings
        self.is_sliding = window is not None
        self._step = None if window is None else max(64, window // 4)
        self._choices = [tuple(self._in_ring(side) for side in pair) for pair in choices]
        self._heads: list[Heads] = []
        self._pending: tuple[torch.Tensor, torch.Tensor] | None = None
        self._make(1, 0, self._settings.dtype or "f16", None)  # what cannot be is an error now

    def __repr__(self) -> str:
        return f"KvqLayer({self.index}, {self.get_seq_length()} tokens)"

    def _in_ring(self, choice: Choice) -> Choice:
        """With a window, in a ring that holds what the queries of a step see."""
        if self.window is None:
            return choice
        return replace(choice, ring=choice.exact_first + self.window + self._step, keep_first=choice.exact_first)

    def _make(self, batch: int, capacity: int, dtype: str, device: str | Device | None) -> list[Heads]:
        def cache(choice: Choice) -> Cache:
            given = (self._settings.given or {}).get((self.index, choice.side))
            name = f"layer {self.index}, {choice.side}"
            size = batch, capacity, self._settings.head_dim, dtype
            return choice.cache(*size, given=given, name=name, device=device)

        return [Heads(*keys.heads, cache(keys), cache(values)) for keys, values in self._choices]

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Makes the caches, for the batch, the type and the device of a model's first keys."""
        element = element_of(key_states)
        device = self._settings.device or device_of(key_states)
        capacity = _ANY_LENGTH if self.is_sliding else self._settings.max_length or _FIRST_CAPACITY
        self._heads = self._make(key_states.shape[0], capacity, self._settings.dtype or element, device)
        self.is_initialized = True

    @property
    def caches(self) -> list[Cache]:
        """All caches of the layer; none before the first tokens come."""
        return [cache for heads in self._heads for cache in (heads.keys, heads.values)]

    @property
    def is_croppable(self) -> bool:
        """Whether each of the newest tokens can be dropped, with a window those of a step: groups of several stay whole."""
        return all(
            choice.format.tokens == 1 and choice.residual is None for pair in self._choices for choice in pair
        )

    def get_seq_length(self) -> int:
        waiting = 0 if self._pending is None else self._pending[0].shape[2]
        return self._stored + waiting

    @property
    def _stored(self) -> int:
        return int(self._heads[0].keys.lengths[0]) if self._heads else 0

    def get_max_length(self) -> int:
        return self._settings.max_length or -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    @torch.compiler.disable
    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Takes new tokens, [batch, kv_heads, tokens, head_dim]; returns what `kvq_attention` finds the caches by.

        Raises `Error`, a ValueError, where max_length has no room for them, and takes none then.
        """
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self._store_pending()
        for what, x in (("keys", key_states), ("values", value_states)):
            expected = self._heads[0].keys.batch, self._heads[-1].end, self._settings.head_dim
            if (*x.shape[:2], x.shape[3]) != expected:
                shape = "[{}, {}, tokens, {}]".format(*expected)
                raise _kvq.Error(f"layer {self.index}: expected {what} of shape {shape}, got {list(x.shape)}")
        tokens, limit = self._stored + key_states.shape[2], self._settings.max_length
        if limit is not None and tokens > limit:
            raise _kvq.Error(f"expected at most max_length = {limit} tokens, got {tokens}")
        self._reserve(tokens)
        self._pending = key_states, value_states
        shapes = ((*x.shape[:2], tokens, x.shape[3]) for x in (key_states, value_states))
        return tuple(StoredTokens(self, shape, x) for shape, x in zip(shapes, (key_states, value_states), strict=True))

    def _reserve(self, tokens: int) -> None:
        capacity = self._heads[0].keys.capacity
        if tokens > capacity:
            capacity = max(tokens, capacity + capacity // 2)
            everything = range(self._heads[0].keys.batch)
            for i, heads in enumerate(self._heads):  # one after the other, so that little is held twice
                self._heads[i] = heads.select(everything, capacity)

    def _store(self, rows: slice) -> None:
        k, v = self._pending
        for heads in self._heads:
            heads.keys.append(heads.of(k[:, :, rows]), threads=self._settings.threads)
            heads.values.append(heads.of(v[:, :, rows]), threads=self._settings.threads)

    def _store_pending(self) -> None:
        """Stores tokens that no query has asked for."""
        if self._pending is not None:
            self._store(slice(None))
            self._pending = None

    def attend(
        self,
        query: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float | None,
        softcap: float | None = None,
    ) -> torch.Tensor:
        """Of the tokens that `update` has taken just now: stores them, and attends to all.

        query: [batch, heads, tokens, head_dim], and the result as it. mask: [batch or 1, heads or 1, tokens, all
        tokens], as kvq_mlir.attention takes it; without one attention is causal, within the window.
        """
        tokens = query.shape[2]
        if self._pending is None or self._pending[0].shape[2] != tokens:
            raise _kvq.Error(f"layer {self.index}: expected queries of the tokens that came last, got {tokens} queries")
        outs, step = [], self._step or tokens
        try:
            for first in range(0, tokens, step):
                rows = slice(first, min(first + step, tokens))
                self._store(rows)
                seen = None if mask is None else mask[:, :, rows]
                outs.append(self._attend_step(query[:, :, rows], seen, scale, softcap))
        finally:
            self._pending = None
        return outs[0] if len(outs) == 1 else torch.cat(outs, dim=2)

    def _attend_step(
        self, query: torch.Tensor, mask: torch.Tensor | None, scale: float | None, softcap: float | None
    ) -> torch.Tensor:
        ratio, outs = query.shape[1] // self._heads[-1].end, []
        for heads in self._heads:
            chosen = slice(heads.first * ratio, heads.end * ratio)
            out = attention(
                heads.of(query, ratio),
                heads.keys,
                heads.values,
                scale,
                causal=mask is None,
                mask=None if mask is None else to_array(mask if mask.shape[1] == 1 else mask[:, chosen]),
                window=self.window if mask is None else None,
                softcap=softcap,
                threads=self._settings.threads,
                device=self._settings.device,
            )
            outs.append(to_tensor(out, query))
        return outs[0] if len(outs) == 1 else torch.cat(outs, dim=1)

    def reset(self) -> None:
        """Drops all tokens and their memory; the next ones may be of another batch."""
        self._heads, self._pending, self.is_initialized = [], None, False

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        indices = beam_idx.tolist()
        self._store_pending()
        if self._heads and len(indices) != self._heads[0].keys.batch:
            self._select(indices)
            return
        for cache in self.caches:
            cache.reorder(indices)

    def batch_repeat_interleave(self, repeats: int) -> None:
        if self._heads:
            self._select([b for b in range(self._heads[0].keys.batch) for _ in range(repeats)])

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        if self._heads:
            everything = torch.arange(self._heads[0].keys.batch)
            self._select(everything[indices.to("cpu")].tolist())

    def _select(self, indices: Sequence[int]) -> None:
        self._store_pending()
        self._heads = [heads.select(indices, heads.keys.capacity) for heads in self._heads]

    def __deepcopy__(self, memo: dict[int, Any]) -> KvqLayer:
        other = object.__new__(type(self))
        other.__dict__ = dict(self.__dict__)
        if self._heads:
            self._store_pending()
            other._select(range(self._heads[0].keys.batch))
            other._pending = None
        return other

    def check_crop(self, tokens_to_remove: int) -> None:
        """`Error` where `crop` could not drop so many tokens."""
        if tokens_to_remove > 0:
            raise _kvq.Error(f"crop takes the tokens to drop as a negative number, got {tokens_to_remove}")
        self._store_pending()
        length = max(self._stored + tokens_to_remove, 0)
        for cache in self.caches:
            for b in range(cache.batch):
                try:
                    check_border(cache, b, length, self.window)
                except _kvq.Error as error:
                    raise _kvq.Error(f"{cache.name}: {error}") from error

    def crop(self, tokens_to_remove: int) -> None:
        """Drops the newest tokens, -tokens_to_remove of them; see `Cache.truncate` for what cannot be. With a window that
        is full, these are at most those of a step."""
        self.check_crop(tokens_to_remove)
        length = max(self._stored + tokens_to_remove, 0)
        for cache in self.caches:
            cache.truncate(length, self.window)
