"""Scenario gpu-decode; scenario.md says what it measures and why so."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.contestant import ContestantError

NAME = "gpu-decode"
FILES, BATCH, HEIGHT, WIDTH = 2048, 64, 375, 500
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FIXED = (4, 8, 12)
WANTED = {"gpu_to_torchvision": 5.0, "auto_to_cpu": 0.98, "auto_to_best_fixed": 0.95}
Epoch = Callable[[], Iterator[int]]


def measure(count: int, seconds: float) -> report.Result:
    """Measures each contestant in `count` rounds of about `seconds`.

    Raises:
        ContestantError: there is no CUDA device, or this build has no kernels.
    """
    import torch

    if not torch.cuda.is_available():
        raise ContestantError(f"{NAME} needs a CUDA device, and torch sees none")
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), FILES)
        os.sched_setaffinity(0, {min(cores)})
        try:
            rounds = _rounds(Path(folder), count, seconds)
        finally:
            os.sched_setaffinity(0, cores)
    result = report.Result(NAME, rounds={"photos": rounds})
    rates = {name: [one["samples_per_s"] for one in each] for name, each in rounds.items()}
    fixed = [rates[name] for name in rates if name not in ("auto", "torchvision")]
    best = [max(each) for each in zip(*fixed, strict=True)]
    for name, (one, two) in {
        "gpu_to_torchvision": (rates["gpu"], rates["torchvision"]),
        "auto_to_cpu": (rates["auto"], rates["cpu"]),
        "auto_to_best_fixed": (rates["auto"], best),
    }.items():
        result.add_ratio(name, [a / b for a, b in zip(one, two, strict=True)])
        result.wanted[name] = WANTED[name]
    return result


def _rounds(folder: Path, count: int, seconds: float) -> dict[str, list[dict[str, float]]]:
    contestants = {
        "cpu": placed_epoch(folder, "cpu"),
        "gpu": placed_epoch(folder, "gpu"),
        "auto": placed_epoch(folder, "auto"),
        **{f"sixteenths_{share}": placed_epoch(folder, "gpu", share) for share in FIXED},
        "torchvision": torchvision_epoch(folder),
    }
    for epoch in contestants.values():
        for _ in range(2):
            rate(epoch, 0)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in contestants}
    for _ in range(count):
        for name, epoch in contestants.items():
            rounds[name].append({"samples_per_s": rate(epoch, seconds)})
    return rounds


def write_files(folder: Path, files: int) -> None:
    """JPEGs of smooth pictures under some noise, in one class."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    (folder / "class").mkdir()
    for number in range(files):
        small = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        smooth = np.asarray(small.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), np.int16)
        noisy = smooth + rng.integers(-12, 13, smooth.shape, dtype=np.int16)
        picture = Image.fromarray(noisy.clip(0, 255).astype(np.uint8))
        picture.save(folder / "class" / f"{number:05}.jpg", quality=90)


def placed_epoch(folder: Path, placement: Any, share: int = 0, device: str = "cuda:0") -> Epoch:
    """Batches of DRAPPS; with a share, by the policy that holds it.

    Raises:
        ContestantError: no device can be used.
    """
    import drapps

    policy: Any = "initial"
    if share:
        policy = {"name": "fixed_split", "parameters": {"gpu": share}}
    pipeline = drapps.image_folder(folder).decode().random_resized_crop(224).flip()
    loader = pipeline.normalize(MEAN, STD).shuffle(seed=1)
    batches = loader.batch(BATCH, placement=placement, device=device, policy=policy)
    try:
        batches.iterate(0).close()
    except drapps.PipelineError as error:
        raise ContestantError(str(error)) from None
    return lambda: (int(batch["image"].shape[0]) for batch in batches)


def torchvision_epoch(folder: Path) -> Epoch:
    """Lists of files decoded on the device, each picture then augmented there."""
    import torch
    from torchvision import io
    from torchvision.transforms import v2

    files = sorted(str(file) for file in folder.glob("class/*.jpg"))
    chain = v2.Compose(
        [
            v2.RandomResizedCrop(224, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )

    def epoch() -> Iterator[int]:
        for rows in torch.randperm(len(files)).split(BATCH):
            read = [io.read_file(files[row]) for row in rows.tolist()]
            pictures = io.decode_jpeg(read, device="cuda")
            batch = torch.stack([chain(picture) for picture in pictures])
            torch.cuda.synchronize()
            yield len(batch)

    return epoch


def rate(epoch: Epoch, seconds: float) -> float:
    """Samples per second, over whole epochs."""
    samples = 0
    began = time.perf_counter()
    while samples == 0 or time.perf_counter() - began < seconds:
        samples += sum(epoch())
    return samples / (time.perf_counter() - began)
