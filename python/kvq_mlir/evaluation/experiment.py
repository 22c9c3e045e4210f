"""An evaluation: policies on one source of tokens, part by part, with all that its reports show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import _kvq
from ..bench_timing import processor
from ..policy import Choice
from ..shapes import Shape
from ..text import InputError
from .finding import find
from .measure import Finder, Givens, channel_ranges, draw_positions, measure, position_ends
from .model_run import ModelRun
from .parts import Parts, digest
from .policies import Named
from .recording import Recording
from .systems import bytes_of, time_step

if TYPE_CHECKING:
    from ..model import Model


@dataclass(frozen=True)
class Settings:
    """What the figures depend on beside tokens and policies. queries: of each layer that attention is measured of."""

    queries: int = 128
    seed: int = 0
    dtype: str = "f16"
    concurrency: int = 1
    memory: int | None = None  # bytes
    splits: int = 1
    threads: int = 1
    seconds: float = 0.2  # for each time; 0 for none


class TensorSource:
    """Recorded queries, keys and values; without a model there are no next tokens."""

    run: ModelRun | None = None

    def __init__(self, recording: Recording):
        self.recording, self.description = recording, recording.source
        self.tokens = recording.tokens
        self.shape = Shape(len(recording.layers), recording.kv_heads, recording.head_dim, recording.query_heads)

    @cached_property
    def key(self) -> str:
        return digest(*(x for layer in self.recording.layers for x in layer))


class ModelSource:
    """A model over one text, run when something is asked of it that needs it.

    model: as `model.Model` has its sizes and layers. name, text: of both, in words. key: of the model's weights.
    """

    def __init__(self, model: Model, ids: np.ndarray, name: str, text: str, key: str, threads: int):
        self.model, self.ids, self.threads = model, ids, threads
        self.description = f"{name}, {text}"
        config = model.config
        self.tokens = len(ids)
        self.shape = Shape(config.layers, config.kv_heads, config.head_dim, config.query_heads)
        self.key = digest(key, ids)

    @cached_property
    def run(self) -> ModelRun:
        return ModelRun(self.model, self.ids, self.description, self.threads)

    @property
    def recording(self) -> Recording:
        return self.run.recording


Source = TensorSource | ModelSource


@dataclass
class Experiment:
    """Policies on a source. given_for: what the caches of a policy ask for, from its choices. parts: finished ones are
    kept there. on_step: is called as work goes on, with a number of steps, of which there are `steps`."""

    source: Source
    policies: Sequence[Named]
    settings: Settings
    parts: Parts
    given_for: Callable[[list[Choice]], Givens | None] = lambda choices: None
    given_key: str = ""
    finders: Mapping[str, Finder] = field(default_factory=dict)  # of policies that kvq does not fill caches of
    on_step: Callable[[int], None] = lambda count: None
    _choices: dict[str, list[Choice]] = field(init=False)

    def __post_init__(self) -> None:
        shape, dtype = self.source.shape, self.settings.dtype
        # All of them before minutes of work on the first.
        self._choices = {
            policy.name: policy.choose(shape.layers, shape.kv_heads, shape.head_dim, dtype) for policy in self.policies
        }

    @property
    def steps(self) -> int:
        """A step is a layer's attention; other parts count as many as take about as long."""
        return len(self.policies) * self._steps_of_policy

    @property
    def _steps_of_policy(self) -> int:
        layers = self.source.shape.layers
        return layers + 1 + (layers if isinstance(self.source, ModelSource) else 0)

    def run(self, command: str) -> dict:
        """All figures, as JSON holds them. `InputError` where a cache cannot be made of a policy."""
        source, settings = self.source, self.settings
        shape = source.shape
        channels = self.parts.get("channels", source.key, lambda: channel_ranges(source.recording))
        return {
            "command": command,
            "source": source.description,
            "has_model": isinstance(source, ModelSource),
            "layers": shape.layers,
            "query_heads": shape.query_heads,
            "kv_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "tokens": source.tokens,
            "position_ends": position_ends(source.tokens),
            "positions": self._positions.tolist(),
            "processor": processor(),
            **asdict(settings),
            "policies": [self._measure(policy) for policy in self.policies],
            "channels": channels,
        }

    @cached_property
    def _positions(self) -> np.ndarray:
        return draw_positions(self.source.tokens, self.settings.queries, self.settings.seed)

    def _measure(self, policy: Named) -> dict:
        choices, settings, source = self._choices[policy.name], self.settings, self.source
        of_data = [source.key, policy.text, settings.dtype, self.given_key]

        def part(kind: str, key: list, steps: int, compute: Callable[[], dict]) -> dict:
            done = self.parts.has(kind, repr(key))
            try:
                found = self.parts.get(kind, repr(key), compute)
            except _kvq.Error as error:
                raise InputError(f"policy '{policy.name}': {error}") from error
            self.on_step(steps if done else 0)
            return found

        def attention() -> dict:
            given = self.given_for(choices)
            return measure(
                source.recording,
                choices,
                self._positions,
                settings.dtype,
                given,
                settings.threads,
                lambda: self.on_step(1),
                self.finders.get(policy.name, find),
            )

        def model() -> dict:
            found = source.run.measure(choices, self.given_for(choices))
            self.on_step(source.shape.layers)
            return found

        layers = source.shape.layers
        return {
            "name": policy.name,
            "policy": policy.text,
            "systems": part("systems", [*of_data, asdict(settings)], 1, lambda: self._systems(choices)),
            "attention": part("attention", [*of_data, settings.queries, settings.seed], layers, attention),
            "model": part("model", of_data, layers, model) if isinstance(source, ModelSource) else None,
        }

    def _systems(self, choices: list[Choice]) -> dict:
        settings, source = self.settings, self.source
        found = bytes_of(
            source.shape,
            choices,
            source.tokens,
            settings.concurrency,
            settings.memory,
            settings.dtype,
            settings.splits,
        )
        if settings.seconds:
            given = self.given_for(choices)
            found |= time_step(
                source.recording,
                choices,
                settings.concurrency,
                settings.dtype,
                given,
                settings.seconds,
            )
        found["ratio"] = found["retained_bytes_per_token"] / found["exact_bytes_per_token"]
        self.on_step(1)
        return found


def open_parts(out: Path) -> Parts:
    """Those of an evaluation whose results go to a folder."""
    return Parts(out / "parts", "1")  # the version of what is in them
