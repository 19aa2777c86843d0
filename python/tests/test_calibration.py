"""The simulator, fitted to a machine or a loader: what goes in comes out; all else stays."""

import itertools
import random
import threading

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader as StockLoader
from torch.utils.data import Dataset, TensorDataset

import drapps
import drapps.torch
from drapps import scenario, simulation
from drapps.cli import main
from drapps.simulation.calibration import conditions, own_machine
from drapps.simulation.calibration.fit import world_of
from drapps.simulation.calibration.predict import rate_of
from drapps.simulation.calibration.stretch import Stretch
from drapps.simulation.calibration.system import core_count
from drapps.simulation.machine import Costs, Machine

SHORT = 0.02  # seconds of a stretch


def stretch(world, knobs, others=0.0, condition=""):
    """What would be measured in a world, by the simulator itself."""
    rate = rate_of(world, knobs, others)
    lanes = {name: world[name]["cpu"] for name in ("decode", "augment", "collate") if name in world}
    cpu = sum(lanes.values()) or world["python"]["cpu"]
    if knobs.get("fused", 1) == 0:
        cpu += world["workload"]["split"]
    size, storage = world["workload"]["sample_bytes"], world.get("storage")
    seconds = read = 0.0
    if storage:
        alone = storage["latency"] + size / (storage["bandwidth"] or 1e18)
        window = knobs["prefetch_depth"] * world["workload"]["batch"]
        in_flight = min(knobs["io_depth"], window)
        full = storage["bandwidth"] and rate > 0.99 * storage["bandwidth"] / size
        read = in_flight / rate if full else alone
    seconds = 1e5 / rate
    return Stretch(
        knobs=knobs,
        seconds=seconds,
        samples=100_000,
        batch=world["workload"]["batch"],
        cpu=100_000 * cpu,
        others=others,
        lanes=lanes if knobs.get("fused", 1) == 0 else {"prepare": cpu},
        reads=100_000 if storage else 0,
        read=read,
        read_bytes=size,
        row_bytes=world["workload"]["row_bytes"],
        condition=condition,
    )


def threads(workers, io_depth=16, prefetch_depth=4, fused=1):
    return {
        "workers": workers,
        "io_depth": io_depth,
        "prefetch_depth": prefetch_depth,
        "fused": fused,
    }


FOUR = {"count": 4}
PYTHON = {
    "cores": {"count": 2, "oversubscription": 0.1},
    "workload": {"batch": 64, "samples": 10_000, "sample_bytes": 4e3, "row_bytes": 4e3},
    "python": {"cpu": 1e-3},
}
PHOTOS = {
    "cores": {"count": 4, "oversubscription": 0.02},
    "workload": {
        "batch": 64,
        "samples": 10_000,
        "sample_bytes": 60e3,
        "row_bytes": 6e5,
        "split": 5e-6,
        "handover": 2e-3,
    },
    "decode": {"cpu": 300e-6},
    "augment": {"cpu": 60e-6},
    "collate": {"cpu": 40e-6},
}


@pytest.mark.parametrize("grouped", [0, 1])
@pytest.mark.parametrize("knobs", [{"processes": 1}, {"processes": 4}])
@pytest.mark.parametrize("others", [0.5, 1.2, 1.9])
def test_others_get_what_they_were_seen_to_use(others, knobs, grouped):
    world = {**PYTHON, "cores": {"count": 2, "oversubscription": 0.0, "grouped": grouped}}
    rate = rate_of(world, knobs, others)
    assert rate * 1e-3 == pytest.approx(min(2 - others, knobs["processes"]), rel=0.02)


@pytest.mark.parametrize("others", [0.0, 1.5])
def test_costs_of_stages_come_out(others):
    tried = [threads(4), threads(2), threads(1), threads(4, fused=0), threads(4, prefetch_depth=1)]
    stretches = [stretch(PHOTOS, knobs, others) for knobs in tried]
    world = world_of(stretches, cores=FOUR, step=0.0, samples=10_000)
    for name in ("decode", "augment", "collate"):
        assert world[name]["cpu"] == pytest.approx(PHOTOS[name]["cpu"], rel=0.03)
    assert world["workload"]["split"] == pytest.approx(5e-6, rel=0.03)
    assert world["workload"]["handover"] == pytest.approx(2e-3, rel=0.1)
    assert "storage" not in world
    for each in stretches:
        assert rate_of(world, each.knobs, others) == pytest.approx(each.rate, rel=0.03)


@pytest.mark.parametrize(("bandwidth", "latency"), [(50e6, 2e-3), (20e6, 0.5e-3), (0.0, 20e-3)])
def test_a_storage_comes_out(bandwidth, latency):
    world = {**PHOTOS, "storage": {"bandwidth": bandwidth, "latency": latency}}
    tried = [threads(4), threads(2), *(threads(4, depth) for depth in (1, 4, 64))]
    stretches = [stretch(world, knobs) for knobs in tried]
    storage = world_of(stretches, cores=FOUR, step=0.0, samples=10_000)["storage"]
    assert storage["latency"] == pytest.approx(latency, rel=0.1)
    assert storage.get("bandwidth", 0.0) == pytest.approx(bandwidth, rel=0.05)


