"""Processes and cgroups of a run: each ends with the runner, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drapps.errors import PipelineError
from drapps.scenario import cgroup, play, player_process, runner
from drapps.scenario.burners import Burners
from drapps.scenario.cgroup import Cgroup, CgroupError
from drapps.scenario.reading import parse
from python.tests.cells import some_full
from python.tests.commands import ENVIRONMENT, command

pytest.importorskip("torch")

LIMIT = 120  # seconds: against hanging
LONG = (
    "name: long\nabout: For tests.\nworkload: {kind: arrays, rows: 2000, batch: 16}\n"
    "consumer: {step: 0.01}\nburners: 2\nduty: 0.2\nseconds: 600\n"
)


def below(pid):
    """Processes that a process has started, and those that they have."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*"):
        fields = fields_of(int(entry.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    pids = [pid]
    for each in pids:
        pids += children.get(each, [])
    return pids[1:]


def fields_of(pid):
    """Of /proc/PID/stat, from the state on; none where the process has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def cpu_of(pid):
    return sum(map(int, fields_of(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


LOADERS = {"drapps": ["drapps"], "stock": ["stock", "--workers", "2"]}
ENDS = {"kill -9": signal.SIGKILL, "Ctrl-C": signal.SIGINT}
BOTH = [(end, loader) for end in ENDS for loader in LOADERS]


@pytest.mark.parametrize(
    ("end", "loader"), some_full(BOTH, ("kill -9", "stock"), ("Ctrl-C", "drapps"))
)
def test_burners_and_player_end_with_the_runner(end, loader, tmp_path):
    number = ENDS[end]
    (tmp_path / "long.yaml").write_text(LONG)
    words = command("play", str(tmp_path / "long.yaml"), "--loader", *LOADERS[loader])
    player = subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    try:
        expected = 2 + 1 + (2 if loader == "stock" else 0)
        wait_until(lambda: len(below(player.pid)) >= expected)
        started = below(player.pid)
        burners = [pid for pid in started if b"burner.py" in commands_of(pid)]
        wait_until(lambda: all(cpu_of(pid) > 0.05 for pid in burners))  # the run has begun
        assert len(burners) == 2
        player.send_signal(number)
        status = player.wait(LIMIT)
        assert status == (130 if number == signal.SIGINT else -number)
        wait_until(lambda: not any(map(fields_of, started)))
    finally:
        player.kill()
        player.communicate()


def commands_of(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_burner_takes_about_the_share_that_it_is_told_to():
    with Burners(2) as burners:
        idle, busy = burners.pids
        burners.become(1, 0.4)
        idle, busy = busy, idle  # the first ones burn
        wait_until(lambda: cpu_of(busy) > 0.1)
        before, since = cpu_of(busy), time.monotonic()
        time.sleep(2)
        share = (cpu_of(busy) - before) / (time.monotonic() - since)
        assert 0.04 < share < 0.7
        burners.become(0, 1)
        time.sleep(0.2)
        rest = cpu_of(busy)
        time.sleep(0.5)
        assert cpu_of(busy) - rest < 0.1
        assert cpu_of(idle) < 0.2
    assert not fields_of(busy)


def test_a_cgroup_limits_a_process_and_is_gone_behind_it():
    name = f"drapps-test-{os.getpid()}"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        try:
            group = Cgroup(name)
        except CgroupError as error:
            process.communicate(b"\n")
            pytest.skip(str(error))
        with group:
            group.take(process.pid)
            group.limit(0.5, 2**29)
            assert name in Path(f"/proc/{process.pid}/cgroup").read_text()
            group.limit(0, 0)
            group.limit(1.5, 0)
            process.communicate(b"\n")
            process.wait()
        assert not list(Path("/sys/fs/cgroup").glob(f"*/{name}"))


@pytest.fixture
def player_that_runs(tmp_path, monkeypatch):
    """Has players run a script instead."""

    def put(script):
        program = tmp_path / "player"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setattr(player_process.sys, "executable", str(program))

    return put


def test_a_player_that_is_killed_is_given_up_though_others_hold_its_output(player_that_runs):
    player_that_runs("sleep 600 & echo $! >&2; kill -9 $$")
    with player_process.Player("short") as player:
        with pytest.raises(PipelineError, match=r"short: the player was killed, .* memory"):
            player.expect("ready", LIMIT)
        player._words.seek(0)
        left = int(player._words.read())
    wait_until(lambda: not fields_of(left))


def test_a_player_that_ends_says_why(player_that_runs):
    player_that_runs("echo no good reason >&2; exit 1")
    with (
        player_process.Player("short") as player,
        pytest.raises(PipelineError, match=r"the player ended with status 1: .*no good reason"),
    ):
        player.expect("ready", LIMIT)


def test_a_player_that_does_not_come_down_to_its_memory_is_given_up(player_that_runs, monkeypatch):
    class Stuck:
        def __init__(self, name):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def take(self, pid):
            self.pid = pid

        def limit(self, *_):
            wait_until(lambda: not fields_of(self.pid))

    player_that_runs("exec sleep 600")
    monkeypatch.setattr(runner, "Cgroup", Stuck)
    monkeypatch.setattr(runner, "_LIMITING", 0.2)
    scenario = (
        "name: tight\nabout: For tests.\nworkload: {kind: arrays, rows: 2000, batch: 16}\n"
        "consumer: {step: 0.01}\nmemory: 1M\nseconds: 30\n"
    )
    with pytest.raises(PipelineError, match="tight: the player does not come down to 1,048,576"):
        play(parse(scenario, "tight.yaml"))


def unified(tmp_path, monkeypatch, controllers):
    """A made-up system of cgroups of version 2, of which this process is in one."""
    own = tmp_path / "cgroup" / "own"
    own.mkdir(parents=True)
    (tmp_path / "mountinfo").write_text(f"1 2 0:3 / {tmp_path}/cgroup rw - cgroup2 none rw\n")
    (tmp_path / "cgroup-list").write_text("0::/own\n")
    (tmp_path / "proc").mkdir()
    (tmp_path / "mountinfo").rename(tmp_path / "proc/mountinfo")
    (tmp_path / "cgroup-list").rename(tmp_path / "proc/cgroup")
    original = cgroup._new_folder

    def make(folder):
        original(folder)
        for file in controllers.get(folder.parent.name, ()):
            (folder / file).write_text("max")
        return folder

    monkeypatch.setattr(cgroup, "_new_folder", make)
    return own


def test_a_cgroup_of_version_2_lies_where_its_controllers_are(tmp_path, monkeypatch):
    files = ("cpu.max", "memory.max")
    own = unified(tmp_path, monkeypatch, {"cgroup": files})
    group = Cgroup("mine", tmp_path / "proc")
    beside = own.parent / "mine"
    group.take(7)
    group.limit(1.5, 2**20)
    assert (beside / "cgroup.procs").read_text() == "7"
    assert (beside / "cpu.max").read_text() == "150000 100000"
    assert (beside / "memory.max").read_text() == str(2**20)
    group.limit(0, 0)
    assert (beside / "cpu.max").read_text() == "max 100000"
    assert (beside / "memory.max").read_text() == "max"
    assert not (own / "mine").exists()


def test_a_scenario_that_needs_a_cgroup_is_skipped_where_none_may_be_made(tmp_path, monkeypatch):
    unified(tmp_path, monkeypatch, {})
    with pytest.raises(CgroupError, match="gives no cores and no memory"):
        Cgroup("mine", tmp_path / "proc")

    def none(_name):
        raise CgroupError("not here")

    monkeypatch.setattr(runner, "Cgroup", none)
    (tmp_path / "half.yaml").write_text(LONG + "quota: 50%\n")
    outcome = play(tmp_path / "half.yaml")
    assert outcome.skipped == "not here"
    assert outcome.segments == ()
    assert str(outcome).endswith("skipped: not here")
