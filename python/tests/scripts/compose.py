"""Makes a script of a seed."""

import random
import textwrap
from dataclasses import dataclass

from python.tests.scripts import datasets, orders, plans

LOADERS = {
    "stock": "from torch.utils.data import DataLoader",
    "default": "from drapps.torch import DataLoader",
    "torch_order": "from python.tests.torch_contract.modes import TorchOrder as DataLoader",
}
HEAD = """
import asyncio
import collections
import concurrent.futures
import copy
import gc
import itertools
import os
import random
import sys
import threading

import numpy as np
import torch
from torch.utils import data

{vision}{loader}
from python.tests.scripts.record import Log

WORKERS = {workers}
RESUMES = {resumes}
"""
BODY = """

def make(log):
{make}
    log.watch(loader, {generators})
    return loader


def run(log, loader):
{plan}


if __name__ == "__main__":
    with Log(drawn={drawn}, resumes=RESUMES) as log:
        random.seed({seed})
        np.random.seed({seed})
        torch.manual_seed({seed})
        run(log, make(log))
"""
VISION = """from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import v2

"""


@dataclass(frozen=True)
class Case:
    """A script, and what of it matters when two runs are compared.

    Attributes:
        seed: it was made from.
        name: its parts.
        dataset, order, plan: the parts.
        workers: ``num_workers``.
        generator: the loader is given one.
        in_order: the option.
        persistent: the option.
        drop_last: samples are left out.
        fails: some part raises.
        init: the name of its ``worker_init_fn``.
        body: its text but for the head.
    """

    seed: int
    name: str
    dataset: datasets.Dataset
    order: orders.Order
    plan: plans.Plan
    workers: int
    generator: bool
    in_order: bool
    persistent: bool
    drop_last: bool
    fails: bool
    init: str
    body: str

    def text(self, loader="stock", workers=None, resumes=False):
        """The script, with a loader of `LOADERS`."""
        head = HEAD.format(
            vision=VISION if self.dataset.pictures else "",
            loader=LOADERS[loader],
            workers=self.workers if workers is None else workers,
            resumes=resumes,
        )
        return head.lstrip() + self.body

    @property
    def other_workers(self):
        """Another number of workers that promises the same; the same number where none does.

        How far a loader reads ahead depends on it, and so do generators that a broken pass leaves.
        """
        apart = self.dataset.stream or self.dataset.tells_worker or self.fails or self.init
        apart = apart or self.persistent or self.plan.edits or not self.in_order
        if not self.workers or not self.plan.whole or apart:
            return self.workers
        return self.workers % 3 + 1


def case_of(seed):
    """The case of a seed."""
    draw = random.Random(seed)
    plan_name = draw.choice([*plans.PLANS, "edited", "seeded", "resumed"])
    plan = plans.PLANS[plan_name]
    kind, dataset = _dataset(draw, plan)
    workers = draw.choice([0, 0, 1, 1, 2, 2, 3])
    order_name = _order(draw, dataset, plan, workers)
    order = orders.ORDERS[order_name]
    collate_name = _collate(draw, plan, dataset, order)
    collate, collate_text = orders.COLLATES[collate_name]
    size = draw.choice([8, 11, 13, 16]) if order_name != "sequential" else draw.randrange(3, 17)
    options, init = _options(draw, plan, dataset, order, workers)
    generator = draw.random() < (0.6 if "shuffle" in order.arguments else 0.25)
    batch = draw.choice([1, 2, 3, 3, 4, 5])
    arguments = ["dataset", order.arguments.replace("{b}", str(batch)), "num_workers=WORKERS"]
    arguments += [f"{name}={value}" for name, value in options.items()]
    arguments += [collate] * bool(collate) + ["generator=generator"] * bool(generator)
    make = [dataset.make.replace("{n}", str(size))]
    if dataset.keys and order_name == "sequential":
        make.append(f"keys = {dataset.keys.replace('{n}', str(size))}")
        arguments.append("sampler=keys")
    make += ["generator = torch.Generator().manual_seed(23)"] * bool(generator)
    make += [order.make.replace("{b}", str(batch))] * bool(order.make)
    make.append(f"loader = DataLoader({', '.join(arguments)})")
    own = "manual_seed(11)" in order.make
    texts = {orders.INITS[init], dataset.text, order.text.replace("{b}", str(batch)), collate_text}
    body = "".join(f"\n{text}" for text in sorted(texts - {""})) + BODY.format(
        make=_indented("\n".join(make)),
        generators=", ".join(["generator"] * bool(generator) + ["own"] * own) or "None",
        plan=_indented(_plan(draw, plan, dataset, order, bool(generator), own)),
        drawn=list(dataset.drawn),
        seed=1000 + seed,
    )
    return Case(
        seed=seed,
        name=f"{plan_name}, {kind}, {order_name}, {collate_name}, {workers} workers",
        dataset=dataset,
        order=order,
        plan=plan,
        workers=workers,
        generator=bool(generator),
        in_order="in_order" not in options,
        persistent="persistent_workers" in options,
        drop_last="drop_last" in options or order_name == "batches",
        fails=dataset.fails or order.fails or collate_name in orders.FAILING_COLLATES,
        init=init,
        body=body,
    )


