"""The verdict on learned policies: statistics, page, ablations, and policies of one machine."""

import base64
import json

import pytest

from benchmarks.control import ablations, adaptation, verdict, verdict_page
from benchmarks.control.significance import compared, holm, variance
from drapps import _core
from drapps.simulation import gate, learning

SMALL = {"decisions": 512, "hidden": 4, "worlds": 4, "environments": 4}


def test_a_paired_test_is_that_of_the_book():
    # Student's sleep data (1908): ten patients, two drugs; t = 4.0621, p = 0.002833.
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    comparison = compared(second, first)
    assert comparison.mean == pytest.approx(1.58)
    assert comparison.deviation == pytest.approx(1.22995, rel=1e-4)
    assert comparison.p == pytest.approx(0.002833, rel=1e-3)
    assert comparison.low < 1.58 < comparison.high
    assert comparison == compared(second, first)
    alone = compared([0.5], [0.4])
    assert (alone.p, alone.low) == (None, pytest.approx(0.1))
    assert compared([0.5, 0.6], [0.4]).seeds == 2


def test_p_values_are_adjusted_step_by_step():
    p_values = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": None})
    assert p_values == {
        "a": pytest.approx(0.03),
        "b": pytest.approx(0.06),
        "c": pytest.approx(0.06),
        "d": None,
    }


def test_variance_is_split_into_what_it_comes_from():
    def table(values):
        return {
            str(seed): {"x": x, "y": y}
            for seed, (x, y) in enumerate(zip(values[0], values[1], strict=True))
        }

    # By hand: means 2, 4 and 6, 10; the squares are 50 + 18 + 2 of effects, and 4 of what is left.
    policies = {"p": table([[1, 3], [3, 5]]), "q": table([[6, 6], [10, 10]])}
    effects = {each.name: each for each in variance(policies)}
    assert effects["policy"].f == pytest.approx(50 / (4 / 4))
    assert effects["scenario"].f == pytest.approx(18)
    assert effects["policy by scenario"].f == pytest.approx(2)
    assert effects["seed"].freedom == 4
    assert sum(each.share for each in effects.values()) == pytest.approx(1)
    assert effects["policy"].p == pytest.approx(0.0021, rel=0.05)


def test_machines_are_drawn_from_the_hash_of_a_commit():
    first = verdict.seed_of("0123456789ab")
    assert first != verdict.seed_of("1123456789ab")
    assert first > 1 << 32
    for wrong in ("", "main", "0123", "0123456789ag"):
        with pytest.raises(ValueError, match="no hash of a commit"):
            verdict.seed_of(wrong)


@pytest.fixture(scope="module")
def trained():
    return [each.weights for each in learning.train(SMALL, [1, 2])]


def test_the_page_has_every_arm_and_every_seed(trained):
    learned = {
        f"{name} {seed}": gate.learned_text(weights, name)
        for name in ("ppo", "sac")
        for seed, weights in enumerate(trained, 1)
    }
    others = {"aimd": '"aimd"', "mpc": '"mpc"'}
    rows = [
        verdict.row(which, number, 2, verdict.seed_of("0123456789ab"), others, learned)
        for which in gate.SETS
        for number in range(2)
    ]
    content = {
        "date": "2026-01-01",
        "commit": "c" * 40,
        "frozen": "0123456789ab",
        "machine": {"cpu": "a CPU", "cores": 2},
        "tuned": {"commit": "d" * 40, "budget": 60},
        "trainings": [{"name": name, "options": {}, "passed": None} for name in ("ppo", "sac")],
        "rows": rows,
    }
    page = verdict_page.page(json.loads(json.dumps(content)))
    for part in ("**ppo** | 2 |", "**sac** | 2 |", "| aimd |", "| tuned static |", "| oracle |"):
        assert part in page
    assert "ppo less tuned static" in page
    assert "ppo less sac" in page
    assert "policy by scenario" in page
    assert verdict_page.html(content).count("<svg") == 2
    assert verdict_page.seeds_of(content, "ppo") == ["ppo 1", "ppo 2"]


def test_weights_are_told_to_leave_a_knob(trained):
    stays = ablations.staying(trained[0], ["workers", "prefetch_depth"])
    assert len(base64.b64decode(stays)) == len(base64.b64decode(trained[0]))
    assert gate.seeds_of({"name": "ppo", "weights": stays}) == {0: stays}
    case = gate.cases_of(1, 3, gate.NOTHING_SPECIAL)[0]
    knobs = dict(case.best[0])
    text = gate.learned_text(ablations.staying(trained[0], list(knobs)))
    outcome = json.loads(_core.simulate(case.scenario, text, json.dumps(knobs)))
    assert all(segment["moves"] == 0 for segment in outcome["segments"])


def test_ablations_are_trained_and_told(capsys, monkeypatch):
    train = learning.train
    monkeypatch.setattr(learning, "train", lambda own, seeds: train({**SMALL, **own}, seeds))
    words = ["--decisions", "512", "--seeds", "2", "--cases", "1", "--only"]
    assert ablations.main([*words, "as usual", "no look-ahead", "with a judge"]) == 0
    output = capsys.readouterr().out
    assert "| no look-ahead |" in output
    assert "| with a judge |" in output
    assert ablations.main(["--list"]) == 0
    assert set(capsys.readouterr().out.splitlines()) == {*ablations.TRAINED, *ablations.CHANGED}


def test_policies_are_fitted_to_one_machine(capsys, monkeypatch):
    train = learning.train
    given = []

    def small(own, seeds):
        given.append(own)
        return train({**SMALL, **own}, seeds)

    monkeypatch.setattr(learning, "train", small)
    words = ["--decisions", "512", "--seeds", "1", "--cases", "1", "--hours", "0.1"]
    assert adaptation.main(words) == 0
    output = capsys.readouterr().out
    for arm in [*adaptation.RUN, "refitted"]:
        assert f"\n| {arm} | 0." in output
    assert len(given) == 3
    assert ["world" in options for options in given].count(True) >= 1


def test_what_happens_over_and_over_counts_the_last_time():
    case = gate.cases_of(1, 3, gate.NOTHING_SPECIAL)[0]
    trained = learning.train(SMALL, [1])[0].weights
    hour = json.loads(case.scenario)["seconds"] / 3600
    once, learnt = adaptation.last_time(case, trained, {}, hour)
    assert learnt is None
    rates = gate.rates_begun(case, gate.learned_text(trained))
    assert once == pytest.approx(gate.value(rates, case.rates))
    _, learnt = adaptation.last_time(case, trained, {"learn": True}, 20 * hour)
    assert learnt["steps"] > 20
