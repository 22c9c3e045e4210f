"""Tensors as kvq takes arrays, and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from .. import _kvq

# Of keys and values, by what kvq calls them.
ELEMENTS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}


def element_of(x: torch.Tensor) -> str:
    """TypeError for a type that kvq has no kernels for."""
    if x.dtype not in ELEMENTS:
        raise TypeError(f"expected keys and values of float16, bfloat16 or float32, got {x.dtype}")
    return ELEMENTS[x.dtype]


def device_of(x: torch.Tensor) -> str:
    """Where the caches of such tensors are."""
    if x.device.type not in ("cpu", "cuda"):
        raise _kvq.Error(f"expected a model on the processor or on a GPU of CUDA, got tensors on {x.device}")
    return str(x.device)


def to_array(x: torch.Tensor) -> Any:
    """A tensor as kernels take it, C-contiguous: a NumPy array in its memory, on a GPU the tensor itself."""
    x = x.detach().contiguous()
    if x.device.type != "cpu":
        return x
    if x.dtype == torch.bfloat16:  # NumPy has it by its bits alone
        return x.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return x.numpy()


def to_tensor(x: Any, like: torch.Tensor) -> torch.Tensor:
    """What a kernel gave, in the type and on the device of `like`."""
    found = torch.from_numpy(x) if isinstance(x, np.ndarray) else x
    return found.to(like)
