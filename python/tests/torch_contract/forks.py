"""Runs a function in a forked copy of the test's process, which a failing loader may then ruin."""

import os
import pickle
import select
import signal
import sys
import traceback


def in_child(function, *arguments, patience=40):
    """What `function` gives there.

    Raises:
        AssertionError: it raised; the text is its traceback.
        TimeoutError: it took longer than `patience` seconds, and was killed.
    """
    reading, pid = begin_child(function, *arguments)
    try:
        return received(reading, patience)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)


def begin_child(function, *arguments):
    """Starts the child; a descriptor that `received` reads, and its process id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            answer = (True, function(*arguments))
        except BaseException:
            answer = (False, traceback.format_exc())
        sys.stdout.flush()
        os.write(writing, pickle.dumps(answer))
        signal.pause()  # its end is the parent's business, and not that of exit handlers
    os.close(writing)
    return reading, pid


def received(reading, patience=40):
    """The answer of a child."""
    if not select.select([reading], [], [], patience)[0]:
        raise TimeoutError(f"the child said nothing for {patience} s")
    good, answer = pickle.loads(os.read(reading, 1 << 16))
    assert good, answer
    return answer
