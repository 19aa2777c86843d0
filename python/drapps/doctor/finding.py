"""What one check has found."""

from __future__ import annotations

from dataclasses import dataclass

GOOD, NOTE, PROBLEM = "good", "note", "problem"


@dataclass(frozen=True)
class Finding:
    """One fact about the machine.

    Attributes:
        name: what was looked at.
        detail: what is there.
        status: ``good``; ``note``: it costs speed or may matter; ``problem``: it will fail.
        mend: what to do about it; empty where it is good.
    """

    name: str
    detail: str
    status: str = GOOD
    mend: str = ""
