"""Make the screenshots of the documentation, of a training that runs for them.

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
from drapps.top.app import Top
from drapps.top.process_screen import ProcessScreen

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


@contextlib.contextmanager
def training() -> Iterator[int]:
    """A process that trains on photos of noise, by its number."""
    with tempfile.TemporaryDirectory() as folder:
        draw = np.random.default_rng(0)
        for number in range(200):
            path = Path(folder, "photos", str(number % 4), f"{number}.jpg")
            path.parent.mkdir(parents=True, exist_ok=True)
            coarse = draw.integers(0, 256, (6, 8, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((500, 375)).save(path, quality=90)
        Path(folder, "train.py").write_text(TRAINING, encoding="utf-8")
        paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(ROOT / "python"),
        }
        process = subprocess.Popen(["python", "train.py"], cwd=folder, env=environment)
        try:
            yield process.pid
        finally:
            process.kill()
            process.wait()


def moved(pid: int) -> bool:
    """Whether its loader has moved a knob."""
    try:
        return any(
            each.explanation.decisions.last_move is not None
            for each in monitor.snapshot(pid).loaders
        )
    except MonitorError:
        return False


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
    made = {}
    app = Top(pid, 0.5)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: moved(pid))
        screen = app.screen
        assert isinstance(screen, ProcessScreen)
        await until(pilot, lambda: screen.snapshot is not None)
        await pilot.pause(2)
        made["top-training"] = app.export_screenshot()
        await pilot.press("6")
        await pilot.pause(1)
        made["top-knobs"] = app.export_screenshot()
        await pilot.press("escape")
        await pilot.pause(2)
        made["top-list"] = app.export_screenshot()
    return made


def main() -> None:
    """Make them all."""
    with tempfile.TemporaryDirectory(prefix="drapps-") as runtime:
        # Nothing else that runs is shown.
        os.environ |= {"XDG_RUNTIME_DIR": runtime, "TMPDIR": runtime}
        tempfile.tempdir = None
        with training() as pid:
            made = asyncio.run(shots(pid))
    for name, picture in made.items():
        path = IMAGES / f"{name}.svg"
        path.write_text(FONT_FACE.sub("", picture), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
