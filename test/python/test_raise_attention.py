"""Attention in linalg, in each way that front ends write it: kvq-raise-attention makes kvq.attention of it, which gives
the same."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from fuse_arithmetic import ARITHMETIC
from fuse_moves import BATCH, DIM, HEADS, MOVES, RATIO, ROWS, TOKENS, Case, tensor
from raise_forms import PLAIN, SCALE, Form, Value, Writer, any_form, attend, describe, draw, each_way, function
from test_fuse_dequantize import MLIR_TYPES, reference, renamed

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.metrics import relative_l2

TOLERANCE = 1e-5  # rule R35


def raised(text: str) -> str:
    return _kvq.run_pipeline(text, "builtin.module(func.func(kvq-raise-attention{strict},canonicalize))")


def run(text: str, arrays: tuple[np.ndarray, ...], expected: np.ndarray) -> None:
    """The whole pipeline, of which raising is the first pass."""
    out = np.full(expected.shape, np.nan, np.float32)
    _kvq.compile(text).invoke("f", (*arrays, out))
    error = relative_l2(out, expected)
    assert error <= TOLERANCE


def check(form: Form, rng: np.random.Generator) -> None:
    print(form)
    case = draw(form, rng)
    text = raised(case.text)
    assert text.count("kvq.attention") == 1
    assert "math.exp" not in text and "linalg.softmax" not in text
    run(case.text, case.arrays, case.expected)


@pytest.mark.parametrize("form", each_way(), ids=describe)
def test_each_way(form, rng):
    check(form, rng)


@pytest.mark.parametrize("number", range(20))
def test_drawn(number, rng):
    check(any_form(rng), rng)


def is_apart(form: Form) -> bool:
    return form["queries"] == 1 or form["mask"] not in ("none", "length", "lengths")


@pytest.mark.parametrize("form", [*each_way(), *(None for _ in range(20))], ids=lambda form: describe(form) if form else "")
def test_nothing_is_dropped(form, rng):
    """vllm#14221, InfiniLM#552: what is accepted and ignored. The op says all that was written."""
    form = form or any_form(rng)
    print(form)
    op = re.search(r"kvq.attention .*", raised(draw(form, rng).text))[0]
    mask, several = form["mask"], form["queries"] > 1
    compares = mask in ("causal", "hidden", "window")
    # In the key, but not in the query, which is scaled before.
    scale = {"none": 1.0, "query": 1.0, "both": SCALE**0.5}.get(form["scale"], SCALE)
    assert float(re.search(r"scale = (\S+) : f32", op)[1]) == pytest.approx(scale, rel=1e-6)
    assert ("softcap = 5.0" in op) == (form["softcap"] is not None)
    assert ("window = 9 : i64" in op) == (mask == "window")
    assert ("{causal" in op) == (compares and several)
    assert ("mask(" in op) == ("float" in mask or "i1" in mask)
    assert ("positions(" in op) == (compares and several or mask == "window")
    # Query tokens that no mask tells apart are heads of a group.
    heads = 6 if is_apart(form) else 6 * form["queries"]
    assert f"tensor<2x{heads}x" in op
    assert f"x16x{form['dtype']}, #" in op


# --- keys and values from codes ---------------------------------------------------------------------------------------

CODED = [case for case in MOVES + ARITHMETIC if case.rows == ROWS]


def coded(form: Form, keys: Case, values: Case, rng: np.random.Generator) -> tuple[str, tuple[np.ndarray, ...], np.ndarray]:
    """Attention in linalg over what dequantizes codes."""
    k, v = keys.draw(rng), values.draw(rng)
    arguments = ["%q: " + tensor((BATCH, HEADS * RATIO, 1, DIM), "f32")]
    for side, arrays in (("k", k), ("v", v)):
        arguments += [f"%{side}_{name}: {tensor(x.shape, MLIR_TYPES[str(x.dtype)])}" for name, x in arrays.items()]
    w = Writer(lines=[renamed(keys.body, "k"), renamed(values.body, "v")])
    shape = [BATCH, HEADS, TOKENS, DIM]
    q = Value("%q", [BATCH, HEADS * RATIO, 1, DIM], "f32")
    result = attend(w, form, q, Value("%k_x", shape, "f32"), Value("%v_x", shape, "f32"))
    q_array = rng.standard_normal(q.axes).astype(np.float32)
    expected = reference(q_array, keys.values(k), values.values(v), np.full(BATCH, TOKENS), SCALE)
    return function(w, arguments, result), (q_array, *k.values(), *v.values()), expected.transpose(0, 2, 1, 3)


@pytest.mark.parametrize("number", range(12))
def test_pairs_of_codes(number, rng):
    """llama.cpp#28456, #27150: unusual pairs of keys and values fall to a slow path. Each is fused, which the pipeline
    verifies: nothing is dequantized but tiles."""
    keys, values = (CODED[i] for i in rng.integers(len(CODED), size=2))
    form = any_form(rng) | {"queries": 1, "mask": "none", "softcap": None, "scale": "after"}
    print(keys, values, form)
    text, arrays, expected = coded(form, keys, values, rng)
    run(text, arrays, expected)


@pytest.mark.parametrize("side", ["k", "v"])
def test_codes_that_do_not_fuse_are_an_error(side, rng):
    """They are not read as an exact cache, for which all of it would be dequantized."""
    case = next(case for case in CODED if "kvq.dequantize" in case.body)
    text, _, _ = coded(PLAIN | {"queries": 1, "mask": "none"}, case, case, rng)
    made = re.search(rf"  %{side}_x = .*\n", text)
    # What no format has.
    changed = made[0].replace("_x = ", "_z = ") + f"  %{side}_x = math.absf %{side}_z : {ROWS}\n"
    broken = text.replace(made[0], changed)
    assert "math.absf" in broken
    with pytest.raises(kvq.Error, match="kvq.attention|not bufferized"):
        _kvq.compile(broken)


# --- time -------------------------------------------------------------------------------------------------------------


def layers(count: int, rng: np.random.Generator) -> str:
    text = draw(PLAIN | {"softmax": "exp", "contraction": "batch_matmul", "mask": "window"}, rng).text
    return "".join(text.replace("@f", f"@f{i}") for i in range(count))


def test_time_is_linear_in_layers(rng):
    """Raising, policy and fusing of 32 layers take less than 5 s, and of 64 about twice as much."""

    def seconds(count: int) -> float:
        text, passes = layers(count, rng), "kvq-apply-policy,func.func(kvq-fuse-dequantize)"
        times = []
        for _ in range(3):
            start = time.process_time()
            _kvq.run_pipeline(text, f"builtin.module(func.func(kvq-raise-attention{{strict}}),{passes})")
            times.append(time.process_time() - start)
        return min(times)

    few, many = seconds(32), seconds(64)
    assert few <= 5
    # A quadratic part would show four times as large.
    assert many <= 3 * few + 0.1
