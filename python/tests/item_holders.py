"""Datasets and objects for the tests of `drapps.cached`, which hold what the tests give them."""

import dataclasses
import random

import numpy as np


class Plain:
    """Gives what `make` gives for its index."""

    def __init__(self, make, **attributes):
        self.make = make
        vars(self).update(attributes)

    def __len__(self):
        return 200

    def __getitem__(self, index):
        return index, self.make(self, index)


class Private:
    """Has a generator in a slot of a private name."""

    __slots__ = ("__rng",)

    def __init__(self):
        self.__rng = random.Random(1)

    def draw(self):
        """The next number."""
        return self.__rng.random()


@dataclasses.dataclass
class Line:
    """A line of a table."""

    path: str
    label: int


def annotations(count):
    """So many as COCO's files have them."""
    return [
        {"id": i, "bbox": [1.0, 2.0, 3.0, float(i)], "segmentation": [[float(i)] * 12]}
        for i in range(count)
    ]


def objects(values):
    """An array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array
