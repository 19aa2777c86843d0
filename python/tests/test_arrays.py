"""Tensors in memory: the same batches as the stock loader's, read where they lie."""

import gc
import json
import threading

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps.torch  # noqa: E402
from python.tests.array_batches import assert_equal_to_stock, bits, loader, values  # noqa: E402

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.uint32,
    torch.int64,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_of_every_dtype_are_those_of_the_stock_loader(dtype):
    tensors = [values(shape, dtype, i) for i, shape in enumerate([(53,), (53, 3), (53, 2, 1, 5)])]
    assert_equal_to_stock(data.TensorDataset(*tensors), 7)
    assert_equal_to_stock(data.TensorDataset(tensors[1]), 7, drop_last=True, num_workers=1)


def test_one_tensor_still_makes_a_list():
    (batch,) = loader(data.TensorDataset(torch.arange(4)), 4)
    assert type(batch) is list
    assert batch[0].tolist() == [0, 1, 2, 3]


def test_rows_may_lie_apart_but_not_be_torn():
    wide = torch.arange(600).reshape(20, 30)
    for tensor in (wide[:, :7], wide[::3], wide[2:9], torch.arange(5).expand(20, 5)):
        assert_equal_to_stock(data.TensorDataset(tensor), 4)
    for tensor in (wide[:, ::2], torch.rand(4, 3, 8, 8).to(memory_format=torch.channels_last)):
        report = loader(data.TensorDataset(tensor), lifted=False).lifted()
        assert "not contiguous" in report.reasons[0]


def test_what_rows_cannot_be_picked_from_natively_stays_with_stock():
    def reason(*tensors):
        return loader(data.TensorDataset(*tensors), lifted=False).lifted().reasons[0]

    class Mine(torch.Tensor):
        pass

    class MyDataset(data.TensorDataset):
        pass

    rows = torch.rand(6, 2)
    assert "complex64" in reason(torch.zeros(6, dtype=torch.complex64))
    assert "requires a gradient" in reason(rows, torch.rand(6, requires_grad=True))
    assert "Mine, not a plain" in reason(rows.as_subclass(Mine))
    assert "Parameter, not a plain" in reason(torch.nn.Parameter(rows, requires_grad=False))
    assert "negation" in reason(torch.imag(torch.conj(torch.rand(6, dtype=torch.complex64))))
    assert "not strided" in reason(rows.to_sparse())
    assert "not strided" in reason(rows.to("meta"))
    assert "hold nothing" in reason(torch.zeros(6, 0))
    assert "MyDataset" in loader(MyDataset(rows), lifted=False).lifted().reasons[0]
    patched = data.TensorDataset(rows)
    patched.__getitem__ = lambda _index: 1
    assert "replaced" in loader(patched, lifted=False).lifted().reasons[0]
    uneven = data.TensorDataset(rows, rows)
    uneven.tensors = (rows, rows[:3])
    assert "differ in length" in loader(uneven, lifted=False).lifted().reasons[0]


def test_an_empty_dataset_gives_no_batches():
    empty = data.TensorDataset(torch.zeros(0, 3))
    assert "empty" in loader(empty, lifted=False).lifted().reasons[0]
    assert list(drapps.torch.DataLoader(empty)) == []
    subset = data.Subset(data.TensorDataset(torch.arange(3)), [])
    assert list(drapps.torch.DataLoader(subset)) == []


def test_subsets_samplers_and_negative_indices():
    rows = data.TensorDataset(torch.arange(40), torch.rand(40, 3))
    assert_equal_to_stock(data.Subset(rows, [3, -1, 7, 7, -40]), 2)
    nested = data.Subset(data.Subset(rows, range(10, 30)), torch.tensor([0, 19, -2, 5]))
    assert_equal_to_stock(nested, 3)
    assert_equal_to_stock(rows, 4, sampler=[5, -1, 39, 0, -40, 2])
    assert_equal_to_stock(nested, 3, sampler=[-1, 0, 3, 2, 1])
    for part in data.random_split(rows, [31, 9], torch.Generator().manual_seed(2)):
        assert_equal_to_stock(part, 4)
    beyond = drapps.torch.DataLoader(rows, sampler=[0, 40])
    with pytest.raises(IndexError, match="40"):
        list(beyond)
    report = loader(data.Subset(rows, [0, 40]), lifted=False).lifted()
    assert "does not have" in report.reasons[0]
    assert "subset" in str(loader(nested).lifted())


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shuffled_epoch_holds_each_row_once_and_depends_on_the_seed_alone(workers):
    rows = data.TensorDataset(torch.arange(1000), torch.arange(1000) * 3)

    def epochs(seed, **more):
        torch.manual_seed(seed)
        batches = loader(rows, 64, shuffle=True, num_workers=workers, **more)
        return [torch.cat([x for x, _ in batches]).tolist() for _ in range(2)]

    first, second = epochs(1)
    assert sorted(first) == sorted(second) == list(range(1000))
    assert first != second
    assert epochs(1) == [first, second] == epochs(1, cpu_budget=1)
    assert epochs(2)[0] != first
    assert all(torch.equal(3 * x, y) for x, y in loader(rows, 64, shuffle=True))


