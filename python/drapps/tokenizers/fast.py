"""Tokenizers of transformers whose calls are answered natively."""

from __future__ import annotations

import copy
import hashlib
import importlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from drapps.tokenizers.encoded import Encoded, encode_natively, flat, listed
from drapps.tokenizers.oracles import oracle
from drapps.tokenizers.rows import Request, column_of, rows_asked
from drapps.tokenizers.sources import read_json
from drapps.tokenizers.stock import Text, text_of

if TYPE_CHECKING:
    from drapps._core import TextTokenizer


# What of a model may be set behind its making.
_MODEL_FLAGS = ("dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges")
# What a class of tokenizers has of transformers itself, if its calls mean what ours do.
CALLS = ("__call__", "_encode_plus", "_convert_encoding", "set_truncation_and_padding")


class Answers(NamedTuple):
    """What a tokenizer is answered with.

    Attributes:
        core: ours, or nothing.
        reason: why there is none.
        digest: of the description that it was made of.
        stamp: of those parts of it that methods of transformers change.
    """

    core: TextTokenizer | None
    reason: str
    digest: bytes
    stamp: tuple[Any, ...]


class FastTokenizer:
    """What stands before the methods of a `PreTrainedTokenizerFast`, all of which it has.

    A call of it, `encode` and what else comes down to `_encode_plus` are answered natively: one or
    many texts or pairs, padding, truncation with a stride and what overflows, tensors of torch and
    NumPy, offsets, masks and lengths. Any other argument goes to the stock method.

    Attributes:
        native: whether DRAPPS answers calls.
        reason: why not; empty if it does.
    """

    __slots__ = ("_answers",)

    _tokenizer: Any
    _answers: tuple[Answers | None, bool]
    split_special_tokens: bool

    @property
    def native(self) -> bool:
        """Whether DRAPPS answers calls itself."""
        return self._read().core is not None

    @property
    def reason(self) -> str:
        """Why DRAPPS does not answer calls; empty if it does."""
        return self._read().reason

    @property
    def oracle(self) -> str:
        """The library whose ids these are, its version, and whether that was swept here."""
        return oracle("tokenizers")

    def encode_batch(
        self, texts: Iterable[Text], threads: int | None = None, *, add_special_tokens: bool = True
    ) -> Encoded:
        """The ids of many texts, as the arrays of `drapps.Tokenizer.encode_batch`.

        Args:
            texts: each a str, or bytes of UTF-8.
            threads: how many work at once; by default as many as this process has cores.
            add_special_tokens: put the tokens of the template around each.
        """
        core = self._read().core
        if core is not None:
            return encode_natively(core, texts, threads, add_special_tokens, None)
        return flat(
            self._tokenizer.encode(text_of(text), add_special_tokens=add_special_tokens).ids
            for text in listed(texts, threads)
        )

    @property
    def backend_tokenizer(self) -> Any:
        """The stock one. Whoever has it may change it, so that the next call looks at it again."""
        self._forget()
        return self._tokenizer

    def update_post_processor(self) -> None:
        """As the method of this name in transformers."""
        self._forget()
        super().update_post_processor()  # type: ignore[misc]

    def _add_tokens(self, *args: Any, **named: Any) -> int:
        self._forget()
        return cast("int", super()._add_tokens(*args, **named))  # type: ignore[misc]

    def _encode_plus(self, text: Any, text_pair: Any = None, **asked: Any) -> Any:
        request = rows_asked(self, text, text_pair, asked)
        core = self._read().core if request is not None else None
        if core is None or request is None:
            return self._stock_plus(text, text_pair, **asked)
        columns: Any = core.rows(request.texts, request.seconds, request.options)
        if isinstance(columns, str):
            return self._stock_plus(text, text_pair, **asked)
        longest = int(np.diff(columns["begins"]).max())
        again = copy.copy(text), copy.copy(text_pair)
        batch = batch_of(columns, request, lambda: self._stock_plus(*again, **asked).encodings)
        if batch is None:
            return self._stock_plus(text, text_pair, **asked)
        self._eventual_warn_about_too_long_sequence(  # type: ignore[attr-defined]
            range(longest), asked.get("max_length"), asked.get("verbose", True)
        )
        return batch

    def _stock_plus(self, text: Any, text_pair: Any, **asked: Any) -> Any:
        """The stock method, whose truncation and padding do not stay behind."""
        stock = self._tokenizer
        truncation, padding = stock.truncation, stock.padding
        splits = stock.encode_special_tokens
        try:
            return super()._encode_plus(text, text_pair=text_pair, **asked)  # type: ignore[misc]
        finally:
            if stock.truncation != truncation:
                stock.no_truncation() if truncation is None else stock.enable_truncation(
                    **truncation
                )
            if stock.padding != padding:
                stock.no_padding() if padding is None else stock.enable_padding(**padding)
            if stock.encode_special_tokens != splits:
                stock.encode_special_tokens = splits

    def _read(self) -> Answers:
        """What answers calls, made anew where the stock tokenizer may have changed."""
        known, sure = _known(self)
        stamp = _stamp_of(self._tokenizer)
        if known is not None and sure and known.stamp == stamp:
            return known
        content = self._tokenizer.to_str().encode()
        digest = hashlib.blake2b(content).digest()
        if known is None or known.digest != digest:
            outcome = _core_of(type(self), content)
            core = None if isinstance(outcome, str) else outcome
            known = Answers(core, outcome if isinstance(outcome, str) else "", digest, stamp)
        known = known._replace(stamp=stamp)
        self._answers = known, True
        return known

    def _forget(self) -> None:
        self._answers = _known(self)[0], False

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)


