"""What all tests share."""

import os
import secrets

import numpy as np
import pytest


def fresh_rng() -> np.random.Generator:
    """Random numbers with a fresh seed, printed where a test fails; `KVQ_SEED=<seed>` runs it again with that one."""
    seed = int(os.environ.get("KVQ_SEED") or secrets.randbits(32))
    print(f"KVQ_SEED={seed}")
    return np.random.default_rng(seed)


@pytest.fixture
def rng() -> np.random.Generator:
    return fresh_rng()
