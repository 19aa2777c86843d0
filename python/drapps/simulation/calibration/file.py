"""A calibrated machine as a file: YAML that people read and `drapps simulate` takes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from drapps.simulation.calibration.residual import Residual
from drapps.simulation.machine import Machine

_WIDTH = 100
_HEAD = """\
# A machine for `drapps simulate SCENARIO --machine FILE`: seconds, bytes, and bytes a second.
# docs/guides/simulating.md explains every number.
"""
_RESIDUALS = """
# What was measured to find these numbers, and what the simulator says of each run with them, in
# samples a second; `others` are cores that other programs used meanwhile.
"""
_COVERED = """
# Within these bounds it was measured. Beyond them the simulator extrapolates.
"""


def text_of(
    machine: Machine,
    residuals: Sequence[Residual],
    ranges: Mapping[str, tuple[float, float]],
) -> str:
    """The whole file."""
    lines = [*_machine(machine), _RESIDUALS.rstrip("\n"), "residuals:"]
    lines += [f"  - {_flow(_row(each))}" for each in residuals]
    lines += [_COVERED.rstrip("\n"), "covered:"]
    lines += [f"  {_word(name)}: [{low:g}, {high:g}]" for name, (low, high) in ranges.items()]
    return _HEAD + "\n".join(lines) + "\n"


def _machine(machine: Machine) -> Iterator[str]:
    yield f"name: {_word(machine.name)}"
    yield f"about: {_word(machine.about)}"
    for group, numbers in machine.numbers.items():
        yield f"{group}: {_flow({name: _number(value) for name, value in numbers.items()})}"
    costs = machine.costs
    yield "costs:"
    for name, cost in (("photo", costs.photo), ("read", costs.read), ("python", costs.python)):
        if cost:
            yield f"  {name}: {_flow({key: _number(value) for key, value in cost.items()})}"
    if costs.forms:
        yield "  forms:"
        for form, numbers in costs.forms.items():
            yield f"    {form}: {_flow({key: _number(each) for key, each in numbers.items()})}"
    yield f"  row: {_number(costs.row)}"
    if machine.sources:
        yield "sources:"
        for name, source in machine.sources.items():
            yield f"  {name}: {_word(source)}"


def _row(residual: Residual) -> dict[str, str]:
    return {
        "run": _word(residual.name),
        "measured": f"{residual.measured:.4g}",
        "simulated": f"{residual.simulated:.4g}",
        "error": f"{residual.error:+.1%}",
        "others": f"{residual.others:.2f}",
    }


def _flow(values: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in values.items()) + "}"


def _number(value: float) -> str:
    return f"{value:.4g}"


def _word(text: str) -> str:
    """Text as YAML has it: quoted, so that nothing in it means something else."""
    one_line = textwrap.shorten(" ".join(text.split()), _WIDTH * 10)
    return '"' + one_line.replace("\\", "\\\\").replace('"', '\\"') + '"'
