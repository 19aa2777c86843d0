"""Data in memory: the same batches as the stock loader's, read where they lie."""

import gc
import importlib
import json
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.uint32,
    torch.int64,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


def values(shape, dtype, seed=0):
    """Numbers of every dtype that are not all the same; some of the floats are no numbers."""
    drawn = np.random.default_rng(seed).integers(0, 250, shape)
    made = torch.from_numpy(drawn).to(torch.uint8 if dtype == torch.bool else dtype)
    if dtype == torch.bool:
        return made % 3 == 0
    if dtype.is_floating_point and made.numel():
        made.view(-1)[0] = float("nan")
    return made


def bits(batch):
    """A batch as types, shapes, strides and bytes."""
    return [
        (t.dtype, t.shape, t.stride(), t.contiguous().view(-1).view(torch.uint8).tolist())
        for t in batch
    ]


def loader(dataset, *args, lifted=True, **kw):
    made = drapps.torch.DataLoader(dataset, *args, **kw)
    assert bool(made.lifted()) is lifted, str(made.lifted())
    return made


def assert_equal_to_stock(dataset, *args, **kw):
    mine = list(loader(dataset, *args, **kw))
    stock = list(data.DataLoader(dataset, *args, **kw))
    assert len(mine) == len(stock)
    for one, other in zip(mine, stock, strict=True):
        assert type(one) is type(other)
        assert bits(one) == bits(other)
        assert all(type(part) is torch.Tensor for part in one)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_every_dtype_are_those_of_the_stock_loader(dtype):
    tensors = [values(shape, dtype, i) for i, shape in enumerate([(53,), (53, 3), (53, 2, 1, 5)])]
    assert_equal_to_stock(data.TensorDataset(*tensors), 7)
    assert_equal_to_stock(data.TensorDataset(tensors[1]), 7, drop_last=True, num_workers=1)


def test_one_tensor_still_makes_a_list():
    (batch,) = loader(data.TensorDataset(torch.arange(4)), 4)
    assert type(batch) is list
    assert batch[0].tolist() == [0, 1, 2, 3]


def test_rows_may_lie_apart_but_not_be_torn():
    wide = torch.arange(600).reshape(20, 30)
    for tensor in (wide[:, :7], wide[::3], wide[2:9], torch.arange(5).expand(20, 5)):
        assert_equal_to_stock(data.TensorDataset(tensor), 4)
    for tensor in (wide[:, ::2], torch.rand(4, 3, 8, 8).to(memory_format=torch.channels_last)):
        report = loader(data.TensorDataset(tensor), lifted=False).lifted()
        assert "not contiguous" in report.reasons[0]


def test_what_rows_cannot_be_picked_from_natively_stays_with_stock():
    def reason(*tensors):
        return loader(data.TensorDataset(*tensors), lifted=False).lifted().reasons[0]

    class Mine(torch.Tensor):
        pass

    class MyDataset(data.TensorDataset):
        pass

    rows = torch.rand(6, 2)
    assert "complex64" in reason(torch.zeros(6, dtype=torch.complex64))
    assert "requires a gradient" in reason(rows, torch.rand(6, requires_grad=True))
    assert "Mine, not a plain" in reason(rows.as_subclass(Mine))
    assert "Parameter, not a plain" in reason(torch.nn.Parameter(rows, requires_grad=False))
    assert "negation" in reason(torch.imag(torch.conj(torch.rand(6, dtype=torch.complex64))))
    assert "not strided" in reason(rows.to_sparse())
    assert "not strided" in reason(rows.to("meta"))
    assert "hold nothing" in reason(torch.zeros(6, 0))
    assert "MyDataset" in loader(MyDataset(rows), lifted=False).lifted().reasons[0]
    patched = data.TensorDataset(rows)
    patched.__getitem__ = lambda _index: 1
    assert "replaced" in loader(patched, lifted=False).lifted().reasons[0]
    uneven = data.TensorDataset(rows, rows)
    uneven.tensors = (rows, rows[:3])
    assert "differ in length" in loader(uneven, lifted=False).lifted().reasons[0]


