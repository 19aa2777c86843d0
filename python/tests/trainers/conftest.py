"""What several trainers are given."""

import pytest

torch = pytest.importorskip("torch")

from drapps.torch import DataLoader  # noqa: E402
from python.tests.trainers.samples import Numbers  # noqa: E402


@pytest.fixture
def folder(photos, torchvision):
    """Pictures that are lifted, and come out the same whoever reads them."""
    assert torchvision
    from torchvision import datasets, transforms

    plain = [transforms.Resize(40), transforms.CenterCrop(32), transforms.ToTensor()]
    dataset = datasets.ImageFolder(photos, transforms.Compose(plain))
    assert DataLoader(dataset, 4).lifted()
    return dataset


@pytest.fixture(params=["folder", "numbers", "numbers in workers"])
def kind(request):
    """A dataset with its number of workers."""
    if request.param == "folder":
        return request.getfixturevalue("folder"), 0
    return Numbers(), 2 if "workers" in request.param else 0


@pytest.fixture
def accelerate():
    module = pytest.importorskip("accelerate")
    states = module.state.AcceleratorState, module.state.PartialState, module.state.GradientState
    for state in states:
        state._reset_state()
    yield module
    for state in states:
        state._reset_state()


@pytest.fixture
def ours(accelerate, monkeypatch):
    """Accelerate makes its loaders of our class."""
    monkeypatch.setattr(accelerate.data_loader, "DataLoader", DataLoader)
