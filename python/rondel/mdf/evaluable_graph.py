"""EvaluableGraph with modeci_mdf's interface, on Rondel's engine: scripts that step through a model import this class instead."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from .. import arrays
from ..errors import CallerError, UnsupportedError
from ..models import kind_of
from ..option_checks import checked, number
from .model import Model, load

#: The most evaluations that are computed ahead, and the most bytes that their values may hold.
_MOST_AHEAD = 256
_MOST_BYTES = 1 << 24


class EvaluableGraph:
    """A graph that is evaluated step by step, with the interface of modeci_mdf.execution_engine.EvaluableGraph.

    graph: a Graph or a Model of modeci_mdf, a Model of ours, or the path of a file.
    verbose: accepted, and has no effect.

    Values are read from `enodes`. After some evaluations with the same time increment, further evaluations are computed ahead in one
    call; values and errors are those of separate evaluations. Raises CallerError for an invalid model, and UnsupportedError for a
    model that Rondel does not run.
    """

    enodes: dict[str, EvaluableNode]
    root_nodes: list[str]
    output_enodes: list[EvaluableNode]

    def __init__(self, graph: Any, verbose: bool = False) -> None:
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

    def evaluate(
        self, time_increment: float | None = None, array_format: str = "numpy", initializer: Mapping[str, Any] | None = None
    ) -> None:
        """Evaluates the graph once.

        time_increment: the time that passes; None: states with a time derivative take their initial values, everything else
            continues. The first evaluation initializes all states.
        array_format: "numpy".
        initializer: dict of the name of an input port to its value in all nodes, unless an edge overwrites the value. As in
            modeci_mdf, names that are no port have no effect.

        Raises CallerError for arguments that do not fit, and the errors of Model.run; the graph is then unchanged.
        """
        if array_format != "numpy":
            raise UnsupportedError(f"array_format is {array_format!r}; expected 'numpy'")
        dt = None if time_increment is None else checked("time_increment", time_increment, ("a number or None", number))
        if initializer is not None and not isinstance(initializer, Mapping):
            raise CallerError(f"initializer is a {kind_of(initializer)}; expected a dict of the name of an input port to its value")
        given = dict(self._inbox)
        for port in self._inputs if initializer else ():
            if port.id in initializer:
                given[port.name] = port.joined(initializer[port.id])
        self._ahead.evaluate(dt, {name: np.asarray(value)[np.newaxis] for name, value in given.items()})
        self._inbox.clear()

    @property
    def scheduler(self) -> NoReturn:
        """modeci_mdf's scheduler. Rondel has none: raises UnsupportedError."""
        raise UnsupportedError(
            "there is no scheduler, nor its execution_list and clock: conditions are compiled with the model. What a node's executions are, "
            "a parameter of it tells: {default_initial_value: 0, value: n + 1}"
        )

    @property
    def order_of_execution(self) -> NoReturn:
        """The nodes executed so far. Rondel does not record them: raises UnsupportedError."""
        raise UnsupportedError("the order of execution is not kept: conditions are compiled with the model")


class EvaluableNode:
    """The values of a node: `evaluable_outputs`, `evaluable_parameters` and `evaluable_functions` are dicts of id to Evaluable,
    `evaluable_inputs` is a dict of id to EvaluableInput.
    """

    evaluable_inputs: dict[str, EvaluableInput]
    evaluable_outputs: dict[str, Evaluable]
    evaluable_parameters: dict[str, Evaluable]
    evaluable_functions: dict[str, Evaluable]

    def __init__(self, ahead, inputs, outputs, parameters, functions):
        self.evaluable_inputs = inputs
        self.evaluable_outputs = {item: Evaluable(ahead, name) for item, name in outputs.items()}
        self.evaluable_parameters = {item: Evaluable(ahead, name) for item, name in parameters.items()}
        self.evaluable_functions = {item: Evaluable(ahead, name) for item, name in functions.items()}

    def get_output(self, id: str | None = None) -> Any:
        """The value of an output port. id None: the value of the only output port, or a tuple of all values."""
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
    def curr_value(self) -> Any:
        """The value after the last evaluation, a NumPy number or array; None before the first. NaN (or 0, if the dtype has no
        NaN) if its node has not been executed yet.
        """
        return self._ahead.value(self._name)


class EvaluableInput:
    """An input port. A value that it is given applies to the next evaluation only."""

    def __init__(self, ahead, inbox, id, name, reduce, default):
        self._ahead = ahead
        self._inbox = inbox  # shared by the graph: the values given since the last evaluation, by the names of ports
        self._join = {"overwrite": lambda _, value: value, "add": operator.add, "multiply": operator.mul}[reduce]
        self._default = arrays.from_value(default, name).copy() if reduce == "overwrite" and default is not None else None
        self.id = id
        self.name = name

    @property
    def curr_value(self) -> Any:
        """The value given since the last evaluation; None if there is none. Before the first evaluation, the default."""
        if self.name in self._inbox:
            return self._inbox[self.name]
        return None if self._ahead.evaluated else self._default

    def set_input_value(self, value: Any) -> None:
        """Gives the port a number, a list or an array, which is copied. If the port's `reduce` is "add" or "multiply", further values and
        the values of edges are added or multiplied; if it is "overwrite", the value of an edge wins.
        """
        self._inbox[self.name] = self.joined(value)

    def joined(self, value):
        """The value, combined with the value that was given before. A list is an array."""
        if isinstance(value, (list, tuple, np.ndarray)):
            try:
                value = np.array(value)
            except ValueError as error:
                raise CallerError(f"the value of input port '{self.id}' makes no array: {error}") from None
        if self.name not in self._inbox:
            return value
        try:
            return self._join(self._inbox[self.name], value)
        except (TypeError, ValueError) as error:
            raise CallerError(f"the values of input port '{self.id}' do not go together: {error}") from None


class _Ahead:
    """A simulation that computes evaluations ahead, as long as they are requested with the same increment.

    `_begin` is the simulation before the computed rows, `_end` is the simulation after them. If a different evaluation is
    requested, the simulation is restarted from `_begin`, and the rows that were used are evaluated again.
    """

    def __init__(self, simulation, most):
        self._begin = self._end = simulation
        self._most = most
        self._rows = {}
        self._dt = None  # the increment of the rows
        self._used = self._count = 0  # the number of rows that were requested, and of all rows
        self._run = 0  # the number of consecutive evaluations requested with this increment

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
            except Exception:  # perhaps in an evaluation that is never requested
                simulation, count, self._run = begin.copy(), 1, 0
        if count == 1:
            rows = simulation.advance(1, 0.0 if dt is None else dt, inputs)
        self._begin, self._end, self._rows = begin, simulation, rows
        self._dt, self._used, self._count = dt if plain else None, 1, count
        self._run += 1

    def _now(self):
        """A copy of the simulation after the requested evaluations, so that an error leaves this object unchanged."""
        if self._used == self._count:
            return self._end.copy()
        simulation = self._begin.copy()
        simulation.advance(self._used, self._dt)
        return simulation

    def _next(self):
        row = sum(array[0].nbytes for array in self._rows.values())
        return int(max(1, min(self._run, self._most, _MOST_BYTES // max(row, 1))))


def _model(graph):
    return graph if isinstance(graph, Model) else load(graph)


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
    """The node and the item of "node.item". Names may contain dots."""
    node = max((node for node in model.nodes if name.startswith(node + ".")), key=len)
    return node, name[len(node) + 1 :]
