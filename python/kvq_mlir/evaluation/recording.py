"""Queries, keys and values to evaluate on: from files, fixtures, or a model's own pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import fixtures
from ..fixtures import Layer
from ..rope import Rope
from ..text import InputError
from .safetensors import TensorFile

# "model.layers.3.self_attn.k", "layer3_key", "k": which tensor, and of which layer.
TENSOR_NAME = re.compile(r"(?:^|.*[._/])(q|k|v|query|key|value|queries|keys|values)$", re.IGNORECASE)
LAYER_NUMBER = re.compile(r"(\d+)")
EXPECTED = "expected q, k and v, or one of each for every layer, such as layers.0.q"


@dataclass(frozen=True)
class Recording:
    """Attention's inputs of a model, layer by layer, keys after RoPE, of one sequence; all layers of one shape.

    source: in words, where they come from. rope: what has turned queries and keys; None where that is not known.
    """

    source: str
    layers: list[Layer]
    rope: Rope | None = None

    def __post_init__(self) -> None:
        shapes = [tuple(x.shape for x in layer) for layer in self.layers]
        for index, (q, k, v) in enumerate(shapes):
            if len(q) != 3 or len(k) != 3 or len(v) != 3:
                raise InputError(f"layer {index}: expected q, k and v as [heads, tokens, dim], found {q}, {k} and {v}")
            if k != v:
                raise InputError(f"layer {index}: expected k and v of one shape, found {list(k)} and {list(v)}")
            if q[1:] != k[1:]:
                raise InputError(f"layer {index}: expected q with k's {k[1]} tokens of {k[2]} channels, found {list(q)}")
            if q[0] % k[0]:
                raise InputError(f"layer {index}: {q[0]} query heads are not a multiple of {k[0]} KV heads")
            if shapes[index] != shapes[0]:
                raise InputError(f"layer {index}: expected the shapes of layer 0, {shapes[0]}, found {shapes[index]}")

    @property
    def query_heads(self) -> int:
        return len(self.layers[0].q)

    @property
    def kv_heads(self) -> int:
        return len(self.layers[0].k)

    @property
    def tokens(self) -> int:
        return self.layers[0].k.shape[1]

    @property
    def head_dim(self) -> int:
        return self.layers[0].k.shape[2]

    def first(self, tokens: int | None) -> Recording:
        """Of the first tokens alone; `InputError` if there are not so many."""
        if tokens is None or tokens == self.tokens:
            return self
        if tokens > self.tokens:
            raise InputError(f"--tokens: expected at most the {self.tokens} that there are, found {tokens}")
        return Recording(self.source, [Layer(*(x[:, :tokens] for x in layer)) for layer in self.layers], self.rope)


def from_fixture(name: str, tokens: int, seed: int) -> Recording:
    """`InputError` for an unknown name, or too few tokens."""
    try:
        return Recording(f"fixture {name}", fixtures.make_fixture(name, tokens, seed))
    except ValueError as error:
        raise InputError(f"--fixture: {error}") from error


def read_tensors(paths: list[Path]) -> Recording:
    """From one .npz or .safetensors file, or from .npy files, whose names then are those of the tensors.

    A tensor is [heads, tokens, dim], [1, heads, tokens, dim], or [layers, heads, tokens, dim] for all layers at once; floats
    of 16, 32 or 64 bits. `InputError` for other files, names (with those that were found), shapes and types, and for NaN
    and infinities, with the tensor and the place.
    """
    source, layers = _read_sides(paths, "qkv")
    return Recording(source, [Layer(*(layer[side] for side in "qkv")) for layer in layers])


def read_queries(paths: list[Path]) -> list[np.ndarray]:
    """Of each layer, as `read_tensors` reads all three; from files without keys and values."""
    return [layer["q"] for layer in _read_sides(paths, "q")[1]]


def has_queries_alone(paths: list[Path]) -> bool:
    """Whether files have queries, and neither keys nor values."""
    return {parse_name(name)[0] for name in open_tensors(paths).names} - {None} == {"q"}


def _read_sides(paths: list[Path], sides: str) -> tuple[str, list[dict[str, np.ndarray]]]:
    found = open_tensors(paths)
    source = ", ".join(path.name for path in paths)
    layers: dict[int | None, dict[str, str]] = {}
    for name in found.names:
        side, number = parse_name(name)
        if side is not None:
            layers.setdefault(number, {})[side] = name
    complete = {number: names for number, names in layers.items() if set(names) == set(sides)}
    if not complete or len(complete) != len(layers) or (None in complete and len(complete) > 1):
        raise InputError(f"{source}: {EXPECTED}; found {', '.join(found.names) or 'no tensors'}")
    numbers = sorted(complete, key=lambda number: -1 if number is None else number)
    if numbers not in ([None], list(range(len(numbers)))):
        raise InputError(f"{source}: expected layers 0 to {len(numbers) - 1}, found {numbers}")
    result: list[dict[str, np.ndarray]] = []
    for number in numbers:
        parts = {side: check_tensor(source, name, found.read(name)) for side, name in complete[number].items()}
        result += _split_layers(source, parts, single=number is not None)
    return source, result


def parse_name(name: str) -> tuple[str | None, int | None]:
    """("q", "k" or "v", number of the layer or None); (None, None) for another name."""
    match = TENSOR_NAME.match(name)
    if match is None:
        return None, None
    number = LAYER_NUMBER.search(name[: match.start(1)])
    return match[1][0].lower(), int(number[1]) if number else None


def check_tensor(source: str, name: str, x: np.ndarray) -> np.ndarray:
    """Floats, all of them finite, as float32; `InputError` otherwise."""
    if x.dtype.kind != "f":
        raise InputError(f"{source}: tensor '{name}': expected floats, found {x.dtype}")
    wrong = ~np.isfinite(x)
    if wrong.any():
        place = np.unravel_index(int(wrong.argmax()), x.shape)
        raise InputError(
            f"{source}: tensor '{name}' has {int(wrong.sum())} elements that are not finite, the first {x[place]} at "
            f"{[int(i) for i in place]} of shape {list(x.shape)}"
        )
    largest = np.abs(x).max(initial=0)
    if largest > np.finfo(np.float32).max:
        raise InputError(f"{source}: tensor '{name}': expected elements within float32, found {largest}")
    return x.astype(np.float32)


def _split_layers(source: str, parts: Mapping[str, np.ndarray], single: bool) -> list[dict[str, np.ndarray]]:
    axes = {x.ndim for x in parts.values()}
    if axes not in ({3}, {4}):
        shapes = ", ".join(f"{side} {list(x.shape)}" for side, x in parts.items())
        raise InputError(f"{source}: expected tensors of 3 or 4 axes, heads, tokens and dim the last, found {shapes}")
    if axes == {3}:
        return [dict(parts)]
    counts = [len(x) for x in parts.values()]
    if len(set(counts)) > 1 or (single and counts[0] != 1):
        expected = "one sequence" if single else "as many layers of each"
        raise InputError(f"{source}: expected {expected}, found {', '.join(map(str, counts))} of {', '.join(parts)}")
    return [{side: x[index] for side, x in parts.items()} for index in range(counts[0])]


@dataclass(frozen=True)
class Opened:
    """The tensors of one or several files, read when they are asked for."""

    names: list[str]
    read: Callable[[str], np.ndarray]


def open_tensors(paths: Iterable[Path]) -> Opened:
    """Of one .npz or .safetensors file, or of .npy files, by their names; `InputError` for others."""
    paths = list(paths)
    kinds = {path.suffix for path in paths}
    if kinds == {".npy"}:
        arrays = {path.stem: _load(path) for path in paths}
        return Opened(list(arrays), arrays.__getitem__)
    if len(paths) != 1 or not kinds <= {".npz", ".safetensors"}:
        raise InputError(
            "--tensors: expected one .npz or .safetensors file, or .npy files, found " + " ".join(map(str, paths))
        )
    (path,) = paths
    file = TensorFile(path) if path.suffix == ".safetensors" else _load(path)
    return Opened(list(file), file.__getitem__)


def _load(path: Path):
    try:
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # zipfile.BadZipFile, EOFError, ValueError and others, by what is broken
        raise InputError(f"{path} is no {path.suffix} file: {error}") from error
