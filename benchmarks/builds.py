"""Compares this checkout with the build of another commit, in alternating processes.

    python -m benchmarks.builds COMMIT [--only image-kernels python-dataset/work_1ms] [--rounds 9]

Both builds run this checkout's contestants, each in a process of its own that imports one build's
package; a round measures one after the other, every second round the other way round. A ratio is
the median over the rounds of the new build's speed over the old one's, with its interval, which so
leaves out what both have in common: the machine and what else runs on it. An interrupted run goes
on where it was, as long as neither build nor the benchmarks have changed.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import pairs, report
from benchmarks.contestant import ROOT, Contestant, ContestantError
from benchmarks.journal import Journal, code

NAME = "builds"
GEOMETRIC_MEAN, LEAST = 0.99, 0.97


@dataclass(frozen=True)
class Build:
    """A checkout that was built."""

    root: Path

    @property
    def package(self) -> Path:
        """The folder that Python imports `drapps` from."""
        return self.root / "python"


def checked_out(commit: str) -> Build:
    """The files of a commit below build/bench/builds, with the extension module built.

    Raises:
        ContestantError: there is no such commit, or it does not build.
    """
    named = ["git", "rev-parse", "--verify", "-q", f"{commit}^{{commit}}"]
    lookup = subprocess.run(named, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if lookup.returncode:
        raise ContestantError(f"there is no commit {commit}")
    root = report.BUILD / "builds" / lookup.stdout.strip()
    if not (root / ".venv").exists():
        root.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(
            ["git", "archive", root.name], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x"], cwd=root, input=archive.stdout, check=True)
        (root / ".venv").symlink_to(ROOT / ".venv")
    print(f"{NAME}: building {root.name}", flush=True)
    if subprocess.run(["tools/setup.sh", "extension"], cwd=root, check=False).returncode:
        raise ContestantError(f"{root.name} does not build")
    return Build(root)


def measure(old: Build, new: Build, only: list[str], asked: dict[str, Any]) -> report.Result:
    """All cases whose names begin as `only` says, or all."""
    built = {"old": old.root.name, "new": code(sorted((ROOT / "benchmarks").rglob("*.py")))}
    journal = Journal(report.BUILD / NAME / "rounds.jsonl", {**asked, **built}, fresh=False)
    if journal.continued:
        print(f"{NAME}: continues a run, with {journal.continued} results", flush=True)
    builds = {"old": old, "new": new}
    result = report.Result(NAME)
    result.figures["commits"] = {
        "old": {"commit": built["old"]},
        "new": {"commit": report.commit()},
    }
    for case in pairs.cases(asked["seconds"], journal):
        if only and not case.name.startswith(tuple(only)):
            continue
        print(f"{NAME}, {case.name}", flush=True)
        for first in range(0, asked["rounds"], case.life):
            _rounds_of_one_life(case, builds, journal, first, asked["rounds"])
        _add(result, [journal.get(case.name, each) for each in range(asked["rounds"])])
    if not result.ratios:
        raise ContestantError(f"no case begins with {' or '.join(only)}")
    ends = [high for _low, high in result.intervals.values()]
    mean = math.exp(math.fsum(map(math.log, result.ratios.values())) / len(result.ratios))
    result.ratios |= {"geometric_mean": mean, "lowest_upper_end": min(ends)}
    result.wanted |= {"geometric_mean": GEOMETRIC_MEAN, "lowest_upper_end": LEAST}
    return result


def _rounds_of_one_life(
    case: pairs.Case, builds: dict[str, Build], journal: Journal, first: int, count: int
) -> None:
    """Rounds of the same processes; those that were kept are not repeated."""
    numbers = range(first, min(first + case.life, count))
    missing = [number for number in numbers if journal.get(case.name, number) is None]
    if not missing:
        return
    with ExitStack() as stack:
        running: dict[str, Contestant] = {}
        for name, build in builds.items():
            running[name] = stack.enter_context(case.start(build.root, build.package))
            for ask in case.warm:
                running[name].ask(**ask)
        for number in missing:
            order = list(running) if number % 2 else list(running)[::-1]
            speeds = {name: case.speeds(running[name].ask(**case.ask(number))) for name in order}
            journal.keep(case.name, number, result=speeds)


def _add(result: report.Result, rounds: list[dict[str, Any]]) -> None:
    """The ratios of a case, and its speeds as measured."""
    for name in rounds[0]["new"]:
        speeds = {build: [each[build][name] for each in rounds] for build in ("old", "new")}
        result.rounds[name] = {
            build: [{"speed": s} for s in each] for build, each in speeds.items()
        }
        result.add_ratio(name, [b / a for a, b in zip(*speeds.values(), strict=True)])
        low, high = result.intervals[name]
        print(f"  {name} {result.ratios[name]:.3f} ({low:.3f} to {high:.3f})", flush=True)


def main() -> int:
    """Measures, prints the table and writes the JSON; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.builds", description=__doc__)
    parser.add_argument("commit", help="of the old build")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="cases")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--keep", action="store_true", help="a dated copy in benchmarks/results/")
    options = parser.parse_args()
    load_before = os.getloadavg()[0]
    asked = {"rounds": options.rounds, "seconds": options.seconds}
    try:
        result = measure(checked_out(options.commit), Build(ROOT), options.only, asked)
    except KeyboardInterrupt:
        return 130
    except (ContestantError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    files = report.save(result, load_before, options.keep)
    print(f"\n{report.table(result)}\n")
    print(f"load average {load_before:.1f} before. {', '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
