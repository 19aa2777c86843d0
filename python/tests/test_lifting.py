"""What is recognised, as a table, and what is not, with the reason."""

import functools
import os
import subprocess
import sys

import pytest
from PIL import Image

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from drapps.torch.chain import Form  # noqa: E402
from drapps.torch.lifting import chain_of  # noqa: E402
from drapps.torch.recognise import NotLifted  # noqa: E402

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

# Elsewhere torchvision makes floats of the bytes to resize them bilinearly.
needs_avx2 = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="torch has no AVX2"
)


@pytest.fixture(scope="module")
def folder(torchvision):
    return torchvision.datasets.ImageFolder


def one_op(compose, transform, to_tensor):
    (op,) = chain_of(compose([transform, to_tensor])).ops
    return {name: value for name, value in op.items() if name != "pass_order"}


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


def test_random_apply_that_makes_two_kinds_of_samples_is_not_lifted(v1, v2, photos, folder):
    def sometimes(*transforms):
        return v2.RandomApply(list(transforms))

    to_float = v2.ToDtype(torch.float32, scale=True)
    normal = v2.Normalize(MEAN, STD)
    some_others = "RandomApply converts some samples and leaves others"
    reject(v1.Compose([v1.RandomApply([v1.Grayscale()]), v1.ToTensor()]), some_others)
    reject(v2.Compose([sometimes(v2.ToImage()), v2.ToImage()]), some_others)
    reject(v2.Compose([v2.ToImage(), sometimes(to_float)]), some_others)
    reject(v2.Compose([v2.ToImage(), to_float, sometimes(normal)]), some_others)
    reject(v2.Compose([v2.ToImage(), sometimes(v2.ToPureTensor())]), some_others)
    erasing = sometimes(v2.RandomErasing())
    chain_of(v2.Compose([v2.ToImage(), to_float, erasing, v2.RandomErasing()]))
    late = v2.RandomHorizontalFlip()
    reject(v2.Compose([v2.ToImage(), to_float, erasing, late]), "comes after RandomErasing")
    reject(v2.Compose([sometimes(v2.GaussianBlur(3)), v2.ToImage()]), "GaussianBlur is not known")
    patched = sometimes(v2.RandomHorizontalFlip())
    patched.forward = lambda img: img
    reject(v2.Compose([patched, v2.ToImage()]), "forward was replaced")

    def reason(*transforms):
        chain = v2.Compose([*transforms, v2.ToImage()])
        return drapps.torch.DataLoader(folder(photos, chain)).lifted().reasons

    assert "no common size" in reason(v2.CenterCrop(9), sometimes(v2.CenterCrop(8)))[0]
    assert not reason(sometimes(v2.CenterCrop(8)), v2.CenterCrop(9))


@pytest.fixture(scope="module")
def create(v1):
    return pytest.importorskip("timm.data").create_transform if v1 else None


def test_timm_training(create):
    chain = chain_of(create(24, is_training=True, re_prob=0.25, re_count=3, re_mode="pixel"))
    names = ["random_resized_crop", "horizontal_flip", "color_jitter", "random_erasing"]
    assert [op["op"] for op in chain.ops] == names
    erasing = chain.ops[-1]
    assert (erasing["mode"], erasing["min_count"], erasing["max_count"]) == (
        "normal_per_pixel",
        1,
        3,
    )
    assert erasing["ratio"] == pytest.approx([0.3, 1 / 0.3])
    assert erasing["scale"] == pytest.approx([0.02, 1 / 3])


def test_timm_random_interpolation(create):
    chain = chain_of(create(24, is_training=True, interpolation="random"))
    assert chain.ops[0]["interpolation"] == "random"


def test_timm_evaluation(create):
    chain = chain_of(create((3, 24, 24), interpolation="bicubic"))
    assert [op["op"] for op in chain.ops] == ["resize", "center_crop"]
    assert chain.mean == pytest.approx(MEAN)


