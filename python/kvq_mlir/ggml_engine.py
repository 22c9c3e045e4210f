"""ggml's attention over the same blocks, for benchmarks: of the package libggml-python, where it is installed."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

PACKAGE = "libggml-python"
# By bits of an element: ggml's number of the type, and the format that holds its blocks.
TYPES = {16: (1, "f16"), 8: (8, "ggml.q8_0"), 4: (2, "ggml.q4_0")}
_F32 = 0
_OVERHEAD = 1 << 20  # bytes for a few tensors and a graph


class _InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def missing() -> str | None:
    """Why ggml cannot be asked; None where it can."""
    return None if find_spec("libggml") else f"no package {PACKAGE}: pip install {PACKAGE}"


@cache
def _libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Tensors and graphs, and the processor's backend."""
    folder = Path(find_spec("libggml").submodule_search_locations[0]) / "lib64"
    base, cpu = (ctypes.CDLL(str(folder / f"libggml-{name}.so"), ctypes.RTLD_GLOBAL) for name in ("base", "cpu"))
    pointer, integer, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    for library, name, result, arguments in (
        (base, "ggml_init", pointer, [_InitParams]),
        (base, "ggml_free", None, [pointer]),
        (base, "ggml_new_tensor_4d", pointer, [pointer, ctypes.c_int, *[integer] * 4]),
        (base, "ggml_flash_attn_ext", pointer, [*[pointer] * 5, *[real] * 3]),
        (base, "ggml_new_graph", pointer, [pointer]),
        (base, "ggml_build_forward_expand", None, [pointer, pointer]),
        (base, "ggml_backend_cpu_buffer_from_ptr", pointer, [pointer, ctypes.c_size_t]),
        (base, "ggml_backend_tensor_alloc", ctypes.c_int, [pointer, pointer, pointer]),
        (base, "ggml_backend_buffer_free", None, [pointer]),
        (base, "ggml_backend_graph_compute", ctypes.c_int, [pointer, pointer]),
        (base, "ggml_backend_free", None, [pointer]),
        (cpu, "ggml_backend_cpu_init", pointer, []),
        (cpu, "ggml_backend_cpu_set_n_threads", None, [pointer, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return base, cpu


class Attention:
    """Attention of one query token of one sequence.

    bits: of an element of keys and values. query, out: float32 [query heads, dim], C-contiguous. keys, values:
    C-contiguous [kv_heads, tokens, ...], the blocks of `TYPES`. Calls read what these arrays hold by then.
    """

    def __init__(
        self, bits: int, query: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float, out: np.ndarray
    ) -> None:
        base, cpu = _libraries()
        heads, dim = query.shape
        kv_heads, tokens = keys.shape[:2]
        self._arrays = (query, keys, values, out)  # kept alive
        self._out = out
        self._context = base.ggml_init(_InitParams(_OVERHEAD, None, True))
        kind = TYPES[bits][0]
        shapes = ((_F32, (dim, 1, heads, 1)), (kind, (dim, tokens, kv_heads, 1)), (kind, (dim, tokens, kv_heads, 1)))
        tensors = [base.ggml_new_tensor_4d(self._context, type_, *shape) for type_, shape in shapes]
        tensors.append(base.ggml_flash_attn_ext(self._context, *tensors, None, scale, 0.0, 0.0))
        self._buffers = []
        for tensor, array in zip(tensors, self._arrays, strict=True):
            if not array.flags.c_contiguous or array.ctypes.data % 32:
                raise ValueError("expected C-contiguous arrays at multiples of 32 bytes")
            buffer = base.ggml_backend_cpu_buffer_from_ptr(array.ctypes.data, array.nbytes)
            self._buffers.append(buffer)
            if base.ggml_backend_tensor_alloc(buffer, tensor, array.ctypes.data):
                raise ValueError("ggml does not take an array")
        self._graph = base.ggml_new_graph(self._context)
        base.ggml_build_forward_expand(self._graph, tensors[-1])
        self._backend = cpu.ggml_backend_cpu_init()

    def __call__(self, threads: int = 1) -> np.ndarray:
        """Runs it once; returns `out`."""
        base, cpu = _libraries()
        cpu.ggml_backend_cpu_set_n_threads(self._backend, threads)
        if base.ggml_backend_graph_compute(self._backend, self._graph):
            raise RuntimeError("ggml failed")
        return self._out

    def __del__(self) -> None:
        base, _ = _libraries()
        for buffer in getattr(self, "_buffers", ()):
            base.ggml_backend_buffer_free(buffer)
        if backend := getattr(self, "_backend", None):
            base.ggml_backend_free(backend)
        if context := getattr(self, "_context", None):
            base.ggml_free(context)
