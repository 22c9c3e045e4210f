"""Queries, keys and values from files: names, shapes, and what is said of those that cannot be used."""

import json

import numpy as np
import pytest
from kvq_mlir.evaluation import safetensors
from kvq_mlir.evaluation.recording import Recording, from_fixture, parse_name, read_tensors
from kvq_mlir.fixtures import Layer
from kvq_mlir.text import InputError


def draw(rng, layers=2, tokens=70):
    return {
        f"model.layers.{index}.self_attn.{side}": rng.standard_normal((heads, tokens, 32), np.float32)
        for index in range(layers)
        for side, heads in (("q", 4), ("k", 2), ("v", 2))
    }


def same(recording, tensors):
    assert len(recording.layers) * 3 == len(tensors)
    for index, layer in enumerate(recording.layers):
        for side, x in zip("qkv", layer, strict=True):
            assert x.dtype == np.float32
            np.testing.assert_array_equal(x, tensors[f"model.layers.{index}.self_attn.{side}"])


def test_formats_of_files(tmp_path, rng):
    tensors = draw(rng)
    np.savez(tmp_path / "all.npz", **tensors)
    safetensors.save(tmp_path / "all.safetensors", tensors)
    for name, x in tensors.items():
        np.save(tmp_path / f"{name}.npy", x)
    same(read_tensors([tmp_path / "all.npz"]), tensors)
    same(read_tensors([tmp_path / "all.safetensors"]), tensors)
    same(read_tensors([tmp_path / f"{name}.npy" for name in tensors]), tensors)
    # All layers in one tensor, or one layer alone, with an axis for its one sequence.
    stacked = {
        side: np.stack([tensors[f"model.layers.{index}.self_attn.{side}"] for index in range(2)]) for side in "qkv"
    }
    np.savez(tmp_path / "stacked.npz", queries=stacked["q"], keys=stacked["k"], values=stacked["v"])
    same(read_tensors([tmp_path / "stacked.npz"]), tensors)
    np.savez(tmp_path / "single.npz", q=stacked["q"][1:], k=stacked["k"][1:], v=stacked["v"][1:])
    np.testing.assert_array_equal(read_tensors([tmp_path / "single.npz"]).layers[0].k, stacked["k"][1])


def test_floats_of_other_widths(tmp_path, rng):
    x = rng.standard_normal((2, 64, 32))
    bits = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    path = tmp_path / "mixed.safetensors"
    safetensors.save(path, {"q": x, "k": x.astype(np.float16), "v": bits.view(np.int16)})
    raw = path.read_bytes().replace(b'"I16"', b'"BF16"').replace(b"[0,32768]", b"[0,32768]")
    length = int.from_bytes(raw[:8], "little") + 1  # the name is one character longer
    path.write_bytes(length.to_bytes(8, "little") + raw[8:])
    (layer,) = read_tensors([path]).layers
    np.testing.assert_array_equal(layer.q, x.astype(np.float32))
    np.testing.assert_array_equal(layer.k, x.astype(np.float16))
    np.testing.assert_array_equal(layer.v, (bits.astype(np.uint32) << 16).view(np.float32))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("q", ("q", None)),
        ("model.layers.12.self_attn.k", ("k", 12)),
        ("layer3_value", ("v", 3)),
        ("blk/7/Keys", ("k", 7)),
        ("queries", ("q", None)),
        ("weight", (None, None)),
        ("layers.0.k_proj", (None, None)),
        ("seq", (None, None)),
    ],
)
def test_names(name, expected):
    assert parse_name(name) == expected


def test_files_that_cannot_be_used(tmp_path, rng):
    tensors = draw(rng, 1)
    q, k, v = tensors.values()

    def refuse(message, paths=None, **found):
        if paths is None:
            paths = [tmp_path / "given.npz"]
            np.savez(paths[0], **found)
        with pytest.raises(InputError, match=message):
            read_tensors(paths)

    refuse("given.npz: expected q, k and v, or one of each .*; found a, b", a=q, b=k)
    refuse("given.npz: expected q, k and v, .*; found q, k$", q=q, k=k)
    refuse(r"expected layers 0 to 0, found \[3\]", **{f"layers.3.{side}": x for side, x in zip("qkv", (q, k, v))})
    refuse("tensor 'k': expected floats, found int64", q=q, k=k.astype(np.int64), v=v)
    refuse(r"expected k and v of one shape, found \[2, 70, 32\] and \[2, 69, 32\]", q=q, k=k, v=v[:, 1:])
    refuse(r"expected q with k's 70 tokens of 32 channels, found \[4, 69, 32\]", q=q[:, 1:], k=k, v=v)
    refuse("layer 0: 3 query heads are not a multiple of 2 KV heads", q=q[:3], k=k, v=v)
    refuse("expected tensors of 3 or 4 axes, heads, tokens and dim the last, found q .*4, 70.*", q=q[..., 0], k=k, v=v)
    broken = v.copy()
    broken[1, 69, 3] = np.nan
    refuse(r"tensor 'v' has 1 elements that are not finite, the first nan at \[1, 69, 3\]", q=q, k=k, v=broken)
    broken[0, 7, 2] = -np.inf
    refuse(r"tensor 'v' has 2 elements that are not finite, the first -inf at \[0, 7, 2\]", q=q, k=k, v=broken)
    refuse("cannot read .*none.npz: No such file", paths=[tmp_path / "none.npz"])
    refuse("--tensors: expected one .npz or .safetensors file, or .npy files, found .*x.bin", paths=[tmp_path / "x.bin"])
    for suffix in ("npz", "npy", "safetensors"):
        path = tmp_path / f"text.{suffix}"
        path.write_text("It was about the beginning of September, 1664", encoding="utf-8")
        refuse(f"text.{suffix} is no .?{suffix} file", paths=[path])


def test_cut_safetensors(tmp_path, rng):
    path = tmp_path / "cut.safetensors"
    safetensors.save(path, draw(rng, 1))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match="tensor '.*v': expected 17920 bytes within the file, found offsets"):
        read_tensors([path])


def test_safetensors_header(tmp_path):
    """The bytes of the format's own description: length, JSON, data."""
    path = tmp_path / "one.safetensors"
    safetensors.save(path, {"x": np.array([1, 2], np.float16)}, {"made": "here"})
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert length % 8 == 0 and raw[8 + length :] == b"\x00\x3c\x00\x40"
    assert json.loads(raw[8 : 8 + length]) == {
        "__metadata__": {"made": "here"},
        "x": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
    }
    assert safetensors.TensorFile(path).metadata == {"made": "here"}


def test_first_tokens(rng):
    recording = from_fixture("heavy-tails", 100, 0)
    assert recording.first(70).tokens == 70
    with pytest.raises(InputError, match="--tokens: expected at most the 100 that there are, found 101"):
        recording.first(101)
    with pytest.raises(InputError, match="--fixture: unknown fixture 'heavy', nearest: heavy-tails"):
        from_fixture("heavy", 100, 0)
    x = np.zeros((2, 64, 32), np.float32)
    with pytest.raises(InputError, match="layer 1: expected the shapes of layer 0"):
        Recording("two", [Layer(x, x, x), Layer(x[:, :60], x[:, :60], x[:, :60])])
