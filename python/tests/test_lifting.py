"""What is recognised, as a table."""

import pytest
from PIL import Image

torch = pytest.importorskip("torch")

from drapps.torch.chain import Form  # noqa: E402
from drapps.torch.lifting import chain_of  # noqa: E402
from drapps.torch.recognise import NotLifted  # noqa: E402
from python.tests.lifting_chains import MEAN, STD, one_op  # noqa: E402

PICTURE_OPS = [
    (
        lambda t: t.RandomResizedCrop(24, scale=(0.5, 1), ratio=(1, 2)),
        {
            "op": "random_resized_crop",
            "height": 24,
            "width": 24,
            "scale": [0.5, 1.0],
            "ratio": [1.0, 2.0],
            "interpolation": "bilinear",
        },
    ),
    (
        lambda t: t.Resize(30, interpolation=t.InterpolationMode.BICUBIC),
        {"op": "resize", "short_side": 30, "interpolation": "bicubic"},
    ),
    (lambda t: t.Resize([30]), {"op": "resize", "short_side": 30, "interpolation": "bilinear"}),
    (
        lambda t: t.Resize((30, 20), antialias=False),
        {"op": "resize", "height": 30, "width": 20, "interpolation": "bilinear"},
    ),
    (
        lambda t: t.Resize(30, max_size=40),
        {"op": "resize", "short_side": 30, "max_size": 40, "interpolation": "bilinear"},
    ),
    (lambda t: t.CenterCrop((9, 8)), {"op": "center_crop", "height": 9, "width": 8}),
    (
        lambda t: t.RandomCrop(8, padding=(1, 2), pad_if_needed=True, fill=7),
        {
            "op": "random_crop",
            "height": 8,
            "width": 8,
            "pad_left": 1,
            "pad_top": 2,
            "pad_right": 1,
            "pad_bottom": 2,
            "pad_if_needed": True,
            "mode": "constant",
            "fill": [7],
            "mask_fill": 0,
        },
    ),
    (
        lambda t: t.Pad((1, 2, 3, 4), fill=(5, 6, 7), padding_mode="edge"),
        {
            "op": "pad",
            "left": 1,
            "top": 2,
            "right": 3,
            "bottom": 4,
            "mode": "edge",
            "fill": [5, 6, 7],
            "mask_fill": 0,
        },
    ),
    (lambda t: t.RandomHorizontalFlip(0.25), {"op": "horizontal_flip", "p": 0.25}),
    (lambda t: t.RandomVerticalFlip(), {"op": "vertical_flip", "p": 0.5}),
    (
        lambda t: t.ColorJitter(0.4, (0.5, 2), hue=0.1),
        {
            "op": "color_jitter",
            "brightness": [0.6, 1.4],
            "contrast": [0.5, 2.0],
            "saturation": [1.0, 1.0],
            "hue": [-0.1, 0.1],
        },
    ),
    (lambda t: t.Grayscale(3), {"op": "grayscale", "channels": 3}),
    (lambda t: t.RandomGrayscale(0.2), {"op": "random_grayscale", "p": 0.2}),
]


def test_what_only_v2_has(v2):
    def lifted(*transforms):
        return chain_of(v2.Compose([*transforms, v2.ToImage()])).ops[-1]

    resize = lifted(v2.RandomResize(20, 31, interpolation="bicubic"))
    assert (resize["op"], resize["min_size"], resize["max_size"]) == ("random_resize", 20, 31)
    assert resize["interpolation"] == "bicubic"
    assert lifted(v2.Pad(1, fill={Image.Image: (1, 2, 3), "others": 9}))["fill"] == [1, 2, 3]
    assert lifted(v2.Pad(1, fill={torch.Tensor: 5, "others": 9}))["fill"] == [9]
    assert lifted(v2.Pad(1, fill={torch.Tensor: 5}))["fill"] == [0]


def test_to_dtype_by_type_of_what_it_is_at_that_place(v2):
    image = type(v2.functional.to_image(Image.new("RGB", (1, 1))))
    floats = {image: torch.float32, "others": None}
    assert chain_of(v2.Compose([v2.ToImage(), v2.ToDtype(floats, scale=True)])).scale == "multiply"
    assert chain_of(v2.Compose([v2.PILToTensor(), v2.ToDtype(floats)])).form is Form.BYTES
    tensors = {torch.Tensor: torch.float32, "others": None}
    chain = chain_of(v2.Compose([v2.ToImage(), v2.ToPureTensor(), v2.ToDtype(tensors)]))
    assert chain.form is Form.FLOATS
    with pytest.raises(NotLifted, match="no dtype"):
        chain_of(v2.Compose([v2.ToImage(), v2.ToDtype({torch.Tensor: torch.float32})]))


