"""Quantized caches for models of transformers, in PyTorch.

    from kvq_mlir.torch import KvqCache

    cache = KvqCache(model.config, ("codes = i8, group = [1, 32], scale = f16", "codes = i4, group = [1, 32], scale = f16"))
    model.generate(**inputs, past_key_values=cache)

An optional extra: needs the packages torch and transformers (docs/PyTorch.md).
"""

from importlib.util import find_spec

_missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
if _missing:
    raise ImportError(f"kvq_mlir.torch needs packages that are missing: pip install {' '.join(_missing)}")

from .attention import NAME  # noqa: E402
from .cache import KvqCache  # noqa: E402

__all__ = ["NAME", "KvqCache"]
