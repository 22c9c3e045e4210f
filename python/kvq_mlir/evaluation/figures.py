"""Figures of an evaluation, of what its JSON holds."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..plots import COLORS, EXACT_COLOR

STYLES = ("-", "--", ":")
MARKERS = ("o", "s", "^")
LEAST = 1e-7  # what is smaller counts as no error


def draw_all(result: dict) -> dict[str, tuple[str, bytes]]:
    """By file name: the caption and the figure as PNG."""
    figures = {
        "pareto": (
            "Error against bytes. The line joins the policies that no other one beats in both: the Pareto front.",
            _pareto(result),
        ),
        "layers": (
            "Output error from keys alone and from values alone, by layer. Policies with the same keys, or values, share a "
            "line.",
            _by_layer(result),
        ),
        "positions": (
            "By position of the query: each point is of a range that ends at that token.",
            _by_position(result),
        ),
        "distances": (
            "By distance between a token and the query that reads it: error of scores from keys, and error of values "
            "weighted by attention.",
            _by_distance(result),
        ),
        "channels": (
            "Largest magnitude of each channel of each layer, KV heads side by side, and the range of each channel of the "
            "layer whose keys differ most.",
            _channels(result),
        ),
    }
    return {name: (caption, _png(figure)) for name, (caption, figure) in figures.items()}


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()


def _style(index: int) -> dict:
    turn = index // len(COLORS)
    return {"color": COLORS[index % len(COLORS)], "marker": MARKERS[turn % 3], "linestyle": STYLES[turn % 3]}


def _styles(result: dict) -> dict[str, dict]:
    """Of each policy by name, the same in all figures; exact ones in grey."""
    styles, index = {}, 0
    for policy in result["policies"]:
        if policy["systems"]["ratio"] == 1:
            styles[policy["name"]] = {"color": EXACT_COLOR, "marker": "D", "linestyle": "-"}
        else:
            styles[policy["name"]] = _style(index)
            index += 1
    return styles


def _finish(axes: Axes, x: str, y: str, log: bool = True) -> None:
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(figure: Figure, axes: list[Axes]) -> None:
    handles = {}
    for each in axes:
        handles |= {label: handle for handle, label in zip(*each.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=2 * len(axes), frameon=False, fontsize=9)


def front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one is below in one coordinate and not above in the other, by the first."""
    found: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if not found or y < found[-1][1]:
            found.append((x, y))
    return found


def _error_panels(result: dict) -> tuple[Figure, list[tuple]]:
    """A figure with axes for the error of attention and, where there is a model, of its predictions: axes, where the
    error is in a policy's figures (group and name), and its label."""
    kinds = [("attention", "output_error_both", "attention output error (relative L2)")]
    if result["has_model"]:
        kinds.append(("model", "next_token_kl_mean", "mean KL of the next token's distribution, nats"))
    figure = Figure(figsize=(5.8 * len(kinds), 5.2), layout="constrained")
    panels = figure.subplots(1, len(kinds), squeeze=False)[0]
    return figure, [(axes, *kind) for axes, kind in zip(panels, kinds, strict=True)]


def _pareto(result: dict) -> Figure:
    figure, panels = _error_panels(result)
    styles = _styles(result)
    for axes, group, name, label in panels:
        points = []
        for policy in result["policies"]:
            x, y = policy["systems"]["retained_bytes_per_token"], policy[group][name]
            style = styles[policy["name"]] | {"linestyle": ""}
            if y > LEAST:
                axes.plot(x, y, label=policy["name"], markersize=8, **style)
                points.append((x, y))
            else:  # logarithms have no zero
                axes.axvline(x, color=style["color"], linestyle=":", linewidth=1, label=f"{policy['name']}: no error")
        if points:
            axes.plot(*zip(*front(points), strict=True), color=EXACT_COLOR, linewidth=1, alpha=0.6, zorder=0)
        axes.set_xlim(left=0)
        _finish(axes, f"bytes per token, all layers, of {result['tokens']:,} tokens", label)
    _legend(figure, [axes for axes, *_ in panels])
    return figure


def _distinct(result: dict, name: str) -> list[tuple[str, dict]]:
    """The policies that differ in a figure of the layers, those without any error left out."""
    found: dict[tuple, tuple[str, dict]] = {}
    for policy in result["policies"]:
        values = tuple(layer[name] for layer in policy["attention"]["layers"])
        if max(values) > LEAST:
            found.setdefault(values, (policy["name"], policy["attention"]))
    return list(found.values())


