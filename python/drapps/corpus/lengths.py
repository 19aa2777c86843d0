"""How many rows an epoch of text has that ends with its last document.

All documents are tokenised once for it. What is counted, the ids of each block where documents
stand one behind the other, else the rows that they make, or that of each document where these are
dealt one by one, is kept by file in the user's cache folder, as the indexes of shards are: files
that are as they were are not counted again, in whatever order, or length of concatenated rows.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drapps.corpus.mixture import TextMixture, TokenRows
from drapps.corpus.source import TextFiles
from drapps.corpus.spec import described
from drapps.errors import DataNotFoundError, PipelineError
from drapps.shards.index import ShardIndex, shard_indexes

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.corpus.spec import PackedSpec, Packing


def epoch_rows(source: TextSource, spec: PackedSpec) -> int:
    """Rows over all ranks, or batches of a token budget, to the last document of the longest split.

    Of a mixture: to the last document of the source that needs most of them for its share, or some
    rows further.

    Raises:
        DataNotFoundError: a file is not there.
        PipelineError: a file cannot be read, or what is packed has no end that can be known.
    """
    if not isinstance(source, TextMixture):
        return _rows_of(source, spec, spec.packing.splits)
    if spec.packing.packing != "concatenate":
        raise PipelineError(
            'a pass to the end of an "epoch" of a mixture is for rows that are cut, '
            'packing="concatenate": for others say how many'
        )
    # After n rows a source has had n * weight / total of them, rounded down or up.
    total, splits = sum(source.weights), _splits_of(source, spec)
    each = zip(source.sources, source.weights, splits, strict=True)
    return max(-(-_rows_of(one, spec, own) * total // weight) for one, weight, own in each)


def _splits_of(source: TextMixture, spec: PackedSpec) -> list[int]:
    """The number of splits of each source, as a loader has them."""
    from drapps.corpus.loader import PackedLoader
    from drapps.resources import Resources

    resources = Resources(policy="initial", cache="off")
    endless = PackedLoader(source.of_rows(None, ""), spec, resources, None)
    stages = endless.explain().plan.stages or ()
    return [stage["splits"] for stage in stages if stage["op"] == "read"]


def _rows_of(source: TextSource, spec: PackedSpec, splits: int) -> int:
    """The rows of one source, over all ranks."""
    from drapps import _core

    packing, sampler = spec.packing, spec.sampler
    if isinstance(source, TokenRows):
        return source.epoch_rows(packing.length, packing.labels)
    assert isinstance(source, TextFiles)
    if source.numbered and (packing.packing == "best_fit" or packing.budget):
        raise PipelineError(
            'by best fit, and under a token budget, a pass to the end of an "epoch" is for blocks: '
            "single documents make another number of rows in each order; say how many, or shuffle "
            "blocks"
        )
    counted = _counted(source, spec)
    counts = np.concatenate([counted[name].columns["ids"] for name in source.files])
    if len(counts) != source.corpus.dealt:
        raise PipelineError(
            "the files have changed while their documents were counted: open them anew"
        )
    try:
        return _core.rows_of_epoch(
            counts,
            source.corpus.most_splits,
            packing.length if packing.packing == "concatenate" else 1,
            splits,
            sampler.shuffle,
            sampler.seed,
        )
    except ValueError as error:
        raise PipelineError(str(error)) from None


def _counted(source: TextFiles, spec: PackedSpec) -> dict[bytes, ShardIndex]:
    """The counts of each file, which may be named several times."""
    from drapps import _core

    packing = _counting(spec.packing)
    as_json = json.dumps(described(packing))
    core = spec.tokenizer.core
    assert core is not None  # packing needs a native one
    located, numbers = source.located(), {name: i for i, name in enumerate(source.files)}

    def count(file: bytes) -> ShardIndex:
        try:
            status = os.stat(file)  # noqa: PTH116
            ids = _core.count_blocks(located, numbers[file], core, as_json)
        except FileNotFoundError as error:
            raise DataNotFoundError(str(error)) from None
        except (OSError, ValueError) as error:
            raise PipelineError(str(error)) from None
        columns = {"offset": np.arange(len(ids), dtype="<u8"), "ids": ids}
        return ShardIndex((status.st_size, status.st_mtime_ns, status.st_ino), columns)

    what: dict[str, Any] = {
        "tokens": spec.tokenizer.digest,
        "packing": as_json,
        "documents": (*source.described, "numbered") if source.numbered else source.described,
    }
    names = list(numbers)
    return dict(zip(names, shard_indexes(names, what, count, "cache"), strict=True))


def _counting(packing: Packing) -> Packing:
    """The packing with what decides about the counts; all else is the same for all packings."""
    plain = type(packing)(length=1)
    same = replace(
        plain,
        packing=packing.packing,
        bos=min(packing.bos, 0),  # whether there is one
        eos=min(packing.eos, 0),
        take=packing.take,
        held_out=packing.held_out,
    )
    if packing.packing == "concatenate":
        return same
    return replace(
        same,
        length=packing.length,
        overlap=packing.overlap,
        truncate=packing.truncate,
        budget=packing.budget,
        multiple=packing.multiple,
        lengths=packing.lengths,
    )
