"""Files as if they lay on a slower storage than this machine has."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MethodType
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from PIL import Image

    from drapps import _core

_LONGEST = 1e9  # seconds


@dataclass(frozen=True)
class Conditions:
    """How a storage behaves. Of numbers that limit something, 0 is no limit.

    Attributes:
        bandwidth: bytes per second, of all reads together: a number, or a size such as ``"100MB"``.
        connection_bandwidth: the same of one read.
        latency: seconds that a read takes before its bytes come; the median.
        latency_spread: standard deviation of the latency's natural logarithm.
        requests_per_second: beyond which requests are refused.
        refuses: every request is refused.
        stalls: no read ends.
    """

    bandwidth: float = 0.0
    connection_bandwidth: float = 0.0
    latency: float = 0.0
    latency_spread: float = 0.0
    requests_per_second: float = 0.0
    refuses: bool = False
    stalls: bool = False

    def changed(self, changes: Mapping[str, Any]) -> Conditions:
        """These conditions, but for some that change.

        Raises:
            PipelineError: there is no such condition, or it is of another kind.
        """
        names = [field.name for field in fields(self)]
        for name in changes:
            if name not in names:
                raise PipelineError(f"a storage has no {name!r}; it has {', '.join(names)}")
        return Conditions(
            **{**vars(self), **{name: _condition(name, changes[name]) for name in changes}}
        )


def _condition(name: str, value: Any) -> float | bool:
    """A condition as the core takes it; how large it may be is the core's affair."""
    if name in ("refuses", "stalls"):
        return arguments.flag(name, value)
    if name in ("bandwidth", "connection_bandwidth") and isinstance(value, str):
        return float(arguments.byte_count(name, value, 0))
    number = arguments.number_in(value)
    if number is None:
        raise PipelineError(f"{name}={value!r} must be a number from 0")
    return number


@dataclass(frozen=True)
class _Emulation:
    """What an emulated storage is made of, in any process."""

    schedule: tuple[tuple[float, Conditions], ...]
    period: float
    burst: float
    seed: int
    deadline: float

    def build(self, fd: int = -1) -> _core.EmulatedStorage:
        from drapps import _core

        rows = [(at, *vars(conditions).values()) for at, conditions in self.schedule]
        try:
            return _core.EmulatedStorage(
                rows, self.period, self.burst, self.seed, self.deadline, fd
            )
        except ValueError as error:
            raise PipelineError(str(error)) from None


class EmulatedStorage:
    """Made by `drapps.emulate`. `Pipeline.on` reads from it, and so does `open`, in any process.

    Threads, forked and spawned processes draw on the same bandwidth and the same schedule, as long
    as the process that made it lives.
    """

    def __init__(self, emulation: _Emulation, fd: int = -1) -> None:
        """Begins now, or joins the storage behind a descriptor."""
        self._emulation = emulation
        self._core = emulation.build(fd)

    def __reduce__(self) -> tuple[Any, ...]:
        return _joined, (self._emulation, os.getpid(), self._core.fd)

    def open(self, path: str | bytes | os.PathLike[Any], mode: str = "rb") -> io.BytesIO:
        """A file's bytes, which come when the storage would have sent them.

        What is refused is asked for again until the deadline, and what stalls is waited for. For
        datasets of your own.

        Args:
            path: of the file.
            mode: ``rb``; there is no other.

        Raises:
            OSError: the file cannot be read; as of the built-in ``open``.
            TimeoutError: the storage has refused it, or stalled, until the deadline.
        """
        if mode != "rb":
            raise ValueError(f"mode={mode!r}: files of an emulated storage are opened as 'rb'")
        io.FileIO(os.fspath(path)).close()  # raises as open does
        return io.BytesIO(self._core.read(os.fsencode(path)))

    def load_image(self, path: str | os.PathLike[str]) -> Image.Image:
        """A picture, for torchvision's datasets: ``ImageFolder(root, loader=storage.load_image)``.

        It is what torchvision's ``pil_loader`` gives. `drapps.torch.DataLoader` reads such a folder
        natively from this storage; the stock loader calls this, in its workers too.

        Returns:
            A Pillow picture of mode ``RGB``.

        Raises:
            OSError: the file cannot be read, or is no picture (``PIL.UnidentifiedImageError``).
            TimeoutError: the storage has refused it, or stalled, until the deadline.
        """
        from PIL import Image

        with self.open(path) as file, Image.open(file) as picture:
            converted: Image.Image = picture.convert("RGB")
            return converted

    def stats(self) -> dict[str, Any]:
        """What this process has read here.

        ``kind`` is ``"emulated"``. ``reads``, ``bytes``, ``refusals``, ``retries`` and ``failures``
        count from the beginning; ``in_flight`` is the number of reads under way; ``latency_p50_s``
        and ``latency_p99_s`` are in seconds, from the start of a read's I/O to its end, and at
        most a quarter too much.
        """
        return dict(self._core.stats())

    def holds(self, source: _core.Source) -> None:
        """From now on the files of a source that nobody reads yet lie here."""
        self._core.holds(source)


