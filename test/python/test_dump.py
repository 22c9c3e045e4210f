"""Dumps of engines' caches, written by the rules of their layouts, evaluated end to end."""

import json

import gguf
import numpy as np
import pytest
from kvq_mlir.__main__ import main
from kvq_mlir.evaluation import safetensors
from kvq_mlir.evaluation.dump import read_dump
from kvq_mlir.text import InputError

LAYERS, HEADS, DIM, TOKENS, CELLS = 2, 2, 64, 100, 128
BLOCK, BLOCKS = 16, 20


def draw(rng):
    return {
        f"layers.{layer}.{side}": rng.standard_normal((heads, TOKENS, DIM)).astype(np.float16)
        for layer in range(LAYERS)
        for side, heads in (("q", 4), ("k", HEADS), ("v", HEADS))
    }


def cells_of_llama_cpp(x, kind):
    """[heads, tokens, dim] -> cells of all heads' rows, quantized by ggml's own rules in the package gguf; the cells
    behind the tokens hold anything."""
    rows = x.swapaxes(0, 1).reshape(TOKENS, -1).astype(np.float32)
    if kind is None:
        found = rows.astype(np.float16).view(np.uint8)
    else:
        found = gguf.quants.quantize(rows, kind)
    cells = np.full((CELLS, found.shape[1]), 0xAB, np.uint8)
    cells[:TOKENS] = found
    return cells


def write(folder, entries, tensors, queries):
    safetensors.save(folder / "cache.safetensors", tensors)
    np.savez(folder / "tensors.npz", **queries)
    path = folder / "dump.json"
    path.write_text(json.dumps({"data": "cache.safetensors", "kv_heads": HEADS, "head_dim": DIM, **entries}), "utf-8")
    return path


def llama_cpp(folder, tensors, keys=("ggml.q8_0", gguf.GGMLQuantizationType.Q8_0), values=("f16", None)):
    kinds = {"k": keys[1], "v": values[1]}
    cells = {
        f"layers.{layer}.{side}": cells_of_llama_cpp(tensors[f"layers.{layer}.{side}"], kinds[side])
        for layer in range(LAYERS)
        for side in "kv"
    }
    entries = {"engine": "llama.cpp", "keys": keys[0], "values": values[0], "tokens": TOKENS}
    return write(folder, entries, cells, tensors)


def rows_of_vllm(x):
    """int8 for each token and head, by the rule that docs/Presets.md quotes: codes, and then the scale in float32."""
    x = x.astype(np.float32)
    scale = np.maximum(np.abs(x).max(axis=-1, keepdims=True) / np.float32(127), np.float32(1e-6))
    scaled = x * (np.float32(1) / scale)
    codes = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)
    return np.concatenate([codes.view(np.uint8), scale.view(np.uint8)], axis=-1), codes * scale