def test_timm_resize_keep_ratio(v1, photos, folder):
    timm = pytest.importorskip("timm.data.transforms")

    def op_of(*arguments, **more):
        return one_op(v1.Compose, timm.ResizeKeepRatio(*arguments, **more), v1.ToTensor())

    plain = op_of(24, 1.0, "bicubic")
    assert (plain["op"], plain["height"], plain["width"]) == ("resize_keep_ratio", 24, 24)
    assert (plain["longest"], plain["interpolation"]) == (1.0, "bicubic")
    assert plain["scale_p"] == plain["aspect_p"] == 0.0
    drawn = op_of(
        (24, 30),
        interpolation="random",
        random_scale_prob=0.25,
        random_scale_range=(0.5, 1.5),
        random_scale_area=True,
        random_aspect_prob=0.75,
        random_aspect_range=(0.8, 1.25),
    )
    assert (drawn["height"], drawn["width"], drawn["interpolation"]) == (24, 30, "random")
    assert (drawn["scale_p"], drawn["scale"], drawn["scale_area"]) == (0.25, [0.5, 1.5], True)
    assert (drawn["aspect_p"], drawn["aspect"]) == (0.75, [0.8, 1.25])

    def ordered(*arguments, **more):
        steps = [timm.ResizeKeepRatio(*arguments, **more), v1.CenterCrop(9), v1.ToTensor()]
        chain = folder(photos, v1.Compose(steps))
        return drapps.torch.DataLoader(chain, torch_order=True).lifted().reasons

    assert not ordered(24)
    assert "resize_keep_ratio draws" in ordered(24, interpolation="random")[0]
    assert "resize_keep_ratio draws" in ordered(24, random_aspect_prob=0.1)[0]
    reject(v1.Compose([timm.ResizeKeepRatio(24, 1.5), v1.ToTensor()]), "longest=1.5 must be")
    reject(v1.Compose([v1.ToTensor(), timm.ResizeKeepRatio(24)]), "runs on a tensor of floats")


def test_timm_borders(create, v1):
    chain = chain_of(create((3, 24, 30), crop_mode="border", mean=(0.5, 0.25, 0.125)))
    keep, crop = chain.ops
    assert (keep["op"], keep["longest"]) == ("resize_keep_ratio", 1.0)
    assert crop == {"op": "center_crop", "height": 24, "width": 30, "fill": [128, 64, 32]}
    chain = chain_of(create(24, is_training=True, train_crop_mode="rkrc"))
    assert [op["op"] for op in chain.ops[:2]] == ["resize_keep_ratio", "center_crop"]
    assert (chain.ops[0]["aspect_p"], chain.ops[1]["mode"]) == (0.5, "reflect")
    timm = pytest.importorskip("timm.data.transforms")
    reject(v1.Compose([v1.PILToTensor(), timm.CenterCropOrPad(8)]), "runs on a tensor of bytes")


def test_timm_bytes_for_its_prefetcher(create):
    assert chain_of(create(24, use_prefetcher=True)).form.name == "BYTES"


def test_timm_policies_are_named(create):
    with pytest.raises(NotLifted, match=r"timm\.data\.auto_augment\.RandAugment"):
        chain_of(create(24, is_training=True, auto_augment="rand-m9-mstd0.5"))


def reject(transform, match):
    with pytest.raises(NotLifted, match=match):
        chain_of(transform)


def test_unknown_transforms_are_named(v1, v2):
    reject(
        v1.Compose([v1.GaussianBlur(3), v1.ToTensor()]), r"transforms\.GaussianBlur is not known"
    )
    reject(v2.Compose([v2.RandAugment(), v2.ToImage()]), "RandAugment is not known")
    reject(v1.RandomOrder([v1.Grayscale(3)]), "RandomOrder is not known")
    reject(v1.Lambda(lambda x: x), "Lambda is not known")
    reject(lambda x: x, "<lambda> is not known")
    reject(functools.partial(max, 1), "partial is not known")


