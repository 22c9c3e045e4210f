"""Random caches from format to attention, against the oracle: in the quick run every pair of kinds of values of two
fields, in the long one 3,000 cases.

A failing test prints the case; `KVQ_CASE='<it>'` runs it alone. `KVQ_SEED=<seed>` draws the same cases again.
"""

import json
import os
from collections import Counter

import draws
import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import compiler

CASE = os.environ.get("KVQ_CASE")
FULL = bool(os.environ.get("KVQ_FULL"))
SHARES = 1 if CASE else 100 if FULL else 10  # tests that share the cases


def run(text: str, on_gpu: bool = False) -> None:
    try:
        draws.run(text, on_gpu)
    except BaseException:
        print(f"KVQ_CASE='{text}'")
        raise


@pytest.fixture(scope="module")
def cases() -> list[str]:
    if CASE:
        return [CASE]
    rng = fresh_rng()
    if not FULL:
        return [draws.complete(rng, fields) for fields in draws.cover(rng)]
    found = [fields for fields in (draws.draw(rng) for _ in range(4000)) if fields is not None]
    return [draws.complete(rng, fields) for fields in found[:3000]]


@pytest.mark.parametrize("share", range(SHARES))
def test_a_cache_equals_the_oracle(share, cases):
    assert CASE or len(cases) == 3000 or not FULL
    for text in cases[share::SHARES]:
        run(text)
    compiler._kernels.clear()  # none is used again


@pytest.mark.parametrize("share", range(SHARES))
def test_attention_of_gpus_is_within_bounds_of_the_oracle(share, cases):
    """By kernels on the emulator, on tensor cores where they take the caches, and by threads alone."""
    for text in cases[share::SHARES]:
        run(text, on_gpu=True)
    compiler._kernels.clear()


def test_every_pair_is_covered(rng):
    cases, pairs = draws.cover(rng), draws.pairs()
    assert set().union(*(draws.pairs_in(fields) for fields in cases)) >= pairs.keys()
    assert all(draws.allowed(fields) for fields in cases)
    # At least as many as two fields have pairs; not many more.
    most = max(Counter((a, b) for (a, _), (b, _) in pairs).values())
    assert most <= len(cases) <= 3 * most


def test_a_case_says_all():
    """The line of JSON alone decides what runs."""
    rng = np.random.default_rng(5)
    text = draws.complete(rng, draws.draw(rng))
    assert json.loads(text)["seed"] >= 0
    assert set(json.loads(text)) == {*draws.VALUES, "seed"}
