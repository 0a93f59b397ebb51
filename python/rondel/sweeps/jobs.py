"""What a sweep computes: some points of an MDF model, or of an ONNX model, in one native run. Random ops draw for each point anew; what
they draw depends on the first point of the run. Jobs can be pickled."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import mdf
from ..arrays import dtype_name, element_name, numpy_dtype
from ..casting import fitting
from ..errors import CallerError
from ..models import kind_of
from ..options import SessionOptions, drawing_from
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

    def with_threads(self, count: int) -> MdfSweep:
        """The sweep with a model that computes with so many threads, unless its options ask for a number above 0."""
        made = copy.copy(self)
        made._model = self._model._with_threads(count)
        return made

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


#: What the results of a native run take, at most.
_BATCH_BYTES = 8 << 20


def _of_points(name, x, port):
    """The values of some points for the input that takes them all; the error says what one point has and needs."""
    x = fitting(x, port.type, f"sweep: {name!r}")
    wanted = [None] * (x.ndim - 1) if port.shape is None else port.shape[1:]
    fits = len(wanted) == x.ndim - 1 and all(not isinstance(e, int) or e == found for e, found in zip(wanted, x.shape[1:]))
    kind = element_name(port.type)
    if fits and x.dtype == numpy_dtype(kind):
        return x
    expected = f"{kind}[{', '.join('?' if e is None else str(e) for e in wanted)}]"
    way = "; rondel.sweeps.over(range(...)) has integers, a span has floats" if x.dtype.kind == "f" and kind[0] in "iu" else ""
    raise CallerError(f"sweep: a point of {name!r} is {dtype_name(x.dtype)}{list(x.shape[1:])}; expected {expected}{way}")


class OnnxSweep:
    """A sweep of inputs or initializers of an ONNX model. A part of it is one run: a Scan over the points, with the model as its body.

    model: a path, bytes, ModelProto, session or network. values: dict of the names of inputs and initializers to a value; those that are `span` or
        `over` are swept. outputs: the outputs in the table; None: all. product: as in MdfSweep.

    Needs the package onnx. Raises CallerError for unknown names, values that do not fit, and outputs that are no tensors of numbers.
    """

    def __init__(self, model: Any, values: Mapping[str, Any], *, outputs: str | Iterable[str] | None = None, product: bool = False) -> None:
        if not isinstance(values, Mapping):
            raise CallerError(f"sweep: the values are a {kind_of(values)}; expected a dict of names of inputs and initializers to values")
        swept = {name: x for name, x in values.items() if isinstance(x, Over)}
        self._fixed = {name: np.asarray(x) for name, x in values.items() if not isinstance(x, Over)}
        wanted = requested_names([outputs] if isinstance(outputs, str) else outputs)
        self.title, self._model, self._outputs = scanned(model, list(swept), list(self._fixed), wanted)
        self.points = Points(swept, product)
        self._made = None
        self._threads = 0
        self._row_bytes = max(1, sum(x.nbytes for x in self.part(0, 1).values()))

    @property
    def batch(self) -> int:
        """The number of points in a run whose results take some MiB."""
        return int(np.clip(_BATCH_BYTES // self._row_bytes, 1, 4096))

    def with_threads(self, count: int) -> OnnxSweep:
        """The sweep, computed with so many threads."""
        made = copy.copy(self)
        made._threads, made._made = count, None
        return made

    def part(self, first: int, count: int) -> Columns:
        """The rows of `count` points from `first` on: the columns "point", the swept values, with " swept" after the name "point", and the
        outputs, with " recorded" after a name that a column has already."""
        if self._made is None:
            self._made = InferenceSession(self._model, SessionOptions(intra_op_num_threads=self._threads))
        values = self.points.take(first, count)
        ports = {p.name: p for p in self._made.get_inputs()}
        feeds = {f"each {name}": _of_points(name, x, ports[f"each {name}"]) for name, x in values.items()}
        feeds |= {name: fitting(x, ports[name].type, f"sweep: {name!r}") for name, x in self._fixed.items()}
        found = self._made.run([f"all {name}" for name in self._outputs], feeds, drawing_from(first))
        columns = {"point": np.arange(first, first + count)}
        for name, x in values.items():
            add(columns, name, x, "swept")
        for name, x in zip(self._outputs, found):
            add(columns, name, x, "recorded")
        return columns

    def __getstate__(self):
        return {**self.__dict__, "_made": None}
