"""Before any clock starts: are the rows those of the stock libraries?

Run as a process, with the contestants' argument. Without a shuffle and with one split, the rows of
DRAPPS have to be what the ids of all documents that `datasets` and `tokenizers` give make when they
are concatenated and cut. It prints how many ids there are, and ends with an error where a row
differs.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import drapps
from benchmarks.text import stock
from benchmarks.text.data import empty_folder
from benchmarks.text.ours import packed


def main() -> None:
    """Compares all rows."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    wanted = _stock(spec)
    size = spec["batch"] * spec["length"]
    batches = len(wanted) // size
    pipeline = packed(spec, drapps.tokenizer(spec["tokenizer"]), splits=1)
    loader = pipeline.batch(spec["batch"], rows=batches * spec["batch"])
    for number, batch in enumerate(loader.numpy()):
        expected = wanted[number * size : (number + 1) * size].reshape(spec["batch"], -1)
        for column in ("input_ids", "labels"):
            if not np.array_equal(batch[column], expected):
                sys.exit(f"{column} of batch {number} are not those of datasets and tokenizers")
        batches -= 1
    if batches:
        sys.exit(f"{batches} batches are missing")
    print(len(wanted))


def _stock(spec: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """All ids, one document behind the other."""
    stock.load(spec["tokenizer"])
    with empty_folder() as cache:
        dataset = stock.mapped(spec["files"], stock.ids, 1, cache).with_format("arrow")
        columns = (table["input_ids"].combine_chunks() for table in dataset.iter(batch_size=1000))
        ids = np.concatenate([column.flatten().to_numpy() for column in columns])
        return ids.astype(np.int64)


if __name__ == "__main__":
    main()
