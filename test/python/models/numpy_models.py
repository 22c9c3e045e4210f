"""The decode step of an architecture in float64, over the caches of kvq's reference."""

from collections.abc import Callable

import numpy as np
from models.architectures import Architecture
from kvq_mlir import reference

MakeCache = Callable[[int, str], reference.Cache]
"""The cache of a layer's "keys" or "values"."""


def linear(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x @ weight.astype(np.float64).T


def rope(x: np.ndarray, position: int, theta: float) -> np.ndarray:
    """x [batch, heads, 1, head_dim], turned to `position`: channel c with channel c + head_dim / 2."""
    half = x.shape[-1] // 2
    angles = position * theta ** (-np.arange(half) / half)
    x, y = x[..., :half], x[..., half:]
    return np.concatenate((x * np.cos(angles) - y * np.sin(angles), x * np.sin(angles) + y * np.cos(angles)), -1)


class Decoder:
    """Decodes a token of each sequence at a time; `caches` are keys and values of layer 0, of layer 1, ..."""

    def __init__(self, architecture: Architecture, weights: dict[str, np.ndarray], make_cache: MakeCache) -> None:
        self.architecture, self.weights = architecture, weights
        self.caches = [make_cache(layer, side) for layer in range(architecture.layers) for side in ("keys", "values")]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        weight = self.weights[name].astype(np.float64) + (1 if self.architecture.gemma else 0)
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight

    def project(self, x: np.ndarray, name: str, heads: int) -> np.ndarray:
        """[batch, heads, 1, head_dim]"""
        y = linear(x, self.weights[name]) + self.weights.get(name + "_bias", 0)
        return y.reshape(len(x), heads, 1, self.architecture.head_dim)

    def mlp(self, x: np.ndarray, layer: int) -> np.ndarray:
        gate, up = (linear(x, self.weights[f"{layer}.{name}"]) for name in ("gate", "up"))
        if self.architecture.gemma:
            gate = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return linear(gate * up, self.weights[f"{layer}.down"])

    def attend(self, x: np.ndarray, layer: int) -> np.ndarray:
        a = self.architecture
        keys, values = self.caches[2 * layer : 2 * layer + 2]
        q, k, v = (self.project(x, f"{layer}.{name}", n) for name, n in zip("qkv", (a.heads, a.kv_heads, a.kv_heads)))
        position = int(keys.lengths[0])
        keys.append(rope(k, position, a.theta).astype(np.float32))
        values.append(v.astype(np.float32))
        out = reference.attention(
            rope(q, position, a.theta), keys, values, scale=a.scale, softcap=a.softcap, window=a.window_of(layer)
        )
        return linear(out.reshape(a.batch, -1), self.weights[f"{layer}.o"])

    def step(self, tokens: np.ndarray) -> np.ndarray:
        """tokens [batch]; logits [batch, vocabulary]"""
        a = self.architecture
        x = self.weights["embedding"][tokens].astype(np.float64)
        x = x * (a.hidden**0.5 if a.gemma else 1)
        for layer in range(a.layers):
            y = self.attend(self.norm(x, f"{layer}.input_norm"), layer)
            x = x + (self.norm(y, f"{layer}.attention_norm") if a.gemma else y)
            y = self.mlp(self.norm(x, f"{layer}.mlp_norm"), layer)
            x = x + (self.norm(y, f"{layer}.output_norm") if a.gemma else y)
        return linear(self.norm(x, "final_norm"), self.weights["embedding"])
