"""ResNet-50 on CIFAR-10: `python examples/recipes/resnet50_cifar10.py DATA`.

DATA is your copy: the folder of the "python version" (data_batch_1 to data_batch_5, test_batch), or
one with a folder of pictures per class, in train/ and test/ or by themselves. The python version is
pickled, so only open files that you trust. Needs torch and torchvision, and in practice a GPU.
"""

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from loop import Batch, DataError, fit, mean, options, run
from torchvision.models import resnet50

import drapps

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]
BATCHES = [f"data_batch_{number}" for number in range(1, 6)]


def sources(path: Path) -> tuple[drapps.Pipeline, drapps.Pipeline | None]:
    """What is trained on, cropped and flipped, and what is tested with, if there is any.

    Raises:
        DataError: there is neither form of it.
    """
    for folder in (path, path / "cifar-10-batches-py"):
        if (folder / BATCHES[0]).is_file():
            train = arrays(folder, BATCHES).random_crop(32, padding=4).flip()
            return train, arrays(folder, ["test_batch"])
    train, test = path / "train", path / "test"
    if not train.is_dir():
        train, test = path, None
    if not train.is_dir() or not any(each.is_dir() for each in train.iterdir()):
        raise DataError(f"{path} has neither {BATCHES[0]} nor a folder of pictures per class")
    pipeline = drapps.image_folder(train).random_resized_crop(32).flip()
    if test is None or not test.is_dir():
        return pipeline, None
    return pipeline, drapps.image_folder(test).resize(32).center_crop(32)


def arrays(folder: Path, names: Sequence[str]) -> drapps.Pipeline:
    """Pictures and labels of some of the pickled files.

    Raises:
        DataError: a file is missing, or none of CIFAR-10's.
    """
    images, labels = zip(*(unpickled(folder / name) for name in names), strict=True)
    pictures = np.ascontiguousarray(np.concatenate(images).transpose(0, 2, 3, 1))
    return drapps.arrays({"image": pictures, "label": np.concatenate(labels)}, pictures="image")


def unpickled(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Planes of pictures, and labels."""
    try:
        content = pickle.loads(file.read_bytes(), encoding="bytes")
        planes = content[b"data"].reshape(-1, 3, 32, 32)
        return planes, np.asarray(content[b"labels"], np.int64)
    except FileNotFoundError:
        raise DataError(f"{file} is missing") from None
    except (pickle.UnpicklingError, EOFError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"{file} is no batch of CIFAR-10: {error!r}") from None


def model_for(classes: int) -> torch.nn.Module:
    """ResNet-50 for small pictures: the first convolution keeps their size."""
    model = resnet50(weights=None, num_classes=classes)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()
    return model


def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Cross entropy."""
    return torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])


def accuracy(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """The share that is right."""
    return (model(batch["image"]).argmax(1) == batch["label"]).float().mean()


def main(words: Sequence[str], model: torch.nn.Module | None = None) -> None:
    """Trains, and says after each epoch how much of the test is right."""
    flags = options(__doc__, words, epochs=30, batch=64, rate=1e-3)
    if flags.data is None:
        raise DataError("say where your copy of CIFAR-10 is")
    torch.manual_seed(1)
    train, test = sources(flags.data)
    loader = train.normalize(MEAN, STD).shuffle(seed=1).batch(flags.batch)
    tested = None if test is None else test.normalize(MEAN, STD).batch(500)
    model = model_for(len(loader.classes) or 10) if model is None else model
    for epoch in fit(model, loader, loss_of, flags):
        note = "no test" if tested is None else f"{mean(model, tested, accuracy, flags.device):.2%}"
        print(f"epoch {epoch + 1}: {note}", flush=True)


if __name__ == "__main__":
    run(main)
