"""Learned policies: training, files, the gate, and loaders that run them."""

import base64
import json
import os
import pickle
import subprocess
import sys
import time
from hashlib import sha256

import numpy
import pytest

import drapps
from drapps import simulation, trace
from drapps.cli import main
from drapps.policy import read, shipped_file
from drapps.scenario.reading import parse
from drapps.simulation import gate, learning

SMALL = {"decisions": 1024, "hidden": 8, "worlds": 6, "environments": 8, "steps": 64}
WORDS = ["train-policy", "--seeds", "2", "--decisions", "1024", "--validation", "2"]
WORDS += [part for name in ("hidden=8", "worlds=6", "environments=8") for part in ("--set", name)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A file of a policy that has learnt next to nothing."""
    file = tmp_path_factory.mktemp("policy") / "learned.json"
    assert main([*WORDS, "-o", str(file), "--quiet"]) == 0
    return file


def native(**options):
    rows = numpy.arange(320, dtype=numpy.float32).reshape(80, 4)
    return drapps.arrays({"x": rows}).shuffle().batch(4, **options)


def test_the_command_writes_a_policy_with_a_card(trained, capsys):
    written = json.loads(trained.read_text())
    assert written["name"] == "ppo"
    card = written["card"]
    assert [each["seed"] for each in card["seeds"]] == [1, 2]
    assert card["gate"] is None
    assert card["options"]["decisions"] == 1024
    assert written["weights"] in [each["weights"] for each in card["seeds"]]
    assert all(0 < each["validation"] <= 1.2 for each in card["seeds"])
    assert main([*WORDS, "-o", str(trained)]) == 1
    assert "nothing is overwritten" in capsys.readouterr().err


def test_the_same_words_train_the_same_policy(trained, capsys):
    assert main([*WORDS, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    card = json.loads(trained.read_text())["card"]
    assert [each["validation"] for each in report["card"]["seeds"]] == [
        each["validation"] for each in card["seeds"]
    ]
    assert "weights" not in report["card"]["seeds"][0]


def test_the_answer_shows_each_seeds_curve(capsys):
    assert main(WORDS) == 0
    output = capsys.readouterr().out
    assert "1024 decisions from each of 2 seeds" in output
    assert "seed 2:" in output
    assert "the best on validation machines is seed" in output


def test_a_training_goes_on_from_its_checkpoints_to_the_same_weights(tmp_path):
    [through] = learning.train(SMALL, [5])
    half = drapps._core.PolicyTrainer(json.dumps({**SMALL, "seed": 5}))
    half.go_on()
    (tmp_path / "seed-5.training").write_bytes(half.save())
    [again] = learning.train(SMALL, [5], checkpoints=tmp_path)
    assert again == through
    [once_more] = learning.train(SMALL, [5], checkpoints=tmp_path)
    assert once_more == through


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    learning.train(SMALL, [5], checkpoints=tmp_path)
    with pytest.raises(drapps.PipelineError, match="a training with other options"):
        learning.train({**SMALL, "reward": "paper-a"}, [5], checkpoints=tmp_path)
    (tmp_path / "seed-5.training").write_bytes(b"drapps-training 1\n")
    with pytest.raises(drapps.PipelineError, match=r"seed-5\.training.*no checkpoint"):
        learning.train(SMALL, [5], checkpoints=tmp_path)


def test_an_interrupted_training_leaves_a_checkpoint(tmp_path):
    def interrupt(curves):
        if curves[5]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learning.train({**SMALL, "decisions": 10**9}, [5], checkpoints=tmp_path, progress=interrupt)
    saved = (tmp_path / "seed-5.training").read_bytes()
    left = drapps._core.PolicyTrainer.restored(saved)
    assert not left.done
    assert json.loads(left.curve())[-1]["decisions"] >= 512


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "hidden=1000"], "hidden of a training must be"),
        (["--set", "layers=3"], "a training has no option layers"),
        (["--reward-weights", "1", "2", "3", "4", "5"], "up to four numbers"),
    ],
)
def test_options_that_cannot_be_are_named(words, message, capsys):
    assert main(["train-policy", "--decisions", "10", "--seeds", "1", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_loader_runs_it_from_its_file_and_yields_the_same(trained):
    loader = native(policy=trained)
    for batch, other in zip(loader, native(), strict=True):
        assert numpy.array_equal(batch["x"], other["x"])
    assert loader.explain().decisions.policy == "ppo"
    loader.policy = "initial"
    loader.policy = trained
    assert loader.explain().decisions.policy == "ppo"


@pytest.mark.parametrize("judge", [False, True])
def test_the_stream_is_the_same_under_a_learned_policy(trained, judge):
    policy = {
        "name": "ppo",
        "weights": json.loads(trained.read_text())["weights"],
        "judge": judge,
        "every_ns": 1,
        "every_batches": 1,
    }
    loader, stock = native(policy=policy), native()
    for _ in range(3):
        for batch, other in zip(loader, stock, strict=True):
            assert numpy.array_equal(batch["x"], other["x"])


def decide(loader, more):
    """Passes until so many more decisions were made."""
    wanted = loader.explain().decisions.totals["decisions"] + more
    end = time.monotonic() + 60
    while loader.explain().decisions.totals["decisions"] < wanted:
        assert time.monotonic() < end
        for _ in loader:
            time.sleep(0.02)  # the control thread looks ten times a second


def test_a_recorded_run_comes_out_again_at_every_simd_level(trained, tmp_path):
    often = {"every_ns": 50_000_000, "every_batches": 1}
    learned = {"name": "ppo", "weights": json.loads(trained.read_text())["weights"], **often}
    loader = native(policy={"name": "explore", "parameters": {"share": 1}, **often})
    with loader.record(tmp_path / "run.trace"):
        decide(loader, 3)
        loader.policy = learned
        decide(loader, 3)
    log = [each for each in trace.open(tmp_path / "run.trace") if isinstance(each, trace.Decision)]
    assert any(each.why.startswith("drawn: ") and "probability" in each.why for each in log)
    assert any("network moves" in each.why or "looks better" in each.why for each in log)
    for level in ("avx512", "portable"):
        done = subprocess.run(
            [sys.executable, "-m", "drapps", "trace", "replay", tmp_path / "run.trace", "--json"],
            env=os.environ | {"DRAPPS_SIMD": level},
            stdout=subprocess.PIPE,
            check=True,
        )
        report = json.loads(done.stdout)
        assert report["equal"] == report["decisions"] == len(log) > 2


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A folder of two recorded runs in which knobs moved: one of a loader, one simulated."""
    folder = tmp_path_factory.mktemp("runs")
    often = {"every_ns": 20_000_000, "every_batches": 1}
    loader = native(policy={"name": "explore", "parameters": {"share": 1}, **often})
    with loader.record(folder / "live.trace"):
        decide(loader, 8)
    text = "name: short\nabout: Photos.\nworkload: {kind: photos}\n"
    text += "consumer: {step: 0.02}\nseconds: 60\n"
    simulation.simulate(
        parse(text, "short.yaml"),
        simulation.load("laptop"),
        "explore",
        record=folder / "simulated.trace",
    )
    return folder


def test_a_simulated_run_is_recorded_as_a_live_one(recorded, capsys):
    log = [
        each
        for each in trace.open(recorded / "simulated.trace")
        if isinstance(each, trace.Decision)
    ]
    assert len(log) > 50
    assert all(each.why.startswith("drawn: ") for each in log)
    assert main(["trace", "replay", str(recorded / "simulated.trace")]) == 0
    assert f"{len(log)} of {len(log)} decisions" in capsys.readouterr().out
    words = ["simulate", "bandwidth-falls", "--machine", "h100", "--seconds", "5"]
    assert main([*words, "--record", str(recorded / "simulated.trace")]) == 1
    assert "simulated.trace" in capsys.readouterr().err
    assert main([*words, "--set", "io_depth=8", "--record", str(recorded / "no.trace")]) == 1
    assert "no decisions to record" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["cql", "bcq", "awac", "cloning"])
