"""``drapps policy check``: whether a learned policy may be trusted."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, count, named
from drapps.cli.progress import Progress
from drapps.errors import PipelineError
from drapps.output import NewFile

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "policy",
        run,
        summary="check whether a learned policy may be trusted",
        description="check FILE: runs every seed of a policy file on simulated machines that no "
        "training has seen, beside static settings, the default and the heuristics, and says "
        "whether it passes the gate. Nothing is overwritten: -o writes a copy that has the verdict "
        "in its card.",
    )
    parser.add_argument("action", choices=("check",))
    parser.add_argument("file", metavar="FILE", type=named, help="of drapps train-policy")
    parser.add_argument(
        "--cases",
        type=count,
        metavar="N",
        help="machines of each kind and draw (default: 300)",
    )
    parser.add_argument(
        "--seed", type=count, nargs="+", metavar="N", help="of each draw (default: 1 2 3)"
    )
    parser.add_argument("-o", "--out", type=named, metavar="FILE", help="a new file, with verdict")


def run(chosen: argparse.Namespace) -> Answer:
    """Measure, and say."""
    from drapps.policy import read
    from drapps.simulation.gate import CASES, DRAWS, check

    if chosen.out and Path(chosen.out).exists():
        raise PipelineError(f"{chosen.out!r} is there already: nothing is overwritten")
    policy = read(Path(chosen.file))
    progress = Progress(chosen)
    try:
        verdict = check(
            policy,
            cases=chosen.cases or CASES,
            draws=chosen.seed or DRAWS,
            progress=lambda done, of: progress.say(f"{done} of {of} machines"),
        )
    finally:
        progress.clear()
    if chosen.out:
        card = policy.get("card")
        out = NewFile(Path(chosen.out))
        try:
            known = card if isinstance(card, dict) else {}
            checked = {**policy, "card": {**known, "gate": verdict}}
            out.write((json.dumps(checked, indent=1) + "\n").encode())
            out.appear()
        finally:
            out.discard()
    return Answer(_text(chosen.file, verdict), verdict)


def _text(file: str, verdict: Mapping[str, Any]) -> str:
    passed = "passes the gate" if verdict["passed"] else "does not pass the gate"
    lines = [f"{shown(file)} {passed}"]
    lines += [f"  {reason}" for reason in verdict["failed"]]
    for name, each in verdict["sets"].items():
        lines.append(f"{each['runs']} machines, {name}: rate over the best known")
        means = each["means"]
        width = max(map(len, means))
        for arm in sorted(means, key=means.__getitem__, reverse=True):
            lines.append(f"  {arm:{width}}  {means[arm]:.4f}")
        for seed, measured in each["seeds"].items():
            static = measured["against_static"]
            worse = round(static["worse_by_3"] * each["runs"])
            lines.append(
                f"  seed {seed} against tuned static: mean {static['mean']:+.4f}, 5 % lose "
                f"{-static['p5']:.3f} or more, the worst {-static['worst']:.3f}; "
                f"{worse} of {each['runs']} are worse by more than 3 points"
            )
    return "\n".join(lines)
