"""What DRAPPS raises: wrong use of an interface, worker processes that end, bad samples."""

from __future__ import annotations


class PipelineError(ValueError):
    """A pipeline, a state or an option that makes no sense; the message says what to change."""


class StateError(PipelineError):
    """A saved state that cannot be gone on with: damaged, or of another stream; it names which."""


class DataNotFoundError(PipelineError, FileNotFoundError):
    """A folder without what a source needs: the folder itself, its classes, or their pictures."""


class WorkerStartError(PipelineError, OSError):
    """The system makes no worker process or thread; the message says which limits to raise."""


class MonitorError(PipelineError):
    """A process whose statistics cannot be had; the message says which, why, and what to do."""


class WorkerDiedError(RuntimeError):
    """A worker process ended, or stands still; the message names it, the cause and the sample.

    Attributes:
        worker: id of the virtual worker that the process began as.
        pid: of the process.
        cause: what ended it.
    """

    def __init__(self, message: str, worker: int = -1, pid: int = -1, cause: str = "") -> None:
        super().__init__(message)
        self.worker = worker
        self.pid = pid
        self.cause = cause


class SampleError(RuntimeError):
    """A sample that could not be delivered. The iterator that raised it stays usable.

    Attributes:
        stage: where it failed: ``fetch``, ``decode``, ``augment``, ``batch`` or ``deliver``.
        code: the kind of failure, such as ``truncated`` or ``not found``.
        path: the file, for a record in a shard with its range of bytes (``a.tar[512:9000]``)
            behind; ``memory[i]`` for a record in memory.
        offset: byte of the file (or of the record, in a shard) at which it was noticed, or -1.
        index: index of the sample in its source, or -1.
        message: what was wrong and what to do, without the place.
    """

    def __init__(
        self, stage: str, code: str, path: str, offset: int, index: int, message: str
    ) -> None:
        super().__init__(stage, code, path, offset, index, message)
        self.stage = stage
        self.code = code
        self.path = path
        self.offset = offset
        self.index = index
        self.message = message

    def __str__(self) -> str:
        place = self.path
        if self.index >= 0:
            place += f" (sample {self.index})"
        if self.offset >= 0:
            place += f" at byte {self.offset}"
        parts = [self.stage, self.code, place.strip(), self.message]
        return ": ".join(part for part in parts if part)
