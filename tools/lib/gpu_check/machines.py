"""Where kernels run, and what arrays they take: PyTorch's on a GPU, NumPy's on the emulator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import InputError
from .arrays import NumpyArrays, TorchArrays
from .driver import Driver, open_driver
from .kernels import Call
from .plan import CHIPS

Launch = Callable[[], None]


class EmulatedMachine:
    """kvq's emulator, which compiles the kernels itself."""

    is_gpu = False

    def __init__(self, folder: Path, plan: dict[str, Any], chip: str) -> None:
        from .build import import_kvq

        self._kvq, self._folder, self._plan, self._chip = import_kvq()._kvq, folder, plan, chip
        self.arrays = NumpyArrays()
        self.name = f"the emulator of {chip}"

    def load(self, name: str) -> Callable[[Sequence[Any]], Launch]:
        """Of a kernel of the plan, what makes a launch of it on arrays."""
        kernel = self._plan["kernels"][name]
        source = (self._folder / kernel["source"]).read_text()
        compiled = self._kvq.compile_emulated(source, chip=self._chip, options=kernel["options"])

        def on(arrays: Sequence[Any]) -> Launch:
            # Codes are integers with a sign there.
            xp = self.arrays.xp
            operands = tuple(x.view(xp.int8) if x.dtype == xp.uint8 else x for x in arrays)
            return lambda: compiled.invoke(kernel["function"], operands)

        return on

    def run(self, launch: Launch) -> None:
        """Runs a launch, and waits for it."""
        launch()


class GPU:
    """A GPU of NVIDIA's, with PyTorch."""

    is_gpu = True

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self.torch = import_torch()
        self.torch.zeros(1, device="cuda")  # PyTorch makes the context as it likes it
        self.torch.backends.cuda.matmul.allow_tf32 = False
        self.arrays = TorchArrays(self.torch, "cuda")
        self._driver, self._folder, self._plan = Driver(), folder, plan
        self.name = self._driver.name
        self.chip = find_chip(plan["chips"], self._driver.capability, folder)
        self._workspace: dict[int, Any] = {}

    def load(self, name: str) -> Callable[[Sequence[Any]], Launch]:
        """Of a kernel of the plan, what makes a launch of it on arrays."""
        built = self._plan["kernels"][name]["built"][self.chip]
        module = self._driver.load((self._folder / built["image"]).read_bytes(), built["image"])

        def on(arrays: Sequence[Any]) -> Launch:
            call = Call(built["call"], [(x.data_ptr(), tuple(x.shape)) for x in arrays])
            pieces = [self._take(index, size) for index, size in enumerate(call.workspace_bytes())]
            prepared = [module.prepare(**launch) for launch in call.launches([x.data_ptr() for x in pieces])]

            def launch(keep: Any = (arrays, pieces)) -> None:
                stream = self.torch.cuda.current_stream().cuda_stream
                for each in prepared:
                    each(stream)

            return launch

        return on

    def _take(self, index: int, size: int) -> Any:
        """Memory that kernels of a call share: calls follow each other, so that one serves all."""
        if index not in self._workspace or len(self._workspace[index]) < size:
            self._workspace[index] = self.arrays.full((size,), 0, "u8")
        return self._workspace[index]

    def run(self, launch: Launch) -> None:
        """Runs a launch, and waits for it."""
        launch()
        self.torch.cuda.synchronize()


def import_torch() -> Any:
    """PyTorch that finds a GPU."""
    try:
        import torch
    except ImportError as error:
        raise InputError(
            f"a run on a GPU needs PyTorch, for memory, streams and the reference: {error}; use a python3 that has it"
        ) from error
    if not torch.cuda.is_available():
        raise InputError(f"PyTorch {torch.__version__} finds no GPU, though there is a CUDA driver")
    return torch


def best_chip(chips: Sequence[str], capability: int) -> str | None:
    """Whose code a GPU runs: its own, or that of a chip before it, which has no "a"; None without."""

    def fits(chip: str) -> bool:
        number = int(chip[3:].removesuffix("a"))
        return number == capability if chip.endswith("a") else number <= capability

    fitting = [chip for chip in chips if fits(chip)]
    return max(fitting, key=lambda chip: int(chip[3:].removesuffix("a")), default=None)


def find_chip(chips: Sequence[str], capability: int, folder: Path) -> str:
    """The best chip of a folder for a GPU; `InputError` without."""
    if chip := best_chip(chips, capability):
        return chip
    best = best_chip(CHIPS, capability)
    advice = f": tools/gpu-check build {folder} --chips {best}" if best else ", for which kvq has none"
    raise InputError(f"{folder} has kernels for {', '.join(chips) or 'no chip'}, the GPU is an sm_{capability}{advice}")


def has_driver() -> str | None:
    """None, or what is wrong with the driver."""
    try:
        driver = open_driver()
    except OSError as error:
        return str(error)
    if driver.cuInit(0):
        return "the CUDA driver finds no GPU"
    count = ctypes.c_int()
    return None if driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value else "the CUDA driver has no GPU"
