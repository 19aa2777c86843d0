"""A function of the user's in the place of a library's is called, so nothing of it is lifted."""

import builtins
import functools
import importlib
import random
import warnings
from unittest import mock

import numpy as np
import pytest
from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.cells import some_full  # noqa: E402


@pytest.fixture
def photographs(torchvision, v1, photos):
    chain = v1.Compose([v1.Resize(20), v1.RandomCrop(16), v1.ToTensor()])
    return torchvision.datasets.ImageFolder(photos, chain)


def wrapped(function):
    """What a user puts around a library's function, with its name, module and signature."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        return function(*args, **kwargs)

    return run


def at(path):
    """The module or class, and the attribute, that a dotted path names."""
    home, _, name = path.rpartition(".")
    try:
        return importlib.import_module(home), name
    except ImportError:
        return getattr(*at(home)), name


def assert_not_lifted(dataset, part, **arguments):
    report = drapps.torch.DataLoader(dataset, 4, **arguments).lifted()
    assert not report
    assert part in report.reasons[0], report.reasons


READING = [
    "torchvision.datasets.folder.pil_loader",
    "torchvision.datasets.folder.DatasetFolder.__getitem__",
    "torchvision.get_image_backend",
    "PIL.Image.open",
    "PIL.Image.Image.convert",
    "PIL.Image.Image.resize",
    "PIL.Image.Image.crop",
    "PIL.ImageFile.ImageFile.load",
    "PIL.JpegImagePlugin.JpegImageFile._open",
    "PIL.PngImagePlugin.PngImageFile.load_end",
    "builtins.open",
]
TRANSFORMING = [
    "torchvision.transforms.transforms.Compose.__call__",
    "torchvision.transforms.transforms.RandomCrop.get_params",
    "torchvision.transforms.functional.resize",
    "torchvision.transforms.functional.crop",
    "torchvision.transforms.functional._compute_resized_output_size",
    "torchvision.transforms._functional_pil.resize",
    "torchvision.transforms._functional_pil.crop",
    "torch.nn.Module.__call__",
    "torch.from_numpy",
    "torch.randint",
]
BATCHING = [
    "torch.utils.data.BatchSampler.__iter__",
    "torch.utils.data.SequentialSampler.__iter__",
    "torch.utils.data._utils.collate.collate",
    "torch.stack",
]


@pytest.mark.parametrize("path", READING + TRANSFORMING + BATCHING)
def test_a_wrapped_function_is_seen_wherever_it_is_called(photographs, monkeypatch, path):
    loader = drapps.torch.DataLoader(photographs, 4)
    assert loader.lifted(), str(loader.lifted())
    owner, name = at(path)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, wrapped(getattr(owner, name)))
        report = loader.lifted()
        assert not report
        assert name in report.reasons[0], report.reasons
        assert not loader.lifted()  # also when it is asked again
    assert loader.lifted(), str(loader.lifted())


def test_a_replaced_reader_is_called(photographs, monkeypatch, torchvision):
    def gray(_path):
        return Image.new("RGB", (30, 30), (9, 9, 9))

    loader = drapps.torch.DataLoader(photographs, 4)
    assert loader.lifted()
    monkeypatch.setattr(torchvision.datasets.folder, "pil_loader", gray)
    assert_not_lifted(photographs, "torchvision.datasets.folder.pil_loader was replaced")
    for pictures, _ in loader:
        assert (pictures == 9 / 255).all()


def test_other_forms_of_a_replacement_are_seen(photographs, monkeypatch, torchvision):
    folder = torchvision.datasets.folder
    own = folder.pil_loader
    for other in (
        mock.MagicMock(wraps=own),
        functools.partial(own),
        functools.lru_cache(wrapped(own)),
        torch.no_grad()(wrapped(own)),
        folder.accimage_loader,
    ):
        monkeypatch.setattr(folder, "pil_loader", other)
        assert_not_lifted(photographs, "pil_loader")
    monkeypatch.setattr(folder, "pil_loader", own)
    photographs.loader = wrapped(folder.default_loader)
    assert_not_lifted(photographs, "default_loader was replaced")


def test_what_changes_no_sample_may_be_replaced(photographs, monkeypatch):
    monkeypatch.setattr(builtins, "print", wrapped(print))
    monkeypatch.setattr(warnings, "warn", wrapped(warnings.warn))
    monkeypatch.setattr(Image.Image, "show", Image.Image.show)
    assert drapps.torch.DataLoader(photographs).lifted()


def test_methods_of_an_object_that_its_class_calls_are_seen(photographs, v2):
    chain = v2.Compose([v2.RandomCrop(16), v2.ToImage()])
    photographs.transform = chain
    assert drapps.torch.DataLoader(photographs).lifted()
    crop = chain.transforms[0]
    crop.check_inputs = wrapped(crop.check_inputs)
    assert_not_lifted(photographs, "RandomCrop.check_inputs was replaced")


@pytest.mark.parametrize("name", ["resize", "crop", "to_image", "horizontal_flip"])
def test_functions_of_the_second_api_are_seen(photographs, monkeypatch, v2, name):
    chain = [v2.RandomResizedCrop(16), v2.RandomCrop(16), v2.RandomHorizontalFlip(), v2.ToImage()]
    photographs.transform = v2.Compose(chain)
    loader = drapps.torch.DataLoader(photographs)
    assert loader.lifted(), str(loader.lifted())
    functional = importlib.import_module("torchvision.transforms.v2.functional")
    name = {"resize": "resized_crop"}.get(name, name)
    monkeypatch.setattr(functional, name, wrapped(getattr(functional, name)))
    assert_not_lifted(photographs, name)


def test_random_numbers_of_timm_are_its_own(photographs, monkeypatch, v1):
    timm = pytest.importorskip("timm.data.transforms")
    crop = timm.RandomResizedCropAndInterpolation(16)
    photographs.transform = v1.Compose([crop, v1.ToTensor()])
    assert drapps.torch.DataLoader(photographs).lifted()
    monkeypatch.setattr(random, "uniform", lambda low, _: low)
    assert_not_lifted(photographs, "random.uniform")


def test_hooks_of_all_modules_are_seen(photographs, v1):
    photographs.transform = v1.Compose([v1.Resize((16, 16)), v1.ToTensor()])
    hook = torch.nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert_not_lifted(photographs, "all modules have hooks")
    finally:
        hook.remove()
    assert drapps.torch.DataLoader(photographs).lifted()


def test_what_collates_in_another_way_is_seen(photographs, monkeypatch):
    collate = importlib.import_module("torch.utils.data._utils.collate")
    monkeypatch.setitem(collate.default_collate_fn_map, int, lambda batch, **_: batch)
    assert_not_lifted(photographs, "default_collate has a function of yours")


def test_another_default_device_is_seen(photographs):
    torch.set_default_device("meta")
    try:
        assert_not_lifted(photographs, "torch makes its tensors on meta")
    finally:
        torch.set_default_device(None)


SWITCHES = [
    (ImageFile, "LOAD_TRUNCATED_IMAGES", True),
    (Image, "MAX_IMAGE_PIXELS", None),
    (Image, "MAX_IMAGE_PIXELS", 100),
    (Image, "MAX_IMAGE_PIXELS", 1 << 40),
    (PngImagePlugin, "MAX_TEXT_CHUNK", 100 << 20),
]
CASES = [(*switch, workers) for switch in SWITCHES for workers in (0, 2)]
QUICK = [case for case in CASES if case[3] == 0 or case[2] == 100]


@pytest.mark.parametrize(("module", "name", "value", "workers"), some_full(CASES, *QUICK))
def test_switches_of_pillow_count_when_a_pass_begins(
    photographs, monkeypatch, module, name, value, workers
):
    loader = drapps.torch.DataLoader(photographs, 4, num_workers=workers)
    assert loader.lifted()
    assert len(list(loader)) == 6
    monkeypatch.setattr(module, name, value)
    assert f"{name} is {value!r}" in loader.lifted().reasons[0]
    if value != 100:
        assert len(list(loader)) == 6
    else:
        with pytest.raises(Image.DecompressionBombError):
            list(loader)
    monkeypatch.undo()
    assert loader.lifted()


def test_a_truncated_file_is_read_where_pillow_is_told_to(own_photos, torchvision, v1, monkeypatch):
    for path in own_photos.glob("*/*.jpg"):
        path.write_bytes(path.read_bytes()[:-400])
    chain = v1.Compose([v1.Resize((16, 16)), v1.ToTensor()])
    dataset = torchvision.datasets.ImageFolder(own_photos, chain)
    loader = drapps.torch.DataLoader(dataset, 4)
    with pytest.raises(drapps.SampleError):
        list(loader)
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    for one, other in zip(loader, data.DataLoader(dataset, 4), strict=True):
        assert torch.equal(one[0], other[0])


def test_a_bomb_that_is_made_an_error_is_seen(photographs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        assert_not_lifted(photographs, "DecompressionBombWarning")


def test_formats_that_are_opened_in_another_way_are_seen(photographs, monkeypatch):
    Image.preinit()
    own = JpegImagePlugin.jpeg_factory
    monkeypatch.setitem(Image.OPEN, "JPEG", (lambda *args: own(*args), Image.OPEN["JPEG"][1]))
    assert_not_lifted(photographs, "opens JPEG")
    monkeypatch.undo()
    monkeypatch.setitem(Image.DECODERS, "jpeg", type("Mine", (ImageFile.PyDecoder,), {}))
    assert_not_lifted(photographs, "decodes jpeg")


@pytest.mark.parametrize("path", ["PIL.Image.fromarray", "PIL.Image.Image.crop"])
def test_pictures_in_memory_are_made_by_pillow_itself(torchvision, v1, monkeypatch, path):
    cifar = torchvision.datasets.CIFAR10.__new__(torchvision.datasets.CIFAR10)
    cifar.data, cifar.targets = np.zeros((9, 32, 32, 3), np.uint8), list(range(9))
    cifar.transform = v1.Compose([v1.RandomCrop(16), v1.ToTensor()])
    cifar.target_transform = None
    assert drapps.torch.DataLoader(cifar).lifted()
    owner, name = at(path)
    monkeypatch.setattr(owner, name, wrapped(getattr(owner, name)))
    assert_not_lifted(cifar, name)
    monkeypatch.undo()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert_not_lifted(cifar, "MAX_IMAGE_PIXELS")


def test_rows_of_tensors_are_collated_by_torch_itself(monkeypatch):
    rows = data.TensorDataset(torch.arange(9))
    assert drapps.torch.DataLoader(rows).lifted()
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert drapps.torch.DataLoader(rows).lifted()
    owner, name = at("torch.utils.data._utils.collate.collate")
    monkeypatch.setattr(owner, name, wrapped(getattr(owner, name)))
    assert_not_lifted(rows, name)
