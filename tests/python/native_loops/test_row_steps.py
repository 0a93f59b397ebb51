"""Nodes that work on the same rows run as one nest: random programs of reductions of rows and of what makes and what reads the rows, as steps
and, every other one, in the body of a loop.

Each program runs with a step for every node, then with steps that share nests: interpreted, natively, in check mode, and with threads
that share every nest; the bits must agree. `RONDEL_ROW_PROGRAMS` sets the number of programs, `RONDEL_SEED` the first seed.
"""

import json
import os
import random

import numpy as np
import onnx
import pytest
from models import model, run_as
from onnx import helper

import rondel

COUNT = int(os.environ.get("RONDEL_ROW_PROGRAMS", "120"))
FIRST = int(os.environ.get("RONDEL_SEED", "0"))
CHUNK = 20
DTYPES = [(onnx.TensorProto.FLOAT, np.float32), (onnx.TensorProto.DOUBLE, np.float64), (onnx.TensorProto.FLOAT16, np.float16), (onnx.TensorProto.INT32, np.int32)]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
UNARY = ["Neg", "Abs", "Relu", "Identity"]
REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceSumSquare"]


class Rows:
    """A program: values of the shapes rows x elements, rows x 1, and some that are broadcast to them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype, self.numpy = self.random.choices(DTYPES, [6, 2, 1, 2])[0]
        self.leading = self.random.choice([1, 1, 1, 2, 0])
        self.trailing = self.random.choice([1, 1, 1, 2])
        rank = self.leading + self.trailing
        self.declared = self.random.choice(["names", "names", "numbers", "numbers or nothing"])
        self.shapes = [self._shape(rank) for _ in range(2 if self.declared == "names" else 1)]
        self.nodes, self.values, self.kinds, self.inputs = [], [], {}, []
        self.axes = helper.make_tensor("axes", onnx.TensorProto.INT64, [self.trailing], list(range(self.leading, rank)))
        self._grow()

    def _shape(self, rank):
        extents = [0, 1, 1, 2, 3, 5, 17, 64, 70] if rank > 2 else [0, 1, 2, 3, 7, 16, 17, 63, 64, 65, 100, 130, 200]
        return [self.random.choice(extents) for _ in range(rank)]

    def _shape_of(self, kind, shape):
        ones = [1] * self.trailing
        return {"elements": shape, "rows": shape[: self.leading] + ones, "row": shape[self.leading :], "one": [1]}[kind]

    def _input(self, kind):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, kind))
        self.kinds[name] = kind
        return name

    def _add(self, op, inputs, kind, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        self.kinds[name] = kind
        self.values.append(name)
        return name

    def _pick(self, kinds):
        """A value of one of these kinds, a late one more often; sometimes a new input."""
        known = [v for v in self.values if self.kinds[v] in kinds]
        if known and self.random.random() < 0.85:
            return known[max(self.random.randrange(len(known)), self.random.randrange(len(known)))]
        return self._input(self.random.choice(kinds))

    def _convert(self, kind):
        """A value of another dtype in between: the place of a greatest element, or a cast."""
        if kind == "rows" and self.trailing == 1 and 0 not in [shape[-1] for shape in self.shapes]:
            between = self._add("ArgMax", [self._pick(["elements"])], "rows", axis=-1, keepdims=1)
        else:
            between = self._add("Cast", [self._pick([kind])], kind, to=onnx.TensorProto.DOUBLE)
        self.values.remove(between)
        self._add("Cast", [between], kind, to=self.dtype)

    def _grow(self):
        draw = self.random
        # A value of the graph that nothing else reads can be written over.
        self._add("Identity" if draw.random() < 0.5 else "Neg", [self._input("elements")], "elements")
        if draw.random() < 0.5:
            self._add("CumSum", [self.values[-1], "zero"], "elements") if self.numpy != np.float16 else None
        for _ in range(draw.randrange(3, 16)):
            choice = draw.random()
            if choice < 0.3:
                self._add(draw.choice(REDUCTIONS), [self._pick(["elements"]), "axes"], "rows", keepdims=1)
            elif choice < 0.45:
                kind = draw.choice(["elements", "rows"])
                self._add(draw.choice(UNARY), [self._pick([kind])], kind)
            elif choice < 0.5:
                self._convert(draw.choice(["elements", "rows"]))
            elif choice < 0.6:
                self._add(draw.choice(BINARY), [self._pick(["rows"]), self._pick(["rows", "one"])], "rows")
            else:
                pair = [self._pick(["elements"]), self._pick(["elements", "rows", "rows", "row", "one"])]
                draw.shuffle(pair)
                self._add(draw.choice(BINARY), pair, "elements")
        outputs = {self.values[-1], *(v for v in self.values if draw.random() < 0.15)}
        read = {name for node in self.nodes for name in node.input}
        self.outputs = [v for v in self.values if v in outputs or (v not in read and draw.random() < 0.7)]

    def _declared(self, kind):
        if self.declared == "names":
            return self._shape_of(kind, [f"e{k}" for k in range(len(self.shapes[0]))])
        shape = self._shape_of(kind, self.shapes[0])
        return shape if self.declared == "numbers" else [self.random.choice([extent, extent, None]) for extent in shape]

    def model(self, looped):
        inputs = [helper.make_tensor_value_info(name, self.dtype, self._declared(kind)) for name, kind in self.inputs]
        outputs = [helper.make_tensor_value_info(v, self.dtype, None) for v in self.outputs]
        nodes = self.nodes
        if looped:
            nodes, inputs, outputs = self._loop(inputs, outputs)
        constants = [self.axes, helper.make_tensor("zero", onnx.TensorProto.INT64, [], [0]), helper.make_tensor("trips", onnx.TensorProto.INT64, [], [3])]
        graph = helper.make_graph(nodes, "rows", inputs, outputs, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()

    def _loop(self, inputs, outputs):
        """The nodes are the body of a loop: its state is the first input, and becomes one of the values; all results are stacked."""
        next_state = self.random.choice([v for v in self.values if self.kinds[v] == "elements"])
        state, *captured = inputs
        counters = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []), helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, [])]
        ends = [helper.make_tensor_value_info(name, kind, None) for name, kind in (("on", onnx.TensorProto.BOOL), (next_state, self.dtype))]
        body = helper.make_graph([*self.nodes, helper.make_node("Identity", ["go"], ["on"])], "trip", [*counters, state], [*ends, *outputs])
        begin, final = onnx.ValueInfoProto(), helper.make_tensor_value_info("final", self.dtype, None)
        begin.CopyFrom(state)
        begin.name = "begin"
        stacks = [helper.make_tensor_value_info(f"all_{v}", self.dtype, None) for v in self.outputs]
        loop = helper.make_node("Loop", ["trips", "", "begin"], ["final", *(s.name for s in stacks)], name="loop", body=body)
        return [loop], [begin, *captured], [final, *stacks]

    def feeds(self, shape):
        generator = np.random.default_rng(self.random.randrange(2**32))
        shapes = [(name, self._shape_of(kind, shape)) for name, kind in self.inputs]
        if self.numpy is np.int32 or self.random.random() < 0.4:
            return {name: np.asarray(generator.integers(-4, 5, shape), self.numpy) for name, shape in shapes}
        # Sums are rounded: another order of addition gives other bits.
        feeds = {name: np.asarray(generator.standard_normal(shape), self.numpy) for name, shape in shapes}
        if self.random.random() < 0.3:
            for x in feeds.values():
                x[generator.random(x.shape) < 0.02] = generator.choice([np.nan, np.inf, -np.inf, -0.0])
        return feeds


def results(model, feeds, jit, monkeypatch, single=False, **environment):
    """Of each set of feeds, then of the first again, twice. single: every node is a step of its own."""
    run_as(monkeypatch, jit)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    options = rondel.SessionOptions()
    options.strict = True  # no multiplication is fused with an addition, whichever nodes share a step
    if single:
        options.graph_optimization_level = rondel.GraphOptimizationLevel.ORT_DISABLE_ALL
    if environment:
        options.intra_op_num_threads = 3
    session = rondel.InferenceSession(model, options)
    found = [session.run(None, each) for each in feeds + feeds[:1] + feeds[:1]]
    for name in environment:
        monkeypatch.delenv(name)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_bits_are_those_of_single_steps(first, monkeypatch):
    for seed in range(first, min(first + CHUNK, FIRST + COUNT)):
        program, looped = Rows(seed), seed % 2 == 1
        model, feeds = program.model(looped), [program.feeds(shape) for shape in program.shapes]
        if looped:
            feeds = [{"begin" if name == "x0" else name: x for name, x in each.items()} for each in feeds]
        want = results(model, feeds, "0", monkeypatch, single=True)
        ways = [("0", {}), ("quick", {}), ("quick", {"RONDEL_CHECK": "1", "RONDEL_DIVIDE": "1"})]
        for jit, environment in [*ways, ("2", {})] if seed % 8 < 2 else ways:
            got = results(model, feeds, jit, monkeypatch, **environment)
            for case, (ours, single) in enumerate(zip(got, want)):
                for name, a, b in zip(["final", *program.outputs] if looped else program.outputs, ours, single, strict=True):
                    assert bits(a) == bits(b), f"seed {seed}, {jit} {environment}, feeds {case}, '{name}': {a} instead of {b}"


def bits(x):
    """All of a result that Rondel promises: which NaN it is, is left open."""
    return x.dtype, x.shape, np.where(x == x, x, np.asarray(np.nan if x.dtype.kind == "f" else 0, x.dtype)).tobytes()


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "LpNormalization"])
def test_the_parts_of_a_composite_are_one_step(op, tmp_path):
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["a", "b"]) for name in "xy")
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g", [x], [y])
    options = rondel.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = rondel.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString(), options)
    session.run(None, {"x": np.ones((3, 40), np.float32)})
    with open(session.end_profiling()) as file:
        assert [event["name"] for event in json.load(file) if event.get("cat") == "step"] == [f"node 'y' ({op})"]


def test_what_dies_is_written_over_only_where_nothing_reads_it_later(monkeypatch):
    """x + 1 dies at the sum; y - max may not be written over w, which is read again at the end."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Abs", ["x"], ["w"]),
        helper.make_node("CumSum", ["a", "zero"], ["b"]),
        helper.make_node("CumSum", ["w", "zero"], ["c"]),
        helper.make_node("ReduceMax", ["b", "axes"], ["m"]),
        helper.make_node("Sub", ["b", "m"], ["e"]),
        helper.make_node("ReduceSum", ["e", "axes"], ["s"]),
        helper.make_node("Sub", ["e", "s"], ["d"]),
        helper.make_node("Mul", ["d", "c"], ["y"]),
    ]
    constants = [helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1]), helper.make_tensor("zero", onnx.TensorProto.INT64, [], [0])]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [7, 33])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants), opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    feeds = {"x": np.arange(231, dtype=np.float32).reshape(7, 33) % 5}
    a, w = np.cumsum(-feeds["x"], 0), np.cumsum(np.abs(feeds["x"]), 0)
    e = a - a.max(1, keepdims=True)
    want = (e - e.sum(1, keepdims=True)) * w
    for jit in ("0", "quick", "2"):
        np.testing.assert_array_equal(results(model, [feeds], jit, monkeypatch)[0][0], want)


