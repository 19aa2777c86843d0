"""In which precision a step computes, and the scale of the loss where that has to be."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Literal

import torch

from drapps.errors import PipelineError

Kind = Literal["auto", "fp32", "bf16", "fp16"]
KINDS = ("auto", "fp32", "bf16", "fp16")
_WORTH = 1.2  # times as fast, for bf16 on a CPU
_HISTORY = 1000  # changes of the scale that are remembered


class Precision:
    """Mixed precision by torch's own ``autocast`` and ``GradScaler``; weights stay in float32.

    ``bf16`` and ``fp32`` never scale the loss. ``fp16`` does: by 65,536 at first, by half of it
    after a step with a gradient that is not finite, which is skipped, and by twice as much after
    2,000 without one.
    ``auto`` is bf16 on an accelerator that has it, else fp16 there; on a CPU it is bf16 where a
    product of matrices is 1.2 times as fast in it, else fp32.

    Attributes:
        kind: ``fp32``, ``bf16`` or ``fp16``.
        why: where that was chosen by ``auto``, the reason.
        skipped: steps that came to nothing.
        scales: pairs of a step and the scale from there on, the latest thousand.
    """

    def __init__(self, kind: Kind = "auto", device: str | torch.device = "cpu") -> None:
        """Chooses.

        Raises:
            PipelineError: no such precision.
        """
        if kind not in KINDS:
            raise PipelineError(f"precision={kind!r} is none of {', '.join(KINDS)}")
        self.device = torch.device(device).type
        self.kind, self.why = _chosen(self.device) if kind == "auto" else (kind, "")
        self.scaler = torch.amp.GradScaler(self.device, enabled=self.kind == "fp16")
        self.skipped = 0
        self.steps = 0
        self.scales: list[tuple[int, float]] = [(0, self.scaler.get_scale())]

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """What the forward pass runs in."""
        if self.kind == "fp32":
            return contextlib.nullcontext()
        dtype = torch.bfloat16 if self.kind == "bf16" else torch.float16
        return torch.autocast(self.device, dtype=dtype)

    @property
    def scale(self) -> float:
        """By which the loss is multiplied; 1 where it is not."""
        return float(self.scaler.get_scale())

    def backward(self, loss: torch.Tensor) -> None:
        """The backward pass of a loss, times the scale."""
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Gradients as they are, before they are looked at or clipped."""
        self.scaler.unscale_(optimizer)

    def step(self, optimizer: torch.optim.Optimizer) -> bool:
        """The optimizer's step; whether it was made: of fp16 not where a gradient is not finite."""
        before = self.scale
        self.scaler.step(optimizer)
        self.scaler.update()
        finite = self.scale >= before
        self.steps += 1
        if not finite:
            self.skipped += 1
        if self.scale != before:
            self.scales = [*self.scales, (self.steps, self.scale)][-_HISTORY:]
        return finite

    def state_dict(self) -> dict[str, Any]:
        """The scale and its history."""
        return {
            "kind": self.kind,
            "scaler": self.scaler.state_dict(),
            "skipped": self.skipped,
            "steps": self.steps,
            "scales": [list(each) for each in self.scales],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from there.

        Raises:
            PipelineError: it is of another precision.
        """
        if state["kind"] != self.kind:
            raise PipelineError(
                f"the state is of precision {state['kind']}, and this step computes in {self.kind}"
            )
        if self.kind == "fp16":
            self.scaler.load_state_dict(dict(state["scaler"]))
        self.skipped, self.steps = int(state["skipped"]), int(state["steps"])
        self.scales = [(int(at), float(scale)) for at, scale in state["scales"]]


def _chosen(device: str) -> tuple[Kind, str]:
    if device == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return "bf16", "the accelerator computes in bf16"
        return "fp16", "the accelerator has no bf16"
    if device != "cpu":
        return "fp32", f"nothing is known of bf16 on {device}"
    times = {dtype: _product_time(dtype) for dtype in (torch.float32, torch.bfloat16)}
    faster = times[torch.float32] / times[torch.bfloat16]
    reason = f"a product of matrices is {faster:.2g} times as fast in bf16 on this CPU"
    return ("bf16" if faster > _WORTH else "fp32"), reason


def _product_time(dtype: torch.dtype) -> float:
    """The time of the fastest of some products of large matrices, in seconds."""
    a = torch.ones(512, 512, dtype=dtype)
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - begin)
    return best
