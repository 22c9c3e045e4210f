"""Arrays on GPUs: those of other packages, and those that caches are stored in."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _kvq


class CudaArray:
    """A C-contiguous array in the memory of a GPU, for `__cuda_array_interface__`; what it holds at first is any bytes.

    Attributes: shape, dtype (NumPy's; bf16 and 8-bit floats are their bits), ordinal, nbytes.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, ordinal: int, taken: Taken | None = None) -> None:
        """taken: an array of another package whose memory this is; new memory without."""
        self.shape, self.dtype, self.ordinal = tuple(shape), np.dtype(dtype), ordinal
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self._owner = taken and taken.array
        self._memory = _kvq.CUDAMemory(ordinal, self.nbytes, taken and taken.address)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self._memory.address, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "version": 3}

    def upload(self, x: np.ndarray, stream: int = 0) -> None:
        """Copies an array of the same shape and type here, in the order of a stream."""
        if x.shape != self.shape or x.dtype != self.dtype:
            raise _kvq.Error(
                f"expected {self.dtype} of shape {list(self.shape)}, got {x.dtype} of shape {list(x.shape)}"
            )
        self._memory.upload(np.ascontiguousarray(x), stream)

    def copy_row(self, source: int, target: int, stream: int = 0) -> None:
        """Copies what is at one index of the first axis to another one, in the order of a stream."""
        row = self.nbytes // self.shape[0]
        self._memory.copy_within(source * row, target * row, row, stream)

    def numpy(self, stream: int = 0) -> np.ndarray:
        """A copy in the host's memory, once the stream is there."""
        out = np.empty(self.shape, self.dtype)
        self._memory.download(out, stream)
        return out


@dataclass(frozen=True)
class Taken:
    """An argument on a GPU, with what is asked of NumPy's arrays: extents, MLIR's name of its elements ("i1": bool), and
    where it is."""

    array: Any
    shape: tuple[int, ...]
    element: str
    address: int

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]


def take(name: str, x: Any, ordinal: int, stream: int) -> Taken:
    """An argument that has to be on a GPU; `Error` for an array elsewhere, TypeError for what is none."""
    found = _kvq.describe_array(x, ordinal, stream)
    if found is None:
        raise TypeError(
            f"expected {name} as an array on cuda:{ordinal}, with __dlpack__ or __cuda_array_interface__, got {_kind(x)}"
        )
    shape, element, place, address = found
    if place != ordinal:
        where = "the host's memory" if place < 0 else f"cuda:{place}"
        raise _kvq.Error(f"expected {name} on cuda:{ordinal}, got an array in {where}")
    return Taken(x, shape, element, address)


def _kind(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}"


def place_of(x: Any) -> int:
    """The GPU that an array is on; `Error` for another array."""
    found = _kvq.describe_array(x, 0, 0)
    if found is None or found[2] < 0:
        raise _kvq.Error(f"expected an array on a GPU, or the device's number, got {_kind(x)} in the host's memory")
    return found[2]


def current_stream(x: Any) -> int:
    """The stream that the package of an array is working on."""
    if isinstance(x, CudaArray):
        return 0
    if (torch := sys.modules.get("torch")) is not None and isinstance(x, torch.Tensor):
        return torch.cuda.current_stream(x.device).cuda_stream
    return getattr(x, "__cuda_array_interface__", {}).get("stream") or 0


def empty_like(x: Any, shape: tuple[int, ...], ordinal: int) -> Any:
    """A new float32 array of the package that made x, if it is PyTorch or CuPy."""
    if (torch := sys.modules.get("torch")) is not None and isinstance(x, torch.Tensor):
        return torch.empty(shape, dtype=torch.float32, device=x.device)
    if (cupy := sys.modules.get("cupy")) is not None and isinstance(x, cupy.ndarray):
        return cupy.empty(shape, cupy.float32)
    return CudaArray(shape, np.float32, ordinal)


class Mirror:
    """A copy on a GPU of an attribute of a cache that is kept on the host: its address stays, for graphs."""

    def __init__(self, owner: Any, attribute: str, ordinal: int) -> None:
        self._owner, self._attribute = owner, attribute
        self._copy = _Copy(getattr(owner, attribute), ordinal)

    def on_device(self, stream: int) -> CudaArray:
        return self._copy.update(getattr(self._owner, self._attribute), stream)


class _Copy:
    """An array on a GPU and what was copied there last."""

    def __init__(self, x: np.ndarray, ordinal: int) -> None:
        self._array = CudaArray(x.shape, x.dtype, ordinal)
        self._last: tuple[bytes, int] | None = None

    def update(self, x: np.ndarray, stream: int) -> CudaArray:
        """Copies x there if it is another one than the last, or that was on another stream, which may still be copying;
        `Error` while a graph is captured."""
        found = x.tobytes(), stream
        if found != self._last:
            if _kvq.cuda_is_capturing(self._array.ordinal, stream):
                raise _kvq.Error(
                    "counts or page tables have changed and are not on the device yet: call the cache's publish() "
                    "before a graph is captured"
                )
            self._array.upload(x, stream)
            self._last = found
        return self._array


# Arguments of the host, by where they go: calls of a stream follow each other, so that one copy serves them all.
_copies: dict[tuple[Any, ...], _Copy] = {}


def on_device(compiled: Any, arguments: Sequence[Any], ordinal: int, stream: int) -> tuple[Any, ...]:
    """Arguments of a call with those of the host (counts, bounds, indices) copied to the device."""

    def place(index: int, x: Any) -> Any:
        if isinstance(x, Mirror):
            return x.on_device(stream)
        if not isinstance(x, np.ndarray):
            return x
        key = (id(compiled), index, x.shape, x.dtype.str, ordinal, stream)
        if key not in _copies:
            _copies[key] = _Copy(x, ordinal)
        return _copies[key].update(x, stream)

    return tuple(place(index, x) for index, x in enumerate(arguments))
