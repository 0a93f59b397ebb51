"""modeci_mdf's EvaluableGraph on Rondel's engine: scripts that call it evaluation by evaluation import this one instead."""

import numpy as np

from ..errors import CallerError, UnsupportedError
from .model import Model, load, loads

#: Evaluations that are computed ahead at most, and bytes that they may hold.
_MOST_AHEAD = 256
_MOST_BYTES = 1 << 24


class EvaluableGraph:
    """A graph that is evaluated step by step, as modeci_mdf.execution_engine has it.

    graph: a Graph of modeci_mdf, a Model, or the path of a file.
    verbose: nothing more is printed with it.

    Values are read from `enodes`. After some evaluations with one time increment, the next ones are computed ahead in one
    call; values and errors come as if each had been computed by itself. Raises CallerError for a model that is wrong, and
    UnsupportedError for one that is not run.
    """

    def __init__(self, graph, verbose=False):
        self.graph = graph
        self.verbose = verbose
        model = _model(graph)
        names = _names(model)
        record = [name for kinds in names.values() for items in kinds for name in items.values()]
        self._ports = [(name, _item(model, name)[1]) for name in model.input_ports]
        self._ahead = _Ahead(model.simulation(record), 1 if model.draws else _MOST_AHEAD)
        self.enodes = {node: EvaluableNode(self._ahead, *kinds) for node, kinds in names.items()}

    def evaluate(self, time_increment=None, array_format="numpy", initializer=None):
        """Evaluates the graph once.

        time_increment: the time that passes; None: states with a time derivative take their initial values, all else goes
            on. The first evaluation begins the states in any case.
        array_format: "numpy".
        initializer: dict of an input port's name to the value that it has, in all nodes, where no edge gives it another. As
            in modeci_mdf, names of no port do nothing.

        Raises CallerError for what does not fit, and what Model.run raises; then the graph is where it was.
        """
        if array_format != "numpy":
            raise UnsupportedError(f"array_format is {array_format!r}; expected 'numpy'")
        try:
            dt = None if time_increment is None else float(time_increment)
        except (TypeError, ValueError):
            raise CallerError(f"time_increment is {time_increment!r}; expected a number or None") from None
        inputs = {name: np.asarray(initializer[port])[np.newaxis] for name, port in self._ports if port in initializer} if initializer else {}
        self._ahead.evaluate(dt, inputs)

    @property
    def scheduler(self):
        """modeci_mdf's scheduler. There is none: raises UnsupportedError."""
        raise UnsupportedError("there is no scheduler: conditions are compiled with the model; record a parameter that counts executions")

    @property
    def order_of_execution(self):
        """The nodes executed so far. They are not kept: raises UnsupportedError."""
        raise UnsupportedError("the order of execution is not kept: conditions are compiled with the model")


class EvaluableNode:
    """Values of a node: `evaluable_outputs`, `evaluable_parameters` and `evaluable_functions`, dicts of id to Evaluable."""

    def __init__(self, ahead, outputs, parameters, functions):
        self.evaluable_outputs = {item: Evaluable(ahead, name) for item, name in outputs.items()}
        self.evaluable_parameters = {item: Evaluable(ahead, name) for item, name in parameters.items()}
        self.evaluable_functions = {item: Evaluable(ahead, name) for item, name in functions.items()}

    def get_output(self, id=None):
        """The value of an output port; None: that of the only one, or those of all as a tuple."""
        if id is not None:
            return self.evaluable_outputs[id].curr_value if id in self.evaluable_outputs else None
        values = tuple(output.curr_value for output in self.evaluable_outputs.values())
        return values[0] if len(values) == 1 else values


class Evaluable:
    """An output port, a parameter or a function."""

    def __init__(self, ahead, name):
        self._ahead = ahead
        self._name = name

    @property
    def curr_value(self):
        """What it holds after the last evaluation, a NumPy number or array; None before the first. NaN (or 0, where the
        dtype has no NaN) where its node was not executed yet.
        """
        return self._ahead.value(self._name)


