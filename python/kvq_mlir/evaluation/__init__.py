"""A model under a cache policy: whole passes with the semantics of decoding, and what they cost."""

from .distributions import Baseline, TokenStatistics, bootstrap_interval
from .kept import EXACT, Kept, uniform
from .passes import Block, CachedModel, LayerCaches

__all__ = [
    "EXACT",
    "Baseline",
    "Block",
    "CachedModel",
    "Kept",
    "LayerCaches",
    "TokenStatistics",
    "bootstrap_interval",
    "uniform",
]
