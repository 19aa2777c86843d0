"""Presets: whole chains that torchvision's weights and its reference scripts come with."""

import importlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from drapps import _core  # noqa: E402
from drapps.torch.chain import MaskForm, described  # noqa: E402, described
from drapps.torch.lifting import chain_of  # noqa: E402
from drapps.torch.recognise import NotLifted  # noqa: E402
from python.tests import reference_presets as reference  # noqa: E402
from python.tests.test_stream_format import Draws  # noqa: E402
from python.tests.test_torch_golden import assert_equal, needs_avx2  # noqa: E402

API_BACKENDS = [
    ("v1", "pil"),
    ("v2", "pil"),
    pytest.param("v1", "tensor", marks=needs_avx2),
    pytest.param("v2", "tensor", marks=needs_avx2),
]


@pytest.fixture(scope="module")
def presets(torchvision):
    return importlib.import_module(f"{torchvision.__name__}.transforms._presets")


def reject(transform, match, mask=None):
    with pytest.raises(NotLifted, match=match):
        chain_of(transform, mask)


def test_what_weights_bring_becomes_its_ops(torchvision):
    weights = torchvision.models.get_model_weights("resnet50").DEFAULT
    chain = chain_of(weights.transforms())
    assert [op["op"] for op in chain.ops] == ["resize", "center_crop"]
    assert (chain.ops[0]["short_side"], chain.ops[1]["height"]) == (232, 224)
    assert (chain.scale, chain.mean) == ("divide", [0.485, 0.456, 0.406])
    (line,) = chain.lifted
    assert line.startswith("ImageClassification( crop_size=[224] resize_size=[232]")


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_the_pixels_of_image_classification(photos, torchvision, presets, v1, interpolation):
    mode = v1.InterpolationMode(interpolation)
    small = presets.ImageClassification(crop_size=40, resize_size=51, interpolation=mode)
    assert_equal(photos, torchvision, small)
    padded = presets.ImageClassification(
        crop_size=60, resize_size=47, interpolation=mode, mean=(0.5,) * 3, std=(0.2, 0.3, 0.4)
    )
    assert_equal(photos, torchvision, v1.Compose([v1.RandomHorizontalFlip(1.0), padded]))
    of_tensors = v1.Compose([v1.PILToTensor(), small])
    if interpolation == "bilinear":
        assert_equal(photos, torchvision, of_tensors)
    else:
        reject(of_tensors, "by bicubic in an arithmetic that has no native form")


def test_the_pixels_of_semantic_segmentation(photos, torchvision, presets, v1):
    whole = presets.SemanticSegmentation(resize_size=None)
    assert_equal(photos, torchvision, v1.Compose([v1.CenterCrop(70), whole]))
    assert_equal(photos, torchvision, v1.Compose([v1.ToTensor(), v1.CenterCrop(70), whole]))
    resized = presets.SemanticSegmentation(resize_size=37)
    assert_equal(photos, torchvision, v1.Compose([v1.CenterCrop((70, 60)), resized]))
    folder = torchvision.datasets.ImageFolder(photos, resized)
    assert "no common size" in drapps.torch.DataLoader(folder).lifted().reasons[0]


def test_presets_that_do_something_else_are_not_lifted(
    photos, torchvision, presets, v1, monkeypatch
):
    class Mine(presets.ImageClassification):
        pass

    plain = presets.ImageClassification(crop_size=8)
    chain_of(plain)
    reject(Mine(crop_size=8), "Mine is not known")
    sharp = presets.ImageClassification(crop_size=8, antialias=False)
    reject(v1.Compose([v1.PILToTensor(), sharp]), "Resize runs on a tensor of bytes")
    nearest = v1.InterpolationMode.NEAREST
    reject(presets.ImageClassification(crop_size=8, interpolation=nearest), "resizes by nearest")
    reject(presets.ObjectDetection(), "ObjectDetection is not known")
    reject(plain, "ImageClassification is not known", MaskForm())
    monkeypatch.setattr(v1.functional, "center_crop", lambda img, _size: img)
    folder = torchvision.datasets.ImageFolder(photos, plain)
    assert "center_crop was replaced" in drapps.torch.DataLoader(folder).lifted().reasons[0]
    monkeypatch.undo()
    monkeypatch.setattr(presets.ImageClassification, "forward", lambda _self, img: img)
    reject(plain, r"ImageClassification\.forward was replaced")


@pytest.mark.parametrize(("api", "backend"), API_BACKENDS)
def test_classification_evaluation(request, photos, torchvision, api, backend):
    preset = reference.ClassificationEval(request.getfixturevalue(api), backend)
    assert_equal(photos, torchvision, preset)
    assert_equal(photos, torchvision, preset.transforms)


@pytest.mark.parametrize(("api", "backend"), API_BACKENDS)
def test_classification_training(request, photos, torchvision, api, backend):
    """The rectangles and coins that the native ops drew, through the preset's own functions."""
    api = request.getfixturevalue(api)
    preset = reference.ClassificationTrain(api, backend)
    folder = torchvision.datasets.ImageFolder(photos, preset)
    loader = drapps.torch.DataLoader(folder, 7, seed=4)
    report = loader.lifted()
    assert report, str(report)
    assert len(report.transforms) == len(preset.transforms.transforms)
    crop, flip = chain_of(preset).ops
    rest = [t for t in preset.transforms.transforms if "Random" not in type(t).__name__]
    before, after = (rest[:1], rest[1:]) if backend == "tensor" else ([], rest)
    mirrored = api.RandomHorizontalFlip(1.0)
    flips = position = 0
    for images, _ in loader:
        for image in images:
            picture = folder.loader(folder.samples[position][0])
            record = _core.augment.run(crop, np.asarray(picture), seed=4, position=position)
            stock = before[0](picture) if before else picture
            stock = api.functional.resized_crop(stock, *record["region"], [24, 24], antialias=True)
            coin = Draws(4, 0, position, 2).coin(flip["p"])
            for transform in ([mirrored] if coin else []) + after:
                stock = transform(stock)
            assert torch.equal(image, stock)
            flips += coin
            position += 1
    assert position == len(folder)
    assert 0 < flips < position


