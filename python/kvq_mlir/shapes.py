"""Model shapes: what the caches of a model are made for."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from .text import InputError


@dataclass(frozen=True)
class Shape:
    """What the caches of a model, and a decode step over them, depend on."""

    layers: int
    kv_heads: int
    head_dim: int
    query_heads: int
    latent_values: int | None = None  # MLA: the first channels of the one row kept are the values

    @property
    def sides(self) -> tuple[str, ...]:
        """What a layer keeps: keys and values, or the latent row alone."""
        return ("keys", "values") if self.latent_values is None else ("keys",)


MODELS = {
    # config.json of meta-llama/Llama-3.1-8B: 32 heads of 4096 / 32 channels, num_key_value_heads 8
    "llama-3.1-8b": Shape(layers=32, kv_heads=8, head_dim=128, query_heads=32),
    # Qwen2.5 technical report (arXiv 2412.15115), table 1; config.json: 28 heads of 3584 / 28 channels
    "qwen2.5-7b": Shape(layers=28, kv_heads=4, head_dim=128, query_heads=28),
    # Mistral 7B (arXiv 2310.06825), table 1; the sliding window of v0.1 is not counted on: every token is kept
    "mistral-7b": Shape(layers=32, kv_heads=8, head_dim=128, query_heads=32),
    # config.json of HuggingFaceTB/SmolLM2-135M: 9 heads of 576 / 9 channels, num_key_value_heads 3
    "smollm2-135m": Shape(layers=30, kv_heads=3, head_dim=64, query_heads=9),
    # DeepSeek-V3 technical report (arXiv 2412.19437), section 4.2: kv_lora_rank 512, and 64 channels of RoPE
    "deepseek-v3": Shape(layers=61, kv_heads=1, head_dim=512 + 64, query_heads=128, latent_values=512),
}


def find_model(name: str) -> Shape:
    """The shape of a model by its name; `InputError` with the nearest names for an unknown one."""
    if name.lower() in MODELS:
        return MODELS[name.lower()]
    nearest = get_close_matches(name.lower(), MODELS, n=2, cutoff=0.4) or list(MODELS)
    raise InputError(f"--model: unknown model '{name}', nearest: {', '.join(nearest)}")
