"""``drapps``: what all of its commands have in common."""

import errno
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

import drapps
from drapps import output
from drapps.cli import main
from drapps.cli import progress as progress_module
from python.tests.cells import some_full
from python.tests.commands import ENVIRONMENT, answer, command, files, run, unprivileged
from python.tests.decode_files import jpeg

MANY = 5000  # files, of which a run writes few before it is interrupted


@pytest.mark.parametrize("name", ["codecs", "doctor", "lift", "pack", "transcode", "watch"])
def test_all_commands_have_the_same_options_and_statuses(name, capsys):
    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for part in ("--json ", "--quiet ", "exit status: 0 done, 1 a failure, 2 wrong use, 130 "):
        assert part in shown


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["bake"], "argument COMMAND: invalid choice: 'bake'"),
        (["pack", "photos"], "pictures need a SOURCE and an OUT"),
        (["pack", "", "out"], "argument SOURCE OUT | FILES: the name is empty"),
        (["transcode", "photos"], "the following arguments are required: OUT"),
        (["transcode", "photos", ""], "argument OUT: the name is empty"),
        (["transcode", "photos", "out", "--jobs", "0"], "argument --jobs: '0' is no number"),
        (["transcode", "photos", "out", "--copy"], "unrecognized arguments: --copy"),
        (["lift"], "the following arguments are required: SCRIPT"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(words, complaint, capsys):
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit) as caught:
            main([*words[:1], *options, *words[1:]])
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert err.startswith(f"drapps: {complaint}") and err.count("\n") == 1
        assert "--help" in err
        assert out == "" if not options else json.loads(out)["error"] in err


@pytest.mark.parametrize("name", ["lift", "pack", "transcode"])
def test_every_failure_is_json_too(tmp_path, name):
    words = [] if name == "lift" else [tmp_path / "out"]
    done = run(name, "--json", "absent", *words, cwd=tmp_path)
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert done.stderr.endswith(f"drapps: {error}\n")


def test_an_answer_that_nobody_takes_is_a_failure(photos, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("transcode", photos, tmp_path / "out"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=ENVIRONMENT,
        )
    assert done.returncode == 1
    assert done.stderr == (
        f"drapps: the answer could not be written: {os.strerror(errno.ENOSPC)}\n"
    )


@pytest.mark.parametrize("module", ["drapps", "drapps.cli"])
def test_the_package_runs_as_a_module(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout == f"drapps {drapps.__version__}\n"


def test_help_needs_no_array_library_and_no_framework():
    code = """
import sys
from drapps.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0
print({"numpy", "torch", "drapps._core"} & set(sys.modules), file=sys.stderr)
"""
    for words in (["--help"], ["transcode", "--help"], ["lift", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            capture_output=True,
            text=True,
            check=True,
            env=ENVIRONMENT,
        )
        assert done.stderr == "set()\n"


def test_progress_is_for_terminals_alone(photos, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress_module, "INTERVAL", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    main(["transcode", str(photos), str(tmp_path / "one")])
    assert "\r21 of 21 files" in capsys.readouterr().err
    for option in ("--quiet", "--json"):
        main(["transcode", str(photos), str(tmp_path / option), option])
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["pack", "transcode"])
def test_nothing_is_written_into_what_is_read(own_photos, name):
    before = files(own_photos)
    status, report = answer(name, own_photos, own_photos / "out")
    assert status == 1 and "lies in" in report["error"]
    assert files(own_photos) == before


@pytest.mark.parametrize("name", some_full(["pack", "transcode"], "transcode"))
def test_a_read_only_destination_is_named(photos, tmp_path, name):
    out = tmp_path / "read-only"
    out.mkdir(mode=0o555)
    for target in (out, out / "below"):
        status, report = answer(name, photos, target, before=unprivileged())
        assert status == 1
        assert report["error"].startswith(str(out))
        assert report["error"].endswith(os.strerror(errno.EACCES))
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_links_takes_files_too(tmp_path, monkeypatch, code):
    def refuse(*_names):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    for expected in ("one", FileExistsError):
        file = output.NewFile(tmp_path / "name")
        file.write(b"one")
        if expected == "one":
            file.appear()
        else:
            with pytest.raises(expected, match="name"):
                file.appear()
    assert files(tmp_path) == {"name": b"one"}


def interrupt(words, cwd, ready, number):
    """Status, JSON and complaint of a command that got a signal when `ready` was true."""
    with subprocess.Popen(
        command(*words, "--json") if words[0] != "lift" else command("lift", "--json", *words[1:]),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        deadline = time.monotonic() + 300
        while not ready() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(number)
        out, complaint = process.communicate(timeout=300)
    return process.returncode, json.loads(out), complaint


# An interrupted script gets the other signal.
@pytest.mark.parametrize("number", some_full([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
@pytest.mark.parametrize("name", some_full(["pack", "transcode"], "pack"))
def test_an_interrupted_run_leaves_no_half_file(tmp_path, name, number):
    content = jpeg("4:2:0", 60, 80)
    (tmp_path / "a.jpg").write_bytes(content)
    folder = tmp_path / "many" / "class"
    folder.mkdir(parents=True)
    for index in range(MANY):
        (folder / f"{index}.jpg").symlink_to(tmp_path / "a.jpg")
    out = tmp_path / "out"
    words = {"pack": ["--shard-bytes", "100K"], "transcode": ["--jobs", "2"]}[name]
    status, report, complaint = interrupt(
        [name, "many", "out", *words],
        tmp_path,
        lambda: any(out.rglob("*.djc")) or any(out.rglob("*.tar")),
        number,
    )
    assert status == 128 + number
    assert report["error"].startswith("interrupted")
    assert complaint == f"drapps: {report['error']}\n"
    written = [path for path in out.rglob("*") if path.is_file()]
    assert 0 < len(written) < MANY
    for path in written:
        if name == "transcode":
            assert path.suffix == ".djc" and path.read_bytes() == drapps.transcode(content)
        else:
            assert path.suffix == ".tar"
            with tarfile.open(path) as shard:
                assert shard.getnames()
    if name == "transcode":  # the same command goes on from there
        for index in range(100, MANY):
            (folder / f"{index}.jpg").unlink()
        assert answer("transcode", "many", "out", cwd=tmp_path)[0] == 0


def test_an_interruption_while_a_file_is_discarded_leaves_nothing(tmp_path, monkeypatch):
    file = output.NewFile(tmp_path / "name")
    file.write(b"half")

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(output.Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.discard()
    assert len(list(tmp_path.iterdir())) == 1
    output.discard_unfinished()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_script_is_told_of(tmp_path):
    pytest.importorskip("torch")
    script = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(300)"
    (tmp_path / "train.py").write_text(script)
    ready = (tmp_path / "ready").exists
    status, report, complaint = interrupt(["lift", "train.py"], tmp_path, ready, signal.SIGINT)
    assert status == 130
    assert complaint == f"drapps: {report['error']}\n"
