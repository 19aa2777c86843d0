"""Runs scripts in forked copies of a process that has imported torch, each with a deadline.

Importing takes seconds, a fork some milliseconds. Each script is the ``__main__`` of its process,
and leads a session of its own; what it leaves running is found and killed. An interpreter with
torch takes long to end, so only scripts that are about that end so: the others drop what they
hold, run exit handlers, and are gone.
"""

import atexit
import gc
import json
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from pathlib import Path

DEADLINE = 120.0  # seconds of one script, which takes less than one on an idle machine
_PATIENCE = 60.0  # seconds in which what a script has started must end, on a machine that is busy
ROOT = Path(__file__).parents[3]


class Runner:
    """The process that forks; made once for many scripts."""

    def __init__(self, **env):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "python.tests.scripts.runner"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **environment(), **env},
            text=True,
        )

    def run(self, texts, whole=False):
        """Runs scripts side by side; status, log, output and whether processes are left of each.

        Args:
            texts: the scripts.
            whole: they end as an interpreter ends.
        """
        self._process.stdin.write(json.dumps([whole, texts]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        """Ends it."""
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


class Here:
    """Runs scripts in forked copies of this process, whose exit handlers are none of theirs."""

    def run(self, texts, whole=False):
        """As `Runner.run`, but for interpreters that end as such."""
        assert not whole
        folder = Path(tempfile.mkdtemp())
        script, running = started(texts, folder)
        if script is not None:
            end_quickly(*script, multiprocessing.util._exit_function)
        answers = [ended(*each) for each in running]
        shutil.rmtree(folder)
        return answers


def environment():
    """Where scripts find the packages."""
    paths = [str(ROOT / "python"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def serve():
    """Runs what is asked for; returns in a child, with the script that it is to run."""
    import torch
    import torchvision  # noqa: F401

    import drapps.torch  # noqa: F401

    torch.set_num_threads(1)
    gc.freeze()  # a child's collector would copy the pages of all that was imported
    for line in sys.stdin:
        whole, texts = json.loads(line)
        folder = Path(tempfile.mkdtemp())
        script, running = started(texts, folder)
        if script is not None:
            return *script, whole
        answers = [ended(*each) for each in running]
        shutil.rmtree(folder)
        print(json.dumps(answers), flush=True)
    return None


def started(texts, folder):
    """Forks a child per script: there, its code and its module; here, how to wait for each."""
    running = []
    for number, text in enumerate(texts):
        paths = [folder / f"{name}-{number}" for name in ("log", "out")]
        pid = os.fork()
        if pid == 0:
            return as_script(text, *paths), None
        running.append((pid, *paths))
    return None, running


def as_script(text, log, out):
    """Makes this process that of a script; its code and its module."""
    os.setsid()
    os.environ["SCRIPT_LOG"] = str(log)
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT)
    empty = os.open(os.devnull, os.O_RDONLY)
    for number, source in enumerate((empty, descriptor, descriptor)):
        os.dup2(source, number)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    return compile(text, "script.py", "exec"), module


def ended(pid, log, out):
    """How a script ended."""
    until = time.monotonic() + DEADLINE
    while (gone := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.005)
    status = os.waitstatus_to_exitcode(gone[1]) if gone[0] else "hangs"
    left = bool(gone[0]) and not emptied(pid)
    if gone[0] == 0 or left:
        os.killpg(pid, signal.SIGKILL)
    if gone[0] == 0:
        os.waitpid(pid, 0)
    entries = json.loads(log.read_text()) if log.exists() else None
    printed = out.read_text(errors="replace") if out.exists() else ""
    return {"status": status, "log": entries, "printed": printed[-6000:], "left": left}


def emptied(session):
    """Whether all processes of a session end within some seconds."""
    until = time.monotonic() + _PATIENCE
    while living(session):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def living(session):
    """Whether it has a process that is no zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, mine = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # it has ended
            continue
        if int(mine) == session and state != "Z":
            return True
    return False


def end_quickly(code, module, at_exit):
    """Runs a script and ends without taking the interpreter apart."""
    status = 1
    try:
        exec(code, vars(module))
        status = 0
    except SystemExit as leaving:
        status = leaving.code
    except BaseException:
        traceback.print_exc()
    try:
        vars(module).clear()
        gc.collect()
        threading._shutdown()
        at_exit()
        sys.stdout.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    script = serve()
    if script is not None and script[2]:
        exec(script[0], vars(script[1]))
    elif script is not None:
        end_quickly(*script[:2], atexit._run_exitfuncs)
