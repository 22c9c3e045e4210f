"""Writes the linalg IR of the models (NAME.mlir, llama-layer.mlir) and the frameworks' outputs (NAME.npz) beside this file.

    cd test/python && PYTHONPATH=../../build/python python -m models.generate [NAME...]

Needs torch, torch-mlir and jax, which kvq and its tests do not: what it writes is committed. PyTorch: torch.export,
torch-mlir's FX importer, linalg on tensors. JAX: StableHLO, by torch-mlir's passes to linalg.
"""

import sys
from pathlib import Path

import numpy as np
from kvq_mlir.front_ends import from_torch_mlir
from models.architectures import ARCHITECTURES, SEED, STEPS, Architecture, draw_tokens

HERE = Path(__file__).parent


def import_torch(program, name: str) -> str:
    """The linalg IR of an exported program, as a function `name`."""
    from torch_mlir import fx

    return from_torch_mlir(str(fx.export_and_import(program.run_decompositions(), output_type="linalg-on-tensors", func_name=name)))


def torch_caches(a: Architecture, tokens: int) -> list:
    import torch

    dtype = {"f32": torch.float32, "f16": torch.float16}[a.cache_type]
    return [torch.zeros(a.cache_shape(tokens), dtype=dtype) for _ in range(2 * a.layers)]


def export_torch(a: Architecture, weights: list[np.ndarray]) -> str:
    import torch
    from models.torch_models import MODELS

    token = torch.zeros(a.batch, dtype=torch.int64)
    position = [] if a.capacity is None else [torch.tensor([3])]
    caches = torch_caches(a, a.capacity or 5)
    given = [torch.from_numpy(weight) for weight in weights]
    dynamic = [None] * len(caches)
    if a.capacity is None:
        tokens = torch.export.Dim("tokens", min=2, max=1 << 20)
        dynamic = [{2: tokens}] * len(caches)
    program = torch.export.export(
        MODELS[a.name](a),
        (token, *position, caches, given),
        dynamic_shapes=(None, *[None for _ in position], dynamic, [None] * len(given)),
    )
    return import_torch(program, "decode")


def export_layer(a: Architecture) -> str:
    """A layer of Llama, `layer`, for models of as many as a test asks for."""
    import torch
    from models.torch_models import LlamaLayer

    tokens = torch.export.Dim("tokens", min=2, max=1 << 20)
    given = [torch.zeros(shape) for shape in a.layer_shapes().values()]
    arguments = (torch.zeros(a.batch, 1, a.hidden), *torch_caches(a, 5)[:2], given)
    shapes = (None, {2: tokens}, {2: tokens}, [None] * len(given))
    return import_torch(torch.export.export(LlamaLayer(a), arguments, dynamic_shapes=shapes), "layer")


def export_jax(a: Architecture, weights: list[np.ndarray]) -> str:
    import jax
    import jax.numpy as jnp
    from models.jax_models import decode
    from torch_mlir import ir, passmanager
    from torch_mlir.dialects import torch as torch_dialect

    cache = jax.ShapeDtypeStruct(a.cache_shape(a.capacity), jnp.float32)
    given = [jax.ShapeDtypeStruct(weight.shape, jnp.float32) for weight in weights]
    lowered = jax.jit(lambda *arguments: decode(a, *arguments)).lower(
        jax.ShapeDtypeStruct((a.batch,), jnp.int32), jax.ShapeDtypeStruct((), jnp.int32), [cache] * 2 * a.layers, given
    )
    with ir.Context() as context:
        torch_dialect.register_dialect(context)
        # A pass that makes StableHLO loads the dialect, which has no other way in.
        loads = passmanager.PassManager.parse("builtin.module(func.func(convert-torch-to-stablehlo))")
        loads.run(ir.Module.parse("func.func private @f()").operation)
        module = ir.Module.parse(lowered.as_text())
        pipeline = "builtin.module(inline,symbol-dce,canonicalize,stablehlo-legalize-to-linalg,canonicalize,cse)"
        passmanager.PassManager.parse(pipeline).run(module.operation)
        return str(module)


def run_torch(a: Architecture, weights: list[np.ndarray]) -> np.ndarray:
    """steps x batch x vocabulary: the logits."""
    import torch
    from models.torch_models import MODELS

    model, given = MODELS[a.name](a), [torch.from_numpy(weight) for weight in weights]
    caches = torch_caches(a, a.capacity or 0)
    outputs = []
    for step, tokens in enumerate(draw_tokens(a)):
        position = [] if a.capacity is None else [torch.tensor([step])]
        logits, *caches = model(torch.from_numpy(tokens), *position, caches, given)
        outputs.append(logits.numpy())
    return np.stack(outputs)


def run_jax(a: Architecture, weights: list[np.ndarray]) -> np.ndarray:
    import jax
    import jax.numpy as jnp
    from models.jax_models import decode

    step_of = jax.jit(lambda *arguments: decode(a, *arguments))
    caches = [jnp.zeros(a.cache_shape(a.capacity)) for _ in range(2 * a.layers)]
    outputs = []
    with jax.default_matmul_precision("highest"):
        for step, tokens in enumerate(draw_tokens(a)):
            logits, *caches = step_of(tokens.astype(np.int32), np.int32(step), caches, weights)
            outputs.append(np.asarray(logits))
    return np.stack(outputs)


def generate(a: Architecture) -> None:
    weights = list(a.draw_weights(SEED).values())
    export, run = (export_jax, run_jax) if a.name.endswith("-jax") else (export_torch, run_torch)
    outputs = run(a, weights)
    assert outputs.shape == (STEPS, a.batch, a.vocabulary) and np.isfinite(outputs).all()
    np.savez_compressed(HERE / f"{a.name}.npz", logits=outputs)
    (HERE / f"{a.name}.mlir").write_text(export(a, weights))


if __name__ == "__main__":
    for name in sys.argv[1:] or ARCHITECTURES:
        generate(ARCHITECTURES[name])
    (HERE / "llama-layer.mlir").write_text(export_layer(ARCHITECTURES["llama"]))
