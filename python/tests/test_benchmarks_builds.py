"""Two builds beside each other: who is asked when, and what becomes of the answers."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import builds, pairs, report

OLD, NEW = builds.Build(Path("old")), builds.Build(Path("new"))
SPEEDS = {"old": [10.0, 20.0, 40.0, 10.0, 10.0], "new": [11.0, 18.0, 44.0, 12.0, 9.0]}


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What was asked of which build, in order; a build's process is a counter."""
    asked = []

    @contextmanager
    def start(root, package):
        assert package == root / "python"
        asked.append((root.name, "starts"))
        yield Stub(root.name)

    class Stub:
        def __init__(self, build):
            self.build = build

        def ask(self, **command):
            asked.append((self.build, *command.values()))
            return {"speed": SPEEDS[self.build][command["number"]]}

    case = pairs.Case(
        "made/up",
        start,
        lambda number: {"number": number},
        lambda answer: {"made/up/speed": answer["speed"]},
        warm=[{"number": 0}],
        life=2,
    )
    monkeypatch.setattr(pairs, "cases", lambda _seconds, _journal: [case])
    monkeypatch.setattr(report, "BUILD", tmp_path)
    return asked


def test_rounds_alternate_in_processes_that_live_for_some_of_them(asked):
    result = builds.measure(OLD, NEW, [], {"rounds": 5, "seconds": 1.0})
    begin = [("old", "starts"), ("old", 0), ("new", "starts"), ("new", 0)]
    assert asked[:8] == [*begin, ("new", 0), ("old", 0), ("old", 1), ("new", 1)]
    assert asked[8:12] == begin
    assert asked[-2:] == [("new", 4), ("old", 4)]
    assert result.ratios["made/up/speed"] == pytest.approx(1.1)
    assert result.intervals["made/up/speed"] == pytest.approx((0.9, 1.2))
    assert result.ratios["geometric_mean"] == pytest.approx(1.1)
    assert result.ratios["lowest_upper_end"] == pytest.approx(1.2)


def test_what_was_measured_is_not_measured_again(asked):
    first = builds.measure(OLD, NEW, [], {"rounds": 4, "seconds": 1.0})
    asked.clear()
    assert builds.measure(OLD, NEW, ["made"], {"rounds": 4, "seconds": 1.0}).ratios == first.ratios
    assert asked == []
    builds.measure(builds.Build(Path("other/old")), NEW, [], {"rounds": 4, "seconds": 2.0})
    assert asked


def test_a_case_that_is_not_there(asked):
    with pytest.raises(builds.ContestantError, match="no case begins with other"):
        builds.measure(OLD, NEW, ["other"], {"rounds": 1, "seconds": 1.0})
    assert asked == []
