"""Contestant: Hugging Face's `datasets`, a batched map, and torch's DataLoader.

Its argument is as that of `ours`, and ``{"load_s"}`` its first answer. A command:

    {"workers": N}  →  {"samples", "seconds", "cpu_s", "map_s"}

That is from the files' names to the last batch, with nothing in the cache of `datasets`; `map_s` is
until there are rows. A sample is a token.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks import feed
from benchmarks.text.data import EOS, empty_folder

os.environ["HF_DATASETS_OFFLINE"] = "1"

_BATCH = 1000  # documents, the default of map

# Of this process and of the workers forked from it; an argument of map would be hashed and pickled.
_tokenizer: Any = None


def load(file: str) -> None:
    """Loads the tokenizer."""
    from tokenizers import Tokenizer

    global _tokenizer
    _tokenizer = Tokenizer.from_file(file)


def ids(documents: dict[str, list[str]]) -> dict[str, list[list[int]]]:
    """The ids of each document, and what marks its end."""
    eos = _tokenizer.token_to_id(EOS)
    encodings = _tokenizer.encode_batch_fast(documents["text"], add_special_tokens=False)
    return {"input_ids": [[*each.ids, eos] for each in encodings]}


def rows(documents: dict[str, list[str]], length: int) -> dict[str, Any]:
    """What those of some documents make when they are concatenated and cut; the rest is dropped."""
    whole = np.concatenate(ids(documents)["input_ids"])
    return {"input_ids": whole[: len(whole) // length * length].reshape(-1, length)}


def mapped(files: list[str], function: Any, workers: int, cache: str) -> Any:
    """The dataset of the files' documents under `function`, by so many processes."""
    import datasets

    datasets.disable_progress_bars()
    raw = datasets.load_dataset("json", data_files=files, split="train", cache_dir=cache)
    return raw.map(
        function,
        batched=True,
        batch_size=_BATCH,
        num_proc=workers if workers > 1 else None,
        remove_columns=raw.column_names,
    )


def _pass(spec: dict[str, Any], workers: int) -> dict[str, Any]:
    from torch.utils.data import DataLoader

    # One process encodes on all cores; of several each has one.
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if workers > 1 else "true"
    with empty_folder() as cache:
        cpu, began = _cpu_s(), time.perf_counter()
        dataset = mapped(spec["files"], partial(rows, length=spec["length"]), workers, cache)
        map_s = time.perf_counter() - began
        samples = 0
        for batch in DataLoader(dataset.with_format("torch"), spec["batch"], shuffle=True):
            labels = batch["input_ids"].clone()
            samples += labels.numel()
        seconds = time.perf_counter() - began
        return {"samples": samples, "seconds": seconds, "cpu_s": _cpu_s() - cpu, "map_s": map_s}


def _cpu_s() -> float:
    """Of this process and of its workers that have ended."""
    return sum(os.times()[:4])


def _begin(spec: dict[str, Any]) -> feed.Answering:
    import datasets  # noqa: F401  (imported before any clock starts)
    import torch  # noqa: F401

    began = time.perf_counter()
    load(spec["tokenizer"])
    return {"load_s": time.perf_counter() - began}, partial(_pass, spec)


if __name__ == "__main__":
    feed.converse(_begin)
