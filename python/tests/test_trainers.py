"""Lightning, Accelerate and the Trainer of transformers, unmodified, with drapps.torch.DataLoader.

What the stock loader gives under the same trainer is what ours must give. Two ranks: the scripts of
examples/ (test_examples.py), and here the ways in which Accelerate deals out batches.
"""

import gc
import json
import textwrap
import zlib
from collections import Counter

import pytest

from python.tests.ranks import run_ranks

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as StockLoader  # noqa: E402
from torch.utils.data import Dataset, IterableDataset  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402


class Numbers(Dataset):
    """Plain Python: sample i is a picture of i, and i."""

    def __init__(self, size=21):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.full((3, 32, 32), float(index)), index


class Records(Numbers):
    """The same by name, as transformers wants them."""

    def __getitem__(self, index):
        return {"pixels": torch.full((3, 32, 32), float(index)), "labels": index % 3}


class Stream(IterableDataset):
    """The same in a row, without a length."""

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return ((torch.full((3, 32, 32), float(i)), i) for i in range(first, 21, step))


class SizedStream(Stream):
    """The same with a length."""

    def __len__(self):
        return 21


@pytest.fixture
def folder(photos, torchvision):
    """Pictures that are lifted, and come out the same whoever reads them."""
    assert torchvision
    from torchvision import datasets, transforms

    plain = [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    dataset = datasets.ImageFolder(photos, transforms.Compose(plain))
    assert DataLoader(dataset, 4).lifted()
    return dataset


@pytest.fixture(params=["folder", "numbers", "numbers in workers"])
def kind(request):
    """A dataset with its number of workers."""
    if request.param == "folder":
        return request.getfixturevalue("folder"), 0
    return Numbers(), 2 if "workers" in request.param else 0


def sums(images):
    return [zlib.crc32(image.numpy().tobytes()) for image in images]


def stock_epoch(dataset):
    return Counter(sums(dataset[i][0] for i in range(len(dataset))))


def network():
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 3))


# ---- states, which trainers ask of any loader that has them


class InThrees(torch.utils.data.Sampler):
    """A batch sampler of the user's own."""

    def __iter__(self):
        return iter([list(range(i, i + 3)) for i in range(0, 21, 3)])

    def __len__(self):
        return 7


class Endless(torch.utils.data.Sampler):
    """A sampler without a length."""

    def __iter__(self):
        return iter(range(20, -1, -1))