def test_a_policy_learns_from_recorded_runs_and_says_what_they_do_not_say(
    recorded, learner, tmp_path, capsys
):
    file = tmp_path / "offline.json"
    words = ["train-policy", "--from", str(recorded), "--learner", learner, "--seeds", "1"]
    words += ["--decisions", "16384", "--validation", "1", "--set", "hidden=8"]
    assert main([*words, "-o", str(file)]) == 0
    output = capsys.readouterr().out
    assert "steps of 2 recorded runs" in output
    assert "never moved, so it stays as it is" in output
    assert "out of the data's support" in output
    written = json.loads(file.read_text())
    assert written["name"] == learner
    assert written["card"]["trained_on"] == "recorded runs"
    assert written["card"]["data"]["steps"] > 50
    loader = native(policy=file)
    for batch, other in zip(loader, native(), strict=True):
        assert numpy.array_equal(batch["x"], other["x"])
    assert loader.explain().decisions.policy == learner


def test_runs_that_say_nothing_are_refused(recorded, tmp_path, capsys):
    assert main(["train-policy", "--from", str(tmp_path), "--seeds", "1"]) == 1
    assert "has no recorded runs" in capsys.readouterr().err
    assert main(["train-policy", "--from", str(recorded), "--learner", "sac", "--seeds", "1"]) == 1
    assert "the simulator cannot be refitted" in capsys.readouterr().err
    (tmp_path / "broken.trace").write_bytes(b"no trace")
    assert main(["train-policy", "--from", str(tmp_path), "--seeds", "1"]) == 1
    assert "broken.trace" in capsys.readouterr().err
    assert main(["train-policy", "--learner", "cql", "--seeds", "1"]) == 1
    assert "learns from recorded runs, and there are none" in capsys.readouterr().err


