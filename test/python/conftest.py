"""What all tests share."""

import os
import secrets
from importlib.util import find_spec

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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch: needs torch and transformers, which `tools/check --torch` installs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    skip = pytest.mark.skip(reason=f"optional packages are missing: pip install {' '.join(missing)}")
    for item in items:
        if missing and item.get_closest_marker("torch"):
            item.add_marker(skip)
