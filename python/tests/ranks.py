"""Scripts on several ranks of this machine, started as torchrun starts them."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import drapps

PACKAGES = Path(drapps.__file__).parents[1]


def run_ranks(words: Sequence[object], folder: Path, ranks: int = 2, timeout: float = 900):
    """What each rank printed; all must succeed.

    Args:
        words: the script and its arguments.
        folder: an empty one.
        ranks: how many; one is started plainly.
        timeout: in seconds, after which all are killed.
    """
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    common = {
        "PYTHONPATH": os.pathsep.join([str(PACKAGES), str(PACKAGES.parent)]),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "TORCHELASTIC_RUN_ID": "test",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, *map(str, words)],
            env={
                **os.environ,
                **(common if ranks > 1 else {"PYTHONPATH": common["PYTHONPATH"]}),
                **({"RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {}),
            },
            stdout=(folder / f"out-{rank}").open("w"),
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        for rank in range(ranks)
    ]
    try:
        codes = [process.wait(timeout) for process in processes]
    except subprocess.TimeoutExpired:
        codes = ["it took too long"]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    outputs = [(folder / f"out-{rank}").read_text() for rank in range(ranks)]
    assert codes == [0] * ranks, "\n".join([str(codes), *outputs])
    return outputs
