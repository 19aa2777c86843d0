"""The result as a page in Markdown with its plot: build/bench/image-peers.{md,svg}."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.contestant import ROOT

_MIB = 1 << 20
_HEADS = (
    "loader",
    "samples/s",
    "CPU-ms/sample",
    "peak MiB",
    "first batch s",
    "workers",
    "mean error",
    "output",
    "what differs",
)


def write(file: Path, plotter: str | None) -> list[Path]:
    """Writes the page of a result's JSON, and the plot by the interpreter `plotter` if there is."""
    plot, page = file.with_suffix(".svg"), file.with_suffix(".md")
    page.write_text(_page(json.loads(file.read_text()), plot.name))
    if plotter is None:
        plot.unlink(missing_ok=True)
        return [page]
    command = [plotter, "-m", "benchmarks.image_peers.plot", str(file), str(plot)]
    subprocess.run(command, cwd=ROOT, check=True)
    return [plot, page]


def _page(content: dict[str, Any], plot: str) -> str:
    machine = content["machine"]
    lines = [
        f"# {content['scenario']}, {content['date'][:10]}",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, commit {content['commit'][:12]}.",
        "",
        f"![samples per second, CPU, memory and first batch of each loader]({plot})",
    ]
    for sampling, figures in content["figures"].items():
        lines += ["", f"## {':'.join(sampling)}", "", _row(_HEADS), _row(["---"] * len(_HEADS))]
        lines += [_row(_cells(name, figure)) for name, figure in figures.items()]
    lines += ["", "## Ratios", "", _row(["ratio", "found", "wanted"]), _row(["---"] * 3)]
    ratios, wanted = content["ratios"], content["wanted"]
    for name in dict.fromkeys([*ratios, *wanted]):
        value = f"{ratios[name]:.2f}" if name in ratios else "-"
        lines.append(_row([name, value, f"≥ {wanted[name]:g}" if name in wanted else ""]))
    return "\n".join(lines) + "\n"


def _cells(name: str, figure: dict[str, Any]) -> Sequence[str]:
    title = f"{name} ({figure['versions']})" if figure["versions"] else name
    if "cannot_run" in figure:
        return [title, *["-"] * (len(_HEADS) - 2), f"cannot run: {figure['cannot_run']}"]
    return [
        title,
        f"{figure['samples_per_s']:,.0f}",
        f"{figure['cpu_s_per_sample'] * 1e3:.3f}",
        f"{figure['peak_bytes'] / _MIB:,.0f}",
        f"{figure['first_batch_s']:.2f}",
        str(figure.get("num_workers", "")),
        f"{figure['mean_error']:.3f}",
        figure["output"],
        figure["differs"],
    ]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
