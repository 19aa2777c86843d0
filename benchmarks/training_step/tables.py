"""The tables of the page, as rows of texts; every number comes from the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]
Rows = list[list[str]]

_TASKS = ("image", "text")
_MIB = 1 << 20
# ratio without task and device: what it says
_RATIOS = {
    "time": "time to the baseline's final quality, everything over baseline",
    "samples": "of it: samples until then",
    "throughput": "of it: samples per second (more is better)",
    "time_with_loader": "time, everything over the baseline on the stock loader",
    "loader_throughput": "samples per second of the baseline, DRAPPS' loader over the stock one",
    "time_without_batch": "time without BatchSchedule, over everything",
    "time_without_scaling": "time without the rate's scaling, over everything",
    "time_without_precision": "time without Precision, over everything",
    "time_without_loader": "time on the stock loader, over everything",
}


def ratios(content: Content, device: str) -> Rows:
    """Both stand-ins side by side: what is gained, and each piece alone switched off."""
    rows = []
    for name, says in _RATIOS.items():
        cells = [_ratio(content, f"{name}_{task}_{device}") for task in _TASKS]
        if any(cells):
            rows.append([says, *(cell or "-" for cell in cells)])
    return rows


def others(content: Content) -> Rows:
    """All ratios that no stand-in has."""
    names = [f"{name}_{task}_" for name in _RATIOS for task in _TASKS]
    return [
        [name, _ratio(content, name), _goal(content, name)]
        for name in content["ratios"]
        if not name.startswith(tuple(names))
    ]


def arms(figures: Mapping[str, Mapping[str, Any]]) -> Rows:
    """A row for each arm of a stand-in."""
    return [
        [
            name,
            str(each["batch"]),
            f"{each['rate']:g}",
            f"{each['samples_per_s']:,.0f}",
            f"{each['seconds_to_target']:.1f}",
            f"{each['reached']} of {each['seeds']}",
            f"{each['samples_to_target']:,.0f}",
            f"{each['final_quality']:.4f}",
            f"{each['steps']:,.0f}",
        ]
        for name, each in figures.items()
    ]


ARMS_HEAD = (
    "",
    "batch",
    "rate",
    "samples/s",
    "s to target",
    "reached",
    "samples to target",
    "final quality",
    "steps",
)


def where(figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Sentences that say where the time goes, and what could be gained at all."""
    baseline = figures["baseline"]
    shares = baseline["shares"]
    listing = ", ".join(f"{share:.1%} {name}" for name, share in shares.items())
    yield f"Of the baseline's time: {listing}."
    if "wait" in shares:
        yield (
            f"A loader that never lets it wait would save {shares['wait']:.1%}; precision and "
            "checkpoints can change the forward and backward passes alone, and a larger batch the "
            "optimizer's share, and whatever more samples at once save of the others."
        )
    everything = figures["all"]
    histories = "; ".join(
        ", ".join(f"{number} from step {at}" for at, number in history)
        for history in everything["batches"]
    )
    yield f"Micro-batches of a step with everything on, seed by seed: {histories}."
    scales = [f"{scale:,.0f}" if scale else "unknown" for scale in everything["scale"]]
    yield (
        f"Noise scale at the end: {', '.join(scales)} samples, at micro-batches of "
        f"{everything['batch']}."
    )
    late = [name for name, each in figures.items() if each["reached"] < each["seeds"]]
    if late:
        yield (
            f"Not every seed has reached the target with: {', '.join(late)}. Such a run counts "
            "with its whole length, so that the time is at least what the table says."
        )


def memory(content: Content, case: str) -> Rows:
    """A row for each limit that was tried."""
    rows = []
    for name, each in content["figures"][case].items():
        if "cannot_run" in each:
            rows.append([name, "-", "-", "-", each["cannot_run"]])
            continue
        placed = f"{each['recomputed']} of {each['blocks']} blocks" if "blocks" in each else ""
        slower = f"{each['slower']:.2f}" if "slower" in each else "1"
        mib = f"{each['peak_bytes'] / _MIB:,.0f}"
        rows.append([name, mib, f"{each['seconds']:.2f}", slower, placed])
    return rows


MEMORY_HEAD = ("", "peak MiB", "step s", "times as long", "recomputed")


def goodput(figures: Mapping[str, Mapping[str, Any]]) -> Rows:
    """The cells of a grid, the best first."""
    ordered: Sequence[tuple[str, Mapping[str, Any]]] = sorted(
        figures.items(), key=lambda each: -each[1]["goodput"]
    )
    return [
        [
            name,
            f"{each['samples_per_s']:,.0f}",
            f"{each['efficiency']:.3f}",
            f"{each['goodput']:,.0f}",
        ]
        for name, each in ordered
    ]


GOODPUT_HEAD = ("cell", "samples/s", "efficiency", "goodput")


def _ratio(content: Content, name: str) -> str:
    if name not in content["ratios"]:
        return ""
    ends = content["intervals"].get(name)
    between = " ({:.3f} to {:.3f})".format(*ends) if ends else ""
    return f"{content['ratios'][name]:.3f}{between}"


def _goal(content: Content, name: str) -> str:
    if name in content["limits"]:
        return f"at most {content['limits'][name]:g}"
    return f"at least {content['wanted'][name]:g}" if name in content["wanted"] else ""
