"""Models of transformers, random and tiny, against the library's own passes. With `tools/check --torch`."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from kvq_mlir.__main__ import main
from kvq_mlir.evaluation import CachedModel, huggingface, uniform
from kvq_mlir.evaluation.kept import EXACT
from kvq_mlir.model import exact_attention
from kvq_mlir.rope import Rope
from kvq_mlir.text import InputError
from test_model import PLAGUE_YEAR

SIZES = dict(
    **dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2),
    **dict(head_dim=32, vocab_size=300, max_position_embeddings=256),
)


def make(kind: str, folder: Path, **more) -> Path:
    """A random model with a tokenizer of bytes."""
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    torch.manual_seed(int(np.random.default_rng().integers(1 << 31)))
    names = {"llama": "Llama", "qwen2": "Qwen2", "mistral": "Mistral", "qwen3": "Qwen3", "gemma2": "Gemma2"}
    config = getattr(transformers, names[kind] + "Config")(**SIZES | more)
    model = getattr(transformers, names[kind] + "ForCausalLM")(config)
    for parameter in model.parameters():  # as far from 0 as trained ones, biases too
        torch.nn.init.normal_(parameter, std=0.3 if parameter.ndim > 1 else 1.0)
    model.save_pretrained(folder)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return folder


def own_logits(folder: Path, ids: np.ndarray) -> np.ndarray:
    """Of the library's own pass, with its own attention."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        return model(torch.from_numpy(ids[None])).logits[0].numpy()


@pytest.mark.torch
@pytest.mark.parametrize("kind", huggingface.MODEL_TYPES)
def test_passes_are_the_librarys(kind, tmp_path):
    folder = make(kind, tmp_path)
    model = huggingface.HuggingFaceModel(folder, 100)
    ids = model.tokenize(PLAGUE_YEAR, 100)
    expected = own_logits(folder, ids)

    x = model.embed(ids[None])
    for layer in range(model.config.layers):
        x = model.layer(layer, x, lambda layer, q, k, v: exact_attention(q, k, v, np.float32))
    found = model.logits(model.normalize(x))[0]
    assert np.linalg.norm(found - expected) <= 1e-4 * np.linalg.norm(expected)

    # Over caches, a few tokens at a time; float16 keys and values move them by their rounding alone.
    config = model.config
    cached = CachedModel(model, uniform(config.layers, config.kv_heads, EXACT, EXACT), 1, 100)
    parts = [cached.extend(ids[None, first:end]) for first, end in ((0, 1), (1, 60), (60, 100))]
    found = model.logits(np.concatenate(parts, axis=1))[0]
    assert np.linalg.norm(found - expected) <= 2e-2 * np.linalg.norm(expected)
    assert np.array_equal(found[-1].argsort()[-3:], expected[-1].argsort()[-3:])


@pytest.mark.torch
def test_evaluation(tmp_path):
    folder = make("qwen2", tmp_path / "model")
    (tmp_path / "text.txt").write_text(PLAGUE_YEAR, encoding="utf-8")
    arguments = ["eval", "--model", str(folder), "--text", str(tmp_path / "text.txt"), "--tokens", "128", "--threads", "1"]
    arguments += ["--keys", "codes = i4, group = [1, 32], scale = f16", "--queries", "32", "--no-times"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "eval.json").read_text(encoding="utf-8"))
    assert (result["layers"], result["query_heads"], result["kv_heads"], result["head_dim"]) == (3, 4, 2, 32)
    (policy,) = result["policies"]
    assert policy["model"]["next_token_kl_mean"] > 0 and policy["attention"]["output_error_keys"] > 0
    ids = huggingface.HuggingFaceModel(folder, 128).tokenize(PLAGUE_YEAR, 128)
    logits = own_logits(folder, ids)
    top = logits.max(axis=-1, keepdims=True)
    losses = (np.log(np.exp(logits - top).sum(axis=-1)) + top[:, 0])[:-1] - logits[np.arange(127), ids[1:]]
    assert policy["model"]["exact_perplexity"] == pytest.approx(math.exp(losses.mean()), rel=0.02)


@pytest.mark.torch
def test_models_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="unsupported attention: expected a model of llama, .*, found gemma2"):
        huggingface.HuggingFaceModel(make("gemma2", tmp_path / "gemma"), 64)
    folder = make("mistral", tmp_path / "mistral", sliding_window=80)
    huggingface.HuggingFaceModel(folder, 80)
    with pytest.raises(InputError, match="unsupported attention: a sliding window of 80 tokens, which 81 tokens do not fit"):
        huggingface.HuggingFaceModel(folder, 81)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="--model: cannot read .*mistral"):
        huggingface.HuggingFaceModel(folder, 64)
    with pytest.raises(InputError, match="expected a folder with a model's config.json, found none in"):
        huggingface.HuggingFaceModel(tmp_path, 64)


def test_missing_packages(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(huggingface, "find_spec", lambda name: None)
    assert main(["eval", "--model", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "error: --model needs packages that are missing: pip install torch transformers\n"


def test_configurations():
    found = SimpleNamespace(model_type="llama", **SIZES, rms_norm_eps=1e-6, rope_theta=5e5)
    config = huggingface.check_config(found, Path("model"), 256)
    assert (config.layers, config.query_heads, config.kv_heads, config.head_dim, config.context) == (3, 4, 2, 32, 256)
    assert (config.rope, config.norm_epsilon) == (Rope(5e5, "half"), 1e-6)
    with pytest.raises(InputError, match=r"--tokens: expected at most 256 \(the model's context\), found 257"):
        huggingface.check_config(found, Path("model"), 257)
    found.model_type = "deepseek_v3"
    with pytest.raises(InputError, match="model: unsupported attention: .*found deepseek_v3"):
        huggingface.check_config(found, Path("model"), 64)
