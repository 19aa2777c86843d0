"""A training goes on with another number of ranks: same samples, same schedule, same losses."""

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from drapps import PipelineError, train  # noqa: E402
from python.tests.ranks import TORCH, run_ranks  # noqa: E402

SCRIPT = Path(__file__).with_name("on_another_world.py")
SAVED_AT, STEPS = 5, 16


def trained(folder, ranks, **plan):
    """What each of so many ranks says."""
    folder.mkdir()
    plan = {"resumed": None, "saved": None, "saved_at": None, "steps": STEPS, **plan}
    printed = run_ranks([SCRIPT, json.dumps(plan)], folder, ranks, modules=TORCH)
    return [json.loads(each.splitlines()[-1]) for each in printed]


def samples_of(answers):
    """Those of each step, of all ranks together."""
    rows = zip(*(each["steps"] for each in answers), strict=True)
    return [sorted(number for _, seen in row for number in seen) for row in rows]


GROWS = {"warmup": 2, "every": 3, "share": 1e6}


@pytest.mark.parametrize(
    ("rows", "batches"),
    [
        # A last step of an epoch is a short one.
        pytest.param(200, {1: 4, 2: 2, 4: 1}, id="fixed", marks=pytest.mark.full),
        pytest.param(
            192,
            {
                1: {"least": 2, "most": 8, **GROWS},
                2: {"least": 1, "most": 4, **GROWS},
                4: {"least": 1, "most": 2, **GROWS},
            },
            id="schedule",
        ),
    ],
)
def test_a_training_of_two_ranks_goes_on_on_four_and_on_one(tmp_path, rows, batches):
    saved = str(tmp_path / "state.pt")
    whole = trained(tmp_path / "2", 2, rows=rows, batch=batches[2], saved=saved, saved_at=SAVED_AT)
    assert whole[0]["batches"] == (4 if isinstance(batches[2], int) else 8)
    for ranks in (4, 1):
        resumed = trained(
            tmp_path / str(ranks), ranks, rows=rows, batch=batches[ranks], resumed=saved
        )
        assert samples_of(resumed) == samples_of(whole)[SAVED_AT:]
        losses = torch.tensor([loss for loss, _ in resumed[0]["steps"]])
        wanted = torch.tensor([loss for loss, _ in whole[0]["steps"][SAVED_AT:]])
        assert torch.allclose(losses, wanted, rtol=0, atol=1e-4)
        assert resumed[0]["batches"] == whole[0]["batches"]
        assert resumed[0]["rates"] == pytest.approx(whole[0]["rates"])
        weights = torch.tensor(resumed[0]["weights"])
        assert torch.allclose(weights, torch.tensor(whole[0]["weights"]), atol=1e-4)


def test_micro_batches_that_do_not_divide_are_refused():
    schedule = train.BatchSchedule(most=8, least=1)
    state = {"steps": 7, "history": [[0, 1], [6, 3]]}
    schedule.load_state_dict(state, ranks=(2, 3))
    assert schedule.history == [[0, 1], [6, 2]]
    assert schedule.accumulation == 2
    with pytest.raises(PipelineError, match="6 micro-batches on 2 ranks, and 4 ranks"):
        schedule.load_state_dict(state, ranks=(2, 4))
    with pytest.raises(PipelineError, match="1 ranks have 1 to 2 each"):
        train.BatchSchedule(most=2).load_state_dict(state, ranks=(2, 1))
    fixed = train.BatchSchedule(most=5, least=5)
    fixed.load_state_dict(state, ranks=(2, 4))
    assert fixed.accumulation == 5
