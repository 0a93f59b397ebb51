"""MDF models, their runs and results."""

from __future__ import annotations

import copy
import json
import math
import os
import pathlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import _rondel, arrays
from ..errors import CallerError, LimitExceeded
from ..models import issue_warnings
from ..option_checks import NUMBER, TRUE_OR_FALSE, checked, integer, is_unicode, path_text
from ..options import RunOptions, SessionOptions, checked_options
from ..progress import Progress
from ..rewriting import require_unchanged
from ..session import InferenceSession
from . import documents
from .memory import default_budget


def load(path: str | os.PathLike[str] | Any, sess_options: SessionOptions | None = None) -> Model:
    """Reads a model: JSON if the file's name ends in .json, else YAML; or a Model or a Graph of modeci_mdf in memory.

    sess_options.max_memory_bytes: the most memory that all runs may hold at once. As long as nobody has set it, half of the machine's
    memory; 2**63 lifts it.

    Warns (rondel.ModelWarning) of keys that MDF does not define; they are ignored. Raises CallerError naming line and column,
    or the node, port or edge at fault.
    """
    if documents.is_object(path):
        return loads(path, sess_options)
    try:
        source = path_text(path)
    except (TypeError, ValueError):
        raise CallerError(f"the model is {path!r:.100}; expected a path (loads reads texts and dicts)") from None
    return _read(source, sess_options)


def loads(model: str | bytes | Mapping[str, Any] | Any, sess_options: SessionOptions | None = None) -> Model:
    """Reads a model from a text, str or UTF-8 bytes (JSON if it begins with a brace, else YAML), from a dict with the same content, or
    from a Model or a Graph of modeci_mdf.

    In a dict, NumPy arrays may stand for lists. Warns and raises as `load` does.
    """
    if documents.is_object(model):
        model = documents.document(model)
    if isinstance(model, str):
        if model and "\n" not in model and ":" not in model:  # no mapping, which each model is
            raise CallerError(f"the model is the text {model!r:.100}; expected what a file of a model holds; load reads files")
        source = model.encode("utf-8", "surrogatepass")  # the engine reports a lone surrogate with line and column
    elif isinstance(model, (bytes, bytearray, memoryview)):
        source = bytes(model)
    elif isinstance(model, Mapping):
        source = _json(model).encode()
    else:
        raise CallerError(f"the model is {model!r:.100}; expected a text or a dict (load reads files)")
    return _read(source, sess_options)


def _read(source, sess_options):
    given = copy.copy(checked_options(sess_options, SessionOptions, "sess_options"))
    require_unchanged(given, "a model in MDF")
    options = copy.copy(given)
    if options.max_memory_bytes == SessionOptions().max_memory_bytes:
        options.max_memory_bytes = default_budget()
    model, found = _rondel.mdf.read(source, options)
    issue_warnings(found, stacklevel=4)
    return Model(model, options, _text(source), given)


def _text(source):
    """The text of a file as it is now, marked by a comment if it is YAML; a text as it is."""
    if isinstance(source, bytes):
        return source
    path = pathlib.Path(source)
    return path.read_bytes() if path.suffix.lower() == ".json" else b"#\n" + path.read_bytes()


def _json(model):
    try:
        return json.dumps(_plain(model))
    except (TypeError, ValueError, RecursionError) as error:
        raise CallerError(f"the model cannot be written as JSON: {error}") from error


def _plain(x):
    """x as plain dicts, lists, numbers and texts. JSON has no infinity and no NaN: they become texts that MDF reads as numbers."""
    if isinstance(x, Mapping):
        return {str(key): _plain(value) for key, value in x.items()}
    if isinstance(x, (np.ndarray, np.generic)):
        x = x.tolist()
    if isinstance(x, (list, tuple)):
        return [_plain(item) for item in x]
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


