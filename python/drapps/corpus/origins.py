"""Which documents the rows of a batch are made of."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from drapps.errors import PipelineError
from drapps.report.base import Report
from drapps.stream import Stream

if TYPE_CHECKING:
    from drapps.corpus.source import TextSource
    from drapps.corpus.spec import PackedSpec
    from drapps.resources import Resources


@dataclass(frozen=True, eq=False, repr=False)
class Document(Report):
    """A document that a row of a batch has, whole or in part.

    Attributes:
        row: of the batch.
        path: of its file.
        block: where in the file what is compressed begins that it is in; of Parquet the number of
            its row group; 0 for a plain file, and for Arrow.
        at: the byte of the file with which it begins; in what is compressed, the byte of that; of
            Arrow its row in the file; of Parquet which one it is of the row group's values that are
            not null.
    """

    row: int
    path: str
    block: int
    at: int


def documents_of(
    source: TextSource,
    spec: PackedSpec,
    resources: Resources,
    place: tuple[int, int],
    cursors: bytes,
) -> list[Document]:
    """The documents of this rank's batch at a place, which is an epoch and a position."""
    from drapps import _core

    listed = replace(spec, packing=replace(spec.packing, origins=True), on_error="skip")
    try:
        native = _core.Loader(
            source.located(), json.dumps(listed.to_json()), resources.to_json(), **spec.attached
        )
    except ValueError as error:
        raise PipelineError(str(error)) from None
    stream = Stream(native, *place, cursors=cursors, ahead=False)
    try:
        batch = stream.next().tensors
    except StopIteration:
        raise PipelineError("the pass ends before this step") from None
    finally:
        stream.close()
    numbers = np.asarray(batch["documents"])
    of_row = np.asarray(batch["source"]) if "source" in batch else np.zeros(1, int)
    # A batch of a token budget is of one source, too.
    sources = of_row[numbers[:, 0] if len(of_row) > 1 else 0 * numbers[:, 0]].tolist()
    return [
        Document(row, os.fsdecode(source.paths[of][file]), block, at)
        for of, (row, file, block, at) in zip(sources, numbers.tolist(), strict=True)
    ]
