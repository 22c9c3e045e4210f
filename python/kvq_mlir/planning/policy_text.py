"""A plan in the grammar of policies, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ..cache_types import SIDES
from ..evaluation.kept import EXACT, Kept


def layer_ranges(layers: Sequence[int], join: str = ":", end: int = 1) -> str:
    """ "0, 2:5": numbers, and ranges of three and more of them, with `end` added to their last layer."""
    texts = []
    for _, group in groupby(enumerate(sorted(layers)), key=lambda pair: pair[1] - pair[0]):
        run = [layer for _, layer in group]
        texts += map(str, run) if len(run) < 3 else [f"{run[0]}{join}{run[-1] + end}"]
    return ", ".join(texts)


def by_kept(kept: Mapping[tuple[int, str], Kept], side: str) -> dict[Kept, list[int]]:
    """The layers of each way in which a side is kept, in the order of their first layers."""
    found: dict[Kept, list[int]] = {}
    for (layer, of), each in sorted(kept.items(), key=lambda item: item[0][0]):
        if of == side:
            found.setdefault(each, []).append(layer)
    return found


def policy_text(kept: Mapping[tuple[int, str], Kept]) -> str:
    """A module that holds the policy alone, as `Policy.read` and the option `policy-file` of `kvq-apply-policy` take
    it.

    Each entry names its layers; what is kept exact needs none.
    """
    entries = []
    for side in SIDES:
        for each, layers in by_kept(kept, side).items():
            if each != EXACT:
                text = each.choice(0, side, 1).entry.removeprefix(f"<side = {side}, ")
                entries.append(f"  <side = {side}, layers = [{layer_ranges(layers)}], {text}")
    lines = ",\n".join(entries or [f"  {EXACT.choice(0, SIDES[0], 1).entry.replace(f'side = {SIDES[0]}, ', '')}"])
    return f"module attributes {{kvq.policy = #kvq.policy<\n{lines}\n>}} {{}}\n"
