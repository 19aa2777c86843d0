"""The thread that answers who watches this process, at a socket of the user's own."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import logging
import os
import select
import socket
import sys
import threading
import time
from pathlib import Path

from drapps.monitor.answers import Answers
from drapps.monitor.connection import Connection
from drapps.monitor.folder import made_folder, remove_stale
from drapps.monitor.protocol import RequestError, is_trusted

_DELAY = 0.1  # seconds in which the first batches have the process to themselves
_MOST_CLIENTS = 8
_MOST_ACCEPTED = 8  # new clients between two pauses
_PAUSE = 0.025  # seconds between two looks at the clients, however much they ask
_LOOK = 1.0  # seconds between two looks for clients that have had their time
_PATIENCE = 1.0  # seconds that the end of the process waits for the thread

_log = logging.getLogger("drapps")


class Server:
    """Answers clients until it is stopped. Without clients it only waits for one.

    Nothing that a client does takes more of the process than one answer to each of a few, made
    some times a second: the rest waits in the client's own socket.
    """

    def __init__(self) -> None:
        self._clients: list[Connection] = []
        self._answers = Answers()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._stopping = False
        self._listener: socket.socket | None = None
        self._path: Path | None = None
        self._inode = 0
        self._ended = threading.Event()

    def start(self) -> None:
        """Begins, on a daemon thread, for whose first moment nobody waits.

        Raises:
            RuntimeError: the system makes no thread.
        """
        _thread.start_new_thread(self._run, ())

    def stop(self) -> None:
        """Ends, and removes the socket."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._ended.wait(_PATIENCE)
        self._remove_socket()

    def abandon(self) -> None:
        """Lets go, in a child of a fork, of what is the parent's."""
        for each in self._clients:
            each.close()
        if self._listener is not None:
            self._listener.close()
        os.close(self._wake)

    def _run(self) -> None:
        try:
            woken = select.poll()
            woken.register(self._wake, select.POLLIN)
            if not woken.poll(_DELAY * 1000):
                with self._listen() as listener:
                    self._serve(listener)
        except OSError as error:
            _log.info("nobody can watch this process: %s", error)
        finally:
            for each in self._clients:
                each.close()
            self._remove_socket()
            self._ended.set()

    def _listen(self) -> socket.socket:
        place = made_folder()
        remove_stale(place)
        path = place / f"{os.getpid()}.sock"
        self._listener = listener = socket.socket(socket.AF_UNIX)
        try:
            listener.setblocking(False)
            listener.bind(os.fspath(path))
            path.chmod(0o600)
            self._path, self._inode = path, path.lstat().st_ino
            listener.listen(_MOST_CLIENTS)
        except OSError:
            listener.close()
            raise
        return listener

    def _serve(self, listener: socket.socket) -> None:
        while not self._stopping:
            ready = self._wait(listener)
            now = time.monotonic()
            for each in self._clients:
                if each.fileno() in ready:
                    each.proceed(self._answers.to, now)
                elif each.is_due(now):
                    each.close()
            self._clients = [each for each in self._clients if not each.closed]
            if listener.fileno() in ready:
                self._accept(listener, now)
            if not self._clients:
                self._answers.forget()
            if ready and not self._stopping:
                time.sleep(_PAUSE)

    def _wait(self, listener: socket.socket) -> set[int]:
        """Descriptors that something has happened at."""
        poll = select.poll()
        for descriptor in (self._wake, listener.fileno()):
            poll.register(descriptor, select.POLLIN)
        for each in self._clients:
            poll.register(each.fileno(), each.events)
        return {number for number, _ in poll.poll(_LOOK * 1000 if self._clients else None)}

    def _accept(self, listener: socket.socket, now: float) -> None:
        for _ in range(_MOST_ACCEPTED):
            try:
                peer, _address = listener.accept()
            except OSError:
                return
            client = Connection(peer, now)
            if not is_trusted(peer):
                client.send_away(RequestError("refused", "this is another user's process"))
            elif len(self._clients) >= _MOST_CLIENTS:
                client.send_away(RequestError("busy", f"{_MOST_CLIENTS} clients watch already"))
            else:
                self._clients.append(client)
                continue
            client.proceed(self._answers.to, now)
            client.close()

    def _remove_socket(self) -> None:
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()


_server: Server | None = None
_offered = False  # True also where offering has failed
_lock = threading.Lock()


def offer() -> None:
    """Offers the statistics of this process, from now on; it begins once, and never fails.

    Workers of torch's loaders, and where ``DRAPPS_SOCKET`` is ``off``, offer none.
    """
    if _offered or _is_worker():
        return
    with _lock:
        if not _offered:
            _begin()


def _begin() -> None:
    global _server, _offered
    _offered = True
    if os.environ.get("DRAPPS_SOCKET") == "off":
        return
    try:
        server = Server()
        server.start()
    except (OSError, RuntimeError) as error:
        _log.info("nobody can watch this process: %s", error)
        return
    _server = server
    processes = sys.modules.get("multiprocessing.util")
    if processes is not None:  # children of multiprocessing run nothing of atexit
        processes.Finalize(None, _stop, exitpriority=100)


def _is_worker() -> bool:
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and torch_data.get_worker_info() is not None


@atexit.register
def _stop() -> None:
    global _server
    server, _server = _server, None
    if server is not None:
        server.stop()


def _begin_child() -> None:
    global _server, _offered, _lock
    server, _server, _offered, _lock = _server, None, False, threading.Lock()
    if server is not None:
        server.abandon()


os.register_at_fork(after_in_child=_begin_child)
