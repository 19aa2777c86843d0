"""One training of several ranks: a line for each."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Footer, Header, OptionList, Static
from textual.widgets.option_list import Option

from drapps import monitor
from drapps.errors import MonitorError
from drapps.monitor.client import Snapshot
from drapps.top.process_screen import ProcessScreen
from drapps.top.ranks import HEAD, Job, jobs, row, summary
from drapps.top.view import WIDTH, cut

_INNER = WIDTH - 4


class RanksScreen(Screen[None]):
    """Arrows and return choose a rank, escape leaves for the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "list"),
        ("p", "pause", "pause"),
    ]
    CSS = """
    #job, #summary { height: 1; padding: 0 1; }
    #job { text-style: bold; }
    #head { height: 1; padding: 0 1; }
    OptionList { border: none; height: 1fr; padding: 0; }
    """

    def __init__(self, job: Job, look: float) -> None:
        """Makes it.

        Args:
            job: the training.
            look: seconds between two looks.
        """
        super().__init__()
        self._job, self._look = job, look
        self._before: dict[int, Snapshot] = {}
        self._paused = False
        self._asking = False  # whether a thread asks the ranks

    def compose(self) -> ComposeResult:
        """The training, what its ranks come to, and a line for each."""
        yield Header(icon="")
        yield Static(cut(self._job.line, _INNER), id="job", markup=False)
        yield Static("looks at its ranks", id="summary", markup=False)
        yield Static(HEAD, id="head", markup=False)
        yield OptionList()
        yield Footer()

    def on_mount(self) -> None:
        """Looks at once, and then again and again."""
        self.query_one(OptionList).focus()
        self.set_interval(self._look, self._look_again)
        self._look_again()

    def _look_again(self) -> None:
        if self.is_current and not (self._paused or self._asking):
            self._asking = True
            self._ask()

    @work(thread=True, exit_on_error=False)
    def _ask(self) -> None:
        job = {each.name: each for each in jobs(monitor.processes())}.get(self._job.name)
        seen = [] if job is None else list(_seen(job))
        self.app.call_from_thread(self._show, job, seen)

    def _show(self, job: Job | None, seen: list[Snapshot]) -> None:
        self._asking = False
        if job is None:
            why = "no more figures than these: fewer than two of its ranks answer"
            self.query_one("#summary", Static).update(why)
            return
        self._job = job
        rows = [row(each, self._before.get(each.process.pid)) for each in seen]
        self._before = {each.process.pid: each for each in seen}
        stalls = {each.process.rank: stall for each, (_, stall) in zip(seen, rows, strict=True)}
        self.query_one("#job", Static).update(cut(job.line, _INNER))
        self.query_one("#summary", Static).update(cut(summary(job, stalls), _INNER))
        listed = self.query_one(OptionList)
        chosen = listed.highlighted
        listed.clear_options()
        listed.add_options(
            Option(Text(line, no_wrap=True), id=str(each.process.pid))
            for each, (line, _) in zip(seen, rows, strict=True)
        )
        if seen:
            listed.highlighted = min(chosen or 0, len(seen) - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return was pressed."""
        if event.option.id is not None:
            self.app.push_screen(ProcessScreen(int(event.option.id), self._look))

    def action_leave(self) -> None:
        """Leaves for the list."""
        self.dismiss()

    def action_pause(self) -> None:
        """What is shown stays, until the key is pressed again."""
        self._paused = not self._paused


def _seen(job: Job) -> list[Snapshot]:
    """The ranks that answer now."""
    snapshots = []
    for each in job.ranks:
        with suppress(MonitorError):
            snapshots.append(monitor.snapshot(each.pid))
    return snapshots
