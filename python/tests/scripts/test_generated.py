"""Scripts of many seeds, run with the stock loader and with ours."""

import pytest

from python.tests.cells import some_full
from python.tests.scripts.compare import differences
from python.tests.scripts.compose import case_of
from python.tests.scripts.runner import Here

MANY = range(400)
SOON = [seed for seed in MANY if not (case_of(seed).dataset.pictures or case_of(seed).plan.ends)][
    :3
]
# Seeds that have found something, which stay. What a seed gives changes with the tables of parts,
# so what it found also has a test of its own, in test_found.py or beside the code that was mended.
FOUND = (10, 36, 54, 1058, 1139, 3176, 8283)


def check(runner, seed):
    case = case_of(seed)
    problems = differences(runner, case)
    assert not problems, f"{case.name}: {problems}\n{case.text()}"


@pytest.mark.parametrize("seed", some_full(SOON, SOON[0], SOON[2]))
def test_a_script_does_as_with_stock(seed):
    check(Here(), seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", sorted({*FOUND, *MANY}))
def test_scripts_of_many_seeds_do_as_with_stock(runner, seed):
    check(runner, seed)


def test_a_seed_gives_the_same_script_and_another_one_another():
    texts = [case_of(seed).text() for seed in range(50)]
    assert texts == [case_of(seed).text() for seed in range(50)]
    assert len(set(texts)) == 50


def test_every_part_is_drawn():
    from python.tests.scripts import datasets, orders, plans

    names = [case_of(seed).name for seed in range(3000)]
    drawn = [set(part) for part in zip(*(name.split(", ") for name in names), strict=False)]
    parts = [plans.PLANS, [*datasets.PYTHON, *datasets.STREAMS, "vision"], orders.ORDERS]
    for table, kinds in zip(parts, drawn, strict=False):
        assert set(table) <= kinds


def test_a_difference_is_told():
    from python.tests.scripts.compare import EVERYTHING, difference

    def run(*entries, status=0, left=False, printed=""):
        log = [list(entry) for entry in entries]
        return {"log": log, "status": status, "left": left, "printed": printed}

    one = run(("known", "a"), ("drawn", "b"))
    assert not difference(EVERYTHING, one, run(("known", "a"), ("fact", "c"), ("drawn", "b")))
    assert "entry 1" in difference(EVERYTHING, one, run(("known", "a"), ("drawn", "c")))
    assert not difference({"known"}, one, run(("known", "a"), ("drawn", "c")))
    assert "1 entries instead of 2" in difference(EVERYTHING, one, run(("known", "a")))
    assert "status 1" in difference((), one, run(status=1))
    assert "left behind" in difference((), one, run(left=True))
    assert "Exception ignored" in difference((), one, run(printed="Exception ignored in"))
    assert "hangs" in difference((), one, run(status="hangs"))


def test_stock_runs_again_where_it_alone_lost_a_worker():
    def run(text):
        return {"log": [["text", text]], "status": 0, "left": False, "printed": ""}

    class Played:
        def __init__(self, *answers):
            self.answers = list(answers)

        def run(self, texts, whole=False):  # noqa: ARG002
            return [run(text) for text in self.answers.pop(0)[: len(texts)]]

    case = next(case for case in map(case_of, range(50)) if case.workers)
    lost = "builtins.RuntimeError: DataLoader worker (…) exited unexpectedly with exit code 1."
    assert not differences(Played((lost, "a", "a", "a"), ("a",)), case)
    assert "default" in differences(Played((lost, "a", "a", "a"), ("b",)), case)
    assert "default" in differences(Played((lost, "a", "a", "a"), (lost,), (lost,)), case)
    assert not differences(Played((lost, lost, lost, lost)), case)
