"""Evaluations end to end: figures against decoding by compiled code, results on disk, resuming, and errors."""

import csv
import json
import re
import shlex
from dataclasses import replace

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir.__main__ import main
from kvq_mlir.evaluation import CachedModel, LayerCaches, experiment
from kvq_mlir.evaluation import kept as kept_module
from kvq_mlir.evaluation.figures import front
from kvq_mlir.evaluation.measure import draw_positions, measure, position_ends
from kvq_mlir.evaluation.policies import DEFAULT, Named, from_options, uniform
from kvq_mlir.evaluation.recording import Recording
from kvq_mlir.evaluation.systems import bytes_of, time_step
from kvq_mlir.fixtures import Layer
from kvq_mlir.metrics import relative_l2
from kvq_mlir.model import Model, exact_attention
from kvq_mlir.rope import Rope
from kvq_mlir.shapes import Shape
from kvq_mlir.text import InputError
from test_model import PLAGUE_YEAR, attend_exactly, needs_model
from threadpoolctl import threadpool_limits

I4 = "format = #kvq.format<codes = i4, group = [1, 32], scale = f16>"
PER_CHANNEL = "format = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>, recent = 32"
PER_CHANNEL_PRE = PER_CHANNEL.replace("min f16>", "min f16, rope = pre>")
I8_STATIC = "format = #kvq.format<codes = i8, group = [*, *], scale = f32, range = static>"


def draw(rng, layers=2, tokens=150, heads=(4, 2), dim=64):
    sizes = rng.uniform(0.2, 3, (layers, dim)).astype(np.float32)
    return Recording(
        "noise",
        [
            Layer(
                rng.standard_normal((heads[0], tokens, dim), np.float32),
                rng.standard_normal((heads[1], tokens, dim), np.float32) * sizes[index],
                rng.standard_normal((heads[1], tokens, dim), np.float32),
            )
            for index in range(layers)
        ],
    )


def choose(named, recording):
    return named.choose(len(recording.layers), recording.kv_heads, recording.head_dim, "f16")


@pytest.mark.parametrize(
    ("keys", "rope"),
    [
        (I4, None),
        (PER_CHANNEL, None),
        (PER_CHANNEL_PRE, Rope(1e4, "half")),
        (PER_CHANNEL_PRE, Rope(500.0, "interleaved")),
    ],
)
def test_output_errors_are_those_of_decoding(keys, rope, rng):
    """The error of what fused attention gives when tokens come one by one, against float64 on 16-bit keys and values."""
    recording = replace(draw(rng), rope=rope)
    choices = choose(uniform("drawn", keys, I4), recording)
    positions = draw_positions(recording.tokens, 40, 0)
    found = measure(recording, choices, positions)
    errors = []
    for index, (q, k, v) in enumerate(recording.layers):
        sides = [choice.cache(1, recording.tokens, recording.head_dim) for choice in choices if choice.layer == index]
        decoded = LayerCaches(*sides, rope=rope).attend(index, q[None], k[None], v[None])[0, :, positions]
        exact = exact_attention(q[None], *(x[None].astype(np.float16) for x in (k, v)), np.float64)[0, :, positions]
        error = relative_l2(decoded, exact)
        assert found["layers"][index]["output_error_both"] == pytest.approx(error, rel=1e-3)
        errors.append((np.sum((decoded - exact) ** 2), np.sum(exact**2)))
    error, norm = np.sum(errors, axis=0)
    assert found["output_error_both"] == pytest.approx(np.sqrt(error / norm), rel=1e-3)


def test_outliers_that_rope_turns_cost_less_before_it(rng):
    """KVQuant's case (section 3.2 of arXiv:2401.18079): a channel that is always large has a narrow range of its own before
    RoPE, and after it shares a wide one with the channel that it is turned with."""
    rope = Rope(1e4, "half")
    recording = replace(draw(rng, layers=1), rope=rope)
    q, k, v = recording.layers[0]
    k = rope.turn_back(k)
    k[..., 1] += 40  # turned by 0.75 at each token
    recording.layers[0] = Layer(q, rope.turn(k), v)
    positions = draw_positions(recording.tokens, 40, 0)
    before, behind = (
        measure(recording, choose(uniform("drawn", keys, I4), recording), positions)["score_error_relative"]
        for keys in (PER_CHANNEL_PRE, PER_CHANNEL)
    )
    assert before < 0.6 * behind