@pytest.mark.parametrize(("cpu", "asleep"), [(1e-3, 0.0), (0.3e-3, 2e-3), (0.2e-3, 10e-3)])
def test_sleep_and_oversubscription_of_processes_come_out(cpu, asleep):
    world = {**PYTHON, "python": {"cpu": cpu, "sleep": asleep}}
    stretches = []
    for count in (1, 2, 3, 4):
        ideal = stretch(world, {"processes": count})
        slower = 1 + 0.1 * max(0.0, count / 2 - 1)
        stretches.append(Stretch(**{**vars(ideal), "cpu": ideal.cpu * slower}))
    estimate = world_of(stretches, cores={"count": 2}, step=0.05, samples=10_000)
    assert estimate["python"]["cpu"] == pytest.approx(cpu, rel=0.06)
    assert estimate["python"]["sleep"] == pytest.approx(asleep, rel=0.06, abs=0.02e-3)
    assert estimate["cores"]["oversubscription"] == pytest.approx(0.1, rel=0.1)
    assert estimate["consumer"] == {"step": 0.05}


def machine_measured(machine, cores):
    """Stretches of `drapps calibrate` on a machine that is simulated."""
    runs = {}
    for condition in conditions.CONDITIONS:
        world = condition.world(machine)
        if condition is conditions.PLAIN_PYTHON:
            tried = [{"processes": count} for count in (1, cores, 2 * cores)]
        else:
            tried = [threads(cores), threads(1), threads(cores, fused=0), threads(cores, 1)]
            tried += [threads(cores, prefetch_depth=1)]
        runs[condition.name] = [stretch(world, knobs, condition=condition.name) for knobs in tried]
    return runs


def known_machine():
    cores = core_count()
    costs = Costs(
        photo={"bytes": 60e3, "picture": 30e-6, "decode": 250e-6, "augment": 80e-6}
        | {"handover": 2e-3},
        read={"cpu": 10e-6, "latency": 150e-6},
        python={"cpu": 60e-6, "wake": 70e-6},
    )
    return Machine("known", "", {"cores": {"count": cores, "oversubscription": 0.0}}, costs), cores


def test_a_machine_comes_out():
    machine, cores = known_machine()
    estimate = own_machine.fitted(machine_measured(machine, cores), 70e-6).machine
    for kind in ("photo", "read", "python"):
        for name, value in getattr(machine.costs, kind).items():
            assert getattr(estimate.costs, kind)[name] == pytest.approx(value, rel=0.1), name
    assert estimate.number("cores", "count") == cores


def test_the_command_writes_a_machine_that_is_simulated(tmp_path, monkeypatch, capsys):
    machine, cores = known_machine()
    fitted = own_machine.fitted(machine_measured(machine, cores), 70e-6)
    monkeypatch.setattr(own_machine, "calibrated", lambda *_: fitted)
    file = tmp_path / "mine.yaml"
    assert main(["calibrate", "-o", str(file)]) == 0
    shown = capsys.readouterr().out
    assert f"drapps simulate SCENARIO --machine {file}" in shown
    assert "photos at 100 MB/s" in shown
    assert "extrapolates" in shown
    again = simulation.load(file)
    for kind in ("photo", "read", "python"):
        for name, value in getattr(fitted.machine.costs, kind).items():
            assert getattr(again.costs, kind)[name] == pytest.approx(value, rel=1e-3)
    assert "measured, drapps calibrate, 20" in again.sources["costs.photo.decode"]
    assert set(again.assumed) == set(fitted.machine.assumed)
    played = scenario.load("bandwidth-falls")
    run = simulation.simulate(played, again)
    assert run.segments[0].rate == pytest.approx(
        simulation.simulate(played, fitted.machine).segments[0].rate, rel=0.01
    )
    text = file.read_text()
    assert main(["calibrate", "-o", str(file)]) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert file.read_text() == text
    assert main(["calibrate", "-o", str(tmp_path / "none" / "a.yaml")]) == 1
    assert "is no folder" in capsys.readouterr().err


def native(photos, **options):
    pipeline = drapps.image_folder(photos).random_resized_crop(32).flip().shuffle(seed=3)
    return pipeline.batch(4, **options)


def taken(batches, count):
    return [
        {name: value.copy() for name, value in batch.numpy().items()}
        for batch in itertools.islice(batches, count)
    ]


def equal(ours, theirs):
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], two[name])


