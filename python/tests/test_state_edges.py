"""States at the edges of a pass, at another batch size, and restarts by ``torch.manual_seed``."""

import itertools
import json

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps  # noqa: E402
from drapps.torch import DataLoader  # noqa: E402
from python.tests.cells import cells, some_full  # noqa: E402

SIZE = 21  # of the photos, too


class Numbers(data.Dataset):
    """Indices, each with a number that is drawn for it."""

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return torch.tensor([index, int(torch.randint(0, 10**9, ()))])


class InOrder:
    """A sampler with a state of its own."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < SIZE:
            self.place += 1
            yield self.place - 1
        self.place = 0

    def __len__(self):
        return SIZE

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


def seeded(number):
    return torch.Generator().manual_seed(number)


SAMPLERS = {
    "shuffled": lambda _: None,
    "sequential": lambda of: data.SequentialSampler(of),
    "weighted": lambda _: data.WeightedRandomSampler([1.0] * SIZE, SIZE, generator=seeded(3)),
    "subset": lambda _: data.SubsetRandomSampler(range(SIZE), generator=seeded(3)),
    "replacement": lambda of: data.RandomSampler(of, replacement=True, generator=seeded(3)),
    "distributed": lambda of: data.DistributedSampler(of, 2, 1, seed=5),
    "stateful": lambda _: InOrder(),
}


@pytest.fixture(params=["python", "lifted"], scope="module")  # forks before torchvision is there
def make(request):
    """Makes equal loaders, which draw from a generator of their own."""

    def make(order="shuffled", batch_size=4, **options):
        if request.param == "python":
            dataset, workers = Numbers(), 2
        else:
            dataset, workers = folder(*map(request.getfixturevalue, ("photos", "torchvision"))), 1
        sampler = SAMPLERS[order](dataset)
        options = {"generator": seeded(7), "num_workers": workers, **options}
        shuffle = True if sampler is None else None
        loader = DataLoader(dataset, batch_size, shuffle, sampler, **options)
        assert bool(loader.lifted()) == (request.param == "lifted" and order != "stateful")
        return loader

    make.lifts = request.param == "lifted"
    return make


def folder(photos, torchvision):
    t = torchvision.transforms
    chain = t.Compose([t.RandomResizedCrop(24), t.ToTensor()])
    return torchvision.datasets.ImageFolder(photos, chain)


def rows(batches):
    """Everything in some batches as one list per sample, whatever the batches."""
    items = []
    for batch in batches:
        parts = batch if isinstance(batch, (list, tuple)) else [batch]
        items += [tuple(part[i].flatten().tolist() for part in parts) for i in range(len(parts[0]))]
    return [repr(each) for each in items]


# The other samplers resume within a pass in the next test, too.
QUICK = [("shuffled", False), ("distributed", True), ("stateful", False)]


@pytest.mark.parametrize(
    ("order", "persistent"), some_full(itertools.product(SAMPLERS, [False, True]), *QUICK)
)
def test_a_state_of_every_point_goes_on_as_the_run_that_was_not_stopped(make, order, persistent):
    if make.lifts and order == "stateful":
        pytest.skip("not lifted")
    loader = make(order, persistent_workers=persistent)
    states, epochs = [loader.state_dict()], []
    for _ in range(2):
        iterator = iter(loader)
        states.append(loader.state_dict())
        epochs.append([])
        for batch in iterator:
            epochs[-1].append(rows([batch]))
            states.append(loader.state_dict())
    points = len(epochs[0]) + 1
    for number, state in enumerate(states):
        passed, within = divmod(max(number - 1, 0), points)
        if within == points - 1:  # the end of a pass is the beginning of the next
            passed, within = passed + 1, 0
        if passed == 2:
            continue
        again = make(order, persistent_workers=persistent)
        again.load_state_dict(json.loads(json.dumps(state)))
        rest = [rows(again) for _ in range(passed, 2)]
        wanted = [list(itertools.chain(*epochs[passed][within:]))]
        wanted += [list(itertools.chain(*batches)) for batches in epochs[passed + 1 :]]
        assert rest == wanted, (number, passed, within)


@pytest.mark.parametrize(("order", "batch_size"), cells(SAMPLERS, [3, 7]))
def test_the_rest_is_the_same_at_another_batch_size(make, order, batch_size):
    if make.lifts and order == "stateful":
        pytest.skip("not lifted")
    loader = make(order)
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    rest = rows(iterator)
    again = make(order, batch_size)
    again.load_state_dict(state)
    samples = rows(again)
    assert samples == rest


def test_a_run_that_seeds_torch_for_each_epoch_is_the_same_from_any_of_them(make):
    def run(first):
        loader, epochs = make(generator=None), []
        for epoch in range(first, 3):
            torch.manual_seed(epoch)
            epochs.append(rows(loader))
        return epochs

    whole = run(0)
    assert run(1) == whole[1:]
    assert len({tuple(each) for each in whole}) == 3


class Whole(Numbers):
    """Gives whole batches, as some datasets do for speed."""

    def __getitems__(self, indices):
        return [self[index] for index in indices]


@pytest.mark.parametrize(("dataset", "alike"), [(Numbers(), True), (Whole(), False)])
def test_numbers_behind_a_subset_depend_on_the_batch_size_only_where_the_user_batches(
    dataset, alike
):
    def run(batch_size):
        part, _ = data.random_split(data.Subset(dataset, range(20)), [17, 3], generator=seeded(1))
        return rows(DataLoader(part, batch_size, num_workers=2, seed=5))

    assert (run(4) == run(3)) == alike


def test_passes_that_share_a_seed_differ(make):
    persistent = make(persistent_workers=True)
    assert rows(persistent) != rows(persistent)
    given = make(seed=5)
    first, second = rows(given), rows(given)
    assert first != second
    again = make(seed=5)
    again.set_epoch(1)
    if make.lifts:
        assert rows(again) == second


def test_an_epoch_that_is_set_afterwards_begins_anew(make):
    loader = make(seed=5)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    again, third = make(seed=5), make(seed=5)
    again.load_state_dict(state)
    again.set_epoch(2)
    third.set_epoch(2)
    assert rows(again) == rows(third)


def test_a_state_of_the_first_format_goes_on_with_its_key(make):
    loader = make(generator=None, seed=5)  # a seed that is given is keyed by the epoch, as then
    rows(loader)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = rows(iterator)
    del state["key_epoch"]
    again = make(generator=None)
    again.load_state_dict(state)
    if not make.lifts:
        again.seed = 5
    assert rows(again) == rest


class Stream(data.IterableDataset):
    """Numbers, without a state."""

    def __iter__(self):
        return iter(range(20))


def test_a_stream_without_a_state_is_refused_at_another_batch_size():
    loader = DataLoader(Stream(), 4)
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    with pytest.raises(drapps.StateError, match="the state's batch_size is 4, this loader's 3"):
        DataLoader(Stream(), 3).load_state_dict(state)
    again = DataLoader(Stream(), 4)
    again.load_state_dict(state)
    assert torch.cat(list(again)).tolist() == list(range(8, 20))


def test_another_order_of_a_sampler_is_refused(make):
    loader = make("subset")
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    again = make("weighted")
    again.load_state_dict(state)
    with pytest.raises(drapps.StateError, match="gives another order"):
        rows(again)