def test_an_empty_dataset_gives_no_batches():
    empty = data.TensorDataset(torch.zeros(0, 3))
    assert "empty" in loader(empty, lifted=False).lifted().reasons[0]
    assert list(drapps.torch.DataLoader(empty)) == []
    subset = data.Subset(data.TensorDataset(torch.arange(3)), [])
    assert list(drapps.torch.DataLoader(subset)) == []


def test_subsets_samplers_and_negative_indices():
    rows = data.TensorDataset(torch.arange(40), torch.rand(40, 3))
    assert_equal_to_stock(data.Subset(rows, [3, -1, 7, 7, -40]), 2)
    nested = data.Subset(data.Subset(rows, range(10, 30)), torch.tensor([0, 19, -2, 5]))
    assert_equal_to_stock(nested, 3)
    assert_equal_to_stock(rows, 4, sampler=[5, -1, 39, 0, -40, 2])
    assert_equal_to_stock(nested, 3, sampler=[-1, 0, 3, 2, 1])
    for part in data.random_split(rows, [31, 9], torch.Generator().manual_seed(2)):
        assert_equal_to_stock(part, 4)
    beyond = drapps.torch.DataLoader(rows, sampler=[0, 40])
    with pytest.raises(IndexError, match="40"):
        list(beyond)
    report = loader(data.Subset(rows, [0, 40]), lifted=False).lifted()
    assert "does not have" in report.reasons[0]
    assert "subset" in str(loader(nested).lifted())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shuffled_epoch_holds_each_row_once_and_depends_on_the_seed_alone(workers):
    rows = data.TensorDataset(torch.arange(1000), torch.arange(1000) * 3)

    def epochs(seed, **more):
        torch.manual_seed(seed)
        made = loader(rows, 64, shuffle=True, num_workers=workers, **more)
        return [torch.cat([x for x, _ in made]).tolist() for _ in range(2)]

    first, second = epochs(1)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
    assert epochs(1) == [first, second] == epochs(1, cpu_budget=1)
    assert epochs(2)[0] != first
    assert all(torch.equal(3 * x, y) for x, y in loader(rows, 64, shuffle=True))


@pytest.fixture(scope="module")
def vision(torchvision):
    """Makes torchvision's datasets without their files: what their __init__ would leave."""

    def make(name, transform, **attributes):
        kind = getattr(torchvision.datasets, name)
        made = kind.__new__(kind)
        made.__dict__.update(root="", transform=transform, target_transform=None, **attributes)
        return made

    return make


def gray(count, side=28):
    return values((count, side, side), torch.uint8, 5)


