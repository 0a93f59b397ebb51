"""The shapes of stacks without trips (docs/loops.md, rule 3): as inferred, else as declared, else 0.

What is inferred for an item follows from the shapes of all that goes in, but not from values. The body is run once with
stand-ins: values of the right shapes, of which it is noted whether their elements are known. A result whose shape depends
on unknown elements has no certain shape. If its declaration does not have all extents either, or if the body cannot run for these
shapes, the machine notes that this run is `ambiguous`: how much is inferred is then a matter of how well.
"""

from __future__ import annotations

import numpy as np

from .faults import WrongProgram
from .ops import OPS

# Inputs whose elements say the shape of the result; None: all of them.
SHAPED_BY = {
    "Reshape": [1], "Expand": [1], "Tile": [1], "ConstantOfShape": [0], "Range": [0, 1, 2], "OneHot": [1], "Pad": [1, 3], "Slice": [1, 2, 3, 4],
    "TopK": [1], "NonZero": [0], "Compress": [1], "Unique": [0], "Squeeze": [1], "Unsqueeze": [1], "Split": [1],
    "ReduceSum": [1], "ReduceMax": [1], "ReduceMin": [1], "ReduceMean": [1], "ReduceProd": [1], "ReduceL1": [1], "ReduceSumSquare": [1], "Resize": [1, 2, 3],
}  # fmt: skip


RANKS_FROM_VALUES = {"SequenceAt", "ConcatFromSequence", "OptionalGetElement", "If", "Reshape", "Expand", "ConstantOfShape", "Tile"}


def may_lack_ranks(model):
    """Whether the rank of some value may be unknown until the model runs; only ranks that the model tells are inferred."""
    inputs = [i.type.tensor_type for i in model.graph.input if i.type.HasField("tensor_type")]
    if any(not t.HasField("shape") for t in inputs):
        return True

    def within(nodes):
        for node in nodes:
            if node.op_type in RANKS_FROM_VALUES or node.domain or (node.op_type == "Squeeze" and len(node.input) < 2):
                return True
            bodies = [a.g for a in node.attribute if a.HasField("g")]
            if any(not i.type.tensor_type.HasField("shape") for body in bodies for i in body.input) or any(within(body.node) for body in bodies):
                return True
        return False

    return within(model.graph.node)


class Certain:
    """A stand-in: a value of the right shape; `known`: its elements are the right ones, too."""

    __slots__ = ("known", "value")

    def __init__(self, value, known):
        self.value, self.known = value, known


def stacks(machine, body, scope, arguments, skipped, states, axes):
    """The empty stacks of a loop that makes no trip. skipped: outputs of the body before its states."""
    given = dict(zip(body.inputs, arguments, strict=True))
    failed = []
    names = begun = _certain(body, scope, given, failed)
    first = len(arguments) - states if skipped else 0  # of the states among the inputs
    while True:
        changing = [
            name for k, name in enumerate(body.inputs[first : first + states])
            if names[name] is not None and not _same(names[name], _look(names, scope, body.outputs[skipped + k]))
        ]  # fmt: skip
        if not changing:
            break
        given.update(dict.fromkeys(changing))  # these may change their shape
        names = _certain(body, scope, given, failed)
    made = []
    for k, axis in enumerate(axes):
        position = skipped + states + k
        found, (dtype, shape) = _look(names, scope, body.outputs[position]), body.declared[position]
        complete = shape is not None and None not in shape
        if found is not None and (not machine.unranked or complete):
            if machine.unranked and found.value.shape != tuple(shape):
                machine.ambiguous.append(body)  # where the rank is not inferred, it is as declared
            dtype, shape = found.value.dtype, found.value.shape
        elif shape is None or None in shape:
            machine.ambiguous.append(body)
            dtype = dtype or (found.value.dtype if found else None)
            shape = [] if shape is None else [e or 0 for e in shape]
        elif found is None:
            machine.presumed.append(body)
            better = _look(_certain(body, scope, given, failed, captures_known=True), scope, body.outputs[position])
            others = [x.value.shape for x in (better, _look(begun, scope, body.outputs[position])) if x is not None]
            if failed or _follows_from_control(body, body.outputs[position]) or any(other != tuple(shape) for other in others):
                # Captured constants, an inner loop, or those extents of a state that its trips keep may tell another shape than the declaration.
                machine.ambiguous.append(body)
        if dtype is None:
            raise WrongProgram("a stack without trips of an unknown dtype")
        extents = list(shape)
        extents.insert(axis if axis >= 0 else axis + len(extents) + 1, 0)
        made.append(np.zeros(extents, dtype))
    return made


def _certain(body, scope, given, failed, captures_known=False):
    """The stand-ins of all names of a body; nodes that cannot run with theirs join `failed`. captures_known: as if all that it captures were constants."""
    names = {name: None if isinstance(x, list) or x is None else Certain(x, False) for name, x in given.items()}
    _run(body, scope, names, failed, captures_known)
    return names


def _follows_from_control(graph, name):
    """Whether a value of the graph is made of what a loop or an `If` in it gives: of these, no stand-ins are made."""
    makers = {output: node for node in graph.steps for output in node.outputs}
    seen, left = set(), [name]
    while left:
        node = makers.get(left.pop())
        if node is None or id(node) in seen:
            continue
        if node.op in ("Loop", "Scan", "If"):
            return True
        seen.add(id(node))
        left.extend(node.inputs)
    return False


def _same(a, b):
    return b is not None and a.value.shape == b.value.shape


def _look(names, scope, name, known=False):
    """The stand-in of a name: of the body, or of what it captures; known: whose elements count as known."""
    if name in names:
        return names[name]
    try:
        value = scope[name]
    except KeyError:
        return None
    return None if isinstance(value, list) or value is None else Certain(value, known)


def _run(graph, scope, names, failed, captures_known):
    """Adds the stand-ins of all nodes of a graph."""
    names.update({name: Certain(value, True) for name, value in graph.known.items()})
    for node in graph.steps:
        inputs = [_look(names, scope, name, captures_known) if name else Certain(None, True) for name in node.inputs]
        made = _node(node, inputs, failed) if None not in inputs else None
        for k, name in enumerate(node.outputs):
            names[name] = made[k] if made else None


def _node(node, inputs, failed):
    """The stand-ins of the results of a node; None if their shapes are not certain."""
    if node.domain or node.op not in OPS or node.op.startswith(("Sequence", "Optional", "SplitTo", "ConcatFrom")):
        return None
    if not all(inputs[k].known for k in SHAPED_BY.get(node.op, []) if k < len(inputs)):
        return None
    known = all(x.known for x in inputs) or node.op in ("Shape", "Size")
    values = [x.value if x.known or x.value is None else _blank(x.value) for x in inputs]
    if node.op in ("Div", "Mod") and not inputs[1].known:
        values[1] = np.ones_like(values[1])
    try:
        made = OPS[node.op]({**node.attributes, "outputs": len(node.outputs)}, *values)
    except Exception:  # whatever cannot run with stand-ins
        failed.append(node)
        return None
    made = made if isinstance(made, list) else [made]
    return [Certain(np.asarray(x, object if isinstance(x, str) else None), known) for x in made]


def _blank(x):
    return np.full(x.shape, "", object) if x.dtype == object else np.zeros_like(x)
