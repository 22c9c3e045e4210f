"""KvqCache in models of transformers, random and tiny, against the library's own cache. With `tools/check --torch`."""

import copy
import importlib
import sys

import kvq_mlir as kvq
import numpy as np
import pytest
from reference_helpers import round_trip

EXACT = "codes = none"
I8 = "codes = i8, group = [1, 32], scale = f32"
I4 = "codes = i4, group = [1, 16], scale = f32"
PER_CHANNEL = "codes = ui4, group = [16, 1], scale = f16, zero = min f16"
SIZES = dict(
    **dict(hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2),
    **dict(head_dim=32, vocab_size=300, max_position_embeddings=2048),
    **dict(pad_token_id=0, bos_token_id=1, eos_token_id=None),
)
# Windows of a few tokens; Qwen 2 and Gemma 2 have layers of both kinds.
KINDS = {
    "llama": ("Llama", {}),
    "mistral": ("Mistral", dict(sliding_window=20)),
    "qwen2": ("Qwen2", dict(use_sliding_window=True, sliding_window=24, max_window_layers=1)),
    "gemma2": ("Gemma2", dict(sliding_window=24, attn_logit_softcapping=20.0)),
    # Whose keys and values, of embeddings alone, do not depend on a cache.
    "one full layer": ("Llama", dict(num_hidden_layers=1)),
    "one sliding layer": ("Mistral", dict(num_hidden_layers=1, sliding_window=20)),
}
DEEP = ("llama", "mistral", "qwen2", "gemma2")
# Relative, of logits: where layers' inputs differ by rounding, a few codes of the later ones differ by one.
FLIPS = 2e-2
pytestmark = pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def models():
    """Models by kind, made once, with weights as far from 0 as trained ones."""
    import torch
    import transformers

    found = {}

    def make(kind, seed=None):
        if (kind, seed) not in found:
            torch.manual_seed(int(np.random.default_rng(seed).integers(1 << 31)))
            name, more = KINDS[kind]
            config = getattr(transformers, name + "Config")(**SIZES | more)
            model = getattr(transformers, name + "ForCausalLM")(config).eval()
            for parameter in model.parameters():
                torch.nn.init.normal_(parameter, std=0.3 if parameter.ndim > 1 else 1.0)
            found[kind, seed] = model
        model = found[kind, seed]
        # As a new model is: Gemma 2 asks for its own.
        model.set_attn_implementation("eager" if kind == "gemma2" else "sdpa")
        return model

    return make


def kvq_cache(model, *policy, **options):
    from kvq_mlir.torch import KvqCache

    if model.config.model_type == "gemma2":
        model.set_attn_implementation("kvq")
    return KvqCache(model.config, *policy, **options)


def own_cache(model):
    from transformers import DynamicCache

    if model.config.model_type == "gemma2":
        model.set_attn_implementation("eager")
    return DynamicCache(config=model.config)


def draw(rng, *shape):
    import torch

    return torch.from_numpy(rng.integers(2, 300, shape))


def logits(model, ids, cache, **options):
    """Of one call after another over one cache: ids as a list are prompts in chunks."""
    import torch

    with torch.no_grad():
        return [model(part, cache=cache, **options).logits for part in ids]


def check_close(found, expected, bound=1e-5):
    """Rounding alone: in float32 2e-6 are seen."""
    for x, y in zip(found, expected, strict=True):
        assert (x - y).norm() <= bound * y.norm()


def check_same_tokens(model, ids, caches, count=24, **options):
    """Greedy tokens over two caches; where the two likeliest tie within rounding, either may follow."""
    options = dict(max_new_tokens=count, do_sample=False, return_dict_in_generate=True, output_scores=True) | options
    make_own, make_kvq = caches
    own = model.generate(ids, cache=make_own(), **options)
    found = model.generate(ids, cache=make_kvq(), **options)
    assert found.sequences.shape == own.sequences.shape == (ids.shape[0], ids.shape[1] + count)
    for b, (x, y) in enumerate(zip(own.sequences[:, ids.shape[1] :], found.sequences[:, ids.shape[1] :])):
        differ = (x != y).nonzero()
        if len(differ):
            scores = own.scores[int(differ[0])][b]
            first, second = scores.topk(2).values
            assert first - second <= 1e-4 * scores.abs().max()
    return found.sequences


