"""What each side of each layer costs a model when it alone is quantized: the errors and the KL that plans are made
from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..cache_types import SIDES
from ..calibration import calibrate
from ..given import Given
from ..model import causal_mask
from .distributions import Baseline, TokenStatistics
from .finding import stored_rows
from .kept import EXACT, Kept, uniform
from .passes import Block, CachedModel, LayerCaches

if TYPE_CHECKING:
    from ..model import Model


@dataclass(frozen=True)
class Activations:
    """Of one layer in a pass over 16-bit caches: x, the hidden states that it is given, [sequences, T, channels]; q, k,
    v and out as in `Block`."""

    x: np.ndarray
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    out: np.ndarray


class Calibration:
    """A model and a text, with the pass over 16-bit caches that formats are measured against.

    ids: [sequences, T]. Keeps the activations of all layers: about 8 KiB for a token and layer of SmolLM2-135M.
    """

    def __init__(self, model: Model, ids: np.ndarray):
        self.model, self.ids, self.config = model, ids, model.config
        self.layers: list[Activations] = []
        exact = CachedModel(model, self._uniform(EXACT, EXACT), *ids.shape, observe=self._keep)
        x, self._inputs = model.embed(ids), []
        for layer in range(self.config.layers):
            self._inputs.append(x)
            x = model.layer(layer, x, exact.attend)
        self.baseline = Baseline(model, ids, model.normalize(x))
        self._given: dict[tuple[str, int, str], Given] = {}

    def _keep(self, block: Block) -> None:
        self.layers.append(Activations(self._inputs[-1], block.q, block.k, block.v, block.out))

    def _uniform(self, keys: Kept, values: Kept) -> list:
        return uniform(self.config.layers, self.config.kv_heads, keys, values)

    def given(self, kept: Kept, layer: int, side: str) -> Given:
        """What a cache of this asks for, from this text's keys or values: static ranges, outer scales, means."""
        key = kept.format, layer, side
        if key not in self._given:
            activations = self.layers[layer]
            x = activations.k if side == "keys" else activations.v
            x = stored_rows(kept.parsed, x, self.config.rope, f"layer {layer}, {side}")
            self._given[key] = calibrate(x, kept.parsed)
        return self._given[key]

    def caches(self, layer: int, keys: Kept, values: Kept) -> LayerCaches:
        """Empty caches of a layer."""
        sequences, tokens = self.ids.shape
        config = self.config
        found = [
            kept.choice(layer, side, config.kv_heads).cache(
                sequences, tokens, config.head_dim, given=self.given(kept, layer, side), name=f"layer {layer}, {side}"
            )
            for side, kept in zip(SIDES, (keys, values), strict=True)
        ]
        return LayerCaches(*found, rope=config.rope)

    def output_error(self, layer: int, keys: Kept, values: Kept) -> float:
        """Relative L2 error of a layer's attention output, on the keys and values of the pass over 16-bit caches."""
        exact = self.layers[layer]
        found = self.caches(layer, keys, values).attend(layer, exact.q, exact.k, exact.v)
        return float(np.linalg.norm(found - exact.out) / np.linalg.norm(exact.out))

    def score_error(self, layer: int, keys: Kept) -> float:
        """Relative L2 error of q·k over what each query sees, less each row's mean, which the softmax ignores."""
        exact, sums = self.layers[layer], np.zeros(2)

        def observe(block: Block) -> None:
            expected = exact.k[:, :, : block.last].astype(np.float16).astype(np.float32)
            rebuilt = block.keys.dequantize()
            if keys.parsed.is_before_rope:
                rebuilt = self.config.rope.turn(rebuilt)
            found, scores = (centred_scores(block.q, x) for x in (rebuilt, expected))
            sums[:] += np.sum(np.square(found - scores), dtype=np.float64), np.sum(np.square(scores), dtype=np.float64)

        self.caches(layer, keys, EXACT).attend(layer, exact.q, exact.k, exact.v, observe)
        return float(np.sqrt(sums[0] / sums[1]))

    def kl(self, layer: int, keys: Kept, values: Kept) -> float:
        """Mean KL of the next-token distributions, where this layer alone is kept so and all others in 16 bits."""
        kept = {(index, side): EXACT for index in range(layer, self.config.layers) for side in SIDES}
        kept |= {(layer, "keys"): keys, (layer, "values"): values}
        return float(self.run(kept, layer).kl.mean())

    def run(self, kept: dict[tuple[int, str], Kept], first_layer: int = 0) -> TokenStatistics:
        """A pass with each (layer, side) kept as said, from a layer on whose earlier ones are kept in 16 bits."""
        choices = [each.choice(layer, side, self.config.kv_heads) for (layer, side), each in kept.items()]
        given = {where: self.given(each, *where) for where, each in kept.items()}
        cached = CachedModel(self.model, choices, *self.ids.shape, given=given)
        return self.baseline.compare(cached.extend_from(first_layer, self.layers[first_layer].x))


def centred_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """q·k less its mean over the keys that a query sees, 0 for the others; the last query sees the last key.

    q: [sequences, query_heads, Q, D], k: [sequences, kv_heads, T, D]; returns [sequences, query_heads, Q, T].
    """
    sequences, query_heads, queries, dim = q.shape
    _, kv_heads, tokens, _ = k.shape
    seen = ~causal_mask(queries, tokens)
    grouped = q.reshape(sequences, kv_heads, -1, queries, dim)
    scores = np.where(seen, grouped @ k[:, :, None].swapaxes(-1, -2), np.float32(0))
    centred = np.where(seen, scores - scores.sum(axis=-1, keepdims=True) / seen.sum(axis=-1, keepdims=True), 0)
    return centred.reshape(sequences, query_heads, queries, tokens)
