"""PyTorch Lightning."""

import gc
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as StockLoader  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402
from python.tests.cells import cells  # noqa: E402
from python.tests.hold_streams import wait_until  # noqa: E402
from python.tests.trainers.samples import (  # noqa: E402
    Numbers,
    SizedStream,
    Stream,
    flat,
    network,
    stock_epoch,
    sums,
)


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
            attribute = getattr(again, name)
            if name == "multiprocessing_context":
                attribute = attribute.get_start_method()
            assert attribute == value, name


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


@pytest.mark.parametrize("persistent", [pytest.param(False, marks=pytest.mark.full), True])
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

    def left():
        gc.collect()  # does nothing while another thread collects
        return set(psutil.Process().children(recursive=True)) - before

    wait_until(lambda: not left(), seen=left)


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


@pytest.mark.parametrize(("workers", "sized"), cells([0, 2], [True, False]))
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
