"""A wrong argument is refused by its name, whatever would have become of it."""

import inspect
import math
import re

import numpy as np
import pytest

import drapps
from drapps import arguments

NO_NUMBERS = (None, b"ab", "x", "", object(), [], {}, {1: 2}, math.nan)
NUMBERS = (-1, -0.5, 0, 0.3, 1, 3.0, 2**31, 2**64, 10**400, 1e300, math.inf, -math.inf, True)
LISTS = (
    (None,),
    ("a",),
    b"a",
    [math.nan, 1],
    [True, 1],
    (2, 1),
    (-2, -1),
    [1e300, 1e301],
    [2**40] * 2,
)
ARRAYS = (np.array([1.5, 2.5]), np.array(3.5), np.float32(2.5), np.bool_(True))
VALUES = (*NO_NUMBERS, *NUMBERS, *LISTS, *ARRAYS, lambda *_: None)
# What would be told of the code below: no user has written it.
INSIDES = re.compile(
    r"incompatible function arguments|The following argument types|not supported between|"
    r"JSON|has no attribute|object is not|no len\(\)|expected str, bytes|truth value|"
    r"cannot be interpreted|scalar index|dictionary update|must be real number"
)


def shown(value):
    return f"{type(value).__name__} {value!r}"[:40]


def assert_named(name, value, build):
    """Either the value is taken, or the message names the argument in its user's words."""
    try:
        build()
    except (drapps.PipelineError, drapps.SampleError, ValueError, TypeError) as error:
        message = str(error)
        assert not INSIDES.search(message), f"{name}={shown(value)}: {message}"
        assert name in message, f"{name}={shown(value)}: {message}"
        return True
    return False


# Arguments of the builder's methods that have no default, and what they mostly are.
GIVEN = {
    "random_apply": {"steps": lambda some: some.flip()},
    "resize": {"size": 9},
    "resize_keep_ratio": {"size": 9},
    "random_resize": {"min_size": 4, "max_size": 9},
    "random_resized_crop": {"size": 8},
    "center_crop": {"size": 8},
    "random_crop": {"size": 8},
    "crop": {"top": 0, "left": 0, "size": 8},
    "pad": {"padding": 1},
    "normalize": {"mean": [0.5] * 3, "std": [0.5] * 3},
    "to": {"dtype": "float32"},
    "shard": {"rank": 0, "world": 1},
    "seed": {"seed": 1},
    "on_error": {"action": "skip"},
    "max_boxes": {"count": 3},
    "on": {"storage": drapps.emulate()},
    "cutmix_or_mixup": {"num_classes": 3},
    "batch": {"size": 2},
}
METHODS = [
    name
    for name, method in vars(drapps.Pipeline).items()
    if inspect.isfunction(method) and not name.startswith("_") and name != "describe"
]


@pytest.mark.parametrize("method", METHODS)
def test_the_builder_names_what_is_wrong(photos, method):
    before = drapps.image_folder(photos).center_crop(40)
    function = getattr(drapps.Pipeline, method)
    names = list(inspect.signature(function).parameters)[1:]
    names = [name for name in names if not name.startswith("ledger_")]  # an old name of another
    refused = 0
    for name in names:
        for value in VALUES:
            arguments_of = {**GIVEN.get(method, {}), name: value}

            def build(given=arguments_of):
                outcome = function(before, **given)
                if isinstance(outcome, drapps.Pipeline) and method != "random_erasing":
                    outcome = outcome.center_crop(8)
                return outcome.batch(2) if isinstance(outcome, drapps.Pipeline) else outcome

            refused += assert_named(name, value, build)
    assert refused or not names


