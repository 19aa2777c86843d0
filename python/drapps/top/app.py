"""The screen of ``drapps top``: a list of processes, and one process at a time."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import BindingType

from drapps.top.process_list import ProcessList
from drapps.top.process_screen import ProcessScreen

LOOK = 1.0  # seconds between two looks at a process


class Top(App[None]):
    """Shows processes until it is left with ``q``; all of it by keyboard."""

    TITLE = "drapps top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "quit")]

    def __init__(self, pid: int | None = None, look: float = LOOK) -> None:
        """Makes it.

        Args:
            pid: the process to begin with; None begins with the list.
            look: seconds between two looks.
        """
        super().__init__()
        self._pid, self._look = pid, look

    def on_mount(self) -> None:
        """The list lies below the process, which escape leaves."""
        self.push_screen(ProcessList(self._look))
        if self._pid is not None:
            self.push_screen(ProcessScreen(self._pid, self._look))