def test_keys_before_a_rope_that_is_not_known(rng):
    recording = draw(rng, layers=1)
    choices = choose(uniform("drawn", PER_CHANNEL_PRE, I4), recording)
    message = "layer 0, keys: expected rope = post, as what has turned the keys is not known, got rope = pre"
    with pytest.raises(kvq.Error, match=message):
        measure(recording, choices, np.arange(10))
    before = "#kvq.format<codes = i4, group = [1, 32], scale = f16, rope = pre>"
    segments = f"#kvq.segments<[0:32] = {before.replace(', rope = pre', '')}, [32:64] = {before}>"
    choices = choose(uniform("drawn", f"format = {segments}", I4), recording)
    with pytest.raises(kvq.Error, match="expected one format for all channels that are kept before RoPE, got segments"):
        measure(replace(recording, rope=Rope(1e4, "half")), choices, np.arange(10))


def test_ranges_of_heads(rng):
    """A policy for each KV head: the figures of a head are those that it has under its own format alone."""
    recording = draw(rng, layers=1)
    entries = f"<side = keys, heads = [0], {I4}>, <side = keys, heads = [1], {PER_CHANNEL}>"
    text = f"module attributes {{kvq.policy = #kvq.policy<{entries}>}} {{}}"
    positions = draw_positions(recording.tokens, 40, 0)
    mixed, first, second = (
        measure(recording, choose(named, recording), positions)["layers"][0]["heads"]
        for named in (Named("mixed", text), uniform("first", I4), uniform("second", PER_CHANNEL))
    )
    assert mixed == first[:2] + second[2:]


def test_positions():
    assert position_ends(100) == [100]
    assert position_ends(128) == [128]
    assert position_ends(4096) == [128, 256, 512, 1024, 2048, 4096]
    drawn = draw_positions(1000, 80, 7)
    assert [np.sum((drawn >= a) & (drawn < b)) for a, b in ((0, 128), (128, 256), (256, 512), (512, 1000))] == [20] * 4
    assert np.all(np.diff(drawn) > 0)
    assert np.array_equal(drawn, draw_positions(1000, 80, 7))
    assert not np.array_equal(drawn, draw_positions(1000, 80, 8))
    assert draw_positions(130, 1000, 0).tolist() == list(range(130))


def test_front():
    assert front([(3, 1), (1, 5), (2, 5), (2, 4), (4, 2)]) == [(1, 5), (2, 4), (3, 1)]


# --- known faults ----------------------------------------------------------------------------------------------------


def test_one_scale_shared_by_keys_and_values(rng):
    """TensorRT-LLM#967: keys of ±20, values of ±0.5, int8: with the keys' scale values are rebuilt to ±20 / 127 / 2, with
    their own to ±0.5 / 127 / 2, 40 times better; the evaluator shows it."""
    tokens, heads = 256, 2
    q, k, v = (rng.uniform(-1, 1, (heads, tokens, 64)).astype(np.float32) for _ in range(3))
    k, v = 20 * k, v / 2
    k[:, 0, 0], v[:, 0, 0] = 20, 0.5
    recording = Recording("uniform", [Layer(q, k, v)])
    choices = choose(uniform("static", I8_STATIC, I8_STATIC), recording)
    own, of_keys = (
        {(0, "keys"): kvq.calibrate(k[None], choices[0].format), (0, "values"): kvq.calibrate(x[None], choices[1].format)}
        for x in (v, k)
    )
    positions = np.arange(128, tokens, 4)
    separate, shared = (measure(recording, choices, positions, given=given) for given in (own, of_keys))
    for figure in ("output_error_values", "reconstruction_error_values"):
        assert 25 < shared[figure] / separate[figure] < 60
    assert separate["output_error_keys"] == shared["output_error_keys"]
    # The bounds of the case, of elements.
    for given, bound in ((own, 0.002), (of_keys, 0.079)):
        cache = choices[1].cache(1, tokens, 64, "f32", given=given[0, "values"])
        cache.append(v[None])
        worst = np.abs(cache.dequantize()[0] - v).max()
        assert bound / 3 < worst <= bound


