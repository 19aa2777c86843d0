"""The loaders that a scenario is played against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from drapps.errors import PipelineError
from drapps.policy import Policy, to_json

_MOST_WORKERS = 1024


@dataclass(frozen=True)
class Drapps:
    """``drapps.torch.DataLoader``.

    Attributes:
        policy: who moves the knobs; None: the default of what runs.
        settings: knobs by name, at which they are held: ``{"io_depth": 64}``. Those that are left
            out stand where they start. None: the policy moves them.
    """

    policy: Policy | None = None
    settings: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if self.policy is not None:
            to_json(self.policy)
        for name, value in (self.settings or {}).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise PipelineError(f"settings: {name} is {value!r}, and no whole number from 0")

    @property
    def label(self) -> str:
        """Its name in tables and plots."""
        if self.settings is not None:
            held = ", ".join(f"{name} {value}" for name, value in self.settings.items())
            return f"DRAPPS, {held}" if held else "DRAPPS, held"
        if self.policy is None:
            return "DRAPPS"
        name = self.policy if isinstance(self.policy, str) else self.policy["name"]
        return f"DRAPPS, {name}"

    def to_json(self) -> dict[str, Any]:
        """Of which `loader_of` makes it again."""
        policy = dict(self.policy) if isinstance(self.policy, Mapping) else self.policy
        settings = None if self.settings is None else dict(self.settings)
        return {"kind": "drapps", "policy": policy, "settings": settings}


@dataclass(frozen=True)
class Stock:
    """``torch.utils.data.DataLoader`` with so many workers, persistent where there are any."""

    workers: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.workers <= _MOST_WORKERS:
            raise PipelineError(f"workers={self.workers} is no number from 0 to {_MOST_WORKERS}")

    @property
    def label(self) -> str:
        """Its name in tables and plots."""
        return f"stock, {self.workers} workers"

    def to_json(self) -> dict[str, Any]:
        """Of which `loader_of` makes it again."""
        return {"kind": "stock", **asdict(self)}


Contestant = Drapps | Stock


def loader_of(given: Mapping[str, Any]) -> Contestant:
    """What `to_json` gave."""
    values = {name: value for name, value in given.items() if name != "kind"}
    return Stock(**values) if given["kind"] == "stock" else Drapps(**values)
