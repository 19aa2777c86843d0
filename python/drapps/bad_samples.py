"""The bad samples of a loader as a file that other programs read: one JSON object per line."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drapps.arguments import path as name_of_file


class BadSamplesFile:
    """Appends to a file as samples turn out bad. Where it cannot be written, training goes on.

    A line has the fields of a bad sample (stage, code, path, offset, index, message), and
    ``epoch``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens nothing yet: the file appears with the first bad sample."""
        self._path = Path(path)
        self._failed = False

    def append(self, epoch: int, entries: list[dict[str, Any]]) -> None:
        """Writes entries behind what the file has."""
        if not entries or self._failed:
            return
        lines = "".join(_line({"epoch": epoch, **entry}) for entry in entries)
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(lines)
        except OSError as error:
            self._failed = True
            warnings.warn(
                f"the file of bad samples cannot be written ({error}); it goes on without",
                RuntimeWarning,
                stacklevel=3,
            )


def file_at(path: str | os.PathLike[str] | None) -> BadSamplesFile | None:
    """The file at a path; none where there is no path.

    Raises:
        PipelineError: this is no path.
    """
    return None if path is None else BadSamplesFile(name_of_file("bad_samples_file", path))


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry) + "\n"
