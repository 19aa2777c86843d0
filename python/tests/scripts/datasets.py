"""Datasets of generated scripts, as text."""

from dataclasses import dataclass

FLOATS = ("float32",)
DOUBLES = ("float64",)


@dataclass(frozen=True)
class Dataset:
    """A part.

    Attributes:
        make: statements that bind ``dataset``; ``{n}`` is a size.
        text: definitions before them.
        stream: it is iterable-style.
        drawn: dtypes of leaves that hold random numbers.
        plain: the default ``collate_fn`` makes batches of its samples.
        edits: statements that change ``dataset`` between two passes.
        keys: its indices, where they are not whole numbers from 0 on.
        fails: samples raise.
        tells_worker: samples depend on who makes them.
        pictures: it is one of torchvision's.
        lifts: it may run natively.
    """

    make: str
    text: str = ""
    stream: bool = False
    drawn: tuple[str, ...] = ()
    plain: bool = True
    edits: tuple[str, ...] = ()
    keys: str = ""
    fails: bool = False
    tells_worker: bool = False
    pictures: bool = False
    lifts: bool = False


NUMBERS = """
class Numbers(data.Dataset):
    def __init__(self, size):
        self.size = size
        self.factor = 1

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return sample_of(self, index)
"""


def numbers(body, make="dataset = Numbers({n})", text="", more="", **facts):
    """A map-style dataset whose samples `body` gives, of ``self`` and ``index``."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    whole = f"{text}\ndef sample_of(self, index):\n{lines}\n{NUMBERS}{more}"
    edits = ("dataset.factor = 3", "dataset.size -= 2")
    return Dataset(make, whole, **{"edits": edits if "Numbers" in make[:18] else (), **facts})


DRAWN = """
drawn = [torch.rand(()).item(), random.random(), float(np.random.rand())]
return {"index": index * self.factor, "drawn": torch.tensor(drawn, dtype=torch.float64)}
""".strip()
NESTED = """
picture = torch.arange(3.0) * index * self.factor
return {"index": index, "x": picture, "name": f"s{index}", "deep": (index, [picture[:2], b"b"])}
""".strip()
POINT = """
Point = collections.namedtuple("Point", ["left", "right"])
"""
ARRAYS = """
small = np.full((2, 3), index * self.factor, np.int16)
small.flags.writeable = index % 2 == 0
return small, np.float32(index), np.uint8(index), torch.tensor(index % 2 == 0)
""".strip()
ZOO = """
labels = [
    index, float(index), "text", b"bytes", None, True, 1j * index, {1, index}, frozenset([2]),
    torch.full((2,), index, dtype=torch.int32), torch.full((2, 2), index, dtype=torch.bfloat16).T,
    torch.zeros(0, 3), torch.tensor(index), np.arange(index, index + 3, dtype=np.int16),
    np.array(["a", "bc"]), np.array([index, None], dtype=object), np.array(index),
    np.ma.masked_array([1, 2], [0, 1]), torch.nn.Parameter(torch.ones(2)),
    torch.full((3,), 1.0 + index, requires_grad=True), torch.tensor([1 + 2j]).conj(),
    range(index), slice(1, index), Exception(f"kept {index}"), collections.OrderedDict(a=index),
    torch.eye(3).to_sparse(), torch.Size([1, index]), torch.float16,
]
return labels[(index * self.factor) % len(labels)]
""".strip()
RAISES = """
if index == 5:
    raise ValueError(f"sample {index} is broken")
if index == 6:
    raise KeyError("six", index)
if index == 7:
    raise Unkind(index, "of two arguments")
return index * self.factor
""".strip()
UNKIND = """
class Unkind(Exception):
    def __init__(self, number, reason):
        super().__init__(f"{number} {reason}")
"""
WORKER = """
info = data.get_worker_info()
if info is None:
    return index, -1, 0, 0, 0
return index, info.id, info.num_workers, info.seed, torch.initial_seed()
""".strip()
BULK = """
class Bulk(Numbers):
    def __getitems__(self, indices):
        return [(index, len(indices), torch.rand((), dtype=torch.float64)) for index in indices]

