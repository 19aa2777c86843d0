"""Data in memory that live on a device: the same batches, made on the host device of the core."""

import gc

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from torch.utils.data import Subset, TensorDataset  # noqa: E402
from torchvision import transforms  # noqa: E402

import drapps  # noqa: E402
import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from drapps.torch import resident  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.resident_data import CHAIN, COLOURS, cifar, same  # noqa: E402

if not hasattr(_core, "_allow_host_device"):
    pytest.skip("a wheel has no device for tests", allow_module_level=True)


@pytest.fixture(autouse=True)
def host_device(monkeypatch):
    gc.collect()  # a device lives as long as anything that tests before have left
    _core._allow_host_device(64 << 20, 100_000)
    monkeypatch.setattr(resident, "core_name", lambda _: "host")


def loader(dataset, on_device, **options):
    where = {"device": "cuda", "device_memory": "32MB"} if on_device else {}
    return drapps.torch.DataLoader(dataset, 32, shuffle=True, seed=5, **where, **options)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_are_those_of_the_cpu(workers):
    dataset = cifar()
    with_device = loader(dataset, True, num_workers=workers)
    assert with_device.lifted()
    for _ in range(2):
        epochs = list(with_device), list(loader(dataset, False, num_workers=workers))
    with_device.set_epoch(1)
    cpu = loader(dataset, False, num_workers=workers)
    cpu.set_epoch(1)
    same(list(with_device), list(cpu))
    assert len(epochs[0]) == len(epochs[1])


GRAY, SMALLER = transforms.Grayscale(3), transforms.Resize(50)


@pytest.mark.parametrize("first", some_full([GRAY, SMALLER], SMALLER))
def test_a_later_resize_is_that_of_the_cpu(first):
    dataset = cifar(chain=[first, transforms.Resize(40), *CHAIN])
    on_device = loader(dataset, True)
    same(list(on_device), list(loader(dataset, False)))
    assert on_device.stats().device.launches > 5  # pictures that the later one reads


def test_colours_and_erasures_are_those_of_the_cpu():
    dataset = cifar(chain=COLOURS)
    on_device = loader(dataset, True)
    same(list(on_device), list(loader(dataset, False)))
    counted = on_device.stats().device
    assert counted.launches >= 5 * 4  # two of them for the means of contrasts
    assert counted.bytes_in > 0
    assert counted.copy_s > 0
    assert counted.kernel_s > 0
    assert "launches" in str(on_device.stats())


@pytest.mark.parametrize("memory", [150 * 3072 - 1, 150 * 3072 + 10_000])
def test_without_memory_the_cpu_makes_the_batches(monkeypatch, memory):
    _core._allow_host_device(memory, 0)  # for the arrays, or for two batches
    monkeypatch.setattr(drapps.torch.iterator, "destination_of", lambda *_: None)
    dataset = cifar()
    full = loader(dataset, True)
    with pytest.warns(
        RuntimeWarning, match="the CPU makes the batches: .* has no .* bytes"
    ) as messages:
        for epoch in range(2):
            plain = loader(dataset, False)
            for each in (full, plain):
                each.set_epoch(epoch)
            same(list(full), list(plain))
    assert len(messages) == 1
    assert full.stats().device.launches == 0


def test_a_lost_device_is_an_error_of_each_batch():
    _core._allow_host_device(64 << 20, 100_000, launches=5)
    batches = iter(loader(cifar(), True))

    def error():
        try:
            next(batches)
        except drapps.SampleError as raised:
            return raised.stage, raised.code

    errors = [error() for _ in range(5)]
    assert errors.count(("deliver", "device lost")) >= 3
    assert set(errors) <= {None, ("deliver", "device lost")}


def test_the_arrays_are_read_once():
    dataset = cifar()
    living_there = loader(dataset, True)
    living_there.set_epoch(0)
    first = list(living_there)
    dataset.data[:] = 0
    living_there.set_epoch(0)
    same(list(living_there), first)


def test_rows_of_tensors_and_of_a_subset():
    tensors = torch.arange(700.0).reshape(100, 7), torch.arange(100), torch.rand(100) > 0.5
    dataset = Subset(TensorDataset(*tensors), list(range(99, 0, -3)))
    same(list(loader(dataset, True)), list(loader(dataset, False)))


@pytest.mark.parametrize("first", some_full([True, False], True))
def test_a_state_goes_on_on_the_other(first):
    dataset = cifar()
    expected = list(loader(dataset, False))
    begun = loader(dataset, first)
    batches = iter(begun)
    head = [next(batches), next(batches)]
    resumed = loader(dataset, not first)
    resumed.load_state_dict(begun.state_dict())
    same(head + list(resumed), expected)


def test_what_cannot_live_there_is_refused():
    with pytest.raises(drapps.PipelineError, match="is of no device: name it by device="):
        drapps.torch.DataLoader(cifar(), device_memory="1GB")
    small = drapps.torch.DataLoader(cifar(), 32, device="cuda", device_memory=1000)
    with pytest.raises(
        drapps.PipelineError, match=r"the arrays and 2 batches take .* it gives 1000"
    ):
        iter(small)
    with pytest.raises(drapps.PipelineError, match="is for arrays that are lifted"):
        iter(loader([torch.zeros(3)], True))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_a_machine_without_a_device_says_so(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(drapps.PipelineError, match="device='cuda' is not there"):
        iter(loader(cifar(), True))


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(resident, "core_name", lambda _: "cuda:9")
    with pytest.raises(drapps.PipelineError, match=r"no device of CUDA can be|there is no GPU 9"):
        list(loader(cifar(), True))


def test_no_memory_leaves_the_arrays_where_they_are():
    plain = drapps.torch.DataLoader(cifar(), 32, device_memory=0)
    assert plain.lifted()
    assert len(list(plain)) == 5