class _Ahead:
    """A simulation that computes the next evaluations ahead, as long as they are asked for with one increment.

    `_begin` is the simulation before the computed rows, `_end` after them: where something else is asked for, the run goes
    back to `_begin` and makes the evaluations that were used again.
    """

    def __init__(self, simulation, most):
        self._begin = self._end = simulation
        self._most = most
        self._rows = {}
        self._dt = None  # of the rows
        self._used = self._count = 0  # rows that were asked for, and all
        self._run = 0  # evaluations that were asked for with this increment

    def value(self, name):
        return self._rows[name][self._used - 1] if self._used else None

    def evaluate(self, dt, inputs):
        plain = dt is not None and not inputs
        if plain and dt == self._dt and self._used < self._count:
            self._used += 1
            self._run += 1
            return
        self._run = self._run if plain and dt == self._dt else 0
        simulation = self._now()
        if dt is None and simulation.evaluated:
            simulation.begin_anew()
        begin, count = simulation, self._next() if plain and self._run else 1
        if count > 1:
            begin = simulation.copy()
            try:
                rows = simulation.advance(count, dt)
            except Exception:  # perhaps in an evaluation that nobody asks for
                simulation, count, self._run = begin.copy(), 1, 0
        if count == 1:
            rows = simulation.advance(1, 0.0 if dt is None else dt, inputs)
        self._begin, self._end, self._rows = begin, simulation, rows
        self._dt, self._used, self._count = dt if plain else None, 1, count
        self._run += 1

    def _now(self):
        """The simulation after the evaluations that were asked for, free to go on; an error leaves this object as it is."""
        if self._used == self._count:
            return self._end.copy()
        simulation = self._begin.copy()
        simulation.advance(self._used, self._dt)
        return simulation

    def _next(self):
        row = sum(array[0].nbytes for array in self._rows.values())
        return int(max(1, min(self._run, self._most, _MOST_BYTES // max(row, 1))))


def _model(graph):
    if isinstance(graph, Model):
        return graph
    if not _fields(graph):
        return load(graph)
    if not hasattr(graph, "nodes"):
        raise CallerError(f"the graph is a {type(graph).__name__}; expected a Graph of modeci_mdf, a model or a path")
    return loads({"graphs": {graph.id: _document(graph)}})


def _document(x):
    """An object of modeci_mdf as a file has it: lists of objects that have an id are dicts by it. Its own to_dict fails for
    conditions that were read from a file.
    """
    if fields := _fields(x):
        items = {name: getattr(x, name) for name in fields if name not in ("id", "metadata", "notes")}
        return {name: _document(value) for name, value in items.items() if value is not None}
    if isinstance(x, dict):
        return {str(key): _reference(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        if x and all(_fields(item) and hasattr(item, "id") for item in x):
            return {item.id: _document(item) for item in x}
        return [_reference(item) for item in x]
    return x


def _reference(x):
    """An object with an id, among arguments, stands for that id."""
    return x.id if _fields(x) and hasattr(x, "id") else _document(x)


def _fields(x):
    return [field.name for field in getattr(type(x), "__attrs_attrs__", ())]


def _names(model):
    """Dict of node to its outputs, parameters and functions, each a dict of id to the name that is recorded."""
    found = {node: ({}, {}, {}) for node in model.nodes}
    kinds = (("", model.output_ports), ("parameter ", model.parameters), ("function ", model.functions))
    for kind, (prefix, names) in enumerate(kinds):
        for name in names:
            node, item = _item(model, name)
            found[node][kind][item] = prefix + name
    return found


def _item(model, name):
    """The node and the item of "node.item". Names may have points in them."""
    node = max((node for node in model.nodes if name.startswith(node + ".")), key=len)
    return node, name[len(node) + 1 :]
