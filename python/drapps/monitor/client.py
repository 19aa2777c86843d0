"""Asks running processes for the statistics of their loaders."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drapps.errors import MonitorError
from drapps.monitor.folder import folders, remove_stale, sockets
from drapps.monitor.protocol import ANSWER_BYTES, VERSION, Request, is_trusted
from drapps.monitor.reports import LoaderReport, ProcessReport

_PATIENCE = 2.0  # seconds for an answer


@dataclass(frozen=True)
class Snapshot:
    """What a process has said of itself at one time.

    Attributes:
        process: the process.
        loaders: those that were there, by number.
    """

    process: ProcessReport
    loaders: tuple[LoaderReport, ...]

    def to_json(self) -> dict[str, Any]:
        """Its content as plain dictionaries and lists."""
        loaders = [each.to_json() for each in self.loaders]
        return {"process": self.process.to_json(), "loaders": loaders}


def processes(patience: float = _PATIENCE) -> list[ProcessReport]:
    """The processes of this user that can be watched, by pid; one that does not answer is left out.

    Args:
        patience: seconds for each.
    """
    reports = []
    for place in folders():
        remove_stale(place)
        for pid, path in sockets(place):
            with contextlib.suppress(MonitorError), Client(pid, path, patience) as client:
                reports.append(client.process())
    return sorted(reports, key=lambda each: each.pid)


def snapshot(pid: int, patience: float = _PATIENCE) -> Snapshot:
    """What a process and its loaders have counted up to now.

    Raises:
        MonitorError: there is no such process, or it does not answer.
    """
    with connected(pid, patience) as client:
        return client.snapshot()


def connected(pid: int, patience: float = _PATIENCE) -> Client:
    """A connection to a process.

    Raises:
        MonitorError: there is no such process, or it does not answer.
    """
    places = folders()
    for place in places:
        path = place / f"{pid}.sock"
        if path.exists():
            return Client(pid, path, patience)
    raise MonitorError(
        f"process {pid} offers no statistics: it has begun no pass over a loader of DRAPPS, has "
        "DRAPPS_SOCKET=off, is another user's, or has ended"
    )


class Client:
    """A connection to one process; close it, or use it in a ``with`` block."""

    def __init__(self, pid: int, path: Path, patience: float = _PATIENCE) -> None:
        """Connects.

        Raises:
            MonitorError: nobody answers there.
        """
        self.pid = pid
        self._patience = patience
        self._received = b""
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(patience)
            self._socket.connect(os.fspath(path))
            trusted = is_trusted(self._socket)
        except OSError as error:
            self.close()
            raise self._failed(error) from None
        if not trusted:
            self.close()
            raise MonitorError(f"{path} is answered by another user's process: it is not asked")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves."""
        self._socket.close()

    def process(self) -> ProcessReport:
        """The process, and which loaders it has.

        Raises:
            MonitorError: it does not answer.
        """
        with self._understood():
            return ProcessReport.from_json(self._ask(Request("process"))["process"])
        raise AssertionError

    def loader(self, number: int) -> LoaderReport:
        """One of its loaders.

        Raises:
            MonitorError: it is gone, or the process does not answer.
        """
        with self._understood():
            return LoaderReport.from_json(self._ask(Request("loader", number))["loader"])
        raise AssertionError

    def snapshot(self) -> Snapshot:
        """The process and all of its loaders.

        Raises:
            MonitorError: it does not answer.
        """
        process = self.process()
        loaders = []
        for each in process.loaders:
            with contextlib.suppress(LoaderGoneError):
                loaders.append(self.loader(each["number"]))
        return Snapshot(process, tuple(loaders))

    @contextlib.contextmanager
    def _understood(self) -> Iterator[None]:
        try:
            yield
        except MonitorError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise MonitorError(
                f"process {self.pid} gives an answer that is not understood ({error!r}): it may "
                "run another version of DRAPPS"
            ) from None

    def _ask(self, request: Request) -> dict[str, Any]:
        try:
            self._socket.sendall(request.line())
            answer: dict[str, Any] = json.loads(self._line())
        except OSError as error:
            raise self._failed(error) from None
        refusal = answer.get("error")
        if refusal is not None:
            kind = LoaderGoneError if refusal["code"] == "no_loader" else MonitorError
            raise kind(f"process {self.pid} refuses: {refusal['message']}")
        if answer["version"] != VERSION:
            raise ValueError(f"version {answer['version']}")
        return answer

    def _line(self) -> bytes:
        until = time.monotonic() + self._patience
        while b"\n" not in self._received:
            more = self._socket.recv(1 << 16)
            if not more:
                raise ConnectionResetError("the process has closed the connection")
            self._received += more
            if len(self._received) > ANSWER_BYTES:
                raise ValueError("too long")
            if time.monotonic() > until:
                raise TimeoutError
        line, _, self._received = self._received.partition(b"\n")
        return line

    def _failed(self, error: OSError) -> MonitorError:
        if isinstance(error, TimeoutError):
            why = f"has not answered for {self._patience:g} s; it may be stopped or very busy"
        elif isinstance(error, (ConnectionError, FileNotFoundError)):
            why = "does not answer: it has ended, or is ending"
        else:
            why = f"does not answer: {error.strerror or error}"
        return MonitorError(f"process {self.pid} {why}")


class LoaderGoneError(MonitorError):
    """A loader that the process had, and has no more."""
