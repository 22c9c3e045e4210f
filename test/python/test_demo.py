"""The demonstration and the command line, end to end."""

import json
import math

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import demo, unfused
from kvq_mlir.__main__ import main
from kvq_mlir.metrics import key_score_error
from kvq_mlir.model import Config, exact_attention
from kvq_mlir.rope import Rope
from test_model import PLAGUE_YEAR, needs_model

TOKENS = 96
ERRORS = ("key_score_error", "output_error_k_alone", "output_error_v_alone", "output_error")
NUMBERS = (
    *ERRORS,
    *("k_bytes", "v_bytes", "bytes_ratio", "perplexity", "perplexity_uncertainty"),
    *("fused_microseconds", "unfused_microseconds"),
)
CONFIG = Config(layers=1, query_heads=4, kv_heads=2, head_dim=64, context=8192, rope=Rope(1e5, "interleaved"), norm_epsilon=1e-5)


def draw(tokens):
    """q, k, v of normal noise; keys with channels of very different size, as in real models."""
    rng = np.random.default_rng()
    q = rng.standard_normal((1, CONFIG.query_heads, tokens, CONFIG.head_dim), np.float32)
    k, v = rng.standard_normal((2, 1, CONFIG.kv_heads, tokens, CONFIG.head_dim), np.float32)
    return q, k * np.float32(rng.uniform(0.2, 4, CONFIG.head_dim)), v


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run on a short text: (folder with the results, contents of demo.json)."""
    folder = tmp_path_factory.mktemp("demo")
    text = folder / "text.txt"
    text.write_text(PLAGUE_YEAR, encoding="utf-8")
    out = folder / "made" / "by the demo"
    assert main(["demo", "--tokens", str(TOKENS), "--text", str(text), "--out", str(out)]) == 0
    return out, json.loads((out / "demo.json").read_text(encoding="utf-8"))


@needs_model
def test_json_names_everything(finished):
    _, result = finished
    assert (result["tokens"], result["layers"], result["kv_heads"], result["head_dim"]) == (TOKENS, 30, 3, 64)
    assert [p["name"] for p in result["pairs"]] == [p.name for p in demo.PAIRS]
    for pair in result["pairs"]:
        assert set(pair) == {*NUMBERS, "name", "k_format", "v_format", "per_layer"}
        assert all(math.isfinite(pair[key]) and pair[key] >= 0 for key in NUMBERS)
        assert {key: len(layers) for key, layers in pair["per_layer"].items()} == dict.fromkeys(ERRORS, 30)


@needs_model
def test_picture_is_a_png(finished):
    out, _ = finished
    assert (out / "demo.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@needs_model
def test_bytes(finished):
    exact, k8v8, k8v4, k4v4, per_channel = finished[1]["pairs"]
    assert exact["k_bytes"] == exact["v_bytes"] == 3 * 64 * 2  # 16 bits an element
    assert k8v8["k_bytes"] == 3 * 64 * (8 + 16 / 32) / 8
    assert k8v4["v_bytes"] == 3 * 64 * (4 + 16 / 32) / 8
    assert k4v4["k_bytes"] == 3 * 64 * (4 + 32 / 32) / 8
    assert exact["bytes_ratio"] == 1 > k8v8["bytes_ratio"] > k8v4["bytes_ratio"] > k4v4["bytes_ratio"]
    assert (
        k4v4["k_bytes"] < per_channel["k_bytes"] < exact["k_bytes"]
    )  # a window of 32 ... 63 exact tokens beside the codes


@needs_model
def test_errors(finished):
    exact, k8v8, k8v4, k4v4, per_channel = finished[1]["pairs"]
    for key in ("output_error_k_alone", "output_error_v_alone", "output_error"):
        assert exact[key] < 1e-5, key  # the kernel's own tolerance on the CPU
    assert exact["key_score_error"] < 1e-6
    assert k8v8["output_error"] < k8v4["output_error"] < k4v4["output_error"]
    assert k8v8["output_error_k_alone"] == k8v4["output_error_k_alone"] < k4v4["output_error_k_alone"]
    assert (
        per_channel["key_score_error"] < k4v4["key_score_error"] / 2
    )  # same codes, other axis: keys have outlier channels
    for pair in (k8v8, k8v4, k4v4, per_channel):
        alone = pair["output_error_k_alone"], pair["output_error_v_alone"]
        assert max(alone) * 0.9 < pair["output_error"] < 1.1 * sum(alone)


@needs_model
def test_perplexity(finished):
    result = finished[1]
    exact, k8v8, _, k4v4, _ = result["pairs"]
    assert exact["perplexity"] == pytest.approx(result["perplexity_without_cache"], rel=0.01)
    assert k8v8["perplexity"] == pytest.approx(result["perplexity_without_cache"], rel=0.03)
    assert exact["perplexity_uncertainty"] < k8v8["perplexity_uncertainty"] < k4v4["perplexity_uncertainty"]


def test_perplexity_uncertainty():
    """Equal shifts of all losses are certain; a loss that is 1 higher for half the tokens spreads by about 1 / 2."""
    losses = np.linspace(0, 2, 400)
    assert demo.perplexity_uncertainty(losses + 1, losses) == pytest.approx(0, abs=1e-12)
    half = losses + np.arange(400) % 2
    assert demo.perplexity_uncertainty(half, losses) == pytest.approx(math.exp(half.mean()) * 0.5 / 20, rel=0.01)


def test_decode_is_causal_attention():
    q, k, v = draw(80)
    found = demo.decode(CONFIG, demo.EXACT, demo.EXACT, q, k, v)
    expected = exact_attention(q, k.astype(np.float16), v.astype(np.float16), np.float64)
    assert np.linalg.norm(found - expected) <= 1e-5 * np.linalg.norm(expected)


def test_key_scores_without_window_match_the_metric():
    q, k, _ = draw(300)  # more than one step of the measurement
    cache = demo.I4.cache(CONFIG, 300)
    cache.append(k)
    expected = key_score_error(q, [cache.dequantize()[0]], [k[0].astype(np.float16)])
    assert demo.relative_l2([demo.key_score_squares(CONFIG, demo.I4, q, k)]) == pytest.approx(expected, rel=1e-4)


def test_key_scores_see_the_exact_window():
    """Query i sees keys from flushed(i + 1) on exactly; flushed(n) = whole groups of 32 before the newest 32."""
    tokens, side = 128, demo.UI4_PER_CHANNEL
    q, k, _ = draw(tokens)
    all_flushed = kvq.Cache(1, CONFIG.kv_heads, tokens, CONFIG.head_dim, kvq.Format(side.format), dtype="f16")
    all_flushed.append(k)
    quantized = all_flushed.dequantize()[0].astype(np.float64)
    exact = k[0].astype(np.float16).astype(np.float64)
    error = norm = 0.0
    for i in range(tokens):
        flushed = max(0, i + 1 - side.recent) // 32 * 32
        seen = np.concatenate([quantized[:, :flushed], exact[:, flushed : i + 1]], axis=1)
        rows = q[0, :, i].reshape(CONFIG.kv_heads, -1, CONFIG.head_dim)
        found, expected = (rows @ keys.swapaxes(1, 2) for keys in (seen, exact[:, : i + 1]))
        found, expected = (s - s.mean(axis=-1, keepdims=True) for s in (found, expected))
        error += np.sum((found - expected) ** 2)
        norm += np.sum(expected**2)
    assert demo.relative_l2([demo.key_score_squares(CONFIG, side, q, k)]) == pytest.approx(
        math.sqrt(error / norm), rel=1e-4
    )


def test_unfused_attention_is_exact_attention():
    q, k, v = draw(70)
    k_cache, v_cache = (demo.EXACT.cache(CONFIG, 96) for _ in range(2))  # longer than what is appended
    k_cache.append(k)
    v_cache.append(v)
    expected = exact_attention(q[:, :, -1:], k.astype(np.float16), v.astype(np.float16), np.float64)
    found = unfused.unfused_attention(q[:, :, -1:], k_cache, v_cache)
    assert np.linalg.norm(found - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--tokens", "0"], "--tokens: expected at least 64, found 0"),
        (["demo", "--tokens", "8193"], "--tokens: expected at most 8192 (the model's context), found 8193"),
        (["demo", "--text", "missing.txt"], "cannot read the text file missing.txt: No such file or directory"),
    ],
)
def test_values_that_cannot_be(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert capsys.readouterr().err == f"error: {message}\n"
    assert not list(tmp_path.iterdir())  # nothing is left behind


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["serve"], "invalid choice: 'serve'"),
        (["demo", "--tokens", "many"], "invalid int value: 'many'"),
    ],
)
def test_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python -m kvq_mlir")
