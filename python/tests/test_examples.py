"""Every script of examples/ runs, on a tiny folder of pictures, and says what it should."""

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

from python.tests.ranks import run_ranks

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# script: (arguments, the last line that it prints begins so); {photos} is a folder per class
CASES = {
    "builder.py": (["{photos}"], "validated on 21"),
    "explain.py": (["{photos}", "0.2"], "to start from these next time: {'knobs': "),
    "jax_train.py": (["{photos}"], "trained on 40 pictures"),
    "keras_train.py": (["{photos}"], "epoch 2: loss "),
    "masks_and_boxes.py": ([], "sample 11: "),
    "plain_torch.py": ([], "trained on 1000 pictures"),
    "resume.py": (["{photos}"], "2 batches, a restart, 4 batches: the same bytes"),
    "text_gpt.py": ([], "loss "),
    "torch_swap.py": (["{photos}"], "step 2: 5 pictures, loss "),
    "train_everything.py": (["{photos}"], "trained on "),
}

# those that run on two ranks, each a process of its own
RANKS = {
    "accelerate_train.py": "Waves: trained on 42 samples, as with stock",
    "ddp_train.py": "Waves: rank {rank} saw 22 samples, as with stock",
    "hf_trainer_train.py": "Waves: trained on 24 samples, as with stock",
    "lightning_train.py": "Waves: trained on 22 samples, as with stock",
}

# script: what it imports beside drapps and NumPy
NEEDS = {
    "accelerate_train.py": ["accelerate", "torch", "torchvision"],
    "ddp_train.py": ["torch", "torchvision"],
    "hf_trainer_train.py": ["accelerate", "torch", "torchvision", "transformers"],
    "jax_train.py": ["jax"],
    "keras_train.py": ["keras", "tensorflow"],
    "lightning_train.py": ["lightning", "torch", "torchvision"],
    "plain_torch.py": ["torch"],
    "text_gpt.py": ["tokenizers", "torch", "transformers"],
    "torch_swap.py": ["torch", "torchvision"],
    "train_everything.py": ["torch"],
}
MARKS = {
    "jax_train.py": pytest.mark.jax,
    "keras_train.py": pytest.mark.full,  # TensorFlow is imported elsewhere
}


def test_no_example_is_forgotten():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted({**CASES, **RANKS})


def skip_where_absent(script):
    for name in NEEDS.get(script, []):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize(
    "script",
    [pytest.param(script, marks=MARKS.get(script, ())) for script in CASES],
)
def test_the_example_runs(script, photos, monkeypatch, capsys):
    skip_where_absent(script)
    arguments, ending = CASES[script]
    words = [word.format(photos=photos) for word in arguments]
    monkeypatch.setattr(sys, "argv", [script, *words])
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith(ending)
    if script == "torch_swap.py":
        assert printed[0].startswith("lifted: ")


@pytest.mark.full
@pytest.mark.parametrize("script", RANKS)
def test_the_example_runs_on_two_ranks(script, photos, tmp_path):
    skip_where_absent(script)
    for rank, output in enumerate(run_ranks([EXAMPLES / script, photos], tmp_path)):
        assert output.splitlines()[-1] == RANKS[script].format(rank=rank), output
