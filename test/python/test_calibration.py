"""Static ranges: percentiles and least squares, files of them and of checkpoints, and ranges that cannot be."""

import json

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir.__main__ import main
from kvq_mlir.evaluation import safetensors
from kvq_mlir.evaluation.policies import uniform
from kvq_mlir.evaluation.ranges import Ranges, measure_ranges, parse_name, write_ranges
from kvq_mlir.evaluation.recording import Recording
from kvq_mlir.fixtures import Layer
from kvq_mlir.text import InputError

PER_CHANNEL = "codes = i8, group = [*, 1], scale = f32, range = static"
PER_HEAD = "codes = i8, group = [*, *], scale = f32, range = static"
MINIMUM = "codes = ui4, group = [*, 32], scale = f16, zero = min f16, range = static"
SHARED = "codes = ui8, group = [*, *], scale = bf16, zero = point ui8, range = static, heads = *"
FORMATS = (PER_CHANNEL, PER_HEAD, MINIMUM, SHARED)
# Ranges at append, which ask for something else.
CENTRED = "codes = i4, group = [1, 32], scale = f16, center = bf16"
TWO_LEVELS = "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32"


def draw(rng, tokens=200, layers=2):
    def side(heads):
        return rng.standard_t(3, (heads, tokens, 64)).astype(np.float32)

    return Recording("drawn", [Layer(side(4), side(2), side(2)) for _ in range(layers)])


def choose(keys, values, recording):
    named = uniform("static", f"format = #kvq.format<{keys}>", f"format = #kvq.format<{values}>")
    return named.choose(len(recording.layers), recording.kv_heads, recording.head_dim, "f16")


# --- percentiles and least squares -----------------------------------------------------------------------------------


def test_percentiles_hold_their_share(rng):
    x = rng.standard_normal((1, 2, 4000, 64)).astype(np.float32)
    whole, most = (kvq.calibrate(x, kvq.Format(PER_CHANNEL), percentile=p)["scales"] for p in (100, 99))
    assert np.all(most < whole)
    held = np.mean(np.abs(x[0]) <= most[:, None] * 127, axis=1)
    assert np.all(np.abs(held - 0.99) <= 1 / 4000 + 1e-6)
    # With a minimum each end is given up on its own.
    given = kvq.calibrate(x, kvq.Format(MINIMUM.replace("f16", "f32")), percentile=98)
    low, width = (given[name].reshape(2, 1, 2, 1) for name in ("zeros", "scales"))
    groups = x[0].reshape(2, 4000, 2, 32)
    for share in (np.mean(groups < low, axis=(1, 3)), np.mean(groups > low + 15 * width, axis=(1, 3))):
        assert np.all(np.abs(share - 0.02) <= 1e-3)


