"""The loaders that a scenario is played against."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal

from drapps.errors import PipelineError
from drapps.policy import Policy, name_of, read, to_json, without_notes

_MOST_WORKERS = 1024


@dataclass(frozen=True)
class Drapps:
    """``drapps.torch.DataLoader``.

    Attributes:
        policy: who moves the knobs; None: the default of what runs.
        settings: knobs by name, at which they are held: ``{"io_depth": 64}``. Those that are left
            out stand where they start. None: the policy moves them.
        by_segment: knobs for each segment, to which they are moved as it begins, at the pace of
            any policy; none where it is empty.
        form: in which records are kept, as `drapps.torch.DataLoader` takes it. As they come, none
            are: the few of a scenario stand for more than any cache holds.
        cache: as `drapps.torch.DataLoader` takes it.
    """

    policy: Policy | None = None
    settings: Mapping[str, int] | None = None
    by_segment: Sequence[Mapping[str, int]] = ()
    form: str = "index"
    cache: Literal["auto", "off"] | int = "auto"

    def __post_init__(self) -> None:
        if self.policy is not None:
            to_json(self.policy)
        given = [each.items() for each in (self.settings or {}, *self.by_segment)]
        for name, value in chain.from_iterable(given):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise PipelineError(f"settings: {name} is {value!r}, and no whole number from 0")

    @property
    def first(self) -> Mapping[str, int] | None:
        """The knobs that it begins with; None: as they start."""
        return self.by_segment[0] if self.by_segment else self.settings

    def policy_of(self, segment: int) -> Policy | None:
        """Who moves the knobs in a segment."""
        if not self.by_segment:
            return self.policy
        return {"name": "static", "parameters": dict(self.by_segment[segment])}

    @property
    def label(self) -> str:
        """Its name in tables and plots."""
        return self._driven + ("" if self.form == "index" else f", form {self.form}")

    @property
    def _driven(self) -> str:
        if self.by_segment:
            return "DRAPPS, set for each segment"
        if self.settings is not None:
            held = ", ".join(f"{name} {value}" for name, value in self.settings.items())
            return f"DRAPPS, {held}" if held else "DRAPPS, held"
        if self.policy is None:
            return "DRAPPS"
        return f"DRAPPS, {name_of(self.policy)}"

    def to_json(self) -> dict[str, Any]:
        """Plain data of which `loader_of` makes the same again."""
        policy = self.policy
        if isinstance(policy, os.PathLike):
            policy = without_notes(read(policy))
        elif isinstance(policy, Mapping):
            policy = dict(policy)
        settings = None if self.settings is None else dict(self.settings)
        by_segment = [dict(each) for each in self.by_segment]
        return {
            "kind": "drapps",
            "policy": policy,
            "settings": settings,
            "by_segment": by_segment,
            "form": self.form,
            "cache": self.cache,
        }


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
        """Plain data of which `loader_of` makes the same again."""
        return {"kind": "stock", **asdict(self)}


Contestant = Drapps | Stock


def loader_of(given: Mapping[str, Any]) -> Contestant:
    """What `to_json` gave."""
    values = {name: value for name, value in given.items() if name != "kind"}
    if given["kind"] == "stock":
        return Stock(**values)
    return Drapps(**{**values, "by_segment": tuple(values["by_segment"])})
