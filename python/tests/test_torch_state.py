"""Saving and resuming a lifted DataLoader, in another process, at every step."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps  # noqa: E402
import drapps.torch  # noqa: E402

BUILD = """
import json, sys
import torch, torchvision
from torch.utils import data
import drapps.torch

def build(photos, kind):
    t = torchvision.transforms
    chain = t.Compose([t.RandomResizedCrop(24), t.RandomHorizontalFlip(), t.ToTensor()])
    folder = torchvision.datasets.ImageFolder(photos, chain)
    sampler = None
    if kind == "distributed":
        sampler = data.DistributedSampler(folder, 2, 1, seed=5)
    if kind == "generator":
        return drapps.torch.DataLoader(
            folder, 4, True, generator=torch.Generator().manual_seed(torch.initial_seed())
        )
    return drapps.torch.DataLoader(folder, 4, kind == "shuffled", sampler, num_workers=1)
"""


def build(photos, kind):
    space = {}
    exec(BUILD, space)
    return space["build"](photos, kind)


RESUME = (
    BUILD
    + """
photos, work, *kinds = sys.argv[1:]
for kind in kinds:
    batches = torch.load(f"{work}/{kind}.pt")
    for taken, state in enumerate(json.load(open(f"{work}/{kind}.json"))):
        torch.manual_seed(taken)
        loader = build(photos, kind)
        assert loader.lifted()
        loader.load_state_dict(state)
        rest = list(loader)
        wanted = batches[taken:]
        assert len(rest) == len(wanted), (kind, taken, len(rest), len(wanted))
        for one, other in zip(rest, wanted):
            assert torch.equal(one[0], other[0]) and torch.equal(one[1], other[1]), (kind, taken)
    print("identical", kind)
"""
)


KINDS = ["sequential", "shuffled", "distributed", "generator"]


def test_every_step_resumes_with_the_identical_remainder(torchvision, photos, tmp_path):
    assert torchvision is not None
    for kind in KINDS:
        torch.manual_seed(99)
        loader = build(photos, kind)
        loader.set_epoch(3)
        states, batches = [], []
        for batch in loader:
            batches.append([part.clone() for part in batch])
            states.append(loader.state_dict())
        assert states[-1]["epoch"] == 4
        assert states[-1]["position"] == 0
        assert all(len(json.dumps(state)) <= 4096 for state in states)
        torch.save(batches[1:], tmp_path / f"{kind}.pt")
        (tmp_path / f"{kind}.json").write_text(json.dumps(states[:-1]))
    done = subprocess.run(
        [sys.executable, "-c", RESUME, str(photos), str(tmp_path), *KINDS],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.splitlines() == [f"identical {kind}" for kind in KINDS], done.stderr


@pytest.fixture
def folder(torchvision, photos):
    t = torchvision.transforms
    return torchvision.datasets.ImageFolder(photos, t.Compose([t.CenterCrop(9), t.ToTensor()]))


def test_a_state_before_the_first_batch_and_one_loaded_are_kept(folder):
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
    fresh = loader.state_dict()
    assert (fresh["epoch"], fresh["position"]) == (0, 0)
    next(iter(loader))
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (0, 4)
    other = drapps.torch.DataLoader(folder, 4, shuffle=True)
    other.load_state_dict(state)
    assert other.state_dict() == state
    other.set_epoch(0)
    assert len(list(other)) == 5
    assert len(list(other)) == 6


def test_batches_prefetched_but_not_yielded_do_not_count(folder):
    loader = drapps.torch.DataLoader(folder, 2, num_workers=2)
    iterator = iter(loader)
    assert loader.state_dict()["position"] == 0
    for count in range(1, 4):
        next(iterator)
        assert loader.state_dict()["position"] == 2 * count


def test_states_of_other_streams_are_refused(folder):
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
    state = loader.state_dict()
    with pytest.raises(drapps.PipelineError, match="its order is 'shuffled'"):
        drapps.torch.DataLoader(folder, 4).load_state_dict(state)
    part = data.Subset(folder, range(20))
    with pytest.raises(drapps.PipelineError, match="its size is 21, this loader's is 20"):
        drapps.torch.DataLoader(part, 4, shuffle=True).load_state_dict(state)
    other = data.Subset(folder, list(range(20, -1, -1)))
    with pytest.raises(drapps.PipelineError, match="its dataset is"):
        drapps.torch.DataLoader(other, 4, shuffle=True).load_state_dict(state)
    with pytest.raises(drapps.PipelineError, match="lacks its seed"):
        loader.load_state_dict({**state, "position": 4})
    with pytest.raises(drapps.PipelineError, match="saved while the loader ran natively"):
        drapps.torch.DataLoader([1, 2]).load_state_dict(state)


def test_a_sampler_that_gives_another_order_is_noticed(folder):
    loader = drapps.torch.DataLoader(folder, 2, sampler=[5, 4, 3, 2, 1, 0])
    next(iter(loader))
    state = loader.state_dict()
    same = drapps.torch.DataLoader(folder, 2, sampler=[5, 4, 3, 2, 1, 0])
    same.load_state_dict(state)
    assert [label.tolist() for _, label in same] == [[0, 0], [0, 0]]
    changed = drapps.torch.DataLoader(folder, 2, sampler=[4, 5, 3, 2, 1, 0])
    changed.load_state_dict(state)
    with pytest.raises(drapps.PipelineError, match="another order"):
        list(changed)
