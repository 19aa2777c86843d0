"""One process: what its loaders do, one loader at a time."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Footer, Header, Static

from drapps.errors import MonitorError
from drapps.monitor.client import Client, Snapshot, connected
from drapps.top.view import WIDTH, Section, cut, loader_line, process_line, sections

_TITLES = ("training", "stages", "workers", "memory", "cache", "knobs", "decisions")
_INNER = WIDTH - 4  # columns beside the scroll bar and the margin


class ProcessScreen(Screen[None]):
    """Arrows and pages scroll, digits go to a part, ``n`` to the next loader, escape to the list.

    Attributes:
        snapshot: what was seen last; None before.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "leave", "list"),
        ("n", "next_loader", "next loader"),
        ("p", "pause", "pause"),
        Binding("1", "go(1)", "to a part", key_display=f"1-{len(_TITLES)}"),
        *[Binding(str(at), f"go({at})", show=False) for at in range(2, len(_TITLES) + 1)],
    ]
    CSS = """
    #process { height: 1; padding: 0 1; text-style: bold; }
    #state { height: auto; max-height: 3; padding: 0 1; }
    VerticalScroll { height: 1fr; }
    .part { height: auto; padding: 0 1; }
    """

    def __init__(self, pid: int, look: float) -> None:
        """Makes it.

        Args:
            pid: the process.
            look: seconds between two looks.
        """
        super().__init__()
        self._pid, self._look = pid, look
        self._client: Client | None = None
        self._before: Snapshot | None = None
        self.snapshot: Snapshot | None = None
        self._chosen = 0  # place of the loader among those that are there
        self._paused = False
        self._asking = False  # whether a thread asks the process

    def compose(self) -> ComposeResult:
        """The process, the state of watching it, and the parts of one loader."""
        yield Header(icon="")
        yield Static(f"process {self._pid}", id="process", markup=False)
        yield Static("looks for it", id="state", markup=False)
        with VerticalScroll():
            for title in _TITLES:
                yield Static("", id=title, classes="part", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Looks at once, and then again and again."""
        self.query_one(VerticalScroll).focus()
        self.set_interval(self._look, self._look_again)
        self._look_again()

    def on_unmount(self) -> None:
        """Leaves the process."""
        if self._client is not None:
            self._client.close()

    def _look_again(self) -> None:
        if not (self._paused or self._asking):
            self._asking = True
            self._ask()

    @work(thread=True, exit_on_error=False)
    def _ask(self) -> None:
        """Asks the process, on a thread of its own: one that is stopped holds nothing up here."""
        try:
            if self._client is None:
                self._client = connected(self._pid)
            seen = self._client.snapshot()
        except MonitorError as error:
            if self._client is not None:
                self._client.close()
            self._client = None
            self.app.call_from_thread(self._fail, str(error))
            return
        self.app.call_from_thread(self._show, seen)

    def _fail(self, why: str) -> None:
        self._asking = False
        last = "" if self.snapshot is None else "no more figures than these: "
        self.query_one("#state", Static).update(cut(f"{last}{why}", 3 * _INNER))

    def _show(self, seen: Snapshot) -> None:
        self._asking = False
        self._before, self.snapshot = self.snapshot, seen
        self._draw()

    def _draw(self) -> None:
        seen = self.snapshot
        if seen is None:
            return
        line = process_line(seen.process).strip()
        self.query_one("#process", Static).update(cut(f"process {line}", _INNER))
        if not seen.loaders:
            self.query_one("#state", Static).update("no loader that has begun a pass is alive")
            return
        loader = seen.loaders[self._chosen % len(seen.loaders)]
        before = () if self._before is None else self._before.loaders
        earlier = next((each for each in before if each.number == loader.number), None)
        state = f"{loader_line(loader)}{'  paused' if self._paused else ''}"
        self.query_one("#state", Static).update(cut(state, _INNER))
        for section in sections(seen.process, loader, earlier):
            self.query_one(f"#{section.title}", Static).update(_drawn(section))

    def action_leave(self) -> None:
        """Leaves for the list."""
        self.dismiss()

    def action_next_loader(self) -> None:
        """The next loader of the process, behind the last one the first."""
        self._chosen += 1
        self._draw()

    def action_pause(self) -> None:
        """What is shown stays, until the key is pressed again."""
        self._paused = not self._paused
        self._draw()

    def action_go(self, at: int) -> None:
        """Scrolls to a part of the page."""
        self.query_one(VerticalScroll).scroll_to_widget(
            self.query_one(f"#{_TITLES[at - 1]}"), top=True, animate=False
        )


def _drawn(section: Section) -> Text:
    text = Text(section.text(_INNER), no_wrap=True)
    text.stylize("bold", 0, len(section.title))
    return text
