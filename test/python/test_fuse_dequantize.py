"""Attention over what dequantizes codes, in each way that it may be written: it reads the codes, and gives the same.

Without a fusion nothing compiles: attention over tensors has no lowering.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from fuse_arithmetic import ARITHMETIC
from fuse_moves import BATCH, DIM, HEADS, MOVES, RATIO, ROWS, TOKENS, Arrays, Case, tensor
from kvq_mlir import _kvq

MLIR_TYPES = {"float32": "f32", "float16": "f16", "int8": "i8", "uint8": "i8", "int64": "i64"}


def renamed(body: str, side: str) -> str:
    """The body with names of its own."""
    return re.sub(r"%([a-z]\w*)", rf"%{side}_\1", body)


def module(keys: Case, k_arrays: Arrays, values: Case, v_arrays: Arrays) -> str:
    arguments = []
    for side, arrays in (("k", k_arrays), ("v", v_arrays)):
        for name, array in arrays.items():
            arguments.append(
                f"%{side}_{name}: {tensor(array.shape, MLIR_TYPES[str(array.dtype)])} {{bufferization.writable = false}}"
            )
    q = tensor((BATCH, HEADS * RATIO, 1, DIM), "f32")
    return f"""
func.func @f(%q: {q} {{bufferization.writable = false}}, {", ".join(arguments)},
    %n: tensor<{BATCH}xi64> {{bufferization.writable = false}}, %out: {q}) -> {q} {{{renamed(keys.body, "k")}{renamed(values.body, "v")}
  %r = kvq.attention ins(%q, %k_x, %v_x : {q}, {keys.rows}, {values.rows})
      lengths(%n : tensor<{BATCH}xi64>) outs(%out : {q}) {{scale = 0.125 : f32}} -> {q}
  return %r : {q}
}}
"""


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    out = np.zeros(q.shape)
    for b, h in np.ndindex(q.shape[:2]):
        of = h * k.shape[1] // q.shape[1]
        scores = q[b, h, 0].astype(np.float64) @ k[b, of, : lengths[b]].T * 0.125
        p = np.exp(scores - scores.max())
        out[b, h, 0] = p / p.sum() @ v[b, of, : lengths[b]]
    return out


def check(keys: Case, values: Case, rng: np.random.Generator) -> None:
    k, v = keys.draw(rng), values.draw(rng)
    kernel = _kvq.compile(module(keys, k, values, v))
    lengths = rng.integers(1, TOKENS + 1, BATCH)
    q = rng.standard_normal((BATCH, HEADS * RATIO, 1, DIM)).astype(np.float32)
    out = np.full_like(q, np.nan)
    kernel.invoke("f", (q, *k.values(), *v.values(), lengths, out))
    expected = reference(q, keys.values(k), values.values(v), lengths)
    error = np.linalg.norm(out - expected) / np.linalg.norm(expected)
    assert error <= 1e-5


ALL = MOVES + ARITHMETIC


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_fused_as_unfused(case, rng):
    """Keys and values as the case has them."""
    check(case, case, rng)


@pytest.mark.parametrize("number", range(4))
def test_sides_apart(number, rng):
    """Keys one way, values another: neither depends on the other."""
    alike = [case for case in ALL if case.rows == ROWS]
    keys, values = rng.choice(len(alike), 2, replace=False)
    check(alike[keys], alike[values], rng)
