"""The oracle of kvq: quantized KV caches and attention over them, in plain NumPy.

Codes are computed in IEEE float32, attention in float64. Everything here is written from the text of the semantics,
not from any compiled code, so that the compiled code can be checked against it. Shapes are [batch, heads, tokens, dim].

NumPy has no bf16 and no 8-bit floats: elements and metadata of such a type are arrays of bit patterns, uint16 for bf16
and uint8 for f8E8M0FNU and f8E4M3FN. `decode_metadata` and `FloatType.decode` give their values.

The rules, numbered R1, R2, ..., are in docs/Semantics.md.
"""

from .attention import attention
from .cache import Cache
from .calibration import Calibration
from .codes import Codebook, CodeType, FloatCodes
from .floats import FloatType
from .formats import Format, Zero
from .layout import Layout, pack_rows
from .metadata import decode_metadata
from .packing import pack, unpack
from .quantization import Clipped, count_clipped, dequantize, dequantize64, quantize, to_element
from .rotation import hadamard, restore64

__all__ = [
    "Cache",
    "Calibration",
    "Clipped",
    "CodeType",
    "Codebook",
    "FloatCodes",
    "FloatType",
    "Format",
    "Layout",
    "Zero",
    "attention",
    "count_clipped",
    "decode_metadata",
    "dequantize",
    "dequantize64",
    "hadamard",
    "pack",
    "pack_rows",
    "quantize",
    "restore64",
    "to_element",
    "unpack",
]
