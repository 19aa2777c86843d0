"""``drapps simulate``: a scenario on a machine that need not be there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from drapps.cli.answer import Answer
from drapps.cli.parser import WrongUseError, add_command, named
from drapps.cli.play import policy, seconds

if TYPE_CHECKING:
    from drapps.cli.parser import Commands


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "simulate",
        run,
        summary="simulate a scenario on a machine that need not be there",
        description="Says how a scenario would run on some machine, under a policy or with knobs "
        "that stay, without running it.",
    )
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        type=named,
        help="one that comes with DRAPPS (drapps play --list), or a file",
    )
    parser.add_argument("--list", action="store_true", help="list the machines that there are")
    parser.add_argument(
        "--machine", type=named, metavar="M", help="one that comes with DRAPPS (--list), or a file"
    )
    parser.add_argument("--policy", type=policy, help="a name, a policy in JSON, or a file of one")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=knob,
        metavar="KNOB=VALUE",
        help="where a knob begins; without --policy it stays there",
    )
    parser.add_argument(
        "--seconds", type=seconds, metavar="S", help="how long to run, events all in proportion"
    )
    parser.add_argument(
        "--record",
        type=named,
        metavar="FILE",
        help="a new file for a trace of what the policy decides",
    )


def knob(text: str) -> tuple[str, int]:
    """A knob and its value."""
    name, _, value = text.partition("=")
    if not name or not (value.isascii() and value.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no knob and value, such as io_depth=64")
    return name, int(value)


def run(chosen: argparse.Namespace) -> Answer:
    """Simulate, or list."""
    from drapps import simulation

    if chosen.list:
        machines = [simulation.load(name) for name in simulation.shipped()]
        width = max(len(each.name) for each in machines)
        lines = [f"{each.name:{width}}  {each.about}" for each in machines]
        facts = [{"name": each.name, "about": each.about} for each in machines]
        return Answer("\n".join(lines), {"machines": facts})
    if chosen.scenario is None:
        raise WrongUseError("a SCENARIO is missing; drapps play --list names those there are")
    played, own = simulation.load_scenario(chosen.scenario)
    if chosen.seconds:
        played = played.lasting(chosen.seconds)
    machine = simulation.load(chosen.machine) if chosen.machine else own
    if machine is None:
        raise WrongUseError("--machine M is missing; drapps simulate --list names those there are")
    done = simulation.simulate(
        played, machine, chosen.policy, knobs=dict(chosen.set), record=chosen.record
    )
    return Answer(str(done), done.to_json())
