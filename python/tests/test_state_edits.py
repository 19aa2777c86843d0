"""An edited state is a StateError, or it loads: never an error from inside, and never a hang."""

import copy
import json

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps  # noqa: E402
from drapps.torch import DataLoader  # noqa: E402
from python.tests.cells import cells  # noqa: E402
from python.tests.test_state_edges import SAMPLERS, SIZE, Numbers, seeded  # noqa: E402

EDITS = ["absent", None, True, -1, 1.5, "x", "", [], {}, [1], {"a": 1}, 10**30, 1 << 62]


class Stream(data.IterableDataset):
    """Numbers that go on where a state says."""

    def __init__(self):
        self.place = 0

    def __iter__(self):
        while self.place < SIZE:
            self.place += 1
            yield self.place - 1
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = int(state["place"]) % SIZE


def lifted(order, photos, torchvision):
    t = torchvision.transforms
    chain = t.Compose([t.CenterCrop(8), t.ToTensor()])
    dataset = torchvision.datasets.ImageFolder(photos, chain)
    sampler = SAMPLERS[order](dataset)
    return DataLoader(dataset, 4, sampler is None or None, sampler, generator=seeded(7))


def python(order, *_):
    sampler = SAMPLERS[order](Numbers())
    return DataLoader(Numbers(), 4, sampler is None or None, sampler, generator=seeded(7))


def plain(*_):
    return DataLoader(Numbers(), 4, True)


def stream(*_):
    return DataLoader(Stream(), 4)


def serial(*_):
    return DataLoader(Numbers(), 4, True, num_workers=2, torch_order=True)


CASES = {
    "lifted": (lifted, ["shuffled", "sequential", "subset", "distributed"]),
    "python": (python, ["shuffled", "sequential", "subset", "distributed", "stateful"]),
    "plain": (plain, [""]),
    "stream": (stream, [""]),
    "serial": (serial, [""]),
}


def places(value, path=()):
    """Paths of all fields of a state, and of what is in them."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield (*path, key)
        if isinstance(part, (dict, list)) and key != "sampler":  # what is in it is the user's
            yield from places(part, (*path, key))


def edited(state, path, edit):
    state = copy.deepcopy(state)
    holder = state
    for key in path[:-1]:
        holder = holder[key]
    if edit == "absent":
        del holder[path[-1]]
    else:
        holder[path[-1]] = edit
    return state


@pytest.mark.parametrize(
    ("case", "point"),
    cells(
        [(kind, order) for kind, (_, orders) in CASES.items() for order in orders],
        ["within", "begun", "between"],
    ),
)
def test_an_edit_is_refused_by_the_name_of_its_field(case, point, photos, torchvision):
    kind, order = case
    make = CASES[kind][0]
    loader = make(order, photos, torchvision)
    if point != "between":
        iterator = iter(loader)
        for _ in range(2 if point == "within" else 0):
            next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    refused, wrong = 0, []
    for path in places(state):
        for edit in EDITS if kind != "serial" or path[0] in ("workers", "turn") else EDITS[:2]:
            again = make(order, photos, torchvision)
            try:
                again.load_state_dict(edited(state, path, edit))
                list(again)
            except drapps.StateError as error:
                refused += 1
                phrases = (str(path[0]), "another order", "the state lacks its ")
                if not any(words in str(error) for words in phrases):
                    wrong.append((path, edit, error))
            except Exception as error:
                wrong.append((path, edit, error))
    assert not wrong, "\n".join(map(repr, wrong))
    assert refused >= len(state)
