"""Contestant: `drapps.tokens`; its argument is ``{"folder", "length", "batch"}``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch  # noqa: F401  (imported before any clock starts)

import drapps
from benchmarks import feed
from benchmarks.text import token_data
from drapps.token_shards.pipeline import TokenRowsPipeline


def rows(spec: dict[str, Any]) -> TokenRowsPipeline:
    """The rows of the file; shuffle them or leave their order."""
    tokens = drapps.tokens(f"{spec['folder']}/train.bin", dtype="uint16")
    return tokens.pack(spec["length"], labels="shifted")


def batches(spec: dict[str, Any]) -> Iterator[Any]:
    """Epoch after epoch."""
    loader = rows(spec).shuffle(seed=1).batch(spec["batch"])
    while True:
        for batch in loader.torch():
            yield batch["input_ids"], batch["labels"]


if __name__ == "__main__":
    feed.converse(lambda spec: token_data.answering(batches(spec)))
