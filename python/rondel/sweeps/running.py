"""Runs the parts of a sweep in order, and writes their rows as they come."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..counts import checked_count
from ..errors import CallerError, InternalError
from ..models import kind_of
from ..progress import Progress
from .columns import Columns, Summary
from .tables import table

Ranges = list[tuple[int, int]]
"""Parts of a sweep: the first point and the number of points of each."""


def run(
    job: Any,
    to: str | os.PathLike[str] | None = None,
    *,
    batch: int | None = None,
    progress: bool = True,
    parts: Callable[[Any, Ranges], Iterable[Columns]] | None = None,
) -> Summary:
    """Runs a job, MdfSweep or OnnxSweep, for all of its points. Returns a Summary of its columns.

    to: the table: a file .csv or .parquet, or a folder for Parquet files of which each is there as soon as it is computed; None: no
        table. Rows are in the order of the points. A file is in its place when all rows are in it, else not at all.
    batch: the number of points in a native run; None: job.batch.
    parts: computes the columns of each of the ranges, in their order; None: one after another, here.

    Raises the errors of the job's runs, CallerError if a part has other columns than the first (an output whose extents follow from what is
    swept), and InternalError if a part does not have the points that it was asked for.
    """
    if not hasattr(job, "points") or not hasattr(job, "part"):
        raise CallerError(f"sweep: the job is a {kind_of(job)}; expected an MdfSweep or an OnnxSweep")
    ranges = _ranges(len(job.points), job.batch if batch is None else checked_count("sweep: batch", batch))
    names = None
    summary, bar = Summary(), Progress(progress, job.title, len(job.points), 1.0)
    found = iter((parts or _here)(job, ranges))
    with contextlib.ExitStack() as stack:
        write = stack.enter_context(table(to)) if to is not None else None
        stack.callback(bar.clear)
        if hasattr(found, "close"):
            stack.callback(found.close)
        for first, count in ranges:
            columns = next(found, None)
            _require_points(columns, first, count)
            _require_names(columns, names := names or list(columns), first)
            if write is not None:
                write(columns)
            summary.add({name: x for name, x in columns.items() if name != "point"}, count)
            bar.update(first + count)
    return summary


def _here(job, ranges) -> Iterator[Columns]:
    return (job.part(first, count) for first, count in ranges)


def _ranges(total, batch) -> Ranges:
    return [(first, min(batch, total - first)) for first in range(0, total, batch)]


def _require_points(columns, first, count):
    """Each point comes exactly once, in order: what is lost or twice on a cluster is found here, and not in the table."""
    points = None if columns is None else columns["point"]
    rows = 0 if points is None else len(points)
    if rows % count or not rows or not np.array_equal(points, np.repeat(np.arange(first, first + count), rows // count)):
        found = "nothing" if not rows else f"points {points[0]} to {points[-1]} in {rows} rows"
        raise InternalError(f"sweep: the part for points {first} to {first + count - 1} has {found}")


def _require_names(columns, names, first):
    if list(columns) == names:
        return
    other = next((name for name in [*columns, *names] if (name in columns) != (name in names)), None)
    raise CallerError(
        f"sweep: from point {first} on the columns are others than before: {other!r} is not in all rows; "
        "expected outputs whose shapes are the same for all points; name the outputs for the table"
    )
