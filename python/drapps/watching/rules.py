"""The rules: from the numbers of one rank to one cause, one sentence and one thing to do.

They are asked in the order of `RULES`; the first that answers decides. What distorts all other
numbers comes first (too little seen, a quota, memory), then what only looks like a slow stage
(hand-over, few long samples, workers that wait), and the slow stage last. Each says why it stands
where it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drapps.watching.account import MakingAccount, RankAccount
from drapps.watching.stages import COLLATE, DATASET, DECODE, HANDOVER, STORAGE, TRANSFER, TRANSFORM

# Waits of 1 to 5 % are in every training, and nothing that is done about them shows. Of those in
# which a batch that is ready is handed over by a worker process, a millisecond or two each, twice
# as much.
LEAST_STALL = 0.06
LEAST_HANDOVER = 2 * LEAST_STALL
LEAST_STEPS, LEAST_SECONDS = 20, 2.0

# Shares of the making: from which on the first stage is the cause, and not that there are too few
# workers; and of the third one, below which the first is the slower one of two.
_STANDS_OUT, _THIRD = 0.6, 0.2

_VERBS = {
    STORAGE: "reading its samples from storage",
    DECODE: "decoding its samples",
    TRANSFORM: "transforming its samples",
    COLLATE: "putting samples together to batches",
    HANDOVER: "handing batches over from the workers",
    TRANSFER: "copying batches to where the training uses them",
    DATASET: "in the dataset's own code",
}


@dataclass(frozen=True)
class Verdict:
    """What was found.

    Attributes:
        data_bound: whether the training waits for data; None where that is unclear.
        cause: one word for programs, such as ``storage``, ``few-workers``, ``accelerator``.
        sentence: for people.
        action: one thing to do; empty where there is nothing.
        gain: how many times as fast the training would be with it, at most; 1 where not at all.
    """

    data_bound: bool | None
    cause: str
    sentence: str
    action: str = ""
    gain: float = 1.0


Rule = Callable[[RankAccount], "Verdict | None"]


def _too_little(rank: RankAccount) -> Verdict | None:
    """A few steps, most of them the first ones, say nothing about a training of hours."""
    if rank.steps.count >= LEAST_STEPS and rank.steps.sum >= LEAST_SECONDS:
        return None
    sentence = (
        f"Unclear: only {rank.steps.count} steps in {rank.steps.sum:.1f} s were seen, which is too "
        "little."
    )
    return Verdict(None, "too-little", sentence, "Watch a longer run.")


def _elsewhere(rank: RankAccount) -> Verdict | None:
    """A thread that takes batches ahead waits for them, and the training need not."""
    if rank.elsewhere < 0.5:
        return None
    sentence = (
        "Unclear: a thread of the script takes the batches ahead, and whether the training waits "
        "for that is not known."
    )
    action = "Watch what hands the batches to the training: drapps.watch(it)."
    return Verdict(None, "another-thread", sentence, action)


def _not_data_bound(rank: RankAccount) -> Verdict | None:
    """What is below the least stall is no data problem, whatever the loader looks like."""
    making = rank.stall * (1 - (rank.handover_share or 0.0))
    if making >= LEAST_STALL or rank.stall >= LEAST_HANDOVER:
        return None
    begin = f"Your training does not wait for data ({rank.stall:.1%} of its steps)"
    apart = {what: seconds for what, seconds in rank.apart.items() if seconds > 0}
    whole = rank.steps.sum + sum(apart.values()) + sum(rank.gaps)
    largest = max(apart, key=lambda what: apart[what], default="")
    if largest and apart[largest] > 0.1 * whole:
        share = apart[largest] / whole
        action = f"Do {largest} less often, or beside the training."
        gain = 1 / (1 - share)
        return Verdict(False, "pauses", f"{begin}: {largest} takes {share:.0%}.", action, gain)
    typical = rank.body.quantile(0.5)
    count, long_s = rank.body.above(4 * typical)
    lost = long_s - count * typical
    if count and count < 0.2 * rank.body.count and lost > 0.1 * whole:
        where = _line(rank.step_lines[0][1:]) if rank.step_lines else ""
        share = lost / whole
        text = f"{begin}: {count} pauses between steps take {share:.0%} of the time{where}."
        action = "Look at what your code does there: logging, evaluation, a checkpoint."
        return Verdict(False, "pauses", text, action, 1 / (1 - share))
    if rank.device_busy is not None and rank.device_busy > 0.5:
        text = f"{begin}: the accelerator is busy all the time."
        return Verdict(False, "accelerator", text, "Make the model's step faster, not the loader.")
    where = _line(rank.step_lines[0][1:]) if rank.step_lines else ""
    text = f"{begin}: the time goes into the step itself{where}."
    return Verdict(False, "step", text, "Make the step faster, not the loader.")


def _quota(rank: RankAccount) -> Verdict | None:
    """A quota stops all threads at once: each stage looks slow, and none is."""
    held, machine = rank.machine["throttled_s"], rank.machine
    if not machine["quota"] or held < 0.1 * machine["seconds"]:
        return None
    text = (
        f"{_begin(rank)}: the container may use {machine['quota']:g} cores, and was held back for "
        f"{held:.0f} s of {machine['seconds']:.0f} s."
    )
    return _with(rank, "quota", text, "Give the container more cores.")


def _memory(rank: RankAccount) -> Verdict | None:
    """Where memory runs out, pages are read again and again, and every stage waits for them."""
    faults = rank.making.faults + rank.machine["major_faults"]
    pressed = rank.machine["memory_pressure_s"]
    by_faults = rank.making.share(resource="fault") > 0.2 or faults > 50 * rank.machine["seconds"]
    if pressed < 0.1 * rank.machine["seconds"] and not by_faults:
        return None
    text = f"{_begin(rank)}: memory runs out ({faults:,.0f} pages were read again)."
    action = "Give it more memory, or use fewer workers, a smaller prefetch_factor or batch."
    return _with(rank, "memory", text, action)


def _handover(rank: RankAccount) -> Verdict | None:
    """Batches that are ready and not there yet: more or faster workers would change nothing."""
    if rank.handover_share is None or rank.handover_share < 0.5:
        return None
    text = (
        f"{_begin(rank)}: {rank.handover_share:.0%} of it is spent {_VERBS[HANDOVER]} that have "
        "them ready."
    )
    action = "Return tensors or NumPy arrays rather than Python objects, and smaller ones."
    return _with(rank, HANDOVER, text, action)


def _cores(rank: RankAccount) -> Verdict | None:
    """Time in which code could run and has no core: whose are the cores?

    Before the hand-over: where all cores are taken, whoever is to get a batch wakes up late.
    """
    making = rank.making
    woken_late = rank.queue_s / max(1e-9, rank.exposed_s)
    share = max(making.share(resource="core"), min(1.0, woken_late))
    if share < 0.25:
        return None
    machine = rank.machine
    own = machine["own_cpu_s"] + machine["workers_cpu_s"]
    foreign = max(0.0, machine["busy_s"] - own) / max(1e-9, machine["seconds"])
    waits = f"its loading waits for a core for {share:.0%} of the time"
    if foreign > 0.3:
        text = f"{_begin(rank)}: {waits}, because other programs use {foreign:.1f} cores."
        return _with(rank, "foreign-load", text, "Stop them, or train on a machine of its own.")
    if making.workers > machine["cores"]:
        fewer = max(1, int(machine["cores"]) - 1)
        text = f"{_begin(rank)}: {waits}, as {making.workers} share {machine['cores']:g} cores."
        action = f"Set num_workers={fewer}, so that they do not take cores from one another."
        return _with(rank, "many-workers", text, action)
    return None


def _stragglers(rank: RankAccount) -> Verdict | None:
    """Batches come in order: one long sample makes all others wait, however many workers there are.

    Asked before the slow stage, which these samples would otherwise stand for.
    """
    samples = rank.making.samples
    typical = samples.quantile(0.5)
    if samples.count < 50 or typical <= 0:
        return None
    count, seconds = samples.above(max(8 * typical, 2 * samples.quantile(0.9)))
    if not count or count > 0.05 * samples.count or seconds < 0.25 * samples.sum:
        return None
    one_in = samples.count // count
    worst, name = rank.making.slowest[0] if rank.making.slowest else (samples.most, "")
    text = (
        f"{_begin(rank)}: one sample in {one_in} takes {seconds / count * 1e3:.0f} ms where others "
        f"take {typical * 1e3:.3g} ms; the slowest, {worst:.2g} s, is {name or 'not known'}."
    )
    action = "Mend these samples, or set in_order=False and a larger prefetch_factor."
    return _with(rank, "stragglers", text, action)


def _prefetch(rank: RankAccount) -> Verdict | None:
    """Workers that have nothing to do while the training waits: too few batches are asked for."""
    making, options = rank.making, rank.loader
    if not making.workers or making.idle_share < 0.3:
        return None
    depth = options.get("prefetch_factor") or 2
    text = (
        f"{_begin(rank)}, and yet its workers have nothing to do for {making.idle_share:.0%} of "
        "the time: too few batches are made ahead."
    )
    return _with(rank, "prefetch", text, f"Set prefetch_factor={max(4, 2 * depth)}.")


def _no_workers(rank: RankAccount) -> Verdict | None:
    """Whatever is slow, another process does it beside the steps; a core is free for that."""
    making, machine = rank.making, rank.machine
    if making.workers or not _in_python(rank) or (machine["cores"] < 2 and _blocked(making) < 0.5):
        return None
    stage, share = next(iter(making.stages().items()))
    text = (
        f"{_begin(rank)}: it makes each batch itself, between two steps; {share:.0%} of that is "
        f"spent {_VERBS[stage]}{_where(making, stage)}."
    )
    action = f"Set num_workers={_workers_wanted(rank)}, so that it is done beside the steps."
    return _with(rank, "no-workers", text, action)


def _few_workers(rank: RankAccount) -> Verdict | None:
    """Sound stages, none of which stands out, in too few processes while cores are free."""
    making, machine = rank.making, rank.machine
    if not making.workers or not _in_python(rank):
        return None
    stages = making.stages()
    (stage, share), third = next(iter(stages.items())), [*stages.values(), 0.0, 0.0][2]
    if (share >= _STANDS_OUT or third < _THIRD) and stage != DATASET:
        return None
    own = (machine["own_cpu_s"] + machine["workers_cpu_s"]) / max(1e-9, machine["seconds"])
    if own > 0.85 * machine["cores"] and _blocked(making) < 0.5:
        return None
    workers = "1 worker is" if making.workers == 1 else f"{making.workers} workers are"
    text = f"{_begin(rank)}: {workers} too few, and busy all the time."
    return _with(rank, "few-workers", text, f"Set num_workers={_workers_wanted(rank)}.")


def _in_python(rank: RankAccount) -> bool:
    """Whether samples are made by Python code, in as many processes as the loader says."""
    return rank.making.python and bool(rank.making.parts) and "num_workers" in rank.loader


def _blocked(making: MakingAccount) -> float:
    """The share of the making in which no core would help."""
    return 1 - making.share(resource="cpu") - making.share(resource="core")


def _slow_stage(rank: RankAccount) -> Verdict | None:
    """What is left: one stage that takes most of the workers' time."""
    making = rank.making
    if not making.parts:
        return None
    stage, share = next(iter(making.stages().items()))
    if share < 0.35:
        return None
    text = f"{_begin(rank)}: {share:.0%} of the loading is spent {_VERBS[stage]}"
    text += f"{_where(making, stage)}."
    own = _OWN_ACTIONS if rank.loader.get("kind") == "drapps" else {}
    return _with(rank, stage, text, own.get(stage, _STAGE_ACTIONS[stage]))


