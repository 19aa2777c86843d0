"""The default against another policy that is judged, played live on this machine.

    python -m benchmarks.control --live [--policy FILE] [--keep] [--fresh] [--blocks N] [--only S]

The other one is model predictive control, or what stands in a file: of a learned policy the weights
that were chosen, as they are. Four scenarios, each in blocks of four runs: the default, the other,
the other, the default. So what drifts while a block lasts is the same for both. The two defaults of
a block say what two runs of the same settings differ by. An interrupted run goes on where it was;
every run stands in the report's JSON.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks import report
from benchmarks.journal import Journal, begin, code
from drapps.errors import PipelineError
from drapps.policy import read, without_notes
from drapps.scenario import Drapps, Run, load, play
from drapps.simulation.gate import hash_of

SCENARIOS = ("bandwidth-falls", "step-shrinks", "burners-come-and-go", "python-sleep-begins")
BLOCKS = 2
POLICY: Mapping[str, Any] = {"name": "mpc", "judge": True}
LEVEL = 0.9
_RUNS = "ABBA"  # A: the default, B: POLICY
_NAME = "control-live"
# Student's t at LEVEL, one-sided, by degrees of freedom from 1 on; the last one for more.
_STUDENT = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356)

Rates = Sequence[float]  # samples/s of each segment
Block = Sequence[Rates]  # of each run, in the order of _RUNS


def main(words: Sequence[str] | None = None) -> int:
    """Plays what is missing, and prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control --live", description=__doc__
    )
    parser.add_argument("--policy", type=Path, metavar="FILE", help="in the place of mpc")
    parser.add_argument(
        "--only", nargs="+", choices=SCENARIOS, default=SCENARIOS, help="some of the scenarios"
    )
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="of each scenario")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run")
    options = parser.parse_args(words)
    if options.blocks * len(options.only) < 2:
        parser.error("a bound needs two blocks")
    other = _judged(options.policy)
    title = _NAME if options.policy is None else f"{_NAME}-{other['name']}"
    asked = {
        "cores": len(os.sched_getaffinity(0)),
        "code": code([Path(__file__).resolve()]),
        "policy": other,
    }
    journal = begin(title, report.BUILD / title / "runs.jsonl", asked, options.fresh)
    loaders = {"A": Drapps(), "B": Drapps(policy=other)}
    blocks = {
        name: [_block(journal, name, number, loaders) for number in range(options.blocks)]
        for name in options.only
    }
    content = {
        **report.stamp(),
        "policy": _named(other),
        "blocks": blocks,
    }
    report.show(title, content, page(content), options.keep)
    return 0


def _judged(file: Path | None) -> Mapping[str, Any]:
    """The other policy, with a judge.

    Raises:
        PipelineError: the file cannot be read, or holds no policy.
    """
    return POLICY if file is None else {**without_notes(read(file)), "judge": True}


def _named(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy as a report has it: weights by their hash."""
    return {name: hash_of(value) if name == "weights" else value for name, value in policy.items()}


def _block(
    journal: Journal, name: str, number: int, loaders: Mapping[str, Drapps]
) -> list[list[float]]:
    block = []
    for place, arm in enumerate(_RUNS):
        key = (name, number, place)
        rates: list[float] | None = journal.get(*key)
        if rates is None:
            rates = _rates(play(load(name), loaders[arm]))
            journal.keep(*key, result=rates)
            shown = "/".join(f"{rate:,.0f}" for rate in rates)
            print(f"{name}, block {number + 1}, {arm}: {shown} samples/s", flush=True)
        block.append(rates)
    return block


def _rates(run: Run) -> list[float]:
    if run.skipped:
        raise PipelineError(f"{run.scenario['name']} cannot be played here: {run.skipped}")
    return [segment.rate for segment in run.segments]


def difference(rates: Rates, usual: Rates) -> float:
    """The mean over the segments of a rate over another one, less 1."""
    return fmean(rate / other for rate, other in zip(rates, usual, strict=True)) - 1


def pairs(block: Block) -> tuple[float, float]:
    """Of the two pairs of a block: the first two runs, and the last two."""
    return difference(block[1], block[0]), difference(block[2], block[3])


def again(block: Block) -> float:
    """What the second default differs from the first one by."""
    return difference(block[3], block[0])


def lower_bound(differences: Sequence[float]) -> float:
    """Above which the mean of what they are drawn from lies, at `LEVEL`, by Student's t.

    Args:
        differences: independent ones, two at least.
    """
    count = len(differences)
    factor = _STUDENT[min(count - 1, len(_STUDENT)) - 1]
    return fmean(differences) - factor * stdev(differences) / math.sqrt(count)


def page(content: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    return "".join(_page(content))


def _page(content: Mapping[str, Any]) -> Iterator[str]:
    blocks: Mapping[str, Sequence[Block]] = content["blocks"]
    means = [fmean(pairs(block)) for each in blocks.values() for block in each]
    both = [pair for each in blocks.values() for block in each for pair in pairs(block)]
    usual = [again(block) for each in blocks.values() for block in each]
    name = content["policy"]["name"]
    yield f"# Played live: the default against {name} with a judge\n\n"
    if len(blocks) < len(SCENARIOS) or len(means) < BLOCKS * len(blocks):
        yield f"A cut: a whole run has {BLOCKS} blocks of each of {len(SCENARIOS)} scenarios.\n\n"
    yield (
        f"{len(means)} blocks of four runs. The mean difference is {fmean(means):+.1%}; "
        f"at {LEVEL:.0%} it is more than {lower_bound(means):+.1%}. The worst of {len(both)} "
        f"pairs is {min(both):+.1%}. Two defaults of a block differ by {fmean(usual):+.1%} in the "
        f"mean, and by {max(usual, key=abs):+.1%} at most.\n\n"
    )
    yield f"| scenario | pairs | mean | more than, at {LEVEL:.0%} | A/A |\n|---|---|---|---|---|\n"
    for scenario, each in blocks.items():
        own = [pair for block in each for pair in pairs(block)]
        by_block = [fmean(pairs(block)) for block in each]
        bound = f"{lower_bound(by_block):+.1%}" if len(by_block) > 1 else "one block"
        yield (
            f"| {scenario} | {_list(own)} | {fmean(own):+.1%} | {bound} "
            f"| {_list([again(block) for block in each])} |\n"
        )
    machine = content["machine"]
    file = "" if name == POLICY["name"] else " --policy FILE"
    yield (
        f"\n{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores. "
        f'`make bench-control ARGS="--live{file} --keep"` writes such a page.\n'
    )


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:+.1%}" for number in numbers)
