"""Imports what it is told, and then forks a process for each rank of a script: both begin at once.

Reads a line of JSON per script: its words, of which the first is a file or, behind -m, a module;
the folder for it and what it prints; and what each rank's environment has. Writes a line with the
exit status of each rank.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import sys


def main():
    """Serves until standard input ends."""
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # a fork's collector would copy the pages of all that was imported
    for line in sys.stdin:
        request = json.loads(line)
        ranks = []
        for rank, environment in enumerate(request["environments"]):
            if (pid := os.fork()) == 0:
                run(request["words"], request["folder"], rank, environment)
                return
            ranks.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in ranks]
        print(json.dumps(codes), flush=True)


def run(words, folder, rank, environment):
    """One rank, to its end."""
    os.environ.update(environment)
    os.chdir(folder)
    for descriptor, name in enumerate((os.devnull, f"out-{rank}", f"err-{rank}")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
