"""What a sweep computes: some points of an MDF model, or of an ONNX model, in one native run. Random ops draw for each point anew; what
they draw depends on the first point of the run. Jobs can be pickled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import mdf
from ..casting import fitting
from ..errors import CallerError
from ..options import drawing_from
from ..session import InferenceSession, requested_names
from .columns import Columns, add
from .points import Over, Points
from .scanning import scanned


class MdfSweep:
    """A sweep of parameters of an MDF model. A part of it is one run in which the points are an axis.

    model: a path, text or rondel.mdf.Model. steps, dt, record, inputs, initial, set: as in Model.run; values of `initial` and `set`
        that are `span` or `over` are swept.
    product: True: all combinations of the swept values, the last one fastest; False: the values side by side.
    series: True: a row for each point and time; False: a row for each point, with the last values.

    Raises as Model.run does, for a mistake in the arguments at once.
    """

    def __init__(
        self,
        model: Any,
        steps: int = 0,
        dt: float = 1.0,
        *,
        record: str | Iterable[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        single_precision: bool = True,
        product: bool = False,
        series: bool = False,
    ) -> None:
        self._model = _mdf_model(model)
        given = {("set", name): x for name, x in (set or {}).items()} | {("initial", name): x for name, x in (initial or {}).items()}
        self.points = Points({key: x for key, x in given.items() if isinstance(x, Over)}, product)
        self._fixed = {key: x for key, x in given.items() if not isinstance(x, Over)}
        record = [record] if isinstance(record, str) else record
        self._settings = {"steps": steps, "dt": dt, "record": record, "inputs": inputs, "single_precision": single_precision}
        self._series = bool(series)
        self._model._settings(steps, dt, record, None, None, None, single_precision)
        self._run(0, 1, steps=0)

    @property
    def title(self) -> str:
        return self._model.name

    @property
    def batch(self) -> int:
        """The number of points in a run whose results take some MiB."""
        return int(np.clip(2**20 // (self._settings["steps"] + 1), 1, 4096))

    def part(self, first: int, count: int) -> Columns:
        """The rows of `count` points from `first` on: the columns "point", the swept values, "time" in a series, and what is recorded,
        with " recorded" after a name that a column has already."""
        values, results = self._run(first, count)
        times = len(results["time"]) if self._series else 1
        columns = {"point": np.repeat(np.arange(first, first + count), times)}
        for (kind, name), x in values.items():
            both = ("set", name) in values and ("initial", name) in values
            add(columns, f"{kind} {name}" if both else name, np.repeat(x, times, axis=0), "swept")
        if self._series:
            columns["time"] = np.tile(results["time"], count)
        for name, x in results.items():
            if name != "time":
                rows = np.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:]) if self._series else x[-1]
                add(columns, name, rows, "recorded")
        return columns

    def _run(self, first, count, **more):
        values = self.points.take(first, count)
        given = {"set": {}, "initial": {}}
        for (kind, name), x in {**self._fixed, **values}.items():
            given[kind][name] = x
        settings = {**self._settings, **more}
        if more:  # a check of the other arguments: inputs may have a row for each evaluation
            settings["inputs"] = None
        return values, self._model.run(**settings, **given, progress=False, run_options=drawing_from(first))


def _mdf_model(model):
    if isinstance(model, mdf.Model):
        return model
    return mdf.load(model) if isinstance(model, (str, os.PathLike)) and "\n" not in str(model) else mdf.loads(model)


class OnnxSweep:
    """A sweep of inputs or initializers of an ONNX model. A part of it is one run: a Scan over the points, with the model as its body.

    model: a path, bytes, ModelProto, session or network. values: dict of the names of inputs and initializers to a value; those that are `span` or
        `over` are swept. outputs: the outputs in the table; None: all. product: as in MdfSweep.

    Needs the package onnx. Raises CallerError for unknown names and values that do not fit.
    """

    def __init__(self, model: Any, values: Mapping[str, Any], *, outputs: str | Iterable[str] | None = None, product: bool = False) -> None:
        swept = {name: x for name, x in values.items() if isinstance(x, Over)}
        self._fixed = {name: np.asarray(x) for name, x in values.items() if not isinstance(x, Over)}
        wanted = requested_names([outputs] if isinstance(outputs, str) else outputs)
        self.title, self._model, self._outputs = scanned(model, list(swept), list(self._fixed), wanted)
        self.points = Points(swept, product)
        self._made = None
        self.part(0, 1)

    batch = 4096

    def part(self, first: int, count: int) -> Columns:
        """The rows of `count` points from `first` on: the columns "point", the swept values, with " swept" after the name "point", and the
        outputs, with " recorded" after a name that a column has already."""
        if self._made is None:
            self._made = InferenceSession(self._model)
        values = self.points.take(first, count)
        types = {p.name: p.type for p in self._made.get_inputs()}
        feeds = {f"each {name}": fitting(x, types[f"each {name}"]) for name, x in values.items()}
        feeds |= {name: fitting(x, types[name]) for name, x in self._fixed.items()}
        found = self._made.run([f"all {name}" for name in self._outputs], feeds, drawing_from(first))
        columns = {"point": np.arange(first, first + count)}
        for name, x in values.items():
            add(columns, name, x, "swept")
        for name, x in zip(self._outputs, found):
            if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf":
                raise CallerError(f"sweep: output '{name}' is no tensor of numbers; name the outputs for the table")
            add(columns, name, x, "recorded")
        return columns

    def __getstate__(self):
        return {**self.__dict__, "_made": None}
