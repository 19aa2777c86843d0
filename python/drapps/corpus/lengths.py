"""How many rows an epoch of text has that ends with its last document.

All documents are tokenised once for it. What is counted, the ids of each block, or its rows where
documents are by themselves, is kept by file in the user's cache folder, as the indexes of shards
are: files that are as they were are not counted again, in whatever order, or length of packed rows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps.corpus.source import TextFiles
from drapps.errors import DataNotFoundError, PipelineError
from drapps.shards.index import ShardIndex, shard_indexes

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.corpus.spec import PackedSpec


def epoch_rows(source: TextSource, spec: PackedSpec) -> int:
    """Rows over all ranks, to the last document of the longest split.

    Raises:
        DataNotFoundError: a file is not there.
        PipelineError: a file cannot be read, or what is packed has no end that can be known.
    """
    from drapps import _core

    packing = spec.packing
    if packing.packing not in ("concatenate", "documents") or not isinstance(source, TextFiles):
        raise PipelineError(
            'rows="epoch" is for documents of one source, concatenated or by themselves: an epoch '
            "of best fit or of a mixture has no end that is known beforehand, so say how many rows"
        )
    counted = _counted(source, spec)
    counts = [count for name in source.files for count in counted[name].columns["ids"].tolist()]
    if len(counts) != len(source.corpus.blocks):
        raise PipelineError(
            "the files have changed while their documents were counted: open them anew"
        )
    sampler = spec.sampler
    try:
        rows = _core.rows_of_epoch(
            counts,
            1 if packing.packing == "documents" else packing.length,
            packing.splits,
            sampler.shuffle,
            sampler.seed,
        )
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return -(-rows // sampler.global_batch) * sampler.global_batch


def _counted(source: TextFiles, spec: PackedSpec) -> dict[bytes, ShardIndex]:
    """Of each file, which may be named several times."""
    from drapps import _core

    packing = spec.packing
    marks = (packing.bos >= 0, packing.eos >= 0)
    core = spec.tokenizer.core
    assert core is not None  # packing needs a native one
    alone = packing.packing == "documents"
    length, overlap, cut = packing.length if alone else 0, packing.overlap, packing.truncate
    located, numbers = source.located(), {name: i for i, name in enumerate(source.files)}

    def count(file: bytes) -> ShardIndex:
        try:
            status = os.stat(file)  # noqa: PTH116
            ids = _core.count_blocks(
                located,
                numbers[file],
                core,
                *marks,
                packing.take,
                packing.held_out,
                length,
                overlap,
                cut,
            )
        except FileNotFoundError as error:
            raise DataNotFoundError(str(error)) from None
        except (OSError, ValueError) as error:
            raise PipelineError(str(error)) from None
        columns = {"offset": np.arange(len(ids), dtype="<u8"), "ids": np.asarray(ids, "<u8")}
        return ShardIndex((status.st_size, status.st_mtime_ns, status.st_ino), columns)

    what: dict[str, Any] = {
        "tokens": spec.tokenizer.digest,
        "marks": marks,
        "take": packing.take,
        "held_out": packing.held_out,
        "documents": source.described,
    }
    if alone:
        what["parts"] = (length, overlap, cut)
    names = list(numbers)
    return dict(zip(names, shard_indexes(names, what, count, "cache"), strict=True))
