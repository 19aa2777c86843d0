"""Searches of settings and of a policy's parameters, and the command that tunes a policy."""

import json

import pytest

import drapps
from drapps import scenario, simulation
from drapps.cli import main
from drapps.cli.play import policy as read_policy
from drapps.scenario.reading import parse
from drapps.simulation.cases import best_held, case_of, oracle, rates_of, value
from drapps.simulation.search import climb, search
from drapps.simulation.tuning import Parameter, parameters_of, tune, tuned

CHANGING = """
name: changing
about: A storage that becomes slower.
workload: {kind: photos}
storage: {latency: 0.005}
consumer: {step: 0.03, cpu: 0.1}
seconds: 40
events:
  - at: 20
    storage: {latency: 0.08}
"""


def changing(machine: str = "h100"):
    return case_of(parse(CHANGING, "changing.yaml"), simulation.load(machine))


def test_the_search_finds_the_best_and_leaves_what_makes_no_difference():
    choices = {"a": list(range(10)), "b": [1, 2, 4, 8], "c": [0, 1]}
    optimum = search(
        choices, lambda at: 100 - (at["a"] - 7) ** 2 - at["b"], {"a": 3, "b": 5, "c": 1}, "seed"
    )
    assert optimum.settings == {"a": 7, "b": 1, "c": 1}
    assert optimum.value == 99
    assert optimum.evaluations <= 80


def test_restarts_leave_a_hill_that_is_not_the_highest():
    def two_hills(at):
        return max(10 - abs(at["a"] - 2) - abs(at["b"] - 2), 20 - 3 * abs(at["a"] - at["b"] - 8))

    choices = {"a": list(range(16)), "b": list(range(16))}
    start = {"a": 2, "b": 2}
    assert climb(choices, lambda at: -abs(at["a"] - 9), start, "1").settings == {"a": 9, "b": 2}
    assert search(choices, two_hills, start, "1").value == 20


def test_names_of_a_group_are_set_together():
    choices = {"a": [0, 1], "b": [0, 1, 2]}
    value = lambda at: 1 + at["a"] * at["b"]  # noqa: E731
    start = {"a": 0, "b": 0}
    assert climb(choices, value, start, "1").settings == start
    assert climb(choices, value, start, "1", [("a", "b")]).settings == {"a": 1, "b": 2}


def test_the_same_seed_finds_the_same():
    case = changing("laptop")
    assert best_held(case, drawn=10, restarts=2) == best_held(case, drawn=10, restarts=2)


def test_the_oracle_is_never_below_static_settings_and_deepens_reads_when_they_are_late():
    case = changing()
    own = ("workers", "io_depth", "prefetch_depth")
    static = best_held(case, drawn=10, restarts=2)
    for knobs in (None, own):
        bound = oracle(case, [[static]], knobs=knobs, drawn=10, restarts=2)
        held = rates_of(case.held([static]))
        assert value(bound.rates, bound.best) >= value(held, bound.best)
        assert bound.rates == rates_of(case.held(bound.settings))
        assert all(a <= b for a, b in zip(bound.rates, bound.best, strict=True))
    first, second = bound.settings
    assert set(first) <= set(static)
    assert second["io_depth"] > 8


def test_no_held_settings_are_better_than_those_found():
    text = CHANGING.split("events")[0]
    case = case_of(parse(text, "steady.yaml"), simulation.load("node-b"))
    [best] = oracle(case).best
    for io_depth in (1, 8, 64, 256):
        for decode in (0, 8, 16):
            [rate] = rates_of(case.held([{"io_depth": io_depth, "decode_on_gpu": decode}]))
            assert rate <= best * 1.01


def test_held_settings_are_brought_within_the_limits_of_a_segment():
    case = changing()
    assert case.held([{"workers": 1000}])[1]["knobs"]["workers"] == 16
    assert "features" in case.held([{}], features=True)[0]
    with pytest.raises(drapps.PipelineError, match="there is no knob worker"):
        case.held([{"worker": 1}])


@pytest.mark.parametrize(
    ("parameter", "middle"),
    [
        (Parameter("x", 0.1, 0, 1, False), 0.5),
        (Parameter("x", 8, 1, 10000, False), 100),
        (Parameter("x", 3, 0, 16, True), 8),
        (Parameter("x", -1, -1, 999998, True), 998),
    ],
)
def test_a_range_over_decades_is_drawn_by_its_logarithm(parameter, middle):
    assert parameter.at(0.5) == pytest.approx(middle, rel=0.01)
    assert parameter.at(-1) == parameter.low
    assert parameter.at(2) == parameter.high
    assert parameter.at(parameter.place(parameter.default)) == parameter.default


