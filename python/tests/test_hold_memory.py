"""``ram_budget`` in bytes: a hard limit, held batches apart, and the stream never depends on it."""

import gc
import json

import numpy as np
import pytest

import drapps
from drapps.stream import Stream
from python.tests.cells import cells, full, some_full
from python.tests.decode_files import encode, picture
from python.tests.hold_streams import core, pieces, run_script, write_files

MIB = 1 << 20

# A process of its own per test: the ledger's peak and the resident memory are the process's.
PREPARE = """
import os, sys
import numpy as np
import drapps
from drapps._core import memory
from python.tests.hold_streams import core, piece, pieces
MIB = 1 << 20

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

paths = sys.argv[1:]
source = drapps.images(paths).random_resized_crop(224).flip().shuffle(1)
"""


@pytest.fixture(autouse=True)
def alone():
    """Loaders in the tracebacks of earlier errors keep their budgets until they are collected."""
    gc.collect()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Pictures of 1000 x 800 (2.4 MB decoded), among them one of 3000 x 2600 (23 MB)."""
    contents = [encode(picture("RGB", 1000, 800, 1), "JPEG", quality=85)] * 23
    large = picture("RGB", 300, 260).resize((2600, 3000))  # quicker than a large one of its own
    contents.insert(9, encode(large, "JPEG", quality=70))
    return write_files(tmp_path_factory.mktemp("memory"), contents)


@pytest.mark.parametrize("policy", some_full(["initial", "random_raw"], "random_raw"))
def test_the_budget_holds_in_the_ledger_and_in_the_process(photos, policy):
    script = f"""{PREPARE}
pieces(core(source, 4, ram_budget=512 * MIB))  # threads, code and allocator are there now
loader = core(source, 4, ram_budget=64 * MIB, cpu_budget=4, policy={policy!r})
assert memory()["limit"] == 64 * MIB
before, most = resident(), 0
for epoch in range(2):
    iterator = loader.iterate(epoch)
    for step in range(6):
        iterator.next()
        account = memory()
        assert account["used"] <= 64 * MIB
        most = max(most, resident())
print(most - before)
"""
    assert int(run_script(script, *photos)) <= (64 + 32) * MIB


def test_the_ledgers_peak_stays_below_the_limit_from_the_start(photos):
    script = f"""{PREPARE}
loader = core(source, 4, ram_budget=48 * MIB, cpu_budget=4)
pieces(loader)
account = memory()
assert 0 < account["peak"] <= 48 * MIB == account["limit"], account
"""
    run_script(script, *photos)


def test_held_batches_are_counted_apart_and_never_block(photos):
    script = f"""{PREPARE}
loader = core(source, 4, ram_budget=48 * MIB)
size = 4 * 3 * 224 * 224 * 4
held = []
for epoch in range(5):
    iterator = loader.iterate(epoch)
    for step in range(6):
        held.append(iterator.next().tensors)
    assert memory()["held"] >= len(held) * size
assert len(held) == 30 and 30 * size > 48 * MIB
assert memory()["peak"] <= 48 * MIB
del held, iterator
assert memory()["used"] <= 48 * MIB
"""
    run_script(script, *photos)


def test_one_batch_that_does_not_fit_is_refused_before_anything_runs(photos):
    source = drapps.images(photos).center_crop(224)
    with pytest.raises(drapps.PipelineError, match=r"bytes and ram_budget gives 1000000; raise"):
        source.batch(64, ram_budget=1_000_000)
    assert sum(batch.rows for batch in source.batch(8)) == len(photos)


@pytest.mark.parametrize(("fused", "action"), cells([0, 1], ["raise", "skip", "replace"]))
def test_a_picture_too_large_for_the_budget_is_an_error_whatever_is_done_about_bad_ones(
    photos, fused, action
):
    # Not the file is bad but the budget too small: leaving the row out would change the stream.
    source = drapps.images(photos).resize((32, 32)).on_error(action)
    settings = json.loads(core(source).settings())
    settings["knobs"]["fused"] = fused
    stream = Stream(core(source, 4, ram_budget=16 * MIB, settings=settings), 0)
    indices, errors = [], []
    while stream.left:
        try:
            indices += np.asarray(stream.next().tensors["index"]).tolist()
        except drapps.SampleError as error:  # noqa: PERF203
            errors.append(error)
    assert [(error.index, error.code) for error in errors] == [(9, "resource exhausted")]
    assert "ram_budget" in str(errors[0])
    assert indices == [i for i in range(24) if not 8 <= i < 12]


@pytest.mark.parametrize("policy", some_full(["initial", "random_raw", "hill_climb"], "random_raw"))
def test_sizes_that_vary_a_hundredfold_complete_in_a_small_budget(photos, tmp_path, policy):
    small = write_files(tmp_path, [encode(picture("RGB", 60, 80, i), "PNG") for i in range(40)])
    mixed = [path for pair in zip(small, [*photos, *photos], strict=False) for path in pair]
    source = drapps.images(mixed).random_resized_crop(24, scale=(0.5, 1)).shuffle(4)
    expected = pieces(core(source, 4))
    assert pieces(core(source, 4, ram_budget=40 * MIB, cpu_budget=6, policy=policy)) == expected


def test_training_and_validation_share_one_budget(photos):
    script = f"""{PREPARE}
valid = drapps.images(paths).resize((224, 224)).center_crop(224)
wanted = pieces(core(source, 4)), pieces(core(valid, 4))
both = core(source, 4, ram_budget=400 * MIB), core(valid, 4, ram_budget=56 * MIB)
assert memory()["limit"] == 56 * MIB  # the smallest holds
iterators = [loader.iterate(0) for loader in both]
passes = [], []
for step in range(6):
    for place in (0, 1):
        passes[place].append(piece(iterators[place].next()))
        assert memory()["used"] <= 56 * MIB
assert passes == wanted
del iterators
passes = [], []
train = both[0].iterate(0)
for step in range(3):
    passes[0].append(piece(train.next()))
passes[1].extend(pieces(both[1]))  # a whole validation pass while the training one waits
for step in range(3):
    passes[0].append(piece(train.next()))
assert passes == wanted
del both, train
assert memory()["limit"] > 400 * MIB
"""
    run_script(script, *photos)


@pytest.mark.parametrize("batches", [3, full(4), full(6)])
def test_an_idle_iterator_does_not_starve_another(photos, batches):
    # Budgets of a few batches: what one loader keeps in spare must not keep the other waiting.
    script = f"""{PREPARE}
import io
from PIL import Image
out = io.BytesIO()
Image.new("RGB", (64, 64), (9, 99, 200)).save(out, "PNG")
records = drapps.image_bytes([out.getvalue()] * 64).resize((256, 256))
size = 4 * 3 * 256 * 256 * 4
options = dict(batch=4, ram_budget={batches} * size + 2 * MIB)
train, valid = core(records, **options), core(records, **options)
idle = train.iterate(0)
for step in range(8):
    idle.next()
assert len(pieces(valid)) == 16
for step in range(8):
    idle.next()
"""
    run_script(script, photos[0])


def test_a_budget_that_is_no_number_of_bytes_is_refused(photos):
    for wrong in (0, -5, 1.5, "1G"):
        with pytest.raises(drapps.PipelineError, match="ram_budget"):
            drapps.images(photos).center_crop(8).batch(2, ram_budget=wrong)
