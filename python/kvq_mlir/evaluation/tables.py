"""Results of an evaluation as a printed table and as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

# Of a policy's record: the group and name of a figure, its header in the table and how it prints.
COLUMNS = (
    ("systems", "retained_bytes_per_token", "B/token", "{:,.1f}"),
    ("systems", "ratio", "of 16-bit", "{:.1%}"),
    ("attention", "score_error_relative", "score", "{:.2%}"),
    ("attention", "attention_kl_mean", "attn KL", "{:.1e}"),
    ("attention", "attention_kl_p99", "KL p99", "{:.1e}"),
    ("attention", "attention_top_1", "top 1", "{:.1%}"),
    ("attention", "output_error_keys", "out K", "{:.2%}"),
    ("attention", "output_error_values", "out V", "{:.2%}"),
    ("attention", "output_error_both", "out both", "{:.2%}"),
    ("attention", "saturated_keys", "clipped K", "{:,}"),
    ("attention", "saturated_values", "clipped V", "{:,}"),
    ("model", "perplexity", "perplexity", "{:.3f}"),
    ("model", "next_token_kl_mean", "token KL", "{:.1e}"),
    ("model", "next_token_kl_p99", "KL p99", "{:.1e}"),
    ("model", "same_top_1", "same top", "{:.1%}"),
)
SYSTEMS = (
    ("retained_bytes_per_token", "B/token", "{:,.1f}"),
    ("bytes_per_token_keys", "next K", "{:,.1f}"),
    ("bytes_per_token_values", "next V", "{:,.1f}"),
    ("most_tokens", "most tokens", "{:,}"),
    ("most_sequences", "most seqs", "{:,}"),
    ("temporary_bytes", "temporary B", "{:,}"),
    ("launches", "launches", "{:,}"),
    ("fused_microseconds", "fused µs", "{:,.0f}"),
    ("unfused_microseconds", "unfused µs", "{:,.0f}"),
)


def cell(record: dict, name: str, form: str) -> str:
    value = record.get(name)
    return "-" if value is None else form.format(value)


def model_columns(result: dict) -> list[tuple[str, list[str]]]:
    """Errors, beside what a token takes: header and cells of each column that has something to say."""
    records = [
        {"systems": policy["systems"], "attention": plain(policy["attention"]), "model": policy["model"] or {}}
        for policy in result["policies"]
    ]
    return [
        (header, [cell(record[group], name, form) for record in records])
        for group, name, header, form in COLUMNS
        if any(name in record[group] for record in records)
        and (not name.startswith("saturated") or any(record[group][name] for record in records))
    ]


def systems_columns(result: dict) -> list[tuple[str, list[str]]]:
    """Bytes, temporaries and times, in the same way."""
    records = [flat_systems(policy["systems"]) for policy in result["policies"]]
    return [
        (header, [cell(record, name, form) for record in records])
        for name, header, form in SYSTEMS
        if any(name in record for record in records)
    ]


def table(result: dict, columns: list[tuple[str, list[str]]]) -> str:
    """As text, a line for each policy."""
    names = [policy["name"] for policy in result["policies"]]
    width = max(map(len, ["policy", *names]))
    lines = [f"{'policy':{width}}", *(f"{name:{width}}" for name in names)]
    for header, cells in columns:
        size = max(map(len, [header, *cells]))
        lines = [f"{line}  {text:>{size}}" for line, text in zip(lines, [header, *cells], strict=True)]
    return "\n".join(lines)


def flat_systems(systems: dict) -> dict:
    fits = systems.get("memory") or {}
    return {
        **{name: value for name, value in systems.items() if not isinstance(value, dict | list) and value is not None},
        **{name: fits[name] for name in ("most_tokens", "most_sequences") if name in fits},
    }


def write_csv(result: dict, folder: Path) -> list[Path]:
    """policies.csv, a row for each policy; layers.csv and positions.csv, one for each of its layers and ranges of
    positions."""
    policies, layers, positions = [], [], []
    for policy in result["policies"]:
        name, attention = policy["name"], policy["attention"]
        model = policy["model"] or {}
        policies.append({"policy": name, **flat_systems(policy["systems"]), **plain(attention), **plain(model)})
        for index, layer in enumerate(attention["layers"]):
            layers.append({"policy": name, "layer": index, **plain(layer)})
        of_model = {row["from"]: row for row in model.get("positions", [])}
        for row in attention["positions"]:
            positions.append({"policy": name, **row, **of_model.get(row["from"], {})})
    written = []
    for stem, rows in (("policies", policies), ("layers", layers), ("positions", positions)):
        written.append(folder / f"{stem}.csv")
        with written[-1].open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
            writer.writeheader()
            writer.writerows(rows)
    return written


def plain(record: dict) -> dict:
    """The figures of a record without what is inside it; saturated elements by side."""
    found = {name: value for name, value in record.items() if not isinstance(value, dict | list)}
    for side, counts in record.get("saturated", {}).items():
        found[f"saturated_{side}"] = counts if not isinstance(counts, list) else None if None in counts else sum(counts)
    return found
