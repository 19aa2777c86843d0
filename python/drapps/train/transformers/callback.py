"""The callback of a ``Trainer``: what it reports, and what it moves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from transformers.trainer_callback import ExportableState, TrainerCallback, TrainerState
from transformers.training_args import TrainingArguments

from drapps.arguments import Bytes
from drapps.errors import PipelineError
from drapps.train.batch_schedule import BatchSchedule
from drapps.train.checkpointing import CheckpointReport, checkpoint
from drapps.train.checkpointing.front import Segments
from drapps.train.noise import NoiseEstimate
from drapps.train.report import StepReport
from drapps.train.transformers.arguments import check, precision_of
from drapps.train.transformers.nominal_steps import NominalSteps
from drapps.train.transformers.watch import Watch


class StepCallback(TrainerCallback, ExportableState):
    """Reports on the steps of a ``Trainer``, and moves what it is told to.

    The gradient noise scale is measured in steps of several micro-batches or ranks, and stands in
    the Trainer's logs as ``noise_scale``. A schedule moves ``gradient_accumulation_steps`` from
    epoch to epoch. The Trainer plans its steps, and with them the learning rate, when it begins,
    for steps of ``least`` micro-batches: a larger one moves the learning rate by as many of these
    as it is made of, and training ends with the same sample.

    The Trainer's checkpoints hold its state, as JSON, and a resumed training goes on from there.

    Attributes:
        schedule: how many micro-batches make a step; None where only the noise is measured.
        checkpointing: what was placed for `memory` or `segments`; None before.
        steps: that were made.
        samples: that they have seen, over all ranks; tokens where losses are means over those.
        skipped: steps that came to nothing, because a gradient was not finite in fp16.
    """

    def __init__(
        self,
        schedule: BatchSchedule | Mapping[str, Any] | None = None,
        *,
        average: float = 0.99,
        memory: Bytes | None = None,
        segments: Segments | None = None,
    ) -> None:
        """Makes it.

        Args:
            schedule: whose ``least`` is the Trainer's ``gradient_accumulation_steps``; two at least
                on one rank, where one micro-batch says nothing. Or its arguments.
            average: as of `NoiseScale`.
            memory: as of `checkpoint`, which measures with the first batch.
            segments: the same.

        Raises:
            PipelineError: `memory` and `segments` together.
        """
        if memory is not None and segments is not None:
            raise PipelineError("give memory= or segments=, not both")
        self.schedule = BatchSchedule(**schedule) if isinstance(schedule, Mapping) else schedule
        self.checkpointing: CheckpointReport | None = None
        self.steps, self.samples, self.skipped = 0, 0.0, 0
        self._average, self._memory, self._segments = average, memory, segments
        self._watch: Watch | None = None
        self._noise: Mapping[str, Any] | None = None  # as a checkpoint has it
        self._accumulation = 1 if self.schedule is None else self.schedule.least  # of this epoch
        self._nominal: NominalSteps | None = None
        self._state: TrainerState | None = None
        self._steps_before_saving: int | None = None
        self._precision = "fp32"
        self._optimizer: Any = None

    @property
    def estimate(self) -> NoiseEstimate | None:
        """What is known of the noise; None before training."""
        return None if self._watch is None else self._watch.noise.estimate

    def report(self) -> StepReport:
        """What steps were made of; it prints as a page."""
        groups = [] if self._optimizer is None else self._optimizer.param_groups
        history = [[0, self._accumulation]] if self.schedule is None else self.schedule.history
        return StepReport(
            steps=self.steps,
            samples=self.samples,
            accumulation=self._accumulation,
            batches=[list(each) for each in history],
            noise=self.estimate,
            precision=self._precision,
            why="",
            skipped=self.skipped,
            scale=1.0 if self._watch is None else self._watch.scale,
            rates=[float(group["lr"]) for group in groups],
        )

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        *_: Any,
        model: Any = None,
        optimizer: Any = None,
        train_dataloader: Any = None,
        **__: Any,
    ) -> None:
        """Looks at the steps from here on.

        Raises:
            PipelineError: arguments that do not go together, or ranks that hold parts of a model;
                the message says what to do.
        """
        planned = args.gradient_accumulation_steps  # by what the Trainer has planned its steps
        self._end(args)  # where a training has failed
        args.gradient_accumulation_steps = planned
        placed = self._memory is not None or self._segments is not None
        check(args, self.schedule, placed, model, optimizer, train_dataloader)
        self._load(state.stateful_callbacks)
        self._watch = Watch(model, args, optimizer, self._average, self._place if placed else None)
        if self._noise is not None:
            self._watch.noise.load_state_dict(self._noise)
        if self.schedule is None:
            self._accumulation = args.gradient_accumulation_steps
        else:
            self._nominal = NominalSteps.of(
                len(train_dataloader), self.schedule.least, state.max_steps, state.global_step
            )
        self._precision = precision_of(model, optimizer)
        self._optimizer, self._state = optimizer, state

    def on_train_end(self, args: TrainingArguments, *_: Any, **__: Any) -> None:
        """Looks no more; model and arguments are as before, and what was measured stays."""
        self._end(args)

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, *_: Any, **__: Any
    ) -> None:
        """The schedule's number holds for this epoch."""
        if self._nominal is None or self.schedule is None:
            return
        if self._nominal.begin_epoch():
            self._accumulation = self.schedule.accumulation
        args.gradient_accumulation_steps = self._accumulation
        state.max_steps = state.global_step + self._nominal.steps_left(self._times)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """A step begins."""
        self._watching.begin_step()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        """The gradients of a micro-batch are there."""
        self._watching.end_micro_batch()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """All of a step are."""
        self._watching.end_step()

    def on_step_end(
        self, *_: Any, optimizer: Any = None, lr_scheduler: Any = None, **__: Any
    ) -> None:
        """A step was made, or came to nothing."""
        count = 1 if self._nominal is None else self._nominal.add(self._times)
        skipped = getattr(
            optimizer, "step_was_skipped", False
        )  # the Trainer, which moves no rate then
        plain = isinstance(lr_scheduler, LRScheduler)
        if plain and not skipped and not isinstance(lr_scheduler, ReduceLROnPlateau):
            for _more in range(count - 1):
                lr_scheduler.step()
        if skipped or self._watching.came_to_nothing:
            self.skipped += 1
            return
        size = self._watching.size
        self.steps += 1
        self.samples += size.samples
        if self.schedule is not None and size.micro_batches:
            batch = size.samples / size.micro_batches * self.schedule.accumulation
            self.schedule.step(self._watching.noise.estimate, batch)

    def on_log(self, *_: Any, logs: dict[str, Any] | None = None, **__: Any) -> None:
        """Adds the micro-batches of a step, and the noise scale where it is known."""
        if self._state is None or logs is None or "loss" not in logs:
            return
        entries: dict[str, float] = {"micro_batches": self._accumulation}
        scale = self._watching.noise.estimate.scale
        if not math.isnan(scale):
            entries["noise_scale"] = scale
        logs.update(entries)
        self._state.log_history[-1].update(entries)

    def state(self) -> dict[str, Any]:
        """For the Trainer's checkpoints, as JSON.

        The Trainer asks right before it writes its own number of steps. A resumed one tells by that
        how many batches to skip, as if every step had as many as the first: up to `on_save` it is
        the number with which this comes out right.
        """
        state, nominal, schedule = self._state, self._nominal, self.schedule
        if state is not None and nominal is not None and self._steps_before_saving is None:
            self._steps_before_saving, state.global_step = state.global_step, nominal.counted
        return {
            "args": {
                "schedule": None if schedule is None else schedule.arguments(),
                "average": self._average,
                "memory": self._memory,
                "segments": self._segments,
            },
            "attributes": {},
            "saved": {
                "noise": self._noise if self._watch is None else self._watch.noise.state_dict(),
                "schedule": None if schedule is None else schedule.state_dict(),
                "accumulation": self._accumulation,
                "counts": [self.steps, self.samples, self.skipped],
            },
        }

    def on_save(self, *_: Any, **__: Any) -> None:
        """A checkpoint was written."""
        if self._state is not None and self._steps_before_saving is not None:
            self._state.global_step, self._steps_before_saving = self._steps_before_saving, None

    @property
    def _watching(self) -> Watch:
        assert self._watch is not None  # since on_train_begin
        return self._watch

    @property
    def _times(self) -> int:
        """Nominal steps that one of this epoch counts for."""
        return 1 if self.schedule is None else self._accumulation // self.schedule.least

    def _place(self, model: torch.nn.Module, example: Any) -> None:
        """Before the first forward pass, with what that is given."""
        self.checkpointing = checkpoint(
            model, example, memory=self._memory, segments=self._segments
        )

    def _load(self, callbacks: Any) -> None:
        """What the Trainer has read from a checkpoint."""
        entry = callbacks.get(type(self).__name__) if isinstance(callbacks, Mapping) else None
        if not isinstance(entry, Mapping):
            return
        saved = entry["saved"]
        self._noise = saved["noise"]
        if self.schedule is not None and saved["schedule"] is not None:
            self.schedule.load_state_dict(saved["schedule"])
            self._accumulation = saved["accumulation"]
        self.steps, self.samples, self.skipped = saved["counts"]

    def _end(self, args: TrainingArguments) -> None:
        if self._state is None or self._watch is None:
            return
        self._watch.close()
        if self.schedule is not None:
            args.gradient_accumulation_steps = self.schedule.least
        if self.checkpointing is not None:
            self.checkpointing.undo()
        self._state = self._nominal = self._steps_before_saving = None
