"""`python -m kvq_mlir demo`: what a cache format costs and saves, on a real model's own keys and values.

Attention runs as in decoding: each token is appended to the caches and attends to what they then hold, in compiled
code. Only the projections of all tokens are computed at once, which changes nothing, since the model is causal.
"""

from __future__ import annotations

import argparse
import json
import math
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import kvq_mlir as kvq

from .bench_timing import Timing, plural, processor
from .model import EXPECTED_HEADER, Attend, Config, Model, causal_mask, exact_attention
from .text import InputError, read_text
from .unfused import unfused_attention

# What the command needs beside the packages of kvq_mlir.
PACKAGES = ("gguf", "matplotlib", "threadpoolctl", "tokenizers", "tqdm")


@dataclass(frozen=True)
class Side:
    """How the keys or the values of a layer are kept."""

    format: str  # text of #kvq.format
    recent: int = 0  # at least this many newest tokens stay exact

    def cache(self, config: Config, capacity: int) -> kvq.Cache:
        """An empty cache for one sequence of `capacity` tokens."""
        return kvq.Cache(
            1, config.kv_heads, capacity, config.head_dim, kvq.Format(self.format), dtype="f16", recent=self.recent
        )

    def __str__(self) -> str:
        return self.format + (f"; newest {self.recent} or more exact" if self.recent else "")


@dataclass(frozen=True)
class Pair:
    """How the keys and the values of every layer are kept, under a name for the table."""

    name: str
    k: Side
    v: Side


EXACT = Side("codes = none")
I8 = Side("codes = i8, group = [1, 32], scale = f16")
I4 = Side("codes = i4, group = [1, 32], scale = f16")
# The two 4-bit key formats have the same codes and the same metadata per code; only the axis of the groups differs.
UI4_PER_TOKEN = Side("codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = minmax")
UI4_PER_CHANNEL = Side("codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax", recent=32)
PAIRS = (
    Pair("16-bit", EXACT, EXACT),
    Pair("K8V8", I8, I8),
    Pair("K8V4", I8, I4),
    Pair("K4V4 per token", UI4_PER_TOKEN, I4),
    Pair("K4 per channel, V4", UI4_PER_CHANNEL, I4),
)
LEAST_TOKENS = 64  # from here on every format holds codes, the one with an exact window too


@dataclass(frozen=True)
class Squares:
    """Summed squares of one layer: of the error and of the exact values."""

    error: float
    exact: float

    @classmethod
    def of(cls, found: np.ndarray, exact: np.ndarray) -> Squares:
        error = np.sum(np.square(found - exact), dtype=np.float64)
        return cls(float(error), float(np.sum(np.square(exact), dtype=np.float64)))


def relative_l2(layers: list[Squares]) -> float:
    """Relative L2 error over all layers together."""
    return math.sqrt(sum(s.error for s in layers) / sum(s.exact for s in layers))


def by_token(x: np.ndarray) -> np.ndarray:
    """[1, heads, T, D] -> [T, 1, heads, 1, D], contiguous: one token's rows lie together."""
    return np.ascontiguousarray(x.transpose(2, 0, 1, 3))[:, :, :, None]


