"""What both contestants do in their processes, with one class of loader or the other.

| what | besides | answer |
|---|---|---|
| `epochs` | `count` | `samples`, `seconds`, `service_s`, `cpu_s`, `gaps_s`, `epoch_gaps_s`, … |
| `stretch` | `begin_s`, `seconds` | `samples`, `seconds`, `cpu_s`, `processes`, … |
| `outputs` | | `crc32` of each batch of an epoch, in order |
| `start` | | `first_batch_s`, of a new loader |
| `delay` | `seconds`, `beside`: `nothing`, `loader` or `spinners` | `p50_s`, `p99_s`, … |
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import torch

from benchmarks import feed
from benchmarks.python_dataset.data import dataset_of, spin
from drapps import _core

_FLOATS_PER_PAGE = 1024
_PERIOD_S = 1e-3  # of the thread that wants to run


class Child:
    """A loader that is measured in one way or another.

    Args:
        make: the class of the loader.
        spec: besides that of `dataset_of`: ``batch``, ``workers``, ``persistent``; ``fixed``: a
            number of processes that DRAPPS is held to.
    """

    def __init__(self, make: Callable[..., Any], spec: dict[str, Any]) -> None:
        self._make, self._spec = make, spec
        torch.manual_seed(spec["seed"])
        self._loader = self._new_loader()

    def answer(self, what: str, **arguments: Any) -> dict[str, Any]:
        """Does what is asked."""
        measures: dict[str, Callable[..., dict[str, Any]]] = {
            "epochs": self._epochs,
            "stretch": self._stretch,
            "outputs": self._outputs,
            "start": self._start,
            "delay": self._delay,
        }
        return measures[what](**arguments)

    def _new_loader(self) -> Any:
        fixed = self._spec.get("fixed")
        loader = self._make(
            dataset_of(self._spec),
            batch_size=self._spec["batch"],
            shuffle=True,
            num_workers=self._spec["workers"],
            persistent_workers=self._spec["persistent"],
            **({"settings": json.loads(_core.settings_of_processes(fixed))} if fixed else {}),
        )
        if fixed:
            loader.freeze()
        return loader

    def _epochs(self, count: int) -> dict[str, Any]:
        """Whole epochs, from the loader's ``iter`` to the end of its last batch."""
        samples, service = 0, 0.0
        gaps: list[float] = []
        epoch_gaps: list[float] = []
        cpu, consumer = feed.cpu_s(), time.thread_time()
        began = last = time.perf_counter()
        for epoch in range(count):
            for number, batch in enumerate(self._loader):
                now = time.perf_counter()
                if number or epoch:
                    (gaps if number else epoch_gaps).append(now - last)
                last = now
                service += _touched(batch)
                samples += len(batch[0])
                del batch
        ended = time.perf_counter()
        return {
            "samples": samples,
            "seconds": ended - began,
            "service_s": service,
            "cpu_s": feed.cpu_s() - cpu,
            "consumer_cpu_s": time.thread_time() - consumer,
            "gaps_s": gaps,
            "epoch_gaps_s": epoch_gaps,
            **(self._workers() if self._spec["persistent"] else {}),
        }

    def _stretch(self, begin_s: float, seconds: float) -> dict[str, Any]:
        """Samples of a stretch that begins a while after the loader was made."""
        self._loader = self._new_loader()
        origin = time.perf_counter()
        samples, began, ended, cpu = 0, 0.0, origin, 0.0
        for taken in self._endless():
            ended = time.perf_counter()
            if began:
                samples += taken
            elif ended >= origin + begin_s:
                began, cpu = ended, feed.cpu_s()
            if began and ended >= began + seconds:
                break
        return {
            "samples": samples,
            "seconds": ended - began,
            "cpu_s": feed.cpu_s() - cpu,
            **self._workers(),
        }

    def _workers(self) -> dict[str, Any]:
        """How many processes work, and how they give way to others."""
        pids = [process.pid for process in self._loader._iterator._workers]
        nice = sorted({os.getpriority(os.PRIO_PROCESS, pid) for pid in pids})
        return {"processes": len(pids), "nice": nice}

    def _outputs(self) -> dict[str, Any]:
        """What the samples' tensors are; the times that they took are left out."""
        batches = [batch[0].numpy() for batch in self._loader]
        return {"crc32": [zlib.crc32(array.data) for array in batches]}

    def _start(self) -> dict[str, Any]:
        """A new loader up to its first batch."""
        began = time.perf_counter()
        loader = self._new_loader()
        batches = iter(loader)
        batch = next(batches)
        took = time.perf_counter() - began
        del batch, batches, loader
        return {"first_batch_s": took}

    def _delay(self, seconds: float, beside: str) -> dict[str, Any]:
        """By how much a thread is late that wants to run every millisecond.

        Nothing else of the benchmark wants to run then: a process that did, to compare with, made
        the thread late itself.
        """
        context = multiprocessing.get_context("fork")
        count = self._spec["workers"] if beside == "spinners" else 0
        spinners = [context.Process(target=_spin_on, daemon=True) for _ in range(count)]
        batches = self._endless()
        if beside == "loader":
            next(batches)
        for spinner in spinners:
            spinner.start()
        delays: list[float] = []
        over = threading.Event()
        thread = threading.Thread(target=_note_delays, args=(delays, over))
        thread.start()
        limit = time.perf_counter() + seconds
        taken = 0
        while beside == "loader" and time.perf_counter() < limit:
            taken += next(batches)
        time.sleep(max(0.0, limit - time.perf_counter()))
        over.set()
        thread.join()
        for spinner in spinners:
            spinner.kill()
            spinner.join()
        return {**_quantiles(delays), "samples": taken, "seconds": seconds}

    def _endless(self) -> Any:
        while True:
            for batch in self._loader:
                _touched(batch)
                yield len(batch[0])


def _touched(batch: Any) -> float:
    """Reads from every page of a batch, as any use would; returns the time it took to make."""
    tensor, service = batch
    tensor.view(-1)[::_FLOATS_PER_PAGE].sum()
    return float(service.sum())


def _note_delays(delays: list[float], over: threading.Event) -> None:
    due = time.perf_counter()
    while not over.is_set():
        due = max(due + _PERIOD_S, time.perf_counter())
        time.sleep(max(0.0, due - time.perf_counter()))
        delays.append(time.perf_counter() - due)


def _quantiles(delays: list[float]) -> dict[str, float]:
    delays = sorted(delays)
    shares = {"p50_s": 0.5, "p99_s": 0.99, "p999_s": 0.999}
    return {name: delays[int(share * len(delays))] for name, share in shares.items()}


def _spin_on() -> None:
    while True:
        spin(1000)


def serve(make: Callable[..., Any]) -> None:
    """Runs the child that the only argument, in JSON, describes, until its input ends."""

    def begin(spec: dict[str, Any]) -> feed.Answering:
        child = Child(make, spec)
        return {}, child.answer

    feed.converse(begin)
