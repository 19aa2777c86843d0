"""What runs and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from drapps.report.base import Report, mib, page
from drapps.report.decisions import Decisions
from drapps.report.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Report):
    """What ``explain()`` gives; it prints as a page.

    Attributes:
        plan: what runs.
        forms: what is kept from epoch to epoch, by kind; empty where nothing is.
        decisions: what moved, and why.
        choice: why the policy ``auto`` is the one that decides; empty where one was named.
    """

    plan: Plan
    forms: Mapping[str, Any]
    decisions: Decisions
    choice: str = ""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any], choice: str = "") -> Explanation:
        """The explanation, of plain dictionaries."""
        plan, decisions = Plan.from_json(facts["plan"]), Decisions.from_json(facts["decisions"])
        return cls(plan, facts["forms"], decisions, choice)

    @classmethod
    def of_native(cls, text: str, choice: str = "") -> Explanation:
        """The explanation of a native loader, as the core writes it."""
        facts = json.loads(text)
        return cls.from_json({**facts, "plan": {"path": "native", **facts["plan"]}}, choice)

    def __str__(self) -> str:
        return page([*self.plan.rows(), *self._memory(), *self._decided()])

    def _memory(self) -> Iterator[tuple[str, str]]:
        there = mib(self.plan.machine["memory_bytes"])
        yield (
            "memory",
            f"a budget of {mib(self.plan.budget['ram_bytes'])}, of {there} in the machine",
        )
        index = self.forms.get("jpeg_index")
        if index is not None:
            files = f"{index['samples']} files, {index['complete']} of them whole"
            yield "jpeg index", f"{mib(index['bytes'])}: {files}"
        cache = self.forms.get("cache")
        if cache is not None:
            kept = [
                f"{form['samples']} as {name}"
                for name, form in self.forms.items()
                if name not in ("cache", "jpeg_index")
            ]
            room = f"{mib(cache['bytes'])} of {mib(cache['budget'])}"
            yield "cache", f"{room}: {', '.join(kept) or 'no samples'}"

    def _decided(self) -> Iterator[tuple[str, str]]:
        log = self.decisions
        yield "policy", log.summary
        if self.choice:
            yield "", self.choice
        if log.learnt:
            yield "", log.learnt
        moved = log.last_move
        yield "last move", "none" if moved is None else str(moved)
