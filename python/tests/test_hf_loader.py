"""Hugging Face datasets under our loader, with transforms and formats of their own."""

import pytest

datasets = pytest.importorskip("datasets")
torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

from python.tests.cells import cells  # noqa: E402
from python.tests.torch_contract.modes import MODES  # noqa: E402


def rows():
    return datasets.Dataset.from_dict({"x": list(range(10)), "y": [[i, -i] for i in range(10)]})


def doubled(batch):
    return {"z": [torch.tensor([2.0 * x]) for x in batch["x"]], "x": batch["x"]}


def transformed():
    dataset = rows()
    dataset.set_transform(doubled)
    return dataset


MADE = {
    "plain": rows,
    "set_transform": transformed,
    "with_transform": lambda: rows().with_transform(doubled),
    "torch": lambda: rows().with_format("torch"),
    "numpy": lambda: rows().with_format("numpy"),
    "columns": lambda: rows().with_format("torch", columns=["y"]),
    "shuffled": lambda: rows().shuffle(seed=3).with_format("torch"),
    "iterable": lambda: rows().to_iterable_dataset(num_shards=2).with_format("torch"),
}


def content_of(value):
    if isinstance(value, dict):
        return {key: content_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [content_of(item) for item in value]
    return (str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


@pytest.mark.parametrize(("workers", "name"), cells([0, 2], MADE))
def test_batches_are_those_of_stock(name, workers):
    def passes(loader_class):
        torch.manual_seed(1)
        shuffle = {"shuffle": True} if name != "iterable" else {}
        loader = loader_class(MADE[name](), 3, num_workers=workers, **shuffle)
        return [content_of(list(loader)) for _ in range(2)]

    assert passes(MODES["default"]) == passes(data.DataLoader)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_transform_that_is_set_between_passes_counts(workers):
    def passes(loader_class):
        dataset = rows()
        loader = loader_class(dataset, 4, num_workers=workers)
        first = content_of(list(loader))
        dataset.set_transform(doubled)
        return first, content_of(list(loader))

    assert passes(MODES["default"]) == passes(data.DataLoader)
