"""modeci_mdf's EvaluableGraph on Rondel's engine: scripts that call it evaluation by evaluation import this one instead."""

import operator

import numpy as np

from .. import arrays
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
        self._ahead = _Ahead(model.simulation(record), 1 if model.draws else _MOST_AHEAD)
        self._inbox = {}
        inputs = {node: {} for node in names}
        for port in model._model.input_port_infos():
            node, item = _item(model, port[0])
            inputs[node][item] = EvaluableInput(self._ahead, self._inbox, item, *port)
        self._inputs = [port for ports in inputs.values() for port in ports.values()]
        self.enodes = {node: EvaluableNode(self._ahead, inputs[node], *kinds) for node, kinds in names.items()}
        self.root_nodes = model.root_nodes
        self.output_enodes = [self.enodes[node] for node in model.output_nodes]

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
        given = dict(self._inbox)
        for port in self._inputs if initializer else ():
            if port.id in initializer:
                given[port.name] = port.joined(initializer[port.id])
        self._ahead.evaluate(dt, {name: np.asarray(value)[np.newaxis] for name, value in given.items()})
        self._inbox.clear()

    @property
    def scheduler(self):
        """modeci_mdf's scheduler. There is none: raises UnsupportedError."""
        raise UnsupportedError(
            "there is no scheduler, nor its execution_list and clock: conditions are compiled with the model. What a node's executions are, "
            "a parameter of it tells: {default_initial_value: 0, value: n + 1}"
        )

    @property
    def order_of_execution(self):
        """The nodes executed so far. They are not kept: raises UnsupportedError."""
        raise UnsupportedError("the order of execution is not kept: conditions are compiled with the model")


class EvaluableNode:
    """Values of a node: `evaluable_outputs`, `evaluable_parameters` and `evaluable_functions`, dicts of id to Evaluable, and
    `evaluable_inputs`, a dict of id to EvaluableInput.
    """

    def __init__(self, ahead, inputs, outputs, parameters, functions):
        self.evaluable_inputs = inputs
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


class EvaluableInput:
    """An input port: what it is given holds for the next evaluation."""

    def __init__(self, ahead, inbox, id, name, reduce, default):
        self._ahead = ahead
        self._inbox = inbox  # of the graph: by the names of ports, what they were given since the last evaluation
        self._join = {"overwrite": lambda _, value: value, "add": operator.add, "multiply": operator.mul}[reduce]
        self._default = arrays.from_value(default, name).copy() if reduce == "overwrite" and default is not None else None
        self.id = id
        self.name = name

    @property
    def curr_value(self):
        """What was given since the last evaluation; None: nothing. Before the first one, the default."""
        if self.name in self._inbox:
            return self._inbox[self.name]
        return None if self._ahead.evaluated else self._default

    def set_input_value(self, value):
        """Gives the port a number or an array. A further one is added or multiplied where the port's `reduce` says so; so is
        what edges deliver. Where an edge overwrites it, the edge's value wins.
        """
        self._inbox[self.name] = self.joined(value)

    def joined(self, value):
        """The value, joined with what was given before."""
        return self._join(self._inbox[self.name], value) if self.name in self._inbox else value


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

    @property
    def evaluated(self):
        return self._used > 0

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
