"""The formal semantics of a network's loops, evaluated as it is written: every tensor is a lazy sequence.

A tensor inside a loop is the sequence x0, x1, x2, ...; inside nested loops it is a sequence of sequences. So an element
has one index per loop that encloses the tensor. An element is computed when it is first needed, and then memoized. There
are no bodies, captures, order or nesting here: an element evaluates the elements that it depends on, nothing else.

- an iterator's element i is x[i] along its axis (reversed: x[m-1-i], where m is the count, or the axis' extent if there is none);
- a recurrence is x, y0, y1, y2, ...;
- any other layer is its function, element by element; a value from outside the loop repeats;
- a loop makes n trips: its count, or the least n for which x_n of its while limit is false, whichever is less;
- a last value is x_n; a concatenation is x_0 ... x_(n-1), then zeros up to its length; a length below n is an error;
- of a conditional's two inputs, only the one that the condition selects is evaluated.
"""

from __future__ import annotations

import layer_functions
import numpy as np

from rondel import network as trt


class SequenceError(Exception):
    """A run-time error of the formal semantics."""


def evaluate(network, feeds):
    """The marked outputs as arrays, in their order. An extent is 0 if no trip determined it."""
    sequences = Sequences(network, feeds)
    with np.errstate(all="ignore"):
        return [sequences.element(network.get_output(k)) for k in range(network.num_outputs)]


class Sequences:
    def __init__(self, network, feeds):
        self.layers = list(network)
        self.feeds = {network.get_input(k): np.asarray(feeds[network.get_input(k).name]) for k in range(network.num_inputs)}
        self.maker = {layer.get_output(k): (layer, k) for layer in self.layers for k in range(layer.num_outputs)}
        self.limits = {}
        self.conditions = {}
        for layer in self.layers:
            if isinstance(layer, trt.ITripLimitLayer):
                self.limits.setdefault(layer.loop, {})[layer.kind] = layer.get_input(0)
            if isinstance(layer, trt.IConditionLayer):
                self.conditions[layer.conditional] = layer.get_input(0)
        self.inside = self.find_inside()
        self.kept = {}

    # ---- the loops that enclose a tensor -------------------------------------------------------------------

    def find_inside(self):
        """For each tensor, the loops whose trip index its elements depend on: the least fixed point over all layers."""
        inside = {t: frozenset() for t in [*self.feeds, *self.maker]}
        changed = True
        while changed:
            changed = False
            for layer in self.layers:
                loops = self.loops_of(layer, inside)
                for k in range(layer.num_outputs):
                    t = layer.get_output(k)
                    changed = changed or inside[t] != loops
                    inside[t] = loops
        return inside

    def loops_of(self, layer, inside):
        loops = frozenset().union(*(inside[t] for t in inputs_of(layer)))
        if isinstance(layer, trt.IIfConditionalOutputLayer):
            loops |= inside[self.conditions[layer.conditional]]
        if isinstance(layer, trt.ILoopBoundaryLayer):
            loops = loops.union(*(inside[t] for t in self.limits.get(layer.loop, {}).values()))
            loops = loops - {layer.loop} if isinstance(layer, trt.ILoopOutputLayer) else loops | {layer.loop}
        return loops

    # ---- elements ------------------------------------------------------------------------------------------

    def element(self, tensor, at=frozenset()):
        """The element of the tensor's sequence at these trips: a set of pairs of a loop and a trip."""
        if tensor in self.feeds:
            return self.feeds[tensor]
        layer, k = self.maker[tensor]
        key = (layer, frozenset(pair for pair in at if pair[0] in self.inside[tensor]))
        if key not in self.kept:
            self.kept[key] = self.compute(layer, key[1])
        return self.kept[key][k]

    def compute(self, layer, at):
        for kind, rule in RULES.items():
            if isinstance(layer, kind):
                return [rule(self, layer, at)]
        made = layer_functions.apply(layer, [self.element(t, at) for t in inputs_of(layer)])
        return made if isinstance(made, list) else [made]

    def iterator(self, layer, at):
        x = self.element(layer.get_input(0), at)
        trip = dict(at)[layer.loop]
        if layer.reverse:
            count = self.limits[layer.loop].get(trt.TripLimit.COUNT)
            extent = x.shape[layer.axis] if count is None else int(self.element(count, at))
            trip = extent - 1 - trip
        if not 0 <= trip < x.shape[layer.axis]:
            raise SequenceError(f"{layer.name} reads element {trip} of {x.shape[layer.axis]}")
        return np.take(x, trip, layer.axis)

    def recurrence(self, layer, at):
        trip = dict(at)[layer.loop]
        around = at - {(layer.loop, trip)}
        if trip == 0:
            return self.element(layer.get_input(0), around)
        return self.element(layer.get_input(1), around | {(layer.loop, trip - 1)})

    def trips(self, loop, at):
        """The number of trips n; `at` holds the trip indices of the enclosing loops."""
        key = (loop, at)
        if key not in self.kept:
            self.kept[key] = self.count_trips(self.limits[loop], loop, at)
        return self.kept[key]

    def count_trips(self, limits, loop, at):
        count, go = limits.get(trt.TripLimit.COUNT), limits.get(trt.TripLimit.WHILE)
        most = None if count is None else int(self.element(count, at))
        n = 0
        while (most is None or n < most) and (go is None or self.element(go, at | {(loop, n)})):
            n += 1
        return n

    def loop_output(self, layer, at):
        n, x = self.trips(layer.loop, at), layer.get_input(0)
        if layer.kind == trt.LoopOutput.LAST_VALUE:
            return self.element(x, at | {(layer.loop, n)})
        items = [self.element(x, at | {(layer.loop, trip)}) for trip in range(n)]
        if layer.kind == trt.LoopOutput.REVERSE:
            items.reverse()
        length = n
        if layer.num_inputs > 1 and layer.get_input(1) is not None:
            length = int(self.element(layer.get_input(1), at))
        if length < n:
            raise SequenceError(f"{layer.name}: length {length} is below the {n} trips")
        zero = np.zeros_like(items[0]) if items else np.zeros([max(0, e) for e in x.shape], trt.nptype(x.dtype))
        axis = layer.axis if layer.axis >= 0 else layer.axis + zero.ndim + 1
        if not length:
            return np.zeros([*zero.shape[:axis], 0, *zero.shape[axis:]], zero.dtype)
        return np.stack(items + [zero] * (length - n), axis)

    def condition(self, layer, at):
        return self.element(layer.get_input(0), at)

    def conditional_output(self, layer, at):
        taken = self.element(self.conditions[layer.conditional], at)
        return self.element(layer.get_input(0 if taken else 1), at)


def inputs_of(layer):
    found = (layer.get_input(k) for k in range(layer.num_inputs))
    return [t for t in found if t is not None]


RULES = {
    trt.IIteratorLayer: Sequences.iterator,
    trt.IRecurrenceLayer: Sequences.recurrence,
    trt.ILoopOutputLayer: Sequences.loop_output,
    trt.ITripLimitLayer: Sequences.condition,
    trt.IConditionLayer: Sequences.condition,
    trt.IIfConditionalInputLayer: Sequences.condition,
    trt.IIfConditionalOutputLayer: Sequences.conditional_output,
}