@pytest.mark.parametrize(("api", "backend"), API_BACKENDS)
def test_classification_training_with_more(request, api, backend):
    api = request.getfixturevalue(api)
    chain = chain_of(reference.ClassificationTrain(api, backend, erase=0.1))
    names = ["random_resized_crop", "horizontal_flip", "random_erasing"]
    assert [op["op"] for op in chain.ops] == names
    for policy in (api.RandAugment(), api.TrivialAugmentWide(), api.AutoAugment(), api.AugMix()):
        name = type(policy).__name__
        reject(reference.ClassificationTrain(api, backend, policy=policy), f"{name} is not known")


@needs_avx2
def test_the_first_api_resizes_tensors_in_floats(v1, photos, torchvision):
    crop = v1.RandomResizedCrop(24, antialias=True)
    chain = v1.Compose([v1.PILToTensor(), crop, v1.Resize(20), v1.ConvertImageDtype(torch.float)])
    assert [op["arithmetic"] for op in chain_of(chain).ops] == ["torch_float"] * 2
    report = drapps.torch.DataLoader(torchvision.datasets.ImageFolder(photos, chain)).lifted()
    assert report.torch_resizes == ("torch_float",)
    assert "resized tensors: torch_float, as the installed torch" in str(report)
    for resize in (v1.Resize((8, 8), antialias=False), v1.Resize((8, 1))):
        reject(v1.Compose([v1.PILToTensor(), resize]), "resizes by bilinear in an arithmetic")


@pytest.fixture(scope="module")
def tv_tensors(torchvision):
    return importlib.import_module(f"{torchvision.__name__}.tv_tensors")


@needs_avx2
@pytest.mark.parametrize("backend", ["pil", "tensor", "tv_tensor"])
def test_segmentation_training(v2, tv_tensors, backend):
    preset = reference.SegmentationTrain(v2, tv_tensors, backend)
    for transform in (preset, preset.transforms):
        chain = chain_of(transform, MaskForm())
        resize, flip, crop = chain.ops
        assert (resize["min_size"], resize["max_size"], flip["p"]) == (30, 120, 0.5)
        assert (crop["height"], crop["fill"], crop["mask_fill"]) == (40, [0], 255)
        assert chain.mask.dtype == "int64"

    class PadIfSmaller(v2.Transform):
        """The script's own, which borders at the right and at the bottom."""

    whole = reference.SegmentationTrain(v2, tv_tensors, backend, smaller=PadIfSmaller())
    reject(whole, "PadIfSmaller is not known", MaskForm())


@needs_avx2
@pytest.mark.parametrize("backend", ["pil", "tensor", "tv_tensor"])
def test_segmentation_evaluation(v2, backend):
    preset = reference.SegmentationEval(v2, backend)
    for transform in (preset, preset.transforms):
        (resize,) = chain_of(transform, MaskForm()).ops
        assert (resize["op"], resize["height"], resize["width"]) == ("resize", 44, 44)


def test_a_transform_that_cannot_be_shown_is_named(v1):
    flip = v1.RandomHorizontalFlip()
    del flip.p
    assert described(flip) == "RandomHorizontalFlip"


def test_objects_that_only_hand_on_are_looked_through(v1):
    inner = v1.Compose([v1.CenterCrop(8), v1.ToTensor()])

    class Other:
        def __init__(self):
            self.steps = inner

        def __call__(self, picture, *_, **__):
            """Does what its steps do."""
            return self.steps(picture)

    chain = chain_of(v1.Compose([v1.RandomHorizontalFlip(), Other()]))
    assert [op["op"] for op in chain.ops] == ["horizontal_flip", "center_crop"]
    reject(Other(), "Other is not known", MaskForm())  # which gets two arguments


def does_more(self, img):
    return self.transforms(img).clone()


def other_name(self, img):
    return self(img)


def swapped(self, img):
    return img(self.transforms)


def steps(self, *img):
    return self.transforms(img)


def two(self, img, target):
    return self.transforms(img, target)


class Attribute:
    def __call__(self, img):
        return self.transforms(img)


class Property(Attribute):
    @property
    def transforms(self):
        return None


class Intercepted(Attribute):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Slots:
    __slots__ = ("transforms",)
    __call__ = Attribute.__call__


@pytest.mark.parametrize("call", [does_more, other_name, swapped, steps, two])
def test_objects_that_do_anything_else_are_not(v1, call):
    preset = type("Preset", (), {"__call__": call})()
    preset.transforms = v1.ToTensor()
    reject(preset, "Preset is not known")


def test_attributes_that_are_not_the_objects_own_are_not_looked_through(v1):
    chain_of(with_transforms(Attribute(), v1))
    reject(Attribute(), "Attribute is not known")
    hidden = Property()
    vars(hidden)["transforms"] = v1.ToTensor()
    reject(hidden, "Property is not known")
    reject(with_transforms(Intercepted(), v1), "Intercepted is not known")
    reject(with_transforms(Slots(), v1), "Slots is not known")


def with_transforms(preset, v1):
    preset.transforms = v1.ToTensor()
    return preset
