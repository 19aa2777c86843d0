"""The report as Markdown; every figure in it comes from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.control import summary
from benchmarks.control.arms import DEFAULT, POLICIES
from benchmarks.control.reading import reading
from benchmarks.control.summary import Row, fact, gains, mean, quantile, values

_MOST = 40  # lines of a table that lists cells

_HOW = """
## How to read it

The value of a run is the mean over its segments of its rate over the best one that is known of the
segment, transitions included. *oracle* has each segment's best settings as it begins, of all knobs
of the simulated machine; *oracle, own knobs* only of those that a live loader has; *tuned static*
has the best settings of the first segment, searched on that machine and workload, and holds them.
All searches are alike: 40 settings at random, and coordinate searches from the 12 best. *mpc, true
world* begins with the world as it is before its event. All policies but those without parameters
are tuned, each with the same number of evaluations, in other variations of all cells than those
that are compared here. `make bench-control ARGS=--keep` writes this page; benchmarks/control/
control.md says how.
"""


def page(content: Mapping[str, Any]) -> str:
    """Of what benchmarks/results/control.json holds."""
    rows: Sequence[Row] = content["rows"]
    parts = ["# Policies on simulated machines\n\n", *reading(content), _HOW]
    parts += _arms("All rows", rows)
    parts += _arms("Where something changes", summary.changing(rows))
    parts += _arms("Where nothing changes", summary.stationary(rows))
    parts += _matrix("By machine", rows, "machine")
    parts += _matrix("By event", rows, "event")
    parts += _matrix("By workload", rows, "workload")
    parts += _gaps(rows)
    parts += _beyond(rows)
    parts += _tuned(content["tuned"])
    parts += _sensitivity(content["sensitivity"], content["compared"])
    parts += _place(content)
    return "".join(parts)


def _arms(title: str, rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    yield f"\n## {title}\n\n{len(rows)} rows.\n\n"
    yield (
        "| | value, mean | least | 5 % below | over default: mean | worst | rows more than 5 % "
        "below it | wait for a batch, mean | p95 | GPU idle | memory | J a batch | cost | moves "
        "a segment |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    )
    for arm in sorted((DEFAULT, *POLICIES, *summary.SEARCHED), key=lambda arm: -mean(rows, arm)):
        each = values(rows, arm)
        gained = gains(rows, arm)
        cells = [
            arm,
            f"{sum(each) / len(each):.3f}",
            f"{min(each):.2f}",
            f"{quantile(each, 0.05):.2f}",
            f"{sum(gained) / len(gained):+.1%}",
            f"{min(gained):+.0%}",
            str(sum(gain < -0.05 for gain in gained)),
            _text(fact(rows, arm, "load_mean"), 1e3, "{:.2f} ms"),
            _text(fact(rows, arm, "load_p95"), 1e3, "{:.2f} ms"),
            _text(fact(rows, arm, "gpu_idle"), 100, "{:.0f} %"),
            _text(fact(rows, arm, "memory"), 1e-9, "{:.2f} GB"),
            _text(fact(rows, arm, "joules_per_batch"), 1, "{:.2f}"),
            _text(fact(rows, arm, "cost"), 1, "{:.3f}"),
            _text(fact(rows, arm, "moves"), 1, "{:.1f}"),
        ]
        yield f"| {' | '.join(cells)} |\n"


def _text(number: float | None, scale: float, form: str) -> str:
    return "" if number is None else form.format(number * scale)


def _matrix(title: str, rows: Sequence[Row], name: str) -> Iterator[str]:
    arms = (DEFAULT, *POLICIES, *summary.SEARCHED)
    yield f"\n## {title}\n\nMean values.\n\n| {name} | rows | {' | '.join(arms)} |\n"
    yield f"|---|---|{'---|' * len(arms)}\n"
    for (group,), own in summary.grouped(rows, name).items():
        cells = " | ".join(f"{mean(own, arm):.2f}" for arm in arms)
        yield f"| {group} | {len(own)} | {cells} |\n"


def _gaps(rows: Sequence[Row]) -> Iterator[str]:
    wide = sorted(
        (row for row in rows if summary.gap(row) >= summary.GAP), key=summary.gap, reverse=True
    )
    yield (
        f"\n## Where no static settings will do\n\nOracle ÷ tuned static is at least "
        f"{summary.GAP:g} in {len(wide)} of {len(rows)} rows. Of each, the knob that loses most of "
        "a segment's rate where it stands as in the static settings, and the numbers of an "
        "observation, as learned policies see them, that the event changed most"
    )
    yield f"; the first {_MOST}.\n\n" if len(wide) > _MOST else ".\n\n"
    yield "| machine | workload | event | variation | oracle ÷ static | knob | signals |\n"
    yield "|---|---|---|---|---|---|---|\n"
    for row in wide[:_MOST]:
        knob, signals = summary.knob_and_signals(row)
        moved = (
            f"`{knob['knob']}` {knob['static']} → {knob['best']} (-{knob['lost']:.0%})"
            if knob
            else "none alone"
        )
        seen = ", ".join(
            f"`{each['feature']}` {each['before']:.2f} → {each['now']:.2f}" for each in signals
        )
        yield (
            f"| {row['machine']} | {row['workload']} | {row['event']} | {row['variation']} "
            f"| {summary.gap(row):.2f} | {moved} | {seen or 'none'} |\n"
        )
    if wide:
        knobs = Counter(summary.knob_and_signals(row)[0].get("knob", "none alone") for row in wide)
        counted = ", ".join(f"{name} {count}" for name, count in knobs.most_common())
        yield f"\nBy knob, over all {len(wide)} rows: {counted}.\n"


def _beyond(rows: Sequence[Row]) -> Iterator[str]:
    runs = summary.beyond(rows)
    yield (
        "\n## Better than the best known\n\nWhere nothing changes, no policy can be better than "
        f"the best held settings; more than {summary.ABOVE - 1:.0%} would be a mistake of the "
        f"simulator or of the search. {len(summary.stationary(rows))} rows, "
    )
    if not runs:
        yield "and none is.\n"
        return
    yield f"{len(runs)} runs that are:\n\n"
    yield "| machine | workload | policy | value |\n|---|---|---|---|\n"
    for row, arm, reached in runs:
        yield f"| {row['machine']} | {row['workload']} | {arm} | {reached:.3f} |\n"


def _tuned(tuned: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "\n## Parameters\n\n| policy | as it is | tuned | evaluations | parameters |\n"
    yield "|---|---|---|---|---|\n"
    for arm, policy in tuned.items():
        score = policy.get("tuned")
        if score is None:
            yield f"| {arm} | | | | has none |\n"
            continue
        named = ", ".join(f"{name} {value:g}" for name, value in policy["parameters"].items())
        yield (
            f"| {arm} | {score['default']:.3f} | {score['score']:.3f} "
            f"| {score['evaluations']} | {named} |\n"
        )


def _sensitivity(trials: Sequence[Mapping[str, Any]], compared: str) -> Iterator[str]:
    cells = sum(each["cells"] for each in trials)
    flips = sum(len(each["flips"]) for each in trials)
    reversed_ = sum(_reversed(each) for each in trials)
    yield (
        "\n## What hangs on assumed numbers\n\nEach number of a machine without a source, halved "
        f"and doubled. The verdict on a cell: the default or *{compared}* is faster by more than "
        f"{summary.CLEAR:.0%}, or neither. {flips} of {cells} verdicts come out otherwise, "
        f"{reversed_} the other way round. Numbers that change none are left out.\n\n"
        "| machine | number | times | flips | of them the other way round | where |\n"
        "|---|---|---|---|---|---|\n"
    )
    for each in sorted(trials, key=lambda each: -len(each["flips"])):
        if each["flips"]:
            where = ", ".join(f"{flip['workload']}: {flip['event']}" for flip in each["flips"])
            yield (
                f"| {each['machine']} | {each['number']} | {each['factor']:g} "
                f"| {len(each['flips'])} of {each['cells']} | {_reversed(each)} | {where} |\n"
            )


def _reversed(each: Mapping[str, Any]) -> int:
    """How many flips go from one policy to the other."""
    return sum("neither" not in (flip["before"], flip["after"]) for flip in each["flips"])


def _place(content: Mapping[str, Any]) -> Iterator[str]:
    machine = content["machine"]
    yield (
        f"\n## Where it was made\n\n{content['date'][:10]}, commit {content['commit'][:12]}, "
        f"{machine['cpu']}, {machine['cores']} cores, {content['seconds'] / 60:.0f} minutes in "
        f"all. Scored in the variations {_list(content['scored'])}, tuned in "
        f"{_list(content['varied'])}, {content['budget']} evaluations each.\n"
    )


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
