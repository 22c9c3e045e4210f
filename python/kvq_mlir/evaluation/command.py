"""`python -m kvq_mlir eval`: what cache formats cost and save on a model's or a user's own keys and values."""

from __future__ import annotations

import argparse
import json
import shlex
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from ..bench_timing import plural
from ..fixtures import FIXTURES
from ..model import EXPECTED_HEADER, Model, find_model
from ..policy import Choice
from ..report import parse_memory
from ..text import InputError, read_text
from .dump import Dump, read_dump
from .experiment import Experiment, ModelSource, Settings, Source, TensorSource, open_parts
from .huggingface import HuggingFaceModel, check_packages
from .measure import Givens
from .policies import DEFAULT, Named, distinct, from_file, from_options
from .ranges import Ranges, measure_ranges
from .recording import from_fixture, has_queries_alone, read_queries, read_tensors
from .tables import model_columns, systems_columns, table, write_csv

PACKAGES = ("matplotlib", "threadpoolctl", "tqdm")  # that the command needs beside those of kvq_mlir
LEAST_TOKENS = 64  # from here on default policies hold codes, those with an exact window too
DEFAULT_TOKENS = {"model": 1024, "fixture": 512}


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what says which tokens are meant."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--tensors",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="q, k (after RoPE) and v: one .npz or .safetensors file, or .npy files",
    )
    source.add_argument("--fixture", metavar="NAME", help=f"adversarial data: {', '.join(FIXTURES)}")
    source.add_argument(
        "--model",
        type=Path,
        metavar="DIR",
        help="folder of a Llama, Mistral or Qwen model of transformers, which needs torch (default: SmolLM2-135M-Instruct)",
    )
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="UTF-8 text for the model (default: Genesis, from Debian's bible-kjv)"
    )
    parser.add_argument(
        "--tokens", type=int, metavar="N", help="tokens (default: 1024 of a text, 512 of a fixture, all of tensors)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of fixtures and of queries (default: 0)")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"], default="f16", help="exact elements (default: f16)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads of the work (default: 2)")


def add_policy_arguments(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds what says which policies are meant; default: in words, those without any of it."""
    parser.add_argument(
        "--policy",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="formats and windows by layer, side and heads: a module with the attribute kvq.policy; may be repeated "
        f"({default})",
    )
    for name in ("keys", "values"):
        parser.add_argument(f"--{name}", metavar="FORMAT", help=f"a policy of one format, or preset, of all {name}")
    for name, text in (
        ("recent", "newest tokens that stay exact at least, with --keys and --values"),
        ("residual", "newest tokens that stay exact until so many are there, with --keys and --values"),
        ("exact-first", "first tokens that stay exact, with --keys and --values"),
    ):
        parser.add_argument(f"--{name}", type=int, default=0, metavar="N", help=text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `eval`."""
    add_source_arguments(parser)
    add_policy_arguments(parser, "default: twelve policies that are the same for all layers")
    parser.add_argument(
        "--dump",
        type=Path,
        metavar="FILE",
        help="JSON that describes a dump of an engine's cache (docs/Evaluation.md): it is evaluated against the keys and "
        "values of --tensors, or, where these are queries alone, is what policies are evaluated on",
    )
    ranges = parser.add_mutually_exclusive_group()
    ranges.add_argument(
        "--ranges",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="static ranges: .safetensors files of `calibrate`, a checkpoint's files or folder, or given.npz of `plan`",
    )
    ranges.add_argument(
        "--calibrate-tokens", type=int, metavar="N", help="take static ranges from the first N of the tokens"
    )
    parser.add_argument(
        "--queries", type=int, default=128, metavar="N", help="queries that attention is measured of (default: 128)"
    )
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="sequences at once (default: 1)")
    parser.add_argument("--memory", metavar="SIZE", help="memory for caches, such as 80GiB: what fits into it")
    parser.add_argument("--splits", type=int, default=1, metavar="N", help="token splits of temporaries (default: 1)")
    parser.add_argument("--no-times", action="store_true", help="do not time decode steps")
    parser.add_argument(
        "--out", type=Path, default=Path("out/eval"), metavar="DIR", help="folder for the results (default: out/eval)"
    )