@pytest.mark.parametrize("text", FORMATS)
def test_searched_ranges_are_no_worse_for_any_group(text, rng):
    fmt, x = kvq.Format(text), rng.standard_t(3, (1, 2, 300, 64)).astype(np.float32)

    def errors(given):
        """Of each group of heads and channels."""
        rebuilt = kvq.dequantize(kvq.quantize(x, fmt, given)).astype(np.float64)
        heads, groups = given["scales"].shape
        return np.square(rebuilt - x).reshape(heads, 2 // heads, 300, groups, 64 // groups).sum(axis=(1, 2, 4))

    whole, some, more = (errors(kvq.calibrate(x, fmt, search=count)) for count in (1, 4, 8))
    assert np.all(some <= whole) and np.all(more <= some)  # the candidates of 4 are among those of 8
    if "4" in fmt.codes:
        assert more.sum() < 0.9 * whole.sum()


def test_options_without_use():
    x = np.ones((1, 1, 8, 32), np.float32)
    dynamic = kvq.Format("codes = i8, group = [1, 32], scale = f32")
    rotated = kvq.Format("codes = i8, group = [*, *], scale = f32, range = static, rotate = hadamard<32>")
    for fmt in (dynamic, rotated):
        with pytest.raises(kvq.Error, match="are of static ranges without rotation and center"):
            kvq.calibrate(x, fmt, percentile=99)
    with pytest.raises(kvq.Error, match="expected a percentile above 50, up to 100, got 50"):
        kvq.calibrate(x, kvq.Format(PER_HEAD), percentile=50)
    with pytest.raises(kvq.Error, match="expected a search of at least 1 range, got 0"):
        kvq.calibrate(x, kvq.Format(PER_HEAD), search=0)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", (*FORMATS, CENTRED, TWO_LEVELS))
def test_what_is_written_is_read(keys, tmp_path, rng):
    recording = draw(rng)
    choices = choose(keys, PER_CHANNEL, recording)
    givens = measure_ranges(recording, choices)
    count = write_ranges(tmp_path / "r.safetensors", givens, choices, {})
    assert len(givens) == 4 and count == sum(map(len, givens.values()))
    found = Ranges([tmp_path / "r.safetensors"]).givens(choices, recording.kv_heads, recording.head_dim)
    assert found.keys() == givens.keys()
    for place, given in givens.items():
        assert given.keys() == found[place].keys()
        for name, part in given.items():
            assert found[place][name].dtype == part.dtype
            np.testing.assert_array_equal(found[place][name].reshape(part.shape), part)
    for choice in choices:  # and caches take it
        choice.cache(1, 8, recording.head_dim, given=found[choice.layer, choice.side])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.layers.3.self_attn.k_scale", [(3, "keys", "scale")]),
        ("model.layers.3.self_attn.attn.v_scale", [(3, "values", "scale")]),
        ("language_model.model.layers.12.self_attn.k_proj.k_scale", [(12, "keys", "scale")]),
        ("model.layers.0.self_attn.v_proj.output_scale", [(0, "values", "scale")]),
        ("model.layers.0.self_attn.kv_scale", [(0, "keys", "scale"), (0, "values", "scale")]),
        ("transformer.layers.7.attention.kv_cache_scaling_factor", [(7, "keys", "scale"), (7, "values", "scale")]),
        ("model.layers.3.self_attn.k_min", [(3, "keys", "min")]),
        ("model.layers.3.self_attn.v_zero_point", [(3, "values", "zero_point")]),
        ("model.layers.3.self_attn.k_proj.v_scale", []),
        ("model.layers.3.self_attn.k_proj.weight_scale", []),
        ("model.layers.3.self_attn.q_scale", []),
        ("model.layers.3.self_attn.k_proj.weight", []),
        ("self_attn.k_scale", []),
    ],
)
def test_names(name, expected):
    assert parse_name(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.{}.self_attn.{}_scale",
        "model.layers.{}.self_attn.{}_proj.{}_scale",
        "model.layers.{}.self_attn.{}_proj.output_scale",
    ],
)
def test_checkpoints(name, tmp_path):
    """One scale for a side, as fp8 checkpoints have them, in a folder of several files beside weights."""
    for layer in range(2):
        tensors = {name.format(layer, side, side): np.array([0.5 + layer], np.float32) for side in "kv"}
        tensors["model.layers.0.mlp.weight" if layer else "lm_head.weight"] = np.ones((4, 4), np.float16)
        safetensors.save(tmp_path / f"model-{layer}.safetensors", tensors)
    recording = Recording("zeros", [Layer(*np.zeros((3, 2, 64, 64), np.float32))] * 2)
    fmt = "codes = f8E4M3FN, group = [*, *], scale = f32, range = static"
    choices = choose(fmt, fmt, recording)
    found = Ranges([tmp_path]).givens(choices, 2, 64)
    for choice in choices:
        cache = choice.cache(1, 8, 64, given=found[choice.layer, choice.side])
        cache.append(np.full((1, 2, 1, 64), 3, np.float16))
        assert np.all(cache.dequantize() == 3)  # 3 / 0.5 and 3 / 1.5 are floats of 8 bits
        assert np.all(cache.storage()["scales"] == 0.5 + choice.layer)


