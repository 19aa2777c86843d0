"""What the documentation quotes: messages stand in the sources, figures in kept results."""

import json
import re
from pathlib import Path

import pytest

import drapps
from drapps.worker.serialise import UnpicklableError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/errors.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
JOINED = re.compile(r'"\s+f?"')  # one text that is written in several pieces


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def quoted() -> list[str]:
    return [
        message
        for name, text in sections().items()
        if name != "Which class it is"
        for message in ROW.findall(text)
    ]


def sources() -> str:
    files = [
        *(ROOT / "python/drapps").rglob("*.py"),
        *(ROOT / "python/src").rglob("*.cc"),
        *(path for path in (ROOT / "src/drapps").rglob("*.cc") if not path.match("*_test.cc")),
    ]
    return JOINED.sub("", "\n".join(path.read_text() for path in files))


def test_every_quoted_message_stands_in_the_sources():
    text = sources()
    messages = quoted()
    assert len(messages) > 60
    assert [message for message in messages if message not in text] == []


def test_no_message_is_explained_twice():
    messages = quoted()
    assert sorted(set(messages)) == sorted(messages)


def test_every_class_of_error_is_on_the_page():
    listed = ROW.findall(sections()["Which class it is"])
    public = [name for name in drapps.__all__ if name.endswith("Error")]
    hidden = f"{UnpicklableError.__module__}.{UnpicklableError.__name__}"
    assert sorted(listed) == sorted([*(f"drapps.{name}" for name in public), hidden])


RESULTS = ROOT / "benchmarks/results"
PEERS, SMALL, PYTHON = (
    json.loads((RESULTS / f"{name}.json").read_text())
    for name in (
        "2026-11-21-image-peers",
        "2026-11-22-small-samples",
        "2026-11-22-python-dataset",
    )
)


def span(*ratios: float) -> str:
    return " to ".join(f"{ratio:.1f}" for ratio in sorted(ratios))


@pytest.mark.parametrize(
    ("named", "rival"),
    [
        ("torch's `DataLoader` with torchvision", "torch"),
        ("tf.data", "tfdata"),
        ("DALI on the CPU", "dali"),
        ("FFCV, from JPEG", "ffcv_jpeg"),
    ],
)
def test_the_readme_compares_loaders_as_the_kept_run_does(named, rival):
    epochs = [
        span(*(PEERS["ratios"][f"loader_{epoch}_{rival}_{colours}"] for colours in ("444", "420")))
        for epoch in ("first", "warm")
    ]
    assert f"| {named} | {epochs[0]} | {epochs[1]} |" in (ROOT / "README.md").read_text()


def test_the_readme_has_the_other_figures_of_kept_runs():
    text = " ".join((ROOT / "README.md").read_text().split())
    small, work = SMALL["ratios"], PYTHON["ratios"]
    assert f"batches of 64 | torch's `DataLoader` | | {small['small_samples_64']:.0f} |" in text
    assert f"PyTorch's tutorial | torch's `DataLoader` | | {small['training']:.1f} |" in text
    assert f"per sample | torch's `DataLoader` | | {work['work_100us_600k']:.1f} |" in text
    slow = {f"{work[f'work_10ms_{size}']:.1f}" for size in ("4k", "64k", "600k")}
    assert slow == {"1.0"}
    first = [SMALL["figures"]["batches of 64"][f"{who} training"] for who in ("drapps", "stock")]
    after = [f"{each['first_batch_s']:.2f} s" for each in first]
    assert f"its first batch after {after[0]}, and after {after[1]} from torch" in text
    raw, warm = (
        [PEERS["figures"][colours][who]["samples_per_s"] for colours in ("420", "444")]
        for who in ("ffcv_raw", "drapps_warm")
    )
    slower = " to ".join(f"{a / b:.2f}" for a, b in zip(raw, warm, strict=True))
    assert f"is {slower} times as fast as our later epochs" in text
    stored = (PEERS["ratios"][f"loader_coefficients_ffcv_raw_{of}"] for of in ("444", "420"))
    assert f"we are {span(*stored)} times as fast as it" in text
