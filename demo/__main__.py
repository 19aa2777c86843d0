"""The demo from beginning to end; `python -m demo --help` lists what may be said."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from pathlib import Path

from demo import page, photos, plan, process, progress, report, userdata, wallpapers

_BUILD = Path(__file__).resolve().parent.parent / "build" / "demo"


def main() -> int:
    """Runs the demo; returns the process's exit status."""
    arguments = _arguments()
    began = time.monotonic()
    try:
        root, samples, described = _data(arguments)
        _BUILD.mkdir(parents=True, exist_ok=True)
        results = plan.run(root, samples, _BUILD)
    except (wallpapers.FetchError, process.RunError, ValueError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    results.data, results.machine = described, _machine()
    results.save(_BUILD / "results.json")
    (_BUILD / "report.html").write_text(page.html(results))
    print(f"\n{described}. {results.machine}.\n\n{report.terminal(results)}\n")
    print(f"report: {_BUILD / 'report.html'}  (raw numbers: {_BUILD / 'results.json'})")
    print(f"what hill_climb saw: drapps trace show {plan.trace_of('hill_climb', _BUILD)}")
    print(f"took {time.monotonic() - began:.0f} s")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="your own pictures: DIR/<class>/*")
    parser.add_argument(
        "--sampling", choices=photos.SAMPLINGS, default="444", help="chroma sampling of the tiles"
    )
    return parser.parse_args()


def _data(arguments: argparse.Namespace) -> tuple[Path, int, str]:
    """Returns where the pictures are, how many there are to train on, and a line about them."""
    if arguments.data is not None:
        own = userdata.split(arguments.data, _BUILD / "data")
        if own.left_out:
            print(f"too few pictures, left out: {', '.join(own.left_out)}", file=sys.stderr)
        counts = f"{own.train} to train on, {own.heldout} held out, {own.classes} classes"
        return own.root, own.train, f"{arguments.data}: {counts}"
    with progress.Bar("photo set") as bar:
        built = photos.ensure(_BUILD / "photos", lambda what, done, of: bar.update(done, of, what))
    size = built.mean_bytes[arguments.sampling] / 1000
    return (
        built.root / arguments.sampling,
        built.train,
        f"{built.train} tiles of {built.classes} photographs to train on, {built.heldout} held "
        f"out, {photos.SAMPLINGS[arguments.sampling]}, {size:.0f} KB each",
    )


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    names = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((ln.partition(": ")[2] for ln in names if ln.startswith("model name")), "")
    return f"{cores} cores of {name or platform.machine()}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
