"""``drapps top``: the ranks of one training together."""

from types import SimpleNamespace

import pytest

from drapps.top.ranks import HEAD, Job, jobs, summary
from python.tests.commands import answer, run
from python.tests.monitor.test_top import WIDTH, driven, screen_of, top

__all__ = ["top"]  # a fixture


def process(pid, rank="", job="", world=""):
    return SimpleNamespace(pid=pid, rank=rank, job=job, world=world, command="train.py", loaders=())


def test_ranks_of_one_training_are_one_job_in_their_order():
    alone, first, last = process(1), process(9, "0", "a 1", "4"), process(2, "10", "a 1", "4")
    (job,) = jobs([alone, last, process(3, "0", "b 1", "2"), first])
    assert [each.pid for each in job.ranks] == [9, 2] and job.world == 4
    assert job.line == "2 of 4 ranks  train.py"
    assert Job("a", 2, job.ranks).line == "2 ranks  train.py"
    assert jobs([alone, first]) == []
    odd = [process(1, "no", "c", "many"), process(2, "9" * 99, "c", "many")]
    assert jobs(odd)[0].line == "2 ranks  train.py"


@pytest.mark.parametrize(
    ("stalls", "message"),
    [
        ({"0": 0.01, "1": 0.02}, "no rank waits for its data"),
        ({"0": 0.01, "1": 0.4}, "rank 1 waits for its data, 40% of its time; the others wait"),
        ({"0": 0.3, "1": 0.4}, "ranks wait for their data, rank 1 most: 40%"),
        ({"0": None, "1": None}, "2 ranks  train.py: no steps since the last look"),
    ],
)
def test_a_rank_that_waits_is_not_blamed_on_its_peers(stalls, message):
    job = Job("a", 2, (process(1, "0"), process(2, "1")))
    assert summary(job, stalls).startswith(message)


def test_ranks_are_shown_together_and_one_by_one(top):
    common = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29501"}
    ranks = [top.watched(RANK=str(rank), **common) for rank in range(2)]

    done = run("top", "--once")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH and lines[0].startswith("2 ranks  ")
    assert "data" in lines[1] and lines[3] == HEAD
    for rank, line in zip(ranks, lines[4:], strict=True):
        assert line.split()[:2] == [str(ranks.index(rank)), str(rank.pid)] and "%" in line
    status, facts = answer("top")
    assert status == 0
    assert [each["process"]["rank"] for each in facts["ranks"]] == ["0", "1"]

    async def script(app, pilot, shows):
        await shows("2 ranks")
        await pilot.press("enter")
        await shows(HEAD)
        await shows("%")
        shown = "\n".join(screen_of(app))
        assert str(ranks[0].pid) in shown and str(ranks[1].pid) in shown
        await pilot.press("down", "enter")
        await shows(f"process {ranks[1].pid} rank 1")
        await pilot.press("escape")
        await shows(HEAD)
        top.end(ranks[0])
        await shows("fewer than two of its ranks answer")
        await pilot.press("escape")
        await shows(f"{ranks[1].pid} rank 1")

    driven(None, script)
