"""The key of a dataset: equal where the items are, another where the data or the code are."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
import torch

import drapps
from drapps.errors import PipelineError
from drapps.item_cache import fingerprint as fingerprints
from drapps.item_cache.code import is_users, names_in
from drapps.item_cache.facts import code_of, same_code
from drapps.item_cache.fingerprint import fingerprint
from drapps.item_cache.reach import Reached
from python.tests.cells import some_full
from python.tests.item_datasets import Counted, Sized, Thrice

SOURCE = """
from torch.utils.data import Dataset

LIMIT = 3

def half(x):
    return x / 2

class Scale:
    def __init__(self, factor):
        self.factor = factor
    def __call__(self, x):
        return half(x) * self.factor if x in {'a', 'bc', 'def', 1, 2, 3} else x

class Numbers(Dataset):
    def __init__(self, factor=2, function=None):
        self.transform = Scale(factor)
        self.function = function or (lambda x: x + 1)
    def __len__(self):
        return 10
    def __getitem__(self, index):
        return self.function(self.transform(index))
"""


def module_of(source: str) -> types.ModuleType:
    module = types.ModuleType("numbers_of_a_user")
    exec(compile(source, "numbers_of_a_user.py", "exec"), vars(module))
    return module


def key_of(source=SOURCE, version=None, **options):
    return fingerprint(module_of(source).Numbers(**options), version)


def test_what_is_the_same_has_one_key():
    assert key_of() == key_of()
    assert key_of().key == key_of("# moved\n\n\n" + SOURCE).key
    assert len(key_of().key) == 32


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x / 2", "x / 3"),
        ("return x / 2", "return x // 2"),
        ("half(x) * self", "half(x) + self"),
        ("lambda x: x + 1", "lambda x: x - 1"),
        ("'bc'", "'bd'"),
        ("return half(x)", "return abs(x)"),
        ("return self.function(self.transform(index))", "return self.function(index)"),
    ],
)
def test_other_code_has_another(old, new):
    assert old in SOURCE
    changed = key_of(SOURCE.replace(old, new))
    assert changed.code != key_of().code
    assert changed.key != key_of().key


def test_other_contents_have_another():
    keys = {
        key_of().key,
        key_of(factor=3).key,
        key_of(factor=2.0).key,
        key_of(version="a").key,
        key_of(version="b").key,
        key_of(version=1).key,
    }
    assert len(keys) == 6
    assert key_of(version="a", factor=3).key == key_of(version="a").key, (
        "which then is not looked at"
    )


def of_closure(number):
    return lambda x: x + number


def test_functions_count_by_their_code_and_what_they_hold():
    module = module_of(SOURCE)
    keys = {
        fingerprint(module.Numbers(function=function), None).key
        for function in (of_closure(1), of_closure(2), of_closure([1]), lambda x: -x, np.sin)
    }
    assert len(keys) == 5
    assert fingerprint(module.Numbers(function=of_closure(1)), None).key in keys


def test_arrays_and_tensors_count_by_their_values():
    class Held:
        def __init__(self, held):
            self.held = held

    keys = [
        fingerprint(Held(value), None).contents
        for value in (
            np.arange(2000),
            np.arange(2000) + 1,
            np.arange(2000.0),
            torch.arange(2000),
            torch.arange(2000).reshape(40, 50),
            torch.arange(2000, dtype=torch.int32),
            torch.ones(3, dtype=torch.bfloat16),
            torch.zeros(3, dtype=torch.bfloat16),
            torch.ones(3, dtype=torch.complex64).conj(),
        )
    ]
    assert len(set(keys)) == len(keys)
    assert fingerprint(Held(torch.arange(2000)), None).contents == keys[3]


# This process has another seed.
@pytest.mark.parametrize("seed", some_full(["1", "2"], "1"))
def test_the_code_has_one_key_in_every_process(seed):
    script = (
        "import sys; sys.path.insert(0, '.')\n"
        "from drapps.item_cache.fingerprint import code_of\n"
        "from python.tests.item_datasets import Counted, Thrice\n"
        "from python.tests.test_item_cache_key import SOURCE, module_of\n"
        "print(code_of(Thrice(Counted('x'))).hex(), code_of(module_of(SOURCE).Numbers()).hex())"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    here = f"{code_of(Thrice(Counted('x'))).hex()} {code_of(module_of(SOURCE).Numbers()).hex()}\n"
    assert output == here.encode()


def test_what_does_not_pickle_needs_a_version():
    class Locked(Counted):
        lock = None

    dataset = Locked("x")
    dataset.lock = threading.Lock()
    with pytest.raises(PipelineError, match=r"cannot be pickled \(.*lock.*version=\.\.\."):
        drapps.cached(dataset)
    assert drapps.cached(dataset, "a", budget=1 << 16).stats()["items"] == 0


def test_what_is_large_needs_a_version(monkeypatch):
    monkeypatch.setattr(fingerprints, "_MOST", 1 << 20)
    dataset = Counted("x")
    dataset.table = torch.zeros(1 << 19)
    with pytest.raises(PipelineError, match=r"has more than 1 MiB.*version=\.\.\."):
        drapps.cached(dataset)
    assert fingerprint(dataset, 4).key != fingerprint(dataset, 5).key


def test_the_users_code_is_told_from_that_of_libraries():
    assert is_users("python.tests.item_datasets")
    for module in ("torch.utils.data.dataset", "numpy", "json", "drapps.item_cache.reach", "PIL"):
        assert not is_users(module)
    reached = Reached(Thrice(Sized("x")))
    names = {function.__qualname__ for function in reached.functions}
    assert {"Thrice.__getitem__", "Sized.__getitem__", "Counted.__len__", "note"} <= names
    assert {"torch", "numpy"} <= reached.packages
    assert not any(name.startswith("Dataset") for name in names)


def test_a_known_library_is_none_of_the_users_code_wherever_it_lies(monkeypatch):
    from PIL import Image

    monkeypatch.setattr(Image, "__file__", "/elsewhere/PIL/Image.py")
    assert not is_users("PIL.Image")


GUARDED = """
import logging
import multiprocessing
import sys

