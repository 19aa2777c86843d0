"""How many rows an epoch of packed text has that ends with its last document.

All documents are tokenised once for it. What is counted, the ids of each block, is kept by file in
the user's cache folder, as the indexes of shards are: files that are as they were are not counted
again, in whatever order or length of rows.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps.errors import DataNotFoundError, PipelineError
from drapps.shards.index import ShardIndex, shard_indexes

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.corpus.spec import PackedSpec


def epoch_rows(source: TextSource, spec: PackedSpec) -> int:
    """Rows over all ranks, to the last document of the longest split.

    Raises:
        DataNotFoundError: a file is not there.
        PipelineError: a file cannot be read, or rows are not just concatenated documents.
    """
    from drapps import _core

    packing = spec.packing
    if packing.packing != "concatenate" or source.weights:
        raise PipelineError(
            'rows="epoch" is for concatenated documents of one source: an epoch of best fit or of '
            "a mixture has no end that is known beforehand, so say how many rows"
        )
    counted = _counted(source, spec)
    ids = [count for name in source.files for count in counted[name].columns["ids"].tolist()]
    if len(ids) != len(source.corpora[0].blocks):
        raise PipelineError(
            "the files have changed while their documents were counted: open them anew"
        )
    sampler = spec.sampler
    try:
        rows = _core.rows_of_epoch(
            ids, packing.length, packing.splits, sampler.shuffle, sampler.seed
        )
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return -(-rows // sampler.global_batch) * sampler.global_batch


def _counted(source: TextSource, spec: PackedSpec) -> dict[bytes, ShardIndex]:
    """Of each file, which may be named several times."""
    from drapps import _core

    packing = spec.packing
    marks = (packing.bos >= 0, packing.eos >= 0)
    core = spec.tokenizer.core
    assert core is not None  # packing needs a native one
    located, numbers = source.located(), {name: i for i, name in enumerate(source.files)}

    def count(file: bytes) -> ShardIndex:
        try:
            status = os.stat(file)  # noqa: PTH116
            ids = _core.count_ids(
                located, numbers[file], core, *marks, packing.take, packing.held_out
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
    names = list(numbers)
    return dict(zip(names, shard_indexes(names, what, count, "cache"), strict=True))
