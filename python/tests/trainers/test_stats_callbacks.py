"""The callbacks that log what a loader has counted, by the names that all who show it share."""

import pytest

torch = pytest.importorskip("torch")

from drapps.report.numbers import numbers  # noqa: E402
from drapps.torch import DataLoader  # noqa: E402
from python.tests.trainers.samples import Numbers, Records, network  # noqa: E402


def names_of(loader):
    """What a log of this loader may hold."""
    stats = loader.stats()
    return {f"drapps/{name}" for name in {**numbers(stats), **numbers(stats, stats, 1.0)}}


@pytest.fixture
def fitted(tmp_path):
    """Fits with Lightning; gives what was logged, by step."""
    lightning = pytest.importorskip("lightning.pytorch")
    from lightning.pytorch.loggers.logger import DummyLogger

    from drapps.monitor.lightning import StatsCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = network()

        def training_step(self, batch, _):
            several = isinstance(batch[0], (list, tuple))
            return self.model(batch[0][0] if several else batch[0]).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-6)

    class Logger(DummyLogger):
        def __init__(self):
            super().__init__()
            self.logged = []

        def log_metrics(self, metrics, step=None):
            ours = {name: value for name, value in metrics.items() if name.startswith("drapps/")}
            if ours:
                self.logged.append((step, ours))

    def fit(loaders, **options):
        logger = Logger()
        lightning.Trainer(
            accelerator="cpu",
            devices=1,
            max_epochs=2,
            default_root_dir=tmp_path,
            logger=logger,
            log_every_n_steps=3,
            enable_progress_bar=False,
            enable_model_summary=False,
            enable_checkpointing=False,
            callbacks=[StatsCallback(**options)],
        ).fit(Module(), loaders)
        return logger.logged

    return fit


def test_lightning_logs_the_numbers_of_its_loader(fitted, folder):
    loader = DataLoader(folder, 4, shuffle=True)
    logged = fitted(loader)
    assert [step for step, _ in logged] == [3, 6, 9, 12]
    first, last = logged[0][1], logged[-1][1]
    assert last["drapps/batches"] == 12
    assert first.keys() | last.keys() <= names_of(loader)
    assert {"drapps/stall_share", "drapps/samples_per_s", "drapps/knob/workers"} <= last.keys()


def test_lightning_logs_python_code_in_workers_and_of_several_loaders_the_first(fitted):
    loader = DataLoader(Numbers(), 4, num_workers=2)
    logged = fitted([loader, torch.utils.data.DataLoader(Numbers(), 4)])
    assert logged[-1][1]["drapps/batches"] == 12
    assert logged[-1][1]["drapps/knob/processes"] >= 1


def test_of_another_loader_nothing_is_logged_and_a_warning_says_so(fitted):
    with pytest.warns(RuntimeWarning, match="loads from none of DRAPPS"):
        assert fitted(torch.utils.data.DataLoader(Numbers(), 4)) == []


def test_a_loader_that_is_given_is_the_one(fitted, folder):
    given = DataLoader(folder, 4)
    list(given)
    logged = fitted(torch.utils.data.DataLoader(Numbers(), 4), loader=given)
    assert [numbers["drapps/batches"] for _, numbers in logged] == [6] * 4


@pytest.mark.usefixtures("ours")
def test_the_trainer_of_transformers_logs_them(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    from drapps.monitor.transformers import StatsCallback

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = network()

        def forward(self, pixels, labels):
            return {"loss": torch.nn.functional.cross_entropy(self.model(pixels), labels)}

    arguments = transformers.TrainingArguments(
        str(tmp_path / "out"),
        use_cpu=True,
        per_device_train_batch_size=4,
        dataloader_num_workers=2,
        logging_steps=3,
        num_train_epochs=2,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model=Model(), args=arguments, train_dataset=Records(), callbacks=[StatsCallback()]
    )
    trainer.train()
    loader = trainer.callback_handler.train_dataloader.base_dataloader
    logged = [each for each in trainer.state.log_history if "loss" in each]
    assert [each["step"] for each in logged] == [3, 6, 9, 12]
    ours = [{name for name in each if name.startswith("drapps/")} for each in logged]
    assert {"drapps/stall_share", "drapps/knob/processes"} <= ours[-1] <= names_of(loader)
    assert "drapps/samples_per_s" in ours[1] and "drapps/samples_per_s" not in ours[0]
