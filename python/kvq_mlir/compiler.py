"""Compiles generated IR, once for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import _kvq
from .devices import Device
from .schedule import schedules_in_use

_kernels: dict[tuple[Any, ...], Any] = {}
_lock = threading.Lock()


class Launcher:
    """A compiled module on a device; called as a `_kvq.Kernel` is."""

    def __init__(self, compiled: Any, device: Device) -> None:
        self._compiled, self._device = compiled, device

    def invoke(self, name: str, arguments: tuple[Any, ...], threads: None = None) -> None:
        self._device.invoke(self._compiled, name, arguments)


def kernel(
    template: Callable[..., str],
    *signature: Any,
    splits: int | None = None,
    query_tile: int = 1,
    openmp: bool = False,
    threads: int = 1,
    device: Device | None = None,
) -> _kvq.Kernel | Launcher:
    """The compiled module `template(*signature)`. Compiled when first asked for; later calls find it, from any thread.

    template: a function that returns a module as text. signature: its arguments, hashable. splits: token ranges of a
    query token that attention works on separately; None for those of the schedules in use, or of the cost model.
    query_tile: query tokens that it works on together. openmp: whether calls can ask for several threads. threads: how
    many, which schedules are for. device: where it runs, None for this processor. Raises `Error`, a ValueError, if the
    module does not compile.
    """
    if device is not None:
        options = f"query-tile={query_tile}" + ("" if splits is None else f" splits={splits}")
        compiled = _once(
            (template, signature, options, *device.key), lambda: device.compile(template(*signature), options)
        )
        return Launcher(compiled, device)
    schedules = schedules_in_use()
    key = (template, signature, splits, query_tile, openmp, schedules and (schedules, threads))
    options = {"schedules": schedules[0], "threads": threads} if schedules else {}
    return _once(
        key,
        lambda: _kvq.compile(template(*signature), splits=splits, query_tile=query_tile, openmp=openmp, **options),
    )


def _once(key: tuple[Any, ...], compile_: Callable[[], Any]) -> Any:
    """What `compile_` makes when it is first asked for by this key."""
    found = _kernels.get(key)
    if found is None:
        with _lock:  # one compilation at a time, and each only once
            found = _kernels.get(key)
            if found is None:
                _kernels[key] = found = compile_()
    return found


def run_pipeline(ir_text: str, pipeline: str) -> str:
    """The module `ir_text` after a pass pipeline, `builtin.module(...)`, as text.

    Raises `Error`, a ValueError, for a module that is not valid, a pipeline that cannot be parsed, and a pass that
    failed: it says which, why and where.
    """
    return _kvq.run_pipeline(ir_text, pipeline)


def parse(ir_text: str) -> str:
    """The module `ir_text` as MLIR prints it, once parsed and verified.

    Raises `Error`, a ValueError, with line and column, where it is not valid.
    """
    return _kvq.parse(ir_text)
