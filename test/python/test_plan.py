"""`kvq_mlir plan`, end to end on the first layers of the model."""

import json
from dataclasses import replace

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir.__main__ import main
from kvq_mlir.evaluation import EXACT, CachedModel, Kept
from kvq_mlir.evaluation.sensitivity import Calibration
from kvq_mlir.metrics import key_score_error, relative_l2
from kvq_mlir.model import Model, exact_attention
from test_model import PLAGUE_YEAR, needs_model

LAYERS = 2
MEASURED = ("kl", "kl_interval", "same_top", "perplexity", "perplexity_increase")
# Of one sequence of 64 tokens.
EXACT_BYTES = LAYERS * 2 * 3 * 64 * 64 * 2


@pytest.fixture(scope="module")
def first_layers():
    """A model of the first layers alone, in place of the whole one."""
    whole = Model.load()
    model = Model(replace(whole.config, layers=LAYERS), whole.weights, whole.tokenizer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "load", lambda: model)
        yield model


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> list[str]:
    """Arguments that name short texts, and a file for measurements."""
    folder = tmp_path_factory.mktemp("texts")
    words = PLAGUE_YEAR.split()
    for name, text in (("calibration", PLAGUE_YEAR), ("held-out", " ".join(reversed(words)))):
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return [
        *("--text", str(folder / "calibration.txt"), "--held-out-text", str(folder / "held-out.txt")),
        *("--calibration-tokens", "64", "--held-out-tokens", "64", "--tokens", "64"),
        *("--measurements", str(folder / "measurements.jsonl")),
    ]


# Two formats for keys, three for values, of which some have windows.
FORMATS = [
    *("--keys", "codes = i8, group = [1, 32], scale = f16"),
    *("--keys", "codes = i3, group = [1, 32], scale = f16, center = f16"),
    *("--values", "codes = i8, group = [1, 32], scale = f16", "--values", "codes = i3, group = [1, 32], scale = f16"),
    *("--values", "codes = i3, group = [1, 32], scale = f16; recent = 8"),
]


@needs_model
def test_plan_end_to_end(first_layers, texts, tmp_path, capsys):
    arguments = ["plan", "--bytes-per-token", "600", *FORMATS, *texts, "--compare-uniform", "3", "--out", str(tmp_path)]
    assert main(arguments) == 0
    page = capsys.readouterr().out
    result = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert result["bytes"] <= 600 * 64 == result["limits"]["bytes"]
    assert result["predicted_kl"] > 0 and set(result["measured"]) == set(MEASURED)
    low, high = result["measured"]["kl_interval"]
    assert 0 < low <= result["measured"]["kl"] <= high
    # What the policy's file says is the plan, and takes the bytes that are reported.
    choices = kvq.Policy.read(tmp_path / "policy.mlir").choose(LAYERS, 3)
    plan = {(row["layer"], row["side"]): Kept.parse(row["kept"]) for row in result["plan"]}
    assert {(c.layer, c.side): str(c.format) for c in choices} == {
        where: str(kept.choice(*where, 3).format) for where, kept in plan.items()
    }
    # ... and what is calibrated lies beside it.
    given: dict = {}
    for name, array in np.load(tmp_path / "given.npz").items():
        layer, side, component = name.split(".")
        given.setdefault((int(layer), side), {})[component] = array
    assert set(given) == {(c.layer, c.side) for c in choices if c.format.center} != set()
    caches = [choice.cache(1, 64, 64, given=given.get((choice.layer, choice.side))) for choice in choices]
    assert 0 <= result["bytes"] - sum(cache.nbytes for cache in caches) < 64 * 3 * len(caches)  # alignment
    for text in ("Predicted mean KL", "Measured on 64 tokens", "Next cheaper plan: ", "Next better plan: ", "neglects"):
        assert text in page.replace("\n", " "), text
    uniform = result["uniform"]
    assert len(uniform) == 3 and all(row["bytes"] <= 600 * 64 for row in uniform)
    assert [row["kl"] for row in uniform] == sorted(row["kl"] for row in uniform)
    assert "of the best uniform format's (95 % " in page


