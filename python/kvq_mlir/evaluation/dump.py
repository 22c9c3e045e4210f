"""Dumps of an engine's cache, read as it stores them: a JSON file that says what they are, and a file of bytes.

    {"engine": "llama.cpp", "keys": "ggml.q8_0", "values": "ggml.q4_0",
     "kv_heads": 3, "head_dim": 64, "tokens": 200, "data": "cache.safetensors"}

keys, values: a preset (`python -m kvq_mlir formats`), or "f16", "bf16" or "f32". data: a .npz or .safetensors file beside
it, with tensors of any type, taken as bytes:

    llama.cpp   layers.N.k and layers.N.v, [cells, bytes of a row]: a cell holds the rows of all KV heads of a token, one
                after the other (the tensors cache_k_lN and cache_v_lN; values not transposed, as with flash attention).
                Tokens are in the first cells, in order.
    vllm        layers.N.kv, [2, blocks, block size, kv_heads, bytes of a row], keys and then values, as its FlashAttention
                backend has them. The JSON file has two more entries: "block_size", and "block_table", the blocks of the
                sequence in order. Presets with static scales find them under names of checkpoints (see `calibrate`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import _kvq
from ..cache import Cache
from ..cache_types import SIDES
from ..fixtures import Layer
from ..format import Format, Segments
from ..given import Given
from ..metrics import Rebuilt
from ..policy import Choice
from ..rope import Rope
from ..text import InputError
from .finding import Found, exact
from .policies import Named, uniform
from .ranges import Ranges
from .recording import Recording, open_tensors

ENGINES = ("llama.cpp", "vllm")
NUMBERS = ("kv_heads", "head_dim", "tokens")
EXACT = ("f16", "bf16", "f32")


@dataclass(frozen=True)
class Dump:
    """What a dump gives back. formats: by side, as text. keys, values: of each layer, [kv_heads, tokens, head_dim]
    float32."""

    source: str
    formats: dict[str, str]
    tokens: int
    keys: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)

    @property
    def policy(self) -> Named:
        """What its caches are, under the name "as dumped"."""
        entries = [f"format = #kvq.format<{self.formats[side]}>" for side in SIDES]
        entries = [text.replace("#kvq.format<[", "#kvq.segments<[") for text in entries]
        return Named("as dumped", uniform("", *entries).text)

    def recording(self, queries: list[np.ndarray]) -> Recording:
        """Its keys and values with queries of each layer; `InputError` where they do not fit."""
        if len(queries) != len(self.keys):
            raise InputError(f"{self.source}: expected queries of its {len(self.keys)} layers, found {len(queries)}")
        return Recording(f"dump {self.source}", [Layer(*each) for each in zip(queries, self.keys, self.values)])

    def check(self, recording: Recording) -> None:
        """`InputError` where these are not the keys and values of the same tokens."""
        expected, found = (len(x) and (len(x), *x[0].shape) for x in (self.keys, [layer.k for layer in recording.layers]))
        if expected != found:
            raise InputError(
                f"{self.source}: expected tensors of its [layers, kv_heads, tokens, head_dim] {list(expected)}, found "
                f"{list(found)}"
            )

    def find(
        self,
        choice: Choice,
        x: np.ndarray,
        positions: np.ndarray,
        dtype: str,
        given: Given | None = None,
        rope: Rope | None = None,
    ) -> Found:
        """As `finding.find` does, what the engine stored of x instead of what kvq would."""
        first, end = choice.heads
        rebuilt = (self.keys if choice.side == "keys" else self.values)[choice.layer][first:end]
        return Found(Rebuilt(exact(x, dtype), rebuilt), None, 0)


def read_dump(path: Path) -> Dump:
    """`InputError` for what cannot be read, entries that are missing, wrong or without use, an unknown preset, tensors that
    are missing (with those that were found) or of another size."""
    entries = _read_entries(path)
    engine, tokens = entries["engine"], entries["tokens"]
    data = path.parent / entries["data"]
    opened = open_tensors([data])
    kept = {side: _parse(entries[side], f"{path}: {side}") for side in SIDES}
    dump = Dump(path.name, {side: str(fmt) for side, (fmt, _) in kept.items()}, tokens)
    ranges = Ranges([data]) if any(fmt.is_static for fmt, _ in kept.values() if isinstance(fmt, Format)) else None
    layers = _layers(opened.names, engine, path)
    for layer in range(layers):
        for index, side in enumerate(SIDES):
            fmt, dtype = kept[side]
            choice = Choice(layer, side, (0, entries["kv_heads"]), fmt)
            given = ranges.given(choice, entries["kv_heads"], entries["head_dim"]) if ranges and fmt.is_static else None
            where = f"{path}: layer {layer}, {side}"
            if engine == "vllm":
                whole = opened.read(f"layers.{layer}.kv")
                if whole.ndim == 0 or len(whole) != 2:
                    raise InputError(f"{where}: expected [2, blocks, ...], found shape {list(whole.shape)}")
                cache = _paged(choice, _bytes(whole[index]), entries, dtype, given, where)
            else:
                rows = opened.read(f"layers.{layer}.{side[0]}")
                cache = _rows(choice, _bytes(rows), entries, dtype, given, where)
            rebuilt = cache.dequantize()[0]
            _check_finite(rebuilt, where)
            (dump.keys if side == "keys" else dump.values).append(rebuilt)
    return dump


def _read_entries(path: Path) -> dict:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--dump: cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"--dump: {path} is no JSON: {error}") from error
    if not isinstance(entries, dict) or entries.get("engine") not in ENGINES:
        found = repr(entries.get("engine")) if isinstance(entries, dict) else type(entries).__name__
        raise InputError(f"{path}: expected an object with \"engine\", one of {', '.join(ENGINES)}, found {found}")
    expected = {"engine": str, "keys": str, "values": str, "data": str} | dict.fromkeys(NUMBERS, int)
    if entries["engine"] == "vllm":
        expected |= {"block_size": int, "block_table": list}
    if set(entries) != set(expected):
        raise InputError(f"{path}: expected the entries {', '.join(expected)}, found {', '.join(entries)}")
    for name, kind in expected.items():
        if type(entries[name]) is not kind or (kind is int and entries[name] < 1):
            what = {int: "a number of at least 1", str: "a string", list: "a list"}[kind]
            raise InputError(f"{path}: {name}: expected {what}, found {entries[name]!r}")
    return entries


def _parse(name: str, where: str) -> tuple[Format | Segments, str]:
    """The format, and what exact elements are."""
    if name in EXACT:
        return Format("codes = none"), name
    try:
        return Format.preset(name), "f16"
    except _kvq.Error as error:
        raise InputError(f"{where}: {error}") from error


def _layers(names: list[str], engine: str, path: Path) -> int:
    """How many there are, all of them complete."""
    parts = ("kv",) if engine == "vllm" else ("k", "v")
    layers = 0
    while all(f"layers.{layers}.{part}" in names for part in parts):
        layers += 1
    here = {name for name in names if name.startswith("layers.") and name.rsplit(".", 1)[-1] in parts}
    if not layers or len(here) != layers * len(parts):
        expected = " and ".join(f"layers.N.{part}" for part in parts)
        raise InputError(f"{path}: expected tensors {expected} for layers from 0 on, found {', '.join(names) or 'none'}")
    return layers


def _bytes(x: np.ndarray) -> np.ndarray:
    """The bytes of each row along the last axis."""
    return np.ascontiguousarray(x).view(np.uint8)


def _rows(choice: Choice, x: np.ndarray, entries: dict, dtype: str, given: Given | None, where: str) -> Cache:
    """A token's heads after each other, tokens in order."""
    tokens = entries["tokens"]
    memory = _Memory(choice, entries, dtype, given, where, capacity=tokens)
    row = memory.array.nbytes // tokens
    if x.ndim != 2 or x.shape[1] != row or len(x) < tokens:
        raise InputError(
            f"{where}: expected at least {tokens} cells of {row} bytes, {choice.format}, found shape {list(x.shape)}"
        )
    return memory.adopt(x[:tokens], tokens)


