"""What is said of a file that cannot be read: what it is, and what can be done."""

import zlib

import numpy as np
import pytest
from PIL import PngImagePlugin

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import drapps.torch  # noqa: E402
from python.tests.decode_files import chunk, encode, picture, png  # noqa: E402

APPLE_DOUBLE = bytes.fromhex("00051607 00020000") + b"Mac OS X        " + bytes(200)
LARGE_TEXT = zlib.compress(bytes((1 << 20) + 1))
TEXTS = {
    "iCCP": chunk(b"iCCP", b"profile\0\0" + LARGE_TEXT),
    "zTXt": chunk(b"zTXt", b"Title\0\0" + LARGE_TEXT),
    "iTXt": chunk(b"iTXt", b"Title\0\1\0\0\0" + LARGE_TEXT),
}


def folder_of(root, name, data):
    (root / "a").mkdir()
    (root / "a" / name).write_bytes(data)
    return root


def lifted_over(root):
    steps = [torchvision.transforms.CenterCrop(8), torchvision.transforms.ToTensor()]
    chain = torchvision.transforms.Compose(steps)
    return drapps.torch.DataLoader(torchvision.datasets.ImageFolder(root, chain))


def said_of(loader):
    with pytest.raises(drapps.SampleError) as caught:
        next(iter(loader))
    return caught.value


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_gif_that_is_cut_off_is_one(tmp_path, share):
    whole = encode(picture("P", 40, 50), "GIF")
    loader = lifted_over(folder_of(tmp_path, "x.jpg", whole[: int(share * len(whole))]))
    assert loader.lifted()
    error = said_of(loader)
    assert error.message.startswith("this looks like a GIF, which cannot be read (Pillow")
    assert "not a JPEG" not in error.message
    assert error.message.endswith("fetch it again, or leave it out of the data set")


def test_what_macos_leaves_beside_a_picture_is_named(tmp_path):
    root = folder_of(tmp_path, "._x.jpg", APPLE_DOUBLE)
    for loader in (lifted_over(root), drapps.image_folder(root).center_crop(8).batch(1)):
        error = said_of(loader)
        assert error.code == "unsupported"
        assert "keeps beside a file under ._ and its name (AppleDouble)" in error.message


@pytest.mark.parametrize("kind", TEXTS)
def test_too_much_text_says_what_to_do_which_helps(tmp_path, monkeypatch, kind):
    data = png(np.zeros((9, 9, 3), np.uint8), 2, 8, before=TEXTS[kind])
    loader = lifted_over(folder_of(tmp_path, "x.png", data))
    message = said_of(loader).message
    assert "more than 1 MiB" in message and "save the picture without it" in message
    assert "a larger PIL.PngImagePlugin.MAX_TEXT_CHUNK" in message
    monkeypatch.setattr(PngImagePlugin, "MAX_TEXT_CHUNK", 2 << 20)
    ((pictures, _),) = loader
    assert pictures.shape == (1, 3, 8, 8)


@pytest.mark.parametrize("reader", ["pread", "uring"])
def test_a_loop_of_links_is_called_one(tmp_path, monkeypatch, reader):
    monkeypatch.setenv("DRAPPS_IO", reader)
    (tmp_path / "x.jpg").symlink_to("y.jpg")
    (tmp_path / "y.jpg").symlink_to("x.jpg")
    loader = drapps.images([tmp_path / "x.jpg"]).center_crop(8).batch(1)
    try:
        iterator = iter(loader)
    except drapps.PipelineError:
        pytest.skip("no io_uring here")
    with pytest.raises(drapps.SampleError, match="a loop of symbolic links; remove") as caught:
        next(iterator)
    assert "check the storage" not in str(caught.value)
    assert caught.value.code == "not found"
