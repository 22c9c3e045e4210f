"""Schedules: what attention gives under any of them, files of them, and the command that measures them."""

import json

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import _kvq, tune
from kvq_mlir.__main__ import main
from kvq_mlir.metrics import relative_l2

I8 = "codes = i8, group = [1, 32], scale = f16"
TILED = I8 + ", layout = #kvq.layout<codes = planar, tile = {}_pairs<16>>"


@pytest.fixture
def no_file():
    """No schedules are in use after the test."""
    yield
    kvq.use_schedules(None)


def filled(rng, text=I8, tokens=200, **storage):
    caches = [kvq.Cache(2, 2, 300, 64, kvq.Format(text.format(side)), **storage) for side in ("channel", "token")]
    for cache in caches:
        cache.append(rng.standard_normal((2, 2, tokens, 64), np.float32), [tokens, tokens - 77])
    return rng.standard_normal((2, 4, 1, 64), np.float32), *caches


@pytest.mark.parametrize(
    "fields",
    [
        dict(tile=1),
        dict(tile=24, prefetch=3),
        dict(tile=256, prefetch=0),
        dict(splits=7, tile=16, vector_width=2),
        dict(vector_width=1, prefetch=16),
    ],
)
@pytest.mark.parametrize(("text", "storage"), [(I8, {}), (TILED, {}), (I8, dict(page=32)), (I8, dict(recent=20))])
def test_schedules_change_the_order_of_sums_alone(fields, text, storage, rng):
    q, k, v = filled(rng, text, **storage)
    expected = kvq.attention(q, k, v)
    assert relative_l2(kvq.attention(q, k, v, schedule=kvq.Schedule(**fields)), expected) <= 2e-6


def test_schedules_that_cannot_be(rng):
    q, k, v = filled(rng)
    for fields, message in (
        (dict(tile=0), "expected tile from 1 to 256, got 0"),
        (dict(splits=2000), "expected splits from 1 to 1024, got 2000"),
        (dict(vector_width=3), "expected vector_width as a power of two, got 3"),
        (dict(prefetch=17), "expected prefetch from 0 to 16, got 17"),
        ({}, "expected"),
    ):
        with pytest.raises(kvq.Error, match=message):
            kvq.Schedule(**fields)
    with pytest.raises(kvq.Error, match="expected splits or a schedule, got 2 and #kvq.schedule<tile = 8>"):
        kvq.attention(q, k, v, splits=2, schedule=kvq.Schedule(tile=8))
    with pytest.raises(TypeError, match="schedule"):
        kvq.attention(q, k, v, schedule="#kvq.schedule<tile = 8>")
    assert str(kvq.Schedule(8, prefetch=0)) == "#kvq.schedule<tile = 8, prefetch = 0>"


def test_splits_are_chosen_for_threads():
    """Splits where there are fewer work items than threads, of 512 tokens at least, and no more than keep them busy."""
    for items, tokens, threads, expected in (
        (8, 65536, 1, 1),
        (8, 65536, 2, 1),
        (8, 65536, 8, 1),
        (1, 65536, 2, 2),
        (1, 65536, 8, 8),
        (2, 65536, 16, 8),
        (1, 1024, 8, 2),
        (1, 1000, 8, 1),
        (0, 4096, 2, 2),
        (6, 65536, 4, 2),
    ):
        assert _kvq.choose_splits(items, tokens, threads) == expected


def entries(key: str, schedule: str, **changes) -> str:
    entry = {"cpu": _kvq.host_cpu(), "threads": 1, "op": key, "schedule": schedule} | changes
    return json.dumps({"kvq_schedules": 1, "version": _kvq.schedule_version(), "entries": [entry]})


def test_files_of_schedules_are_followed(rng, tmp_path, no_file):
    """A split changes the order of sums, which shows in the bits: for the op, the processor and the threads alone."""
    path = tmp_path / "schedules.json"
    q, k, v = filled(rng)
    whole, split = (kvq.attention(q, k, v, splits=splits) for splits in (1, 3))
    assert not np.array_equal(whole, split)
    cache = f"!kvq.cache<2x2x?x64xf16, #kvq.format<{k.format}>>"
    key = f"tensor<2x4x?x64xf32>, {cache}, {cache}, causal"
    for schedule, changes, expected in (
        ("#kvq.schedule<splits = 3>", {}, split),
        ("#kvq.schedule<splits = 3>", {"threads": 2}, whole),
        ("#kvq.schedule<splits = 3>", {"cpu": "i386"}, whole),
        ("#kvq.schedule<splits = 3>", {"op": key + ", softcap"}, whole),
    ):
        path.write_text(entries(key, schedule, **changes))
        kvq.use_schedules(path)
        assert np.array_equal(kvq.attention(q, k, v), expected)
        assert np.array_equal(kvq.attention(q, k, v, splits=3), split)  # what a call says goes first
    kvq.use_schedules(None)
    assert np.array_equal(kvq.attention(q, k, v), whole)


