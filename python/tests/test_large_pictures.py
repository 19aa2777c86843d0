"""Pictures of so many pixels that Pillow warns of them, or refuses them."""

import io
import struct
import warnings

import pytest
from PIL import Image

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from python.tests.decode_files import chunk  # noqa: E402

SIDE = 9472  # its square is just above Pillow's limit


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A folder of two large pictures, behind a small one."""
    root = tmp_path_factory.mktemp("large")
    (root / "a").mkdir()
    Image.new("L", (20, 20)).save(root / "a" / "0.png")
    Image.new("L", (SIDE, SIDE)).save(root / "a" / "1.png", compress_level=1)
    Image.new("L", (SIDE + 1, SIDE)).save(root / "a" / "2.png", compress_level=1)
    return root


def loader_of(root, **options):
    steps = [torchvision.transforms.CenterCrop(8), torchvision.transforms.ToTensor()]
    chain = torchvision.transforms.Compose(steps)
    data = torchvision.datasets.ImageFolder(root, chain)
    loader = drapps.torch.DataLoader(data, **options)
    assert loader.lifted()
    return loader


def pillow_says(path):
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        Image.open(path).close()
    return [(each.category, str(each.message)) for each in records]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_lifted_loader_warns_as_pillow_does(large, workers):
    loader, messages = loader_of(large, num_workers=workers), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, _ in enumerate(loader):
            messages.append([(each.category, str(each.message)) for each in caught])
            caught.clear()
            assert number < 3
    expected = [pillow_says(large / "a" / f"{number}.png") for number in range(3)]
    assert messages == expected
    assert [len(each) for each in expected] == [0, 1, 1]


def test_every_warning_that_is_an_error_is_raised_in_its_place(large):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterator = iter(loader_of(large))
        next(iterator)
        for _ in range(2):
            with pytest.raises(Image.DecompressionBombWarning, match="exceeds limit of 89478485"):
                next(iterator)
        with pytest.raises(StopIteration):
            next(iterator)


def test_a_picture_beyond_the_limit_says_who_reads_it():
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 20000, 20000, 8, 0, 0, 0, 0))
    file = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with pytest.raises(_core.SampleError) as caught:
        _core.decode(file)
    assert "20000x20000 pixels is above the limit of 178956970" in caught.value.args[5]
    assert "PIL.Image.MAX_IMAGE_PIXELS = None" in caught.value.args[5]
    assert "max_pixels" not in caught.value.args[5]
    with pytest.raises(Image.DecompressionBombError):
        Image.open(io.BytesIO(file))
