"""Samples that a tokenizer makes of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from drapps.errors import PipelineError
from drapps.tokenizers.fast import native_core
from drapps.tokenizers.rows import Request, rows_asked
from drapps.tokenizers.tokenise import Tokenise
from drapps.torch.recognise import NotLifted, name_of
from drapps.torch.text.cells import Cells, Rows
from drapps.torch.text.own import require_library
from drapps.torch.text.stamps import of_tokenizer, same_stamp
from drapps.torch.text.table import Table

if TYPE_CHECKING:
    from drapps.torch.text.cells import Int64Array

# What of a tokenizer's calls, and of its padding, is to be transformers' own.
_METHODS = ("__call__", "_encode_plus", "_get_padding_truncation_strategies", "pad", "_pad")
# What was made of tokenizers that live, and what they were then.
_cores: WeakKeyDictionary[Any, tuple[list[Any], Any]] = WeakKeyDictionary()
_PER_ROW = ("return_length", "return_overflowing_tokens")


def require_tokenizer(tokenizer: Any) -> None:
    """Makes sure that a tokenizer is one of transformers 5, and does what its class says.

    Raises:
        NotLifted: it is not, or does not.
    """
    if not any(base.__name__ == "PreTrainedTokenizerBase" for base in type(tokenizer).__mro__):
        raise NotLifted(f"the tokenizer is {name_of(tokenizer)}")
    require_library(tokenizer, _METHODS)


def core_of(tokenizer: Any) -> Any:
    """What makes the ids of a tokenizer natively.

    Raises:
        NotLifted: nothing does it exactly.
    """
    require_tokenizer(tokenizer)
    if getattr(tokenizer, "_tokenizer", None) is None:
        raise NotLifted(f"the tokenizer is {name_of(tokenizer)}, which is no fast one")
    stamp = of_tokenizer(tokenizer)
    known, native = _cores.get(tokenizer, (None, None))
    if native is None or known is None or not same_stamp(tuple(known), tuple(stamp[1:])):
        native = native_core(tokenizer)
        _cores[tokenizer] = stamp[1:], native
    if isinstance(native, str):
        raise NotLifted(f"the tokenizer has no native form: {native}")
    return native


def request_of(tokenizer: Any, pair: bool, options: dict[str, Any]) -> Request:
    """What a call with these options asks for.

    Raises:
        NotLifted: something that only the stock tokenizer can answer.
    """
    asked: dict[str, Any] = {}

    def note(text: Any, text_pair: Any = None, **given: Any) -> None:
        asked.update(given, text=text, text_pair=text_pair)

    kind: Any = type(tokenizer)
    listening = kind.__new__(kind)
    listening.__dict__.update(vars(tokenizer), _encode_plus=note)
    try:
        listening(["a"], ["a"] if pair else None, **options)
    except Exception as error:
        raise NotLifted(f"the tokenizer refuses its options: {error}") from None
    texts = asked.pop("text", None), asked.pop("text_pair", None)
    request = rows_asked(tokenizer, *texts, asked)
    if request is None:
        raise NotLifted(f"the tokenizer is called with {', '.join(sorted(options))}")
    return request


class TokenRows:
    """Samples that `Tokenise` makes of a table of texts, which are read where they lie.

    Attributes:
        tensors: samples hold tensors; they hold lists.
    """

    tensors = False

    def __init__(self, table: Table, transform: Tokenise) -> None:
        """Looks at what is done with which columns.

        Raises:
            NotLifted: something that has no native form.
        """
        for name in (*_PER_ROW, "return_tensors"):
            if transform.options.get(name):
                raise NotLifted(f"Tokenise is called with {name}")
        self._tokenizer = transform.tokenizer
        self._core = core_of(transform.tokenizer)
        pair = transform.pair is not None
        self._request = request_of(transform.tokenizer, pair, transform.options)
        self._limit = transform.options.get("max_length")
        named = [transform.column, *([transform.pair] if transform.pair is not None else [])]
        self._texts = [table.column(name) for name in named]
        self._named = " and ".join(map(repr, named))
        for name, column in zip(named, self._texts, strict=True):
            if column.kind != "text":
                raise NotLifted(f"column {name!r} holds no texts")
        self._kept = {name: table.column(name) for name in transform.keep}
        for name, column in self._kept.items():
            if column.kind == "text":
                raise NotLifted(f"column {name!r}, which is kept, holds texts")
        options = self._request.options
        wanted = ["input_ids", *(["token_type_ids"] if options.types else [])]
        wanted += ["attention_mask"] if options.attention else []
        wanted += ["special_tokens_mask"] if options.special_mask else []
        wanted += ["offset_mapping"] if options.places else []
        self.names = (*wanted, *(name for name in self._kept if name not in wanted))

    def read(self, rows: Int64Array) -> Rows | None:
        """The samples of rows; None where one is null, or its error is the stock tokenizer's."""
        if not all(column.has_all(rows) for column in (*self._texts, *self._kept.values())):
            return None
        second = self._texts[1].core if len(self._texts) > 1 else None
        try:
            columns = self._core.column_rows(
                self._texts[0].core, second, rows, self._request.options
            )
        except ValueError as error:
            raise PipelineError(f"texts of {self._named}: {error}") from None
        if isinstance(columns, str):
            return None
        begins = columns.pop("begins")
        del columns["samples"]
        cells = {
            name: Cells(values, begins, pairs=name == "offset_mapping")
            for name, values in columns.items()
        }
        longest = int((begins[1:] - begins[:-1]).max())
        self._tokenizer._eventual_warn_about_too_long_sequence(range(longest), self._limit, True)
        for name, column in self._kept.items():
            cells[name] = column.read(rows, name)
        return Rows(cells, len(rows))
