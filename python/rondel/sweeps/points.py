"""The points of a sweep: values along one axis, or all combinations of several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..counts import argument_text, whole
from ..errors import CallerError


_MOST_POINTS = 10**10  #: hours of the smallest model


class NothingSwept(CallerError):
    """A sweep none of whose values is swept."""


class Over:
    """Values of a parameter, one for each point of a sweep. Made by `over` and `span`."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def take(self, points: np.ndarray) -> np.ndarray:
        """The values at these points."""
        return self._values[points]

    def __repr__(self) -> str:
        return f"over({len(self)} values)"


class _Span(Over):
    """Evenly spaced numbers, computed when they are taken."""

    def __init__(self, start, stop, count):
        self._start, self._stop, self._count = start, stop, count

    def __len__(self):
        return self._count

    def take(self, points):
        last = max(self._count - 1, 1)
        delta = self._stop - self._start
        if math.isinf(delta):
            return self._start * (1 - points / last) + self._stop * (points / last)
        step = delta / last
        values = self._start + (points * step if step else points / last * delta)  # a step of a subnormal number may be 0
        return np.where(points == last, self._stop, values)

    def __repr__(self):
        return f"span({self._start:g}, {self._stop:g}, {self._count})"


def over(values: Any) -> Over:
    """One value for each point: a list or an array, whose first axis is that of the points."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise CallerError(f"sweep: the values make no array: {error}") from None
    if not array.ndim or not len(array) or array.dtype.kind not in "biuf":
        raise CallerError(f"sweep: the values are {array.dtype}{list(array.shape)}; expected numbers, the first axis for the points")
    return Over(array)


def span(start: float, stop: float, count: int) -> Over:
    """`count` evenly spaced numbers from start to stop, both included, as float64: numpy.linspace's."""
    try:
        start, stop = float(start), float(stop)
        if not (math.isfinite(start) and math.isfinite(stop)):
            raise ValueError
    except (TypeError, ValueError):
        raise CallerError(f"sweep: a span from {start!r} to {stop!r}; expected finite numbers") from None
    points = whole(count)
    if points is None or not 1 <= points < 2**53:
        raise CallerError(f"sweep: the count of a span is {argument_text(count)}; expected an integer of 1 or more")
    return _Span(start, stop, points)


class Points:
    """All points of a sweep: the values of `axes` side by side, or each combination of them (product), the last axis fastest."""

    def __init__(self, axes: Mapping[Any, Over], product: bool = False) -> None:
        if not axes:
            raise NothingSwept("sweep: no value is swept; give one as rondel.sweeps.span(start, stop, count) or rondel.sweeps.over(values); a list is one value")
        self._axes = dict(axes)
        self._extents = [len(axis) for axis in self._axes.values()] if product else None
        lengths = {name: len(axis) for name, axis in self._axes.items()}
        if not product and len(set(lengths.values())) > 1:
            raise CallerError(f"sweep: the numbers of points differ: {_listed(lengths)}; give equal numbers, or ask for the product")
        self._count = math.prod(self._extents) if product else next(iter(lengths.values()))
        if self._count > _MOST_POINTS:
            raise CallerError(f"sweep: {self._count:,} points: {_listed(lengths)}; expected at most {_MOST_POINTS:,}")

    def __len__(self) -> int:
        return self._count

    def take(self, first: int, count: int) -> dict[Any, np.ndarray]:
        """The values of `count` points from `first` on, by name; axis 0 is that of the points."""
        points = np.arange(first, first + count)
        each = [points] * len(self._axes) if self._extents is None else np.unravel_index(points, self._extents)
        return {name: axis.take(k) for (name, axis), k in zip(self._axes.items(), each)}


def _listed(lengths):
    return ", ".join(f"{' '.join(name) if isinstance(name, tuple) else name} has {count}" for name, count in lengths.items())