import drapps


class Net:
    def forward(self):
        return 3


class Numbers:
    def __init__(self):
        self.model = 2

    def __len__(self):
        return 10

    def __getitem__(self, index):
        return index * self.model * FACTOR

    def show(self):
        return net.forward()

FACTOR = 3


def read(dataset, patched):
    assert dataset[3] == 18
    assert bool(dataset.stats()) != patched, dataset.stats()


if __name__ == "__main__":
    patched = sys.argv[1] == "patched"
    model = net = Net()
    FACTOR = 3
    if patched:
        Numbers.__getitem__ = lambda self, index: index * 6
    dataset = drapps.cached(Numbers(), budget=1 << 20)
    child = multiprocessing.get_context("spawn").Process(target=read, args=(dataset, patched))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert dataset.stats()["items"] == (0 if patched else 1)
"""


@pytest.mark.parametrize("how", ["plain", "patched"])
def test_a_name_under_the_main_guard_is_no_other_code_but_another_function_is(tmp_path, how):
    (tmp_path / "script.py").write_text(GUARDED)
    done = subprocess.run(
        [sys.executable, "script.py", how], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert ("has other code for Numbers" in done.stderr) == (how == "patched")


def test_a_process_may_know_less_of_the_code_and_nothing_else():
    here = module_of(SOURCE)
    whole = code_of(here.Numbers())
    assert same_code(whole, whole)
    here.half = None
    assert same_code(code_of(here.Numbers()), whole)
    assert not same_code(whole, code_of(here.Numbers()))
    here.half = lambda x: x
    assert not same_code(code_of(here.Numbers()), whole)
    without = module_of(SOURCE)
    del without.Numbers.__len__
    assert not same_code(code_of(without.Numbers()), whole), "a base class may have another"


def test_attributes_are_told_from_globals():
    def code(thing):
        from python.tests import item_datasets

        thing.attribute = item_datasets.note
        return [late + 1 for late in thing.method(Counted)]

    names = names_in(code.__code__)
    assert names.globals == {"Counted"}
    assert names.attributes >= {"attribute", "note", "method"}
    assert names.imports == {("python.tests", 0)}
