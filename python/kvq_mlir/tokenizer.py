"""The model's tokenizer, built from the vocabulary and merges in its GGUF header. Nothing is downloaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

CONTROL_TOKEN = 3  # GGUF token_type of tokens such as <|im_start|>


def build_tokenizer(vocabulary: Sequence[str], merges: Sequence[str], token_types: Sequence[int]) -> Tokenizer:
    """Byte-level BPE as SmolLM trains it: each digit is a token of its own, no space is put before the text.

    vocabulary: one string per token id; merges: "left right", best first; token_types: GGUF's, per token id.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    ids = {token: index for index, token in enumerate(vocabulary)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([t for t, kind in zip(vocabulary, token_types, strict=True) if kind == CONTROL_TOKEN])
    return tokenizer