class Results(Mapping[str, np.ndarray]):
    """What a run recorded: a mapping from "node.port" to an array with time on axis 0, and from "time".

    Row k of an array is the value after evaluation k, at time k * dt. In a sweep, axis 1 is the axis of its points.
    """

    def __init__(self, time: np.ndarray, values: dict[str, np.ndarray]) -> None:
        self._arrays = {**values, "time": time}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            raise KeyError(f"there is no {name!r}; the results are {', '.join(map(repr, self._arrays))}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        shapes = ", ".join(f"'{name}': {array.dtype}{list(array.shape)}" for name, array in self.items())
        return f"Results({shapes})"

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with one row per time. An array with further axes gets one column per element, named
        "node.port[0, 1]". Raises ImportError without pandas.
        """
        import pandas

        return pandas.DataFrame(dict(self.columns()), index=pandas.Index(self["time"], name="time"))

    def columns(self) -> Iterator[tuple[str, np.ndarray]]:
        """Pairs of a name and an array [time], one pair for each element of the rows of each array except "time"."""
        for name, array in self.items():
            if name != "time":
                yield from arrays.flat_columns(name, array).items()


class Model:
    """A model in MDF, made by `load` or `loads`. Many threads may run it at once.

    Compiled code is kept: a run with other values, steps or dt compiles nothing. A model that was pickled is read and compiled anew,
    with the options that were given; a budget by default is that of the machine on which it is read.
    """

    def __init__(self, model: Any, options: SessionOptions, source: str | bytes, given: SessionOptions) -> None:
        self._options = options
        self._model = model
        self._source = source  # a text, so that a file that has changed since is not read
        self._given = given
        self._last_within = None, None

    def __reduce__(self) -> tuple[Any, ...]:
        return loads, (self._source, self._given)

    def _with_threads(self, count: int) -> Model:
        """The model, read anew to compute with so many threads, unless its options ask for a number above 0."""
        if self._given.intra_op_num_threads:
            return self
        given = copy.copy(self._given)
        given.intra_op_num_threads = count
        return loads(self._source, given)

    @property
    def name(self) -> str:
        """The id of the model's graph."""
        return self._model.name()

    @property
    def recordable(self) -> list[str]:
        """The names that `record` may have: "node.port", "node.parameter", "node.function"."""
        return self._model.recordable()

    @property
    def input_ports(self) -> list[str]:
        """The names that `inputs` may have."""
        return self._model.input_ports()

    @property
    def nodes(self) -> list[str]:
        """The ids of the nodes, in the order of the file."""
        return self._model.nodes()

    @property
    def root_nodes(self) -> list[str]:
        """The nodes without incoming edges; if there are none, the nodes that have an input port with a default_value."""
        return self._model.root_nodes()

    @property
    def output_nodes(self) -> list[str]:
        """The nodes without outgoing edges."""
        return self._model.output_nodes()

    @property
    def draws(self) -> bool:
        """Whether the model draws random numbers."""
        return self._model.draws(self._settings(0, 1.0, self.recordable, None, None, None, True))

    @property
    def output_ports(self) -> list[str]:
        """The names that are recorded if `record` is None."""
        return self._model.output_ports()

    @property
    def parameters(self) -> list[str]:
        """The names that `initial` and `set` may have."""
        return self._model.parameters()

    @property
    def functions(self) -> list[str]:
        """The functions of nodes, "node.function"."""
        return self._model.functions()

    def run(
        self,
        steps: int = 0,
        dt: float = 1.0,
        record: str | Iterable[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        *,
        single_precision: bool = True,
        progress: bool = True,
        run_options: RunOptions | None = None,
        max_memory_bytes: int | None = None,
    ) -> Results:
        """Runs the model: an initial evaluation, then `steps` steps of `dt`. Returns Results of steps + 1 rows.

        record: names of output ports, parameters or functions, as "node.port"; None: all output ports. If a port has the
            same name, "parameter node.v" and "function node.v" select the parameter and the function.
        inputs: dict of "node.port" to a value that replaces the default of an input port, or to steps + 1 rows, one per
            evaluation. A value for a port that an edge overwrites is an error.
        initial: dict of "node.parameter" to the initial value of its state.
        set: dict of "node.parameter" to its value. A value with one more axis than the parameter is a sweep: all its points
            are simulated. The values in `initial` may be sweeps, too. All sweeps must have the same number of points.
        single_precision: True: onnx:: functions compute in float32, as modeci_mdf does; False: in the type of their inputs.
        progress: True shows a bar for a run of more than a second, if stderr is a terminal.
        max_memory_bytes: the most memory that the engine may hold for this run, and that the results may take; None: what `load`
            was told. A run that is known to need more is refused before its first step, or, with a bar, after its first part
            (LimitExceeded).

        Raises CallerError for unknown names, values that do not fit and mistakes in the model (the error names the node),
        UnsupportedError for functions that Rondel does not have, and the errors of InferenceSession.run.
        """
        settings = self._settings(steps, dt, record, inputs, initial, set, single_precision)
        options = checked_options(run_options, RunOptions, "run_options")
        names = self._recorded(settings)
        model = self._model if max_memory_bytes is None else self._within(max_memory_bytes)
        bar = Progress(checked("progress", progress, TRUE_OR_FALSE), self.name, settings.steps + 1, _BAR_AFTER)
        if bar.moves and settings.steps + 1 > _FIRST_PART and not self._model.draws(settings):
            values = self._run_in_parts(model, settings, names, inputs or {}, options, bar, max_memory_bytes)
        else:
            values = _arrays(names, model.run(settings, names, options), settings.steps + 1)
        return Results(np.arange(settings.steps + 1) * settings.dt, values)

    def _within(self, max_memory_bytes):
        """The engine's model with another budget; the last one is kept."""
        budget, model = self._last_within
        if budget != max_memory_bytes:
            options = copy.copy(self._options)
            options.max_memory_bytes = max_memory_bytes
            model = _rondel.mdf.read(self._source, options)[0]
            self._last_within = max_memory_bytes, model
        return model

    def _require_room(self, part, rows, total, max_memory_bytes):
        """Whether the results fit into the budget: the parts, and the arrays that they are joined to."""
        budget = self._options.max_memory_bytes if max_memory_bytes is None else max_memory_bytes
        needed = 2 * total * sum(array.nbytes for array in part.values()) // rows
        if needed > budget:
            whose = "model" if max_memory_bytes is None else "run"
            raise LimitExceeded(f"the results: the memory budget of {budget} bytes does not allow {needed}; raise the {whose}'s max_memory_bytes or record less")

    def _run_in_parts(self, model, settings, names, inputs, options, bar, max_memory_bytes):
        """Runs the model in parts of about a tenth of a second, and updates the bar after each part."""
        simulation = _rondel.mdf.Simulation(model, settings)
        given = {name: np.asarray(x) for name, x in inputs.items()}
        varying = set(self._model.varying_inputs(settings))
        total, size, parts = settings.steps + 1, _FIRST_PART, []
        options = options._as_now()  # other runs may share the options that were given
        deadline, begin = options.deadline, time.monotonic()
        try:
            while (done := simulation.evaluated()) < total:
                count = min(size, total - done)
                if deadline is not None:
                    options.deadline = max(0.0, deadline - (time.monotonic() - begin))
                now = {name: _rows(x, name in varying, done, count) for name, x in given.items()}
                before = time.monotonic()
                found = simulation.advance(count, settings.dt, _values("inputs", now), names, options)
                parts.append(_arrays(names, found, count))
                if len(parts) == 1:
                    self._require_room(parts[0], count, total, max_memory_bytes)
                took = time.monotonic() - before
                size = int(min(10.0, max(0.1, 0.1 / max(took, 1e-6))) * count) + 1
                bar.update(done + count)
        finally:
            bar.clear()
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    def simulation(
        self,
        record: str | Iterable[str] | None = None,
        initial: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        *,
        single_precision: bool = True,
    ) -> Simulation:
        """A Simulation: a run that continues in parts, some evaluations at a time. The arguments are those of `run`."""
        settings = self._settings(0, 1.0, record, None, initial, set, single_precision)
        return Simulation(self._model, settings, self._recorded(settings))

    def _recorded(self, settings):
        return settings.record or self.output_ports

    def session(
        self,
        steps: int = 0,
        dt: float = 1.0,
        record: str | Iterable[str] | None = None,
        inputs: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        *,
        single_precision: bool = True,
    ) -> InferenceSession:
        """The model as an InferenceSession, to inspect it or to export it with rondel.export.

        Its inputs are "steps", "dt" and the given values ("input node.port", "initial node.parameter", "set node.parameter"),
        all of them optional; its outputs are named as in `record`.
        """
        settings = self._settings(steps, dt, record, inputs, initial, set, single_precision)
        return InferenceSession.built(lambda _: self._model.compile(settings), self._options)

    def _settings(self, steps, dt, record, inputs, initial, set, single_precision):
        settings = _rondel.mdf.Settings()
        settings.steps = checked("steps", steps, ("a number of steps, 0 or more", integer(0, _MOST_STEPS)[1]))
        settings.dt = checked("dt", dt, NUMBER)
        settings.record = checked("record", record, ("a list of names", _names))
        settings.single_precision = checked("single_precision", single_precision, TRUE_OR_FALSE)
        settings.inputs(_values("inputs", inputs))
        settings.initial(_values("initial", initial))
        settings.set(_values("set", set))
        return settings


class Simulation:
    """A run that continues in parts: some evaluations at a time, each part with its own inputs and dt."""

    def __init__(self, model: Any, settings: Any, names: list[str]) -> None:
        self._simulation = _rondel.mdf.Simulation(model, settings)
        self._names = names

    @property
    def evaluated(self) -> int:
        """The number of evaluations so far."""
        return self._simulation.evaluated()

    def begin_anew(self) -> None:
        """In the next evaluation no time passes: states with a time derivative take their initial values, everything else
        continues, as in modeci_mdf's `evaluate()` without an increment.
        """
        self._simulation.begin_anew()

    def copy(self) -> Simulation:
        """A simulation that continues from the same states, independently."""
        other = Simulation.__new__(Simulation)
        other._simulation, other._names = _rondel.mdf.Simulation(self._simulation), self._names
        return other

    def advance(
        self, evaluations: int = 1, dt: float = 1.0, inputs: Mapping[str, Any] | None = None, run_options: RunOptions | None = None
    ) -> dict[str, np.ndarray]:
        """Makes evaluations; the first one of the simulation initializes the states. Returns a dict of name to array [evaluations, ...].

        inputs: as in Model.run, one row for each of these evaluations; if an edge overwrites the port, the edge's value wins.
        An error leaves the simulation unchanged.
        """
        count = checked("evaluations", evaluations, ("a number, 1 or more", integer(1, _MOST_STEPS)[1]))
        step = checked("dt", dt, NUMBER)
        options = checked_options(run_options, RunOptions, "run_options")
        return _arrays(self._names, self._simulation.advance(count, step, _values("inputs", inputs), self._names, options), count)


#: Seconds before a run shows a bar, and the number of evaluations in the first part of a run that may show a bar.
_BAR_AFTER = 1.0
_FIRST_PART = 1000
_MOST_STEPS = 2**63 - 2  #: of which there is one evaluation more


def _rows(x, varies, first, count):
    """The rows of an input for some evaluations; an input that does not vary is repeated."""
    return x[first : first + count] if varies else np.broadcast_to(x, (count, *x.shape))


def _arrays(names, found, rows):
    """The arrays of a run of so many evaluations, by name."""
    made = {name: arrays.from_value(value, f"'{name}'") for name, value in zip(names, found)}
    if any(len(array) != rows for array in made.values()):
        raise CallerError("a sweep has no points; expected one at least")
    return made


def _names(record):
    if record is None:
        return []
    if isinstance(record, (str, bytes)) or not isinstance(record, Iterable):
        raise TypeError
    names = list(record)
    if not all(map(is_unicode, names)):
        raise TypeError
    return names


#: The dtypes that MDF computes in, by NumPy's kinds.
_DTYPES = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}
_LARGEST = np.iinfo(np.int64).max


def _values(what, given):
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise CallerError(f"{what} is {given!r}; expected a dict of names to numbers")
    values = {}
    for name, x in given.items():
        place = f"{what}: '{name}'"
        if not is_unicode(name):
            raise CallerError(f"{what} has the key {name!r}; expected names")
        try:
            array = np.asarray(x)
        except ValueError as error:
            raise CallerError(f"{place} makes no array: {error}") from None
        if array.dtype.kind not in _DTYPES:
            raise CallerError(f"{place} is of dtype {array.dtype}; expected numbers")
        if array.dtype == np.uint64 and (array > _LARGEST).any():
            raise CallerError(f"{place} is {array.max()}; integers are at most 2^63 - 1, larger numbers must be floats")
        values[name] = arrays.to_value(array.astype(_DTYPES[array.dtype.kind], order="C"), place, "numbers")
    return values
