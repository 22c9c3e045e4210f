"""kvq: quantized KV caches, compiled.

    import kvq_mlir as kvq

    fmt = kvq.Format("codes = i4, group = [1, 32], scale = f16")
    keys, values = (kvq.Cache(1, 8, 4096, 128, fmt) for _ in range(2))
    keys.append(k)                        # [batch, kv_heads, tokens, dim]
    values.append(v)
    out = kvq.attention(q, keys, values)  # [batch, q_heads, q_len, dim]
"""

from ._kvq import Error
from .attend import attention
from .cache import Cache
from .cache_types import CacheType
from .calibration import calibrate
from .compiler import parse, run_pipeline
from .devices import Cuda, Emulator
from .format import Format, Segments
from .ops import Quantized, count_saturated, dequantize, quantize
from .policy import Policy
from .rope import rope_tables
from .schedule import Schedule, use_schedules

__all__ = [
    "Cache",
    "CacheType",
    "Cuda",
    "Emulator",
    "Error",
    "Format",
    "Policy",
    "Quantized",
    "Schedule",
    "Segments",
    "attention",
    "calibrate",
    "count_saturated",
    "dequantize",
    "parse",
    "quantize",
    "rope_tables",
    "run_pipeline",
    "use_schedules",
]