def test_files_that_are_none(tmp_path, rng, no_file):
    q, k, v = filled(rng)
    expected = kvq.attention(q, k, v)
    path = tmp_path / "schedules.json"
    for text, message in (
        ("[", "expected JSON"),
        ("[]", "expected an object with kvq_schedules"),
        ('{"kvq_schedules": 2}', "expected kvq_schedules of 1, found 2"),
        ('{"kvq_schedules": 1, "version": "kvq 0.0.0"}', "found kvq 0.0.0: measure again"),
        (entries("x", "#kvq.schedule<tile = 0>"), "entry 0: expected #kvq.schedule"),
    ):
        path.write_text(text)
        with pytest.raises(kvq.Error, match=message):
            kvq.use_schedules(path)
    with pytest.raises(kvq.Error, match="No such file"):
        kvq.use_schedules(tmp_path / "none")
    assert np.array_equal(kvq.attention(q, k, v), expected)


def test_tune(tmp_path, capsys, monkeypatch, no_file):
    """What it writes is what attention over such caches follows; another run replaces it."""
    monkeypatch.setattr(tune, "TILES", (8, 64))
    monkeypatch.setattr(tune, "PREFETCHES", (0, 1))
    monkeypatch.setattr(tune, "WORTH", 100)  # every candidate is a gain: the last one stays
    path = tmp_path / "schedules.json"
    arguments = ["tune", "--out", str(path), "--tokens", "100", "--heads", "2/1", "--seconds", "0.001"]
    for formats, ops in (("i8; i4 @ i16", 2), ("i8", 2)):
        assert main([*arguments, "--formats", formats, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        written = json.loads(path.read_text())
        assert len(written["entries"]) == ops and found["file"] == str(path)
        by_op = {entry["op"]: entry["schedule"] for entry in written["entries"]}
        for result in found["results"]:
            fields = {name: number for name, number in result["schedule"].items() if number is not None}
            assert by_op[result["op"]] == str(kvq.Schedule(**fields)) and result["ratio"] > 0
    kvq.use_schedules(path)
    assert main([*arguments, "--formats", "i8"]) == 0
    assert "that of the cost model" not in capsys.readouterr().out


def test_tune_for_token_major_caches(tmp_path, capsys, monkeypatch, no_file):
    def measured(calls, *_):  # as if items that read all heads were quickest
        for call in calls.values():
            call()
        return {schedule: np.array([0.5 if schedule and schedule.heads_inside == 128 else 1.0]) for schedule in calls}

    for name, numbers in (("TILES", (64,)), ("PREFETCHES", (1,)), ("HEADS_INSIDE", (0, 128))):
        monkeypatch.setattr(tune, name, numbers)
    monkeypatch.setattr(tune, "interleave", measured)
    path = tmp_path / "schedules.json"
    arguments = ["tune", "--out", str(path), "--tokens", "100", "--heads", "4/2", "--seconds", "0.001", "--token-major"]
    assert main([*arguments, "--formats", "i8", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["schedule"]["heads_inside"] == 128 and "token_major" in result["op"]
    kvq.use_schedules(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "0"], "--tokens: expected at least 1, found 0"),
        (["--formats", "i99"], "--formats: unknown preset 'i99'"),
        (["--seconds", "0"], "--seconds: expected more than 0, found 0.0"),
        (["--heads", "3/2"], "--heads: expected QUERY/KV with a multiple of the KV heads, found '3/2'"),
        (["--page", "no"], "--page: expected a number, found 'no'"),
        (["--queries", "8", "--tokens", "4"], "--tokens: expected at least as many as queries, found 4"),
    ],
)
def test_tune_with_values_that_cannot_be(arguments, message, tmp_path, capsys):
    assert main(["tune", "--out", str(tmp_path / "x.json"), *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_tune_does_not_overwrite_other_files(tmp_path, capsys):
    path = tmp_path / "notes.json"
    path.write_text("{}")
    assert main(["tune", "--out", str(path)]) == 1
    assert "expected an object with kvq_schedules" in capsys.readouterr().err
    assert path.read_text() == "{}"
