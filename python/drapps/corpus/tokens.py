"""Tokenizers and tokens, as who describes rows of text gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.corpus.spec import NO_ID
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from drapps.tokenizers.tokenizer import Tokenizer


def native_tokenizer(tokenizer: Any) -> Tokenizer:
    """What makes ids in the core.

    Raises:
        PipelineError: it is none that can.
    """
    from drapps.tokenizers.tokenizer import Tokenizer

    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
    encoder = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
    if not encoder.native:
        raise PipelineError(
            f"the tokenizer is not native ({encoder.reason}), and packing needs one that is: "
            "tokenise beforehand, or use a byte-level BPE"
        )
    return encoder


def token_id(name: str, token: int | str | None, tokenizer: Tokenizer) -> int:
    """The id of a token that was given by id or text.

    Raises:
        PipelineError: no id, or a text that is no single token.
    """
    if token is None:
        return NO_ID
    if not isinstance(token, str):
        return arguments.whole(name, token, 0, tokenizer.vocab_size - 1)
    ids = tokenizer.encode_token(token)
    if len(ids) != 1:
        raise PipelineError(
            f"{name}={token!r} is {len(ids)} tokens, not one: name a special token, or give its id"
        )
    return ids[0]
