"""Batch inference on tables: a callable from a dict of columns to a dict of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from .casting import fitting
from .counts import checked_count
from .errors import CallerError
from .models import Model
from .options import SessionOptions, drawing_from
from .session import InferenceSession, requested_names


class Predictor:
    """A model as a function of a batch of rows: a dict of arrays [rows, ...] to a dict of arrays [rows, ...].

    model: a path, bytes, ModelProto, session or network. The first axis of its inputs and outputs is that of the rows. If the inputs have a fixed
        extent there, a batch is run in parts of that extent, and the last part is filled up with its last row.
    outputs: the names of the outputs; None: all.
    columns: dict of the names of inputs to those of columns, where they differ.
    keep: names of columns to pass on; None: all that are no input.
    batch_size: the most rows of a run; None: all of a batch. Inputs of a fixed extent keep that.
    sess_options: how the model is compiled, and its limits.

    Columns of numbers are cast to the inputs' dtypes where their kind allows it, and columns of lists are stacked. Random ops draw anew
    for each run. Raises CallerError for a missing column, columns of different lengths, a number that an input's dtype does not hold, or
    an output without the rows; and the errors of InferenceSession.run.
    """

    def __init__(
        self,
        model: Model,
        *,
        outputs: str | Iterable[str] | None = None,
        columns: Mapping[str, str] | None = None,
        keep: Iterable[str] | None = None,
        sess_options: SessionOptions | None = None,
        batch_size: int | None = None,
    ) -> None:
        self._session = InferenceSession(model, sess_options)
        known = [o.name for o in self._session.get_outputs()]
        self._outputs = requested_names([outputs] if isinstance(outputs, str) else outputs) or known
        for name in self._outputs:
            if name not in known:
                raise CallerError(f"predict: there is no output {name!r}; there are {', '.join(map(repr, known))}")
        inputs = self._session.get_inputs()
        for name in columns or {}:
            if name not in [i.name for i in inputs]:
                raise CallerError(f"predict: columns names {name!r}, which is no input; there are {', '.join(repr(i.name) for i in inputs)}")
        self._inputs = {i.name: (i.type, (columns or {}).get(i.name, i.name)) for i in inputs}
        self._keep = None if keep is None else list(keep)
        extents = {i.shape[0] for i in inputs if i.shape and isinstance(i.shape[0], int)}
        self._extent = extents.pop() if len(extents) == 1 else None
        self._most = None if batch_size is None else checked_count("predict: batch_size", batch_size)
        self._done = 0  # rows of earlier calls, from which draws count

    def __call__(self, batch: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        feeds = {name: fitting(_array(batch, column), kind, f"predict: column {column!r}") for name, (kind, column) in self._inputs.items()}
        rows = self._rows_of(feeds)
        kept = [name for name in batch if name not in {column for _, column in self._inputs.values()}] if self._keep is None else self._keep
        passed = {name: _column(batch, name) for name in kept}
        for name in self._outputs:
            if name in passed:
                raise CallerError(f"predict: {name!r} is a column and an output; name the columns to keep in keep=")
        step = self._extent or min(max(rows, 1), self._most or max(rows, 1))
        parts = [self._part(feeds, first, min(first + step, rows)) for first in range(0, max(rows, 1), step)]
        self._done += rows
        return {**passed, **{name: x[0] if len(x) == 1 else np.concatenate(x) for name, *x in zip(self._outputs, *parts)}}

    def _rows_of(self, feeds):
        rows = {name: len(x) for name, x in feeds.items()}
        if len(set(rows.values())) > 1:
            listed = ", ".join(f"{self._inputs[name][1]!r} has {count}" for name, count in rows.items())
            raise CallerError(f"predict: the columns have different numbers of rows: {listed}")
        return next(iter(rows.values()), 0)

    def _part(self, feeds, first, end):
        count = end - first
        extent = self._extent or count
        part = {name: x[first:end] for name, x in feeds.items()}
        if count < extent:
            part = {name: _filled(x, extent) for name, x in part.items()}
        found = self._session.run(self._outputs, part, drawing_from(self._done + first))
        return [_rows(name, x, extent)[:count] for name, x in zip(self._outputs, found)]


def _filled(x, extent):
    last = x[-1:] if len(x) else np.zeros((1, *x.shape[1:]), x.dtype)
    return np.concatenate([x, np.repeat(last, extent - len(x), axis=0)])


def _column(batch, name):
    if name not in batch:
        raise CallerError(f"predict: the batch has no column {name!r}; there are {', '.join(map(repr, batch))}")
    return batch[name]


def _array(batch, name):
    x = np.asarray(_column(batch, name))
    if x.dtype != object or not len(x) or isinstance(x[0], str):
        return x
    try:
        return np.stack([np.asarray(row) for row in x])
    except ValueError as error:
        raise CallerError(f"predict: the rows of column {name!r} have different shapes: {error}") from None


def _rows(name, x, rows):
    if not isinstance(x, np.ndarray) or not x.ndim or len(x) != rows:
        what = f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else type(x).__name__
        raise CallerError(f"predict: output {name!r} is {what} for {rows} rows; expected the rows on its first axis; name other outputs in outputs=")
    return x
