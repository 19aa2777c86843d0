"""Machines to simulate: read from files, and checked."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from drapps import _core
from drapps.scenario.nodes import Node, root_of_named, yaml_files
from drapps.scenario.reading import root_of_scenario, scenario_of
from drapps.scenario.scenario import Scenario

GROUPS = ("cores", "storage", "network", "memory", "gpu", "ranks", "remote", "power")
FORMS = ("coefficients", "raw", "raw+lz4", "raw+zstd", "raw+snappy", "prepared")
_SHIPPED = Path(__file__).with_name("machines")
_PHOTO = ("bytes", "picture", "decode", "augment", "handover", "decode_gpu", "augment_gpu")
_MEASURED = ("residuals", "covered")  # for people: nothing is simulated by them
_READ = ("cpu", "latency")
_PYTHON = ("cpu", "wake")
_FORM = ("bytes", "cpu", "encode")


@dataclass(frozen=True)
class Costs:
    """What samples cost on one core of a machine, in seconds and bytes.

    Attributes:
        photo: of a picture of 500 x 375 pixels that is cropped to 224 x 224: ``bytes`` of its file,
            ``decode`` and ``augment`` on a core, ``decode_gpu`` and ``augment_gpu`` on an
            accelerator, where it can. ``picture`` is on a core, too, of a picture of any size;
            ``handover`` passes between a batch and the next where the window has but one.
        read: of a record that is waited for, beside what its storage takes: ``cpu``, and
            ``latency``.
        python: of a sample of a Python dataset, beside what its own code takes: ``cpu``, and
            ``wake``, by which a sleep is longer.
        forms: of such a picture in a form of the cache: ``bytes``, ``cpu`` to read it, ``encode``
            to make it.
        row: of a row of an array of 3,136 bytes.
    """

    photo: Mapping[str, float] = field(
        default_factory=lambda: {"bytes": 110e3, "decode": 330e-6, "augment": 70e-6}
    )
    read: Mapping[str, float] = field(default_factory=dict)
    python: Mapping[str, float] = field(default_factory=dict)
    forms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    row: float = 0.64e-6


@dataclass(frozen=True)
class Machine:
    """A machine, as the simulator knows it.

    Attributes:
        name: of the machine.
        about: a sentence for people.
        numbers: by group and name, those that are other than a world's own.
        costs: of samples.
        sources: of numbers, by ``group.name``. Those that are not named are assumed.
    """

    name: str = "machine"
    about: str = ""
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    costs: Costs = Costs()
    sources: Mapping[str, str] = field(default_factory=dict)

    def number(self, group: str, name: str) -> float:
        """One of its numbers, or what it is where the file says nothing."""
        own = self.numbers.get(group, {})
        return own[name] if name in own else _fields()[group][name][0]

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, as a file of it has them."""
        costs = {name: value for name, value in asdict(self.costs).items() if value}
        named = {"name": self.name, "about": self.about}
        return {**named, **self.numbers, "costs": costs, "sources": dict(self.sources)}

    @property
    def assumed(self) -> tuple[str, ...]:
        """The numbers that have no source, as ``group.name``."""
        kinds = {"photo": self.costs.photo, "read": self.costs.read, "python": self.costs.python}
        costs = [f"costs.{kind}.{name}" for kind, numbers in kinds.items() for name in numbers]
        costs += [f"costs.forms.{form}.{name}" for form in self.costs.forms for name in _FORM]
        own = [f"{group}.{name}" for group in self.numbers for name in self.numbers[group]]
        return tuple(name for name in (*own, *costs, "costs.row") if name not in self.sources)


@functools.cache
def _fields() -> dict[str, dict[str, tuple[float, float, float]]]:
    """Every number of a world: what it is where nothing is said, the least and the most."""
    fields: dict[str, dict[str, tuple[float, float, float]]] = {}
    for group, name, value, least, most in _core.world_fields():
        fields.setdefault(group, {})[name] = (value, least, most)
    return fields


def shipped() -> dict[str, Path]:
    """The machines that come with DRAPPS, by name."""
    return yaml_files(_SHIPPED)


def load(name: str | os.PathLike[str]) -> Machine:
    """A machine that comes with DRAPPS, or that of a file.

    Args:
        name: of the machine, or the path of a file, which has a dot or a slash in it.

    Raises:
        PipelineError: there is none of this name, the file says something else than a machine (the
            message names line, key and what is allowed), or PyYAML is not installed.
        OSError: the file cannot be read.
    """
    return machine_of(root_of_named(name, shipped(), "machine"))


def load_scenario(name: str | os.PathLike[str]) -> tuple[Scenario, Machine | None]:
    """A scenario, as `drapps.scenario.load` gives it, and the machine that its file names.

    Args:
        name: of the scenario, or the path of a file. Its ``machine`` is the name of one that comes
            with DRAPPS, or what stands in the file of one.

    Raises:
        PipelineError: as of `load`, and of `drapps.scenario.load`.
        OSError: the file cannot be read.
    """
    root = root_of_scenario(name)
    scenario = scenario_of(root, beside=("machine",))
    for key, value in root.raw.value:
        if key.value == "machine":
            node = Node(root.file, "machine", value)
            return scenario, load(node.text()) if value.id == "scalar" else machine_of(node)
    return scenario, None


def machine_of(node: Node) -> Machine:
    """The machine that a mapping describes."""
    entries = node.fields(("name", "about", *GROUPS, "costs", "sources", *_MEASURED))
    for name in _MEASURED:
        if name in entries and entries[name].raw.id == "scalar":
            entries[name].fail("is what drapps calibrate writes; leave it out")
    known = _fields()
    numbers: dict[str, dict[str, float]] = {}
    for group in GROUPS:
        if group not in entries:
            continue
        values = entries[group].fields(known[group])
        numbers[group] = {
            name: each.number(*known[group][name][1:]) for name, each in values.items()
        }
    machine = Machine(
        entries["name"].text() if "name" in entries else "machine",
        entries["about"].text() if "about" in entries else "",
        numbers,
        _costs(entries["costs"]) if "costs" in entries else Costs(),
    )
    if "sources" not in entries:
        return machine
    sources = entries["sources"].fields(machine.assumed)
    return Machine(
        **{**vars(machine), "sources": {name: each.text() for name, each in sources.items()}}
    )


def _costs(node: Node) -> Costs:
    entries = node.fields(("photo", "read", "python", "forms", "row"))
    own = Costs()
    photo, forms, row = dict(own.photo), {}, own.row
    if "photo" in entries:
        photo |= _numbers(entries["photo"], _PHOTO)
    if "forms" in entries:
        each = entries["forms"].fields(FORMS)
        forms = {
            name: dict.fromkeys(_FORM, 0.0) | _numbers(form, _FORM) for name, form in each.items()
        }
    if "row" in entries:
        row = entries["row"].number(1e-12, 3600)
    read = _numbers(entries["read"], _READ) if "read" in entries else {}
    python = _numbers(entries["python"], _PYTHON) if "python" in entries else {}
    return Costs(photo, read, python, forms, row)


def _numbers(node: Node, names: tuple[str, ...]) -> dict[str, float]:
    return {name: each.number(0, 1e18) for name, each in node.fields(names).items()}
