"""The noise of the gradient under PyTorch Lightning."""

import math

import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning.pytorch")

from drapps import PipelineError, train  # noqa: E402
from drapps.torch import DataLoader  # noqa: E402
from drapps.train.lightning import NoiseCallback  # noqa: E402
from python.tests.train.models import loss_of, model_of  # noqa: E402
from python.tests.trainers.points import Points  # noqa: E402


class Module(lightning.LightningModule):
    def __init__(self, automatic=True):
        super().__init__()
        self.model = model_of()
        self.automatic_optimization = automatic

    def training_step(self, batch, _):
        return loss_of(self.model, batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def fit(tmp_path, callback, epochs=1, module=None, size=72, **options):
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=1,
        max_epochs=epochs,
        default_root_dir=tmp_path,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[callback],
        **options,
    )
    module = module or Module()
    trainer.fit(module, DataLoader(Points(size), 8))
    return trainer, module


def test_the_noise_is_what_a_plain_loop_measures(tmp_path):
    callback = NoiseCallback()
    _, module = fit(tmp_path, callback, accumulate_grad_batches=3)
    model = model_of()
    step = train.Step(model, torch.optim.SGD(model.parameters(), lr=1e-3), batch=3, noise=True)
    for batch in DataLoader(Points(72), 8):
        step.backward(loss_of(model, batch), samples=8)
    assert callback.estimate.steps == step.noise.estimate.steps == 3
    assert callback.estimate.noise == pytest.approx(step.noise.estimate.noise, rel=1e-4)
    for ours, plain in zip(module.model.parameters(), model.parameters(), strict=True):
        assert torch.allclose(ours, plain, atol=1e-7)


def test_a_schedule_moves_accumulation_from_epoch_to_epoch(tmp_path):
    schedule = train.BatchSchedule(least=2, most=4, warmup=0, every=1, share=1000.0)
    callback = NoiseCallback(schedule, average=0.9)
    trainer, _ = fit(tmp_path, callback, epochs=2)
    assert trainer.accumulate_grad_batches == 4
    # nine batches an epoch: 4 steps of two and one of one, then 2 of four and one of one
    assert trainer.global_step == 5 + 3
    assert schedule.history[-1][1] == 4


def test_checkpoints_hold_it(tmp_path):
    callback = NoiseCallback(train.BatchSchedule(least=2, most=4, warmup=0, every=1, share=1000.0))
    fit(tmp_path, callback)
    other = NoiseCallback(train.BatchSchedule(least=2, most=4, warmup=0, every=1))
    other.load_state_dict(callback.state_dict())
    assert other.schedule.accumulation == callback.schedule.accumulation
    assert other.state_dict() == callback.state_dict()
    assert other.estimate is None


def test_steps_of_uneven_batches_are_not_measured(tmp_path):
    callback = NoiseCallback()
    fit(tmp_path, callback, size=28, accumulate_grad_batches=2)  # 8, 8, 8 and 4
    assert callback.estimate.steps == 1
    assert math.isfinite(callback.estimate.noise)


def test_what_cannot_be_measured_is_said(tmp_path):
    with pytest.raises(PipelineError, match="least=2"):
        fit(tmp_path, NoiseCallback(train.BatchSchedule(most=4)))
    with pytest.raises(PipelineError, match="automatic_optimization"):
        fit(tmp_path, NoiseCallback(), module=Module(automatic=False))
