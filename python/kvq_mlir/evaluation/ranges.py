"""Static ranges on disk: safetensors files with the names that checkpoints use for scales of keys and values.

A scale is what a code is multiplied by. kvq writes `model.layers.N.self_attn.k_scale` and `v_scale`, the names of
compressed-tensors checkpoints, [kv_heads / h, head_dim / g] for groups of h heads and g channels, and beside them what
these have no names for: `k_min` (a real minimum), `k_zero_point`, `k_mean`, `k_outer_scale`. It reads these and

    model.layers.N.self_attn.attn.k_scale                 as vLLM calls its parameters
    model.layers.N.self_attn.k_proj.k_scale               ModelOpt
    model.layers.N.self_attn.k_proj.output_scale          Quark
    model.layers.N.self_attn.kv_scale                     older ones, for keys and values
    transformer.layers.N.attention.kv_cache_scaling_factor    TensorRT-LLM, for keys and values
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import _kvq
from ..calibration import calibrate
from ..format import DTYPES, Component, Format
from ..given import Given
from ..policy import Choice
from ..text import InputError
from .finding import stored_rows
from .measure import Givens
from .recording import Recording, open_tensors
from .safetensors import TensorFile, save

_NAMES = tuple(
    re.compile(rf"(?:^|\.)layers\.(\d+)\.{rest}$")
    for rest in (
        r"self_attn\.(?:attn\.)?([kv])_(scale|min|zero_point|mean|outer_scale)",
        r"self_attn\.([kv])_proj\.\2_(scale)",
        r"self_attn\.([kv])_proj\.output_(scale)",
        r"self_attn\.(k)(v)_scale",
        r"attention\.(k)(v)_cache_scaling_factor",
    )
)
SIDES = {"k": "keys", "v": "values"}
# Components of caches, and what files call them.
COMPONENTS = {"scales": "scale", "outer_scales": "outer_scale", "means": "mean"}
LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": float(np.finfo(np.float32).max)}


class _Entry(NamedTuple):
    name: str
    file: TensorFile


def parse_name(name: str) -> list[tuple[int, str, str]]:
    """What a tensor is: (layer, "keys" or "values", "scale" and so on), both sides of one that serves both; empty for
    tensors of other kinds."""
    for pattern in _NAMES:
        match = pattern.search(name)
        if match is not None:
            layer, side, what = int(match[1]), match[2], match[3]
            if what == "v":  # keys and values
                return [(layer, each, "scale") for each in SIDES.values()]
            return [(layer, SIDES[side], what)]
    return []


class Ranges:
    """What files hold for caches. paths: safetensors files, or folders of them, such as a checkpoint's; or the one .npz file
    that `plan` writes beside a policy, of arrays as `Cache` takes them, such as "7.keys.means".

    `InputError` for what cannot be read, where no tensor has such a name (with those that were found), and where two give
    the same thing.
    """

    def __init__(self, paths: Sequence[Path]):
        self.source = ", ".join(map(str, paths))
        self._as_stored: dict[tuple[int, str], dict[str, np.ndarray]] = {}
        self._entries: dict[tuple[int, str, str], _Entry] = {}
        self.metadata: dict[str, str] = {}
        if [path.suffix for path in paths] == [".npz"]:
            self.files = list(paths)
            self._read_as_stored()
            return
        self.files = [
            file for path in paths for file in (sorted(path.glob("*.safetensors")) if path.is_dir() else [path])
        ]
        if not self.files:
            raise InputError(f"--ranges: {self.source} holds no .safetensors file")
        found = []
        for file in map(TensorFile, self.files):
            self.metadata |= file.metadata
            for name in file:
                found.append(name)
                for key in parse_name(name):
                    if key in self._entries:
                        layer, side, what = key
                        raise InputError(
                            f"{self.source}: layer {layer}, {side}: both '{self._entries[key].name}' and '{name}' give its "
                            f"{what}"
                        )
                    self._entries[key] = _Entry(name, file)
        if not self._entries:
            names = ", ".join(found[:8]) + (f" and {len(found) - 8} more" if len(found) > 8 else "")
            raise InputError(
                f"{self.source}: expected scales such as model.layers.0.self_attn.k_scale, found {names or 'no tensors'}"
            )

    def _read_as_stored(self) -> None:
        opened = open_tensors(self.files)
        for name in opened.names:
            match = re.fullmatch(r"(\d+)\.(keys|values)\.(\w+)", name)
            if match is None:
                raise InputError(f"{self.source}: expected arrays such as 7.keys.means, found {', '.join(opened.names)}")
            self._as_stored.setdefault((int(match[1]), match[2]), {})[match[3]] = opened.read(name)

    def givens(self, choices: Iterable[Choice], kv_heads: int, head_dim: int) -> Givens:
        """For the caches of a policy that ask for something."""
        needed = [choice for choice in choices if _needed(choice.format, kv_heads, head_dim)]
        return {(choice.layer, choice.side): self.given(choice, kv_heads, head_dim) for choice in needed}

    def given(self, choice: Choice, kv_heads: int, head_dim: int) -> Given:
        """What `Cache` takes for a choice. `InputError`, naming layer and side, for ranges that are missing, zero,
        negative, NaN or infinite, of a wrong number, or of other codes than the file says."""
        where = f"{self.source}: layer {choice.layer}, {choice.side}"
        _check_choice(choice, kv_heads, where)
        if (choice.layer, choice.side) in self._as_stored:
            return self._as_stored[choice.layer, choice.side]  # the cache checks it, and names layer and side
        codes = self.metadata.get(f"kvq.codes.{choice.side}")
        if codes is not None and codes != choice.format.codes:
            raise InputError(f"{where}: these are ranges for codes = {codes}, expected {choice.format.codes}")
        given = {}
        for component in _needed(choice.format, kv_heads, head_dim):
            what = file_name(component.name, choice.format)
            entry = self._entries.get((choice.layer, choice.side, what))
            if entry is None:
                layers = sorted({layer for layer, side, *_ in (*self._entries, *self._as_stored) if side == choice.side})
                raise InputError(f"{where}: expected its {what}, found none; there are {choice.side} of layers {layers}")
            x = np.asarray(entry.file[entry.name], np.float64)
            given[component.name] = _stored(x, component, what, f"{where}: '{entry.name}'", choice.format)
        return given


def file_name(component: str, fmt: Format) -> str:
    """What files call a component of caches."""
    if component == "zeros":
        return "min" if fmt.zero_kind == "min" else "zero_point"
    return COMPONENTS[component]


def _needed(fmt: Format, kv_heads: int, head_dim: int) -> list[Component]:
    """What is given to a cache, but for signs of rotations, which are 1 where nothing is said."""
    components = fmt.components(fmt.rows_type(kv_heads, head_dim)) if isinstance(fmt, Format) else []
    return [component for component in components if component.given and component.name != "signs"]


def _check_choice(choice: Choice, kv_heads: int, where: str) -> None:
    if choice.heads != (0, kv_heads):
        raise InputError(f"{where}: expected one format for all KV heads beside static ranges, found heads {choice.heads}")


def _stored(x: np.ndarray, component: Component, what: str, where: str, fmt: Format) -> np.ndarray:
    """As a cache stores it, [rows, groups]: one for all, one for each row, or all of them."""
    _, rows, _, size = component.shape
    if x.size not in (1, rows, rows * size):
        counts = " or ".join(map(str, dict.fromkeys((1, rows, rows * size))))
        raise InputError(f"{where}: expected {counts} numbers, found {x.size} of shape {list(x.shape)}")
    wrong = ~np.isfinite(x) | (x <= 0) if "scale" in what else ~np.isfinite(x)
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), x.shape)
        kind = "positive, finite" if "scale" in what else "finite"
        raise InputError(f"{where}: expected {kind} numbers, found {x[place]} at {[int(i) for i in place]}")
    whole = np.broadcast_to(x.reshape(-1, 1) if x.size in (1, rows) else x.reshape(rows, size), (rows, size))
    element = fmt.zero if component.name == "zeros" else component.element
    if element in ("i8", "ui8"):
        return np.rint(whole).astype(DTYPES[element])
    if element not in LARGEST:
        raise InputError(f"{where}: expected a format whose {what} is f16, bf16 or f32, found {element}")
    if np.abs(whole).max() > LARGEST[element]:
        raise InputError(f"{where}: {np.abs(whole).max()} does not fit {element}")
    found = _bf16(whole) if element == "bf16" else whole.astype(DTYPES[element])
    if "scale" in what and not found.all():
        raise InputError(f"{where}: {whole.min()} is 0 in {element}")
    return found


def _bf16(x: np.ndarray) -> np.ndarray:
    """The bits, nearest even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _as_float(x: np.ndarray, fmt: Format, component: str) -> np.ndarray:
    """A stored component as numbers that files hold."""
    element = {"scales": fmt.scale, "zeros": fmt.zero, "means": fmt.center}.get(component, "f32")
    if element == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    if element.startswith("f8"):
        raise InputError(f"expected scales of f16, bf16 or f32 in '{fmt}', as files hold them, found {element}")
    return x


