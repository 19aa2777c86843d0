"""What users rely on in torch's DataLoader, of a lifted loader and of a stock-run one."""

import copy
import inspect
import json
import pickle

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps  # noqa: E402
import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402


@pytest.fixture
def folder(torchvision, photos):
    t = torchvision.transforms
    train = t.Compose([t.RandomResizedCrop(24), t.RandomHorizontalFlip(), t.ToTensor()])
    return torchvision.datasets.ImageFolder(photos, train)


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        if index == 5 and getattr(self, "broken", False):
            raise ValueError("five")
        return index * index


@pytest.fixture(params=["lifted", "stock"])
def dataset(request):
    return request.getfixturevalue("folder") if request.param == "lifted" else Squares()


def parameters(kind):
    return list(inspect.signature(kind.__init__).parameters.values())[1:]


def test_the_signature_is_that_of_stock_and_then_our_keywords():
    stock, mine = parameters(data.DataLoader), parameters(drapps.torch.DataLoader)
    for theirs, ours in zip(stock, mine, strict=False):
        assert (ours.name, ours.default, ours.kind) == (theirs.name, theirs.default, theirs.kind)
    added = mine[len(stock) :]
    assert {p.kind for p in added} == {inspect.Parameter.KEYWORD_ONLY}
    assert all(p.default is not inspect.Parameter.empty for p in added)


def test_every_argument_is_an_attribute_of_its_own_name(dataset):
    given = {
        "batch_size": 3,
        "num_workers": 0,
        "generator": torch.Generator(),
        "policy": "hill_climb",
        "cpu_budget": 1.5,
        "ram_budget": 1 << 29,
        "on_error": "skip",
        "seed": 4,
        "lift": True,
    }
    loader = drapps.torch.DataLoader(dataset, **given)
    for name in inspect.signature(drapps.torch.DataLoader.__init__).parameters:
        if name not in ("self", "shuffle"):
            assert hasattr(loader, name), name
    for name, value in given.items():
        assert getattr(loader, name) is value


def test_it_is_a_generic_subclass(dataset):
    loader: data.DataLoader = drapps.torch.DataLoader[int](dataset)
    assert isinstance(loader, data.DataLoader)
    assert isinstance(drapps.torch.DataLoader(dataset), data.DataLoader)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True, "shuffle": True},
        {"batch_sampler": data.BatchSampler(data.SequentialSampler(range(9)), 2, False)},
        {"batch_size": 3, "sampler": data.SubsetRandomSampler([1, 5, 7, 2])},
    ],
)
def test_attributes_and_length_are_those_of_stock(dataset, arguments):
    mine, stock = (
        drapps.torch.DataLoader(dataset, **arguments),
        data.DataLoader(dataset, **arguments),
    )
    for name in (
        "batch_size",
        "drop_last",
        "num_workers",
        "prefetch_factor",
        "collate_fn",
        "dataset",
        "_auto_collation",
        "_dataset_kind",
    ):
        assert getattr(mine, name) == getattr(stock, name), name
    for name in ("sampler", "batch_sampler", "_index_sampler"):
        assert type(getattr(mine, name)) is type(getattr(stock, name))
    assert len(mine) == len(stock) == len(list(mine))
    assert len(iter(mine)) == len(stock)


def test_wrong_arguments_are_refused_with_the_words_of_stock(dataset):
    for arguments in (
        {"batch_size": 2, "batch_sampler": [[0]]},
        {"shuffle": True, "sampler": [0]},
        {"batch_size": None, "drop_last": True},
        {"num_workers": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
    ):
        with pytest.raises(ValueError, match=r".") as theirs:
            data.DataLoader(dataset, **arguments)
        with pytest.raises(ValueError, match=r".") as ours:
            drapps.torch.DataLoader(dataset, **arguments)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(drapps.PipelineError, match="policy"):
        drapps.torch.DataLoader(dataset, policy="best")
    with pytest.raises(drapps.PipelineError, match="on_error"):
        drapps.torch.DataLoader(dataset, on_error="ignore")


def test_what_is_immutable_in_stock_is_immutable_here(dataset):
    loader = drapps.torch.DataLoader(dataset)
    for name in (
        "batch_size",
        "batch_sampler",
        "sampler",
        "drop_last",
        "dataset",
        "persistent_workers",
    ):
        with pytest.raises(ValueError, match="should not be set"):
            setattr(loader, name, None)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_global_generator_ends_where_it_does_under_stock(dataset, shuffle):
    found = []
    for kind in (data.DataLoader, drapps.torch.DataLoader):
        # Stock draws its augmentations from the global generator too; Squares has none.
        torch.manual_seed(7)
        loader = kind(Squares() if kind is data.DataLoader else dataset, 5, shuffle=shuffle)
        found.append([torch.get_rng_state()])
        iterator = iter(loader)
        found[-1].append(torch.get_rng_state())
        next(iterator)
        found[-1].append(torch.get_rng_state())
        list(iterator)
        list(loader)
        found[-1].append(torch.get_rng_state())
    for stock, mine in zip(*found, strict=True):
        assert torch.equal(stock, mine)


def test_the_base_seed_is_drawn_from_the_given_generator(folder):
    stock, mine = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    iter(data.DataLoader(folder, 4, shuffle=True, generator=stock))
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True, generator=mine)
    iter(loader)
    assert torch.equal(stock.get_state(), mine.get_state())
    list(loader)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("batch_size", [4, 7])
