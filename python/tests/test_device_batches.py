"""Batches on a device, beside a pretended one whose copies take time, on a thread of their own."""

import collections
import contextlib
import queue
import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402
from torch.utils.data._utils.pin_memory import pin_memory  # noqa: E402

import drapps.torch  # noqa: E402
from drapps.torch.destination import DeviceMemory, map_batch  # noqa: E402
from python.tests.cells import some_full  # noqa: E402
from python.tests.corpus import corpora  # noqa: E402


class Stream:
    """Does what it is told one after the other, later."""

    def __init__(self, device):
        self.device = device
        self._work = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            self._work.get()()

    def do(self, work):
        self._work.put(work)

    def record_event(self):
        event = threading.Event()
        self._work.put(event.set)
        return event

    def wait_event(self, event):
        assert event.wait(300)


class Module:
    """As ``torch.cuda``, as far as a loader asks it."""

    def __init__(self):
        self.consumer = Stream(None)
        self._streams = threading.local()

    Stream = Stream

    def current_stream(self, device):
        assert device == torch.device("cuda:0")
        return getattr(self._streams, "current", self.consumer)

    @contextlib.contextmanager
    def stream(self, stream):
        self._streams.current = stream
        yield
        del self._streams.current


class Copies(list):
    """What was copied, as lists; and what the pretended device is like."""

    seconds = 0.0
    bad = ()
    full = False  # of memory, where the transfer thread asks for it
    refused = 0  # times that there is none for who takes a batch

    def __init__(self, module):
        self.kept = []
        self._module = module

    def copied(self, memory, tensor):
        stream = self._module.current_stream(memory._device)
        ahead = stream is not self._module.consumer
        if self.full and ahead:
            raise torch.OutOfMemoryError("out of memory")
        if self.refused and not ahead:
            self.refused -= 1
            raise torch.OutOfMemoryError("out of memory")
        if tensor.tolist() in self.bad:
            raise ValueError(f"{tensor.tolist()} cannot be copied")
        there = torch.full_like(tensor, -1)

        def copy():
            time.sleep(self.seconds)
            there.copy_(tensor + 1000)
            self.append(tensor.tolist())

        stream.do(copy) if ahead else copy()
        return there


