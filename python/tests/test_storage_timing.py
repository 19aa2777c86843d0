"""The emulated storage by the clock, and beside a throttle of the kernel.

Who reads comes back a little after the moment that the emulation says, and on a busy machine much
after it. So a measurement may be repeated: one that is right counts. Where none is, a process that
only sleeps tells whether it was the machine, which ends the test as skipped.
"""

import multiprocessing
import os
import signal
import statistics
import struct
import threading
import time
from pathlib import Path

import pytest

import drapps
from python.tests.test_workers import DEADLINE

pytestmark = pytest.mark.full

FORK = multiprocessing.get_context("fork")
RECORD = struct.Struct("qqq")  # begun and ended, in ns on CLOCK_MONOTONIC; bytes
RATE = 20e6  # bytes per second
BURST = 0.02  # seconds
LATE = 0.002  # seconds by which a read may come back late
SIZE = 100_000
TRIES = 6
BLKIO = Path("/sys/fs/cgroup/blkio")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Four hundred files of random bytes, on the disk."""
    root = tmp_path_factory.mktemp("timed")
    paths = [root / str(number) for number in range(400)]
    for path in paths:
        with path.open("wb") as file:
            file.write(os.urandom(SIZE))
            os.fsync(file.fileno())
    return paths


def before_others():
    """Lets the process run when it wakes up, whatever else the machine does, where that may be."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        return


def record(pipe, begun, count):
    os.write(pipe, RECORD.pack(begun, time.monotonic_ns(), count))


