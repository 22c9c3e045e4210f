"""From what frameworks make of models that do not know kvq to quantized caches."""

from pathlib import Path

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import _kvq, reference
from models.architectures import ARCHITECTURES, SEED, Architecture, draw_tokens
from models.numpy_models import Decoder

MODELS = Path(__file__).parent / "models"
CAPACITY = 64
# Logits are of about 1. An f32 sum in another order may round a token of an f16 cache to its other neighbour.
TOLERANCE = {"f32": 1e-4, "f16": 2e-3}


def framework_logits(a: Architecture) -> np.ndarray:
    """steps x batch x vocabulary"""
    return np.load(MODELS / f"{a.name}.npz")["logits"]


def exact_cache(a: Architecture) -> reference.Cache:
    fmt = reference.Format.parse("codes = none")
    return reference.Cache(fmt, a.batch, a.kv_heads, a.head_dim, CAPACITY, a.cache_type)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_reference_decodes_as_the_framework_does(name):
    a = ARCHITECTURES[name]
    decoder = Decoder(a, a.draw_weights(SEED), lambda layer, side: exact_cache(a))
    logits = np.stack([decoder.step(tokens) for tokens in draw_tokens(a)])
    assert np.abs(logits - framework_logits(a)).max() <= TOLERANCE[a.cache_type]
