"""What was measured, phase by phase, in a small readable file that a later run goes on with."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from drapps.errors import PipelineError

VERSION = 1
KEY = "drapps_analysis"


class Journal:
    """The phases of an analysis.

    Attributes:
        about: the training that they are of.
        phases: what was measured, by the name of the phase.
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any]) -> None:
        """Goes on with a file, or begins one.

        Args:
            path: of the file; None: nothing is stored.
            about: what the phases depend on.

        Raises:
            PipelineError: the file is of another training, or no such file.
        """
        self.about = dict(about)
        self.phases: dict[str, Any] = {}
        self._path = path
        if path is not None and path.exists():
            stored = load(path)
            if stored["about"] != json.loads(json.dumps(self.about)):
                raise PipelineError(
                    f"{path} is the analysis of another training; name another file, or remove it"
                )
            self.phases = stored["phases"]

    def phase(self, name: str, measure: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """A phase: as it is stored, or measured now and stored."""
        if name not in self.phases:
            self.keep(name, measure())
        figures: Mapping[str, Any] = self.phases[name]
        return figures

    def keep(self, name: str, figures: Mapping[str, Any]) -> None:
        """Stores a phase.

        Raises:
            OSError: the file cannot be written.
        """
        self.phases[name] = dict(figures)
        if self._path is None:
            return
        text = json.dumps(self.facts(), indent=2) + "\n"
        unfinished = self._path.with_name(f"{self._path.name}.{secrets.token_hex(4)}")
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, self._path)  # noqa: PTH105 - a file of ours, whole or as it was

    def facts(self) -> dict[str, Any]:
        """All of the journal, JSON-able."""
        return {KEY: VERSION, "about": self.about, "phases": self.phases}


def load(path: Path) -> dict[str, Any]:
    """What a `Journal` has stored.

    Raises:
        PipelineError: the file cannot be read, or is none of these.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        known = stored[KEY] == VERSION
        if known and isinstance(stored["about"], dict) and isinstance(stored["phases"], dict):
            return dict(stored)
    except OSError as error:
        raise PipelineError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        known = False
    raise PipelineError(f"{path} is no analysis that drapps analyze --json has written")
