"""``drapps analyze``: what would help a training that waits for data."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drapps import arguments
from drapps.cli.answer import Answer
from drapps.cli.parser import add_command, count, named
from drapps.errors import PipelineError
from drapps.watching import launch

if TYPE_CHECKING:
    from drapps.analysis.report import AnalysisReport
    from drapps.cli.parser import Commands

_RANKS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "deepspeed", "mpirun")
_MOST_CAP = 0.8
_WHAT_IF = ("cache", "cores", "bandwidth", "accelerator", "batch")


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "analyze",
        run,
        summary="say what more cache, cores, bandwidth or a faster step would give a training",
        description="Runs COMMAND up to its first loader, measures how fast its data are fetched "
        "and prepared and how fast it trains, ends it, and says on stderr what would help. COMMAND "
        "finds DRAPPS_ANALYZE=1 in its environment; what it does beside training, it does. With "
        "files that --json has written in place of COMMAND: of one the report again, of two what "
        "has changed.",
        json_help="store what is measured there, as JSON; phases that it has are not done again",
    )
    parser.add_argument(
        "--html", metavar="FILE", type=named, help="write it as one page, with a plot"
    )
    parser.add_argument(
        "--data", metavar="DIR", type=named, help="where the data are, if that is not found out"
    )
    parser.add_argument(
        "--cap",
        metavar="SHARE",
        type=share,
        default=0.0,
        help="of the data, that may be in memory while loading is measured (default: none)",
    )
    parser.add_argument(
        "--seconds", metavar="S", type=count, default=10, help="of each phase (default: 10)"
    )
    parser.add_argument(
        "--steps", metavar="N", type=count, default=0, help="steps in each phase, however long"
    )
    parser.add_argument(
        "--loader",
        metavar="N",
        type=count,
        default=1,
        help="measure the N-th loader that is iterated with gradients (default: 1)",
    )
    parser.add_argument(
        "--stall",
        metavar="SHARE",
        type=share,
        default=0.05,
        help="of the time, that is small enough, such as 5%% (default)",
    )
    parser.add_argument(
        "--what-if",
        metavar="CHANGES",
        type=changes,
        action="append",
        default=[],
        help="also predict, such as cache=50%%,cores=4,bandwidth=500MB,accelerator=2",
    )
    parser.add_argument(
        "--compare",
        metavar="BEFORE",
        type=named,
        help="say whether what was predicted by the run whose --json file this is has held",
    )
    parser.add_argument(
        "command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="behind --: what to run, such as python train.py; or one or two files of --json",
    )


def share(text: str) -> float:
    """A share such as ``5%`` or ``0.05``."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share, such as 5%% or 0.05")
    return value


def changes(text: str) -> dict[str, Any]:
    """What ``--what-if`` takes."""
    wanted: dict[str, Any] = {}
    for each in text.split(","):
        name, _, value = each.strip().partition("=")
        if name not in _WHAT_IF:
            known = ", ".join(_WHAT_IF)
            raise argparse.ArgumentTypeError(f"{each!r} is no change of one of {known}")
        try:
            if name == "cache":
                wanted[name] = share(value)
            elif name == "bandwidth":
                wanted[name] = float(arguments.size_of(value))
            else:
                wanted[name] = float(value)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{each!r} has no number behind {name}=") from None
    return wanted


def run(chosen: argparse.Namespace) -> Answer:
    """Measure, or read what was measured, and tell of it.

    Raises:
        PipelineError: there is nothing to run, or it cannot be measured; a file cannot be read.
    """
    from drapps.analysis.journal import load
    from drapps.analysis.report import stored_at

    words = chosen.command[1:] if chosen.command[:1] == ["--"] else chosen.command
    before = stored_at(chosen.compare, chosen.stall) if chosen.compare else None
    stored = [each for each in words if each.endswith(".json")]
    if words and stored == words and chosen.command[:1] != ["--"]:
        if len(words) > 2:
            raise PipelineError("one file is shown, two are compared; these are more")
        reports = [stored_at(each, chosen.stall) for each in words]
        if len(reports) == 2:
            before = reports[0]
        return _tell(chosen, before, reports[-1], sys.stdout)
    if not words:
        raise PipelineError("there is nothing to run: drapps analyze -- python train.py")
    _refuse_ranks(words)
    if chosen.cap > _MOST_CAP:
        raise PipelineError(f"--cap {chosen.cap:.0%} leaves too little of the data to be fetched")
    if chosen.json_file and Path(chosen.json_file).exists():
        load(Path(chosen.json_file))
    with tempfile.TemporaryDirectory(prefix="drapps-analyze-") as folder:
        file = Path(chosen.json_file or Path(folder, "analysis.json")).absolute()
        report = _measured(chosen, words, Path(folder), file)
    return _tell(chosen, before, report, sys.stderr)


def _refuse_ranks(words: list[str]) -> None:
    names = {Path(word).name for word in words[:4]} | set(words[:4])
    several = names.intersection(_RANKS)
    if several:
        raise PipelineError(
            f"{several.pop()} starts several ranks, which take their steps together, so none of "
            "them can be analyzed alone: run the script by itself, or drapps watch on all of them"
        )


def _measured(
    chosen: argparse.Namespace, words: list[str], folder: Path, file: Path
) -> AnalysisReport:
    from drapps.analysis.child import CLAIMED, FAILED, PLAN
    from drapps.analysis.journal import load
    from drapps.analysis.report import AnalysisReport

    plan = {
        "seconds": float(chosen.seconds),
        "steps": chosen.steps,
        "cap": chosen.cap,
        "data": chosen.data and str(Path(chosen.data).absolute()),
        "loader": chosen.loader,
        "file": str(file),
        "command": words,
        "quiet": chosen.quiet,
    }
    (folder / PLAN).write_text(json.dumps(plan), encoding="utf-8")
    variables = {"DRAPPS_ANALYZE": "1", "DRAPPS_ANALYZE_FOLDER": str(folder)}
    status = launch.run(words, variables)
    sys.stdout.flush()
    if (folder / FAILED).exists():
        raise PipelineError((folder / FAILED).read_text(encoding="utf-8"))
    if not (folder / CLAIMED).exists():
        raise PipelineError(
            f"the command ended with status {status} before it iterated over a loader of torch, "
            "tf.data, Grain or DRAPPS, with gradients; of others, call drapps.analyze(loader, "
            "step) in the script"
        )
    facts = load(file) if file.exists() else {"about": {}, "phases": {}}
    try:
        return AnalysisReport.of(facts, chosen.stall)
    except PipelineError as error:
        raise PipelineError(
            f"the command ended with status {status} before all was measured ({error}); --seconds "
            "and --steps make phases shorter"
        ) from None


def _tell(
    chosen: argparse.Namespace,
    before: AnalysisReport | None,
    report: AnalysisReport,
    out: Any,
) -> Answer:
    from drapps.analysis import page
    from drapps.analysis.comparison import compared

    asked = report if before is None else report.joined(before)
    what_ifs = [f"{_shown(each)}: {asked.predict(**each)}" for each in chosen.what_if]
    lines = [str(report), *(f"what if {each}" for each in what_ifs)]
    if before is not None:
        lines.append(compared(before, report))
    if not chosen.quiet:
        print("\n" + "\n".join(lines), file=out, flush=True)
    if chosen.html:
        Path(chosen.html).write_text(page.html(report), encoding="utf-8")
    return Answer()


def _shown(wanted: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in wanted.items())
