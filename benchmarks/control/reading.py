"""What the numbers say, in sentences; each is there only where the numbers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.control import summary
from benchmarks.control.arms import CALIBRATED, DEFAULT, ORACLE, OWN, POLICIES, STATIC
from benchmarks.control.summary import CLEAR, Row, gains, mean

_WORSE = -0.05


def reading(content: Mapping[str, Any]) -> Iterator[str]:
    """The paragraphs on top of the report."""
    rows: Sequence[Row] = content["rows"]
    machines = len(summary.grouped(rows, "machine"))
    yield (
        f"{len(rows)} simulated runs on {machines} machines. Simulated: an order of magnitude and "
        "an ordering, where the machine's numbers hold; nothing here was measured on them.\n\n"
    )
    yield from _default(rows)
    yield from _policies(rows)
    yield from _held(rows)
    yield from _places(rows)
    yield _trust(rows, content["sensitivity"], content["compared"])


def _default(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        f"**The default** reaches {mean(rows, DEFAULT):.1%} of the best known in the mean: "
        f"{mean(summary.stationary(rows), DEFAULT):.1%} where nothing changes, "
        f"{mean(summary.changing(rows), DEFAULT):.1%} where something does. An oracle that has "
        f"only the knobs of a live loader reaches {mean(rows, OWN):.1%}, one that has all "
        f"{mean(rows, ORACLE):.1%}: {_share(rows)} of what the default leaves lies in knobs that "
        "no live loader has (accelerators that decode, forms of the cache, remote machines). In "
        f"the others a policy can gain {mean(rows, OWN) - mean(rows, DEFAULT):.1%} in the mean.\n\n"
    )


def _share(rows: Sequence[Row]) -> str:
    left = mean(rows, ORACLE) - mean(rows, DEFAULT)
    return f"{(mean(rows, ORACLE) - mean(rows, OWN)) / left:.0%}" if left > 0 else "nothing"


def _policies(rows: Sequence[Row]) -> Iterator[str]:
    best = summary.best_policy(rows)
    ahead = mean(rows, best) - mean(rows, DEFAULT)
    worse = sum(gain < _WORSE for gain in gains(rows, best))
    if ahead > CLEAR:
        claim = f"is ahead of the default by {ahead:.1%} of the best known"
    else:
        claim = f"is no better than the default by more than {CLEAR:.0%} ({ahead:+.1%})"
    yield (
        f"**The best policy** in the mean, `{best}` with {mean(rows, best):.1%}, {claim}, and more "
        f"than {-_WORSE:.0%} below it in {worse} of {len(rows)} rows"
    )
    moved = summary.changing(rows)
    there = summary.best_policy(moved)
    yield (
        f"; where something changes it is `{there}` with {mean(moved, there):.1%}, the default "
        f"{mean(moved, DEFAULT):.1%}. "
    )
    behind = [arm for arm in POLICIES if mean(rows, arm) < mean(rows, DEFAULT) - CLEAR]
    named = ", ".join(f"`{arm}`" for arm in behind)
    yield (
        f"With the true world as its model, `mpc` reaches {mean(rows, CALIBRATED):.1%}, without it "
        f"{mean(rows, 'mpc'):.1%}. "
    )
    yield f"Behind the default by more than {CLEAR:.0%}: {named or 'none'}.\n\n"


def _held(rows: Sequence[Row]) -> Iterator[str]:
    moved = summary.changing(rows)
    wide = [row for row in moved if summary.gap(row) >= summary.GAP]
    caught = [arm for arm in POLICIES if mean(wide, arm) > mean(wide, STATIC)] if wide else []
    yield (
        f"**Settings tuned before the event** reach {mean(moved, STATIC):.1%} where something "
        f"changes. In {len(wide)} of {len(moved)} rows the oracle is at least "
        f"{summary.GAP - 1:.0%} ahead of them"
    )
    if wide:
        named = ", ".join(f"`{arm}` {mean(wide, arm):.1%}" for arm in caught)
        yield (
            f"; there they reach {mean(wide, STATIC):.1%}, the default {mean(wide, DEFAULT):.1%}, "
            f"and of the policies, more than they do: {named or 'none'}"
        )
    yield ".\n\n"


def _places(rows: Sequence[Row]) -> Iterator[str]:
    for number, name in enumerate(("machine", "event")):
        groups = summary.grouped(rows, name)
        (least,), far = min(groups.items(), key=lambda item: mean(item[1], DEFAULT))
        best = summary.best_policy(far)
        yield " " * bool(number) + (
            f"The default stands furthest from the oracle by {name} on *{least}*: "
            f"{mean(far, DEFAULT):.1%}, where the best policy, `{best}`, reaches "
            f"{mean(far, best):.1%} and the oracle of a live loader's knobs {mean(far, OWN):.1%}."
        )
    yield "\n\n"


def _trust(rows: Sequence[Row], trials: Sequence[Mapping[str, Any]], compared: str) -> str:
    above = summary.beyond(rows)
    cells = sum(each["cells"] for each in trials)
    flips = sum(len(each["flips"]) for each in trials)
    runs = f"{len(above)} runs" if above else "no policy"
    share = f"{flips / cells:.1%}" if cells else "none"
    return (
        f"**How far to trust it**: where nothing changes, {runs} exceeded the best known by more "
        f"than {summary.ABOVE - 1:.0%}. Halving and doubling every assumed number, {share} of the "
        f"verdicts between the default and `{compared}` come out otherwise.\n"
    )
