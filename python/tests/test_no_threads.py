"""Where the system makes no more threads."""

import contextlib
import ctypes

import numpy as np
import pytest
import torch

import drapps
import drapps.torch
from python.tests.hold_streams import records

LIBC = ctypes.CDLL(None)


@contextlib.contextmanager
def no_threads():
    """New threads get a stack that no address space has room for; Python's own ones, too."""
    before = ctypes.create_string_buffer(128)  # a pthread_attr_t has 56 bytes
    huge = ctypes.create_string_buffer(128)
    for attributes in before, huge:
        assert LIBC.pthread_getattr_default_np(attributes) == 0
    assert LIBC.pthread_attr_setstacksize(huge, ctypes.c_size_t(1 << 47)) == 0
    assert LIBC.pthread_setattr_default_np(huge) == 0
    try:
        yield
    finally:
        assert LIBC.pthread_setattr_default_np(before) == 0


@pytest.mark.parametrize(
    "pipeline",
    [
        lambda: drapps.arrays({"x": np.arange(4000)}),
        lambda: drapps.image_bytes(records(6)).random_resized_crop(16),
    ],
    ids=["arrays", "pictures"],
)
def test_a_pass_without_threads_is_an_error_and_the_next_one_runs(pipeline):
    loader = pipeline().batch(2)
    with no_threads():
        for _ in range(2):
            with pytest.raises(drapps.PipelineError, match="the system made no thread for drapps-"):
                iter(loader)
    assert sum(batch.rows for batch in loader) == len(pipeline().source)


class ThreadSafe(list):
    thread_safe = True


def test_a_thread_safe_dataset_without_threads_says_so():
    loader = drapps.torch.DataLoader(ThreadSafe(range(9)), num_workers=2, lift=False)
    with (
        no_threads(),
        pytest.raises(drapps.PipelineError, match="no thread for worker 0 of a data"),
    ):
        iter(loader)
    assert torch.cat(list(loader)).tolist() == list(range(9))
