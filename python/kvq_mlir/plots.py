"""Figures of the demonstration."""

from __future__ import annotations

import itertools
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

EXACT_COLOR = "#4d4d4d"
COLORS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#e69f00")  # told apart by colour-blind readers too


def plot_demo(result: dict, path: Path) -> None:
    """Output error and perplexity against bytes per token and layer. `result`: what demo.json holds."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    errors, perplexities = figure.subplots(1, 2)
    exact, *quantized = result["pairs"]
    _plot_errors(errors, quantized)
    _plot_perplexities(perplexities, exact, quantized)
    for axes in (errors, perplexities):
        axes.axvline(_bytes(exact), color=EXACT_COLOR, linestyle=":", linewidth=1)
        axes.set_xlim(0, _bytes(exact) * 1.08)
        axes.set_xlabel("cache bytes per token and layer, K and V together")
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    handles = [
        _handle("o", color, pair["name"]) for color, pair in zip((EXACT_COLOR, *COLORS), result["pairs"], strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.suptitle(f"KV-cache formats on {result['model']}, {result['tokens']:,} tokens, {result['layers']} layers")
    figure.savefig(path, dpi=150)


def _bytes(pair: dict) -> float:
    return pair["k_bytes"] + pair["v_bytes"]


def _handle(marker: str, color: str, label: str, fill: str | None = None) -> Line2D:
    return Line2D([], [], linestyle="", marker=marker, color=color, markerfacecolor=fill or color, label=label)


def _plot_errors(axes: Axes, quantized: list[dict]) -> None:
    # K and V alone stand a little beside their place, or one mark would hide the other.
    parts = (
        ("output_error_k_alone", "^", "K quantized, V exact", -7),
        ("output_error_v_alone", "s", "V quantized, K exact", 7),
        ("output_error", "o", "both quantized", 0),
    )
    fills = {"output_error": None}
    for color, pair in zip(COLORS, quantized, strict=False):
        for key, marker, _, shift in parts:
            fill = fills.get(key, "white") or color
            axes.scatter(
                _bytes(pair) + shift, pair[key], 55, marker=marker, facecolor=fill, edgecolor=color, linewidth=1.5
            )
    handles = [_handle(marker, EXACT_COLOR, label, fills.get(key, "white")) for key, marker, label, _ in parts]
    axes.legend(handles=handles, loc="lower left", fontsize=9, frameon=False)
    axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.set_ylabel("attention output error (relative L2)")


def _plot_perplexities(axes: Axes, exact: dict, quantized: list[dict]) -> None:
    axes.axhline(exact["perplexity"], color=EXACT_COLOR, linestyle=":", linewidth=1)
    for color, pair in zip((EXACT_COLOR, *COLORS), [exact, *quantized], strict=False):
        spread = pair["perplexity_uncertainty"]
        axes.errorbar(_bytes(pair), pair["perplexity"], spread, marker="o", markersize=7, color=color, capsize=3)
    axes.margins(y=0.15)
    axes.set_ylabel("perplexity of the whole pass (bars: standard error)")


# --- benchmarks ------------------------------------------------------------------------------------------------------


def plot_attention(results: list[dict], path: Path) -> None:
    """Nanoseconds by tokens, a panel for each shape and number of threads. results: what `bench cpu --json` prints."""
    shapes = [dict(items) for items in dict.fromkeys(tuple(result["shape"].items()) for result in results)]
    threads = sorted({result["threads"] for result in results})
    figure = Figure(figsize=(5.6 * len(threads), 4.3 * len(shapes) + 0.3), layout="constrained")
    names = list(dict.fromkeys(result["name"] for result in results))
    grid = figure.subplots(len(shapes), len(threads), squeeze=False)
    for (shape, row), (column, count) in itertools.product(
        zip(shapes, grid, strict=True), enumerate(threads)
    ):
        panel = row[column]
        here = [result for result in results if (result["shape"], result["threads"]) == (shape, count)]
        for i, name in enumerate(names):
            rows = [result for result in here if result["name"] == name]
            _plot_times(panel, rows, "nanoseconds", COLORS[i % len(COLORS)], "-" if i < len(COLORS) else ":", name)
        for i, name in enumerate(dict.fromkeys(result["yardstick"] for result in here if result["yardstick"])):
            rows = [result for result in here if result["yardstick"] == name]
            _plot_times(panel, rows, "yardstick_nanoseconds", EXACT_COLOR, ("--", "-.")[i % 2], f"by hand, {name}")
        _label_times(panel, sorted({result["tokens"] for result in here}), shape, count)
    handles = {}
    for panel in grid.flat:
        handles |= {label: handle for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Attention of one layer")
    figure.savefig(path, dpi=150)


def _label_times(panel: Axes, tokens: list[int], shape: dict, threads: int) -> None:
    panel.set_xscale("log", base=2)
    panel.set_xticks(tokens, [f"{number:,}" for number in tokens], minor=False)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("tokens")
    panel.set_ylabel("ns per key, KV head and query token")
    parts = [f"{shape['query_heads']}/{shape['kv_heads']} heads"]
    parts += [f"{shape[key]} {key}" for key in ("batch", "queries") if shape[key] > 1]
    parts.append("1 thread" if threads == 1 else f"{threads} threads")
    panel.set_title(", ".join(parts).replace("batch", "sequences"), fontsize=10)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _plot_times(axes: Axes, rows: list[dict], key: str, color: str, style: str, label: str) -> None:
    points = {row["tokens"]: row[key] for row in rows}
    axes.plot(list(points), list(points.values()), style, color=color, marker="o", markersize=4, label=label)
