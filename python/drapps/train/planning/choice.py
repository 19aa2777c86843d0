"""The best of all steps that fit, and what stands in the way of a better one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from drapps.train.planning.model import Recomputing, StepModel, efficiency
from drapps.train.planning.report import PlannedStep

Target = Literal["goodput", "throughput", "memory"]
TARGETS = ("goodput", "throughput", "memory")
SLOWER = 1.35  # times, that the step of least memory may take
_BINDS = 1.05  # times as much, that a resource has to give to be named


@dataclass(frozen=True)
class Wanted:
    """What a plan is for.

    Attributes:
        target: what is best.
        memory: bytes that parameters, gradients, the optimizer's state and a step may take
            together; infinite where nothing limits them.
        noise: the noise scale in samples; NaN where it is not known.
        reference: samples of a step, over all ranks, for which the learning rate was tuned.
        least: samples of a step, over all ranks.
        most: the same.
        micros: samples of a micro-batch that are considered.
    """

    target: Target
    memory: float
    noise: float
    reference: int
    least: int
    most: int
    micros: tuple[int, ...]


def steps(model: StepModel, wanted: Wanted) -> list[PlannedStep]:
    """All that fit, the best first."""
    worth = _value(wanted)
    candidates = _candidates(model, wanted)
    best = sorted(candidates, key=lambda each: (-worth(each), each.peak_bytes))
    if wanted.target == "memory" and best:
        close = [each for each in best if SLOWER * worth(each) >= worth(best[0])]
        close.sort(key=lambda each: (each.peak_bytes, -each.goodput))
        return close + [each for each in best if each not in close]
    return best


def gains(model: StepModel, wanted: Wanted) -> dict[str, float]:
    """By resource, how many times the goodput, or throughput, there would be were it no limit.

    ``loader`` makes samples in no time, ``memory`` has no end, ``noise`` is so large that samples
    are worth the same in any step, and ``compute`` is twice as fast.
    """
    plain = replace(wanted, target="goodput") if wanted.target == "memory" else wanted
    worth = _value(plain)
    now = worth(steps(model, plain)[0])
    faster = {
        kind: {
            size: replace(each, seconds=each.seconds / 2)
            for size, each in model.measured[kind].items()
        }
        for kind in model.kinds
    }
    known = not math.isnan(wanted.noise)
    freed = {
        "loader": (replace(model, rate=math.inf), plain),
        "memory": (model, replace(plain, memory=math.inf)),
        "noise": (model, replace(plain, noise=math.inf) if known else plain),
        "compute": (replace(model, measured=faster, once=model.once / 2), plain),
    }
    return {name: worth(steps(*each)[0]) / now for name, each in freed.items()}


def binding(gained: dict[str, float]) -> str:
    """The resource that gives most where it is no limit; ``compute`` where no other does."""
    others = {name: gain for name, gain in gained.items() if name != "compute"}
    most = max(others, key=lambda name: others[name])
    return most if others[most] >= _BINDS else "compute"


def _value(wanted: Wanted) -> Callable[[PlannedStep], float]:
    """What is to be large."""
    what = "samples_per_second" if wanted.target == "throughput" else "goodput"
    return lambda each: float(getattr(each, what))


def _candidates(model: StepModel, wanted: Wanted) -> Iterator[PlannedStep]:
    for kind in model.kinds:
        for micro in wanted.micros:
            plain = model.peak(kind, micro)
            room = wanted.memory - model.fixed
            for share in _shares(plain, room, model.recomputing, wanted.target):
                peak, slower = _recomputed(share, model.recomputing)
                seconds = model.seconds(kind, micro) * slower
                for accumulation in _accumulations(micro * model.ranks, wanted):
                    samples = micro * accumulation * model.ranks
                    whole = model.step_seconds(seconds, micro, accumulation)
                    worth = _worth(wanted, samples)
                    if worth is None or whole <= 0:
                        continue
                    yield PlannedStep(
                        micro_batch=micro,
                        accumulation=accumulation,
                        samples=samples,
                        precision=kind,
                        recomputed=share,
                        step_seconds=whole,
                        samples_per_second=samples / whole,
                        efficiency=worth,
                        goodput=samples / whole * worth,
                        peak_bytes=model.fixed + plain * peak,
                    )


def _shares(
    plain: float, room: float, recomputing: Recomputing | None, target: Target
) -> list[float]:
    """How much of what can be recomputed is: 0 to 1; none where it does not fit anyhow."""
    shares = [0.0] if plain <= room else []
    if recomputing is None:
        return shares
    least = plain * recomputing.peak
    if plain > room >= least:
        shares.append((plain - room) / (plain - least))
    if target == "memory" and least <= room:
        shares.append(1.0)
    return shares


def _recomputed(share: float, recomputing: Recomputing | None) -> tuple[float, float]:
    """Shares of the plain peak and seconds. Peaks fall fastest at first, so this is cautious."""
    if recomputing is None:
        return 1.0, 1.0
    return 1 - share * (1 - recomputing.peak), 1 + share * (recomputing.seconds - 1)


def _accumulations(each: int, wanted: Wanted) -> Iterator[int]:
    number = 1
    while each * number <= wanted.most:
        if each * number >= wanted.least:
            yield number
        number *= 2


def _worth(wanted: Wanted, samples: int) -> float | None:
    """The statistical efficiency; None where a step cannot be considered for want of it."""
    if math.isnan(wanted.noise) and samples != wanted.reference:
        return math.nan if wanted.target == "throughput" else None
    if math.isnan(wanted.noise):
        return 1.0
    if math.isinf(wanted.noise):
        return 1.0
    return efficiency(wanted.noise, samples, wanted.reference)