def test_subclasses_and_patched_objects_are_not_lifted(v1):
    class MyFlip(v1.RandomHorizontalFlip):
        def forward(self, img):
            return img

    reject(v1.Compose([MyFlip(), v1.ToTensor()]), "MyFlip is not known")
    patched = v1.RandomHorizontalFlip()
    patched.forward = lambda img: img
    reject(v1.Compose([patched, v1.ToTensor()]), "forward was replaced")
    hooked = v1.RandomHorizontalFlip()
    hooked.register_forward_hook(lambda *_: None)
    reject(v1.Compose([hooked, v1.ToTensor()]), "has hooks")


def test_a_class_patched_by_the_user_is_not_lifted(v1, monkeypatch):
    monkeypatch.setattr(v1.CenterCrop, "forward", lambda _self, img: img)
    reject(v1.Compose([v1.CenterCrop(8), v1.ToTensor()]), r"CenterCrop\.forward was replaced")


def test_arithmetic_that_has_no_native_form_is_not_lifted(v1):
    bicubic = v1.Resize((8, 8), interpolation=v1.InterpolationMode.BICUBIC)
    reject(v1.Compose([v1.PILToTensor(), bicubic]), "Resize runs on a tensor of bytes")
    reject(v1.Compose([v1.ToTensor(), v1.ColorJitter(0.1)]), "runs on a tensor of floats")
    nearest = v1.InterpolationMode.NEAREST
    reject(v1.Compose([v1.Resize(8, interpolation=nearest), v1.ToTensor()]), "resizes by nearest")
    reject(v1.Compose([v1.ToTensor(), v1.ConvertImageDtype(torch.float64)]), "to torch.float64")
    reject(v1.CenterCrop(8), "end in a Pillow picture")
    normal = v1.Normalize(MEAN, STD)
    reject(v1.Compose([v1.ToTensor(), normal, normal]), "a second time")
    reject(v1.Compose([v1.ToTensor(), v1.RandomErasing(), normal]), "after RandomErasing")
    late = v1.RandomHorizontalFlip()
    reject(v1.Compose([v1.ToTensor(), v1.RandomErasing(), late]), "comes after RandomErasing")
    reject(v1.Compose([v1.ToTensor(), v1.Normalize([0.5] * 2, [0.5] * 2)]), "2 numbers for 3")
    mirrored = v1.RandomCrop(8, padding=2, pad_if_needed=True, padding_mode="reflect")
    reject(v1.Compose([mirrored, v1.ToTensor()]), "pads twice by mirroring")


@needs_avx2
@pytest.mark.parametrize("antialias", [True, False, None])
def test_tensors_of_bytes_are_resized_in_torchs_arithmetic(v2, photos, folder, antialias):
    crop = v2.RandomResizedCrop(24, scale=(0.5, 1), antialias=antialias)
    chain = v2.Compose([v2.ToImage(), crop, v2.Resize((8, 8), antialias=antialias)])
    made = chain_of(chain).ops
    arithmetic = "torch_uint8" if antialias else "torch_uint8_no_antialias"
    assert [op["arithmetic"] for op in made] == [arithmetic] * 2
    assert {op["pass_order"] for op in made} == {"horizontal_first"}
    assert (made[0]["height"], made[0]["scale"]) == (24, [0.5, 1.0])
    report = drapps.torch.DataLoader(folder(photos, chain)).lifted()
    assert report.torch_resizes == (arithmetic,)
    assert not report.pillow_order
    assert f"resized tensors: {arithmetic}, as the installed torch" in str(report)


