"""Recordings of loaders that are under way; `drapps.trace` reads what they wrote."""

from __future__ import annotations

import os
import warnings
from typing import Protocol

from drapps.arguments import path as path_of
from drapps.errors import PipelineError


class Recorder(Protocol):
    """What records in the core: the native loader, or the control plane of worker processes."""

    def stop_recording(self) -> None:
        """Writes what is left and closes the file."""

    def take_warning(self) -> str:
        """Why a recording ended by itself, once; else empty."""


class Recording:
    """A recording; made by ``loader.record(path)``.

    It ends at `stop`, at the end of its ``with`` block, or with its loader. Where the file takes no
    more, as on a full disk, it ends with one ``RuntimeWarning`` and the loader goes on.

    Attributes:
        path: of the trace.
    """

    def __init__(self, recorder: Recorder, path: str) -> None:
        self.path = path
        self._recorder: Recorder | None = recorder

    @property
    def recorder(self) -> Recorder | None:
        """What is recorded; None once it was stopped."""
        return self._recorder

    def stop(self) -> None:
        """Writes what is left and closes the file. Again does nothing."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop_recording()
            warn(recorder)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class NativeRecorder(Recorder, Protocol):
    """The native loader."""

    def record(self, path: bytes) -> None:
        """Records into a new file."""


def record_native(loader: NativeRecorder, path: str | os.PathLike[str]) -> Recording:
    """Records a native loader into a new file.

    Raises:
        PipelineError: the loader is recorded already, or there is a file of this name.
        OSError: the file cannot be made.
    """
    name = path_of("path", path)
    try:
        loader.record(os.fsencode(name))
    except ValueError as error:
        raise PipelineError(str(error)) from None
    return Recording(loader, name)


def warn(recorder: Recorder) -> None:
    """Says once where a recording has ended by itself."""
    warning = recorder.take_warning()
    if warning:
        warnings.warn(warning, RuntimeWarning, stacklevel=3)


def look_after(recording: Recording, now: Recorder) -> None:
    """Warns where a recording has ended by itself, and ends it where another loader runs `now`."""
    recorder = recording.recorder
    if recorder is None:
        return
    warn(recorder)
    if recorder is not now:
        recording.stop()
        warnings.warn(
            f"the recording into {recording.path} has ended: the dataset or its transforms are "
            "others now; record the loader again",
            RuntimeWarning,
            stacklevel=4,
        )