_SLOT: Any = FastTokenizer.__dict__["_answers"]


def _known(tokenizer: FastTokenizer) -> tuple[Answers | None, bool]:
    """What a tokenizer was answered with, and whether it surely is as it was then."""
    try:
        return cast("tuple[Answers | None, bool]", _SLOT.__get__(tokenizer))
    except AttributeError:
        return None, False


def _stamp_of(stock: Any) -> tuple[Any, ...]:
    parts = (stock.post_processor, stock.normalizer, stock.pre_tokenizer)
    states = (None if part is None else part.__getstate__() for part in parts)
    return (*states, stock.get_vocab_size())


def parts_of(stock: Any) -> tuple[Any, ...]:
    """What a stock tokenizer consists of, but for the tables of its model: cheap to compare."""
    model = stock.model
    flags = (getattr(model, name, None) for name in _MODEL_FLAGS)
    added = sorted(stock.get_added_tokens_decoder().items())
    return (*_stamp_of(stock), stock.encode_special_tokens, type(model).__name__, *flags, added)


def _own_call(kind: type) -> str:
    """What a class does in a way of its own; nothing where calls are those of transformers 5."""
    if hasattr(kind, "_batch_encode_plus"):
        return "transformers before version 5"
    for name in CALLS:
        homes = (each for each in kind.__mro__ if name in vars(each) and each is not FastTokenizer)
        home = next(homes)
        if not home.__module__.startswith("transformers.tokenization_utils"):
            return f"{name} of {home.__name__}"
    return ""


def _core_of(kind: type, content: bytes) -> TextTokenizer | str:
    """What answers calls of tokenizers of a class, or the reason why nothing does."""
    return _own_call(kind) or read_json(content, "the tokenizer", limits=False)


def native_core(tokenizer: Any) -> TextTokenizer | str:
    """What answers calls of a tokenizer of transformers as it is now, or why nothing does."""
    if isinstance(tokenizer, FastTokenizer):
        answers = tokenizer._read()
        return answers.core if answers.core is not None else answers.reason
    return _core_of(type(tokenizer), tokenizer._tokenizer.to_str().encode())


