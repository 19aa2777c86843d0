"""``import drapps`` is for every script, so it brings nothing else along."""

import subprocess
import sys

SCRIPT = """
import os, sys
before = {name.partition(".")[0] for name in sys.modules}
import drapps
dir(drapps)
names = {name.partition(".")[0] for name in sys.modules} - before - sys.stdlib_module_names
print(names, "drapps._core" in sys.modules, len(os.listdir("/proc/self/task")))
"""


def test_it_loads_the_standard_library_alone_and_starts_nothing():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout == "{'drapps'} False 1\n"