def check_common(arguments: argparse.Namespace) -> None:
    """`InputError` for numbers that cannot be, and options that would have no use."""
    for name in ("tokens", "threads"):
        number = getattr(arguments, name)
        if number is not None and number < 1:
            raise InputError(f"--{name}: expected at least 1, found {number}")
    for name in ("seed", "recent", "residual", "exact_first"):
        if getattr(arguments, name) < 0:
            raise InputError(f"--{name.replace('_', '-')}: expected at least 0, found {getattr(arguments, name)}")
    if arguments.tokens is not None and arguments.tokens < LEAST_TOKENS:
        raise InputError(f"--tokens: expected at least {LEAST_TOKENS}, found {arguments.tokens}")
    if arguments.model is not None:
        check_packages()
    if arguments.text is not None and (arguments.tensors or arguments.fixture):
        raise InputError("--text: expected none beside --tensors and --fixture, which have no text")
    if arguments.keys is None and arguments.values is None:
        for name in ("recent", "residual", "exact_first"):
            if getattr(arguments, name):
                raise InputError(f"--{name.replace('_', '-')}: expected --keys or --values beside it")


def _check(arguments: argparse.Namespace) -> None:
    check_common(arguments)
    if arguments.dump is not None and not arguments.tensors:
        raise InputError("--dump: expected --tensors beside it: queries, and the exact keys and values if there are")
    for name in ("queries", "concurrency", "splits", "calibrate_tokens"):
        number = getattr(arguments, name)
        if number is not None and number < 1:
            raise InputError(f"--{name.replace('_', '-')}: expected at least 1, found {number}")


def choose_policies(arguments: argparse.Namespace) -> list[Named]:
    """Those of files and of options."""
    found = [from_file(path) for path in arguments.policy]
    if arguments.keys is not None or arguments.values is not None:
        windows = {name: getattr(arguments, name) for name in ("exact_first", "recent", "residual")}
        found.append(from_options(arguments.keys, arguments.values, windows))
    return distinct(found)


def open_source(arguments: argparse.Namespace, dump: Dump | None = None) -> Source:
    """What the arguments say is to be evaluated on; with queries alone, the keys and values of a dump."""
    if arguments.tensors and dump is not None and has_queries_alone(arguments.tensors):
        return TensorSource(dump.recording(read_queries(arguments.tensors)).first(arguments.tokens))
    if arguments.tensors:
        return TensorSource(read_tensors(arguments.tensors).first(arguments.tokens))
    if arguments.fixture:
        return TensorSource(from_fixture(arguments.fixture, arguments.tokens or DEFAULT_TOKENS["fixture"], arguments.seed))
    tokens = arguments.tokens or DEFAULT_TOKENS["model"]
    characters, text = read_text(arguments.text)
    if arguments.model:
        model = HuggingFaceModel(arguments.model, tokens)
        name, key = arguments.model.name, model.key
    else:
        _check_built_in(tokens)
        path = find_model()
        model = Model.load(path)
        name, key = "SmolLM2-135M-Instruct", f"{path.name} {path.stat().st_size}"
    ids = model.tokenize(characters, tokens)
    return ModelSource(model, ids, name, text, key, arguments.threads)


def _check_built_in(tokens: int) -> None:
    missing = [package for package in ("gguf", "tokenizers") if find_spec(package) is None]
    if missing:
        raise InputError(f"the model needs packages that are missing: pip install {' '.join(missing)}")
    context = EXPECTED_HEADER["llama.context_length"]
    if tokens > context:
        raise InputError(f"--tokens: expected at most {context} (the model's context), found {tokens}")