def _by_layer(result: dict) -> Figure:
    figure = Figure(figsize=(11.6, 5.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    styles = _styles(result)
    for axes, side in zip(panels, ("keys", "values"), strict=True):
        name = f"output_error_{side}"
        for policy, attention in _distinct(result, name):
            values = [max(layer[name], LEAST) for layer in attention["layers"]]
            axes.plot(values, label=policy, markersize=4, linewidth=1.2, **styles[policy])
        axes.set_title(f"{side} quantized, the other side exact", fontsize=10)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _finish(axes, "layer", "attention output error (relative L2)")
    _legend(figure, list(panels))
    return figure


def _by_position(result: dict) -> Figure:
    figure, panels = _error_panels(result)
    styles = _styles(result)
    for axes, group, name, label in panels:
        for policy in result["policies"]:
            rows = policy[group]["positions"]
            values = [max(row[name], LEAST) for row in rows]
            if max(values) > LEAST:
                ends = [row["to"] for row in rows]
                axes.plot(ends, values, label=policy["name"], markersize=5, linewidth=1.2, **styles[policy["name"]])
        axes.set_xscale("log", base=2)
        axes.set_xticks(result["position_ends"], [f"{end:,}" for end in result["position_ends"]], minor=False)
        _finish(axes, "position of the query, up to", label)
    _legend(figure, [axes for axes, *_ in panels])
    return figure


def _by_distance(result: dict) -> Figure:
    figure = Figure(figsize=(11.6, 5.2), layout="constrained")
    panels = figure.subplots(1, 2)
    styles = _styles(result)
    kinds = (
        ("keys", "score_error_mean", "mean error of scores, row means removed"),
        ("values", "value_error", "error of values times attention, sum over the range"),
    )
    for axes, (side, name, label) in zip(panels, kinds, strict=True):
        for policy, attention in _distinct(result, f"output_error_{side}"):
            rows = attention["distances"]
            ticks = [max(row["from"], 0.5) for row in rows]
            values = [max(row[name], LEAST) for row in rows]
            axes.plot(ticks, values, label=policy, markersize=4, linewidth=1.2, **styles[policy])
        axes.set_xscale("log", base=2)
        ticks = [row["from"] for row in result["policies"][0]["attention"]["distances"]]
        axes.set_xticks([max(tick, 0.5) for tick in ticks], [f"{tick:,}" for tick in ticks], minor=False, fontsize=8)
        _finish(axes, "tokens before the query, from", label)
    _legend(figure, list(panels))
    return figure


def _channels(result: dict) -> Figure:
    figure = Figure(figsize=(11.6, 7.4), layout="constrained")
    grid = figure.subplots(2, 2, height_ratios=(3, 2))
    sizes = {
        side: np.array([np.maximum(np.abs(layer["min"]), np.abs(layer["max"])) for layer in layers])
        for side, layers in result["channels"].items()
    }
    largest = max(max(size.max() for size in sizes.values()), LEAST)
    smallest = min(size[size > 0].min(initial=largest) for size in sizes.values())
    norm = LogNorm(min(max(smallest, largest / 1e4), largest / 2), largest)
    worst = int(np.argmax(sizes["keys"].max(axis=1) / np.maximum(np.median(sizes["keys"], axis=1), LEAST)))
    for column, (side, size) in enumerate(sizes.items()):
        image = grid[0, column].imshow(size, aspect="auto", norm=norm, cmap="viridis", interpolation="nearest")
        grid[0, column].set_title(f"{side}: largest magnitude", fontsize=10)
        grid[0, column].set_xlabel("channel, KV heads side by side")
        grid[0, column].set_ylabel("layer")
        grid[0, column].yaxis.set_major_locator(MaxNLocator(integer=True))
        layer = result["channels"][side][worst]
        grid[1, column].vlines(np.arange(len(layer["min"])), layer["min"], layer["max"], color=COLORS[column], linewidth=1)
        for head in range(1, result["kv_heads"]):
            grid[1, column].axvline(head * result["head_dim"] - 0.5, color=EXACT_COLOR, linewidth=0.6, linestyle=":")
        _finish(grid[1, column], f"channel of layer {worst}", "smallest to largest", log=False)
    figure.colorbar(image, ax=grid[0, :], pad=0.01)
    return figure
