"""Scenario gpu-resident; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError

NAME = "gpu-resident"
SAMPLES, BATCH = 50_000, 512
MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
WORKERS = (0, 4, 16)
WANTED = {"stock": 20.0, "torchvision": 3.0}
Epoch = Callable[[], Iterator[Any]]


def measure(count: int, seconds: float) -> report.Result:
    """Measures each contestant in `count` rounds of about `seconds`.

    Raises:
        ContestantError: there is no CUDA device.
    """
    import torch

    if not torch.cuda.is_available():
        raise ContestantError(f"{NAME} needs a CUDA device, and torch sees none")
    dataset = cifar_like(SAMPLES)
    cores = os.sched_getaffinity(0)
    stock = {workers: stock_epoch(dataset, workers) for workers in WORKERS if workers <= len(cores)}
    best = max(stock, key=lambda workers: rate(stock[workers], seconds))
    resident = resident_loader(dataset)
    contestants = {
        "drapps": lambda: iter(resident),
        "stock": stock[best],
        "torchvision": torchvision_epoch(dataset, each=True),
        "torchvision_batch": torchvision_epoch(dataset, each=False),
    }
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in contestants}
    for _ in range(count):
        for name, epoch in contestants.items():
            os.sched_setaffinity(0, {min(cores)} if name == "drapps" else cores)
            rounds[name].append({"samples_per_s": rate(epoch, seconds)})
        os.sched_setaffinity(0, cores)
    result = report.Result(NAME, rounds={"cifar": rounds})
    result.figures["cifar"] = {"stock": {"workers": best}, "drapps": device_figures(resident)}
    for other, wanted in WANTED.items():
        pairs = zip(rounds["drapps"], rounds[other], strict=True)
        ratios = [one["samples_per_s"] / two["samples_per_s"] for one, two in pairs]
        result.add_ratio(f"drapps_to_{other}", ratios)
        result.wanted[f"drapps_to_{other}"] = wanted
    return result


def cifar_like(samples: int) -> Any:
    """As torchvision's CIFAR10, of noise."""
    import numpy as np
    from torchvision import datasets, transforms

    steps = [
        transforms.RandomCrop(32, padding=4),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
    rng = np.random.default_rng(0)
    dataset = datasets.CIFAR10.__new__(datasets.CIFAR10)
    dataset.data = rng.integers(0, 256, (samples, 32, 32, 3), dtype=np.uint8)
    dataset.targets = rng.integers(0, 10, samples).tolist()
    dataset.transform, dataset.target_transform = transforms.Compose(steps), None
    return dataset


def device_figures(loader: Any) -> dict[str, float]:
    """What the device did for a sample and a batch, by its own events."""
    stats = loader.stats()
    return {
        "bytes_in_per_sample": stats.device.bytes_in / max(stats.samples, 1),
        "kernel_us_per_batch": stats.device.kernel_s / max(stats.batches, 1) * 1e6,
        "copy_us_per_batch": stats.device.copy_s / max(stats.batches, 1) * 1e6,
    }


def resident_loader(dataset: Any) -> Any:
    """One whose batches DRAPPS makes on the device.

    Raises:
        ContestantError: this build has no kernels.
    """
    from drapps import PipelineError
    from drapps.torch import DataLoader

    loader = DataLoader(
        dataset, BATCH, shuffle=True, num_workers=1, device="cuda", device_memory="1GB"
    )
    try:
        iter(loader)
    except PipelineError as error:
        raise ContestantError(str(error)) from None
    return loader


def stock_epoch(dataset: Any, workers: int) -> Epoch:
    """Those of torch's loader, copied to the device."""
    from torch.utils.data import DataLoader

    loader = DataLoader(
        dataset,
        BATCH,
        shuffle=True,
        num_workers=workers,
        pin_memory=True,
        persistent_workers=workers > 0,
    )
    return lambda: ([part.to("cuda", non_blocking=True) for part in batch] for batch in loader)


def torchvision_epoch(dataset: Any, *, each: bool, device: str = "cuda") -> Epoch:
    """Those of torchvision's transforms of tensors that lie on the device."""
    import torch
    from torchvision.transforms import v2

    pictures = torch.from_numpy(dataset.data).permute(0, 3, 1, 2).contiguous().to(device)
    labels = torch.tensor(dataset.targets, device=device)
    draw = v2.Compose([v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()])
    finish = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])

    def epoch() -> Iterator[Any]:
        for rows in torch.randperm(len(pictures), device=device).split(BATCH):
            batch = pictures[rows]
            drawn = torch.stack([draw(one) for one in batch]) if each else draw(batch)
            yield finish(drawn), labels[rows]

    return epoch


def rate(epoch: Epoch, seconds: float) -> float:
    """Samples per second, over whole epochs, after some batches that do not count."""
    import torch

    for _, _ in zip(range(10), epoch(), strict=False):
        pass
    samples = 0
    torch.cuda.synchronize()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        for batch in epoch():
            samples += len(batch[0])
    torch.cuda.synchronize()
    return samples / (time.perf_counter() - began)
