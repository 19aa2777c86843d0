"""Pictures that are copied to a device as bytes and finished there: batches are the CPU's."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import drapps  # noqa: E402
import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from drapps.torch import destination, resident  # noqa: E402
from python.tests.resident_data import same  # noqa: E402

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)


@pytest.fixture(autouse=True)
def host_device(monkeypatch):
    _core._allow_host_device(256 << 20, 100_000)
    monkeypatch.setattr(resident, "core_name", lambda _: "host")
    monkeypatch.setattr(drapps.torch.iterator, "core_name", lambda _: "host")
    monkeypatch.setattr(drapps.torch.iterator, "destination_of", lambda *_: None)
    monkeypatch.setattr(destination, "device_memory", lambda _: None)


@pytest.fixture
def dataset(own_photos, torchvision):
    transforms = torchvision.transforms
    chain = [
        transforms.RandomResizedCrop(24),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
        transforms.ToTensor(),
        transforms.Normalize((0.49, 0.48, 0.45), (0.25, 0.24, 0.26)),
        transforms.RandomErasing(0.7, value="random"),
    ]
    return torchvision.datasets.ImageFolder(str(own_photos), transforms.Compose(chain))


def lifted(dataset, on_device, **options):
    where = {"device": "cuda"} if on_device else {}
    loader = drapps.torch.DataLoader(dataset, 4, shuffle=True, seed=5, **where, **options)
    assert loader.lifted()
    return loader


def taken(batches):
    """The next batch, what is known of the error in its place, or None behind the last one."""
    try:
        return next(batches, None)
    except drapps.SampleError as error:
        return [(error.stage, error.code)]


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_the_cpu(dataset, workers):
    there, plain = (lifted(dataset, on, num_workers=workers) for on in (True, False))
    for epoch in range(2):
        there.set_epoch(epoch)
        plain.set_epoch(epoch)
        same(list(there), list(plain))
    copied = len(dataset) * 3 * 24 * 24  # bytes of pictures, in each epoch
    assert there.explain().plan.arrival == {"device": "host", "copied": "bytes"}
    assert "finished there" in str(there.explain())
    assert plain.explain().plan.arrival is None
    counted = there.stats().device
    # A float for each byte would be four times that.
    assert copied < counted.bytes_in / 2 < 2 * copied
    assert counted.launches > 0


@pytest.mark.parametrize("first", [True, False])
def test_a_state_goes_on_on_the_other(dataset, first):
    expected = list(lifted(dataset, False, num_workers=2))
    begun = lifted(dataset, first, num_workers=2)
    batches = iter(begun)
    head = [next(batches), next(batches)]
    resumed = lifted(dataset, not first, num_workers=2)
    resumed.load_state_dict(begun.state_dict())
    same(head + list(resumed), expected)


@pytest.mark.parametrize("on_error", ["skip", "replace", "raise"])
def test_bad_pictures_leave_with_what_is_erased_of_them(dataset, own_photos, on_error):
    for path in sorted(own_photos.rglob("*.jpg"))[1::5]:
        path.write_bytes(path.read_bytes()[:100])

    def batches(on_device):
        iterator = iter(lifted(dataset, on_device, on_error=on_error))
        return list(iter(lambda: taken(iterator), None))

    actual, expected = batches(True), batches(False)
    assert [type(each[0]) for each in actual] == [type(each[0]) for each in expected]
    good = [[each for each in one if not isinstance(each[0], tuple)] for one in (actual, expected)]
    same(*good)
    errors = [[each for each in one if isinstance(each[0], tuple)] for one in (actual, expected)]
    assert errors[0] == errors[1]
    assert bool(errors[0]) == (on_error == "raise")


def mixed(own_photos, dtype, layout):
    pipeline = drapps.image_folder(own_photos).decode().random_resized_crop(20).flip()
    pipeline = pipeline.random_erasing(0.5).normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    return pipeline.to(dtype, layout=layout).cutmix_or_mixup(3).shuffle(seed=2).batch(4)


@pytest.mark.parametrize(
    ("dtype", "layout"),
    [("float32", "nchw"), ("bfloat16", "nhwc"), ("float16", "nchw")],
)
def test_mixed_batches_of_files_are_those_of_the_cpu(own_photos, dtype, layout):
    there, plain = mixed(own_photos, dtype, layout), mixed(own_photos, dtype, layout)
    for _ in range(2):
        actual, expected = list(there.torch(device="cuda")), list(plain.torch())
        assert len(actual) == len(expected) > 0
        for one, other in zip(actual, expected, strict=True):
            assert one.keys() == other.keys()
            assert all(torch.equal(one[name], other[name]) for name in one)
    assert there.explain().plan.arrival["copied"] == "bytes"


def test_what_a_device_has_decoded_is_erased_there_too(dataset):
    there = lifted(dataset, True, placement="gpu", num_workers=2)
    plain = lifted(dataset, False, num_workers=2)
    for epoch in range(3):
        there.set_epoch(epoch)
        plain.set_epoch(epoch)
        same(list(there), list(plain))
    placed = there.explain().plan.placement
    assert placed["stayed"] == placed["augmented"] > 0


def test_pictures_that_are_bytes_are_copied_as_they_are(own_photos, torchvision):
    transforms = torchvision.transforms
    chain = transforms.Compose([transforms.CenterCrop(8), transforms.PILToTensor()])
    dataset = torchvision.datasets.ImageFolder(str(own_photos), chain)
    there = lifted(dataset, True)
    same(list(there), list(lifted(dataset, False)))
    arrival = there.explain().plan.arrival
    assert (arrival["copied"], arrival["why"]) == (
        "finished",
        "the pictures of a batch are bytes as they are",
    )
    assert "no bytes: the pictures" in str(there.explain())


@pytest.mark.parametrize("memory", [0, 50_000])
def test_without_memory_the_cpu_finishes_the_batches(dataset, memory):
    _core._allow_host_device(memory, 0)
    there = lifted(dataset, True, num_workers=2)
    with pytest.warns(RuntimeWarning, match="batches are not finished on host") as records:
        for epoch in range(2):
            plain = lifted(dataset, False, num_workers=2)
            for each in (there, plain):
                each.set_epoch(epoch)
            same(list(there), list(plain))
    assert len(records) == 1
    assert there.explain().plan.arrival["copied"] == "finished"


def test_a_device_that_is_lost_is_an_error_of_each_batch(dataset):
    _core._allow_host_device(256 << 20, 100_000, launches=2)
    batches = iter(lifted(dataset, True, num_workers=2))
    outcomes = list(iter(lambda: taken(batches), None))
    lost = [each for each in outcomes if isinstance(each[0], tuple)]
    assert len(lost) >= 2
    assert {each[0] for each in lost} == {("deliver", "device lost")}


def test_without_such_a_device_batches_are_copied_as_they_are(dataset, monkeypatch):
    monkeypatch.setattr(drapps.torch.iterator, "core_name", lambda _: "cuda:9")
    there = lifted(dataset, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(list(there), list(lifted(dataset, False)))
    arrival = there.explain().plan.arrival
    assert arrival["copied"] == "finished"
    assert arrival["why"]


def test_batches_that_are_held_keep_their_content(dataset):
    held = list(lifted(dataset, True, num_workers=2))
    again = list(lifted(dataset, True, num_workers=2))
    del again
    same(held, list(lifted(dataset, False)))
