"""Tokenizers whose ids equal those of `tokenizers` and `tiktoken`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from drapps.errors import PipelineError
from drapps.tokenizers.buffers import file_chunk, texts_in
from drapps.tokenizers.decode_stream import DecodeStream
from drapps.tokenizers.encoded import Encoded, check_threads, encode_natively, flat, listed
from drapps.tokenizers.fast import fast_tokenizer
from drapps.tokenizers.oracles import oracle
from drapps.tokenizers.rank_files import described
from drapps.tokenizers.sources import Source, digest_of, read_source
from drapps.tokenizers.stock import Allowed, Stock, Text

if TYPE_CHECKING:
    from drapps._core import TextTokenizer


class Tokenizer:
    """Text to ids and back. Made by `drapps.tokenizer`; may be used from any thread.

    Attributes:
        native: whether the work is done by DRAPPS itself. If not, the library that the tokenizer
            is from does it.
        reason: why it is not native; empty if it is.
        oracle: the library whose ids these are, and its version; it says so where that was swept
            here, and where none is installed.
    """

    def __init__(self, source: Any, asked: tuple[str, dict[str, int]] | None = None) -> None:
        read: Source = read_source(source, asked)
        self._kept = read.kept
        self._make_stock = read.stock
        self._made_stock: Stock | None = None
        self._ranks = read.ranks
        self._specials = read.specials
        self._core = None if isinstance(read.native, str) else read.native
        self.native = self._core is not None
        self.reason = read.native if isinstance(read.native, str) else ""
        self.oracle = oracle("tiktoken" if read.ranks else "tokenizers")
        if not self.native:
            self._stock  # noqa: B018  # so that what nobody can read is an error here

    def encode(
        self, text: Text, add_special_tokens: bool = True, *, allowed_special: Allowed = None
    ) -> list[int]:
        """The ids of a text.

        Args:
            text: a str, or bytes of UTF-8. What is none is read as U+FFFD.
            add_special_tokens: put the tokens of the template around it, such as that of its
                beginning.
            allowed_special: of tiktoken's special tokens those that are found in the text, or
                ``"all"``. The others, and by default all, are ordinary text.
        """
        wanted = self._wanted(allowed_special)
        if self._core is None:
            return self._stock.encode(text, add_special_tokens, wanted)
        ids: list[int] = self._core.encode(text, add_special_tokens, wanted)
        return ids

    def encode_batch(
        self,
        texts: Iterable[Text],
        threads: int | None = None,
        *,
        add_special_tokens: bool = True,
        allowed_special: Allowed = None,
    ) -> Encoded:
        """The ids of many texts, as arrays. Other threads may run Python meanwhile.

        Args:
            texts: each as in `encode`. Of a column of Arrow (of `pyarrow`, or any other with its
                C interface) of strings or binary the texts are not copied.
            threads: how many work at once, of the workers that loaders share and within their
                budgets; by default as many as the budget has cores, where there is enough to do.
                The ids are the same.
            add_special_tokens: as in `encode`.
            allowed_special: as in `encode`.
        """
        wanted = self._wanted(allowed_special)
        if self._core is not None:
            return encode_natively(self._core, texts, threads, add_special_tokens, wanted)
        return self._flat(listed(texts, threads), add_special_tokens, wanted)

    def encode_file(
        self,
        path: str | PathLike[str],
        separator: str | bytes = "\n",
        threads: int | None = None,
        *,
        add_special_tokens: bool = True,
        allowed_special: Allowed = None,
    ) -> Encoded:
        """The ids of the documents of a text file, which is mapped and not read as a whole.

        Args:
            path: of a file in UTF-8. It must not become shorter meanwhile.
            separator: what stands between documents, and belongs to none. At the end of the file
                no document begins.
            threads: as in `encode_batch`.
            add_special_tokens: as in `encode`.
            allowed_special: as in `encode`.

        Raises:
            DataNotFoundError: for a file that is not there.
            PipelineError: for one that cannot be read.
        """
        chunk = file_chunk(path, separator)
        check_threads(threads)
        wanted = self._wanted(allowed_special)
        if self._core is not None:
            arrays = self._core.encode_ranges([chunk], threads or 0, add_special_tokens, wanted)
            return Encoded(*arrays)
        return self._flat(texts_in([chunk]), add_special_tokens, wanted)

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of ids.

        Args:
            ids: a list or an array. An id without a token is left out, as `tokenizers` does it; of
                a tokenizer of tiktoken it is an error.
            skip_special_tokens: leave special tokens out; tiktoken's never are.
        """
        if not self._decodes:
            return self._stock.decode([int(number) for number in ids], skip_special_tokens)
        return self._bytes_of(ids, skip_special_tokens).decode("utf-8", "replace")

    def stream(self, skip_special_tokens: bool = True) -> DecodeStream:
        """Text of ids that come one after the other, as a model makes them.

        Args:
            skip_special_tokens: as in `decode`.
        """
        return DecodeStream(self._bytes_of if self._decodes else self.decode, skip_special_tokens)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are, as the library counts them."""
        return self._stock.vocab_size if self._core is None else int(self._core.vocab_size)

    @property
    def core(self) -> TextTokenizer | None:
        """What does the work where it is native."""
        return self._core

    @cached_property
    def digest(self) -> str:
        """Sixteen hex digits over all that decides the ids. The first call takes a moment."""
        return digest_of(self._kept)

    def encode_token(self, token: str) -> list[int]:
        """The ids of the text of one token, special or not."""
        return self.encode(token, False, allowed_special="all" if self._ranks else None)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return Tokenizer, (self._kept,)

    def __repr__(self) -> str:
        how = f"pattern {self._core.pattern}" if self._core is not None else self.reason
        return f"Tokenizer({self.vocab_size} tokens, {'' if self.native else 'not '}native: {how})"

    @property
    def _decodes(self) -> bool:
        return self._core is not None and self._core.decodes

    def _bytes_of(self, ids: Iterable[int], skip_special_tokens: bool) -> bytes:
        assert self._core is not None
        numbers = [int(number) for number in ids]
        skip = skip_special_tokens and not self._ranks
        try:
            return bytes(self._core.decode_bytes(numbers, skip, not self._ranks))
        except ValueError as error:
            raise PipelineError(str(error)) from None

    @property
    def _stock(self) -> Stock:
        if self._made_stock is None:
            self._made_stock = self._make_stock()
        return self._made_stock

    def _flat(self, texts: Iterable[Text], specials: bool, wanted: list[str] | None) -> Encoded:
        return flat(self._stock.encode(text, specials, wanted) for text in texts)

    def _wanted(self, allowed: Allowed) -> list[str] | None:
        if allowed is None:
            return None
        if not self._ranks:
            raise PipelineError("allowed_special is of tiktoken's tokenizers only")
        if isinstance(allowed, str):
            if allowed != "all":
                raise PipelineError(f"allowed_special={allowed!r} must be 'all', or a set of texts")
            return sorted(self._specials)
        return [text for text in allowed if text in self._specials]


@overload
def tokenizer(
    source: str | PathLike[str],
    *,
    encoding: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer: ...
@overload
def tokenizer(source: Any) -> Any: ...
def tokenizer(
    source: Any,
    *,
    encoding: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Any:
    """A tokenizer whose ids are those of the library that `source` is from, made much faster.

    Native are byte-level BPE models with the patterns of GPT-2, cl100k, Llama 3, o200k, Qwen 2,
    tekken and DeepSeek V3, with text as it is or in a normal form of Unicode. What would not be
    reproduced to the id is left to the library itself: then ``native`` is False, and ``reason``
    says what stood in the way.

    Args:
        source: path of a ``tokenizer.json`` or its folder, a ``tokenizers.Tokenizer``, a
            ``PreTrainedTokenizerFast``, a ``tiktoken.Encoding``, or the path of a file of
            tiktoken's ranks.
        encoding: of a file of ranks the name of the encoding, such as ``"o200k_base"``.
        pattern: of a file of ranks of another encoding the regular expression that cuts text.
        special_tokens: with `pattern`, the texts of its special tokens and their ids.

    Returns:
        A `Tokenizer`; of a ``PreTrainedTokenizerFast`` a copy of it, of which calls are answered
        natively.

    Raises:
        PipelineError: for a file that is damaged, or no tokenizer.
        DataNotFoundError: for a file that is not there.
    """
    asked = described(encoding, pattern, special_tokens)
    if asked is None and hasattr(source, "backend_tokenizer"):
        return fast_tokenizer(source)
    return Tokenizer(source, asked)
