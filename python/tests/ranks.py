"""Scripts on several ranks of this machine, with the environment that torchrun gives them."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import drapps

PACKAGES = Path(drapps.__file__).parents[1]
# What scripts import, which takes longer than most of them.
FRAMEWORKS = ["drapps.torch", "accelerate", "lightning", "torchvision", "transformers.trainer"]


@lru_cache(maxsize=1)
def rank_server() -> "subprocess.Popen[bytes]":
    """The process whose forks the ranks are."""
    own = {
        "PYTHONPATH": os.pathsep.join([str(PACKAGES), str(PACKAGES.parent)]),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "python.tests.rank_server", *FRAMEWORKS],
        env=os.environ | own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(end, process)
    return process


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends it, and all its forks."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_ranks(words: Sequence[object], folder: Path, ranks: int = 2, timeout: float = 900):
    """What each rank printed; all must succeed.

    Args:
        words: the script and its arguments.
        folder: an empty one.
        ranks: how many.
        timeout: in seconds, after which all are killed.
    """
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    common = {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RUN_ID": "test",
    }
    environments = [{**common, "RANK": str(r), "LOCAL_RANK": str(r)} for r in range(ranks)]
    request = {"words": [*map(str, words)], "folder": str(folder), "environments": environments}
    server = rank_server()
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    if select.select([server.stdout], [], [], timeout)[0]:
        codes = json.loads(server.stdout.readline() or "[]")
    else:
        codes = ["it took too long"]
        rank_server.cache_clear()
        end(server)
    files = [folder / f"out-{rank}" for rank in range(ranks)]
    outputs = [file.read_text() if file.exists() else "" for file in files]
    assert codes == [0] * ranks, "\n".join([str(codes), *outputs])
    return outputs