def _unclear(rank: RankAccount) -> Verdict:
    """No rule answers."""
    sentence = f"{_begin(rank)}, and what it waits for is unclear."
    return Verdict(None, "unclear", sentence, "Run it with drapps watch for longer.")


RULES: tuple[Rule, ...] = (
    _too_little,
    _elsewhere,
    _not_data_bound,
    _quota,
    _memory,
    _cores,
    _handover,
    _stragglers,
    _prefetch,
    _no_workers,
    _few_workers,
    _slow_stage,
    _unclear,
)

# What to do about a stage of a loader of this package, where that is not `_STAGE_ACTIONS`.
_OWN_ACTIONS = {
    STORAGE: "Put the data on faster storage or into larger files, or give the cache more memory.",
    DECODE: "Let the cache keep coefficients or pixels (form=), or give the loader more cores.",
}
_STAGE_ACTIONS = {
    STORAGE: "Put the data on faster storage or into larger files, or raise num_workers: reads "
    "wait side by side.",
    DECODE: "Use drapps.torch.DataLoader, which decodes natively, or keep the data decoded.",
    TRANSFORM: "Make this line faster: on whole arrays rather than in Python loops, or natively by "
    "drapps.torch.DataLoader.",
    COLLATE: "Make collate_fn faster: on whole arrays rather than in Python loops.",
    DATASET: "Look at this line of your dataset.",
    HANDOVER: "Return tensors or NumPy arrays rather than Python objects.",
    TRANSFER: "Set pin_memory=True, and copy with non_blocking=True.",
}


