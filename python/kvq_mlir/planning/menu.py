"""The formats that plans choose from unless others are named, and those that plans are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._kvq import presets
from ..evaluation.kept import EXACT, Kept
from ..format import Segments, read_format
from ..formats import kinds, measure

Menu = Mapping[str, Sequence[Kept]]  # by side


def rotated(bits: int, range_: str = "search<8>") -> str:
    """Per token, rotated, so that outlier channels spread over all of them: nearly normal, as the codebooks want it; up
    to 4 bits a code."""
    codes = f"#kvq.codebook<lloyd_max = {bits}>"
    return f"codes = {codes}, group = [1, 64], scale = f8E4M3FN, range = {range_}, rotate = hadamard<64>"


def centred(bits: int) -> str:
    """The same of keys less their mean, most of what they are, which makes no difference to the softmax."""
    return rotated(bits).replace(", rotate", ", center = f16, rotate")


def rotated_integers(bits: int) -> str:
    """The same of wider codes, where codebooks gain little."""
    return f"codes = i{bits}, group = [1, 64], scale = f8E4M3FN, range = search<8>, rotate = hadamard<64>"


def per_channel(bits: int, tokens: int = 32) -> str:
    """Outlier channels have ranges of their own."""
    return f"codes = ui{bits}, group = [{tokens}, 1], scale = f16, zero = min f16"


def per_token(bits: int) -> str:
    """The codes and metadata of `per_channel`, with groups along the channels."""
    return f"codes = ui{bits}, group = [1, 32], scale = f16, zero = min f16"


def windows(format_: str, recent: Iterable[int], exact_first: int = 0) -> list[Kept]:
    """A format with so many newest tokens exact: those that most attention goes to."""
    return [Kept(format_, exact_first, tokens) for tokens in recent]


def default_menu() -> Menu:
    """For keys and values of a head dim that 64 divides. The first token's key is exact: models attend to it from
    everywhere, and it is unlike all others."""
    keys = [kept for bits in (2, 3, 4) for kept in windows(centred(bits), (16, 32, 64), exact_first=1)]
    keys += [kept for bits in (2, 3, 4, 5) for kept in windows(per_channel(bits), (0, 32), exact_first=1)]
    values = windows(rotated(1, "rms"), (16, 32, 64))
    values += [kept for bits in (2, 3, 4) for kept in windows(rotated(bits), (8, 16, 32, 64))]
    values += [kept for bits in (5, 6) for kept in windows(rotated_integers(bits), (16,))]
    return {"keys": [*keys, Kept(rotated_integers(8))], "values": [*values, Kept(rotated_integers(8))]}


# The KL that these cost each side of each layer by itself is measured; those of others follow from their output errors.
PROBES: Menu = {side: [Kept(rotated(2, "rms"))] for side in ("keys", "values")}


def named_formats() -> list[str]:
    """The presets, and a format of each kind, that rows of 64 channels fit. Tiles are left out: their codes are those
    of rows."""
    formats = [name for name, *_ in presets()]
    formats += [text for text, _ in kinds().values() if "tile" not in text and text != EXACT.format]
    return [text for text in formats if bits_per_element(text) is not None]


def bits_per_element(text: str) -> float | None:
    """Of rows of 64 channels; None where they do not fit."""
    format_ = read_format(text)
    return None if isinstance(format_, Segments) else measure(text, format_, "f16", 64, "").bits_per_element


def before_rope(text: str) -> str:
    """Keys as they are before RoPE, where outliers stay in their channels."""
    return f"{text}, rope = pre"


def rotated_blocks(codes: str) -> str:
    """Blocks of 32 channels, rotated: other codes than Lloyd and Max's."""
    return f"codes = {codes}, group = [1, 32], scale = f8E4M3FN, range = search<8>, rotate = hadamard<64>"


def uniform_menu() -> Menu:
    """What is screened as formats for all layers: the default ones, every preset and kind of format, and others of
    these kinds: plain and searched ranges, with and without rotation, by token, by channel and static, before RoPE,
    with windows at the start, at the end and without."""
    named = named_formats()
    coarse = [text for text in named if bits_per_element(text) < 5.5]  # finer ones gain little by windows
    of_each = [Kept(text) for text in named] + [Kept(text, recent=32) for text in coarse]
    others = ("f4E2M1FN", "#kvq.codebook<nf4>", "#kvq.codebook<iq4_nl>")
    of_each += [Kept(rotated_blocks(codes), recent=32) for codes in others]
    plain = [
        rotated(bits, range_).replace(", rotate = hadamard<64>", "")
        for bits in (2, 3)
        for range_ in ("search<8>", "rms")
    ]
    finer = [text.replace("[1, 64]", "[1, 32]") for text in (*plain, rotated(2), rotated(3))]
    static = [
        f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [*, 1], scale = f16, range = static, center = f16"
        for bits in (2, 3, 4)
    ]
    by_token = [
        *plain,
        *finer,
        *static,
        *(rotated(bits) for bits in (2, 3, 4)),
        *(rotated(bits, "rms") for bits in (2, 3, 4)),
    ]
    both = [Kept(text) for text in by_token] + [Kept(rotated(bits, "rms"), recent=32) for bits in (2, 3, 4)]
    points = [
        f"codes = ui{bits}, group = [32, 1], scale = f8E4M3FN, zero = point ui8, range = search<8>" for bits in (2, 3)
    ]
    by_channel = [per_channel(bits, tokens) for tokens in (32, 64) for bits in (2, 3, 4)]
    keys = [Kept(text) for text in (*points, *by_channel)] + [Kept(text, recent=32) for text in by_channel]
    keys += [Kept(per_channel(bits), exact_first=4, recent=32) for bits in (2, 3)]
    keys += [Kept(per_channel(bits, 64), exact_first=1) for bits in (2, 3)] + windows(
        rotated(3), (16, 32), exact_first=1
    )
    values = (
        windows(rotated(1, "rms"), (0, 128)) + windows(rotated(2, "rms"), (64, 128)) + windows(rotated(3, "rms"), (64,))
    )
    values += [Kept(rotated(bits, "rms"), exact_first=4) for bits in (2, 3)]
    default = default_menu()
    pre = [kept for bits in (2, 3, 4) for kept in windows(before_rope(per_channel(bits)), (0, 32), exact_first=1)]
    return {
        "keys": list(dict.fromkeys([*default["keys"], *both, *keys, *pre, *of_each])),
        "values": list(dict.fromkeys([*default["values"], *both, *values, *of_each])),
    }


# Pairs for all layers that are shown side by side.
SIDE_BY_SIDE = (
    (Kept(rotated(4), recent=32), Kept(rotated(2), recent=32)),
    (Kept(rotated(2), recent=32), Kept(rotated(4), recent=32)),
    (Kept(per_channel(3), recent=32), Kept(rotated(4), recent=32)),
    (Kept(per_token(3), recent=32), Kept(rotated(4), recent=32)),
)
