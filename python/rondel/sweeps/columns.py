"""Columns of a table: arrays whose first axis is that of the rows, and a summary of many of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..arrays import flat_columns

Columns = dict[str, np.ndarray]
"""Columns by name, all of one length, each with one axis."""


def add(columns: Columns, name: str, array: np.ndarray, kind: str) -> None:
    """Adds an array [rows, ...] to columns, one for each element of a row. Where a column has such a name already, it is "name kind"."""
    made = flat_columns(name, array)
    while not columns.keys().isdisjoint(made):
        name = f"{name} {kind}"
        made = flat_columns(name, array)
    columns |= made


class Summary:
    """The least, mean and greatest value of each column, over all rows so far. NaN counts for none of them.

    rows: the number of rows. points: the number of points.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.points = 0
        self._found: dict[str, tuple[float, float, float, int]] = {}

    def add(self, columns: Mapping[str, np.ndarray], points: int) -> None:
        """Counts rows of so many further points."""
        self.points += points
        self.rows += len(next(iter(columns.values())))
        for name, x in columns.items():
            x = x.astype(np.float64)
            x = x[~np.isnan(x)]
            if x.size:
                low, total, high, count = self._found.get(name, (np.inf, 0.0, -np.inf, 0))
                self._found[name] = min(low, x.min()), total + x.sum(), max(high, x.max()), count + x.size

    def __iter__(self) -> Iterator[tuple[str, float, float, float]]:
        """(name, least, mean, greatest) of each column."""
        return ((name, float(low), float(total / count), float(high)) for name, (low, total, high, count) in self._found.items())

    def __repr__(self) -> str:
        return f"Summary({self.points} points, {self.rows} rows)"
