"""Scenarios, played: the stream is that of a plain run, and each segment is measured."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from drapps import trace
from drapps.cli import main
from drapps.errors import PipelineError
from drapps.scenario import Drapps, Stock, load, play, runner, shipped
from drapps.scenario.conditions import Conditions, PythonCost
from drapps.scenario.reading import parse
from python.tests.cells import some_full
from python.tests.commands import ENVIRONMENT, answer, run

pytest.importorskip("torch")
pytest.importorskip("torchvision")

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

BATCHES = 4
SMALL = (
    "workload: {kind: photos, batch: 4, crop: 16, epoch: 512, pictures: 8, width: 64, height: 48"
)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Pictures are made once, for this module."""
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("cache"))
        patch.setenv("XDG_CACHE_HOME", folder)
        patch.setitem(ENVIRONMENT, "XDG_CACHE_HOME", folder)
        yield


def plain(scenario):
    """Checksums of the first batches of a loader in this process, in no conditions at all."""
    from drapps.scenario.performance import checksum
    from drapps.scenario.workloads import Workload

    segments = [
        replace(each, conditions=Conditions(pictures=each.conditions.pictures))
        for each in scenario.segments
    ]
    bare = replace(scenario, segments=tuple(segments))
    workload = Workload(bare, runner.roots_of(bare, None, lambda *_: None))
    batches = workload.loader(workload.dataset(time.monotonic()), Drapps(), None)
    return [checksum(batch) for batch, _ in zip(batches, range(BATCHES), strict=False)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A scenario that was played, with a record of it and the file of that."""
    path = tmp_path_factory.mktemp("record") / "run.trace"
    return play("quick", trace=path, checksums=BATCHES), path


@pytest.mark.parametrize("name", some_full(shipped(), "quick"))
def test_the_stream_of_a_scenario_is_that_of_a_plain_run(name, recorded):
    scenario = load(name)
    if name == "quick":
        outcome, seconds = recorded[0], scenario.seconds
    else:
        seconds = 3.0 if "sleeping" in name else 1.5
        outcome = play(scenario, seconds=seconds, checksums=BATCHES)
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    sums = plain(scenario.lasting(seconds))
    assert len(outcome.checksums) >= 1
    assert outcome.checksums == sums[: len(outcome.checksums)]


def small(text, seconds=1.0):
    return parse(f"name: small\nabout: For tests.\n{SMALL}}}\nseconds: {seconds}\n{text}", "small")


@pytest.mark.full
def test_each_segment_is_measured_under_every_kind_of_loader():
    scenario = small("consumer: {step: 0.01}\nevents: [{at: 0.5, storage: {latency: 0.001}}]")
    held = {"workers": 1, "io_depth": 32}
    for loader in (Drapps("hill_climb"), Drapps(settings=held), Stock(1)):
        outcome = play(scenario, loader)
        assert [(each.begin, each.end) for each in outcome.segments] == [(0, 0.5), (0.5, 1)]
        assert [each.key for each in outcome.segments] == [scenario.key(0), scenario.key(1)]
        for each in outcome.segments:
            assert 0 < each.rate < 4 / 0.01
            assert 0 < each.stall_share <= 1
            assert each.cpu_per_sample > 0
        assert len(outcome.rates) == 2
        assert outcome.label == loader.label
        for _, knobs in outcome.knobs if loader == Drapps(settings=held) else ():
            assert held.items() <= knobs.items()


@pytest.mark.full
def test_a_segment_alone_is_played_for_as_long_as_asked_for():
    scenario = small("events: [{at: 0.5, storage: {latency: 0.05}}]")
    outcome = play(scenario, segment=1, seconds=0.7)
    assert [each.end for each in outcome.segments] == [0.7]
    assert outcome.segments[0].key == scenario.key(1)


def test_a_run_is_recorded_and_its_decisions_come_out_again(recorded):
    outcome, path = recorded
    assert outcome.trace == str(path)
    assert outcome.decisions
    again = trace.replay(outcome.trace)
    assert again.decisions == again.equal > 0


@pytest.mark.full
def test_an_event_at_a_sample_comes_when_that_is_taken():
    text = SMALL.replace("epoch: 512", "epoch: 4096, shuffle: false") + "}\nconsumer: {step: 0.01}"
    scenario = parse(
        f"name: a\nabout: b\n{text}\nseconds: 1\nevents: [{{at: {{sample: 100}}, pictures: 2}}]",
        "a",
    )
    outcome = play(scenario, checksums=BATCHES)
    first, second = outcome.segments
    assert first.end == second.begin
    assert first.end >= 25 * 0.01
    assert first.rate * first.end == pytest.approx(100, abs=8)
    assert [Path(root).name for root in outcome.photos] == ["64x48x8-1", "91x68x8-1"]
    never = play(replace(scenario, seconds=0.1))
    assert len(never.segments) == 1


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder in which the command has played a file, with its status and answer."""
    folder = tmp_path_factory.mktemp("written")
    events = "[{at: 0.8, validation: true}, {at: 2.4, validation: false}]"
    (folder / "small.yaml").write_text(
        f"name: small\nabout: For tests.\n{SMALL}}}\nseconds: 3.2\n"
        f"consumer: {{step: 0.005}}\nevents: {events}\n"
    )
    words = ("play", str(folder / "small.yaml"), "--seconds", "1.6", "--out", str(folder / "out"))
    return folder, *answer(*words)


def test_validation_runs_beside_the_training_while_it_is_asked_for(written):
    before, beside, _ = written[2]["segments"]
    assert before["validation_rate"] == 0
    assert beside["validation_rate"] > 0
    assert beside["rate"] > 0


def test_a_python_sample_costs_what_its_time_says():
    from drapps.scenario.python_dataset import CostlyRows

    costs = [(10.0, PythonCost(cpu=0.02)), (20.0, PythonCost(sleep=0.03))]
    rows = CostlyRows(8, 4, costs)
    assert [rows.cost_at(now) for now in (0, 10, 19.9, 20, 99)] == [
        costs[0][1], costs[0][1], costs[0][1], costs[1][1], costs[1][1],
    ]  # fmt: skip
    for at, least_cpu, most_cpu in ((0, 0.02, 0.5), (-20, 0.0, 0.015)):
        spent = CostlyRows(8, 4, [(time.monotonic() + at + 10, costs[0][1]), (0.0, costs[1][1])])
        used = spent if least_cpu == 0 else CostlyRows(8, 4, costs[:1])
        began, wall = time.thread_time(), time.monotonic()
        row, index = used[3]
        assert least_cpu <= time.thread_time() - began <= most_cpu
        assert time.monotonic() - wall >= 0.02
        assert (row.shape, index) == ((4,), 3)


def test_what_the_player_cannot_play_is_an_error_that_says_why(photos, tmp_path):
    with pytest.raises(PipelineError, match="python: settings: there is no knob depth here"):
        play("python", Drapps(settings={"depth": 3}))
    with pytest.raises(PipelineError, match="needs pictures of its own"):
        play("samples-grow", photos=photos)
    with pytest.raises(PipelineError, match="holds no folders with pictures"):
        play("quick", photos=tmp_path)
    with pytest.raises(PipelineError, match="arrays loads no pictures"):
        play("arrays", photos=photos)
    with pytest.raises(PipelineError, match="decides nothing that a trace could hold"):
        play("quick", Stock(), trace=tmp_path / "a")


@pytest.mark.full
def test_pictures_that_cannot_be_decoded_end_the_player(tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "a.jpg").write_bytes(b"\xff\xd8 no picture")
    with pytest.raises(PipelineError, match=r"the player ended with status 1: .*a\.jpg"):
        play("quick", photos=tmp_path)


@pytest.mark.full
def test_pictures_of_ones_own_are_loaded(photos):
    outcome = play("quick", seconds=0.5, photos=photos)
    assert outcome.photos == [str(photos)]
    assert outcome.segments[0].rate > 0


def test_pictures_are_never_overwritten(tmp_path, monkeypatch):
    from drapps.scenario import pictures

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = pictures.ensure(64, 48, 8)
    first = sorted(root.glob("*/*.jpg"))[0]
    assert first.read_bytes() == pictures.encoded(0, 64, 48)
    before = first.stat()
    assert pictures.ensure(64, 48, 8) == root
    assert first.stat() == before
    first.unlink()
    with pytest.raises(PipelineError, match="holds 7 pictures, not 8: remove it"):
        pictures.ensure(64, 48, 8)
    assert not first.exists()


def test_the_command_writes_result_page_and_trace_into_a_new_folder(written):
    folder, status, report = written
    out = folder / "out"
    assert status == 0
    assert [each["number"] for each in report["segments"]] == [0, 1, 2]
    assert sorted(path.name for path in out.iterdir()) == ["page.html", "run.json", "run.trace"]
    again = run("play", "quick", "--out", str(out))
    assert again.returncode == 1
    assert "is not an empty folder: nothing is overwritten" in again.stderr


def test_the_command_lists_checks_and_refuses(tmp_path):
    status, listing = answer("play", "--list")
    assert status == 0
    assert [each["name"] for each in listing["scenarios"]] == list(shipped())
    (tmp_path / "a.yaml").write_text("name: a\nspeed: 1\n")
    bad = run("play", str(tmp_path / "a.yaml"), "--check")
    assert bad.returncode == 1
    assert "a.yaml:2: speed: there is no such key here" in bad.stderr
    assert answer("play", "quick", "--check")[1]["scenario"]["name"] == "quick"
    for words in (
        (),
        ("quick", "--workers", "2"),
        ("quick", "--loader", "stock", "--policy", "initial"),
        ("quick", "--settings", "3"),
        ("quick", "--seconds", "0"),
        ("quick", "--segment", "x"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["play", *words])
        assert caught.value.code == 2
    for words in (("quick", "--segment", "3"), ("quick", "--policy", "luck")):
        assert main(["play", *words]) == 1
