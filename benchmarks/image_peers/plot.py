"""Draws a result: python -m benchmarks.image_peers.plot RESULT.json PLOT.svg, with Matplotlib."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

_PANELS = (
    ("samples_per_s", 1.0, "samples/s (more is better)"),
    ("cpu_s_per_sample", 1e3, "CPU-ms per sample"),
    ("peak_bytes", 1 / (1 << 20), "peak memory, MiB"),
    ("first_batch_s", 1.0, "time to first batch, s"),
)
_HUES = {"drapps": ("#0b5fa5", "#7db6e3"), "rival": ("#5c5c5c", "#b5b5b5")}
_THICK = 0.38


def main() -> None:
    """Four panels of bars, a pair for each contestant."""
    content: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
    mpl.rcParams.update({"font.size": 9, "svg.fonttype": "none", "svg.hashsalt": "image-peers"})
    names = list(next(iter(content["figures"].values())))
    figure, axes = plt.subplots(2, 2, figsize=(11, 0.55 * len(names) + 2), sharey=True)
    for axis, (key, scale, title) in zip(axes.flat, _PANELS, strict=True):
        for which, (sampling, figures) in enumerate(content["figures"].items()):
            _bars(axis, which, sampling, [figures[name].get(key) for name in names], scale, names)
        axis.set_title(title, loc="left")
        axis.set_yticks(range(len(names)), names)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.14)
    axes.flat[0].invert_yaxis()
    figure.suptitle(
        f"RandomResizedCrop 224 of 500x375 JPEG; {content['machine']['cpu']}, "
        f"{content['machine']['cores']} cores; dark 4:4:4, light 4:2:0"
    )
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None})


def _bars(
    axis: Any, which: int, sampling: str, values: list[Any], scale: float, names: list[str]
) -> None:
    heights = [0.0 if value is None else value * scale for value in values]
    colours = [_HUES["drapps" if name.startswith("drapps") else "rival"][which] for name in names]
    places = [row + (which - 0.5) * _THICK for row in range(len(names))]
    bars = axis.barh(places, heights, _THICK, color=colours, label=sampling)
    texts = ["not measured" if value is None else _text(value * scale) for value in values]
    axis.bar_label(bars, texts, padding=2, fontsize=7)


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
