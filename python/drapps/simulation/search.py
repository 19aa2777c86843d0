"""The best of many choices, by random draws and coordinate search.

Of settings that are as good, those nearest to where the search begins are taken: what makes no
difference stays as it was.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

DRAWN, RESTARTS = 40, 12
WORTH = 1e-3  # share of the value below which a difference is none

Choices = Mapping[str, Sequence[int]]  # values by name, in their order
Settings = dict[str, int]


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        settings: the best, by name.
        value: that it has.
        evaluations: of different settings.
    """

    settings: Settings
    value: float
    evaluations: int


def search(
    choices: Choices,
    value: Callable[[Settings], float],
    start: Mapping[str, int],
    seed: str,
    *,
    drawn: int = DRAWN,
    restarts: int = RESTARTS,
    groups: Sequence[Sequence[str]] = (),
) -> Found:
    """Draws settings, and improves the best of them one coordinate at a time.

    Args:
        choices: between which there is a choice.
        value: of settings; more is better. It is asked once for each.
        start: settings to begin with, one value for each name; one that is no choice counts as the
            greatest choice that is not above it.
        seed: of the draws.
        drawn: how many are drawn beside the start.
        restarts: from how many of these, the best ones, a coordinate search begins.
        groups: names that the coordinate search sets to one value, too: each to the greatest of its
            choices that is not above it.
    """
    grid = _Grid(choices, value, groups)
    draws = random.Random(seed)
    begin = grid.place(start)
    points = [begin]
    points += [tuple(draws.randrange(len(each)) for each in choices.values()) for _ in range(drawn)]
    points[1:] = sorted(points[1:], key=grid.value, reverse=True)
    ends = [grid.climbed(point, draws) for point in points[: max(1, restarts)]]
    most = max(map(grid.value, ends))
    near = [end for end in ends if grid.value(end) >= most * (1 - WORTH)]
    best = min(near, key=lambda end: _apart(end, begin))
    best = grid.returned(best, begin, most)
    return Found(grid.settings(best), grid.value(best), grid.evaluations)


def climb(
    choices: Choices,
    value: Callable[[Settings], float],
    start: Mapping[str, int],
    seed: str,
    groups: Sequence[Sequence[str]] = (),
) -> Found:
    """A coordinate search from the start alone; arguments as of `search`."""
    return search(choices, value, start, seed, drawn=0, restarts=1, groups=groups)


_Point = tuple[int, ...]


class _Grid:
    """Choices as places in lists, each valued once."""

    def __init__(
        self,
        choices: Choices,
        value: Callable[[Settings], float],
        groups: Sequence[Sequence[str]],
    ) -> None:
        self._choices = choices
        self._value = value
        names = list(choices)
        self._lines: list[tuple[int, ...]] = [(at,) for at in range(len(names))]
        self._lines += [tuple(map(names.index, group)) for group in groups]
        self._known: dict[_Point, float] = {}

    @property
    def evaluations(self) -> int:
        return len(self._known)

    def settings(self, point: _Point) -> Settings:
        return {
            name: values[place]
            for (name, values), place in zip(self._choices.items(), point, strict=True)
        }

    def place(self, settings: Mapping[str, int]) -> _Point:
        return tuple(_at(values, settings[name]) for name, values in self._choices.items())

    def value(self, point: _Point) -> float:
        if point not in self._known:
            self._known[point] = self._value(self.settings(point))
        return self._known[point]

    def climbed(self, point: _Point, draws: random.Random) -> _Point:
        """The point reached where no other value of one name alone is better."""
        better = True
        while better:
            better = False
            draws.shuffle(self._lines)
            for names in self._lines:
                best = max(self._line(point, names), key=self.value)
                if self.value(best) > self.value(point) * (1 + WORTH):
                    point, better = best, True
        return point

    def _line(self, point: _Point, names: Sequence[int]) -> list[_Point]:
        """The point with each value that the names may have together."""
        choices = list(self._choices.values())
        points = []
        for value in choices[names[0]]:
            other = point
            for name in names:
                other = _with(other, name, _at(choices[name], value))
            points.append(other)
        return points

    def returned(self, point: _Point, begin: _Point, most: float) -> _Point:
        """The point with every name that makes no difference back where it began."""
        for name, place in enumerate(begin):
            back = _with(point, name, place)
            if self.value(back) >= most * (1 - WORTH):
                point = back
        return point


def _at(values: Sequence[int], value: int) -> int:
    """The place of the greatest of `values` that is not above `value`."""
    return max((at for at, each in enumerate(values) if each <= value), default=0)


def _with(point: _Point, name: int, place: int) -> _Point:
    return (*point[:name], place, *point[name + 1 :])


def _apart(point: _Point, other: _Point) -> tuple[int, int]:
    """How many names differ, and by how many places in all."""
    steps = [abs(a - b) for a, b in zip(point, other, strict=True)]
    return sum(step > 0 for step in steps), sum(steps)
