"""Calls on a GPU, by a driver that writes down what it is asked (test/lib/CUDAStub.cpp): nothing here runs a kernel."""

import gc
import ctypes
import os
import re
import shutil
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

BUILD = Path(__import__("kvq_mlir")._kvq.__file__).parents[2]
os.environ["KVQ_CUDA_DRIVER"] = str(BUILD / "lib/KVQCUDAStub.so")

import kvq_mlir as kvq  # noqa: E402 (the driver is looked for once, at the first call)
from kvq_mlir import _kvq  # noqa: E402
from kvq_mlir.cuda_arrays import CudaArray  # noqa: E402
from kvq_mlir.ir import attention as ir  # noqa: E402
from kvq_mlir.unfused import UnfusedAttention  # noqa: E402

CC = shutil.which("clang-22") or shutil.which("cc")
FMT = kvq.Format("codes = i4, group = [1, 32], scale = f16")
INVALID_VALUE, OUT_OF_MEMORY = 1, 2
SHARED_LIMIT = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN

STUB = ctypes.CDLL(os.environ["KVQ_CUDA_DRIVER"])
STUB.kvq_stub_take_log.restype = ctypes.c_char_p
STUB.kvq_stub_capture.argtypes = (ctypes.c_void_p, ctypes.c_int)


def take_log():
    return [line.split() for line in STUB.kvq_stub_take_log().decode().splitlines()]


@pytest.fixture(autouse=True)
def stub():
    take_log()
    yield
    for function in (b"cuLaunchKernel", b"cuMemAllocAsync", b"cuModuleLoadDataEx", b"cuFuncSetAttribute"):
        STUB.kvq_stub_fail(function, 0)
    STUB.kvq_stub_set_static_shared(0)


def on_gpu(x):
    array = CudaArray(x.shape, x.dtype, 0)
    array.upload(np.ascontiguousarray(x))
    return array


