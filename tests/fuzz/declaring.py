"""What the file says about shapes: never more than is true in the runs of the program, often less.

The program runs on the oracle for each set of feeds; the shapes of each body's inputs and outputs are noted over all trips.
An extent that was always the same may be declared as a number. Names are not used twice, but for those of the model's inputs.
"""

from __future__ import annotations

import machine
from onnx import AttributeProto, TypeProto, helper, numpy_helper

from .values import ELEMENT_TYPES

ROUNDS = 4
MOST_STEPS, LARGEST = 60_000, 1 << 16  #: nodes of one run, elements of one tensor


def declared_model(writer, main, feeds):
    """The ModelProto of a program."""
    seen = _Seen()
    for given in feeds:
        _run(machine.Machine(writer.functions, most=MOST_STEPS, largest=LARGEST, watch=seen.note), main, given)
    chosen = _Declarations(writer, seen)
    for _ in range(ROUNDS):
        model = _model(writer, main, chosen)
        graph, functions = machine.read_model(model)
        again, certain = _Seen(), True
        for given in feeds:
            runner = machine.Machine(functions, most=MOST_STEPS, largest=LARGEST, watch=again.note)
            _run(runner, graph, given)
            for body in runner.ambiguous:
                certain = chosen.say_more(body.name) and certain
        if not chosen.correct(again) and certain:
            break
    return model


def _run(runner, graph, given):
    try:
        runner.run(graph, given)
    except machine.WrongProgram:
        pass  # what was seen until then counts


class _Seen:
    """The shapes that each place had: (graph, "in" or "out", position) -> set of shapes."""

    def __init__(self):
        self.shapes = {}

    def note(self, graph, arguments, results):
        for side, values in (("in", arguments), ("out", results)):
            for k, value in enumerate(values):
                if value is not None and not isinstance(value, list):
                    self.shapes.setdefault((graph.name, side, k), set()).add(value.shape)


class _Declarations:
    """The declared shape of each place: a list of numbers, names and None; or None for no shape at all."""

    def __init__(self, writer, seen):
        self.writer, self.seen, self.places, self.samples = writer, seen, {}, {}
        self.uncertain = set()  # places that no run has reached, where other trips may have other shapes
        self.names = 0

    def shape(self, place, value, dims=None):
        """The shape to declare of a value at a place. dims: for inputs of the model, numbers and names."""
        if place not in self.places:
            self.places[place] = self._drawn(place, value, dims)
        return self.places[place]

    def _drawn(self, place, value, dims):
        rng = self.writer.random
        how = rng.choices(["numbers", "names", "unknown", "none"], self.writer.mood.declared)[0]
        shapes = self._shapes(place)
        if len({len(s) for s in shapes}) > 1 or (value.unranked and dims is None) or how == "none":
            return None
        extents = [{s[k] for s in shapes} for k in range(len(next(iter(shapes))))]
        fixed = [e.pop() if len(e) == 1 and place not in self.uncertain else None for e in extents]
        if dims is not None:
            fixed = [d if isinstance(d, int) else None for d in dims]
        if how == "unknown":
            return [None if rng.random() < 0.9 else e for e in fixed]
        if how == "names":
            return [d if isinstance(d, str) else self._name() for d in dims] if dims is not None else [self._name() for _ in fixed]
        named = dims or [None] * len(fixed)
        return [e if e is not None else d if isinstance(d, str) and rng.random() < 0.5 else None for e, d in zip(fixed, named, strict=True)]

    def _shapes(self, place):
        """The shapes that were seen, and those of a first trip, which a loop without trips does not make."""
        return self.seen.shapes.get(place, set()) | self.samples.get(place, set())

    def _name(self):
        self.names += 1
        return f"d{self.names}"

    def say_more(self, name):
        """Declares all extents of the outputs of a body as far as they are certain; False if something changed."""
        done = True
        for place in [p for p in self.places if p[0] == name and p[1] == "out"]:
            shapes = self._shapes(place)
            if len(shapes) == 1 and place not in self.uncertain and self.places[place] != list(next(iter(shapes))):
                self.places[place] = list(next(iter(shapes)))
                done = False
        return done

    def correct(self, seen):
        """Takes back what is not true of the shapes seen; whether something was."""
        changed = False
        for place, shapes in seen.shapes.items():
            said = self.places.get(place)
            if said is None:
                continue
            if any(len(s) != len(said) for s in shapes):
                self.places[place], changed = None, True
                continue
            right = [e if not isinstance(e, int) or all(s[k] == e for s in shapes) else None for k, e in enumerate(said)]
            changed |= right != said
            self.places[place] = right
        return changed


# ---- writing ------------------------------------------------------------------------------------------------


def _model(writer, main, chosen):
    opsets = [helper.make_opsetid("", writer.mood.opset)]
    functions = []
    if writer.functions:
        opsets.append(helper.make_opsetid("local", 1))
        functions = [_function(body, opsets, chosen) for body in writer.functions.values()]
    graph = _graph(main, chosen, writer.dims)
    ir = max(8, helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=ir)


def _function(body, opsets, chosen):
    nodes = [_node(n, chosen) for n in body.nodes]
    return helper.make_function("local", body.name, body.inputs, body.outputs, nodes, opsets)


def _graph(body, chosen, dims=None):
    dims = dims or {}
    inputs, outputs = (
        [_info(v, (body.name, side, k), chosen, dims.get(v.name)) for k, v in enumerate(values)]
        for side, values in (("in", body.input_values), ("out", body.output_values))
    )
    constants = [numpy_helper.from_array(a, name) for name, a in body.constants.items()]
    return helper.make_graph([_node(n, chosen) for n in body.nodes], body.name, inputs, outputs, constants)


def _info(value, place, chosen, dims):
    element = ELEMENT_TYPES[value.dtype]
    if value.kind in ("tensor", "limit"):
        chosen.samples.setdefault(place, {value.samples[k].shape for k in chosen.writer.alive})
        if value.wobble and place not in chosen.seen.shapes:
            chosen.uncertain.add(place)
        return helper.make_tensor_value_info(value.name, element, chosen.shape(place, value, dims))
    kind = helper.make_tensor_type_proto(element, value.items if place[0].startswith("main") else None)
    if value.kind in ("seq", "optseq"):
        kind = helper.make_sequence_type_proto(kind)
    if value.kind in ("opt", "optseq"):
        kind = helper.make_optional_type_proto(kind)
    return helper.make_value_info(value.name, TypeProto.FromString(kind.SerializeToString()))


def _node(node, chosen):
    attributes = {}
    for name, value in node.attributes.items():
        if isinstance(value, machine.Graph):
            value = _graph(value, chosen)
        elif hasattr(value, "dtype"):
            value = numpy_helper.from_array(value)
        attributes[name] = value
    made = helper.make_node(node.op, node.inputs, node.outputs, domain=node.domain or None)
    for name, value in sorted(attributes.items()):
        empty = {"attr_type": AttributeProto.INTS} if isinstance(value, list) and not value else {}
        made.attribute.append(helper.make_attribute(name, value, **empty))
    return made
