"""Batches: arrays that are cut into batches, or an iterable of batches."""

from collections.abc import Mapping

import numpy as np

from ..errors import CallerError
from . import checks


class Batches:
    """The batches of an epoch.

    data: a mapping of arrays by input name, whose rows (first axis) are cut into batches of `batch_size` (the last batch may be
        smaller); or an iterable of such mappings, one per batch; or a function without arguments that returns such an iterable.
    """

    def __init__(self, data, batch_size, shuffle):
        self.shuffle = bool(shuffle)
        self.rows = None
        if isinstance(data, Mapping):
            self.data = {name: _array(name, x) for name, x in data.items()}
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
            yield from self.data() if callable(self.data) else self.data
            return
        order = generator.permutation(self.rows) if self.shuffle and generator is not None else np.arange(self.rows)
        for k in range(0, self.rows, self.batch_size):
            rows = order[k : k + self.batch_size]
            yield {name: x[rows] for name, x in self.data.items()}


def _array(name, x):
    try:
        return np.asarray(x)
    except Exception as error:  # any exception of NumPy or of the library that x comes from
        raise CallerError(f"train: the data's {name!r} makes no array: {error}") from error


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
    """The number of rows of a batch: the extent of the first axis of its first array that has an axis; 1 if none has."""
    for name, x in batch.items():
        shape = _array(name, x).shape
        if shape:
            return shape[0]
    return 1
