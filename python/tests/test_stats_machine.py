"""`stats().machine`: what the meters say of the machine that the tests run on."""

import copy
import json
import os
import time
from pathlib import Path

import pytest
import torch

import drapps
import drapps.torch
import drapps.trace
from drapps.report import MachineStats, MeterReading


def loader_of(photos):
    return drapps.image_folder(photos).random_resized_crop(32).flip().batch(4)


def until(look, wanted, seconds=60):
    """What `look()` gives once `wanted` holds of it; the last one where it never does."""
    end = time.monotonic() + seconds
    while not wanted(seen := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return seen


def test_every_reading_has_a_unit_and_a_source_and_no_negative_value(photos):
    loader = loader_of(photos)
    for _ in loader:
        pass
    machine = loader.stats().machine
    assert isinstance(machine, MachineStats)
    assert len(machine.readings) > 60
    for name, reading in machine.readings.items():
        assert isinstance(reading, MeterReading)
        assert reading.unit and reading.source, name
        if reading.value is None:
            assert reading.age_s is None
        else:
            assert reading.value >= 0, name
            assert reading.age_s >= 0, name
            assert reading.unit != "share" or reading.value <= 1, name
    assert json.loads(json.dumps(machine.to_json())) == machine == copy.deepcopy(machine)


@pytest.mark.skipif(not os.access("/proc/meminfo", os.R_OK), reason="there is no /proc/meminfo")
def test_memory_is_that_of_the_machine(photos):
    machine = loader_of(photos).stats().machine
    total = int(Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    assert machine.value("memory.total") == total
    assert 0 < machine.value("memory.available") <= total
    with pytest.raises(KeyError):
        machine.value("no.such")


@pytest.mark.skipif(not os.access("/proc/stat", os.R_OK), reason="there is no /proc/stat")
def test_the_cores_are_those_of_the_process(photos):
    loader = loader_of(photos)
    machine = until(
        lambda: loader.stats().machine, lambda seen: seen.value("cpu.use_mean") is not None
    )
    assert 0 <= machine.value("cpu.use_mean") <= machine.value("cpu.use_max") <= 1
    assert {core["cpu"] for core in machine.cores} == os.sched_getaffinity(0)


class Burns(torch.utils.data.Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        return index


def test_the_cpu_time_of_worker_processes_is_seen():
    loader = drapps.torch.DataLoader(Burns(), batch_size=8, num_workers=2)
    iterator = iter(loader)
    end = time.monotonic() + 60
    seen = None
    while not seen and time.monotonic() < end:
        next(iterator)
        seen = loader.stats().machine.value("processes.cpu")
    assert seen
    del iterator


def test_a_trace_has_what_the_meters_say(photos, tmp_path):
    loader = loader_of(photos)
    with loader.record(tmp_path / "a.trace"):
        end = time.monotonic() + 60
        while loader.explain().decisions.totals["decisions"] < 3 and time.monotonic() < end:
            for _ in loader:
                time.sleep(0.02)
    trace = drapps.trace.open(tmp_path / "a.trace")
    fields = {field.name: field for field in trace.fields}
    assert fields["meter.memory.available"].source == "/proc/meminfo"
    assert (fields["meter.cpu.use_mean"].unit, fields["meter.valid.0"].kind) == ("ppm", "gauge")
    names = [name for name in fields if name.startswith("meter.") and ".valid." not in name]
    place = names.index("meter.memory.available")
    last = [entry for entry in trace if isinstance(entry, drapps.trace.Decision)][-1]
    valid = loader.stats().machine.value("memory.available") is not None
    assert last.observation[f"meter.valid.{place // 64}"] >> place % 64 & 1 == valid
    assert (last.observation["meter.memory.available"] > 0) == valid
