"""``drapps.analyze(loader, step)``: an analysis within this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.analysis.files import OpenEvents
from drapps.analysis.journal import Journal
from drapps.analysis.known import loader_of
from drapps.analysis.loaders import AnyLoader
from drapps.analysis.session import Plan, Session
from drapps.errors import PipelineError
from drapps.watching.machine import cores

if TYPE_CHECKING:
    from drapps.analysis.report import AnalysisReport

_LONGEST = 86400.0  # seconds
_opened: list[OpenEvents] = []


def analyze(
    loader: Iterable[Any],
    step: Callable[[Any], Any],
    *,
    data: str | os.PathLike[str] | None = None,
    file: str | os.PathLike[str] | None = None,
    seconds: float = 10.0,
    steps: int = 0,
    depth: int | None = None,
    stall: float = 0.05,
    progress: Callable[[str], None] | None = None,
) -> AnalysisReport:
    """Measure what a training waits for, and what more hardware would give.

    It takes about a minute: the training as it is, its step alone, and the loader alone with all of
    its data in memory, and with none of them. `step` is called with batches, some of them again and
    again, and does all that it does.

    Args:
        loader: what is trained on: torch's DataLoader, one of this package, or anything that can be
            iterated several times.
        step: one step of the training; it gets a batch.
        data: the folder of the data, where the files are not to be found out: by the dataset's own
            list, or by what Python code is seen to open.
        file: where what was measured is stored, as JSON; phases that it has already are not
            measured again.
        seconds: of each phase, about.
        steps: of the training in each phase; 0: as many as `seconds` have.
        depth: batches that may be ready ahead, of what is not torch's; by default 1.
        stall: share of waiting that is small enough.
        progress: is told what is done now.

    Returns:
        The report. ``predict()`` and ``recommend()`` ask it further.

    Raises:
        PipelineError: the loader cannot be measured; `file` is of another training, or none; this
            is one of several ranks.
        OSError: a file of the data cannot be read.
    """
    from drapps.analysis.report import AnalysisReport

    refuse_ranks()
    known = loader_of(loader, None if depth is None else arguments.whole("depth", depth, 0))
    plan = Plan(
        arguments.seconds("seconds", seconds, _LONGEST),
        arguments.whole("steps", steps, 0),
        None if data is None else arguments.path("data", data, "folder"),
    )
    path = None if file is None else Path(arguments.path("file", file))
    arguments.called("step", step)
    journal = Journal(path, about(known) | {"data": plan.data})
    session = Session(known, plan, journal, progress or (lambda _: None), opened=opened())
    for batch in session.batches():
        step(batch)
    return AnalysisReport.of(journal.facts(), stall)


def about(loader: AnyLoader) -> dict[str, Any]:
    """What an analysis depends on."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "loader": loader.about,
        "workers": loader.workers,
        "depth": loader.depth,
        "samples": loader.samples,
        "in_turn": loader.in_turn,
        "machine": {"cores": cores(), "memory": memory},
    }


def opened() -> OpenEvents:
    """Hears what this process opens; one for all, since it cannot be taken away again."""
    if not _opened:
        _opened.append(OpenEvents())
    return _opened[0]


def refuse_ranks() -> None:
    """Several ranks take their steps together, so none of them can be measured by itself.

    Raises:
        PipelineError: this process is one of several.
    """
    if os.environ.get("WORLD_SIZE", "1") not in ("", "1"):
        raise PipelineError(
            "this is one of several ranks, which take their steps together: analyze one process "
            "alone, or run all of them under drapps watch"
        )
