"""The fault matrix: each cell says what is to come of it, or why it cannot be.

A cell is (who is hit, by what, when, how worker processes start). The expectation depends on the
first three; that it holds for each start method is what the fourth is for.
"""

from __future__ import annotations

import enum
import itertools
from dataclasses import dataclass

ACTORS = ("worker", "transfer thread", "parent")
FAULTS = (
    "SIGKILL",
    "SIGSEGV",
    "SIGSTOP",
    "unpicklable exception",
    "exit in __del__",
    "Ctrl-C",
)
MOMENTS = ("mid-epoch", "between epochs", "interpreter exit")
METHODS = ("fork", "spawn", "forkserver")


class Outcome(enum.Enum):
    """What is to come of a fault. In each case nothing is left of the loader 10 s later."""

    DIED_OR_RESTARTED = (
        "by default a WorkerDiedError within 10 s that names worker, cause and last sample, and "
        'the next epoch is whole; with on_worker_death="restart" the stream is as without the fault'
    )
    RAISED = "an error that keeps type or its name, traceback and sample; what follows is whole"
    GOES_ON = "the stream, or the next one after a KeyboardInterrupt, is as without the fault"
    GONE = "the parent is gone: no process and no shared memory is left after 10 s"
    EXITS = "the parent ends by itself within 10 s"
    IMPOSSIBLE = "it cannot be"


