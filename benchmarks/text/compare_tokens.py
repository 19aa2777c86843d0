"""Before any clock starts: do all contestants give the ids of the file?

Run as a process, with the contestants' argument. Row by row in its order, DRAPPS's and nanoGPT's
ids and labels must be equal, and LitData's rows must be those of the file.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import torch

from benchmarks.text import get_batch, litdata_tokens, token_rows

_LITDATA_ROWS = 500


def main() -> None:
    """Compares all rows, and some of LitData's."""
    spec: dict[str, Any] = json.loads(sys.argv[1])
    length = spec["length"]
    data = np.memmap(f"{spec['folder']}/train.bin", dtype=np.uint16, mode="r")
    loader = token_rows.rows(spec).batch(64)
    rows = 0
    for batch in loader.torch():
        begins = torch.arange(rows, rows + len(batch["input_ids"])) * length
        x, y = get_batch.taken(data, begins, length)
        if not (torch.equal(batch["input_ids"], x) and torch.equal(batch["labels"], y)):
            sys.exit(f"a row behind row {rows} is not nanoGPT's")
        rows += len(x)
    if rows != (len(data) - 1) // length:
        sys.exit(f"there are {rows} rows of {len(data)} ids")
    block = length + 1
    theirs = litdata_tokens.dataset(spec, shuffle=False)
    for number in range(_LITDATA_ROWS):
        wanted = data[number * block : (number + 1) * block]
        if not np.array_equal(theirs[number].numpy(), wanted):
            sys.exit(f"row {number} of LitData is not that of the file")
    print(rows)


if __name__ == "__main__":
    main()