class DLPackArray:
    """An array on a GPU that only DLPack knows, with what its package would be told."""

    def __init__(self, array, stride=1, device=0):
        self.array, self.device, self.streams = array, device, []
        shape = (ctypes.c_int64 * len(array.shape))(*array.shape)
        strides = [stride] * len(array.shape)
        for axis in reversed(range(len(array.shape) - 1)):
            strides[axis] = strides[axis + 1] * array.shape[axis + 1]
        code = {"f": 2, "i": 0}[array.dtype.kind]

        class DLTensor(ctypes.Structure):
            _fields_ = [
                ("data", ctypes.c_void_p),
                ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p),
            ]

        address = array.__cuda_array_interface__["data"][0]
        self.keep = shape, (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = DLTensor(address - 16, 2, device, len(shape), code, array.dtype.itemsize * 8, 1, *self.keep, 16)

    def __dlpack_device__(self):
        return 2, self.device

    def __dlpack__(self, stream):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def filled(rng, tokens=70, batch=2, **options):
    """A pair of caches on the processor."""
    caches = []
    for _ in range(2):
        cache = kvq.Cache(batch, 2, 256, 64, FMT, fill=0xFF, **options)
        cache.append(rng.standard_normal((batch, 2, tokens, 64), np.float32))
        caches.append(cache)
    return caches


def launches(log):
    return [line for line in log if line[0] == "cuLaunchKernel"]


def test_one_call_launches_all_kernels_on_the_stream(rng):
    k, v = (cache.to("cuda") for cache in filled(rng, recent=16, page=32))
    assert all(isinstance(array, CudaArray) for array in k.storage().values())
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    kvq.attention(q, k, v, splits=3)  # compiles and loads
    take_log()
    out, lse = kvq.attention(q, k, v, splits=3, return_lse=True, device=kvq.Cuda(stream=77))
    log = take_log()
    order = [line[0] for line in log if line[0] not in ("cuModuleGetFunction", "cuFuncSetAttribute", "cuMemAlloc")]
    copies, allocations = order.count("cuMemcpyHtoDAsync"), order.count("cuMemAllocAsync")
    assert copies == 5  # lengths, two flushed counts, two page tables
    assert allocations > 0
    assert order == [
        "cuModuleLoadDataEx",
        *["cuMemcpyHtoDAsync"] * copies,
        *["cuMemAllocAsync"] * allocations,
        "cuLaunchKernel",
        "cuLaunchKernel",
        *["cuMemFreeAsync"] * allocations,
    ]
    assert all(line[line.index("stream") + 1] == "77" for line in log if "stream" in line)
    split, merge = launches(log)
    assert (split[1], merge[1]) == ("attention_kernel", "attention_kernel_1")
    assert split[2:6] == ["grid", "12", "1", "1"]  # 2 x 2 x 3 items
    # Memrefs: the pointer twice, offset, sizes, strides.
    pointer = str(q.__cuda_array_interface__["data"][0])
    start = split.index("arguments") + 1
    assert split[start : start + 11] == [pointer, pointer, "0", "2", "8", "1", "64", "512", "64", "64", "1"]
    for array in (*k.storage().values(), *v.storage().values()):
        assert str(array.__cuda_array_interface__["data"][0]) in split
    for array in (out, lse):
        assert str(array.__cuda_array_interface__["data"][0]) in merge
    assert out.shape == (2, 8, 1, 64) and lse.shape == (2, 8, 1)
    # What nothing has changed is not copied again; kernels are found once.
    kvq.attention(q, k, v, splits=3, return_lse=True, device=kvq.Cuda(stream=77))
    assert {line[0] for line in take_log()} == {"cuMemAlloc", "cuMemAllocAsync", "cuLaunchKernel", "cuMemFreeAsync"}


def test_a_call_can_be_captured(rng):
    k, v = (cache.to("cuda:0") for cache in filled(rng))
    q, out = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16)), CudaArray((2, 8, 1, 64), np.float32, 0)
    device = kvq.Cuda(stream=5)
    kvq.attention(q, k, v, splits=2, out=out, device=device)
    take_log()
    STUB.kvq_stub_capture(5, 1)
    try:
        kvq.attention(q, k, v, splits=2, out=out, device=device)
        assert {line[0] for line in take_log()} == {"cuMemAllocAsync", "cuLaunchKernel", "cuMemFreeAsync"}
        k._lengths += 1
        v._lengths += 1
        with pytest.raises(kvq.Error, match=r"not on the device yet: call the cache's publish\(\)"):
            kvq.attention(q, k, v, splits=2, out=out, device=device)
    finally:
        STUB.kvq_stub_capture(5, 0)
    k.publish(5)
    assert take_log() == [["cuMemcpyHtoDAsync", "16", "stream", "5"]]


def test_dlpack_arrays_hear_of_the_stream(rng):
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = DLPackArray(on_gpu(rng.standard_normal((2, 8, 1, 64), np.float32)))
    out = kvq.attention(q, k, v, device=kvq.Cuda(stream=9))
    assert out.shape == (2, 8, 1, 64)
    assert set(q.streams[1:]) == {9}
    pointer = str(q.array.__cuda_array_interface__["data"][0])
    assert pointer in launches(take_log())[0]
    kvq.attention(q, k, v)
    assert q.streams[-1] == 1  # the legacy default stream


def test_the_stream_of_a_package_and_its_arrays(rng, monkeypatch):
    """What PyTorch is asked for, by a stand-in: its current stream, and a new array."""
    torch = types.ModuleType("torch")

    class Tensor(DLPackArray):
        device = "cuda:0"

    torch.Tensor, torch.float32 = Tensor, np.float32
    torch.empty = lambda shape, dtype, device: Tensor(CudaArray(shape, dtype, 0))
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: types.SimpleNamespace(cuda_stream=42))
    monkeypatch.setitem(sys.modules, "torch", torch)
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = Tensor(on_gpu(rng.standard_normal((2, 8, 1, 64), np.float32)))
    kvq.attention(q, k, v)
    take_log()
    out, lse = kvq.attention(q, k, v, return_lse=True)
    assert isinstance(out, Tensor) and isinstance(lse, Tensor)
    assert (out.array.shape, lse.array.shape) == ((2, 8, 1, 64), (2, 8, 1))
    log = take_log()
    assert launches(log) and all(line[line.index("stream") + 1] == "42" for line in log if "stream" in line)
    assert q.streams[-1] == 42
    # Another stream, where one is asked for.
    kvq.attention(q, k, v, device=kvq.Cuda(stream=43))
    assert all(line[line.index("stream") + 1] == "43" for line in launches(take_log()))


