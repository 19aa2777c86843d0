"""``--fail-if "stall>5%"``: when a report is a failure."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from drapps.watching.report import WatchReport

_FORM = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*([0-9]*\.?[0-9]+)\s*(%?)\s*")
_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
NAMES = ("stall", "ceiling", "lost_hours")


@dataclass(frozen=True)
class Criterion:
    """A number of the report, how it is compared, and with what."""

    name: str
    comparison: str
    limit: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Criterion:
        """The criterion that a text such as ``stall>5%`` says.

        Raises:
            ValueError: it is none; the message says what it may be.
        """
        match = _FORM.fullmatch(text)
        if match is None or match[1] not in NAMES:
            raise ValueError(
                f"{text!r} is no criterion: write one of {', '.join(NAMES)}, a comparison and a "
                "number, such as stall>5%"
            )
        limit = float(match[3]) / (100 if match[4] else 1)
        return cls(match[1], match[2], limit, text.strip())

    def failure(self, report: WatchReport) -> str:
        """Why the report fails; empty where it does not."""
        value = float(report[self.name])
        if not _COMPARE[self.comparison](value, self.limit):
            return ""
        shown = f"{value:.1%}" if self.name == "stall" else f"{value:.3g}"
        return f"{self.text}: {self.name} is {shown}"
