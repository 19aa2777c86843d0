"""Contestants: the same dataset and collator in torch's DataLoader and in ours.

The argument is ``{"kind", "case", "text", "tokenizer", "documents"}``. Commands:

    {"workers": N, "seconds": S}  →  {"samples", "seconds", "cpu_s"}
    {"compare": N}                →  {"compared"}

A sample is a document. The clock starts behind the first batch, once workers have started.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import feed
from benchmarks.tokenizers import corpora
from demo import meter

os.environ["HF_DATASETS_OFFLINE"] = "1"

BATCH = 32
LENGTH = 256
CASES = ("live-padded", "padded", "masked", "flattened")
RANDOM = ("masked",)  # whose batches cannot be compared
_SPECIALS = {"pad_token": "<|end_of_text|>", "mask_token": "<|reserved_special_token_0|>"}
_AHEAD = 2  # batches for each worker, the default


class Loading:
    """A dataset and a collator."""

    def __init__(self, spec: dict[str, Any]) -> None:
        import datasets
        import torch
        import transformers

        import drapps.torch

        datasets.disable_progress_bars()
        kinds = {"drapps": drapps.torch.DataLoader, "stock": torch.utils.data.DataLoader}
        self._kinds, self._kind = kinds, kinds[spec["kind"]]
        documents = corpora.documents(Path(spec["text"]))
        texts = [documents[i % len(documents)].decode()[:4000] for i in range(spec["documents"])]
        codec = transformers.PreTrainedTokenizerFast(tokenizer_file=spec["tokenizer"], **_SPECIALS)
        call = {"truncation": True, "max_length": LENGTH}
        table = datasets.Dataset.from_dict({"text": texts})
        if spec["case"].startswith("live"):
            self._dataset = table.with_transform(drapps.Tokenise(codec, **call))
        else:
            self._dataset = datasets.Dataset.from_dict(dict(codec(texts, **call)))
        collators = {
            "padded": partial(transformers.DataCollatorWithPadding, codec),
            "masked": partial(transformers.DataCollatorForLanguageModeling, codec),
            "flattened": partial(
                transformers.DataCollatorWithFlattening, return_flash_attn_kwargs=True
            ),
        }
        self._collate_fn = collators[spec["case"].removeprefix("live-")]()

    def loader(self, kind: Any, workers: int) -> Any:
        """A loader of one kind, whose shuffle is that of any other."""
        import torch

        return kind(
            self._dataset,
            BATCH,
            shuffle=True,
            collate_fn=self._collate_fn,
            num_workers=workers,
            generator=torch.Generator().manual_seed(1),
        )

    def answer(self, workers: int = 0, seconds: float = 0, compare: int = 0) -> dict[str, Any]:
        """Answers a command."""
        if compare:
            return self._compare(compare)
        loader = self.loader(self._kind, workers)
        batches, samples = iter(loader), 0
        for _ in range(1 + _AHEAD * workers):  # those that were made before the clock
            next(batches)
        cpu, began = meter.cpu_seconds(os.getpid()), time.perf_counter()
        while time.perf_counter() - began < seconds:
            try:
                next(batches)
            except StopIteration:
                batches = iter(loader)
                continue
            samples += BATCH
        took = time.perf_counter() - began
        return {
            "samples": samples,
            "seconds": took,
            "cpu_s": meter.cpu_seconds(os.getpid()) - cpu,
        }

    def _compare(self, count: int) -> dict[str, Any]:
        from drapps.torch.text.proof import same_batch

        ours = self.loader(self._kinds["drapps"], 2)
        assert ours.lifted(), ours.lifted()
        pairs = zip(ours, self.loader(self._kinds["stock"], 0), strict=True)
        compared = 0
        for mine, theirs in pairs:
            assert same_batch(mine, theirs), "the batches differ"
            compared += 1
            if compared == count:
                break
        return {"compared": compared}


def _begin(spec: dict[str, Any]) -> feed.Answering:
    return {}, Loading(spec).answer


if __name__ == "__main__":
    feed.converse(_begin)
