"""Reported bytes against what caches allocate, and `python -m kvq_mlir report`.

A failing random test prints its seed; `KVQ_SEED=<seed>` runs it again with the same cases.
"""

import json
import re

import draws
import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import __main__ as command_line
from kvq_mlir import _kvq, report
from kvq_mlir.cache_types import cache_type
from kvq_mlir.format import DTYPES
from kvq_mlir.policy import Choice

K4_PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
I4 = "codes = i4, group = [1, 32], scale = f16"
TWO_PER_GROUP = "codes = ui{bits}, group = [1, 64], scale = f16, zero = min f16"


def draw_cache(rng: np.random.Generator, given: bool = True) -> kvq.Cache:
    """A cache of any type that is valid: formats and windows as test_draws has them. given: also, now and then, those
    to which something is given; to find it takes a compilation."""
    while True:
        case = json.loads(draws.complete(rng, draws.draw(rng)))
        fmt, windows = kvq.Format(draws.format_text(case)), dict(exact_first=case["exact_first"], **case["window"])
        if rng.random() < 0.1:
            fmt, windows = kvq.Format("codes = none"), {}
        needs = fmt.is_static or fmt.outer_scale or fmt.center or fmt.rotation != 0
        if not needs or (given and rng.random() < 0.1):
            break
    parts = kvq.calibrate(rng.standard_normal((1, case["heads"], 9, case["dim"])).astype(np.float32), fmt)
    shape = (case["batch"], case["heads"], int(rng.integers(0, 300)), case["dim"])
    return kvq.Cache(*shape, fmt, case["dtype"], given=parts, **windows)


def coded_tokens(cache: kvq.Cache, length: int) -> int:
    """How many of so many tokens are quantized: f(length)."""
    flush = cache.residual or cache.format.tokens
    return max(0, length - cache.exact_first - cache.recent) // flush * flush


def parts(bytes_: dict) -> dict:
    """Components alone, without those that have no byte."""
    return {name: size for name, size in bytes_.items() if size and name not in ("padding", "total", "alignment")}


def run(*arguments: str) -> int:
    return command_line.main(["report", *arguments])


def run_json(capsys, *arguments: str) -> dict:
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


# --- the library ---------------------------------------------------------------------------------------------------


QUANTIZED = ("codes", "records", "scales", "zeros")