def test_the_stream_of_an_interface(rng):
    class Array:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__ | {"stream": 44}

    k, v = (cache.to("cuda") for cache in filled(rng))
    kvq.attention(Array(on_gpu(rng.standard_normal((2, 8, 1, 64), np.float32))), k, v)
    (launch,) = launches(take_log())
    assert launch[launch.index("stream") + 1] == "44"


def test_arguments_of_the_host_are_copied(rng):
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    slopes = rng.uniform(0, 1, 8).astype(np.float32)
    kvq.attention(q, k, v, slopes=slopes.tolist(), positions=[69, 68])
    assert ["cuMemcpyHtoDAsync", "32", "stream", "0"] in take_log()
    kvq.attention(q, k, v, slopes=on_gpu(slopes), positions=on_gpu(np.array([69, 68])))
    assert sum(line[0] == "cuMemcpyHtoDAsync" for line in take_log()) == 2  # those of on_gpu


def test_a_mask_and_tables_on_the_gpu(rng):
    fmt = kvq.Format("codes = i8, group = [1, *], scale = f16, rope = pre")
    keys = kvq.Cache(1, 2, 64, 64, fmt, device="cuda")
    values = kvq.Cache(1, 2, 64, 64, FMT, device="cuda")
    q = on_gpu(rng.standard_normal((1, 2, 1, 64)).astype(np.float32))
    tables = tuple(on_gpu(table) for table in kvq.rope_tables(64, 64))
    kvq.attention(q, keys, values, rope=tables, mask=on_gpu(np.ones((1, 1, 1, 64), bool)))
    (launch,) = launches(take_log())
    for table in tables:
        assert str(table.__cuda_array_interface__["data"][0]) in launch


