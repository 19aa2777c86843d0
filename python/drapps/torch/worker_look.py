"""How a loader with worker processes looks from another thread."""

from __future__ import annotations

import json
import weakref
from collections.abc import Sequence

from drapps.accelerate.acceleration import Acceleration
from drapps.monitor.observing import Observation
from drapps.monitor.offering import Look
from drapps.torch.worker_iterator import WorkerIterator
from drapps.worker.process_knob import ProcessKnob


def worker_look(
    iterator: WorkerIterator,
    knob: ProcessKnob,
    reasons: Sequence[str],
    acceleration: Acceleration,
) -> Look:
    """Looks at a loader by its latest iterator, which it does not keep alive.

    Args:
        iterator: over worker processes.
        knob: the number of worker processes.
        reasons: for which it is Python code that runs.
        acceleration: counts what is decoded natively.
    """
    latest = weakref.ref(iterator)

    def look() -> Observation:
        living = latest()
        plan = {} if living is None else living.plan()
        explanation = knob.explain(reasons, plan, acceleration.forms())
        stats = knob.stats([] if living is None else living.slowest())
        texts = (json.dumps(each.to_json()) for each in (stats, explanation))
        return Observation("python", explanation.choice, *texts)

    return look
