"""The settings that are tried: twelve for each kind of workload."""

from __future__ import annotations

import os
from collections.abc import Mapping

from drapps.scenario import Scenario
from drapps.scenario.conditions import Photos, Python

Settings = Mapping[str, int]

_PROCESSES = (1, 2, 3, 4, 6, 8, 12, 16, 32, 48, 64, 128)
_PREFETCH = (1, 2, 4, 8, 16, 32)


def candidates(scenario: Scenario, cores: int | None = None) -> dict[str, Settings]:
    """Settings by their names, such as ``io_depth 64, prefetch_depth 8``."""
    cores = cores or len(os.sched_getaffinity(0))
    half = max(1, cores // 2)
    if isinstance(scenario.workload, Python):
        tried: list[Settings] = [{"processes": count} for count in _PROCESSES]
    elif isinstance(scenario.workload, Photos):
        depths = [(8, 4), (8, 2), (8, 16), (2, 4), (16, 4), (32, 4), (64, 4), (128, 6), (256, 8)]
        tried = [_threads(cores, prefetch, io) for io, prefetch in depths]
        tried += [_threads(half, 4, 8), _threads(half, 8, 64), _threads(half, 16, 256)]
    else:
        tried = [_threads(workers, depth) for workers in (cores, half) for depth in _PREFETCH]
    return {named(settings): settings for settings in tried}


def named(settings: Settings) -> str:
    """What settings are called in tables."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _threads(workers: int, prefetch: int, io: int | None = None) -> Settings:
    reads = {} if io is None else {"io_depth": io}
    return {"workers": workers, **reads, "prefetch_depth": prefetch}
