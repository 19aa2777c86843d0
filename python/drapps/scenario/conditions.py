"""What is in force in a stretch of a scenario: plain values, which compare and hash as such."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field

from drapps.storage import Conditions as StorageConditions

Cores = float | str  # a number, or a share of the cores that the process may use: "50%"
Changes = tuple[tuple[str, float | bool], ...]


@dataclass(frozen=True)
class Storage:
    """What files lie on: `drapps.emulate`.

    Attributes:
        conditions: to begin with.
        schedule: seconds since the segment's beginning, and what is other from then on.
        period: seconds after which the schedule begins again; 0: never.
    """

    conditions: StorageConditions = field(default_factory=StorageConditions)
    schedule: tuple[tuple[float, Changes], ...] = ()
    period: float = 0.0


@dataclass(frozen=True)
class Consumer:
    """The training step.

    Attributes:
        step: seconds that it takes; 0: batches are taken as fast as they come.
        cpu: share of it that is spent on a core; the rest is slept.
        model: a real network trained on the CPU instead, by name; or none.
    """

    step: float = 0.0
    cpu: float = 0.0
    model: str = ""


@dataclass(frozen=True)
class PythonCost:
    """What a sample of a Python dataset costs: seconds of CPU time, and seconds slept."""

    cpu: float = 0.0
    sleep: float = 0.0


@dataclass(frozen=True)
class Conditions:
    """Everything that an event may change.

    Attributes:
        storage: None: this machine's memory.
        consumer: the training step.
        burners: foreign processes that want a core.
        duty: share of the time in which each wants it, 0 to 1.
        python: cost of a sample of a Python dataset.
        pictures: area of a picture, as a multiple of the workload's.
        validation: a second loader runs at once.
        quota: cores that the player's cgroup has; 0: no limit.
        memory: bytes that the player's cgroup has; 0: no limit.
    """

    storage: Storage | None = None
    consumer: Consumer = Consumer()
    burners: Cores = 0.0
    duty: float = 1.0
    python: PythonCost = PythonCost()
    pictures: float = 1.0
    validation: bool = False
    quota: Cores = 0.0
    memory: int = 0


@dataclass(frozen=True)
class Photos:
    """Pictures of a folder, cropped, flipped and normalised.

    Attributes:
        batch: samples of a batch.
        crop: pixels of a side of what is cut out.
        shuffle: whether their order is random.
        pictures: files that are made, where no folder is given.
        width, height: of them, in pixels.
        epoch: samples of an epoch, in which each file occurs many times.
    """

    batch: int = 64
    crop: int = 224
    shuffle: bool = True
    pictures: int = 256
    width: int = 500
    height: int = 375
    epoch: int = 65536


@dataclass(frozen=True)
class Arrays:
    """Rows of an array in memory, and a label for each.

    Attributes:
        batch: samples of a batch.
        rows: samples of an epoch.
        shape: of a row.
        dtype: of its elements: ``uint8`` or ``float32``.
        shuffle: whether their order is random.
    """

    batch: int = 64
    rows: int = 60000
    shape: tuple[int, ...] = (1, 28, 28)
    dtype: str = "float32"
    shuffle: bool = True


@dataclass(frozen=True)
class Python:
    """A dataset whose samples are made by Python code, as `Conditions.python` says.

    Attributes:
        batch: samples of a batch.
        samples: of an epoch.
        floats: of a sample.
        shuffle: whether their order is random.
    """

    batch: int = 64
    samples: int = 65536
    floats: int = 1024
    shuffle: bool = True


Workload = Photos | Arrays | Python
KINDS: dict[str, type[Workload]] = {"arrays": Arrays, "photos": Photos, "python": Python}


def kind_of(workload: Workload) -> str:
    """The name of a workload's kind in files."""
    return next(name for name, kind in KINDS.items() if type(workload) is kind)


def cores(value: Cores) -> float:
    """How many cores a number or a share comes to on this machine."""
    if isinstance(value, str):
        return len(os.sched_getaffinity(0)) * float(value.rstrip("%")) / 100
    return float(value)


def burner_count(value: Cores) -> int:
    """How many burners a number or a share of cores comes to on this machine."""
    return math.ceil(cores(value))