@needs_model
def test_exempt_layers_stay_exact_and_measurements_are_used_again(first_layers, texts, tmp_path, monkeypatch):
    """The second run measures nothing on the calibration text: all it needs is in the file."""
    arguments = ["plan", "--bytes-per-token", "1100", *FORMATS, *texts, "--out", str(tmp_path)]
    assert main([*arguments, "--exempt", "1:values"]) == 0
    result = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert {"layer": 1, "side": "values", "kept": str(EXACT)} in result["plan"]
    monkeypatch.setattr("kvq_mlir.planning.command.Calibration", lambda *_: pytest.fail("measured again"))
    assert main([*arguments, "--exempt", "1:keys"]) == 0
    result = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    assert {"layer": 1, "side": "keys", "kept": str(EXACT)} in result["plan"]


@needs_model
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bytes-per-token", "300"], "no plan keeps the limit on bytes: the least is"),
        (["--max-kl", "1e-9"], "no plan keeps the limit on KL (--max-kl): the least is"),
        (
            ["--max-perplexity-increase", "1e-7"],
            "no plan keeps the limit on KL (--max-perplexity-increase): the least is",
        ),
        (["--memory", "1KiB"], "above the limit of 1,024 bytes"),
        (
            ["--bits-per-element", "16", "--max-output-error", "1e-9", "--exempt", "0"],
            "layer 1, keys: no format allowed",
        ),
        (
            ["--bits-per-element", "4", "--max-kl", "0.01"],
            "no plan keeps the limits on bytes and KL (--max-kl): within",
        ),
        (
            ["--bits-per-element", "4", "--exempt", "2"],
            "--exempt: expected a layer from 0 to 1, or its side as in '0:keys', found '2'",
        ),
    ],
)
def test_what_cannot_be_done(first_layers, texts, tmp_path, capsys, arguments, message):
    assert main(["plan", *FORMATS, *texts, "--out", str(tmp_path), *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a budget (--memory, --bytes-per-token or --bits-per-element) or a limit"),
        (["--max-kl", "-1"], "--max-kl: expected a positive number, found -1.0"),
        (["--max-kl", "1", "--tokens", "0"], "--tokens: expected at least 1, found 0"),
        (
            ["--max-kl", "1", "--calibration-tokens", "100"],
            "--calibration-tokens: expected a multiple of 64 up to 8192",
        ),
        (["--max-kl", "1", "--keys", "codes = i4"], "--keys: "),
        (["--max-kl", "1", "--compare-uniform", "0"], "--compare-uniform: expected at least 1, found 0"),
        (["--max-kl", "1", "--out", "/proc/none"], "cannot make the folder /proc/none"),
    ],
)
def test_wrong_arguments(capsys, arguments, message):
    assert main(["plan", *arguments]) == 1
    assert message in capsys.readouterr().err


@needs_model
def test_sensitivities_of_a_layer(first_layers):
    """The error of scores is that of the metric, that of outputs what it says, and a pass with one layer quantized is a
    whole pass with the others in 16 bits."""
    ids = first_layers.tokenize(PLAGUE_YEAR, 96)[None]
    calibration = Calibration(first_layers, ids)
    coarse = Kept("codes = i3, group = [1, 32], scale = f16")
    exact = calibration.layers[1]
    cache = coarse.choice(1, "keys", 3).cache(1, 96, 64)
    cache.append(exact.k)
    keys, values = cache.dequantize(), exact.v.astype(np.float16)
    expected = key_score_error(exact.q, keys, exact.k.astype(np.float16))
    assert calibration.score_error(1, coarse) == pytest.approx(expected, rel=1e-3)
    out = exact_attention(exact.q, keys, values, np.float64)
    whole = exact_attention(exact.q, exact.k.astype(np.float16), values, np.float64)
    assert calibration.output_error(1, coarse, EXACT) == pytest.approx(relative_l2(out, whole), rel=1e-3)
    kept = {(0, "keys"): EXACT, (0, "values"): EXACT, (1, "keys"): coarse, (1, "values"): EXACT}
    choices = [each.choice(*where, 3) for where, each in kept.items()]
    statistics = calibration.baseline.compare(CachedModel(first_layers, choices, 1, 96).extend(ids))
    assert calibration.kl(1, coarse, EXACT) == pytest.approx(statistics.kl.mean(), rel=1e-4)
    assert 0 < statistics.kl.mean() < 10
