"""From files of documents to batches of packed tokens."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments
from drapps.arguments import Bytes
from drapps.corpus.lengths import epoch_rows
from drapps.corpus.mixture import TextMixture, TokenRows
from drapps.corpus.padded import LONGEST, PaddedPipeline
from drapps.corpus.rows import TextRows
from drapps.corpus.source import TextSource, text_source
from drapps.corpus.spec import NO_ID, PackedSpec, Packing
from drapps.corpus.tokens import native_tokenizer, token_id
from drapps.errors import PipelineError
from drapps.policy import Policy
from drapps.resources import Resources
from drapps.sampled import Stored
from drapps.spec import MOST_ROWS
from drapps.token_shards.pipeline import TokenPipeline

if TYPE_CHECKING:
    from drapps.corpus.loader import PackedLoader

_LABELS = ("same", "shifted", "none")
_PACKINGS = ("concatenate", "best_fit")
_COUNTED = 16  # rows of a batch while rows are counted


def text(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    documents: str = "auto",
    field: str = "text",
    max_document: Bytes = "256MiB",
) -> TextPipeline:
    """Documents in files of text or JSON lines, also compressed, or in Arrow or Parquet files.

    Args:
        files: a file, several, or a folder with files of known endings below it.
        documents: what a document is: a line (``lines``), a field of the JSON object in a line
            (``jsonl``), a whole file (``files``), or a row of an Arrow file that is not compressed
            (``arrow``) or of a Parquet file (``parquet``). ``auto`` goes by the endings.
        field: of the JSON objects, or the column; its values are strings.
        max_document: the most bytes of a line or a file; a larger one is bad.

    Raises:
        DataNotFoundError: a folder without files of text.
        PipelineError: endings that do not say what documents are.
    """
    return TextPipeline(text_source(files, documents, field, max_document))


def mixture(
    pipelines: Iterable[TextPipeline | TokenPipeline], shares: Iterable[float]
) -> TextPipeline:
    """Documents of several sources: a row is of one source, and each has its share of the rows.

    Before any row a source has had its share of the rows, to less than one row. Each goes through
    epochs of its own: what has few documents for its share comes again sooner. Batches have a
    column ``source``, int32: the place in `pipelines` of the source that a row is of.

    Args:
        pipelines: what `drapps.text` gave, or `drapps.tokens`, whose ids are those of the tokenizer
            that packs the others.
        shares: a number above 0 for each, which need not add up to 1. Their ratio is that of whole
            numbers whose sum is at most 10,000.

    Raises:
        PipelineError: no such shares, a mixture among the sources, documents that were held out of
            one (hold them out of the mixture), or a source on another storage (put the mixture on
            it).
    """
    each = arguments.listed(pipelines) or []
    if not each or not all(isinstance(one, TextPipeline | TokenPipeline) for one in each):
        raise PipelineError(
            "a mixture is of what drapps.text and drapps.tokens give: pack the mixture instead"
        )
    texts = [one for one in each if isinstance(one, TextPipeline)]
    if any(one._take != "all" for one in texts):
        raise PipelineError("documents of a source are held out: hold them out of the mixture")
    storages = [
        one.source._storage if isinstance(one, TextPipeline) else one._storage for one in each
    ]
    if any(storage is not None for storage in storages):
        raise PipelineError("a source lies on another storage: put the mixture on it, by its on()")
    sources = [
        one.source if isinstance(one, TextPipeline) else TokenRows(one.files) for one in each
    ]
    return TextPipeline(TextMixture(sources, shares))


@dataclass(frozen=True)
class TextPipeline(Stored):
    """Documents that are still to become rows. Start with `drapps.text` or `drapps.mixture`."""

    source: TextSource
    _take: str = "all"
    _held_out: float = 0.0

    def hold_out(self, share: float) -> tuple[TextPipeline, TextPipeline]:
        """The documents to train on, and those to validate with, which are the same every time.

        A hash of its text decides for a document, so copies of it are on the same side, in
        whatever files and whatever order they stand.

        Args:
            share: of the documents that are held out, from 0 to 1.

        Raises:
            PipelineError: no such share, or some are held out already.
        """
        if self._take != "all":
            raise PipelineError("documents are held out already: say once which share")
        held = arguments.chance(share, "share")
        return replace(self, _take="training", _held_out=held), replace(
            self, _take="held_out", _held_out=held
        )

    def tokenise(
        self,
        tokenizer: Any,
        max_length: int,
        *,
        eos: int | str | None = None,
        bos: int | str | None = None,
        long: Literal["truncate", "split"] = "truncate",
        overlap: int = 0,
        labels: Literal["same", "shifted", "none"] = "same",
        splits: int | None = None,
        window: int = 4,
    ) -> PaddedPipeline:
        """Tokens of documents, each by itself: rows that differ in length, and are padded.

        A batch has ``input_ids``, int64 of (rows, width), ``attention_mask``, 0 for padding,
        ``lengths``, int64 of (rows,), and ``labels``. `PaddedPipeline.pad` says how wide it is.

        Args:
            tokenizer: a `drapps.Tokenizer`, or what `drapps.tokenizer` takes.
            max_length: the most tokens of a row, `eos` and `bos` among them.
            eos: the token behind each row, by its id or its text; None for no token.
            bos: the token before each row, likewise.
            long: what becomes of a longer document: ``truncate`` keeps its beginning; ``split``
                makes several rows of it.
            overlap: tokens that neighbouring rows of a document that is split share.
            labels: a column ``labels``: the tokens themselves (``same``, as the models of
                transformers take it), or the tokens that follow (``shifted``). Padding has -100,
                and so has the last token of a row where they are shifted.
            splits: as in `pack`.
            window: as in `pack`.

        Raises:
            PipelineError: an argument makes no sense, or the tokenizer is not native.
        """
        native = native_tokenizer(tokenizer)
        packing = Packing(
            packing="documents",
            pad=NO_ID,
            length=arguments.whole("max_length", max_length, 1, LONGEST),
            labels=arguments.one_of("labels", labels, _LABELS),
            bos=token_id("bos", bos, native),
            eos=token_id("eos", eos, native),
            splits=0 if splits is None else arguments.whole("splits", splits, 1, MOST_ROWS),
            window=arguments.whole("window", window, 1, 1024),
            weights=self.source.weights,
            take=self._take,
            held_out=self._held_out,
            truncate=arguments.one_of("long", long, ("truncate", "split")) == "truncate",
            overlap=arguments.whole("overlap", overlap, 0, LONGEST),
        )
        room = packing.length - (packing.bos >= 0) - (packing.eos >= 0)
        if packing.overlap and packing.truncate:
            raise PipelineError("overlap= is of rows of one document: split long ones")
        if room <= packing.overlap:
            raise PipelineError(
                f"max_length={max_length} leaves room for {room} tokens of a document, which must "
                f"be more than overlap={overlap}"
            )
        return PaddedPipeline(self.source, PackedSpec(native, packing))

    def pack(
        self,
        tokenizer: Any,
        length: int,
        *,
        eos: int | str | None,
        bos: int | str | None = None,
        packing: Literal["concatenate", "best_fit"] = "concatenate",
        pad: int | str | None = None,
        labels: Literal["same", "shifted", "none"] = "same",
        mask_starts: bool = False,
        position_ids: bool = False,
        document_ids: bool = False,
        cu_seqlens: bool = False,
        splits: int | None = None,
        window: int = 4,
    ) -> PackedPipeline:
        """Tokens of documents, one document behind the other, cut into rows of `length`.

        A batch has ``input_ids``, int64 of (rows, length), and the columns below.

        Args:
            tokenizer: a `drapps.Tokenizer`, or what `drapps.tokenizer` takes.
            length: tokens of a row.
            eos: the token behind each document, by its id or its text; None for no token.
            bos: the token before each document, likewise.
            packing: ``concatenate`` cuts documents where a row ends, and leaves no room; with
                ``best_fit`` those that fit into a row stay whole, and a row has padding where no
                other one fits. Then there is a column ``attention_mask``, 0 for padding.
            pad: the token of padding, by its id or its text; by default `eos`.
            labels: a column ``labels`` like ``input_ids``: the tokens themselves (``same``, as the
                models of transformers take it), or the tokens that follow (``shifted``).
            mask_starts: a label is -100 where it is the first token of a document.
            position_ids: a column of int64 that counts from 0 in each document of a row.
            document_ids: a column of int32 that counts the documents of a row from 0: where two
                tokens differ in it, they are of different documents. Padding has -1.
            cu_seqlens: for attention over documents of varying length, two items of a batch whose
                rows stand one behind the other: ``cu_seqlens``, int32, has where each document of
                a row begins, and the end; padding at a row's end counts as one. ``max_seqlen`` is
                the length of the longest, an int32 without an axis.
            splits: so many streams are packed side by side, each of its own documents. Ranks whose
                number divides it read nothing twice. By default a divisor of 96, by the size of
                the files. Of a mixture: so many for each unit of a source's weight, where the
                source is large enough.
            window: in how many pieces of some MiB of a split documents are in one random order.

        Raises:
            PipelineError: an argument makes no sense, or the tokenizer is not native.
        """
        native = native_tokenizer(tokenizer)
        return PackedPipeline(
            self.source,
            PackedSpec(
                native,
                Packing(
                    length=arguments.whole("length", length, 1, LONGEST),
                    packing=arguments.one_of("packing", packing, _PACKINGS),
                    pad=max(0, token_id("pad", eos if pad is None else pad, native)),
                    labels=arguments.one_of("labels", labels, _LABELS),
                    mask_starts=arguments.flag("mask_starts", mask_starts),
                    positions=arguments.flag("position_ids", position_ids),
                    documents=arguments.flag("document_ids", document_ids),
                    cu_seqlens=arguments.flag("cu_seqlens", cu_seqlens),
                    bos=token_id("bos", bos, native),
                    eos=token_id("eos", eos, native),
                    splits=0 if splits is None else arguments.whole("splits", splits, 1, MOST_ROWS),
                    window=arguments.whole("window", window, 1, 1024),
                    weights=self.source.weights,
                    take=self._take,
                    held_out=self._held_out,
                ),
            ),
        )


@dataclass(frozen=True)
class PackedPipeline(TextRows):
    """Rows of packed tokens; made by `TextPipeline.pack`. `batch` ends the description."""

    def epoch_rows(self) -> int:
        """Rows of a pass that has every document of epoch 0, for ``batch(rows=…)``.

        Of a mixture: every document of every source. All documents are tokenised once for it, which
        takes as long as a pass does; by best fit at every call, else what was counted is remembered
        in the cache folder.

        Raises:
            DataNotFoundError: a file is not there.
            PipelineError: a file cannot be read.
        """
        if self._spec.packing.packing == "concatenate":
            return epoch_rows(self.source, self._spec)
        counted = self._sample(rank=0, world=1).batch(_COUNTED)
        for _ in counted:
            if 0 not in counted.latest_epochs():
                break
        return counted.latest_position()

    def batch(
        self,
        size: int,
        *,
        rows: int | Literal["epoch"] | None = None,
        tokens: int | None = None,
        policy: Policy = "initial",
        learn: bool = False,
        cpu_budget: float | None = None,
        ram_budget: Bytes | None = None,
        settings: Mapping[str, Any] | None = None,
        cache: Literal["auto", "off"] | Bytes = "auto",
        bad_samples_file: str | os.PathLike[str] | None = None,
    ) -> PackedLoader:
        """The loader.

        Args:
            size: rows per batch and rank.
            rows: of a pass over all ranks. Behind the last document the first one comes again, in
                another order. Without it and `tokens` a pass has no end. With ``"epoch"`` it has
                every document once: all ranks end together, what is left of the rows is padding
                (``attention_mask`` 0, label -100), and the ``flags`` of a row of padding alone are
                odd. All documents are tokenised once beforehand to know where the end is, which is
                remembered in the cache folder. By best fit rows are then made of some MiB of text
                at a time. A mixture ends where each source has had all of its documents, with
                whole rows: what has few for its share has come again until then.
            tokens: the same in tokens, rounded down to whole global batches.
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
        if tokens is not None:
            if rows is not None:
                raise PipelineError("rows= and tokens= say the same in two ways: leave out one")
            rows = arguments.whole("tokens", tokens, 1) // self._spec.packing.length
        resources = Resources.of_text(policy, cpu_budget, ram_budget, settings, cache)
        whole = self._sample(batch=arguments.whole("size", size, 1, MOST_ROWS))
        learns = arguments.flag("learn", learn)
        return whole._loader(rows, resources, bad_samples_file, learns)