def test_scales_for_heads_and_channels(tmp_path):
    """A number for each head serves all its groups."""
    path = tmp_path / "r.safetensors"
    safetensors.save(path, {f"model.layers.0.self_attn.{side}_scale": np.array([0.5, 2], np.float32) for side in "kv"})
    recording = Recording("zeros", [Layer(*np.zeros((3, 2, 64, 64), np.float32))])
    (keys, _) = choose(PER_CHANNEL, PER_HEAD, recording)
    scales = Ranges([path]).given(keys, 2, 64)["scales"]
    assert scales.shape == (2, 64) and np.all(scales[0] == 0.5) and np.all(scales[1] == 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v_scale": None}, "layer 1, values: expected its scale, found none; there are values of layers [0]"),
        ({"k_scale": [0.5, 0]}, "layer 1, keys: '{name}': expected positive, finite numbers, found 0.0 at [1]"),
        ({"k_scale": [-1, 1]}, "layer 1, keys: '{name}': expected positive, finite numbers, found -1.0 at [0]"),
        ({"v_scale": [np.nan, 1]}, "layer 1, values: '{name}': expected positive, finite numbers, found nan at [0]"),
        ({"v_scale": [np.inf]}, "layer 1, values: '{name}': expected positive, finite numbers, found inf at [0]"),
        ({"k_scale": [1, 1, 1]}, "layer 1, keys: '{name}': expected 1 or 2 numbers, found 3 of shape [3]"),
    ],
)
def test_ranges_that_cannot_be(change, message, tmp_path, capsys):
    """An error that names layer and side, of the command too."""
    tensors = {f"model.layers.{layer}.self_attn.{side}_scale": [1.0, 1.0] for layer in range(2) for side in "kv"}
    for name, value in change.items():
        tensors[f"model.layers.1.self_attn.{name}"] = value
    path = tmp_path / "r.safetensors"
    safetensors.save(path, {name: np.array(x, np.float32) for name, x in tensors.items() if x is not None})
    data = tmp_path / "zeros.npz"
    np.savez(data, q=np.zeros((2, 2, 64, 64)), k=np.zeros((2, 2, 64, 64)), v=np.zeros((2, 2, 64, 64)))
    arguments = ["--keys", PER_HEAD, "--values", PER_HEAD, "--ranges", str(path), "--out", str(tmp_path / "out")]
    assert main(["eval", "--tensors", str(data), "--queries", "8", "--no-times", *arguments]) == 1
    (changed,) = change
    message = message.format(name=f"model.layers.1.self_attn.{changed}")
    assert capsys.readouterr().err == f"error: {path}: {message}\n"


def test_files_that_cannot_be(tmp_path):
    recording = Recording("zeros", [Layer(*np.zeros((3, 2, 64, 64), np.float32))])
    path = tmp_path / "r.safetensors"
    with pytest.raises(InputError, match="holds no .safetensors file"):
        Ranges([tmp_path])
    safetensors.save(path, {f"weight.{i}": np.ones(1, np.float32) for i in range(10)})
    message = r"expected scales such as model.layers.0.self_attn.k_scale, found weight.0, .* and 2 more"
    with pytest.raises(InputError, match=message):
        Ranges([path])
    both = {"model.layers.0.self_attn.k_scale": np.ones(1, np.float32)}
    both["model.layers.0.self_attn.k_proj.k_scale"] = np.ones(1, np.float32)
    safetensors.save(path, both)
    message = "layer 0, keys: both 'model.layers.0.self_attn.k_scale' and '.*k_proj.k_scale' give its scale"
    with pytest.raises(InputError, match=message):
        Ranges([path])
    safetensors.save(path, {"model.layers.0.self_attn.k_scale": np.ones(1, np.float32)}, {"kvq.codes.keys": "i4"})
    (keys, _) = choose(PER_HEAD, PER_HEAD, recording)
    with pytest.raises(InputError, match="layer 0, keys: these are ranges for codes = i4, expected i8"):
        Ranges([path]).given(keys, 2, 64)
    safetensors.save(path, {"model.layers.0.self_attn.k_scale": np.full(1, 1e-9, np.float32)})
    (keys, _) = choose(PER_HEAD.replace("f32", "f16"), PER_HEAD, recording)
    with pytest.raises(InputError, match="layer 0, keys: .* is 0 in f16"):
        Ranges([path]).given(keys, 2, 64)


