"""The benchmarks: what they print of small runs, and that no pair of formats is slow."""

import json
import math
from importlib.util import find_spec

import numpy as np
import pytest
from kvq_mlir import bench_append, bench_attention, bench_pairs, ggml_engine, yardstick
from kvq_mlir.__main__ import main
from kvq_mlir.bench_cases import filled, named_format, used_bytes
from kvq_mlir.bench_timing import interleave

LIMIT = 4  # times as long as exact f16
SHORT = ("--seconds", "0.01")


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    monkeypatch.setattr(bench_attention, "MEMORY_BYTES", 1 << 20)  # a figure of the machine, not looked at here


def run_json(capsys, *arguments: str) -> dict:
    assert main(["bench", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_cpu_json(capsys):
    names = ["f16", "i8", "i4", "i4 @ i16", "ggml.q8_0"]
    formats = ("--formats", "; ".join(names))
    found = run_json(capsys, "cpu", "--tokens", "128,70", "--threads", "1,2", "--unfused", *formats, *SHORT)
    results = found["results"]
    places = [(tokens, threads, name) for tokens in (128, 70) for threads in (1, 2) for name in names]
    assert [(r["tokens"], r["threads"], r["name"]) for r in results] == places
    for r in results:
        bits = {"f16": 16, "i8": 8.5, "i4": 4.5, "i4 @ i16": 4.5, "ggml.q8_0": 8.5}[r["name"]]
        assert r["cache_bytes"] == 2 * r["tokens"] * 8 * 128 * bits / 8
        spread = r["seconds"]
        assert 0 < spread["lower_quartile"] <= spread["median"] <= spread["upper_quartile"]
        assert math.isclose(r["nanoseconds"], spread["median"] * 1e9 / (r["tokens"] * 8))
        assert math.isclose(r["nanoseconds_of_a_head"], r["nanoseconds"] / 4)
        assert math.isclose(r["bytes_per_second"], r["cache_bytes"] / spread["median"])
        assert r["temporary_bytes"] > 0 and r["unfused_ratio"]["median"] > 0
        if yardstick.missing() is None:
            assert r["yardstick"] == ("q4_0" if "4" in r["name"] else "q8_0") and r["ratio"]["median"] > 0
    first = {r["name"]: r["compile_seconds"] for r in results[:5]}
    assert all(r["compile_seconds"] == first[r["name"]] > 0 for r in results)
    assert results[5]["temporary_bytes"] == 2 * results[0]["temporary_bytes"]  # each thread has its own


def test_cpu_shapes(capsys, tmp_path):
    """Ragged batches, as many query heads as KV heads, several queries; the table and the figure."""
    pytest.importorskip("matplotlib")
    figure = tmp_path / "times.png"
    shape = ("--batch", "3", "--heads", "8/8", "--queries", "4", "--formats", "i8 / codes = i4, group = [1, *], scale = f16")
    assert main(["bench", "cpu", "--tokens", "64,90", *shape, "--plot", str(figure), *SHORT]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Attention of one layer: 8 query heads over 8 KV heads, head dim 128, 4 query tokens")
    assert "3 sequences" in text and text.count("i8 / codes = i4") == 2
    assert figure.stat().st_size > 10_000
    found = run_json(capsys, "cpu", "--tokens", "100", *shape, *SHORT)
    (result,) = found["results"]
    assert result["shape"] == {"batch": 3, "query_heads": 8, "kv_heads": 8, "queries": 4}
    keys = result["seconds"]["median"] * 1e9 / (result["nanoseconds"] * 8 * 4)  # of all sequences
    assert 150 <= round(keys) <= 300
    assert result["newest_ratio"]["lower_quartile"] > 0  # the four beside the newest alone


def test_cpu_several_shapes(capsys, tmp_path):
    """Every combination has a table of its own, and a panel of the figure."""
    pytest.importorskip("matplotlib")
    figure = tmp_path / "times.png"
    shapes = ("--batch", "1,2", "--heads", "8/8, 6/2", "--queries", "1,2", "--formats", "i8")
    assert main(["bench", "cpu", "--tokens", "20", *shapes, "--plot", str(figure), *SHORT]) == 0
    text = capsys.readouterr().out
    titles = [line for line in text.splitlines() if line.startswith("Attention of one layer")]
    assert len(titles) == len(set(titles)) == 8 and text.count("tokens threads") == 8
    assert "6 query heads over 2 KV heads, head dim 128, 2 query tokens in float32, 2 sequences" in text
    assert figure.stat().st_size > 40_000
    assert text.count("of one query") == 4 + 1  # the tables of several queries, and what it means


def test_cpu_torch(capsys, monkeypatch):
    """PyTorch is an optional extra."""
    several = ("--queries", "5,60", "--formats", "i8", "--torch")
    if find_spec("torch"):
        found = run_json(capsys, "cpu", "--tokens", "60", *several, *SHORT)
        assert all(result["torch_ratio"]["lower_quartile"] > 0 for result in found["results"])
    monkeypatch.setattr("kvq_mlir.torch_attention.find_spec", lambda name: None)
    assert main(["bench", "cpu", "--tokens", "60", *several, *SHORT]) != 0
    assert "--torch: expected the package torch, found none" in capsys.readouterr().err


def test_cpu_grown(capsys):
    """The same tokens in larger pools of pages."""
    storage = ("--page", "16", "--grown", "4096", "--formats", "f16; ggml.q4_0 @ i16")
    found = run_json(capsys, "cpu", "--tokens", "100", "--batch", "2", *storage, *SHORT)
    assert (found["page"], found["grown"]) == (16, 4096)
    for result in found["results"]:
        assert result["grown_ratio"]["lower_quartile"] > 0 and result["temporary_bytes"] > 0
    assert main(["bench", "cpu", "--tokens", "100", *storage, *SHORT]) == 0
    text = capsys.readouterr().out
    assert "1 sequence, pages of 16 tokens" in text and "in caches with room for 4,096" in " ".join(text.split())


@pytest.mark.skipif(ggml_engine.missing() is not None, reason=str(ggml_engine.missing()))
def test_cpu_engine(capsys):
    """What an engine gives is compared before it is measured."""
    formats = ("--formats", "f16; i8 @ i16; ggml.q4_0; codebook nf4 / i6")
    found = run_json(capsys, "cpu", "--tokens", "100", "--batch", "2", "--engine", "ggml", *formats, *SHORT)
    assert [result["engine"] for result in found["results"]] == ["f16", "q8_0", "q4_0", "q8_0"]
    assert all(result["engine_nanoseconds"] > 0 and result["engine_ratio"]["median"] > 0 for result in found["results"])


def test_cpu_without_the_engine(capsys, monkeypatch):
    monkeypatch.setattr(ggml_engine, "missing", lambda: "no package")
    assert main(["bench", "cpu", "--engine", "ggml"]) == 1
    assert capsys.readouterr().err == "error: --engine: no package\n"


def test_cpu_token_major(capsys):
    """Rows that interleave heads, yardsticks too: what they give is compared before anything is measured."""
    formats = ("--formats", "ggml.q8_0 @ i16; ggml.q4_0; i8")
    found = run_json(capsys, "cpu", "--tokens", "100", "--batch", "2", "--token-major", *formats, *SHORT)
    assert found["token_major"] and all(result["nanoseconds"] > 0 for result in found["results"])
    if yardstick.missing() is None:
        assert [result["yardstick"] for result in found["results"]] == ["q8_0", "q4_0", "q8_0"]
    assert main(["bench", "cpu", "--tokens", "50", "--token-major", "--formats", "f16", *SHORT]) == 0
    assert "1 sequence, token-major;" in capsys.readouterr().out


@pytest.mark.parametrize("page", [None, 64])
@pytest.mark.parametrize("name", ["f16", "i4 @ i16"])
def test_time_does_not_grow_with_room(name, page, rng):
    """1,024 tokens in caches for these and for 128 times as many: what depends on the room shows, what a busy machine
    does, a ratio within one run, does not."""
    lengths = np.array([1024])
    shape, storage = bench_attention.Shape(1, 32, 8, 1), bench_attention.Storage(page, 128 * 1024)
    q = rng.standard_normal((1, 32, 1, bench_attention.HEAD_DIM), np.float32)
    case = bench_attention.make_case(rng, name, shape, storage, lengths, q)
    samples = interleave({"own": lambda: case.call(1), "grown": lambda: case.grown(1)}, 0.1)
    assert np.percentile(samples["grown"] / samples["own"], 25) <= 1.3


def test_append_json(capsys, monkeypatch):
    monkeypatch.setattr(bench_append, "FORMATS", {name: bench_append.FORMATS[name] for name in ("i8", "ui4 channel")})
    report = run_json(capsys, "append", "--tokens", "96")
    assert [result["name"] for result in report["formats"]] == ["i8", "ui4 channel"]
    for result in report["formats"]:
        speed = 96 * report["kv_heads"] * report["head_dim"] * 2 / result["prompt"]["median"]
        assert result["input_bytes_per_second"] == pytest.approx(speed)
        assert 0 < result["step"]["median"] and result["prompt"]["calls"] >= 10


def test_pairs(capsys, tmp_path):
    table = tmp_path / "Pairs.md"
    shape = ("pairs", "--tokens", "64", "--formats", "f16; codes = i8, group = [1, 64], scale = f32; i4, rotated", *SHORT)
    assert main(["bench", *shape, "--markdown", str(table)]) == 0
    text = capsys.readouterr().out
    assert "Rows: keys. Columns: values, by number." in text and "  3 i4, rotated" in text
    rows = table.read_text().splitlines()[-3:]
    assert [row.split(" | ")[:2] for row in rows][1][1] == "codes = i8, group = [1, 64], scale = f32"
    assert all(float(cell.strip(" |")) > 0 for row in rows for cell in row.split(" | ")[2:])
    found = run_json(capsys, *shape)
    assert len(found["pairs"]) == 9 and found["threads"] == 1


def test_no_pair_is_slow(rng):
    """A sample: each format once as keys and once as values, within a limit that holds on a busy machine too."""
    names = [named_format(name, "--formats") for name in bench_pairs.FORMATS]
    shape, lengths = (1, bench_pairs.KV_HEADS, 1024, bench_pairs.HEAD_DIM), np.array([1024])
    q = rng.standard_normal((1, bench_pairs.QUERY_HEADS, 1, bench_pairs.HEAD_DIM), np.float32)
    exact = tuple(filled(rng, named_format("f16", "--formats"), shape, lengths) for _ in "kv")
    for i, j in zip(rng.permutation(len(names)), rng.permutation(len(names)), strict=True):
        k, v = names[i], names[j]
        pair = tuple(filled(rng, named, shape, lengths) for named in (k, v))
        _, ratio, _ = bench_pairs.measure_pair(q, pair, exact, 0.05)
        assert ratio.lower_quartile <= LIMIT, f"{k.name} / {v.name}: {ratio.text(digits=2)}"



def test_rounds_are_interleaved():
    order = []
    calls = {name: lambda name=name: order.append(name) for name in "abc"}
    samples = interleave(calls, seconds=0, turn_seconds=0)
    assert {name: len(found) for name, found in samples.items()} == dict.fromkeys("abc", 7)
    rounds = order[6:]  # behind one call of each, and one to see how long it takes
    assert rounds[:18] == [*"aabbcc", *"bbccaa", *"ccaabb"]


def test_used_bytes(rng):
    cache = filled(rng, named_format("i8", ""), (2, 3, 40, 64), np.array([40, 10]))
    assert cache.lengths.tolist() == [40, 10] and used_bytes(cache) == 50 * 3 * (64 + 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpu", "--tokens", "0"], "--tokens: expected at least 1, found 0"),
        (["cpu", "--tokens", "64,many"], "--tokens: expected a number or several with commas, found 'many'"),
        (["cpu", "--threads", "-1"], "--threads: expected at least 1, found -1"),
        (["cpu", "--heads", "32/5"], "--heads: expected QUERY/KV with a multiple of the KV heads, found '32/5'"),
        (["cpu", "--queries", "9", "--tokens", "8"], "--tokens: expected at least as many as queries, 9, found 8"),
        (["cpu", "--torch", "--batch", "2"], "--torch: expected one sequence"),
        (["cpu", "--unfused", "--batch", "2"], "--unfused: expected one query of one sequence"),
        (["cpu", "--heads", "32/8,32/5"], "--heads: expected QUERY/KV with a multiple of the KV heads, found '32/5'"),
        (["cpu", "--engine", "ggml", "--queries", "2"], "--engine: expected one query of a sequence"),
        (["cpu", "--page", "0"], "--page: expected at least 1, found 0"),
        (["cpu", "--grown", "99", "--tokens", "64,100"], "--grown: expected at least the 100 tokens that are there, found 99"),
        (["cpu", "--page", "48", "--tokens", "70", "--formats", "i8, token pairs"], "i8, token pairs: "),
        (["cpu", "--seconds", "0"], "--seconds: expected more than 0, found 0.0"),
        (["cpu", "--formats", "i8 @ i4"], "--formats: expected a query in i16 or i8, found 'i4'"),
        (["cpu", "--formats", "i8; i4, group"], "--formats: unknown preset 'i4, group'"),
        (["append", "--tokens", "0"], "--tokens: expected at least 1, found 0"),
        (["pairs", "--tokens", "0"], "--tokens: expected at least 1, found 0"),
    ],
)
def test_values_that_cannot_be(arguments, message, capsys):
    assert main(["bench", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: TARGET"),
        (["gpu"], "invalid choice: 'gpu'"),
        (["append", "--threads", "2"], "unrecognized arguments: --threads 2"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("target", [[], ["cpu"], ["pairs"], ["append"]])
def test_help(target, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", *target, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python -m kvq_mlir bench")
