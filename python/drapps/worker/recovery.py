"""What happens when a worker process dies: a typed error, or its lost samples once more."""

from __future__ import annotations

import dataclasses
import reprlib
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from drapps import errors
from drapps.worker.assignment import Assignment
from drapps.worker.commands import BeginPass, MakeBatch, SentCommand, send
from drapps.worker.launch import SlimServerContext
from drapps.worker.limits import not_made
from drapps.worker.pool import ProcessPool
from drapps.worker.worker_process import Death, last_act

_ATTEMPTS = 3  # processes that one sample may cost, or the start of one
_START = (-1, -1)  # in the place of a sample


def __getattr__(name: str) -> Any:
    if name != "WorkerDiedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = f"{__name__}.{name} is drapps.{name}; the old name goes in 0.2"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return errors.WorkerDiedError


class Recovery:
    """What becomes of a death.

    Attributes:
        assignment: which process makes what now.
    """

    def __init__(self, pool: ProcessPool, assignment: Assignment) -> None:
        """Nothing was asked of the processes yet."""
        self.assignment = assignment
        self._pool = pool

    def remember(self, sent: SentCommand) -> None:
        """Keeps what a virtual worker was asked, so that another process can repeat it."""

    def forget(self, worker: int) -> None:
        """Another process of `worker` has nothing to repeat."""

    def forget_all(self) -> None:
        """No process has anything to repeat."""

    def began(self, sent: SentCommand, begun: BeginPass) -> None:
        """A pass has begun: nothing before `sent` is repeated, and in its place `begun`."""

    def progressed(self) -> None:
        """A result has come, so processes do start."""

    def check(self, sent: Iterable[SentCommand]) -> None:
        """Looks after the processes.

        Args:
            sent: the commands under way.

        Raises:
            WorkerDiedError: one died and nothing replaces it.
            WorkerStartError: a limit forbids one that is needed.
        """
        while deaths := self._pool.check():
            under_way = list(sent)
            for death in deaths:
                if death.not_begun:
                    self._do_without(death, under_way)
                else:
                    self._answer(death, under_way)

    def _do_without(self, unbegun: Death, sent: list[SentCommand]) -> None:
        """The others make what was asked of a process that could not begin, where any will do."""
        what = f"process for worker {unbegun.worker}"
        left, knob = len(self._pool.active), self.assignment.knob
        if not left or self.assignment.begins_bound:
            raise not_made(what, unbegun.not_begun)
        if self.assignment.bound:
            self._host_with_others(unbegun.number, sent)
        knob.control.want(left)
        knob.remark(f"{left} processes make all: {not_made(what, unbegun.not_begun)}")

    def _host_with_others(self, gone: int, sent: list[SentCommand]) -> None:
        board, assignment = self._pool.board, self.assignment
        hosts, others = assignment.hosts, [each.number for each in self._pool.active]
        hosted = [worker for worker, number in hosts.items() if number == gone]
        for worker in hosted:
            hosts[worker] = min(others, key=list(hosts.values()).count)
            self.forget(worker)
        assignment.share(hosted)
        for one in sent:
            if one.worker in hosted:
                if isinstance(one.command, MakeBatch):
                    one.command = dataclasses.replace(one.command, shared=True)
                board.cancel(one.ticket)
                process = assignment.process_of(one.worker)
                one.ticket = send(board, one.command, one.worker, process, one.position)
                self.remember(one)

    @abstractmethod
    def _answer(self, death: Death, sent: list[SentCommand]) -> None:
        """Makes up for a death, or raises."""


class RaiseOnDeath(Recovery):
    """A death is an error."""

    def _answer(self, death: Death, sent: list[SentCommand]) -> None:
        advice = 'on_worker_death="restart" makes the lost samples again in a new process.'
        if death.status.phase == "starting":
            advice = _advice_on_starts(self._pool)
        raise _error(death, sent, advice)


