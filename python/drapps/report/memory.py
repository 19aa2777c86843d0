"""What the bytes of a process are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drapps.report.base import Report, mib


@dataclass(frozen=True, eq=False, repr=False)
class MemoryAccount(Report):
    """Memory for one use.

    Attributes:
        used: bytes in use.
        peak: the most that ever were, in bytes.
        releases: what of it is released where others find none.
    """

    used: int
    peak: int
    releases: str

    _OLD_KEYS: ClassVar[Mapping[str, str]] = {"yields": "releases"}


@dataclass(frozen=True, eq=False, repr=False)
class MemoryReport(Report):
    """The memory of this process, all its loaders together.

    Attributes:
        used: bytes in use, of the RAM budget.
        peak: the most that ever were, in bytes.
        limit: the RAM budget, in bytes.
        held: bytes in batches that the user holds, which are no part of the budget.
        accounts: by use; whose memory is wanted first stands first.
    """

    used: int
    peak: int
    limit: int
    held: int
    accounts: Mapping[str, MemoryAccount]

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> MemoryReport:
        """The report, as the core says it."""
        accounts = {
            name: MemoryAccount.from_json(account) for name, account in facts["accounts"].items()
        }
        return super().from_json({**facts, "accounts": accounts})

    def __str__(self) -> str:
        rows = [(name, each.used, each.peak, each.releases) for name, each in self.accounts.items()]
        rows.append(("together", self.used, self.peak, f"of a budget of {mib(self.limit)}"))
        lines = [f"{'':<10}  {'used':>12}  {'peak':>12}  releases"]
        lines += [f"{name:<10}  {mib(u):>12}  {mib(p):>12}  {text}" for name, u, p, text in rows]
        lines.append(f"{'held':<10}  {mib(self.held):>12}  in batches of yours, beside the budget")
        return "\n".join(lines)