def _indented(text):
    return textwrap.indent(text.strip(), "    ")


def _dataset(draw, plan):
    choice = draw.random()
    if choice < 0.4:
        dataset = datasets.vision(draw)
        return "vision", dataset
    table = datasets.PYTHON if choice < 0.82 else datasets.STREAMS
    fit = [
        name
        for name, each in table.items()
        if (not plan.edits or each.edits) and not (plan.resumes and each.fails)
    ]
    if not fit:
        return "drawing", datasets.PYTHON["drawing"]
    name = draw.choice(fit)
    return name, table[name]


def _order(draw, dataset, plan, workers):
    if dataset.stream:
        return draw.choice(orders.STREAM_ORDERS)
    if dataset.keys:
        return "sequential"
    fit = [
        name
        for name, each in orders.ORDERS.items()
        if (plan.bounded or name != "endless")
        and (not plan.resumes or (each.resumes and not each.fails))
        and (name != "beyond" or not dataset.lifts)
        and not (plan.edits and each.epochs)  # whose share is that of the size when it was made
        and (name not in orders.WITHOUT_WORKERS or not workers)
    ]
    if dataset.lifts and plan.bounded and draw.random() < 0.3:
        return "endless"
    if dataset.lifts and draw.random() < 0.5:
        fit = [name for name in fit if name in orders.LIFTED]
    return draw.choice(fit)


def _collate(draw, plan, dataset, order):
    single = "batch_size=None" in order.arguments
    fit = orders.SINGLE_COLLATES if single else list(orders.COLLATES)
    if plan.text == plans.KEPT and dataset.lifts:
        return "default"  # a stock worker gives parts of the dataset's memory, which ours copies
    if plan.resumes:
        fit = [name for name in fit if name not in orders.FAILING_COLLATES]
    if not dataset.plain:
        fit = [name for name in fit if name not in ("default", "given default", "picky")]
    elif draw.random() < 0.6:
        return "default"
    return draw.choice(fit)


def _options(draw, plan, dataset, order, workers):
    options, init = {}, ""
    if workers:
        if draw.random() < 0.3 and plan.text != plans.RESUMED_BETWEEN:
            options["persistent_workers"] = True  # another loader draws a seed more
        if draw.random() < 0.3:
            options["prefetch_factor"] = draw.choice([1, 2, 3, 5])
        fit = not (dataset.stream or plan.resumes or plan.text == plans.SEEDED)
        if draw.random() < 0.1 and fit:
            options["in_order"] = False
        if draw.random() < 0.15:
            options["timeout"] = 90
        if draw.random() < 0.2:
            options["multiprocessing_context"] = draw.choice(
                ["'fork'", "torch.multiprocessing.get_context('fork')"]
            )
        if draw.random() < 0.2 and (dataset.text or dataset.pictures):  # which takes attributes
            init = draw.choice(["seeding", "changing"])
            options["worker_init_fn"] = "begin"
    elif draw.random() < 0.05:
        options["prefetch_factor"] = 2  # which is refused
    if draw.random() < 0.1:
        options["pin_memory"] = True
    if not order.batches and "None" not in order.arguments and draw.random() < 0.2:
        options["drop_last"] = True
    return options, init


def _plan(draw, plan, dataset, order, generator, own):
    reseed = ["random.seed(7)", "np.random.seed(7)", "torch.manual_seed(7)"]
    reseed += ["loader.generator.manual_seed(7)"] * generator
    reseed += ["loader.sampler.generator.manual_seed(7)"] * own
    seed = draw.choice(["torch.manual_seed(100 + epoch)", "pass"])
    fields = {
        "k": str(draw.randrange(1, 5)),
        "epochs": str(draw.choice([1, 2, 2, 3])),
        "epoch": str(draw.randrange(2)),
        "tell": "sampler_of(loader).set_epoch(epoch)" if order.epochs else "pass",
        "tell_second": "sampler_of(loader).set_epoch(1)" if order.epochs else "pass",
        "edit": f"dataset = loader.dataset; {draw.choice(dataset.edits)}" if plan.edits else "pass",
        "seed": seed,
        "reseed": "; ".join(reseed),
    }
    text = plan.text
    for name, value in fields.items():
        text = text.replace("{" + name + "}", value)
    return text.replace("sampler_of(loader)", "loader.sampler")
