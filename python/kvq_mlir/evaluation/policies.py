"""The policies that are evaluated: the default ones, those of files, and one from options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _kvq
from ..cache_types import SIDES
from ..policy import Choice, Policy
from ..text import InputError


@dataclass(frozen=True)
class Named:
    """A policy under a name for tables and plots; text: as `Policy` takes it."""

    name: str
    text: str

    def choose(self, layers: int, kv_heads: int, head_dim: int, dtype: str) -> list[Choice]:
        """Its caches; `InputError` for what the model does not have, or where a format does not fit its rows."""
        try:
            choices = Policy(self.text, self.name).choose(layers, kv_heads)
            for choice in {choice.anywhere() for choice in choices}:
                _kvq.Footprint(choice.type(1, head_dim, dtype))
        except _kvq.Error as error:
            raise InputError(f"policy '{self.name}': {error}") from error
        return choices


EXACT = "format = #kvq.format<codes = none>"


def uniform(name: str, keys: str = EXACT, values: str = EXACT) -> Named:
    """All layers alike; the sides as in entries of a policy, "format = ..., recent = 32"."""
    entries = [f"<side = {side}, {text}>" for side, text in zip(SIDES, (keys, values), strict=True)]
    return Named(name, f"module attributes {{kvq.policy = #kvq.policy<{', '.join(entries)}>}} {{}}")


def _format(text: str, windows: str = "") -> str:
    return f"format = #kvq.format<{text}>{windows}"


def _signed(bits: int) -> str:
    return _format(f"codes = i{bits}, group = [1, 32], scale = f16")


def _per_token(bits: int) -> str:
    return _format(f"codes = ui{bits}, group = [1, 32], scale = f16, zero = min f16")


def _per_channel(bits: int) -> str:
    return _format(f"codes = ui{bits}, group = [32, 1], scale = f16, zero = min f16", ", recent = 32")


_ROTATED = _format("codes = ui4, group = [1, 32], scale = f16, zero = min f16, rotate = hadamard<*>")
Q4_0 = 'format = #kvq.preset<"ggml.q4_0">'

# Keys and values apart: more bits for one side or the other, scales for a token or for a channel, an engine's own format.
DEFAULT = (
    uniform("16-bit"),
    uniform("K8 V8", _signed(8), _signed(8)),
    uniform("K8 V4", _signed(8), _signed(4)),
    uniform("K4 V8, per token", _per_token(4), _signed(8)),
    uniform("K4 V4, per token", _per_token(4), _signed(4)),
    uniform("K4 V4, rotated keys", _ROTATED, _signed(4)),
    uniform("K4 V4, per channel", _per_channel(4), _signed(4)),
    uniform("K4 V2, per channel", _per_channel(4), _per_token(2)),
    uniform("K2 V4, per channel", _per_channel(2), _signed(4)),
    uniform("K3 V3, per channel", _per_channel(3), _per_token(3)),
    uniform("K2 V2, per channel", _per_channel(2), _per_token(2)),
    uniform("ggml q4_0", Q4_0, Q4_0),
)


def from_file(path: Path) -> Named:
    """A module with the attribute kvq.policy; its name is the file's."""
    try:
        text = path.read_text(encoding="utf-8")
        Policy(text, str(path))
    except OSError as error:
        raise InputError(f"--policy: cannot read {path}: {error.strerror}") from error
    except (_kvq.Error, UnicodeDecodeError) as error:
        raise InputError(f"--policy: {error}") from error
    return Named(path.stem, text)


def from_options(keys: str | None, values: str | None, windows: dict[str, int]) -> Named:
    """All layers alike; formats as text, or names of presets. windows: of both sides, without those that are 0."""
    sides, names = [], []
    for side, text in (("keys", keys), ("values", values)):
        if text is None:
            sides.append(EXACT)
            names.append("16-bit")
            continue
        is_preset = "=" not in text
        attribute = f'#kvq.preset<"{text}">' if is_preset else f"#kvq.format<{text}>"
        sides.append(f"format = {attribute}" + "".join(f", {name} = {size}" for name, size in windows.items() if size))
        names.append(text if is_preset else text.partition(",")[0].removeprefix("codes = "))
    named = uniform(f"K {names[0]}, V {names[1]}", *sides)
    try:
        Policy(named.text, "--keys, --values")
    except _kvq.Error as error:
        raise InputError(str(error)) from error
    return named


def distinct(policies: Sequence[Named]) -> list[Named]:
    """`InputError` for two of one name."""
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"expected policies of different names, found '{name}' {names.count(name)} times")
    return list(policies)
