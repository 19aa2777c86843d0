"""The dataset of a workload, with its transforms, and a loader of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import TensorDataset

import drapps.torch
from drapps import _core, emulate
from drapps.errors import PipelineError
from drapps.scenario.conditions import Arrays, Photos, Python, PythonCost
from drapps.scenario.contestant import Contestant, Stock
from drapps.scenario.python_dataset import CostlyRows
from drapps.scenario.scenario import Scenario
from drapps.storage import Conditions, EmulatedStorage

SEED = 11
CLASSES = 10  # of rows of arrays
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Workload:
    """What a scenario loads.

    Args:
        scenario: that is played.
        roots: folders of pictures: one, or one for each segment where these are counted in samples;
            none where nothing lies in files.
    """

    def __init__(self, scenario: Scenario, roots: Sequence[str]) -> None:
        self._scenario = scenario
        self._folder: Any = None
        if isinstance(scenario.workload, Photos):
            self._folder = _folder(scenario, scenario.workload, roots)
        elif isinstance(scenario.workload, Arrays):
            self._rows = _rows(scenario.workload)

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return len(self._folder.classes) if self._folder is not None else CLASSES

    def dataset(self, origin: float) -> Any:
        """The dataset of a run that begins now, at this time of the monotonic clock."""
        workload = self._scenario.workload
        if isinstance(workload, Photos):
            storage = storage_of(self._scenario)
            if storage is not None:
                self._folder.loader = storage.load_image
            return self._folder
        if isinstance(workload, Arrays):
            return self._rows
        return CostlyRows(workload.samples, workload.floats, costs_of(self._scenario, origin))

    def settings(self, held: Mapping[str, int]) -> dict[str, Any]:
        """All settings of its loaders as they begin, but for some.

        Raises:
            PipelineError: one of them is no knob of theirs.
        """
        if isinstance(self._scenario.workload, Python):
            whole: dict[str, Any] = json.loads(_core.settings_of_processes(1))
        else:
            whole = drapps.torch.DataLoader(
                self.dataset(0.0), **self._arguments()
            ).export_settings()
        for name, value in held.items():
            if name not in whole["knobs"]:
                known = ", ".join(whole["knobs"])
                raise PipelineError(f"settings: there is no knob {name} here; there are {known}")
            whole["knobs"][name] = value
        return whole

    def loader(
        self, dataset: Any, contestant: Contestant, settings: Mapping[str, Any] | None
    ) -> Any:
        """A loader of the dataset, which begins with `settings`, where there are some."""
        arguments = self._arguments()
        if isinstance(contestant, Stock):
            workers = contestant.workers
            with warnings.catch_warnings():
                # Torch advises against more workers than cores; whoever plays has chosen them.
                warnings.filterwarnings("ignore", message="This DataLoader will create")
                return torch.utils.data.DataLoader(
                    dataset, num_workers=workers, persistent_workers=workers > 0, **arguments
                )
        loader = drapps.torch.DataLoader(
            dataset,
            num_workers="auto",
            persistent_workers=True,
            seed=SEED,
            policy=contestant.policy_of(0),
            settings=settings,
            form=contestant.form,
            cache=contestant.cache,
            **arguments,
        )
        if contestant.settings is not None:
            loader.freeze()
        return loader

    def _arguments(self) -> dict[str, Any]:
        workload = self._scenario.workload
        draw = torch.Generator().manual_seed(SEED)  # each loader's own
        return {"batch_size": workload.batch, "shuffle": workload.shuffle, "generator": draw}


def storage_of(scenario: Scenario) -> EmulatedStorage | None:
    """What the files lie on from now on; None where it is this machine's own all the time."""
    stretches = [segment.conditions.storage for segment in scenario.segments]
    if not any(stretches):
        return None
    schedule: dict[float, dict[str, Any]] = {}
    for number, storage in enumerate(stretches):
        begin = 0.0 if scenario.counted == "samples" else scenario.segments[number].begin
        length = scenario.length(number)
        schedule[begin] = vars(storage.conditions) if storage else vars(Conditions())
        repeats = int(length / storage.period) + 1 if storage and storage.period else 1
        for turn in range(repeats):
            since = turn * storage.period if storage else 0.0
            if turn and storage and since < length:
                schedule[begin + since] = vars(storage.conditions)
            for at, changes in storage.schedule if storage else ():
                if since + at < length:
                    before = schedule.get(begin + since + at, {})
                    schedule[begin + since + at] = {**before, **dict(changes)}
    # Whatever was out at the end comes back, so that the end is not waited for.
    schedule[scenario.seconds] = {"refuses": False, "stalls": False}
    return emulate(schedule=schedule, **schedule.pop(0.0))


def costs_of(scenario: Scenario, origin: float) -> list[tuple[float, PythonCost]]:
    """When, on the monotonic clock, a sample begins to cost what."""
    return [(origin + each.begin, each.conditions.python) for each in scenario.segments]


def _folder(scenario: Scenario, workload: Photos, roots: Sequence[str]) -> Any:
    from torchvision import datasets, transforms

    steps = [
        transforms.RandomResizedCrop(workload.crop),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(_MEAN, _STD),
    ]
    folders = {root: datasets.ImageFolder(root) for root in roots}
    folder = datasets.ImageFolder(roots[0], transforms.Compose(steps))
    samples: list[tuple[str, int]] = []
    for number, root in enumerate(roots):
        end = workload.epoch
        if number + 1 < len(roots):
            end = min(end, int(scenario.segments[number + 1].begin))
        files = _spread(folders[root].samples)
        while len(samples) < end:
            samples += files[: end - len(samples)]
    folder.samples = folder.imgs = samples
    folder.targets = [label for _, label in samples]
    return folder


def _spread(samples: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The files in the order of their names, classes mixed, as no order of classes is a load."""
    return sorted(samples, key=lambda sample: sample[0].rpartition("/")[2])


def _rows(workload: Arrays) -> TensorDataset:
    draw = torch.Generator().manual_seed(SEED)
    size = (workload.rows, *workload.shape)
    if workload.dtype == "uint8":
        data = torch.randint(0, 256, size, dtype=torch.uint8, generator=draw)
    else:
        data = torch.rand(size, generator=draw)
    labels = torch.randint(0, CLASSES, (workload.rows,), generator=draw)
    return TensorDataset(data, labels)