def vllm(folder, rng, tensors):
    table = rng.permutation(BLOCKS)[: -(-TOKENS // BLOCK)]
    pools, rebuilt = {}, {}
    for layer in range(LAYERS):
        pool = rng.integers(0, 256, (2, BLOCKS, BLOCK, HEADS, DIM + 4), dtype=np.uint8)  # other sequences' blocks
        for index, side in enumerate("kv"):
            rows, rebuilt[layer, side] = rows_of_vllm(tensors[f"layers.{layer}.{side}"])
            for token in range(TOKENS):
                pool[index, table[token // BLOCK], token % BLOCK] = rows[:, token]
        pools[f"layers.{layer}.kv"] = pool
    name = "vllm.int8_per_token_head"
    entries = {"engine": "vllm", "keys": name, "values": name, "tokens": TOKENS, "block_size": BLOCK}
    return write(folder, entries | {"block_table": table.tolist()}, pools, tensors), rebuilt


def evaluate(path, tensors, out, *more):
    arguments = ["eval", "--dump", str(path), "--tensors", str(tensors), "--queries", "32", "--no-times"]
    assert main([*arguments, "--out", str(out), *more]) == 0
    return json.loads((out / "eval.json").read_text(encoding="utf-8"))


def test_llama_cpp_dump(tmp_path, rng):
    """What ggml stored, against exact keys and values, and beside it kvq's own cache of the same preset: its bytes are the
    same, so are its errors."""
    tensors = draw(rng)
    path = llama_cpp(tmp_path, tensors)
    dump = read_dump(path)
    for layer in range(LAYERS):
        k, v = tensors[f"layers.{layer}.k"], tensors[f"layers.{layer}.v"]
        expected = gguf.quants.dequantize(
            gguf.quants.quantize(k.astype(np.float32), gguf.GGMLQuantizationType.Q8_0), gguf.GGMLQuantizationType.Q8_0
        )
        np.testing.assert_allclose(dump.keys[layer], expected, rtol=1e-6)
        np.testing.assert_array_equal(dump.values[layer], v)
    result = evaluate(path, tmp_path / "tensors.npz", tmp_path / "out", "--keys", "ggml.q8_0")
    dumped, own = (policy["attention"] for policy in result["policies"])
    assert [policy["name"] for policy in result["policies"]] == ["as dumped", "K ggml.q8_0, V 16-bit"]
    assert dumped["output_error_values"] == 0 < dumped["output_error_keys"]
    for name in ("score_error_relative", "attention_kl_mean", "output_error_both"):
        assert dumped[name] == pytest.approx(own[name], rel=1e-6)
    systems = [policy["systems"] for policy in result["policies"]]
    assert systems[0]["bytes_per_token"] == systems[1]["bytes_per_token"] == LAYERS * HEADS * (DIM / 32 * 34 + DIM * 2)


def test_vllm_dump(tmp_path, rng):
    tensors = draw(rng)
    path, rebuilt = vllm(tmp_path, rng, tensors)
    dump = read_dump(path)
    for (layer, side), expected in rebuilt.items():
        np.testing.assert_allclose((dump.keys if side == "k" else dump.values)[layer], expected, rtol=1e-6)
    preset = "vllm.int8_per_token_head"
    result = evaluate(path, tmp_path / "tensors.npz", tmp_path / "out", "--keys", preset, "--values", preset)
    dumped, own = (policy["attention"] for policy in result["policies"])
    for name in ("output_error_keys", "output_error_values", "output_error_both"):
        assert 0 < dumped[name] == pytest.approx(own[name], rel=1e-6)
    assert result["policies"][0]["systems"]["bytes_per_token"] == LAYERS * HEADS * 2 * (DIM + 4)


def test_scales_of_fp8_dumps(tmp_path, rng):
    """Static scales lie beside the cache, under their names in checkpoints."""
    tensors = draw(rng)
    pools = {}
    for layer in range(LAYERS):
        pools[f"layers.{layer}.kv"] = np.full((2, 7, BLOCK, HEADS, DIM), 0x38, np.uint8)  # 1 in f8E4M3FN
        pools[f"layers.{layer}.kv"][1] = 0xC0  # -2
        for side, scale in (("k", 0.5), ("v", 3)):
            pools[f"model.layers.{layer}.self_attn.{side}_scale"] = np.array(scale + layer, np.float32)
    name = "vllm.fp8_per_tensor"
    entries = {"engine": "vllm", "keys": name, "values": name, "tokens": TOKENS, "block_size": BLOCK}
    dump = read_dump(write(tmp_path, entries | {"block_table": list(range(7))}, pools, tensors))
    for layer in range(LAYERS):
        assert np.all(dump.keys[layer] == 0.5 + layer) and np.all(dump.values[layer] == -2 * (3 + layer))


def test_queries_alone_make_the_dump_the_data(tmp_path, rng):
    """Policies are evaluated on what a 16-bit cache of an engine holds."""
    tensors = draw(rng)
    path = llama_cpp(tmp_path, tensors, keys=("f16", None))
    np.savez(tmp_path / "queries.npz", **{name: x for name, x in tensors.items() if name.endswith("q")})
    sides = ["--keys", "codes = i4, group = [1, 32], scale = f16"]
    of_dump = evaluate(path, tmp_path / "queries.npz", tmp_path / "dump", *sides)
    assert of_dump["source"] == "dump dump.json" and len(of_dump["policies"]) == 1
    arguments = ["eval", "--tensors", str(tmp_path / "tensors.npz"), "--queries", "32", "--no-times", *sides]
    assert main([*arguments, "--out", str(tmp_path / "tensors")]) == 0
    of_tensors = json.loads((tmp_path / "tensors" / "eval.json").read_text(encoding="utf-8"))
    assert of_dump["policies"][0]["attention"] == of_tensors["policies"][0]["attention"]


def test_dumps_that_cannot_be(tmp_path, rng):
    path = llama_cpp(tmp_path, draw(rng))
    good = json.loads(path.read_text(encoding="utf-8"))

    def refuse(message, **change):
        path.write_text(json.dumps({name: x for name, x in (good | change).items() if x is not None}), "utf-8")
        with pytest.raises(InputError, match=message):
            read_dump(path)

    refuse('expected an object with "engine", one of llama.cpp, vllm, found \'ollama\'', engine="ollama")
    refuse("expected the entries engine, keys, .*, found data, kv_heads", tokens=None)
    refuse("expected the entries engine, .*block_table, found", engine="vllm")
    refuse("tokens: expected a number of at least 1, found 0", tokens=0)
    refuse("head_dim: expected a number of at least 1, found '64'", head_dim="64")
    refuse("keys: .*ggml.q8_0", keys="ggml.q8")
    refuse("layer 0, keys: expected at least 100 cells of 72 bytes, .*, found shape \\[128, 136\\]", keys="ggml.q4_0")
    refuse("layer 0, keys: expected at least 129 cells of 136 bytes, .*, found shape \\[128, 136\\]", tokens=129)
    refuse("layer 0, keys: expected a preset that is stored in one piece, found codes, records", keys="lmdeploy.int4")
    refuse("cannot read .*none.npz", data="none.npz")
    safetensors.save(tmp_path / "other.safetensors", {"blk.0.k": np.zeros((4, 4), np.uint8)})
    refuse("expected tensors layers.N.k and layers.N.v for layers from 0 on, found blk.0.k", data="other.safetensors")
    rows = np.full((TOKENS, HEADS * DIM), 1, np.float16)
    rows[7, DIM + 3] = np.nan
    safetensors.save(tmp_path / "nan.safetensors", {"layers.0.k": rows, "layers.0.v": rows})
    refuse(
        "layer 0, keys: 1 elements are not finite, the first nan of head 1, token 7, channel 3",
        data="nan.safetensors",
        keys="f16",
    )


def test_dumps_of_other_tokens(tmp_path, rng, capsys):
    path = llama_cpp(tmp_path, draw(rng))
    arguments = ["eval", "--dump", str(path), "--tensors", str(tmp_path / "tensors.npz"), "--queries", "8"]
    assert main([*arguments, "--tokens", "90"]) == 1
    message = "expected tensors of its [layers, kv_heads, tokens, head_dim] [2, 2, 100, 64], found [2, 2, 90, 64]"
    assert message in capsys.readouterr().err
    assert main(["eval", "--dump", str(path)]) == 1
    assert "--dump: expected --tensors beside it" in capsys.readouterr().err


def test_block_tables_that_cannot_be(tmp_path, rng):
    path, _ = vllm(tmp_path, rng, draw(rng))
    good = json.loads(path.read_text(encoding="utf-8"))
    for table in ([0, 1, 2], list(range(19, 26)), ["a"] * 7):
        path.write_text(json.dumps(good | {"block_table": table}), "utf-8")
        with pytest.raises(InputError, match="expected a block_table of at least 7 blocks below 20, found"):
            read_dump(path)


