"""``drapps top``: what the loaders of a running process do."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
import time
from typing import TYPE_CHECKING, Any

from drapps.cli.answer import Answer
from drapps.cli.parser import add_command, count
from drapps.errors import MonitorError, PipelineError

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.top.ranks import Job

_BETWEEN = 0.5  # seconds between the two looks of --once, which rates are made of


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "top",
        run,
        summary="show what the loaders of a running process do",
        description="Shows stages, queues, stalls, memory, knobs and decisions of the loaders of a "
        "process of yours, while it runs; which one is chosen from a list where there are several, "
        "in which the ranks of one training stand together. The screen needs Textual: pip install "
        "'drapps[top]'; --once does not.",
    )
    parser.add_argument("pid", metavar="PID", type=count, nargs="?", help="the process")
    parser.add_argument(
        "--once",
        action="store_true",
        help="look twice, half a second apart, and print what is seen",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the processes that can be watched, and no more"
    )


def run(chosen: argparse.Namespace) -> Answer:
    """Show it.

    Raises:
        PipelineError: there is no such process, or Textual is missing, or no terminal.
    """
    if chosen.list:
        return _listed()
    if chosen.once or chosen.json:
        return _once(chosen.pid)
    if importlib.util.find_spec("textual") is None:
        raise PipelineError(
            "the screen of drapps top needs Textual: pip install 'drapps[top]'; or print what is "
            "seen now: drapps top --once"
        )
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PipelineError("drapps top needs a terminal; drapps top --once prints to anything")
    from drapps.top.app import Top

    Top(chosen.pid).run()
    return Answer()


def _listed() -> Answer:
    from drapps import monitor
    from drapps.top.view import WIDTH, cut, process_line

    processes = monitor.processes()
    lines = [cut(process_line(each), WIDTH) for each in processes]
    text = "\n".join(lines) or "no process of yours that can be watched"
    return Answer(text, {"processes": [each.to_json() for each in processes]})


def _once(pid: int | None) -> Answer:
    from drapps import monitor
    from drapps.top.view import page

    job = _ranks() if pid is None else None
    if job is not None:
        return _once_of(job)
    with monitor.connected(_only() if pid is None else pid) as client:
        before = client.snapshot()
        time.sleep(_BETWEEN)
        now = client.snapshot()
    facts: dict[str, Any] = now.to_json()
    return Answer(page(now, before), facts)


def _ranks() -> Job | None:
    """The training whose ranks all processes are; None where there is another one."""
    from drapps import monitor
    from drapps.top.ranks import jobs

    processes = monitor.processes()
    groups = jobs(processes)
    return groups[0] if len(groups) == 1 and len(groups[0].ranks) == len(processes) else None


def _once_of(job: Job) -> Answer:
    from drapps import monitor
    from drapps.top.ranks import page

    looks: list[list[Any]] = []
    for number in range(2):
        if number:
            time.sleep(_BETWEEN)
        looks.append([])
        for each in job.ranks:
            with contextlib.suppress(MonitorError):  # it may have ended meanwhile
                looks[-1].append(monitor.snapshot(each.pid))
    before = {each.process.pid: each for each in looks[0]}
    return Answer(page(job, looks[1], before), {"ranks": [each.to_json() for each in looks[1]]})


def _only() -> int:
    """The one process that there is.

    Raises:
        PipelineError: there is none, or there are several.
    """
    from drapps import monitor

    processes = monitor.processes()
    if not processes:
        raise PipelineError(
            "no process of yours can be watched: one can from its first pass over a loader of "
            "DRAPPS on, unless DRAPPS_SOCKET=off"
        )
    if len(processes) > 1:
        pids = ", ".join(str(each.pid) for each in processes)
        raise PipelineError(f"several processes can be watched: name one of {pids}")
    return processes[0].pid
