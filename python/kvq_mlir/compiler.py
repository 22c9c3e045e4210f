"""Compiles generated IR, once for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import _kvq
from .schedule import schedules_in_use

_kernels: dict[tuple[Any, ...], _kvq.Kernel] = {}
_lock = threading.Lock()


def kernel(
    template: Callable[..., str],
    *signature: Any,
    splits: int | None = None,
    query_tile: int = 1,
    openmp: bool = False,
    threads: int = 1,
) -> _kvq.Kernel:
    """The compiled module `template(*signature)`. Compiled when first asked for; later calls find it, from any thread.

    template: a function that returns a module as text. signature: its arguments, hashable. splits: token ranges of a
    query token that attention works on separately; None for those of the schedules in use, or of the cost model.
    query_tile: query tokens that it works on together. openmp: whether calls can ask for several threads. threads: how
    many, which schedules are for. Raises `Error`, a ValueError, if the module does not compile.
    """
    schedules = schedules_in_use()
    key = (template, signature, splits, query_tile, openmp, schedules and (schedules, threads))
    found = _kernels.get(key)
    if found is None:
        with _lock:  # one compilation at a time, and each only once
            found = _kernels.get(key)
            if found is None:
                options = {"schedules": schedules[0], "threads": threads} if schedules else {}
                found = _kvq.compile(
                    template(*signature), splits=splits, query_tile=query_tile, openmp=openmp, **options
                )
                _kernels[key] = found
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
