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
TORCH = ["drapps.torch", "torch.multiprocessing.spawn", "torchvision.transforms"]


@lru_cache
def server(*modules: str) -> "subprocess.Popen[bytes]":
    """The process whose forks scripts are, with what it imports for them."""
    own = {
        "PYTHONPATH": os.pathsep.join([str(PACKAGES), str(PACKAGES.parent)]),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "python.tests.rank_server", *modules],
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


def run_ranks(
    words: Sequence[object],
    folder: Path,
    ranks: int = 2,
    timeout: float = 900,
    modules: Sequence[str] = FRAMEWORKS,
):
    """What each rank printed; all must succeed.

    Args:
        words: the script and its arguments.
        folder: an empty one.
        ranks: how many.
        timeout: in seconds, after which all are killed.
        modules: what the processes have imported.
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
    codes = serve(modules, words, folder, environments, timeout)
    outputs = [read(folder / f"{name}-{r}") for r in range(ranks) for name in ("out", "err")]
    assert codes == [0] * ranks, "\n".join([str(codes), *outputs])
    return [read(folder / f"out-{rank}") for rank in range(ranks)]


def run_forked(
    words: Sequence[object], folder: Path, modules: Sequence[str], timeout: float = 300
) -> "subprocess.CompletedProcess[str]":
    """A script in a process that has imported some modules before, which takes most of its time.

    Args:
        words: the script and its arguments, or -m and a module's name in its place.
        folder: the working directory, which gets files with the output.
        modules: what the process has imported.
        timeout: in seconds, after which it is killed.
    """
    [code] = serve(modules, words, folder, [{}], timeout)
    return subprocess.CompletedProcess(
        [*words], code, read(folder / "out-0"), read(folder / "err-0")
    )


def serve(
    modules: Sequence[str],
    words: Sequence[object],
    folder: Path,
    environments: Sequence[dict[str, str]],
    timeout: float,
) -> list[object]:
    """Exit statuses of a script, once with each environment, all at the same time."""
    request = {
        "words": [*map(str, words)],
        "folder": str(folder),
        "environments": list(environments),
    }
    process = server(*modules)
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    if select.select([process.stdout], [], [], timeout)[0]:
        return json.loads(process.stdout.readline() or "[]")
    server.cache_clear()
    end(process)
    return ["it took too long"]


def read(file: Path) -> str:
    """A file's text, nothing where there is no such file."""
    return file.read_text() if file.exists() else ""
