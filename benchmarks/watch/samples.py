"""Samples that take as long as a case says: read, mapped, decoded, blurred, made by Python code.

Reads come from a process that answers late, decoding and blurring are Pillow's, Python code is
Python's; each is repeated until it has taken as long as the case wants.
"""

from __future__ import annotations

import io
import mmap
import os
import random
import socket
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFilter
from torch.utils.data import Dataset

POLLS, _PERIOD_S = 1 / 8, 0.02  # of a core, that each poll takes beside its worker's samples
_MAPPED = 4 << 30  # bytes of a file, more than the memory that there is
_PAGES = 64
_ROUNDS = 15


class Store:
    """Answers a request after some seconds, from a thread of its own in each process."""

    def __init__(self) -> None:
        self._pid = 0
        self._owed = 0.0

    def get(self, seconds: float) -> None:
        """Waits for some bytes; what it takes too long is left out the next times."""
        self._owed += seconds
        if self._owed <= 0:
            return
        begun = time.perf_counter()
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._asks, answers = socket.socketpair()
            threading.Thread(target=self._serve, args=(answers,), daemon=True).start()
        self._asks.sendall(f"{self._owed:.9f}\n".encode())
        self._asks.recv(64)
        self._owed -= time.perf_counter() - begun

    def _serve(self, answers: socket.socket) -> None:
        for line in answers.makefile("r"):
            time.sleep(float(line))
            answers.sendall(b"x" * 64)


STORE = Store()


class Mapped:
    """A file that is mapped and does not fit into memory: a page is not there when it is asked for.

    It has no contents, so that a page costs a fault and no time of a disk.
    """

    def __init__(self) -> None:
        self._pid = 0

    def read(self, seconds: float) -> None:
        """Reads pages at random, for so long."""
        if self._pid != os.getpid():
            self._pid, self._chance = os.getpid(), random.Random(os.getpid())
            with tempfile.TemporaryFile() as file:
                file.truncate(_MAPPED)
                self._pages = mmap.mmap(file.fileno(), _MAPPED, prot=mmap.PROT_READ)
            self._pages.madvise(mmap.MADV_RANDOM)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(_PAGES):
                self._pages[self._chance.randrange(_MAPPED)]


MAPPED = Mapped()


def polls(worker: int) -> None:
    """Begins a thread of a worker that asks again and again for something, as pools of some do."""
    del worker

    def run() -> None:
        while True:
            repeated("polls", in_python, POLLS * _PERIOD_S)
            time.sleep((1 - POLLS) * _PERIOD_S)

    threading.Thread(target=run, daemon=True).start()


_owed: Counter[str] = Counter()  # CPU seconds, by what is to take them
_each: dict[str, float] = {}  # CPU seconds that it took once


def repeated(what: str, work: Callable[[], Any], seconds: float) -> None:
    """Works for so much CPU time; what it takes too long or too short is made good the next times.

    The CPU time is not asked for each time: Linux may switch to another thread where it is asked,
    such as one that then looks what this one is about.
    """
    _owed[what] += seconds
    times = round(_owed[what] / _each.get(what, seconds))
    if times <= 0:
        return
    begun = time.thread_time()
    for _ in range(times):
        work()
    spent = time.thread_time() - begun
    _owed[what] -= spent
    _each[what] = spent / times


def pixels(data: bytes) -> bytes:
    """Of a picture, so that nothing puts off its decoding."""
    return Image.open(io.BytesIO(data)).convert("RGB").tobytes()


def jpeg() -> bytes:
    """A picture."""
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "jpeg")
    return out.getvalue()


class Records(Dataset[Any]):
    """Samples that take what the case wants."""

    def __init__(self, spent: dict[str, float], case: dict[str, Any]) -> None:
        self.spent, self.case = spent, case
        self.bytes = jpeg()
        self.small = Image.open(io.BytesIO(self.bytes)).convert("RGB")

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> Any:
        spent, more = self.spent, self.case.get("long", {})
        if spent.get("read"):
            STORE.get(spent["read"])
        if more and index % more["every"] < more["many"]:
            STORE.get(more["seconds"])
        if spent.get("pages"):
            MAPPED.read(spent["pages"])
        if spent.get("decode"):
            repeated("decode", lambda: pixels(self.bytes), spent["decode"])
        if spent.get("blur"):
            blur = ImageFilter.GaussianBlur(2)
            repeated("blur", lambda: self.small.filter(blur), spent["blur"])
        if spent.get("python"):
            repeated("python", in_python, spent["python"])
        return torch.zeros(4)


def in_python() -> list[int]:
    """What a transform of the user's may do."""
    return [value * 3 % 7 for value in range(2000)]


class Collate:
    """Puts samples together, and takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, samples: list[Any]) -> Any:
        """The batch."""
        if self.seconds:
            repeated("collate", in_python, self.seconds)
        return torch.stack(samples)


def own_s(batch: int, pause: float) -> float:
    """Seconds that a batch takes of which nothing is wanted, each behind a pause."""
    records, collate, taken = Records({}, {}), Collate(0.0), []
    for _ in range(_ROUNDS):
        time.sleep(pause)
        begun = time.perf_counter()
        collate([records[number] for number in range(batch)])
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)
