"""Decode steps in PyTorch, written as models are that have never heard of kvq.

llama   caches that grow by torch.cat; KV heads repeated; scores, softmax and output one by one; llama-f16 keeps them
        in f16 and computes in f32
qwen2   caches of a fixed size, index_copy at the position; scaled_dot_product_attention with a mask
gemma2  caches of a fixed size, a slice assigned; softcap, sliding windows
"""

import torch
import torch.nn.functional as F
from models.architectures import Architecture


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def repeat_kv(x, times: int):
    batch, heads, tokens, channels = x.shape
    return x[:, :, None].expand(batch, heads, times, tokens, channels).reshape(batch, heads * times, tokens, channels)


def gelu_tanh(x):
    """Written out: torch-mlir's lowering of F.gelu has 0.797724 for sqrt(2 / pi)."""
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


class Model(torch.nn.Module):
    def __init__(self, architecture: Architecture):
        super().__init__()
        self.architecture = architecture

    def norm(self, x, weight):
        return rms_norm(x, 1 + weight if self.architecture.gemma else weight)

    def rope(self, position):
        a = self.architecture
        frequencies = a.theta ** (-torch.arange(0, a.head_dim, 2, dtype=torch.float32) / a.head_dim)
        angles = position.reshape(1, 1).to(torch.float32) * frequencies[None]
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()

    def project(self, x, w, layer: int, name: str, heads: int):
        y = F.linear(x, w[f"{layer}.{name}"], w.get(f"{layer}.{name}_bias"))
        return y.view(x.shape[0], 1, heads, self.architecture.head_dim).transpose(1, 2)

    def mlp(self, x, w, layer: int):
        gate = F.linear(x, w[f"{layer}.gate"])
        gate = gelu_tanh(gate) if self.architecture.gemma else F.silu(gate)
        return F.linear(gate * F.linear(x, w[f"{layer}.up"]), w[f"{layer}.down"])

    def update(self, cache, new, position):
        raise NotImplementedError

    def attend(self, q, k, v, position, layer: int):
        raise NotImplementedError

    def layer(self, x, keys, values, position, w, layer: int):
        """x: batch x 1 x hidden. Returns what it becomes, and the caches."""
        a = self.architecture
        cos, sin = self.rope(position)
        y = self.norm(x, w[f"{layer}.input_norm"])
        q = self.project(y, w, layer, "q", a.heads)
        k = self.project(y, w, layer, "k", a.kv_heads)
        v = self.project(y, w, layer, "v", a.kv_heads)
        q, k = (z * cos + rotate_half(z) * sin for z in (q, k))
        k, v = self.update(keys, k, position), self.update(values, v, position)
        y = self.attend(q, k, v, position, layer).transpose(1, 2).reshape(a.batch, 1, -1)
        y = F.linear(y, w[f"{layer}.o"])
        x = x + (self.norm(y, w[f"{layer}.attention_norm"]) if a.gemma else y)
        y = self.mlp(self.norm(x, w[f"{layer}.mlp_norm"]), w, layer)
        return x + (self.norm(y, w[f"{layer}.output_norm"]) if a.gemma else y), k, v

    def decode(self, tokens, position, caches, weights):
        a = self.architecture
        w = dict(zip(a.weight_shapes(), weights, strict=True))
        x = F.embedding(tokens[:, None], w["embedding"])
        if a.gemma:
            x = x * a.hidden**0.5
        updated = []
        for layer in range(a.layers):
            x, *sides = self.layer(x, *caches[2 * layer : 2 * layer + 2], position, w, layer)
            updated += sides
        x = self.norm(x, w["final_norm"])
        return F.linear(x[:, 0], w["embedding"]), *updated


class Llama(Model):
    def forward(self, tokens, caches, weights):
        return self.decode(tokens, torch.tensor(caches[0].shape[2]), caches, weights)

    def update(self, cache, new, position):
        return torch.cat((cache, new.to(cache.dtype)), dim=2)

    def attend(self, q, k, v, position, layer):
        times = self.architecture.heads // self.architecture.kv_heads
        k, v = k.float(), v.float()
        scores = torch.matmul(q, repeat_kv(k, times).transpose(2, 3)) * self.architecture.scale
        return torch.matmul(F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype), repeat_kv(v, times))


class LlamaLayer(Llama):
    """One layer by itself: batch x 1 x hidden, keys, values and weights to batch x 1 x hidden, keys and values."""

    def forward(self, x, keys, values, weights):
        w = dict(zip(self.architecture.layer_shapes(), weights, strict=True))
        w = {f"0.{name}": weight for name, weight in w.items()}
        return self.layer(x, keys, values, torch.tensor(keys.shape[2]), w, 0)


class Qwen2(Model):
    def forward(self, tokens, position, caches, weights):
        return self.decode(tokens, position, caches, weights)

    def update(self, cache, new, position):
        return cache.index_copy(2, position, new)

    def attend(self, q, k, v, position, layer):
        mask = torch.arange(k.shape[2]) <= position
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None, None, None, :], enable_gqa=True)


class Gemma2(Model):
    def forward(self, tokens, position, caches, weights):
        return self.decode(tokens, position, caches, weights)

    def update(self, cache, new, position):
        cache = cache.clone()
        first = position.item()
        torch._check(first >= 0)
        torch._check(first < cache.shape[2])
        cache[:, :, first : first + 1] = new
        return cache

    def attend(self, q, k, v, position, layer):
        a = self.architecture
        times = a.heads // a.kv_heads
        scores = torch.matmul(q, repeat_kv(k, times).transpose(2, 3)) * a.scale
        scores = torch.tanh(scores / a.softcap) * a.softcap
        seen = torch.arange(k.shape[2]) <= position
        if a.window_of(layer):
            seen = seen & (torch.arange(k.shape[2]) > position - a.window_of(layer))
        mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        weights = F.softmax(scores + mask[None, None, None, :], dim=-1, dtype=torch.float32).to(q.dtype)
        return torch.matmul(weights, repeat_kv(v, times))


MODELS = {"llama": Llama, "llama-f16": Llama, "qwen2": Qwen2, "gemma2": Gemma2}
