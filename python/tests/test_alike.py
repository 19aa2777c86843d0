"""What a loader says of itself reads alike, whether threads or processes work for it."""

import time

import pytest
import torch
from torch.utils.data import Dataset, TensorDataset

import drapps.torch
from drapps import _core


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((1 << 14,), float(index))


@pytest.fixture(params=["native", "processes"])
def loader(request):
    if request.param == "native":
        rows = torch.arange(64.0).repeat_interleave(1 << 14).reshape(64, -1)
        return drapps.torch.DataLoader(TensorDataset(rows), batch_size=4, num_workers=1)
    return drapps.torch.DataLoader(Numbers(), batch_size=4, num_workers=1)


def test_the_plan_the_settings_and_the_log_have_the_same_parts(loader):
    for _ in loader:
        pass
    explained = loader.explain()
    assert set(explained) == {"plan", "forms", "decisions", "choice"}
    assert set(explained["decisions"]) >= {"policy", "status", "entries", "totals", "stop_reason"}
    plan = explained["plan"]
    assert plan["settings"] == loader.export_settings()
    assert set(plan["settings"]) == {"schema", "knobs", "lane_weights"}
    assert set(plan["budget"]) == {"cpus", "ram_bytes"}
    assert plan["budget"]["ram_bytes"] == loader.memory()["limit"]
    assert set(plan["machine"]) == {"cpus", "memory_bytes", "local_ranks"}
    assert "first_batch" in plan


def used(memory):
    return {name: account["used"] for name, account in memory["accounts"].items()}


def test_the_account_of_memory_says_what_for(loader):
    start = used(_core.memory())
    assert list(start) == ["cache", "workspaces", "batches", "processes"]
    iterator = iter(loader)
    next(iterator)
    account = "batches" if loader.lifted() else "processes"
    batch = 4 << 16
    deadline = time.monotonic() + 30
    while True:  # what processes share is looked up ten times a second; both work on meanwhile
        memory = loader.memory()
        grown = used(memory)[account] - start[account]
        if grown >= batch and memory["used"] == sum(used(memory).values()):
            break
        assert time.monotonic() < deadline, memory
        time.sleep(0.01)
    assert all(each["releases"] for each in memory["accounts"].values())