def choose_ranges(arguments: argparse.Namespace, source: Source) -> tuple[Callable[[list[Choice]], Givens], str]:
    """What static ranges a policy's caches are given, and what that depends on."""
    shape = source.shape
    if arguments.ranges:
        ranges = Ranges(arguments.ranges)
        files = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in ranges.files]
        return lambda choices: ranges.givens(choices, shape.kv_heads, shape.head_dim), repr(files)
    tokens = arguments.calibrate_tokens
    if tokens is None:
        return lambda choices: {}, ""
    if tokens > source.tokens:
        raise InputError(f"--calibrate-tokens: expected at most the {source.tokens} tokens, found {tokens}")
    return lambda choices: measure_ranges(source.recording.first(tokens), choices, arguments.dtype), f"first {tokens}"


def command_of(arguments: argparse.Namespace) -> str:
    """The command with every option that has a value, defaults included, so that it stays what it is."""
    words = ["python", "-m", "kvq_mlir", "eval"]
    for name, value in vars(arguments).items():
        option = "--" + name.replace("_", "-")
        if name in ("run", "packages") or value is None or value is False or value == []:
            continue
        if value is True:
            words.append(option)
        elif name == "policy":
            words += [word for path in value for word in (option, str(path))]
        else:
            words += [option, *(map(str, value) if isinstance(value, list) else [str(value)])]
    return shlex.join(words)


def evaluate(arguments: argparse.Namespace) -> dict:
    """Measures and writes everything; returns what eval.json holds."""
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from .figures import draw_all
    from .html import write

    _check(arguments)
    settings = Settings(
        arguments.queries,
        arguments.seed,
        arguments.dtype,
        arguments.concurrency,
        None if arguments.memory is None else parse_memory(arguments.memory),
        arguments.splits,
        arguments.threads,
        0 if arguments.no_times else 0.2,
    )
    policies = choose_policies(arguments) or list(DEFAULT)
    dump = None if arguments.dump is None else read_dump(arguments.dump)
    source = open_source(arguments, dump)
    finders = {}
    if dump is not None and not has_queries_alone(arguments.tensors):
        dump.check(source.recording)
        policies = distinct([dump.policy, *policies])
        finders = {dump.policy.name: dump.find}
    if settings.queries > source.tokens:
        raise InputError(f"--queries: expected at most the {source.tokens} tokens, found {settings.queries}")
    out: Path = arguments.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}") from error
    experiment = Experiment(source, policies, settings, open_parts(out), *choose_ranges(arguments, source))
    experiment.finders = finders
    bar = tqdm(total=experiment.steps, desc="evaluating", unit="step", disable=None, leave=False)
    with bar, threadpool_limits(settings.threads):
        experiment.on_step = bar.update
        result = experiment.run(command_of(arguments))
    (out / "eval.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    written = [out / "eval.json", *write_csv(result, out)]
    images = draw_all(result)
    for name, (_, image) in images.items():
        written.append(out / f"{name}.png")
        written[-1].write_bytes(image)
    written.append(out / "eval.html")
    written[-1].write_text(write(result, images), encoding="utf-8")
    print(f"{source.description}: {source.tokens:,} tokens, {source.shape.layers} layers; {result['processor']}\n")
    print(f"Model: errors\n{table(result, model_columns(result))}\n")
    print(f"Systems: bytes and time\n{table(result, systems_columns(result))}\n")
    print(textwrap.fill(_meaning(result), 118))
    print(f"Written to {out}: {', '.join(path.name for path in written)}")
    return result


def _meaning(result: dict) -> str:
    text = (
        "B/token: bytes that hold tokens, of all layers, keys and values, by token. score: error of q·k, each row less its "
        "mean. "
        "attn KL: of attention's weights. out: attention's output with one side quantized, or both. All of "
        f"{len(result['positions'])} queries of each layer and head, as they find the caches in decoding."
    )
    if result["has_model"]:
        text += " perplexity, token KL, same top: of a whole pass, KL and likeliest token against 16-bit caches."
    if "fused_microseconds" in result["policies"][0]["systems"]:
        text += (
            f" µs: all attentions of a decode step of {plural(result['concurrency'], 'sequence')}, processor time of one thread; "
            "unfused rebuilds the caches first."
        )
    return text


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for what the user can put right."""
    evaluate(arguments)
