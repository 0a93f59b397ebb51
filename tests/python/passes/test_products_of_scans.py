"""Products of what a loop scans, which are computed for all trips before it: random spellings, beside NumPy, in all ways to run them."""

import os
import random

import numpy as np
import onnx
import pytest
import rondel
from models import model, run_as

COUNT = 60
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
NAMES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64}


class Case:
    """One model, its feeds, and its results."""

    def __init__(self, seed):
        rng = random.Random(seed)
        numbers = np.random.default_rng(seed)
        self.dtype = rng.choice(["float", "float", "double", "float16", "int64"])
        trips, k, n = rng.choice([0, 1, 2, 5]), rng.choice([8, 16, 17]), rng.choice([32, 33])
        rows = rng.choice([None, 1, 3])
        self.chained, self.transposed = rng.random() < 0.3, rows is not None and self.dtype in ("float", "double") and rng.random() < 0.4
        self.spelling = rng.choice(["scan", "scan", "loop"])
        one = [k] if rows is None else [rows, k]
        self.axis = 0 if self.spelling == "loop" else rng.randrange(len(one) + 1)
        self.reverse = self.spelling == "scan" and rng.random() < 0.4
        self.known = rng.random() < 0.5
        draw = lambda *shape: numbers.integers(-2, 3, shape).astype(NAMES[self.dtype])  # noqa: E731
        xs, w, v = draw(trips, *one), draw(k, n), draw(n, n)
        state = np.zeros([n] if rows is None else [rows, n], NAMES[self.dtype])
        self.feeds = {"x": np.ascontiguousarray(np.moveaxis(xs, 0, self.axis)), "w": w.T.copy() if self.transposed else w, "v": v, "h": state}
        no_trip = trips == 0 and self.known and self.spelling == "loop"  # not written as a scan: other runtimes fail on empty ones
        self.products_before = 0 if no_trip else 1 + self.chained
        items = []
        for x in xs[::-1] if self.reverse else xs:
            p = x @ w
            if self.chained:
                p = np.maximum(p, 0) @ v
            state = np.maximum(state, p)
            items.append(state)
        self.want = [state, np.stack(items) if items else np.zeros((0, *state.shape), state.dtype)]

    def text(self):
        def info(name):
            extents = list(self.feeds[name].shape)
            if name == "x" and not self.known:
                extents[self.axis] = "T"
            return f"{self.dtype}[{', '.join(map(str, extents))}] {name}"

        element = list(self.feeds["x"].shape)
        del element[self.axis]
        e, h = f"{self.dtype}[{', '.join(map(str, element))}]", f"{self.dtype}[{', '.join(map(str, self.feeds['h'].shape))}]"
        product = "p = Gemm <transB = 1> (e, w)" if self.transposed else "p = MatMul (e, w)"
        last = "p"
        if self.chained:
            product, last = product + "  r = Max (p, zero)  q = MatMul (r, v)", "q"
        head = f"main ({', '.join(map(info, self.feeds))}) => ({h} last, {self.dtype}[?, ?{', ?' * (len(element) - 1)}] all) <{self.dtype} zero = {{0}}>"
        if self.spelling == "scan":
            loop = f"""last, all = Scan <num_scan_inputs = 1, scan_input_axes = [{self.axis}], scan_input_directions = [{int(self.reverse)}],
                body = b ({h} s, {e} e) => ({h} t, {h} y) {{ {product}  t = Max (s, {last})  y = Identity (t) }}> (h, x)"""
        else:
            loop = f"""shape = Shape <end = 1> (x)  n = Squeeze (shape)
              last, all = Loop (n, "", h) <body = b (int64 i, bool go, {h} s) => (bool on, {h} t, {h} y) {{
                on = Identity (go)  e = Gather (x, i)  {product}  t = Max (s, {last})  y = Identity (t) }}>"""
        return f"{head} {{ {loop} }}"


def products_before_loop(made):
    compiled = onnx.load_from_string(rondel.export(made.SerializeToString(), compiled=True))
    return sum(node.op_type == "MatMul" for node in compiled.graph.node)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_results_are_those_of_the_loop(seed, monkeypatch):
    case = Case(seed)
    made = model(case.text())
    assert products_before_loop(made) == case.products_before
    for jit in ("0", "quick", "2"):
        for level in (0, 99):
            run_as(monkeypatch, jit)
            options = rondel.SessionOptions()
            options.graph_optimization_level = level
            got = rondel.InferenceSession(made.SerializeToString(), options).run(None, case.feeds)
            for a, b in zip(got, case.want, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
