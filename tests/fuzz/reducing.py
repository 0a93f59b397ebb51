"""Shrinks a program with a fault to the smallest one that has a fault of the same kind."""

from __future__ import annotations

import copy
import time

import machine
import onnx

from . import pool, shrinking, ways
from .programs import Rejected, assembled
from .shrinking import graphs


def fault_of(data, feeds, exact, some_ways, seed):
    """(kind of the fault of a model, its text), or None; or None if the model does not run on the oracle."""
    program = runnable(onnx.ModelProto.FromString(data), feeds, exact, seed)
    fault = None if program is None else ways.check(program, some_ways)
    return None if fault is None else (fault.kind, str(fault))


def runnable(model, feeds, exact, seed):
    """The program of a model, or None if it does not run on the oracle."""
    try:
        return assembled(seed, model, feeds, exact)
    except Rejected:
        return None
    except Exception:  # an edit that makes no sense
        return None


def reduced(program, fault, seconds=60.0, same=None, log=lambda text: None):
    """A model and feeds that are no larger, with a fault of the same kind.

    same: whether the result of `fault_of` is the fault; by default, whether its kind is that of `fault`.
    """
    chosen = ["interpreted"] if fault.way == "interpreted" else ["interpreted", fault.way]
    same = same or (lambda found: found is not None and found[0] == fault.kind)
    end = time.monotonic() + seconds

    aside = pool.Aside(fault_of)

    def fails(model, feeds):
        if runnable(model, feeds, program.exact, program.seed) is None:
            return False
        state, found = aside(model.SerializeToString(), feeds, program.exact, chosen, program.seed)
        return same(found if state == "did" else (state, found))

    model, feeds = _copy(program.model), [copy.copy(c.feeds) for c in program.cases]
    try:
        if not fails(model, feeds):
            return model, feeds, False
        return *_smallest(model, feeds, fails, end, log), True
    finally:
        aside.close()


def _smallest(model, feeds, fails, end, log):
    # Nodes that nothing reads go with each edit, unless the fault lies in one of them.
    tidied = _applied(lambda copy, given: None, model, feeds, True)
    tidy = tidied is not None and fails(*tidied)
    failed_since = 0  # edits that were tried since the last one that was kept
    k = 0
    while time.monotonic() < end:
        edits = list(shrinking.edits(model, feeds, _seen(model, feeds)))
        if not tidy:
            edits += shrinking.removals(model)
        if failed_since >= len(edits):
            break
        least = shrinking.cost(model, feeds)
        for _ in range(len(edits)):
            smaller = _applied(edits[k % len(edits)], model, feeds, tidy)
            if smaller and shrinking.cost(*smaller) < least and fails(*smaller):
                model, feeds = smaller
                failed_since = 0
                log(f"{least[0]} nodes, {least[1]} bytes")
                break
            k, failed_since = k + 1, failed_since + 1
            if failed_since >= len(edits) or time.monotonic() > end:
                break
    return model, feeds


def _copy(model):
    return onnx.ModelProto.FromString(model.SerializeToString())


def _applied(edit, model, feeds, tidy):
    """The smaller model and feeds; None if the edit changes nothing or makes no sense."""
    smaller, given = _copy(model), [copy.copy(f) for f in feeds]
    try:
        edit(smaller, given)
        _tidied(smaller, given, tidy)
    except Exception:
        return None
    return smaller, given


def _tidied(model, feeds, nodes_too):
    """Removes initializers and inputs that nothing reads, and maybe nodes."""
    while True:
        read = {name for graph in graphs(model) for node in graph.node for name in node.input}
        read |= {output.name for graph in graphs(model) for output in graph.output}
        changed = False
        for graph in graphs(model):
            for k in reversed(range(len(graph.node))) if nodes_too else ():
                if read.isdisjoint(o for o in graph.node[k].output if o):
                    del graph.node[k]
                    changed = True
            for k in reversed(range(len(graph.initializer))):
                if graph.initializer[k].name not in read:
                    del graph.initializer[k]
        if not changed:
            break
    called = {node.op_type for graph in graphs(model) for node in graph.node} | {node.op_type for f in model.functions for node in f.node}
    for k in reversed(range(len(model.functions))):
        if model.functions[k].name not in called:
            del model.functions[k]
    for k in reversed(range(len(model.graph.input))):
        name = model.graph.input[k].name
        if name not in read:
            del model.graph.input[k]
            for given in feeds:
                given.pop(name, None)


class _Watched(machine.Machine):
    """Notes the first value of each name."""

    def __init__(self, functions, names):
        super().__init__(functions, most=60_000, largest=1 << 16)
        self.names = names

    def call(self, graph, outer, arguments, named=None):
        for name, value in (named or dict(zip(graph.inputs, arguments, strict=True))).items():
            self.names.setdefault(name, value)
        return super().call(graph, outer, arguments, named)

    def step(self, node, scope):
        super().step(node, scope)
        for name in node.outputs:
            if name:
                self.names.setdefault(name, scope.values[name])


def _seen(model, feeds):
    names = {}
    try:
        graph, functions = machine.read_model(model)
        _Watched(functions, names).run(graph, feeds[0])
    except Exception:  # what was seen until then is enough
        pass
    return names
