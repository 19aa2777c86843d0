"""The training step under the Trainer of transformers."""

import copy
import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from drapps import PipelineError, train  # noqa: E402
from drapps.train.transformers import StepCallback, precision_arguments  # noqa: E402
from drapps.train.transformers.nominal_steps import NominalSteps  # noqa: E402
from python.tests.cells import cells  # noqa: E402
from python.tests.ranks import run_ranks  # noqa: E402
from python.tests.train.checkpointed import gpt  # noqa: E402
from python.tests.train.models import loss_of, model_of, weights  # noqa: E402
from python.tests.trainers.points import Points  # noqa: E402
from python.tests.trainers.texts import Texts, llama  # noqa: E402

torch.set_num_threads(1)
CALLBACK = "StepCallback"


class NamedPoints(Points):
    """As models of transformers are given them."""

    def __getitem__(self, index):
        points, label = super().__getitem__(index)
        return {"points": points, "labels": label}


class Stream(torch.utils.data.IterableDataset):
    """Without a length."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return (self.rows[number] for number in range(len(self.rows)))


class Classifier(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.model = model_of(dropout=dropout)

    def forward(self, points, labels):
        return {"loss": loss_of(self.model, (points, labels))}


class Trainer(transformers.Trainer):
    """In the order of the dataset."""

    def _get_train_sampler(self, dataset=None):
        return torch.utils.data.SequentialSampler(dataset or self.train_dataset)


@pytest.fixture
def trainer(tmp_path, accelerate, monkeypatch):
    """Makes one."""
    assert accelerate
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def make(callback, model=None, dataset=None, cls=Trainer, folder="out", **options):
        arguments = transformers.TrainingArguments(
            str(tmp_path / folder),
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            **{
                "per_device_train_batch_size": 4,
                "num_train_epochs": 1,
                "save_strategy": "no",
                "logging_steps": 1,
                "learning_rate": 1e-2,
                **options,
            },
        )
        return cls(
            model=model or Classifier(),
            args=arguments,
            train_dataset=dataset or NamedPoints(),
            callbacks=[] if callback is None else [callback],
        )

    return make


def moving(**changes):
    """A schedule that grows as soon as it may."""
    options = {"least": 2, "most": 4, "warmup": 2, "every": 2, "share": 1e6}
    return train.BatchSchedule(**options | changes)


def test_the_noise_is_what_a_plain_loop_measures(trainer):
    callback = StepCallback()
    trainer(callback, gradient_accumulation_steps=3).train()
    model = model_of()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.0)
    step = train.Step(model, optimizer, batch=3, noise=True, clip=1.0)
    rates = [1e-2, 1e-2 * 2 / 3, 1e-2 / 3]
    data = NamedPoints()
    for first in range(0, 36, 4):
        optimizer.param_groups[0]["lr"] = rates[step.steps]
        batch = data.points[first : first + 4], data.labels[first : first + 4]
        step.backward(loss_of(model, batch), samples=4)
    assert callback.estimate.steps == step.noise.estimate.steps == 3
    assert callback.estimate.noise == pytest.approx(step.noise.estimate.noise, rel=1e-3)
    assert callback.estimate.gradient == pytest.approx(step.noise.estimate.gradient, rel=1e-3)
    assert (callback.steps, callback.samples) == (3, 36)


def test_the_noise_of_a_loss_over_tokens(trainer):
    model = llama()
    plain = copy.deepcopy(model)
    callback = StepCallback()
    trainer(callback, model, Texts(), gradient_accumulation_steps=2, learning_rate=0.0).train()
    step = train.Step(plain, torch.optim.SGD(plain.parameters(), 0.0), batch=2, noise=True)
    data = Texts()
    for first in range(0, 24, 4):
        items = [data[number] for number in range(first, first + 4)]
        batch = {name: torch.stack([each[name] for each in items]) for name in items[0]}
        tokens = int(batch["labels"][:, 1:].ne(-100).sum())
        step.backward(plain(**batch).loss, samples=tokens)
    assert callback.estimate.steps == step.noise.estimate.steps == 3
    assert callback.estimate.noise == pytest.approx(step.noise.estimate.noise, rel=1e-3)
    assert callback.samples == step.samples


class Sentences(Texts):
    """A label for each row."""

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index][0] % 3}


def test_the_noise_of_a_bert(trainer):
    config = transformers.BertConfig(
        num_hidden_layers=1,
        hidden_size=16,
        intermediate_size=32,
        num_attention_heads=2,
        vocab_size=50,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=3,
    )
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    plain = copy.deepcopy(model)
    callback = StepCallback()
    data = Sentences(28)  # the last step has a single micro-batch, which says nothing
    trainer(callback, model, data, gradient_accumulation_steps=2, learning_rate=0.0).train()
    step = train.Step(plain, torch.optim.SGD(plain.parameters(), 0.0), batch=2, noise=True)
    for first in range(0, 28, 4):
        items = [data[number] for number in range(first, first + 4)]
        batch = {name: torch.stack([each[name] for each in items]) for name in items[0]}
        step.backward(plain(**batch).loss, samples=4)
    step.finish()
    assert callback.estimate.steps == step.noise.estimate.steps == 3
    # a version of transformers in which BERT divides its loss by nothing gives larger gradients
    assert callback.estimate.scale == pytest.approx(step.noise.estimate.scale, rel=1e-3)
    assert (callback.steps, callback.samples) == (step.steps, step.samples) == (4, 28)


def test_a_model_that_counts_the_first_token_costs_one_step(trainer):
    callback = StepCallback()
    trainer(callback, gpt()[0], Texts(), gradient_accumulation_steps=2).train()
    assert (callback.steps, callback.estimate.steps) == (3, 2)


def test_ranks_come_to_the_same(tmp_path):
    script = Path(__file__).with_name("trainer_on_a_rank.py")
    printed = run_ranks([script, tmp_path / "out"], tmp_path, 2)
    first, second = (json.loads(each.splitlines()[-1]) for each in printed)
    assert first == second
    assert first["ranks"] == 2
    # six batches an epoch on each: steps of one, then one of four and one of two
    assert first["counts"][0] == first["counts"][2] == 8
    assert first["history"][-1][1] == 4
    tokens = sum(int(each["labels"][1:].ne(-100).sum()) for each in Texts(24))
    assert first["counts"][1] == 2 * tokens
    assert first["estimate"][0] == 8


@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=pytest.mark.full)])
def test_a_model_that_the_trainer_compiles(trainer, backend):
    seen = []
    for compiled in (False, True):
        callback = StepCallback()
        options = {"torch_compile": compiled}
        options |= {"torch_compile_backend": backend} if compiled else {}
        made = trainer(callback, gradient_accumulation_steps=3, **options)
        made.train()
        seen.append((callback.estimate, weights(made.model)))
        torch.compiler.reset()
    assert seen[1][0].steps == 3
    assert seen[1][0].noise == pytest.approx(seen[0][0].noise, rel=1e-3)
    assert torch.allclose(seen[0][1], seen[1][1], atol=1e-5)
    with pytest.raises(PipelineError, match="torch_compile=True compiles it"):
        trainer(StepCallback(segments=2), torch_compile=True, torch_compile_backend="eager").train()


def test_labels_that_the_model_is_not_given(trainer):
    callback = StepCallback()
    options = {"gradient_accumulation_steps": 2, "label_smoothing_factor": 0.1}
    made = trainer(callback, llama(), Texts(), **options)
    with pytest.warns(RuntimeWarning, match="label smoothing"):
        made.train()
    assert (callback.steps, callback.estimate.steps) == (3, 0)


def test_skipped_steps_move_neither_schedule_nor_rate(trainer, monkeypatch):
    optimizer = pytest.importorskip("accelerate.optimizer").AcceleratedOptimizer
    callback = StepCallback(moving())
    made = trainer(callback, num_train_epochs=2, gradient_accumulation_steps=2)
    monkeypatch.setattr(
        optimizer, "step_was_skipped", property(lambda _: made.state.global_step in (1, 6))
    )
    made.train()
    assert callback.skipped == 2
    assert callback.schedule.steps == callback.steps == made.state.global_step - 2
    assert made.lr_scheduler.last_epoch == 10 - 1 - 2


@pytest.mark.parametrize("clip", [pytest.param(1.0, marks=pytest.mark.full), 0.05, 0.0])
def test_measuring_changes_nothing(trainer, clip):
    seen = []
    for callback in (None, StepCallback()):
        made = trainer(callback, gradient_accumulation_steps=2, max_grad_norm=clip)
        made.train()
        assert made.args.max_grad_norm == clip
        norms = [each["grad_norm"] for each in made.state.log_history if "loss" in each]
        seen.append((weights(made.model), norms))
    assert torch.equal(seen[0][0], seen[1][0])
    assert seen[0][1] == seen[1][1]


@pytest.mark.parametrize("texts", [False, True])
def test_an_epoch_that_ends_amid_a_step_changes_nothing(trainer, texts):
    seen = []
    for callback in (None, StepCallback()):
        made = trainer(
            callback,
            model=llama() if texts else Classifier(),
            dataset=Stream(Texts(14) if texts else NamedPoints(14)),  # four batches
            cls=transformers.Trainer,
            gradient_accumulation_steps=3,
            max_grad_norm=0.05,
            max_steps=6,
        )
        made.train()
        assert made.args.max_grad_norm == 0.05
        seen.append(weights(made.model))
    assert torch.equal(*seen)
    assert callback.steps == 6
    assert 0 < callback.estimate.steps < 6


def test_the_logs_and_the_report_have_it(trainer):
    callback = StepCallback(average=0.5)
    made = trainer(callback, gradient_accumulation_steps=3, num_train_epochs=3)
    made.train()
    losses = [each for each in made.state.log_history if "loss" in each]
    assert all(each["micro_batches"] == 3 for each in losses)
    if not math.isnan(callback.estimate.scale):
        assert losses[-1]["noise_scale"] == callback.estimate.scale
    lines = str(callback.report()).splitlines()
    assert lines[0].split()[1:3] == ["9,", "of"]
    assert "fp32" in str(callback.report())


def test_a_schedule_moves_accumulation_from_epoch_to_epoch(trainer):
    callback = StepCallback(moving())
    made = trainer(callback, num_train_epochs=3, gradient_accumulation_steps=2)
    made.train()
    losses = [each for each in made.state.log_history if "loss" in each]
    # nine batches an epoch: 4 steps of two and one of one, then 2 of four and one of one
    assert [each["micro_batches"] for each in losses] == [2] * 5 + [4] * 6
    assert [each["epoch"] for each in losses][4::3] == [1.0, 2.0, 3.0]
    assert made.state.global_step == callback.steps == 11
    assert made.args.gradient_accumulation_steps == 2
    assert callback.samples == 3 * 36
    # the rate falls as if all 15 steps had had two
    rates = [each["learning_rate"] for each in losses]
    assert rates[-1] == pytest.approx(1e-2 / 15)
    assert rates[5:7] == pytest.approx([1e-2 * 10 / 15, 1e-2 * 8 / 15])
    assert set(made.lr_scheduler.get_last_lr()) == {0.0}


@pytest.mark.parametrize("total", [7, 8, pytest.param(12, marks=pytest.mark.full)])
def test_a_number_of_steps_is_one_of_small_steps(trainer, total):
    callback = StepCallback(moving())
    made = trainer(callback, max_steps=total, gradient_accumulation_steps=2)
    made.train()
    assert made.lr_scheduler.last_epoch == total
    assert made.state.global_step == callback.steps < total


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
    made = trainer(
        callback,
        num_train_epochs=2,
        gradient_accumulation_steps=2,
        save_strategy="steps",
        save_steps=1,
    )
    made.train()
    saved = json.loads((tmp_path / "out" / "checkpoint-6" / "trainer_state.json").read_text())
    assert saved["global_step"] == 7  # five of two micro-batches, one of four
    assert made.state.global_step == 8
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
        made = trainer(
            StepCallback(moving()),
            dataset=Stream(NamedPoints()),
            cls=transformers.Trainer,
            max_steps=4,
            gradient_accumulation_steps=2,
        )
        made.train()


def test_a_training_that_failed_leaves_arguments_that_the_next_one_takes(trainer):
    callback = StepCallback(moving())
    made = trainer(callback, num_train_epochs=3, gradient_accumulation_steps=2)
    forward = made.model.forward

    def fails(points, labels):
        if callback.steps == 7:
            raise KeyboardInterrupt
        return forward(points, labels)

    made.model.forward = fails
    with pytest.raises(KeyboardInterrupt):
        made.train()
    made.model.forward = forward
    callback.schedule = moving()
    with pytest.raises(PipelineError, match="give both the same number"):
        trainer(StepCallback(moving()), gradient_accumulation_steps=4).train()
    made.args.gradient_accumulation_steps = 2
    made.train()
    assert made.args.max_grad_norm == 1.0


@pytest.mark.parametrize("kind", ["bf16", "fp32"])
def test_precision_is_the_trainers(trainer, kind):
    arguments = precision_arguments(kind, "cpu")
    assert arguments == {"bf16": kind == "bf16", "fp16": False}
    callback = StepCallback()
    trainer(callback, gradient_accumulation_steps=2, **arguments).train()
    assert callback.report().precision == kind
    assert callback.estimate.steps == 4
    assert math.isfinite(callback.estimate.noise)
    with pytest.raises(PipelineError, match="none of auto"):
        precision_arguments("fp8")


class HalfTrainer(Trainer):
    """Computes in fp16 on a CPU, which Accelerate does on GPUs alone."""

    def create_accelerator_and_postprocess(self):
        super().create_accelerator_and_postprocess()
        self.accelerator.state._mixed_precision = "fp16"
        self.accelerator.native_amp = True
        self.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)


class Failing(Classifier):
    """One of its losses is not finite."""

    calls = 0

    def forward(self, points, labels):
        self.calls += 1
        made = super().forward(points, labels)
        return {"loss": made["loss"] * (math.inf if self.calls == 5 else 1.0)}


def test_the_scale_of_the_loss_and_steps_that_it_skips(trainer):
    plain, callback = StepCallback(), StepCallback()
    trainer(plain, gradient_accumulation_steps=3, learning_rate=0.0).train()
    made = trainer(callback, cls=HalfTrainer, gradient_accumulation_steps=3, learning_rate=0.0)
    made.train()
    assert callback.report().precision == "fp16"
    assert callback.report().scale == 1024.0
    assert callback.estimate.steps == plain.estimate.steps == 3
    assert callback.estimate.noise == pytest.approx(plain.estimate.noise, rel=0.05)
    for optimizer in ("adamw_torch", "adamw_torch_fused"):
        skipping = StepCallback()
        options = {"gradient_accumulation_steps": 3, "optim": optimizer}
        made = trainer(skipping, Failing(), cls=HalfTrainer, **options)
        made.train()
        assert (skipping.steps, skipping.skipped, skipping.estimate.steps) == (2, 1, 2)
        assert skipping.report().scale == 512.0
        assert torch.isfinite(weights(made.model)).all()


def trained(trainer, callback):
    model, _ = gpt(resid_pdrop=0.1)
    made = trainer(callback, model, Texts(8), num_train_epochs=2)
    made.train()
    return made


def test_activations_are_recomputed_and_weights_are_equal(trainer):
    plain = trained(trainer, StepCallback())
    callback = StepCallback(segments="sqrt")
    made = trained(trainer, callback)
    report = callback.checkpointing
    assert not report.reason
    assert report.measured_peak_bytes < report.peak_bytes
    assert torch.equal(weights(made.model), weights(plain.model))
    assert not any("forward" in each.__dict__ for each in made.model.transformer.h)
    limit = (report.peak_bytes + report.measured_peak_bytes) // 2
    within = StepCallback(memory=limit)
    made = trained(trainer, within)
    assert within.checkpointing.measured_peak_bytes <= limit
    assert torch.equal(weights(made.model), weights(plain.model))


def test_a_limit_that_cannot_be_kept_stops_the_training(trainer):
    with pytest.raises(train.MemoryLimitError, match="smallest peak"):
        trained(trainer, StepCallback(memory=1000))
