"""Attention over what dequantizes codes, in each way that it may be written: it reads the codes, and gives the same.

Without a fusion nothing compiles: attention over tensors has no lowering.
"""

from __future__ import annotations

import re

import kvq_mlir as kvq
import numpy as np
import pytest
from fuse_arithmetic import ARITHMETIC
from fuse_moves import BATCH, DIM, HEADS, MOVES, RATIO, ROWS, TOKENS, Arrays, Case, dequantize, tensor
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


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray, scale: float = 0.125
) -> np.ndarray:
    out = np.zeros(q.shape)
    for b, h in np.ndindex(q.shape[:2]):
        of = h * k.shape[1] // q.shape[1]
        scores = q[b, h, 0].astype(np.float64) @ k[b, of, : lengths[b]].T * scale
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


def draw_chain(rng: np.random.Generator) -> Case:
    """Moves by chance between codes and attention, drawn from its end: transposes, slices, axes that are split, joined,
    made or dropped. The channels stay the last axis."""
    shape, steps, moves = [BATCH, HEADS, TOKENS, DIM], [], []
    for _ in range(rng.integers(1, 7)):
        rank, after = len(shape), list(shape)
        move = str(rng.choice(["transpose", "slice", "split", "join", "unit", "no unit"]))
        axis = int(rng.integers(rank - 1))
        if move == "transpose":
            order = [*rng.permutation(rank - 1).tolist(), rank - 1]
            shape = [after[order.index(i)] for i in range(rank)]
            steps.append(("linalg.transpose", f"permutation = {order}", list(shape), after))
            moves.append(lambda x, order=order: x.transpose(order))
        elif move == "slice":
            begin, behind = (int(n) for n in rng.integers(0, 4, 2))
            shape[axis] += begin + behind
            offsets = [begin if i == axis else 0 for i in range(rank)]
            steps.append(("tensor.extract_slice", f"{offsets} {after} {[1] * rank}", list(shape), after))
            moves.append(lambda x, axis=axis, begin=begin, size=after[axis]: x.take(range(begin, begin + size), axis))
        elif move == "split" and shape[axis] % 2 == 0:  # two axes of codes are one of the values
            shape[axis : axis + 1] = [shape[axis] // 2, 2]
            groups = [[i] for i in range(axis)] + [[axis, axis + 1]] + [[i] for i in range(axis + 2, rank + 1)]
            steps.append(("tensor.collapse_shape", str(groups), list(shape), after))
            moves.append(lambda x, after=after: x.reshape(after))
        elif move == "join" and axis + 2 < rank:
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
            groups = [[i] for i in range(axis)] + [[axis, axis + 1]] + [[i] for i in range(axis + 2, rank)]
            steps.append(("tensor.expand_shape", f"{groups} output_shape {after}", list(shape), after))
            moves.append(lambda x, after=after: x.reshape(after))
        elif move == "unit":
            shape.insert(axis, 1)
            groups = [[i] for i in range(axis)] + [[axis, axis + 1]] + [[i] for i in range(axis + 2, rank + 1)]
            steps.append(("tensor.collapse_shape", str(groups), list(shape), after))
            moves.append(lambda x, after=after: x.reshape(after))
    kinds = [tensor(shape, "i8"), tensor([*shape[:-1], 1], "f32")]
    body = dequantize("x0", "codes = i8, group = [1, *], scale = f32", "c", ["s"], tuple(shape), kinds)
    for i, (op, text, before, after) in enumerate(reversed(steps)):
        name = "x" if i + 1 == len(steps) else f"x{i + 1}"
        a, b = tensor(before, "f32"), tensor(after, "f32")
        if op == "linalg.transpose":
            body += (
                f"\n  %{name}_init = tensor.empty() : {b}\n  %{name} = {op} ins(%x{i} : {a}) outs(%{name}_init : {b}) {text}"
            )
        else:
            gap, to = ("", "to") if "slice" in op else (" ", "into")
            body += f"\n  %{name} = {op} %x{i}{gap}{text} : {a} {to} {b}"
    if not steps:
        body = body.replace("%x0", "%x")

    def values(arrays: Arrays) -> np.ndarray:
        x = arrays["c"].astype(np.float64) * arrays["s"]
        for move in reversed(moves):
            x = move(x)
        return x

    def draw(r: np.random.Generator) -> Arrays:
        scales = r.uniform(0.005, 0.02, (*shape[:-1], 1)).astype(np.float32)
        return {"c": r.integers(-127, 128, shape).astype(np.int8), "s": scales}

    return Case("; ".join(f"{op} {text}" for op, text, *_ in reversed(steps)), draw, body, values)


def test_chains_of_moves(rng):
    """What fuses is right, however long the chain; what does not is an error."""
    fused = 0
    for _ in range(10):
        case = draw_chain(rng)
        print(case)
        try:
            check(case, case, rng)
            fused += 1
        except kvq.Error as error:
            assert "kvq-fuse-dequantize did not make it one over caches" in str(error)
    assert fused >= 2


def draw_format(rng: np.random.Generator) -> str:
    """Integer codes in any layout."""
    bits = int(rng.choice([2, 3, 4, 5, 6, 8]))
    is_signed = bool(rng.integers(2))
    layouts = ["", "codes = stream", "codes = planar<32>"]
    layouts += ["bias"] * is_signed + ["codes = reversed"] * (bits in (2, 4, 8))
    layout = str(rng.choice(layouts))
    zero = "" if is_signed else f", zero = {rng.choice(['min f16', 'point ui8', 'point f32'])}"
    group, scale = rng.choice(["1, 32", "1, *", "32, 1", "32, 16"]), rng.choice(["f16", "f32"])
    text = f"codes = {'' if is_signed else 'u'}i{bits}, group = [{group}], scale = {scale}{zero}"
    return f"{text}, layout = #kvq.layout<{layout}>" if layout else text


def attention_over(fmt: kvq.Format) -> tuple[str, list[tuple[tuple[int, ...], str]]]:
    """Attention over what kvq.unpack and kvq.dequantize make, and the arrays that it reads: shapes and types."""
    groups = (BATCH, HEADS, TOKENS // fmt.tokens, DIM // fmt.channels(DIM))
    packed = (BATCH, HEADS, TOKENS, DIM * fmt.bits // 8)
    metadata = [(groups, kind) for kind in (fmt.scale, fmt.zero_element) if kind]
    shape, q = (BATCH, HEADS, TOKENS, DIM), tensor((BATCH, HEADS * RATIO, 1, DIM), "f32")
    parameters = "".join(f", %m{i}: {tensor(*part)}" for i, part in enumerate(metadata))
    names = ", ".join(f"%m{i}" for i in range(len(metadata)))
    types = ", ".join(tensor(*part) for part in metadata)
    codes = tensor(shape, "i8")
    text = f"""
func.func @f(%q: {q}, %p: {tensor(packed, "i8")}{parameters}, %n: tensor<{BATCH}xi64>, %out: {q}) -> {q} {{
  %c0 = tensor.empty() : {codes}
  %c = kvq.unpack #kvq.format<{fmt}> ins(%p : {tensor(packed, "i8")}) outs(%c0 : {codes}) -> {codes}
  %x0 = tensor.empty() : {ROWS}
  %x = kvq.dequantize #kvq.format<{fmt}> ins(%c, {names} : {codes}, {types}) outs(%x0 : {ROWS}) -> {ROWS}
  %r = kvq.attention ins(%q, %x, %x : {q}, {ROWS}, {ROWS}) lengths(%n : tensor<{BATCH}xi64>) outs(%out : {q})
      {{scale = 0.125 : f32}} -> {q}
  return %r : {q}
}}"""
    return text, [(packed, "i8"), *metadata]


def test_every_format_written_out(rng):
    """What kvq-decompose-values makes of unpacking and dequantizing is found to be the same: to the bit."""
    for _ in range(6):
        fmt = kvq.Format(draw_format(rng))
        print(fmt)
        text, parts = attention_over(fmt)
        written_out = kvq.run_pipeline(text, "builtin.module(func.func(kvq-decompose-values,canonicalize))")
        assert "kvq.dequantize" not in written_out
        arrays = []
        for shape, kind in parts:
            if kind == "i8":
                arrays.append(rng.integers(0, 256 if not arrays else 2**fmt.bits, shape).astype(np.uint8))
            else:
                arrays.append(rng.uniform(0.005, 0.02, shape).astype({"f16": np.float16, "f32": np.float32}[kind]))
        q = rng.standard_normal((BATCH, HEADS * RATIO, 1, DIM)).astype(np.float32)
        lengths, outputs = rng.integers(1, TOKENS + 1, BATCH), []
        for module_text in (text, written_out):
            outputs.append(np.full_like(q, np.nan))
            _kvq.compile(module_text).invoke("f", (q, *arrays, lengths, outputs[-1]))
        assert np.isfinite(outputs[0]).all() and np.array_equal(*outputs)