def test_a_cache_that_lives_on_the_gpu(rng):
    cache = kvq.Cache(2, 2, 64, 64, FMT, page=8, device="cuda")
    x = on_gpu(rng.standard_normal((2, 2, 11, 64), np.float32))
    take_log()
    cache.append(x, [11, 5])
    (launch,) = launches(take_log())
    assert launch[1] == "append_kernel"
    for array in (x, *cache.storage().values()):
        assert str(array.__cuda_array_interface__["data"][0]) in launch
    assert cache.lengths.tolist() == [11, 5] and cache.page_table[1, 0] >= 0
    # A shared page is copied on the GPU before it is written to; the copies are in the order of the stream.
    cache.fork(0, [1])
    assert cache.page_table[0, 1] == cache.page_table[1, 1]
    take_log()
    cache.device = kvq.Cuda(0, stream=3)
    cache.append(DLPackArray(on_gpu(rng.standard_normal((2, 2, 1, 64), np.float32))))
    log = [line for line in take_log() if line[0] in ("cuMemcpyDtoDAsync", "cuLaunchKernel")]
    assert all(line[line.index("stream") + 1] == "3" for line in log) and log[-1][0] == "cuLaunchKernel"
    codes, scales = cache.storage().values()
    pages = len(codes.numpy())
    assert [line[:2] for line in log if line[0] == "cuMemcpyDtoDAsync"] == [
        ["cuMemcpyDtoDAsync", str(array.nbytes // pages)] for array in (codes, scales)
    ]
    with pytest.raises(kvq.Error, match="expected the tokens on cuda:0, got an array in the host's memory"):
        cache.append(np.zeros((2, 2, 1, 64), np.float32))
    with pytest.raises(kvq.Error, match=r"expected tokens of shape \[2, 2, tokens, 64\], got \[2, 2, 1, 32\]"):
        cache.append(on_gpu(np.zeros((2, 2, 1, 32), np.float32)))
    assert cache.lengths.tolist() == [12, 12]


def test_keys_are_turned_in_the_launch_that_stores_them(rng):
    cache = kvq.Cache(2, 2, 64, 64, FMT, recent=16, page=8, device="cuda")
    x = on_gpu(rng.standard_normal((2, 2, 11, 64), np.float32))
    tables = tuple(on_gpu(table) for table in kvq.rope_tables(11, 64))
    take_log()
    cache.append(x, [11, 5], rope=tables)
    (launch,) = launches(take_log())
    assert launch[1] == "append_kernel"
    for array in (x, *tables, *cache.storage().values()):
        assert str(array.__cuda_array_interface__["data"][0]) in launch
    with pytest.raises(kvq.Error, match="expected a table of RoPE on cuda:0, got an array in the host's memory"):
        cache.append(x, [0, 1], rope=kvq.rope_tables(11, 64))
    with pytest.raises(kvq.Error, match="positions up to 11 need 12 rows of the tables of RoPE, got 11"):
        cache.append(x, [1, 0], rope=tables)
    assert cache.lengths.tolist() == [11, 5]


def test_a_cache_is_rebuilt_on_the_gpu(rng):
    """All of it in one launch, on the stream of the array that it goes to; before attention on that of the query."""
    k, v = (cache.to("cuda") for cache in filled(rng, recent=16, page=32))
    out = DLPackArray(CudaArray((2, 2, 70, 64), np.float32, 0))
    k.device = kvq.Cuda(0, stream=3)
    take_log()
    assert k.dequantize(out) is out
    (launch,) = launches(take_log())
    assert launch[1] == "rebuild_kernel" and launch[launch.index("stream") + 1] == "3"
    assert launch[2:6] == ["grid", "8", "1", "1"]  # 2 x 2 x 2 tiles of 64 tokens
    for array in (out.array, *k.storage().values()):
        assert str(array.__cuda_array_interface__["data"][0]) in launch
    found = v.dequantize()
    assert isinstance(found, CudaArray) and (found.shape, found.dtype) == ((2, 2, 70, 64), np.float32)
    with pytest.raises(kvq.Error, match="expected out on cuda:0, got an array in the host's memory"):
        k.dequantize(np.zeros((2, 2, 70, 64), np.float32))
    exact, unfused = k.to_exact(), UnfusedAttention(k, v)
    assert exact.device == k.device and exact.to("cpu").lengths.tolist() == [70, 70]
    with pytest.raises(kvq.Error, match="in the memory of 'cuda:0', got .* in that of 'cpu'"):
        k.to_exact(k.to("cpu").to_exact())
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    unfused(q, splits=1)
    take_log()
    unfused(q, splits=1, device=kvq.Cuda(stream=9))
    log = launches(take_log())
    assert [line[1] for line in log] == ["rebuild_kernel", "rebuild_kernel", "attention_kernel"]
    assert all(line[line.index("stream") + 1] == "9" for line in log)


def test_storage_of_an_engine(rng):
    """Pools that another package has allocated, and filled."""
    host = filled(rng, tokens=20, page=8, page_table=rng.permutation(64).reshape(2, 32))
    options = dict(page=8, pages=64, page_table=host[0].page_table, device="cuda", lengths=[20, 20])
    stored = [{name: on_gpu(array) for name, array in cache.storage().items()} for cache in host]
    foreign = [{name: DLPackArray(array) for name, array in arrays.items()} for arrays in stored]
    k, v = (kvq.Cache(2, 2, 256, 64, FMT, storage=arrays, **options) for arrays in foreign)
    take_log()
    kvq.attention(on_gpu(np.zeros((2, 4, 1, 64), np.float16)), k, v)
    launch = launches(take_log())[0]
    for array in (*stored[0].values(), *stored[1].values()):
        assert str(array.__cuda_array_interface__["data"][0]) in launch
    np.testing.assert_array_equal(k.to("cpu").dequantize(), host[0].dequantize())
    with pytest.raises(kvq.Error, match="expected storage of codes, scales, got codes"):
        kvq.Cache(2, 2, 256, 64, FMT, storage={"codes": stored[0]["codes"]}, **options)
    with pytest.raises(kvq.Error, match=r"expected storage 'codes' as int8 of shape \[64, 2, 8, 32\], got i8 of shape \[8, 2, 8, 32\]"):
        kvq.Cache(2, 2, 256, 64, FMT, storage=stored[0] | {"codes": CudaArray((8, 2, 8, 32), np.int8, 0)}, **options)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda q: np.zeros((2, 8, 1, 64), np.float32), "expected q on cuda:0, got an array in the host's memory"),
        (lambda q: 3, "expected q as an array on cuda:0, with __dlpack__ or __cuda_array_interface__, got builtins.int"),
        (lambda q: on_gpu(np.zeros((2, 8, 1, 64))), "expected q as an array of f16, bf16 or f32, got f64"),
        (lambda q: on_gpu(np.zeros((2, 8, 1, 32), np.float16)), "expected q with the K cache's head_dim 64, got 32"),
        (lambda q: on_gpu(np.zeros((2, 8, 64), np.float16)), r"expected q as \[batch, q_heads, q_len, dim\], got 3 axes"),
        (lambda q: DLPackArray(q, stride=2), r"on cuda:0, got a strided array of 'float16' \[2, 8, 1, 64\]"),
        (lambda q: DLPackArray(q, device=1), "expected q on cuda:0, got an array in cuda:1"),
    ],
)
def test_arrays_that_do_not_fit(rng, change, message):
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    with pytest.raises((kvq.Error, TypeError), match=message):
        kvq.attention(change(q), k, v)
    assert not launches(take_log())


