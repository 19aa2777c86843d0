"""Segmentation datasets, wrapped for v2: lifted, and equal to the stock loader's batches."""

import importlib
import math
from collections import defaultdict
from functools import partial

import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.mask_files import (  # noqa: E402
    COUNT,
    assert_equal,
    reason,
    size_of,
    wrap,
    wrapped_voc,
    write_pair,
    write_voc,
)
from python.tests.test_stream_format import Draws  # noqa: E402

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@pytest.fixture(scope="module")
def tv_tensors(torchvision):
    return importlib.import_module(f"{torchvision.__name__}.tv_tensors")


@pytest.fixture(scope="module")
def voc_root(tmp_path_factory):
    return write_voc(tmp_path_factory.mktemp("voc"))


@pytest.fixture
def voc(voc_root, torchvision):
    return partial(wrapped_voc, torchvision, root=voc_root)


CHAINS = {
    "pictures": lambda t, _: [
        t.Resize((48, 40)),
        t.RandomHorizontalFlip(1.0),
        t.ToImage(),
        t.ToDtype(torch.float32, scale=True),
        t.Normalize(MEAN, STD),
    ],
    "tensors": lambda t, tv: [
        t.ToImage(),
        t.Resize((31, 77), antialias=True),
        t.RandomVerticalFlip(1.0),
        t.ToDtype({tv.Image: torch.float32, tv.Mask: torch.int64, "others": None}, scale=True),
        t.Normalize(MEAN, STD),
    ],
    "bicubic": lambda t, tv: [
        t.Resize((90, 33), interpolation=t.InterpolationMode.BICUBIC),
        t.PILToTensor(),
        t.ToDtype({torch.Tensor: torch.float32, tv.Mask: torch.int32}),
    ],
    "short side": lambda t, _: [t.Resize(50), t.CenterCrop(44), t.ToImage()],
    "by chance one size": lambda t, tv: [
        t.RandomResize(37, 38),
        t.Pad(9, fill=defaultdict(lambda: 0, {tv.Mask: 255})),
        t.CenterCrop((50, 36)),
        t.ToImage(),
    ],
    "bordered": lambda t, tv: [
        t.Pad((3, 1, 2, 5), fill={Image.Image: (9, 8, 7), "others": 200}),
        t.CenterCrop(170),
        t.ToImage(),
        t.Pad(2, fill={tv.Image: 3, tv.Mask: 17}),
        t.ToDtype({tv.Mask: torch.int64, "others": None}),
        t.Pad(4, padding_mode="reflect"),
    ],
    "one fill for both": lambda t, _: [t.CenterCrop(50), t.Pad(5, fill=77), t.ToImage()],
    "mirrored": lambda t, _: [
        t.CenterCrop(50),
        t.ToImage(),
        t.Pad(5, padding_mode="symmetric"),
        t.Pad(4, padding_mode="edge"),
        t.ToPureTensor(),
    ],
    "always or never": lambda t, _: [
        t.RandomApply([t.Resize((44, 50)), t.RandomHorizontalFlip(1.0)], p=1.0),
        t.RandomApply([t.RandomVerticalFlip(1.0)], p=0.0),
        t.CenterCrop(60),
        t.ToImage(),
    ],
    "colours leave masks alone": lambda t, _: [
        t.CenterCrop(50),
        t.ColorJitter(brightness=(1.3, 1.3)),
        t.Grayscale(3),
        t.ToImage(),
        t.ToDtype(torch.float32, scale=True),
        t.ToPureTensor(),
        t.Normalize([0.5], [0.2]),
    ],
    "whole crop": lambda t, _: [
        t.Resize((64, 64)),
        t.RandomResizedCrop((40, 23), scale=(1, 1), ratio=(1, 1)),
        t.ToImage(),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_equal_the_stock_loader(voc, v2, tv_tensors, name):
    assert assert_equal(voc(v2.Compose(CHAINS[name](v2, tv_tensors)))) == COUNT


def test_every_ratio_of_sizes_takes_the_pixels_that_torch_takes(voc, v2):
    for size in [(1, 1), (2, 140), (53, 7), (70, 60), (140, 120), (141, 119), (333, 211)]:
        assert_equal(voc(v2.Compose([v2.Resize(size), v2.ToImage()])))


def test_pet_and_cityscapes(tmp_path, torchvision, v2):
    home = tmp_path / "oxford-iiit-pet"
    for folder in ("images", "annotations/trimaps"):
        (home / folder).mkdir(parents=True)
    lines = []
    for number in range(5):
        write_pair(
            number,
            home / f"images/Pug_{number}.jpg",
            home / f"annotations/trimaps/Pug_{number}.png",
            palette=False,
        )
        lines.append(f"Pug_{number} 1 1 1")
    (home / "annotations/trainval.txt").write_text("\n".join(lines))
    chain = v2.Compose([v2.Resize((30, 30)), v2.ToImage()])
    pets = torchvision.datasets.OxfordIIITPet
    segmented = wrap(torchvision, pets(tmp_path, target_types="segmentation", transforms=chain))
    assert assert_equal(segmented) == 5
    both = pets(tmp_path, target_types=["category", "segmentation"], transforms=chain)
    verdict = drapps.torch.DataLoader(wrap(torchvision, both), 2).lifted()
    assert "category and segmentation" in verdict.reasons[0]

    for folder in ("leftImg8bit", "gtFine"):
        (tmp_path / folder / "train" / "ulm").mkdir(parents=True)
    for number in range(5):
        write_pair(
            number,
            tmp_path / f"leftImg8bit/train/ulm/ulm_{number}_leftImg8bit.png",
            tmp_path / f"gtFine/train/ulm/ulm_{number}_gtFine_labelIds.png",
            palette=False,
        )
    streets = torchvision.datasets.Cityscapes(tmp_path, target_type="semantic", transforms=chain)
    assert assert_equal(wrap(torchvision, streets), 2, drop_last=True) == 4


def test_subsets_and_samplers(voc, v2):
    whole = voc(v2.Compose([v2.Resize((20, 24)), v2.ToImage()]))
    some = data.Subset(data.Subset(whole, [9, 2, 7, 4, 0]), [4, 0, 1])
    assert assert_equal(some, 2) == 3
    sampler = data.SubsetRandomSampler(range(3), generator=torch.Generator().manual_seed(3))
    mine = drapps.torch.DataLoader(some, 2, sampler=sampler)
    assert mine.lifted()
    assert sum(len(images) for images, _ in mine) == 3


def drawn_crop(height, width, draws):
    """RandomResizedCrop's rectangle, as docs/reference/stream.md says."""
    uniform = lambda low, high: low + (high - low) * (draws.word() / 2**32)  # noqa: E731
    for _ in range(10):
        area = height * width * uniform(0.2, 1.0)
        aspect = math.exp(uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return draws.below(height - h + 1), draws.below(width - w + 1), h, w
    raise AssertionError("choose another seed")


@pytest.mark.parametrize("form", ["pictures", "tensors"])
def test_what_is_drawn_is_the_same_for_picture_and_mask(voc, v2, tv_tensors, form):
    crop = v2.RandomResizedCrop((29, 37), scale=(0.2, 1.0))
    fill = defaultdict(lambda: 0, {tv_tensors.Mask: 255})
    padded = v2.RandomCrop((20, 30), padding=(3, 1), fill=fill)
    moves = [crop, v2.RandomHorizontalFlip(0.5), padded]
    first, last = ([v2.ToImage()], []) if form == "tensors" else ([], [v2.ToImage()])
    loader = drapps.torch.DataLoader(voc(v2.Compose([*first, *moves, *last])), 4, seed=6)
    assert loader.lifted(), str(loader.lifted())
    plain = voc(v2.Compose(first) if first else None)
    functional = v2.functional
    flips = 0
    position = 0
    for images, masks in loader:
        for image, mask in zip(images, masks, strict=True):
            sample = plain[position]
            rect = drawn_crop(*size_of(position), Draws(6, 0, position, 1))
            flip = Draws(6, 0, position, 2).coin(0.5)
            place = Draws(6, 0, position, 3)
            top, left = place.below(29 + 2 - 20 + 1), place.below(37 + 6 - 30 + 1)
            flips += flip
            parts = []
            for part in sample:
                part = functional.resized_crop(part, *rect, [29, 37])
                part = functional.horizontal_flip(part) if flip else part
                part = functional.pad(
                    part, [3, 1], fill=255 if type(part) is tv_tensors.Mask else 0
                )
                part = functional.crop(part, top, left, 20, 30)
                parts.append(part if isinstance(part, torch.Tensor) else functional.to_image(part))
            assert torch.equal(image, parts[0])
            assert torch.equal(mask, parts[1])
            position += 1
    assert position == COUNT
    assert 0 < flips < COUNT


def test_state_and_workers(voc, v2):
    dataset = voc(v2.Compose([v2.RandomCrop(40), v2.RandomHorizontalFlip(), v2.ToImage()]))
    expected = list(drapps.torch.DataLoader(dataset, 3, shuffle=True, seed=1, cpu_budget=1))
    loader = drapps.torch.DataLoader(dataset, 3, shuffle=True, seed=1, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    again = drapps.torch.DataLoader(dataset, 3, shuffle=True, seed=1)
    again.load_state_dict(loader.state_dict())
    for pair, other in zip(again, expected[1:], strict=True):
        assert torch.equal(pair[0], other[0])
        assert torch.equal(pair[1], other[1])


def test_what_is_not_lifted_is_named(voc, voc_root, v2, tv_tensors, torchvision):
    size = [v2.Resize((20, 20)), v2.ToImage()]
    voc2012 = torchvision.datasets.VOCSegmentation
    unwrapped = voc2012(voc_root, transforms=v2.Compose(size))
    assert "VOCSegmentation" in reason(unwrapped)
    apart = wrap(torchvision, voc2012(voc_root, transform=v2.Compose(size)))
    assert "apart" in reason(apart)
    assert "no transforms" in reason(wrap(torchvision, voc2012(voc_root)))
    late = voc(v2.Compose(size))
    late._dataset.transforms = v2.Compose(size)
    assert "after it was wrapped" in reason(late)
    for chain, why in [
        ([v2.ToImage(), v2.ToPureTensor(), v2.Resize((20, 20))], "ToPureTensor"),
        ([*size, v2.RandomRotation(5)], "RandomRotation"),
        ([*size, v2.Pad(1, fill={tv_tensors.Mask: 300, "others": 0})], "300"),
        ([*size, v2.Pad(1, fill={tv_tensors.Mask: (1, 2), "others": 0})], "fills masks"),
        ([*size, v2.ToDtype({tv_tensors.Mask: torch.float32, "others": None})], "masks to"),
        ([*size, v2.ToDtype({tv_tensors.Image: torch.float32})], "no dtype for a mask"),
        ([torchvision.transforms.Resize((20, 20)), v2.ToImage()], "transforms.Resize"),
        ([v2.Resize((20, 20))], "Pillow picture"),
        ([v2.Resize((20, 20), interpolation=v2.InterpolationMode.NEAREST), v2.ToImage()], "near"),
    ]:
        assert why in reason(voc(v2.Compose(chain)))

    class Other(voc2012):
        pass

    assert "Other" in reason(wrap(torchvision, Other(voc_root, transforms=v2.Compose(size))))
    replaced = voc(v2.Compose(size))
    replaced._wrapper = lambda _, sample: sample
    assert "wrapped by" in reason(replaced)
    patched = voc(v2.Compose(size))
    type(patched).__getitem__ = lambda *_: None
    assert "replaced" in reason(patched)
