"""Which models of transformers kvq caches can serve: those whose attention the kernels compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _kvq

# Decoders that attend with softmax(scale * q k^T) v, gemma2 with a soft cap, through transformers' AttentionInterface.
MODEL_TYPES = ("gemma2", "llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class Model:
    """Sizes of a decoder; windows: of each layer, how many tokens a query sees with its own, None for all."""

    kv_heads: int
    head_dim: int
    windows: tuple[int | None, ...]


def check_model(config: Any) -> Model:
    """The sizes from a decoder's configuration; `Error` where its attention is of another kind."""
    if config.is_encoder_decoder or getattr(config, "add_cross_attention", False):
        raise _kvq.Error(f"expected a decoder alone, got cross attention: a model of {config.model_type}")
    if config.model_type not in MODEL_TYPES:
        raise _kvq.Error(f"unsupported attention: expected a model of {', '.join(MODEL_TYPES)}, got {config.model_type}")
    if getattr(config, "use_bidirectional_attention", False) or not getattr(config, "is_causal", True):
        raise _kvq.Error("unsupported attention: expected causal attention, got a model whose queries see later tokens")
    heads = config.num_attention_heads
    return Model(
        kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_dim=getattr(config, "head_dim", None) or config.hidden_size // heads,
        windows=tuple(_window(config, layer, kind) for layer, kind in enumerate(_layer_types(config))),
    )


def _layer_types(config: Any) -> list[str]:
    found = getattr(config, "layer_types", None)
    if found is not None:
        return list(found)
    slides = getattr(config, "sliding_window", None) is not None
    return ["sliding_attention" if slides else "full_attention"] * config.num_hidden_layers


def _window(config: Any, layer: int, kind: str) -> int | None:
    if kind not in ("full_attention", "sliding_attention"):
        raise _kvq.Error(f"unsupported attention: layer {layer}: expected full or sliding attention, got {kind}")
    return config.sliding_window if kind == "sliding_attention" else None
