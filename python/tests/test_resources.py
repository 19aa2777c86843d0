"""What a loader runs with is described once: here, and in the core's table."""

import inspect
import json
from dataclasses import FrozenInstanceError, fields, replace

import pytest

import drapps
from drapps import _core
from drapps.resources import Resources

NAMES = [each.name for each in fields(Resources)]


def test_both_languages_have_the_same_options():
    assert sorted(NAMES) == sorted(_core.resource_names())
    assert sorted(json.loads(Resources().to_json())) == sorted(NAMES)


def test_fronts_offer_them_under_these_names_and_leave_out_what_is_no_option():
    torch = pytest.importorskip("drapps.torch")
    from drapps.torch.native_resources import ATTRIBUTES

    offered = inspect.signature(torch.DataLoader.__init__).parameters
    assert {"device", *ATTRIBUTES} == set(NAMES) & set(offered)
    builder = inspect.signature(drapps.Pipeline.batch).parameters
    assert set(NAMES) <= set(builder)
    for name in set(NAMES) & set(builder):
        assert builder[name].default == getattr(Resources(), name), name


def test_what_does_not_differ_is_as_if_it_was_not_given():
    _core.check_resources(Resources().to_json())
    assert Resources(policy=None) == Resources() == replace(Resources(cache="off"), cache="auto")


def test_they_are_checked_when_made_and_never_change():
    resources = Resources(ram_budget="2GiB", cpu_budget=2, cache="1MB", device="cuda:0")
    described = json.loads(resources.to_json())
    assert (described["ram_budget"], described["cpu_budget"]) == (2**31, 2.0)
    assert (described["cache"], described["device_memory"]) == (10**6, None)
    with pytest.raises(FrozenInstanceError):
        resources.cache = "off"
    for name, wrong in [
        ("policy", "magic"),
        ("cpu_budget", 0),
        ("ram_budget", "1XB"),
        ("settings", {}),
        ("weights", "most"),
        ("cache", "always"),
        ("form", "lz5"),
        ("placement", "tpu"),
        ("device", 1),
        ("device_memory", -1),
    ]:
        with pytest.raises(drapps.PipelineError, match=name):
            Resources(**{name: wrong})
        with pytest.raises(drapps.PipelineError, match=name):
            replace(resources, **{name: wrong})


def test_a_gpu_is_the_first_where_one_is_needed_and_none_is_named():
    assert json.loads(Resources(placement="auto").to_json())["device"] == "cuda:0"
    assert json.loads(Resources(placement="auto", device="cuda:1").to_json())["device"] == "cuda:1"
    assert json.loads(Resources().to_json())["device"] is None
