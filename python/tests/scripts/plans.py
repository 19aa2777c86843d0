"""How a generated script iterates its loader, and where that is interrupted; text for ``main``.

``{k}`` is a number of batches, ``{epochs}`` a number of passes, ``{tell}`` tells the sampler which
pass it is, ``{edit}`` changes the dataset, and ``{seed}`` seeds the generators.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """A part.

    Attributes:
        text: of the function that iterates.
        edits: it changes the dataset.
        whole: all passes are whole, one behind the other, and the loop draws nothing.
        resumes: it asks for a state.
        bounded: it takes some batches, and so may iterate what never ends.
        two: passes are under way at once.
        ends: with an iterator under way, so that the interpreter's end is part of it.
    """

    text: str
    edits: bool = False
    whole: bool = False
    resumes: bool = False
    bounded: bool = False
    two: bool = False
    ends: bool = False


PASSES = """
for epoch in range({epochs}):
    {tell}
    log.rest(log.begin(loader))
"""
LOOPS = """
for epoch in range({epochs}):
    {tell}
    with log.errors():
        for batch in loader:
            log.batch(batch)
    log.rng()
"""
LEFT = """
for count in ({k}, 1, 0):
    with log.errors():
        for number, batch in enumerate(loader):
            log.batch(batch)
            if number == count:
                break
    log.rng()
{tell_second}
log.rest(log.begin(loader))
"""
FAILED = """
try:
    for number, batch in enumerate(loader):
        log.batch(batch)
        if number == {k}:
            raise ArithmeticError("the loss is no number")
except ArithmeticError as error:
    log.error(error)
log.rest(log.begin(loader))
"""
SIDE_BY_SIDE = """
one, other = log.begin(loader), log.begin(loader)
log.note("text", f"one iterator: {one is other}")
for _ in range({k}):
    log.step(one)
    log.step(other)
log.rest(other)
log.rest(one)
"""
ABANDONED = """
old = log.begin(loader)
for _ in range({k}):
    log.step(old)
log.rest(log.begin(loader))
log.rest(old)
log.step(old)
"""
NESTED = """
with log.errors():
    for batch in itertools.islice(loader, 3):
        log.batch(batch)
        for inner in itertools.islice(loader, {k}):
            log.batch(inner)
log.rng()
"""
BEHIND_THE_END = """
iterator = log.begin(loader)
log.rest(iterator)
for _ in range(3):
    log.step(iterator)
with log.errors():
    log.note("text", len(list(iterator or ())))
    log.note("text", f"{next(iterator, 'over')}")
"""
DROPPED = """
for count in (0, {k}):
    iterator = log.begin(loader)
    for _ in range(count):
        log.step(iterator)
    del iterator
    gc.collect()
    log.rng()
with log.errors():
    log.batch(next(iter(loader)))
log.rest(log.begin(loader))
"""
RESUMED = """
for epoch in range(3):
    {seed}
    {tell}
    iterator = log.begin(loader)
    if epoch == {epoch}:
        for _ in range({k}):
            log.step(iterator)
        loader, iterator = log.resumed(loader, iterator, make, epoch)
    log.rest(iterator)
"""
RESUMED_BETWEEN = """
for epoch in range(3):
    {seed}
    {tell}
    iterator = log.begin(loader)
    log.rest(iterator)
    if epoch == {epoch}:
        loader = log.reloaded(loader, make)
"""
SOME = """
for count in (1, {k}, 2):
    {tell_second}
    iterator = log.begin(loader)
    for _ in range(count):
        log.step(iterator)
"""
DRAWING = """
for epoch in range({epochs}):
    iterator = log.begin(loader)
    while log.step(iterator):
        log.note("mid", float(torch.rand(())) + random.random())
    log.end()
"""
EDITED = """
log.rest(log.begin(loader))
with log.errors():
    {edit}
log.rest(log.begin(loader))
log.rest(log.begin(loader))
"""
SEEDED = """
marks = [log.mark()]
for epoch in range(3):
    {reseed}
    log.rest(log.begin(loader))
    marks.append(log.mark())
log.same(marks[0:2], marks[1:3])
log.same(marks[1:3], marks[2:4])
"""
KEPT = """
for epoch in range(2):
    with log.errors():
        for batch in loader:
            log.keep(batch)
    log.kept()
log.rng()
"""
FORKED = """
iterator = log.begin(loader)
for _ in range({k}):
    log.step(iterator)
child = os.fork()
if child == 0:
    os._exit(3)
log.note("text", os.waitpid(child, 0)[1])
log.rest(iterator)
"""
THREADED = """
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    iterator = pool.submit(log.begin, loader).result()
    for _ in range({k}):
        pool.submit(log.step, iterator).result()
log.rest(iterator)
thread = threading.Thread(target=lambda: log.rest(log.begin(loader)))
thread.start()
thread.join()
"""
AWAITED = """
async def train():
    iterator = await asyncio.to_thread(log.begin, loader)
    while await asyncio.to_thread(log.step, iterator):
        await asyncio.sleep(0)

asyncio.run(train())
log.end()
log.rest(log.begin(loader))
"""
COPIED = """
again = copy.copy(loader)
log.rest(log.begin(again))
log.rest(log.begin(loader))
"""
UNUSED = """
iterator = log.begin(loader)
"""
EXITING = """
iterator = log.begin(loader)
for _ in range({k}):
    log.step(iterator)
log.__exit__(None, None, None)
os.environ["SCRIPT_LOG"] = os.devnull
sys.exit(5)
"""

PLANS = {
    "passes": Plan(PASSES, whole=True),
    "loops": Plan(LOOPS, whole=True),
    "left": Plan(LEFT),
    "failed": Plan(FAILED),
    "side by side": Plan(SIDE_BY_SIDE),
    "abandoned": Plan(ABANDONED, two=True),
    "nested": Plan(NESTED, bounded=True),
    "behind the end": Plan(BEHIND_THE_END),
    "dropped": Plan(DROPPED),
    "resumed": Plan(RESUMED, resumes=True),
    "resumed between": Plan(RESUMED_BETWEEN, resumes=True),
    "drawing": Plan(DRAWING),
    "edited": Plan(EDITED, edits=True, whole=True),
    "seeded": Plan(SEEDED, whole=True),
    "kept": Plan(KEPT, whole=True),
    "forked": Plan(FORKED),
    "threaded": Plan(THREADED),
    "awaited": Plan(AWAITED, whole=True),
    "copied": Plan(COPIED),
    "unused": Plan(UNUSED, bounded=True, ends=True),
    "some": Plan(SOME, bounded=True, ends=True),
    "exiting": Plan(EXITING, bounded=True, ends=True),
}
