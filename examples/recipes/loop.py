"""What the recipes share: their options, and a training loop with every part of drapps.train."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

import drapps
from drapps import train

Batch = dict[str, torch.Tensor]


class DataError(Exception):
    """The data are not where the user said; the message says what was looked for."""


def options(description: str, words: Sequence[str], **defaults: float) -> argparse.Namespace:
    """Of a recipe, whose `defaults` are those of `--epochs`, `--batch` and `--rate`."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="?", help="where the data are")
    parser.add_argument("--epochs", type=int, default=defaults["epochs"])
    parser.add_argument("--batch", type=int, default=defaults["batch"], help="of the loader")
    parser.add_argument("--most", type=int, default=8, help="loader's batches of a step")
    parser.add_argument("--rate", type=float, default=defaults["rate"], help="learning rate")
    parser.add_argument("--memory", help='of a step, as "2GiB": recompute what that takes')
    parser.add_argument("--precision", default="auto", choices=["auto", "fp32", "bf16", "fp16"])
    parser.add_argument("--tokenizer", type=Path, help="a folder of transformers, for texts")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args(words)


def fit(
    model: torch.nn.Module,
    loader: drapps.Loader,
    loss_of: Callable[[torch.nn.Module, Batch], torch.Tensor],
    flags: argparse.Namespace,
) -> Iterator[int]:
    """Trains; yields the number of each epoch when it is over, and prints a report at the end."""
    model.to(flags.device)
    optimizer = torch.optim.AdamW(model.parameters(), flags.rate, weight_decay=0.05)
    samples = loader.dataset_size * flags.epochs
    step = train.Step(
        model,
        optimizer,
        batch=train.BatchSchedule(most=flags.most, warmup=20),
        precision=flags.precision,
        learning_rate=train.WarmupCosine(
            optimizer, warmup=0.05 * samples, total=samples, quantum=flags.batch
        ),
        scaling="sqrt",
        clip=1.0,
    )
    if flags.memory:
        batch = moved(next(loader.torch()), flags.device)

        def example() -> torch.Tensor:
            with step.precision.autocast():
                return loss_of(model, batch)

        print(train.checkpoint(model, example, memory=flags.memory))
    for epoch in range(flags.epochs):
        model.train()
        for given in loader.torch():
            batch = moved(given, flags.device)
            with step:
                loss = loss_of(model, batch)
            step.backward(loss, samples=len(next(iter(batch.values()))))
        step.finish()
        yield epoch
    print(step.report())


@torch.no_grad()
def mean(
    model: torch.nn.Module,
    loader: drapps.Loader,
    of: Callable[[torch.nn.Module, Batch], torch.Tensor],
    device: str,
) -> float:
    """The mean over a loader of what `of` gives for a batch as a mean over its samples."""
    model.eval()
    total = count = 0.0
    for given in loader.torch():
        batch = moved(given, device)
        size = len(next(iter(batch.values())))
        total += float(of(model, batch)) * size
        count += size
    return total / max(count, 1)


def moved(batch: Batch, device: str) -> Batch:
    """Where the model is."""
    return {name: each.to(device, non_blocking=True) for name, each in batch.items()}


def run(main: Callable[[Sequence[str]], None]) -> None:
    """Runs a recipe; data that are missing end it with a sentence."""
    try:
        main(sys.argv[1:])
    except (DataError, drapps.DataNotFoundError) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
