"""What is decided about the worker processes of Python datasets, by policies and by budgets."""

import copy
import itertools
import json
import os
import time
from pathlib import Path

import pytest
import torch
from torch.utils import data

import drapps.torch
from drapps import _core
from python.tests.cells import full
from python.tests.test_workers import DEADLINE, Drawn


def test_settings_and_the_log_outlive_passes_and_loaders():
    loader = drapps.torch.DataLoader(Drawn(), batch_size=8, num_workers=3, cpu_budget=2, seed=1)
    with pytest.raises(drapps.PipelineError, match="before the first iter"):
        loader.export_settings()
    expected = list(loader)
    settings = loader.export_settings()
    assert settings == json.loads(_core.settings_of_processes(2))
    assert (settings["knobs"], settings["lane_weights"]) == ({"processes": 2}, {})
    loader.freeze()
    assert loader.explain()["decisions"]["status"] == "frozen"
    settings["knobs"]["processes"] = 4
    again = drapps.torch.DataLoader(
        Drawn(), batch_size=8, num_workers=3, seed=1, settings=json.loads(json.dumps(settings))
    )
    iterator = iter(again)
    assert again.explain()["plan"]["processes"] == 4
    assert str(list(iterator)) == str(expected)
    assert again.explain()["decisions"]["totals"]["moves"] == 0
    with pytest.raises(drapps.PipelineError, match="settings="):
        drapps.torch.DataLoader(Drawn(), num_workers=1, settings={"knobs": {}})


class Asleep(data.Dataset):
    """Samples that use no core."""

    def __len__(self):
        return 100

    def __getitem__(self, index):
        time.sleep(0.02)
        return index


def knobs_that_move(loader, policy, most):
    """The names of the first knobs that a policy moves; the samples are the dataset's.

    There are none where it has not moved any after `most` decisions.
    """
    moved, count = set(), 0
    end = time.monotonic() + DEADLINE
    while not moved and count < most and time.monotonic() < end:
        assert torch.cat(list(loader)).tolist() == list(range(len(loader.dataset)))
        decisions = loader.explain()["decisions"]
        assert (decisions["policy"], decisions["stop_reason"]) == (policy, None)
        count = decisions["totals"]["decisions"]
        moved = {entry["knob"] for entry in decisions["entries"] if entry["knob"]}
    assert count > 0
    return moved


@pytest.mark.parametrize(
    "policy",
    [
        None,
        full("trials"),
        "initial",
        full("random"),
        full({"name": "trials", "parameters": {"gain": 0.05}}),
    ],
)
def test_a_policy_decides_about_processes_as_about_threads(policy):
    options = {"num_workers": 2, "persistent_workers": True, "policy": policy}
    loader = drapps.torch.DataLoader(Asleep(), 20, **options)
    name = policy["name"] if isinstance(policy, dict) else policy or "trials"
    moved = knobs_that_move(loader, name, 2 if policy == "initial" else 100)
    assert moved == (set() if policy == "initial" else {"processes"})


def test_the_policy_of_processes_is_swapped_while_they_run():
    loader = drapps.torch.DataLoader(range(400), 20, num_workers=2, policy="initial")
    steps = iter(loader)
    samples = next(steps).tolist()
    loader.policy = {"name": "trials", "parameters": {"gain": 0.1}}
    with pytest.raises(drapps.PipelineError, match="magic"):
        loader.policy = "magic"
    assert [*samples, *torch.cat(list(steps)).tolist()] == list(range(400))
    decisions = loader.explain()["decisions"]
    assert decisions["policy"] == "trials"
    assert "policy trials follows initial" in [entry["why"] for entry in decisions["entries"]]
    loader.policy = None
    assert loader.policy is None
    assert copy.copy(loader).explain()["decisions"]["policy"] == "trials"


def test_the_policy_of_a_lifted_loader_is_swapped_while_it_runs(photos, torchvision):
    dataset = torchvision.datasets.ImageFolder(
        photos,
        torchvision.transforms.Compose(
            [torchvision.transforms.Resize((24, 24)), torchvision.transforms.ToTensor()]
        ),
    )
    loader = drapps.torch.DataLoader(dataset, 4)
    assert loader.lifted().native
    steps = iter(loader)
    labels = next(steps)[1].tolist()
    loader.policy = "hill_climb"
    labels += torch.cat([batch[1] for batch in steps]).tolist()
    assert labels == dataset.targets
    assert loader.explain()["decisions"]["policy"] == "hill_climb"
    loader.policy = None
    assert loader.explain()["decisions"]["policy"] == "initial"


def test_passes_shorter_than_a_decision_add_up():
    loader = drapps.torch.DataLoader(range(40), 8, num_workers=2, persistent_workers=True)
    end = time.monotonic() + DEADLINE
    while loader.explain()["decisions"]["totals"]["decisions"] == 0 and time.monotonic() < end:
        assert torch.cat(list(loader)).tolist() == list(range(40))
    assert loader.explain()["decisions"]["totals"]["decisions"] > 0


class Toil(data.Dataset):
    """Samples that keep a core busy."""

    def __len__(self):
        return 4000

    def __getitem__(self, index):
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        return index


def at_work(pids):
    """Processes that have not ended."""
    states = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] for pid in pids]
    return sum(state != "Z" for state in states)


@pytest.mark.full
def test_surplus_processes_end_while_the_consumer_is_away():
    loader = drapps.torch.DataLoader(Toil(), 10, num_workers=4, prefetch_factor=100)
    iterator = iter(loader)
    taken = list(itertools.islice(iterator, 8))  # each process has told of its dataset by then
    pids = [process.pid for process in iterator._workers]
    assert at_work(pids) > 1
    limit = _core.limit_cpus(0.05)  # less than one of them gets beside whatever else runs
    end = time.monotonic() + DEADLINE
    while at_work(pids) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    assert at_work(pids) == 1
    del limit
    taken += itertools.islice(iterator, 20)
    assert torch.cat(taken).tolist() == list(range(280))


class Priorities(data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return os.getpriority(os.PRIO_PROCESS, 0), os.getpriority(os.PRIO_PROCESS, os.getppid())


def test_worker_processes_leave_the_cores_to_the_training_process():
    for method in ("fork", "spawn"):
        loader = drapps.torch.DataLoader(
            Priorities(), num_workers=1, multiprocessing_context=method
        )
        before = os.getpriority(os.PRIO_PROCESS, 0)
        assert {(mine.item(), parent.item()) for mine, parent in loader} == {
            (min(19, before + 5), before)
        }
        assert os.getpriority(os.PRIO_PROCESS, 0) == before
