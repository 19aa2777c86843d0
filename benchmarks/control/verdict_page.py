"""What a verdict on learned policies says, from its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from benchmarks.control.significance import Table, compared, holm, variance
from drapps.scenario.pages import document
from drapps.scenario.plots import Line, plot
from drapps.simulation.gate import DEFAULT, ORACLE, STATIC

_WARM = ", warm"
_STARTS = {"from tuned static settings": _WARM, "as a loader begins": ""}
_REFERENCE = {_WARM: STATIC, "": DEFAULT}
_COLOURS = ("drapps", "stock", "initial")  # of the style sheet

Content = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]


def mean_of(rows: Rows, arm: str) -> float:
    """The mean value of an arm."""
    return fmean(each["values"][arm] for each in rows)


def by_scenario(rows: Rows, arm: str) -> dict[str, float]:
    """The mean value of an arm in each scenario."""
    groups: dict[str, list[float]] = {}
    for each in rows:
        groups.setdefault(each["scenario"], []).append(each["values"][arm])
    return {name: fmean(values) for name, values in sorted(groups.items())}


def seeds_of(content: Content, name: str) -> list[str]:
    """The arms of a training: one for each seed."""
    arms = [arm for arm in content["rows"][0]["values"] if not arm.endswith(_WARM)]
    return [
        arm for arm in arms if arm.rpartition(" ")[0] == name and arm[len(name) + 1 :].isdigit()
    ]


def others_of(content: Content) -> list[str]:
    """Policies that have no seeds."""
    learned = {arm for each in content["trainings"] for arm in seeds_of(content, each["name"])}
    arms = content["rows"][0]["values"]
    return [
        arm
        for arm in arms
        if not arm.endswith(_WARM) and arm not in {*learned, STATIC, ORACLE, DEFAULT}
    ]


def page(content: Content) -> str:
    """The report as Markdown."""
    return "".join(_page(content))


def _page(content: Content) -> Iterator[str]:
    rows = content["rows"]
    yield "# Learned policies on test machines\n\n"
    yield (
        f"{len(rows)} machines, drawn from the hash {content['frozen'][:12]} of the commit that "
        "froze policies and gate, half of them as those of the trainings, half with accelerators "
        "2.5 times slower and storage three times farther away. Values are rates over the best "
        "known, the mean over a run's segments. Runs are averaged within a seed first: seeds are "
        "what deviations, tests and intervals are of. Policies without weights have the parameters "
        f"of [control.md](control.md), tuned with {content['tuned']['budget']} evaluations each.\n"
    )
    for title, ending in _STARTS.items():
        yield from _arms(content, title, ending)
        yield from _tests(content, title, ending)
    yield from _variance(content)
    yield from _scenarios(content)
    machine = content["machine"]
    yield (
        f"\n{content['date'][:10]}, commit {content['commit'][:12]}, {machine['cpu']}, "
        f"{machine['cores']} cores; nothing here is timed.\n"
    )


def _arms(content: Content, title: str, ending: str) -> Iterator[str]:
    rows = content["rows"]
    reference = _REFERENCE[ending]
    yield f"\n## Values {title}\n\n"
    yield (
        f"| | seeds | mean ± sd | each seed | 5 % lose against {reference} "
        "| runs worse by 3 points |\n|---|---|---|---|---|---|\n"
    )
    lines: list[tuple[float, str]] = []
    for each in content["trainings"]:
        arms = [f"{arm}{ending}" for arm in seeds_of(content, each["name"])]
        values = [mean_of(rows, arm) for arm in arms]
        spread = stdev(values) if len(values) > 1 else 0.0
        numbers = ", ".join(f"{value:.3f}" for value in values)
        worst = min(_tail(rows, arm, reference) for arm in arms)
        bad = max(_bad(rows, arm, reference) for arm in arms)
        mean = fmean(values)
        lines.append(
            (
                mean,
                f"| **{each['name']}** | {len(arms)} | {mean:.4f} ± {spread:.4f} | {numbers} "
                f"| {worst:+.3f} | {bad:.0%} |\n",
            )
        )
    for name in [*(f"{arm}{ending}" for arm in others_of(content)), STATIC, DEFAULT, ORACLE]:
        mean = mean_of(rows, name)
        tail, bad = _tail(rows, name, reference), _bad(rows, name, reference)
        shown = name.removesuffix(_WARM)
        lines.append((mean, f"| {shown} | | {mean:.4f} | | {tail:+.3f} | {bad:.0%} |\n"))
    yield from (line for _, line in sorted(lines, key=lambda each: -each[0]))
    yield "\nOf learned policies the last two columns are those of the worst seed.\n"


def _gains(rows: Rows, arm: str, other: str) -> list[float]:
    return [each["values"][arm] - each["values"][other] for each in rows]


def _tail(rows: Rows, arm: str, other: str) -> float:
    gains = sorted(_gains(rows, arm, other))
    return gains[int(0.05 * len(gains))]


def _bad(rows: Rows, arm: str, other: str) -> float:
    gains = _gains(rows, arm, other)
    return sum(gain < -0.03 for gain in gains) / len(gains)


def _tests(content: Content, title: str, ending: str) -> Iterator[str]:
    rows = content["rows"]
    heuristics = [f"{arm}{ending}" for arm in others_of(content)]
    best = max(heuristics, key=lambda arm: mean_of(rows, arm))
    against = list(dict.fromkeys([_REFERENCE[ending], best, f"mpc{ending}", f"aimd{ending}"]))
    differences = {}
    for each in content["trainings"]:
        own = [mean_of(rows, f"{arm}{ending}") for arm in seeds_of(content, each["name"])]
        for other in against:
            if other in rows[0]["values"]:
                differences[f"{each['name']} less {other.removesuffix(_WARM)}"] = compared(
                    own, [mean_of(rows, other)]
                )
    names = [each["name"] for each in content["trainings"]]
    for name in names[1:]:
        first, second = (
            [mean_of(rows, f"{arm}{ending}") for arm in seeds_of(content, each)]
            for each in (names[0], name)
        )
        both = min(len(first), len(second))
        differences[f"{names[0]} less {name}"] = compared(first[:both], second[:both])
    adjusted = holm({name: each.p for name, each in differences.items()})
    yield f"\n## Differences {title}\n\n"
    yield "| | seeds | points: mean ± sd | 95 % interval | p | p, Holm |\n"
    yield "|---|---|---|---|---|---|\n"
    for name, each in differences.items():
        yield (
            f"| {name} | {each.seeds} | {100 * each.mean:+.2f} ± {100 * each.deviation:.2f} "
            f"| {100 * each.low:+.2f} to {100 * each.high:+.2f} | {_p(each.p)} "
            f"| {_p(adjusted[name])} |\n"
        )
    yield (
        "\nPaired t-tests over seeds, two-sided, corrected together; bootstrap intervals of the "
        "mean over seeds. A policy without seeds counts for each.\n"
    )


def _p(p: float | None) -> str:
    return "" if p is None or math.isnan(p) else f"{p:.2g}"


def _variance(content: Content) -> Iterator[str]:
    policies: dict[str, Table] = {}
    for each in content["trainings"]:
        arms = seeds_of(content, each["name"])
        if len(arms) > 1:
            policies[each["name"]] = {
                str(number): by_scenario(content["rows"], arm) for number, arm in enumerate(arms)
            }
    if len(policies) < 2:
        return
    yield "\n## Variance\n\nAs a loader begins: policy and scenario, with seeds repeated.\n\n"
    yield "| | degrees of freedom | share of the squares | F | p |\n|---|---|---|---|---|\n"
    for effect in variance(policies):
        f = "" if math.isnan(effect.f) else f"{effect.f:.1f}"
        yield (
            f"| {effect.name} | {effect.freedom} | {effect.share:.1%} | {f} | {_p(effect.p)} |\n"
        )


def _scenarios(content: Content) -> Iterator[str]:
    rows = content["rows"]
    names = [each["name"] for each in content["trainings"]]
    columns = [DEFAULT, "mpc", STATIC, ORACLE]
    yield "\n## By scenario, as a loader begins\n\n"
    yield f"| scenario | {' | '.join([*columns, *names])} |\n"
    yield f"|---|{'---|' * (len(columns) + len(names))}\n"
    values: dict[str, dict[str, float]] = {arm: by_scenario(rows, arm) for arm in columns}
    for name in names:
        arms = [by_scenario(rows, arm) for arm in seeds_of(content, name)]
        values[name] = {each: fmean(arm[each] for arm in arms) for each in arms[0]}
    for scenario in values[DEFAULT]:
        cells = " | ".join(f"{values[arm][scenario]:.3f}" for arm in [*columns, *names])
        yield f"| {scenario} | {cells} |\n"


def html(content: Content) -> str:
    """Every seed of every training, a dot each, beside what it is compared with."""
    parts = ["<h1>Learned policies on test machines</h1>"]
    rows = content["rows"]
    for title, ending in _STARTS.items():
        lines = []
        for number, each in enumerate(content["trainings"]):
            arms = seeds_of(content, each["name"])
            points = [
                (number + 1 + 0.1 * at, mean_of(rows, f"{arm}{ending}"))
                for at, arm in enumerate(arms)
            ]
            colour = _COLOURS[number % len(_COLOURS)]
            lines.append(Line(each["name"], points, colour, dots=True))
        level = mean_of(rows, _REFERENCE[ending])
        parts.append(
            f"<h2>Values {title}</h2>"
            + plot(lines, "trainings, and their seeds", "value", rule=(level, _REFERENCE[ending]))
        )
    return document("DRAPPS: learned policies on test machines", "\n".join(parts))
