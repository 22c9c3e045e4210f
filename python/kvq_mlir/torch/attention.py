"""The attention that transformers calls: fused over kvq caches, PyTorch's over all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from .. import _kvq

if TYPE_CHECKING:
    from .layer import KvqLayer

NAME = "kvq"  # of the attention implementation


class StoredTokens(torch.Tensor):
    """Keys or values that lie in a layer's kvq caches: their shape, type and device, and no data.

    Whatever would compute with them fails: another attention than this one cannot silently see something else.
    """

    layer: KvqLayer
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, layer: KvqLayer, shape: tuple[int, ...], like: torch.Tensor) -> StoredTokens:
        self = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=like.dtype, device=like.device)
        self.layer = layer
        return self

    def __repr__(self) -> str:
        return f"<StoredTokens {list(self.shape)} of {self.layer}>"

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise _kvq.Error(
            f"keys and values lie in kvq caches, which the attention implementation '{NAME}' reads: expected it, "
            f"model.set_attn_implementation('{NAME}'), got another, which calls {function}"
        )


class _WithoutGradient(torch.autograd.Function):
    """The result of attention, from which no gradient goes back."""

    @staticmethod
    def forward(ctx: Any, out: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> None:
        raise _kvq.Error("attention over kvq caches has no gradient: train without KvqCache")


@torch.compiler.disable
def kvq_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention as transformers calls it; query [batch, heads, tokens, head_dim], the result [batch, tokens, heads,
    head_dim].

    Keys and values of a `KvqCache` are read where they lie; others go to PyTorch's scaled_dot_product_attention.
    Raises `Error`, a ValueError, for options of a score function that kernels do not have.
    """
    if not isinstance(key, StoredTokens):
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
        )
    if dropout:
        raise _kvq.Error(f"unsupported attention: expected no dropout, got {dropout}: call model.eval()")
    for name in ("position_bias", "s_aux"):
        if options.get(name) is not None:
            raise _kvq.Error(f"unsupported attention: expected scores without {name}")
    if options.get("output_attentions"):
        raise _kvq.Error("expected output_attentions = False: fused attention has no weights to show")
    if options.get("is_causal") is False or not getattr(module, "is_causal", True):
        raise _kvq.Error("unsupported attention: expected causal attention")
    out = key.layer.attend(query, attention_mask, scaling, options.get("softcap"))
    if torch.is_grad_enabled() and query.requires_grad:
        out = _WithoutGradient.apply(out, query)
    return out.transpose(1, 2).contiguous(), None


def register() -> None:
    """Makes the attention known to transformers, with masks as of PyTorch's."""
    AttentionInterface.register(NAME, kvq_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)


def use_in(config: Any) -> None:
    """Has a model attend through it. It replaces PyTorch's attention alone, which it calls where there is no kvq cache;
    `Error` where a model uses another, which would compute something else for other caches."""
    found = config._attn_implementation
    if found not in (None, "sdpa", NAME):
        raise _kvq.Error(
            f"expected a model with attn_implementation '{NAME}' or 'sdpa', got '{found}': "
            f"model.set_attn_implementation('{NAME}')"
        )
    config._attn_implementation = NAME


register()
