"""The control plane moves knobs within bounds, is told about, may be stopped, and may fail."""

import itertools
import json
import threading
import time

import numpy as np
import pytest

import drapps
from drapps.stream import Stream
from python.tests.cells import some_full
from python.tests.hold_streams import core, piece, pieces, records, train, wait_until

GRIDS = {
    "workers": [1, 2, 3, 4, 6, 8, 12, 16],
    "io_depth": [1, 2, 4, 8, 16, 32, 64, 128, 256],
    "prefetch_depth": [1, 2, 3, 4, 6, 8, 12, 16, 32],
    "fused": [0, 1],
}


@pytest.fixture(scope="module")
def source():
    return train(drapps.image_bytes(records(60) * 10))  # a pass lasts seconds


@pytest.fixture(scope="module")
def expected(source):
    return pieces(core(source, 2, cpu_budget=1))


class Steps:
    """Trains in a thread: steady steps of ten milliseconds over pass after pass of the loader."""

    def __init__(self, loader):
        self.passes = []
        self.taken = 0
        self._loader = loader
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while True:
            stream = Stream(self._loader, 0)
            passed = []
            while stream.left and not self._done.is_set():
                passed.append(piece(stream.next()))
                self.taken += 1
                time.sleep(0.01)
            self.passes.append(passed)
            if self._done.is_set():
                return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


def decisions(loader):
    return json.loads(loader.explain())["decisions"]


def notches(entry):
    """How far an entry moved its knob."""
    if entry["knob"] not in GRIDS:
        return abs(entry["applied"] - entry["before"])
    grid = sorted({*GRIDS[entry["knob"]], entry["applied"], entry["before"]})
    return abs(grid.index(entry["applied"]) - grid.index(entry["before"]))


def test_the_guard_moves_a_random_policy_one_notch_at_a_time_within_its_budget(source, expected):
    loader = core(source, 2, policy="random", cpu_budget=3)
    with Steps(loader) as steps:
        wait_until(lambda: decisions(loader)["totals"]["moves"] >= 6)
    entries = [e for e in decisions(loader)["entries"] if e["knob"] is not None]
    assert len(entries) >= 6
    moves = [e for e in entries if e["applied"] != e["before"]]
    begun = set()  # depths, which go any distance in their first move
    for entry in moves:
        first = entry["knob"] in ("io_depth", "prefetch_depth") and entry["knob"] not in begun
        assert first or notches(entry) == 1
        begun.add(entry["knob"])
    allowed = {"workers": 3, "io_depth": 256, "prefetch_depth": 32, "fused": 1}
    for entry in moves:
        low = 0 if entry["knob"] == "fused" else 1
        assert low <= entry["applied"] <= allowed.get(entry["knob"], 16)
    knobs = json.loads(loader.settings())
    assert knobs["knobs"]["workers"] <= 3
    assert sum(knobs["lane_weights"].values()) == 16
    for name in {entry["knob"] for entry in moves}:
        times = [entry["time_s"] for entry in moves if entry["knob"] == name]
        assert all(
            later - earlier >= 0.49
            for earlier, later in itertools.pairwise(times)
            if later != earlier
        )
    assert all(passed == expected[: len(passed)] for passed in steps.passes)


def test_settings_beyond_the_budget_are_cut_to_it(source, expected):
    loader = core(source, 2, cpu_budget=2)
    wild = json.loads(loader.settings())
    wild["knobs"] = {"workers": 9999, "io_depth": 9999, "prefetch_depth": 9999, "fused": 7}
    wild["lane_weights"] = {"decode": 900, "augment": -3, "collate": 0}
    stream = Stream(loader, 0)
    loader.apply(json.dumps(wild))
    digests = [piece(stream.next()) for _ in range(30)]
    settings = json.loads(loader.settings())
    assert settings["knobs"]["workers"] <= 2
    assert settings["knobs"]["io_depth"] <= 256
    assert settings["knobs"]["prefetch_depth"] <= 32
    assert settings["knobs"]["fused"] in (0, 1)
    assert sum(settings["lane_weights"].values()) == 16
    assert digests == expected[:30]
    for broken in ("", "{}", "[1]", '{"knobs": {}}', json.dumps({**wild, "schema": "0"})):
        with pytest.raises(ValueError, match=r"settings"):
            loader.apply(broken)


def test_a_policy_that_throws_stops_control_and_nothing_else(source, expected):
    loader = core(source, 2, policy="faulty")
    before = json.loads(loader.settings())
    with Steps(loader) as steps:
        wait_until(lambda: decisions(loader)["status"] == "stopped")
        taken = steps.taken
        wait_until(lambda: steps.taken > taken + 50)
    assert decisions(loader)["stop_reason"].startswith("control stopped: ")
    assert json.loads(loader.settings()) == before
    assert all(passed == expected[: len(passed)] for passed in steps.passes)


@pytest.mark.parametrize("policy", some_full(["random", "random_raw"], "random_raw"))
def test_freeze_stops_every_move_and_unfreeze_resumes(source, policy):
    loader = core(source, 2, policy=policy, cpu_budget=3)
    with Steps(loader):
        wait_until(lambda: decisions(loader)["totals"]["moves"] >= 1)
        loader.freeze(True)
        frozen, totals = loader.settings(), decisions(loader)["totals"]
        assert decisions(loader)["status"] == "frozen"
        time.sleep(1.5)
        assert (loader.settings(), decisions(loader)["totals"]) == (frozen, totals)
        loader.freeze(False)
        wait_until(lambda: decisions(loader)["totals"]["moves"] > totals["moves"])