_READS = {name: vars(EmulatedStorage)[name] for name in ("load_image", "open")}


def storage_of(loader: Any) -> EmulatedStorage | None:
    """The storage whose `EmulatedStorage.load_image` something is; None where it may do more."""
    storage = getattr(loader, "__self__", None)
    if type(loader) is not MethodType or type(storage) is not EmulatedStorage:
        return None
    if loader.__func__ is not _READS["load_image"] or not _READS.keys().isdisjoint(vars(storage)):
        return None
    own = all(vars(EmulatedStorage)[name] is function for name, function in _READS.items())
    return storage if own else None


def _joined(emulation: _Emulation, pid: int, fd: int) -> EmulatedStorage:
    """The storage that the process `pid` knows by the descriptor `fd`."""
    shared = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)
    try:
        return EmulatedStorage(emulation, shared)
    finally:
        os.close(shared)


def emulate(
    *,
    schedule: Mapping[float, Mapping[str, Any]] | None = None,
    period: float = 0.0,
    burst: float = 0.02,
    seed: int = 0,
    deadline: float = 60.0,
    **conditions: Any,
) -> EmulatedStorage:
    """A storage of certain conditions, over the files of this machine: for tests and benchmarks.

        slow = drapps.emulate(bandwidth=100e6, latency=0.005, schedule={30: {"latency": 0.04}})
        loader = drapps.image_folder("photos").on(slow).random_resized_crop(224).batch(64)

    The bytes are those of the files, and so is the stream. Files that the page cache does not hold
    take the machine's own time in addition.

    Args:
        schedule: by seconds since now, what is other than before from then on. An outage is
            ``{"refuses": True}`` or ``{"stalls": True}``, and its end the same with False.
        period: seconds after which the schedule begins again; 0: never.
        burst: seconds of bandwidth, and of requests, that a pause earns.
        seed: of the latencies.
        deadline: seconds for which what is refused is asked for again, and what stalls is waited
            for; then it is an error.
        **conditions: those to begin with, the attributes of `drapps.storage.Conditions`.

    Raises:
        PipelineError: an unknown condition, a number that makes no sense, or a schedule that ends
            in a stall.
    """
    now = Conditions().changed(conditions)
    steps = [(0.0, now)]
    for at, changes in sorted(_steps(schedule)):
        now = now.changed(changes)
        steps.append((at, now))
    return EmulatedStorage(
        _Emulation(
            tuple(steps),
            arguments.seconds("period", period, _LONGEST),
            arguments.seconds("burst", burst, _LONGEST),
            arguments.seed("seed", seed),
            arguments.seconds("deadline", deadline, _LONGEST),
        )
    )


def _steps(schedule: Any) -> list[tuple[float, dict[str, Any]]]:
    if schedule is not None and not isinstance(schedule, Mapping):
        raise PipelineError(
            f"schedule={schedule!r} must be a mapping from seconds to what is other from then on, "
            "such as {30: {'latency': 0.04}}"
        )
    return [
        (
            arguments.seconds("a time in schedule", at, _LONGEST),
            arguments.fields(f"schedule[{at!r}]", changes),
        )
        for at, changes in (schedule or {}).items()
    ]