def decode(config: Config, k_side: Side, v_side: Side, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Appends and attends token by token through fresh caches. Shapes as in `Attend`; returns q's shape, float32."""
    k_cache, v_cache = (side.cache(config, k.shape[2]) for side in (k_side, v_side))
    out = []
    for q_token, k_token, v_token in zip(by_token(q), by_token(k), by_token(v), strict=True):
        k_cache.append(k_token)
        v_cache.append(v_token)
        out.append(kvq.attention(q_token, k_cache, v_cache))
    return np.concatenate(out, axis=2)


def key_score_squares(config: Config, side: Side, q: np.ndarray, k: np.ndarray) -> Squares:
    """Scores against the keys each query finds in the cache, and against exact 16-bit keys, less each row's mean.

    The softmax ignores what is equal for all keys of a row, hence the mean. q, k as in `Attend`.
    """
    cache = side.cache(config, k.shape[2])
    tokens, heads = k.shape[2], config.kv_heads
    queries = q[0].reshape(heads, -1, tokens, config.head_dim)
    exact_keys = k[0].astype(np.float16).astype(np.float32)
    step = 1 if side.recent else 256  # with an exact window, what a query finds changes as the window moves on
    error = exact = 0.0
    for first in range(0, tokens, step):
        last = min(first + step, tokens)
        cache.append(np.ascontiguousarray(k[:, :, first:last]))
        found, expected = (
            _centred_scores(queries[:, :, first:last], keys[:, :last]) for keys in (cache.dequantize()[0], exact_keys)
        )
        squares = Squares.of(found, expected)
        error, exact = error + squares.error, exact + squares.exact
    return Squares(error, exact)


def _centred_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """q·k less its mean over the keys that the query sees, 0 for the others.

    q: [kv_heads, ratio, Q, D], k: [kv_heads, T, D]; returns [kv_heads, ratio, Q, T].
    """
    seen = ~causal_mask(q.shape[2], k.shape[1])
    scores = np.where(seen, q @ k[:, None].swapaxes(-1, -2), np.float32(0))
    return np.where(seen, scores - scores.sum(axis=-1, keepdims=True) / seen.sum(axis=-1, keepdims=True), 0)


@dataclass
class Measured:
    """Figures of one pair. Errors hold one entry per layer."""

    pair: Pair
    k_bytes: float  # per token and layer
    v_bytes: float
    k_score: list[Squares]
    k_alone: list[Squares]
    v_alone: list[Squares]
    both: list[Squares]
    losses: np.ndarray  # of a whole pass with this pair, nats per token
    fused: Timing
    unfused: Timing


class Experiment:
    """Runs the model over one text and measures cache formats on it."""

    def __init__(self, model: Model, ids: np.ndarray):
        self.model, self.ids, self.config = model, ids, model.config
        self.exact_losses = np.empty(0)
        self.activations: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # q, k, v of each layer, exact pass
        self._outputs: dict[tuple[Side, Side], list[Squares]] = {}
        self._scores: dict[Side, list[Squares]] = {}

    def exact_pass(self) -> None:
        """Float32 attention without a cache; keeps every layer's q, k and v, and the losses."""

        def attend(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
            self.activations.append((q, k, v))
            return exact_attention(q, k, v, np.float32)

        self.exact_losses = self.model.losses(self.ids, self._with_bar("exact pass", attend))

    def measure_errors(self, pairs: tuple[Pair, ...]) -> None:
        """Fills in the errors of all pairs, one layer after the other; what pairs share is measured once."""
        outputs = dict.fromkeys(s for p in pairs for s in ((p.k, p.v), (p.k, EXACT), (EXACT, p.v)))
        self._outputs = {sides: [] for sides in outputs}
        self._scores = {p.k: [] for p in pairs}
        with _bar(len(self.activations) * (len(outputs) + len(self._scores)), "errors") as bar:
            for q, k, v in self.activations:
                k16, v16 = k.astype(np.float16), v.astype(np.float16)  # what a 16-bit cache holds
                exact = exact_attention(q, k16, v16, np.float64)
                for (k_side, v_side), squares in self._outputs.items():
                    squares.append(Squares.of(decode(self.config, k_side, v_side, q, k, v), exact))
                    bar.update()
                for side, squares in self._scores.items():
                    squares.append(key_score_squares(self.config, side, q, k))
                    bar.update()

    def measure(self, pair: Pair) -> Measured:
        """After `exact_pass` and `measure_errors`: perplexity of a whole pass with this pair, bytes and times."""
        from threadpoolctl import threadpool_limits

        tokens = len(self.ids)
        losses = self.model.losses(
            self.ids,
            self._with_bar(pair.name, lambda layer, q, k, v: decode(self.config, pair.k, pair.v, q, k, v)),
        )
        q, k, v = self.activations[len(self.activations) // 2]
        k_cache, v_cache = (side.cache(self.config, tokens) for side in (pair.k, pair.v))
        k_cache.append(k)
        v_cache.append(v)
        q_last = by_token(q)[-1]
        with threadpool_limits(1):
            fused = Timing.of(lambda: kvq.attention(q_last, k_cache, v_cache), seconds=0.3)
            unfused = Timing.of(lambda: unfused_attention(q_last, k_cache, v_cache), seconds=0.3)
        return Measured(
            pair,
            k_cache.nbytes / tokens,
            v_cache.nbytes / tokens,
            self._scores[pair.k],
            self._outputs[pair.k, EXACT],
            self._outputs[EXACT, pair.v],
            self._outputs[pair.k, pair.v],
            losses,
            fused,
            unfused,
        )

    def _with_bar(self, name: str, attend: Attend) -> Attend:
        bar = _bar(self.config.layers, name)

        def attend_and_count(layer: int, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
            out = attend(layer, q, k, v)
            bar.update()
            if layer == self.config.layers - 1:
                bar.close()
            return out

        return attend_and_count


def _bar(total: int, name: str):
    from tqdm import tqdm

    return tqdm(total=total, desc=f"{name:18}", unit="step", disable=None, leave=False)


def perplexity(losses: np.ndarray) -> float:
    """exp of the mean loss; losses in nats per token."""
    return math.exp(losses.mean())


def perplexity_uncertainty(losses: np.ndarray, exact_losses: np.ndarray) -> float:
    """Standard error of the perplexity's difference from the exact pass, from the spread of the tokens' differences.

    It is needed: codes that round the other way make passes diverge, so that two formats of equal error, or one format
    with float32 sums taken in another order, differ by about this much.
    """
    differences = losses - exact_losses
    return perplexity(losses) * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def summary(m: Measured, exact: Measured, exact_losses: np.ndarray) -> dict:
    """One pair's figures as plain numbers; errors are relative L2, times microseconds, bytes per token and layer."""

    def per_layer(layers: list[Squares]) -> list[float]:
        return [relative_l2([s]) for s in layers]

    return {
        "name": m.pair.name,
        "k_format": str(m.pair.k),
        "v_format": str(m.pair.v),
        "k_bytes": m.k_bytes,
        "v_bytes": m.v_bytes,
        "bytes_ratio": (m.k_bytes + m.v_bytes) / (exact.k_bytes + exact.v_bytes),
        "key_score_error": relative_l2(m.k_score),
        "output_error_k_alone": relative_l2(m.k_alone),
        "output_error_v_alone": relative_l2(m.v_alone),
        "output_error": relative_l2(m.both),
        "perplexity": perplexity(m.losses),
        "perplexity_uncertainty": perplexity_uncertainty(m.losses, exact_losses),
        "fused_microseconds": m.fused.median * 1e6,
        "unfused_microseconds": m.unfused.median * 1e6,
        "per_layer": {
            "key_score_error": per_layer(m.k_score),
            "output_error_k_alone": per_layer(m.k_alone),
            "output_error_v_alone": per_layer(m.v_alone),
            "output_error": per_layer(m.both),
        },
    }


def table(result: dict) -> str:
    """The printed result; `result` is what demo.json holds."""

    def error(value: float) -> str:
        return f"{value:.2%}" if value >= 5e-5 else "<0.01%"

    width = max(len(p["name"]) for p in result["pairs"])
    lines = [
        f"{'':{width}} {'bytes per token, layer':^23} {'key-score':>9} {'output error from':^23} {'':13}"
        f" {'µs per step':>16}",
        f"{'pair':{width}} {'K':>6} {'V':>6} {'of 16-bit':>9} {'error':>9} {'K':>7} {'V':>7} {'both':>7}"
        f" {'perplexity':>13} {'fused':>8} {'unfused':>7}",
    ]
    for p in result["pairs"]:
        errors = (error(p[key]) for key in ("output_error_k_alone", "output_error_v_alone", "output_error"))
        lines.append(
            f"{p['name']:{width}} {p['k_bytes']:6.1f} {p['v_bytes']:6.1f} {p['bytes_ratio']:9.1%}"
            f" {error(p['key_score_error']):>9} {' '.join(f'{e:>7}' for e in errors)}"
            f" {p['perplexity']:6.3f} ±{p['perplexity_uncertainty']:.3f}"
            f" {p['fused_microseconds']:8.0f} {p['unfused_microseconds']:7.0f}"
        )
    return "\n".join(lines)


def explanation(result: dict) -> str:
    """What the columns mean, in plain words."""
    formats = [f"{p['name']}:\n  K  {p['k_format']}\n  V  {p['v_format']}" for p in result["pairs"]]
    meaning = (
        f"Bytes: all that is allocated for exactly {result['tokens']} tokens (codes, scales, zeros, exact windows); "
        "a window has a fixed size, so its share shrinks as the text grows. Errors: relative L2 over all layers, "
        "against exact attention on the same 16-bit keys and values; key scores less each row's mean, which the "
        "softmax ignores. Perplexity: of a whole pass with this cache, lower is better; without a cache it is "
        f"{result['perplexity_without_cache']:.3f}; ± is the standard error of the difference from that, over tokens. "
        "µs: one layer's attention for one new token, one thread, median; unfused rebuilds both caches in float32, "
        "then uses NumPy's BLAS."
    )
    return "\n".join([*formats, textwrap.fill(meaning, 118)])


def run_demo(tokens: int, text: Path | None, out: Path) -> dict:
    """Measures all pairs, prints the table, writes demo.json and demo.png into `out`; returns what demo.json holds."""
    from .plots import plot_demo  # matplotlib: fail before the work, not after it

    if tokens < LEAST_TOKENS:
        raise InputError(f"--tokens: expected at least {LEAST_TOKENS}, found {tokens}")
    context = EXPECTED_HEADER["llama.context_length"]
    if tokens > context:
        raise InputError(f"--tokens: expected at most {context} (the model's context), found {tokens}")
    characters, source = read_text(text)
    model = Model.load()
    ids = model.tokenize(characters, tokens)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}") from error
    experiment = Experiment(model, ids)
    print(f"SmolLM2-135M-Instruct, {plural(tokens, 'token')} of {source}; {processor()}")
    experiment.exact_pass()
    experiment.measure_errors(PAIRS)
    measured = [experiment.measure(pair) for pair in PAIRS]
    result = {
        "model": "SmolLM2-135M-Instruct",
        "text": source,
        "tokens": tokens,
        "layers": model.config.layers,
        "query_heads": model.config.query_heads,
        "kv_heads": model.config.kv_heads,
        "head_dim": model.config.head_dim,
        "processor": processor(),
        "perplexity_without_cache": perplexity(experiment.exact_losses),
        "pairs": [summary(m, measured[0], experiment.exact_losses) for m in measured],
    }
    (out / "demo.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    plot_demo(result, out / "demo.png")
    print(f"\n{table(result)}\n\n{explanation(result)}\nWritten: {out / 'demo.png'}, {out / 'demo.json'}")
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `demo`."""
    parser.add_argument("--tokens", type=int, default=1024, help="tokens of text (default: 1024)")
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="UTF-8 text (default: Genesis, from Debian's bible-kjv)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder for the results (default: out)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for what the user can put right."""
    run_demo(arguments.tokens, arguments.text, arguments.out)