def test_the_initial_policy_moves_nothing(source):
    loader = core(source, 2)
    before = loader.settings()
    with Steps(loader):
        wait_until(lambda: decisions(loader)["totals"]["decisions"] >= 2)
    assert loader.settings() == before
    assert decisions(loader)["totals"]["moves"] == 0


def test_exported_settings_reproduce_where_it_stood(source, expected):
    loader = core(source, 2, policy="random_raw", cpu_budget=4)
    with Steps(loader):
        wait_until(lambda: decisions(loader)["totals"]["moves"] >= 3)
        loader.freeze(True)
        settings = json.loads(loader.settings())
    again = core(source, 2, cpu_budget=4, settings=settings)
    assert json.loads(again.settings()) == settings
    assert pieces(again) == expected
    assert json.loads(again.settings()) == settings


def test_explain_is_whole_before_during_and_after(source):
    loader = source.batch(4, policy="hill_climb")
    explanations = [loader.explain()]
    iterator = iter(loader)
    next(iterator)
    explanations.append(loader.explain())
    list(iterator)
    explanations.append(loader.explain())
    for explanation in explanations:
        assert explanation["decisions"]["policy"] == "hill_climb"
        assert explanation["decisions"]["status"] == "running"
        assert next(stage["op"] for stage in explanation["plan"]["stages"]) == "decode"
        assert json.loads(json.dumps(explanation)) == explanation


WRONG_POLICIES = {
    "unknown": ("magic", "initial, trials, static, hill_climb"),
    "parameters": (
        {"name": "hill_climb", "parameters": {"gian": 1}},
        "no parameter gian; it has gain",
    ),
    "range": (
        {"name": "hill_climb", "parameters": {"gain": 7}},
        "gain of policy hill_climb must be",
    ),
    "nan": (
        {"name": "hill_climb", "parameters": {"gain": float("nan")}},
        "must be made of plain numbers",
    ),
    "pace": ({"name": "hill_climb", "every_batches": 0}, "every_batches of a policy must be"),
    "field": ({"name": "hill_climb", "every": 3}, 'a policy has no "every"'),
    "weights": ({"name": "initial", "weights": "AAAA"}, "policy initial has no weights"),
    "no name": ({}, "a name, or an object with a name"),
    "bytes": ({"name": b"initial"}, "must be made of plain numbers"),
}


@pytest.mark.parametrize(("policy", "says"), WRONG_POLICIES.values(), ids=WRONG_POLICIES)
def test_a_wrong_policy_is_refused_with_what_is_wrong(source, policy, says):
    with pytest.raises(drapps.PipelineError, match=says):
        source.batch(4, policy=policy)
    with pytest.raises(drapps.PipelineError, match=says):
        drapps.torch.DataLoader(range(8), policy=policy)


def test_a_policy_with_parameters_decides_at_its_own_pace(source, expected):
    policy = {"name": "random", "every_batches": 1}
    loader = core(source, 2, policy=policy, cpu_budget=3)
    assert pieces(loader) == expected
    decisions = json.loads(loader.explain())["decisions"]
    assert (decisions["policy"], decisions["status"]) == ("random", "running")
    climb = {"name": "hill_climb", "every_ns": 10**9, "parameters": {"gain": 0.05, "patience": 9}}
    assert pieces(core(source, 2, policy=climb)) == expected


def test_the_policy_of_a_pipeline_is_swapped_while_it_runs(photos):
    pipeline = drapps.image_folder(photos).resize((24, 24))
    expected = [batch["label"].tolist() for batch in pipeline.batch(2).numpy()]
    loader = pipeline.batch(2)
    assert loader.policy == "initial"
    steps = iter(loader.numpy())
    labels = [next(steps)["label"].tolist()]
    for policy in ("faulty", {"name": "hill_climb", "every_batches": 1}, "initial"):
        loader.policy = policy
        assert loader.policy == policy
        with pytest.raises(drapps.PipelineError, match="magic"):
            loader.policy = "magic"
        labels.append(next(steps)["label"].tolist())
    labels += [batch["label"].tolist() for batch in steps]
    assert labels == expected
    decisions = loader.explain()["decisions"]
    assert (decisions["policy"], loader.policy) == ("initial", "initial")
    assert [entry["why"] for entry in decisions["entries"] if "follows" in entry["why"]] == [
        "policy faulty follows initial",
        "policy hill_climb follows faulty",
        "policy initial follows hill_climb",
    ]


def test_epochs_too_short_for_a_decision_add_up_to_decisions():
    columns = {"x": np.arange(64, dtype=np.float32)}
    loader = drapps.arrays(columns).batch(16, policy="hill_climb")
    for _ in range(100):
        for batch in loader.numpy():
            assert len(batch["x"]) == 16
            time.sleep(0.02)  # a pass takes a tenth of a second
        if loader.explain()["decisions"]["totals"]["decisions"] > 0:
            break
    assert loader.explain()["decisions"]["totals"]["decisions"] > 0


def test_one_log_goes_on_from_epoch_to_epoch(source):
    loader = core(source, 60, policy="random_raw", cpu_budget=3)
    entries, epoch = [], 0
    while len({entry["epoch"] for entry in entries}) < 3 and epoch < 100:
        stream = Stream(loader, epoch)
        while stream.left:
            stream.next()
            time.sleep(0.02)
        stream.close()
        entries, epoch = decisions(loader)["entries"], epoch + 1
    assert len({entry["epoch"] for entry in entries}) >= 3
    for key in ("epoch", "time_s"):
        assert [entry[key] for entry in entries] == sorted(entry[key] for entry in entries)
