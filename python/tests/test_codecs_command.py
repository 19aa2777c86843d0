"""``drapps codecs`` on small folders."""

from __future__ import annotations

import json

import pytest

from drapps.form_table import FileClass, FormRow, FormTable
from python.tests.commands import run


def test_every_form_is_measured_and_none_changes_a_pixel(photos):
    done = run("codecs", photos, "--times", "1", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 0
    assert {each["name"] for each in data["classes"]} >= {"jpeg", "png"}
    names = ["bytes", "jpeg+index", "coefficients", "raw", "raw+lz4", "raw+zstd", "raw+snappy"]
    for each in [*data["classes"], data["all"]]:
        forms = {row["form"]: row for row in each["forms"]}
        assert list(forms) == names
        assert all(row["error"] == 0 and row["whole_us"] > 0 for row in forms.values())
        assert forms["raw"]["bytes"] > forms["raw+zstd"]["bytes"]
        assert (forms["coefficients"]["holds"] > 0) == (each["name"] != "png")
    assert sum(each["files"] for each in data["classes"]) == data["all"]["files"] == data["files"]


def test_the_table_is_for_people_too(photos):
    done = run("codecs", photos, "--times", "1", "--budget", "1", "--bandwidth", "20")
    assert done.returncode == 0
    assert "form" in done.stdout and "best first" in done.stdout


def test_the_best_form_follows_from_budget_and_bandwidth():
    plain = FormRow("bytes", 1, 100, 1, 0, 1000, 500, 0)
    raw = FormRow("raw", 1, 500, 5, 900, 20, 10, 0)
    whole = FileClass("all", 10, 100, 8, 8, (plain, raw))
    table = FormTable(1000, 100_000, (whole,), whole, ())
    slow = table.estimates(budget=100_000, bandwidth=10_000, cores=1)
    assert [(pick.form, pick.kept) for pick in slow] == [("bytes", 1.0), ("raw", 0.2)]
    assert slow[0].rate == pytest.approx(2000) and slow[0].limit == "cpu"
    assert slow[1].rate == pytest.approx(10_000 / 80) and slow[1].limit == "storage"
    fast = table.estimates(budget=1e9, bandwidth=1e9, cores=2)
    assert fast[0].form == "raw" and fast[0].rate == pytest.approx(200_000)


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (["--budget", "5"], "go together", 2),
        (["--files", "0"], "no number from 1", 2),
        ([], "there is no picture", 1),
    ],
)
def test_wrong_use_says_what_to_do(tmp_path, words, message, status):
    done = run("codecs", tmp_path, *words)
    assert done.returncode == status
    assert message in done.stderr


def test_a_bad_file_is_named_and_the_others_are_measured(own_photos):
    bad = own_photos / "class_0" / "bad.jpg"
    bad.write_bytes(b"no picture")
    done = run("codecs", own_photos, "--times", "1", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert [each["path"] for each in report["failed"]] == [str(bad)]
    assert report["all"]["files"] == report["files"] - 1


def test_a_link_to_a_folder_that_holds_it_is_not_followed(own_photos):
    (own_photos / "class_0" / "again").symlink_to(own_photos)
    done = run("codecs", own_photos, "--times", "1", "--files", "4", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["files"] == 21
