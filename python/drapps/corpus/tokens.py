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


def masking(
    labels: str, probability: float, replaced: float, random: float, whole_words: bool
) -> dict[str, Any]:
    """How tokens are masked, as descriptions of rows have it.

    Args:
        labels: that the rows have without masks.
        probability: with which a token is chosen.
        replaced: of those that are, the share that becomes the mask.
        random: of those that are, the share that becomes any token.
        whole_words: words are chosen as a whole.

    Raises:
        PipelineError: shifted labels, or no such shares.
    """
    if labels == "shifted":
        raise PipelineError("labels of masked tokens stand where the tokens do: not shifted")
    return {
        "labels": "masked",
        "mask_probability": arguments.chance(probability, "probability"),
        "mask_replaced": arguments.chance(replaced, "replaced"),
        "mask_random": arguments.chance(random, "random"),
        "mask_words": arguments.flag("whole_words", whole_words),
    }