def families(make, transform):
    """One of each kind, as its files would make it."""
    classes = torch.arange(37) % 10
    numbers = [int(label) for label in classes]
    planes = values((37, 3, 32, 32), torch.uint8, 6).numpy()
    matlab = np.asfortranarray(planes.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST"):
        yield make(name, transform, data=gray(37), targets=classes)
    yield make(
        "QMNIST", transform, data=gray(37), targets=torch.stack([classes] * 8, 1), compat=True
    )
    for name in ("CIFAR10", "CIFAR100"):
        yield make(name, transform, data=planes.transpose(0, 2, 3, 1), targets=numbers)
        pixels = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
        yield make(name, transform, data=pixels, targets=numbers)
    yield make("SVHN", transform, data=matlab, labels=np.array(numbers))
    yield make("SVHN", transform, data=planes.transpose(0, 1, 3, 2), labels=np.array(numbers))
    yield make("STL10", transform, data=planes, labels=np.array(numbers, np.uint8))
    yield make("USPS", transform, data=gray(37, 16).numpy(), targets=numbers)
    yield make("SEMEION", transform, data=gray(37, 16).numpy(), labels=np.array(numbers))


CHAINS = {
    "to_tensor": lambda t, _v2: t.ToTensor(),
    "normalized": lambda t, _v2: t.Compose([t.ToTensor(), t.Normalize([0.28], [0.35])]),
    "bytes": lambda t, _v2: t.PILToTensor(),
    "v2": lambda _t, v2: v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
    "v2_normalized": lambda _t, v2: v2.Compose(
        [v2.ToImage(), v2.ToDtype(torch.float32, True), v2.Normalize([0.5], [0.25])]
    ),
    "gray": lambda t, _v2: t.Compose([t.Grayscale(1), t.ToTensor()]),
    "three_grays": lambda t, _v2: t.Compose([t.Grayscale(3), t.ToTensor()]),
    "resized": lambda t, _v2: t.Compose([t.Resize((20, 24)), t.ToTensor()]),
    "cut": lambda t, _v2: t.Compose([t.CenterCrop(12), t.ToTensor()]),
    "padded": lambda t, _v2: t.Compose([t.Pad(2), t.ToTensor()]),
    "flipped": lambda t, _v2: t.Compose([t.RandomHorizontalFlip(1.0), t.ToTensor()]),
    "turned": lambda t, _v2: t.Compose([t.ToTensor(), t.RandomVerticalFlip(1.0)]),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_pictures_in_memory_are_those_of_the_stock_loader(torchvision, vision, chain):
    v2 = importlib.import_module(f"{torchvision.__name__}.transforms.v2")
    transform = CHAINS[chain](torchvision.transforms, v2)
    for dataset in families(vision, transform):
        assert "in memory" in loader(dataset).lifted().dataset
        assert_equal_to_stock(dataset, 8)
        assert_equal_to_stock(data.Subset(dataset, [36, 0, -2, 11]), 3)


def test_random_crops_with_padding_are_parts_of_the_picture(torchvision, vision):
    t = torchvision.transforms
    crop = t.Compose([t.RandomCrop(32, padding=4), t.RandomHorizontalFlip(), t.PILToTensor()])
    dataset = list(families(vision, crop))[5]
    made = loader(dataset, 37, num_workers=1, seed=3)
    (first,), (second,) = [[x for x, _ in made] for _ in range(2)]
    assert not torch.equal(first, second)
    for picture, found in zip(dataset.data, first, strict=True):
        padded = np.pad(picture.transpose(2, 0, 1), ((0, 0), (4, 4), (4, 4)))
        parts = [padded[:, y : y + 32, x : x + 32] for y in range(9) for x in range(9)]
        either = [*parts, *(part[:, :, ::-1] for part in parts)]
        assert any(np.array_equal(part, found) for part in either)


def test_what_a_dataset_in_memory_does_besides_picking_pictures(torchvision, vision):
    t = torchvision.transforms
    plain = t.ToTensor()

    def reason(dataset):
        return loader(dataset, lifted=False).lifted().reasons[0]

    fine = {"data": gray(5), "targets": torch.arange(5)}
    assert "no transform" in reason(vision("MNIST", None, **fine))
    odd = vision("MNIST", plain, **fine)
    odd.target_transform = str
    assert "target_transform" in reason(odd)
    assert "no native form" in reason(vision("MNIST", plain, **{**fine, "data": gray(5).float()}))
    assert "labels for" in reason(vision("MNIST", plain, data=gray(5), targets=[1, 2]))
    assert "type int" in reason(vision("MNIST", plain, data=gray(5), targets=[1.0] * 5))
    assert "64 bits" in reason(vision("MNIST", plain, data=gray(5), targets=[2**70] * 5))
    assert "no labels" in reason(
        vision("STL10", plain, data=np.zeros((2, 3, 8, 8), "u1"), labels=None)
    )
    eight = torch.zeros(5, 8, dtype=torch.int64)
    assert "compat" in reason(vision("QMNIST", plain, data=gray(5), targets=eight, compat=False))
    inks = np.zeros((2, 8, 8, 4), np.uint8)
    assert "channels" in reason(vision("CIFAR10", plain, data=inks, targets=[1, 2]))
    assert "GaussianBlur" in reason(vision("MNIST", t.Compose([t.GaussianBlur(3), plain]), **fine))
    sub = type("Mine", (torchvision.datasets.MNIST,), {})
    mine = sub.__new__(sub)
    mine.__dict__.update(fine, transform=plain, target_transform=None)
    assert "Mine" in reason(mine)


@pytest.mark.parametrize("workers", [0, 2])
def test_changed_data_is_seen_at_the_next_epoch_without_a_copy(vision, torchvision, workers):
    dataset = vision(
        "CIFAR10",
        torchvision.transforms.PILToTensor(),
        data=np.zeros((6, 32, 32, 3), np.uint8),
        targets=[0] * 6,
    )
    made = loader(dataset, 6, num_workers=workers)

    def epoch():
        ((pictures, labels),) = made
        return int(pictures.max()), labels.tolist()

    assert epoch() == (0, [0] * 6)
    dataset.data[:] = 9
    dataset.targets[2] = 7
    assert epoch() == (9, [0, 0, 7, 0, 0, 0])
    dataset.data = np.full((6, 32, 32, 3), 4, np.uint8)
    dataset.targets = [1] * 6
    assert epoch() == (4, [1] * 6)
    dataset.data = dataset.data[:4]
    dataset.targets = dataset.targets[:4]
    assert epoch() == (4, [1] * 4)


@pytest.mark.parametrize("workers", [0, 2])
def test_exchanged_and_resized_tensors_are_noticed(workers):
    tensor = torch.zeros(8, 4)
    dataset = data.TensorDataset(tensor)
    made = loader(dataset, 8, num_workers=workers)
    assert [x.sum() for (x,) in made] == [0]
    tensor += 1
    assert [x.sum() for (x,) in made] == [32]
    tensor.data = torch.full((8, 2), 3.0)
    assert [x.shape for (x,) in made] == [(8, 2)]
    dataset.tensors = (torch.zeros(5),)
    assert [x.shape for (x,) in made] == [(5,)]
    dataset.tensors = (torch.zeros(5, dtype=torch.complex64),)
    assert [x.dtype for (x,) in made] == [torch.complex64]
    indices = [0, 1]
    chosen = loader(data.Subset(data.TensorDataset(torch.arange(9)), indices), 9)
    assert [x.tolist() for (x,) in chosen] == [[0, 1]]
    indices[1] = 5
    assert [x.tolist() for (x,) in chosen] == [[0, 5]]


def test_without_workers_a_batch_shows_the_data_as_it_is_when_it_is_asked_for():
    tensor = torch.zeros(64, dtype=torch.int64)
    for step, (batch,) in enumerate(loader(data.TensorDataset(tensor), 8)):
        assert batch.tolist() == [step] * 8
        tensor += 1


def test_memory_cannot_go_away_under_a_running_loader():
    tensor = torch.arange(100_000)
    dataset = data.TensorDataset(tensor)
    batches = iter(loader(dataset, 1000, num_workers=2))
    next(batches)
    with pytest.raises(RuntimeError, match="resiz"):
        tensor.resize_(10_000_000)
    del tensor
    dataset.tensors = ()
    del dataset
    gc.collect()
    rest = torch.cat([x for (x,) in batches])
    assert rest.tolist() == list(range(1000, 100_000))


def test_a_batch_is_the_users_alone():
    tensor = torch.arange(100)
    kept = []
    for (batch,) in loader(data.TensorDataset(tensor), 10, num_workers=1):
        batch *= -1
        kept.append(batch)
    assert torch.cat(kept).tolist() == [-x for x in range(100)]
    assert tensor.tolist() == list(range(100))


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_step_resumes_with_the_identical_remainder(shuffle):
    rows = data.TensorDataset(torch.arange(53), torch.rand(53, 3))
    made = loader(rows, 8, shuffle=shuffle, num_workers=1)
    states, batches = [], []
    for batch in made:
        states.append(json.dumps(made.state_dict()))
        batches.append(batch)
    for taken, saved in enumerate(states[:-1], 1):
        torch.manual_seed(taken)
        again = loader(rows, 8, shuffle=shuffle)
        again.load_state_dict(json.loads(saved))
        rest = list(again)
        assert [bits(batch) for batch in rest] == [bits(batch) for batch in batches[taken:]]
    other = loader(data.TensorDataset(torch.arange(52), torch.rand(52, 3)), 8, shuffle=shuffle)
    with pytest.raises(drapps.PipelineError, match="another stream"):
        other.load_state_dict(json.loads(states[0]))


def test_many_loaders_and_threads_at_once():
    rows = data.TensorDataset(torch.arange(5000), torch.rand(5000, 7))
    found = {}

    def run(number):
        made = loader(rows, 50, shuffle=True, num_workers=number % 3, seed=number)
        found[number] = sorted(torch.cat([x for x, _ in made]).tolist())

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number] == list(range(5000)) for number in range(8))