class Counting(IterableDataset):
    """A stream that can say where it is."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 21:
            self.at += 1
            yield torch.tensor(self.at), self.at
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def seeded():
    return torch.Generator().manual_seed(1)


LOADERS = {
    "sequential": lambda make: make(Numbers(), 4),
    "shuffled": lambda make: make(Numbers(), 4, shuffle=True, generator=seeded()),
    "one by one": lambda make: make(Numbers(), None),
    "in workers": lambda make: make(Numbers(), 4, num_workers=2),
    "persistent": lambda make: make(Numbers(), 4, num_workers=1, persistent_workers=True),
    "drop_last": lambda make: make(Numbers(), 4, drop_last=True),
    "a batch sampler": lambda make: make(Numbers(), batch_sampler=InThrees()),
    "a list of batches": lambda make: make(Numbers(), batch_sampler=[[1, 2], [3], [4, 5, 6]]),
    "shuffled batches": lambda make: make(
        Numbers(),
        batch_sampler=torch.utils.data.BatchSampler(
            torch.utils.data.RandomSampler(Numbers(), generator=seeded()), 4, False
        ),
    ),
    "batches of one rank": lambda make: make(
        Numbers(),
        batch_sampler=torch.utils.data.BatchSampler(
            torch.utils.data.DistributedSampler(Numbers(), 2, 1, seed=2), 4, False
        ),
    ),
    "a sampler without a length": lambda make: make(Numbers(), 4, sampler=Endless()),
    "weighted": lambda make: make(
        Numbers(),
        4,
        sampler=torch.utils.data.WeightedRandomSampler([1.0] * 21, 21, generator=seeded()),
    ),
    "a stream": lambda make: make(Stream(), 4),
    "a stream in workers": lambda make: make(Stream(), 4, num_workers=2),
    "a stateful stream": lambda make: make(Counting(), 4),
    "a stateful stream in workers": lambda make: make(Counting(), 4, num_workers=1),
}


@pytest.mark.parametrize("name", LOADERS)
def test_any_loader_has_a_state_that_a_checkpoint_takes(name, tmp_path):
    def numbers(batches):
        return [torch.as_tensor(labels).reshape(-1).tolist() for _, labels in batches]

    def saved(state):
        torch.save(state, tmp_path / "state")
        return torch.load(tmp_path / "state", weights_only=True)

    make = LOADERS[name]
    stock = numbers(make(StockLoader))
    assert saved(make(DataLoader).state_dict())
    for steps in range(len(stock) + 1):
        loader = make(DataLoader)
        iterator = iter(loader)
        first = numbers(next(iterator) for _ in range(steps))
        assert first == stock[:steps], "the order is stock's"
        state = saved(loader.state_dict())
        again = make(DataLoader)
        again.load_state_dict(state)
        assert numbers(again) == (stock[steps:] or stock[:]) or steps == len(stock), steps
        if steps == len(stock) and "stream" not in name and "without" not in name:
            again.load_state_dict(state)
            assert len(numbers(again)) == len(stock), "after the last batch comes the next epoch"


# ---- Lightning


@pytest.fixture
def lightning():
    return pytest.importorskip("lightning.pytorch")


@pytest.fixture
def classifier(lightning):
    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = network()
            self.seen = []

        def training_step(self, batch, _):
            self.seen.append(sums(batch[0]))
            return self.model(batch[0]).mean()

        def validation_step(self, batch, _):
            self.seen.append(sums(batch[0]))

        def predict_step(self, batch, _):
            return sums(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-6)

    return Classifier


def trainer(lightning, tmp_path, **options):
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        default_root_dir=tmp_path,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **{"enable_checkpointing": False, "num_sanity_val_steps": 0, **options},
    )


def flat(batches):
    return [one for batch in batches for one in batch]


def test_lightning_trains_and_validates_on_what_the_dataset_holds(
    lightning, classifier, kind, tmp_path
):
    dataset, workers = kind
    loader = DataLoader(dataset, 4, shuffle=True, num_workers=workers)
    model = classifier()
    trainer(lightning, tmp_path, max_epochs=2).fit(model, loader)
    assert [len(batch) for batch in model.seen] == [4, 4, 4, 4, 4, 1] * 2
    for epoch in (model.seen[:6], model.seen[6:]):
        assert Counter(flat(epoch)) == stock_epoch(dataset)
    assert model.seen[:6] != model.seen[6:]
    model.seen.clear()
    trainer(lightning, tmp_path).validate(model, DataLoader(dataset, 4), verbose=False)
    assert flat(model.seen) == list(sums(dataset[i][0] for i in range(21)))


class Subclass(DataLoader):
    """A user's own loader. Of ``**others`` Lightning passes on what the stock loader takes."""

    def __init__(self, dataset, colour="red", seed=None, **others):
        self.colour = colour
        super().__init__(dataset, seed=seed, **others)


def test_lightning_makes_the_loader_again_with_all_that_it_was_given(lightning, folder):
    from lightning.pytorch.utilities.data import _update_dataloader
    from torch.utils.data import DistributedSampler

    assert lightning
    stock = {
        "batch_size": 3,
        "num_workers": 2,
        "drop_last": True,
        "timeout": 7,
        "prefetch_factor": 3,
        "persistent_workers": True,
        "multiprocessing_context": "spawn",
        "generator": torch.Generator(),
        "in_order": False,
    }
    own = {
        "policy": "hill_climb",
        "cpu_budget": 1.5,
        "ram_budget": 2**28,
        "on_error": "skip",
        "seed": 4,
        "lift": False,
    }
    sampler = DistributedSampler(folder, 2, 1)
    for make, more in ((DataLoader, own), (Subclass, {"colour": "blue", "seed": 4})):
        again = _update_dataloader(make(folder, shuffle=True, **stock, **more), sampler)
        assert type(again) is make
        assert again.sampler is sampler
        assert again.dataset is folder
        for name, value in {**stock, **more}.items():
            found = getattr(again, name)
            if name == "multiprocessing_context":
                found = found.get_start_method()
            assert found == value, name


def test_lightning_injects_a_sampler_into_a_lifted_loader_and_it_stays_lifted(lightning, folder):
    from lightning.pytorch.utilities.data import _update_dataloader
    from torch.utils.data import DistributedSampler

    assert lightning
    for rank in range(2):
        sampler = DistributedSampler(folder, 2, rank, seed=3)
        loader = _update_dataloader(DataLoader(folder, 4, shuffle=True), sampler)
        assert loader.lifted()
        for epoch in range(2):
            sampler.set_epoch(epoch)
            stock = [sums(images) for images, _ in StockLoader(folder, 4, sampler=sampler)]
            assert [sums(images) for images, _ in loader] == stock


