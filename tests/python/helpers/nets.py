"""Shorthands for tests that build networks: `net.add(a, b)` instead of a longer call of the builder.

Every network runs in three ways, which must agree bit for bit: as generated code, interpreted, and as the lazy sequences
of the formal semantics.
"""

from __future__ import annotations

import lazy_sequences
import numpy as np
from models import agree, interpreter, same

from rondel import network as trt
from rondel.network import ActivationType, DataType, ElementWiseOperation, LoopOutput, Network, ReduceOperation, TripLimit, UnaryOperation

I64, I32, F32, BOOL = DataType.INT64, DataType.INT32, DataType.FLOAT, DataType.BOOL


class Net:
    def __init__(self):
        self.network = Network()

    def input(self, name, shape=(), dtype=F32):
        return self.network.add_input(name, dtype, shape)

    def constant(self, value, dtype=None):
        array = np.asarray(value) if dtype is None else np.asarray(value, trt.nptype(dtype))
        return self.network.add_constant(array.shape, array).get_output(0)

    def f32(self, value):
        return self.constant(value, F32)

    def i64(self, value):
        return self.constant(value, I64)

    def op(self, a, b, name):
        return self.network.add_elementwise(a, b, getattr(ElementWiseOperation, name)).get_output(0)

    def add(self, a, b):
        return self.op(a, b, "SUM")

    def mul(self, a, b):
        return self.op(a, b, "PROD")

    def less(self, a, b):
        return self.op(a, b, "LESS")

    def unary(self, a, name):
        return self.network.add_unary(a, getattr(UnaryOperation, name)).get_output(0)

    def relu(self, a):
        return self.network.add_activation(a, ActivationType.RELU).get_output(0)

    def shape(self, a):
        return self.network.add_shape(a).get_output(0)

    def reshaped(self, a, shape):
        layer = self.network.add_shuffle(a)
        layer.reshape_dims = shape
        return layer.get_output(0)

    def sliced(self, a, start, size):
        return self.network.add_slice(a, start, size, (1,) * len(start)).get_output(0)

    def reduced(self, a, how=ReduceOperation.PROD):
        """The reduction over all axes, as a scalar."""
        return self.network.add_reduce(a, how, (1 << len(a.shape)) - 1, False).get_output(0)

    def cast(self, a, dtype):
        return self.network.add_cast(a, dtype).get_output(0)

    def gather(self, a, index, axis=0):
        return self.network.add_gather(a, index, axis).get_output(0)

    def loop(self, count=None, name=None):
        """A loop; count: the number of trips, as an int or a tensor."""
        loop = self.network.add_loop()
        if name:
            loop.name = name
        if count is not None:
            loop.add_trip_limit(self.i64(count) if isinstance(count, int) else count, TripLimit.COUNT)
        return loop

    def recurrence(self, loop, initial, following=None):
        """The recurrence's tensor; following: a function from this tensor to its next value."""
        layer = loop.add_recurrence(initial)
        if following is not None:
            layer.set_input(1, following(layer.get_output(0)))
        return layer.get_output(0)

    def counter(self, loop, dtype=I64):
        """A recurrence of the values 0, 1, 2, ..."""
        return self.recurrence(loop, self.constant(0, dtype), lambda i: self.add(i, self.constant(1, dtype)))

    def go_while(self, loop, tensor):
        return loop.add_trip_limit(tensor, TripLimit.WHILE)

    def last(self, loop, tensor):
        return self.mark(loop.add_loop_output(tensor, LoopOutput.LAST_VALUE).get_output(0))

    def joined(self, loop, tensor, axis=0, length=None, kind=LoopOutput.CONCATENATE):
        layer = loop.add_loop_output(tensor, kind, axis)
        if length is not None:
            layer.set_input(1, self.i64(length) if isinstance(length, int) else length)
        return self.mark(layer.get_output(0))

    def reversed(self, loop, tensor, axis=0, length=None):
        return self.joined(loop, tensor, axis, length, LoopOutput.REVERSE)

    def mark(self, tensor):
        self.network.mark_output(tensor)
        return tensor

    def run(self, feeds=None, oracle=True):
        """The outputs; `oracle`: compare them with the formal semantics, too."""
        feeds = feeds or {}
        native = self.network.build_session().run(None, feeds)
        agree(native, self.network.build_session(interpreter()).run(None, feeds))
        if oracle:
            ports = {self.network.get_input(k).name: self.network.get_input(k) for k in range(self.network.num_inputs)}
            arrays = {name: np.asarray(x, trt.nptype(ports[name].dtype)) for name, x in feeds.items()}
            for got, want in zip(native, lazy_sequences.evaluate(self.network, arrays), strict=True):
                same(got, want)
        return native

    def run_one(self, feeds=None, oracle=True):
        (only,) = self.run(feeds, oracle)
        return only
