"""What the machine gives, and how that changes: threads and processes keep to it together."""

import json
import re

import pytest

from python.tests.hold_streams import run_script

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

loaders = [loader(kind) for kind in kinds]
iterators = [iter(loader) for loader in loaders]
for iterator in iterators:
    threading.Thread(target=take, args=(iterator,), daemon=True).start()
time.sleep(2)
"""
END = """
logs = [loader.explain()["decisions"]["entries"] for loader in loaders]
print(json.dumps({"found": found, "logs": logs}), flush=True)
os._exit(0)
"""
KINDS = pytest.mark.parametrize("kinds", ["t", "p", "tp"], ids=["threads", "processes", "both"])


def run(tmp_path, script, kinds, quota):
    return json.loads(run_script(f"{MACHINE}{script}{END}", tmp_path, kinds, quota))


@KINDS
def test_half_a_core_of_a_quota_is_the_most_that_is_used(tmp_path, kinds):
    found = run(tmp_path, "found = used(3)", kinds, "50000")["found"]
    assert found <= 0.5 * 1.15 + 0.05


@pytest.mark.full
@KINDS
def test_half_a_core_of_a_quota_is_used(tmp_path, kinds):
    found = run(tmp_path, "found = used(10)", kinds, "50000")["found"]
    assert 0.85 * 0.5 <= found <= 1.05 * 0.5


def test_a_quota_that_changes_is_obeyed_and_noted(tmp_path):
    script = """
set_quota("20000")
time.sleep(2)
found = [used(2)]
set_quota("max")
time.sleep(2)
assert _core.cpu_budget() == 2
"""
    result = run(tmp_path, script, "tp", "150000")
    assert result["found"][0] <= 0.2 * 1.15 + 0.05
    threads, processes = result["logs"]
    assert 1 in [entry["applied"] for entry in threads if entry["knob"] == "workers"]
    noted = [entry for entry in processes if entry["why"].startswith("the limits have changed")]
    assert [re.findall(r"[.\d]+", entry["why"])[0] for entry in noted] == ["0.20", "2.00"]
    behind = processes[processes.index(noted[0]) : processes.index(noted[1])]
    assert [entry["applied"] for entry in behind if entry["knob"]][-1:] == [1]