# ---- the builder


def test_arrays_become_batches_of_the_same_columns():
    columns = {
        "image": np.random.default_rng(1).integers(0, 256, (30, 8, 9, 3), np.uint8),
        "label": np.arange(30, dtype=np.int16),
        "weight": np.random.default_rng(2).random((30, 2)),
    }
    batches = list(drapps.arrays(columns).batch(7).numpy())
    for name, array in columns.items():
        assert np.array_equal(np.concatenate([batch[name] for batch in batches]), array)
        assert batches[0][name].dtype == array.dtype
    assert [len(batch["index"]) for batch in batches] == [7, 7, 7, 7, 2]
    pictures = drapps.arrays(columns, pictures="image").normalize([0.5] * 3, [0.25] * 3)
    (batch,) = pictures.batch(30).torch()
    expected = (torch.from_numpy(columns["image"]).permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
    assert torch.equal(batch["image"], expected)
    assert batch["weight"].dtype == torch.float64
    planes = {"image": columns["image"].transpose(0, 3, 1, 2)}
    (same,) = drapps.arrays(planes, "image", "nchw").center_crop(4).to("uint8").batch(30).numpy()
    assert np.array_equal(same["image"], planes["image"][:, :, 2:6, 2:6])  # of 9 columns, from 2


def test_the_builder_shards_shuffles_and_resumes_arrays():
    numbers = {"x": np.arange(100)}
    source = drapps.arrays(numbers).shuffle(3)
    whole = np.concatenate([b["x"] for b in source.batch(8).numpy()])
    assert sorted(whole.tolist()) == list(range(100))
    ranks = [source.shard(r, 3).batch(4) for r in range(3)]
    together = np.concatenate([b["x"] for rank in ranks for b in rank.numpy()])
    assert sorted(together.tolist()) == list(range(100))
    made = source.batch(8)
    iterator = iter(made)
    next(iterator)
    state = json.loads(json.dumps(made.state_dict()))
    again = source.batch(8)
    again.load_state_dict(state)
    assert np.concatenate([b["x"] for b in again.numpy()]).tolist() == whole[8:].tolist()


@pytest.mark.parametrize(
    ("columns", "more", "message"),
    [
        ({}, {}, "no array"),
        ({"x": [1, 2]}, {}, "is a list"),
        ({"x": np.zeros(())}, {}, r"shape is \(\)"),
        ({"x": np.zeros((0, 3))}, {}, "empty"),
        ({"x": np.zeros(3, complex)}, {}, "complex128"),
        ({"x": np.array(["a"])}, {}, "dtype <U1"),
        ({"x": np.zeros(3, ">i4")}, {}, "native byte order"),
        ({"x": np.zeros((4, 6))[:, ::2]}, {}, "gaps"),
        ({"x": np.zeros(3), "y": np.zeros(4)}, {}, "4 rows"),
        ({"flags": np.zeros(3)}, {}, "flags"),
        ({"x": np.zeros(3)}, {"pictures": "y"}, "none of the arrays"),
        ({"x": np.zeros((3, 4, 4))}, {"pictures": "x"}, "uint8"),
        ({"x": np.zeros((3, 4, 4, 2), "u1")}, {"pictures": "x"}, "2 channels as nhwc"),
        ({"x": np.zeros((3, 4, 4, 3), "u1")}, {"pictures": "x", "layout": "hwc"}, "layout"),
    ],
)
def test_arrays_that_make_no_sense_are_named(columns, more, message):
    with pytest.raises(drapps.PipelineError, match=message):
        drapps.arrays(columns, **more)


def test_ops_need_pictures():
    with pytest.raises(drapps.PipelineError, match="no pictures to work on"):
        drapps.arrays({"x": np.zeros((3, 4))}).flip().batch(2)
    tall = drapps.arrays({"x": np.zeros((3, 4, 4), "u1")}, "x").random_crop(8)
    with pytest.raises(drapps.PipelineError, match="does not fit"):
        tall.batch(2)
