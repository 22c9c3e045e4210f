"""The CUDA driver by ctypes: modules are loaded, kernels are launched. Memory and streams are PyTorch's."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from . import InputError

COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_...
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES


def open_driver() -> ctypes.CDLL:
    """libcuda.so.1, or what KVQ_CUDA_DRIVER names; `OSError` where there is none."""
    return ctypes.CDLL(os.environ.get("KVQ_CUDA_DRIVER", "libcuda.so.1"))


class Driver:
    """A GPU by its primary context, which PyTorch uses, too; current in this thread from here on."""

    def __init__(self, ordinal: int = 0) -> None:
        try:
            self._cuda = open_driver()
        except OSError as error:
            raise InputError(f"no CUDA driver: {error}") from error
        self.call("cuInit", 0)
        self._device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self._device), ordinal)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, self._device)
        self.name = name.value.decode()
        self.capability = 10 * self.attribute(COMPUTE_MAJOR) + self.attribute(COMPUTE_MINOR)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self.call("cuCtxPushCurrent_v2", context)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self._device)
        return value.value

    def call(self, function: str, *arguments: Any, about: str = "") -> None:
        result = getattr(self._cuda, function)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(result, ctypes.byref(text))
            raise InputError(f"{function}{about}: {(text.value or b'error').decode()} ({result})")

    def load(self, image: bytes, name: str) -> Module:
        """A cubin, or PTX, which the driver compiles."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), image + b"\0", 2, options, values)
        except InputError as error:
            raise InputError(f"{name}: {error} {log.value.decode(errors='replace').strip()}".rstrip()) from error
        return Module(self, module)


class Module:
    """The kernels of an image."""

    def __init__(self, driver: Driver, module: ctypes.c_void_p) -> None:
        self._driver, self._module = driver, module
        self._functions: dict[tuple[str, int], ctypes.c_void_p] = {}

    def _function(self, kernel: str, shared: int) -> ctypes.c_void_p:
        key, about = (kernel, shared), f" of '{kernel}'"
        if key not in self._functions:
            function = ctypes.c_void_p()
            name = kernel.encode()
            self._driver.call("cuModuleGetFunction", ctypes.byref(function), self._module, name, about=about)
            if shared:
                self._driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, shared, about=about)
            self._functions[key] = function
        return self._functions[key]

    def prepare(self, kernel: str, grid: Any, block: Any, shared: int, arguments: Any) -> Any:
        """What launches the kernel on a stream, with all of it in place."""
        function = self._function(kernel, shared)
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        numbers = [ctypes.c_uint(number) for number in (*grid, *block, shared)]

        def launch(stream: int, keep: Any = arguments) -> None:
            where = ctypes.c_void_p(stream)
            self._driver.call("cuLaunchKernel", function, *numbers, where, pointers, None, about=f" of '{kernel}'")

        return launch
