"""What is not lifted, with the reason, and what the installed torch and Pillow decide of it."""

import functools
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from drapps.torch.lifting import chain_of  # noqa: E402
from python.tests.lifting_chains import MEAN, STD, reject  # noqa: E402

# Elsewhere torchvision makes floats of the bytes to resize them bilinearly.
needs_avx2 = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="torch has no AVX2"
)


@pytest.fixture(scope="module")
def folder(torchvision):
    return torchvision.datasets.ImageFolder


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
    ops = chain_of(chain).ops
    arithmetic = "torch_uint8" if antialias else "torch_uint8_no_antialias"
    assert [op["arithmetic"] for op in ops] == [arithmetic] * 2
    assert {op["pass_order"] for op in ops} == {"horizontal_first"}
    assert (ops[0]["height"], ops[0]["scale"]) == (24, [0.5, 1.0])
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
            output = ending(original(image.to(torch.float32), size, **arguments))
            return output.clamp(0, 255).to(torch.uint8)

        return resize

    monkeypatch.setattr(v2.functional, "resize", floats(torch.round))
    assert chain_of(chain).torch_resizes == ("torch_float",)
    monkeypatch.setattr(v2.functional, "resize", floats(torch.floor))
    reject(chain, "an arithmetic that has no native form on this machine")


@pytest.mark.full  # a torch that resizes otherwise is noticed above
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