@pytest.mark.parametrize("learner", ["sac", "residual", "paper-a", "paper-b", "paper-c"])
def test_each_learner_and_design_trains_a_policy_that_a_loader_runs(learner, tmp_path):
    small = SMALL | {"learner": learner, "decisions": 512}
    trained = learning.train(small, [1], validation=1)
    file = tmp_path / "learned.json"
    file.write_text(json.dumps(learning.policy_of(trained, small)))
    assert gate.check(json.loads(file.read_text()), cases=1, draws=(1,))["passed"] is False
    loader = native(policy=file)
    for batch, other in zip(loader, native(), strict=True):
        assert numpy.array_equal(batch["x"], other["x"])
    assert loader.explain().decisions.policy == learner


@pytest.mark.parametrize("design", ["paper-a", "paper-b", "paper-c"])
def test_published_designs_come_with_weights_and_say_what_a_loader_has_not(design):
    often = {"every_ns": 20_000_000, "every_batches": 1}
    for policy in (design, {"name": design, "judge": True, **often}):
        loader = native(policy=policy)
        for batch, other in zip(loader, native(), strict=True):
            assert numpy.array_equal(batch["x"], other["x"])
        assert loader.explain().decisions.policy == design
        assert "masked" in str(loader.explain())


def test_the_policy_that_comes_with_drapps_has_passed_its_gate():
    shipped = read(shipped_file("ppo"))
    verdict, seed = shipped["card"]["gate"], str(shipped["card"]["seed"])
    assert verdict["passed"]
    assert not verdict["failed"]
    assert verdict["weights"][seed] == gate.hash_of(shipped["weights"])
    again = gate.check(shipped, cases=12, draws=[77])  # machines that its gate did not have
    for kind in gate.SETS:
        (mine,) = again["sets"][kind]["seeds"].values()
        assert mine["against_static"]["mean"] > 0
        assert mine["against_default"]["mean"] > 0


def test_it_decides_about_a_loader_by_its_name_alone():
    loader = native(policy="ppo")
    for batch, other in zip(loader, native(), strict=True):
        assert numpy.array_equal(batch["x"], other["x"])
    assert loader.explain().decisions.policy == "ppo"


def test_it_runs_in_the_simulator_as_any_policy(trained, capsys):
    text = "name: short\nabout: Photos.\nworkload: {kind: photos}\n"
    text += "consumer: {step: 0.02}\nseconds: 10\n"
    run = simulation.simulate(parse(text, "short.yaml"), simulation.load("laptop"), trained)
    assert run.policy == "ppo"
    assert run.decisions > 10
    words = ["simulate", "bandwidth-falls", "--machine", "h100", "--seconds", "5"]
    assert main([*words, "--policy", str(trained)]) == 0
    assert "under ppo" in capsys.readouterr().out


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    file = tmp_path / "none.json"
    with pytest.raises(drapps.PipelineError, match=r"none\.json.*cannot be read"):
        native(policy=file)
    file.write_text("[1]")
    with pytest.raises(drapps.PipelineError, match="no file of a policy"):
        native(policy=file)
    file.write_text('{"name": "ppo"}')
    with pytest.raises(drapps.PipelineError, match="no weights of its own"):
        native(policy=file)