def test_bytes_count_metadata():
    """mlx-lm#1550, FreeToken#268: a side of 24,576 elements a token, groups of 64, two f16 each."""
    shape = Shape(layers=24, kv_heads=8, head_dim=128, query_heads=8)

    def bytes_per_token(keys, values):
        choices = uniform("counted", keys, values).choose(shape.layers, shape.kv_heads, shape.head_dim, "f16")
        return bytes_of(shape, choices, 64, 1)["bytes_per_token"]

    side = "format = #kvq.format<codes = ui{}, group = [1, 64], scale = f16, zero = min f16>"
    exact = "format = #kvq.format<codes = none>"
    assert bytes_per_token(side.format(8), side.format(8)) == 52224
    assert bytes_per_token(side.format(8), side.format(4)) == 39936
    assert bytes_per_token(exact, exact) == 98304
    one = Shape(layers=1, kv_heads=8, head_dim=128, query_heads=8)
    choices = uniform("counted", I4, I4).choose(1, 8, 128, "f16")
    assert bytes_of(one, choices, 64, 1)["bytes_per_token"] == 1152


def test_bytes_are_those_of_caches(rng):
    recording = draw(rng, tokens=200)
    shape = Shape(2, 2, 64, 4)
    for named in DEFAULT:
        choices = choose(named, recording)
        found = bytes_of(shape, choices, 200, 3)
        caches = [choice.cache(3, 200, 64) for choice in choices]
        assert 0 <= found["allocated_bytes"] - sum(cache.nbytes for cache in caches) < 64 * 4 * len(caches), named.name
        assert found["bytes_per_token_keys"] + found["bytes_per_token_values"] == found["bytes_per_token"]
        assert found["retained_bytes"] == pytest.approx(found["retained_bytes_per_token"] * 600)


