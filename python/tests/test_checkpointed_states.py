"""States, which trainers ask of any loader that has them."""

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as StockLoader  # noqa: E402
from torch.utils.data import IterableDataset  # noqa: E402

from drapps.torch import DataLoader  # noqa: E402
from python.tests.cells import full  # noqa: E402
from python.tests.trainers.samples import (  # noqa: E402
    Numbers,
    Stream,
)


class InThrees(torch.utils.data.Sampler):
    """A batch sampler of the user's own."""

    def __iter__(self):
        return iter([list(range(i, i + 3)) for i in range(0, 21, 3)])

    def __len__(self):
        return 7


class Endless(torch.utils.data.Sampler):
    """A sampler without a length."""

    def __iter__(self):
        return iter(range(20, -1, -1))


class Counting(IterableDataset):
    """A stream that can say where it is."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 21:
            self.at += 1
            yield torch.tensor(self.at), self.at
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def seeded():
    return torch.Generator().manual_seed(1)


LOADERS = {
    "sequential": lambda make: make(Numbers(), 4),
    "shuffled": lambda make: make(Numbers(), 4, shuffle=True, generator=seeded()),
    "one by one": lambda make: make(Numbers(), None),
    "in workers": lambda make: make(Numbers(), 4, num_workers=2),
    "persistent": lambda make: make(Numbers(), 4, num_workers=1, persistent_workers=True),
    "drop_last": lambda make: make(Numbers(), 4, drop_last=True),
    "a batch sampler": lambda make: make(Numbers(), batch_sampler=InThrees()),
    "a list of batches": lambda make: make(Numbers(), batch_sampler=[[1, 2], [3], [4, 5, 6]]),
    "shuffled batches": lambda make: make(
        Numbers(),
        batch_sampler=torch.utils.data.BatchSampler(
            torch.utils.data.RandomSampler(Numbers(), generator=seeded()), 4, False
        ),
    ),
    "batches of one rank": lambda make: make(
        Numbers(),
        batch_sampler=torch.utils.data.BatchSampler(
            torch.utils.data.DistributedSampler(Numbers(), 2, 1, seed=2), 4, False
        ),
    ),
    "a sampler without a length": lambda make: make(Numbers(), 4, sampler=Endless()),
    "weighted": lambda make: make(
        Numbers(),
        4,
        sampler=torch.utils.data.WeightedRandomSampler([1.0] * 21, 21, generator=seeded()),
    ),
    "a stream": lambda make: make(Stream(), 4),
    "a stream in workers": lambda make: make(Stream(), 4, num_workers=2),
    "a stateful stream": lambda make: make(Counting(), 4),
    "a stateful stream in workers": lambda make: make(Counting(), 4, num_workers=1),
}


# Workers that persist, and streams in them, have tests of their own.
LONG = ("persistent", "a stream in workers")


@pytest.mark.parametrize("name", [full(name) if name in LONG else name for name in LOADERS])
def test_any_loader_has_a_state_that_a_checkpoint_takes(name, tmp_path):
    def numbers(batches):
        return [torch.as_tensor(labels).reshape(-1).tolist() for _, labels in batches]

    def saved(state):
        torch.save(state, tmp_path / "state")
        return torch.load(tmp_path / "state", weights_only=True)

    make = LOADERS[name]
    stock = numbers(make(StockLoader))
    assert saved(make(DataLoader).state_dict())
    places = range(len(stock) + 1)
    for steps in places if "workers" not in name else {0, 2, len(stock) - 1, len(stock)}:
        loader = make(DataLoader)
        iterator = iter(loader)
        first = numbers(next(iterator) for _ in range(steps))
        assert first == stock[:steps], "the order is stock's"
        state = saved(loader.state_dict())
        again = make(DataLoader)
        again.load_state_dict(state)
        assert numbers(again) == (stock[steps:] or stock[:]) or steps == len(stock), steps
        if steps == len(stock) and "stream" not in name and "without" not in name:
            again.load_state_dict(state)
            assert len(numbers(again)) == len(stock), "after the last batch comes the next epoch"
