"""What a trace holds. Times are seconds since the recording began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """A number of every observation.

    Attributes:
        name: such as ``decode.service_wall.p50``.
        unit: ``ns``, ``bytes``, ``samples``, …; empty for what has none.
        source: who counts it.
        kind: ``counter`` for what only rises, ``gauge`` for what stands so at the moment.
    """

    name: str
    unit: str
    source: str
    kind: str


@dataclass(frozen=True)
class Limits:
    """The limits within which the knobs may move.

    Attributes:
        knobs: by name, the least and the most.
        weighted: lanes that share the workers.
        cpus: cores of the CPU budget.
    """

    knobs: Mapping[str, tuple[int, int]]
    weighted: tuple[str, ...]
    cpus: float


@dataclass(frozen=True)
class Began:
    """The recording begins: who decides, and within which limits."""

    time: float
    policy: str
    config: Any
    limits: Limits
    frozen: bool
    stopped: bool


@dataclass(frozen=True)
class LimitsChanged:
    """The next decisions are within these limits."""

    limits: Limits


@dataclass(frozen=True)
class Sample:
    """A sample of the interval before a decision.

    Attributes:
        index: of the record in its source.
        position: in the epoch.
        bytes: of the record.
        known: how much of its layout was known before: ``unknown``, ``partial``, ``complete``.
        cpu_ns: CPU time that it took, in ns.
        wall_ns: by lane, how long it took there, in ns.
        weight: samples of the interval for which it stands.
    """

    index: int
    position: int
    bytes: int
    known: str
    cpu_ns: int
    wall_ns: Mapping[str, int]
    weight: float


@dataclass(frozen=True)
class Decision:
    """A decision, and what it was made from.

    Attributes:
        time: of the observation; of the guard's look at it, where it is missing.
        observation: by the names of the trace's fields.
        guard_time: when the guard looked at the observation.
        before: the settings in force, by knob and ``weight.<lane>``.
        proposed: what the policy would have liked.
        applied: what is in force from here on.
        holds: why a knob (or ``weights``) was not brought to what was proposed; only those.
        why: the policy's reason.
        fault: what is wrong with the observation; empty where nothing is.
        samples: drawn from the interval since the decision before.
    """

    time: float
    observation: Mapping[str, int | float]
    guard_time: float
    before: Mapping[str, int]
    proposed: Mapping[str, int]
    applied: Mapping[str, int]
    holds: Mapping[str, str]
    why: str
    fault: str
    samples: tuple[Sample, ...]

    @property
    def missing(self) -> bool:
        """Whether there was no observation."""
        return self.observation["time"] == 0

    @property
    def moves(self) -> dict[str, tuple[int, int]]:
        """What was moved, from where and to where."""
        return {
            name: (self.before[name], value)
            for name, value in self.applied.items()
            if value != self.before[name]
        }


@dataclass(frozen=True)
class PolicySwapped:
    """Another policy decides from here on, and remembers nothing."""

    time: float
    policy: str
    config: Any


@dataclass(frozen=True)
class PolicyRenewed:
    """The policy has learnt: other weights from here on, and it remembers what it did.

    Attributes:
        hash: of the weights, which lie beside the trace as ``<hash>.weights``.
    """

    time: float
    hash: str


@dataclass(frozen=True)
class Frozen:
    """The knobs are held from here on, or no longer."""

    time: float
    frozen: bool


@dataclass(frozen=True)
class PassBegan:
    """A pass over an epoch begins."""

    time: float
    epoch: int


@dataclass(frozen=True)
class Stopped:
    """The control plane has stopped; the knobs stay where they are."""

    time: float
    why: str


@dataclass(frozen=True)
class Ended:
    """The recording was closed."""

    time: float
    decisions: int


Entry = (
    Began
    | LimitsChanged
    | Decision
    | PolicySwapped
    | PolicyRenewed
    | Frozen
    | PassBegan
    | Stopped
    | Ended
)
