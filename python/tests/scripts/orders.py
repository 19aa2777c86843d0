"""Orders, `collate_fn`s and options of generated scripts, as text."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Order:
    """A part.

    Attributes:
        arguments: of the loader; ``{b}`` is a batch size.
        make: statements before, behind the dataset.
        text: definitions.
        batches: it gives whole batches.
        shuffles: torch's own shuffle, which a lifted loader makes itself.
        epochs: it has a ``set_epoch``.
        resumes: a pass of it can be gone on with from a state.
        fails: it raises, or names samples that are not there.
        draws_on: its sampler draws from a generator of the user's within a pass, not only before.
    """

    arguments: str
    make: str = ""
    text: str = ""
    batches: bool = False
    shuffles: bool = False
    epochs: bool = False
    resumes: bool = True
    fails: bool = False
    draws_on: bool = False


OWN = "own = torch.Generator().manual_seed(11)"
DICE = """
class Dice(data.Sampler):
    def __init__(self, size):
        self.size, self.asked = size, 0

    def __iter__(self):
        for _ in range(self.size):
            self.asked += 1
            yield int(torch.randint(self.size, ()))

    def __len__(self):
        return self.size
"""
ENDLESS = """
class Endless(data.Sampler):
    def __init__(self, size):
        self.size, self.asked = size, 0

    def __iter__(self):
        while True:
            for index in range(self.size):
                self.asked += 1
                if self.asked > 20000:
                    raise RuntimeError("an endless sampler was asked for too much")
                yield index

    def __len__(self):
        return self.size
"""
BREAKING = """
class Breaking(data.Sampler):
    def __init__(self, size):
        self.size, self.asked = size, 0

    def __iter__(self):
        for index in range(self.size):
            self.asked += 1
            if index == 6:
                raise LookupError("the sampler is broken")
            yield index
