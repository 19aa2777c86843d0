"""Each cell of the fault matrix, as `table` says it."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.fault_matrix import table
from tests.fault_matrix.harness import Harness, Session
from tests.fault_matrix.table import Cell, Outcome

_LONG = 600.0  # seconds for all of a scene; spawned workers import torch several times
_ENDS_THE_SCRIPT = ("parent", "unpicklable exception", "interpreter exit")
_SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGSEGV": signal.SIGSEGV}


def test_the_table_is_complete() -> None:
    places = set(itertools.product(table.ACTORS, table.FAULTS, table.MOMENTS, table.METHODS))
    assert {(c.actor, c.fault, c.moment, c.method) for c in table.CELLS} == places
    assert len(table.CELLS) == len(places) == 3 * 6 * 3 * 3
    assert all(expected.note for expected in table.TABLE.values())


@pytest.fixture(scope="module")
def played(harness: Harness, request: pytest.FixtureRequest) -> Iterator[dict[Cell, Future[None]]]:
    """All cells that are asked for, some at a time: most of them wait most of their time."""
    chosen = [
        item.callspec.params["cell"]
        for item in request.session.items
        if item.module is request.module and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(2 + (os.cpu_count() or 1)) as pool:
        yield {cell: pool.submit(_play, harness, cell) for cell in chosen}


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, id=str(cell), marks=() if table.in_cut(cell) else pytest.mark.full)
        for cell in table.POSSIBLE
    ],
)
def test_cell(cell: Cell, played: dict[Cell, Future[None]]) -> None:
    played[cell].result()


def _play(harness: Harness, cell: Cell) -> None:
    session = harness.start("scenes", "play", cell.actor, cell.fault, cell.moment, cell.method)
    try:
        _watch(session, cell)
    finally:
        session.end()


def _watch(session: Session, cell: Cell) -> None:
    outcome = table.TABLE[cell.actor, cell.fault, cell.moment].outcome
    if cell.actor == "parent" and cell.fault in _FROM_OUTSIDE:
        session.wait_for("now", _LONG)
        time.sleep(0.2)
        _FROM_OUTSIDE[cell.fault](session)
    if outcome is Outcome.EXITS:
        session.wait_for("exiting", _LONG)
        status = session.wait(10)
    else:
        status = session.wait(_LONG)
    report = f"status {status}\n{session.output}\n{session.errors}"
    if outcome is Outcome.GONE:
        assert status == (-_SIGNALS[cell.fault] if cell.fault in _SIGNALS else 7), report
    elif (cell.actor, cell.fault, cell.moment) == _ENDS_THE_SCRIPT:
        assert status == 1, report
        assert "LocalError: the reason in words" in session.errors
    else:
        interrupted = cell.fault == "Ctrl-C" and outcome is Outcome.EXITS
        assert status == 0 or (interrupted and status == -signal.SIGINT), report
        assert "whole" in session.output.splitlines()
    session.wait_empty(10)


def _stop_for_a_while(session: Session) -> None:
    os.kill(session.pid, signal.SIGSTOP)
    time.sleep(2)
    os.kill(session.pid, signal.SIGCONT)


_FROM_OUTSIDE: dict[str, Callable[[Session], None]] = {
    "SIGKILL": lambda session: os.kill(session.pid, signal.SIGKILL),
    "SIGSEGV": lambda session: os.kill(session.pid, signal.SIGSEGV),
    "SIGSTOP": _stop_for_a_while,
    "Ctrl-C": lambda session: os.killpg(session.pid, signal.SIGINT),
}
