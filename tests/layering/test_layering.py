"""The folders of src/drapps form one picture, in which data flows from top to bottom.

A folder includes only folders above it in the list of src/drapps/CMakeLists.txt, the extension
module is above nothing, and no C++ of the core knows Python.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def layers_of(source: Path) -> list[str]:
    text = (source / "CMakeLists.txt").read_text()
    return re.findall(r"^drapps_layer\((\w+)", text, re.MULTILINE)


def violations(source: Path) -> list[str]:
    """One line for each include that the picture does not allow."""
    layers = layers_of(source)
    problems = []
    for file in sorted(source.rglob("*")):
        if file.suffix not in {".cc", ".h"}:
            continue
        layer = file.relative_to(source).parts[0]
        if layer not in layers:
            problems.append(f"{file.relative_to(source)}: {layer} is not in CMakeLists.txt")
            continue
        for name in INCLUDE.findall(file.read_text()):
            used = re.match(r"drapps/([^/]+)/", name)
            if used and used[1] not in layers[: layers.index(layer) + 1]:
                problems.append(f"{file.relative_to(source)}: includes {name}")
            elif not used and (source / layer / name).exists():
                problems.append(f'{file.relative_to(source)}: write "drapps/{layer}/{name}"')
            elif re.match(r"(Python\.h|nanobind/|pybind11/|torch/|ATen/)", name):
                problems.append(f"{file.relative_to(source)}: includes {name}")
    return problems


def test_a_folder_includes_only_folders_above_it() -> None:
    assert violations(ROOT / "src/drapps") == []


def test_the_control_plane_is_below_all_data_plane_folders() -> None:
    layers = layers_of(ROOT / "src/drapps")
    data_plane = ("source", "decode", "augment", "batch", "deliver", "worker", "pipeline")
    control_plane = ("meter", "plant", "sim", "policy", "trace", "control")
    assert max(map(layers.index, data_plane)) < min(map(layers.index, control_plane))


@pytest.mark.parametrize(
    "header",
    [
        "storage/location.h",
        "source/source.h",
        "cache/keeper.h",
        "modality/modality.h",
        "pipeline/metrics.h",
        "pipeline/plan.h",
        "pipeline/prepare.h",
        "pipeline/runner.h",
        "pipeline/sample_log.h",
        "pipeline/task.h",
        "trace/samples.h",
    ],
)
def test_what_all_modalities_share_names_none_of_them(header: str) -> None:
    text = (ROOT / "src/drapps" / header).read_text()
    assert re.findall(r"picture|pixel|decoder|jpeg|image|text", text, re.IGNORECASE) == []


@pytest.mark.parametrize(
    ("include", "complaint"),
    [
        ('#include "drapps/lower/x.h"', "includes drapps/lower/x.h"),
        ('  #  include "drapps/lower/x.h"', "includes drapps/lower/x.h"),
        ('#include "drapps/elsewhere/x.h"', "includes drapps/elsewhere/x.h"),
        ('#include "sibling.h"', 'write "drapps/upper/sibling.h"'),
        ("#include <nanobind/nanobind.h>", "includes nanobind/nanobind.h"),
    ],
)
def test_a_wrong_include_is_found(tmp_path: Path, include: str, complaint: str) -> None:
    (tmp_path / "CMakeLists.txt").write_text("drapps_layer(upper)\ndrapps_layer(lower LINK x)\n")
    (tmp_path / "upper").mkdir()
    (tmp_path / "upper/sibling.h").write_text("#include <vector>\n")
    (tmp_path / "upper/x.h").write_text(include + "\n")
    assert violations(tmp_path) == [f"upper/x.h: {complaint}"]


def test_a_folder_outside_the_list_is_found(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("drapps_layer(upper)\n")
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray/x.cc").write_text("")
    assert violations(tmp_path) == ["stray/x.cc: stray is not in CMakeLists.txt"]


def test_a_right_include_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("drapps_layer(upper)\ndrapps_layer(lower)\n")
    (tmp_path / "lower").mkdir()
    (tmp_path / "lower/x.h").write_text('#include <vector>\n#include "drapps/upper/x.h"\n')
    assert violations(tmp_path) == []
