"""What users rely on in torch's DataLoader, of a lifted loader and of a stock-run one."""

import inspect
import json

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
    states = []
    for kind in (data.DataLoader, drapps.torch.DataLoader):
        # Stock draws its augmentations from the global generator too; Squares has none.
        torch.manual_seed(7)
        loader = kind(Squares() if kind is data.DataLoader else dataset, 5, shuffle=shuffle)
        states.append([torch.get_rng_state()])
        iterator = iter(loader)
        states[-1].append(torch.get_rng_state())
        next(iterator)
        states[-1].append(torch.get_rng_state())
        list(iterator)
        list(loader)
        states[-1].append(torch.get_rng_state())
    for stock, mine in zip(*states, strict=True):
        assert torch.equal(stock, mine)


def test_break_and_start_again(dataset):
    loader = drapps.torch.DataLoader(dataset, 2, shuffle=True)
    for _ in range(3):
        for _ in loader:
            break
    assert len(list(loader)) == len(loader)


def test_a_stock_run_loader_goes_on_after_an_exception_too():
    squares = Squares()
    squares.broken = True
    iterator = iter(drapps.torch.DataLoader(squares, 2))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [4, 9]]
    with pytest.raises(ValueError, match="five"):
        next(iterator)
    assert next(iterator).tolist() == [36, 49]


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


def test_stock_worker_processes_still_work():
    loader = drapps.torch.DataLoader(Squares(), 4, num_workers=1)
    assert not loader.lifted()
    assert next(iter(loader)).tolist() == [0, 1, 4, 9]
