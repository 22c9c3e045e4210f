"""A cache of transformers that keeps keys and values quantized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers.cache_utils import Cache as TransformersCache

from .. import _kvq
from ..arguments import check_threads
from ..cache_types import SIDES
from ..devices import Device, find_device
from ..evaluation.kept import Kept
from ..format import Format, Segments
from ..given import Given
from ..policy import Choice, Policy
from .attention import use_in
from .layer import KvqLayer, Settings
from .supported import Model, check_model

OneSide = str | Format | Segments


class KvqCache(TransformersCache):
    """The KV cache of a decoder of transformers, `past_key_values` of its calls and of `generate`.

    config: the model's configuration, `model.config`. Its attention becomes "kvq", which reads kvq caches fused, and is
    PyTorch's with any other cache.
    policy: a `kvq_mlir.Policy`, or a format for keys and values, or (keys, values): a `Format` or `Segments`, or its text,
    the name of a preset, or text with windows, "codes = i4, …; recent = 32".
    exact_first, recent, residual: exact windows of both sides, as `kvq_mlir.Cache` has them, beside formats without any.
    Layers with a sliding window keep their tokens in rings of a fourth more, whole groups.
    max_length: tokens that a sequence may have, for which memory is taken at once; by default caches grow by half when
    they are full.
    dtype: "f16", "bf16" or "f32", what exact tokens hold; by default the type of the model's keys.
    given: what formats ask for (static ranges, means, outer scales), by (layer, side), side "keys" or "values".
    threads: how many work on a call of a kernel; more than one needs LLVM's OpenMP library.
    device: where caches are and kernels run, as `kvq_mlir.Cache` takes it; by default where the model's keys are.

    Sequences of a batch have the same number of tokens, padding included, which masks hide; what a mask hides is stored
    as other tokens are, and with groups of several tokens shares a scale with them.

    Raises `Error`, a ValueError, with what was expected and found, for a model whose attention the kernels do not
    compute (see `supported.MODEL_TYPES`), for a policy or windows that do not fit it, and for keys before RoPE.
    """

    def __init__(
        self,
        config: Any,
        policy: Policy | OneSide | tuple[OneSide, OneSide] = "codes = none",
        *,
        exact_first: int = 0,
        recent: int = 0,
        residual: int | None = None,
        max_length: int | None = None,
        dtype: str | None = None,
        given: Mapping[tuple[int, str], Given] | None = None,
        threads: int = 1,
        device: str | Device | None = None,
    ) -> None:
        decoder = config.get_text_config(decoder=True)
        model = check_model(decoder)
        if max_length is not None and max_length < 1:
            raise _kvq.Error(f"expected max_length of at least 1, got {max_length}")
        check_threads(threads, find_device(device))
        windows = {"exact_first": exact_first, "recent": recent, "residual": residual}
        choices = _choices(policy, model, windows)
        settings = Settings(model.head_dim, dtype, max_length, given, threads, device)
        layers = [
            KvqLayer(layer, _pairs(choices, layer), window, settings) for layer, window in enumerate(model.windows)
        ]
        super().__init__(layers=layers)
        use_in(config)
        if decoder is not config:
            use_in(decoder)

    def crop(self, tokens_to_remove: int) -> None:
        """Drops the newest -tokens_to_remove tokens of all layers, or, where one cannot, raises `Error` and drops none."""
        for layer in self.layers:
            layer.check_crop(tokens_to_remove)
        super().crop(tokens_to_remove)

    def early_initialization(self, *args: Any, **kwargs: Any) -> None:
        raise _kvq.Error("kvq caches grow and are no tensors: torch.export and compiled graphs need a static cache")

    @property
    def nbytes(self) -> int:
        """Bytes of all caches; 0 before the first tokens come."""
        return sum(cache.nbytes for layer in self.layers for cache in layer.caches)


def _choices(policy: Any, model: Model, windows: Mapping[str, int | None]) -> list[Choice]:
    """What is kept how: of all layers, keys and values of the same ranges of heads."""
    layers = len(model.windows)
    if isinstance(policy, Policy):
        if any(windows.values()):
            raise _kvq.Error("a policy has exact windows of its own: expected none beside it")
        found = policy.choose(layers, model.kv_heads)
    else:
        sides = policy if isinstance(policy, tuple | list) else (policy, policy)
        if len(sides) != 2:
            raise _kvq.Error(f"expected a format for keys and one for values, got {len(sides)}")
        found = [
            _choice(kept, layer, side, model.kv_heads, windows)
            for layer in range(layers)
            for side, kept in zip(SIDES, sides, strict=True)
        ]
    for choice in found:
        if choice.format.is_before_rope:
            raise _kvq.Error(
                f"layer {choice.layer}, {choice.side}: transformers hand keys over after RoPE: expected no rope = pre"
            )
    return found


def _choice(kept: Any, layer: int, side: str, kv_heads: int, windows: Mapping[str, int | None]) -> Choice:
    if isinstance(kept, str):
        parsed = Kept.parse(kept)
        own = {name: getattr(parsed, name) for name in windows}
        if any(own.values()) and any(windows.values()):
            raise _kvq.Error(f"expected windows beside formats or in their text, got both: '{kept}'")
        kept, windows = parsed.parsed, own if any(own.values()) else windows
    if not isinstance(kept, Format | Segments):
        raise TypeError(f"expected a kvq_mlir.Policy, a format or its text, or two of them, got {type(kept).__name__}")
    return Choice(layer, side, (0, kv_heads), kept, **windows)


def _pairs(choices: list[Choice], layer: int) -> list[tuple[Choice, Choice]]:
    """Keys and values of a layer, for each range of its heads."""
    of_layer = sorted((choice for choice in choices if choice.layer == layer), key=lambda choice: choice.heads)
    keys, values = ([choice for choice in of_layer if choice.side == side] for side in SIDES)
    return list(zip(keys, values, strict=True))
