"""What a request and an answer are: a line of JSON each."""

from __future__ import annotations

import json
import os
import socket
import struct
from dataclasses import dataclass

VERSION = 1
REQUEST_BYTES = 4096  # of the longest request, with its end of line
ANSWER_BYTES = 1 << 20  # of the longest answer, with its end of line
_ASKS = ("process", "loader")
_MOST_NESTED = 8  # brackets in a request, of which an honest one has one


class RequestError(Exception):
    """A request that is not answered.

    Attributes:
        code: the kind of error, as docs/reference/monitor-protocol.md lists them.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def line(self) -> bytes:
        """What the client gets."""
        error = {"code": self.code, "message": str(self)}
        return line_of(json.dumps({"version": VERSION, "error": error}))


@dataclass(frozen=True)
class Request:
    """What is asked for.

    Attributes:
        ask: ``process``, or ``loader``.
        number: of the loader; 0 for the process.
    """

    ask: str
    number: int = 0

    def line(self) -> bytes:
        """The request as a client sends it."""
        number = {"number": self.number} if self.ask == "loader" else {}
        return line_of(json.dumps({"version": VERSION, "ask": self.ask, **number}))


def request_of(line: bytes) -> Request:
    """What a line asks for.

    Raises:
        RequestError: nothing that can be answered.
    """
    try:
        if line.count(b"{") + line.count(b"[") > _MOST_NESTED:
            raise ValueError
        asked = json.loads(line)
    except ValueError:
        raise RequestError("not_json", "a request is one line of JSON, an object") from None
    if not isinstance(asked, dict):
        raise RequestError("not_json", "a request is one line of JSON, an object")
    if type(asked.get("version")) is not int or asked["version"] != VERSION:
        raise RequestError("version", f"this process speaks version {VERSION}: ask with it")
    if asked.get("ask") not in _ASKS:
        raise RequestError("unknown", f"ask for one of {', '.join(_ASKS)}")
    number = asked.get("number", 0)
    if asked["ask"] == "process":
        return Request("process")
    if type(number) is not int:
        raise RequestError("unknown", "number is the number of a loader, as the process lists it")
    return Request("loader", number)


def line_of(text: str) -> bytes:
    """An answer or a request on the wire."""
    return text.encode("utf-8", "backslashreplace") + b"\n"


def peer_user(connection: socket.socket) -> int:
    """The user at the other end, as the kernel says it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("3i", credentials)[1])


def is_trusted(connection: socket.socket) -> bool:
    """Whether at the other end is this user, or root."""
    return peer_user(connection) in (os.geteuid(), 0)
