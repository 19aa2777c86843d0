"""``drapps top``: in text, on a screen that a pilot drives, and in a real terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pytest

from python.tests.commands import answer, command, run
from python.tests.monitor.trainings import TRAINING, until

WIDTH, HEIGHT = 80, 24
TWO_LOADERS = TRAINING.replace(
    'print("begins"',
    'other = drapps.arrays({"y": np.zeros((64, 8), np.float32)}).batch(8)\n'
    "list(other)\n"
    'print("begins"',
)


@pytest.fixture
def top(trainings, monkeypatch):
    """Runs the command where the trainings are."""
    environment = {**trainings.environment, "COLUMNS": str(WIDTH)}
    monkeypatch.setattr("python.tests.commands.ENVIRONMENT", environment)
    return trainings


def test_once_prints_all_parts_within_80_columns(top):
    process = top.watched()
    done = run("top", "--once")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    parts = ["training", "stages", "workers", "memory", "cache", "knobs", "decisions"]
    assert [line for line in lines if line in parts] == parts
    assert lines[0].startswith(f"process {process.pid}  1 loader")
    assert "samples/s" in done.stdout and "a stall of" in done.stdout
    assert re.search(r"workers +\d+  of 1 to \d+", done.stdout)
    assert "initial, running" in done.stdout


def test_json_has_what_the_loader_gives(top):
    process = top.watched()
    status, facts = answer("top", str(process.pid))
    assert status == 0
    assert facts["process"]["pid"] == process.pid
    assert facts["loaders"][0]["stats"]["batches"] > 0
    assert facts["loaders"][0]["explanation"]["decisions"]["policy"] == "initial"


def test_a_process_is_named_where_there_are_several_or_none(top):
    assert "no process of yours can be watched" in run("top", "--once").stderr
    assert run("top", "--list").stdout == "no process of yours that can be watched\n"
    processes = sorted(top.watched().pid for _ in range(2))
    done = run("top", "--once")
    assert done.returncode == 1
    assert done.stderr == (
        f"drapps: several processes can be watched: name one of {processes[0]}, {processes[1]}\n"
    )
    listed = [int(line.split()[0]) for line in run("top", "--list").stdout.splitlines()]
    assert listed == processes
    assert "process 1 offers no statistics" in run("top", "1", "--once").stderr


def test_without_a_terminal_or_textual_it_says_what_to_do(top):
    assert "drapps top --once prints to anything" in run("top").stderr
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'textual' else find(name, *a)\n"
        "import drapps.cli; sys.exit(drapps.cli.main(['top']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=top.environment,
    )
    assert done.returncode == 1
    assert "pip install 'drapps[top]'" in done.stderr and "Traceback" not in done.stderr


def test_control_characters_of_a_command_reach_no_terminal(top):
    process = top.watched(TRAINING, "\x1b]0;title\x07")
    for words in (["--list"], ["--once"]):
        assert "\x1b" not in run("top", *words).stdout
    top.end(process)


def screen_of(app):
    strips = app.screen._compositor.render_strips()
    return ["".join(part.text for part in strip) for strip in strips]


def driven(pid, script):
    """Runs a script on the screen of a pilot."""
    pytest.importorskip("textual")
    from drapps.top.app import Top

    async def drive():
        app = Top(pid, 0.1)
        async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:

            async def shows(text):
                end = time.monotonic() + 60
                while not any(text in line for line in screen_of(app)):
                    assert time.monotonic() < end, (text, screen_of(app))
                    await pilot.pause(0.05)

            await script(app, pilot, shows)

    asyncio.run(drive())


@pytest.mark.full
def test_the_keyboard_alone_goes_everywhere(top):
    processes = sorted((top.watched(TWO_LOADERS), top.watched()), key=lambda each: each.pid)
    two = next(each for each in processes if TWO_LOADERS in each.args)

    async def script(app, pilot, shows):
        for process in processes:
            await shows(str(process.pid))
        await pilot.press(*["down"] * processes.index(two), "enter")
        await shows(f"process {two.pid}")
        await shows("loader 1: drapps.Loader")
        await shows("samples/s")
        assert len(screen_of(app)) == HEIGHT
        await pilot.press("n")
        await shows("loader 2: drapps.Loader")
        await pilot.press("7")
        await shows("initial, running")
        await pilot.press("home")
        await shows("batches ready")
        await pilot.press("p")
        await shows("paused")
        shown = app.screen.snapshot
        await pilot.pause(0.5)
        assert app.screen.snapshot is shown
        await pilot.press("p")
        await pilot.pause(0.5)
        assert app.screen.snapshot is not shown
        await pilot.press("escape")
        await shows(str(processes[0].pid))
        assert type(app.screen).__name__ == "ProcessList"
        await pilot.press("q")
        assert app._exit

    driven(None, script)


def test_a_process_that_ends_leaves_its_last_figures(top):
    process = top.watched()

    async def script(_app, pilot, shows):
        await shows("samples/s")
        top.end(process)
        await shows("no more figures than these")
        await shows("batches ready")
        await pilot.press("escape")
        await shows("No process of yours can be watched now")

    driven(process.pid, script)


@pytest.mark.usefixtures("top")
def test_a_process_that_never_was_is_said_to_be_none():
    async def script(_app, pilot, shows):
        await shows("offers no statistics")
        await pilot.press("escape")
        await shows("No process of yours")

    driven(1, script)


def test_it_runs_in_a_terminal_by_keyboard(top):
    pytest.importorskip("textual")
    process = top.watched()
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    before = termios.tcgetattr(terminal)
    shown = subprocess.Popen(
        command("top"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**top.environment, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    seen = bytearray()

    def shows(text):
        while select.select([controller], [], [], 0)[0]:
            seen.extend(os.read(controller, 65536))
        plain = re.sub(rb"\x1b\[[0-9;?<>=]*[A-Za-z]", b"", bytes(seen))
        return text in plain

    try:
        until(lambda: shows(b"%d" % process.pid))
        os.write(controller, b"\r")
        until(lambda: shows(b"samples/s"))
        os.write(controller, b"7")
        until(lambda: shows(b"initial, running"))
        os.write(controller, b"q")
        until(lambda: shows(b"") and shown.poll() is not None)
        assert shown.returncode == 0
        assert termios.tcgetattr(terminal) == before
    finally:
        shown.kill()
        shown.wait()
        os.close(controller)
        os.close(terminal)
    assert json.loads(top.end(process)) > 0
