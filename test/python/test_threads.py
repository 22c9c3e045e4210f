"""Attention and appends on several threads: the same bits as on one."""

import ctypes
import threading

import numpy as np
import pytest
from conftest import fresh_rng

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.compiler import kernel
from kvq_mlir.ir import attention as attention_ir

K = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
V = "codes = i8, group = [1, 32], scale = f16"
LENGTHS = [0, 1, 100, 33]


@pytest.fixture(scope="module")
def caches():
    rng = fresh_rng()
    k = kvq.Cache(4, 2, 160, 64, kvq.Format(K), recent=32, fill=0xFF)
    v = kvq.Cache(4, 2, 160, 64, kvq.Format(V), fill=0xFF)
    for cache in (k, v):
        cache.append(rng.standard_normal((4, 2, 100, 64)).astype(np.float32), counts=LENGTHS)
    return k, v


@pytest.mark.parametrize("splits", [1, 3])
def test_the_number_of_threads_changes_no_bit(caches, rng, splits):
    q = rng.standard_normal((4, 6, 2, 64)).astype(np.float32)
    one = kvq.attention(q, *caches, splits=splits)
    assert np.isfinite(one).all() and one[1:].any(axis=-1).any()
    for threads in (2, 3, 16):
        out = np.full_like(one, np.nan)
        kvq.attention(q, *caches, splits=splits, threads=threads, out=out)
        assert np.array_equal(one, out), threads


@pytest.mark.parametrize("window, storage", [(32, {}), (32, dict(page=64)), (0, dict(page=16, exact_first=3)), (0, dict(ring=60))])
def test_appends_on_several_threads(window, storage, rng):
    fmt = kvq.Format(K if window else V)
    one, several = (kvq.Cache(4, 2, 300, 64, fmt, recent=window, fill=0xFF, **storage) for _ in range(2))
    for counts in ([70, 0, 1, 33], [1, 1, 1, 1], [5, 64, 40, 0]):
        x = rng.standard_normal((4, 2, 70, 64)).astype(np.float32)
        one.append(x, counts)
        several.append(x, counts, threads=3)
    assert one.lengths.tolist() == several.lengths.tolist()
    for name, array in one.storage().items():
        assert np.array_equal(array.view(np.uint8), several.storage()[name].view(np.uint8)), name
    with pytest.raises(kvq.Error, match="at least 1 thread, got 0"):
        one.append(x, counts, threads=0)


def test_slots_on_several_threads(rng):
    table = rng.permutation(12).reshape(1, 12)
    one, several = (kvq.Cache(1, 2, 96, 64, kvq.Format(V), fill=0xFF, page=8, pages=12, page_table=table) for _ in range(2))
    x = rng.standard_normal((96, 2, 64)).astype(np.float32)
    slots = rng.permutation(96)
    slots[rng.random(96) < 0.2] = -1
    one.store(x, slots, [96])
    several.store(x, slots, [96], threads=3)
    for name, array in one.storage().items():
        assert np.array_equal(array.view(np.uint8), several.storage()[name].view(np.uint8)), name


def test_calls_from_several_threads_at_once(caches, rng):
    queries = [rng.standard_normal((4, 6, 2, 64)).astype(np.float32) for _ in range(4)]
    expected = [kvq.attention(q, *caches) for q in queries]
    wrong = []

    def call(index):
        for _ in range(50):
            if not np.array_equal(kvq.attention(queries[index], *caches, threads=1 + index), expected[index]):
                wrong.append(index)

    workers = [threading.Thread(target=call, args=(i,)) for i in range(len(queries))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_a_call_leaves_openmps_own_number_alone(caches, rng):
    q = rng.standard_normal((4, 6, 2, 64)).astype(np.float32)
    kvq.attention(q, *caches, threads=2)  # loads the library
    openmp = ctypes.CDLL("libomp.so.5")
    openmp.omp_set_num_threads(5)
    kvq.attention(q, *caches, threads=3)
    assert openmp.omp_get_max_threads() == 5


def test_a_number_of_threads_that_cannot_be(caches, rng):
    q = rng.standard_normal((4, 6, 2, 64)).astype(np.float32)
    with pytest.raises(kvq.Error, match="expected at least 1 thread, got 0"):
        kvq.attention(q, *caches, threads=0)
    k, v = caches
    signature = ((4, 6, 64), "f32", 64, k.dynamic_type, v.dynamic_type, (True, False), attention_ir.Variant(0.125, True))
    compiled = kernel(attention_ir.attention, *signature)
    with pytest.raises(_kvq.Error, match="compiled to run on several"):
        compiled.invoke("attention", (q, *k._arrays, *v._arrays, k._lengths, k._flushed, np.empty_like(q)), 2)
