"""The kernel written by hand that compiled ones are measured against, against the float64 reference."""

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import reference, yardstick
from kvq_mlir.metrics import relative_l2

if yardstick.missing():
    pytest.skip(yardstick.missing(), allow_module_level=True)

LENGTHS = [0, 1, 63, 64, 65, 255, 256, 257]
# The query is rounded to 16 bits: steps of about 3e-4 here, so scores err by 2e-4 and outputs by a few times that at most.
TOLERANCE = 1e-3


def blocks(cache: kvq.Cache) -> np.ndarray:
    return cache.storage()["records"].view(np.uint8)


def token_major(rows: np.ndarray) -> np.ndarray:
    """The same rows with the heads of a token side by side."""
    return np.ascontiguousarray(rows.swapaxes(1, 2)).swapaxes(1, 2)


@pytest.mark.parametrize("heads", yardstick.QUERY_HEADS)
@pytest.mark.parametrize("bits", yardstick.BLOCKS)
def test_attention_is_within_bounds_of_the_reference(bits, heads, rng):
    """Lengths around the borders of tiles; what lies behind a sequence's tokens is not read."""
    batch, kv_heads, scale = len(LENGTHS), 3, 0.2
    fmt = kvq.Format.preset(yardstick.BLOCKS[bits][0])
    k, v = (kvq.Cache(batch, kv_heads, 260, yardstick.HEAD_DIM, fmt, fill=0xFF) for _ in range(2))
    for cache in (k, v):
        cache.append(rng.standard_normal((batch, kv_heads, 257, yardstick.HEAD_DIM), np.float32), LENGTHS)
    q = rng.standard_normal((batch, kv_heads * heads, yardstick.HEAD_DIM), np.float32) * 3
    sides = [[cache.dequantize()[b, :, :length] for b, length in enumerate(LENGTHS)] for cache in (k, v)]
    wanted = reference.attention(q[:, :, None], *sides, scale=scale, causal=False)[:, :, 0]
    for rows in ([blocks(k), blocks(v)], [token_major(blocks(k)), token_major(blocks(v))]):
        outs = []
        for threads in (1, 2):
            call = yardstick.Yardstick(bits, q, *rows, np.array(LENGTHS), scale, np.full(q.shape, np.nan, np.float32))
            outs.append(call(threads))
        assert np.array_equal(*outs)
        assert not outs[0][0].any()
        for b in range(1, batch):
            assert relative_l2(outs[0][b], wanted[b]) <= TOLERANCE, LENGTHS[b]


def test_scores_far_apart(rng):
    """One token has all of the weight, and comes after others that had it."""
    fmt = kvq.Format.preset("ggml.q8_0")
    k, v = (kvq.Cache(1, 1, 200, yardstick.HEAD_DIM, fmt) for _ in range(2))
    keys = rng.standard_normal((1, 1, 200, yardstick.HEAD_DIM), np.float32)
    keys *= np.linspace(0, 20, 200, dtype=np.float32)[:, None]
    k.append(keys)
    v.append(rng.standard_normal(keys.shape, np.float32))
    q = rng.standard_normal((1, 4, yardstick.HEAD_DIM), np.float32)
    call = yardstick.Yardstick(8, q, blocks(k), blocks(v), np.array([200]), 1.0, np.empty_like(q))
    wanted = reference.attention(q[:, :, None], k.dequantize(), v.dequantize(), scale=1.0)
    assert relative_l2(call(), wanted[:, :, 0]) <= 1e-2  # scores of hundreds, of a query in 16 bits


def test_reading():
    data = np.arange(8 * 1001, dtype=np.int64)
    for threads in (1, 2, 3):
        assert yardstick.read(data, threads) == data[: 8 * 1000].sum()


def test_errors():
    rows, q = np.zeros((1, 2, 5, yardstick.TOKEN_BYTES[8]), np.uint8), np.zeros((1, 8, 128), np.float32)
    lengths = np.array([5])
    make = lambda **changes: yardstick.Yardstick(  # noqa: E731
        **(dict(bits=8, query=q, keys=rows, values=rows, lengths=lengths, scale=1.0, out=q.copy()) | changes)
    )
    make()
    for message, changes in (
        ("no kernel for a query of shape .1, 6, 128. over 2 KV heads", dict(query=q[:, :6], out=q[:, :6])),
        ("C-contiguous float32", dict(query=q.astype(np.float64))),
        ("rows of 72 bytes", dict(bits=4)),
        ("1 lengths of at most 5", dict(lengths=np.array([6]))),
    ):
        with pytest.raises(ValueError, match=message):
            make(**changes)