def _begin(rank: RankAccount) -> str:
    return f"Your training waits for data for {rank.stall:.0%} of its time"


def _with(rank: RankAccount, cause: str, sentence: str, action: str) -> Verdict:
    """A verdict whose gain is what is lost by waiting: what loading for nothing would give."""
    return Verdict(True, cause, sentence, action, ceiling_of(rank))


def ceiling_of(rank: RankAccount) -> float:
    """How many times as fast the rank would be if loading were free."""
    return 1 / max(1e-3, 1 - rank.stall)


def _workers_wanted(rank: RankAccount) -> int:
    """As many workers as make batches as fast as steps take them.

    At most twice as many as there are, or as many as the machine has cores.
    """
    step = max(1e-6, rank.steps.mean - rank.exposed_s / max(1, rank.steps.count))
    wanted = -(-rank.making.batches.mean // step)
    most = max(2 * rank.making.workers, int(rank.machine["cores"]))
    return max(1, min(int(wanted) + 1, most))


def _where(making: MakingAccount, stage: str = "") -> str:
    """The line that takes most, of one stage or of all."""
    lines = (line for line in making.lines if stage in ("", line[3]))
    return next((_line(line[1:3]) for line in lines), "")


def _line(place: Sequence[str]) -> str:
    line, text = place
    if not line:
        return ""
    name, _, number = line.rpartition(":")
    shown = f"{name.rpartition('/')[2]}:{number}"
    return f" ({shown}, {text})" if text else f" ({shown})"
