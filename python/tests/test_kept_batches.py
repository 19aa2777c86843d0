"""What is kept of a loader costs what its bytes cost: no pool, no mapping and no file beside it."""

from __future__ import annotations

import pytest

from python.tests.ranks import run_forked

pytest.importorskip("torch")

# A process of its own per test: its mappings, its limits and its peak are what is looked at. All
# are forks of one that has imported torch.
PREPARE = """
import ctypes, os, resource, sys, warnings
import torch
from torch.utils.data import Dataset, TensorDataset

warnings.simplefilter("ignore")
if sys.argv[1] == "stock":
    from torch.utils.data import DataLoader
else:
    from drapps.torch import DataLoader
MIB = 1 << 20


def reserved():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def mappings():
    with open("/proc/self/maps") as file:
        return len(file.readlines())


def one_arena():
    # Else threads that allocate at the same moment get arenas of 64 MiB of addresses each.
    M_ARENA_MAX = -8
    assert ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def limit_reserved(nbytes):
    resource.setrlimit(resource.RLIMIT_AS, (nbytes, nbytes))


class Rows(Dataset):
    def __init__(self, size, width=1000):
        self.size, self.width = size, width

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.full((self.width,), float(index)), index


def is_right(batch, first, width=1000):
    rows, indices = batch
    wanted = torch.arange(first, first + len(indices))
    filled = wanted[:, None].expand(-1, width).float()
    return torch.equal(indices, wanted) and torch.equal(rows, filled)
"""


@pytest.fixture
def run(tmp_path):
    def run(body, loader="drapps"):
        (tmp_path / "script.py").write_text(PREPARE + body)
        done = run_forked(["script.py", loader], tmp_path, ["drapps.torch"], timeout=900)
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize("epochs", [6, pytest.param(500, marks=pytest.mark.full)])
def test_an_epoch_of_which_a_batch_is_kept_costs_that_batch(epochs, run):
    run(f"""
def epoch():
    for batch in DataLoader(Rows(16), batch_size=4, num_workers=2):
        pass
    return batch

one_arena()
kept = [epoch()]
before, files, maps = reserved(), len(os.listdir("/proc/self/fd")), mappings()
kept += [epoch() for _ in range({epochs})]
assert reserved() - before <= 32 * MIB + {epochs} * 8 * MIB, (reserved() - before) / MIB
assert len(os.listdir("/proc/self/fd")) <= files + 2
assert mappings() - maps <= 20 + {epochs} * 6
assert all(is_right(batch, 12) for batch in kept)
""")


def test_folds_with_persistent_workers_fit_a_small_address_space(run):
    run("""
limit_reserved(reserved() + 4000 * MIB)
options = {"batch_size": 4, "num_workers": 2, "persistent_workers": True}
folds = []
for fold in range(3):
    folds.append([DataLoader(Rows(16), **options) for _ in range(2)])
    for loader in folds[-1]:
        assert all(is_right(batch, 4 * step) for step, batch in enumerate(loader))
""")


@pytest.mark.full
@pytest.mark.parametrize("loader", ["stock", "drapps"])
def test_two_workers_start_where_address_space_is_limited_to_4_gb(loader, run):
    run(
        """
limit_reserved(4_000_000_000)
loader = DataLoader(Rows(64), batch_size=4, num_workers=2)
assert all(is_right(batch, 4 * step) for step, batch in enumerate(loader))
""",
        loader,
    )


def test_batches_of_many_sizes_fit_an_address_space_that_each_of_them_fits(run):
    run("""
class Growing(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.full(((index % 20 + 1) * MIB // 4,), float(index))

limit_reserved(reserved() + 1000 * MIB)
loader = DataLoader(Growing(), batch_size=1, num_workers=2)
for index, batch in enumerate(loader):
    assert batch.shape[1] == (index % 20 + 1) * MIB // 4 and batch[0, -1] == index
assert index == 39
""")


@pytest.mark.parametrize("batches", [3000, pytest.param(1_000_000, marks=pytest.mark.full)])
def test_lifted_batches_that_are_kept_take_no_mappings(batches, run):
    run(f"""
loader = DataLoader(TensorDataset(torch.arange({batches})), batch_size=1)
next(iter(loader))
assert loader.lifted()
before = mappings()
kept = list(loader)
assert mappings() - before <= 100, mappings() - before
assert [int(batch) for [batch] in kept] == list(range({batches}))
""")


def test_what_is_kept_of_a_pool_that_is_gone_stays_as_it_was_given(run):
    run("""
kept = []
for epoch in range(3):
    loader = DataLoader(Rows(24), batch_size=4, num_workers=2, persistent_workers=epoch == 1)
    kept += [(step, batch) for step, batch in enumerate(loader) if step % 2 == epoch % 2]
    del loader
pid = os.fork()
if pid == 0:
    os._exit(0 if all(is_right(batch, 4 * step) for step, batch in kept) else 1)
assert os.waitpid(pid, 0)[1] == 0
for step, batch in kept:
    batch[0].add_(1)
    assert torch.equal(batch[0] - 1, batch[1][:, None].expand(-1, 1000) * 1.0)
""")


def test_a_child_sees_a_small_lifted_batch_as_it_was_when_it_was_forked(run):
    run("""
loader = DataLoader(TensorDataset(torch.arange(4096)), batch_size=16)
batches = iter(loader)
[held] = next(batches)
wanted = held.clone()
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(read, 1)
    os._exit(0 if torch.equal(held, wanted) else 1)
del held
for _ in batches:  # fills what was held
    pass
os.write(write, b"g")
assert os.waitpid(pid, 0)[1] == 0
""")