"""
GROUPS = """
class Groups(data.Sampler):
    def __init__(self, size, kind):
        self.size, self.kind, self.asked = size, kind, 0

    def __iter__(self):
        for first in range(0, self.size, {b}):
            places = range(first, min(first + {b}, self.size))
            group = [(7 * index + 3) % self.size for index in places]
            self.asked += 1
            yield self.kind(group)

    def __len__(self):
        return -(-self.size // {b})
"""


def groups(kind):
    """A batch sampler of one's own, whose batches are of a kind."""
    make = f"sampler = Groups(len(dataset), {kind})"
    return Order("batch_sampler=sampler", make, GROUPS, batches=True)


def ranks(world, rank, more=""):
    """The share of a rank."""
    make = f"sampler = data.DistributedSampler(dataset, {world}, {rank}{more})"
    return Order("batch_size={b}, sampler=sampler", make, epochs=True)


SIZED = "batch_size={b}, sampler=sampler"
WEIGHTS = "[1.0 + i % 3 for i in range(len(dataset))]"

ORDERS = {
    "sequential": Order("batch_size={b}"),
    "one by one": Order("batch_size=None"),
    "shuffled": Order("batch_size={b}, shuffle=True", shuffles=True),
    "shuffled singly": Order("batch_size=None, shuffle=True", shuffles=True),
    "random": Order(SIZED, f"{OWN}\nsampler = data.RandomSampler(dataset, generator=own)"),
    "random of all": Order(SIZED, "sampler = data.RandomSampler(dataset)", shuffles=True),
    "replaced": Order(
        SIZED,
        f"{OWN}\nsampler = data.RandomSampler(dataset, True, 40, generator=own)",
        draws_on=True,
    ),
    "more than once": Order(
        SIZED, "sampler = data.RandomSampler(dataset, num_samples=2 * len(dataset) + 3)"
    ),
    "weighted": Order(
        SIZED, f"{OWN}\nsampler = data.WeightedRandomSampler({WEIGHTS}, 17, generator=own)"
    ),
    "weighted globally": Order(SIZED, f"sampler = data.WeightedRandomSampler({WEIGHTS}, 17)"),
    "subset": Order(
        SIZED, f"{OWN}\nsampler = data.SubsetRandomSampler(range(1, len(dataset)), generator=own)"
    ),
    "subset globally": Order(SIZED, "sampler = data.SubsetRandomSampler(range(1, len(dataset)))"),
    "list": Order(SIZED, "sampler = [2, 0, 1, 1, 2, 0, -1, 1, 0]"),
    "tensor": Order(SIZED, "sampler = torch.tensor([2, 0, 1, 1, 2, 0, 1])"),
    "split tensors": Order(
        "batch_sampler=sampler", "sampler = torch.arange(7).split(3)", batches=True
    ),
    "array": Order(SIZED, "sampler = np.array([2, 0, 1, 1, 2, 0, 1])"),
    "beyond": Order(SIZED, "sampler = [0, 1, len(dataset) + 3, 2, 1]", fails=True),
    "dice": Order(SIZED, "sampler = Dice(len(dataset))", DICE, resumes=False),
    "endless": Order(SIZED, "sampler = Endless(len(dataset))", ENDLESS, resumes=False),
    "breaking": Order(SIZED, "sampler = Breaking(len(dataset))", BREAKING, fails=True),
    "one rank": ranks(1, 0),
    "of two ranks": ranks(2, 1, ", seed=5"),
    "of three ranks": ranks(3, 1, ", shuffle=False"),
    "of three and dropping": ranks(3, 2, ", drop_last=True"),
    "batches": Order(
        "batch_sampler=sampler",
        "sampler = data.BatchSampler(data.RandomSampler(dataset), {b}, True)",
        batches=True,
        shuffles=True,
    ),
    "listed batches": Order(
        "batch_sampler=sampler", "sampler = [[0, 1], [2], [1, 1, 0], [2, 0]]", batches=True
    ),
    "an empty batch": Order(
        "batch_sampler=sampler", "sampler = [[0, 1], [], [2]]", batches=True, fails=True
    ),
    "lists": groups("list"),
    "tuples": groups("tuple"),
    "sets": groups("set"),
    "deques": groups("collections.deque"),
    "generators": replace(groups("iter"), resumes=False),
    "views": groups("lambda group: dict.fromkeys(group).keys()"),
    "arrays": groups("np.array"),
}
# What stock cannot send to workers; and with them no moment is promised at which a sampler breaks.
WITHOUT_WORKERS = ("generators", "views", "breaking")
# With which a loader may run natively.
LIFTED = ("sequential", "shuffled", "replaced", "weighted", "subset", "list", "of two ranks")
STREAM_ORDERS = ("sequential", "one by one")

COLLATES = {
    "default": ("", ""),
    "given default": ("collate_fn=data.default_collate", ""),
    "lambda": ("collate_fn=lambda samples: samples", ""),
    "converted": ("collate_fn=data.default_convert", ""),
    "counted": (
        "collate_fn=counted",
        "\ndef counted(samples):\n    return {'count': len(samples), 'batch': samples}\n",
    ),
    "of one's own": (
        "collate_fn=boxed",
        "\nclass Box:\n    def __init__(self, items):\n        self.items = items\n\n"
        "    def pin_memory(self):\n        return self\n\n"
        "\ndef boxed(samples):\n    return Box(list(samples))\n",
    ),
    "picky": (
        "collate_fn=picky",
        "\ndef picky(samples):\n    if len(samples) < 2:\n"
        "        raise TypeError(f'a batch of {len(samples)}')\n"
        "    return data.default_collate(samples)\n",
    ),
    "nothing": ("collate_fn=lambda samples: None", ""),
}
FAILING_COLLATES = ("picky",)
SINGLE_COLLATES = ("default", "converted", "lambda", "nothing")  # which take one sample, too

INITS = {
    "": "",
    "seeding": "\ndef begin(worker):\n    torch.manual_seed(worker)\n    random.seed(worker)\n"
    "    np.random.seed(worker)\n",
    "changing": "\ndef begin(worker):\n    data.get_worker_info().dataset.mark = worker\n",
}
