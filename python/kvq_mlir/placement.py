"""In whose memory a cache is."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .cuda_arrays import CudaArray, Mirror
from .devices import Cuda, Device, find_device
from .format import Component

if TYPE_CHECKING:
    from .cache import Cache


def aligned(shape: tuple[int, ...], dtype: np.dtype, alignment: int, fill: int | None = None) -> np.ndarray:
    """An array whose start is aligned, every byte of it `fill`, or unwritten."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    data = raw[start : start + size]
    if fill is not None:
        data[:] = fill
    return data.view(dtype).reshape(shape)


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

    def _put(self, component: str, array: np.ndarray) -> None:
        """Stores a whole component."""
        if isinstance(self.device, Cuda):
            self._storage[component].upload(array)
        else:
            self._storage[component][:] = array

    def _copy_page(self, pool: np.ndarray | CudaArray, source: int, target: int) -> None:
        if isinstance(pool, CudaArray):
            pool.copy_row(source, target, self.device.stream or 0)
        else:
            pool[target] = pool[source]

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
