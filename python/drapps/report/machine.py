"""What the meters of the machine say: a part of ``loader.stats()``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report


@dataclass(frozen=True, eq=False, repr=False)
class MeterReading(Report):
    """A number of the machine.

    Attributes:
        value: in `unit`; None where it is not known: the machine does not say, or it is a rate that
            was not looked at twice yet.
        unit: ``share`` (0 to 1), ``cores``, ``bytes/s``, ….
        source: the file or the function of the system that it comes from.
        age_s: seconds since it was read; None where there is no value.
    """

    value: float | None
    unit: str
    source: str
    age_s: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class MachineStats(Report):
    """What the machine does, whoever makes it do so; of all loaders of a process the same.

    Rates are means since the readings before: those of the latest decision, or of the latest call
    of ``stats()``.

    Attributes:
        readings: every number by its name, as the guide "What the loader sees" lists them.
        cores: of the cores that this process may run on, ``cpu``, and ``use``, ``iowait`` and
            ``steal`` as shares.
        gpus: of each GPU of this process, the numbers of ``gpu.`` without their ends.
        disks: of each disk, and of what the data lie on (``data``), ``name``, ``read`` and
            ``written`` in bytes/s, ``busy`` as a share, ``queue`` in requests.
        interfaces: of each network interface but ``lo``, ``name``, ``received`` and ``sent`` in
            bytes/s, ``errors`` and ``drops`` in packets a second.
    """

    readings: Mapping[str, MeterReading]
    cores: Sequence[Mapping[str, float | None]]
    gpus: Sequence[Mapping[str, float | None]]
    disks: Sequence[Mapping[str, Any]]
    interfaces: Sequence[Mapping[str, Any]]

    def value(self, name: str) -> float | None:
        """The value of the reading of that name; None where it is not known."""
        return self.readings[name].value

    @classmethod
    def of_core(cls, facts: Mapping[str, Any]) -> MachineStats:
        """What the core says."""
        readings = {name: MeterReading.from_json(each) for name, each in facts["readings"].items()}
        return cls.from_json({**facts, "readings": readings})
