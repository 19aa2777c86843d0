"""What only a machine with a CUDA device can show; skipped elsewhere."""

import pytest

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("torchvision"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def loader_of(photos, **arguments):
    from torchvision import datasets, transforms

    import drapps.torch

    chain = transforms.Compose(
        [transforms.Resize(64), transforms.CenterCrop(56), transforms.ToTensor()]
    )
    loader = drapps.torch.DataLoader(
        datasets.ImageFolder(str(photos), chain), batch_size=4, **arguments
    )
    assert loader.lifted()
    return loader


def test_feeding_from_the_cpu_makes_no_cuda_context(photos):
    before = torch.cuda.is_initialized()
    for _ in loader_of(photos):
        pass
    assert torch.cuda.is_initialized() == before


def test_pinned_batches_reach_the_device_unchanged(photos):
    plain = list(loader_of(photos))
    pinned = list(loader_of(photos, pin_memory=True))
    assert len(plain) == len(pinned) > 0
    for (image, label), (pinned_image, pinned_label) in zip(plain, pinned, strict=True):
        assert pinned_image.is_pinned()
        assert torch.equal(pinned_image.to("cuda", non_blocking=True).cpu(), image)
        assert torch.equal(pinned_label.to("cuda").cpu(), label)
