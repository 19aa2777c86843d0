"""``drapps transcode``, run as users and programs do."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import drapps
from drapps import output
from drapps.cli import main
from python.tests.commands import ENVIRONMENT, answer, command, files, run, unprivileged
from python.tests.decode_files import encode, jpeg, picture

PROGRESSIVE = encode(picture("RGB", 40, 50), "JPEG", progressive=True)


@pytest.fixture
def tree(tmp_path):
    """A folder with everything that people have in such folders."""
    top = tmp_path / "source"
    for name, content in {
        "cat/a.jpg": jpeg("4:2:0", 40, 50),
        "cat/b.JPEG": jpeg("4:4:4", 41, 51),
        "cat/with space.jpg": jpeg("gray", 42, 52),
        "cat/two\nlines.jpg": jpeg("4:2:2", 43, 53),
        "dog/deep/er/c.jpg": jpeg("4:2:0", 44, 54),
        "dog/no_extension": jpeg("4:2:0", 45, 55),
        "dog/progressive.jpg": PROGRESSIVE,
        "dog/d.png": encode(picture("RGB", 20, 20), "PNG"),
        "dog/words.txt": b"words",
    }.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(content)
    (top / "empty").mkdir()
    return top


FORMS = {
    "cat/a.djc": "cat/a.jpg",
    "cat/b.djc": "cat/b.JPEG",
    "cat/with space.djc": "cat/with space.jpg",
    "cat/two\nlines.djc": "cat/two\nlines.jpg",
    "dog/deep/er/c.djc": "dog/deep/er/c.jpg",
    "dog/no_extension.djc": "dog/no_extension",
}
OTHERS = ["dog/d.png", "dog/progressive.jpg", "dog/words.txt"]


def forms_of(top):
    return {form: drapps.transcode((top / name).read_bytes()) for form, name in FORMS.items()}


def test_a_tree_keeps_its_shape_and_tells_what_it_leaves_out(tree, tmp_path):
    status, report = answer("transcode", tree, tmp_path / "out", "--jobs", "3")
    assert status == 0
    assert files(tmp_path / "out") == forms_of(tree)
    assert (tmp_path / "out" / "empty").is_dir()
    assert [entry["path"] for entry in report["left_out"]] == [str(tree / name) for name in OTHERS]
    assert (report["transcoded"], report["copied"], report["failed"]) == (6, 0, [])
    assert report["form_bytes"] == sum(map(len, forms_of(tree).values()))
    assert "error" not in report


def test_others_are_copied_on_request(tree, tmp_path):
    done = run("transcode", tree, tmp_path / "out", "--copy-others")
    others = {name: (tree / name).read_bytes() for name in OTHERS}
    assert (done.returncode, done.stderr) == (0, "")
    assert files(tmp_path / "out") == forms_of(tree) | others
    assert done.stdout.startswith("6 of 9 files in the coefficient form, ")
    assert done.stdout.endswith(f" in {tmp_path / 'out'}; 3 copied\n")


def test_people_are_told_what_is_left_out_in_lines_and_quiet_is_quiet(tree, tmp_path):
    (tree / "dog" / "two\nlines.txt").write_text("x")
    lines = run("transcode", tree, tmp_path / "out").stdout.splitlines()
    assert f"left out: {tree}/dog/two\\nlines.txt: no JPEG" in lines
    assert lines[-1].endswith("4 left out, which --copy-others copies")
    done = run("transcode", tree, tmp_path / "again", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(files(tmp_path / "again")) == 6


def test_files_go_straight_into_the_folder(tree, tmp_path):
    status, report = answer("transcode", "cat/a.jpg", "dog/deep/er/c.jpg", "../out", cwd=tree)
    assert (status, report["transcoded"]) == (0, 2)
    assert sorted(files(tmp_path / "out")) == ["a.djc", "c.djc"]
    assert answer("transcode", "a.jpg", ".", cwd=tree / "cat")[0] == 0
    assert (tree / "cat" / "a.djc").exists()


def test_a_second_run_finds_everything_done(tree, tmp_path):
    answer("transcode", tree, tmp_path / "out", "--copy-others")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.*")}
    status, report = answer("transcode", tree, tmp_path / "out", "--copy-others")
    assert (status, report["transcoded"], report["copied"], report["unchanged"]) == (0, 0, 0, 9)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_other_content_is_never_overwritten(tree, tmp_path):
    out = tmp_path / "out" / "cat"
    out.mkdir(parents=True)
    (out / "a.djc").write_text("mine")
    (out / "b.djc").symlink_to(tmp_path / "nowhere")
    done = run("transcode", tree, tmp_path / "out")
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()[:2]] == [
        str(tree / "cat" / "a.jpg"),
        str(tree / "cat" / "b.JPEG"),
    ]
    assert "is there already, with other content" in done.stderr
    assert (out / "a.djc").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert len(files(tmp_path / "out")) == 5


def test_two_files_of_one_name_are_told_of_and_the_first_is_taken(tree, tmp_path):
    shutil.copy(tree / "cat" / "b.JPEG", tree / "cat" / "a.jpeg")
    status, report = answer("transcode", tree, tmp_path / "out")
    assert status == 1
    assert [entry["path"] for entry in report["failed"]] == [str(tree / "cat" / "a.jpg")]
    assert len(files(tmp_path / "out")) == 6


def test_bad_files_are_told_of_and_the_run_goes_on(tree, tmp_path):
    whole = (tree / "cat" / "a.jpg").read_bytes()
    for name, content in {
        "truncated": whole[:-40],
        "no header": whole[:30],
        "empty": b"",
        "truncated progressive": PROGRESSIVE[:-40],
        "page": b"<html>not found</html>",
    }.items():
        (tree / "cat" / f"{name}.jpg").write_bytes(content)
    (tree / "cat" / "broken.jpg").symlink_to("nowhere")
    (tree / "cat" / "circle.jpg").symlink_to("circle.jpg")
    (tree / "cat" / "above").symlink_to(tree)
    os.mkfifo(tree / "cat" / "pipe.jpg")
    status, report = answer("transcode", tree, tmp_path / "out")
    assert (status, report["error"]) == (1, "8 of 18 files failed")
    why = {Path(entry["path"]).name: entry["why"] for entry in report["failed"]}
    assert why["truncated.jpg"].startswith("truncated at byte ")
    assert why["truncated progressive.jpg"].startswith("truncated at byte ")
    assert why["no header.jpg"].startswith("truncated at byte 30: ")
    assert why["empty.jpg"].startswith("truncated at byte 0: the file is empty")
    assert why["page.jpg"].startswith("unsupported at byte 0: this looks like an HTML")
    assert why["broken.jpg"] == os.strerror(errno.ENOENT)
    assert why["circle.jpg"] == os.strerror(errno.ELOOP)
    assert why["above"].startswith("a link to a folder that holds it")
    assert any(entry["path"].endswith("pipe.jpg") for entry in report["left_out"])
    assert files(tmp_path / "out") == forms_of(tree)


def test_a_file_larger_than_memory_is_told_of(tree, tmp_path, monkeypatch, capsys):
    def read(source):
        if source.name == "a.jpg":
            raise MemoryError
        return source.read_bytes()

    monkeypatch.setattr("drapps.form_files._read_jpeg", read)
    assert main(["transcode", str(tree / "cat"), str(tmp_path / "out")]) == 1
    message = f"drapps: {tree / 'cat' / 'a.jpg'}: does not fit into memory\n"
    assert capsys.readouterr().err.startswith(message)
    assert len(files(tmp_path / "out")) == 3


def test_links_are_followed(tree, tmp_path):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "cat").symlink_to(tree / "cat")
    (tmp_path / "links" / "c.jpg").symlink_to(tree / "dog" / "deep" / "er" / "c.jpg")
    assert answer("transcode", tmp_path / "links", tmp_path / "out")[0] == 0
    assert len(files(tmp_path / "out")) == 5
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["source", "source/cat/out"], "'source/cat/out' lies in 'source'"),
        (["source", "source"], "'source' lies in 'source'"),
        (["source", "link/out"], "'link/out' lies in 'source'"),
        (["source/empty", "out"], "'source/empty' has no files"),
        (["source/cat", "source/dog", "out"], "'source/cat' is a folder: name one"),
        (["source/cat/a.jpg", "source/dog", "out"], "'source/dog' is a folder: name one"),
        (["absent.jpg", "out"], f"absent.jpg: {os.strerror(errno.ENOENT)}"),
        (["absent\n.jpg", "out"], f"absent\\n.jpg: {os.strerror(errno.ENOENT)}"),
        (["source", "file"], f"file: {os.strerror(errno.EEXIST)}"),
        (["source", "file/out"], f"file/out: {os.strerror(errno.ENOTDIR)}"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tree, tmp_path, words, complaint):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to(tree)
    before = files(tmp_path)
    done = run("transcode", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"drapps: {complaint}")
    assert files(tmp_path) == before


def test_unreadable_files_and_folders_are_named_and_the_rest_is_done(tree, tmp_path):
    (tree / "cat" / "a.jpg").chmod(0)
    (tree / "dog" / "deep").chmod(0)
    done = run("transcode", tree, tmp_path / "out", before=unprivileged())
    (tree / "dog" / "deep").chmod(0o700)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"drapps: {tree / 'dog' / 'deep'}: {os.strerror(errno.EACCES)}",
        f"drapps: {tree / 'cat' / 'a.jpg'}: {os.strerror(errno.EACCES)}",
        "drapps: 2 of 9 files failed",
    ]
    assert len(files(tmp_path / "out")) == 4


def test_a_full_disk_ends_the_run_and_leaves_whole_files(tree, tmp_path, monkeypatch, capsys):
    class Full(output.NewFile):
        def appear(self):
            if self._path.name == "b.djc":
                self._file.close()
                self._file = open("/dev/full", "wb")  # noqa: SIM115, PTH123
                self._file.write(b"x")
            super().appear()

    monkeypatch.setattr("drapps.form_files.NewFile", Full)
    assert main(["transcode", str(tree), str(tmp_path / "out"), "--jobs", "1"]) == 1
    named = f"drapps: {tmp_path / 'out' / 'cat' / 'b.djc'}: {os.strerror(errno.ENOSPC)}\n"
    assert capsys.readouterr().err == named
    assert forms_of(tree).items() >= files(tmp_path / "out").items()


def test_names_that_are_no_text_are_shown(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xe9\xff.txt"
    Path(os.fsdecode(name)).write_text("x")
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command("transcode", os.fsencode(name), tmp_path / "ö"),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udce9\\udcff.txt: no JPEG" in done.stdout
