"""The decode step of `llama-jax` in JAX: caches of a fixed size, tokens before heads, dynamic_update_slice."""

import jax
import jax.numpy as jnp
from models.architectures import Architecture


def rms_norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * weight


def rope(x, position, theta: float):
    """x: batch x 1 x heads x head_dim"""
    half = x.shape[-1] // 2
    frequencies = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    cos, sin = (f(position.astype(jnp.float32) * frequencies) for f in (jnp.cos, jnp.sin))
    x, y = x[..., :half], x[..., half:]
    return jnp.concatenate((x * cos - y * sin, x * sin + y * cos), -1)


def decode(a: Architecture, tokens, position, caches, weights):
    w = dict(zip(a.weight_shapes(), weights, strict=True))
    x = w["embedding"][tokens][:, None]
    updated = []
    for layer in range(a.layers):
        y = rms_norm(x, w[f"{layer}.input_norm"])
        q, k, v = (
            jnp.einsum("btc,dc->btd", y, w[f"{layer}.{name}"]).reshape(a.batch, 1, -1, a.head_dim) for name in "qkv"
        )
        q, k = rope(q, position, a.theta), rope(k, position, a.theta)
        k = jax.lax.dynamic_update_slice(caches[2 * layer], k, (0, position, 0, 0))
        v = jax.lax.dynamic_update_slice(caches[2 * layer + 1], v, (0, position, 0, 0))
        updated += [k, v]
        q = q.reshape(a.batch, 1, a.kv_heads, a.heads // a.kv_heads, a.head_dim)
        scores = jnp.einsum("bqhgd,bthd->bhgqt", q, k) * a.scale
        scores = jnp.where(jnp.arange(k.shape[1]) <= position, scores, -jnp.inf)
        y = jnp.einsum("bhgqt,bthd->bqhgd", jax.nn.softmax(scores, axis=-1), v)
        x = x + jnp.einsum("btc,dc->btd", y.reshape(a.batch, 1, -1), w[f"{layer}.o"])
        y = rms_norm(x, w[f"{layer}.mlp_norm"])
        gate = jnp.einsum("btc,dc->btd", y, w[f"{layer}.gate"])
        y = jax.nn.silu(gate) * jnp.einsum("btc,dc->btd", y, w[f"{layer}.up"])
        x = x + jnp.einsum("btc,dc->btd", y, w[f"{layer}.down"])
    x = rms_norm(x, w["final_norm"])
    return jnp.einsum("bc,vc->bv", x[:, 0], w["embedding"]), *updated
