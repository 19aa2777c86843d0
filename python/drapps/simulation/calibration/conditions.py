"""The conditions in which ``drapps calibrate`` measures, and loaders in them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from drapps.errors import PipelineError
from drapps.scenario.conditions import Conditions, Photos, Python, PythonCost, Storage, Workload
from drapps.scenario.scenario import Scenario, Segment
from drapps.simulation.calibration.replica import Replica
from drapps.simulation.calibration.replicas import replica_of
from drapps.simulation.machine import Machine
from drapps.simulation.worlds import World, world_of
from drapps.storage import Conditions as StorageConditions

if TYPE_CHECKING:
    Progress = Callable[[str, int, int], None]

BANDWIDTH = 100e6  # bytes/s of the emulated storage
PYTHON_CPU = 0.5e-3  # s of a plain Python sample
SMALL_SIZE = (316, 237)  # pixels of the smaller pictures, 0.4 times the area of the usual ones


@dataclass(frozen=True)
class Condition:
    """What is loaded, and from where.

    Attributes:
        name: for people.
        workload: that is loaded.
        conditions: in which it is.
    """

    name: str
    workload: Workload
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def scenario(self) -> Scenario:
        """The condition as a scenario without events."""
        return Scenario(self.name, self.name, self.workload, 10.0, (Segment(0.0, self.conditions),))

    def world(self, machine: Machine) -> World:
        """The world of it on a machine."""
        storage = self.conditions.storage
        emulated = storage.conditions if storage else None
        return world_of(self.workload, self.conditions, emulated, machine)


IN_MEMORY = Condition("photos in memory", Photos())
SMALL = Condition("smaller photos in memory", Photos(width=SMALL_SIZE[0], height=SMALL_SIZE[1]))
BEHIND_STORAGE = Condition(
    "photos at 100 MB/s",
    Photos(),
    Conditions(storage=Storage(StorageConditions(bandwidth=BANDWIDTH))),
)
PLAIN_PYTHON = Condition(
    "plain Python samples", Python(), Conditions(python=PythonCost(cpu=PYTHON_CPU))
)
CONDITIONS = (IN_MEMORY, SMALL, BEHIND_STORAGE, PLAIN_PYTHON)


def played(condition: Condition, progress: Progress = lambda *_: None) -> Replica:
    """A replica of the loader that `drapps play` would make for the condition.

    Raises:
        PipelineError: torch, or what else such a loader needs, is not installed.
        OSError: pictures cannot be written into the user's cache folder.
    """
    try:
        return _played(condition.scenario, progress)
    except ImportError as error:
        raise PipelineError(
            f"calibration runs loaders of torch, and {error.name} is not installed"
        ) from None


def _played(scenario: Scenario, progress: Progress) -> Replica:
    from drapps.scenario.contestant import Drapps
    from drapps.scenario.runner import roots_of
    from drapps.scenario.workloads import Workload as Loaded

    roots = roots_of(scenario, None, lambda what, done, of: progress(what, int(done), int(of)))
    loaded = Loaded(scenario, roots)
    with warnings.catch_warnings():
        # Torch advises against more workers than cores, which is what is measured.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        loader = loaded.loader(loaded.dataset(time.monotonic()), Drapps(), None)
        return replica_of(loader)
