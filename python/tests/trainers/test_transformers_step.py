"""The training step under the Trainer of transformers."""

import copy
import json
import math
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from drapps import PipelineError, train  # noqa: E402
from drapps.train.transformers import StepCallback, precision_arguments  # noqa: E402
from python.tests.ranks import run_ranks  # noqa: E402
from python.tests.train.checkpointed import gpt  # noqa: E402
from python.tests.train.models import loss_of, model_of, weights  # noqa: E402
from python.tests.trainers.step_trainers import (  # noqa: E402
    Classifier,
    NamedPoints,
    Stream,
    Trainer,
    trainer_of,
)
from python.tests.trainers.texts import Texts, llama  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture
def trainer(tmp_path, accelerate, monkeypatch):
    assert accelerate
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return partial(trainer_of, tmp_path)


transformers = pytest.importorskip("transformers")


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
        job = trainer(callback, gradient_accumulation_steps=3, **options)
        job.train()
        seen.append((callback.estimate, weights(job.model)))
        torch.compiler.reset()
    assert seen[1][0].steps == 3
    assert seen[1][0].noise == pytest.approx(seen[0][0].noise, rel=1e-3)
    assert torch.allclose(seen[0][1], seen[1][1], atol=1e-5)
    with pytest.raises(PipelineError, match="torch_compile=True compiles it"):
        trainer(StepCallback(segments=2), torch_compile=True, torch_compile_backend="eager").train()


def test_labels_that_the_model_is_not_given(trainer):
    callback = StepCallback()
    options = {"gradient_accumulation_steps": 2, "label_smoothing_factor": 0.1}
    job = trainer(callback, llama(), Texts(), **options)
    with pytest.warns(RuntimeWarning, match="label smoothing"):
        job.train()
    assert (callback.steps, callback.estimate.steps) == (3, 0)


@pytest.mark.parametrize("clip", [pytest.param(1.0, marks=pytest.mark.full), 0.05, 0.0])
def test_measuring_changes_nothing(trainer, clip):
    seen = []
    for callback in (None, StepCallback()):
        job = trainer(callback, gradient_accumulation_steps=2, max_grad_norm=clip)
        job.train()
        assert job.args.max_grad_norm == clip
        norms = [each["grad_norm"] for each in job.state.log_history if "loss" in each]
        seen.append((weights(job.model), norms))
    assert torch.equal(seen[0][0], seen[1][0])
    assert seen[0][1] == seen[1][1]


@pytest.mark.parametrize("texts", [False, True])
def test_an_epoch_that_ends_amid_a_step_changes_nothing(trainer, texts):
    seen = []
    for callback in (None, StepCallback()):
        job = trainer(
            callback,
            model=llama() if texts else Classifier(),
            dataset=Stream(Texts(14) if texts else NamedPoints(14)),  # four batches
            cls=transformers.Trainer,
            gradient_accumulation_steps=3,
            max_grad_norm=0.05,
            max_steps=6,
        )
        job.train()
        assert job.args.max_grad_norm == 0.05
        seen.append(weights(job.model))
    assert torch.equal(*seen)
    assert callback.steps == 6
    assert 0 < callback.estimate.steps < 6


def test_the_logs_and_the_report_have_it(trainer):
    callback = StepCallback(average=0.5)
    job = trainer(callback, gradient_accumulation_steps=3, num_train_epochs=3)
    job.train()
    losses = [each for each in job.state.log_history if "loss" in each]
    assert all(each["micro_batches"] == 3 for each in losses)
    if not math.isnan(callback.estimate.scale):
        assert losses[-1]["noise_scale"] == callback.estimate.scale
    lines = str(callback.report()).splitlines()
    assert lines[0].split()[1:3] == ["9,", "of"]
    assert "fp32" in str(callback.report())


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
        output = super().forward(points, labels)
        return {"loss": output["loss"] * (math.inf if self.calls == 5 else 1.0)}


def test_the_scale_of_the_loss_and_steps_that_it_skips(trainer):
    plain, callback = StepCallback(), StepCallback()
    trainer(plain, gradient_accumulation_steps=3, learning_rate=0.0).train()
    job = trainer(callback, cls=HalfTrainer, gradient_accumulation_steps=3, learning_rate=0.0)
    job.train()
    assert callback.report().precision == "fp16"
    assert callback.report().scale == 1024.0
    assert callback.estimate.steps == plain.estimate.steps == 3
    assert callback.estimate.noise == pytest.approx(plain.estimate.noise, rel=0.05)
    for optimizer in ("adamw_torch", "adamw_torch_fused"):
        skipping = StepCallback()
        options = {"gradient_accumulation_steps": 3, "optim": optimizer}
        job = trainer(skipping, Failing(), cls=HalfTrainer, **options)
        job.train()
        assert (skipping.steps, skipping.skipped, skipping.estimate.steps) == (2, 1, 2)
        assert skipping.report().scale == 512.0
        assert torch.isfinite(weights(job.model)).all()


def trained(trainer, callback):
    model, _ = gpt(resid_pdrop=0.1)
    job = trainer(callback, model, Texts(8), num_train_epochs=2)
    job.train()
    return job


def test_activations_are_recomputed_and_weights_are_equal(trainer):
    plain = trained(trainer, StepCallback())
    callback = StepCallback(segments="sqrt")
    job = trained(trainer, callback)
    report = callback.checkpointing
    assert not report.reason
    assert report.measured_peak_bytes < report.peak_bytes
    assert torch.equal(weights(job.model), weights(plain.model))
    assert not any("forward" in each.__dict__ for each in job.model.transformer.h)
    limit = (report.peak_bytes + report.measured_peak_bytes) // 2
    within = StepCallback(memory=limit)
    job = trained(trainer, within)
    assert within.checkpointing.measured_peak_bytes <= limit
    assert torch.equal(weights(job.model), weights(plain.model))


def test_a_limit_that_cannot_be_kept_stops_the_training(trainer):
    with pytest.raises(train.MemoryLimitError, match="smallest peak"):
        trained(trainer, StepCallback(memory=1000))