def test_what_else_does_not_fit(rng):
    host = filled(rng)
    k, v = (cache.to("cuda") for cache in host)
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    with pytest.raises(kvq.Error, match=r"expected a K cache in the memory of 'cuda:0', got one in that of 'cpu'"):
        kvq.attention(q, host[0], v, device="cuda:0")
    with pytest.raises(kvq.Error, match="expected a V cache in the memory of 'cuda:0', got one in that of 'cpu'"):
        kvq.attention(q, k, host[1])
    with pytest.raises(kvq.Error, match="expected a K cache in the memory of 'cpu', got one in that of 'cuda:0'"):
        kvq.attention(q, k, v, device="cpu")
    with pytest.raises(kvq.Error, match="expected device 'cpu', .* got 'gpu'"):
        kvq.attention(q, k, v, device="gpu")
    with pytest.raises(kvq.Error, match="threads are of a processor: expected none on a GPU, got 2"):
        kvq.attention(q, k, v, threads=2)
    with pytest.raises(kvq.Error, match=r"expected out as f32 of shape \(2, 8, 1, 64\), got f16"):
        kvq.attention(q, k, v, out=q)
    with pytest.raises(kvq.Error, match=r"expected slopes as f32 of shape \[8\]"):
        kvq.attention(q, k, v, slopes=q)
    with pytest.raises(kvq.Error, match="expected a CUDA device from 0 to 0, got 3"):
        kvq.Cache(1, 1, 8, 64, FMT, device="cuda:3")
    np.testing.assert_array_equal(k.to("cpu").dequantize(), host[0].dequantize())


def test_errors_of_the_driver(rng):
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    call = lambda: kvq.attention(q, k, v, splits=2)  # noqa: E731
    call()
    gc.collect()  # what earlier tests have left
    before = STUB.kvq_stub_num_allocations()
    STUB.kvq_stub_fail(b"cuLaunchKernel", INVALID_VALUE)
    take_log()
    with pytest.raises(
        kvq.Error, match=r"^cuLaunchKernel of 'attention_kernel' failed: invalid argument \(CUDA_ERROR_INVALID_VALUE\)$"
    ):
        call()
    assert len(launches(take_log())) == 1  # what follows is not launched
    STUB.kvq_stub_fail(b"cuLaunchKernel", 700)
    with pytest.raises(kvq.Error, match=r"failed: an error without a description \(error 700\)"):
        call()
    STUB.kvq_stub_fail(b"cuLaunchKernel", 0)
    take_log()
    STUB.kvq_stub_fail(b"cuMemAllocAsync", OUT_OF_MEMORY)
    with pytest.raises(kvq.Error, match=r"cuMemAllocAsync of \d+ bytes on Stub failed: out of memory"):
        call()
    assert not launches(take_log())
    assert STUB.kvq_stub_num_allocations() == before
    STUB.kvq_stub_fail(b"cuModuleLoadDataEx", INVALID_VALUE)
    with pytest.raises(kvq.Error, match=r"loading kernels on Stub by cuModuleLoadDataEx failed: .*\nptxas: line 7 is odd"):
        kvq.attention(q, k, v, splits=2, scale=0.3)


