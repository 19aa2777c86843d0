"""Functions that modules import by name, and libraries that workers import later, are answered."""

from __future__ import annotations

import sys
import types

import pytest
import torch
from cv2 import imread as picture_of
from PIL import Image
from PIL.Image import open as open_picture
from torch.utils import data
from torchvision.transforms.functional import to_tensor

import drapps.torch
from drapps.accelerate.here import Region
from drapps.accelerate.late import LatePixels
from drapps.accelerate.tally import Tally
from python.tests.photo_batches import FORKED, Photos, batches, same
from python.tests.ranks import run_forked


class ByName(Photos):
    """Of functions that this module has imported by name."""

    def __getitem__(self, index):
        image = open_picture(self.paths[index]).convert("RGB")
        array = picture_of(str(self.paths[index]), 0)
        return to_tensor(image.resize((30, 20))), -1 if array is None else array[:20, :20].copy()


@pytest.mark.parametrize("start", FORKED)
def test_functions_imported_by_name_are_answered(start, photos):
    options = {"batch_size": 1, "multiprocessing_context": start}
    with_it, loader = batches(ByName(photos), **options)
    assert same(with_it, batches(ByName(photos), accelerate=False, **options)[0])
    jpegs = len(list(photos.rglob("*.jpg")))
    assert loader.explain().plan.pictures["native"] == 2 * jpegs


class Wrapped(data.Dataset):
    """Whether what two modules have imported by name is ours."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        held = [to_tensor]
        if self.late:
            held.append(sys.modules["imported_late"].to_tensor)
        return torch.tensor([hasattr(each, "__wrapped__") for each in held])

    late = False


def test_in_forked_workers_too_and_in_modules_imported_between_two_passes(monkeypatch):
    dataset = Wrapped()
    loader = drapps.torch.DataLoader(dataset, num_workers=1, multiprocessing_context="fork")
    assert next(iter(loader)).all()
    module = types.ModuleType("imported_late")
    module.to_tensor = to_tensor
    monkeypatch.setitem(sys.modules, "imported_late", module)
    dataset.late = True
    assert next(iter(loader)).tolist() == [[True, True]]


def test_tensors_are_made_of_views_by_a_function_imported_by_name(photos):
    path = next(photos.rglob("*.jpg"))
    plain = to_tensor
    with Region(Tally(1).of_process(0)):
        assert to_tensor is not plain
        tensor = to_tensor(image := Image.open(path).convert("RGB"))
        assert type(image._im) is LatePixels
        assert image._im.view is not None, "no pixels of Pillow's were made"
    assert to_tensor is plain
    assert torch.equal(tensor, to_tensor(Image.open(path).convert("RGB")))


# Runs in a fork of a process that has imported the package, but no Pillow, which it checks.
LATER = """
import sys
import drapps.torch, torch
class Later(torch.utils.data.Dataset):
    def __len__(self): return 3
    def __getitem__(self, index):
        import numpy as np
        from PIL import Image, JpegImagePlugin
        spec = JpegImagePlugin.__spec__
        assert spec.loader is JpegImagePlugin.__loader__, spec
        assert type(spec.loader).__module__.startswith(("importlib", "_frozen")), spec
        return np.asarray(Image.open(sys.argv[1]).convert("RGB"))
assert "PIL.Image" not in sys.modules
loader = drapps.torch.DataLoader(Later(), 1, num_workers=2)
batches = list(loader)
assert "PIL.Image" not in sys.modules
print(loader.explain().plan.pictures)
"""


def test_a_pillow_that_workers_import_later_is_answered_too(photos, tmp_path):
    path = next(photos.rglob("*.jpg"))
    (tmp_path / "script.py").write_text(LATER)
    done = run_forked(["script.py", path], tmp_path, ["drapps.torch"])
    assert done.returncode == 0, done.stderr
    assert "'native': 3" in done.stdout