class Said(dict[str, bool]):
    """Which warnings a tokenizer has given: no part of what it is, and so of no pickle."""

    def __reduce__(self) -> tuple[type[Said], tuple[()]]:
        return Said, ()


def fast_tokenizer(stock: Any) -> Any:
    """A copy of a tokenizer of transformers that is answered natively."""
    if isinstance(stock, FastTokenizer):
        return stock
    of: Any = type(stock)
    kind = native_class(of)
    tokenizer = kind.__new__(kind)
    tokenizer.__dict__.update(copy.deepcopy(stock.__dict__))
    tokenizer.deprecation_warnings = Said(stock.deprecation_warnings)
    tokenizer._read()
    return tokenizer


@cache
def native_class(kind: Any) -> Any:
    """The class of tokenizers of that kind that are answered natively. Pickles know it by name."""
    name = f"{kind.__module__}::{kind.__qualname__}".replace(".", ":")
    return type(
        kind.__name__, (FastTokenizer, kind), {"__module__": __name__, "__qualname__": name}
    )


def __getattr__(name: str) -> Any:
    module, separator, kind = name.partition("::")
    if not separator:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    of: Any = importlib.import_module(module.replace(":", "."))
    for part in kind.split(":"):
        of = getattr(of, part)
    return native_class(of)


def _data_of(columns: dict[str, Any], request: Request) -> dict[str, Any] | None:
    """Columns as transformers gives them; nothing where its own way of failing is wanted."""
    begins = columns.pop("begins")
    samples = columns.pop("samples")
    sizes = np.diff(begins)
    if request.tensors is not None and (sizes[0] == 0 or (sizes != sizes[0]).any()):
        return None
    data = {name: column_of(name, values, begins, request) for name, values in columns.items()}
    if request.lengths:
        data["length"] = sizes
    if request.options.overflowing:
        data["overflow_to_sample_mapping"] = samples
    if request.tensors == "pt":
        import torch

        return {name: torch.from_numpy(values) for name, values in data.items()}
    if request.tensors == "np":
        return data
    for name in ("length", "overflow_to_sample_mapping"):
        if name in data:
            data[name] = data[name].tolist()
    if request.alone and not request.options.overflowing:
        return {name: rows if name == "length" else rows[0] for name, rows in data.items()}
    return data


def batch_of(columns: dict[str, Any], request: Request, encodings: Callable[[], Any]) -> Any:
    """Columns as a batch of transformers; nothing where its own way of failing is wanted.

    Args:
        columns: of the core.
        request: that they answer.
        encodings: makes the stock tokenizer's, once they are asked for.
    """
    data = _data_of(columns, request)
    return None if data is None else _batch_class()(data, encodings)


def plain_batch(data: dict[str, Any]) -> Any:
    """A batch of transformers with nothing but its data."""
    from transformers import BatchEncoding

    return BatchEncoding(data)


@cache
def _batch_class() -> Any:
    from transformers import BatchEncoding

    class NativeBatch(BatchEncoding):
        """A batch whose encodings, which few ask for, the stock tokenizer makes when they are."""

        def __init__(self, data: dict[str, Any], make: Callable[[], Any]) -> None:
            self._make: Callable[[], Any] | None = make
            self._stock_encodings: Any = None
            super().__init__(data)

        @property
        def _encodings(self) -> Any:
            if self._make is not None:
                self._stock_encodings = self._make()
                self._make = None
            return self._stock_encodings

        @_encodings.setter
        def _encodings(self, encodings: Any) -> None:
            del encodings

        @property
        def _n_sequences(self) -> Any:
            return self._encodings[0].n_sequences

        @_n_sequences.setter
        def _n_sequences(self, number: Any) -> None:
            del number

        @property
        def is_fast(self) -> bool:
            return True

        def __reduce__(self) -> tuple[Any, tuple[Any]]:
            return plain_batch, (self.data,)

    return NativeBatch
