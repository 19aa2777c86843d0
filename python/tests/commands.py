"""Running ``drapps`` as users and programs do."""

import json
import os
import shutil
import subprocess
import sys

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def command(*words):
    """The words that run it."""
    return [sys.executable, "-m", "drapps", *words]


def run(*words, before=(), **options):
    """Run it to its end; it never dies of an exception."""
    done = subprocess.run(
        [*before, *command(*words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=ENVIRONMENT,
        **options,
    )
    assert "Traceback" not in done.stderr
    return done


def answer(*words, **options):
    """Exit status and JSON of a command."""
    done = run(*words, "--json", **options)
    return done.returncode, json.loads(done.stdout)


def files(folder):
    """Names below a folder, with their contents."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def unprivileged():
    """Words before a command, which take away what the superuser may do."""
    if os.geteuid():
        return []
    words = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    if not shutil.which("setpriv") or subprocess.run([*words, "true"], check=False).returncode:
        pytest.skip("the superuser may do everything here")
    return words
