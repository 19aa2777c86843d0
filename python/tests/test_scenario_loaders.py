"""The loaders that a scenario is played against, as they are described."""

import pytest

from drapps.errors import PipelineError
from drapps.scenario import Drapps, Stock
from drapps.scenario.contestant import loader_of


@pytest.mark.parametrize(
    "loader",
    [
        Drapps(),
        Drapps({"name": "hill_climb", "parameters": {"gain": 0.1}}),
        Drapps(settings={"io_depth": 64}),
        Drapps(by_segment=({"io_depth": 8}, {"io_depth": 64})),
        Drapps(form="raw+lz4", cache=1 << 20),
        Stock(3),
    ],
)
def test_a_loader_is_made_again_from_its_json(loader):
    assert loader_of(loader.to_json()) == loader


def test_settings_by_segment_are_a_static_policy_in_each():
    loader = Drapps(by_segment=[{"io_depth": 8}, {"io_depth": 64}])
    assert loader.first == {"io_depth": 8}
    assert loader.policy_of(1) == {"name": "static", "parameters": {"io_depth": 64}}


@pytest.mark.parametrize("value", [-1, 1.5, True, "8"])
def test_a_setting_is_a_whole_number_from_0(value):
    with pytest.raises(PipelineError, match="io_depth"):
        Drapps(settings={"io_depth": value})
    with pytest.raises(PipelineError, match="io_depth"):
        Drapps(by_segment=[{"workers": 1}, {"io_depth": value}])