@pytest.mark.torch
@pytest.mark.parametrize("kind", DEEP)
def test_logits_are_the_librarys(kind, models, rng):
    """A batch, a prompt in chunks beyond the window and the ring's room, then tokens one by one."""
    model = models(kind)
    parts = [draw(rng, 2, count) for count in (100, 1, 130, 1, 70, 1, 1)]
    expected = logits(model, parts, own_cache(model))
    cache = kvq_cache(model)
    check_close(logits(model, parts, cache), expected)
    assert cache.get_seq_length() == 304  # beyond the first capacity
    assert cache.is_sliding == own_cache(model).is_sliding
    assert all(isinstance(layer.get_seq_length(), int) for layer in cache.layers)


@pytest.mark.torch
@pytest.mark.parametrize("kind", DEEP)
def test_left_padding(kind, models, rng):
    import torch

    model = models(kind)
    ids, mask = draw(rng, 3, 60), torch.ones(3, 60, dtype=torch.int64)
    for b, padding in enumerate(rng.permutation([0, 17, 41]).tolist()):
        ids[b, :padding], mask[b, :padding] = 0, 0
    options = dict(attention_mask=mask, position_ids=(mask.cumsum(-1) - 1).clamp(min=0))
    (expected,) = logits(model, [ids], own_cache(model), **options)
    (found,) = logits(model, [ids], kvq_cache(model), **options)
    check_close([found[mask == 1]], [expected[mask == 1]])
    if kind != "gemma2":  # of which each cache needs another attention
        check_same_tokens(model, ids, (lambda: own_cache(model), lambda: kvq_cache(model)), attention_mask=mask)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("llama", "mistral"))
def test_greedy_tokens(kind, models, rng):
    """Two calls of generate on one cache, the second with what the first gave and more."""
    import torch

    model = models(kind)
    own, mine = own_cache(model), kvq_cache(model)
    sequences = check_same_tokens(model, draw(rng, 2, 50), (lambda: own, lambda: mine))
    assert mine.get_seq_length() == own.get_seq_length() == 73
    longer = torch.cat([sequences, draw(rng, 2, 9)], dim=1)
    check_same_tokens(model, longer, (lambda: own_after(model, longer), lambda: mine))


def own_after(model, ids):
    """The library's cache with all but the last ten of these tokens, as the other one has."""
    cache = own_cache(model)
    logits(model, [ids[:, :-10]], cache)
    return cache


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("llama", "mistral", "qwen2"))
def test_past_key_values_of_generate(kind, models):
    """Beam search, by its name of old. With fixed numbers: beams can tie within rounding, which logits cannot show."""
    model = models(kind, 5)
    ids = draw(np.random.default_rng(5), 2, 30)
    options = dict(max_new_tokens=16, num_beams=3, num_return_sequences=2, do_sample=False)
    expected = model.generate(ids, past_key_values=own_cache(model), **options)
    assert model.generate(ids, past_key_values=kvq_cache(model), **options).tolist() == expected.tolist()


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("llama", "mistral"))
def test_sequences_change_places(kind, models, rng):
    """Reordered, repeated and chosen, with the same calls as on the library's cache."""
    import torch

    model = models(kind)
    prompt, more = draw(rng, 3, 90), [draw(rng, batch, 5) for batch in (3, 6, 4)]
    order = torch.from_numpy(rng.integers(0, 3, 3))
    chosen = torch.from_numpy(rng.integers(0, 6, 4))
    found = []
    for make in (own_cache, kvq_cache):
        cache = make(model)
        logits(model, [prompt], cache)
        cache.reorder_cache(order)
        outs = logits(model, [more[0]], cache)
        cache.batch_repeat_interleave(2)
        outs += logits(model, [more[1]], cache)
        cache.batch_select_indices(chosen)
        found.append(outs + logits(model, [more[2]], cache))
    check_close(found[1], found[0])


@pytest.mark.torch
@pytest.mark.parametrize("policy", (EXACT, I8))
def test_crop(policy, models, rng):
    """Tokens that were dropped leave no trace."""
    model = models("llama")
    prompt, wrong, right = draw(rng, 2, 60), draw(rng, 2, 7), draw(rng, 2, 5)
    cache, other = kvq_cache(model, policy), kvq_cache(model, policy)
    assert cache.is_croppable
    logits(model, [prompt, wrong], cache)
    cache.crop(0)
    assert cache.get_seq_length() == 67
    cache.crop(-7)
    assert cache.get_seq_length() == 60
    expected = logits(model, [prompt, right], own_cache(model) if policy == EXACT else other)
    bound = 1e-5 if policy == EXACT else FLIPS
    check_close(logits(model, [right], cache), expected[1:], bound)
    cache.crop(-1000)
    assert cache.get_seq_length() == 0
    check_close(logits(model, [prompt], cache), expected[:1], bound)
    cache.reset()
    assert cache.get_seq_length() == cache.nbytes == 0
    check_close(logits(model, [prompt[:1]], cache), [expected[0][:1]], bound)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("mistral", "qwen2"))
