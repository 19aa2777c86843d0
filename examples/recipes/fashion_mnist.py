"""A small network on Fashion-MNIST: `python examples/recipes/fashion_mnist.py [FOLDER]`.

FOLDER has the four files of the data set, as Debian's package dataset-fashion-mnist puts them into
/usr/share/datasets/fashion-mnist. Needs torch.
"""

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from loop import Batch, DataError, fit, mean, options, run

import drapps

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
HEADS = {"images": 16, "labels": 8}  # bytes before the numbers


def arrays(folder: Path, part: str) -> drapps.Pipeline:
    """Pictures and labels of ``train`` or ``t10k``.

    Raises:
        DataError: a file is missing, or damaged.
    """
    data = {}
    for what, dimensions in (("images", 3), ("labels", 1)):
        file = folder / f"{part}-{what}-idx{dimensions}-ubyte.gz"
        try:
            data[what] = np.frombuffer(gzip.decompress(file.read_bytes())[HEADS[what] :], np.uint8)
        except FileNotFoundError:
            raise DataError(f"{file} is missing: apt-get install dataset-fashion-mnist") from None
        except (OSError, EOFError) as error:
            raise DataError(f"{file} is damaged: {error}") from None
    labels = data["labels"].astype(np.int64)
    if data["images"].size != 28 * 28 * len(labels):
        raise DataError(f"{folder} has {len(labels)} labels of {part}, and not as many pictures")
    pictures = data["images"].reshape(-1, 28, 28, 1)
    return drapps.arrays({"image": pictures, "label": labels}, pictures="image")


def network() -> torch.nn.Module:
    """Three convolutions."""
    nn = torch.nn

    def block(given: int, maps: int) -> list[torch.nn.Module]:
        return [nn.Conv2d(given, maps, 3, stride=2, padding=1), nn.BatchNorm2d(maps), nn.ReLU()]

    layers = [*block(1, 32), *block(32, 64), *block(64, 64)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Cross entropy."""
    return torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])


def accuracy(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """The share that is right."""
    return (model(batch["image"]).argmax(1) == batch["label"]).float().mean()


def main(words: Sequence[str]) -> None:
    """Trains, and says after each epoch how much of the test is right."""
    flags = options(__doc__, words, epochs=3, batch=64, rate=2e-3)
    folder = flags.data or DEBIAN
    torch.manual_seed(1)
    train = arrays(folder, "train").random_crop(28, padding=2).flip().normalize([0.29], [0.35])
    test = arrays(folder, "t10k").normalize([0.29], [0.35]).batch(500)
    model = network()
    for epoch in fit(model, train.shuffle(seed=1).batch(flags.batch), loss_of, flags):
        print(f"epoch {epoch + 1}: {mean(model, test, accuracy, flags.device):.2%}", flush=True)


if __name__ == "__main__":
    run(main)
