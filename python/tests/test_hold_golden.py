"""Whole pipelines give, bit for bit, what the installed Pillow and torch give."""

import io
import itertools

import numpy as np
import PIL
import pytest
from PIL import Image, ImageOps

import drapps
from python.tests.cells import cells
from python.tests.decode_files import SAMPLINGS, SIZES, encode, jpeg, picture

torch = pytest.importorskip("torch")

ORDER = "pillow13" if int(PIL.__version__.split(".")[0]) >= 13 else "horizontal_first"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RECORDS = [jpeg(sampling, *size) for sampling, size in itertools.product(SAMPLINGS, SIZES)] + [
    encode(picture("RGB", *size), kind, **options)
    for size in SIZES
    for kind, options in (("PNG", {}), ("WEBP", {"quality": 80}))
]
FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}


def middle(image, size):
    left, top = round((image.width - size) / 2), round((image.height - size) / 2)
    return image.crop((left, top, left + size, top + size))


def by_pillow(record, target, interpolation="bilinear", crop=32, flip=ImageOps.mirror):
    """The stock chain of Resize, CenterCrop and a certain flip: (height, width, 3) bytes."""
    with Image.open(io.BytesIO(record)) as image:
        resized = image.convert("RGB").resize(target[::-1], FILTERS[interpolation])
    return np.asarray(flip(middle(resized, crop)))


def by_torch(pixels, dtype, layout):
    """ToTensor and Normalize, then the dtype."""
    tensor = torch.from_numpy(pixels).permute(2, 0, 1).contiguous()
    if dtype != "uint8":
        tensor = tensor.to(torch.float32).div(255)
        tensor = tensor.sub(torch.tensor(MEAN)[:, None, None]).div(torch.tensor(STD)[:, None, None])
    tensor = tensor.to(getattr(torch, dtype))
    return tensor.permute(1, 2, 0) if layout == "nhwc" else tensor


def bits(tensor):
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[tensor.element_size()]
    return tensor.contiguous().view(whole)


def rows(loader, name="image"):
    return torch.cat([batch[name].clone() for batch in loader.torch()])


@pytest.mark.parametrize(
    ("target", "interpolation"), cells([(40, 50), (33, 32), (151, 97)], FILTERS)
)
def test_decode_resize_crop_flip_equals_pillow(interpolation, target):
    pipeline = drapps.image_bytes(RECORDS).resize(target, None, interpolation, ORDER)
    pipeline = pipeline.center_crop(32).flip(1.0).to("uint8", "nhwc")
    images = rows(pipeline.batch(16))
    assert len(images) == len(RECORDS)
    for number, record in enumerate(RECORDS):
        wanted = by_pillow(record, target, interpolation)
        np.testing.assert_array_equal(images[number].numpy(), wanted, f"record {number}")


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "bfloat16", "float16"])
def test_every_form_of_the_batch_equals_torch(dtype, layout):
    pipeline = drapps.image_bytes(RECORDS).resize((40, 50), pass_order=ORDER).center_crop(32)
    pipeline = pipeline.flip(1.0).flip_vertical(1.0).to(dtype, layout)
    if dtype != "uint8":
        pipeline = pipeline.normalize(MEAN, STD)
    images = rows(pipeline.batch(7))
    for number, record in enumerate(RECORDS):
        pixels = by_pillow(record, (40, 50), flip=lambda i: ImageOps.flip(ImageOps.mirror(i)))
        wanted = by_torch(pixels.copy(), dtype, layout)
        assert torch.equal(bits(images[number]), bits(wanted)), f"record {number}"


def test_normalise_equals_torch_for_all_256_values_of_each_channel():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    pixels = np.stack([ramp, ramp.T, ramp[::-1]], axis=-1)
    record = encode(Image.fromarray(pixels), "PNG")
    for dtype in ("float32", "bfloat16", "float16"):
        pipeline = drapps.image_bytes([record]).center_crop(16).to(dtype).normalize(MEAN, STD)
        image = rows(pipeline.batch(1))[0]
        assert torch.equal(bits(image), bits(by_torch(pixels.copy(), dtype, "nchw")))


def test_masks_move_with_their_pictures_by_nearest_neighbour():
    ids = [Image.fromarray(np.asarray(picture("L", *size)) // 16) for size in SIZES]
    sources = [encode(picture("RGB", *size), "PNG") for size in SIZES]
    masks = [encode(mask, "PNG") for mask in ids]
    pipeline = drapps.image_bytes(sources, masks=masks).resize((45, 51), pass_order=ORDER)
    loader = pipeline.center_crop(32).flip(1.0).to("uint8", "nhwc").batch(4)
    pictures, moved = rows(loader), rows(loader, "mask")
    for number, (source, mask) in enumerate(zip(sources, ids, strict=True)):
        wanted = ImageOps.mirror(middle(mask.resize((51, 45), Image.Resampling.NEAREST), 32))
        np.testing.assert_array_equal(moved[number].numpy(), np.asarray(wanted))
        np.testing.assert_array_equal(pictures[number].numpy(), by_pillow(source, (45, 51)))


def test_boxes_move_with_their_pictures_and_those_outside_are_dropped():
    source = encode(picture("RGB", 80, 160), "PNG")  # resized to half, then 32 of 40 x 80
    corners = np.array(
        [[60, 20, 100, 60], [0, 0, 40, 80], [40, 0, 90, 30], [10, 10, 150, 70]], np.float32
    )
    boxes = (np.array([0, 3, 3, 4]), corners, np.array([7, 8, 9, 5]))
    pipeline = drapps.image_bytes([source] * 3, boxes=boxes).resize((40, 80)).center_crop(32)
    batch = next(iter(pipeline.flip(1.0).max_boxes(4).batch(3))).numpy()
    assert batch["box_counts"].tolist() == [2, 0, 1]
    assert batch["box_labels"][0, :2].tolist() == [7, 9]
    assert batch["box_labels"][2, 0] == 5
    # halved: 30,10,50,30; minus the crop at 24,4: 6,6,26,26; mirrored: 6,6,26,26
    assert batch["boxes"][0, 0].tolist() == [6, 6, 26, 26]
    # 20,0,45,15 -> -4,-4,21,11, cut to 0,0,21,11 -> mirrored 11,0,32,11
    assert batch["boxes"][0, 1].tolist() == [11, 0, 32, 11]
    # 5,5,75,35 -> -19,1,51,31 -> the whole width
    assert batch["boxes"][2, 0].tolist() == [0, 1, 32, 31]
