"""Simulated runs: machines, scenarios on them, and what people are told."""

import json
from pathlib import Path

import pytest

import drapps
from drapps import scenario, simulation
from drapps.cli import main
from drapps.scenario.reading import parse

TRAINED = """
name: trained
about: Photos for a step of 20 ms.
workload: {kind: photos}
consumer: {step: 0.02, cpu: 0.1}
seconds: 30
"""


def simulated(machine: str, text: str = TRAINED, **options):
    return simulation.simulate(parse(text, "trained.yaml"), simulation.load(machine), **options)


@pytest.mark.parametrize("machine", simulation.shipped())
def test_every_machine_runs_every_scenario_whose_events_are_timed(machine):
    there = simulation.load(machine)
    for name in scenario.shipped():
        played = scenario.load(name)
        if played.counted == "samples" or played.segments[0].conditions.consumer.model:
            with pytest.raises(drapps.PipelineError, match=r"samples|model"):
                simulation.simulate(played, there)
            continue
        run = simulation.simulate(played, there)
        assert [each.number for each in run.segments] == list(range(len(played.segments)))
        assert sum(each.seconds for each in run.segments) == pytest.approx(played.seconds)
        for each in run.segments:
            assert 0 <= each.stall <= 1
            assert each.rate >= 0
            assert each.cores <= there.number("cores", "count") + 1e-9


def test_a_machine_with_more_cores_trains_faster():
    quick = TRAINED.replace("step: 0.02", "step: 0.008")
    [two] = simulated("two-cores", quick).segments
    [sixteen] = simulated("h100", quick).segments
    assert sixteen.rate > 0.9 * 64 / 0.008
    assert 1.2 * two.rate < sixteen.rate
    assert two.gpu_idle is None
    assert sixteen.gpu_idle is not None


def test_knobs_that_are_set_stay_where_no_policyis_named():
    run = simulated("h100", knobs={"workers": 2, "decode_on_gpu": 8})
    assert run.policy == ""
    assert run.segments[0].knobs["workers"] == 2
    assert run.segments[0].knobs["decode_on_gpu"] == 8
    assert run.segments[0].moves == 0
    assert run.segments[0].rate < simulated("h100").segments[0].rate


@pytest.mark.parametrize("policy", ["rule", "aimd", "model", "round_robin", "hill_climb"])
def test_any_policyruns(policy):
    run = simulated("h100", policy=policy)
    assert run.policy == policy
    assert run.decisions > 10


def test_the_same_run_again_is_the_same():
    assert simulated("laptop", policy="hill_climb") == simulated("laptop", policy="hill_climb")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"knobs": {"worker": 2}}, "there is no knob worker"),
        ({"knobs": {"processes": 2}}, "this plant has no knob processes"),
        ({"knobs": {"workers": 17}}, "workers must be a whole number from 1 to 16"),
        ({"policy": "fastest"}, "there is no policy"),
    ],
)
def test_what_is_wrong_is_named(options, message):
    with pytest.raises(drapps.PipelineError, match=message):
        simulated("h100", **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cores: {number: 2}", "cores.number: there is no such key here; there are count"),
        ("cores: {count: -2}", "cores.count: must be a number from 0.05 to 4096, not '-2'"),
        ("core: {}", "core: there is no such key here"),
        ("costs: {photo: {decoding: 1}}", "costs.photo.decoding: there is no such key here"),
        ("sources: {cores.count: mine}", "sources.cores.count: there is no such key here"),
    ],
)
def test_a_machine_file_that_is_wrong_is_refused_by_line_and_key(tmp_path, text, message):
    file = tmp_path / "machine.yaml"
    file.write_text(text)
    with pytest.raises(drapps.PipelineError) as error:
        simulation.load(file)
    assert f"{file}:1: {message}" in str(error.value)


def test_numbers_without_a_source_are_assumed():
    machine = simulation.load("node-b")
    assert "storage.seek" in machine.assumed
    assert "ranks.count" not in machine.assumed


def test_a_scenario_may_bring_its_machine(tmp_path, capsys):
    file = tmp_path / "mine.yaml"
    file.write_text(TRAINED + "machine: {name: mine, cores: {count: 3}}\n")
    assert main(["simulate", str(file), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["machine"] == "mine"
    assert report["segments"][0]["cores"] <= 3
    with pytest.raises(drapps.PipelineError, match="machine: is for drapps simulate alone"):
        scenario.load(file)


def test_the_command_answers_what_if(capsys):
    assert main(["simulate", "bandwidth-falls", "--machine", "h100", "--set", "io_depth=1"]) == 0
    out = capsys.readouterr().out
    assert "bandwidth-falls on h100, with settings that stay, simulated:" in out
    assert "io_depth 1" in out
    assert "1 50 MB/s" in out
    assert main(["simulate", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in simulation.shipped())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate"], "a SCENARIO is missing"),
        (["simulate", "bandwidth-falls"], "--machine M is missing"),
        (["simulate", "bandwidth-falls", "--machine", "h100", "--set", "io_depth"], "no knob and"),
    ],
)
def test_wrong_use_of_the_command_is_said(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_machine_that_is_not_there_is_named(capsys):
    assert main(["simulate", "bandwidth-falls", "--machine", "cray"]) == 1
    assert "there is no machine cray; there are h100" in capsys.readouterr().err


def test_shipped_machines_are_called_as_their_files():
    for name, file in simulation.shipped().items():
        assert simulation.load(name).name == name == Path(file).stem


def test_records_may_come_over_a_network(tmp_path):
    def rate(network):
        file = tmp_path / f"{len(network)}.yaml"
        file.write_text(f"name: own\ncores: {{count: 8}}\nnetwork: {network}\n")
        machine = simulation.load(file)
        return simulation.simulate(scenario.load("photos-memory"), machine).segments[0].rate

    # a record has 110,000 bytes
    assert rate("{bandwidth: 22e6, storage: 1}") == pytest.approx(200, rel=0.02)
    assert rate("{bandwidth: 22e6}") > 1000
