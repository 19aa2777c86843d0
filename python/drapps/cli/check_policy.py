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
        "--cases", type=count, default=100, metavar="N", help="machines of each kind (default: 100)"
    )
    parser.add_argument(
        "--seed", type=count, default=1, metavar="N", help="of the machines (default: 1)"
    )
    parser.add_argument("-o", "--out", type=named, metavar="FILE", help="a new file, with verdict")


def run(chosen: argparse.Namespace) -> Answer:
    """Measure, and say."""
    from drapps.policy import read
    from drapps.simulation.gate import check

    if chosen.out and Path(chosen.out).exists():
        raise PipelineError(f"{chosen.out!r} is there already: nothing is overwritten")
    policy = read(Path(chosen.file))
    progress = Progress(chosen)
    try:
        found = check(
            policy,
            cases=chosen.cases,
            seed=chosen.seed,
            progress=lambda done, of: progress.say(f"{done} of {of} machines"),
        )
    finally:
        progress.clear()
    if chosen.out:
        card = policy.get("card")
        out = NewFile(Path(chosen.out))
        try:
            known = card if isinstance(card, dict) else {}
            checked = {**policy, "card": {**known, "gate": found}}
            out.write((json.dumps(checked, indent=1) + "\n").encode())
            out.appear()
        finally:
            out.discard()
    return Answer(_text(chosen.file, found), found)


def _text(file: str, found: Mapping[str, Any]) -> str:
    passed = "passes the gate" if found["passed"] else "does not pass the gate"
    lines = [f"{shown(file)} {passed}"]
    lines += [f"  {reason}" for reason in found["failed"]]
    for name, each in found["sets"].items():
        lines.append(f"{each['runs']} machines, {name}: rate over the best known")
        means = each["means"]
        width = max(map(len, means))
        for arm in sorted(means, key=means.__getitem__, reverse=True):
            lines.append(f"  {arm:{width}}  {means[arm]:.4f}")
    return "\n".join(lines)