def measure_ranges(
    recording: Recording,
    choices: Sequence[Choice],
    dtype: str = "f16",
    percentile: float = 100,
    search: int = 1,
) -> Givens:
    """For the caches of a policy that ask for something, from recorded tokens. `InputError` naming layer and side where
    they have no range."""
    kv_heads, found = recording.kv_heads, {}
    element = {"f16": np.float16, "f32": np.float32}.get(dtype, np.float32)
    for choice in choices:
        where = f"layer {choice.layer}, {choice.side}"
        if not _needed(choice.format, kv_heads, recording.head_dim):
            continue
        _check_choice(choice, kv_heads, where)
        layer = recording.layers[choice.layer]
        x = layer.k if choice.side == "keys" else layer.v
        options = dict(percentile=percentile, search=search) if choice.format.is_static else {}
        try:
            x = stored_rows(choice.format, x, recording.rope, where)
            given = calibrate(x[None].astype(element), choice.format, **options)
        except _kvq.Error as error:
            raise InputError(f"{where}: {error}") from error
        found[choice.layer, choice.side] = given
    return found


def write_ranges(path: Path, givens: Givens, choices: Sequence[Choice], metadata: Mapping[str, str]) -> int:
    """Writes them, and what codes they are for; returns how many tensors."""
    formats = {(choice.layer, choice.side): choice.format for choice in choices}
    tensors, codes = {}, {}
    for (layer, side), given in givens.items():
        fmt = formats[layer, side]
        if codes.setdefault(f"kvq.codes.{side}", fmt.codes) != fmt.codes:
            raise InputError(f"expected the same codes for {side} of all layers in one file, found {fmt.codes} too")
        for component, part in given.items():
            name = f"model.layers.{layer}.self_attn.{side[0]}_{file_name(component, fmt)}"
            tensors[name] = _as_float(part, fmt, component)
    try:
        save(path, tensors, {**codes, **metadata})
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    return len(tensors)
