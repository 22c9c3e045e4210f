"""Every stage of kvq-cpu-pipeline gives a module that is valid, is read as it was written, as text and as bytecode, and
computes what the source does: kernels of random formats, caches and calls are compiled from the text of some stage, and
their results compared with the reference as those of whole pipelines are (`draws`)."""

import os
import re
import subprocess

import pytest
from draws import complete, draw, run
from lowerings import KVQ_OPT
from processors import compiled_by

import kvq_mlir as kvq
from kvq_mlir import _kvq

CASES = 40 if os.environ.get("KVQ_FULL") == "1" else 6


def stages(options: str) -> list[str]:
    """The passes of the pipeline, as text, those on functions each for itself. The last lowers vectors to LLVM's."""
    command = [KVQ_OPT, f"--kvq-cpu-pipeline={options}", "--dump-pass-pipeline", "-o", "/dev/null"]
    dumped = subprocess.run(command, input="", capture_output=True, text=True, check=True).stderr
    inner = re.sub(r"\s+", " ", dumped.partition("builtin.module(")[2].rpartition(")")[0])
    found, depth, begin = [], 0, 0
    for i, sign in enumerate(inner + ","):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append(inner[begin:i].strip())
            begin = i + 1
    assert len(found) >= 40
    end = next(i for i, stage in enumerate(found) if "kvq-expect-buffers" in stage)
    return [*found[:end], ",".join(found[end:])]


def through_bytecode(text: str) -> str:
    """The module as it is read from bytecode."""
    written = subprocess.run([KVQ_OPT, "--emit-bytecode"], input=text.encode(), capture_output=True, check=True).stdout
    assert written[:4] == b"ML\xefR"
    return subprocess.run([KVQ_OPT], input=written, capture_output=True, check=True).stdout.decode()


def compile_from_a_stage(rng, seen: list[str]):
    """Compiles a module up to some stage, and the text of that the rest of the way. Once there are buffers functions no
    longer say which arguments they only read, as callers have to know: later stages are read again, but not called."""
    compile_here = _kvq.compile

    def compile_kernel(text: str, splits=None, query_tile=None, openmp=False):
        options = f"vector-width={_kvq.vector_width()} splits={splits or 0} query-tile={query_tile or 0} openmp={openmp}"
        passes = stages(options.lower())
        buffers = next(i for i, stage in enumerate(passes) if "one-shot-bufferize" in stage)
        chosen, other = int(rng.integers(1, buffers + 1)), int(rng.integers(1, len(passes)))
        ir = kvq.parse(text)
        for done, stage in enumerate(passes[:-1], start=1):
            ir = kvq.run_pipeline(ir, f"builtin.module({stage})")
            assert kvq.parse(ir) == ir, f"after {stage} text is read as another module"
            if done in (chosen, other):
                assert kvq.parse(through_bytecode(ir)) == ir, f"after {stage} bytecode is read as another module"
            if done == chosen:
                compiled = compile_here(ir, pipeline=f"builtin.module({','.join(passes[chosen:])})")
                seen.append(stage)
        return compiled

    return compile_kernel


def test_stages_are_those_of_the_pipeline():
    names = re.findall(r"kvq-[a-z-]+", ",".join(stages("openmp=true")))
    assert names.index("kvq-split-tokens") < names.index("kvq-fold-scales") < names.index("kvq-expand-caches")
    assert names.index("kvq-expand-caches") < names.index("kvq-to-vector")


@pytest.mark.parametrize("case", range(CASES))
def test_any_stage_computes_the_same(case, rng):
    fields = None
    while fields is None:
        fields = draw(rng)
    text = complete(rng, fields)
    print(text)
    seen: list[str] = []
    with compiled_by(compile_from_a_stage(rng, seen)):
        run(text)
    print(seen)
    assert seen