KERNEL = """
module attributes {{gpu.container_module}} {{
  gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {{
    llvm.mlir.global external @ring() {{addr_space = 3 : i32, alignment = 128 : i64}} : !llvm.array<0 x i8>
    llvm.func @k(%x: !llvm.ptr, %y: !llvm.ptr, %o: i64, %s: i64, %t: i64) attributes {{gpu.kernel, nvvm.kernel}} {{
      llvm.return
    }}
  }}
  func.func @f(%x: memref<4xf32>) {{
    %c1 = arith.constant 1 : index
    %grid = arith.constant {grid} : index
    %bytes = arith.constant {bytes} : i32
    gpu.launch_func @kernels::@k blocks in (%grid, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %bytes args(%x : memref<4xf32>)
    return
  }}
}}
"""


CHECK = "builtin.module(kvq-check-capabilities)"


def run(shared=0, grid=1):
    compiled = _kvq.compile_cuda(KERNEL.format(bytes=shared, grid=grid), 0, pipeline=CHECK)
    take_log()
    compiled.invoke("f", [on_gpu(np.zeros(4, np.float32))])
    return [line for line in take_log() if line[0].startswith(("cuFunc", "cuLaunch"))]


def test_shared_memory_is_asked_for():
    assert [line[0] for line in run(49152)] == ["cuLaunchKernel"]
    attribute, launch = run(49153)
    assert attribute == ["cuFuncSetAttribute", "k", "8", "49153"]
    assert launch[launch.index("shared") + 1] == "49153"
    STUB.kvq_stub_set_static_shared(8)
    assert run(49152)[0] == ["cuFuncSetAttribute", "k", "8", "49152"]
    with pytest.raises(kvq.Error, match="expected at most 232448 bytes of shared memory on sm_90a, found 232449"):
        run(232449)
    with pytest.raises(
        kvq.Error, match="kernel 'k': expected at most 232448 bytes of shared memory of a block on Stub, got 232456"
    ):
        run(232448)


