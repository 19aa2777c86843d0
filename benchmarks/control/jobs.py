"""What is simulated, in jobs that processes take; arguments and results are plain for JSON."""

from __future__ import annotations

import functools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any

from benchmarks.control import measure, sensitivity
from benchmarks.control.arms import more_of, name_of
from benchmarks.control.cells import Cell, cells
from benchmarks.journal import Journal
from drapps import simulation
from drapps.simulation.cases import Rates
from drapps.simulation.tuning import Parameters, best_known, parameters_of, tune

Job = tuple[Any, ...]  # what it is kept under
Say = Callable[[str], None]


@functools.cache
def cells_of(machine: str, variation: int) -> tuple[Cell, ...]:
    """All cells of a shipped machine."""
    return tuple(cells(simulation.load(machine), variation))


def known(machine: str, variation: int) -> list[Rates]:
    """The best known rates of the cells in which policies are tuned."""
    return best_known([cell.case for cell in cells_of(machine, variation)])


def tuned(
    arm: str, machines: Sequence[str], variations: Sequence[int], budget: int, best: list[Rates]
) -> dict[str, Any]:
    """The policy of an arm with its best parameters, tuned in all cells of these variations."""
    name = name_of(arm)
    if not parameters_of(name):
        return {"name": name, "parameters": {}}
    runs = [
        cell.case
        for machine in machines
        for variation in variations
        for cell in cells_of(machine, variation)
    ]
    rates = [tuple(each) for each in best]
    tuning = tune(name, runs, budget, best=rates, more=functools.partial(more_of, arm))
    return tuning.to_json()


def row(key: Sequence[Any], parameters: Mapping[str, Parameters]) -> dict[str, Any]:
    """The row of a cell."""
    machine, _, _, variation = key
    cell = next(cell for cell in cells_of(machine, variation) if list(cell.key) == list(key))
    return measure.measured(cell, parameters)


def verdicts(
    machine: str, number: str, arm: str, parameters: Parameters, variation: int
) -> list[dict[str, Any]]:
    """What becomes of a machine's verdicts where one of its numbers is other than assumed."""
    return sensitivity.verdicts(simulation.load(machine), number, arm, parameters, variation)


def all_of(
    journal: Journal,
    kind: str,
    work: Callable[..., Any],
    jobs: Iterable[tuple[Job, tuple[Any, ...]]],
    say: Say,
) -> list[Any]:
    """The results of jobs, in order, from the journal or from as many processes as cores.

    Args:
        journal: that keeps each as it comes.
        kind: of jobs; with what each is kept under it names a result.
        work: a function of a module.
        jobs: what each is kept under, and its arguments.
        say: is told how many are done.
    """
    wanted = list(jobs)
    results = {job: journal.get(kind, *job) for job, _ in wanted}
    left = [(job, arguments) for job, arguments in wanted if results[job] is None]
    if left:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
            running: dict[Future[Any], Job] = {
                pool.submit(work, *arguments): job for job, arguments in left
            }
            try:
                for number, done in enumerate(as_completed(running), 1):
                    job = running[done]
                    results[job] = done.result()
                    journal.keep(kind, *job, result=results[job])
                    if number % 20 == 0 or number == len(left):
                        say(f"{kind}: {number} of {len(left)}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [results[job] for job, _ in wanted]
