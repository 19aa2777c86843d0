"""Files that go, shrink, change or cannot be read while a loader lives."""

import os
import socket
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import drapps
from python.tests.decode_files import encode, jpeg, picture
from python.tests.hold_streams import core, pieces, records, run_script, train, write_files

COUNT = 12


@pytest.fixture
def paths(tmp_path):
    return write_files(tmp_path / "photos", records(COUNT))


def outcome(iterator):
    """Indices delivered and errors met, to the end of the pass."""
    delivered, errors = [], []
    while True:
        try:
            delivered += np.asarray(next(iterator)["index"]).tolist()
        except drapps.SampleError as error:  # noqa: PERF203
            errors.append(error)
        except StopIteration:
            return delivered, errors


def only_error(loader, index):
    delivered, [error] = outcome(iter(loader))
    assert sorted(delivered) == [i for i in range(COUNT) if i != index]
    assert error.index == index
    return error


def test_a_file_deleted_between_epochs_is_named_and_may_come_back(paths):
    loader = drapps.images(paths).center_crop(16).batch(1)
    assert sorted(outcome(iter(loader))[0]) == list(range(COUNT))
    content = paths[5].read_bytes()
    paths[5].unlink()
    error = only_error(loader, 5)
    assert (error.stage, error.code, error.path) == ("fetch", "not found", str(paths[5]))
    paths[5].write_bytes(content)
    assert outcome(iter(loader)) == (list(range(COUNT)), [])


def test_a_file_shortened_between_epochs_is_checked_anew(paths):
    loader = drapps.images(paths).center_crop(16).batch(1)
    outcome(iter(loader))
    content = paths[7].read_bytes()
    os.truncate(paths[7], len(content) // 2)
    error = only_error(loader, 7)
    assert (error.stage, error.code) == ("decode", "truncated")
    assert 0 <= error.offset <= len(content) // 2
    paths[7].write_bytes(content)
    assert outcome(iter(loader)) == (list(range(COUNT)), [])


def test_a_file_replaced_between_epochs_gives_the_new_pixels(paths):
    loader = core(drapps.images(paths).center_crop(16), 1)
    before = pieces(loader)
    new = encode(picture("RGB", 77, 41, 99), "PNG")
    paths[3].write_bytes(new)
    after = pieces(loader)
    contents = [path.read_bytes() for path in paths]
    assert after == pieces(core(drapps.image_bytes(contents).center_crop(16), 1))
    assert [i for i in range(COUNT) if after[i] != before[i]] == [3]


def test_files_that_change_while_they_are_read_never_break_the_loader(paths):
    contents = [path.read_bytes() for path in paths]
    stop = threading.Event()

    def meddle():
        draw = np.random.default_rng(1)
        while not stop.is_set():
            place = int(draw.integers(COUNT))
            kind = int(draw.integers(4))
            if kind == 0:
                paths[place].unlink(missing_ok=True)
            elif kind == 1:
                paths[place].write_bytes(contents[place][: int(draw.integers(2000))])
            else:
                paths[place].write_bytes(contents[int(draw.integers(COUNT))])

    meddler = threading.Thread(target=meddle)
    meddler.start()
    loader = drapps.images(paths).random_resized_crop(16).on_error("skip").batch(3)
    try:
        for _ in range(60):
            batches = list(loader)
            assert len(batches) == 4
            assert sum(batch.rows for batch in batches) + len(loader.bad_samples()) == COUNT
    finally:
        stop.set()
        meddler.join(30)
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    assert outcome(iter(loader)) == (list(range(COUNT)), [])


def test_what_is_no_regular_file_does_not_hang(tmp_path):
    good = write_files(tmp_path / "a", [jpeg("4:2:0", 40, 40)])[0]
    fifo, folder, sock = (tmp_path / "a" / name for name in ("1.jpg", "2.jpg", "3.jpg"))
    os.mkfifo(fifo)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(sock))
        link = tmp_path / "a" / "4.jpg"
        link.symlink_to(link)
        odd = [fifo, folder, sock, link]
        iterator = iter(drapps.images([good, *odd, good]).center_crop(16).batch(1))
        delivered, errors = outcome(iterator)
    assert delivered == [0, 5]
    assert [error.path for error in errors] == [str(path) for path in odd]
    assert all(error.stage == "fetch" for error in errors)
    assert "FIFO" in errors[0].message and "directory" in errors[1].message


def test_a_folder_with_a_fifo_and_a_dangling_link_in_it_goes_on(tmp_path):
    write_files(tmp_path / "set" / "cat", records(6))
    os.mkfifo(tmp_path / "set" / "cat" / "zz.jpg")
    (tmp_path / "set" / "cat" / "zzz.jpg").symlink_to(tmp_path / "nowhere")
    loader = train(drapps.image_folder(tmp_path / "set")).on_error("skip").batch(4)
    assert sum(batch.rows for batch in loader) == 6
    assert sorted(line["path"][-7:] for line in loader.bad_samples()) == ["/zz.jpg", "zzz.jpg"]


def test_an_unreadable_file_is_a_permission_error():
    # Root reads everything, so the child gives that up once all is imported.
    script = """
import os, sys
import drapps
from python.tests.hold_streams import records
list(drapps.image_bytes(records(1)).center_crop(16).batch(1))
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
loader = drapps.images(sys.argv[1:]).center_crop(16).on_error("skip").batch(3)
[batch] = loader
[line] = loader.bad_samples()
print(batch.rows, line["stage"], line["code"], line["path"])
"""
    with tempfile.TemporaryDirectory() as folder:
        paths = write_files(Path(folder), records(3))
        Path(folder).chmod(0o755)
        paths[1].chmod(0)
        output = run_script(script, *paths, PYTHONDONTWRITEBYTECODE="1").strip()
    assert output == f"2 fetch permission denied {paths[1]}"


def test_names_that_are_no_utf8_are_read_and_told(tmp_path):
    root = os.fsencode(tmp_path)
    good, bad = root + b"/\xff\xfe good.jpg", root + b"/\xe4 bad.jpg"
    Path(os.fsdecode(good)).write_bytes(jpeg("4:2:0", 40, 40))
    Path(os.fsdecode(bad)).write_bytes(b"GIF89a")
    delivered, [error] = outcome(iter(drapps.images([good, bad]).center_crop(16).batch(1)))
    assert delivered == [0]
    assert os.fsencode(error.path) == bad
