"""One client of the server: a request at a time, in bounded memory."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

from drapps.monitor.protocol import REQUEST_BYTES, RequestError

_STALLED = 5.0  # seconds in which a client that asks takes nothing
_IDLE = 60.0  # seconds in which a client asks for nothing


class Connection:
    """A client. It is asked nothing more while it has an answer to take.

    Attributes:
        closed: the client is gone, or was sent away.
    """

    def __init__(self, peer: socket.socket, now: float) -> None:
        peer.setblocking(False)
        self._peer = peer
        self._received = bytearray()
        self._answer = memoryview(b"")
        self._ends = False  # with the answer that is under way
        self._since = now
        self.closed = False

    def fileno(self) -> int:
        """The descriptor of the socket, for poll."""
        return self._peer.fileno()

    @property
    def _asks(self) -> bool:
        return len(self._answer) > 0 or b"\n" in self._received

    @property
    def events(self) -> int:
        """What it waits for, as events of poll."""
        return select.POLLOUT if self._asks else select.POLLIN

    def is_due(self, now: float) -> bool:
        """Whether it has had its time."""
        return now - self._since > (_STALLED if self._asks else _IDLE)

    def send_away(self, error: RequestError) -> None:
        """Answers with an error, and hears no more."""
        self._answer, self._ends = memoryview(error.line()), True

    def proceed(self, answer: Callable[[bytes], bytes], now: float) -> None:
        """Goes on as far as it can without waiting, by one request at most.

        Args:
            answer: gives the line that answers a request, which has no end of line.
            now: in seconds.
        """
        try:
            if not self._answer:
                self._receive(answer, now)
            if self._answer:
                self._send(now)
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def _receive(self, answer: Callable[[bytes], bytes], now: float) -> None:
        if b"\n" not in self._received:
            more = self._peer.recv(REQUEST_BYTES)
            if not more:
                self.close()
                return
            self._received += more
        line, end, rest = self._received.partition(b"\n")
        if len(line) + 1 > REQUEST_BYTES:
            self._received.clear()
            self.send_away(RequestError("too_long", f"a request has at most {REQUEST_BYTES} bytes"))
            return
        if end:
            self._received, self._since = rest, now
            self._answer = memoryview(answer(bytes(line)))

    def _send(self, now: float) -> None:
        sent = self._peer.send(self._answer, socket.MSG_NOSIGNAL)
        self._answer, self._since = self._answer[sent:], now
        if not self._answer and self._ends:
            self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.closed = True
        self._answer = memoryview(b"")
        self._peer.close()
