"""The oracle of kvq: quantized KV caches and attention over them, in plain NumPy.

Codes are computed in IEEE float32, attention in float64. Everything here is written from the text of the semantics,
not from any compiled code, so that the compiled code can be checked against it. Shapes are [batch, heads, tokens, dim].

The rules, numbered R1, R2, ..., are in docs/Semantics.md.
"""

from .attention import attention
from .cache import Cache
from .codes import CodeType, FloatCodes
from .floats import FloatType
from .formats import Format, Zero
from .packing import pack, unpack
from .quantization import dequantize, dequantize64, quantize, to_element

__all__ = [
    "Cache",
    "CodeType",
    "FloatCodes",
    "FloatType",
    "Format",
    "Zero",
    "attention",
    "dequantize",
    "dequantize64",
    "pack",
    "quantize",
    "to_element",
    "unpack",
]
