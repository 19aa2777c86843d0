"""A loader at full speed, and how often it measured itself; scenario.md says what is counted.

{"warm_s": W, "measure_s": S}  →  {"seconds", "samples", "control_s", "meters_s", "records", …}
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torchvision import datasets, transforms

from benchmarks import feed
from benchmarks.image_cpu.drapps import loader as photos
from drapps.torch import DataLoader

_THREADS = {"drapps-control": "control_s", "drapps-meters": "meters_s"}


def _loader(spec: dict[str, Any]) -> Any:
    if spec["what"] == "photos":
        return photos(spec)
    dataset = datasets.FashionMNIST(spec["root"], train=True, transform=transforms.ToTensor())
    torch.manual_seed(spec["seed"])
    return DataLoader(dataset, batch_size=spec["batch"], shuffle=True, num_workers=2)


def _counted(loader: Any) -> dict[str, float]:
    """CPU seconds of threads that only observe and decide, and how often the others measured."""
    tally = dict.fromkeys(_THREADS.values(), 0.0)
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has just ended
            name = _THREADS.get((task / "comm").read_text().strip())
            if name:
                tally[name] += int((task / "schedstat").read_text().split()[0]) * 1e-9
    stats = loader.stats()
    lanes = stats.lanes.values()
    tally["lanes"] = sum(lane.service_s.count for lane in lanes)
    # Workers read their CPU clock once in 4 ms of work at most, and after pieces of 1 ms or more.
    # Rows of arrays, which distributions show as the mean of many, take that where a core is lost.
    worked = stats.workers.lanes.values()
    lost_s = sum(each["core_wait_s"] for each in worked)
    long = sum(n for lane in lanes for edge, n in lane.service_s.buckets if edge >= 1e-3)
    tally["clocks"] = (sum(each["cpu_s"] for each in worked) + lost_s) / 4e-3 + lost_s / 1e-3 + long
    tally["records"] = sum(
        each.count
        for lane in lanes
        for each in (lane.service_s, lane.service_cpu_s, lane.queue_length, lane.wait_s)
    )
    storage, consumer = stats.storage, stats.consumer
    tally["records"] += storage.at_once_s.count + storage.waited_s.count
    tally["records"] += consumer.step_s.count + consumer.stall_s.count
    return tally


def _batches(loader: Any) -> Iterator[int]:
    while True:
        for batch in loader:
            yield len(batch[1]) if isinstance(batch, list) else len(batch.torch()["image"])


def _begin(spec: dict[str, Any]) -> feed.Answering:
    loader = _loader(spec)
    batches = _batches(loader)

    def measure(warm_s: float, measure_s: float) -> dict[str, Any]:
        limit = time.perf_counter() + warm_s
        while time.perf_counter() < limit:
            next(batches)
        before, began, samples = _counted(loader), time.perf_counter(), 0
        limit = began + measure_s
        while time.perf_counter() < limit:
            samples += next(batches)
        seconds = time.perf_counter() - began
        after = _counted(loader)
        rises = {name: after[name] - before[name] for name in after}
        return {"samples": samples, "seconds": seconds, **rises}

    next(batches)
    return {}, measure


if __name__ == "__main__":
    feed.converse(_begin)
