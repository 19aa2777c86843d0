"""Accelerate."""

import json
import textwrap
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as StockLoader  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402
from python.tests.ranks import run_ranks  # noqa: E402
from python.tests.trainers.samples import (  # noqa: E402
    Numbers,
    flat,
    network,
    stock_epoch,
    sums,
)


def test_accelerate_takes_the_loader_as_it_is(accelerate, kind):
    dataset, workers = kind
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=workers)
    prepared = accelerate.Accelerator(cpu=True).prepare(loader)
    assert isinstance(prepared, StockLoader)
    for _ in range(2):
        epoch = [sums(images) for images, _ in prepared]
        assert [len(batch) for batch in epoch] == [4, 4, 4, 4, 4, 1]
        assert Counter(flat(epoch)) == stock_epoch(dataset)


@pytest.mark.usefixtures("ours")
def test_accelerate_makes_its_loaders_of_our_class_where_told_so(accelerate, kind):
    dataset, workers = kind
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=workers)
    prepared = accelerate.Accelerator(cpu=True).prepare(loader)
    assert type(prepared.base_dataloader) is DataLoader
    assert bool(prepared.lifted()) == bool(loader.lifted())
    assert prepared.num_workers == workers
    for _ in range(2):
        assert Counter(flat(sums(images) for images, _ in prepared)) == stock_epoch(dataset)


@pytest.mark.usefixtures("ours")
def test_a_prepared_loader_has_a_state_that_counts_what_was_yielded(accelerate, kind):
    dataset, workers = kind
    accelerator = accelerate.Accelerator(cpu=True)

    def prepared():
        return accelerator.prepare(DataLoader(dataset, 4, shuffle=True, num_workers=workers))

    for steps in (1, 3, 5):
        loader, first = prepared(), []
        for images, _ in loader:
            first.append(sums(images))
            if len(first) == steps:
                state = json.loads(json.dumps(loader.state_dict()))
                break
        again = prepared()
        again.load_state_dict(state)
        rest = [sums(images) for images, _ in again]
        assert len(first) + len(rest) == 6, steps
        assert Counter(flat(first + rest)) == stock_epoch(dataset), steps


@pytest.mark.usefixtures("ours")
def test_accelerate_skips_the_first_batches(accelerate, kind):
    dataset, workers = kind
    accelerator = accelerate.Accelerator(cpu=True)
    loader = accelerator.prepare(DataLoader(dataset, 4, num_workers=workers))
    whole = [sums(images) for images, _ in loader]
    for skipped in (2, 6):
        rest = accelerator.skip_first_batches(loader, skipped)
        assert type(rest.base_dataloader) is DataLoader
        assert [sums(images) for images, _ in rest] == whole[skipped:]


@pytest.mark.usefixtures("ours")
def test_accelerate_saves_and_loads_its_state(accelerate, kind, tmp_path):
    dataset, workers = kind
    accelerator = accelerate.Accelerator(cpu=True)
    model, loader = accelerator.prepare(network(), DataLoader(dataset, 4, num_workers=workers))
    accelerator.save_state(tmp_path / "state")
    list(loader)
    accelerator.save_state(tmp_path / "state")
    accelerator.load_state(tmp_path / "state")
    assert len(list(loader)) == 6
    assert model is not None


MATRIX = """
import itertools, json, sys
import accelerate, torch, torchvision
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch.utils.data import DataLoader as Stock
from torchvision import datasets, transforms
from drapps.torch import DataLoader
from python.tests.trainers.samples import Numbers, Stream, sums

plain = [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
folder = datasets.ImageFolder(sys.argv[1], transforms.Compose(plain))

def batches(make, base, dataset, workers, **configuration):
    accelerate.data_loader.DataLoader = base
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(
        use_seedable_sampler=True, data_seed=5, **configuration))
    shuffle = None if isinstance(dataset, Stream) else True
    loader = accelerator.prepare(make(dataset, 4, shuffle=shuffle, num_workers=workers))
    assert type(loader.base_dataloader) is base
    seen = [sums(images) for images, _ in loader]
    rest = accelerator.skip_first_batches(loader, 2)
    return [seen, [sums(images) for images, _ in rest]]

rows = {}
for dataset, workers in ((folder, 0), (Numbers(), 2), (Stream(), 2)):
    name = f"{type(dataset).__name__} {workers}"
    for dispatch, split, even in itertools.product((False, True), (False, True), (False, True)):
        if workers and split:
            continue  # enough of it
        options = {"dispatch_batches": dispatch, "split_batches": split, "even_batches": even}
        stock = batches(Stock, Stock, dataset, workers, **options)
        for base in (DataLoader,) if workers else (DataLoader, Stock):
            assert batches(DataLoader, base, dataset, workers, **options) == stock, (name, options)
        rows[f"{name} {options}"] = sorted(one for batch in stock[0] for one in batch)
print("rows", json.dumps(rows))
"""


@pytest.mark.full
def test_accelerate_deals_out_to_two_ranks_what_it_does_with_the_stock_loader(
    accelerate, folder, tmp_path
):
    assert accelerate
    script = tmp_path / "matrix.py"
    script.write_text(textwrap.dedent(MATRIX))
    outputs = run_ranks([script, folder.root], tmp_path)
    ranks = [json.loads(output.rpartition("rows ")[2]) for output in outputs]
    assert ranks[0].keys() == ranks[1].keys()
    for name in ranks[0]:
        if not name.startswith("Stream"):
            both = {*ranks[0][name], *ranks[1][name]}
            assert both == set(stock_epoch(folder if "Image" in name else Numbers())), name
