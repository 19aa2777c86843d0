"""Detection datasets, wrapped for v2: boxes and labels come from the workers as v2 made them."""

import importlib

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.conftest import picture  # noqa: E402

COUNT = 10


def annotation(name, height, width, boxes):
    objects = "".join(
        f"<object><name>{kind}</name><bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin>"
        f"<xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>"
        for kind, box in boxes
    )
    size = f"<size><width>{width}</width><height>{height}</height><depth>3</depth></size>"
    return f"<annotation><filename>{name}.jpg</filename>{size}{objects}</annotation>"


@pytest.fixture(scope="module")
def detection(torchvision, tmp_path_factory):
    """Makes a wrapped ``VOCDetection`` of pictures with up to three boxes."""
    v2 = importlib.import_module(f"{torchvision.__name__}.transforms.v2")
    root = tmp_path_factory.mktemp("voc")
    home = root / "VOCdevkit" / "VOC2012"
    for folder in ("ImageSets/Main", "JPEGImages", "Annotations"):
        (home / folder).mkdir(parents=True)
    names = [f"2007_{number:06}" for number in range(COUNT)]
    (home / "ImageSets/Main/train.txt").write_text("\n".join(names))
    for number, name in enumerate(names):
        height, width = 60 + number, 80 - number
        picture(number, height, width).save(home / f"JPEGImages/{name}.jpg")
        boxes = [
            (kind, (5 * k + 1, 4 * k + 1, 5 * k + 30, 4 * k + 25))
            for k, kind in enumerate(("dog", "cat", "sheep")[: 1 + number % 3])
        ]
        (home / f"Annotations/{name}.xml").write_text(annotation(name, height, width, boxes))
    transforms = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomPhotometricDistort(p=0.5),
            v2.RandomIoUCrop(),
            v2.RandomHorizontalFlip(),
            v2.Resize((48, 64)),
            v2.SanitizeBoundingBoxes(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    dataset = torchvision.datasets.VOCDetection(root, image_set="train", transforms=transforms)
    return torchvision.datasets.wrap_dataset_for_transforms_v2(
        dataset, target_keys=("boxes", "labels")
    )


def together(samples):
    return tuple(zip(*samples, strict=True))


def passes(make, dataset, **options):
    torch.manual_seed(5)
    loader = make(dataset, batch_size=3, shuffle=True, collate_fn=together, **options)
    return list(loader)


def same(left, right):
    assert type(left) is type(right)
    if isinstance(left, torch.Tensor):
        assert vars(left) == vars(right)  # the boxes' format and canvas size
        return torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return len(left) == len(right) and all(map(same, left, right))


def test_boxes_of_the_stock_loader(detection):
    expected = passes(data.DataLoader, detection, num_workers=2)
    epochs = passes(drapps.torch.DataLoader, detection, num_workers=2, torch_order=True)
    assert same(epochs, expected)
    boxes = epochs[0][1][0]["boxes"]
    assert type(boxes).__name__ == "BoundingBoxes" and boxes.canvas_size == (48, 64)


def test_boxes_of_any_number_of_workers(detection):
    one, three = (
        passes(drapps.torch.DataLoader, detection, num_workers=workers, seed=4)
        for workers in (1, 3)
    )
    assert same(one, three)