@pytest.mark.parametrize("workers", [0, 2])
def test_exchanged_and_resized_tensors_are_noticed(workers):
    tensor = torch.zeros(8, 4)
    dataset = data.TensorDataset(tensor)
    batches = loader(dataset, 8, num_workers=workers)
    assert [x.sum() for (x,) in batches] == [0]
    tensor += 1
    assert [x.sum() for (x,) in batches] == [32]
    tensor.data = torch.full((8, 2), 3.0)
    assert [x.shape for (x,) in batches] == [(8, 2)]
    dataset.tensors = (torch.zeros(5),)
    assert [x.shape for (x,) in batches] == [(5,)]
    dataset.tensors = (torch.zeros(5, dtype=torch.complex64),)
    assert [x.dtype for (x,) in batches] == [torch.complex64]
    indices = [0, 1]
    chosen = loader(data.Subset(data.TensorDataset(torch.arange(9)), indices), 9)
    assert [x.tolist() for (x,) in chosen] == [[0, 1]]
    indices[1] = 5
    assert [x.tolist() for (x,) in chosen] == [[0, 5]]


def test_without_workers_a_batch_shows_the_data_as_it_is_when_it_is_asked_for():
    tensor = torch.zeros(64, dtype=torch.int64)
    for step, (batch,) in enumerate(loader(data.TensorDataset(tensor), 8)):
        assert batch.tolist() == [step] * 8
        tensor += 1


def test_memory_cannot_go_away_under_a_running_loader():
    tensor = torch.arange(100_000)
    dataset = data.TensorDataset(tensor)
    batches = iter(loader(dataset, 1000, num_workers=2))
    next(batches)
    with pytest.raises(RuntimeError, match="resiz"):
        tensor.resize_(10_000_000)
    del tensor
    dataset.tensors = ()
    del dataset
    gc.collect()
    rest = torch.cat([x for (x,) in batches])
    assert rest.tolist() == list(range(1000, 100_000))


def test_a_batch_is_the_users_alone():
    tensor = torch.arange(100)
    kept = []
    for (batch,) in loader(data.TensorDataset(tensor), 10, num_workers=1):
        batch *= -1
        kept.append(batch)
    assert torch.cat(kept).tolist() == [-x for x in range(100)]
    assert tensor.tolist() == list(range(100))


@pytest.mark.parametrize("shuffle", [False, True])
def test_every_step_resumes_with_the_identical_remainder(shuffle):
    rows = data.TensorDataset(torch.arange(53), torch.rand(53, 3))
    stream = loader(rows, 8, shuffle=shuffle, num_workers=1)
    states, batches = [], []
    for batch in stream:
        states.append(json.dumps(stream.state_dict()))
        batches.append(batch)
    for taken, saved in enumerate(states[:-1], 1):
        torch.manual_seed(taken)
        again = loader(rows, 8, shuffle=shuffle)
        again.load_state_dict(json.loads(saved))
        rest = list(again)
        assert [bits(batch) for batch in rest] == [bits(batch) for batch in batches[taken:]]
    other = loader(data.TensorDataset(torch.arange(52), torch.rand(52, 3)), 8, shuffle=shuffle)
    with pytest.raises(drapps.PipelineError, match="another stream"):
        other.load_state_dict(json.loads(states[0]))


def test_many_loaders_and_threads_at_once():
    rows = data.TensorDataset(torch.arange(5000), torch.rand(5000, 7))
    orders = {}

    def run(number):
        batches = loader(rows, 50, shuffle=True, num_workers=number % 3, seed=number)
        orders[number] = sorted(torch.cat([x for x, _ in batches]).tolist())

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(orders[number] == list(range(5000)) for number in range(8))
