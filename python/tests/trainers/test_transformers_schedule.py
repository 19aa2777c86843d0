"""Schedules of the batch size under the Trainer of transformers, and trainings that go on."""

import json
from functools import partial

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from drapps import PipelineError, train  # noqa: E402
from drapps.train.transformers import StepCallback  # noqa: E402
from drapps.train.transformers.nominal_steps import NominalSteps  # noqa: E402
from python.tests.cells import cells  # noqa: E402
from python.tests.train.checkpointed import gpt  # noqa: E402
from python.tests.train.models import weights  # noqa: E402
from python.tests.trainers.step_trainers import (  # noqa: E402
    Classifier,
    NamedPoints,
    Stream,
    trainer_of,
)
from python.tests.trainers.texts import Texts  # noqa: E402

torch.set_num_threads(1)
CALLBACK = "StepCallback"


@pytest.fixture
def trainer(tmp_path, accelerate, monkeypatch):
    assert accelerate
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return partial(trainer_of, tmp_path)


def moving(**changes):
    """A schedule that grows as soon as it may."""
    options = {"least": 2, "most": 4, "warmup": 2, "every": 2, "share": 1e6}
    return train.BatchSchedule(**options | changes)


def test_skipped_steps_move_neither_schedule_nor_rate(trainer, monkeypatch):
    optimizer = pytest.importorskip("accelerate.optimizer").AcceleratedOptimizer
    callback = StepCallback(moving())
    job = trainer(callback, num_train_epochs=2, gradient_accumulation_steps=2)
    monkeypatch.setattr(
        optimizer, "step_was_skipped", property(lambda _: job.state.global_step in (1, 6))
    )
    job.train()
    assert callback.skipped == 2
    assert callback.schedule.steps == callback.steps == job.state.global_step - 2
    assert job.lr_scheduler.last_epoch == 10 - 1 - 2


def test_a_schedule_moves_accumulation_from_epoch_to_epoch(trainer):
    callback = StepCallback(moving())
    job = trainer(callback, num_train_epochs=3, gradient_accumulation_steps=2)
    job.train()
    losses = [each for each in job.state.log_history if "loss" in each]
    # nine batches an epoch: 4 steps of two and one of one, then 2 of four and one of one
    assert [each["micro_batches"] for each in losses] == [2] * 5 + [4] * 6
    assert [each["epoch"] for each in losses][4::3] == [1.0, 2.0, 3.0]
    assert job.state.global_step == callback.steps == 11
    assert job.args.gradient_accumulation_steps == 2
    assert callback.samples == 3 * 36
    # the rate falls as if all 15 steps had had two
    rates = [each["learning_rate"] for each in losses]
    assert rates[-1] == pytest.approx(1e-2 / 15)
    assert rates[5:7] == pytest.approx([1e-2 * 10 / 15, 1e-2 * 8 / 15])
    assert set(job.lr_scheduler.get_last_lr()) == {0.0}


@pytest.mark.parametrize("total", [7, 8, pytest.param(12, marks=pytest.mark.full)])
def test_a_number_of_steps_is_one_of_small_steps(trainer, total):
    callback = StepCallback(moving())
    job = trainer(callback, max_steps=total, gradient_accumulation_steps=2)
    job.train()
    assert job.lr_scheduler.last_epoch == total
    assert job.state.global_step == callback.steps < total


def test_steps_that_are_left():
    steps = NominalSteps.of(9, 2, 15, 0)
    assert (steps.per_epoch, steps.steps_left(1), steps.steps_left(2)) == (5, 15, 9)
    assert steps.begin_epoch()
    assert [steps.add(2) for _ in range(3)] == [2, 2, 1]
    assert steps.steps_left(4) == 4
    half = NominalSteps.of(9, 2, 15, 7)
    assert not half.begin_epoch()
    assert [half.add(2) for _ in range(2)] == [2, 1]
    assert half.begin_epoch()
    assert NominalSteps.of(9, 2, 15, 15).steps_left(2) == 0
    end = NominalSteps.of(9, 2, 6, 5)
    assert end.begin_epoch()
    assert end.add(4) == 1


