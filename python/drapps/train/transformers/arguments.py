"""What a ``Trainer`` is told, and whether it goes together with what is asked of the steps."""

from __future__ import annotations

from typing import Any

import torch
from transformers.training_args import TrainingArguments

from drapps.errors import PipelineError
from drapps.train.batch_schedule import BatchSchedule
from drapps.train.precision import Kind, Precision
from drapps.train.sharded import refuse_sharded

_PRECISIONS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
_SHARDING = ("DEEPSPEED", "FSDP", "MEGATRON_LM")


def precision_arguments(
    kind: Kind = "auto", device: str | torch.device | None = None
) -> dict[str, bool]:
    """What `Precision` chooses, for ``TrainingArguments(..., **precision_arguments())``.

    Args:
        kind: ``fp32``, ``bf16``, ``fp16``, or ``auto`` for what suits the device.
        device: that is trained on; a GPU where there is one, else the CPU.

    Returns:
        ``bf16`` and ``fp16``, of which one at most is True.

    Raises:
        PipelineError: no such precision.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    chosen = Precision(kind, device).kind
    return {"bf16": chosen == "bf16", "fp16": chosen == "fp16"}


def precision_of(model: torch.nn.Module, optimizer: Any) -> str:
    """In which precision the Trainer computes: by autocast, else that of the weights."""
    mixed = str(getattr(getattr(optimizer, "accelerator_state", None), "mixed_precision", "no"))
    if mixed != "no":
        return mixed
    dtype = next((each.dtype for each in model.parameters()), torch.float32)
    return _PRECISIONS.get(dtype, str(dtype))


def check(
    args: TrainingArguments,
    schedule: BatchSchedule | None,
    placed: bool,
    model: torch.nn.Module,
    optimizer: Any,
    loader: Any,
) -> None:
    """Nothing happens where all of it goes together.

    Raises:
        PipelineError: it does not; the message says what to do.
    """
    sharding = str(getattr(getattr(optimizer, "accelerator_state", None), "distributed_type", ""))
    names = [name for name in _SHARDING if sharding.endswith(name)]
    refuse_sharded(model, optimizer, *names)
    if args.n_gpu > 1:
        raise PipelineError(
            "torch.nn.DataParallel copies the model in every step: start one process per GPU, by "
            "torchrun or accelerate launch"
        )
    if placed and (args.gradient_checkpointing or getattr(args, "activation_checkpointing", False)):
        raise PipelineError(
            "memory= and segments= place checkpoints in the model, and so does the Trainer with "
            "gradient_checkpointing=True (activation_checkpointing): leave one of them out"
        )
    if placed and args.torch_compile:
        raise PipelineError(
            "memory= and segments= measure the model as it is, and torch_compile=True compiles it: "
            "give drapps.train.checkpoint() the model before the Trainer has it"
        )
    if schedule is not None:
        _check_schedule(args, schedule, loader)


def _check_schedule(args: TrainingArguments, schedule: BatchSchedule, loader: Any) -> None:
    if schedule.least * args.world_size < 2:
        raise PipelineError(
            "one micro-batch on one rank says nothing of the noise: give the schedule least=2, and "
            "gradient_accumulation_steps=2 to the Trainer"
        )
    if args.gradient_accumulation_steps != schedule.least:
        raise PipelineError(
            f"the schedule begins with least={schedule.least}, and the Trainer plans its steps and "
            f"its learning rate with gradient_accumulation_steps="
            f"{args.gradient_accumulation_steps}: give both the same number"
        )
    try:
        len(loader)
    except TypeError:
        raise PipelineError(
            "the dataset has no length, so the Trainer has a single epoch, in which accumulation "
            "cannot change: give the dataset a __len__, or leave the schedule out"
        ) from None
    if args.world_size > 1 and not args.average_tokens_across_devices:
        raise PipelineError(
            "ranks that count their own tokens alone might come to different batches: set "
            "average_tokens_across_devices=True"
        )
