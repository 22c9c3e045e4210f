"""The bytes that inference engines write into their KV caches, packed in plain NumPy.

One module per engine, each function written from the engine's published rule and independent of `kvq_mlir.reference`'s
own quantization: they follow the engine's rounding and code range, not docs/Semantics.md. Inputs are rows in the last
axis, taken as float32; records come out as uint8 in the last axis, little endian. Each docstring states the rule; where
an engine's processors disagree it says which one is meant.

Inputs are finite. Where an engine divides by zero (a constant group under LMDeploy, TurboMind or KIVI) its codes are
undefined; here they are 0.
"""

from . import ggml, kivi, lmdeploy, mla, mlx, mx, nvfp4, onnxruntime, openvino, vllm

__all__ = ["ggml", "kivi", "lmdeploy", "mla", "mlx", "mx", "nvfp4", "onnxruntime", "openvino", "vllm"]
