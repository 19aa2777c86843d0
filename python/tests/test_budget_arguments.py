"""What a budget of cores may be."""

import math
from fractions import Fraction

import numpy as np
import pytest

import drapps
import drapps.torch
from drapps import _core

torch = pytest.importorskip("torch")

REFUSED = [1e-9, 1e9, math.inf, math.nan, -1, 0, "x", "2", True, [1], 1j]


def rows(**arguments):
    data = torch.utils.data.TensorDataset(torch.arange(8))
    return drapps.torch.DataLoader(data, 4, **arguments)


@pytest.mark.parametrize("cores", REFUSED, ids=repr)
@pytest.mark.parametrize("arguments", [{}, {"num_workers": 2}, {"lift": False, "num_workers": 2}])
def test_a_number_of_cores_that_makes_no_sense_is_refused_by_its_name(cores, arguments):
    with pytest.raises(drapps.PipelineError, match=r"cpu_budget=.* must be a number of cores"):
        rows(cpu_budget=cores, **arguments)


@pytest.mark.parametrize("cores", REFUSED, ids=repr)
def test_so_it_is_by_the_builder(photos, cores):
    with pytest.raises(drapps.PipelineError, match="cpu_budget"):
        drapps.image_folder(photos).center_crop(8).batch(2, cpu_budget=cores)


@pytest.mark.parametrize("cores", [0.5, 1, 4096, np.float32(1.5), np.int64(2), Fraction(1, 2)])
def test_any_kind_of_number_will_do(cores):
    assert [batch[0].tolist() for batch in rows(cpu_budget=cores)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_the_least_number_of_cores_comes_to_an_end():
    loader = rows(cpu_budget=1e-4)
    assert len(list(loader)) == 2
    assert _core.cpu_budget() == 1e-4


@pytest.mark.parametrize("cores", [1e-9, 1e9, math.inf, math.nan])
def test_the_core_refuses_it_too(cores):
    with pytest.raises(ValueError, match="cpu_budget must be a number of cores"):
        _core.limit_cpus(cores)