@pytest.fixture
def copies(monkeypatch):
    accelerator = torch.accelerator
    monkeypatch.setattr(accelerator, "is_available", lambda: True)
    monkeypatch.setattr(accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(accelerator, "device_count", lambda: 1)
    monkeypatch.setattr(accelerator, "current_device_index", lambda: 0)
    module = Module()
    copies = Copies(module)
    monkeypatch.setattr(torch, "get_device_module", lambda _: module)
    monkeypatch.setattr(DeviceMemory, "_pinned", lambda _, batch: batch)
    monkeypatch.setattr(DeviceMemory, "_copied", lambda *what: copies.copied(*what))
    monkeypatch.setattr(DeviceMemory, "_keep", lambda _, *what: copies.kept.append(what))
    return copies


class Numbers(data.IterableDataset):
    def __iter__(self):
        return iter(torch.arange(20))


def loader_of(dataset=None, **options):
    dataset = list(range(20)) if dataset is None else dataset
    options = {"batch_size": 2, "num_workers": 2, "device": "cuda", "lift": False} | options
    return drapps.torch.DataLoader(dataset, **options)


def in_process(**options):
    return loader_of(num_workers=0, **options)


def streamed(**options):
    return loader_of(Numbers(), num_workers=1, **options)


def lifted(**options):
    loader = loader_of(data.TensorDataset(torch.arange(20)), lift=True, **options)
    assert loader.lifted()
    return loader


def lifted_at_once(**options):
    return lifted(num_workers=0, **options)


ALL = pytest.mark.parametrize("made_by", [loader_of, in_process, streamed, lifted, lifted_at_once])
AHEAD = pytest.mark.parametrize("made_by", [loader_of, streamed, lifted])
# A stream is ahead as what has indices is: two tests have it in `make test`.
INDEXED = pytest.mark.parametrize(
    "made_by", some_full([loader_of, streamed, lifted], loader_of, lifted)
)
EXPECTED = [[i, i + 1] for i in range(0, 20, 2)]


def values(batches):
    tensors = [batch[0] if isinstance(batch, list) else batch for batch in batches]
    return [[value - 1000 for value in tensor.tolist()] for tensor in tensors]


@ALL
def test_who_takes_a_batch_sees_it_whole(copies, made_by):
    copies.seconds = 0.02
    rows = []
    for batch in made_by():
        rows += values([batch])
        assert copies.kept[-1][0] is (batch[0] if isinstance(batch, list) else batch)
    assert rows == copies == EXPECTED
    assert len(copies.kept) == len(EXPECTED)


@AHEAD
def test_batches_are_copied_while_the_training_step_runs(copies, made_by):
    copies.seconds = 0.01
    iterator = iter(made_by(prefetch_factor=4))
    batches = []
    while len(copies) <= len(batches) and len(batches) < 8:
        batches.append(next(iterator))
        end = time.monotonic() + 1
        while len(copies) <= len(batches) and time.monotonic() < end:
            time.sleep(0.01)
    assert len(batches) < len(copies) <= len(batches) + 3
    assert values(batches) + values(iterator) == EXPECTED


@INDEXED
def test_what_cannot_be_copied_is_raised_in_its_turn(copies, made_by):
    copies.bad = ([4, 5],)
    iterator = iter(made_by())
    assert values([next(iterator), next(iterator)]) == EXPECTED[:2]
    with pytest.raises(ValueError, match=r"(?s)transfer thread for device cuda:0.*4, 5"):
        next(iterator)
    assert values(iterator) == EXPECTED[3:]


@INDEXED
def test_without_memory_for_what_is_ahead_batches_are_copied_when_they_are_taken(copies, made_by):
    copies.full = True
    with pytest.warns(RuntimeWarning, match="cuda:0 has no memory left") as warned:
        assert values(made_by()) == EXPECTED
    assert len([each for each in warned if "no memory left" in str(each.message)]) == 1


@pytest.mark.filterwarnings("ignore:.* has no memory left")
def test_a_batch_for_which_there_is_no_memory_when_it_is_taken_is_not_lost(copies):
    copies.full, copies.refused = True, 2
    loader = lifted()
    iterator = iter(loader)
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            next(iterator)
        assert loader.state_dict()["position"] == 0
    assert values(iterator) == EXPECTED


@ALL
@pytest.mark.usefixtures("copies")
def test_a_state_counts_what_was_yielded_and_not_what_was_copied(made_by):
    loader = made_by()
    iterator = iter(loader)
    assert values([next(iterator), next(iterator)]) == EXPECTED[:2]
    if made_by is streamed:  # a stream without a state of its own begins anew
        return
    state = loader.state_dict()
    again = made_by()
    again.load_state_dict(state)
    assert values(again) == values(iterator) == EXPECTED[2:]


def native():
    return drapps.arrays({"x": np.arange(20)}).batch(2)


def test_a_native_loader_gives_tensors_on_the_device(copies):
    copies.seconds = 0.01
    loader = native()
    expected = [batch["x"].tolist() for batch in native().torch()]
    passed = loader.torch("cuda:0")
    assert len(passed) == len(expected) == 10
    rows = []
    for batch in passed:
        rows.append([value - 1000 for value in batch["x"].tolist()])
        if len(rows) == 4:
            break
    assert passed.state_dict() == loader.state_dict()
    loader.load_state_dict(loader.state_dict())
    assert rows + [[v - 1000 for v in batch["x"].tolist()] for batch in loader.torch("cuda")] == (
        expected
    )
    passed.close()


@pytest.mark.usefixtures("copies")
def test_packed_text_comes_to_a_device_too(tmp_path):
    make = corpora.small_loader(tmp_path)
    expected = [batch["input_ids"].tolist() for batch in make().torch()]
    rows = [(batch["input_ids"] - 1000).tolist() for batch in make().torch("cuda")]
    assert rows == expected


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
def test_a_native_loader_without_the_device_begins_no_epoch():
    loader = native()
    with pytest.raises(drapps.PipelineError, match="'cuda' is not there"):
        loader.torch("cuda")
    with pytest.raises(drapps.PipelineError, match="names no device"):
        loader.torch(device="gpu")
    assert loader.epochs.upcoming == native().epochs.upcoming
    assert [batch["x"].tolist() for batch in loader.torch("cpu")] == (
        [batch["x"].tolist() for batch in native().torch()]
    )


class Graph:
    """An object that moves itself, as those of other libraries do."""

    def __init__(self, nodes, place="host"):
        self.nodes, self.place = nodes, place

    def to(self, device):
        return Graph(self.nodes, device)


def test_objects_move_themselves_when_they_are_taken(copies):
    loader = loader_of(collate_fn=lambda rows: {"rows": torch.tensor(rows), "graph": Graph(rows)})
    first = next(iter(loader))
    assert (first["graph"].place, first["graph"].nodes) == (torch.device("cuda:0"), [0, 1])
    assert values([first["rows"]]) == [[0, 1]]
    assert len(copies.kept) == 1


Pair = collections.namedtuple("Pair", "first second")


class Frozen(collections.abc.Sequence):
    def __init__(self, items):
        self.items = tuple(items)

    def __getitem__(self, index):
        return self.items[index]

    def __len__(self):
        return len(self.items)


ONE = torch.ones(2)
NESTED = [
    {"a": ONE, "b": [ONE, "text", b"bytes", None, 3]},
    collections.OrderedDict(b=ONE, a=(ONE, ONE)),
    collections.defaultdict(list, {"a": ONE}),
    collections.UserDict({"a": {"b": ONE}}),
    Pair(ONE, [Pair(ONE, "x")]),
    Frozen([ONE, 1]),
    collections.deque([ONE, 2]),
    range(3),
    object(),
]


@pytest.mark.parametrize("batch", NESTED, ids=lambda batch: type(batch).__name__)
def test_containers_are_made_again_as_pinning_makes_them(batch, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 1)

    def inside(node):
        if isinstance(node, torch.Tensor):
            return node.tolist()
        if isinstance(node, collections.abc.Mapping):
            return [(key, inside(value)) for key, value in node.items()]
        if isinstance(node, collections.abc.Sequence) and not isinstance(node, (str, bytes)):
            return [inside(value) for value in node]
        return node

    container, expected = map_batch(batch, lambda leaf: leaf + 1), pin_memory(batch)
    assert type(container) is type(expected)
    assert inside(container) == inside(expected)
    assert inside(batch) != inside(container) or batch in NESTED[-2:]


@pytest.mark.parametrize("device", ["nonsense", "cuda:-1", "meta", object(), 1.5])
def test_what_names_no_device(device):
    with pytest.raises(drapps.PipelineError, match=r"device=.* names no device"):
        loader_of(device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one")
@pytest.mark.parametrize("made_by", [loader_of, in_process, lifted])
def test_a_device_that_is_not_there(made_by):
    loader = made_by(device="cuda:1")
    with pytest.raises(drapps.PipelineError, match=r"'cuda:1' is not there: .* finds 0 devices"):
        iter(loader)


@pytest.mark.parametrize("device", some_full([None, "cpu", torch.device("cpu")], "cpu"))
def test_the_cpu_is_where_batches_are(device):
    assert [batch.tolist() for batch in loader_of(device=device)] == EXPECTED
