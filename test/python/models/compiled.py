"""The models' IR, raised and compiled, with the caches that a policy gives them."""

import re
from dataclasses import dataclass
from pathlib import Path

import kvq_mlir as kvq
import numpy as np
from kvq_mlir import _kvq, reference
from models.architectures import Architecture

MODELS = Path(__file__).parent
CAPACITY = 56


@dataclass(frozen=True)
class Kept:
    """How one side of a layer is kept: a format's fields, and its exact windows."""

    fields: str = "codes = none"
    exact_first: int = 0
    recent: int | None = None

    def entry(self, side: str, layer: int) -> str:
        windows = f", exact_first = {self.exact_first}" * bool(self.exact_first)
        windows += f", recent = {self.recent}" * (self.recent is not None)
        return f"<side = {side}, layers = [{layer}], format = #kvq.format<{self.fields}>{windows}>"

    def cache(self, a: Architecture, side: str) -> kvq.Cache:
        """Nothing in it, and NaN where floats are stored."""
        sizes = (a.batch, a.kv_heads, CAPACITY, a.head_dim)
        windows = dict(exact_first=self.exact_first, recent=self.recent or 0)
        fmt = kvq.Format(self.fields)
        return kvq.Cache(*sizes, fmt, a.cache_type, **windows, token_major=a.token_major, side=side, fill=0xFF)

    def reference_cache(self, a: Architecture) -> reference.Cache:
        fmt = reference.Format.parse(self.fields)
        sizes = (a.batch, a.kv_heads, a.head_dim, CAPACITY)
        return reference.Cache(fmt, *sizes, a.cache_type, exact_first=self.exact_first, recent=self.recent or 0)


Plan = dict[tuple[int, str], Kept]
"""What is kept of layers and sides; what is not named stays exact."""


def same_everywhere(a: Architecture, keys: Kept, values: Kept) -> Plan:
    return {(layer, side): kept for layer in range(a.layers) for side, kept in (("keys", keys), ("values", values))}


def read_model(name: str) -> str:
    return (MODELS / f"{name}.mlir").read_text()


def with_policy(ir_text: str, plan: Plan) -> str:
    """The module with a policy among its attributes."""
    if not plan:
        return ir_text
    entries = ", ".join(kept.entry(side, layer) for (layer, side), kept in plan.items())
    policy = f"kvq.policy = #kvq.policy<{entries}>"
    text, count = re.subn(
        r"^(module(?: @\w+)?) (?:attributes \{(.*?)\} )?\{$",
        lambda found: f"{found[1]} attributes {{{', '.join(filter(None, (policy, found[2])))}}} {{",
        ir_text,
        count=1,
        flags=re.MULTILINE,
    )
    assert count == 1
    return text


class CompiledModel:
    """A model of a file, raised, under a policy and compiled, with empty caches."""

    def __init__(self, a: Architecture, weights: dict[str, np.ndarray], plan: Plan) -> None:
        self.architecture, self.weights, self.steps = a, list(weights.values()), 0
        raised = _kvq.run_pipeline(with_policy(read_model(a.name), plan), "builtin.module(kvq-raise)")
        self.kernel = _kvq.compile(raised)
        self.arrays: list[np.ndarray] = []
        for layer in range(a.layers):
            for side in ("keys", "values"):
                cache = plan.get((layer, side), Kept()).cache(a, side)
                self.arrays += cache.storage().values()
                if cache.has_window:
                    self.arrays.append(np.zeros(a.batch, np.int64))

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """tokens [batch]; logits [batch, vocabulary]"""
        a = self.architecture
        integer, name = (np.int32, "main") if a.name.endswith("-jax") else (np.int64, "decode")
        out = np.full((a.batch, a.vocabulary), np.nan, np.float32)
        position = [] if a.capacity is None else [np.full([] if name == "main" else [1], self.steps, integer)]
        length = [self.steps] if a.capacity is None else []
        arguments = [tokens.astype(integer), *position, *self.arrays, *self.weights, *length, out]
        self.kernel.invoke(name, arguments)
        self.steps += 1
        return out
