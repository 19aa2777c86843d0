"""The processes that can be watched, and the trainings of several ranks, to choose one."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Footer, Header, OptionList, Static
from textual.widgets.option_list import Option

from drapps import monitor
from drapps.top.process_screen import ProcessScreen
from drapps.top.ranks import Job, jobs
from drapps.top.ranks_screen import RanksScreen
from drapps.top.view import WIDTH, cut, process_line

_JOB = "job "  # begins the names of lines that are no process
_NONE = (
    "No process of yours can be watched now. One can from its first pass over a\n"
    "loader of DRAPPS on, unless DRAPPS_SOCKET=off. This list looks again by itself."
)


class ProcessList(Screen[None]):
    """Arrows and return choose a process, or all ranks of a training."""

    BINDINGS: ClassVar[list[BindingType]] = [("r", "refresh_list", "look again")]
    CSS = "OptionList { border: none; height: 1fr; } #none { padding: 1 2; }"

    def __init__(self, look: float) -> None:
        """Makes it; `look`: seconds between two looks."""
        super().__init__()
        self._look = look
        self._finding = False  # whether a thread looks for processes
        self._jobs: dict[str, Job] = {}

    def compose(self) -> ComposeResult:
        """The list, or why there is none."""
        yield Header(icon="")
        yield Static(_NONE, id="none", markup=False)
        yield OptionList()
        yield Footer()

    def on_mount(self) -> None:
        """Looks at once, and then again and again."""
        self.query_one("#none").display = False
        self.set_interval(self._look, self.action_refresh_list)
        self.action_refresh_list()

    def action_refresh_list(self) -> None:
        """Looks, where the list is what is shown."""
        if self.is_current and not self._finding:
            self._finding = True
            self._find()

    @work(thread=True, exit_on_error=False)
    def _find(self) -> None:
        self.app.call_from_thread(self._show, monitor.processes())

    def _show(self, processes: list[monitor.ProcessReport]) -> None:
        self._finding = False
        listed = self.query_one(OptionList)
        self.query_one("#none").display = not processes
        listed.display = bool(processes)
        before = listed.highlighted
        chosen = None if before is None else listed.get_option_at_index(before).id
        listed.clear_options()
        lines = self._lines(processes)
        listed.add_options(
            Option(Text(cut(line, WIDTH - 4)), id=name) for name, line in lines.items()
        )
        names = list(lines)
        if names:
            listed.highlighted = names.index(chosen) if chosen in names else 0
            listed.focus()

    def _lines(self, processes: list[monitor.ProcessReport]) -> dict[str, str]:
        """A line for each process, by its number; above ranks one for their training."""
        self._jobs = {f"{_JOB}{each.name}": each for each in jobs(processes)}
        lines: dict[str, str] = {}
        for name, job in self._jobs.items():
            lines[name] = job.line
            lines |= {str(each.pid): f"  {process_line(each)}" for each in job.ranks}
        alone = (each for each in processes if str(each.pid) not in lines)
        return lines | {str(each.pid): process_line(each) for each in alone}

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return was pressed."""
        job = self._jobs.get(event.option.id or "")
        if job is not None:
            self.app.push_screen(RanksScreen(job, self._look))
        elif event.option.id is not None:
            self.app.push_screen(ProcessScreen(int(event.option.id), self._look))
