"""Compiles generated IR, once for each signature."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import _kvq

_kernels: dict[tuple[Any, ...], _kvq.Kernel] = {}
_lock = threading.Lock()


def kernel(
    template: Callable[..., str], *signature: Any, splits: int = 1, query_tile: int = 1, openmp: bool = False
) -> _kvq.Kernel:
    """The compiled module `template(*signature)`. Compiled when first asked for; later calls find it, from any thread.

    template: a function that returns a module as text. signature: its arguments, hashable. splits: token ranges of a
    query token that attention works on separately. query_tile: query tokens that it works on together. openmp: whether calls can ask for several threads. Raises `Error`, a
    ValueError, if the module does not compile.
    """
    key = (template, signature, splits, query_tile, openmp)
    found = _kernels.get(key)
    if found is None:
        with _lock:  # one compilation at a time, and each only once
            found = _kernels.get(key)
            if found is None:
                found = _kernels[key] = _kvq.compile(
                    template(*signature), splits=splits, query_tile=query_tile, openmp=openmp
                )
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
