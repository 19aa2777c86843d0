"""``cpu_budget`` in cores, and this process's share of the machine."""

import json
import os

import pytest

import drapps
from python.tests.decode_files import encode, picture
from python.tests.hold_streams import run_script

# Work without end: CPU-seconds of the whole process over wall seconds, once it runs steadily.
MEASURE = """
import os, sys, time
import drapps
from python.tests.hold_streams import core, pieces
record = open(sys.argv[1], "rb").read()
source = drapps.image_bytes([record] * 100_000).random_resized_crop(64).shuffle(1)

def used(*loaders, seconds=3.0):
    iterators = [loader.iterate(0) for loader in loaders]
    for iterator in iterators:
        iterator.next()
    time.sleep(0.3)  # what the bucket held is spent
    wall, cpu = time.monotonic(), time.process_time()
    batches = 0
    while time.monotonic() - wall < seconds:
        for iterator in iterators:
            iterator.next()
            batches += 1
    share = (time.process_time() - cpu) / (time.monotonic() - wall)
    assert batches > 0
    return share
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("cores") / "picture.jpg"
    path.write_bytes(encode(picture("RGB", 375, 500), "JPEG", quality=90))
    return path


@pytest.mark.full
def test_half_a_core_is_the_most_that_half_a_core_uses(record):
    output = run_script(f"{MEASURE}\nprint(used(core(source, 4, cpu_budget=0.5)))", record)
    assert float(output) <= 0.5 * 1.15 + 0.05


def test_loaders_alive_together_stay_within_the_smallest_budget(record):
    script = f"""{MEASURE}
train, valid = core(source, 4, cpu_budget=2), core(source, 4, cpu_budget=0.4)
print(used(train, valid))
"""
    assert float(run_script(script, record)) <= 0.4 * 1.15 + 0.05


def test_a_budget_ends_with_the_last_that_runs_under_it(record):
    script = f"""{MEASURE}
cpus = lambda loader: __import__("json").loads(loader.explain())["plan"]["budget"]["cpus"]
wide = core(source, 4, cpu_budget=3)
assert cpus(wide) == 3
narrow = core(source, 4, cpu_budget=0.25)
assert cpus(wide) == cpus(narrow) == 0.25
iterator = narrow.iterate(0)
del narrow
assert cpus(wide) == 0.25
del iterator
assert cpus(wide) == 3
"""
    run_script(script, record)


SHARE = """
import json, sys
import drapps
loader = drapps.image_bytes([open(sys.argv[1], "rb").read()]).center_crop(8).batch(1)
plan = loader.explain()["plan"]
print(json.dumps([plan["machine"], loader.export_settings()["knobs"]["workers"]]))
"""
CLEAN = {"LOCAL_WORLD_SIZE": "", "OMPI_COMM_WORLD_LOCAL_SIZE": "", "SLURM_NTASKS_PER_NODE": ""}


def test_local_ranks_divide_the_machine(record):
    whole, workers = json.loads(run_script(SHARE, record, **CLEAN))
    half, fewer = json.loads(run_script(SHARE, record, **{**CLEAN, "LOCAL_WORLD_SIZE": "2"}))
    assert (whole["local_ranks"], half["local_ranks"]) == (1, 2)
    assert half["cpus"] == whole["cpus"] / 2
    assert abs(half["memory_bytes"] - whole["memory_bytes"] // 2) <= 1
    assert workers <= -(-whole["cpus"] // 1)
    assert fewer <= max(1, -(-half["cpus"] // 1))


def test_affinity_limits_it(record):
    one = min(os.sched_getaffinity(0))
    script = f"import os; os.sched_setaffinity(0, {{{one}}})\n{SHARE}"
    machine, workers = json.loads(run_script(script, record, **CLEAN))
    assert machine["cpus"] <= 1
    assert workers == 1


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "two"])
def test_a_budget_that_is_no_number_of_cores_is_refused(record, wrong):
    with pytest.raises((drapps.PipelineError, TypeError), match=r"cpu_budget|not supported"):
        drapps.images([record]).center_crop(8).batch(1, cpu_budget=wrong)