@pytest.mark.parametrize("api", ["v1", "v2"])
@pytest.mark.parametrize(("make", "expected"), PICTURE_OPS)
def test_each_transform_becomes_its_op(request, v1, api, make, expected):
    assert one_op(v1.Compose, make(request.getfixturevalue(api)), v1.ToTensor()) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"value": 0.5}, ("constant", [0.5])),
        ({"value": (0.1, 0.2, 0.3)}, ("constant", [0.1, 0.2, 0.3])),
        ({"value": "random"}, ("normal_per_pixel", [0.0])),
    ],
)
@pytest.mark.parametrize("api", ["v1", "v2"])
def test_erasing_comes_last_and_keeps_its_value(request, v1, api, arguments, expected):
    erasing = request.getfixturevalue(api).RandomErasing(0.3, (0.1, 0.2), (0.5, 2.0), **arguments)
    chain = chain_of(
        v1.Compose([v1.CenterCrop(8), v1.ToTensor(), v1.Normalize(MEAN, STD), erasing])
    )
    op = chain.ops[-1]
    assert (op["p"], op["scale"], op["ratio"]) == (0.3, [0.1, 0.2], [0.5, 2.0])
    assert (op["mode"], op["value"]) == expected


def test_conversions_say_how_bytes_become_numbers(v1, v2):
    def numbers(*transforms):
        chain = chain_of(v1.Compose(transforms))
        return chain.form.name, chain.scale, chain.mean

    assert numbers(v1.ToTensor()) == ("FLOATS", "divide", [])
    assert numbers(v1.PILToTensor()) == ("BYTES", "none", [])
    to_float = v1.ConvertImageDtype(torch.float32)
    assert numbers(v1.PILToTensor(), to_float) == ("FLOATS", "divide", [])
    to_float = v2.ToDtype(torch.float32, scale=True)
    assert numbers(v2.ToImage(), to_float) == ("FLOATS", "multiply", [])
    assert numbers(v2.ToImage(), to_float, v2.ToPureTensor())[0] == "FLOATS"
    assert numbers(v2.PILToTensor(), v2.ToDtype(torch.float32)) == ("FLOATS", "none", [])
    assert numbers(v1.ToTensor(), v1.Normalize(MEAN, STD)) == ("FLOATS", "divide", MEAN)
    tensor_mean = v1.Normalize(torch.tensor([0.5]), torch.tensor([0.25]))
    assert numbers(v1.ToTensor(), tensor_mean) == ("FLOATS", "divide", [0.5, 0.5, 0.5])
    assert numbers(v1.Grayscale(), v1.ToTensor(), v1.Normalize([0.5], [0.5]))[2] == [0.5]


def test_containers_are_flattened_and_nothing_is_forgotten(v1, v2):
    inner = v2.Compose([v2.RandomHorizontalFlip(), v2.Identity(), v2.RGB()])
    chain = chain_of(v1.Compose([v1.CenterCrop(8), inner, torch.nn.Sequential(v2.ToImage())]))
    assert [op["op"] for op in chain.ops] == ["center_crop", "horizontal_flip"]
    assert len(chain.lifted) == 5


def test_flips_are_lifted_on_either_side_of_the_tensor(v1):
    chain = chain_of(v1.Compose([v1.ToTensor(), v1.RandomVerticalFlip(), v1.Normalize(MEAN, STD)]))
    assert [op["op"] for op in chain.ops] == ["vertical_flip"]


@pytest.mark.parametrize("api", ["v1", "v2"])
def test_random_apply_covers_its_ops(request, api):
    t = request.getfixturevalue(api)
    flips = [t.RandomHorizontalFlip(), t.RandomVerticalFlip()]
    jitter = t.RandomApply(torch.nn.ModuleList([t.ColorJitter(0.4), t.RandomGrayscale()]), p=0.8)
    nested = t.RandomApply([t.CenterCrop(8), jitter, t.Compose(flips)], 0.25)
    chain = chain_of(t.Compose([nested, t.RandomApply([torch.nn.Sequential()]), t.PILToTensor()]))
    assert [(op["op"], op.get("count"), op.get("p")) for op in chain.ops] == [
        ("random_apply", 6, 0.25),
        ("center_crop", None, None),
        ("random_apply", 2, 0.8),
        ("color_jitter", None, None),
        ("random_grayscale", None, 0.1),
        ("horizontal_flip", None, 0.5),
        ("vertical_flip", None, 0.5),
    ]
    assert [line.split("(")[0] for line in chain.lifted] == [
        "RandomApply",
        "RandomApply",
        "PILToTensor",
    ]
    assert "CenterCrop(size=(8, 8))" in chain.lifted[0]