@dataclass(frozen=True)
class Expected:
    """What a cell expects, and `note`: how the fault is made, or why it cannot be."""

    outcome: Outcome
    note: str


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix."""

    actor: str
    fault: str
    moment: str
    method: str

    def __str__(self) -> str:
        return "-".join((self.actor, self.fault, self.moment, self.method)).replace(" ", "_")


_WHOLE_PROCESS = (
    "a signal acts on a whole process, and this thread would be one of the parent's: see the "
    "parent's cell"
)
_MAIN_THREAD = "Python raises KeyboardInterrupt in the main thread alone: see the parent's cell"
_IDLE = "nothing of the user's runs in this thread between two epochs"
_TRANSFER = {
    ("unpicklable exception", "mid-epoch"): (Outcome.RAISED, "a batch's pin_memory() raises it"),
    ("unpicklable exception", "between epochs"): (Outcome.RAISED, "that of a second pass does"),
    ("unpicklable exception", "interpreter exit"): (Outcome.EXITS, "that of one never asked for"),
    ("exit in __del__", "mid-epoch"): (Outcome.GONE, "os._exit in a batch's pin_memory()"),
    ("exit in __del__", "between epochs"): (Outcome.IMPOSSIBLE, _IDLE),
    ("exit in __del__", "interpreter exit"): (Outcome.GONE, "os._exit while the parent exits"),
    **{("Ctrl-C", moment): (Outcome.IMPOSSIBLE, _MAIN_THREAD) for moment in MOMENTS},
    **{
        (signal, moment): (Outcome.IMPOSSIBLE, _WHOLE_PROCESS)
        for signal in ("SIGKILL", "SIGSEGV", "SIGSTOP")
        for moment in MOMENTS
    },
}

_WORKER_NOTES = {
    "SIGKILL": "sent to one worker process",
    "SIGSEGV": "sent to one worker process",
    "SIGSTOP": "sent to one worker process, which stays stopped; between epochs in torch_order",
    "exit in __del__": "an object of the dataset ends one worker process by os._exit",
    "Ctrl-C": "SIGINT sent to one worker process alone",
}

_PARENT = {
    ("SIGKILL", "mid-epoch"): (Outcome.GONE, "sent while next() waits"),
    ("SIGKILL", "between epochs"): (Outcome.GONE, "sent while persistent workers idle"),
    ("SIGKILL", "interpreter exit"): (Outcome.GONE, "sent while workers are waited for"),
    ("SIGSEGV", "mid-epoch"): (Outcome.GONE, "sent while next() waits"),
    ("SIGSEGV", "between epochs"): (Outcome.GONE, "sent while persistent workers idle"),
    ("SIGSEGV", "interpreter exit"): (Outcome.GONE, "sent while workers are waited for"),
    ("SIGSTOP", "mid-epoch"): (Outcome.GOES_ON, "stopped for 2 s, then continued"),
    ("SIGSTOP", "between epochs"): (Outcome.GOES_ON, "stopped for 2 s, then continued"),
    ("SIGSTOP", "interpreter exit"): (Outcome.EXITS, "stopped for 2 s, then continued"),
    ("unpicklable exception", "mid-epoch"): (Outcome.RAISED, "the sampler raises it"),
    ("unpicklable exception", "between epochs"): (Outcome.RAISED, "the sampler's iter() raises it"),
    ("unpicklable exception", "interpreter exit"): (Outcome.EXITS, "it ends the script"),
    ("exit in __del__", "mid-epoch"): (Outcome.GONE, "os._exit while workers work"),
    ("exit in __del__", "between epochs"): (Outcome.GONE, "os._exit while persistent workers idle"),
    ("exit in __del__", "interpreter exit"): (Outcome.GONE, "os._exit in an atexit handler"),
    ("Ctrl-C", "mid-epoch"): (Outcome.GOES_ON, "SIGINT to all of the terminal's processes"),
    ("Ctrl-C", "between epochs"): (Outcome.GOES_ON, "SIGINT to all of the terminal's processes"),
    ("Ctrl-C", "interpreter exit"): (Outcome.EXITS, "SIGINT while workers are waited for"),
}


def _of_worker(fault: str, moment: str) -> Expected:
    if fault == "unpicklable exception":
        return {
            "mid-epoch": Expected(Outcome.RAISED, "a sample raises it"),
            "between epochs": Expected(Outcome.RAISED, "a stream's second iter() does"),
            "interpreter exit": Expected(Outcome.EXITS, "it waits among results never asked for"),
        }[moment]
    if moment == "interpreter exit":
        return Expected(Outcome.EXITS, _WORKER_NOTES[fault] + " in an atexit handler")
    return Expected(Outcome.DIED_OR_RESTARTED, _WORKER_NOTES[fault])


TABLE: dict[tuple[str, str, str], Expected] = {
    **{("worker", f, m): _of_worker(f, m) for f, m in itertools.product(FAULTS, MOMENTS)},
    **{("transfer thread", *key): Expected(*expected) for key, expected in _TRANSFER.items()},
    **{("parent", *key): Expected(*expected) for key, expected in _PARENT.items()},
}

CELLS = [Cell(*place, method) for place in TABLE for method in METHODS]
POSSIBLE = [
    cell
    for cell in CELLS
    if TABLE[cell.actor, cell.fault, cell.moment].outcome is not Outcome.IMPOSSIBLE
]


def in_cut(cell: Cell) -> bool:
    """Whether the short run has the cell.

    By fork it has every actor with the faults and moments that differ most; by forkserver the end
    of a parent whose children the workers are not. Spawned workers import torch for seconds each.
    """
    if cell.method != "fork":
        plain = (cell.actor, cell.fault, cell.moment) == ("parent", "SIGKILL", "mid-epoch")
        return plain and cell.method == "forkserver"
    moments: dict[tuple[str, str], tuple[str, ...]] = {
        ("worker", "SIGKILL"): ("mid-epoch", "between epochs"),
        ("worker", "SIGSEGV"): (),  # as SIGKILL
        ("worker", "unpicklable exception"): ("mid-epoch", "between epochs"),
        ("transfer thread", "unpicklable exception"): ("mid-epoch", "between epochs"),
        ("parent", "SIGKILL"): ("mid-epoch", "interpreter exit"),
        ("parent", "SIGSEGV"): (),  # as SIGKILL
        ("parent", "unpicklable exception"): ("interpreter exit",),
        ("parent", "Ctrl-C"): MOMENTS,
    }
    once = "between epochs" if cell.fault == "SIGSTOP" else "mid-epoch"
    return cell.moment in moments.get((cell.actor, cell.fault), (once,))
