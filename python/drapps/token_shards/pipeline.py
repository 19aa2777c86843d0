"""From files of token ids to batches of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from drapps import arguments
from drapps.arguments import Bytes
from drapps.errors import PipelineError
from drapps.policy import Policy
from drapps.resources import Resources
from drapps.sampled import Sampled, on_storage
from drapps.spec import MOST_ROWS
from drapps.token_shards.source import TokenFiles, TokenSource, token_files
from drapps.token_shards.spec import Rows, TokenRowsSpec

if TYPE_CHECKING:
    import numpy.typing as npt

    from drapps.loader import Loader
    from drapps.storage import EmulatedStorage

_PACKINGS = ("concatenate", "documents")
_LABELS = ("same", "shifted", "none")
_LONGEST = 1 << 24
_MOST_IDS = 2**63 - 1


def tokens(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    dtype: npt.DTypeLike | None = None,
    header: int = 0,
    eos: int | None = None,
    vocabulary: int | None = None,
    column: str = "input_ids",
) -> TokenPipeline:
    """Token ids that were written before, by Megatron, nanoGPT, ``datasets`` or `drapps pack`.

    Args:
        files: a file, several of one kind, or a folder of them: ``.bin`` with its ``.idx`` beside
            it; ``.bin`` of ids alone, of `dtype`; the folder that ``Dataset.save_to_disk`` wrote,
            or ``.arrow`` files; ``.parquet`` files, whose ids are held in memory.
        dtype: of the ids in files of ids alone, such as ``"uint16"``, in this machine's order of
            bytes.
        header: bytes at the beginning of such files that are no ids.
        eos: the id behind each document of such files, which tells where documents begin.
        vocabulary: every id must be below it; a row with one that is not is a bad sample.
        column: of Arrow and Parquet files, whose values are lists of ids, a document each.

    Raises:
        DataNotFoundError: a folder without such files.
        PipelineError: files of several kinds, or arguments that do not fit them.
    """
    return TokenPipeline(token_files(files, dtype, header, eos, vocabulary, column))


@dataclass(frozen=True)
class TokenPipeline:
    """Ids that are still to become rows. Start with `drapps.tokens`."""

    files: TokenFiles
    _storage: EmulatedStorage | None = None

    def on(self, storage: EmulatedStorage) -> TokenPipeline:
        """The files lie on this storage, which `drapps.emulate` makes; the ids are the same.

        What says where ids lie is read from this machine's files, and so are Parquet files.
        """
        return replace(self, _storage=on_storage(storage))

    def pack(
        self,
        length: int,
        *,
        packing: Literal["concatenate", "documents"] = "concatenate",
        pad: int | None = None,
        labels: Literal["same", "shifted", "none"] = "same",
        mask_starts: bool = False,
        position_ids: bool = False,
        document_ids: bool = False,
    ) -> TokenRowsPipeline:
        """Rows of `length` ids, cut from all documents, one behind the other.

        A batch has ``input_ids``, int64 of (rows, length), and the columns below. What is left
        behind the last whole row is in none.

        Args:
            length: ids of a row.
            packing: ``concatenate`` cuts documents where a row ends; with ``documents`` each is a
                row of its own, cut behind `length` ids or filled up with `pad`, whose labels are
                -100. Then there is a column ``attention_mask``, 0 for padding, and files must
                list their documents, as those of ids alone do not.
            pad: the id of padding, which ``documents`` needs.
            labels: a column ``labels`` like ``input_ids``: the ids themselves (``same``, as the
                models of transformers take it), or the ids that follow (``shifted``).
            mask_starts: a label is -100 where it is the first id of a document.
            position_ids: a column of int64 that counts from 0 in each document of a row.
            document_ids: a column of int32 that counts the documents of a row from 0: where two
                ids differ in it, they are of different documents.

        Raises:
            PipelineError: an argument makes no sense.
        """
        packing = arguments.one_of("packing", packing, _PACKINGS)  # type: ignore[assignment]
        if (pad is None) == (packing == "documents"):
            raise PipelineError("pad= is what packing='documents' needs, and nothing else does")
        if packing == "documents" and self.files.kind == "plain":
            raise PipelineError(
                "a row for each document needs files that list their documents, and files of ids "
                "alone do not: cut the ids of all instead"
            )
        rows = Rows(
            packing=packing,
            pad=0 if pad is None else arguments.whole("pad", pad, 0, _MOST_IDS),
            length=arguments.whole("length", length, 1, _LONGEST),
            labels=arguments.one_of("labels", labels, _LABELS),
            mask_starts=arguments.flag("mask_starts", mask_starts),
            positions=arguments.flag("position_ids", position_ids),
            documents=arguments.flag("document_ids", document_ids),
        )
        source = TokenSource(self.files, rows)
        if self._storage is not None:
            source = source.on(self._storage)
        return TokenRowsPipeline(source, TokenRowsSpec(rows))


@dataclass(frozen=True)
class TokenRowsPipeline(Sampled):
    """Rows of tokens; made by `TokenPipeline.pack`. `batch` ends the description."""

    source: TokenSource
    _spec: TokenRowsSpec

    def on_error(self, action: str) -> TokenRowsPipeline:
        """What a bad row does: ``raise`` (default), ``skip`` it, or ``replace`` it by another."""
        action = arguments.one_of("action", action, ("raise", "skip", "replace"))
        return self._with(on_error=action)

    def mask(
        self,
        token: int | str,
        probability: float = 0.15,
        *,
        replaced: float = 0.8,
        random: float = 0.1,
        whole_words: bool = False,
        tokenizer: Any = None,
        special: Iterable[int] = (),
        seed: int = 0,
    ) -> TokenRowsPipeline:
        """Masked language modelling: ``labels`` are some ids, in whose place others stand.

        Which ones follows from the seeds, the epoch and the place of the row in it. `token`,
        padding, the `eos` of files of ids alone, `special`, and the special tokens of `tokenizer`
        are never chosen.

        Args:
            token: what stands in their place, by its id, or with `tokenizer` by its text.
            probability: with which an id is chosen.
            replaced: of those that are, the share that becomes `token`.
            random: of those that are chosen, the share that becomes any id of the vocabulary: of
                `tokenizer`, or of ``drapps.tokens(vocabulary=…)``. The others stay.
            whole_words: a word is chosen as a whole, by its first token. Words begin behind white
                space, special tokens, and where a document does, if its files say where that is.
                It needs `tokenizer`, as ids do not say what their text is.
            tokenizer: the one that made the ids: what `drapps.tokenizer` takes.
            special: more ids that are never chosen.
            seed: of the choices, beside that of the order.

        Raises:
            PipelineError: no such token, no such shares, or something is needed that is not given.
        """
        from drapps.corpus.tokens import masking, native_tokenizer, token_id

        rows = self._spec.rows
        how = masking(rows.labels, probability, replaced, random, whole_words)
        native = None if tokenizer is None else native_tokenizer(tokenizer)
        if native is None and (isinstance(token, str) or whole_words):
            raise PipelineError(
                "files of ids do not say what the text of an id is: give tokenizer=, the one that "
                "made them, for a mask by its text and for whole words"
            )
        never = [arguments.whole("special", each, 0, _MOST_IDS) for each in special]
        if rows.of_documents:
            never.append(rows.pad)
        if self.source.eos is not None:
            never.append(self.source.eos)
        masked = replace(
            rows,
            **how,
            special=tuple(sorted(set(never))),
            mask=arguments.whole("token", token, 0, _MOST_IDS)
            if native is None
            else token_id("token", token, native),
        )
        spec = replace(self._spec, rows=masked, tokenizer=native, seed=arguments.seed("seed", seed))
        return replace(self, source=self.source.of_rows(masked), _spec=spec)

    def batch(
        self,
        size: int,
        drop_last: bool = False,
        *,
        policy: Policy = "initial",
        learn: bool = False,
        cpu_budget: float | None = None,
        ram_budget: Bytes | None = None,
        settings: Mapping[str, Any] | None = None,
        cache: Literal["auto", "off"] | Bytes = "auto",
        bad_samples_file: str | os.PathLike[str] | None = None,
    ) -> Loader:
        """The loader.

        Args:
            size: rows per batch and rank.
            drop_last: leave out a last global batch that is smaller: ``shard``'s ``drop``.
            policy: who moves the knobs, as in `Pipeline.batch`.
            learn: a learned policy goes on learning as it runs, judged: see "Learned policies".
            cpu_budget: the most cores to use.
            ram_budget: the most bytes the loader may own: a number, or a size such as ``"2GiB"``.
            settings: what `Loader.export_settings` gave: start from these.
            cache: what to keep of the files' bytes from epoch to epoch, as in `Pipeline.batch`.
            bad_samples_file: gets a line of JSON per bad row, behind what it has.

        Raises:
            DataNotFoundError: a file is not there.
            PipelineError: a file is not what it should be, or has less than one row.
        """
        from drapps.bad_samples import file_at
        from drapps.identity import learning_from
        from drapps.loader import Loader

        whole = self._sample(batch=arguments.whole("size", size, 1, MOST_ROWS))
        if arguments.flag("drop_last", drop_last):
            whole = whole._sample(remainder="drop")
        self.source.located()  # so that a file that is not there is an error as such
        if arguments.flag("learn", learn):
            policy = learning_from(policy, self.source, whole._spec, size)
        resources = Resources.of_text(policy, cpu_budget, ram_budget, settings, cache)
        return Loader(self.source, whole._spec, resources, file_at(bad_samples_file))