def test_the_given_generator_ends_a_shuffled_pass_where_stock_leaves_it(
    folder, workers, batch_size
):
    found = []
    for kind in (data.DataLoader, drapps.torch.DataLoader):
        generator = torch.Generator().manual_seed(3)
        loader = kind(folder, batch_size, True, generator=generator, num_workers=workers)
        found.append([])
        for _ in range(2):
            list(loader)
            found[-1].append(generator.get_state())
    assert loader.lifted()
    for stock, mine in zip(*found, strict=True):
        assert torch.equal(stock, mine)


def labels(batches):
    return [label for _, batch in batches for label in batch.tolist()]


def test_the_same_seed_gives_the_same_run_and_another_one_another(folder):
    def run(seed):
        torch.manual_seed(seed)
        loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
        return [torch.cat([images for images, _ in loader]) for _ in range(2)]

    one, again, other = run(5), run(5), run(6)
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[0], other[0])
    assert not torch.equal(one[0], one[1])


def test_the_seed_keyword_fixes_the_stream_whatever_the_global_generator_holds(folder):
    def run(seed):
        torch.manual_seed(seed)
        loader = drapps.torch.DataLoader(folder, 4, shuffle=True, seed=9)
        return [torch.cat([images for images, _ in loader]) for _ in range(2)]

    one, other = run(5), run(6)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert not torch.equal(one[0], one[1])


def test_batches_are_what_default_collate_gives(folder):
    stock = next(iter(data.DataLoader(folder, 4)))
    mine = next(iter(drapps.torch.DataLoader(folder, 4)))
    assert type(mine) is type(stock) is list
    for theirs, ours in zip(stock, mine, strict=True):
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
        assert ours.is_contiguous()
        assert not ours.requires_grad


def test_kept_batches_are_the_users_to_write(folder):
    loader = drapps.torch.DataLoader(folder, 2, seed=1)
    wanted = [images.clone() for images, _ in loader]
    loader.set_epoch(0)
    kept = []
    for number, (images, batch_labels) in enumerate(loader):
        assert torch.equal(images, wanted[number])
        images.fill_(number)
        batch_labels.fill_(number)
        kept.append((images, batch_labels))
    for number, (images, batch_labels) in enumerate(kept):
        assert torch.all(images == number)
        assert torch.all(batch_labels == number)


def test_several_iterators_live_at_once(folder):
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
    one, two = iter(loader), iter(loader)
    assert one is not two
    pairs = list(zip(one, two, strict=True))
    assert len(pairs) == len(loader)
    for side in (0, 1):
        assert sorted(labels(pair[side] for pair in pairs)) == sorted(folder.targets)
    assert list(one) == []
    assert iter(loader) is not loader


def test_break_and_start_again(dataset):
    loader = drapps.torch.DataLoader(dataset, 2, shuffle=True)
    for _ in range(3):
        for _ in loader:
            break
    assert len(list(loader)) == len(loader)


def test_persistent_workers_reset_the_same_iterator(folder):
    loader = drapps.torch.DataLoader(folder, 4, True, num_workers=1, persistent_workers=True)
    first = iter(loader)
    one = [images.clone() for images, _ in first]
    second = iter(loader)
    assert first is second
    two = [images.clone() for images, _ in second]
    assert len(one) == len(two) == len(loader)
    assert not all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert loader.lifted()


def test_an_exception_does_not_end_the_iteration(torchvision, own_photos):
    t = torchvision.transforms
    bad = own_photos / "class_0" / "03.png"
    bad.write_bytes(bad.read_bytes()[:100])
    images = torchvision.datasets.ImageFolder(
        own_photos, t.Compose([t.CenterCrop(9), t.ToTensor()])
    )
    iterator = iter(drapps.torch.DataLoader(images, 2))
    next(iterator)
    with pytest.raises(drapps.SampleError, match=r"03\.png") as caught:
        next(iterator)
    assert caught.value.index == 3
    assert len(list(iterator)) == 9
    skipping = drapps.torch.DataLoader(images, 2, on_error="skip")
    assert [len(batch) for _, batch in skipping][:3] == [2, 1, 2]
    assert [entry["index"] for entry in skipping.bad_samples()] == [3]
    replacing = drapps.torch.DataLoader(images, 2, on_error="replace")
    assert all(len(batch) == 2 for _, batch in list(replacing)[:-1])


