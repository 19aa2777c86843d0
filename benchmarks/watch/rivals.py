"""What other tools say of the trainings that they run: TraceML and loadtune.

Neither names a stage: it is counted whether they tell a training that waits for data from one that
does not. Each runs in an environment of its own, of exact pins.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.image_peers import environment
from benchmarks.watch.cases import NOT_BOUND, Case

RIVALS = ("traceml", "loadtune")
PINS = Path(__file__).resolve().parent / "requirements"
_HERE = Path(__file__).resolve().parent
# loadtune's own threshold (loadtune/heuristic.py).
_INPUT_BOUND = 0.20
# What a file with a loader's dataset cannot have: a loop of its own, ranks, options of the loader.
_NOT_OF_A_DATASET = {*NOT_BOUND, "slow_rank_data", "many_workers"} - {"consumer", "small_wait"}

Runs = Callable[[list[str]], str]


def says(rival: str, case: Case, seconds: float, run: Runs) -> dict[str, Any]:
    """What a tool says of a case, and whether that is right.

    Args:
        rival: ``traceml`` or ``loadtune``.
        case: with a stock loader.
        seconds: that it trains for.
        run: runs a command under the case's conditions; the last line that it prints.

    Returns:
        `says`, its word, and `bound_right`; or `cannot_run`, why it does not run the case.
    """
    if case.loader != "stock":
        return {"cannot_run": "it measures the loader of torch"}
    try:
        python = environment.ensure(rival, PINS)
    except environment.CannotRunError as error:
        return {"cannot_run": str(error)}
    word, bound = {"traceml": _traceml, "loadtune": _loadtune}[rival](python, case, seconds, run)
    if bound is None:
        return {"cannot_run": word}
    return {"says": word, "bound_right": bound == (case.causes[0] not in NOT_BOUND)}


def _traceml(python: str, case: Case, seconds: float, run: Runs) -> tuple[str, bool | None]:
    """Its primary diagnosis; all that it does not call bound by input is not."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = "2" if case.causes[0].startswith("slow_rank") else "1"
        tool = [str(Path(python).with_name("traceml")), "run", str(_HERE / "child.py")]
        tool += ["--logs-dir", folder, "--run-name", "case", "--nproc-per-node", ranks]
        run([*tool, "--args", json.dumps(case.described()), str(seconds)])
        summary = next(Path(folder).rglob("final_summary.json"))
        kind = str(json.loads(summary.read_text())["primary_diagnosis"]["kind"])
    if kind == "INSUFFICIENT_STEP_TIME_DATA":
        return kind, None
    return kind, kind in ("INPUT_BOUND", "INPUT_STRAGGLER")


def _loadtune(python: str, case: Case, seconds: float, run: Runs) -> tuple[str, bool | None]:
    """The share of time in which a batch is waited for, against its threshold."""
    if set(case.causes) & _NOT_OF_A_DATASET:
        return "it runs a dataset in a loop of its own", None
    described = case.described()
    steps = str(int(seconds / described["step_s"] / 2))
    program = [python, "-m", "benchmarks.watch.loadtune_child", json.dumps(described), steps]
    share = float(json.loads(run(program))["waits"])
    return f"{share:.0%} wait", share >= _INPUT_BOUND