def test_transforms_of_tensors_without_a_native_form_are_named(v1, v2):
    to_float = v2.ToDtype(torch.float32, scale=True)

    def rejected(*transforms, match):
        reject(v2.Compose([v2.ToImage(), *transforms]), match)

    rejected(v2.ColorJitter(0.1), match="color_jitter runs on a tensor of bytes")
    rejected(v2.Grayscale(3), match="grayscale runs on a tensor of bytes")
    rejected(v2.RandomGrayscale(), match="random_grayscale runs on a tensor of bytes")
    rejected(v2.RandomAffine(5), match="RandomAffine is not known")
    rejected(v2.TrivialAugmentWide(), match="TrivialAugmentWide is not known")
    rejected(v2.GaussianBlur(3), match="GaussianBlur is not known")
    rejected(v2.RandomErasing(), match="RandomErasing runs on a tensor of bytes")
    nearest = v2.InterpolationMode.NEAREST
    rejected(v2.Resize(8, interpolation=nearest), match="resizes by nearest")
    rejected(to_float, v2.Resize((8, 8)), match="resize runs on a tensor of floats")
    rejected(to_float, v2.RandomResizedCrop(8), match="crop runs on a tensor of floats")
    rejected(to_float, v2.Pad(1, fill=3), match=r"pad fills a tensor of floats, with \[3\]")
    normal = v2.Normalize(MEAN, STD)
    rejected(to_float, normal, v2.CenterCrop(8), match="zeros around normalised values")
    rejected(to_float, normal, v2.Pad(1), match="zeros around normalised values")
    rejected(v2.Pad(1, fill=(1, 2, 3), padding_mode="edge"), match="Pad cannot fill a tensor")
    reject(v1.Compose([v1.PILToTensor(), v1.Pad(1, fill=(1, 2, 3))]), "Pad cannot fill a tensor")


@needs_avx2
def test_a_torch_that_resizes_otherwise_is_noticed(v2, monkeypatch):
    chain = v2.Compose([v2.ToImage(), v2.Resize((8, 8))])
    chain_of(chain)
    original = v2.functional.resize

    def floats(ending):
        def resize(image, size, **arguments):
            made = ending(original(image.to(torch.float32), size, **arguments))
            return made.clamp(0, 255).to(torch.uint8)

        return resize

    monkeypatch.setattr(v2.functional, "resize", floats(torch.round))
    assert chain_of(chain).torch_resizes == ("torch_float",)
    monkeypatch.setattr(v2.functional, "resize", floats(torch.floor))
    reject(chain, "an arithmetic that has no native form on this machine")


@needs_avx2
def test_without_avx2_torchvision_resizes_floats_by_bilinear_and_bytes_by_bicubic():
    script = (
        "from torchvision.transforms import v2\n"
        "from drapps.torch.lifting import chain_of\n"
        "from drapps.torch.recognise import NotLifted\n"
        "for mode in (v2.InterpolationMode.BICUBIC, v2.InterpolationMode.BILINEAR):\n"
        "    try:\n"
        "        chain_of(v2.Compose([v2.ToImage(), v2.Resize((8, 8), mode)]))\n"
        "        print(mode.value, 'lifted')\n"
        "    except NotLifted as reason:\n"
        "        print(mode.value, 'has no native form' in str(reason))\n"
    )
    pytest.importorskip("torchvision")
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert done.stdout.split() == ["bicubic", "lifted", "bilinear", "True"]


def test_another_default_dtype_is_noticed(v1):
    torch.set_default_dtype(torch.float64)
    try:
        reject(v1.ToTensor(), "give torch.float64")
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_pass_order_is_that_of_the_installed_pillow(v1, photos, folder, monkeypatch):
    import PIL

    chain = v1.Compose([v1.Resize((8, 8)), v1.ToTensor()])
    for version, order in (("13.0.0", "pillow13"), ("12.3.0", "horizontal_first")):
        monkeypatch.setattr(PIL, "__version__", version)
        assert chain_of(chain).ops[0]["pass_order"] == order
        report = drapps.torch.DataLoader(folder(photos, chain)).lifted()
        assert report.pillow_order == order
        assert order in str(report)
    monkeypatch.setattr(PIL, "__version__", "9.5.0.post2")
    reject(chain, "Pillow-SIMD")
