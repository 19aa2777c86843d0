"""What keeps a daemon thread that iterates a lifted loader from ending the process badly."""

import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402


@pytest.mark.parametrize("workers", [0, 2])
def test_a_lifted_step_makes_no_profiler_range_unless_one_profiles(monkeypatch, workers):
    # An interpreter that ends aborts the process where a thread waits for the GIL inside of one.
    def refuse(_name):
        raise AssertionError("a profiler range was made")

    data = torch.utils.data.TensorDataset(torch.arange(10))
    loader = drapps.torch.DataLoader(data, 4, num_workers=workers)
    assert loader.lifted()
    iterator = iter(loader)
    monkeypatch.setattr(torch.autograd.profiler, "record_function", refuse)
    assert [batch[0].tolist() for batch in iterator] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
