"""What every benchmark writes and prints, in one form.

build/bench/SCENARIO.json:

    scenario, date, commit
    machine   what it ran on, and how busy that was with other things
    figures   the absolute numbers: case → contestant → figure
    ratios    flat: name → number; of throughputs, the median over the rounds
    intervals of some of the ratios: name → the two ends of their 95 % interval
    wanted    the least that some of the ratios should be, or the lower ends of their intervals
    limits    the most that some of the ratios should be
    rounds    the raw numbers: case → contestant → one object a round
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.contestant import ROOT, Answer, rate

BUILD = ROOT / "build/bench"
KEPT = ROOT / "benchmarks/results"

MIB = 1 << 20


@dataclass
class Result:
    """What a scenario measured.

    Attributes:
        scenario: its name.
        figures: case → contestant → figure; of a contestant that cannot run, `cannot_run`: why.
        ratios: flat.
        wanted: the least that some of the ratios should be; of an interval, its lower end.
        limits: the most that some of the ratios should be.
        intervals: of some of the ratios, 95 %.
        rounds: case → contestant → answers, in the order of the rounds.
    """

    scenario: str
    figures: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    wanted: dict[str, float] = field(default_factory=dict)
    rounds: dict[str, dict[str, list[Answer]]] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add_ratio(self, name: str, rounds: Sequence[float]) -> None:
        """Adds the median of a ratio that was measured in each round, and its interval."""
        self.ratios[name] = statistics.median(rounds)
        self.intervals[name] = interval(rounds)


def figures(answers: Sequence[Answer], started: Answer, peak_bytes: int) -> dict[str, Any]:
    """The figures of one contestant from its rounds."""
    samples = sum(answer["samples"] for answer in answers)
    gaps = sorted(gap for answer in answers for gap in answer.get("gaps_s", ()))
    first = started.get("first_batch_s")
    return {
        "samples_per_s": statistics.median(map(rate, answers)),
        "cpu_s_per_sample": sum(answer["cpu_s"] for answer in answers) / samples,
        "p99_gap_s": gaps[int(0.99 * len(gaps))] if gaps else None,
        "first_batch_s": statistics.median(first) if first else None,
        "peak_bytes": peak_bytes,
    }


def ratio(over: Sequence[Answer], under: Sequence[Answer]) -> float:
    """The median over the rounds of one contestant's throughput over another's."""
    return statistics.median(ratios(over, under))


def ratios(over: Sequence[Answer], under: Sequence[Answer]) -> list[float]:
    """One contestant's throughput over another's, in each round."""
    return [rate(a) / rate(b) for a, b in zip(over, under, strict=True)]


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Between which two of the values the median of what they are drawn from lies, at `level`.

    It takes no shape of their distribution for granted: the number of values below the median is
    binomial. Below six values no two of them do for 95 %: then it is from the least to the most.
    """
    ordered, left = sorted(values), 0
    while left < (len(ordered) - 1) // 2 and 2 * _tail(len(ordered), left + 1) <= 1 - level:
        left += 1
    return ordered[left], ordered[-1 - left]


def _tail(count: int, most: int) -> float:
    """The probability that at most so many of `count` coins show heads."""
    return sum(math.comb(count, heads) for heads in range(most + 1)) / 2**count


def save(result: Result, load_before: float, keep: bool) -> list[Path]:
    """Writes the JSON, and with `keep` a dated copy; returns where."""
    now = datetime.datetime.now(datetime.timezone.utc)
    content = {
        "scenario": result.scenario,
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": {**machine(), "load_before": load_before, "load_after": os.getloadavg()[0]},
        **{name: value for name, value in asdict(result).items() if name != "scenario"},
    }
    files = [BUILD / f"{result.scenario}.json"]
    if keep:
        files.append(KEPT / f"{now.date()}-{result.scenario}.json")
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content, indent=1) + "\n")
    return files


def put(name: str, texts: Mapping[str, str], keep: bool) -> None:
    """Writes files of a name, by their endings, into `BUILD` and where kept into `KEPT`."""
    for folder in (BUILD, KEPT) if keep else (BUILD,):
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in texts.items():
            (folder / f"{name}.{ending}").write_text(text)


def show(name: str, content: Mapping[str, Any], text: str, keep: bool, **more: str) -> None:
    """Prints a page in Markdown, and writes it with its content in JSON as `put` does.

    Args:
        name: of the files.
        content: what the page tells.
        text: the page.
        keep: whether it is kept.
        more: other files, by their endings.
    """
    put(name, {"json": json.dumps(content, indent=1) + "\n", "md": text, **more}, keep)
    print(text)


def stamp() -> dict[str, Any]:
    """When, of which commit and on what something was measured."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    """What the benchmark runs on."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "torchvision", "pillow")},
    }


def commit() -> str:
    """The commit checked out, and whether anything differs from it."""
    head = _git("rev-parse", "HEAD") or "unknown"
    return head + ("+changes" if _git("status", "--porcelain") else "")


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


# Heads, keys of figures, factors and digits; a column that no figure has is left out.
_COLUMNS: tuple[tuple[str, str, float, int], ...] = (
    ("samples/s", "samples_per_s", 1, 0),
    ("CPU ms/sample", "cpu_s_per_sample", 1e3, 3),
    ("p99 gap ms", "p99_gap_s", 1e3, 1),
    ("first batch ms", "first_batch_s", 1e3, 0),
    ("MB/s", "mb_per_s", 1, 1),
    ("cold MB/s", "cold_mb_per_s", 1, 1),
    ("load ms", "load_s", 1e3, 0),
    ("peak MiB", "peak_bytes", 1 / MIB, 0),
)


def table(result: Result) -> str:
    """All figures and ratios as text."""
    rows = [
        (f"{case} {name}", f) for case, all_ in result.figures.items() for name, f in all_.items()
    ]
    columns = [each for each in _COLUMNS if any(row.get(each[1]) is not None for _, row in rows)]
    width = 2 + max(20, *(len(name) for name in [*result.ratios, *(name for name, _ in rows)]))
    lines = [f"{'':<{width}}" + "".join(f"{head:>16}" for head, *_ in columns)]
    for name, figure in rows:
        if "cannot_run" in figure:
            lines.append(f"{name:<{width}}  cannot run: {figure['cannot_run']}")
            continue
        cells = (_text(figure.get(key), scale, digits) for _, key, scale, digits in columns)
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>16}" for cell in cells))
    lines.append("")
    for name, value in result.ratios.items():
        between = (
            "   {:.3f} to {:.3f}".format(*ends) if (ends := result.intervals.get(name)) else ""
        )
        lines.append(f"{name:<{width}}{value:>16.3f}{between}{_goal(result, name)}")
    return "\n".join(lines)


def _goal(result: Result, name: str) -> str:
    if name in result.limits:
        return f"   (wanted: at most {result.limits[name]:g})"
    return f"   (wanted: at least {result.wanted[name]:g})" if name in result.wanted else ""


def _text(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{value * scale:,.{digits}f}"
