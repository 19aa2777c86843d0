"""The Trainer of transformers."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as StockLoader  # noqa: E402
from torch.utils.data import IterableDataset  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402
from python.tests.cells import cells, full  # noqa: E402
from python.tests.trainers.samples import (  # noqa: E402
    Records,
    flat,
    network,
    sums,
)


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


@pytest.mark.parametrize("make", [pytest.param(StockLoader, marks=pytest.mark.full), DataLoader])
def test_the_order_is_that_of_the_stock_loader_under_the_trainer(hf, accelerate, monkeypatch, make):
    seen = []
    for base in (StockLoader, make):
        monkeypatch.setattr(accelerate.data_loader, "DataLoader", base)
        trainer = hf(Records(), workers=2)
        trainer.train()
        seen.append(trainer.model.seen)
        accelerate.state.AcceleratorState._reset_state(True)
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("workers", "wrapped"), cells([0, 2], [False, True]))
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
@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.full)])
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


@pytest.mark.parametrize("workers", [0, full(2)])
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