"""
STREAM = """
class Stream(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (0, 1) if info is None or {whole} else (info.id, info.num_workers)
        for index in range(first, self.size, step):
            {body}
{more}
"""


def stream(body="yield index", whole=False, more="", make="dataset = Stream({n})", **facts):
    """An iterable-style dataset."""
    text = STREAM.replace("{whole}", str(whole)).replace("{body}", body).replace("{more}", more)
    return Dataset(make, text, stream=True, **facts)


LENGTH = """
    def __len__(self):
        return {length}
"""
STATEFUL = """
class Stateful:
    def __init__(self, size):
        info = data.get_worker_info()
        self.place, self.step = (0, 1) if info is None else (info.id, info.num_workers)
        self.size = size

    def __iter__(self):
        return self

    def __next__(self):
        if self.place >= self.size:
            raise StopIteration
        self.place += self.step
        return self.place - self.step

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


class Stream(data.IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return Stateful(self.size)
"""
SUBSET = "dataset = data.Subset(Numbers({n} + 5), list(range({n} + 4, 4, -1)))"
SPLIT = (
    "whole = Numbers({n} + 7)\n"
    "dataset, _ = data.random_split(whole, [{n}, 7], torch.Generator().manual_seed(4))"
)
CONCAT = "dataset = data.ConcatDataset([Numbers({n} - {n} // 2), Numbers({n} // 2)])"
DRAW_STREAM = "yield index, torch.rand((), dtype=torch.float64), random.random(), np.random.rand()"
RAISE_STREAM = (
    "if index == 5:\n                raise ValueError(f'element {index} is broken')\n"
    "            yield index"
)

PYTHON = {
    "numbers": numbers("return index * index * self.factor"),
    "drawing": numbers(DRAWN, drawn=DOUBLES),
    "drawing subset": numbers(DRAWN, SUBSET, drawn=DOUBLES, edits=("dataset.indices.reverse()",)),
    "drawing split": numbers(DRAWN, SPLIT, drawn=DOUBLES),
    "nested": numbers(NESTED),
    "concatenated": numbers(NESTED, CONCAT),
    "stacked": numbers(
        "return index * self.factor",
        "dataset = data.StackDataset(a=Numbers({n}), b=torch.arange({n}))",
    ),
    "named tuples": numbers("return Point(index * self.factor, torch.ones(2) * index)", text=POINT),
    "arrays": numbers(ARRAYS),
    "zoo": numbers(ZOO, plain=False),
    "nothing": numbers("return None", fails=True),
    "ragged": numbers("return torch.zeros(1 + index // 6)", fails=True),
    "raising": numbers(RAISES, text=UNKIND, fails=True),
    "stopping": numbers(
        "if index == 4:\n    raise StopIteration\nreturn index * self.factor", fails=True
    ),
    "worker": numbers(WORKER, tells_worker=True),
    "bulk": numbers(
        "return None", "dataset = Bulk({n})", drawn=DOUBLES, tells_worker=True, more=BULK
    ),
    "list": Dataset(
        "dataset = [(i, float(i)) for i in range({n})]", edits=("dataset[0] = (9, 9.0)",)
    ),
    "tensor": Dataset("dataset = torch.arange({n} * 2).reshape({n}, 2)", edits=("dataset += 1",)),
    "dict": Dataset(
        "dataset = {f'k{i}': i * i for i in range({n})}",
        keys="[f'k{i}' for i in range({n})]",
        edits=("dataset['k0'] = 77",),
    ),
}

STREAMS = {
    "sharded": stream(),
    "unsharded": stream(whole=True),
    "sized": stream(more=LENGTH.format(length="self.size")),
    "sized too small": stream(more=LENGTH.format(length="self.size - 3")),
    "drawing stream": stream(DRAW_STREAM, drawn=(*DOUBLES, "float")),
    "raising stream": stream(RAISE_STREAM, fails=True),
    "stateful stream": Dataset("dataset = Stream({n})", STATEFUL, stream=True),
    "chained": stream(make="dataset = data.ChainDataset([Stream({n}), Stream(3)])"),
}

TENSORS = (
    "dataset = data.TensorDataset(torch.arange({n} * 2.0).reshape({n}, 2), "
    "torch.arange({n}, dtype=torch.{dtype}))"
)
CIFAR = """
draw = np.random.default_rng(3)
dataset = datasets.CIFAR10.__new__(datasets.CIFAR10)
dataset.data = draw.integers(0, 256, ({n}, 32, 32, 3), np.uint8)
dataset.targets = {targets}
dataset.target_transform = None
dataset.transform = {chain}
""".strip()
FOLDER = """
dataset = datasets.ImageFolder(os.environ["PHOTOS"], {chain})
dataset.samples = dataset.samples[:{n}]
""".strip()
TARGETS = (
    "[i % 7 for i in range({n})]",
    "np.arange({n}, dtype=np.int32)",
    "np.arange({n}, dtype=np.uint8)",
    "torch.arange({n}, dtype=torch.int32)",
    "np.arange({n})",
)
DTYPES = ("int32", "int64", "uint8", "int16", "float32", "bool", "float64", "bfloat16")

CHAINS = {
    "T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor()])": (),
    "T.Compose([T.CenterCrop(24), T.ToTensor(), T.Normalize([0.5] * 3, [0.25] * 3)])": (),
    "T.Compose([T.Resize((16, 18)), T.PILToTensor()])": (),
    "T.Compose([T.Grayscale(3), T.Pad(2, 7), T.CenterCrop(20), T.ToTensor()])": (),
    "v2.Compose([v2.ToImage(), v2.Resize(18), v2.CenterCrop(16), "
    "v2.ToDtype(torch.float32, scale=True)])": (),
    "v2.Compose([v2.Resize((15, 15)), v2.ToImage(), v2.ToPureTensor()])": (),
    "T.Lambda(lambda picture: np.asarray(picture.resize((8, 8))))": (),
    "T.Compose([T.CenterCrop(12), T.ToTensor(), lambda x: x.flip(0)])": (),
    "T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])": FLOATS,
    "T.Compose([T.CenterCrop(16), T.ColorJitter(0.5, 0.5), T.PILToTensor()])": ("uint8",),
    "v2.Compose([v2.RandomCrop(20, pad_if_needed=True), v2.ToImage(), "
    "v2.ToDtype(torch.float32, scale=True), v2.RandomErasing()])": FLOATS,
    "T.Compose([T.RandomRotation(20), T.CenterCrop(16), T.ToTensor()])": FLOATS,
}
FOLDER_EDITS = (
    "dataset.samples[1] = (dataset.samples[1][0], 7)",
    "dataset.samples.reverse()",
    "dataset.samples = dataset.samples[2:]",
    "dataset.transform = T.Compose([T.CenterCrop(10), T.ToTensor()])",
)


def vision(draw):
    """A dataset of torch or torchvision that may be lifted; `draw` is a ``random.Random``."""
    kind = draw.choice(["tensors", "cifar", "folder", "folder"])
    chain, drawn = draw.choice(list(CHAINS.items()))
    if kind == "tensors":
        source, drawn = TENSORS.replace("{dtype}", draw.choice(DTYPES)), ()
        edits = ("dataset.tensors[1][0] = 1",)
    elif kind == "cifar":
        source = CIFAR.replace("{targets}", draw.choice(TARGETS))
        edits = ("dataset.targets[1] = 5", "dataset.data[0] = 7")
    else:
        source, edits = FOLDER, FOLDER_EDITS
    source = source.replace("{chain}", chain)
    if draw.random() < 0.25:
        source += "\ndataset = data.Subset(dataset, [*range({n} - 1, 1, -1), 0, 0])"
        edits = (
            "dataset.indices[0] = 3",
            *(f"whole = dataset.dataset; {e.replace('dataset', 'whole')}" for e in edits),
        )
    return Dataset(source, drawn=drawn, edits=edits, pictures=kind != "tensors", lifts=True)