def test_tuning_finds_the_optimum_of_a_known_plant():
    declared = (Parameter("a", 0.9, 0, 1, False), Parameter("b", 1, 1, 10000, False))

    def rates(parameters):
        return [(100 - 50 * abs(parameters["a"] - 0.3),), (100 - abs(parameters["b"] - 200) / 100,)]

    asked = []
    optimum = tuned("known", declared, rates, [(100,), (100,)], 60, progress=asked.append)
    assert asked == list(range(1, 61))
    assert optimum.default == pytest.approx((0.7 + 0.9801) / 2)
    assert optimum.score > 0.98
    assert optimum.parameters["a"] == pytest.approx(0.3, abs=0.05)
    assert tuned("known", declared, rates, [(100,), (100,)], 60) == optimum


def test_few_values_are_each_tried_once():
    declared = (Parameter("a", 0, 0, 3, True),)
    optimum = tuned("few", declared, lambda at: [(1 + at["a"],)], [(1,)], 100)
    assert optimum.evaluations == 4
    assert optimum.parameters == {"a": 3}
    assert optimum.score == 1
    assert optimum.default == 0.25


def test_every_shipped_policy_takes_what_it_declares():
    case = changing("laptop")
    for name in drapps._core.policy_names():
        for each in parameters_of(name):
            assert each.low <= each.default <= each.high
        if parameters_of(name):
            assert tune(name, [case], 3, best=[(1e9, 1e9)]).evaluations == 3
        else:
            with pytest.raises(drapps.PipelineError, match="has no parameters"):
                tune(name, [case], 3)
    with pytest.raises(drapps.PipelineError, match="there is no policy"):
        parameters_of("fastest")


def test_the_command_writes_a_policy_that_others_take(tmp_path, capsys):
    file = tmp_path / "aimd.json"
    words = ["tune-policy", "aimd", "--machines", "laptop", "two-cores"]
    words += ["--scenarios", "bandwidth-falls", "step-shrinks", "--budget", "8"]
    assert main([*words, "-o", str(file)]) == 0
    assert "8 parameters tried" in capsys.readouterr().out
    written = json.loads(file.read_text())
    assert written["name"] == "aimd"
    assert set(written["parameters"]) == {"stall", "busy", "factor"}
    assert written["tuned"]["score"] >= written["tuned"]["default"] > 0
    assert written["tuned"]["runs"] == 4
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == written
    assert main(["simulate", "step-shrinks", "--machine", "laptop", "--policy", str(file)]) == 0
    assert "under aimd" in capsys.readouterr().out
    assert main([*words, "-o", str(file)]) == 1
    assert "nothing is overwritten" in capsys.readouterr().err
    assert json.loads(file.read_text()) == written


def test_a_policy_is_a_name_a_mapping_or_a_file(tmp_path):
    file = tmp_path / "policy.json"
    file.write_text('{"name": "rule", "parameters": {"stall": 0.1}, "tuned": {"score": 1}}')
    assert read_policy("rule") == "rule"
    assert read_policy('{"name": "rule"}') == {"name": "rule"}
    assert read_policy(str(file)) == {"name": "rule", "parameters": {"stall": 0.1}}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["cpu_only", "--machines", "h100", "--budget", "3"], 1, "has no parameters"),
        (["fastest", "--machines", "h100", "--budget", "3"], 1, "there is no policy"),
        (["rule", "--machines", "cray", "--budget", "3"], 1, "there is no machine cray"),
        (["rule", "--machines", "h100", "--budget", "0"], 2, "'0' is no number from 1"),
        (["rule", "--machines", "h100"], 2, "--budget"),
    ],
)
def test_what_cannot_be_tuned_is_said(words, status, message, capsys):
    try:
        got = main(["tune-policy", *words])
    except SystemExit as ended:
        got = ended.code
    assert got == status
    assert message in capsys.readouterr().err


def test_events_that_come_at_samples_are_not_tuned_on(capsys):
    [skipped] = [name for name in scenario.shipped() if name == "samples-grow"]
    words = ["tune-policy", "rule", "--machines", "two-cores", "--budget", "1", "--scenarios"]
    assert main([*words, skipped]) == 1
    assert "samples" in capsys.readouterr().err
