"""The processes that can be watched, to choose one."""

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
from drapps.top.view import WIDTH, cut, process_line

_NONE = (
    "No process of yours can be watched now. One can from its first pass over a\n"
    "loader of DRAPPS on, unless DRAPPS_SOCKET=off. This list looks again by itself."
)


class ProcessList(Screen[None]):
    """Arrows and return choose a process."""

    BINDINGS: ClassVar[list[BindingType]] = [("r", "refresh_list", "look again")]
    CSS = "OptionList { border: none; height: 1fr; } #none { padding: 1 2; }"

    def __init__(self, look: float) -> None:
        """Makes it; `look`: seconds between two looks."""
        super().__init__()
        self._look = look
        self._finding = False  # a thread is at it

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

    def _show(self, found: list[monitor.ProcessReport]) -> None:
        self._finding = False
        listed = self.query_one(OptionList)
        self.query_one("#none").display = not found
        listed.display = bool(found)
        before = listed.highlighted
        chosen = None if before is None else listed.get_option_at_index(before).id
        listed.clear_options()
        listed.add_options(
            Option(Text(cut(process_line(each), WIDTH - 4)), id=str(each.pid)) for each in found
        )
        pids = [str(each.pid) for each in found]
        if pids:
            listed.highlighted = pids.index(chosen) if chosen in pids else 0
            listed.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return was pressed."""
        if event.option.id is not None:
            self.app.push_screen(ProcessScreen(int(event.option.id), self._look))
