"""``drapps play``: a scenario, played against a loader."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps.cli.answer import Answer, shown
from drapps.cli.parser import WrongUseError, add_command, count, named
from drapps.cli.progress import Progress
from drapps.errors import PipelineError
from drapps.policy import without_notes

if TYPE_CHECKING:
    from drapps.cli.parser import Commands
    from drapps.scenario import Drapps, Run, Scenario, Stock


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "play",
        run,
        summary="play a scenario against a loader",
        description="Loads what a scenario describes while storage, training step and foreign load "
        "do what it says, and measures each segment. Nothing is written without --out, and nothing "
        "is overwritten.",
    )
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        type=named,
        help="one that comes with DRAPPS (--list), or a file",
    )
    parser.add_argument("--list", action="store_true", help="list those that come with DRAPPS")
    parser.add_argument("--check", action="store_true", help="check the file, and play nothing")
    parser.add_argument(
        "--loader", choices=("drapps", "stock"), default="drapps", help="drapps, or torch's own"
    )
    parser.add_argument("--policy", type=policy, help="a name, a policy in JSON, or a file of one")
    parser.add_argument(
        "--settings", type=settings, metavar="JSON", help='hold these knobs: {"io_depth": 64}'
    )
    parser.add_argument("--form", type=named, help="in which records are kept; none are without it")
    parser.add_argument(
        "--cache", type=count, metavar="BYTES", help="of the records that --form keeps"
    )
    parser.add_argument("--workers", type=whole, metavar="N", help="num_workers of torch's loader")
    parser.add_argument("--segment", type=whole, metavar="N", help="play this one alone, from 0")
    parser.add_argument(
        "--seconds", type=seconds, metavar="S", help="how long to play, events all in proportion"
    )
    parser.add_argument(
        "--photos", type=named, metavar="DIR", help="pictures to load, a folder per class"
    )
    parser.add_argument(
        "--out", type=named, metavar="DIR", help="a new folder for result, page and trace"
    )


def policy(text: str) -> Any:
    """A name, a mapping, or the mapping that stands in a file, whose name has a dot or a slash."""
    if not text.lstrip().startswith("{"):
        if not set("./") & set(text):
            return named(text)
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error}") from None
    return without_notes(_mapping(text))


def settings(text: str) -> dict[str, int]:
    """Knobs by name."""
    return _mapping(text)


def _mapping(text: str) -> dict[str, Any]:
    try:
        mapping = json.loads(text)
    except ValueError:
        mapping = None
    if not isinstance(mapping, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object")
    return mapping


def whole(text: str) -> int:
    """A number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0")
    return int(text)


def seconds(text: str) -> float:
    """More than none, and at most a day."""
    try:
        duration = float(text)
    except ValueError:
        duration = 0.0
    if not 0 < duration <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return duration


def run(chosen: argparse.Namespace) -> Answer:
    """Play, list or check."""
    from drapps.scenario import load, shipped

    if chosen.list:
        return _list([load(name) for name in shipped()])
    if chosen.scenario is None:
        raise WrongUseError("a SCENARIO is missing; drapps play --list names those there are")
    scenario = load(chosen.scenario)
    if chosen.check:
        return _checked(scenario)
    loader = _loader(chosen)
    out = _new_folder(chosen.out) if chosen.out else None
    return _answer(_played(chosen, scenario, loader, out), out)


def _list(scenarios: list[Scenario]) -> Answer:
    width = max(len(each.name) for each in scenarios)
    lines = [f"{each.name:{width}}  {each.seconds:3g} s  {each.about}" for each in scenarios]
    facts = [
        {"name": each.name, "about": each.about, "seconds": each.seconds} for each in scenarios
    ]
    return Answer("\n".join(lines), {"scenarios": facts})


def _checked(scenario: Scenario) -> Answer:
    count = len(scenario.segments)
    keys = [scenario.key(number) for number in range(count)]
    text = f"{shown(scenario.name)}: {scenario.seconds:g} s, {count} segment{'s' * (count > 1)}"
    return Answer(text, {"scenario": scenario.to_json(), "keys": keys})


def _loader(chosen: argparse.Namespace) -> Drapps | Stock:
    from drapps.scenario import Drapps, Stock

    if chosen.loader == "stock":
        ours = {name: getattr(chosen, name) for name in ("policy", "settings", "form", "cache")}
        if given := [f"no --{name}" for name, value in ours.items() if value is not None]:
            raise WrongUseError(f"torch's loader has {' and '.join(given)}")
        return Stock(chosen.workers or 0)
    if chosen.workers is not None:
        raise WrongUseError("--workers is for --loader stock; DRAPPS finds its own")
    if chosen.cache is not None and chosen.form is None:
        raise WrongUseError("--cache BYTES needs --form, which says how records are kept")
    kept = {"form": chosen.form, "cache": chosen.cache or "auto"} if chosen.form else {}
    return Drapps(chosen.policy, chosen.settings, **kept)


def _new_folder(name: str) -> Path:
    out = Path(name)
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        raise PipelineError(f"{name!r} is not an empty folder: nothing is overwritten")
    return out


def _played(
    chosen: argparse.Namespace, scenario: Scenario, loader: Drapps | Stock, out: Path | None
) -> Run:
    from drapps.scenario import Drapps, play

    shown_progress = Progress(chosen)
    try:
        return play(
            scenario,
            loader,
            seconds=chosen.seconds,
            segment=chosen.segment,
            photos=chosen.photos,
            trace=out / "run.trace" if out and isinstance(loader, Drapps) else None,
            progress=lambda what, done, of: shown_progress.say(f"{what}: {done:.0f} of {of:.0f}"),
        )
    finally:
        shown_progress.clear()


def _answer(run: Run, out: Path | None) -> Answer:
    text = str(run)
    if out is not None:
        from drapps.scenario import html

        run.save(out / "run.json")
        (out / "page.html").write_text(html([run]), encoding="utf-8")
        text += f"\nin {shown(out)}"
    return Answer("\n".join(map(shown, text.splitlines())), run.to_json())
