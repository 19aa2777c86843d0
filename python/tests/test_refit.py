"""The simulator, refitted to recorded runs, and policies that are trained on what comes of that."""

import json

import pytest

import drapps
from drapps import _core
from drapps.cli import main
from drapps.simulation.calibration.recorded import refitted

SAMPLE = 4e-3  # seconds of a core
SMALL = ["--decisions", "512", "--seeds", "1", "--validation", "1"]
SMALL += [part for name in ("hidden=4", "worlds=4", "environments=4") for part in ("--set", name)]


def record(file, world, policy='"explore"', seconds=120):
    """A simulated run into a trace."""
    scenario = {
        "seconds": seconds,
        "seed": 1,
        "segments": [{"begin": 0, "name": "", "world": world}],
    }
    _core.simulate(json.dumps(scenario), policy, "{}", trace=bytes(file))


def photos(step):
    return {
        "cores": {"count": 8},
        "decode": {"cpu": SAMPLE},
        "workload": {"batch": 32},
        "consumer": {"step": step},
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Of a training that waits for what eight cores make."""
    folder = tmp_path_factory.mktemp("runs")
    record(folder / "one.trace", photos(1e-3))
    return folder


def test_what_a_sample_takes_is_found_again(runs):
    fit = refitted([runs / "one.trace"])
    assert fit.world["decode"]["cpu"] == pytest.approx(SAMPLE, rel=0.1)
    assert fit.world["cores"]["count"] == 8
    assert fit.spread < 0.3
    assert len(fit.residuals) >= 2
    low, high = fit.ranges["workers"]
    assert low < high
    text = "\n".join(fit.lines())
    assert "the simulator was refitted to" in text
    assert "covered: " in text
    assert json.loads(json.dumps(fit.to_json()))["covered"]["workers"] == [low, high]


def test_what_an_accelerator_takes_is_found_again(tmp_path):
    world = {
        "cores": {"count": 8},
        "decode": {"cpu": SAMPLE / 4, "gpu": 8e-5},
        "augment": {"cpu": SAMPLE, "gpu": 5e-5},
        "gpu": {"count": 1},
        "workload": {"batch": 32, "row_bytes": 150_000, "sample_bytes": 500_000},
        "consumer": {"step": 1e-3},
    }
    record(tmp_path / "one.trace", world, seconds=900)
    fit = refitted([tmp_path / "one.trace"])
    for stage in ("decode", "augment"):
        assert fit.world[stage]["gpu"] == pytest.approx(world[stage]["gpu"], rel=0.1)
        assert fit.world[stage]["cpu"] == pytest.approx(world[stage]["cpu"], rel=0.3)
    times = {name: fit.world["workload"][name] for name in ("row_bytes", "sample_bytes")}
    assert times["row_bytes"] / fit.world["gpu"]["copy"] == pytest.approx(150e3 / 12e9, rel=0.1)
    assert times["sample_bytes"] / fit.world["gpu"]["copy"] == pytest.approx(500e3 / 12e9, rel=0.1)
    assert {"decode_on_gpu", "augment_on_gpu"} <= fit.ranges.keys()
    assert fit.spread < 0.3


def test_an_accelerator_that_did_nothing_is_not_made_up(tmp_path):
    world = {**photos(1e-3), "augment": {"cpu": SAMPLE, "gpu": 5e-5}, "gpu": {"count": 1}}
    record(tmp_path / "one.trace", world, policy='"cpu_only"')
    assert "gpu" not in refitted([tmp_path / "one.trace"]).world


def test_runs_that_say_nothing_of_the_loader_are_refused(tmp_path):
    record(tmp_path / "idle.trace", photos(0.5))
    with pytest.raises(drapps.PipelineError, match="no stretch of one setting in which"):
        refitted([tmp_path / "idle.trace"])
    record(tmp_path / "threads.trace", photos(1e-3))
    record(tmp_path / "processes.trace", {"cores": {"count": 8}, "python": {"cpu": SAMPLE}})
    with pytest.raises(drapps.PipelineError, match="one folder for each"):
        refitted([tmp_path / "threads.trace", tmp_path / "processes.trace"])


def test_a_policy_is_trained_on_machines_like_the_recorded_one(runs, tmp_path, capsys):
    out = tmp_path / "refitted.json"
    words = ["train-policy", "--from", str(runs), "--learner", "ppo", *SMALL, "-o", str(out)]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "the simulator was refitted to" in output
    assert "512 decisions from each of 1 seeds" in output
    card = json.loads(out.read_text())["card"]
    assert card["trained_on"] == "random simulated machines"
    assert card["options"]["world"] == card["simulator"]["world"]
    assert card["options"]["spread"] == card["simulator"]["spread"]


def test_who_learns_from_runs_says_what_they_make_of_the_simulator_too(runs, tmp_path, capsys):
    words = ["train-policy", "--from", str(runs), "--learner", "bcq", *SMALL]
    assert main(words) == 0
    output = capsys.readouterr().out
    assert "the simulator was refitted to" in output
    assert "recorded runs, " in output
    record(tmp_path / "idle.trace", photos(0.5))
    assert main(["train-policy", "--from", str(tmp_path), "--learner", "bcq", *SMALL]) == 0
    assert "the simulator cannot be refitted" in capsys.readouterr().out
    assert main(["train-policy", "--from", str(tmp_path), "--learner", "ppo", *SMALL]) == 1
    assert "the simulator cannot be refitted" in capsys.readouterr().err


def test_worker_processes_are_left_to_trials_or_asked_for(tmp_path, capsys):
    world = {"cores": {"count": 8}, "python": {"cpu": SAMPLE}, "consumer": {"step": 1e-3}}
    record(tmp_path / "one.trace", world)
    words = ["train-policy", "--from", str(tmp_path), "--learner", "ppo", *SMALL]
    assert main(words) == 1
    assert "trials=0 lets ppo do it" in capsys.readouterr().err
    assert main([*words, "--set", "trials=0"]) == 0
