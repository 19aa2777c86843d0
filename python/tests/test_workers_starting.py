"""What is said where worker processes cannot begin, and of batches that have no indices."""

import os
import re

import pytest
import torch
from torch.utils import data

import drapps.torch
from python.tests.ranks import TORCH, run_forked

UNGUARDED = """
import torch
import drapps.torch

data = torch.utils.data.TensorDataset(torch.arange(8))
loader = drapps.torch.DataLoader(
    data, 2, num_workers=1, lift=False, multiprocessing_context="{method}", on_worker_death="{how}"
)
list(loader)
"""
GUARD = 'if __name__ == "__main__":'


@pytest.mark.parametrize("how", [pytest.param("restart", marks=pytest.mark.full), "raise"])
def test_a_script_without_a_main_guard_is_told_of_it(tmp_path, how):
    script = tmp_path / "train.py"
    script.write_text(UNGUARDED.format(method="spawn", how=how))
    done = run_forked([script], tmp_path, TORCH, timeout=600)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert "WorkerDiedError" in last
    assert "why stands on stderr" in last and GUARD in last
    assert "makes the lost samples again" not in last
    assert ("3 processes have died at their start" in last) == (how == "restart")


def leave(worker):
    """Ends its process before there is any batch."""
    os._exit(5 + worker)


@pytest.mark.parametrize("how", ["raise", "restart"])
def test_a_forked_process_that_cannot_begin_points_to_stderr(how):
    rows = data.TensorDataset(torch.arange(8))
    options = {"num_workers": 1, "lift": False, "worker_init_fn": leave}
    loader = drapps.torch.DataLoader(rows, 2, on_worker_death=how, **options)
    with pytest.raises(drapps.WorkerDiedError, match="why stands on stderr") as caught:
        list(loader)
    assert GUARD not in str(caught.value)
    assert "makes the lost samples again" not in str(caught.value)


class Stream(data.IterableDataset):
    def __init__(self, ends):
        self.ends = ends

    def __iter__(self):
        for number in range(9):
            if number == 5:
                self.ends()
            yield number


def fails():
    raise ValueError("no more")


def dies():
    os._exit(6)


@pytest.mark.parametrize("batch_size", [2, None])
@pytest.mark.parametrize("ends", [fails, dies])
def test_a_batch_of_a_stream_is_named_by_its_place(ends, batch_size):
    loader = drapps.torch.DataLoader(Stream(ends), batch_size, num_workers=1)
    with pytest.raises((ValueError, drapps.WorkerDiedError)) as caught:
        list(loader)
    message, place = str(caught.value), 2 if batch_size else 5
    assert "None" not in message
    assert re.search(rf"batch (at|is the one at) position {place} of the epoch", message)


def test_batches_of_indices_are_named_by_them():
    class Squares(data.Dataset):
        def __len__(self):
            return 9

        def __getitems__(self, indices):
            raise ValueError("no more")

    loader = drapps.torch.DataLoader(Squares(), 3, num_workers=1)
    with pytest.raises(ValueError, match=r"while making batch \[0, 1, 2\]"):
        list(loader)
