"""Tables of texts, a small tokenizer, and loaders over them, stock and ours."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import datasets
import pytest
import torch
import transformers

import drapps.torch
from drapps.torch.text.plan import TextPlan
from drapps.torch.text.proof import same_batch

datasets.disable_progress_bars()

PIECES = ["the ", "quick", " brown fox", "é", "中文", "\n", " 12 ", "don't", "🙂", "  ", "x" * 30]
_OURS = ("num_workers", "persistent_workers", "seed", "torch_order")


@functools.cache
def tokenizer_json() -> str:
    """A byte-level BPE with a template, made anew."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    codec = tokenizers.Tokenizer(models.BPE())
    codec.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    codec.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<pad>", "<mask>", "<s>", "</s>"],
    )
    codec.train_from_iterator(PIECES, trainer)
    codec.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 2), ("</s>", 3)],
    )
    return str(codec.to_str())


def tokenizer(**settings: Any) -> Any:
    """A tokenizer of transformers."""
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(tokenizer_json())
    names = {"pad_token": "<pad>", "mask_token": "<mask>", "bos_token": "<s>", "eos_token": "</s>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **(names | settings))


def texts(seed: int, count: int) -> list[str]:
    """Texts of all lengths, empty ones among them."""
    draws = random.Random(seed)
    return ["".join(draws.choices(PIECES, k=draws.choice((0, 1, 3, 9, 25)))) for _ in range(count)]


def table(seed: int = 1, count: int = 60) -> Any:
    """Texts, second texts, and labels of three kinds."""
    draws = random.Random(seed)
    return datasets.Dataset.from_dict(
        {
            "text": texts(seed, count),
            "other": texts(seed + 1, count),
            "label": [draws.randrange(5) for _ in range(count)],
            "score": [draws.random() for _ in range(count)],
            "good": [draws.random() < 0.5 for _ in range(count)],
        }
    )


def tokenised(call: Any, rows: Any, **options: Any) -> Any:
    """The table with its texts as columns of numbers."""
    return datasets.Dataset.from_dict(
        {**call(rows["text"][:], **options), **{each: rows[each][:] for each in ("label", "score")}}
    )


def loaders(dataset: Any, collate_fn: Any, **options: Any) -> tuple[Any, Any]:
    """Ours and the stock one, whose shuffles draw alike."""
    pair = []
    for kind in (drapps.torch.DataLoader, torch.utils.data.DataLoader):
        given = {"batch_size": 7, "shuffle": True, **options}
        if given["shuffle"]:
            given["generator"] = torch.Generator().manual_seed(5)
        if kind is not drapps.torch.DataLoader:
            given = {name: value for name, value in given.items() if name not in _OURS}
        pair.append(kind(dataset, collate_fn=collate_fn, **given))
    return pair[0], pair[1]


def batches(loader: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those of a lifted loader, of which stock code makes none."""

    def refuse(*_: Any) -> None:
        pytest.fail("stock code makes a batch")

    with monkeypatch.context() as patch:
        patch.setattr(TextPlan, "_stock_batch", refuse)
        assert loader.lifted(), loader.lifted()
        return list(loader)


def assert_same(mine: list[Any], theirs: list[Any]) -> None:
    """Batches have the same types, keys, their order, shapes, dtypes and values."""
    assert len(mine) == len(theirs)
    for number, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        assert same_batch(a, b), f"batch {number}:\n{a}\n{b}"


def outcome(act: Callable[[], Any]) -> Any:
    """What is given, or what is raised."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def masked_loader(workers: int = 0, **options: Any) -> Any:
    """A loader whose masks show whether a state was kept."""
    codec = tokenizer()
    rows = table(8).with_transform(drapps.Tokenise(codec, truncation=True, max_length=20))
    collate_fn = transformers.DataCollatorForLanguageModeling(codec)
    options |= {"shuffle": True, "collate_fn": collate_fn, "num_workers": workers}
    return drapps.torch.DataLoader(rows, 7, **options)


def rest_of(state: dict[str, Any], workers: int, pipe: Any) -> None:
    """Sends the batches behind a state, as another process makes them."""
    loader = masked_loader(workers)
    loader.load_state_dict(state)
    pipe.send([{name: value.numpy() for name, value in batch.items()} for batch in loader])