@pytest.mark.usefixtures("ours")
def test_a_resumed_training_with_our_loader(trainer, tmp_path):
    assert_resumed(trainer, tmp_path, 7, False)


@pytest.mark.parametrize(("at", "restored"), cells([3, 5, 6, 7], [False, True]))
def test_a_resumed_training_is_the_uninterrupted_one(trainer, tmp_path, at, restored):
    assert_resumed(trainer, tmp_path, at, restored)


def assert_resumed(trainer, tmp_path, at, restored):
    """At the checkpoint of a step, with callbacks that the Trainer restores, or finds."""
    options = {
        "num_train_epochs": 3,
        "gradient_accumulation_steps": 2,
        "save_strategy": "steps",
        "save_steps": 1,
        "lr_scheduler_type": "cosine",
        "restore_callback_states_from_checkpoint": restored,
    }
    callback = StepCallback(moving())
    first = trainer(callback, Classifier(0.2), **options, cls=transformers.Trainer)
    first.train()
    other = StepCallback(moving())
    again = trainer(
        other, Classifier(0.2), **options, cls=transformers.Trainer, folder=f"again-{at}"
    )
    again.train(resume_from_checkpoint=str(tmp_path / "out" / f"checkpoint-{at}"))
    if restored:
        other = next(
            each for each in again.callback_handler.callbacks if isinstance(each, StepCallback)
        )
    assert torch.equal(weights(first.model), weights(again.model))
    assert other.schedule.history == callback.schedule.history
    assert other.estimate == callback.estimate
    assert str(other.report()) == str(callback.report())
    assert again.lr_scheduler.last_epoch == first.lr_scheduler.last_epoch == 15


def test_checkpoints_are_json_and_count_small_steps(trainer, tmp_path):
    callback = StepCallback(moving())
    job = trainer(
        callback,
        num_train_epochs=2,
        gradient_accumulation_steps=2,
        save_strategy="steps",
        save_steps=1,
    )
    job.train()
    saved = json.loads((tmp_path / "out" / "checkpoint-6" / "trainer_state.json").read_text())
    assert saved["global_step"] == 7  # five of two micro-batches, one of four
    assert job.state.global_step == 8
    again = StepCallback(**saved["stateful_callbacks"][CALLBACK]["args"])
    assert again.schedule.arguments() == callback.schedule.arguments()


def test_what_does_not_go_together_is_said(trainer):
    with pytest.raises(PipelineError, match="give both the same number"):
        trainer(StepCallback(moving())).train()
    with pytest.raises(PipelineError, match="least=2"):
        trainer(StepCallback(train.BatchSchedule(most=4))).train()
    with pytest.raises(PipelineError, match="not both"):
        StepCallback(memory=1, segments=2)
    with pytest.raises(PipelineError, match="leave one of them out"):
        both = StepCallback(segments="sqrt")
        trainer(both, gpt()[0], Texts(), gradient_checkpointing=True).train()

    with pytest.raises(PipelineError, match="__len__"):
        job = trainer(
            StepCallback(moving()),
            dataset=Stream(NamedPoints()),
            cls=transformers.Trainer,
            max_steps=4,
            gradient_accumulation_steps=2,
        )
        job.train()


def test_a_training_that_failed_leaves_arguments_that_the_next_one_takes(trainer):
    callback = StepCallback(moving())
    job = trainer(callback, num_train_epochs=3, gradient_accumulation_steps=2)
    forward = job.model.forward

    def fails(points, labels):
        if callback.steps == 7:
            raise KeyboardInterrupt
        return forward(points, labels)

    job.model.forward = fails
    with pytest.raises(KeyboardInterrupt):
        job.train()
    job.model.forward = forward
    callback.schedule = moving()
    with pytest.raises(PipelineError, match="give both the same number"):
        trainer(StepCallback(moving()), gradient_accumulation_steps=4).train()
    job.args.gradient_accumulation_steps = 2
    job.train()
    assert job.args.max_grad_norm == 1.0
