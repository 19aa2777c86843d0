"""From one rank to two, measured, and to four by the model of a step's time."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
from typing import Any

from benchmarks.contestant import ROOT, ContestantError, python
from benchmarks.training_step.bench import CORES, Bench
from benchmarks.training_step.curves import fitted_gamma, ring, step_time

STEPS = 30
_LIMIT_S = 600


def measure(bench: Bench, batch: int) -> None:
    """Adds the efficiency of the text stand-in at its tuned batch on each rank."""
    case = bench.name("ranks")
    if CORES < 2:
        bench.result.figures[case] = {"2 ranks": {"cannot_run": "two ranks need two cores"}}
        return
    rounds = [_round(bench, number, batch) for number in range(bench.settings.rank_rounds)]
    alone = [each["1"]["step_s"] for each in rounds]
    both = [each["2"]["step_s"] for each in rounds]
    bench.result.add_ratio(
        bench.name("efficiency_2_ranks"), [a / b for a, b in zip(alone, both, strict=True)]
    )
    compute, step = statistics.median(alone), statistics.median(both)
    network = statistics.median(each["2"]["network_s"] for each in rounds)
    gamma = fitted_gamma(compute, network, step)
    four = step_time(compute, ring(network, 2, 4), gamma)
    bench.result.ratios[bench.name("efficiency_4_ranks_modelled")] = compute / four
    bench.result.figures[case] = {
        "1 rank": {"samples_per_s": batch / compute, "step_s": compute},
        "2 ranks": {"samples_per_s": 2 * batch / step, "step_s": step, "network_s": network},
        "4 ranks, modelled": {"samples_per_s": 4 * batch / four, "step_s": four, "gamma": gamma},
    }
    bench.result.rounds[case] = {"rounds": rounds}


def _round(bench: Bench, number: int, batch: int) -> dict[str, Any]:
    key = (bench.device, "ranks", number, batch)
    answers: dict[str, Any] | None = bench.journal.get(*key)
    if answers is None:
        order = (1, 2) if number % 2 else (2, 1)
        answers = {str(count): ranks(count, {"batch": batch, "steps": STEPS}) for count in order}
        bench.journal.keep(*key, result=answers)
        print(f"  ranks, round {number + 1}: {answers}", flush=True)
    return answers


def ranks(count: int, job: dict[str, int]) -> dict[str, float]:
    """What the slowest of so many ranks says of a job.

    Raises:
        ContestantError: one of them ended without an answer.
    """
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    common = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    processes = [
        subprocess.Popen(
            [*python("benchmarks.training_step.rank"), json.dumps(job)],
            cwd=ROOT,
            env=os.environ | common | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        outputs = [process.communicate(timeout=_LIMIT_S)[0] for process in processes]
    except subprocess.TimeoutExpired:
        raise ContestantError(f"{count} ranks: no answer within {_LIMIT_S} s") from None
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(process.returncode for process in processes):
        raise ContestantError(f"{count} ranks: one has ended early; its message stands above")
    answers = [json.loads(output) for output in outputs]
    return max(answers, key=lambda answer: answer["step_s"])
