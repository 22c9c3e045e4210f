"""The formats that plans choose from unless others are named, and those that plans are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..evaluation.kept import Kept

Menu = Mapping[str, Sequence[Kept]]  # by side


def rotated(bits: int) -> str:
    """Per token, rotated, so that outlier channels spread over all of them: nearly normal, as the codebooks want it; up to
    4 bits a code."""
    return f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [1, 64], scale = f8E4M3FN, range = rms, rotate = hadamard<64>"


def rotated_integers(bits: int) -> str:
    """The same of wider codes, where codebooks gain little."""
    return f"codes = i{bits}, group = [1, 64], scale = f8E4M3FN, range = search<8>, rotate = hadamard<64>"


def per_channel(bits: int, tokens: int = 32) -> str:
    """Outlier channels have ranges of their own."""
    return f"codes = ui{bits}, group = [{tokens}, 1], scale = f16, zero = min f16"


def per_token(bits: int) -> str:
    """The codes and metadata of `per_channel`, with groups along the channels."""
    return f"codes = ui{bits}, group = [1, 32], scale = f16, zero = min f16"


def windows(format_: str, recent: Iterable[int]) -> list[Kept]:
    """A format with so many newest tokens exact: those that most attention goes to."""
    return [Kept(format_, recent=tokens) for tokens in recent]


def default_menu() -> Menu:
    """For keys and values of a head dim that 64 divides."""
    wide = [kept for bits in (5, 6, 8) for kept in windows(rotated_integers(bits), (0, 32))]
    keys = [kept for bits in (2, 3, 4) for kept in windows(rotated(bits), (0, 32, 64))]
    keys += [kept for bits in (2, 3, 4, 5, 6) for kept in windows(per_channel(bits), (0, 32))]
    values = [kept for bits in (1, 2, 3, 4) for kept in windows(rotated(bits), (0, 16, 32, 64, 128))]
    return {"keys": keys + wide, "values": values + wide}


# The KL that these cost each side of each layer by itself is measured; those of others follow from their output errors.
PROBES: Menu = {side: [Kept(rotated(2))] for side in ("keys", "values")}


def uniform_menu() -> Menu:
    """What is screened as formats for all layers: the default ones, and the other kinds of formats that the compiler has,
    each without and with exact windows."""
    symmetric = [f"codes = i{bits}, group = [1, 32], scale = f16" for bits in (3, 4, 5, 6)]
    searched = [f"codes = ui{b}, group = [1, 32], scale = f8E4M3FN, zero = point ui8, range = search<8>" for b in (2, 3, 4)]
    minimum = [f"codes = ui{b}, group = [1, 64], scale = f16, zero = min f16, range = search<8>, rotate = hadamard<64>" for b in (2, 3, 4)]
    codebooks = [f"codes = #kvq.codebook<{name}>, group = [1, 64], scale = f8E4M3FN" for name in ("nf4", "iq4_nl")]
    codebooks += [rotated(bits).replace(", rotate = hadamard<64>", "") for bits in (2, 3, 4)]
    finer = [rotated(bits).replace("[1, 64]", "[1, 32]") for bits in (2, 3, 4)]
    floats = ["codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32", "codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU"]
    static = [f"codes = #kvq.codebook<lloyd_max = {b}>, group = [*, 1], scale = f16, range = static, center = f16" for b in (2, 3, 4)]
    tokens = [*symmetric, *map(per_token, (2, 3, 4, 5)), *searched, *minimum, *codebooks, *finer, *floats, *static]
    channels = [per_channel(bits, tokens) for bits in (2, 3, 4) for tokens in (64, 128)]
    channels += [
        f"codes = ui{b}, group = [32, 1], scale = f8E4M3FN, zero = point ui8, range = search<8>" for b in (2, 3, 4)
    ]
    channels += [f"codes = #kvq.codebook<lloyd_max = {b}>, group = [32, 1], scale = f8E4M3FN, range = rms" for b in (2, 3)]
    first = [Kept(rotated(bits), exact_first=4, recent=32) for bits in (2, 3, 4)]
    others = [kept for text in tokens for kept in windows(text, (0, 32))] + first
    by_channel = [kept for text in channels for kept in windows(text, (0, 32))]
    before = [Kept(f"{per_channel(bits, 64)}, rope = pre") for bits in (2, 3)]
    default = default_menu()
    return {
        "keys": list(dict.fromkeys([*default["keys"], *others, *by_channel, *before])),
        "values": list(dict.fromkeys([*default["values"], *others, *windows(per_channel(2), (0, 32))])),
    }


# Pairs for all layers that are shown side by side.
SIDE_BY_SIDE = (
    (Kept(rotated(4), recent=32), Kept(rotated(2), recent=32)),
    (Kept(rotated(2), recent=32), Kept(rotated(4), recent=32)),
    (Kept(per_channel(3), recent=32), Kept(rotated(4), recent=32)),
    (Kept(per_token(3), recent=32), Kept(rotated(4), recent=32)),
)
