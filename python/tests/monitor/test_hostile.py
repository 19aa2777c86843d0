"""Viewers that die, stall, flood or ask for nonsense cost the process an error and no memory."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from drapps import MonitorError, monitor
from python.tests.cells import cells
from python.tests.monitor.trainings import (
    answer,
    batches,
    connect,
    is_listening,
    resident_bytes,
    until,
)

PROCESS = b'{"version": 1, "ask": "process"}'
MOST_GROWTH = 16 << 20  # bytes: eight answers of the largest size, and what an allocator keeps
CLIENTS = 8

# A viewer that begins to ask, and then does as it is told.
VIEWER = """
import socket, sys, time
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
print("asks", flush=True)
while True:
    client.sendall(b'{"version": 1, "ask": "process"}\\n' * 50)
    if sys.argv[2] == "reads":
        client.recv(1 << 16)
"""


def goes_on(process):
    """It delivers batches, and says so to an honest viewer."""
    before = until(lambda: asked(process))
    until(lambda: (now := asked(process)) and now > before)


def asked(process):
    try:
        return batches(process)
    except MonitorError:  # it has as many viewers as it takes
        return 0


WITHOUT_SENSE = [
    (b"", "not_json"),
    (b"process", "not_json"),
    (b"[1]", "not_json"),
    (b"\x00\xff", "not_json"),
    (b"[" * 4000, "not_json"),
    (b'{"version": 1, "ask": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}", "not_json"),
    (b'{"version": ' + b"9" * 4000 + b"}", "version"),
    (b'{"ask": "process"}', "version"),
    (b'{"version": 2, "ask": "process"}', "version"),
    (b'{"version": true, "ask": "process"}', "version"),
    (b'{"version": 1, "ask": "settings"}', "unknown"),
    (b'{"version": 1, "ask": ["process"]}', "unknown"),
    (b'{"version": 1, "ask": "loader", "number": "1"}', "unknown"),
    (b'{"version": 1, "ask": "loader", "number": -1}', "no_loader"),
    (b'{"version": 1, "ask": "loader", "number": 1e3}', "unknown"),
    (b'{"version": 1, "ask": "loader"}', "no_loader"),
]


def test_a_request_without_sense_gets_an_error_and_the_next_an_answer(watched):
    for line, code in WITHOUT_SENSE:
        with connect(watched.socket) as client:
            refused = answer(client, line)
            assert refused["version"] == 1, line
            assert refused["error"]["code"] == code and refused["error"]["message"], line
            assert answer(client, PROCESS)["process"]["pid"] == watched.pid, line


@pytest.fixture
def watched(trainings):
    process = trainings.watched()
    process.socket = trainings.path(process)
    yield process
    goes_on(process)
    trainings.end(process)


def test_a_huge_request_gets_an_error_and_no_memory(watched):
    before = resident_bytes(watched)
    with connect(watched.socket) as client, pytest.raises(OSError, match=r"Broken|reset"):
        for _ in range(64):
            client.sendall(b"x" * (1 << 20))
    with connect(watched.socket) as client:
        client.sendall(b"x" * 4096)
        assert answer(client)["error"]["code"] == "too_long"
        assert client.recv(1) == b""
    assert resident_bytes(watched) - before < MOST_GROWTH


def test_several_requests_at_once_are_answered_in_order(watched):
    with connect(watched.socket) as client:
        client.sendall(PROCESS + b"\nnonsense\n" + PROCESS + b"\n" + PROCESS[:9])
        lines = client.makefile("rb")
        keys = [[*json.loads(lines.readline())][-1] for _ in range(3)]
        assert keys == ["process", "error", "process"]
        assert "process" in answer(client, PROCESS[9:])


@pytest.mark.full
def test_one_who_reads_nothing_is_sent_away(watched):
    before = resident_bytes(watched)
    with connect(watched.socket, 0.5) as client:
        until(lambda: is_sent_away(client), 30)
    assert resident_bytes(watched) - before < MOST_GROWTH


def is_sent_away(client):
    try:
        client.sendall(b'{"version": 1, "ask": "loader", "number": 1}\n' * 500)
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


def test_more_viewers_than_it_takes_are_told_so(watched):
    held = [connect(watched.socket) for _ in range(CLIENTS)]
    for client in held:
        assert "process" in answer(client, PROCESS)
    with connect(watched.socket) as client:
        assert answer(client)["error"]["code"] == "busy"
    with pytest.raises(MonitorError, match="8 clients watch already"):
        monitor.snapshot(watched.pid)
    held.pop().close()
    goes_on(watched)
    for client in held:
        client.close()


@pytest.mark.parametrize(
    ("number", "does"), cells([signal.SIGKILL, signal.SIGSTOP], ["reads", "reads nothing"])
)
def test_viewers_that_flood_and_then_die_or_stop(watched, does, number):
    viewers = [
        subprocess.Popen(
            [sys.executable, "-c", VIEWER, str(watched.socket), does],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(3)
    ]
    for viewer in viewers:
        assert viewer.stdout.readline() == b"asks\n"
    goes_on(watched)
    for viewer in viewers:
        viewer.send_signal(number)
    goes_on(watched)
    for viewer in viewers:
        viewer.kill()
        viewer.communicate()


def test_connections_that_come_and_go_leave_nothing_open(watched):
    def descriptors():
        return len(list(Path(f"/proc/{watched.pid}/fd").iterdir()))

    before = descriptors()
    for _ in range(500):
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)
            client.connect_ex(str(watched.socket))
    until(lambda: descriptors() <= before)


def test_the_end_does_not_wait_for_a_viewer(trainings):
    process = trainings.watched()
    with connect(trainings.path(process)) as client:
        client.sendall(PROCESS + b"\n" + PROCESS[:9])
        trainings.end(process)
    assert not is_listening(trainings.path(process))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_another_user_is_refused_even_where_the_file_lets_them_in(watched):
    for path in (watched.socket.parent.parent, watched.socket.parent):
        path.chmod(0o755)
    watched.socket.chmod(0o666)
    code = (
        "import socket, sys; c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); "
        "print(c.recv(4096).decode())"
    )
    client = subprocess.run(
        ["/usr/bin/python3", "-c", code, str(watched.socket)],
        user=65534,
        capture_output=True,
        text=True,
        check=False,
    )
    for path in (watched.socket.parent.parent, watched.socket.parent):
        path.chmod(0o700)
    assert json.loads(client.stdout)["error"]["code"] == "refused", client.stderr


@pytest.fixture
def impostor(trainings):
    """Answers as it is given, in the place of a process."""
    trainings.folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(trainings.folder / f"{os.getpid()}.sock"))
    listener.listen(1)

    def answers(given):
        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(4096)
                try:
                    given(peer)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()

    yield answers
    listener.close()


def endless(peer):
    while True:
        peer.sendall(b"x" * 65536)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda peer: peer.sendall(b"no JSON\n"), "not understood"),
        (lambda peer: peer.sendall(b"[]\n"), "not understood"),
        (lambda peer: peer.sendall(b'{"version": 9, "process": {}}\n'), "another version"),
        (lambda peer: peer.sendall(b'{"version": 1, "process": {"pid": 1}}\n'), "not understood"),
        (lambda peer: peer.sendall(b'{"version": 1, "error": 5}\n'), "not understood"),
        (lambda _: None, "has ended, or is ending"),
        (lambda _: time.sleep(5), "has not answered for 0.5 s"),
        (endless, "not understood"),
    ],
)
def test_an_answer_without_sense_is_a_typed_error(impostor, given, why):
    impostor(given)
    with pytest.raises(MonitorError, match=why):
        monitor.snapshot(os.getpid(), 0.5)
