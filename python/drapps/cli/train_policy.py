"""``drapps train-policy``: a policy that learns on simulated machines or from recorded runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import add_command, count, named
from drapps.cli.progress import Progress
from drapps.errors import PipelineError
from drapps.output import NewFile
from drapps.policy import PUBLISHED

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.simulation.calibration.recorded import Refit
    from drapps.simulation.learning import Curve, Trained

OFFLINE = ("cql", "bcq", "awac", "cloning")  # learn from recorded runs
_LEARNERS = ("ppo", "sac", *OFFLINE, "residual", *PUBLISHED)
_REWARDS = ("own", *PUBLISHED)
_FEW = 20  # moves of one kind, of which little can be learnt
_BARS = " ▁▂▃▄▅▆▇█"
_COLUMNS = 40  # of a curve


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "train-policy",
        run,
        summary="train a policy on simulated machines or recorded runs",
        description="Lets a policy learn on random simulated machines, or with --from from what "
        "loaders have recorded or on machines as those of the recordings, from several seeds side "
        "by side, and gives the best of them as "
        "JSON that --policy of other commands takes. Nothing is written without -o or "
        "--checkpoints, and no policy is overwritten.",
    )
    parser.add_argument(
        "--seeds", type=count, default=5, metavar="N", help="policies to train (default: 5)"
    )
    parser.add_argument(
        "--first-seed", type=count, default=1, metavar="N", help="the others follow (default: 1)"
    )
    parser.add_argument(
        "--decisions",
        type=count,
        default=2_000_000,
        metavar="N",
        help="of each policy (default: 2000000)",
    )
    parser.add_argument(
        "--learner",
        choices=_LEARNERS,
        help="how it learns, or a published design (default: ppo; with --from cql)",
    )
    parser.add_argument(
        "--from",
        dest="runs",
        type=named,
        metavar="DIR",
        help="a folder of recorded runs, *.trace: cql, bcq, awac and cloning learn from them, for "
        "the others the simulator is refitted to them",
    )
    parser.add_argument(
        "--reward",
        choices=_REWARDS,
        help="what is learnt from (default: own; of a published design its own)",
    )
    parser.add_argument(
        "--reward-weights", type=float, nargs="+", metavar="W", help="of its parts, in order"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=option,
        metavar="OPTION=NUMBER",
        help="another option of the training, such as hidden=128",
    )
    parser.add_argument(
        "--validation",
        type=count,
        default=64,
        metavar="N",
        help="machines by which the best seed is chosen (default: 64)",
    )
    parser.add_argument(
        "--checkpoints",
        type=named,
        metavar="DIR",
        help="a folder in which the trainings are kept, and from which they go on",
    )
    parser.add_argument("-o", "--out", type=named, metavar="FILE", help="a new file for the policy")


def option(text: str) -> tuple[str, float]:
    """An option and its number."""
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no option and number") from None
    return name, int(number) if number.is_integer() else number


def run(chosen: argparse.Namespace) -> Answer:
    """Train, and write."""
    from drapps.simulation.learning import policy_of, train

    if chosen.out and Path(chosen.out).exists():
        raise PipelineError(f"{chosen.out!r} is there already: nothing is overwritten")
    options: dict[str, Any] = dict(chosen.set) | {
        "learner": chosen.learner or ("cql" if chosen.runs else "ppo"),
        "decisions": chosen.decisions,
    }
    if chosen.reward:
        options["reward"] = chosen.reward
    if chosen.reward_weights:
        options["reward_weights"] = chosen.reward_weights
    runs = _traces(Path(chosen.runs)) if chosen.runs else []
    refit, unfit = _refitted(runs)
    if refit and options["learner"] not in OFFLINE:
        options |= {"world": refit.world, "spread": refit.spread}
    elif unfit and options["learner"] not in OFFLINE:
        raise PipelineError(unfit)
    progress = Progress(chosen)
    try:
        trained = train(
            options,
            range(chosen.first_seed, chosen.first_seed + chosen.seeds),
            checkpoints=Path(chosen.checkpoints) if chosen.checkpoints else None,
            runs=runs if options["learner"] in OFFLINE else [],
            validation=chosen.validation,
            progress=lambda curves: progress.say(_how_far(curves, chosen.decisions)),
        )
    finally:
        progress.clear()
    policy = policy_of(trained, options)
    policy["card"]["simulator"] = refit.to_json() if refit else None
    if chosen.out:
        _write(Path(chosen.out), policy)
    facts = {"name": policy["name"], "card": _without_weights(policy["card"])}
    lines = list(refit.lines()) if refit else [unfit] if unfit else []
    return Answer("\n".join([*lines, _text(trained, chosen)]), facts)


def _refitted(runs: list[Path]) -> tuple[Refit | None, str]:
    """The simulator as recorded runs have it; or why it cannot be."""
    if not runs:
        return None, ""
    from drapps.simulation.calibration.recorded import refitted

    try:
        return refitted(runs), ""
    except PipelineError as error:
        return None, str(error)


def _traces(folder: Path) -> list[Path]:
    traces = sorted(folder.glob("*.trace"))
    if not traces:
        raise PipelineError(
            f"{str(folder)!r} has no recorded runs: loader.record() writes them, as *.trace"
        )
    return traces


def _supported(support: Mapping[str, Any]) -> Iterator[str]:
    """What recorded runs say, and what they say nothing of."""
    yield (
        f"{support['steps']} steps of {support['runs']} recorded runs, {support['drawn']} of them "
        f"drawn with known probabilities; {support['left_out']} left out"
    )
    for knob in support["knobs"]:
        low, high = knob["values"]
        if not knob["learnt"]:
            yield f"  {knob['name']}: never moved, so it stays as it is"
            continue
        few = [way for way in ("ups", "downs") if knob[way] < _FEW]
        little = f"; out of the data's support: {' and '.join(few)}" if few else ""
        yield (
            f"  {knob['name']}: {knob['ups']} up, {knob['downs']} down, seen from {low} to {high}"
            f"{little}"
        )


def _without_weights(card: Mapping[str, Any]) -> dict[str, Any]:
    """A card without the weights."""
    seeds = [{key: each[key] for key in each if key != "weights"} for each in card["seeds"]]
    return {**card, "seeds": seeds}


def _how_far(curves: Mapping[int, Curve], decisions: int) -> str:
    parts = []
    for seed, curve in curves.items():
        done = curve[-1]["decisions"] if curve else 0
        rewards = [point["reward"] for point in curve[-20:] if "reward" in point]
        last = f" {sum(rewards) / len(rewards):.1f}" if rewards else ""
        parts.append(f"{seed}: {100 * done / decisions:.0f} %{last}")
    return "seed " + ", ".join(parts)


def drawn(points: list[list[float]]) -> str:
    """A curve as a line of bars."""
    values = [value for _, value in points][-_COLUMNS:]
    if not values:
        return ""
    low, high = min(values), max(values)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((value - low) * scale)] for value in values)


def _write(file: Path, policy: dict[str, Any]) -> None:
    out = NewFile(file)
    try:
        out.write((json.dumps(policy, indent=1) + "\n").encode())
        out.appear()
    finally:
        out.discard()


def _text(trained: list[Trained], chosen: argparse.Namespace) -> str:
    from drapps.simulation.learning import thinned

    lines = list(_supported(trained[0].support)) if trained[0].support else []
    what = "recorded decisions learnt" if trained[0].support else "decisions"
    lines.append(f"{chosen.decisions} {what} from each of {len(trained)} seeds:")
    for each in trained:
        points = thinned(each.curve, _COLUMNS)
        score = f"  seed {each.seed}: {each.score:.4f} of the best known"
        if each.support:
            lines.append(score)
            continue
        ends = f"{points[0][1]:.1f} to {points[-1][1]:.1f}" if points else "no episode ended"
        lines.append(f"{score}, reward {ends}  {drawn(points)}")
    best = max(trained, key=lambda each: each.score)
    lines.append(f"the best on validation machines is seed {best.seed}")
    if chosen.out:
        lines.append(f"in {shown(chosen.out)}; drapps policy check says whether to trust it")
    return "\n".join(lines)