def test_crop_within_windows(kind, models, rng):
    """Beyond a full window and a full ring, of the few tokens that drafts have."""
    model = models(kind)
    steps = [(draw(rng, 2, int(count)), int(count * rng.uniform())) for count in (120, 7, 1, 63, 30, 5, 8)]
    steps[0] = steps[0][0], 0
    found = []
    for make in (own_cache, kvq_cache):
        cache = make(model)
        outs = logits(model, [steps[0][0]], cache)
        cache.activate_past_recording()  # what the library needs to crop
        for ids, dropped in steps[1:]:
            outs += logits(model, [ids], cache)
            cache.crop(-dropped)
        found.append(outs)
        assert cache.get_seq_length() == sum(ids.shape[1] - dropped for ids, dropped in steps)
    check_close(found[1], found[0])


@pytest.mark.torch
def test_crops_that_cannot_be(models, rng):
    model = models("llama")
    cache = kvq_cache(model, (PER_CHANNEL, I4))
    assert not cache.is_croppable
    logits(model, [draw(rng, 1, 70)], cache)  # 64 keys are quantized
    cache.crop(-6)
    with pytest.raises(kvq.Error, match="layer 0, keys: sequence 0: 60 tokens end inside a group of 16; .* 48 and 64"):
        cache.crop(-4)
    assert {cache.get_seq_length(layer) for layer in range(3)} == {64}
    cache.crop(-16)
    with pytest.raises(kvq.Error, match="crop takes the tokens to drop as a negative number, got 5"):
        cache.crop(5)
    model = models("mistral")
    cache = kvq_cache(model)
    logits(model, [draw(rng, 1, 300)], cache)
    with pytest.raises(kvq.Error, match="layer 0, keys: sequence 0: 200 tokens would go back to token 180, .* before 216"):
        cache.crop(-100)
    assert cache.get_seq_length() == 300


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("llama", "mistral"))
def test_assisted_generation(kind, models, rng):
    """Drafts from the prompt, of which the cache drops what the model rejects."""
    model = models(kind)
    ids = draw(rng, 1, 20).repeat(1, 3)
    caches = (lambda: own_cache(model), lambda: kvq_cache(model))
    check_same_tokens(model, ids, caches, prompt_lookup_num_tokens=4)


@pytest.mark.torch
def test_copies_stand_alone(models, rng):
    """A prompt's cache, copied for each continuation."""
    model = models("mistral")
    prompt, first, second = (draw(rng, 2, count) for count in (50, 6, 6))
    cache = kvq_cache(model, I8)
    logits(model, [prompt], cache)
    twin = copy.deepcopy(cache)
    expected = logits(model, [first], cache)
    logits(model, [second], cache)
    assert twin.get_seq_length() == 50
    check_close(logits(model, [first], twin), expected, FLIPS)


@pytest.mark.torch
@pytest.mark.parametrize("element", ("float16", "bfloat16"))
def test_half_precision(element, models, rng):
    import torch

    model = copy.deepcopy(models("qwen2")).to(getattr(torch, element))
    parts = [draw(rng, 2, 40), draw(rng, 2, 1)]
    expected = logits(model, parts, own_cache(model))
    cache = kvq_cache(model, threads=2)
    found = logits(model, parts, cache)
    assert found[0].dtype == getattr(torch, element)
    assert cache.layers[0].caches[0].dtype == {"float16": "f16", "bfloat16": "bf16"}[element]
    bound = {"float16": 1e-2, "bfloat16": 8e-2}[element]  # a few roundings in each of three layers, 5e-4 and 4e-3
    check_close([x.float() for x in found], [x.float() for x in expected], bound)


def rounding_cache(model, keys, values):
    """The library's cache, of what the reference makes of each token."""
    import torch
    from transformers import DynamicCache

    def rounded(x, text):
        return torch.from_numpy(round_trip(x.numpy(), text))

    class Rounding(DynamicCache):
        def update(self, key_states, value_states, *arguments, **options):
            return super().update(rounded(key_states, keys), rounded(value_states, values), *arguments, **options)

    return Rounding(config=model.config)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ("one full layer", "one sliding layer"))