def test_steps_of_growing_extents_share_no_code_that_knows_them(monkeypatch):
    """Extents that are equal because the graph says so, though the inputs' shapes alone do not tell it."""
    monkeypatch.setenv("RONDEL_JIT", "0")
    made = model("""g (float[d] x, int64 n) => (float[e] last, float[k] sums) <int64 from = {0}, int64 step = {1}, float[1] one = {1}, float none = {0}> {
        last, sums = Loop (n, , x) <body = b (int64 i, bool c, float[m] s) => (bool on, float[p] t, float sum) {
          on = Identity (c)
          largest = ReduceMax <keepdims = 0> (s)
          grows = Greater (largest, none)
          t = If (grows) <then_branch = then () => (float[q] a) { a = Concat <axis = 0> (s, one) }, else_branch = other () => (float[r] b) { b = Identity (s) }>
          shape = Shape (t)
          length = Gather (shape, from)
          at = Range (from, length, step)
          first = Less (at, step)
          kept = Where (first, t, none)
          sum = ReduceSum <keepdims = 0> (kept)
        }> }""")
    session = rondel.InferenceSession(made)
    for x, n in [([-2.0], 2), ([1.0], 3), ([1.0, 4.0], 2), ([5.0], 4)]:
        last, sums = session.run(None, {"x": np.array(x, np.float32), "n": np.array(n)})
        assert list(sums) == [x[0]] * n
        assert len(last) == len(x) + (n if x[0] > 0 else 0)


@pytest.mark.parametrize("op", ["Mod", "Div"])
@pytest.mark.parametrize("jit", ["0", "2"])
def test_rows_are_divided_by_constants(op, jit, monkeypatch):
    """That the divisors are not 0 is known of the model, not of the step alone, which gets them as an input."""
    monkeypatch.setenv("RONDEL_JIT", jit)
    made = model(f"""g (int64[A,B] x) => (int64[?,?] y, int64[?,?] least) <int64[3,1] by = {{2, 3, 4}}, int64[1] last = {{-1}}> {{
        y = {op} (x, by)
        least = ReduceMin (y, last)
    }}""", 19)
    for shape in [(3, 5), (1, 0), (3, 20)]:
        x = np.arange(np.prod(shape)).reshape(shape)
        y, least = rondel.InferenceSession(made).run(None, {"x": x})
        expected = x % [[2], [3], [4]] if op == "Mod" else x // [[2], [3], [4]]
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(least, expected.min(1, keepdims=True, initial=2**63 - 1))
