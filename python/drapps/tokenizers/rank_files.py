"""Files of tiktoken's ranks, and what such a file does not say: the pattern and special tokens.

A line has a token in base64 and its rank, which is its id (``tiktoken.load.load_tiktoken_bpe``).
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from drapps.arguments import whole
from drapps.errors import PipelineError

_R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_CHAT = ("<|start|>", "<|end|>", "<|message|>")
_HARMONY = {
    "<|startoftext|>": 199_998,
    "<|endoftext|>": 199_999,
    "<|endofprompt|>": 200_018,  # as is a reserved one; this is what the id is decoded to
    "<|return|>": 200_002,
    "<|constrain|>": 200_003,
    "<|channel|>": 200_005,
    **dict(zip(_CHAT, range(200_006, 200_009), strict=True)),
    "<|call|>": 200_012,
}
_NOT_RESERVED = {*_HARMONY.values()} - {200_018}
_HARMONY |= {
    f"<|reserved_{number}|>": number
    for number in range(200_000, 201_088)
    if number not in _NOT_RESERVED
}

# The pattern and the special tokens of the encodings of tiktoken 0.14.0 (tiktoken_ext).
ENCODINGS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "gpt2": (_R50K, {"<|endoftext|>": 50_256}),
    "r50k_base": (_R50K, {"<|endoftext|>": 50_256}),
    "p50k_base": (_R50K, {"<|endoftext|>": 50_256}),
    "p50k_edit": (
        _R50K,
        {"<|endoftext|>": 50_256, **dict(zip(_FIM, range(50_281, 50_284), strict=True))},
    ),
    "cl100k_base": (
        _CL100K,
        {
            "<|endoftext|>": 100_257,
            **dict(zip(_FIM, range(100_258, 100_261), strict=True)),
            "<|endofprompt|>": 100_276,
        },
    ),
    "o200k_base": (_O200K, {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}),
    "o200k_harmony": (_O200K, _HARMONY),
}


class RankFile(NamedTuple):
    """What a file of ranks has in it, and what it does not say."""

    data: bytes
    name: str
    pattern: str
    special_tokens: dict[str, int]

    def ranks(self) -> dict[bytes, int]:
        """The rank of each token.

        Raises:
            PipelineError: a line is none of such a file.
        """
        ranks: dict[bytes, int] = {}
        for number, line in enumerate(self.data.splitlines(), 1):
            words = line.split()
            if not words:
                continue
            try:
                token, rank = words
                ranks[base64.b64decode(token, validate=True)] = int(rank)
            except (ValueError, binascii.Error):
                raise PipelineError(
                    f"{self.name}:{number}: {line[:40]!r} is no token in base64 with its rank; "
                    "is it a file of tiktoken's ranks?"
                ) from None
        if not ranks:
            raise PipelineError(f"{self.name}: there are no ranks in it")
        return ranks

    def encoding(self, ranks: dict[bytes, int]) -> Any:
        """The same as an encoding of tiktoken.

        Raises:
            PipelineError: tiktoken is not installed, or does not take it.
        """
        try:
            import tiktoken
        except ImportError:
            raise PipelineError(f"{self.name}: install tiktoken, which reads it") from None
        try:
            return tiktoken.Encoding(
                Path(self.name).stem,
                pat_str=self.pattern,
                mergeable_ranks=ranks,
                special_tokens=self.special_tokens,
            )
        except Exception as error:
            raise PipelineError(f"{self.name}: tiktoken does not take it: {error}") from error


def decoded_first(specials: dict[bytes, int], encoding: Callable[[], Any]) -> dict[bytes, int]:
    """Special tokens, of those with one id first the one that tiktoken decodes it to.

    Which one that is follows from a hash table of tiktoken's own, so it is asked; where it is not
    installed, the order stays.
    """
    try:
        stock = encoding()
    except PipelineError:
        return specials
    shared = [number for number, texts in Counter(specials.values()).items() if texts > 1]
    first = {stock.decode_single_token_bytes(number): number for number in shared}
    return first | specials


def described(
    encoding: str | None, pattern: str | None, special_tokens: Mapping[str, int] | None
) -> tuple[str, dict[str, int]] | None:
    """The pattern and special tokens that were asked for; None where nothing was.

    Raises:
        PipelineError: they do not go together, or there is no such encoding.
    """
    if encoding is not None:
        if pattern is not None or special_tokens is not None:
            raise PipelineError(
                "an encoding= has a pattern= and special_tokens=: leave out one or the other"
            )
        if encoding not in ENCODINGS:
            raise PipelineError(
                f"encoding={encoding!r} must be one of {', '.join(ENCODINGS)}; of another one give "
                "pattern= and special_tokens="
            )
        known = ENCODINGS[encoding]
        return known[0], dict(known[1])
    if pattern is None and special_tokens is None:
        return None
    if not isinstance(pattern, str) or special_tokens is None:
        raise PipelineError("pattern= and special_tokens= go together: give both, or encoding=")
    tokens = {}
    for text, number in special_tokens.items():
        if not isinstance(text, str):
            raise PipelineError(f"special_tokens= has {text!r}, which is no text")
        tokens[text] = whole(f"special_tokens[{text!r}]", number, 0)
    return pattern, tokens
