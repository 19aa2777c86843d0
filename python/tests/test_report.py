"""Reports are typed, are dictionaries, and can be read."""

import copy
import dataclasses
import json
import pickle

import pytest

import drapps
from drapps.report import BadSample, Decision, Explanation, MemoryReport, Plan
from drapps.report.base import Report


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sized(Report):
    """A report.

    Attributes:
        size: always there.
        colour: not always.
    """

    size: int | None
    colour: str | None = None


def test_attributes_and_keys_say_the_same():
    report = Sized(3, "red")
    assert (report.size, report["size"], report.get("size")) == (3, 3, 3)
    assert report == {"size": 3, "colour": "red"}
    assert list(report) == ["size", "colour"]
    assert "colour" in report
    assert repr(report) == "Sized(size=3, colour='red')"
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.size = 4


def test_what_there_is_not_is_none_and_no_key():
    assert Sized(3).colour is None
    assert Sized(3) == {"size": 3}
    assert Sized(3).get("colour", "blue") == "blue"
    with pytest.raises(KeyError, match="colour"):
        Sized(3)["colour"]
    assert Sized(None) == {"size": None}


def test_a_key_without_an_attribute_is_kept():
    report = Sized.from_json({"size": 3, "weight": [1, 2]})
    assert report == {"size": 3, "weight": [1, 2]}
    assert Sized.from_json({}) == {"size": None}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_is_equal(copied):
    report = copied(Sized(3, "red"))
    assert (report, report.colour) == (Sized(3, "red"), "red")


@pytest.fixture
def loader(photos):
    pipeline = drapps.image_folder(photos).random_resized_crop(32).flip()
    loader = pipeline.batch(4, policy="hill_climb")
    for _ in loader:
        pass
    return loader


def test_an_explanation_of_native_code(loader):
    report = loader.explain()
    assert isinstance(report, Explanation)
    plan = report.plan
    assert (plan.path, plan["path"], plan.weights) == ("native", "native", "share")
    assert plan.reasons is None
    assert plan.settings == loader.export_settings()
    assert plan.settings["knobs"]["workers"] >= 1
    assert [column.name for column in plan.columns][:2] == ["image", "label"]
    assert (plan.columns[0].dtype, plan.columns[0].row_shape) == ("float32", [3, 32, 32])
    assert plan.batch_bytes >= 4 * plan.columns[0].row_bytes
    assert report.forms["jpeg_index"]["samples"] > 0
    assert (report.decisions.policy, report.decisions.last_move) == ("hill_climb", None)
    assert report.decisions.totals["moves"] == 0


def test_it_is_json(loader):
    for report in (loader.explain(), loader.memory()):
        plain = report.to_json()
        assert type(plain) is dict
        assert plain == report == json.loads(json.dumps(report)) == json.loads(json.dumps(plain))
    assert type(loader.explain().to_json()["plan"]["columns"][0]) is dict


def test_an_explanation_is_a_page(loader):
    lines = str(loader.explain()).splitlines()
    assert max(map(len, lines)) <= 120
    named = {line[:12].strip(): line[12:].strip() for line in lines}
    assert named["runs"] == "native code"
    assert "random_resized_crop: 32 x 32, channels: 3" in str(loader.explain())
    assert "image float32[3, 32, 32], label int64" in named["batch"]
    assert named["workers"].endswith("in the machine")
    assert named["memory"].startswith("a budget of ")
    assert named["policy"].startswith("hill_climb, running; decisions: ")
    assert named["last move"] == "none"


def test_an_explanation_of_python_code():
    torch_front = pytest.importorskip("drapps.torch")
    report = torch_front.DataLoader([1, 2]).explain()
    assert (report.plan.path, report.plan.stages, report.plan.settings) == ("python", None, None)
    assert "stages" not in report.plan
    assert str(report).startswith(f"runs       Python code, because {report.plan.reasons[0]}")


def entry(**fields):
    return Decision.from_json({"epoch": 1, "time_s": 2.5, "held": None, **fields})


def test_the_log_says_what_moved_last():
    moved = entry(knob="workers", before=4, proposed=3, applied=3, why="tries 4 -> 3")
    held = entry(knob="workers", before=3, proposed=1, applied=3, why="tries", held="cooling down")
    remark = entry(why="a process has ended", pid=7)
    plan = {"path": "native", "budget": {"cpus": 2, "ram_bytes": 0}, "shortages": ["few workers"]}
    plan["machine"] = {"cpus": 8, "memory_bytes": 1 << 30}
    totals = {"decisions": 3, "moves": 1, "held": 1}
    log = {"policy": "trials", "status": "stopped", "stop_reason": "a fault", "totals": totals}
    log["entries"] = [moved, held, remark]
    report = Explanation.from_json({"plan": plan, "forms": {}, "decisions": log})
    assert report.decisions.last_move == moved
    assert (remark.moved, remark.pid, remark.knob) == (False, 7, None)
    page = str(report).splitlines()
    assert page[-2:] == [
        "policy     trials, stopped, a fault; decisions: 3, moves: 1, held: 1",
        "last move  2.5 s  workers 4 -> 3: tries 4 -> 3",
    ]
    assert "short of   few workers" in page
    assert str(report.decisions).splitlines()[2:] == [
        "2.5 s  tries (held back: cooling down)",
        "2.5 s  a process has ended",
    ]


def test_memory(loader):
    memory = loader.memory()
    assert isinstance(memory, MemoryReport)
    assert memory.limit == memory["limit"] == loader.explain().plan.budget["ram_bytes"]
    account = memory.accounts["batches"]
    assert (account.used, account.peak) == (account["used"], account["peak"])
    lines = str(memory).splitlines()
    assert [line.split()[0] for line in lines] == ["used", *memory.accounts, "together", "held"]
    assert all("MiB" in line for line in lines[1:])


def test_a_bad_sample():
    fields = ("decode", "truncated", "a.jpg", 12, 3, "the file ends early")
    bad = BadSample(*fields)
    assert bad == dict(
        zip(("stage", "code", "path", "offset", "index", "message"), fields, strict=True)
    )
    assert str(bad) == str(drapps.SampleError(*fields))


def test_a_plan_with_workers_of_python_code():
    plan = Plan(
        "python",
        {"cpus": 2.0},
        {"cpus": 8.0},
        [],
        reasons=["it streams"],
        processes=3,
        virtual_workers=4,
        start_method="thread",
        own_state=["a generator"],
        first_batch={"first_sample_s": 0.25},
    )
    assert str(plan).splitlines() == [
        "runs         Python code, because it streams",
        "workers      3 threads for 4 virtual workers; a budget of 2 cores, of 8 in the machine",
        "own state    a generator",
        "first batch  first_sample 250.0 ms",
    ]


def test_a_lift_report_is_a_report():
    torch_front = pytest.importorskip("drapps.torch")
    report = torch_front.DataLoader([1, 2]).lifted()
    assert not report
    assert (report["native"], report.to_json()["reasons"]) == (False, list(report.reasons))
    assert report == torch_front.LiftReport(native=False, reasons=report.reasons)
    assert dataclasses.asdict(report) == report
