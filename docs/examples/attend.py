import numpy as np
import kvq_mlir as kvq

rng = np.random.default_rng(0)
keys = rng.standard_normal((1, 8, 1000, 128), dtype=np.float32)     # batch, KV heads, tokens, head dim
keys[..., 5] += 30                                                  # an outlier channel, as real keys have
values = rng.standard_normal((1, 8, 1000, 128), dtype=np.float32)
query = rng.standard_normal((1, 32, 1, 128), dtype=np.float32)      # 4 query heads share a KV head

def attend(key_format, value_format, recent=0):
    k = kvq.Cache(1, 8, 1024, 128, kvq.Format(key_format), dtype="f16", recent=recent)
    v = kvq.Cache(1, 8, 1024, 128, kvq.Format(value_format), dtype="f16")
    k.append(keys)
    v.append(values)
    return kvq.attention(query, k, v), k.nbytes + v.nbytes

exact, exact_bytes = attend("codes = none", "codes = none")
for name, k, v, recent in (
    ("K8V8", "codes = i8, group = [1, 32], scale = f16", "codes = i8, group = [1, 32], scale = f16", 0),
    ("K4V4, keys per token", "codes = ui4, group = [1, 32], scale = f16, zero = min f16", "codes = i4, group = [1, 32], scale = f16", 0),
    ("K4V4, keys per channel", "codes = ui4, group = [32, 1], scale = f16, zero = min f16", "codes = i4, group = [1, 32], scale = f16", 32),
):
    out, nbytes = attend(k, v, recent)
    error = np.linalg.norm(out - exact) / np.linalg.norm(exact)
    print(f"{name:24}{nbytes / exact_bytes:6.1%} of the f16 bytes, output error {error:.2%}")
