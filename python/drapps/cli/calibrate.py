"""``drapps calibrate``: the simulator, fitted to this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, named
from drapps.cli.play import seconds
from drapps.cli.progress import Progress
from drapps.errors import PipelineError

if TYPE_CHECKING:
    from drapps.cli.parser import Commands

_FILE = "this-machine.yaml"


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "calibrate",
        run,
        summary="fit the simulator to this machine",
        description="Measures this machine for a minute or two with photos in memory, photos "
        "behind an emulated storage and Python samples, and writes a machine for drapps simulate. "
        "Nothing is overwritten. Leave the machine alone meanwhile.",
    )
    parser.add_argument(
        "-o", "--out", type=named, default=_FILE, metavar="FILE", help=f"a new file; {_FILE}"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=2.0, metavar="S", help="that each setting is measured; 2"
    )


def run(chosen: argparse.Namespace) -> Answer:
    """Measure, and write the file."""
    file = Path(chosen.out)
    if file.exists():
        raise PipelineError(f"{chosen.out!r} is there: nothing is overwritten")
    if not file.parent.is_dir():
        raise PipelineError(f"{str(file.parent)!r} is no folder: no file can be written there")
    from drapps.simulation.calibration.own_machine import calibrated

    progress = Progress(chosen)
    try:
        calibration = calibrated(
            chosen.seconds, lambda what, done, of: progress.say(f"{what}, {done} of {of}")
        )
    finally:
        progress.clear()
    calibration.save(file)
    # A name without a dot or a slash would be that of a machine that comes with DRAPPS.
    name = chosen.out if "." in chosen.out or "/" in chosen.out else f"./{chosen.out}"
    use = f"in {shown(chosen.out)}: drapps simulate SCENARIO --machine {shown(name)}"
    return Answer(f"{calibration}\n{use}", {"file": chosen.out, **calibration.to_json()})