def test_lightning_makes_loaders_of_hooks_again_too(lightning, folder):
    from lightning.fabric.utilities.data import _replace_dunder_methods
    from lightning.pytorch.utilities.data import _update_dataloader
    from torch.utils.data import BatchSampler, SequentialSampler

    assert lightning
    with _replace_dunder_methods(StockLoader, "dataset"), _replace_dunder_methods(BatchSampler):
        loader = DataLoader(folder, 4, on_error="skip", seed=2)
    again = _update_dataloader(loader, SequentialSampler(folder))
    assert type(again) is DataLoader
    assert (again.batch_size, again.on_error, again.seed) == (4, "skip", 2)
    assert again.lifted()


@pytest.mark.parametrize("persistent", [False, True])
def test_lightning_validates_in_the_middle_of_an_epoch_and_leaves_no_process(
    lightning, classifier, tmp_path, persistent
):
    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children(recursive=True))
    options = {"num_workers": 2, "persistent_workers": persistent}
    train = DataLoader(Numbers(), 4, shuffle=True, **options)
    valid = DataLoader(Numbers(9), 4, **options)
    model = classifier()
    trainer(lightning, tmp_path, max_epochs=2, val_check_interval=3).fit(model, train, valid)
    assert Counter(flat(model.seen)) == Counter(
        {key: 6 if key in stock_epoch(Numbers(9)) else 2 for key in stock_epoch(Numbers())}
    )
    del train, valid, model
    gc.collect()
    assert set(psutil.Process().children(recursive=True)) <= before


def test_lightning_predicts_in_order(lightning, classifier, kind, tmp_path):
    dataset, workers = kind
    loader = DataLoader(dataset, 4, num_workers=workers)
    predicted = trainer(lightning, tmp_path).predict(classifier(), loader)
    assert flat(predicted) == sums(dataset[i][0] for i in range(21))


def test_a_lightning_checkpoint_goes_on_with_the_samples_that_are_left(
    lightning, classifier, kind, tmp_path
):
    dataset, workers = kind

    def loader():
        return DataLoader(dataset, 4, shuffle=True, num_workers=workers)

    model = classifier()
    save = lightning.callbacks.ModelCheckpoint(tmp_path, every_n_train_steps=2, save_top_k=-1)
    options = {"enable_checkpointing": True, "callbacks": [save]}
    trainer(lightning, tmp_path, max_steps=8, max_epochs=2, **options).fit(model, loader())
    for steps, epoch in ((2, 0), (4, 0), (6, 1), (8, 1)):
        (path,) = tmp_path.glob(f"*step={steps}.ckpt")
        again = classifier()
        trainer(lightning, tmp_path, max_epochs=epoch + 1).fit(again, loader(), ckpt_path=path)
        seen = model.seen[6 * epoch : steps] + again.seen
        assert [len(batch) for batch in seen] == [4, 4, 4, 4, 4, 1], steps
        assert Counter(flat(seen)) == stock_epoch(dataset), steps


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("sized", [True, False])
def test_lightning_saves_and_loads_an_iterable(lightning, classifier, tmp_path, workers, sized):
    def loader():
        return DataLoader(SizedStream() if sized else Stream(), 3, num_workers=workers)

    first, again = classifier(), classifier()
    save = lightning.callbacks.ModelCheckpoint(tmp_path, every_n_train_steps=2, save_top_k=-1)
    options = {"enable_checkpointing": True, "callbacks": [save], "max_epochs": 1}
    trainer(lightning, tmp_path, **options).fit(first, loader())
    (path,) = tmp_path.glob("*step=2.ckpt")
    trainer(lightning, tmp_path, max_epochs=1).fit(again, loader(), ckpt_path=path)
    # Of a loader without a length Lightning is one batch ahead, and its state counts that.
    assert again.seen == first.seen[2 if sized else 3 :]


# ---- Accelerate


@pytest.fixture
def accelerate():
    found = pytest.importorskip("accelerate")
    states = found.state.AcceleratorState, found.state.PartialState, found.state.GradientState
    for state in states:
        state._reset_state()
    yield found
    for state in states:
        state._reset_state()


@pytest.fixture
def ours(accelerate, monkeypatch):
    """Accelerate makes its loaders of our class."""
    monkeypatch.setattr(accelerate.data_loader, "DataLoader", DataLoader)


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

    for steps in range(1, 6):
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
    for skipped in (0, 2, 6):
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
from python.tests.test_trainers import Numbers, Stream, sums

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


# ---- transformers


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers")


