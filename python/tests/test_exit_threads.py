"""What keeps a daemon thread that uses a loader from ending the process badly."""

import pytest

torch = pytest.importorskip("torch")

import drapps.torch  # noqa: E402
from python.tests.hold_streams import run_script  # noqa: E402

# Children whose interpreter ends at a random moment, most with a daemon thread at work. It prints
# those that did not exit with 0.
SCENES = """
import atexit, os, random, signal, sys, threading, time
import numpy as np
import PIL.Image
import torch
import torchvision
import drapps
import drapps.torch

tries, part, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
for number in range(16):
    os.makedirs(f"{folder}/{number % 2}", exist_ok=True)
    pixels = np.full((40, 40, 3), number, np.uint8)
    PIL.Image.fromarray(pixels).save(f"{folder}/{number % 2}/{number}.jpg")

def arrays(workers):
    data = torch.utils.data.TensorDataset(torch.zeros(64, 3, 8, 8), torch.arange(64))
    return lifted(drapps.torch.DataLoader(data, 4, shuffle=True, num_workers=workers))

def pictures(workers):
    steps = [torchvision.transforms.RandomResizedCrop(32), torchvision.transforms.ToTensor()]
    data = torchvision.datasets.ImageFolder(folder, torchvision.transforms.Compose(steps))
    return lifted(drapps.torch.DataLoader(data, 4, shuffle=True, num_workers=workers))

def lifted(loader):
    assert loader.lifted()
    return loader

def forever(loader, seen):
    while True:
        for _ in loader:
            seen.set()

def begin(loader, daemon=True, work=forever):
    seen = threading.Event()
    threading.Thread(target=work, args=(loader, seen), daemon=daemon).start()
    assert seen.wait(60)

def daemon(make):
    begin(make())

def several_daemons(make):
    for _ in range(3):
        begin(make())

def a_thread_that_ends_later(make):
    def once(loader, seen):
        for _ in loader:
            seen.set()
    begin(make(), daemon=False, work=once)

def at_exit(make):
    loader = make()
    begin(make())
    atexit.register(lambda: [None for _ in loader])

def within_a_loop(make):
    begin(make())
    for _ in make():
        sys.exit(0)

def a_cycle(make):
    loader = make()
    iterator = iter(loader)
    next(iterator)
    loader.cycle = [loader, iterator]
    begin(make())

def a_fork_within_a_pass(make):
    iterator = iter(make())
    next(iterator)
    if (child := os.fork()) == 0:
        begin(make())
        sys.exit(0)
    begin(make())
    assert os.waitpid(child, 0)[1] == 0
    next(iterator)

makers = [
    lambda: arrays(0),
    lambda: arrays(2),
    lambda: pictures(0),
    lambda: pictures(2),
    lambda: drapps.image_folder(folder).random_resized_crop(32).batch(4),
]
scenes = [
    daemon, several_daemons, a_thread_that_ends_later, at_exit, within_a_loop, a_cycle,
    a_fork_within_a_pass,
]
for number, (scene, make) in enumerate(
    [(scene, make) for _ in range(tries) for scene in scenes for make in makers][part::4]
):
    if (child := os.fork()) == 0:
        signal.alarm(300)
        scene(make)
        time.sleep(random.Random(number).random() * 0.03)
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        print(scene.__name__, makers.index(make), status)
"""

# A thread within a destructor of C++ that runs Python, and is killed there: the interpreter ends
# while it sleeps, and takes longer than that.
KILLED = """
import sys, threading, time
import numpy as np
from drapps import _core

class Owner:
    def __del__(self):
        within.set()
        time.sleep(0.1)

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

def work():
    _core.Source.views(np.zeros(0, np.uint64), np.zeros(0, np.uint64), Owner(), [])

sys.modules["last"] = Last()
within = threading.Event()
threading.Thread(target=work, daemon=True).start()
assert within.wait(60)
"""

# A thread of torch's own asks for the GIL while it holds a lock that the process needs to end: the
# stock loader's process is aborted most of the time.
LOCKED = """
import os, signal, sys
import torch
import torch.distributed as distributed
import drapps.torch

ends = []
for number in range(8):
    if (child := os.fork()) == 0:
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the abort is told
        place = f"file://{sys.argv[1]}/{number}"
        distributed.init_process_group("gloo", init_method=place, rank=0, world_size=1)
        for _ in range(200):
            tensor = torch.zeros(1000)
            tensor.of_python = object()
            distributed.all_reduce(tensor, async_op=True)
            del tensor
        sys.exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(set(ends) <= {0, -signal.SIGABRT}, ends)
"""


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


def test_a_thread_that_is_killed_within_a_destructor_waits_for_the_end():
    run_script(KILLED)


@pytest.mark.full
@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="torch is without gloo")
def test_a_thread_that_holds_what_the_process_needs_to_end_ends_it(tmp_path):
    assert run_script(LOCKED, tmp_path).startswith("True")


@pytest.mark.full
@pytest.mark.parametrize("part", range(4))  # each with all the ways to end, and all loaders
def test_every_end_of_an_interpreter_is_an_end_without_abort(part, tmp_path):
    assert run_script(SCENES, 4, part, tmp_path) == ""
