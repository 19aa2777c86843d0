"""The recipes of examples/recipes/ train on tiny data, and say what they miss of others."""

import gzip
import importlib
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

RECIPES = Path(__file__).resolve().parents[2] / "examples/recipes"
QUICK = ["--epochs", "1", "--batch", "4", "--most", "2", "--precision", "fp32", "--device", "cpu"]
NEEDS = {
    "documentation_text": "transformers",
    "fashion_mnist": "torch",
    "gpt2_wikitext2": "transformers",
    "resnet50_cifar10": "torchvision",
}
DRAWS = np.random.default_rng(1)


@pytest.fixture
def recipe(monkeypatch):
    """Imports a recipe, for this test alone."""
    monkeypatch.syspath_prepend(str(RECIPES))

    def load(name):
        pytest.importorskip(NEEDS[name])
        return importlib.import_module(name)

    yield load
    for name in ("loop", *NEEDS):
        sys.modules.pop(name, None)


def small_network(side, classes):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * side * side, classes))


def small_gpt():
    from transformers import GPT2Config

    return GPT2Config(n_layer=2, n_embd=16, n_head=2, n_positions=32)


def write_cifar10(folder, count=8):
    folder.mkdir()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        content = {
            b"data": DRAWS.integers(0, 256, (count, 3072), dtype=np.uint8),
            b"labels": DRAWS.integers(0, 10, count).tolist(),
        }
        (folder / name).write_bytes(pickle.dumps(content))
    return folder


def write_fashion(folder, count=12):
    folder.mkdir()
    for part in ("train", "t10k"):
        pictures = DRAWS.integers(0, 256, count * 784, dtype=np.uint8).tobytes()
        labels = DRAWS.integers(0, 10, count, dtype=np.uint8).tobytes()
        images_file = folder / f"{part}-images-idx3-ubyte.gz"
        images_file.write_bytes(gzip.compress(bytes(16) + pictures))
        labels_file = folder / f"{part}-labels-idx1-ubyte.gz"
        labels_file.write_bytes(gzip.compress(bytes(8) + labels))
    return folder


def text_of(words):
    return "\n\n".join(f"Paragraph {number} says something." for number in range(words))


def test_every_recipe_is_tried():
    assert sorted(each.stem for each in RECIPES.glob("*.py")) == sorted(["loop", *NEEDS])


@pytest.mark.parametrize("inner", ["", "cifar-10-batches-py"])
def test_cifar10_from_its_python_batches(recipe, tmp_path, capsys, inner):
    write_cifar10(tmp_path / (inner or "mine"))
    path = tmp_path if inner else tmp_path / "mine"
    recipe("resnet50_cifar10").main([str(path), *QUICK], small_network(32, 10))
    printed = capsys.readouterr().out
    assert printed.startswith("epoch 1: ")
    assert "of 40 samples" in printed


def test_pictures_of_cifar10_are_the_right_way_round(recipe, tmp_path):
    module = recipe("resnet50_cifar10")
    folder = write_cifar10(tmp_path / "mine")
    planes = pickle.loads((folder / "test_batch").read_bytes())[b"data"].reshape(-1, 3, 32, 32)
    batch = next(iter(module.arrays(folder, ["test_batch"]).batch(8).numpy()))
    assert np.array_equal(np.rint(batch["image"] * 255), planes)


def test_cifar10_from_folders_of_pictures(recipe, photos, tmp_path, capsys):
    module = recipe("resnet50_cifar10")
    module.main([str(photos), *QUICK], small_network(32, 3))
    assert capsys.readouterr().out.startswith("epoch 1: no test")
    for part in ("train", "test"):
        (tmp_path / part).symlink_to(photos)
    module.main([str(tmp_path), *QUICK], small_network(32, 3))
    assert "%" in capsys.readouterr().out.splitlines()[0]


def test_the_resnet_keeps_the_size_of_small_pictures(recipe):
    model = recipe("resnet50_cifar10").model_for(10)
    with torch.no_grad():
        assert model.conv1(torch.zeros(1, 3, 32, 32)).shape == (1, 64, 32, 32)
    assert model.fc.out_features == 10


def test_a_text_file_trains_gpt2(recipe, tmp_path, capsys):
    file = tmp_path / "any.txt"
    file.write_text(text_of(60))
    recipe("gpt2_wikitext2").main([str(file), *QUICK], small_gpt(), 16)
    assert capsys.readouterr().out.startswith("epoch 1: perplexity ")


def test_wikitext2_trains_gpt2_within_a_limit_of_memory(recipe, tmp_path, capsys):
    for part in ("train", "valid"):
        (tmp_path / f"wiki.{part}.tokens").write_text(text_of(30))
    words = [str(tmp_path), *QUICK, "--memory", "64MiB"]
    recipe("gpt2_wikitext2").main(words, small_gpt(), 16)
    printed = capsys.readouterr().out
    assert "unchanged: the plain step takes" in printed
    assert "perplexity" in printed


def test_fashion_mnist(recipe, tmp_path, capsys):
    recipe("fashion_mnist").main([str(write_fashion(tmp_path / "mine")), *QUICK])
    assert capsys.readouterr().out.startswith("epoch 1: ")


def test_texts_of_documentation(recipe, tmp_path, capsys):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/one.md").write_text(text_of(30))
    (tmp_path / "two.txt").write_text(text_of(60))
    module = recipe("documentation_text")
    assert module.joined(tmp_path).count("Paragraph 3 ") == 1
    module.main([str(tmp_path), *QUICK], small_gpt(), 16)
    assert capsys.readouterr().out.startswith("epoch 1: perplexity ")


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("resnet50_cifar10", [], "has neither data_batch_1 nor a folder of pictures per class"),
        ("resnet50_cifar10", ["data_batch_1"], "is no batch of CIFAR-10"),
        ("gpt2_wikitext2", [], "there is no file or folder"),
        ("gpt2_wikitext2", ["other.txt"], "has no wiki.train.raw and wiki.valid.raw, nor .tokens"),
        ("fashion_mnist", [], "is missing: apt-get install dataset-fashion-mnist"),
        ("fashion_mnist", ["train-images-idx3-ubyte.gz"], "is damaged"),
        ("documentation_text", [], "is no folder with *.txt or *.md"),
    ],
)
def test_what_is_missing_is_said(recipe, tmp_path, monkeypatch, name, files, message):
    module = recipe(name)
    folder = tmp_path / "mine"
    for each in files:
        folder.mkdir(exist_ok=True)
        (folder / each).write_bytes(b"no such thing")
    monkeypatch.setattr(sys, "argv", [f"{name}.py", str(folder), *QUICK])
    with pytest.raises(SystemExit, match=rf"^{name}\.py: .*{re.escape(message)}") as ended:
        module.run(module.main)
    assert str(folder) in str(ended.value)


def test_a_later_batch_of_cifar10_that_is_missing_is_named(recipe, tmp_path):
    module = recipe("resnet50_cifar10")
    folder = write_cifar10(tmp_path / "mine")
    (folder / "data_batch_3").unlink()
    with pytest.raises(module.DataError, match="data_batch_3 is missing"):
        module.main([str(folder), *QUICK])


def test_a_text_that_is_too_short_is_refused(recipe, tmp_path):
    module = recipe("gpt2_wikitext2")
    (tmp_path / "short.txt").write_text("a few words")
    with pytest.raises(module.DataError, match="a text of 11 tokens has no sample of 64"):
        module.main([str(tmp_path / "short.txt"), *QUICK], small_gpt(), 64)
