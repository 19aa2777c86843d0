from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from demo import meter, plan, userdata


def test_the_best_worker_count_is_that_of_the_highest_rate() -> None:
    assert plan.best_workers({0: 200.0, 1: 350.0, 2: 500.0, 4: 480.0}) == 2


def test_of_equal_rates_the_fewest_workers_are_best() -> None:
    assert plan.best_workers({4: 500.0, 2: 500.0, 0: 100.0}) == 2


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, [0, 1, 2]), (2, [0, 1, 2, 4]), (16, [0, 1, 8, 16, 32])]
)
def test_worker_counts_span_none_to_twice_the_cores(cores: int, counts: list[int]) -> None:
    assert plan.worker_counts(cores) == counts


def test_epochs_follow_the_time_they_take_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TRAINING_S", 40.0)
    monkeypatch.setattr(plan, "EPOCHS", (3, 6))
    assert plan.epochs_for(2500, 10.0) == 3
    assert plan.epochs_for(2500, 260.0) == 4
    assert plan.epochs_for(2500, 5000.0) == 6


def folder(root: Path, **counts: int) -> Path:
    for name, count in counts.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            (root / name / f"{number}.jpg").write_bytes(b"jpeg")
    return root


def files(split: userdata.Split, part: str) -> set[Path]:
    return {link.resolve() for link in (split.root / part).glob("*/*")}


def test_a_users_folder_is_split_without_overlap_and_untouched(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", cat=30, dog=16, few=2)
    (own / "cat" / "notes.txt").write_text("no picture")
    before = sorted(own.rglob("*"))
    split = userdata.split(own, tmp_path / "cache")
    train, heldout = files(split, "train"), files(split, "heldout")
    assert train.isdisjoint(heldout)
    assert len(train) == split.train
    assert len(heldout) == split.heldout
    assert len(train | heldout) == 46
    assert 0.1 < len(heldout) / 46 < 0.2
    assert split.left_out == ("few",)
    assert sorted(own.rglob("*")) == before


def test_both_parts_have_every_class(tmp_path: Path) -> None:
    split = userdata.split(folder(tmp_path / "own", a=4, b=5, c=90), tmp_path / "cache")
    for part in ("train", "heldout"):
        assert {entry.name for entry in (split.root / part).iterdir()} == {"a", "b", "c"}


def test_the_same_folder_gives_the_same_split(tmp_path: Path) -> None:
    own = folder(tmp_path / "own", a=20, b=20)
    assert userdata.split(own, tmp_path / "cache") == userdata.split(own, tmp_path / "cache")


def test_of_a_large_folder_an_even_selection_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(userdata, "MOST_PICTURES", 40)
    split = userdata.split(folder(tmp_path / "own", a=60, b=20), tmp_path / "cache")
    assert split.train + split.heldout == 40
    chosen = {
        int(file.stem)
        for part in ("train", "heldout")
        for file in files(split, part)
        if file.parent.name == "a"
    }
    assert len(chosen) == 30
    assert max(chosen) > 55


def test_a_folder_without_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least two folders"):
        userdata.split(folder(tmp_path / "own", only=9), tmp_path / "cache")


def test_the_meter_counts_children_alive_and_ended() -> None:
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    before = meter.cpu_seconds(os.getpid())
    subprocess.run([sys.executable, "-c", burn], check=True, timeout=600)
    assert meter.cpu_seconds(os.getpid()) - before >= 0.28
    with subprocess.Popen(
        [sys.executable, "-c", burn + "print(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in meter.tree(os.getpid())
        assert meter.cpu_seconds(os.getpid()) - before >= 0.56
        child.stdin.write(b"\n")


def test_the_meter_sees_memory_that_a_child_takes() -> None:
    hold = "block = b'x' * (64 << 20)\nprint(flush=True)\ninput()\n"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        with meter.PeakMemory(child.pid) as memory:
            deadline = time.monotonic() + 600
            while memory.peak_bytes == 0 and time.monotonic() < deadline:
                time.sleep(0.05)
        child.stdin.write(b"\n")
    assert 64 << 20 < memory.peak_bytes < 512 << 20
