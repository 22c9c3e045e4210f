"""An evaluation as one HTML file that needs no other."""

from __future__ import annotations

import base64
import html

from .tables import model_columns, systems_columns

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
pre, code { background: #f4f4f4; border-radius: 4px; } pre { padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
img { max-width: 100%; } figcaption, .note { color: #555; font-size: .9rem; } figure { margin: 1rem 0; }
.wide { overflow-x: auto; } summary { cursor: pointer; }
"""
MEANING = (
    ("B/token", "bytes that hold tokens, of all layers, keys and values, by token: windows are shared out over the tokens"),
    ("score", "error of q·k from keys, each row less its mean, relative L2"),
    ("attn KL", "KL of attention weights from exact ones, mean over rows; p99 is its tail; nats"),
    ("top 1", "rows whose largest weight stays with the same token"),
    ("out K, V, both", "attention's output, relative L2, with that side quantized and the other exact"),
    ("clipped", "elements that codes could not hold, of all tokens and layers"),
    ("token KL", "KL of the next token's distribution from the 16-bit cache's, mean over tokens, of a whole pass"),
    ("same top", "tokens whose likeliest next token stays the same"),
)


def write(result: dict, images: dict[str, tuple[str, bytes]]) -> str:
    """The page. images: by name, caption and PNG."""
    title = f"KV-cache formats on {result['source']}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{_facts(result)}</p>",
        f"<pre>{html.escape(result['command'])}</pre>",
        "<h2>Model: errors</h2>",
        _table(result, model_columns(result)),
        '<p class="note">' + "; ".join(f"<b>{name}</b>: {html.escape(text)}" for name, text in MEANING) + ".</p>",
    ]
    for name in ("pareto", "layers", "positions", "distances", "channels"):
        parts.append(_figure(name, *images[name]))
    parts += [
        f"<h2>Systems: bytes and time, {result['concurrency']} sequence{'s' * (result['concurrency'] != 1)}</h2>",
        _table(result, systems_columns(result)),
        f'<p class="note">{html.escape(_systems_note(result))}</p>',
        "<h2>Policies</h2>",
    ]
    for policy in result["policies"]:
        parts.append(
            f"<details><summary>{html.escape(policy['name'])}</summary><pre>{html.escape(policy['policy'])}</pre></details>"
        )
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _facts(result: dict) -> str:
    text = (
        f"{result['tokens']:,} tokens, {result['layers']} layers, {result['query_heads']} query and {result['kv_heads']} KV "
        f"heads of {result['head_dim']} channels; exact elements are {result['dtype']}. Errors of attention are of "
        f"{len(result['positions'])} queries of each layer and head, drawn with seed {result['seed']}, equally from the "
        f"ranges of positions. {result['processor']}."
    )
    return html.escape(text)


def _systems_note(result: dict) -> str:
    timed = "fused_microseconds" in result["policies"][0]["systems"]
    text = "next K, V: bytes of one more token. Temporaries and GPU launches are those of a decode step's attentions."
    if timed:
        text += (
            f" Times: all attentions of one decode step over {result['tokens']:,} tokens of each sequence, fused, and rebuilding the"
            " caches first; processor time of one thread."
        )
    return text


def _table(result: dict, columns: list[tuple[str, list[str]]]) -> str:
    lines = ["<tr><th>policy</th>" + "".join(f"<th>{html.escape(header)}</th>" for header, _ in columns) + "</tr>"]
    for index, policy in enumerate(result["policies"]):
        texts = "".join(f"<td>{html.escape(cells[index])}</td>" for _, cells in columns)
        lines.append(f"<tr><td>{html.escape(policy['name'])}</td>{texts}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _figure(name: str, caption: str, image: bytes) -> str:
    data = base64.b64encode(image).decode()
    return (
        f'<figure><img alt="{name}" src="data:image/png;base64,{data}">'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )
