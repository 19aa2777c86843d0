"""Where a thread is seen to stand, and which stage that is."""

import hashlib
import threading
import time

import pytest

from drapps._core import MainThreadFrames
from drapps.watching.frames import Spot, place_of
from drapps.watching.sampler import Sampler
from drapps.watching.stages import stage_of_call
from drapps.watching.threads import ThreadState


def in_python(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        [value * 3 % 7 for value in range(200)]


def test_python_code_between_calls_that_need_no_interpreter_is_seen():
    data = b"x" * 300_000  # which is hashed without the GIL
    sampler = Sampler(lambda: None)
    sampler.start()
    watched = sampler.watch()
    watched.phase, spent, deadline = "items", 0.0, time.monotonic() + 60
    begun = time.thread_time()
    try:
        while sum(sampler.counts.values()) < 80 and time.monotonic() < deadline:
            before = time.thread_time()
            in_python(0.002)
            spent += time.thread_time() - before
            hashlib.sha256(data).digest()
    finally:
        watched.phase = None
        sampler.stop()
    looks = sum(sampler.lines.values())
    hashing = sum(n for key, n in sampler.lines.items() if "sha256" in key[2])
    assert looks >= 80
    assert hashing / looks < 2 * (1 - spent / (time.thread_time() - begun)) + 0.15
    stages = {stage for (_, stage, resource), n in sampler.counts.items() if n > looks / 3}
    assert stages == {"transform"}


@pytest.mark.parametrize(("waits", "resource"), [(time.sleep, "sleep"), (in_python, "cpu")])
def test_the_call_that_the_main_thread_waits_in_is_read_once(waits, resource):
    main, looks = MainThreadFrames(), []
    state = ThreadState(threading.get_native_id())

    def look():
        while len(looks) < 20 and not main.wait(0.002):
            taken, call = main.take(), main.call()
            seen = "cpu" if taken else state.doing(call=call)
            looks.append((seen, call, state.doing() if call else seen))

    looker = threading.Thread(target=look)
    looker.start()
    waits(0.5)
    looker.join(60)
    state.close()
    assert len(looks) == 20
    assert sum(seen == resource for seen, _, _ in looks) >= 15
    assert sum(seen == again for seen, _, again in looks) >= 15
    assert sum(call is not None for _, call, _ in looks) >= 15 or resource == "cpu"


@pytest.mark.parametrize(
    ("call", "stage"),
    [
        ("Image.open(path)", "decode"),
        ("self.store.get(name)", None),
        ("open(path, 'rb').read()", "storage"),
        ('Image.open(path).convert("RGB")', None),
        ("Image.open(io.BytesIO(data)).resize((8, 8))", "transform"),
        ("cv2.imread(path)", "decode"),
        ("torch.stack([part(x) for x in batch])", "collate"),
        ("value", None),
        ("tail)", None),
        ("", None),
    ],
)
def test_a_call_has_the_stage_of_what_is_called_last(call, stage):
    assert stage_of_call(call) == stage


@pytest.mark.parametrize(
    ("call", "resource", "stage"),
    [
        ("Image.open(path)", "cpu", "decode"),
        ("Image.open(path)", "io", "storage"),
        ("cv2.imread(path)", "fault", "storage"),
        ("blur(picture)", "io", "transform"),
    ],
)
def test_decoding_that_waits_for_bytes_is_storage(call, resource, stage):
    spot = Spot("/home/user/train.py", 1, "load", lambda: call)
    assert place_of([spot], resource).stage == stage