def test_a_pipeline_goes_on_as_if_nothing_had_been(photos):
    expected = native(photos)
    whole = taken(iter(expected), 1000), taken(iter(expected), 1000)
    loader = native(photos, policy="hill_climb")
    first = iter(loader)
    begun = taken(first, 1)
    state, knobs, decisions = loader.state_dict(), loader.export_settings(), loader.policy
    reports = []
    calibration = drapps.calibrate(
        loader, seconds=SHORT, step=0.1, progress=lambda *each: reports.append(each)
    )
    assert loader.state_dict() == state
    assert loader.export_settings() == knobs
    assert loader.policy == decisions
    equal(begun + taken(first, 1000), whole[0])
    equal(taken(iter(loader), 1000), whole[1])
    assert reports
    assert calibration.world["consumer"] == {"step": 0.1}
    assert calibration.world["decode"]["cpu"] > 0
    assert len(calibration.residuals) == len(reports) + 1
    assert all(each.measured > 0 and each.simulated > 0 for each in calibration.residuals)
    assert calibration.extrapolates["workers"][0] == 1
    assert "extrapolates" in str(calibration)


def test_a_calibration_is_what_mpc_plans_with(photos, tmp_path):
    loader = native(photos)
    calibration = drapps.calibrate(loader, seconds=SHORT)
    loader.policy = calibration.policy(horizon=2)
    assert loader.policy["parameters"] == {"horizon": 2}
    assert len(taken(iter(loader), 1000)) == len(loader)
    calibration.save(tmp_path / "a.yaml")
    machine = simulation.load(tmp_path / "a.yaml")
    text = "name: a\nabout: b.\nworkload: {kind: photos}\nseconds: 5\n"
    (tmp_path / "s.yaml").write_text(text)
    played = scenario.load(tmp_path / "s.yaml")
    assert simulation.simulate(played, machine).segments[0].rate > 0
    with pytest.raises(FileExistsError):
        calibration.save(tmp_path / "a.yaml")


def test_the_step_is_the_one_that_was_counted(photos):
    loader = native(photos)
    pause = threading.Event()
    for _ in loader:
        pause.wait(0.02)
    calibration = drapps.calibrate(loader, seconds=SHORT)
    assert calibration.world["consumer"]["step"] >= 0.019


class Noisy(Dataset):
    """Samples that draw from every generator, and count on the dataset itself."""

    def __init__(self):
        self.count = 0

    def __len__(self):
        return 32

    def __getitem__(self, index):
        self.count += 1
        return torch.rand(3) + random.random() + np.random.random() + index


def seeded(make):
    random.seed(5)
    np.random.seed(5)
    torch.manual_seed(5)
    return make()


def workers():
    return drapps.torch.DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=2)


def test_worker_processes_go_on_as_if_nothing_had_been():
    loader = seeded(workers)
    expected = [batch.clone() for _ in range(2) for batch in loader]
    loader = seeded(workers)
    batches = [batch.clone() for batch in loader]
    passing = drapps.calibrate(loader, seconds=SHORT)
    batches += [batch.clone() for batch in loader]
    assert torch.equal(torch.stack(batches), torch.stack(expected))
    assert loader.dataset.count == 0
    assert passing.world["python"]["cpu"] > 0
    assert passing.extrapolates["processes"] == (1, 2)


def test_a_lifted_loader_goes_on_as_if_nothing_had_been(photos):
    from torchvision import datasets, transforms

    def make_loader():
        steps = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
        folder = datasets.ImageFolder(photos, steps)
        return drapps.torch.DataLoader(folder, batch_size=4, shuffle=True)

    loader = seeded(make_loader)
    expected = [batch[0].clone() for _ in range(2) for batch in loader]
    loader = seeded(make_loader)
    batches = [batch[0].clone() for batch in loader]
    result = drapps.calibrate(loader, seconds=SHORT)
    batches += [batch[0].clone() for batch in loader]
    assert len(batches) == len(expected)
    assert all(map(torch.equal, batches, expected))
    assert result.world["decode"]["cpu"] > 0


class InThreads(Noisy):
    thread_safe = True


ROWS = TensorDataset(torch.zeros(8, 2))


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        (StockLoader(ROWS), "takes a drapps.Loader or a drapps.torch.DataLoader"),
        ("loader", "takes a drapps.Loader or a drapps.torch.DataLoader"),
        (drapps.torch.DataLoader(Noisy(), batch_size=4), "runs in this process"),
        (drapps.torch.DataLoader(InThreads(), batch_size=4, num_workers=2), "in threads of this"),
        (
            drapps.torch.DataLoader(Noisy(), batch_sampler=[[0, 1], [2]], num_workers=2),
            "batch_sampler",
        ),
    ],
)
def test_loaders_that_cannot_be_measured_are_refused(loader, message):
    before = random.getstate()
    with pytest.raises(drapps.PipelineError, match=message):
        drapps.calibrate(loader, seconds=SHORT)
    assert random.getstate() == before


@pytest.mark.parametrize("options", [{"seconds": 0}, {"seconds": -1}, {"step": -0.1}])
def test_times_are_checked(photos, options):
    with pytest.raises(drapps.PipelineError, match=r"seconds|step"):
        drapps.calibrate(native(photos), **options)
