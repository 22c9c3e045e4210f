"""Presets against bytes worked out from the engines' published rules, and against what the package gguf writes."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import __main__ as command_line
from kvq_mlir import _kvq, formats, reference
from kvq_mlir.reference.layouts import ggml, kivi, lmdeploy, mla, mlx, mx, nvfp4, onnxruntime, openvino, vllm, words

NAMES = [name for name, *_ in _kvq.presets()]
B = np.float32([-3, -1, 0, 1, 2.5, 4.5, 12, 7.4])
J = np.arange(32)
GRID = [0.0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7]
FP4_BLOCK = np.float32([*GRID, *(-v for v in GRID)])


def raw(x: np.ndarray) -> np.ndarray:
    """The bytes of each row."""
    x = np.ascontiguousarray(x)
    return x.view(np.uint8).reshape(*x.shape[:-1], -1)


def f16(x: np.ndarray) -> np.ndarray:
    return raw(reference.FloatType.named("f16").encode(x))


def mx_parts(element: str):
    bits = reference.FloatType.named(element).bits

    def parts(x: np.ndarray) -> dict[str, np.ndarray]:
        scales, codes = mx.quantize(x, element)
        return {"codes": words.bitstream(codes, bits), "scales": scales}

    return parts


def mlx_parts(bits: int):
    def parts(x: np.ndarray) -> dict[str, np.ndarray]:
        codes, scales, biases = mlx.affine(x, bits, 64)
        return {"codes": codes, "scales": f16(scales), "zeros": f16(biases)}

    return parts


def kivi_parts(x: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(("codes", "scales", "zeros"), map(raw, kivi.values(x, 2, 32)), strict=True))


def mla_latent(x: np.ndarray) -> np.ndarray:
    """The part of the latent of a row of 656 bytes."""
    rope = np.zeros((*x.shape[:-1], mla.ROPE), np.float32)
    return mla.fp8_row(np.concatenate([x, rope], axis=-1))[..., :528]


def records(pack):
    return lambda x: {"records": pack(x)}


def with_pairs(pack, bits: int):
    return lambda x: dict(zip(("codes", "records"), pack(x, bits), strict=True))


# The bytes of each component, by preset.
ORACLES = {
    **{f"ggml.{name}": records(getattr(ggml, name)) for name in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1")},
    **{f"ggml.{name}": records(getattr(ggml, name)) for name in ("iq4_nl", "mxfp4")},
    "mx.fp8_e4m3": mx_parts("f8E4M3FN"),
    "mx.fp8_e5m2": mx_parts("f8E5M2"),
    "mx.fp6_e2m3": mx_parts("f6E2M3FN"),
    "mx.fp6_e3m2": mx_parts("f6E3M2FN"),
    "mx.fp4": mx_parts("f4E2M1FN"),
    "vllm.int8_per_token_head": records(vllm.int8_per_token_head),
    "vllm.fp8_per_token_head": records(vllm.fp8_per_token_head),
    "vllm.int4_per_token_head": records(vllm.int4_per_token_head),
    "vllm.mla_fp8_latent": records(lambda x: mla_latent(x)),
    "lmdeploy.int8": with_pairs(lmdeploy.pytorch, 8),
    "lmdeploy.int4": with_pairs(lmdeploy.pytorch, 4),
    "lmdeploy.turbomind_int8": with_pairs(lmdeploy.turbomind, 8),
    "lmdeploy.turbomind_int4": with_pairs(lmdeploy.turbomind, 4),
    **{f"mlx.affine_{bits}bit": mlx_parts(bits) for bits in (2, 3, 4, 5, 6, 8)},
    "openvino.u8_by_token": records(lambda x: openvino.by_token(x, 8, 32)),
    "openvino.u4_by_token": records(lambda x: openvino.by_token(x, 4, 32)),
    "turboquant.4bit_values": records(lambda x: vllm.turboquant_values(x, 4)),
    "turboquant.3bit_values": records(lambda x: vllm.turboquant_values(x, 3)),
    "kivi.2bit_values": kivi_parts,
}


# The bytes of the components that follow from given scales, by preset; and the type and kind of these.
GIVEN = {
    "nvfp4": ("outer", lambda x, g: dict(zip(("scales", "codes"), nvfp4.quantize(x, g), strict=True))),
    "vllm.fp8_per_tensor": ("tensor", lambda x, s: {"codes": vllm.fp8_per_tensor(x, s)}),
    **{
        f"onnxruntime.{name}_per_{kind}": (kind, lambda x, s, name=name: {"codes": getattr(onnxruntime, name)(x, s)})
        for name in ("int8", "int4", "fp8")
        for kind in ("tensor", "channel")
    },
}


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


def stored(name: str, x: np.ndarray, given: dict[str, np.ndarray] | None = None) -> dict[str, np.ndarray]:
    """The bytes that a cache of the preset holds of x [1, heads, tokens, dim], in memory that was 0xFF before."""
    _, heads, tokens, dim = x.shape
    dtype = {2: "f16", 4: "f32"}[x.dtype.itemsize]
    cache = kvq.Cache(1, heads, tokens, dim, kvq.Format.preset(name), dtype=dtype, given=given, fill=0xFF)
    cache.append(x)
    return {part: raw(array) for part, array in cache.storage().items()}


@pytest.mark.parametrize("name", ORACLES)
def test_bytes_of_random_rows(name, rng):
    x = draw(rng, (1, 2, 150, 512 if "mla" in name else 128))
    if rng.random() < 0.5:
        x = x.astype(np.float32)
    expected = ORACLES[name](x.astype(np.float32))
    found = stored(name, x)
    assert found.keys() == expected.keys()
    for part, bytes_ in found.items():
        assert np.array_equal(bytes_, expected[part]), (part, x.dtype)


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


# --- the vectors of LAYOUTS.md --------------------------------------------------------------------------------------


def block(*values: float, size: int = 32, **at: float) -> np.ndarray:
    """A block that starts with `values` and holds x<i>=value at i; the rest is 0."""
    x = np.zeros(size, np.float32)
    x[: len(values)] = values
    for name, value in at.items():
        x[int(name[1:])] = value
    return x


COUNTING = "00112233445566778899aabbccddeeff"
MX_ROW = block(1, -2.5, 0.3, 7, 0, -0.0625)
VECTORS = [
    ("ggml.q8_0", block(127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.25), "003c 7f010203fffefd03" + "00" * 24),
    ("ggml.q8_0", block(), "0000" + "00" * 32),
    ("ggml.q4_0", J - 16.0, "0040 809191a2a2b3b3c4c4d5d5e6e6f7f7f8"),
    ("ggml.q4_0", block(8, -8, 1, 0.5, x16=-1, x17=-0.5), "00bc 909f8788" + "88" * 12),
    ("ggml.q4_0", block(), "0080" + "88" * 16),
    ("ggml.q4_1", J % 16 - 4.0, "003c 00c4" + COUNTING),
    ("ggml.q4_1", 0.5 * J - 1, "223c 00bc 80809191a2a2b3b3c4c4d5d5e6e6f7f7"),
    ("ggml.q4_1", np.full(32, -2.0), "0000 00c0" + "00" * 16),
    ("ggml.q5_0", J - 16.0, "003c 0000ffff" + COUNTING),
    ("ggml.q5_0", block(), "0080 ffffffff" + "00" * 16),
    ("ggml.q5_1", J + 2.0, "003c 0040 0000ffff" + COUNTING),
    ("ggml.iq4_nl", ggml.IQ4_NL[J % 16] / 64, "0024" + COUNTING),
    ("ggml.iq4_nl", block(4, -4, 2, x16=1), "3da8 508f8388" + "88" * 12),
    ("ggml.iq4_nl", block(), "0000" + "00" * 16),
    ("ggml.mxfp4", FP4_BLOCK, "7f 00009191a2a2b3b3c4c4d5d5e6e6f7f7"),
    ("ggml.mxfp4", block(), "00" + "00" * 16),
    ("mx.fp4", FP4_BLOCK, "002122434465667788a9aacbccedeeff 7f"),
    ("mx.fp8_e4m3", MX_ROW, "68f25a7e00c8" + "00" * 26 + "79"),
    ("mx.fp8_e5m2", MX_ROW, "70f5697b00e0" + "00" * 26 + "72"),
    ("mx.fp6_e2m3", MX_ROW, words.bitstream(np.uint8([8, 0x32, 2, 0x1E, 0, 0x20] + [0] * 26), 6).tobytes().hex() + "7f"),
    ("mx.fp6_e3m2", MX_ROW, words.bitstream(np.uint8([0x14, 0x39, 0x0D, 0x1F, 0, 0x24] + [0] * 26), 6).tobytes().hex() + "7d"),
    ("vllm.int4_per_token_head", B, "204386af0300803f"),
    ("vllm.int4_per_token_head", block(-3, 12, 1.5, -2.5, size=4), "f015" + "0300803f"),
    ("vllm.int8_per_token_head", block(254, -254, 1, -1, 3, 2.9, size=6), "7f8101ff0201" + "00000040"),
    ("vllm.int8_per_token_head", block(size=4), "00000000" + "bd378635"),
    ("vllm.fp8_per_token_head", block(896, -896, 2, 0.25, size=4), "7efe3820" + "00000040"),
    ("lmdeploy.int4", B, "6082f3a4 003c0042"),
    ("lmdeploy.int8", block(-51, 204, 0.5, 1.5, size=4), "00ff3435 003c6052"),
    ("lmdeploy.turbomind_int4", B, "30f642a8 003c00c2"),
    ("lmdeploy.turbomind_int8", block(-51, 204, 0.5, 1.5, size=4), "00ff3434 003c60d2"),
    ("mlx.affine_4bit", np.arange(64) % 16 - 4.0, "efcdab8967452301" * 4 + "00bc 8049"),
    ("mlx.affine_4bit", np.arange(64) % 16 - 11.0, "1032547698badcfe" * 4 + "003c 80c9"),
    ("openvino.u8_by_token", np.tile(np.float32([-51, 0, 51, 204]), 8), "0000803f00004c42" + "003366ff" * 8),
    ("openvino.u4_by_token", np.tile(B, 4), "0000803f00004040" + "023468fa" * 4),
    # Steps of 1 from -3: 4.5 and 0.5 steps go up. Steps of 2 from 0; bits of eight codes in three bytes.
    ("turboquant.4bit_values", block(-3, 12, 1.5, -2.5, size=4), "f015 003c 00c2"),
    ("turboquant.3bit_values", 2.0 * np.arange(8), "88c6fa 0040 0000"),
    ("turboquant.3bit_values", block(size=8), "000000 0000 0000"),
    ("kivi.2bit_values", (7 * J) % 32, "94935e4e3a39e5a4 2b49 0000"),
    ("kivi.2bit_values", J % 4, "e4e4e4e4e4e4e4e4 003c 0000"),
]


@pytest.mark.parametrize("name, x, expected", VECTORS, ids=[f"{i}-{vector[0]}" for i, vector in enumerate(VECTORS)])
def test_vectors(name, x, expected):
    z = kvq.quantize(np.float32(x).reshape(1, 1, 1, -1), kvq.Format.preset(name))
    parts = z.packed_components()
    if "records" not in parts:
        parts |= {part: raw(getattr(z, part)) for part in ("scales", "zeros") if getattr(z, part) is not None}
    found = b"".join(part.tobytes() for part in parts.values()).hex()
    assert found == expected.replace(" ", "")


NVFP4_ROW = 0.5 * np.float32([0, 0.5, 1, -1.5, 2, 3, -4, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -6])
ROW = np.float32([1, -1, 0.25, 0.75, -4.5, 3.6, 0, 0])


@pytest.mark.parametrize(
    "name, x, scale, expected",
    [
        ("nvfp4", NVFP4_ROW, 1.0, "10b2547e204264f6 30"),
        ("nvfp4", NVFP4_ROW, 2.0**-4, "10b2547e204264f6 50"),
        ("vllm.fp8_per_tensor", np.float32([1, -0.3, 448, 500, 0.001]), 0.5, "40b27e7e01"),
        ("onnxruntime.int4_per_tensor", ROW, 0.5, "6aa8f088"),
        ("onnxruntime.int8_per_tensor", np.float32([1, -1, 0.25, 0.75, 100, -100]), 0.5, "02fe00027f80"),
        ("onnxruntime.int8_per_channel", np.float32([3, -3]), np.float32([1, 3]), "03ff"),
        ("onnxruntime.fp8_per_tensor", np.float32([1, -0.3, 448, 500, 0.001]), 0.5, "40b27e7e01"),
    ],
)
def test_vectors_under_given_scales(name, x, scale, expected):
    given = {"outer_scales" if name == "nvfp4" else "scales": np.float32(scale).reshape(1, -1)}
    z = kvq.quantize(x.reshape(1, 1, 1, -1), kvq.Format.preset(name), given)
    found = z.packed.tobytes() + (z.scales.tobytes() if name == "nvfp4" else b"")
    assert found.hex() == expected.replace(" ", "")


def test_kivi_computes_in_f16():
    # Extent 6, scale 2. 2.00195 + 3 is a tie in f16 and becomes 5: 2.5 goes to 2, where f32 would have 2.50098, 3.
    x = np.float16([-3, 3, 2 + 2.0**-9, 0] * 8).reshape(1, 1, 1, 32)
    assert kvq.quantize(x, kvq.Format.preset("kivi.2bit_values")).codes.ravel()[:4].tolist() == [0, 3, 2, 2]


# --- names, table and documentation ---------------------------------------------------------------------------------


def test_every_preset_has_an_oracle_and_is_a_format():
    assert sorted({**ORACLES, **GIVEN}) == sorted(NAMES) and len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        fmt = kvq.Format.preset(name)
        assert kvq.Format(str(fmt)) == fmt
        printed = kvq.parse(f'func.func private @f() attributes {{f = #kvq.preset<"{name}">}}')
        assert f"f = #kvq.format<{fmt}>" in printed and "preset" not in printed


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
        assert str(kvq.Format(row["format"])) == row["format"] and row["source"]
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
