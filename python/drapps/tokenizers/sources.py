"""What a tokenizer is made from: files, and the tokenizers of other libraries."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from drapps.errors import DataNotFoundError, PipelineError
from drapps.tokenizers.oracles import difference
from drapps.tokenizers.rank_files import RankFile, decoded_first
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


def read_source(source: Any, asked: tuple[str, dict[str, int]] | None = None) -> Source:
    """The tokenizer that `source` is, or is the file of.

    Args:
        source: as `drapps.tokenizer` takes it, or `Source.kept`.
        asked: the pattern and special tokens of a file of ranks.
    """
    if isinstance(source, Content):
        return _of_content(source)
    if isinstance(source, RankFile):
        return _of_ranks(source)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if asked is not None:
            return _of_ranks(RankFile(_bytes_of(path, "a file of ranks"), str(path), *asked))
        return _of_content(_content_of(path))
    if asked is not None:
        raise PipelineError(
            "encoding=, pattern= and special_tokens= are of a file of ranks: name one"
        )
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
        pattern, ranks, specials = (
            (kept.pattern, kept.ranks(), kept.special_tokens)
            if isinstance(kept, RankFile)
            else (kept._pat_str, kept._mergeable_ranks, kept._special_tokens)
        )
        by_rank = sorted((rank, token.hex()) for token, rank in ranks.items())
        written = json.dumps([pattern, by_rank, sorted(specials.items())]).encode()
    if (digest := _core.json_digest(written)) is not None:
        return f"{digest:016x}"
    # This is JSON that only Python's json reads.
    text = json.dumps(json.loads(written), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _content_of(path: Path) -> Content:
    if path.suffix == ".tiktoken":
        raise PipelineError(
            f"{path}: a file of ranks has no pattern and no special tokens; name its encoding, "
            'such as encoding="cl100k_base", or give pattern= and special_tokens='
        )
    if path.is_dir():
        path = path / "tokenizer.json"
    return Content(_bytes_of(path, "a tokenizer.json"), str(path))


def _bytes_of(path: Path, kind: str) -> bytes:
    from drapps import _core

    try:
        size = path.stat().st_size
        if size > _core.TEXT_MAX_JSON:
            raise PipelineError(
                f"{path}: has {size} bytes, and the most that are read are {_core.TEXT_MAX_JSON}; "
                f"is it {kind}?"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise DataNotFoundError(f"{path}: there is no such file") from None
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from error


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
    specials = encoding._special_tokens
    native = _native_ranks(
        repr(encoding), encoding._mergeable_ranks, encoding._pat_str, specials, lambda: encoding
    )
    return Source(encoding, native, lambda: StockTiktoken(encoding), True, frozenset(specials))


def _of_ranks(file: RankFile) -> Source:
    ranks = file.ranks()
    encoding = functools.partial(file.encoding, ranks)
    native = _native_ranks(file.name, ranks, file.pattern, file.special_tokens, encoding)
    specials = frozenset(file.special_tokens)
    return Source(file, native, lambda: StockTiktoken(encoding()), True, specials)


def _native_ranks(
    name: str,
    ranks: dict[bytes, int],
    pattern: str,
    specials: Mapping[str, int],
    encoding: Callable[[], Any],
) -> TextTokenizer | str:
    from drapps import _core

    as_bytes = {text.encode(): number for text, number in specials.items()}
    if len(set(as_bytes.values())) < len(as_bytes):
        as_bytes = decoded_first(as_bytes, encoding)
    try:
        native = cast(
            "TextTokenizer | str", _core.TextTokenizer.from_ranks(ranks, pattern, as_bytes)
        )
    except (ValueError, RuntimeError) as error:
        raise PipelineError(f"{name}: {error}") from None
    return native if isinstance(native, str) else difference("tiktoken") or native


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