def test_grids():
    assert not run(grid=0)
    assert run(grid=2**31 - 1)
    with pytest.raises(kvq.Error, match="kernel 'k': expected a grid of at most 2147483647 x .* got 2147483648 x 1 x 1"):
        run(grid=2**31)


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
static void print(const char *name, const unsigned *grid, const unsigned *block, size_t shared, const void *words, size_t size) {
  printf("cuLaunchKernel %s grid %u %u %u block %u %u %u shared %zu stream 0 arguments", name, grid[0], grid[1], grid[2],
         block[0], block[1], block[2], shared);
  for (size_t i = 0; i < size / 8; ++i) {
    uint64_t word;
    memcpy(&word, (const char *)words + 8 * i, 8);
    printf(" %llu", (unsigned long long)word);
  }
  printf("\n");
}
int main(void) {
  attention_call call;
  unsigned grid[3], block[3];
  FIELDS
  LAUNCHES
  return 0;
}
"""
LAUNCH = """{
    NAME_arguments arguments = NAME_get_arguments(&call);
    NAME_get_grid(&call, grid);
    NAME_get_block(&call, block);
    print(NAME_name, grid, block, NAME_dynamic_shared_bytes(&call), &arguments, sizeof arguments);
  }"""


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_the_header_says_what_is_launched(tmp_path):
    """A program that fills the structures of `kvq-compile --emit=header` comes to the words that a call launches with."""
    cache = "!kvq.cache<2x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>, recent = 16, page = 32>"
    variant = ir.Variant(scale=0.125, causal=True, lse=True)
    text = ir.attention((2, 8, 64), "f16", 64, cache, cache, (True, True), variant, (True, True))
    arrays = {
        "argument0": ((2, 8, 3, 64), np.float16),
        "argument1_codes": ((7, 2, 32, 32), np.int8),
        "argument1_scales": ((7, 2, 32, 2), np.float16),
        "argument1_recent": ((2, 2, 16, 64), np.float16),
        "argument2_codes": ((9, 2, 32, 32), np.int8),
        "argument2_scales": ((9, 2, 32, 2), np.float16),
        "argument2_recent": ((2, 2, 16, 64), np.float16),
        "argument3": ((2,), np.int64),
        "argument4": ((2,), np.int64),
        "argument5": ((2,), np.int64),
        "argument6": ((2, 5), np.int64),
        "argument7": ((2, 6), np.int64),
        "argument8": ((2, 8, 3, 64), np.float32),
        "argument9": ((2, 8, 3), np.float32),
    }
    arrays = {name: CudaArray(*array, 0) for name, array in arrays.items()}
    compiled = _kvq.compile_cuda(text, 0, options="splits=3")
    take_log()
    compiled.invoke("attention", list(arrays.values()))
    log = take_log()

    (tmp_path / "m.mlir").write_text(text)
    command = [BUILD / "bin/kvq-compile", tmp_path / "m.mlir", "--emit=header", f"--chip={compiled.chip}", "--splits=3"]
    header = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    call = header.partition("} attention_call;")[0].partition("typedef struct {")[2]
    fields = re.findall(r"^  \w+ (\w+);", call, re.MULTILINE)
    values = {name: array.__cuda_array_interface__["data"][0] for name, array in arrays.items()}
    values |= {f"{name}_size{axis}": n for name, array in arrays.items() for axis, n in enumerate(array.shape)}
    # What kernels share was allocated by the call, in the order of the structure.
    words = launches(log)[0][launches(log)[0].index("arguments") + 1 :]
    named = re.findall(r"arguments\.\w+ = arguments\.\w+_aligned = call->(\w+);", header.partition("Launch 2")[0])
    pointers = [int(a) for a, b in zip(words, words[1:]) if a == b and int(a) > 1 << 16]
    values |= {name: pointer for name, pointer in zip(named, pointers, strict=True) if name.startswith("workspace")}
    program = PROGRAM.replace("FIELDS", "\n  ".join(f"call.{name} = {values[name]};" for name in fields))
    names = [line[1] for line in launches(log)]
    program = program.replace("LAUNCHES", "\n  ".join(LAUNCH.replace("NAME", name) for name in names))
    (tmp_path / "m.h").write_text(header)
    (tmp_path / "m.c").write_text('#include "m.h"\n' + program)
    subprocess.run([CC, "-Wall", "-Wextra", "-Werror", tmp_path / "m.c", "-o", tmp_path / "m"], check=True)
    printed = subprocess.run([tmp_path / "m"], capture_output=True, text=True, check=True).stdout
    assert [line.split() for line in printed.splitlines()] == launches(log)
    sizes = re.findall(r"workspace\d+_bytes\(const.*?return \(size_t\)(.*?);", header, re.DOTALL)
    found = [eval(size.replace("call->", ""), {"argument0_size2": 3}) for size in sizes]  # noqa: S307
    assert sorted(found) == sorted(int(line[1]) for line in log if line[0] == "cuMemAllocAsync")


@pytest.mark.parametrize("capability, chip", [(80, "sm_80"), (86, "sm_80"), (89, "sm_89"), (90, "sm_90a"), (121, "sm_89")])
def test_chips(capability, chip):
    major, minor = divmod(capability, 10)
    code = f"""import ctypes, sys, kvq_mlir as kvq
