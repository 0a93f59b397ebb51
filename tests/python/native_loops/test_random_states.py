"""Random loops of some states whose extents change: slices of what a trip makes, in `If`s and inner loops, and values that are more than one
next state. Their plans are proved, and in check mode the bits are those of the interpreter. `RONDEL_STATE_PROGRAMS` sets the number of
programs, `RONDEL_SEED` the first seed.
"""

import os
import random

import numpy as np
import pytest
from models import model, run_as

import rondel

COUNT = int(os.environ.get("RONDEL_STATE_PROGRAMS", "150"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 25
CONSTANTS = (
    "int64[1] zero = {0}, int64[1] one = {1}, int64[1] minus = {-1}, int64[1] three = {3}, int64[1] much = {1000}, float half = {0.5}, "
    "int64 trips = {3}, int64 inner_trips = {2}"
)


class Program:
    """The text of a loop; all values are matrices of any extents, zero among them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0
        states = [f"p{k}" for k in range(self.random.choice([1, 2, 2, 3]))]
        lines, values = self._nodes([*states, *self.random.choice([[], ["captured"]])], 0, self.random.randint(2, 7))
        following = [self.random.choice(values[-6:]) for _ in states]
        ends = []
        for k, value in enumerate(following):  # an output has a name of its own
            ends.append(f"n{k}")
            lines.append(f"n{k} = Identity ({value})")
        lines.append(f"item = ReduceSum <keepdims = 0> ({self.random.choice(values)})")
        whole = ", ".join(f"float[?, ?] {name}" for name in states)
        next_states = ", ".join(f"float[?, ?] {name}" for name in ends)
        begin = ", ".join(f"x{k}" for k in range(len(states)))
        final = ", ".join(f"y{k}" for k in range(len(states)))
        inputs = ", ".join(f"float[{self.random.choice(['N, M', 'N, 6', '?, ?'])}] x{k}" for k in range(len(states)))
        self.states = len(states)
        self.text = f"""
main ({inputs}, float[?, ?] captured, int64[1] some) => ({", ".join(f"float[?, ?] y{k}" for k in range(len(states)))}, float[?] sums) <{CONSTANTS}> {{
  {final}, sums = Loop (trips, , {begin}) <body = step (int64 i, bool go, {whole}) => (bool on, {next_states}, float item) {{
    on = Identity (go)
    {" ".join(lines)}
  }}>
}}"""

    def _name(self, kind="v"):
        self.names += 1
        return f"{kind}{self.names}"

    def _nodes(self, known, depth, count):
        """Lines, and the values that are known after them."""
        lines, values = [], list(known)
        for _ in range(count):
            x, to = self.random.choice(values[-4:] if self.random.random() < 0.7 else values), self._name()
            kind = self.random.choice(["begin", "begin", "begin", "part", "one", "half", "concat", "rows", "softmax", "if", "loop"])
            axis = self.random.choice(["zero", "one"])
            if kind == "begin":
                lines.append(f"{to} = Slice ({x}, zero, minus, {axis})")
            elif kind == "part":
                lines.append(f"{to} = Slice ({x}, zero, {self.random.choice(['three', 'some', 'much'])}, {axis})")
            elif kind == "concat":
                lines.append(f"{to} = Concat <axis = {self.random.randrange(2)}> ({x}, {x})")
            elif kind == "rows":
                lines.append(f"{to}s = ReduceSum ({x}, {axis}) {to} = Sub ({x}, {to}s)")
            elif kind == "softmax":
                lines.append(f"{to} = Softmax ({x})")
            elif kind == "if" and depth < 2:
                lines.append(self._branches(x, to, values, depth))
            elif kind == "loop" and depth < 2:
                lines.append(self._inner_loop(x, to, values, depth))
            else:
                lines.append(f"{to} = Mul ({x}, half)" if kind == "half" else f"{to} = {self.random.choice(['Neg', 'Abs'])} ({x})")
            values.append(to)
        return lines, values

    def _region(self, values, depth):
        """Lines of a region, and its result."""
        lines, inside = self._nodes(values, depth + 1, self.random.randint(1, 3))
        result = self._name()
        return " ".join([*lines, f"{result} = Identity ({inside[-1]})"]), result

    def _branches(self, x, to, values, depth):
        then, first = self._region(values, depth)
        otherwise, second = self._region(values, depth)
        return (
            f"{to}s = ReduceSum <keepdims = 0> ({x}) {to}c = Greater ({to}s, half) {to} = If ({to}c) "
            f"<then_branch = {to}t () => (float[?, ?] {first}) {{ {then} }}, else_branch = {to}e () => (float[?, ?] {second}) {{ {otherwise} }}>"
        )

    def _inner_loop(self, x, to, values, depth):
        state = self._name("s")
        body, following = self._region([*values, state], depth)
        return (
            f"{to} = Loop (inner_trips, , {x}) <body = {to}b (int64 {to}i, bool {to}g, float[?, ?] {state}) => (bool {to}o, float[?, ?] {following}) "
            f"{{ {to}o = Identity ({to}g) {body} }}>"
        )

    def feeds(self, rows, columns):
        draw = np.random.default_rng(self.random.randrange(2**32))
        arrays = {name: draw.integers(-3, 4, (rows, columns)).astype(np.float32) for name in [*(f"x{k}" for k in range(self.states)), "captured"]}
        return arrays | {"some": np.array([self.random.randint(1, 5)])}


def outcomes(source, feeds):
    """What each run gives: the bits of its results, or that it fails."""
    session = rondel.InferenceSession(source)
    found = []
    for each in feeds:
        try:
            found.append([(a.shape, a.tobytes()) for a in session.run(None, each)])
        except rondel.CallerError:
            found.append("refused")
    return found


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_bits_are_those_of_the_interpreter(first, monkeypatch):
    monkeypatch.setenv("RONDEL_VERIFY", "1")
    for seed in range(first, min(first + CHUNK, FIRST + COUNT)):
        program = Program(seed)
        source = model(program.text).SerializeToString()
        feeds = [program.feeds(6, 6), program.feeds(3, 6), program.feeds(1, 6)]
        feeds = [feeds[k] for k in (0, 0, 0, 1, 2, 0)]
        run_as(monkeypatch, "0")
        want = outcomes(source, feeds)
        for way in ["quick", "checked"] + ["2"] * (seed % 10 == 0):
            run_as(monkeypatch, way)
            assert outcomes(source, feeds) == want, f"seed {seed}, {way}: {program.text}"