CALLS = {
    "image_folder": (drapps.image_folder, ("path", "extensions")),
    "images": (drapps.images, ("paths", "labels", "masks", "boxes")),
    "image_bytes": (drapps.image_bytes, ("records", "labels", "masks", "boxes")),
    "arrays": (drapps.arrays, ("columns", "pictures", "layout")),
    "webdataset": (drapps.webdataset, ("shards", "image", "label", "mask", "classes")),
    "mds": (drapps.mds, ("folder",)),
    "litdata": (drapps.litdata, ("folder",)),
    "transcode": (drapps.transcode, ("jpeg",)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_source_says_what_is_wrong_with_it(photos, tmp_path, name):
    function, names = CALLS[name]
    files = sorted(photos.glob("*/*.jpg"))[:2]
    given = {
        "path": photos,
        "paths": files,
        "records": [path.read_bytes() for path in files],
        "columns": {"x": np.zeros((2, 3, 3), np.uint8)},
        "shards": tmp_path / "none.tar",
        "folder": tmp_path,
        "jpeg": files[0].read_bytes(),
    }
    needed = {names[0]: given[names[0]]}
    for argument in names:
        for value in VALUES:
            message = said_by(function, {**needed, argument: value})
            assert not INSIDES.search(message.partition(": expected")[0]), message


def said_by(function, given):
    try:
        function(**given)
    except (drapps.PipelineError, drapps.SampleError, OSError) as error:
        return str(error)
    return ""


def called(loader, method, value):
    result = getattr(loader, method)(value)
    if method == "record":
        result.stop()


@pytest.mark.parametrize("lifted", [None, True, False])
def test_the_methods_of_a_loader_name_what_is_wrong(photos, tmp_path, monkeypatch, lifted):
    monkeypatch.chdir(tmp_path)  # where a recording may be made
    loader = drapps.image_folder(photos).center_crop(8).batch(2)
    methods = {"set_epoch": "epoch", "freeze": "frozen", "record": "path"}
    if lifted is None:
        methods |= {"steps": "epoch", "iterate": "epoch"}
    else:
        torch = pytest.importorskip("torch")
        rows = torch.utils.data.TensorDataset(torch.arange(3))
        loader = drapps.torch.DataLoader(rows, lift=lifted, num_workers=1)
    for method, name in methods.items():
        refused = 0
        for value in VALUES:
            refused += assert_named(name, value, lambda v=value, m=method: called(loader, m, v))
        assert refused > len(VALUES) // 2


EMULATED = ["schedule", "period", "burst", "seed", "deadline", *vars(drapps.storage.Conditions())]


@pytest.mark.parametrize("name", EMULATED)
def test_an_emulated_storage_names_what_is_wrong(name):
    for value in (*VALUES, {0: 5}, {"a": {}}, {1: {2: 3}}, {-1: {}}, {None: {}}):
        term = name.removesuffix("s")  # a storage ends in a stall
        assert_named(term, value, lambda given=value: drapps.emulate(**{name: given}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latency": "1"}, "latency='1' must be a number"),
        ({"schedule": {0: 5}}, "schedule[0]=5 must be a mapping"),
        ({"schedule": 5}, "schedule=5 must be a mapping from seconds"),
        ({"refuses": "no"}, "refuses='no' must be True or False"),
        ({"bandwidth": "fast"}, "bandwidth='fast' must be a whole number from 0"),
    ],
)
def test_the_conditions_of_a_storage_are_of_their_kind(options, message):
    with pytest.raises(drapps.PipelineError, match=re.escape(message)):
        drapps.emulate(**options)


@pytest.mark.parametrize("name", ["version", "budget", "frozen"])
def test_a_cached_dataset_names_what_is_wrong(name):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(3))
    refused = 0
    for value in (*VALUES, "1XB", 2**63):
        refused += assert_named(name, value, lambda v=value: drapps.cached(data, **{name: v}))
    assert refused > len(VALUES) // 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4096", 4096),
        ("1B", 1),
        ("64kib", 64 << 10),
        ("512MiB", 512 << 20),
        ("512 MB", 512_000_000),
        ("1GB", 10**9),
        ("2TiB", 2 << 40),
        ("3PB", 3 * 10**15),
    ],
)
def test_sizes_may_be_written(text, count):
    assert arguments.size_of(text) == count
    assert arguments.byte_count("cache", text) == count


@pytest.mark.parametrize(
    "text", ["", "1XB", "-1", "1.5GB", "GB", "1iB", "1G", "1 G B", "1e9", "0x10", "¹"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(drapps.PipelineError, match=r"cache=.*must be a whole number.*'512MiB'"):
        arguments.byte_count("cache", text)


def test_the_letters_of_commands_are_their_own():
    assert arguments.size_of("64k", letters=True) == 64 << 10
    assert arguments.size_of("1G", letters=True) == arguments.size_of("1GiB") == 1 << 30


def test_every_budget_in_bytes_takes_a_size(photos, tmp_path):
    torch = pytest.importorskip("torch")
    from drapps.shards.pack import pack

    data = torch.utils.data.TensorDataset(torch.arange(3))
    assert drapps.cached(data, budget="1MiB").stats()["budget"] == 1 << 20
    loader = drapps.image_folder(photos).center_crop(8).batch(2, cache="1MB", ram_budget="1GiB")
    assert len(list(loader)) == len(loader)
    assert loader.explain().plan.budget["ram_bytes"] == 1 << 30
    assert pack(photos, tmp_path / "out", shard_bytes="60kB").samples == 21
    assert drapps.emulate(bandwidth="100MB").open(__file__).read()
