"""Loops with an `If` that every trip decides alike, which is decided before them: random models, beside Python, in all ways to run them."""

import itertools
import os
import random

import numpy as np
import onnx
import pytest
import rondel
from models import agree, model, run_as

COUNT = 40
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
STEPS = {"Neg ({})": lambda x, _: -x, "Add ({}, k)": lambda x, k: x + k, "Mul ({}, k)": lambda x, k: x * k, "Max ({}, k)": lambda x, k: np.maximum(x, k)}


class Case:
    """A loop that changes its state in steps: some always, some as a condition says, `c` and `d` from outside or `odd` of the trip."""

    def __init__(self, seed):
        rng, numbers = random.Random(seed), np.random.default_rng(seed)
        self.names = itertools.count()
        self.kind, shape = rng.choice([("float", ()), ("float[5]", (5,)), ("float[T]", (3,))])
        self.limited, self.inner = rng.random() < 0.5, rng.random() < 0.3
        self.steps = self.draw(rng, 2)
        self.steps.insert(rng.randrange(len(self.steps) + 1), ("c", self.draw(rng, 1), self.draw(rng, 1)))
        self.feeds = {"x": numbers.integers(-3, 4, shape).astype("f"), "k": numbers.integers(-2, 3, shape).astype("f")}
        self.limits = [(np.int64(n), np.int64(rng.randrange(n + 1))) for n in (0, 1, 4)]

    def draw(self, rng, depth):
        """Steps: (the text of a node,), or (condition, steps, steps)."""
        some = [(rng.choice(list(STEPS)),) for _ in range(rng.randrange(1, 3))]
        if depth > 0 and rng.random() < 0.7:
            some.append((rng.choice(["c", "d", "odd"]), self.draw(rng, depth - 1), self.draw(rng, depth - 1)))
        return some

    def nodes(self, steps, value):
        """The text of the steps, and the name of what they give."""
        text = ""
        for step in steps:
            made = f"v{next(self.names)}"
            if len(step) == 1:
                text += f"  {made} = {step[0].format(value)}"
            else:
                branches = [self.nodes(s, value) for s in step[1:]]
                bodies = [f"{b}{made} () => ({self.kind} {result}) {{ {body} }}" for b, (body, result) in zip("te", branches, strict=True)]
                text += f"  {made} = If ({step[0]}) <then_branch = {bodies[0]}, else_branch = {bodies[1]}>"
            value = made
        return text, value

    def text(self):
        body, result = self.nodes(self.steps, "s")
        if self.inner:
            body += f"""  w = Loop (two, "", {result}) <body = g (int64 j, bool on, {self.kind} u) => (bool on1, {self.kind} u1) {{
                on1 = Identity (on)  u1 = If (d) <then_branch = h () => ({self.kind} p) {{ p = Neg (u) }}, else_branch = i () => ({self.kind} q) {{ q = Add (u, k) }}> }}>"""
            result = "w"
        go = "go0" if self.limited else '""'
        return f"""main ({self.kind} x, {self.kind} k, bool c, bool d, int64 n, int64 end) => (float[] last, float[] all) <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}> {{
            go0 = Less (zero, end)
            last, all = Loop (n, {go}, x) <body = f (int64 i, bool go, {self.kind} s) => (bool on, {self.kind} t, {self.kind} y) {{
              m = Mod (i, two)  odd = Equal (m, one)  e = Add (i, one)  on = Less (e, end) {body}  t = Identity ({result})  y = Identity ({result}) }}> }}"""

    def walk(self, steps, value, conditions):
        for step in steps:
            value = STEPS[step[0]](value, self.feeds["k"]) if len(step) == 1 else self.walk(step[1 if conditions[step[0]] else 2], value, conditions)
        return value

    def want(self, feeds):
        s, items = self.feeds["x"], []
        for i in range(feeds["end"] if self.limited else feeds["n"]):
            s = self.walk(self.steps, s, {"c": feeds["c"], "d": feeds["d"], "odd": i % 2 == 1})
            for _ in range(2 * self.inner):
                s = -s if feeds["d"] else s + self.feeds["k"]
            items.append(s)
        return [s, np.stack(items) if items else np.zeros((0, *s.shape), "f")]


def decided_in_loops(made):
    """The conditions from outside of all loops that the compiled model decides by in loops."""

    def find(graph, inside):
        for node in graph.node:
            if node.op_type == "If" and inside and node.input[0] in ("c", "d"):
                yield node.input[0]
            for a in node.attribute:
                if a.HasField("g"):
                    yield from find(a.g, inside or node.op_type in ("Loop", "Scan"))

    return list(find(onnx.load_from_string(rondel.export(made.SerializeToString(), compiled=True)).graph, False))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_results_are_those_of_the_loop(seed, monkeypatch):
    case = Case(seed)
    made = model(case.text())
    assert decided_in_loops(made) == []
    for way in ("0", "quick", "2", "checked"):
        run_as(monkeypatch, way)
        for level in (0, 99):
            options = rondel.SessionOptions()
            options.graph_optimization_level = level
            session = rondel.InferenceSession(made.SerializeToString(), options)
            for c, d, (n, end) in itertools.product([False, True], [False, True], case.limits):
                feeds = case.feeds | {"c": np.array(c), "d": np.array(d), "n": n, "end": end}
                agree(session.run(None, feeds), [np.asarray(a) for a in case.want(feeds)])
