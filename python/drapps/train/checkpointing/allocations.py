"""The peak of a step by what allocates, which sees compiled code as well."""

from __future__ import annotations

import torch
from torch.autograd.profiler_util import MEMORY_EVENT_NAME

from drapps.train.checkpointing.steps import Step


def allocated_peak(step: Step, device: torch.device) -> int:
    """The most bytes that a step adds to what lived before it.

    On a GPU torch's allocator says so, on a CPU torch's profiler. No dispatch mode is active, under
    which torch compiles nothing.
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        step()
        return torch.cuda.max_memory_allocated(device) - before
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        step()
    assert profile.profiler is not None
    events = profile.profiler.kineto_results.events()
    allocations = [each for each in events if each.name() == MEMORY_EVENT_NAME]
    live = peak = 0
    for each in sorted(allocations, key=lambda one: one.start_ns()):
        live += each.nbytes()
        peak = max(peak, live)
    return peak
