"""What the machine gives, and how that changes: threads and processes keep to it together."""

import contextlib
import json
import os
import re
from pathlib import Path

import pytest

from python.tests.hold_streams import run_script, wait_until

# A machine of two cores whose cgroup says how much of them there is; nothing enforces it. Loaders
# of work without end, taken by threads, and what their workers use.
MACHINE = """
import json, os, sys, threading, time
from pathlib import Path
from drapps import _core

root, kinds, quota = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def put(path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").rename(file)

def set_quota(text):
    put("sys/fs/cgroup/job/cpu.max", f"{text} 100000\\n")

for whose in ("self", "thread-self"):
    put(f"proc/{whose}/status", "Cpus_allowed_list:\\t0-1\\n")
put("proc/meminfo", "MemTotal: 8388608 kB\\nMemAvailable: 8388608 kB\\n")
put("proc/self/cgroup", "0::/job\\n")
put("proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\\n")
set_quota(quota)
_core.read_machine_from(str(root))
"""
# And what they do with them.
LOADERS = """
from demo import meter
from benchmarks.feed import cpu_s
import drapps
from drapps.torch import DataLoader
from python.tests.hold_streams import records, train

class Busy:
    def __len__(self):
        return 10**7

    def __getitem__(self, index):
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        return index

def loader(kind):
    if kind == "p":
        return DataLoader(Busy(), 8, num_workers=2)
    return train(drapps.image_bytes(records(40) * 5000)).batch(8)

def take(iterator):
    for _ in iterator:
        pass

def used(seconds):
    cpu, wall = cpu_s(), time.monotonic()
    time.sleep(seconds)
    return (cpu_s() - cpu) / (time.monotonic() - wall)

def waited_s():  # all threads, of processes below this one too, for a core that others had
    ns = 0
    for pid in meter.tree(os.getpid()):
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            ns += int(task.read_text().split()[1])
    return ns * 1e-9

loaders = [loader(kind) for kind in kinds]
iterators = [iter(loader) for loader in loaders]
for iterator in iterators:
    threading.Thread(target=take, args=(iterator,), daemon=True).start()
time.sleep(2)
"""
# Half of it: in a cgroup of the system's own, which enforces it.
CGROUP = """
import json, os, sys, threading, time
from pathlib import Path

group, kinds = Path(sys.argv[1]), sys.argv[2]
(group / "cgroup.procs").write_text(str(os.getpid()))

def set_quota(text):
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{text} 100000")
    else:
        (group / "cpu.cfs_quota_us").write_text(text)
"""
END = """
logs = [loader.explain()["decisions"]["entries"] for loader in loaders]
print(json.dumps({"figures": figures, "logs": logs}), flush=True)
os._exit(0)
"""
KINDS = pytest.mark.parametrize("kinds", ["t", "p", "tp"], ids=["threads", "processes", "both"])


def run(tmp_path, script, kinds, quota):
    return json.loads(run_script(f"{MACHINE}{LOADERS}{script}{END}", tmp_path, kinds, quota))


@pytest.fixture
def cgroup():
    """A cgroup below this process's own, with a CPU quota to set."""
    own = {}  # by controllers; "" is version 2
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path.lstrip("/"))
    tried = []
    for mount, controller in (("/sys/fs/cgroup", ""), ("/sys/fs/cgroup/cpu", "cpu")):
        group = Path(mount) / own.get(controller, "") / f"drapps-test-{os.getpid()}"
        quota = group / ("cpu.cfs_quota_us" if controller else "cpu.max")
        try:
            group.mkdir()
            with quota.open(
                "r+"
            ) as file:  # which is there in a cgroup, and not in any other folder
                file.write("-1" if controller else "max 100000")
        except OSError as error:
            tried.append(str(error))
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        yield group
        procs = group / "cgroup.procs"
        wait_until(lambda procs=procs: not procs.read_text())
        group.rmdir()
        return
    pytest.skip(f"no cgroup with a CPU quota can be made here: {'; '.join(tried)}")


# What follows under one quota `make test` sees at the last test, whose quota changes.
@pytest.mark.full
@KINDS
def test_half_a_core_of_a_quota_is_the_most_that_is_used(tmp_path, kinds):
    cores = run(tmp_path, "figures = used(3)", kinds, "50000")["figures"]
    assert cores <= 0.5 * 1.15 + 0.05


@pytest.mark.full
@KINDS
def test_half_a_core_of_a_quota_is_used(tmp_path, kinds):
    script = "before = waited_s(); figures = [used(10), (waited_s() - before) / 10]"
    cores, waited = run(tmp_path, script, kinds, "50000")["figures"]
    assert cores <= 1.05 * 0.5
    assert cores + waited >= 0.85 * 0.5  # what others took of the cores is no failure


@pytest.mark.full
@pytest.mark.parametrize(("kinds", "knob"), [("t", "workers"), ("p", "processes")])
def test_a_real_cgroup_of_half_a_core_leaves_one(cgroup, kinds, knob):
    script = f"""
def working():
    return loaders[0].export_settings()["knobs"]["{knob}"]

begun = working()
set_quota("50000")
deadline = time.monotonic() + 120
while working() != 1 and time.monotonic() < deadline:
    time.sleep(0.1)
figures = [begun, working(), used(3)]
"""
    result = json.loads(run_script(f"{CGROUP}{LOADERS}{script}{END}", cgroup, kinds))
    begun, left, used = result["figures"]
    assert begun >= min(2, os.cpu_count())  # more while one is tried
    assert left == 1
    assert used <= 0.5 * 1.15 + 0.05
    moved = [entry for entry in result["logs"][0] if entry["knob"] == knob]
    assert moved[-1]["applied"] == 1


def test_a_quota_that_changes_is_obeyed_and_noted(tmp_path):
    script = """
def noted():
    entries = loaders[1].explain()["decisions"]["entries"]
    return sum(entry["why"].startswith("the limits have changed") for entry in entries)

before, deadline = noted(), time.monotonic() + 60
set_quota("20000")
while noted() == before and time.monotonic() < deadline:
    time.sleep(0.1)
time.sleep(2)
figures = [used(2)]
set_quota("max")
time.sleep(2)
assert _core.cpu_budget() == 2
"""
    result = run(tmp_path, script, "tp", "150000")
    assert result["figures"][0] <= 0.2 * 1.15 + 0.05
    threads, processes = result["logs"]
    assert 1 in [entry["applied"] for entry in threads if entry["knob"] == "workers"]
    noted = [entry for entry in processes if entry["why"].startswith("the limits have changed")]
    # Both loaders want more than there is: each has half.
    shares = [re.findall(r"[.\d]+", entry["why"])[0] for entry in noted]
    assert shares[-2:] == ["0.10", "1.00"]
    before = processes[: processes.index(noted[-1])]
    assert [entry["applied"] for entry in before if entry["knob"]][-1:] == [1]
