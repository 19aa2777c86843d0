"""Ends and forks: no hang, no noise, no lost batch."""

import pytest

from python.tests.cells import full, some_full
from python.tests.hold_streams import PREPARE, run_script


@pytest.mark.parametrize(
    "ending",
    [
        full("iterator = iter(loader); next(iterator)"),
        full("iterator = iter(loader)"),
        full("kept = [iter(loader) for _ in range(5)]; next(kept[3])"),
        "iterator = iter(loader); loader.me = [loader, iterator]; next(iterator)",
        full("iterator = iter(loader); next(iterator); sys.exit()"),
        "iterator = iter(loader); next(iterator); threading.Thread(target=list, args=(iterator,)"
        ", daemon=True).start()",
        full("import atexit; iterator = iter(loader); atexit.register(next, iterator)"),
        full("loader = source.batch(2, policy='hill_climb'); it = iter(loader); next(it)"),
    ],
)
def test_exit_with_live_iterators_is_quiet(ending):
    assert run_script(f"{PREPARE}\n{ending}") == ""


def test_a_child_reads_a_held_batch_and_uses_the_loader_afresh():
    script = f"""{PREPARE}
iterator = iter(loader)
held = next(iterator)
seen = np.asarray(held["image"]).copy()

def work():
    assert np.array_equal(np.asarray(held["image"]), seen)
    assert piece(held) == wanted[0]
    loader.set_epoch(0)
    assert [piece(batch) for batch in loader] == wanted
    try:
        next(iterator)
    except drapps.SampleError as error:
        assert "fork" in str(error) and "iter()" in str(error)
    else:
        raise AssertionError("the parent's iterator went on in the child")

for _ in range(3):
    assert wait(in_child(work)) == 0
assert [piece(batch) for batch in iterator] == wanted[1:]
loader.set_epoch(0)
assert [piece(batch) for batch in loader] == wanted
"""
    assert run_script(script) == ""


def test_forks_at_any_moment_leave_both_sides_whole():
    script = f"""{PREPARE}
iterator = iter(loader)
stream = []

def work():
    loader.set_epoch(0)
    assert [piece(batch) for batch in loader] == wanted
    assert [piece(batch) for batch in held] == stream

held, children = [], []
for batch in iterator:
    held.append(batch)
    stream.append(piece(batch))
    children.append(in_child(work))
    if len(children) == 2:
        assert [wait(child) for child in children] == [0, 0]
        children = []
assert stream == wanted
assert [piece(batch) for batch in held] == wanted
"""
    assert run_script(script) == ""


def test_a_batch_that_a_child_may_read_is_not_written_over():
    script = f"""{PREPARE}
iterator = iter(loader)
held = next(iterator)
ready, go = os.pipe(), os.pipe()

def work():
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    assert piece(held) == wanted[0]

child = in_child(work)
os.read(ready[0], 1)
del held
for _ in range(3):
    for batch in loader:
        np.asarray(batch["image"])[...] = 9
        del batch
os.write(go[1], b"x")
assert wait(child) == 0
"""
    assert run_script(script) == ""


LAST = "iterator = iter(loader); next(iterator)"


@pytest.mark.parametrize("ending", some_full(["", "sys.exit(0)", LAST], LAST))
def test_a_child_that_ends_as_an_interpreter_is_quiet_too(ending):
    script = f"""{PREPARE}
iterator = iter(loader)
kept = [next(iterator), np.asarray(next(iterator)["image"])]
pid = os.fork()
if pid == 0:
    del kept
    {ending}
else:
    assert wait(pid) == 0
    assert [piece(batch) for batch in iterator] == wanted[2:]
"""
    assert run_script(script) == ""


def test_children_of_multiprocessing_work():
    script = f"""{PREPARE}
def work(results):
    loader.set_epoch(0)
    results.put([piece(batch) for batch in loader])

iterator = iter(loader)
first = piece(next(iterator))
context = multiprocessing.get_context("fork")
results = context.Queue()
children = [context.Process(target=work, args=(results,)) for _ in range(2)]
for child in children:
    child.start()
assert all(results.get(timeout=300) == wanted for _ in children)
for child in children:
    child.join(30)
    assert child.exitcode == 0
assert [first] + [piece(batch) for batch in iterator] == wanted
"""
    assert run_script(script) == ""
