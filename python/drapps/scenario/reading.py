"""Scenario files: found, read and checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from drapps.scenario.condition_nodes import CHANGED, changed
from drapps.scenario.conditions import KINDS, Conditions, Photos, Python, Workload
from drapps.scenario.nodes import Node, root_of, root_of_named, yaml_files
from drapps.scenario.scenario import Scenario, Segment

_SHIPPED = Path(__file__).with_name("shipped")
_MOST_SAMPLES = 2**24
_WORKLOAD: dict[str, Callable[[Node], Any]] = {
    "batch": partial(Node.whole, most=2**16),
    "crop": partial(Node.whole, most=4096),
    "dtype": partial(Node.one_of, names=("uint8", "float32")),
    "epoch": partial(Node.whole, most=_MOST_SAMPLES),
    "floats": partial(Node.whole, most=2**24),
    "height": partial(Node.whole, least=16, most=8192),
    "pictures": partial(Node.whole, most=10_000),
    "rows": partial(Node.whole, most=_MOST_SAMPLES),
    "samples": partial(Node.whole, most=_MOST_SAMPLES),
    "shape": lambda node: tuple(each.whole(most=2**24) for each in node.items()),
    "shuffle": Node.flag,
    "width": partial(Node.whole, least=16, most=8192),
}


def shipped() -> dict[str, Path]:
    """The scenarios that come with DRAPPS, by name."""
    return yaml_files(_SHIPPED)


def load(name: str | os.PathLike[str]) -> Scenario:
    """A scenario that comes with DRAPPS, or that of a file.

    Args:
        name: of the scenario, or the path of a file, which has a dot or a slash in it.

    Raises:
        PipelineError: there is none of this name, the file says something else than a scenario
            (the message names line, key and what is allowed), or PyYAML is not installed.
        OSError: the file cannot be read.
    """
    return scenario_of(root_of_scenario(name))


def root_of_scenario(name: str | os.PathLike[str]) -> Node:
    """What stands in the file of a scenario; raises as `load`, but for its keys."""
    return root_of_named(name, shipped(), "scenario")


def parse(text: str, file: str) -> Scenario:
    """A scenario; `file` is what complaints call it."""
    return scenario_of(root_of(text, file))


def scenario_of(root: Node, beside: tuple[str, ...] = ()) -> Scenario:
    """A scenario; keys in `beside` are read by somebody else."""
    named = ("name", "about", "workload", "seconds")
    nodes = root.fields((*named, *CHANGED, "events", "machine"), required=named)
    if "machine" in nodes and "machine" not in beside:
        nodes["machine"].fail("is for drapps simulate alone; leave it out")
    workload = _workload(nodes["workload"])
    seconds = nodes["seconds"].duration()
    base = changed(Conditions(), nodes, workload)
    if isinstance(workload, Python) and "python" not in nodes:
        root.fail("python is missing: what a sample of the workload costs")
    events = nodes["events"].items() if "events" in nodes else []
    segments, counted = _segments(base, events, workload, seconds)
    return Scenario(
        nodes["name"].text(), nodes["about"].text(), workload, seconds, segments, counted
    )


def _workload(node: Node) -> Workload:
    names = dict.fromkeys(field.name for kind in KINDS.values() for field in fields(kind))
    kind = KINDS[node.fields(("kind", *names), ("kind",))["kind"].one_of(KINDS)]
    own = [field.name for field in fields(kind)]
    nodes = node.fields(("kind", *own))
    values = {name: _WORKLOAD[name](nodes[name]) for name in own if name in nodes}
    return kind(**values)


def _segments(
    base: Conditions, events: list[Node], workload: Workload, seconds: float
) -> tuple[tuple[Segment, ...], str]:
    segments = [Segment(0.0, base)]
    counted = ""
    for event in events:
        allowed = ("at", "name", *CHANGED, "pictures")
        nodes = event.fields(allowed, required=("at",))
        begin, unit = _at(nodes["at"], seconds)
        if counted and unit != counted:
            nodes["at"].fail("all events of a scenario are in seconds, or all in samples")
        counted = unit
        if begin <= segments[-1].begin:
            nodes["at"].fail(f"must be later than the event before, at {segments[-1].begin:g}")
        conditions = changed(segments[-1].conditions, nodes, workload)
        if unit == "samples":
            for name in CHANGED:
                if name in nodes and name != "consumer":
                    nodes[name].fail("changes at a time; pictures and consumer do at a sample")
        elif "pictures" in nodes:
            nodes["pictures"].fail("changes at a sample: at: {sample: 20000}")
        if "pictures" in nodes:
            if not isinstance(workload, Photos) or workload.shuffle:
                nodes["pictures"].fail("only photos with shuffle: false change with a sample")
            scale = nodes["pictures"].number(0.1, 16)
            conditions = replace(conditions, pictures=scale)
        if conditions == segments[-1].conditions:
            event.fail("changes nothing; leave it out")
        name = nodes["name"].text() if "name" in nodes else ""
        segments.append(Segment(begin, conditions, name))
    return tuple(segments), counted or "seconds"


def _at(node: Node, seconds: float) -> tuple[float, str]:
    if node.raw.id == "mapping":
        nodes = node.fields(("sample",), ("sample",))
        return float(nodes["sample"].whole(most=_MOST_SAMPLES)), "samples"
    at = node.number()
    if not 0 < at < seconds:
        node.fail(f"must lie between 0 and the scenario's end, at {seconds:g} s")
    return at, "seconds"
