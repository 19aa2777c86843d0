"""Which datasets and loaders are lifted, and what the report says."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402


@pytest.fixture(scope="module")
def folder(torchvision):
    return torchvision.datasets.ImageFolder


def report_of(dataset, **arguments):
    return drapps.torch.DataLoader(dataset, **arguments).lifted()


@pytest.fixture
def plain(v1):
    return v1.Compose([v1.Resize((16, 16)), v1.ToTensor()])


def test_a_folder_is_lifted_and_the_report_says_what(folder, photos, plain):
    report = report_of(folder(photos, plain), batch_size=4, shuffle=True, num_workers=2)
    assert report
    assert report.native
    assert report.dataset == "ImageFolder of 21 files"
    assert len(report.transforms) == 2
    assert "shuffled" in report.order
    assert not report.reasons
    assert any("num_workers=2" in note for note in report.notes)
    assert "lifted: ImageFolder" in str(report)


def test_subsets_of_subsets_are_lifted(folder, photos, plain):
    data = folder(photos, plain)
    inner = torch.utils.data.Subset(data, [20, 3, 11, 5])
    outer = torch.utils.data.Subset(inner, [3, 0, -3])
    report = report_of(outer)
    assert report
    assert report.dataset == "ImageFolder of 3 files (a subset)"
    labels = [int(label) for _, label in drapps.torch.DataLoader(outer)]
    assert labels == [label for _, label in outer]


def test_what_a_dataset_does_besides_reading_pictures_keeps_it_with_stock(
    folder, photos, own_photos, plain, torchvision
):
    def reason(dataset, **arguments):
        report = report_of(dataset, **arguments)
        assert not report
        (sentence,) = report.reasons
        assert sentence in str(report)
        return sentence

    class Mine(folder):
        pass

    class Views(torch.utils.data.Subset):
        pass

    assert "Mine, not an image folder" in reason(Mine(photos, plain))
    assert "Views" in reason(Views(folder(photos, plain), [0]))
    assert "list" in reason([1, 2, 3])
    assert "target_transform" in reason(folder(photos, plain, target_transform=str))
    assert "has no transform" in reason(folder(photos))
    assert "reads files by" in reason(folder(photos, plain, loader=lambda path: path))
    assert "lift=False" in reason(folder(photos, plain), lift=False)
    assert "collate_fn" in reason(folder(photos, plain), collate_fn=list)
    assert "worker_init_fn" in reason(folder(photos, plain), worker_init_fn=print)
    assert "single samples" in reason(folder(photos, plain), batch_size=None)
    for lists in ([[0], [1, 2]], [[0, 1], [], [2]], [[]], []):
        assert "several sizes" in reason(folder(photos, plain), batch_sampler=lists)
    assert "else than lists" in reason(folder(photos, plain), batch_sampler=[[0], torch.ones(1)])
    assert "batch sampler is" in reason(folder(photos, plain), batch_sampler=iter([[0]]))
    endless = folder(photos, plain)
    assert "no length" in reason(endless, sampler=iter([1, 2]))
    patched = folder(photos, plain)
    patched.samples = [(path, float(label)) for path, label in patched.samples]
    assert "not all of type int" in reason(patched)
    (own_photos / "class_0" / "picture.bmp").write_bytes(b"BM")
    assert ".bmp files" in reason(folder(own_photos, plain))
    variable = torchvision.transforms.Compose(
        [torchvision.transforms.Resize(16), torchvision.transforms.ToTensor()]
    )
    assert "the native path refuses it" in reason(folder(photos, variable))


def test_options_that_stock_cannot_follow_are_named():
    report = report_of([1, 2], on_error="skip", cpu_budget=1, seed=3)
    assert report.notes == ("on_error is not used", "cpu_budget is not used")
    report = report_of([1, 2], seed=3, torch_order=True)
    assert report.notes == ("seed is not used",)
    report = report_of([1, 2], on_error="skip", cpu_budget=1, seed=3, num_workers=1)
    assert report.notes == ("on_error is not used",)


def test_a_changed_transform_is_followed(folder, photos, plain, v1):
    data = folder(photos, plain)
    loader = drapps.torch.DataLoader(data, batch_size=4)
    assert next(iter(loader))[0].shape == (4, 3, 16, 16)
    data.transform = v1.Compose([v1.Resize((12, 10)), v1.ToTensor()])
    assert next(iter(loader))[0].shape == (4, 3, 12, 10)
    data.transform = v1.Compose([v1.Resize((6, 6)), v1.GaussianBlur(3), v1.ToTensor()])
    assert not loader.lifted()
    assert next(iter(loader))[0].shape == (4, 3, 6, 6)


def test_recognition_needs_no_torchvision():
    script = (
        "import sys, drapps.torch as d\n"
        "assert not any(name.startswith(('torchvision', 'timm', 'PIL')) for name in sys.modules)\n"
        "loader = d.DataLoader([1, 2, 3])\n"
        "assert [int(x) for x in loader] == [1, 2, 3] and not loader.lifted()\n"
        "assert not any(name.startswith(('torchvision', 'timm')) for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)


def test_a_missing_torch_gives_its_pip_line():
    script = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "import drapps\n"
        "try:\n"
        "    drapps.torch\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.strip() == "drapps.torch needs PyTorch: pip install torch"


def test_splits_by_torch_are_lifted(folder, photos, plain):
    parts = data_split(folder(photos, plain))
    assert [len(part) for part in parts] == [15, 6]
    for part in parts:
        wanted = [label for _, label in part]
        assert drapps.torch.DataLoader(part).lifted()
        assert [int(label) for _, label in drapps.torch.DataLoader(part)] == wanted


def data_split(dataset):
    return torch.utils.data.random_split(dataset, [15, 6], torch.Generator().manual_seed(1))