def test_quantized(kind, models, rng):
    """Keys in one format and values in another: what the library gives of the same, dequantized."""
    model = models(kind)
    parts = [draw(rng, 2, 60), draw(rng, 2, 1), draw(rng, 2, 20)]
    expected = logits(model, parts, rounding_cache(model, I8, I4))
    found = logits(model, parts, kvq_cache(model, (I8, kvq.Format(I4))))
    check_close(found, expected)
    exact = logits(model, parts, own_cache(model))
    assert (found[0] - exact[0]).norm() > 1e-2 * exact[0].norm()


@pytest.mark.torch
def test_policies(models, rng):
    """Entries by layer, side and head; windows that keep all tokens of a short prompt exact."""
    from kvq_mlir.torch import KvqCache

    model = models("llama")
    ids = draw(rng, 2, 40)
    exact = logits(model, [ids], own_cache(model))
    of_head = f"<side = keys, heads = [1], format = #kvq.format<{I8}>, recent = 64>"
    of_layer = f"<layers = [2], format = #kvq.format<{I4}>, recent = 64>"
    policy = kvq.Policy(f"module attributes {{kvq.policy = #kvq.policy<{of_head}, {of_layer}>}} {{}}")
    cache = kvq_cache(model, policy)
    check_close(logits(model, [ids], cache), exact)
    assert [len(layer.caches) for layer in cache.layers] == [4, 4, 2]  # heads kept alike are not cut
    windows = kvq_cache(model, PER_CHANNEL, exact_first=8, recent=32)
    check_close(logits(model, [ids], windows), exact)
    texts = kvq_cache(model, (f"{PER_CHANNEL}; residual = 48", f"{I4}; recent = 40"))
    check_close(logits(model, [ids], texts), exact)
    assert texts.layers[0].caches[0].residual == 48 and texts.layers[0].caches[1].recent == 40
    longer = draw(rng, 2, 40)
    (found,), (expected,) = (logits(model, [longer], each) for each in (windows, own_after(model, longer)))
    assert (found - expected).norm() > 1e-2 * expected.norm()  # now some are quantized
    with pytest.raises(kvq.Error, match="a policy has exact windows of its own"):
        KvqCache(model.config, policy, recent=4)
    with pytest.raises(kvq.Error, match="expected windows beside formats or in their text, got both"):
        KvqCache(model.config, f"{I4}; recent = 4", recent=4)


@pytest.mark.torch
def test_max_length(models, rng):
    model = models("llama")
    cache = kvq_cache(model, I8, max_length=70)
    logits(model, [draw(rng, 1, 60)], cache)
    size = cache.nbytes
    with pytest.raises(kvq.Error, match="expected at most max_length = 70 tokens, got 71"):
        logits(model, [draw(rng, 1, 11)], cache)
    assert cache.get_seq_length() == 60
    with pytest.raises(kvq.Error, match=r"layer 0: expected keys of shape \[1, 2, tokens, 32\], got \[2, 2, 3, 32\]"):
        logits(model, [draw(rng, 2, 3)], cache)
    logits(model, [draw(rng, 1, 10)], cache)
    assert cache.nbytes == size and cache.get_max_length() == 70


@pytest.mark.torch
def test_memory_is_below_that_of_16_bits(capsys):
    from kvq_mlir.torch import memory

    assert memory.main(["--tokens", "6000", "--keys", I8, "--values", I4]) == 0
    rows = [line.rsplit(None, 2)[1:] for line in capsys.readouterr().out.splitlines()[1:]]
    (held, peak), (held_by_kvq, peak_of_kvq) = ([int(cell.replace(",", "")) for cell in row] for row in rows)
    assert held == 6000 * memory.BYTES_PER_TOKEN < 1.05 * peak
    # 15 of 32 bits an element, and up to half as much again for tokens to come, which takes no memory yet.
    assert held_by_kvq < 0.71 * held and held_by_kvq / 1.5 < 1.05 * peak_of_kvq < 0.8 * peak


@pytest.mark.torch
def test_emulated_kernels(models, rng):
    model = models("mistral")
    parts = [draw(rng, 1, 9), draw(rng, 1, 1)]
    expected = logits(model, parts, own_cache(model))
    check_close(logits(model, parts, kvq_cache(model, device="emulator")), expected)


@pytest.mark.torch
def test_gemma2_generates(models, rng):
    model = models("gemma2")
    ids = draw(rng, 1, 20)
    cache = kvq_cache(model)
    assert model.generate(ids, cache=cache, max_new_tokens=8, do_sample=False).shape == (1, 28)
    assert cache.get_seq_length() == 27