@pytest.fixture
def hf(transformers, accelerate, tmp_path, monkeypatch):
    """Makes a trainer of transformers."""
    assert accelerate
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = network()
            self.seen = []

        def forward(self, pixels, labels):
            self.seen.append(sums(pixels))
            return {"loss": torch.nn.functional.cross_entropy(self.model(pixels), labels)}

    class Trainer(transformers.Trainer):
        def loader(self):
            raise NotImplementedError

    def make(dataset, cls=transformers.Trainer, workers=0, **options):
        arguments = transformers.TrainingArguments(
            str(tmp_path / "out"),
            use_cpu=True,
            per_device_train_batch_size=4,
            dataloader_num_workers=workers,
            report_to="none",
            disable_tqdm=True,
            **{"save_strategy": "no", "num_train_epochs": 2, **options},
        )
        return cls(model=Model(), args=arguments, train_dataset=dataset)

    return make


def record_epoch(dataset):
    return Counter(sums(dataset[i]["pixels"] for i in range(len(dataset))))


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("workers", [0, 2])
def test_the_trainer_of_transformers_trains_on_each_sample_once_an_epoch(hf, workers):
    trainer = hf(Records(), workers=workers)
    trainer.train()
    seen = trainer.model.seen
    assert type(trainer.callback_handler.train_dataloader.base_dataloader) is DataLoader
    assert [len(batch) for batch in seen] == [4, 4, 4, 4, 4, 1] * 2
    for epoch in (seen[:6], seen[6:]):
        assert Counter(flat(epoch)) == record_epoch(Records())


@pytest.mark.parametrize("make", [StockLoader, DataLoader])
def test_the_order_is_that_of_the_stock_loader_under_the_trainer(hf, accelerate, monkeypatch, make):
    seen = []
    for base in (StockLoader, make):
        monkeypatch.setattr(accelerate.data_loader, "DataLoader", base)
        trainer = hf(Records(), workers=2)
        trainer.train()
        seen.append(trainer.model.seen)
        accelerate.state.AcceleratorState._reset_state(True)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_trainer_may_bring_its_own_loader(hf, transformers, workers, wrapped):
    class Trainer(transformers.Trainer):
        def get_train_dataloader(self):
            loader = DataLoader(self.train_dataset, 4, shuffle=True, num_workers=workers)
            return self.accelerator.prepare(loader) if wrapped else loader

    trainer = hf(Records(), Trainer)
    trainer.train()
    seen = trainer.model.seen
    assert [len(batch) for batch in seen] == [4, 4, 4, 4, 4, 1] * 2
    for epoch in (seen[:6], seen[6:]):
        assert Counter(flat(epoch)) == record_epoch(Records())
    assert seen[:6] != seen[6:]


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("workers", [0, 2])
def test_the_trainer_resumes_in_the_middle_of_an_epoch(hf, tmp_path, workers):
    options = {"save_strategy": "steps", "save_steps": 2, "seed": 3}
    first = hf(Records(), workers=workers, **options)
    first.train()
    for steps in (2, 4, 8):
        again = hf(Records(), workers=workers, **options)
        again.train(resume_from_checkpoint=str(tmp_path / "out" / f"checkpoint-{steps}"))
        assert again.model.seen == first.model.seen[steps:], steps


class RecordStream(IterableDataset):
    """Records in a row, without a length."""

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        return (Records()[i] for i in range(first, 21, step))


@pytest.mark.parametrize("workers", [0, 2])
def test_the_trainer_trains_on_a_stream_as_with_the_stock_loader(
    hf, accelerate, monkeypatch, workers
):
    seen = []
    for base in (StockLoader, DataLoader):
        monkeypatch.setattr(accelerate.data_loader, "DataLoader", base)
        trainer = hf(RecordStream(), workers=workers, max_steps=8)
        trainer.train()
        seen.append(trainer.model.seen)
        accelerate.state.AcceleratorState._reset_state(True)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 8


def test_the_trainer_evaluates_and_predicts_as_with_the_stock_loader(hf, accelerate, monkeypatch):
    seen = []
    for base in (StockLoader, DataLoader):
        monkeypatch.setattr(accelerate.data_loader, "DataLoader", base)
        trainer = hf(
            Records(), workers=2, dataloader_persistent_workers=True, per_device_eval_batch_size=4
        )
        for _ in range(2):
            trainer.evaluate(Records(9))
        trainer.predict(Records(6))
        seen.append(trainer.model.seen)
        accelerate.state.AcceleratorState._reset_state(True)
    assert seen[0] == seen[1]
    assert Counter(flat(seen[0])) == Counter(
        {
            **dict.fromkeys(record_epoch(Records(9)), 2),
            **dict.fromkeys(record_epoch(Records(6)), 3),
        }
    )
