"""``pin_memory``: pinned where there is an accelerator, said where there is none."""

import warnings

import pytest
import torch

from python.tests.torch_contract.samples import Calls, Counting, Pair, Squares, plain

workers = pytest.mark.parametrize("workers", [0, 1])
gpu = pytest.mark.gpu
none = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")


@none
@workers
def test_without_an_accelerator_it_warns_and_goes_on(loader_class, workers):
    loader = loader_class(Squares(4), 2, pin_memory=True, num_workers=workers)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator"):
        batches = list(loader)
    assert plain(batches) == [[0, 1], [4, 9]]
    assert not batches[0].is_pinned()


def test_the_device_argument_is_deprecated(loader_class):
    loader = loader_class(Squares(4), pin_memory=True, pin_memory_device="cuda")
    with pytest.warns(UserWarning, match="pin_memory_device is deprecated"):
        iter(loader)


@none
def test_streams_too(loader_class):
    loader = loader_class(Counting(4), 2, pin_memory=True, num_workers=1)
    with pytest.warns(UserWarning, match="no accelerator"):
        assert plain(loader) == [[0, 1], [2, 3]]


@pytest.fixture(autouse=True)
def accelerator(request):
    if request.node.get_closest_marker("gpu") and not torch.accelerator.is_available():
        pytest.skip("needs an accelerator")


class Own:
    """A batch that knows how to pin itself."""

    def __init__(self, samples):
        self.values = torch.tensor(samples)
        self.pinned = False

    def pin_memory(self):
        self.values = self.values.pin_memory()
        self.pinned = True
        return self


@none
def test_a_batch_of_its_own_class_is_left_alone_without_an_accelerator(loader_class):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = loader_class(Squares(2), 2, pin_memory=True, collate_fn=Own)
        assert [batch.pinned for batch in loader] == [False]


def nested(index):
    return {"pair": Pair(torch.tensor(index), [float(index), "text"])}


@gpu
@workers
def test_tensors_in_containers_are_pinned_and_the_containers_kept(loader_class, workers):
    batch = next(iter(loader_class(Calls(nested), 2, pin_memory=True, num_workers=workers)))
    assert type(batch["pair"]) is Pair
    assert batch["pair"].left.is_pinned()
    assert batch["pair"].right[0].is_pinned()
    assert batch["pair"].right[1] == ("text", "text")


@gpu
@workers
def test_a_batch_of_its_own_class_pins_itself(loader_class, workers):
    loader = loader_class(Squares(), 2, pin_memory=True, collate_fn=Own, num_workers=workers)
    for batch in loader:
        assert batch.pinned
        assert batch.values.is_pinned()


@gpu
@workers
def test_an_error_is_no_end_while_pinning(loader_class, workers):
    iterator = iter(loader_class(Squares(3, broken=(1,)), pin_memory=True, num_workers=workers))
    assert next(iterator).is_pinned()
    with pytest.raises(ValueError, match="sample 1 is broken"):
        next(iterator)
    assert plain(iterator) == [[4]]