class RestartOnDeath(Recovery):
    """Another process takes the place of one that died."""

    def __init__(self, pool: ProcessPool, assignment: Assignment) -> None:
        super().__init__(pool, assignment)
        self._knob = assignment.knob
        # What each virtual worker was asked for, with tickets and positions.
        self._history: dict[int, list[tuple[int, MakeBatch | BeginPass, int]]] = {}
        self._passes = 0  # that the processes have ended
        self._losses: Counter[tuple[int, int]] = Counter()

    def remember(self, sent: SentCommand) -> None:
        """Keeps what a virtual worker was asked, where what follows may depend on it."""
        if self.assignment.repeats:
            entry = (sent.ticket, sent.command, sent.position)
            self._history.setdefault(sent.worker, []).append(entry)

    def forget(self, worker: int) -> None:
        """Another process of `worker` has nothing to repeat."""
        self._history.pop(worker, None)

    def forget_all(self) -> None:
        """No process has anything to repeat."""
        self._history.clear()

    def began(self, sent: SentCommand, begun: BeginPass) -> None:
        """A pass has begun: nothing before `sent` is repeated, and in its place `begun`."""
        self._passes += 1
        history = self._history.get(sent.worker)
        if history is not None:
            later = [entry for entry in history if entry[0] > sent.ticket]
            self._history[sent.worker] = [(sent.ticket, begun, 0), *later]

    def progressed(self) -> None:
        """A result has come, so processes do start."""
        del self._losses[_START]

    def _answer(self, death: Death, sent: list[SentCommand]) -> None:
        lasting = self._knob.lasting_state
        if self._passes and lasting:
            lost = ", ".join(lasting)
            raise _error(
                death, sent, f"What its dataset kept in {lost} in earlier passes is lost with it."
            )
        if death.stopped:
            reaped = self._pool.kill(death.number)
            if reaped is not None:
                death = dataclasses.replace(reaped, cause=f"{death.cause}, and was killed")
        for place in _blamed(death):
            self._losses[place] += 1
            if self._losses[place] >= _ATTEMPTS:
                advice = f"{_ATTEMPTS} processes have died of it."
                if place == _START:
                    advice = f"{_ATTEMPTS} processes have died at their start. "
                    advice += _advice_on_starts(self._pool)
                raise _error(death, sent, advice)
        who = "another process takes the place of a dead one, and makes"
        if self.assignment.bound:
            self._rebind(death, sent)
        elif death.retired and self._pool.active:
            who = "a process that was to end anyway died; the others make"
        else:
            who = self._replace(death, who)
        again = "its pass up to the place" if self._history else "what was lost"
        self._knob.remark(
            f"{who} {again} again",
            worker=death.worker,
            pid=death.pid,
            cause=death.cause,
        )

    def _replace(self, death: Death, who: str) -> str:
        """Starts another process; says who makes what was lost."""
        try:
            self._pool.start(death.worker)
        except errors.WorkerStartError as error:
            if not self._pool.active:
                raise
            left = len(self._pool.active)
            self._knob.control.want(left)
            return f"no process can be added ({error}); {left} are left, and make"
        return who

    def _rebind(self, death: Death, sent: list[SentCommand]) -> None:
        board = self._pool.board
        hosts = self.assignment.hosts
        hosted = [worker for worker, number in hosts.items() if number == death.number]
        own = [one.ticket for one in sent if one.worker in hosted]
        mine = [ticket for ticket in own if not board.done(ticket)]
        history = self._history.get(death.worker, [])
        replay = tuple(entry[1:] for entry in history if entry[0] not in mine)
        number = self._pool.start(death.worker, replay).number
        hosts.update(dict.fromkeys(hosted, number))
        for ticket in mine:
            board.repin(ticket, number)


# By what ``on_worker_death`` says.
RECOVERIES: dict[str, Callable[[ProcessPool, Assignment], Recovery]] = {
    "raise": RaiseOnDeath,
    "restart": RestartOnDeath,
}


def _blamed(death: Death) -> list[tuple[int, int]]:
    """What a process may have died of: what it was at, not all that waited for it."""
    if death.status.phase == "starting":
        return [_START]
    pieces = [place for place in death.lost if place[1] >= 0]
    return pieces or list(death.lost)


def _advice_on_starts(pool: ProcessPool) -> str:
    """What to look at where a process has ended before it had begun."""
    advice = "It ended while it started: why stands on stderr, where it has written it."
    fresh = pool.context.get_start_method() in ("spawn", "forkserver")
    if fresh and not isinstance(pool.context, SlimServerContext):
        advice += (
            " It imports the script first, so what makes loaders and trains must stand below "
            'if __name__ == "__main__":, or it would start over there.'
        )
    return advice


def _error(death: Death, sent: list[SentCommand], advice: str) -> errors.WorkerDiedError:
    """The error of a death, with what can be done."""
    commands = {one.ticket: one.command for one in sent}
    last = last_act(death.status, _index_of(death, commands.get(death.status.ticket)))
    message = (
        f"DataLoader worker (pid(s) {death.pid}) exited unexpectedly: {death.cause}; as worker "
        f"{death.worker}, {last}. {advice}"
    )
    return errors.WorkerDiedError(message, death.worker, death.pid, death.cause)


def _index_of(death: Death, command: MakeBatch | BeginPass | None) -> str:
    """What the sampler gave for the sample that a process did last."""
    if not isinstance(command, MakeBatch) or not command.has_index:
        return ""
    if command.grain == 0 or death.status.piece < 0:
        return f" (index {reprlib.repr(command.index)})"
    first = death.status.piece * command.grain
    indices = command.index[first : first + command.grain]
    return f" (index {reprlib.repr(indices[0] if command.grain == 1 else indices)})"