def test_times_are_of_all_layers(rng):
    recording = draw(rng, layers=3)
    entries = f"<{I4}>, <layers = [1], format = #kvq.format<codes = none>>"
    mixed = Named("mixed", f"module attributes {{kvq.policy = #kvq.policy<{entries}>}} {{}}")
    found = time_step(recording, choose(mixed, recording), 2, seconds=0.01)
    assert found["attentions"] == 3 and found["concurrency"] == 2
    assert 0 < found["fused_microseconds"] < 1e6 and 0 < found["unfused_microseconds"] < 1e6


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run on a fixture with two policies: its folder and what eval.json holds."""
    folder = tmp_path_factory.mktemp("evaluation")
    policy = folder / "split heads.mlir"
    policy.write_text(
        f"module attributes {{kvq.policy = #kvq.policy<<side = keys, heads = [0], {I4}>, <side = values, {I4}>>}} {{}}",
        encoding="utf-8",
    )
    out = folder / "made" / "here"
    arguments = ["eval", "--fixture", "biased-channels", "--tokens", "200", "--policy", str(policy), "--out", str(out)]
    arguments += ["--keys", "ggml.q8_0", "--seed", "5", "--queries", "40", "--concurrency", "2", "--memory", "1MiB"]
    assert main([*arguments, "--no-times"]) == 0
    return out, json.loads((out / "eval.json").read_text(encoding="utf-8"))


def test_json_names_everything(finished):
    _, result = finished
    assert result["has_model"] is False
    assert (result["tokens"], result["layers"], result["kv_heads"], result["query_heads"]) == (200, 4, 2, 8)
    assert [policy["name"] for policy in result["policies"]] == ["split heads", "K ggml.q8_0, V 16-bit"]
    for policy in result["policies"]:
        assert policy["model"] is None
        assert len(policy["attention"]["layers"]) == 4
        assert [row["to"] for row in policy["attention"]["positions"]] == [128, 200]
        assert all(len(layer["heads"]) == 8 for layer in policy["attention"]["layers"])
        assert policy["systems"]["memory"]["most_sequences"] >= 1
        assert 0 < policy["systems"]["ratio"] < 1
    split, q8 = (policy["attention"] for policy in result["policies"])
    assert q8["output_error_values"] == 0 < q8["output_error_keys"]
    assert q8["saturated"] == {"keys": None, "values": 0}  # ggml's codes are of a scale that is not stored
    assert split["saturated"] == {"keys": 0, "values": 0}
    exact_head = split["layers"][0]["heads"][4]  # of KV head 1
    assert exact_head["output_error_keys"] == 0 < exact_head["output_error_values"]
    assert len(result["channels"]["keys"]) == 4 and len(result["channels"]["keys"][0]["min"]) == 2 * 64


def test_csv(finished):
    out, result = finished
    rows = {stem: list(csv.DictReader((out / f"{stem}.csv").open())) for stem in ("policies", "layers", "positions")}
    assert {stem: len(found) for stem, found in rows.items()} == {"policies": 2, "layers": 8, "positions": 4}
    for row, policy in zip(rows["policies"], result["policies"], strict=True):
        assert row["policy"] == policy["name"]
        assert float(row["output_error_both"]) == policy["attention"]["output_error_both"]
        assert float(row["retained_bytes_per_token"]) == policy["systems"]["retained_bytes_per_token"]
    layer = result["policies"][0]["attention"]["layers"][3]
    assert float(rows["layers"][3]["attention_kl_max"]) == layer["attention_kl_max"]


def test_html_stands_alone(finished):
    out, result = finished
    page = (out / "eval.html").read_text(encoding="utf-8")
    assert len(re.findall(r'<img alt="\w+" src="data:image/png;base64,[A-Za-z0-9+/=]{5000,}"', page)) == 5
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert result["command"].replace("'", "&#x27;") in page
    for name in ("pareto", "layers", "positions", "distances", "channels"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_command_reproduces_the_result(finished, tmp_path):
    _, result = finished
    words = shlex.split(result["command"])
    assert words[:3] == ["python", "-m", "kvq_mlir"]
    words[words.index("--out") + 1] = str(tmp_path)
    assert main(words[3:]) == 0
    again = json.loads((tmp_path / "eval.json").read_text(encoding="utf-8"))
    assert {**again, "command": result["command"]} == result


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    arguments = ["eval", "--fixture", "heavy-tails", "--tokens", "128", "--keys", "codes = i8, group = [1, 32], scale = f16"]
    arguments += ["--queries", "16", "--no-times", "--out", str(tmp_path)]
    done, measure_ = [], experiment.measure

    def count(*given, **more):
        done.append(1)
        if len(done) == 1:
            raise KeyboardInterrupt
        return measure_(*given, **more)

    monkeypatch.setattr(experiment, "measure", count)
    with pytest.raises(KeyboardInterrupt):
        main(arguments)
    assert len(list((tmp_path / "parts").glob("*.json"))) == 2  # channels and bytes, which came before
    assert not (tmp_path / "eval.json").exists()
    assert main(arguments) == 0
    first = (tmp_path / "eval.json").read_text(encoding="utf-8")
    assert len(done) == 2
    # Again: nothing is measured.
    assert main(arguments) == 0
    assert len(done) == 2 and (tmp_path / "eval.json").read_text(encoding="utf-8") == first
    # A part that was cut short is measured again; with another seed another one is.
    (part,) = (tmp_path / "parts").glob("attention-*.json")
    part.write_text(part.read_text(encoding="utf-8")[:100], encoding="utf-8")
    assert main(arguments) == 0
    assert len(done) == 3 and (tmp_path / "eval.json").read_text(encoding="utf-8") == first
    assert main([*arguments, "--seed", "1"]) == 0
    assert len(done) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens", "63"], "--tokens: expected at least 64, found 63"),
        (["--tokens", "9000"], "--tokens: expected at most 8192 (the model's context), found 9000"),
        (["--threads", "0"], "--threads: expected at least 1, found 0"),
        (["--seed", "-1"], "--seed: expected at least 0, found -1"),
        (["--fixture", "heavy"], "--fixture: unknown fixture 'heavy', nearest: heavy-tails"),
        (
            ["--fixture", "heavy-tails", "--text", "x"],
            "--text: expected none beside --tensors and --fixture, which have no text",
        ),
        (["--recent", "32"], "--recent: expected --keys or --values beside it"),
        (["--tensors", "none.npz"], "cannot read none.npz: No such file or directory"),
        (["--policy", "none.mlir"], "--policy: cannot read none.mlir: No such file or directory"),
        (["--memory", "much"], "--memory: expected a number and one of"),
        (["--fixture", "heavy-tails", "--queries", "600"], "--queries: expected at most the 512 tokens, found 600"),
        (["--fixture", "heavy-tails", "--keys", "ggml.q4"], "--keys, --values:1:"),
        (["--fixture", "heavy-tails", "--keys", "codes = i4, group = [1, 48], scale = f16"], "policy 'K i4, V 16-bit': "),
        (
            ["--fixture", "heavy-tails", "--keys", "codes = i8, group = [*, 1], scale = f32, range = static"],
            "policy 'K i8, V 16-bit': layer 0, keys: 'codes = i8, group = [*, 1], scale = f32, range = static' needs given "
            "scales",
        ),
    ],
)
def test_what_cannot_be(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["eval", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (tmp_path / "out" / "eval" / "eval.json").exists()


def test_two_policies_of_one_name(tmp_path, capsys):
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths += ["--policy", str(tmp_path / folder / "same.mlir")]
        (tmp_path / folder / "same.mlir").write_text(uniform("", I4, I4).text, encoding="utf-8")
    assert main(["eval", "--fixture", "heavy-tails", *paths]) == 1
    assert "expected policies of different names, found 'same' 2 times" in capsys.readouterr().err


def test_layers_that_the_model_lacks(rng):
    text = f"module attributes {{kvq.policy = #kvq.policy<<layers = [7], {I4}>>}} {{}}"
    with pytest.raises(InputError, match="policy 'far': .*7"):
        choose(Named("far", text), draw(rng))


def test_windows_of_options():
    named = from_options("codes = ui4, group = [32, 1], scale = f16, zero = min f16", None, {"recent": 64, "exact_first": 4})
    keys, values = named.choose(1, 2, 64, "f16")
    assert (keys.recent, keys.exact_first, values.format.is_exact) == (64, 4, True)


# --- the model -------------------------------------------------------------------------------------------------------


@needs_model
def test_model(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(PLAGUE_YEAR, encoding="utf-8")
    (tmp_path / "exact.mlir").write_text(DEFAULT[0].text, encoding="utf-8")
    (tmp_path / "four bits.mlir").write_text(uniform("", I4, I4).text, encoding="utf-8")
    eight = PER_CHANNEL_PRE.replace("ui4", "ui8")
    (tmp_path / "before rope.mlir").write_text(uniform("", eight, eight.replace(", rope = pre", "")).text, encoding="utf-8")
    arguments = ["eval", "--text", str(text), "--tokens", "96", "--queries", "24", "--threads", "1"]
    arguments += ["--out", str(tmp_path / "out")]
    for name in ("exact", "four bits", "before rope"):
        arguments += ["--policy", str(tmp_path / f"{name}.mlir")]
    assert main(arguments) == 0
    result = json.loads((tmp_path / "out" / "eval.json").read_text(encoding="utf-8"))
    exact, four, before_rope = (policy["model"] for policy in result["policies"])
    model = Model.load()
    losses = model.losses(model.tokenize(PLAGUE_YEAR, 96), attend_exactly)
    assert exact["perplexity"] == exact["exact_perplexity"] == pytest.approx(np.exp(losses.mean()), rel=0.01)
    assert exact["next_token_kl_max"] < 1e-9 and exact["same_top_1"] == 1
    assert exact["next_token_kl_max"] < four["next_token_kl_p50"] < four["next_token_kl_mean"] < four["next_token_kl_p99"]
    assert before_rope["next_token_kl_mean"] < four["next_token_kl_mean"] / 10
    assert result["policies"][2]["attention"]["score_error_relative"] < 0.01
    assert four["perplexity_uncertainty"] > 0 and 0 < four["same_top_1"] < 1
    assert [row["to"] for row in four["positions"]] == [96]
    systems = result["policies"][1]["systems"]
    assert systems["bytes_per_token"] == 2 * 30 * 3 * 64 * (4 + 16 / 32) / 8
    assert systems["attentions"] == systems["launches"] == 30


@needs_model
def test_greedy_tokens_without_codes_are_the_models_own():
    """Decoded one by one over 16-bit caches, beside whole passes without any cache."""
    model, count = Model.load(), 16
    ids = model.tokenize(PLAGUE_YEAR, 24)
    expected = ids
    with threadpool_limits(1):
        for _ in range(count):
            logits = model.logits(model.forward(expected, attend_exactly)[-1])
            expected = np.append(expected, logits.argmax())
    config = model.config
    choices = kept_module.uniform(config.layers, config.kv_heads, kept_module.EXACT, kept_module.EXACT)
    cached = CachedModel(model, choices, 1, len(expected))
    found, new = ids, ids
    with threadpool_limits(1):
        for _ in range(count):
            found = np.append(found, model.logits(cached.extend(new[None])[0, -1]).argmax())
            new = found[-1:]
    assert found.tolist() == expected.tolist()
