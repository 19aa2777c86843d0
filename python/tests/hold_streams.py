"""What the ``test_hold_*`` modules share: small pictures, loaders under any policy, digests."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import drapps
from drapps import _core
from drapps.stream import Stream
from python.tests.decode_files import encode, jpeg, picture

_core._register_test_policies()

PACKAGES = Path(drapps.__file__).parents[1]
Piece = tuple[int, str]

# The beginning of a script: a loader over enough batches that some are always under way, what it
# gives, and forks that cannot hang.
PREPARE = """
import multiprocessing, os, sys, threading, time
import numpy as np
import drapps
from python.tests.hold_streams import core, piece, pieces, records, train
source = train(drapps.image_bytes(records(40)))
wanted = pieces(core(source, 2))
loader = source.batch(2)

def in_child(work):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid

def wait(pid):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    raise SystemExit("the child hangs")
"""


def records(count: int, largest: int = 120) -> list[bytes]:
    """Encoded pictures of many sizes, codecs and subsamplings."""
    contents = []
    for seed in range(count):
        height, width = 17 + 37 * seed % largest, 17 + 53 * seed % largest
        if seed % 5 == 3:
            contents.append(encode(picture("RGB", height, width, seed), "PNG"))
        elif seed % 5 == 4:
            contents.append(encode(picture("RGB", height, width, seed), "WEBP", quality=80))
        else:
            contents.append(jpeg(("4:4:4", "4:2:2", "4:2:0")[seed % 5], height, width))
    return contents


def write_files(root: Path, contents: Iterable[bytes], ending: str = ".jpg") -> list[Path]:
    """One numbered file per record."""
    root.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, content in enumerate(contents):
        paths.append(root / f"{number:04}{ending}")
        paths[-1].write_bytes(content)
    return paths


def train(pipeline: drapps.Pipeline) -> drapps.Pipeline:
    """Random ops of every kind that draws."""
    pipeline = pipeline.random_resized_crop(24, scale=(0.2, 1.0)).flip()
    return pipeline.color_jitter(0.3, 0.3, 0.3, 0.05).random_erasing().shuffle(5).seed(9)


def core(pipeline: drapps.Pipeline, batch: int = 5, **options: Any) -> _core.Loader:
    """A loader of the core, whose policies include those made for tests."""
    spec = pipeline.describe()
    spec["sampler"]["batch"] = batch
    return _core.Loader(pipeline.source.native(), json.dumps(spec), json.dumps(options))


def piece(batch: Any) -> Piece:
    """(rows, digest over every column of a batch)."""
    tensors = batch.tensors if hasattr(batch, "tensors") else batch
    digest = hashlib.blake2b(digest_size=12)
    for name in sorted(tensors):
        array = np.asarray(tensors[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return batch.rows, digest.hexdigest()


def pieces(
    loader: _core.Loader,
    epoch: int = 0,
    start: int = 0,
    each: Callable[[int], None] = lambda _: None,
) -> list[Piece]:
    """Digests of one pass, in order; `each` is called with the number of batches taken."""
    stream = Stream(loader, epoch, start)
    digests: list[Piece] = []
    while True:
        try:
            digests.append(piece(stream.next()))
        except StopIteration:
            return digests
        each(len(digests))


def wait_until(
    condition: Callable[[], bool], seconds: float = 300, seen: Callable[[], object] = str
) -> None:
    """Waits for something that must happen; the deadline only guards against hanging.

    Args:
        condition: whether it has happened.
        seconds: until the deadline.
        seen: gives what is said beside a failure.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in time {seen()}"
        time.sleep(0.01)


def start_script(script: str, *arguments: Any, **environment: str) -> subprocess.Popen[str]:
    """A fresh interpreter that runs `script` and finds the package under test."""
    path = os.pathsep.join([str(PACKAGES), str(Path(__file__).parents[2])])
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )


def run_script(script: str, *arguments: Any, timeout: float = 600, **environment: str) -> str:
    """Its output; it must succeed in time and write nothing to stderr."""
    with start_script(script, *arguments, **environment) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert (process.returncode, err) == (0, ""), f"exit {process.returncode}: {err}\n{out}"
    return out
