"""``drapps tune-policy``: parameters of a policy with which it does best on simulated machines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, count, named
from drapps.cli.progress import Progress
from drapps.errors import PipelineError
from drapps.output import NewFile

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.scenario import Scenario
    from drapps.simulation.cases import Case
    from drapps.simulation.tuning import Tuned


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "tune-policy",
        run,
        summary="find the parameters of a policy that suit some machines",
        description="Tries parameters of a policy in simulated runs of scenarios on machines that "
        "need not be there, and gives the best as JSON that --policy of other commands takes. "
        "Nothing is written without -o, and nothing is overwritten.",
    )
    parser.add_argument("policy", metavar="POLICY", type=named, help="its name")
    parser.add_argument(
        "--machines",
        nargs="+",
        required=True,
        type=named,
        metavar="M",
        help="those that come with DRAPPS (drapps simulate --list), or files",
    )
    parser.add_argument(
        "--scenarios",
        nargs="+",
        type=named,
        metavar="S",
        help="those that come with DRAPPS (drapps play --list), or files; all that can be "
        "simulated without it",
    )
    parser.add_argument(
        "--budget", type=count, required=True, metavar="N", help="how many parameters are tried"
    )
    parser.add_argument(
        "--seed", type=count, default=1, metavar="N", help="of what is drawn (default: 1)"
    )
    parser.add_argument("-o", "--out", type=named, metavar="FILE", help="a new file for the policy")


def run(chosen: argparse.Namespace) -> Answer:
    """Tune, and write."""
    from drapps.simulation.tuning import best_known, parameters_of, tune

    if not parameters_of(chosen.policy):
        raise PipelineError(f"policy {chosen.policy!r} has no parameters: there is nothing to tune")
    if chosen.out and Path(chosen.out).exists():
        raise PipelineError(f"{chosen.out!r} is there already: nothing is overwritten")
    cases = _cases(chosen.machines, chosen.scenarios)
    progress = Progress(chosen)
    try:
        progress.say(f"searching the best settings of {len(cases)} runs")
        best = best_known(cases)
        tuning = tune(
            chosen.policy,
            cases,
            chosen.budget,
            seed=chosen.seed,
            best=best,
            progress=lambda done: progress.say(f"parameters: {done} of {chosen.budget}"),
        )
    finally:
        progress.clear()
    policy = tuning.to_json()
    policy["tuned"] |= {"runs": len(cases), "seed": chosen.seed}
    if chosen.out:
        _write(Path(chosen.out), policy)
    return Answer(_text(tuning, len(cases), chosen.out), policy)


def _cases(machines: list[str], scenarios: list[str] | None) -> list[Case]:
    from drapps import scenario, simulation
    from drapps.simulation.cases import case_of

    played = [scenario.load(name) for name in scenarios or scenario.shipped()]
    if scenarios is None:
        played = [each for each in played if _simulated(each)]
    return [case_of(each, simulation.load(name)) for name in machines for each in played]


def _simulated(scenario: Scenario) -> bool:
    models = any(segment.conditions.consumer.model for segment in scenario.segments)
    return scenario.counted == "seconds" and not models


def _write(file: Path, policy: dict[str, Any]) -> None:
    out = NewFile(file)
    try:
        out.write((json.dumps(policy, indent=1) + "\n").encode())
        out.appear()
    finally:
        out.discard()


def _text(tuning: Tuned, runs: int, out: str | None) -> str:
    lines = [f"{tuning.policy}, over {runs} simulated runs, {tuning.evaluations} parameters tried:"]
    lines.append(f"  as it is  {tuning.default:.4f} of the best known")
    lines.append(f"  tuned     {tuning.score:.4f}")
    lines += [f"    {name} {value:g}" for name, value in tuning.parameters.items()]
    if out:
        lines.append(f"in {shown(out)}")
    return "\n".join(lines)
