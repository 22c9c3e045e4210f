"""Attention in linalg, in each way that front ends write it: kvq-raise-attention makes kvq.attention of it, which gives
the same."""

from __future__ import annotations

import numpy as np
import pytest
from raise_forms import Form, any_form, describe, draw, each_way

from kvq_mlir import _kvq
from kvq_mlir.metrics import relative_l2

TOLERANCE = 1e-5  # rule R35


def raised(text: str) -> str:
    return _kvq.run_pipeline(text, "builtin.module(func.func(kvq-raise-attention,canonicalize))")


def check(form: Form, rng: np.random.Generator) -> None:
    print(form)
    case = draw(form, rng)
    text = raised(case.text)
    assert text.count("kvq.attention") == 1
    assert "math.exp" not in text and "linalg.softmax" not in text
    kernel = _kvq.compile(text)
    out = np.full(case.expected.shape, np.nan, np.float32)
    kernel.invoke("f", (*case.arrays, out))
    error = relative_l2(out, case.expected)
    assert error <= TOLERANCE


@pytest.mark.parametrize("form", each_way(), ids=describe)
def test_each_way(form, rng):
    check(form, rng)


@pytest.mark.parametrize("number", range(20))
def test_drawn(number, rng):
    check(any_form(rng), rng)
