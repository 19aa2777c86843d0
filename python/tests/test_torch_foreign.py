"""Other formats under the names of those read natively: Pillow reads them in the worker."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch")
torchvision = pytest.importorskip("torchvision")

import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from python.tests.decode_files import encode, jpeg, photo, picture  # noqa: E402

FOREIGN = {
    "gif.jpg": encode(picture("P", 40, 50), "GIF"),
    "animated.png": encode(
        picture("P", 40, 50), "GIF", save_all=True, append_images=[picture("P", 40, 50, 1)]
    ),
    "bmp.jpg": encode(picture("RGB", 41, 57), "BMP"),
    "gray.png": encode(picture("L", 33, 20), "BMP"),
    "tiff.png": encode(picture("RGBA", 41, 57), "TIFF"),
    "packed.jpeg": encode(picture("CMYK", 60, 30), "TIFF", compression="tiff_lzw"),
    "ppm.webp": encode(picture("RGB", 25, 26), "PPM"),
}
CHAINS = {
    "center": ["Resize(24)", "CenterCrop(16)", "ToTensor()"],
    "crop": ["CenterCrop(16)", "ToTensor()"],
}


def folder_of(tmp_path, files):
    for name, data in files.items():
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_bytes(data)
    return tmp_path


def chain_of(*calls):
    home = torchvision.transforms
    return home.Compose([eval(call, vars(home)) for call in calls])


@pytest.mark.parametrize("chain", CHAINS)
def test_other_formats_equal_the_stock_loader(tmp_path, chain):
    root = folder_of(tmp_path, {**FOREIGN, "plain.jpg": jpeg("4:2:0", 40, 50)})
    data = torchvision.datasets.ImageFolder(root, chain_of(*CHAINS[chain]))
    loader = drapps.torch.DataLoader(data, 3, num_workers=2)
    assert loader.lifted()
    assert any("Pillow" in note for note in loader.lifted().notes)
    ours = torch.cat([pictures for pictures, _ in loader])
    theirs = torch.cat([pictures for pictures, _ in torch.utils.data.DataLoader(data, 3)])
    assert len(ours) == len(FOREIGN) + 1
    assert torch.equal(ours, theirs)
    # Whoever reads without Pillow's help gets the typed error.
    for record in FOREIGN.values():
        with pytest.raises(_core.SampleError):
            _core.decode(record)


def test_a_random_crop_takes_its_part_of_the_whole(tmp_path):
    pixels = photo(64, 80)
    files = {
        "a.jpg": encode(Image.fromarray(pixels), "BMP"),
        "b.png": encode(Image.fromarray(pixels), "PNG"),
    }
    root = folder_of(tmp_path, files)
    data = torchvision.datasets.ImageFolder(root, chain_of("RandomCrop(8)", "PILToTensor()"))
    loader = drapps.torch.DataLoader(data, 2, seed=5)
    assert loader.lifted()
    for _ in range(3):
        ((pictures, _),) = loader
        for crop in pictures.numpy().transpose(0, 2, 3, 1):
            windows = np.lib.stride_tricks.sliding_window_view(pixels, (8, 8, 3))[:, :, 0]
            assert (windows == crop).all(axis=(2, 3, 4)).any()


def test_what_pillow_cannot_read_is_bad_in_its_words(tmp_path):
    files = {
        "cut.jpg": FOREIGN["bmp.jpg"][:900],
        "text.jpg": b"hello, world",
        "tiny.png": FOREIGN["gray.png"],
    }
    root = folder_of(tmp_path, files)
    data = torchvision.datasets.ImageFolder(root, chain_of("CenterCrop(8)", "ToTensor()"))
    loader = drapps.torch.DataLoader(data, 3, on_error="skip")
    assert [len(pictures) for pictures, _ in loader] == [1]
    bad = sorted(loader.bad_samples(), key=lambda entry: entry["path"])
    assert [(entry["stage"], entry["code"]) for entry in bad] == [("decode", "unsupported")] * 2
    assert "a BMP" in bad[0]["message"]
    assert "Pillow: OSError: image file is truncated" in bad[0]["message"]
    assert "Pillow does not know it" in bad[1]["message"]


# A reader that is within Python nearly always, without what takes long to import.
SCRIPT = """
import sys, time
import numpy as np
import drapps
from drapps import _core

def read(data):
    time.sleep(0.002)
    return np.zeros((9, 9, 3), np.uint8)

native = []
make = _core.Loader
_core.Loader = lambda *args: native.append(make(*args, read)) or native[-1]
loader = drapps.image_bytes([b"BM" + bytes(99)] * 3000).center_crop(8).batch(2)
for _ in range(5):
    iterator = native[0].iterate(0)
    iterator.next()
    if sys.argv[1] == "early":
        del iterator  # waits for the samples in hand
print("ends")
"""


@pytest.mark.parametrize("way", ["early", "at the end of the interpreter"])
def test_a_pass_ends_while_workers_are_within_python(way):
    words = [sys.executable, "-c", SCRIPT, way]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr
