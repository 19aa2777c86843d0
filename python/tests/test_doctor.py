"""``drapps doctor``: what is there, and how what is lacking is mended."""

import json

import pytest

from drapps.cli import main
from drapps.doctor import machine, place, software
from drapps.doctor.finding import NOTE, PROBLEM


def report_of(capsys, *words):
    status = main(["doctor", "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def test_this_machine_is_looked_at(capsys, photos, monkeypatch):
    monkeypatch.setattr(software, "_GPU", 'print(\'{"names": [], "cuda": null}\')')
    status, answer = report_of(capsys, str(photos))
    findings = {each["name"]: each for each in answer["findings"]}
    names = {
        "DRAPPS",
        "SIMD",
        "cores",
        "memory",
        "io_uring",
        "open files",
        "GPU",
        "OpenMP",
        "storage",
        "files",
    }
    assert names <= findings.keys()
    assert all(each["mend"] for each in answer["findings"] if each["status"] != "good")
    assert status == any(each["status"] == PROBLEM for each in answer["findings"])
    assert findings["files"]["detail"].startswith("21 files of ")


def test_a_folder_without_files_is_a_problem(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(software, "gpu", lambda: software.Finding("GPU", "none"))
    assert main(["doctor", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "X files" in shown.out and "→ name the folder of the data" in shown.out
    assert "will fail: " in shown.err and "files" in shown.err
    assert main(["doctor", str(tmp_path / "absent")]) == 1
    assert "absent: No such file or directory" in capsys.readouterr().err


def test_a_quota_that_programs_do_not_see_is_noted(monkeypatch):
    monkeypatch.setattr(machine, "quota_of", lambda _: 1.5)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(16)))
    finding = machine.cores()
    assert (
        finding.status == NOTE and "a quota leaves 1.5" in finding.detail and "1.5" in finding.mend
    )


def test_little_shared_memory_and_low_limits_are_noted(tmp_path, monkeypatch):
    assert machine.shared_memory(tmp_path / "absent").status == NOTE
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (256, 1 << 20))
    finding = machine.limit("open files", 7, 4096, "ulimit -n")
    assert (finding.status, finding.mend) == (PROBLEM, "ulimit -n 4096")
    monkeypatch.setattr(machine.resource, "getrlimit", lambda _: (1024, 1024))
    finding = machine.limit("open files", 7, 4096, "ulimit -n")
    assert finding.status == NOTE and "hard limit" in finding.mend


def test_a_storage_over_a_network_is_noted(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 0:1 / / rw - ext4 /dev/vda rw\n"
        f"2 1 0:2 / {tmp_path} rw,relatime shared:1 - nfs4 server:/data rw\n"
    )
    finding = place.mount(tmp_path, mounts)
    assert finding.status == NOTE and "nfs4 (server:/data)" in finding.detail
    assert place.mount(tmp_path.parent, mounts).detail == "ext4 (/dev/vda) at /"


@pytest.mark.parametrize(
    ("installed", "status"), [("2.5.1+cpu", PROBLEM), ("2.6.0", "good"), ("3.0", "good")]
)
def test_a_version_that_is_too_old_is_a_problem(installed, status, monkeypatch):
    monkeypatch.setattr(software.importlib.metadata, "version", lambda _: installed)
    assert software.version("torch").status == status


@pytest.mark.parametrize(("policy", "status"), [("", NOTE), ("passive", "good"), ("ACTIVE", NOTE)])
def test_threads_that_keep_their_cores_are_noted_where_there_is_no_gpu(policy, status, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    monkeypatch.setattr(software, "gpu", lambda: software.Finding("GPU", "none"))
    (finding,) = (each for each in software.findings() if each.name == "OpenMP")
    assert finding.status == status
    assert ("OMP_WAIT_POLICY=PASSIVE" in finding.mend) == (status == NOTE)
    monkeypatch.setattr(software, "gpu", lambda: software.Finding("GPU", "one"))
    assert all(each.name != "OpenMP" for each in software.findings())
