"""What a learned policy owes to what: parts of its training left out, and parts of its work.

    python -m benchmarks.control --ablations [--decisions N] [--seeds N] [--cases N] [--only ARM...]

Every arm is trained anew from the same seeds, or is the first one with something taken away, and
runs on validation machines, from where a loader begins and from tuned static settings. Three seeds
of two million decisions take some four minutes an arm and core; --list says what there is.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from benchmarks import report
from drapps.errors import PipelineError
from drapps.simulation import gate, learning
from drapps.simulation.cases import value

_NAME = "control-ablations"
VALIDATION = 3  # the seed of the machines: 0 chooses seeds, 1 and 2 were looked at
_CERTAIN = 1e3  # of a logit
_CHOICES = {"notch": 3, "notches": 5}  # of a knob; to stay is the first

#: By arm, the options of its training that are other than usual.
TRAINED: Mapping[str, Mapping[str, Any]] = {
    "as usual": {},
    "hard episodes more often": {"hard": 0.5},
    "no warm start": {"warm": 0.0},
    "it chooses the form": {"form": 1},
    "no look-ahead": {"look_ahead": 0},
    "no memory of the best": {"best": 0},
    "no fallback": {"fallback": 0},
    "it moves worker processes": {"trials": 0},
    "reward paper-a": {"reward": "paper-a"},
    "reward paper-b": {"reward": "paper-b"},
    "reward paper-c": {"reward": "paper-c"},
    "no delay, no noise": {"delay": 0, "noise": 0.0},
}
#: By arm, what the usual one has while it runs: a judge, or knobs that stay.
CHANGED: Mapping[str, Mapping[str, Any]] = {
    "with a judge": {"judge": True},
    "prefetch_depth stays 1": {"held": {"prefetch_depth": 1}},
    "prefetch_depth stays 4": {"held": {"prefetch_depth": 4}},
    "prefetch_depth stays 8": {"held": {"prefetch_depth": 8}},
    "placement stays": {"held": {"decode_on_gpu": 0, "augment_on_gpu": 0}},
}


def main(words: Sequence[str] | None = None) -> int:
    """Trains and runs all arms, and prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.control --ablations", description=__doc__
    )
    parser.add_argument("--decisions", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cases", type=int, default=60, help="machines of each of two kinds")
    parser.add_argument("--only", nargs="+", choices=[*TRAINED, *CHANGED], help="some of the arms")
    parser.add_argument("--list", action="store_true", help="name the arms, and do nothing")
    parser.add_argument("--keep", action="store_true", help="put it into benchmarks/results/")
    options = parser.parse_args(words)
    if options.list:
        print("\n".join([*TRAINED, *CHANGED]))
        return 0
    content = _content(options)
    report.show(_NAME, content, page(content), options.keep)
    return 0


def _content(options: argparse.Namespace) -> dict[str, Any]:
    wanted = options.only or [*TRAINED, *CHANGED]
    usual = next(iter(TRAINED))
    machines = {
        name: gate.cases_of(options.cases, VALIDATION, shift) for name, shift in gate.SETS.items()
    }
    arms: dict[str, Any] = {}
    weights: dict[str, list[str]] = {}
    for name, own in TRAINED.items():
        if name not in wanted and not (name == usual and set(wanted) & set(CHANGED)):
            continue
        began = time.monotonic()
        trained = learning.train(
            {"decisions": options.decisions, **own}, range(1, options.seeds + 1)
        )
        weights[name] = [each.weights for each in trained]
        arms[name] = [_values(machines, each, {}) for each in weights[name]]
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    for name, change in CHANGED.items():
        if name in wanted:
            arms[name] = [_values(machines, each, change) for each in weights[usual]]
            print(name, flush=True)
    return {
        **report.stamp(),
        "decisions": options.decisions,
        "cases": options.cases,
        "arms": {name: arms[name] for name in wanted},
    }


def _values(
    machines: Mapping[str, Sequence[gate.ValidationCase]], weights: str, change: Mapping[str, Any]
) -> dict[str, float]:
    """Of one seed: the mean value in each set, from both beginnings."""
    held: Mapping[str, int] = change.get("held", {})
    stays = staying(weights, list(held)) if held else weights
    policy = json.dumps({"name": "ppo", "weights": stays, "judge": change.get("judge", False)})
    means = {}
    for name, cases in machines.items():
        for start in ("begun", "warm"):
            values = []
            for case in cases:
                first = dict(case.best[0]) if start == "warm" else {}
                first |= {knob: number for knob, number in held.items() if knob in case.best[0]}
                values.append(value(gate.rates_begun(case, policy, first), case.rates))
            means[f"{name}, {start}"] = round(fmean(values), 5)
    return means


def staying(weights: str, knobs: Sequence[str]) -> str:
    """Weights that leave some of their knobs where they stand.

    src/drapps/policy/learned_weights.h has the format.
    """
    raw = base64.b64decode(weights)
    begin = raw.index(b"\n") + 1
    (length,) = struct.unpack_from("<I", raw, begin)
    shape = json.loads(raw[begin + 4 : begin + 4 + length])
    places = []
    outputs = 0
    for knob in shape["knobs"]:
        move = knob[3] if len(knob) > 3 else "notch"
        if move not in _CHOICES:
            raise PipelineError(f"{knob[0]} does not move by notches: it cannot be told to stay")
        if knob[0] in knobs:
            places.append(outputs)
        outputs += _CHOICES[move]
    content = bytearray(raw[:-8])
    for place in places:
        struct.pack_into("<f", content, len(content) - 4 * (outputs - place), _CERTAIN)
    return base64.b64encode(bytes(content) + struct.pack("<Q", _fnv(content))).decode()


def _fnv(content: bytes | bytearray) -> int:
    """FNV-1a, 64 bits."""
    digest = 0xCBF29CE484222325
    for byte in content:
        digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return digest


def mean_and_spread(values: Sequence[float]) -> str:
    """The mean, and the standard deviation where there are several."""
    spread = stdev(values) if len(values) > 1 else 0.0
    return f"{fmean(values):.4f} ± {spread:.4f}"


def page(content: Mapping[str, Any]) -> str:
    """The report as Markdown."""
    return "".join(_page(content))


def _page(content: Mapping[str, Any]) -> Iterator[str]:
    arms: Mapping[str, Sequence[Mapping[str, float]]] = content["arms"]
    seeds = len(next(iter(arms.values())))
    columns = list(next(iter(arms.values()))[0])
    yield "# Ablations of learned policies\n\n"
    yield (
        f"PPO, {content['decisions']:,} decisions, {seeds} seeds each: rates over the best of each "
        f"segment, mean ± standard deviation over seeds, on {content['cases']} validation machines "
        "of each set.\n\n"
    )
    yield f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|\n"
    for name, rows in arms.items():
        cells = [mean_and_spread([each[column] for each in rows]) for column in columns]
        yield f"| {name} | {' | '.join(cells)} |\n"
    machine = content["machine"]
    yield (
        f"\n{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores; nothing here is timed.\n"
    )
