"""What a tokenizer is made from: files, and the tokenizers of other libraries."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from drapps.errors import DataNotFoundError, PipelineError
from drapps.tokenizers.oracles import difference
from drapps.tokenizers.stock import Stock, StockTiktoken, StockTokenizers

if TYPE_CHECKING:
    from drapps._core import TextTokenizer


class Content(NamedTuple):
    """What a tokenizer.json has in it, which pickles hold instead of its path."""

    data: bytes
    name: str


class Source(NamedTuple):
    """A tokenizer as it was found.

    Attributes:
        kept: what it can be found from again, anywhere.
        native: ours, or the reason why it would not be exact.
        stock: makes the stock tokenizer that it is from.
        ranks: whether the stock tokenizer is of tiktoken.
        specials: its special tokens that are found on request.
    """

    kept: Any
    native: TextTokenizer | str
    stock: Callable[[], Stock]
    ranks: bool = False
    specials: frozenset[str] = frozenset()


def read_source(source: Any) -> Source:
    """The tokenizer that `source` is, or is the file of."""
    if isinstance(source, Content):
        return _of_content(source)
    if isinstance(source, (str, os.PathLike)):
        return _of_content(_content_of(Path(source)))
    module = type(source).__module__.split(".")[0]
    if module == "tokenizers" and hasattr(source, "to_str"):
        return _of_tokenizers(source)
    if module == "tiktoken" and hasattr(source, "_mergeable_ranks"):
        return _of_tiktoken(source)
    raise PipelineError(
        f"a tokenizer is made from a tokenizer.json, or a tokenizer of transformers, tokenizers or "
        f"tiktoken, and not from {type(source).__name__}"
    )


def digest_of(kept: Any) -> str:
    """Sixteen hex digits over what `Source.kept` has: the same for a tokenizer and its file."""
    from drapps import _core

    if isinstance(kept, Content):
        written = kept.data
    elif hasattr(kept, "to_str"):
        written = kept.to_str().encode()
    else:
        ranks = sorted((rank, token.hex()) for token, rank in kept._mergeable_ranks.items())
        parts = [kept._pat_str, ranks, sorted(kept._special_tokens.items())]
        written = json.dumps(parts).encode()
    if (digest := _core.json_digest(written)) is not None:
        return f"{digest:016x}"
    # This is JSON that only Python's json reads.
    text = json.dumps(json.loads(written), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _content_of(path: Path) -> Content:
    from drapps import _core

    if path.suffix == ".tiktoken":
        raise PipelineError(
            f"{path}: a file of ranks has no pattern and no special tokens; "
            "make a tiktoken.Encoding with them, and pass that"
        )
    if path.is_dir():
        path = path / "tokenizer.json"
    try:
        size = path.stat().st_size
        if size > _core.TEXT_MAX_JSON:
            raise PipelineError(
                f"{path}: has {size} bytes, and the most that are read are {_core.TEXT_MAX_JSON}; "
                "is it a tokenizer.json?"
            )
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file") from None
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from error
    return Content(content, str(path))


def _of_content(content: Content) -> Source:
    native = read_json(content.data, content.name)

    def stock() -> Stock:
        tokenizers = _tokenizers(f"{content.name}: {native}")
        try:
            return StockTokenizers(tokenizers.Tokenizer.from_str(content.data.decode()))
        except Exception as error:
            raise PipelineError(
                f"{content.name}: `tokenizers` cannot read it either: {error}"
            ) from error

    return Source(content, native, stock)


def _of_tokenizers(tokenizer: Any) -> Source:
    native: TextTokenizer | str
    if tokenizer.encode_special_tokens:
        native = "encode_special_tokens"
    else:
        native = read_json(tokenizer.to_str().encode(), "the tokenizer")
    return Source(tokenizer, native, lambda: StockTokenizers(tokenizer))


def _of_tiktoken(encoding: Any) -> Source:
    from drapps import _core

    specials = encoding._special_tokens
    as_bytes = {text.encode(): number for text, number in specials.items()}
    try:
        native = cast(
            "TextTokenizer | str",
            _core.TextTokenizer.from_ranks(encoding._mergeable_ranks, encoding._pat_str, as_bytes),
        )
    except (ValueError, RuntimeError) as error:
        raise PipelineError(f"{encoding!r}: {error}") from None
    if not isinstance(native, str):
        native = difference("tiktoken") or native
    return Source(encoding, native, lambda: StockTiktoken(encoding), True, frozenset(specials))


def read_json(content: bytes, name: str, limits: bool = True) -> TextTokenizer | str:
    """A tokenizer of a tokenizer.json, or the reason why none would be exact.

    Args:
        content: of the file.
        name: what messages call it.
        limits: whether truncation and padding that it asks for count.

    Raises:
        PipelineError: it is damaged.
    """
    from drapps import _core

    try:
        native = cast("TextTokenizer | str", _core.TextTokenizer.from_json(content, limits))
    except ValueError as error:
        raise PipelineError(f"{name}: {error}") from None
    return native if isinstance(native, str) else difference("tokenizers") or native


def _tokenizers(why: str) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise PipelineError(
            f"{why} is not reproduced here, and `tokenizers`, which would take its place, "
            "is not installed: pip install tokenizers"
        ) from error
    return tokenizers
