"""Wrong arguments of the torch loader are refused by their name, lifted or not."""

import inspect
import math
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import drapps.torch  # noqa: E402
from python.tests.test_arguments import INSIDES  # noqa: E402

NAN, INF = math.nan, math.inf
NO_FLAGS = (None, b"", b"x", "", "no", "1", NAN, INF, 2, -1, 0.5, [], [True], {}, object())
NO_BYTES = ("1XB", "1.5GB", "", b"1", -1, 0, 0.5, 1e9, "0", 2**63, 2**64, True, NAN, INF, [], {})
NO_NAMES = (None, b"raw", b"", "x", "raw+lz5", "", 1, True, NAN, [], ["raise"], {})
NO_WHOLES = (b"", "1", 1.0, 1.5, NAN, INF, [], {}, object(), np.array([1.5, 2]))
WRONG = {
    "batch_size": (*NO_WHOLES, 0, -1, True),
    "sampler": (5, 1.0, True, NAN, object()),
    "batch_sampler": (5, 1.0, True, NAN, object()),
    "num_workers": (*NO_WHOLES, None, "x", -1),
    "collate_fn": ("x", b"", 5, NAN, []),
    "drop_last": (None, "x", b"", 1, NAN, []),
    "timeout": (None, "x", b"", NAN, -1, -INF, [], {}),
    "worker_init_fn": ("x", b"", 5, NAN, []),
    "multiprocessing_context": ("x", b"", 5, NAN),
    "prefetch_factor": (*NO_WHOLES, "x", -1),
    "policy": (b"x", b"", "best", "", 1, True, NAN, [], {}, {"name": b"x"}, {"name": 1}),
    "learn": NO_FLAGS,
    "cpu_budget": ("x", "", "1", b"1", 0, -1, NAN, INF, -INF, True, [], {}, object()),
    "ram_budget": (*NO_BYTES, "auto"),
    "on_error": NO_NAMES,
    "seed": (*NO_WHOLES, "x", -1, 2**64, True),
    "lift": NO_FLAGS,
    "torch_order": NO_FLAGS,
    "on_worker_death": NO_NAMES,
    "stall_report": (None, "x", b"", -1, NAN, True, [], {}),
    "share_lists": NO_FLAGS,
    "accelerate": NO_FLAGS[1:],  # None is the default
    "device": (b"", "x", "", "cuda:-1", "meta", NAN, [], {}, object()),
    "device_memory": (None, *(size for size in NO_BYTES if size != 0), "1GB"),  # of no device
    "placement": NO_NAMES,
    "settings": ("x", b"", 1, True, NAN, [], {}, {1: 2}, {"knobs": b""}, {"knobs": NAN}),
    "cache": (None, *NO_BYTES, "always"),
    "form": NO_NAMES,
    "bad_samples_file": ("", b"", 1, True, NAN, [], {}, "a\0b"),
}
# What the stock class takes by its truth, does not look at, or refuses in words of torch.
ANYTHING = {
    "generator",
    "shuffle",
    "pin_memory",
    "persistent_workers",
    "in_order",
    "pin_memory_device",
}
WITH_WORKERS = {"worker_init_fn", "multiprocessing_context", "prefetch_factor"}


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return index**2


@pytest.fixture
def datasets(photos):
    """One that would be lifted, and one that would not."""
    steps = [torchvision.transforms.CenterCrop(8), torchvision.transforms.ToTensor()]
    chain = torchvision.transforms.Compose(steps)
    return torchvision.datasets.ImageFolder(photos, chain), Squares()


def test_every_argument_is_looked_at():
    parameters = inspect.signature(drapps.torch.DataLoader.__init__).parameters
    old = [name for name in parameters if name.startswith("ledger_")]
    assert sorted([*WRONG, *ANYTHING, *old, "self", "dataset"]) == sorted(parameters)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_refused_by_its_name(datasets, name):
    workers = {"num_workers": 1} if name in WITH_WORKERS else {}
    for data in datasets:
        for value in WRONG[name]:
            with pytest.raises((ValueError, TypeError), match=name) as caught:
                drapps.torch.DataLoader(data, **workers, **{name: value})
            assert not INSIDES.search(str(caught.value)), (value, str(caught.value))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": 1.0}, 'num_workers=1.0 must be a whole number of workers or "auto"'),
        ({"form": b"raw"}, "form=b'raw' must be a text"),
        ({"form": "raw+lz5"}, 'form="raw+lz5" must be one of'),
        ({"cache": "1XB"}, 'cache=\'1XB\' must be "auto", "off" or a number of bytes'),
        ({"cache": 2**64}, "cache=18446744073709551616 must be"),
        ({"cache": "off", "form": "raw"}, 'what cache="off" does not keep'),
        ({"seed": 2**64}, "must be a whole number from 0 to 2**64 - 1"),
    ],
)
def test_what_is_wrong_is_said_in_the_users_words(datasets, options, message):
    for data in datasets:
        with pytest.raises(drapps.PipelineError, match=re.escape(message)):
            drapps.torch.DataLoader(data, **options)


@pytest.mark.parametrize(("name", "value"), [("cache", "1XB"), ("form", "lz5"), ("ram_budget", -1)])
def test_an_argument_that_is_changed_to_a_wrong_one_is_refused_too(datasets, name, value):
    for data in datasets:
        loader = drapps.torch.DataLoader(data)
        setattr(loader, name, value)
        with pytest.raises(drapps.PipelineError, match=name):
            iter(loader)


def test_sizes_may_be_written(datasets):
    photos, _ = datasets
    loader = drapps.torch.DataLoader(photos, 4, cache="2GiB", form="raw", ram_budget="1GB")
    assert loader.lifted()
    assert "at most 2,048.0 MiB of RAM" in str(loader.lifted())
    assert len(list(loader)) == 6
    assert loader.explain().plan.budget["ram_bytes"] == 10**9


def test_a_budget_below_one_batch_is_refused_and_not_left_aside(datasets):
    photos, squares = datasets
    with pytest.raises(drapps.PipelineError, match="ram_budget=1000 is too small: one batch takes"):
        iter(drapps.torch.DataLoader(photos, 4, ram_budget=1000))
    assert len(list(drapps.torch.DataLoader(squares, 4, ram_budget=1000))) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 5}, "requires timeout == 0, and not timeout=5"),
        ({"num_workers": 1, "prefetch_factor": 0}, "prefetch_factor must be greater than 0"),
    ],
)
def test_what_stock_iterators_assert_is_said_lifted_or_not(datasets, options, message):
    for data in datasets:
        with pytest.raises(AssertionError, match=message):
            iter(drapps.torch.DataLoader(data, **options))


@pytest.mark.parametrize("generator", [5, "x", np.random.default_rng()])
def test_a_wrong_generator_is_torchs_error_at_the_first_iter(datasets, generator):
    for data in datasets:
        with pytest.raises(TypeError, match=r"random_\(\)|Generator"):
            iter(drapps.torch.DataLoader(data, generator=generator))


def test_numbers_of_other_classes_are_as_good(datasets):
    for data in datasets:
        loader = drapps.torch.DataLoader(
            data,
            4,
            num_workers=np.int64(0),
            timeout=np.float32(0),
            seed=np.uint64(2**64 - 1),
            cpu_budget=np.float32(1.5),
            ram_budget=np.int64(1 << 30),
            lift=np.bool_(True),
            share_lists=1,
            stall_report=INF,
        )
        assert len(list(loader)) == len(loader)