def test_a_stock_run_loader_goes_on_after_an_exception_too():
    squares = Squares()
    squares.broken = True
    iterator = iter(drapps.torch.DataLoader(squares, 2))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [4, 9]]
    with pytest.raises(ValueError, match="five"):
        next(iterator)
    assert next(iterator).tolist() == [36, 49]


def test_the_users_sampler_gives_the_order(folder):
    chosen = [20, 3, 3, 11, 0, -1]
    loader = drapps.torch.DataLoader(folder, 4, sampler=chosen)
    assert loader.lifted()
    assert "list" in loader.lifted().order
    assert labels(loader) == [folder.targets[index] for index in chosen]
    with pytest.raises(IndexError, match="index 21 of a dataset of 21"):
        list(drapps.torch.DataLoader(folder, 4, sampler=[21]))
    dropping = data.BatchSampler(data.SequentialSampler(folder), 4, drop_last=True)
    assert len(list(drapps.torch.DataLoader(folder, batch_sampler=dropping))) == 5


def test_a_sampler_with_replacement_or_a_generator_of_its_own_is_the_users(folder):
    def own(seed):
        generator = torch.Generator().manual_seed(seed)
        return data.RandomSampler(folder, generator=generator)

    expected = [folder.targets[index] for index in own(4)]
    assert labels(drapps.torch.DataLoader(folder, 4, sampler=own(4))) == expected
    replaced = data.RandomSampler(folder, replacement=True, num_samples=50)
    loader = drapps.torch.DataLoader(folder, 4, sampler=replaced)
    assert len(labels(loader)) == 50
    assert "RandomSampler" in loader.lifted().order


def test_distributed_ranks_see_their_own_shares_with_other_augmentations(folder):
    def rank(number, epoch):
        sampler = data.DistributedSampler(folder, 2, number, seed=3)
        loader = drapps.torch.DataLoader(folder, 4, sampler=sampler, seed=1)
        loader.set_epoch(epoch)
        assert sampler.epoch == epoch
        return list(loader), [folder.targets[index] for index in sampler]

    (one, one_wanted), (two, two_wanted) = rank(0, 2), rank(1, 2)
    assert labels(one) == one_wanted
    assert labels(two) == two_wanted
    assert len(one) == len(two) == 3


def test_duplicates_in_an_epoch_get_different_augmentations(folder):
    images = torch.cat([x for x, _ in drapps.torch.DataLoader(folder, 4, sampler=[5] * 8)])
    distinct = {tuple(image.flatten().tolist()) for image in images}
    assert len(distinct) == 8


def test_ranks_with_one_seed_augment_apart(folder):
    found = []
    for number in (0, 1):
        sampler = data.DistributedSampler(data.Subset(folder, [5] * 8), 2, number, shuffle=False)
        same = data.Subset(folder, [5] * 8)
        loader = drapps.torch.DataLoader(same, 4, sampler=sampler, seed=1)
        found.append(next(iter(loader))[0])
    assert not torch.equal(*found)


def test_a_loader_can_be_copied_and_pickled(folder):
    loader = drapps.torch.DataLoader(folder, 4, seed=3)
    wanted = [images.clone() for images, _ in loader]
    for again in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        again.set_epoch(0)  # which leaves the original alone
        assert loader.state_dict()["epoch"] == 1
        found = [images for images, _ in again]
        assert all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_both_paths_explain_themselves_and_give_their_settings(folder):
    loader = drapps.torch.DataLoader(folder, 4)
    list(loader)
    assert {"plan", "forms", "decisions"} <= set(loader.explain())
    loader.freeze()
    settings = loader.export_settings()
    again = drapps.torch.DataLoader(folder, 4, settings=settings)
    assert again.export_settings() == settings
    python = drapps.torch.DataLoader(Squares(), num_workers=1)
    assert python.explain()["plan"]["path"] == "python"
    python.freeze()
    assert python.explain()["decisions"]["status"] == "frozen"
    with pytest.raises(drapps.PipelineError, match="before the first iter"):
        python.export_settings()
    with pytest.raises(drapps.PipelineError, match="another version's knobs"):
        iter(drapps.torch.DataLoader(folder, 4, settings={"schema": "processes-1", "knobs": {}}))
    of_processes = json.loads(_core.settings_of_processes(2))
    with pytest.raises(drapps.PipelineError, match="runs native code in threads"):
        iter(drapps.torch.DataLoader(folder, 4, settings=of_processes))


def test_pin_memory_is_accepted_without_a_device(folder):
    if torch.accelerator.is_available():
        images, _ = next(iter(drapps.torch.DataLoader(folder, 4, pin_memory=True)))
        assert images.is_pinned()
    else:
        with pytest.warns(UserWarning, match="no accelerator"):
            images, _ = next(iter(drapps.torch.DataLoader(folder, 4, pin_memory=True)))
        assert images.shape[0] == 4


def test_stock_worker_processes_still_work():
    loader = drapps.torch.DataLoader(Squares(), 4, num_workers=1)
    assert not loader.lifted()
    assert next(iter(loader)).tolist() == [0, 1, 4, 9]
