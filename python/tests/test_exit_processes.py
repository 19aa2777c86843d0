"""An interpreter ends while threads go on, those of a loader over worker processes among them."""

import pytest

pytest.importorskip("torch")

from python.tests.hold_streams import run_script
from python.tests.ranks import TORCH, run_forked

PREPARED = """
import atexit, ctypes, os, random, signal, sys, threading, time

def torch_and_loader():
    global DataLoader, Data
    import torch
    import drapps.torch
    torch.set_num_threads(1)

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4096
        def __getitem__(self, index):
            return torch.full((8,), index)

    DataLoader = drapps.torch.DataLoader

def status_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

# What exit() calls comes in the reverse order of its registering, so the process sleeps for as many
# seconds as its status says when all that the extension has made static has been destroyed. Large
# memory that is freed is unmapped. The control thread decides at each tick, and nobody ends it: the
# pass begins when loaders have been told that the interpreter ends, and is never garbage.
DESTROYED = """
if (child := os.fork()) == 0:
    libc = ctypes.CDLL(None)
    libc.on_exit(libc.sleep, None)

    def begin():
        loader = DataLoader(Data(), 4, num_workers=1, policy={"name": "trials", "every_ns": 1})
        iterator = iter(loader)
        next(iterator)
        for each in (loader, iterator):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))

    atexit.register(begin)
    torch_and_loader()
    sys.exit(1)
print(status_of(child), end="")
"""

# Children that end at a random moment of what a daemon thread does.
DAEMONS = """
def forever(loader, seen):
    while True:
        for _ in loader:
            seen.set()

tries = int(sys.argv[1])
torch_and_loader()
for number in range(tries):
    if (child := os.fork()) == 0:
        signal.alarm(300)
        seen = threading.Event()
        again = {"persistent_workers": number % 2 == 0, "in_order": number % 3 != 0}
        loader = DataLoader(Data(), 512, num_workers=2, **again)
        threading.Thread(target=forever, args=(loader, seen), daemon=True).start()
        assert seen.wait(200)
        time.sleep(random.Random(number).random() * 0.1)
        sys.exit(0)
    if (status := status_of(child)) != 0:
        print(number, status)
"""


@pytest.mark.full  # tests/layering and the lint refuse statics that exit() destroys
def test_a_native_thread_outlives_what_exit_destroys():
    assert run_script(PREPARED + DESTROYED, MALLOC_MMAP_THRESHOLD_="16384") == "1"


def test_a_daemon_thread_within_worker_processes_ends_without_a_word(tmp_path):
    words = "import warnings\nwarnings.simplefilter('default')"
    (tmp_path / "script.py").write_text(words + PREPARED + DAEMONS)
    done = run_forked(["script.py", 2], tmp_path, TORCH)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.full
def test_every_daemon_thread_within_worker_processes_ends_without_a_word():
    assert run_script(PREPARED + DAEMONS, 100) == ""
