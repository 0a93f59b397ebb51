"""Products that a loop only stacks, which are computed for all trips after it: random models, beside NumPy, in all ways to run them."""

import os
import random

import numpy as np
import onnx
import pytest
import rondel
from models import agree, model, run_as

COUNT = 80
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
NAMES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64}

# Each body adds an element `e` of x to its state h, and makes an item y of the sum. BODY: the nodes that make it.
SPELLINGS = {
    "scan": """last, all, sums = Scan <num_scan_inputs = 1, scan_output_axes = [AXIS, 0], scan_output_directions = [BACK, BACK],
        body = f (h, e) => (h1, y, hs) { h1 = Add (h, e)  BODY  hs = Identity (h1) }> (h0, x)""",
    "loop": """last, all, sums = Loop (n, "", h0) <body = f (int64 i, bool go, h) => (bool on, h1, y, hs) {
        on = Identity (go)  e = Gather (x, i)  h1 = Add (h, e)  BODY  hs = Identity (h1) }>""",
    "while": """go0 = Less (zeroth, end)  last, all, sums = Loop (n, go0, h0) <body = f (int64 i, bool go, h) => (bool on, h1, y, hs) {
        j = Add (i, one)  on = Less (j, end)  e = Gather (x, i)  h1 = Add (h, e)  BODY  hs = Identity (h1) }>""",
    "nested": """last, all, sums = Loop (two, "", h0) <body = g (int64 t, bool og, o) => (bool og1, o1, ys, hss) {
        og1 = Identity (og)  o1, ys, hss = Loop (n, "", o) <body = f (int64 i, bool go, h) => (bool on, h1, y, hs) {
          on = Identity (go)  e = Gather (x, i)  h1 = Add (h, e)  BODY  hs = Identity (h1) }> }>""",
}


class Case:
    """One model and its feeds. `sums`, the stack of h, is not always a result."""

    def __init__(self, seed):
        rng, numbers = random.Random(seed), np.random.default_rng(seed)
        self.spelling, self.dtype = rng.choice(list(SPELLINGS)), rng.choice(["float", "float", "double", "float16", "int64"])
        self.chained, self.biased, self.with_sums, self.known = (rng.random() < 0.5 for _ in range(4))
        self.normalised = self.dtype in ("float", "double") and rng.random() < 0.3
        trips, k, n, rows = rng.choice([0, 1, 2, 5]), rng.choice([16, 17]), rng.choice([16, 33]), rng.choice([None, 1, 3])
        self.ends = rng.randrange(trips + 1) if self.spelling == "while" else trips
        self.axis = rng.randrange(2 if rows is None else 3) if self.spelling == "scan" else 0
        self.back = self.spelling == "scan" and rng.random() < 0.4
        self.one = [k] if rows is None else [rows, k]
        draw = lambda *shape: numbers.integers(-2, 3, shape).astype(NAMES[self.dtype])  # noqa: E731
        self.feeds = {"x": draw(trips, *self.one), "w": draw(k, n), "v": draw(n, n), "b": draw(n), "h0": draw(*self.one)}
        self.feeds |= {"n": np.int64(trips), "end": np.int64(self.ends)}
        self.constants = f"{self.dtype} zero = {{0}}, int64 zeroth = {{0}}, int64 one = {{1}}, int64 two = {{2}}"
        if self.known:
            self.constants += f", int64 n = {{{self.feeds.pop('n')}}}"

    def item(self, h):
        y = h @ self.feeds["w"]
        if self.chained:
            y = np.maximum(y, 0) @ self.feeds["v"]
        y = y + self.feeds["b"] if self.biased else y
        if not self.normalised:
            return y
        e = np.exp(y - y.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def trips(self, h):
        """The last h, and what the loop stacks."""
        items, sums = [self.item(h)][:0], [h][:0]
        for x in self.feeds["x"][: self.ends]:
            h = h + x
            items.append(self.item(h))
            sums.append(h)
        stack = lambda rows, like: np.stack(rows[:: -1 if self.back else 1]) if rows else np.zeros((0, *like.shape), like.dtype)  # noqa: E731
        return h, np.moveaxis(stack(items, self.item(h)), 0, self.axis), stack(sums, h)

    def want(self):
        if self.spelling != "nested":
            return self.trips(self.feeds["h0"])
        first = self.trips(self.feeds["h0"])
        second = self.trips(first[0])
        return second[0], *(np.stack(pair) for pair in zip(first[1:], second[1:], strict=True))

    def text(self):
        body, y = "p = MatMul (h1, w)", "p"
        if self.chained:
            body, y = body + "  r = Max (p, zero)  q = MatMul (r, v)", "q"
        if self.biased:
            body, y = body + f"  a = Add ({y}, b)", "a"
        body += f"  y = Softmax ({y})" if self.normalised else f"  y = Identity ({y})"
        kinds = {name: f"int64 {name}" if value.ndim == 0 else f"{self.dtype}{list(value.shape)} {name}" for name, value in self.feeds.items()}
        if not self.known:
            kinds["x"] = f"{self.dtype}[{', '.join(['T', *map(str, self.one)])}] x"
        results = ", ".join(f"{self.dtype}[] {name}" for name in ["last", "all", *["sums"] * self.with_sums])
        loop = SPELLINGS[self.spelling].replace("AXIS", str(self.axis)).replace("BACK", str(int(self.back))).replace("BODY", body)
        return f"main ({', '.join(kinds.values())}) => ({results}) <{self.constants}> {{ {loop} }}"


def products_in_loops(made):
    """How many products the compiled model has in loops."""

    def count(graph, inside):
        bodies = [(a.g, node.op_type in ("Loop", "Scan")) for node in graph.node for a in node.attribute if a.HasField("g")]
        return sum(inside and node.op_type in ("MatMul", "Gemm") for node in graph.node) + sum(count(g, inside or loop) for g, loop in bodies)

    return count(onnx.load_from_string(rondel.export(made.SerializeToString(), compiled=True)).graph, False)


def results(made, feeds, level):
    options = rondel.SessionOptions()
    options.graph_optimization_level = level
    return rondel.InferenceSession(made.SerializeToString(), options).run(None, feeds)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_results_are_those_of_the_loop(seed, monkeypatch):
    case = Case(seed)
    made = model(case.text())
    stays = case.spelling == "nested" and not case.known  # how many rows an inner stack has is known late
    assert products_in_loops(made) == (1 + case.chained if stays else 0)
    outcomes = []
    for way in ("0", "quick", "2", "checked"):
        for level in (0, 99):
            run_as(monkeypatch, way)
            outcomes.append(results(made, case.feeds, level))
            agree(outcomes[-1], outcomes[0])
    for a, b in zip(outcomes[0], case.want(), strict=False):
        assert a.dtype == b.dtype
        if case.normalised:
            np.testing.assert_allclose(a, b, 1e-5)
        else:
            np.testing.assert_array_equal(a, b)
