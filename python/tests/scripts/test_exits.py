"""Leaving, and forking, in every state of an iterator, with the stock loader and with ours."""

import pytest

from python.tests.scripts.compose import LOADERS

# Arguments of loaders: Python code and tensors, which are lifted; in processes and in threads.
KINDS = {
    "serial": "Squares(9), 2",
    "workers": "Squares(9), 2, num_workers=2",
    "persistent": "Squares(9), 2, num_workers=1, persistent_workers=True",
    "stream": "Sized(9), 2, num_workers=1",
    "lifted": "data.TensorDataset(torch.arange(9)), 2",
    "lifted ahead": "data.TensorDataset(torch.arange(9)), 2, num_workers=2, shuffle=False",
}
STATES = {
    "made": "",
    "begun": "iterator = iter(loader)",
    "within": "iterator = iter(loader); print(next(iterator))",
    "at the last": "iterator = iter(loader); print([next(iterator) for _ in range(5)])",
    "over": "iterator = iter(loader); print(list(iterator))",
    "dropped": "iterator = iter(loader); next(iterator); del iterator; gc.collect()",
    "left": "for batch in loader: break",
    "two": "iterator = iter(loader); other = iter(loader); print(next(other))",
}
WAYS = {
    "falls through": "",
    "sys.exit": "sys.exit(7)",
    "os._exit": "sys.stdout.flush(); os._exit(5)",
    "raises": "raise ValueError('the end')",
    "is killed": "sys.stdout.flush(); os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
}
CHILDREN = {
    "os._exit": "os._exit(3)",
    "sys.exit": "sys.exit(3)",
    "iterates": "print(list(DataLoader({kind}))); sys.exit(3)",
    "iterates the same": "print(list(loader)); sys.exit(3)",
}
HEAD = """
import gc
import os
import signal
import sys
import time

import torch
from torch.utils import data

{loader}
from python.tests.torch_contract.samples import Sized, Squares

loader = DataLoader({kind})
{state}
"""
FORK = """
sys.stdout.flush()
child = os.fork()
if child == 0:
    {child}
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
GOES_ON = """
print([*globals().get("iterator", [])], list(loader))
"""


def script(loader, kind, state, rest):
    head = HEAD.format(loader=LOADERS[loader], kind=KINDS[kind], state=STATES[state])
    return head + rest.replace("{kind}", KINDS[kind])


def outcome(run):
    """Status, what was printed, and whether nothing was left."""
    lines = [line for line in run["printed"].splitlines() if 'File "' not in line]
    return run["status"], lines, run["left"]


def pairs(actions):
    """All pairs of a state and an action for two kinds, and one action per state for the others."""
    for number, kind in enumerate(KINDS):
        for place, state in enumerate(STATES):
            for turn, action in enumerate(actions):
                if kind in ("workers", "lifted ahead") or (number + place) % len(actions) == turn:
                    yield kind, state, action


@pytest.mark.full
@pytest.mark.parametrize(("kind", "state", "way"), [*pairs(WAYS)])
def test_a_script_ends_as_with_stock(runner, kind, state, way):
    texts = [script(loader, kind, state, WAYS[way]) for loader in ("stock", "default")]
    stock, ours = map(outcome, runner.run(texts, whole=True))
    # Stock's workers stay where its process is killed before they have asked who started them.
    assert not ours[2]
    assert ours[:2] == stock[:2]


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "state", "child"),
    # The workers of persistent iterators belong to the parent: a stock child ends them.
    [each for each in pairs(CHILDREN) if each[0] != "persistent" or each[2] != "iterates the same"],
)
def test_a_fork_leaves_the_pass_alone(runner, kind, state, child):
    # Stock itself says something, or waits, where a child drops its copy of an iterator.
    fork = FORK.replace("{child}", CHILDREN[child]) + GOES_ON
    texts = [script("stock", kind, state, GOES_ON), script("default", kind, state, fork)]
    stock, (status, lines, left) = map(outcome, runner.run(texts, whole=True))
    assert (status, left) == (0, False), lines
    assert lines.count("3") == 1, lines
    assert lines[-1] == stock[1][-1]
    assert not any("Traceback" in line or "ignored" in line for line in lines), lines
