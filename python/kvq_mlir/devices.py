"""Where compiled functions run: on this processor, on the emulator of GPUs, or on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import _kvq
from .cuda_arrays import CudaArray, current_stream, on_device, place_of

ORDERS = ("forward", "reverse", "random")
COPIES = ("async", "bulk")


def _check_copies(copies: str) -> None:
    if copies not in COPIES:
        raise _kvq.Error(f"expected copies {', '.join(map(repr, COPIES))}, got {copies!r}")


@dataclass(frozen=True)
class Emulator:
    """The emulator of GPUs, which runs their kernels on this processor and checks each access.

    chip: whose kernels. order: in which the threads of a block that could go on do so, "forward", "reverse" or "random",
    by seed. workers: threads of this machine, 0 for one on each processor. copies: how tensor cores' codes come to shared
    memory, "async" or, on sm_90a and newer, "bulk" (docs/TensorCores.md). Arrays are NumPy's.
    """

    chip: str = "sm_80"
    order: str = "forward"
    seed: int = 0
    workers: int = 0
    copies: str = "async"

    def __post_init__(self) -> None:
        _check_copies(self.copies)
        if self.order not in ORDERS:
            raise _kvq.Error(f"expected order {', '.join(map(repr, ORDERS))}, got {self.order!r}")
        if self.seed < 0 or self.workers < 0:
            raise _kvq.Error(f"expected seed and workers of at least 0, got {self.seed} and {self.workers}")

    @property
    def key(self) -> tuple[Any, ...]:
        """What compiled code depends on."""
        return ("emulator", self.chip, self.copies)

    def workers_of_items(self) -> int:
        """How many work items are worked on at once, for the choice of splits."""
        return 1

    def compile(self, text: str, options: str) -> _kvq.EmulatedKernel:
        return _kvq.compile_emulated(text, chip=self.chip, options=f"{options} copies={self.copies}")

    def invoke(self, compiled: _kvq.EmulatedKernel, name: str, arguments: tuple[Any, ...]) -> None:
        compiled.invoke(name, arguments, order=self.order, seed=self.seed, workers=self.workers)


@dataclass(frozen=True)
class Cuda:
    """A GPU of NVIDIA's, by the driver of this machine.

    ordinal: which, None for that of the arrays. stream: a CUstream as an integer, None for PyTorch's or CuPy's current
    one, where arrays are theirs, and the default stream otherwise. chip: whose code it runs, None for the one that fits.
    copies: as of Emulator.
    Arrays are on the device: what has `__dlpack__` or `__cuda_array_interface__`, such as PyTorch's and CuPy's. They are
    used where they are, in the order of the stream; nothing waits for it.
    """

    ordinal: int | None = None
    stream: int | None = None
    chip: str | None = None
    copies: str = "async"

    def __post_init__(self) -> None:
        _check_copies(self.copies)

    @property
    def key(self) -> tuple[Any, ...]:
        return ("cuda", self.ordinal, self.chip, self.copies)

    def for_array(self, x: Any) -> Cuda:
        """This with the device and the stream of an array where they are open."""
        ordinal = place_of(x) if self.ordinal is None else self.ordinal
        return replace(self, ordinal=ordinal, stream=current_stream(x) if self.stream is None else self.stream)

    def workers_of_items(self) -> int:
        """Two blocks on each multiprocessor, for the choice of splits."""
        return 2 * _kvq.cuda_device(self.ordinal)[3]

    def compile(self, text: str, options: str) -> _kvq.CUDAKernel:
        return _kvq.compile_cuda(text, self.ordinal, chip=self.chip or "", options=f"{options} copies={self.copies}")

    def invoke(self, compiled: _kvq.CUDAKernel, name: str, arguments: tuple[Any, ...]) -> None:
        stream = self.stream or 0
        compiled.invoke(name, on_device(compiled, arguments, self.ordinal, stream), stream)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> CudaArray:
        return CudaArray(shape, dtype, self.ordinal)


Device = Emulator | Cuda


def find_device(device: str | Device | None, default: Device | None = None) -> Device | None:
    """The device that is meant by a name, or `default` by None; None for this processor."""
    if device is None:
        return default
    if isinstance(device, Device):
        return device
    if device == "cpu":
        return None
    if device == "emulator":
        return Emulator()
    name, _, ordinal = device.partition(":") if isinstance(device, str) else ("", "", "")
    if name == "cuda" and (not ordinal or ordinal.isdecimal()):
        return Cuda(int(ordinal) if ordinal else None)
    raise _kvq.Error(
        f"expected device 'cpu', 'emulator', 'cuda', 'cuda:0' and so on, an Emulator or a Cuda, got {device!r}"
    )


def name_of_memory(device: Device | None) -> str:
    """The same for devices that work on the same memory."""
    return name_of(device) if isinstance(device, Cuda) else "cpu"


def name_of(device: Device | None) -> str:
    """Such as 'cuda:0'."""
    if isinstance(device, Cuda):
        return "cuda" if device.ordinal is None else f"cuda:{device.ordinal}"
    return "cpu" if device is None else "emulator"
