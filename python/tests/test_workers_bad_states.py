"""States of Python datasets that were cut or edited are refused by name."""

import pytest

import drapps
import drapps.torch
from python.tests.test_workers_resume import Stateful, after, loader_of, rest


@pytest.mark.parametrize("order", ["sequential", "random", "subset", "stateful"])
def test_a_state_that_was_cut_is_told(order):
    def make():
        return loader_of(order, 2, torch_order=True)

    state = after(make, 3)
    newer = {"key_epoch", "generator_state", "sampler_generator_state", "batch_size"}
    for name in (
        state.keys() - {"kind", "workers", "sampler_epoch"} - newer
    ):  # than the first format
        cut = {key: value for key, value in state.items() if key != name}
        with pytest.raises(drapps.PipelineError, match=name):
            rest(make, cut)
    with pytest.raises(drapps.PipelineError, match="damaged"):
        rest(make, {**state, "workers": ["", ""]})


def test_a_state_of_streams_that_was_cut_is_told():
    def make():
        return drapps.torch.DataLoader(Stateful(), 3, num_workers=2)

    state = after(make, 3)
    for cut in ({}, {"streams": []}, {"streams": state["streams"][:1]}, {"streams": [1, 2]}):
        left = {key: value for key, value in state.items() if key != "streams"}
        with pytest.raises(drapps.PipelineError, match="cut or edited"):
            rest(make, left | cut)