@pytest.mark.torch
def test_other_attention_is_an_error(models, rng):
    """Never silently without the tokens that lie in kvq caches."""
    from kvq_mlir.torch import KvqCache

    for name in ("sdpa", "eager"):
        model = models("llama")
        cache = kvq_cache(model)
        model.set_attn_implementation(name)
        with pytest.raises(kvq.Error, match=r"expected it, model.set_attn_implementation\('kvq'\), got another"):
            logits(model, [draw(rng, 1, 1)], cache)
    with pytest.raises(kvq.Error, match="attn_implementation 'kvq' or 'sdpa', got 'eager'"):
        KvqCache(model.config)


@pytest.mark.torch
def test_other_caches_are_as_before(models, rng):
    """Once a model attends through kvq, its own cache gives what it gave."""
    model = models("qwen2")
    parts = [draw(rng, 2, 40), draw(rng, 2, 6), draw(rng, 2, 1)]
    expected = logits(model, parts, own_cache(model))
    kvq_cache(model)
    assert model.config._attn_implementation == "kvq"
    check_close(logits(model, parts, own_cache(model)), expected)


@pytest.mark.torch
def test_no_gradient(models, rng):
    model = models("llama")
    out = model(draw(rng, 1, 5), cache=kvq_cache(model))
    with pytest.raises(kvq.Error, match="has no gradient"):
        out.logits.sum().backward()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("T5Config", {}, "expected a decoder alone, got cross attention: a model of t5"),
        ("GPT2Config", dict(add_cross_attention=True), "got cross attention: a model of gpt2"),
        ("BloomConfig", {}, "unsupported attention: expected a model of gemma2, llama, .*, got bloom"),
        ("Llama4TextConfig", {}, "unsupported attention: .* got llama4_text"),
        ("Qwen2Config", dict(layer_types=["full_attention", "chunked_attention"], num_hidden_layers=2), "layer 1: expected"),
    ],
)
def test_models_that_cannot_be(name, more, message):
    import transformers
    from kvq_mlir.torch import KvqCache

    with pytest.raises(kvq.Error, match=message):
        KvqCache(getattr(transformers, name)(**more))


@pytest.mark.torch
def test_options_that_cannot_be(models, rng):
    from kvq_mlir.torch import KvqCache

    model = models("llama")
    for policy, options, message in (
        ("codes = i4, group = [1, 48], scale = f16", {}, "layer 0, keys: .*48"),
        ("codes = i4, group = [1, 32], scale = f16, rope = pre", {}, "layer 0, keys: transformers hand keys over after"),
        ("codes = i8, group = [*, 1], scale = f32, range = static", {}, "layer 0, keys: .*needs given scales"),
        ((I4,), {}, "expected a format for keys and one for values, got 1"),
        ("ggml.q4", {}, "ggml.q4"),
        (I4, dict(max_length=0), "expected max_length of at least 1, got 0"),
        (I4, dict(dtype="f64"), "expected dtype 'f16', 'bf16' or 'f32', got 'f64'"),
        (I4, dict(threads=0), "expected at least 1 thread, got 0"),
        (I4, dict(threads=2, device="cuda"), "threads are of a processor"),
        (I4, dict(device="gpu"), "expected device 'cpu'"),
        (I4, dict(recent=8, residual=8), "residual"),
    ):
        with pytest.raises(kvq.Error, match=message):
            KvqCache(model.config, policy, **options)
    with pytest.raises(TypeError, match="expected a kvq_mlir.Policy, a format or its text, or two of them, got int"):
        KvqCache(model.config, 4)
    assert model.config._attn_implementation == "sdpa"  # nothing has changed
    with pytest.raises(kvq.Error, match="torch.export and compiled graphs need a static cache"):
        kvq_cache(model).early_initialization(1, 2, 32, None, None)
    for option, message in (
        (dict(output_attentions=True), "output_attentions = False"),
        (dict(is_causal=False), "expected causal attention"),
        (dict(position_bias=0), "expected scores without position_bias"),
    ):
        with pytest.raises(kvq.Error, match=message):
            logits(model, [draw(rng, 1, 4)], kvq_cache(model), **option)


def test_missing_packages(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in [name for name in sys.modules if name == "kvq_mlir.torch" or name.startswith("kvq_mlir.torch.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match="kvq_mlir.torch needs packages that are missing: pip install torch transformers"):
        importlib.import_module("kvq_mlir.torch")
