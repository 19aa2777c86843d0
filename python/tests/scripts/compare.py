"""What of two runs of a script must be equal: no more than is promised, and all of that."""

EVERYTHING = ("text", "struct", "known", "drawn", "rng", "begun", "mid", "pass", "warning")
_ATTEMPTS = 2  # more


def lifted(run):
    """Whether ours ran natively, in some pass."""
    return ["fact", "lifted True"] in run["log"]


def kept_generators(case, ours):
    """Kinds that tell the states of generators, where a lifted loader leaves them as stock does.

    It reads a sampler of the user's whole, before the first batch.
    """
    if not lifted(ours):
        return {"rng", "begun", "mid"}
    if case.order.make and not case.plan.whole:
        return set()
    if case.dataset.drawn and case.workers == 0:  # stock draws from the global generator
        return set()
    return {"rng"} if case.order.make or case.order.shuffles else {"rng", "begun"}


def two_at_once(case):
    """What differs in two passes at once whose sampler draws on: test_found.py says why."""
    return {"known", "pass"} if case.order.draws_on and case.plan.two else set()


def promised_by_default(case, ours):
    """Kinds of entries in which the default mode equals stock."""
    kinds = set(EVERYTHING) - {"rng", "begun", "mid"} | kept_generators(case, ours)
    if lifted(ours):
        kinds -= two_at_once(case) | {"drawn"}
        if case.order.shuffles:
            kinds.discard("known")
            if not case.plan.whole:
                kinds.discard("rng")
            if case.drop_last:  # other samples are left out
                kinds.discard("pass")
    elif case.workers and not case.dataset.stream:
        kinds.discard("drawn")
    return kinds - out_of_order(case)


def out_of_order(case):
    """What depends on which worker is quicker."""
    if case.in_order or case.workers < 2:
        return set()
    return {"struct", "known", "drawn", "mid", "begun"} | ({"text"} if case.fails else set())


def promised_in_torch_order(case, ours):
    """Kinds of entries in which ``torch_order=True`` equals stock."""
    kinds = set(EVERYTHING) - {"rng", "begun", "mid"} | kept_generators(case, ours)
    return kinds - out_of_order(case) - (two_at_once(case) if lifted(ours) else set())


def promised_again(case, workers):
    """Kinds in which a run of ours equals another one, at other workers or with a restart."""
    kinds = set(EVERYTHING) - out_of_order(case)
    if workers != case.workers or case.plan.resumes:
        kinds.discard("mid")
    if workers != case.workers:
        kinds -= {"warning", "begun"}  # of more workers than cores; so far is a sampler read ahead
    return kinds


def lost_a_worker(run):
    """Whether a worker died, as stock's do now and then on a machine that is busy."""
    return any("exited unexpectedly" in str(value) for _, value in run["log"] or ())


def differences(runner, case):
    """Runs a case with every loader; by the name of a comparison, the first difference."""
    workers = case.other_workers
    texts = [case.text("stock"), case.text("default")]
    texts.append(case.text("default", workers=workers, resumes=case.plan.resumes))
    if case.workers:
        texts.append(case.text("torch_order"))
    stock, ours, again, *serial = runner.run(texts, whole=case.plan.ends)
    for _ in range(_ATTEMPTS):  # where a script makes workers die, they do so again
        if not lost_a_worker(stock) or lost_a_worker(ours):
            break
        (stock,) = runner.run(texts[:1], whole=case.plan.ends)
    if "hangs" in (stock["status"], ours["status"]) or not (stock["log"] and ours["log"]):
        return {"default": difference((), stock, ours)}
    problems = {
        "default": difference(promised_by_default(case, ours), stock, ours),
        "again": difference(promised_again(case, workers), ours, again),
    }
    for run in serial:
        kinds = promised_in_torch_order(case, run) if run["log"] else ()
        problems["torch_order"] = difference(kinds, stock, run)
    return {name: text for name, text in problems.items() if text}


def difference(kinds, stock, ours):
    """The first difference; empty where there is none."""
    for side in (stock, ours):
        if side["log"] is None or side["status"] == "hangs":
            return f"no log, status {side['status']}: {side['printed'][-1500:]}"
    if stock["status"] != ours["status"]:
        return f"status {ours['status']} instead of {stock['status']}: {ours['printed'][-1500:]}"
    if ours["left"]:
        return "processes are left behind"
    for word in ("Exception ignored", "Fatal Python error", "terminate called", "Traceback"):
        if word in ours["printed"] and word not in stock["printed"]:
            return f"prints {ours['printed'][-1500:]}"
    wanted, entries = (chosen(kinds, side["log"]) for side in (stock, ours))
    for number, (one, other) in enumerate(zip(wanted, entries, strict=False)):
        if one != other:
            return f"entry {number}: {other} instead of {one}"
    if len(wanted) != len(entries):
        more = (wanted + entries)[min(len(wanted), len(entries)) :][:2]
        return f"{len(entries)} entries instead of {len(wanted)}: {more}"
    return ""


def chosen(kinds, log):
    """Entries of these kinds, warnings once each and last."""
    entries = [entry for entry in log if entry[0] in kinds and entry[0] != "warning"]
    texts = sorted({text for kind, text in log if kind == "warning"})
    return entries + [["warning", text] for text in texts if "warning" in kinds]
