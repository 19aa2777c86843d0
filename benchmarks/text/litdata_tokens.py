"""Contestant: LitData's TokensLoader, as LitGPT uses it.

Its argument is as that of `token_rows`, with ``"workers"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from litdata import StreamingDataLoader, StreamingDataset, TokensLoader

from benchmarks import feed
from benchmarks.text import token_data


def dataset(spec: dict[str, Any], shuffle: bool = True) -> Any:
    """Rows of an id more than `length`."""
    return StreamingDataset(
        input_dir=f"{spec['folder']}/litdata",
        item_loader=TokensLoader(block_size=spec["length"] + 1),
        shuffle=shuffle,
        drop_last=True,
    )


def batches(spec: dict[str, Any]) -> Iterator[Any]:
    """Epoch after epoch."""
    loader = StreamingDataLoader(
        dataset(spec), batch_size=spec["batch"], num_workers=spec["workers"], drop_last=True
    )
    length = spec["length"]
    while True:
        for batch in loader:
            # As LitGPT's pretrain.py cuts them.
            yield (
                batch[:, 0:length].contiguous().long(),
                batch[:, 1 : length + 1].contiguous().long(),
            )


if __name__ == "__main__":
    feed.converse(lambda spec: token_data.answering(batches(spec)))