def test_reported_bytes_are_allocated_bytes(rng):
    for _ in range(100):
        cache = draw_cache(rng)
        storage = cache.storage()
        found = _kvq.Footprint(cache.dynamic_type).allocated(cache.capacity)
        assert found == _kvq.Footprint(cache.type).allocated(cache.capacity), cache
        assert found["total"] == cache.nbytes == sum(array.nbytes for array in storage.values()), cache
        stored, reported = {name: array.nbytes for name, array in storage.items() if array.nbytes}, parts(found)
        if "records" in storage:  # reported as what is in them
            sums = (sum(side.pop(name, 0) for name in QUANTIZED) for side in (stored, reported))
            assert len(set(sums)) == 1, cache
        assert reported == stored, cache
        assert found["padding"] == 0, cache  # codes fill their bytes
        aligned = sum(-(-array.nbytes // 64) * 64 for array in storage.values())
        assert found["total"] + found["alignment"] == aligned, cache


def test_fixed_and_token_groups_make_up_the_allocation(rng):
    for _ in range(100):
        cache = draw_cache(rng)
        footprint, n = _kvq.Footprint(cache.dynamic_type), cache.format.tokens
        assert footprint.token_group == n
        groups = coded_tokens(cache, cache.capacity) // n
        fixed, group = footprint.allocated(0), footprint.token_group_bytes
        expected = {name: fixed[name] + groups * group[name] for name in fixed if name != "alignment"}
        found = footprint.allocated(cache.capacity)
        assert {name: found[name] for name in expected} == expected, cache


def test_retained_bytes_are_those_of_tokens(rng):
    for _ in range(100):
        cache = draw_cache(rng, given=False)
        length, n, fmt = cache.capacity, cache.format.tokens, cache.format
        rows, row = cache.batch * cache.kv_heads, cache.head_dim * DTYPES[cache.dtype].itemsize
        found = _kvq.Footprint(cache.dynamic_type).retained(length)
        if fmt.is_exact:
            assert parts(found) == ({"values": rows * length * row} if length else {}), cache
            continue
        coded = coded_tokens(cache, length)
        first = min(length, cache.exact_first)
        spans = cache.kv_heads // fmt.group_heads(cache.kv_heads)
        metadata = cache.batch * spans * (coded // n) * (cache.head_dim // fmt.channels(cache.head_dim))
        expected = {
            "codes": rows * coded * cache.head_dim * fmt.bits // 8,
            "scales": metadata * DTYPES[fmt.scale].itemsize,
            "zeros": metadata * DTYPES[fmt.zero].itemsize if fmt.zero else 0,
            "first": rows * first * row,
            "recent": rows * (length - first - coded) * row,
        }
        assert parts(found) == parts(expected), cache
        assert found["total"] == sum(expected.values()) and found["alignment"] == 0, cache
        assert found["total"] <= cache.nbytes


def test_retained_2_bit_keys_with_a_window():
    """200 tokens: 160 quantized and 40 exact."""
    fmt = kvq.Format("codes = ui2, group = [32, 1], scale = f16, zero = min f16")
    footprint = _kvq.Footprint(cache_type(1, 1, "?", 128, fmt, recent=32))
    found = footprint.retained(200)
    assert found["codes"] + found["scales"] + found["zeros"] == 7_680
    assert found["recent"] == 10_240
    # Allocated for as many: the ring has room for a group that is not full yet.
    allocated = footprint.allocated(200)
    assert (allocated["recent"], allocated["total"]) == (63 * 256, 7_680 + 63 * 256)


@pytest.mark.parametrize(
    "type_, method, tokens, message",
    [
        ("!kvq.cache<1x1x?x8xf16, #kvq.format<codes = none>>", "allocated", -1, "capacity of at least 0, got -1"),
        ("!kvq.cache<1x1x?x8xf16, #kvq.format<codes = none>>", "retained", -7, "length of at least 0, got -7"),
        ("!kvq.cache<1x1x?x8xf16, #kvq.format<codes = none>>", "allocated", 1 << 60, r"fewer than 2\^63 bytes"),
    ],
)
def test_footprint_errors(type_, method, tokens, message):
    footprint = _kvq.Footprint(type_)
    with pytest.raises(kvq.Error, match=message):
        getattr(footprint, method)(tokens)
    assert footprint.allocated(3)["total"] == 48  # and it is still of use


def test_footprint_of_no_cache():
    with pytest.raises(kvq.Error, match=r"expected a !kvq\.cache type, got i32"):
        _kvq.Footprint("i32")


# --- the command: known numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "keys, values, expected",
    [
        (TWO_PER_GROUP.format(bits=8), TWO_PER_GROUP.format(bits=8), 52_224),
        (TWO_PER_GROUP.format(bits=8), TWO_PER_GROUP.format(bits=4), 39_936),
        ("codes = none", "codes = none", 98_304),
    ],
)
def test_bytes_per_token_of_48_layers(capsys, keys, values, expected):
    shape = ("--layers", "48", "--kv-heads", "4", "--head-dim", "128", "--tokens", "1000")
    result = run_json(capsys, *shape, "--keys", keys, "--values", values)
    assert result["total"]["bytes_per_token"] == expected
    assert result["total"]["allocated_bytes"] == result["total"]["retained_bytes"] == 1000 * expected
    assert result["total"]["exact_bytes_per_token"] == 98_304
    assert result["model"] is None


@pytest.mark.parametrize(
    "fmt, head_dim, expected",
    [
        # int8 per token and head with an f32 scale, keys and values (vllm#40388): 2 x (D + 4)
        ("codes = i8, group = [1, *], scale = f32", 256, 520),
        ("codes = i8, group = [1, *], scale = f32", 512, 1032),
        # NVFP4: half a byte, and a byte of scale for 16 elements
        ("codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN", 128, 2 * (64 + 8)),
    ],
)
def test_bytes_per_token_and_head(capsys, fmt, head_dim, expected):
    shape = ("--layers", "1", "--kv-heads", "1", "--head-dim", str(head_dim), "--tokens", "7")
    result = run_json(capsys, *shape, "--keys", fmt, "--values", fmt)["total"]
    assert result["bytes_per_token"] == expected
    if "f4" in fmt:
        assert result["exact_bytes_per_token"] / expected == pytest.approx(3.556, abs=1e-3)  # 3.56 times smaller


def test_bytes_per_token_of_4_bits(capsys):
    result = run_json(
        capsys, "--layers", "1", "--kv-heads", "8", "--head-dim", "128", "--tokens", "1", "--keys", I4, "--values", I4
    )
    assert result["total"]["bytes_per_token"] == 1_152
    for side in ("keys", "values"):
        assert result[side]["bytes_per_token"] == {"codes": 512, "scales": 64, "padding": 0, "total": 576}


@pytest.mark.parametrize(
    "model, shape, f16",
    [
        ("llama-3.1-8b", (32, 8, 128), 131_072),
        ("Qwen2.5-7B", (28, 4, 128), 57_344),
        ("mistral-7b", (32, 8, 128), 131_072),
        ("smollm2-135m", (30, 3, 64), 23_040),
        ("deepseek-v3", (61, 1, 576), 70_272),
    ],
)
def test_models(capsys, model, shape, f16):
    result = run_json(capsys, "--model", model, "--tokens", "10")
    assert (result["layers"], result["kv_heads"], result["head_dim"]) == shape
    assert result["total"]["bytes_per_token"] == result["total"]["exact_bytes_per_token"] == f16
    assert result["model"] == model.lower()
    assert ("values" in result) == (model != "deepseek-v3")


LATENT = "[0:512] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>, [512:576] = none"


def test_latent_rows_of_segments(capsys):
    """vLLM's fp8 rows of 656 bytes in DeepSeek-V3's 61 layers: codes, four scales, 64 exact channels."""
    result = run_json(capsys, "--model", "deepseek-v3", "--keys", LATENT, "--tokens", "10", "--memory", "1MB")
    parts = {"codes": 61 * 512, "scales": 61 * 16, "values": 61 * 128, "padding": 0, "total": 61 * 656}
    assert result["keys"]["bytes_per_token"] == parts
    assert result["total"]["retained_bytes"] == 10 * 61 * 656
    assert result["memory"]["most_tokens"] < 1_000_000 // (61 * 656) + 1
    assert result["decode_step"] is None


# --- the command: what fits ----------------------------------------------------------------------------------------

WINDOWS = ("--keys", K4_PER_CHANNEL, "--values", I4, "--recent", "32", "0", "--exact-first", "5")


def allocate(result: dict, tokens: int, sequences: int) -> int:
    """Bytes of caches that are really made, each component at a multiple of 64."""
    shape = (sequences, result["kv_heads"], tokens, result["head_dim"])
    caches = (
        kvq.Cache(*shape, kvq.Format(K4_PER_CHANNEL), exact_first=5, recent=32),
        kvq.Cache(*shape, kvq.Format(I4), exact_first=5),
    )
    arrays = [array for cache in caches for array in cache.storage().values()]
    return result["layers"] * sum(-(-array.nbytes // 64) * 64 for array in arrays)


def test_windows_and_sequences(capsys):
    result = run_json(capsys, "--model", "smollm2-135m", *WINDOWS, "--tokens", "200", "--concurrency", "3")
    total, keys, values = result["total"], result["keys"], result["values"]
    assert total["allocated_bytes"] + total["alignment_bytes"] == allocate(result, 200, 3)
    fixed = keys["fixed_bytes_per_sequence"]
    assert parts(fixed) == {"first": 30 * 3 * 5 * 128, "recent": 30 * 3 * 63 * 128}
    assert fixed["total"] == 30 * 3 * 68 * 128
    assert "recent" not in values["allocated_bytes"]
    # 5 first, 160 quantized, 35 in the window.
    assert keys["retained_bytes"]["recent"] == 3 * 30 * 3 * 35 * 128
    assert keys["retained_bytes"]["first"] == 3 * 30 * 3 * 5 * 128
    assert total["retained_bytes"] == keys["retained_bytes"]["total"] + values["retained_bytes"]["total"]
    (keys_kind,), (values_kind,) = keys["caches"], values["caches"]
    assert "exact_first = 5, recent = 32>" in keys_kind["type"] and "exact_first = 5>" in values_kind["type"]
    assert (keys_kind["count"], keys_kind["layers"]) == (30, list(range(30)))


def test_residual(capsys):
    """The keys of KIVI: of 200 tokens 192 are quantized, 8 wait."""
    formats = ("--keys", "codes = ui2, group = [32, 1], scale = f16, zero = min f16", "--residual", "32", "0")
    shape = ("--layers", "1", "--kv-heads", "1", "--head-dim", "128")
    retained = run_json(capsys, *shape, *formats, "--tokens", "200")["keys"]["retained_bytes"]
    assert (retained["codes"], retained["scales"], retained["zeros"]) == (192 * 32, 6 * 256, 6 * 256)
    assert retained["recent"] == 8 * 256


def test_page_tails(capsys):
    """100 tokens in pages of 16: 12 rows of the last page of each sequence and layer are empty."""
    shape = ("--layers", "3", "--kv-heads", "2", "--head-dim", "64", "--concurrency", "5", "--tokens", "100")
    plain, paged = (run_json(capsys, *shape, "--keys", I4, *page) for page in ((), ("--page", "16")))
    tails = 3 * 5 * 2 * 12 * (32 + 2 * 2)
    assert paged["keys"]["retained_bytes"]["page_tails"] == paged["keys"]["allocated_bytes"]["page_tails"] == tails
    assert paged["values"]["allocated_bytes"]["page_tails"] == 3 * 5 * 2 * 12 * 64 * 2
    assert paged["keys"]["retained_bytes"]["total"] == plain["keys"]["retained_bytes"]["total"] + tails
    assert paged["keys"]["bytes_per_token"]["total"] == plain["keys"]["bytes_per_token"]["total"]
    assert "page_tails" not in plain["keys"]["retained_bytes"]
    assert run(*shape, "--keys", I4, "--page", "16") == 0
    assert re.search(rf"page tails .* {tails:,} ", capsys.readouterr().out)


def test_rings(capsys):
    """Bytes do not grow with the tokens: 4 first and 60 newest ones of 1,000."""
    shape = ("--layers", "2", "--kv-heads", "2", "--head-dim", "64", "--keys", I4, "--splits", "2")
    found = [
        run_json(capsys, *shape, "--ring", "64", "--keep-first", "4", "--tokens", tokens)["keys"]
        for tokens in ("1000", "100000")
    ]
    for keys in found:
        assert keys["allocated_bytes"]["total"] == keys["retained_bytes"]["total"] == 2 * 2 * 64 * (32 + 2 * 2)
        assert keys["bytes_per_token"]["total"] == 0
    assert "ring = 64, keep_first = 4>" in found[0]["caches"][0]["type"]


def test_pages_take_part_in_a_step(capsys):
    """A tile that spans pages is gathered: its scratch is larger. Launches stay."""
    shape = ("--layers", "2", "--kv-heads", "2", "--head-dim", "64", "--tokens", "100")
    plain, paged = (run_json(capsys, *shape, *page)["decode_step"] for page in ((), ("--page", "16")))
    assert paged["attention_scratch_bytes"] > plain["attention_scratch_bytes"] + 32 * 64 * 2
    assert paged["gpu_launches_of_attention"] == plain["gpu_launches_of_attention"] == 2


def test_what_fits_is_the_most_that_fits(rng):
    shape = report.MODELS["smollm2-135m"]
    kept = {"keys": (kvq.Format(K4_PER_CHANNEL), 5, 32), "values": (kvq.Format(I4), 5)}
    choices = [Choice(layer, side, (0, 3), *kept[side]) for side in kept for layer in range(30)]
    sides = report.make_sides(shape, choices, "f16")
    for _ in range(20):
        tokens, sequences = (int(n) for n in rng.integers(1, 300, 2))
        memory = int(10 ** rng.uniform(5, 9))
        result = report.make_report(shape, sides, tokens, sequences, memory)
        footprints = [_kvq.Footprint(result[side]["caches"][0]["type"]) for side in ("keys", "values")]
        most = result["memory"]["most_tokens"]

        def taken(n, footprints=footprints):
            return 30 * sum(f.allocated(n)["total"] + f.allocated(n)["alignment"] for f in footprints)

        if most is None:
            assert taken(0) > memory
        else:
            assert taken(most) <= memory < taken(most + 1)
        most = result["memory"]["most_sequences"]
        assert (most == 0 or allocate(result, tokens, most) <= memory) and allocate(result, tokens, most + 1) > memory


def test_largest():
    for most in (1, 2, 7, 8, 1000):
        for limit in range(min(most, 70) + 1):
            assert report.largest(lambda n, limit=limit: n <= limit, most) == limit
        assert report.largest(lambda n: True, most) == most


@pytest.mark.parametrize(
    "text, expected",
    [
        *(("80GiB", 80 << 30), ("1.5 TB", 1_500_000_000_000), ("4096", 4096)),
        *(("16gb", 16 * 10**9), ("0.5KiB", 512), ("7B", 7)),
    ],
)
def test_memory(text, expected):
    assert report.parse_memory(text) == expected


# --- the command: policies -----------------------------------------------------------------------------------------

POLICY = f"""
#k = #kvq.format<{K4_PER_CHANNEL}>
#v = #kvq.format<{I4}>
module attributes {{kvq.policy = #kvq.policy<
  <side = keys, format = #k, exact_first = 5, recent = 32>,
  <side = values, format = #v, exact_first = 5>,
  <side = values, heads = [2], format = #kvq.format<codes = i8, group = [1, *], scale = f32>, exact_first = 5>,
  <layers = [0, 29], format = #kvq.format<codes = none>>
>}} {{}}
"""


def test_policy(capsys, tmp_path):
    """Bytes are those of the caches that the policy makes; each of its kinds has its layers."""
    path = tmp_path / "policy.mlir"
    path.write_text(POLICY)
    result = run_json(
        capsys, "--model", "smollm2-135m", "--policy", str(path), "--tokens", "200", "--concurrency", "2"
    )
    arrays = [
        array
        for choice in kvq.Policy(POLICY).choose(30, 3)
        for array in choice.cache(2, 200, 64).storage().values()
    ]
    assert result["total"]["allocated_bytes"] == sum(array.nbytes for array in arrays)
    assert result["total"]["alignment_bytes"] == sum(-array.nbytes % 64 for array in arrays)
    counts = [(kind["count"], kind["layers"][:2]) for kind in result["values"]["caches"]]
    assert counts == [(2, [0, 29]), (28, [1, 2]), (28, [1, 2])]
    assert [kind["count"] for kind in result["keys"]["caches"]] == [2, 28, 28]
    # A layer of three heads, attended to in two parts where the values differ.
    assert result["decode_step"]["attentions"] == 2 + 2 * 28
    assert result["decode_step"]["appends"] == 2 * 2 + 2 * 2 * 28
    assert run("--model", "smollm2-135m", "--policy", str(path), "--tokens", "200") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "keys: 2 caches, layers 0, 29: !kvq.cache<1x3x?x64xf16, #kvq.format<codes = none>>" in text
    assert "28 caches, layers 1-28: !kvq.cache<1x1x?x64xf16, #kvq.format<codes = i8" in text


def test_policy_errors(capsys, tmp_path):
    path = tmp_path / "policy.mlir"
    path.write_text(POLICY)
    for arguments, message in (
        (["--model", "qwen2.5-7b"], "--policy: entry 3 of the policy names layer 29, but no cache .* 0 to 27"),
        (["--model", "deepseek-v3"], "--policy: entry 1 of the policy matches no cache"),
        (["--layers", "30", "--kv-heads", "2", "--head-dim", "64"], "names head 2, but the values .* have 2 KV heads"),
        (["--layers", "30", "--kv-heads", "3", "--head-dim", "80"], "--values: group of 32 channels does not divide"),
        (["--model", "smollm2-135m", "--keys", I4], "--keys: expected none beside --policy"),
        (["--model", "smollm2-135m", "--recent", "0", "3"], "--recent: expected none beside --policy"),
    ):
        assert run("--policy", str(path), "--tokens", "9", *arguments) == 1, arguments
        assert re.search("^error: .*" + message, capsys.readouterr().err), arguments
    assert run("--policy", str(tmp_path / "none"), "--tokens", "9", "--model", "smollm2-135m") == 1
    assert re.search("^error: --policy: cannot read .*none: No such file", capsys.readouterr().err)


# --- the command: temporaries --------------------------------------------------------------------------------------


def test_temporaries_and_launches_of_a_step(capsys):
    """Workspace of 4 splits: accumulator, maximum and sum of each query head, f32. One kernel more merges them."""
    shape = ("--model", "llama-3.1-8b", "--keys", K4_PER_CHANNEL, "--recent", "32", "0", "--values", I4)
    one, four = (
        run_json(capsys, *shape, "--tokens", "64", "--concurrency", "3", "--splits", splits)["decode_step"]
        for splits in ("1", "4")
    )
    assert (one["appends"], one["attentions"]) == (64, 32)
    assert one["gpu_launches_of_attention"] == 32 and four["gpu_launches_of_attention"] == 64
    assert one["split_workspace_bytes"] == 0
    assert four["split_workspace_bytes"] == 3 * 4 * 32 * (128 + 1 + 1) * 4
    # A group of keys in f16, its codes, packed codes and metadata, and the statistics of its range in f32.
    assert 32 * 128 * (2 + 1) < one["append_scratch_bytes"] == four["append_scratch_bytes"] < 32 * 128 * 4
    # Unpacked codes of keys and values, query times scales, scores, accumulator, ...: less than values in f32.
    assert 2 * 32 * 128 < one["attention_scratch_bytes"] < 2 * 64 * 128 * 4


@pytest.mark.parametrize(
    "keys, values, windows",
    [
        (I4, I4, ()),
        (K4_PER_CHANNEL, I4, ("--recent", "128", "0")),
        (K4_PER_CHANNEL + ", rope = pre", I4, ()),
        (TWO_PER_GROUP.format(bits=8), TWO_PER_GROUP.format(bits=4), ("--exact-first", "4")),
    ],
)
def test_a_quantized_cache_peaks_below_f16(capsys, keys, values, windows):
    """At 32K tokens, temporaries of a step included (mlx-lm#1587). Retained bytes are apart."""
    arguments = ("--model", "llama-3.1-8b", "--tokens", str(1 << 15))
    exact = run_json(capsys, *arguments)["total"]
    found = run_json(capsys, *arguments, "--keys", keys, "--values", values, *windows)["total"]
    assert exact["retained_bytes"] == 131_072 << 15
    assert found["retained_bytes"] <= found["allocated_bytes"] < found["peak_bytes"] < exact["retained_bytes"]
    assert found["peak_bytes"] < 1.01 * found["retained_bytes"]


def test_a_latent_row_has_no_step(capsys):
    result = run_json(capsys, "--model", "deepseek-v3", "--tokens", "10")
    assert result["decode_step"] is None and "peak_bytes" not in result["total"]


# --- the command: text and errors ----------------------------------------------------------------------------------


def test_table(capsys):
    formats = ("--keys", K4_PER_CHANNEL, "--values", I4, "--recent", "32", "0")
    sizes = ("--tokens", "8192", "--concurrency", "16", "--memory", "80GiB")
    assert run("--model", "llama-3.1-8b", *formats, *sizes) == 0
    lines = [re.sub(" +", " ", line).strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "llama-3.1-8b: 32 layers, 8 KV heads, head dim 128"
    assert lines[1].startswith("keys: !kvq.cache<16x8x?x128xf16, #kvq.format<codes = ui4")
    assert lines[1].endswith(", recent = 32>") and lines[2].endswith("range = absmax>>")
    assert lines[4:15] == [
        "bytes one more token fixed, a sequence allocated retained",
        "keys codes 16,384 0 2,139,095,040 2,139,095,040",
        "scales 2,048 0 267,386,880 267,386,880",
        "zeros 2,048 0 267,386,880 267,386,880",
        "recent 0 4,128,768 66,060,288 33,554,432",
        "total 20,480 4,128,768 2,739,929,088 2,707,423,232",
        "values codes 16,384 0 2,147,483,648 2,147,483,648",
        "scales 2,048 0 268,435,456 268,435,456",
        "total 18,432 0 2,415,919,104 2,415,919,104",
        "both total 38,912 4,128,768 5,155,848,192 5,123,342,336",
        "",
    ]
    text = " ".join(lines)
    assert "A further token takes 29.7% of its 131,072 B in f16; at 8,192 tokens a token takes 39,088 B" in text
    assert "16 sequences of 8,192 tokens: 5,155,848,192 B (4.80 GiB), 0 of them for alignment." in text
    assert "16 sequences of up to 137,887 tokens, or up to 266 sequences of 8,192 tokens." in text


def test_latent_row_says_what_it_is(capsys):
    assert run("--model", "deepseek-v3", "--tokens", "4096") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "keys elements 70,272 0 287,834,112 287,834,112" in text
    assert "its first 512 channels are the values, a view that takes no bytes of its own" in text
    assert "values:" not in text


def test_windows_that_do_not_fit(capsys):
    assert run("--model", "smollm2-135m", *WINDOWS, "--tokens", "9", "--concurrency", "2", "--memory", "1 KiB") == 0
    assert "1,024 B (1.00 KiB) for caches alone: less than the exact windows of 2 sequences." in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--model", "llama3-8b"], "unknown model 'llama3-8b', nearest: llama-3.1-8b"),
        (["--model", "gpt"], "unknown model 'gpt', nearest: llama-3.1-8b, qwen2.5-7b, mistral-7b, smollm2-135m"),
        ([], "expected either --model, or --layers, --kv-heads and --head-dim together"),
        (["--layers", "3", "--kv-heads", "2"], "--kv-heads and --head-dim together"),
        (["--model", "qwen2.5-7b", "--query-heads", "3"], "expected either --model, or"),
        (
            ["--layers", "3", "--kv-heads", "2", "--head-dim", "64", "--query-heads", "3"],
            "--query-heads: expected a multiple of 2 KV heads, found 3",
        ),
        (["--model", "qwen2.5-7b", "--splits", "0"], "--splits: expected at least 1, found 0"),
        (["--model", "qwen2.5-7b", "--layers", "3"], "expected either --model, or"),
        (["--model", "qwen2.5-7b", "--memory", "80Gibi"], "one of B KB MB GB TB KiB MiB GiB TiB.* found '80Gibi'"),
        (["--model", "qwen2.5-7b", "--memory=-1GB"], "--memory: expected a number .*found '-1GB'"),
        (["--model", "qwen2.5-7b", "--memory", "0"], "--memory: expected 1 to .* bytes, found 0"),
        (["--model", "qwen2.5-7b", "--memory", "9999999TiB"], "--memory: expected 1 to "),
        (["--model", "qwen2.5-7b", "--tokens", "0"], "--tokens: expected at least 1, found 0"),
        (["--model", "qwen2.5-7b", "--tokens", str(1 << 41)], "--tokens: expected at most 1099511627776, found"),
        (["--model", "qwen2.5-7b", "--concurrency", "0"], "--concurrency: expected at least 1, found 0"),
        (["--layers", "0", "--kv-heads", "1", "--head-dim", "8"], "--layers: expected at least 1, found 0"),
        (["--model", "qwen2.5-7b", "--recent", "-1"], "--recent: expected at least 0, found -1"),
        (["--model", "qwen2.5-7b", "--recent", "1", "2", "3"], "--recent: expected one number, or one for keys"),
        (["--model", "qwen2.5-7b", "--ring", "0"], "--ring: expected at least 1, found 0"),
        (["--model", "qwen2.5-7b", "--keep-first", "-1"], "--keep-first: expected at least 0, found -1"),
        (["--model", "qwen2.5-7b", "--keep-first", "1"], "--keys: .*expected a ring beside keep_first = 1"),
        (["--model", "qwen2.5-7b", "--page", "-1"], "--page: expected at least 0, found -1"),
        (["--model", "qwen2.5-7b", "--keys", K4_PER_CHANNEL, "--page", "40"], "--keys: .*32 tokens, got 40"),
        (["--model", "qwen2.5-7b", "--residual", "-1"], "--residual: expected at least 0, found -1"),
        (["--model", "qwen2.5-7b", "--keys", K4_PER_CHANNEL, "--residual", "33"], "--keys: .*32 tokens, got 33"),
        (["--model", "qwen2.5-7b", "--keys", "codes = i4"], "--keys: .*group"),
        (
            ["--layers", "1", "--kv-heads", "1", "--head-dim", "80", "--values", I4],
            "--values: group of 32 channels does not divide head_dim 80",
        ),
        (["--model", "deepseek-v3", "--keys", I4], "--keys: expected 'codes = none' for a latent row.*'codes = i4"),
        (
            ["--model", "deepseek-v3", "--keys", LATENT.replace("512", "384")],
            "--keys: .*segments with a border at channel 512.*384",
        ),
        (["--model", "deepseek-v3", "--keys", LATENT.replace("576", "570")], "--keys: .*576.*570"),
        (["--model", "deepseek-v3", "--values", "codes = none"], "--values: expected none for a latent row"),
        (
            ["--layers", "1", "--kv-heads", str(1 << 40), "--head-dim", "128", "--tokens", str(1 << 40)],
            r"expected a cache of fewer than 2\^63 bytes",
        ),
    ],
)
def test_errors(capsys, arguments, message):
    assert run("--tokens", "10", *arguments) == 1
    captured = capsys.readouterr()
    assert re.search("^error: .*" + message, captured.err) and not captured.out


def test_each_command_needs_its_own_packages(capsys, monkeypatch):
    monkeypatch.setattr(command_line, "find_spec", lambda name: None)
    assert run("--model", "qwen2.5-7b", "--tokens", "1") == 0
    capsys.readouterr()
    for command, packages in {
        ("demo",): "gguf matplotlib threadpoolctl tokenizers tqdm",
        ("bench", "cpu"): "threadpoolctl tqdm",
    }.items():
        assert command_line.main(command) == 1
        assert capsys.readouterr().err.rstrip().endswith(f"missing: pip install {packages}")
