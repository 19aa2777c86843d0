"""Signals while ``next()`` waits: the user's handlers run, Ctrl-C ends it."""

import signal
import time

from python.tests.hold_streams import PREPARE, run_script, start_script


def test_ctrl_c_in_a_waiting_next_is_a_keyboard_interrupt():
    script = f"""{PREPARE}
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs with &
loader = source.batch(40, cpu_budget=0.0005)
iterator = iter(loader)
print("waiting", flush=True)
next(iterator)
"""
    process = start_script(script)
    try:
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.5)  # into next(); it takes minutes there
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert err.splitlines()[0] == "Traceback (most recent call last):"
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert "self._native.next()" in err
    assert process.returncode == -signal.SIGINT


def test_a_handler_of_the_user_runs_in_a_waiting_next_and_the_loader_goes_on():
    script = f"""{PREPARE}
import signal
ran = []
signal.signal(signal.SIGALRM, lambda *_: ran.append(1) or loader.set_epoch(0))
loader = source.batch(2, cpu_budget=0.01)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
stream = [piece(batch) for batch in loader]
signal.setitimer(signal.ITIMER_REAL, 0)
assert stream == wanted and ran
"""
    assert run_script(script) == ""
