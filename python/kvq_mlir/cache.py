"""One side (keys or values) of one layer's KV cache."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _kvq
from .arguments import Array, check_threads, check_type, element_text, on, operand, output_array
from .cache_types import assign_layout, cache_type, has_window
from .checks import (
    check_border,
    check_gaps,
    check_indices,
    check_lengths,
    check_packed,
    check_positions,
    check_room,
    check_starts,
    check_tokens,
)
from .compiler import kernel
from .copies import copy_from, copy_sequences
from .devices import Cuda, Device, name_of, name_of_memory
from .format import Format, Segments
from .given import Given, stored_components
from .ir import append as _append_ir
from .ir import rebuild as _rebuild_ir
from .ir import shift as _shift_ir
from .pages import PageTable
from .placement import Placed, copy_page
from .ring import Ring
from .rope import Tables, check_rope, tables_of_append


@contextmanager
def _named(name: str | None) -> Iterator[None]:
    """Errors begin with the cache's name, if it has one."""
    try:
        yield
    except _kvq.Error as error:
        if name is None:
            raise
        raise _kvq.Error(f"{name}: {error}") from error


class Cache(Placed):
    """Up to `capacity` tokens of `batch` sequences, each token [kv_heads, head_dim].

    fmt: the format of quantized tokens, or of each segment of their channels. dtype: "f16", "bf16" or "f32", what exact
    tokens hold and what values are rounded to before they are quantized. exact_first: how many tokens at the start stay exact.
    recent: how many of the newest tokens stay exact at least; with groups of n tokens up to n - 1 more wait until their
    group is full. residual, instead of recent: tokens stay exact until there are so many, a multiple of n, and then are
    quantized all at once.
    page: quantized tokens lie in pages of so many tokens, a multiple of n, from one pool for all sequences. pages: how
    many the pool has; by default as many as all sequences need at their capacity. Pages are taken as tokens come and
    given back as they go. reorder and fork share them, and a shared page is copied before it is written to. page_table:
    the pages of each sequence, [batch, max_pages] integers, where the caller wants to choose: entry i is the page of
    quantized tokens i*page to (i+1)*page, and entries behind the last of them are never read. Pages are then neither
    taken nor shared: appends write where the table says, reorder and fork copy into the pages of their targets.
    ring: of each sequence no more than so many tokens are kept: the first keep_first ones (at least exact_first) and
    the newest. Older ones are written over, and attention sees them no more. capacity then bounds how long a sequence
    may become, and takes no memory. With pages, whole ones are written over: those of the first tokens stay, and the
    entries of the page table behind them are used again, one after the other.
    token_major: the rows of a token's heads follow each other, as engines store [tokens, kv_heads, head_dim], and not those
    of a head's tokens.
    given: arrays by name that the format asks for, as they are stored: with a static range "scales" (and "zeros"),
    [kv_heads, head_dim/g], with a two-level scale "outer_scales", [kv_heads], with a center "means",
    [kv_heads, head_dim] (1 for kv_heads serves all), with a rotation, if they are not all 1, "signs", [head_dim].
    side: "keys" or "values", what the cache is for: with `layout = auto` the layout is chosen by it, and attention takes
    it as nothing else. None for either.
    name: what errors call the cache, such as "layer 3, keys".
    fill: a byte that memory holds before it is written; by default it is left as the allocator gives it. No result
    depends on it.
    storage: arrays by component, all but those of `given`, to store in instead of new ones, such as an engine has: exactly
    as `storage()` would show them, on a GPU arrays of other packages. lengths: the tokens of each sequence that they hold
    already, as if appended here; with pages that needs a page_table.
    device: "cpu" (the default), "emulator", "cuda", "cuda:1", an `Emulator` or a `Cuda`: in whose memory the cache is
    (the emulator's is the processor's), and where its calls run. On a GPU tokens come as arrays on it; counts and page
    tables stay on the host, and are copied where a call needs them and they have changed.

    Attributes: batch, kv_heads, capacity, head_dim, format, dtype, exact_first, recent, residual, page, ring, keep_first,
    token_major, side and name as given, format with the layout that was chosen; device, None for the processor;
    why_planar, why a layout that was chosen has no tiles (None if it has, or none was chosen); type, the MLIR type;
    dynamic_type, the same for any capacity; has_window, whether new tokens wait exact (recent + n, or residual, above 1).

    Raises `Error`, a ValueError, with what was expected and found, for sizes below 1 (below 0 for capacity,
    exact_first, recent and pages), another dtype, a type that is not valid (a group that does not divide head_dim, a
    page that is not whole groups, say), pages or a page table without page, and for what is given: where it is missing,
    has no use, is of another shape, or holds values that are not allowed (a scale that is zero, negative or NaN, say).
    TypeError if fmt is no Format, and where something given is of another dtype; MemoryError where there is not enough.
    """

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        capacity: int,
        head_dim: int,
        fmt: Format | Segments,
        dtype: str = "f16",
        exact_first: int = 0,
        recent: int = 0,
        *,
        residual: int | None = None,
        page: int | None = None,
        pages: int | None = None,
        page_table: np.ndarray | None = None,
        ring: int | None = None,
        keep_first: int = 0,
        token_major: bool = False,
        given: Given | None = None,
        side: str | None = None,
        name: str | None = None,
        fill: int | None = None,
        device: str | Device | None = None,
        storage: Mapping[str, Any] | None = None,
        lengths: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(fmt, Segments):
            check_type("fmt", fmt, Format)
        self.name = name
        with _named(name):
            for what, size in {"batch": batch, "kv_heads": kv_heads, "head_dim": head_dim}.items():
                if size < 1:
                    raise _kvq.Error(f"expected {what} of at least 1, got {size}")
            for what, size in {"capacity": capacity, "exact_first": exact_first, "recent": recent}.items():
                if size < 0:
                    raise _kvq.Error(f"expected {what} of at least 0, got {size}")
            if dtype not in ("f16", "bf16", "f32"):
                raise _kvq.Error(f"expected dtype 'f16', 'bf16' or 'f32', got '{dtype}'")
            self.batch, self.kv_heads, self.capacity, self.head_dim = batch, kv_heads, capacity, head_dim
            self.dtype, self.exact_first, self.recent, self.side = dtype, exact_first, recent, side
            self.residual, self.page, self.ring, self.keep_first = residual, page, ring, keep_first
            self.token_major = bool(token_major)
            parameters = (dtype, exact_first, recent, residual, page, ring, keep_first, self.token_major)
            type_ = cache_type(batch, kv_heads, capacity, head_dim, fmt, *parameters)
            fmt, self.why_planar = assign_layout(type_, fmt, side)
            self.format = fmt
            self._held = exact_first + recent  # tokens that are never quantized
            self._flush = residual or fmt.tokens  # tokens that are quantized together
            self.has_window = has_window(fmt, recent, residual)
            self.type, self.dynamic_type = (  # one kernel serves every capacity
                cache_type(batch, kv_heads, tokens, head_dim, fmt, *parameters) for tokens in (capacity, "?")
            )
            if page is None and not (pages is None and page_table is None):
                raise _kvq.Error("pages and page_table are for a cache with a page size, got page = None")
            self.device = self._find_device(device)
            components = fmt.components(self.type, capacity, pages)
            self._storage = self._make_storage(components, fill, storage)
            self._given = dict(stored_components(fmt, self.dynamic_type, given))
            for component, array in self._given.items():
                self._put(component, array)
            self._arrays = tuple(self._storage.values())
            # One of each segment: exact ones write tokens over that others still hold.
            self._rings = (
                ()
                if ring is None
                else tuple(Ring(batch, ring, keep_first, exact_first, part, page) for part in fmt.formats)
            )
            self._pages = None if page is None else self._make_pages(components[0].shape[0], page_table)
            self._lengths = np.zeros(batch, np.int64)
            self._flushed = np.zeros(batch, np.int64)
            self._mirrors = self._make_mirrors()
            if lengths is not None:
                self._adopt(lengths, page_table is not None)

    def _make_pages(self, pages: int, table: np.ndarray | None) -> PageTable:
        if self._rings:  # those of all segments have as many pages
            stay, around = self._rings[0].kept // self.page, self._rings[0].rows // self.page
            return PageTable(self.batch, stay + around, self.page, pages, table, stay)
        beyond = max(self.capacity - self._held, 0)
        rows = beyond // self._flush * self._flush
        return PageTable(self.batch, -(-rows // self.page), self.page, pages, table)

    def __repr__(self) -> str:
        return f"<Cache {self.type} lengths={self._lengths.tolist()}>"

    @property
    def lengths(self) -> np.ndarray:
        """Tokens held by each sequence, int64 [batch]; a copy."""
        return self._lengths.copy()

    @property
    def flushed(self) -> np.ndarray:
        """Quantized tokens of each sequence, int64 [batch]; a copy. 0 for exact formats."""
        return self._flushed.copy()

    @property
    def page_table(self) -> np.ndarray | None:
        """The pages of each sequence, int64 [batch, max_pages]; a copy. None without pages."""
        return None if self._pages is None else self._pages.table.copy()

    @property
    def _tables(self) -> tuple[np.ndarray | Mirror, ...]:
        """The page table as kernels take it, if there is one."""
        return () if self._pages is None else (self._mirrors.get("table", self._pages.table),)

    @property
    def _stored(self) -> np.ndarray:
        """Tokens of each sequence behind the first ones that are stored as codes (as values, in exact formats)."""
        return self._lengths if self.format.is_exact else self._flushed

    @property
    def nbytes(self) -> int:
        """Bytes of all storage."""
        return sum(array.nbytes for array in self._arrays)

    def storage(self) -> dict[str, np.ndarray]:
        """The arrays that the cache is stored in, by component; not copies.

        In order, each where it is needed, with r quantized rows: codes int8 [batch, kv_heads, r, head_dim*bits/8] (for
        exact formats values [batch, kv_heads, r, head_dim] of the dtype instead), scales and zeros
        [batch, kv_heads/h, r/n, head_dim/g] (where the range is static [1, kv_heads/h, 1, head_dim/g]; records int8
        [batch, kv_heads, r/n, bytes] instead of what a layout puts there; with blocks of t tokens codes have r/t rows of
        so many more bytes), first
        [batch, kv_heads, exact_first, head_dim], recent [batch, kv_heads, recent+n-1, head_dim]. Rows of tokens that
        are not there yet hold any bytes.
        bf16 and 8-bit floats show as their bits. With pages, the arrays before first are pools: pages in place of
        batch, and r = page. With token_major their second and third axes change places. With `Segments` there are the components of each segment, named "codes.0", "scales.0",
        "values.1"; with a row of all segments one "records" instead.
        """
        return dict(self._storage)

    def append(
        self,
        x: np.ndarray,
        counts: Sequence[int] | None = None,
        *,
        starts: Sequence[int] | None = None,
        rope: Tables | None = None,
        rope_style: str = "half",
        rope_segment: int | None = None,
        count_saturated: bool = False,
        threads: int = 1,
    ) -> np.ndarray | None:
        """Quantizes and stores new tokens x [batch, kv_heads, tokens, head_dim], float16, bfloat16 or
        float32.

        counts: how many of them belong to each sequence, the first ones; the rest is padding and is not read. Default:
        all. Tokens may also be packed, [total, kv_heads, head_dim], with starts, batch + 1 ascending rows: those of
        sequence b are rows starts[b] to starts[b + 1], and others are not read.

        rope: for keys that RoPE has not turned yet, tables (cos, sin) as `rope_tables` makes them, with a row for each
        position: each token is turned by the row of its position, its number in its sequence, in float32, before it is
        rounded to dtype and stored, in the same launch. rope_style: "half" or "interleaved", which channels are turned
        together: c and c + n/2, or 2c and 2c + 1. rope_segment: which of several `Segments` is turned, by itself.

        count_saturated: return how many of the elements that this call quantizes their codes cannot hold, int64
        [batch, kv_heads]; tokens that wait in a window are counted when they leave it. Exact formats have no codes.
        threads: how many work on the call, each on sequences, KV heads and, without a window or a ring, tokens of its
        own. More than one needs LLVM's OpenMP library. The bytes are the same for any number.

        Raises `Error`, a ValueError, with what was expected and found, and writes nothing then: for a wrong shape,
        counts beyond the tokens, fewer threads than 1, a sequence that would outgrow the capacity, a pool without enough free pages, a page
        that the given table does not have, tables that have no row for a position or do not fit the rows, tables for
        values or for keys with rope = pre. TypeError for another dtype.
        """
        device = self._device_for(x)
        x = on(device, "the tokens", x)
        element = element_text("the tokens", x)
        check_threads(threads, device)
        if count_saturated and self.format.is_exact:
            raise _kvq.Error("codes = none keeps elements exact: there is nothing that saturates")
        packed = starts is not None
        bounds = check_starts(self, x, counts, starts) if packed else check_tokens(self, x, counts)
        new = np.diff(bounds) if packed else bounds
        check_room(self, new)
        last = (self._lengths + new - 1)[new > 0]
        tables = tables_of_append(self, rope, rope_style, rope_segment, last, device)
        self._prepare_pages(new, device)
        compiled = kernel(
            _append_ir.append,
            (self.batch, self.kv_heads, self.head_dim),
            element,
            self.dynamic_type,
            self.has_window,
            self._pages is not None,
            packed,
            bool(count_saturated),
            (tables[0].shape[1], rope_style) if tables else None,
            rope_segment,
            openmp=threads > 1,
            device=device,
        )
        flushed = (self._counts("_flushed"),) if self.has_window else ()
        where = (*self._tables, bounds) if packed else (bounds, *self._tables)
        saturated = (np.zeros((self.batch, self.kv_heads), np.int64),) if count_saturated else ()
        arguments = (operand(x), *self._arrays, self._counts("_lengths"), *flushed, *where, *tables, *saturated)
        compiled.invoke("append", arguments, None if threads == 1 else threads)
        self._flushed = self._flushed_after(new)
        self._lengths += new
        for each in self._rings:
            each.advance(self._lengths, self._flushed)
        return saturated[0] if saturated else None

    def store(
        self,
        x: np.ndarray,
        slots: Sequence[int],
        lengths: Sequence[int],
        *,
        positions: Sequence[int] | None = None,
        rope: Tables | None = None,
        rope_style: str = "half",
        rope_segment: int | None = None,
        threads: int = 1,
    ) -> None:
        """Quantizes and stores packed tokens x [total, kv_heads, head_dim] in slots of the pool.

        A slot is page * page size + row, of one token at most. A negative slot leaves its token out.
        lengths: the tokens of each sequence from now on. positions: with rope the position of each token, which its slot
        does not say. rope, rope_style, rope_segment, threads: as for append. For caches with a given page table, groups of one token and
        no exact windows; that the slots are those of the table's pages is up to the caller. Raises `Error`, a
        ValueError, with what was expected and found, and writes nothing then: for another cache, a wrong shape, a slot
        beyond the pool or given twice, a length beyond the capacity, positions without tables or tables without them, a
        position that is negative or has no row in the tables.
        """
        device = self._device_for(x)
        x = on(device, "the tokens", x)
        element = element_text("the tokens", x)
        check_threads(threads, device)
        if self._pages is None or not self._pages.is_given:
            raise _kvq.Error("expected a cache with a given page table: slots are rows of its pages")
        check_packed(self, x)
        found = np.asarray(slots)
        if found.shape != (len(x),) or (found.size and found.dtype.kind not in "iu"):
            raise _kvq.Error(f"expected {len(x)} integer slots, got {found.dtype} of shape {found.shape}")
        if found.size and found.max() >= self._pages.pages * self.page:
            raise _kvq.Error(f"expected slots below {self._pages.pages * self.page}, got {found.max()}")
        slot, times = np.unique(found[found >= 0], return_counts=True)
        if times.size and times.max() > 1:
            raise _kvq.Error(f"expected slots of one token each, got slot {slot[times > 1][0]} for {times.max()}")
        kept = check_lengths(self, lengths)
        if kept.max() > self.capacity:
            raise _kvq.Error(f"expected lengths of at most the capacity {self.capacity}, got {kept.max()}")
        places = check_positions(positions, found >= 0, rope is not None)
        tables = tables_of_append(self, rope, rope_style, rope_segment, places[found >= 0], device)
        signature = (self.kv_heads, self.head_dim), element, self.dynamic_type
        turning = (tables[0].shape[1], rope_style) if tables else None
        compiled = kernel(_append_ir.store, *signature, turning, rope_segment, openmp=threads > 1, device=device)
        turned = (places, *tables) if tables else ()
        arguments = (operand(x), *self._arrays, found.astype(np.int64), *turned)
        compiled.invoke("append", arguments, None if threads == 1 else threads)
        self._lengths[:] = kept
        self._flushed[:] = 0 if self.format.is_exact else kept
        for each in self._rings:
            each.advance(self._lengths, self._flushed)

    def _flushed_after(self, new: np.ndarray) -> np.ndarray:
        """Quantized tokens of each sequence once it has so many new ones; 0 for exact formats."""
        if self.format.is_exact:
            return self._flushed
        beyond = np.maximum(self._lengths + new - self._held, 0)
        return np.maximum(self._flushed, beyond // self._flush * self._flush)

    def _prepare_pages(self, new: np.ndarray, device: Device | None) -> None:
        """Pages for the tokens to come, none of which another sequence has too."""
        if self._pages is None:
            return
        after = self._lengths + new if self.format.is_exact else self._flushed_after(new)
        self._copy_pages(self._pages.prepare(self._stored, after), device)

    def _copy_pages(self, copies: list[tuple[int, int]], device: Device | None) -> None:
        for source, target in copies:
            for pool in self._pools():
                copy_page(pool, source, target, device)

    def _pools(self) -> list[np.ndarray]:
        """The arrays with pages as their first axis."""
        kinds = {name: name.partition(".")[0] for name in self._storage if name not in self._given}
        return [self._storage[name] for name, kind in kinds.items() if kind not in ("first", "recent")]

    def truncate(self, lengths: int | Sequence[int], window: int | None = None) -> None:
        """Drops the newest tokens: each sequence keeps at most its first `lengths` (one number, or one per sequence).

        Within the exact tail, tokens dropped leave no trace in what later appends store. A deeper cut leaves fewer
        exact tokens than the window holds, until appends have filled it again; with groups of several tokens it has to
        lie on the border of a group. A ring cannot go back to tokens that it has written over.
        window: of a ring, how many of the newest tokens have to be left, where attention will see no more; tokens before
        them are then whatever the ring holds in their places. Default: as many as the ring keeps.
        Raises `Error`, a ValueError, with what was expected and found, and changes nothing then.
        """
        kept = check_lengths(self, lengths)
        if window is not None and (self.ring is None or window < 1):
            raise _kvq.Error(f"expected a window of at least 1 token of a ring, got {window} with ring = {self.ring}")
        for b, length in enumerate(kept.tolist()):
            check_border(self, b, length, window)
        self._lengths[:], self._flushed[:] = self._counts_within(kept)
        if self._pages is not None:
            self._pages.release(self._stored)
        for each in self._rings:
            each.cut(self._lengths)

    def _counts_within(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and flushed counts of sequences of at most `kept` tokens."""
        return np.minimum(self._lengths, kept), np.minimum(self._flushed, np.maximum(kept - self.exact_first, 0))

    def reorder(self, indices: Sequence[int]) -> None:
        """Sequence b becomes a copy of what sequence indices[b] was: codes, metadata, exact tokens and counts.

        In place, and only rows that hold something are copied; a sequence that keeps its index is not touched. Pages
        that the cache takes by itself are shared, not copied. Where sequences change places, one at a time waits in a
        cache of one sequence: memory peaks at nbytes plus nbytes / batch. Raises `Error`, a ValueError, for an index
        out of range, and changes nothing then.
        """
        sources = check_indices(self, indices, self.batch)
        copy_sequences(self, sources)
        self._lengths[:], self._flushed[:] = self._lengths[sources], self._flushed[sources]
        self._follow(np.array(sources))

    def _follow(self, sources: np.ndarray) -> None:
        """Pages and ring, once sequence b has become sequence sources[b]."""
        if self._pages is not None:
            self._pages.share(sources, self._stored)
        for each in self._rings:
            each.copy(sources)
            each.cut(self._lengths)

    def fork(self, source: int, targets: Sequence[int], length: int | None = None) -> None:
        """Sequences `targets` become copies of the first `length` tokens of sequence `source` (default: of all it has).

        `length` obeys what `truncate` asks for; the source keeps its tokens. Raises `Error`, a ValueError, with what
        was expected and found, and changes nothing then.
        """
        (source,) = check_indices(self, [source])
        targets = check_indices(self, targets)
        if source in targets:
            raise _kvq.Error(f"expected targets other than the source, sequence {source}, got {targets}")
        kept = self._lengths if length is None else check_lengths(self, [length] * self.batch)
        check_border(self, source, int(kept[source]))
        lengths, flushed = self._counts_within(kept)
        copy_from(self, self, dict.fromkeys(targets, source), (lengths, flushed))
        self._lengths[targets], self._flushed[targets] = lengths[source], flushed[source]
        sources = np.arange(self.batch)
        sources[targets] = source
        self._follow(sources)

    def shift(
        self,
        begin: int | Sequence[int],
        count: int | Sequence[int],
        rope: Tables | None = None,
        rope_style: str = "half",
    ) -> None:
        """Drops tokens begin to begin + count of each sequence (one number, or one per sequence) and closes the gap.

        Those behind move forward, their codes and metadata as they are: values do not change. This is for caches that
        do not depend on positions: values, keys without RoPE, and keys before it (`rope = pre`). Dropped are quantized
        tokens, whole groups counted from the end of the exact first ones; with exact formats any.
        rope: for keys after RoPE, tables (cos, sin) as `rope_tables` makes them, with more than `count` rows: what moves
        is turned back by count positions, and quantized again. rope_style: "half" or "interleaved", which channels are
        turned together: c and c + n/2, or 2c and 2c + 1.
        Raises `Error`, a ValueError, with what was expected and found, and changes nothing then; for rings always.
        TypeError for tables that are not float32.
        """
        begins, counts = check_gaps(self, begin, count)
        tables = ()
        if rope is not None:
            if self.format.is_before_rope:
                raise _kvq.Error("keys before RoPE do not depend on positions: expected no tables with rope = pre")
            if isinstance(self.format, Segments):
                raise _kvq.Error("RoPE turns the first channels of rows of one format: expected no tables with segments")
            tables = check_rope(rope, rope_style, self.head_dim, int(counts.max()) + 1, f"moves by {counts.max()} tokens")
        if self._pages is not None:
            rows = np.where(counts > 0, begins - self.exact_first, self._stored)
            self._copy_pages(self._pages.own(rows, self._stored), self.device)
        compiled = kernel(
            _shift_ir.shift,
            self.batch,
            self.dynamic_type,
            self.has_window,
            self._pages is not None,
            (tables[0].shape[1], rope_style) if tables else None,
            device=self.device,
        )
        flushed = (self._counts("_flushed"),) if self.has_window else ()
        lengths = self._counts("_lengths")
        compiled.invoke("shift", (*self._arrays, begins, counts, lengths, *flushed, *self._tables, *tables))
        self._lengths -= counts
        if not self.format.is_exact:
            self._flushed -= counts
        if self._pages is not None:
            self._pages.release(self._stored)

    def dequantize(self, out: Array | None = None) -> Array:
        """All tokens as float32 [batch, kv_heads, longest length, head_dim], zero beyond each sequence's length and
        where a ring does not hold them.

        Rebuilt by compiled code where the cache is, in one launch (one for each segment); exact tokens are converted too.
        Returns `out`, C-contiguous, on the cache's device, if it is given, else a new array, a `CudaArray` on a GPU. Raises
        `Error`, a ValueError, if `out` is of another shape or type, elsewhere, or not C-contiguous and writable.
        """
        shape = (self.batch, self.kv_heads, int(self._lengths.max()), self.head_dim)
        if out is None and isinstance(self.device, Cuda):
            out = self.device.empty(shape, np.float32)
        device = self.device if out is None else self._device_for(out)
        out = output_array(out, shape, device)
        self._rebuild(out, "f32", True, device)
        return out

    def to_exact(self, into: Cache | None = None, *, device: Device | None = None) -> Cache:
        """The tokens in a cache that keeps them exact, in this one's dtype: with attention over two of these, the way
        without fusion.

        Rebuilt by compiled code where the cache is, in one launch (one for each segment). into: a cache that an earlier
        call has returned, to be written anew; only its tokens are. device: where this runs, in the cache's memory: another
        emulator, another stream. Raises `Error`, a ValueError, for a ring, of which
        tokens are missing, for segments of which only some keep keys before RoPE, and if `into` is another kind of cache.
        """
        if self._rings:
            raise _kvq.Error(f"expected a cache that holds all tokens, got ring = {self.ring}")
        formats = self.format.formats
        if len({fmt.is_before_rope for fmt in formats}) > 1:
            raise _kvq.Error("expected keys before RoPE in all segments or in none")
        fmt = Format("codes = none" + ", rope = pre" * self.format.is_before_rope)
        if into is None:
            size = self.batch, self.kv_heads, self.capacity, self.head_dim
            into = Cache(*size, fmt, self.dtype, side=self.side, name=self.name, device=self.device)
        check_type("into", into, Cache)
        expected = cache_type(self.batch, self.kv_heads, "?", self.head_dim, fmt, self.dtype)
        if into.dynamic_type != expected or name_of_memory(into.device) != name_of_memory(self.device):
            raise _kvq.Error(
                f"expected a cache of type {expected} in the memory of '{name_of(self.device)}', got {into.dynamic_type} "
                f"in that of '{name_of(into.device)}'"
            )
        if into.capacity < self._lengths.max():
            raise _kvq.Error(f"expected room for {self._lengths.max()} tokens, got a capacity of {into.capacity}")
        self._rebuild(into._arrays[0], self.dtype, False, device or self.device)
        into._lengths[:] = self._lengths
        return into

    def _rebuild(self, out: Any, element: str, is_whole: bool, device: Device | None) -> None:
        """Writes all tokens to out [batch, kv_heads, tokens, head_dim]; is_whole: zeros to the rows without one, too."""
        for index, (begin, end, type_, components) in enumerate(self._parts()):
            fmt = self.format.formats[index]
            # An exact format keeps its tokens where others keep codes, and has no windows.
            dim, has_windows = end - begin, not fmt.is_exact
            compiled = kernel(
                _rebuild_ir.rebuild,
                (self.batch, self.kv_heads, dim, self.dtype),
                type_,
                (fmt.for_heads(self.kv_heads).core, fmt.rotated(dim)),
                fmt.tokens,
                fmt.row_types(fmt.rows_type(self.kv_heads, dim)),
                (has_windows and self.exact_first > 0, has_windows and self.has_window),
                self.exact_first if has_windows else 0,
                self._pages is not None,
                self.keep_first if self._rings else None,
                _rebuild_ir.Rows(element, self.head_dim, begin, is_whole),
                device=device,
            )
            arrays = (self._arrays[component] for component in components)
            stored = "_lengths" if fmt.is_exact else "_flushed"
            bounds = ()
            if self._rings:
                rows = self._rings[index].row_bounds(self._lengths, getattr(self, stored))
                bounds = (*rows, self._rings[index].oldest(self._lengths))
            counts = self._counts("_lengths"), self._counts(stored)
            compiled.invoke("rebuild", (*arrays, *counts, *bounds, *self._tables, out))

    def _parts(self) -> list[tuple[int, int, str, Sequence[int]]]:
        """Of each segment, or of the whole, the channels, and the type and components of a cache of its own."""
        if not isinstance(self.format, Segments):
            return [(0, self.head_dim, self.dynamic_type, range(len(self._arrays)))]
        caches = _kvq.segment_caches(self.dynamic_type)
        return [(begin, end, *each) for (begin, end, _), each in zip(self.format.parts, caches, strict=True)]
