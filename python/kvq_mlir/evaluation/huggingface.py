"""Decoders of Hugging Face's transformers, with the attention of each layer left to the caller, as `model.Model` has it.

Needs the packages torch and transformers, which are optional. Models are read from a folder; nothing is downloaded.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import Attend, Config
from ..rope import Rope
from ..text import InputError

if TYPE_CHECKING:
    from types import ModuleType

PACKAGES = ("torch", "transformers")
# Decoders whose layers are taken apart here in the way that their own forward pass runs them, and whose attention is
# softmax(q k^T / sqrt(head_dim)) v.
MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")
NAME = "kvq_evaluation"  # of the attention that is registered


def check_packages() -> None:
    """`InputError` where torch or transformers are missing."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        raise InputError(f"--model needs packages that are missing: pip install {' '.join(missing)}")


def check_config(found: Any, path: Path, tokens: int) -> Config:
    """Sizes from a model's configuration; `InputError` for attention that is of another kind, and for more tokens than it
    is made for."""
    kind = found.model_type
    if kind not in MODEL_TYPES:
        raise InputError(f"{path}: unsupported attention: expected a model of {', '.join(MODEL_TYPES)}, found {kind}")
    window = getattr(found, "sliding_window", None)
    if window is not None and getattr(found, "use_sliding_window", True) and tokens > window:
        raise InputError(
            f"{path}: unsupported attention: a sliding window of {window} tokens, which {tokens} tokens do not fit"
        )
    if tokens > found.max_position_embeddings:
        raise InputError(
            f"--tokens: expected at most {found.max_position_embeddings} (the model's context), found {tokens}"
        )
    query_heads = found.num_attention_heads
    return Config(
        layers=found.num_hidden_layers,
        query_heads=query_heads,
        kv_heads=getattr(found, "num_key_value_heads", None) or query_heads,
        head_dim=getattr(found, "head_dim", None) or found.hidden_size // query_heads,
        context=found.max_position_embeddings,
        rope=find_rope(found),
        norm_epsilon=found.rms_norm_eps,
    )


def find_rope(found: Any) -> Rope | None:
    """How a model of this configuration turns queries and keys; None for scaled angles, and where some channels stay."""
    parameters = getattr(found, "rope_parameters", None) or {}
    base = parameters.get("rope_theta") or getattr(found, "rope_theta", None)
    is_plain = parameters.get("rope_type", "default") == "default" and not getattr(found, "rope_scaling", None)
    turns_all = parameters.get("partial_rotary_factor", getattr(found, "partial_rotary_factor", None)) in (None, 1)
    return Rope(float(base), "half") if base and is_plain and turns_all else None


class HuggingFaceModel:
    """A model in float32 on the processor, layer by layer."""

    def __init__(self, path: Path, tokens: int):
        check_packages()
        import torch
        import transformers

        if not (path / "config.json").is_file():
            raise InputError(f"--model: expected a folder with a model's config.json, found none in {path}")
        transformers.utils.logging.disable_progress_bar()
        self.path, self._torch = path, torch
        self.config = check_config(_read(transformers.AutoConfig, path), path, tokens)
        transformers.AttentionInterface.register(NAME, self._attention)
        options = {"dtype": torch.float32, "attn_implementation": NAME}
        self._model = _read(transformers.AutoModelForCausalLM, path, **options).eval()
        self._tokenizer = _read(transformers.AutoTokenizer, path)
        self._attend: Attend | None = None

    @property
    def key(self) -> str:
        """What the weights are known by."""
        files = sorted(file for file in self.path.iterdir() if file.suffix in (".safetensors", ".bin", ".json"))
        return repr([(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files])

    def tokenize(self, text: str, count: int) -> np.ndarray:
        """The first `count` token ids of the text, [count] int64, with what the model begins with."""
        ids = self._tokenizer(text, verbose=False)["input_ids"]
        if len(ids) < count:
            raise InputError(f"the text is too short: expected at least {count} tokens, found {len(ids)}")
        return np.array(ids[:count], np.int64)

    def embed(self, ids: np.ndarray) -> np.ndarray:
        """[sequences, T] token ids -> [sequences, T, channels] float32."""
        return self._run(lambda: self._model.model.embed_tokens(self._torch.from_numpy(ids)))

    def layer(self, index: int, x: np.ndarray, attend: Attend, first_position: int = 0) -> np.ndarray:
        """What a layer makes of hidden states x, [sequences, T, channels]."""
        torch, model = self._torch, self._model.model

        def run() -> Any:
            hidden = torch.from_numpy(np.ascontiguousarray(x))
            positions = torch.arange(first_position, first_position + x.shape[1])[None]
            embeddings = model.rotary_emb(hidden, position_ids=positions)
            found = model.layers[index](
                hidden, attention_mask=None, position_ids=positions, position_embeddings=embeddings, use_cache=False
            )
            return found[0] if isinstance(found, tuple) else found

        self._attend = attend
        try:
            return self._run(run)
        finally:
            self._attend = None

    def normalize(self, x: np.ndarray) -> np.ndarray:
        """The last layer's hidden states, normalized for the logits."""
        return self._run(lambda: self._model.model.norm(self._torch.from_numpy(np.ascontiguousarray(x))))

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        """Of normalized hidden states [..., channels]: [..., vocabulary] float32."""
        return self._run(lambda: self._model.lm_head(self._torch.from_numpy(np.ascontiguousarray(hidden))))

    def _run(self, function: Any) -> np.ndarray:
        with self._torch.no_grad():
            return function().numpy()

    def _attention(self, module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> tuple:
        """What transformers calls in place of its own attention: [sequences, heads, T, head_dim] each."""
        expected, scale = 1 / math.sqrt(query.shape[-1]), options.get("scaling")
        if scale is not None and not math.isclose(scale, expected, rel_tol=1e-6):
            raise InputError(f"{self.path}: unsupported attention: expected scores times {expected:g}, found {scale:g}")
        for name in ("softcap", "s_aux"):
            if options.get(name) is not None:
                raise InputError(f"{self.path}: unsupported attention: {name}, which caches are not evaluated with")
        arrays = (np.ascontiguousarray(x.numpy()) for x in (query, key, value))
        out = self._attend(module.layer_idx, *arrays)
        return self._torch.from_numpy(np.ascontiguousarray(out.swapaxes(1, 2))), None


def _read(kind: ModuleType, path: Path, **options: Any) -> Any:
    """A part of a model from its folder; `InputError`, with the library's first line, where it cannot be read."""
    try:
        return kind.from_pretrained(path, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(f"--model: cannot read {path}: {str(error).strip().splitlines()[0]}") from error
