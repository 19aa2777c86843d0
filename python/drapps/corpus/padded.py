"""Documents by themselves: rows that differ in length, padded by the batch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments
from drapps.arguments import Bytes
from drapps.corpus.rows import TextRows
from drapps.corpus.spec import NO_ID
from drapps.corpus.tokens import token_id
from drapps.errors import PipelineError
from drapps.policy import Policy
from drapps.resources import Resources
from drapps.spec import MOST_ROWS

if TYPE_CHECKING:
    from drapps.corpus.loader import PackedLoader

LONGEST = 1 << 24  # tokens of a row
_MOST_OF_BATCH = 1 << 26


@dataclass(frozen=True)
class PaddedPipeline(TextRows):
    """Rows of one document each; made by `TextPipeline.tokenise`. `batch` ends the description."""

    def pad(
        self,
        token: int | str | None = None,
        *,
        side: Literal["right", "left"] = "right",
        multiple: int = 1,
        lengths: Sequence[int] = (),
    ) -> PaddedPipeline:
        """How rows become equally wide: by default as wide as the longest of the batch.

        Args:
            token: what stands behind shorter rows, by its id or its text; by default `eos`.
            side: where it stands, ``left`` for who generates from the rows.
            multiple: the width is a multiple of this.
            lengths: the widths that there are: a batch has the smallest that is enough, so that a
                compiled model meets these and no others. The last one is at least `max_length`.

        Raises:
            PipelineError: an argument makes no sense.
        """
        widths = [arguments.whole("lengths", each, 1, LONGEST) for each in lengths]
        if widths != sorted(set(widths)) or (widths and widths[-1] < self._spec.packing.length):
            raise PipelineError(
                f"lengths={widths} must ascend, and end at max_length="
                f"{self._spec.packing.length} or above"
            )
        changed = self._packing(
            pad_left=arguments.one_of("side", side, ("right", "left")) == "left",
            multiple=arguments.whole("multiple", multiple, 1, LONGEST),
            lengths=tuple(widths),
        )
        if token is None:
            return changed
        return changed._packing(pad=token_id("token", token, self._spec.tokenizer))

    def batch(
        self,
        size: int | None = None,
        *,
        token_budget: int | None = None,
        rows: int | Literal["epoch"] | None = None,
        batches: int | Literal["epoch"] | None = None,
        policy: Policy = "initial",
        learn: bool = False,
        cpu_budget: float | None = None,
        ram_budget: Bytes | None = None,
        settings: Mapping[str, Any] | None = None,
        cache: Literal["auto", "off"] | Bytes = "auto",
        bad_samples_file: str | os.PathLike[str] | None = None,
    ) -> PackedLoader:
        """The loader.

        With `token_budget` a batch has as many rows as have room in so many tokens, with their
        padding. Of 1,024 documents at a time those of like length come together. A batch is dealt
        to ranks as a row is: ``index``, ``position`` and ``flags`` have one number for it, and in a
        mixture it is of one source.

        Args:
            size: rows per batch and rank.
            token_budget: in the place of `size`, the most tokens of a batch.
            rows: of a pass over all ranks, where batches have a size. Behind the last document the
                first one comes again, in another order; without this a pass has no end. With
                ``"epoch"`` it has every document once, and all ranks end together, as in
                `PackedPipeline.batch`.
            batches: of a pass over all ranks, where they have a token budget. Where a pass ends
                with its epoch, documents of like length come together within some MiB of text, and
                what is left behind a split's last batch is a batch of one row of padding alone.
            policy: who moves the knobs, as in `Pipeline.batch`.
            learn: a learned policy goes on learning as it runs, judged: see "Learned policies".
            cpu_budget: the most cores to use.
            ram_budget: the most bytes the loader may own: a number, or a size such as ``"2GiB"``.
            settings: what `Loader.export_settings` gave: start from these.
            cache: what to keep of the files' bytes from epoch to epoch, as in `Pipeline.batch`.
            bad_samples_file: gets a line of JSON per bad document, behind what it has.

        Raises:
            PipelineError: the description makes no sense as a whole; the message says which part.
        """
        if (size is None) == (token_budget is None):
            raise PipelineError("say how many rows a batch has, or token_budget=, how many tokens")
        if (batches if size is not None else rows) is not None:
            raise PipelineError("a pass has rows= where batches have a size, else batches=")
        resources = Resources.of_text(policy, cpu_budget, ram_budget, settings, cache)
        if self._spec.packing.pad == NO_ID and self._spec.packing.eos == NO_ID:
            raise PipelineError("there is no eos, so say what padding is: pad(token)")
        learns = arguments.flag("learn", learn)
        filled = self
        if self._spec.packing.pad == NO_ID:
            filled = self._packing(pad=self._spec.packing.eos)
        if size is not None:
            whole = filled._sample(batch=arguments.whole("size", size, 1, MOST_ROWS))
            return whole._loader(rows, resources, bad_samples_file, learns)
        most = arguments.whole("token_budget", token_budget, 1, _MOST_OF_BATCH)
        whole = filled._packing(packing="budget", budget=most)._sample(batch=1)
        return whole._loader(batches, resources, bad_samples_file, learns, "batches")
