"""Presets against bytes worked out from the engines' published rules, and against what the package gguf writes."""

import json
from pathlib import Path

import engines
import gguf
import numpy as np
import pytest
from engines import GIVEN, GIVEN_VECTORS, ORACLES, VECTORS, raw

import kvq_mlir as kvq
from kvq_mlir import __main__ as command_line
from kvq_mlir import _kvq, formats, reference
from kvq_mlir.reference.layouts import mla, vllm, words

NAMES = [name for name, *_ in _kvq.presets()]
GIVEN_ROWS = ("vllm.mla_nvfp4_row",)  # rows with a given scale of some channels
TURBOQUANT_KEYS = {"turboquant.4bit_keys": 4, "turboquant.3bit_keys": 3}


def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Finite f16 elements of several magnitudes, with ties, zeros, constant rows, and both ends of a range equal; no
    -0, whose sign as a minimum no rule here keeps."""
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, (*shape[:-1], 1)))
    kind = rng.integers(0, 12, shape[:-1])
    x = np.where((kind < 5)[..., np.newaxis], np.round(x * 2) / 2, x)
    x[kind == 5] = 0
    x[kind == 6] = x[kind == 6][..., :1]
    x[..., 1] = np.where(kind == 7, -x[..., 0], x[..., 1])
    x[..., ::2] *= rng.integers(0, 2, (*shape[:-1], 1))
    return (x + 0.0).astype(np.float16)


def stored(name: str, x: np.ndarray, given: dict[str, np.ndarray] | None = None, **parameters) -> dict[str, np.ndarray]:
    """The bytes that a cache of the preset holds of x [1, heads, tokens, dim], in memory that was 0xFF before."""
    _, heads, tokens, dim = x.shape
    parameters = {"dtype": {2: "f16", 4: "f32"}[x.dtype.itemsize]} | parameters
    cache = kvq.Cache(1, heads, tokens, dim, kvq.Format.preset(name), given=given, fill=0xFF, **parameters)
    cache.append(x[:, :, : tokens // 3])
    cache.append(x[:, :, tokens // 3 :])
    return {part: raw(array) for part, array in cache.storage().items() if part != "recent"}


@pytest.mark.parametrize("name", ORACLES)
def test_bytes_of_random_rows(name, rng):
    group = kvq.Format.preset(name).tokens
    tokens, parameters = (150, {}) if group == 1 else (5 * engines.GROUP, dict(residual=engines.GROUP))
    x = draw(rng, (1, 2, tokens, 576 if "mla" in name else 128))
    if group != 1:  # magnitudes, constants and ties go along tokens
        x = np.ascontiguousarray(draw(rng, (1, 2, 128, tokens)).swapaxes(-1, -2))
    if rng.random() < 0.5 and "kivi" not in name:
        x = x.astype(np.float32)
    expected = ORACLES[name](x.astype(np.float32))
    if "mla" in name:  # the last channels are bf16
        parameters["dtype"] = "bf16"
        x = x.astype(np.float32)
        bf16 = reference.FloatType.named("bf16")
        expected = ORACLES[name](bf16.decode(bf16.encode(x)))
    found = stored(name, x, **parameters)
    assert found.keys() == expected.keys()
    for part, bytes_ in found.items():
        assert np.array_equal(bytes_, expected[part]), (part, x.dtype)


def test_bytes_of_nvfp4_rows(rng):
    x = draw(rng, (1, 2, 150, 576))
    found = stored("vllm.mla_nvfp4_row", x, {"scales.1": np.float32([[1]])})
    assert np.array_equal(found["records"], mla.nvfp4_row(x.astype(np.float32)))


@pytest.mark.parametrize("name", TURBOQUANT_KEYS)
@pytest.mark.parametrize("dim", [64, 128])
def test_turboquant_keys(name, dim, rng):
    """Codes but where the rotated key is within rounding of a middle; norms but where that of f64 is in f16."""
    bits = TURBOQUANT_KEYS[name]
    x = (rng.standard_normal((1, 2, 300, dim)) * np.exp2(rng.integers(-6, 7, (1, 2, 300, 1)))).astype(np.float16)
    records = stored(name, x)["records"]
    assert records.shape[-1] == dim * bits // 8 + 2
    codes, norms, margins = vllm.turboquant_keys(x, bits)
    planes = np.unpackbits(records[..., :-2], axis=-1, bitorder="little").reshape(*x.shape, bits)
    found = (planes << np.arange(bits, dtype=np.uint8)).sum(axis=-1)
    clear = margins > 1e-6
    assert clear.mean() > 0.99 and np.array_equal(found[clear], codes[clear])
    assert np.abs(found - codes.astype(int)).max() <= 1
    stored_norms = np.ascontiguousarray(records[..., -2:]).view(np.float16)[..., 0]
    assert (stored_norms == norms.astype(np.float16)).mean() > 0.99
    assert np.allclose(stored_norms.astype(np.float64), norms, rtol=2.0**-11 + 1e-6, atol=0)


def test_turboquant_slots():
    """Bytes of a key and a value together, head dim 128: k8v4, 4-bit, k3v4, 3-bit."""
    sizes = {row.name: row.bytes_per_token for row in formats.list_formats(128)}
    slots = [("8bit", "4bit"), ("4bit", "4bit"), ("3bit", "4bit"), ("3bit", "3bit")]
    assert [sizes[f"turboquant.{k}_keys"] + sizes[f"turboquant.{v}_values"] for k, v in slots] == [196, 134, 118, 102]


def test_turboquant_keys_are_read_as_stored(rng):
    """What a key stands for: its norm times the centroids of its codes, turned back."""
    x = rng.standard_normal((1, 1, 50, 128)).astype(np.float16)
    cache = kvq.Cache(1, 1, 50, 128, kvq.Format.preset("turboquant.3bit_keys"))
    cache.append(x)
    error = np.linalg.norm(cache.dequantize() - x, axis=-1) / np.linalg.norm(x.astype(np.float64), axis=-1)
    assert abs(np.mean(error**2) / 0.0340 - 1) < 0.1


@pytest.mark.parametrize("name", GIVEN)
def test_bytes_under_given_scales(name, rng):
    kind, oracle = GIVEN[name]
    x = draw(rng, (1, 2, 150, 128))
    shape = {"outer": (2,), "tensor": (1, 1), "channel": (2, 128)}[kind]
    scales = np.exp2(rng.uniform(-4, 1, shape)).astype(np.float32)
    found = stored(name, x, {"outer_scales" if kind == "outer" else "scales": scales})
    for head in range(2):
        one = scales[head] if kind == "outer" else scales[0, 0] if kind == "tensor" else scales[head]
        expected = oracle(x[0, head].astype(np.float32), one)
        for part, bytes_ in expected.items():
            assert np.array_equal(found[part][0, head], raw(bytes_)), (part, head)


@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4"])
def test_bytes_that_gguf_writes(name, rng):
    x = draw(rng, (1, 1, 200, 128)).astype(np.float32)
    expected = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name.upper()])
    assert np.array_equal(stored(f"ggml.{name}", x)["records"], expected)


# --- vectors --------------------------------------------------------------------------------------------------------


def packed_text(z: kvq.Quantized) -> str:
    """The bytes of what is stored: packed components, then the metadata that lies apart."""
    parts = z.packed_components()
    if "records" not in parts and not z.format.is_static:
        parts |= {part: raw(getattr(z, part)) for part in ("scales", "zeros") if getattr(z, part) is not None}
    return engines.hexadecimal(*parts.values())


@pytest.mark.parametrize("name, x, expected", VECTORS, ids=engines.ids(VECTORS))
def test_vectors(name, x, expected):
    x = np.float32(x).reshape(1, 1, *np.atleast_2d(x).shape)
    assert packed_text(kvq.quantize(x, kvq.Format.preset(name))) == expected.replace(" ", "")


@pytest.mark.parametrize("name, x, scale, expected", GIVEN_VECTORS, ids=engines.ids(GIVEN_VECTORS))
def test_vectors_under_given_scales(name, x, scale, expected):
    given = {"outer_scales" if name == "nvfp4" else "scales": np.float32(scale).reshape(1, -1)}
    z = kvq.quantize(x.reshape(1, 1, 1, -1), kvq.Format.preset(name), given)
    assert packed_text(z) == expected.replace(" ", "")


def test_kivi_computes_in_f16():
    # Extent 6, scale 2. 2.00195 + 3 is a tie in f16 and becomes 5: 2.5 goes to 2, where f32 would have 2.50098, 3.
    x = np.float16([-3, 3, 2 + 2.0**-9, 0] * 8).reshape(1, 1, 1, 32)
    assert kvq.quantize(x, kvq.Format.preset("kivi.2bit_values")).codes.ravel()[:4].tolist() == [0, 3, 2, 2]


# --- names, table and documentation ---------------------------------------------------------------------------------


def test_every_preset_has_an_oracle_and_is_a_format():
    assert sorted([*ORACLES, *GIVEN, *GIVEN_ROWS, *TURBOQUANT_KEYS]) == sorted(NAMES) and len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        fmt = kvq.Format.preset(name)
        assert type(fmt)(str(fmt)) == fmt
        printed = kvq.parse(f'func.func private @f() attributes {{f = #kvq.preset<"{name}">}}')
        assert f"f = {fmt.attribute}" in printed and "preset" not in printed


@pytest.mark.parametrize(
    "wrong, nearest", [("ggml.q4_2", "ggml.q4_0"), ("q8_0", "ggml.q8_0"), ("vllm.int8", "lmdeploy.int8"), ("", "")]
)
def test_unknown_presets_name_the_nearest(wrong, nearest):
    with pytest.raises(kvq.Error, match=f"unknown preset '{wrong}', the nearest are .*{nearest}"):
        kvq.Format.preset(wrong)


def test_bits_of_presets():
    bits = {row.name: row.bits_per_element for row in formats.list_formats(128)}
    for name, size in {"q8_0": 34, "q4_0": 18, "q4_1": 20, "q5_0": 22, "q5_1": 24, "iq4_nl": 18, "mxfp4": 17}.items():
        assert bits[f"ggml.{name}"] == size * 8 / 32
    assert bits["vllm.mla_fp8_row"] == 656 * 8 / 576 and bits["vllm.mla_nvfp4_row"] == 352 * 8 / 576
    assert bits["openvino.u8_by_channel"] == 8 + 64 / 32 and bits["kivi.2bit_keys"] == 2 + 32 / 32
    assert bits["vllm.int8_per_token_head"] == 132 * 8 / 128 and bits["vllm.int4_per_token_head"] == 68 * 8 / 128
    assert bits["exact f16"] == 16 and bits["exact f32"] == 32 and bits["i4"] == 4.5 and bits["ui2, minimum"] == 3


def output_of(capsys, *arguments: str) -> str:
    assert command_line.main(["formats", *arguments]) == 0
    return capsys.readouterr().out


def test_the_documentation_is_what_the_table_says(capsys):
    text = (Path(__file__).parents[2] / "docs" / "Presets.md").read_text(encoding="utf-8")
    assert output_of(capsys, "--presets") == text


def test_command(capsys):
    listed = json.loads(output_of(capsys, "--json", "--head-dim", "64"))
    rows = {row["name"]: row for row in listed["formats"]}
    assert listed["head_dim"] == 64 and set(NAMES) < set(rows)
    assert rows["ggml.q4_0"]["bytes_per_token"] == 36 and rows["ggml.q4_0"]["bits_per_element"] == 4.5
    for row in rows.values():
        kind = kvq.Segments if row["format"].startswith("[") else kvq.Format
        assert str(kind(row["format"])) == row["format"] and row["source"]
    table = output_of(capsys)
    for row in rows.values():
        assert f"\n{row['name']}  " in table
    assert "docs/Semantics.md" in table


def test_formats_that_do_not_fit_are_listed_without_bytes(capsys):
    table = output_of(capsys, "--head-dim", "80")
    (line,) = [line for line in table.splitlines() if line.startswith("ggml.q4_0 ")]
    assert line.split()[1:3] == ["-", "-"] and "do not divide 80 channels" in table
    assert command_line.main(["formats", "--head-dim", "0"]) == 1
    assert "expected --head-dim of at least 1, got 0" in capsys.readouterr().err


def test_report_takes_presets(capsys):
    arguments = ["report", "--layers", "1", "--kv-heads", "8", "--head-dim", "128", "--tokens", "1", "--json"]
    assert command_line.main([*arguments, "--keys", "ggml.q8_0", "--values", "ggml.q4_0"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["bytes_per_token"] == 8 * 4 * (34 + 18)
    assert command_line.main([*arguments, "--keys", "ggml.q8_9"]) == 1
    assert "--keys: unknown preset 'ggml.q8_9', the nearest are ggml.q8_0" in capsys.readouterr().err
