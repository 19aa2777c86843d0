"""Who moves the knobs where the user leaves that to DRAPPS, and what a judge is asked for."""

import numpy
import pytest

import drapps
from drapps import policy
from drapps.torch import DataLoader

torch = pytest.importorskip("torch")


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index * index


def native(**options):
    rows = numpy.arange(32, dtype=numpy.float32).reshape(8, 4)
    return drapps.arrays({"x": rows}).batch(4, **options)


def test_auto_is_the_default_where_nothing_has_passed_its_gate():
    loader = native(policy="auto")
    assert loader.policy == "auto"
    report = loader.explain()
    assert report.decisions.policy == "initial"
    assert "auto is initial here: no other policy has passed its gate" in str(report)
    assert "auto" not in str(native().explain())


def test_auto_is_trials_for_worker_processes():
    loader = DataLoader(Squares(), 4, num_workers=1, policy="auto")
    assert [batch.tolist() for batch in loader] == [[0, 1, 4, 9], [16, 25, 36, 49]]
    report = loader.explain()
    assert report.decisions.policy == "trials"
    assert "auto is trials here" in str(report)


def test_auto_takes_a_policy_that_has_passed_under_the_judge(monkeypatch):
    passed = {"name": "hill_climb", "parameters": {"gain": 0.05}}
    monkeypatch.setattr(policy, "PASSED", {"threads": passed})
    assert policy.chosen("auto", "threads") == {**passed, "judge": True}
    assert policy.chosen("auto", "processes") == "trials"
    report = native(policy="auto").explain()
    assert report.decisions.policy == "hill_climb"
    assert "hill_climb has passed its gate, and has a judge" in str(report)


def test_another_policy_may_follow_auto_and_auto_another():
    loader = native(policy="auto")
    loader.policy = "hill_climb"
    assert loader.explain().decisions.policy == "hill_climb"
    loader.policy = "auto"
    assert loader.policy == "auto"
    assert loader.explain().decisions.policy == "initial"


@pytest.mark.parametrize("name", ["initial", "mpc", "hill_climb"])
def test_a_judge_changes_no_batch(name):
    judged = native(policy={"name": name, "judge": True, "every_ns": 1, "every_batches": 1})
    stock = native()
    for _ in range(3):
        for batch, other in zip(judged, stock, strict=True):
            assert numpy.array_equal(batch["x"], other["x"])


def test_a_judge_that_is_neither_there_nor_not_is_refused():
    with pytest.raises(drapps.PipelineError, match="judge of a policy must be true or false"):
        native(policy={"name": "mpc", "judge": 1})
