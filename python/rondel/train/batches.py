"""Batches: arrays that are cut into batches, or an iterable of batches."""

from collections.abc import Mapping

import numpy as np

from ..arrays import as_array
from ..errors import CallerError
from . import checks


class Batches:
    """The batches of an epoch.

    data: a mapping of arrays by input name, whose rows (first axis) are cut into batches of `batch_size` (the last batch may be
        smaller); or an iterable of such mappings, one per batch; or a function without arguments that returns such an iterable.
    types: the ONNX types of inputs by name: the dtypes of lists of numbers that become arrays here.
    """

    def __init__(self, data, batch_size, shuffle, types=None):
        self.shuffle = checks.flag("shuffle", shuffle)
        self.rows = None
        if isinstance(data, Mapping):
            self.data = {name: as_array(x, f"train: the data's {name!r}", (types or {}).get(name, "an array")) for name, x in data.items()}
            self.rows = _rows(self.data)
            self.batch_size = self.rows if batch_size is None else checks.count("batch_size", batch_size)
            return
        if batch_size is not None:
            raise CallerError("train: batch_size is given, but the data are batches already; give a mapping of arrays to have them cut")
        if not callable(data) and not hasattr(data, "__iter__"):
            raise CallerError(f"train: the data are a {type(data).__name__}; expected a mapping of arrays, or an iterable of batches")
        self.data = data

    def is_used_up_after_one(self):
        return self.rows is None and not callable(self.data) and iter(self.data) is self.data

    def __len__(self):
        """The number of batches; 0 if it is not known."""
        if self.rows is not None:
            return -(-self.rows // max(self.batch_size, 1))
        return len(self.data) if hasattr(self.data, "__len__") else 0

    def epoch(self, generator=None):
        """The batches of one epoch. generator: the random generator that shuffles the rows; None: no shuffling."""
        if self.rows is None:
            yield from self._given()
            return
        order = generator.permutation(self.rows) if self.shuffle and generator is not None else np.arange(self.rows)
        for k in range(0, self.rows, self.batch_size):
            rows = order[k : k + self.batch_size]
            yield {name: x[rows] for name, x in self.data.items()}

    def _given(self):
        """The batches that were given, or that the function gives."""
        if not callable(self.data):
            return self.data
        made = self.data()
        if not hasattr(made, "__iter__"):
            raise CallerError(f"train: the function for the data gave a {type(made).__name__}; expected an iterable of batches")
        return made


class LossOfAll:
    """The loss of all rows of several batches: the sum of the batches' losses, or their mean, in which each counts by its terms.

    batches: their number. knows: whether the terms of all of them are known; else each counts the same.
    """

    def __init__(self, is_sum):
        self._is_sum = is_sum
        self.batches, self.knows = 0, True
        self._sum = self._weighted = 0.0
        self._terms = 0
        self._counted = []  # the first two losses of batches with terms

    def add(self, loss, terms):
        """terms: how much the batch counts; None: this is not known."""
        self.batches += 1
        self.knows = self.knows and terms is not None
        self._sum += loss
        if terms:
            self._weighted += loss * terms
            self._terms += terms
            self._counted = [*self._counted, loss][:2]

    @property
    def value(self):
        if self._is_sum:
            return self._sum
        if not self.knows or not self._counted:  # without any terms, each loss is NaN
            return self._sum / self.batches
        return self._counted[0] if len(self._counted) == 1 else self._weighted / self._terms


def _rows(arrays):
    counts = {name: len(x) if x.ndim else None for name, x in arrays.items()}
    if not counts or None in counts.values():
        raise CallerError(f"train: the data have arrays without rows; expected arrays whose first axis is that of samples, not {counts}")
    if len(set(counts.values())) > 1:
        raise CallerError(f"train: the arrays have different numbers of rows: {counts}")
    if not next(iter(counts.values())):
        raise CallerError("train: the data have no rows")
    return next(iter(counts.values()))


def size_of(batch):
    """The number of rows of a batch all of whose arrays have them."""
    return len(next(iter(batch.values())))


def extents(x):
    """The shape of an array of any library, of an OrtValue or of nested lists."""
    shape = getattr(x, "shape", None)
    if shape is not None:
        return tuple(shape() if callable(shape) else shape)
    try:
        return np.shape(x)
    except ValueError:
        raise CallerError(f"train: the batch has {x!r:.60}; expected lists of equal lengths") from None
