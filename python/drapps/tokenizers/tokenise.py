"""A column of texts becomes columns of tokens: a transform for `datasets`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drapps.errors import PipelineError


class Tokenise:
    """Calls a tokenizer with one column of a batch, or with two as pairs.

    ``dataset.set_transform(drapps.Tokenise(tokenizer, truncation=True, max_length=512))`` is a
    transform that `drapps.torch.DataLoader` can lift, as it says what it does; a function that
    calls the tokenizer does the same, but nobody can see that it does nothing else.

    Args:
        tokenizer: of `transformers`, or what `drapps.tokenizer` made of one.
        column: of the texts.
        pair: of the second texts, where there are two of each.
        keep: columns that samples have beside those of the tokenizer, such as labels.
        options: of the call, as ``truncation=True``.
    """

    def __init__(
        self,
        tokenizer: Any,
        column: str = "text",
        pair: str | None = None,
        *,
        keep: Iterable[str] = (),
        **options: Any,
    ) -> None:
        if not callable(tokenizer):
            raise PipelineError(
                f"Tokenise takes a tokenizer of transformers, and not {type(tokenizer).__name__}"
            )
        if isinstance(keep, str):
            raise PipelineError(f"keep={keep!r} must be a list of columns: keep=[{keep!r}]")
        self.tokenizer = tokenizer
        self.column = column
        self.pair = pair
        self.keep = tuple(keep)
        self.options = options

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The columns of tokens of a batch of texts, and those that are kept."""
        texts = (
            (batch[self.column],) if self.pair is None else (batch[self.column], batch[self.pair])
        )
        return {
            **self.tokenizer(*texts, **self.options),
            **{each: batch[each] for each in self.keep},
        }

    def __repr__(self) -> str:
        given = {"pair": self.pair, "keep": self.keep or None, **self.options}
        parts = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return f"Tokenise({', '.join([type(self.tokenizer).__name__, repr(self.column), *parts])})"
