"""The small models of these tests: what they are made of, their weights, and the tokens that they are fed.

Each is a decoder of a few layers whose decode step takes one token of each sequence. Its parameters are, in
this order: tokens, position (not where the caches' extents tell it), keys of layer 0, values of layer 0, keys
of layer 1, ..., and the weights in the order of `Architecture.weight_shapes`. Its results are logits and the caches.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Architecture:
    name: str
    batch: int = 1
    layers: int = 2
    hidden: int = 48
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    intermediate: int = 80
    vocabulary: int = 32
    capacity: int | None = 56
    """Tokens that a cache of a fixed size holds; None where caches grow by concatenation."""
    token_major: bool = False
    """Caches are batch x tokens x KV heads x head_dim; otherwise batch x KV heads x tokens x head_dim."""
    cache_type: str = "f32"
    """Of the caches' elements, as kvq names it; all else is f32."""
    theta: float = 10000.0
    bias: bool = False
    """Query, key and value projections have biases (Qwen2)."""
    softcap: float | None = None
    """Of attention's scores (Gemma 2)."""
    window: int | None = None
    """Tokens that even layers see, the query's own included; odd layers see all (Gemma 2)."""
    gemma: bool = False
    """RMS norms scale by 1 + w, embeddings by sqrt(hidden), the MLP's gate is GELU, outputs are normed too."""

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5

    def window_of(self, layer: int) -> int | None:
        return self.window if layer % 2 == 0 else None

    def cache_shape(self, tokens: int) -> tuple[int, int, int, int]:
        if self.token_major:
            return self.batch, tokens, self.kv_heads, self.head_dim
        return self.batch, self.kv_heads, tokens, self.head_dim

    def layer_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of a layer's weights; projections are outputs x inputs, as in PyTorch."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        shapes = {"input_norm": (self.hidden,)}
        for name, rows in (("q", queries), ("k", keys), ("v", keys)):
            shapes[name] = (rows, self.hidden)
            if self.bias:
                shapes[name + "_bias"] = (rows,)
        shapes["o"] = (self.hidden, queries)
        if self.gemma:
            shapes["attention_norm"] = (self.hidden,)
        shapes["mlp_norm"] = (self.hidden,)
        shapes["gate"] = shapes["up"] = (self.intermediate, self.hidden)
        shapes["down"] = (self.hidden, self.intermediate)
        if self.gemma:
            shapes["output_norm"] = (self.hidden,)
        return shapes

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Those of the model; a layer's names begin with its number."""
        shapes = {"embedding": (self.vocabulary, self.hidden)}
        for layer in range(self.layers):
            shapes |= {f"{layer}.{name}": shape for name, shape in self.layer_shapes().items()}
        return shapes | {"final_norm": (self.hidden,)}

    def draw_weights(self, seed: int) -> dict[str, np.ndarray]:
        """The same for a seed wherever NumPy runs: its RandomState is frozen."""
        rng = np.random.RandomState(seed)
        weights = {}
        for name, shape in self.weight_shapes().items():
            drawn = rng.standard_normal(shape)
            if name.endswith("norm"):
                drawn = 0.1 * drawn + (0 if self.gemma else 1)
            else:
                # Scores of a few units, so that a softmax is neither flat nor one token's.
                drawn *= (2.0 if name[-1] in "qk" else 1.0) / np.sqrt(shape[-1])
            weights[name] = drawn.astype(np.float32)
        return weights


ARCHITECTURES = {
    architecture.name: architecture
    for architecture in (
        Architecture("llama", capacity=None),
        Architecture("llama-f16", capacity=None, cache_type="f16"),
        Architecture("qwen2", batch=2, bias=True, theta=1e6),
        Architecture("gemma2", kv_heads=1, softcap=20.0, window=9, gemma=True),
        Architecture("llama-jax", token_major=True),
    )
}
SEED, STEPS = 20240229, 48


def draw_tokens(architecture: Architecture) -> np.ndarray:
    """steps x batch: what the decode steps are fed."""
    rng = np.random.RandomState(SEED + 1)
    return rng.randint(architecture.vocabulary, size=(STEPS, architecture.batch)).astype(np.int64)