def _paged(choice: Choice, x: np.ndarray, entries: dict, dtype: str, given: Given | None, where: str) -> Cache:
    """Blocks of tokens anywhere in a pool."""
    tokens, size, table = entries["tokens"], entries["block_size"], entries["block_table"]
    needed = -(-tokens // size)
    if any(type(block) is not int or not 0 <= block < len(x) for block in table) or len(table) < needed:
        raise InputError(f"{where}: expected a block_table of at least {needed} blocks below {len(x)}, found {table}")
    pool = dict(page=size, pages=len(x), page_table=np.array([table[:needed]], np.int64))
    memory = _Memory(choice, entries, dtype, given, where, capacity=needed * size, **pool)
    *outer, elements = memory.array.shape
    expected = [*outer, elements * memory.array.itemsize]
    if list(x.shape) != expected:
        raise InputError(f"{where}: expected blocks as {expected} bytes, {choice.format}, found {list(x.shape)}")
    return memory.adopt(x, tokens)


class _Memory:
    """Aligned memory for a cache whose rows interleave heads, which bytes of a file are copied to."""

    def __init__(self, choice: Choice, entries: dict, dtype: str, given: Given | None, where: str, **more):
        sizes = dict(batch=1, kv_heads=entries["kv_heads"], head_dim=entries["head_dim"], dtype=dtype)
        self._arguments = dict(fmt=choice.format, given=given, side=choice.side, token_major=True, **sizes, **more)
        self._where = where
        stored = {name: array for name, array in self._make().storage().items() if name not in (given or {})}
        if len(stored) != 1:
            raise InputError(
                f"{where}: expected a preset that is stored in one piece, found {', '.join(stored)} of '{choice.format}'"
            )
        ((self.name, self.array),) = stored.items()

    def adopt(self, x: np.ndarray, tokens: int) -> Cache:
        """The cache, which holds these bytes."""
        self.array.view(np.uint8).reshape(-1)[:] = x.reshape(-1)
        return self._make(storage={self.name: self.array}, lengths=[tokens])

    def _make(self, **more) -> Cache:
        try:
            return Cache(**self._arguments, **more)
        except _kvq.Error as error:
            raise InputError(f"{self._where}: {error}") from error


def _check_finite(x: np.ndarray, where: str) -> None:
    wrong = ~np.isfinite(x)
    if wrong.any():
        head, token, channel = (int(i) for i in np.unravel_index(int(wrong.argmax()), x.shape))
        raise InputError(
            f"{where}: {int(wrong.sum())} elements are not finite, the first {x[head, token, channel]} of head {head}, "
            f"token {token}, channel {channel}"
        )