def test_weights_that_were_tampered_with_are_refused(trained):
    written = json.loads(trained.read_text())
    weights = bytearray(base64.b64decode(written["weights"]))
    for change, message in [
        (weights[:-30], "truncated"),
        (weights.replace(b"consumer.stall", b"consumer.stale"), "which this version does not have"),
        (weights[:-20] + b"\0" + weights[-19:], "damaged"),
        (pickle.dumps([1]), "no weights of a learned policy"),
    ]:
        policy = {"name": "ppo", "weights": base64.b64encode(bytes(change)).decode()}
        with pytest.raises(drapps.PipelineError, match=message):
            native(policy=policy)


def test_the_gate_refuses_what_has_learnt_nothing_and_writes_why(trained, tmp_path, capsys):
    out = tmp_path / "checked.json"
    words = ["policy", "check", str(trained), "--cases", "2", "--seed", "1", "4"]
    assert main([*words, "-o", str(out)]) == 0
    output = capsys.readouterr().out
    assert "does not pass the gate" in output
    assert "2 seeds, and 5 are asked for" in output
    checked = json.loads(out.read_text())
    assert checked["weights"] == json.loads(trained.read_text())["weights"]
    verdict = checked["card"]["gate"]
    assert verdict["passed"] is False
    assert verdict["drawn_from"] == [1, 4]
    card = checked["card"]
    assert verdict["weights"] == {
        str(each["seed"]): sha256(base64.b64decode(each["weights"])).hexdigest()
        for each in card["seeds"]
    }
    assert "are worse by more than 3 points" in output
    assert set(verdict["sets"]) == set(gate.SETS)
    for each in verdict["sets"].values():
        assert each["runs"] == 4
        assert set(each["seeds"]) == {"1", "2"}
        assert {"tuned static", "default", "oracle", "hill_climb", "seed 1"} <= set(each["means"])
    assert main([*words, "-o", str(out)]) == 1


def verdict_of(learned: float, worst: float = 0.0):
    """Of five seeds that all gain so much against static settings, but for one run in ten."""
    case = gate.ValidationCase("", ({}, {}), (1.0, 1.0), "initial")
    values = {gate.STATIC: [0.8] * 100, gate.DEFAULT: [0.7] * 100, gate.ORACLE: [1.0] * 100}
    for seed in range(5):
        gains = [learned] * 90 + [worst or learned] * 10
        values[f"seed {seed}"] = values[f"seed {seed}, warm"] = [0.8 + gain for gain in gains]
    cases = {name: ([case] * 100, values) for name in gate.SETS}
    return gate.verdict(cases, range(5))


def test_the_gate_opens_for_a_gain_without_a_tail():
    assert verdict_of(0.06)["failed"] == []
    assert verdict_of(0.06)["passed"]
    assert not verdict_of(0.01)["passed"]
    assert "+0.010 where no static settings will do" in str(verdict_of(0.01)["failed"])
    assert "5 % of the runs lose 0.200" in str(verdict_of(0.08, -0.2)["failed"])
    assert "10% of the runs are worse by more than 3 points" in str(verdict_of(0.08, -0.04))


def test_only_learned_policies_have_a_gate(tmp_path, capsys):
    file = tmp_path / "rule.json"
    file.write_text('{"name": "rule"}')
    assert main(["policy", "check", str(file)]) == 1
    assert "only a learned policy has a gate" in capsys.readouterr().err


def test_validation_machines_are_others_than_those_of_trainings():
    one = gate.cases_of(3, 0, gate.NOTHING_SPECIAL)
    assert one == gate.cases_of(3, 0, gate.NOTHING_SPECIAL)
    assert one != gate.cases_of(3, 1, gate.NOTHING_SPECIAL)
    assert one != gate.cases_of(3, 0, gate.FARTHER)