def read_in_time(storage, paths, until, threads, pipe):
    """Reads with some threads until a moment."""
    before_others()

    def read(number):
        while (begun := time.monotonic_ns()) < until:
            record(pipe, begun, len(storage.open(paths[number % len(paths)]).read()))
            number += threads

    others = [threading.Thread(target=read, args=(number,)) for number in range(threads)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()


def sleep_in_time(stop, pipe):
    """Sleeps 2 ms again and again, and tells how late it woke up."""
    before_others()
    while not stop.is_set():
        begun = time.monotonic_ns()
        time.sleep(0.002)
        record(pipe, begun + 2_000_000, 0)


class Pipe:
    """Records of other processes, which ends when they have all gone."""

    def __init__(self):
        self.out, self.into = os.pipe()
        self.records = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        with os.fdopen(self.out, "rb") as file:
            while data := file.read(RECORD.size):
                self.records.append(RECORD.unpack(data))

    def all(self):
        os.close(self.into)
        self._reader.join()
        return self.records


def measured(measure, right):
    """Measures until the result is right.

    Skips where each result that was not right came while the machine was busy, and fails where one
    did not.

    Args:
        measure: gives a result.
        right: whether it is.
    """
    quiet = []
    for _ in range(TRIES):
        stop, pipe = FORK.Event(), Pipe()
        sleeper = FORK.Process(target=sleep_in_time, args=(stop, pipe.into))
        sleeper.start()
        try:
            result = measure()
        finally:
            stop.set()
            sleeper.join(DEADLINE)
            woken = [ended - due for due, ended, _ in pipe.all()]
        if right(result):
            return
        late = sorted(woken)[len(woken) * 99 // 100]
        if late < LATE * 1e9 / 4 and statistics.median(woken) < 200_000:
            quiet.append(result)
    if not quiet:
        pytest.skip("the machine does too much else: sleeping processes wake up late")
    pytest.fail(f"of {TRIES} results none is right, and with the machine idle they are {quiet}")


def excess(records, rate):
    """The bytes by which any window exceeds what its length allows, at most."""
    delivered = sorted((ended, count) for _, ended, count in records)
    start, most, least, total = delivered[0][0], 0.0, 0.0, 0
    for ended, count in delivered:
        allowed = rate * (ended - start) * 1e-9
        least = min(least, total - allowed)  # of a window that begins here
        total += count
        most = max(most, total - allowed - least)
    return most


def speed(records):
    """Bytes per second, from the first beginning to the last end."""
    begun = min(begun for begun, _, _ in records)
    ended = max(ended for _, ended, _ in records)
    return sum(count for _, _, count in records) / (ended - begun) * 1e9


@pytest.mark.parametrize("killed", [False, True], ids=["whole", "killed"])
def test_four_processes_keep_to_one_bandwidth(files, killed):
    def measure():
        slow = drapps.emulate(bandwidth=RATE, burst=BURST)
        pipe = Pipe()
        until = time.monotonic_ns() + 3_000_000_000
        readers = [
            FORK.Process(target=read_in_time, args=(slow, files, until, 4, pipe.into))
            for _ in range(4)
        ]
        for reader in readers:
            reader.start()
        if killed:
            time.sleep(1.5)
            os.kill(readers[0].pid, signal.SIGKILL)
        for reader in readers:
            reader.join(DEADLINE)
        assert [reader.exitcode for reader in readers[1:]] == [0, 0, 0]
        records = pipe.all()
        return speed(records) / RATE, excess(records, RATE) / RATE

    def right(result):
        realised, beyond = result
        return abs(realised - 1) <= 0.03 and beyond <= BURST + LATE

    measured(measure, right)


@pytest.mark.parametrize("latency", [0.001, 0.005, 0.02])
def test_half_of_the_reads_take_the_median_latency(files, latency):
    def read_one_by_one(storage, pipe):
        before_others()
        for number in range(min(300, int(3 / latency))):
            begun = time.monotonic_ns()
            record(pipe, begun, len(storage.open(files[number]).read()))

    def measure():
        slow = drapps.emulate(latency=latency, latency_spread=0.1)
        pipe = Pipe()
        reader = FORK.Process(target=read_one_by_one, args=(slow, pipe.into))
        reader.start()
        reader.join(DEADLINE)
        return statistics.median(ended - begun for begun, ended, _ in pipe.all()) * 1e-9

    measured(measure, lambda median: abs(median - latency) <= latency * 0.1 + 0.0001)


@pytest.fixture
def throttled(files):
    """A control group whose processes read the files' disk at `RATE`."""
    if os.geteuid() != 0:
        pytest.skip("only root may make a control group that throttles")
    if not (BLKIO / "blkio.throttle.read_bps_device").exists():
        pytest.skip(f"{BLKIO} has no throttle of control groups v1")
    number = files[0].stat().st_dev
    disk = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not disk.exists():
        pytest.skip("the files lie on no block device")
    if (disk / "partition").exists():
        disk = disk.resolve().parent
    group = BLKIO / f"drapps-{os.getpid()}"
    group.mkdir()
    try:
        limit = f"{(disk / 'dev').read_text().strip()} {int(RATE)}"
        (group / "blkio.throttle.read_bps_device").write_text(limit)
        yield group
    finally:
        group.rmdir()


def read_uncached(paths, group, pipe):
    """Reads files from the disk, as a member of a control group."""
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    for path in paths:
        with path.open("rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    for path in paths:
        begun = time.monotonic_ns()
        record(pipe, begun, len(path.read_bytes()))


def read_emulated(storage, paths, pipe):
    for path in paths:
        begun = time.monotonic_ns()
        record(pipe, begun, len(storage.open(path).read()))


def speed_of(target, *arguments):
    pipe = Pipe()
    reader = FORK.Process(target=target, args=(*arguments, pipe.into))
    reader.start()
    reader.join(DEADLINE)
    assert reader.exitcode == 0
    return speed(pipe.all())


def test_the_bandwidth_is_that_of_the_kernels_throttle(files, throttled):
    free = speed_of(read_uncached, files, None)
    if free < 2 * RATE:
        pytest.skip(f"the disk gives {free / 1e6:.0f} MB/s by itself")

    def measure():
        real = speed_of(read_uncached, files, throttled)
        slow = drapps.emulate(bandwidth=RATE, burst=BURST)
        return real / 1e6, speed_of(read_emulated, slow, files) / 1e6

    measured(measure, lambda pair: abs(pair[1] / pair[0] - 1) <= 0.1)
