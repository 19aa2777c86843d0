"""Make the screenshots of the documentation, of trainings that run for them.

``python -m tools.screenshots`` writes docs/images/top-*.svg, at 80 columns and 24 lines.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image
from textual.pilot import Pilot

from drapps import MonitorError, monitor
from drapps.monitor.reports import LoaderReport
from drapps.top.app import Top
from drapps.top.process_screen import ProcessScreen
from drapps.top.ranks_screen import RanksScreen

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
SIZE = (80, 24)
PATIENCE = 120.0  # seconds for a training to come to what is shown
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # which would be fetched from elsewhere

TRAINING = """
import time
import drapps

photos = drapps.image_folder("photos").random_resized_crop(128).flip().shuffle()
loader = photos.batch(16, policy="hill_climb", cache="64MB", form="coefficients")
while True:
    for batch in loader.numpy():
        time.sleep(0.002)  # the training step
"""


# Two ranks, of which the second reads from a storage that is slow.
RANKS = """
import os
import time
import drapps
import torch

torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
photos = drapps.image_folder("photos")
if rank == 1:
    photos = photos.on(drapps.emulate(latency=0.3))
photos = photos.resize(64).center_crop(64).shuffle().shard(rank, 2)
loader = photos.batch(4, policy="initial", cache="off")
while True:
    for batch in loader.torch():
        time.sleep(0.02)
        torch.distributed.barrier()
"""


@contextlib.contextmanager
def training(script: str, ranks: int = 1) -> Iterator[list[int]]:
    """Processes that train on photos of noise, by their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        draw = np.random.default_rng(0)
        for number in range(200):
            path = Path(folder, "photos", str(number % 4), f"{number}.jpg")
            path.parent.mkdir(parents=True, exist_ok=True)
            coarse = draw.integers(0, 256, (6, 8, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((500, 375)).save(path, quality=90)
        Path(folder, "train.py").write_text(script, encoding="utf-8")
        paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(ROOT / "python"),
        }
        if ranks > 1:
            environment |= {"WORLD_SIZE": str(ranks)}
            environment |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}
        processes = [
            subprocess.Popen(
                ["python", "train.py"], cwd=folder, env={**environment, "RANK": str(rank)}
            )
            for rank in range(ranks)
        ]
        try:
            yield [process.pid for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def holds_of_one(pid: int, holds: Callable[[LoaderReport], bool]) -> bool:
    """Whether something holds of one of its loaders."""
    try:
        return any(map(holds, monitor.snapshot(pid).loaders))
    except MonitorError:
        return False


def moved(loader: LoaderReport) -> bool:
    """Whether it has moved a knob."""
    return loader.explanation.decisions.last_move is not None


def trains(loader: LoaderReport) -> bool:
    """Whether it has given batches for a while."""
    return loader.stats.batches > 100


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Waits for something.

    Raises:
        TimeoutError: it has not come.
    """
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the training has not come to what is shown")
        await pilot.pause(0.2)


async def shots(pid: int) -> dict[str, str]:
    """The pictures, by name."""
    pictures = {}
    app = Top(pid, 0.5)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: holds_of_one(pid, moved))
        screen = app.screen
        assert isinstance(screen, ProcessScreen)
        await until(pilot, lambda: screen.snapshot is not None)
        await pilot.pause(2)
        pictures["top-training"] = app.export_screenshot()
        await pilot.press("6")
        await pilot.pause(1)
        pictures["top-knobs"] = app.export_screenshot()
        await pilot.press("escape")
        await pilot.pause(2)
        pictures["top-list"] = app.export_screenshot()
    return pictures


async def shots_of_ranks(pids: list[int]) -> dict[str, str]:
    """The picture of ranks, by its name."""
    app = Top(None, 0.5)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: all(holds_of_one(pid, trains) for pid in pids))
        await pilot.pause(1)
        await pilot.press("home", "enter")
        await until(pilot, lambda: isinstance(app.screen, RanksScreen))
        await pilot.pause(3)
        return {"top-ranks": app.export_screenshot()}


def main() -> None:
    """Make them all."""
    with tempfile.TemporaryDirectory(prefix="drapps-") as runtime:
        # Nothing else that runs is shown.
        os.environ |= {"XDG_RUNTIME_DIR": runtime, "TMPDIR": runtime}
        tempfile.tempdir = None
        with training(TRAINING) as (pid,):
            pictures = asyncio.run(shots(pid))
        with training(RANKS, 2) as pids:
            pictures |= asyncio.run(shots_of_ranks(pids))
    for name, picture in pictures.items():
        path = IMAGES / f"{name}.svg"
        path.write_text(FONT_FACE.sub("", picture), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