stub = ctypes.CDLL(sys.argv[1])
stub.kvq_stub_set(75, {major})
stub.kvq_stub_set(76, {minor})
print(kvq._kvq.compile_cuda(sys.argv[2], 0, pipeline=sys.argv[3]).chip)"""
    command = [sys.executable, "-c", code, os.environ["KVQ_CUDA_DRIVER"], KERNEL.format(bytes=0, grid=1), CHECK]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == chip, done.stderr


def test_threads(rng):
    k, v = (cache.to("cuda") for cache in filled(rng))
    q = on_gpu(rng.standard_normal((2, 8, 1, 64)).astype(np.float16))
    errors = []

    def work(stream):
        try:
            for _ in range(20):
                kvq.attention(q, k, v, device=kvq.Cuda(stream=stream))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(stream,)) for stream in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize(
    "driver, message",
    [
        (None, "device 'cuda' needs NVIDIA's driver, libcuda.so.1 .* cannot be loaded"),
        ("nowhere.so", "which cannot be loaded: nowhere.so: cannot open"),
        ("libm.so.6", "expected a driver of CUDA 11.2 or later, found 'libm.so.6' without cuInit"),
    ],
)
def test_without_a_driver(driver, message):
    environment = {name: value for name, value in os.environ.items() if name != "KVQ_CUDA_DRIVER"}
    if driver is not None:
        environment["KVQ_CUDA_DRIVER"] = driver
    elif Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has a driver")
    code = "import kvq_mlir as kvq; kvq.Cache(1, 1, 8, 64, kvq.Format('codes = i8, group = [1, *], scale = f16'), device='cuda')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert re.search(message, done.stderr), done.stderr


@pytest.mark.parametrize("name", ["attention-int4-b2-g4-s3", "append-fp8-b2", "rebuild-int8-b2"])
def test_gpu_check_launches_what_kvq_does(name, tmp_path, monkeypatch):
    """tools/gpu-check, which has the manifest and no kvq, comes to the same calls of the driver."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "tools/lib"))
    from gpu_check import build, driver, kernels, plan

    monkeypatch.setattr(build, "BUILD", BUILD)
    small = plan.Plan("full", 2, 128, groups=(4,), splits={2: (3,)}, tokens=(64,))
    chosen = [kernel for kernel in small.kernels() if kernel.name == name]
    monkeypatch.setattr(plan.Plan, "kernels", lambda self: chosen)
    build.build(tmp_path, [small], ["sm_90a"], ptx=True)
    described = build.load_manifest(tmp_path)["full"]["kernels"][name]
    built, function = described["built"]["sm_90a"], described["function"]

    types = {"f16": np.float16, "f32": np.float32, "i8": np.int8, "i64": np.int64}
    specs = built["call"]["arguments"]
    shapes = [tuple(5 if isinstance(extent, str) else extent for extent in spec["shape"]) for spec in specs]
    arrays = [CudaArray(shape, types[spec["element"]], 0) for shape, spec in zip(shapes, specs, strict=True)]
    compiled = _kvq.compile_cuda((tmp_path / described["source"]).read_text(), 0, options=described["options"])
    take_log()
    compiled.invoke(function, arrays)
    expected = take_log()

    gpu = driver.Driver()
    assert (gpu.name, gpu.capability) == ("Stub", 90)
    module = gpu.load((tmp_path / built["image"]).read_bytes(), built["image"])
    call = kernels.Call(built["call"], [(array.__cuda_array_interface__["data"][0], array.shape) for array in arrays])
    allocations = [line for line in expected if line[0] == "cuMemAllocAsync"]
    assert [str(size) for size in call.workspace_bytes()] == [line[1] for line in allocations]
    # What kernels share is anywhere: its words are compared by name.
    prepared = call.launches([1 + index for index in range(len(allocations))])
    take_log()
    for launch in prepared:
        module.prepare(**launch)(0)
    found = take_log()
    assert all(line in found for line in expected if line[0] == "cuFuncSetAttribute")
    for ours, theirs in zip(launches(found), launches(expected), strict=True):
        differ = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
        assert ours[:14] == theirs[:14] and len(set(differ)) <= len(allocations)
        assert all(1 <= int(a) <= len(allocations) for a, _ in differ)

    STUB.kvq_stub_fail(b"cuModuleLoadDataEx", INVALID_VALUE)
    with pytest.raises(Exception, match=f"{name}.sm_90a.ptx: cuModuleLoadDataEx: invalid argument .1. ptxas: line 7 is odd"):
        gpu.load((tmp_path / built["image"]).read_bytes(), built["image"])
    STUB.kvq_stub_fail(b"cuLaunchKernel", OUT_OF_MEMORY)
    with pytest.raises(Exception, match=f"cuLaunchKernel of '{function}_kernel': out of memory .2."):
        module.prepare(**prepared[0])(0)
