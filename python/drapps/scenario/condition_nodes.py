"""The keys of a scenario and of its events that say what is in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from drapps.scenario.conditions import (
    Changes,
    Conditions,
    Consumer,
    Photos,
    Python,
    Storage,
    Workload,
)
from drapps.scenario.nodes import Node

CHANGED = ("storage", "consumer", "burners", "duty", "python", "validation", "quota", "memory")

_MODELS = ("small-cnn",)
_STORAGE: dict[str, Callable[[Node], Any]] = {
    "bandwidth": Node.number,
    "connection_bandwidth": Node.number,
    "latency": partial(Node.number, most=3600),
    "latency_spread": partial(Node.number, most=10),
    "requests_per_second": Node.number,
    "refuses": Node.flag,
    "stalls": Node.flag,
}


def changed(conditions: Conditions, nodes: dict[str, Node], workload: Workload) -> Conditions:
    """The conditions, but for what an event, or the scenario itself, says."""
    changes: dict[str, Any] = {}
    if "storage" in nodes:
        if not isinstance(workload, Photos):
            nodes["storage"].fail("only photos lie on a storage")
        changes["storage"] = _storage(nodes["storage"], conditions.storage)
    if "consumer" in nodes:
        changes["consumer"] = _consumer(nodes["consumer"], conditions.consumer, workload)
    if "burners" in nodes:
        changes["burners"] = nodes["burners"].cores(whole=True)
    if "duty" in nodes:
        changes["duty"] = nodes["duty"].number(0.01, 1)
    if "python" in nodes:
        if not isinstance(workload, Python):
            nodes["python"].fail("only a python workload has a cost")
        values = nodes["python"].fields(("cpu", "sleep"))
        costs = {name: node.number(0, 3600) for name, node in values.items()}
        changes["python"] = replace(conditions.python, **costs)
    if "validation" in nodes:
        changes["validation"] = nodes["validation"].flag()
    if "quota" in nodes:
        changes["quota"] = nodes["quota"].cores()
    if "memory" in nodes:
        changes["memory"] = nodes["memory"].size()
    return replace(conditions, **changes)


def _storage(node: Node, before: Storage | None) -> Storage:
    nodes = node.fields((*_STORAGE, "schedule", "period"))
    now = before or Storage()
    values = {name: _STORAGE[name](nodes[name]) for name in _STORAGE if name in nodes}
    now = replace(now, conditions=now.conditions.changed(values))
    if "schedule" in nodes:
        now = replace(now, schedule=_schedule(nodes["schedule"]))
    if "period" in nodes:
        now = replace(now, period=nodes["period"].duration())
        if now.schedule and now.period <= now.schedule[-1][0]:
            nodes["period"].fail(f"must be longer than the schedule, {now.schedule[-1][0]:g} s")
    if now.period and not now.schedule:
        node.fail("a period without a schedule repeats nothing; leave it out")
    return now


def _schedule(node: Node) -> tuple[tuple[float, Changes], ...]:
    steps: list[tuple[float, Changes]] = []
    for item in node.items():
        nodes = item.fields(("at", *_STORAGE), required=("at",))
        at = nodes["at"].number()
        if steps and at <= steps[-1][0]:
            nodes["at"].fail(f"must be later than the entry before, at {steps[-1][0]:g}")
        changes = tuple((name, _STORAGE[name](nodes[name])) for name in _STORAGE if name in nodes)
        steps.append((at, changes))
    return tuple(steps)


def _consumer(node: Node, before: Consumer, workload: Workload) -> Consumer:
    nodes = node.fields(("step", "cpu", "model"))
    if "model" in nodes:
        for name in ("step", "cpu"):
            if name in nodes:
                nodes[name].fail("a model takes what it takes; leave this out")
        if not isinstance(workload, Photos):
            nodes["model"].fail("it is trained on photos alone")
        return Consumer(model=nodes["model"].one_of(_MODELS))
    changes = {}
    if "step" in nodes:
        changes["step"] = nodes["step"].number(0, 3600)
    if "cpu" in nodes:
        changes["cpu"] = nodes["cpu"].number(0, 1)
    return replace(before, model="", **changes)
