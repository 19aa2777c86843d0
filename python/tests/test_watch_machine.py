"""What bears on loading beside the loader: a quota of cores, in a cgroup that is made for it."""

import json
import os
import subprocess
import sys

import pytest

from drapps.scenario.cgroup import Cgroup, CgroupError

CORES = 0.2
SCRIPT = """
import json, time
from drapps.watching.machine import Machine

machine = Machine()
deadline = time.monotonic() + 60
while machine.facts()["throttled_s"] == 0 and time.monotonic() < deadline:
    end = time.thread_time() + 0.15  # of a period of 0.1 s, where others leave it so much
    while time.thread_time() < end:
        pass
print(json.dumps(machine.facts()))
"""


def test_a_quota_and_what_it_has_held_back_are_seen_from_within():
    try:
        group = Cgroup(f"drapps-test-{os.getpid()}")
    except CgroupError as error:
        pytest.skip(str(error))
    with group:
        group.limit(CORES, 0)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            preexec_fn=lambda: group.take(os.getpid()),
        )
    facts = json.loads(done.stdout)
    assert facts["quota"] == pytest.approx(CORES) == facts["cores"]
    assert 0 < facts["throttled_s"] <= facts["seconds"] + 0.1