def test_what_plans_are_given(tmp_path, rng):
    """Arrays as caches take them, by layer and side."""
    recording = draw(rng)
    choices = choose(CENTRED, PER_CHANNEL, recording)
    givens = measure_ranges(recording, choices)
    path = tmp_path / "given.npz"
    arrays = {f"{layer}.{side}.{name}": part for (layer, side), given in givens.items() for name, part in given.items()}
    np.savez(path, **arrays)
    found = Ranges([path]).givens(choices, recording.kv_heads, recording.head_dim)
    for place, given in givens.items():
        assert {name: part.tolist() for name, part in given.items()} == {
            name: part.tolist() for name, part in found[place].items()
        }
    np.savez(path, **{name: part for name, part in arrays.items() if not name.startswith("1.keys")})
    with pytest.raises(InputError, match=r"layer 1, keys: expected its mean, found none; there are keys of layers \[0\]"):
        Ranges([path]).givens(choices, recording.kv_heads, recording.head_dim)
    np.savez(path, means=np.zeros(3))
    with pytest.raises(InputError, match="expected arrays such as 7.keys.means, found means"):
        Ranges([path])


def test_data_without_a_range(rng):
    recording = draw(rng)
    recording.layers[1].v[1] = 0
    with pytest.raises(InputError, match="layer 1, values: .*scale"):
        measure_ranges(recording, choose(PER_HEAD, PER_HEAD, recording))


# --- the command -----------------------------------------------------------------------------------------------------


def test_calibrated_on_the_start_clips_later(tmp_path, rng):
    """The whole path: ranges of the first tokens, of a file and of the evaluation's own, are the same."""
    growth = np.linspace(1, 4, 256)[:, None]
    data = {
        side: (rng.standard_normal((1, heads, 1, 64)) * growth).astype(np.float32)
        for side, heads in (("q", 4), ("k", 2), ("v", 2))
    }
    np.savez(tmp_path / "all.npz", **data)
    sides = ["--keys", PER_CHANNEL, "--values", PER_CHANNEL]
    path = tmp_path / "ranges.safetensors"
    start = ["--tensors", str(tmp_path / "all.npz"), "--tokens", "64"]
    assert main(["calibrate", *start, *sides, "--out", str(path)]) == 0
    common = ["eval", "--tensors", str(tmp_path / "all.npz"), *sides, "--queries", "32", "--no-times"]
    for name, option in (("file", ["--ranges", str(path)]), ("own", ["--calibrate-tokens", "64"])):
        assert main([*common, *option, "--out", str(tmp_path / name)]) == 0
    of_file, own = (
        json.loads((tmp_path / name / "eval.json").read_text(encoding="utf-8"))["policies"][0]["attention"]
        for name in ("file", "own")
    )
    assert of_file == own
    # Elements are the ones of the first token times at most 4: all of the last three quarters are clipped.
    assert own["saturated"] == {side: pytest.approx(0.75 * own["elements"], rel=0.01) for side in ("keys", "values")}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keys", PER_HEAD, "--out", "r.npz"], "--out: expected a .safetensors file, found r.npz"),
        (["--out", "r.safetensors"], "expected one policy, by --policy or by --keys and --values, found 0"),
        (
            ["--keys", PER_HEAD, "--percentile", "20", "--out", "r.safetensors"],
            "--percentile: expected more than 50, up to 100, found 20",
        ),
        (["--keys", PER_HEAD, "--search", "0", "--out", "r.safetensors"], "--search: expected at least 1, found 0"),
        (["--keys", "ggml.q8_0", "--out", "r.safetensors"], "policy 'K ggml.q8_0, V 16-bit' has no static range"),
    ],
)
def test_what_cannot_be_calibrated(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["calibrate", "--fixture", "heavy-tails", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not list(tmp_path.iterdir())
