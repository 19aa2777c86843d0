"""Image folders on an emulated storage, under both loaders."""

import pickle
from pathlib import Path

import pytest
from PIL import Image

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from drapps.storage import EmulatedStorage  # noqa: E402
from python.tests.test_workers import DEADLINE  # noqa: E402


@pytest.fixture(scope="module")
def folder(torchvision):
    return torchvision.datasets.ImageFolder


@pytest.fixture
def plain(v1):
    return v1.Compose([v1.RandomResizedCrop(16), v1.ToTensor()])


def whole(loader):
    batches = list(loader)
    return torch.cat([images for images, _ in batches]), torch.cat(
        [labels for _, labels in batches]
    )


def same(one, other):
    return all(torch.equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def file_bytes(dataset):
    return sum(Path(path).stat().st_size for path, _ in dataset.samples)


def test_a_folder_is_lifted_onto_its_storage(folder, photos, plain):
    slow = drapps.emulate(
        latency=0.002, schedule={0.01: {"refuses": True}, 0.1: {"refuses": False}}
    )
    dataset = folder(photos, plain, loader=slow.load_image)
    loader = drapps.torch.DataLoader(dataset, batch_size=4, shuffle=True, seed=5)
    report = loader.lifted()
    assert report
    assert report.dataset == "ImageFolder of 21 files on an emulated storage"
    reference = drapps.torch.DataLoader(folder(photos, plain), batch_size=4, shuffle=True, seed=5)
    assert same(whole(loader), whole(reference))
    stats = slow.stats()
    assert stats["reads"] == len(dataset)
    assert stats["bytes"] == file_bytes(dataset)
    assert (stats["failures"], stats["in_flight"]) == (0, 0)


def test_what_is_refused_at_first_is_in_the_stream(folder, photos, plain):
    slow = drapps.emulate(refuses=True, schedule={0.2: {"refuses": False}})
    subset = torch.utils.data.Subset(folder(photos, plain, loader=slow.load_image), range(8))
    loader = drapps.torch.DataLoader(subset, batch_size=4, seed=5, cache="off")
    assert loader.lifted().dataset == "ImageFolder of 8 files on an emulated storage (a subset)"
    images, labels = whole(loader)
    assert images.shape == (8, 3, 16, 16)
    assert labels.tolist() == [0] * 7 + [1]
    assert slow.stats()["refusals"] > 0
    assert slow.stats()["failures"] == 0


def test_an_outage_beyond_the_deadline_names_sample_and_storage(folder, photos, plain):
    gone = drapps.emulate(refuses=True, deadline=0.1)
    loader = drapps.torch.DataLoader(
        folder(photos, plain, loader=gone.load_image), batch_size=4, cache="off"
    )
    with pytest.raises(drapps.SampleError, match=r"the storage \(emulated\)") as caught:
        next(iter(loader))
    assert caught.value.code == "unavailable"
    assert str(photos) in caught.value.path


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ["stock", "unlifted"])
def test_python_workers_read_through_the_storage(folder, photos, v1, method, kind):
    slow = drapps.emulate(requests_per_second=400, burst=0.002, latency=0.001)
    transform = v1.Compose([v1.CenterCrop(16), v1.ToTensor()])
    stock = torch.utils.data.DataLoader
    make = stock if kind == "stock" else drapps.torch.DataLoader
    options = {} if kind == "stock" else {"lift": False}
    loader = make(
        folder(photos, transform, loader=slow.load_image),
        batch_size=4,
        num_workers=2,
        multiprocessing_context=method,
        timeout=DEADLINE,
        **options,
    )
    assert same(whole(loader), whole(stock(folder(photos, transform), batch_size=4)))
    assert slow.stats()["reads"] == 0, "the workers have read"


def test_a_picture_is_that_of_the_plain_loader(torchvision, photos):
    slow = drapps.emulate(latency=0.001)
    loader = pickle.loads(pickle.dumps(slow.load_image))
    for path in sorted(photos.glob("*/*"))[:7]:
        expected = torchvision.datasets.folder.pil_loader(str(path))
        picture = loader(str(path))
        assert (picture.mode, picture.size) == ("RGB", expected.size)
        assert picture.tobytes() == expected.tobytes()
    with pytest.raises(FileNotFoundError):
        loader(str(photos / "gone"))


def test_another_storage_is_noticed_at_the_next_pass(folder, photos, plain):
    first, second = drapps.emulate(latency=0.001), drapps.emulate(latency=0.001)
    dataset = folder(photos, plain, loader=first.load_image)
    loader = drapps.torch.DataLoader(dataset, batch_size=4, seed=5, cache="off")
    whole(loader)
    dataset.loader = second.load_image
    whole(loader)
    assert first.stats()["reads"] == second.stats()["reads"] == len(dataset)


def test_a_storage_that_may_do_more_is_not_lifted(folder, photos, plain, monkeypatch):
    class Mine(EmulatedStorage):
        pass

    slow = drapps.emulate()
    mine = Mine(slow._emulation)
    pretended = drapps.emulate()
    pretended.open = lambda path: open(path, "rb")  # noqa: PTH123, SIM115

    def report(loader):
        return drapps.torch.DataLoader(folder(photos, plain, loader=loader)).lifted()

    assert report(slow.load_image)
    for loader in (mine.load_image, pretended.load_image, slow.open, slow):
        assert "reads files by" in report(loader).reasons[0]
    with monkeypatch.context() as patched:
        patched.setattr(EmulatedStorage, "open", EmulatedStorage.stats)
        assert "reads files by" in report(slow.load_image).reasons[0]
    opened = Image.open
    monkeypatch.setattr(Image, "open", lambda file: opened(file))
    assert "PIL.Image.open was replaced" in report(slow.load_image).reasons[0]
