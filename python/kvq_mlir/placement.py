"""In whose memory a cache is."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _kvq
from .arguments import as_bits
from .checks import check_lengths
from .cuda_arrays import CudaArray, Mirror, take
from .devices import Cuda, Device, find_device
from .format import Component

if TYPE_CHECKING:
    from .cache import Cache


# What packages may call the elements of a component on a GPU: bf16 and 8-bit floats are their bits here.
_ON_GPU = {
    "float16": ("f16",),
    "float32": ("f32",),
    "uint16": ("bf16", "i16"),
    "int8": ("i8",),
    "uint8": ("i8", "f8"),
}


def aligned(shape: tuple[int, ...], dtype: np.dtype, alignment: int, fill: int | None = None) -> np.ndarray:
    """An array whose start is aligned, every byte of it `fill`, or unwritten."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    data = raw[start : start + size]
    if fill is not None:
        data[:] = fill
    return data.view(dtype).reshape(shape)


def copy_page(pool: np.ndarray | CudaArray, source: int, target: int, device: Device | None) -> None:
    """Copies a page of a pool, on a GPU in the order of the device's stream."""
    if isinstance(pool, CudaArray):
        pool.copy_row(source, target, device.stream or 0)
    else:
        pool[target] = pool[source]


class Placed:
    """What a `Cache` has to do with the device that it is on."""

    device: Device | None

    @staticmethod
    def _find_device(device: str | Device | None) -> Device | None:
        found = find_device(device)
        if isinstance(found, Cuda) and found.ordinal is None:
            return Cuda(0, found.stream, found.chip)
        return found

    def _device_for(self, x: Any) -> Device | None:
        """The device, with the stream of an argument."""
        return self.device.for_array(x) if isinstance(self.device, Cuda) else self.device

    def _allocate(self, component: Component, fill: int | None) -> np.ndarray | CudaArray:
        """The array of a component."""
        dtype = self.format.dtype(component)
        if not isinstance(self.device, Cuda):
            return aligned(component.shape, dtype, component.alignment, fill)
        array = self.device.empty(component.shape, dtype)
        if fill is not None:
            array.upload(np.full(array.nbytes, fill, np.uint8).view(dtype).reshape(array.shape))
        return array

    def _make_storage(
        self, components: Sequence[Component], fill: int | None, storage: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The arrays of all components: new ones, or those in `storage`."""
        if storage is None:
            return {component.name: self._allocate(component, fill) for component in components}
        if fill is not None:
            raise _kvq.Error(f"fill = {fill} is for new memory: expected none beside storage")
        needed = [component.name for component in components if not component.given]
        if set(storage) != set(needed):
            raise _kvq.Error(f"expected storage of {', '.join(needed)}, got {', '.join(storage) or 'none'}")
        return {
            component.name: self._allocate(component, None)
            if component.given
            else self._check_stored(component, storage[component.name])
            for component in components
        }

    def _check_stored(self, component: Component, array: Any) -> Any:
        """An array that may be a component's; `Error` or TypeError for another."""
        name, dtype = f"storage '{component.name}'", self.format.dtype(component)
        if isinstance(self.device, Cuda):
            taken = take(name, array, self.device.ordinal, self.device.stream or 0)
            address, shape, found = taken.address, taken.shape, taken.element
            fits = found in _ON_GPU[dtype.name]
            array = CudaArray(shape, dtype, self.device.ordinal, taken) if shape == component.shape else None
        else:
            if not isinstance(array, np.ndarray):
                raise TypeError(f"expected {name} as an array of {dtype}, got {type(array).__name__}")
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise _kvq.Error(f"expected {name} as a C-contiguous, writable array")
            array = as_bits(array)
            address, shape, found = array.ctypes.data, array.shape, array.dtype
            fits = found == dtype
        if not fits or shape != component.shape:
            raise _kvq.Error(
                f"expected {name} as {dtype} of shape {list(component.shape)}, got {found} of shape {list(shape)}"
            )
        if address % component.alignment:
            raise _kvq.Error(f"expected {name} aligned to {component.alignment} bytes, got address {address:#x}")
        return array

    def _adopt(self, lengths: Sequence[int], has_table: bool) -> None:
        """The storage holds so many tokens of each sequence, as if they had been appended."""
        if self._pages is not None and not has_table:
            raise _kvq.Error("lengths of a cache with pages need a page_table, which says where the tokens are")
        found = check_lengths(self, lengths)
        if found.max() > self.capacity:
            raise _kvq.Error(f"expected lengths of at most the capacity {self.capacity}, got {found.max()}")
        self._flushed = self._flushed_after(found)
        self._lengths += found
        for each in self._rings:
            each.advance(self._lengths, self._flushed)

    def _put(self, component: str, array: np.ndarray) -> None:
        """Stores a whole component."""
        if isinstance(self.device, Cuda):
            self._storage[component].upload(array)
        else:
            self._storage[component][:] = array

    def _make_mirrors(self) -> dict[str, Mirror]:
        """What a GPU has of the counts and the page table."""
        if not isinstance(self.device, Cuda):
            return {}
        owners = {"_lengths": self}
        if self.has_window:
            owners["_flushed"] = self
        if self._pages is not None:
            owners["table"] = self._pages
        return {name: Mirror(owner, name, self.device.ordinal) for name, owner in owners.items()}

    def _counts(self, name: str) -> np.ndarray | Mirror:
        """The attribute _lengths or _flushed as calls take it."""
        return self._mirrors.get(name, getattr(self, name))

    def publish(self, stream: int = 0) -> None:
        """Copies lengths, flushed counts and page table to the GPU that the cache is on, in the order of a stream, where
        they have changed. Calls do that by themselves, but not while a graph is captured; replays of one read what is
        there then, always at the same addresses."""
        for mirror in self._mirrors.values():
            mirror.on_device(stream)

    def to(self, device: str | Device) -> Cache:
        """A copy of this cache for another device, with the same tokens and pages."""
        pages = self._pages
        other = type(self)(
            self.batch,
            self.kv_heads,
            self.capacity,
            self.head_dim,
            self.format,
            self.dtype,
            self.exact_first,
            self.recent,
            residual=self.residual,
            page=self.page,
            pages=None if pages is None else pages.pages,
            page_table=None if pages is None else pages.table,
            ring=self.ring,
            keep_first=self.keep_first,
            token_major=self.token_major,
            given=self._given,
            side=self.side,
            name=self.name,
            device=device,
        )
        for component, array in self._storage.items():
            other._put(component, array.numpy() if isinstance(array, CudaArray) else array)
        other._lengths[:], other._flushed[:] = self._lengths, self._flushed
        if pages is not None:
            other._pages.is_given = pages.is_given
            other._pages._count_uses()
        other._rings = copy.deepcopy(self._rings)
        return other
