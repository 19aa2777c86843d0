"""Every script of examples/ runs, on a tiny folder of pictures, and says what it should."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# script: (arguments, the last line that it prints begins so); {photos} is a folder per class
CASES = {
    "builder.py": (["{photos}"], "validated on 21"),
    "explain.py": (["{photos}", "0.2"], "to start from these next time: {'knobs': "),
    "jax_train.py": (["{photos}"], "trained on 40 pictures"),
    "masks_and_boxes.py": ([], "sample 11: "),
    "resume.py": (["{photos}"], "2 batches, a restart, 4 batches: the same bytes"),
    "torch_swap.py": (["{photos}"], "step 2: 5 pictures, loss "),
}

# script: what it imports beside drapps and NumPy
NEEDS = {
    "jax_train.py": ["jax"],
    "torch_swap.py": ["torch", "torchvision"],
}


def test_no_example_is_forgotten():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(CASES)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=pytest.mark.jax if "jax" in NEEDS.get(script, ()) else ())
        for script in CASES
    ],
)
def test_the_example_runs(script, photos, monkeypatch, capsys):
    for name in NEEDS.get(script, []):
        pytest.importorskip(name)
    arguments, ending = CASES[script]
    words = [word.format(photos=photos) for word in arguments]
    monkeypatch.setattr(sys, "argv", [script, *words])
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith(ending)
    if script == "torch_swap.py":
        assert printed[0].startswith("lifted: ")
