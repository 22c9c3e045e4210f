"""tools/gpu-check: to its end on the emulator, its reference against kvq's own, what it says of mistakes; times by a
PyTorch and a GPU that are stand-ins."""

import contextlib
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import kvq_mlir as kvq

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tools/lib"))

from gpu_check import InputError, build, kernels, machines, main, measure, report  # noqa: E402
from gpu_check.arrays import NumpyArrays  # noqa: E402
from gpu_check.formats import FORMATS  # noqa: E402
from gpu_check.measure import Measured  # noqa: E402
from gpu_check.plan import CHIPS, FULL, SMALL, Plan  # noqa: E402

BUILD = Path(kvq._kvq.__file__).parents[2]


@pytest.fixture(autouse=True)
def without_a_driver(monkeypatch):
    """Whatever this machine has."""
    monkeypatch.setenv("KVQ_CUDA_DRIVER", "/no/driver.so")
    monkeypatch.setattr(build, "BUILD", BUILD)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The kernels for the emulator."""
    folder = tmp_path_factory.mktemp("gpu-check")
    build.build(folder, [SMALL], [])
    return folder


def test_all_of_it_on_the_emulator():
    done = subprocess.run([sys.executable, REPO / "tools/gpu-check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "/no/driver.so" in lines[0] and lines[0].endswith(main.NOTHING_RAN)
    assert lines[-1].startswith("all outputs are right") and lines[-1].endswith(main.NOTHING_RAN)
    found = {tuple(line.split()[:2]) for line in lines if line.endswith(": right")}
    ways = {(name, way) for name in FORMATS for way in ("attention", "append", "unfused")} - {("f16", "unfused")}
    assert found == ways and not any("µs" in line or "WRONG" in line for line in lines)


def test_copies_in_bulk(tmp_path, capsys):
    build.build(tmp_path, [SMALL], [], copies="bulk")
    kernels = build.load_manifest(tmp_path)["small"]["kernels"].values()
    assert all("copies=bulk" in kernel["options"] for kernel in kernels)
    assert main.main(["run", str(tmp_path), "--formats", "int8"]) == 0
    assert "all outputs are right" in capsys.readouterr().out


def test_what_is_wrong_is_said(small, capsys, monkeypatch):
    """A reference that takes codes for unsigned."""
    monkeypatch.setitem(FORMATS["int4"].__dict__, "code_values", [float(code) for code in range(16)])
    assert main.main(["run", str(small), "--formats", "int4"]) == 1
    out = capsys.readouterr().out
    assert out.count("WRONG") == 4 and "3 WRONG, " in out.splitlines()[-1]


@pytest.mark.parametrize("name", FORMATS)
def test_formats_stand_for_what_kvq_says(name, rng):
    fmt = FORMATS[name]
    cache = kvq.Cache(2, 3, 20, 64, kvq.Format(fmt.text))
    cache.append(rng.standard_normal((2, 3, 20, 64), np.float32))
    parts = [array.view(np.uint8) if array.dtype == np.int8 else array for array in cache.storage().values()]
    assert [(part.shape, part.dtype.itemsize) for part in parts] == [
        (shape, {"u8": 1, "f16": 2}[kind]) for shape, kind in fmt.components(2, 3, 20, 64)
    ]
    assert sum(part.nbytes for part in parts) == 40 * fmt.bytes_per_token(3, 64)
    assert np.array_equal(fmt.decode(NumpyArrays(), parts), cache.dequantize().astype(np.float64))
    assert np.isfinite(fmt.decode(NumpyArrays(), NumpyArrays().random_cache(fmt, (2, 3, 20, 64)))).all()


def test_expressions():
    values = {"n": 7, "m": 3}
    for expression, expected in (
        (5, 5),
        ("n", 7),
        (["*", 4, 2, "n", "m"], 168),
        (["ceildiv", "n", "m"], 3),
        (["/", "n", "m"], 2),
        (["?", ["<", "n", 7], 1, ["-", "n", ["min", "m", 2]]], 5),
    ):
        assert kernels.evaluate(expression, values) == expected
    with pytest.raises(ValueError, match=r"expected a of shape \[2, 'a_size1'\], got \[3, 4\]"):
        kernels.Call({"arguments": [{"name": "a", "shape": [2, "a_size1"]}]}, [(0, (3, 4))])


# --- mistakes ------------------------------------------------------------------------------------------------------


def check_error(capsys, arguments, *texts):
    assert main.main([str(argument) for argument in arguments]) == 1
    err = capsys.readouterr().err
    assert err.startswith("gpu-check: error: ") and all(text in err for text in texts), err


def test_mistakes(small, capsys, tmp_path, monkeypatch):
    check_error(capsys, ["run", tmp_path], f"{tmp_path} has no gpu-check.json: tools/gpu-check build {tmp_path} makes one")
    check_error(capsys, ["run", small, "--device", "cuda"], "--device cuda: /no/driver.so: cannot open shared object file")
    monkeypatch.setattr(build, "BUILD", tmp_path / "build")
    check_error(capsys, ["build", tmp_path], f"kvq is not built in {tmp_path}/build: tools/quickstart builds it")
    for arguments, text in (
        (["--formats", "int5"], "expected some of f16, fp8, int8, int4, int2, got 'int5'"),
        (["--tokens", "2K,x"], "expected numbers of tokens, such as 2K,4096, got '2K,x'"),
    ):
        with pytest.raises(SystemExit):
            main.main(["run", str(small), *arguments])
        assert text in capsys.readouterr().err


def test_a_driver_without_pytorch_or_kernels(small, capsys, monkeypatch):
    monkeypatch.setenv("KVQ_CUDA_DRIVER", str(BUILD / "lib/KVQCUDAStub.so"))
    check_error(capsys, ["run", small], f"{small} has no kernels of the plan 'full': tools/gpu-check build {small}")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="a run on a GPU needs PyTorch, .*; use a python3 that has it"):
        machines.GPU(small, {})


@pytest.mark.parametrize(
    "capability, chips, expected",
    [
        (90, CHIPS, "sm_90a"),
        (90, ("sm_80", "sm_100a"), "sm_80"),
        (86, CHIPS, "sm_80"),
        (120, CHIPS, "sm_120a"),
        (90, ("sm_100a",), "has kernels for sm_100a, the GPU is an sm_90: tools/gpu-check build DIR --chips sm_90a"),
        (75, CHIPS, "the GPU is an sm_75, for which kvq has none"),
    ],
)
def test_kernels_of_another_chip(capability, chips, expected):
    if expected in CHIPS:
        assert machines.find_chip(chips, capability, Path("DIR")) == expected
    else:
        with pytest.raises(InputError, match=expected):
            machines.find_chip(chips, capability, Path("DIR"))


def test_errors_of_the_compiler(tmp_path):
    with pytest.raises(InputError, match=r"full-attention-f16-b1-g8-s16.mlir: .*expected one of sm_80, .* found 'sm_70'"):
        build.build(tmp_path, [FULL], ["sm_70"])


def test_without_ptxas_there_is_ptx(tmp_path, capsys, monkeypatch):
    few = Plan("full", 1, 64, groups=(1,), splits={1: (1,)}, tokens=(64,))
    chosen = [kernel for kernel in few.kernels() if kernel.kind == "append"][:2]
    monkeypatch.setattr(Plan, "kernels", lambda self: chosen)
    monkeypatch.setattr(build, "has_ptxas", lambda: False)
    build.build(tmp_path, [few], ["sm_80", "sm_90a"])
    assert f"{tmp_path}: 4 kernels for sm_80, sm_90a, 0." in capsys.readouterr().out
    built = build.load_manifest(tmp_path)["full"]["kernels"]["append-f16-b1"]["built"]
    assert all(f".target {chip}\n" in (tmp_path / each["image"]).read_text() for chip, each in built.items())


# --- times ---------------------------------------------------------------------------------------------------------


class Clock:
    """What a call takes by its bytes, and 5 µs; a graph is its calls."""

    def __init__(self):
        self.now, self.launched = 0.0, None

    def take(self, count):
        self.now += 5e-6 + count / 1e12
        if self.launched is not None:
            self.launched.append(count)


def fake_torch(clock, free):
    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            self.at = clock.now

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return (other.at - self.at) * 1e3

    class CUDAGraph:
        def replay(self):
            for count in self.calls:
                clock.take(count)

    @contextlib.contextmanager
    def capture(graph, stream):
        clock.launched = graph.calls = []
        yield
        clock.launched = None

    cuda = types.SimpleNamespace(
        Event=Event,
        CUDAGraph=CUDAGraph,
        graph=capture,
        Stream=lambda: types.SimpleNamespace(synchronize=lambda: None),
        stream=contextlib.nullcontext,
        synchronize=lambda: None,
        empty_cache=lambda: None,
        mem_get_info=lambda: (free, free),
        get_device_properties=lambda ordinal: types.SimpleNamespace(L2_cache_size=1 << 16),
    )
    attend = lambda q, k, v: clock.take(k.nbytes + v.nbytes)  # noqa: E731
    functional = types.SimpleNamespace(scaled_dot_product_attention=attend)
    return types.SimpleNamespace(cuda=cuda, nn=types.SimpleNamespace(functional=functional))


def test_times(monkeypatch):
    """A GPU whose calls take 5 µs and 1 µs for each MB of their arrays; shares and speeds follow."""
    clock = Clock()
    plan = Plan("full", kv_heads=2, head_dim=64, groups=(4,), splits={1: (2, 4), 8: (1,)}, tokens=(64, 4096, 65536))
    gpu = types.SimpleNamespace(torch=fake_torch(clock, free=180 << 20), arrays=NumpyArrays())
    monkeypatch.setattr(measure, "COPY_BYTES", 1 << 20)
    monkeypatch.setattr(measure, "COPY_SECONDS", 1e-9)
    monkeypatch.setattr(measure, "copy_bandwidth", lambda gpu: 2e12)
    asked = []

    def load(name):
        asked.append(name)
        return lambda arrays: lambda: clock.take(sum(x.nbytes for x in arrays if x.ndim == 4 and x.shape[2] > 1))

    bench = measure.Bench(gpu, plan, load, seconds=1e-4)
    told = []
    found = bench.run(["f16", "int4"], plan.tokens, told.append)
    assert told == found
    decode = {(m.format, m.batch, m.tokens): m for m in found if m.what == "decode"}
    assert ("f16", 1, 65536) in decode and ("f16", 8, 65536) not in decode, "what does not fit is left out"
    one = decode["int4", 1, 4096]
    count = 2 * 4096 * FORMATS["int4"].bytes_per_token(2, 64)
    assert one.seconds == pytest.approx(5e-6 + count / 1e12) and one.share == pytest.approx(count / one.seconds / 2e12)
    assert {m.what for m in found} == {"decode", "sdpa", "append", "unfused"}
    assert "rebuild-int4-b8" in asked and "attention-f16-b1-g4-s4" in asked

    text = "\n".join(report.tables(found, plan, ["f16", "int4"], plan.tokens))
    row = next(line.split() for line in text.splitlines() if line.split()[:2] == ["1", "4K"])
    f16 = decode["f16", 1, 4096]
    assert row[2:8] == [
        *(f"{f16.seconds * 1e6:.1f}", f"{f16.share:.0%}", "1.00"),
        *(f"{one.seconds * 1e6:.1f}", f"{one.share:.0%}", f"{f16.seconds / one.seconds:.2f}"),
    ]


def test_goals():
    def decode(fmt, batch, tokens, seconds, share):
        return Measured("decode", fmt, batch, 8, tokens, seconds, share)

    found = [
        decode("f16", 8, 65536, 3.0, 0.9),
        decode("f16", 64, 2048, 3.0, 0.1),  # too short to count
        decode("int4", 8, 65536, 1.0, 0.64),
        decode("int2", 64, 2048, 3.1, 0.64),
    ]
    f16, eight, one, int4, speed, slower = report.goals(found)
    assert f16.endswith("goal 0.85  least 0.90 (f16, batch 8, 8 queries, 64K)  met")
    assert eight.endswith("not measured") and one.endswith("not measured")
    assert int4.endswith("goal 0.65  least 0.64 (int4, batch 8, 8 queries, 64K)  NOT MET")
    assert speed.endswith("goal 2.60  least 3.00 (int4, batch 8, 8 queries, 64K)  met")
    assert slower.endswith("goal 1.00  least 0.97 (int2, batch 64, 8 queries, 2K)  NOT MET")
