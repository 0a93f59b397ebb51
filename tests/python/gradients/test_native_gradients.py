"""Gradients of loops whose shapes the file leaves open run natively, forward loop and reverse loop, and give the interpreter's bits."""

import numpy as np
import onnx
import onnx.parser
import pytest
import rondel
from models import run_as

#: Bodies of loops without declared shapes, as exporters write them: graph, feeds, number of outputs to differentiate.
CASES = {
    "keys that grow by Concat, and attention to them": (
        """g (int64 n, float[H,D] q, float[T,D] k0) => (float o, float k) {
            axes = Constant <value_ints = [0]> ()
            o, k = Loop (n, "", q, k0) <body = b (int64 i, bool c, float p, float k1) => (bool d, float p2, float k2) {
              d = Identity (c)
              kt = Transpose <perm = [1, 0]> (k1)
              s = MatMul (p, kt)
              a = Softmax <axis = -1> (s)
              m = MatMul (a, k1)
              p2 = Add (m, p)
              r = ReduceMean <keepdims = 1> (p2, axes)
              k2 = Concat <axis = 0> (k1, r)
            }>
        }""",
        {"n": 5, "q": (3, 4), "k0": (2, 4)},
    ),
    "a state that rules cannot prove to keep its extent": (
        """g (int64 n, float[N] x0, float[1] z) => (float x) {
            first = Constant <value_ints = [0]> ()
            second = Constant <value_ints = [1]> ()
            but_last = Constant <value_ints = [-1]> ()
            all = Constant <value_ints = [9223372036854775807]> ()
            x = Loop (n, "", x0) <body = b (int64 i, bool c, float u) => (bool d, float w) {
              d = Identity (c)
              a = Slice (u, first, but_last)
              e = Slice (u, second, all)
              f = Mul (a, e)
              g = Sin (f)
              h = Concat <axis = 0> (g, z)
              w = Add (h, u)
            }>
        }""",
        {"n": 6, "x0": (5,), "z": (1,)},
    ),
    "clusters, whose number is an extent": (
        """g (int64 n, float[N,D] x, float[K,D] c0) => (float c) {
            one = Constant <value_ints = [1]> ()
            zero = Constant <value_ints = [0]> ()
            two = Constant <value_ints = [2]> ()
            onoff = Constant <value_floats = [0.0, 1.0]> ()
            c = Loop (n, "", c0) <body = b (int64 i, bool go, float m) => (bool on, float w) {
              on = Identity (go)
              xs = Unsqueeze (x, one)
              ms = Unsqueeze (m, zero)
              e = Sub (xs, ms)
              sq = Mul (e, e)
              far = ReduceSum <keepdims = 0> (sq, two)
              near = ArgMin <axis = 1, keepdims = 0> (far)
              k = Shape <start = 0, end = 1> (m)
              hot = OneHot <axis = 0> (near, k, onoff)
              sum = MatMul (hot, x)
              w = Add (sum, m)
            }>
        }""",
        {"n": 3, "x": (8, 2), "c0": (3, 2)},
    ),
    "a shape that is joined from extents, which the reverse loop computes again": (
        """g (int64 n, float[B,T,4] x, float[4,4] w) => (float[B,T,4] y) <int64[1] begin = {0}, int64[1] two = {2}> {
            y = Loop (n, "", x) <body = b (int64 i, bool c, float[B,T,4] h) => (bool d, float[B,T,4] h2) {
              d = Identity (c)
              p = MatMul (h, w)
              all = Shape (h)
              outer = Slice (all, begin, two)
              heads = Concat <axis = 0> (outer, two, two)
              r = Reshape (p, heads)
              t = Transpose <perm = [0, 2, 1, 3]> (r)
              u = Transpose <perm = [0, 2, 3, 1]> (r)
              s = MatMul (t, u)
              a = Softmax <axis = -1> (s)
              m = MatMul (a, t)
              back = Transpose <perm = [0, 2, 1, 3]> (m)
              o = Reshape (back, all)
              h2 = Add (o, h)
            }>
        }""",
        {"n": 3, "x": (2, 3, 4), "w": (4, 4)},
    ),
    "a window that slides over a sequence, and a log of what it gives": (
        """g (float[T,3] x, float[3,4] w) => (float out) {
            three = Constant <value_int = 3> ()
            zero = Constant <value_int = 0> ()
            one = Constant <value_int = 1> ()
            list1 = Constant <value_ints = [1]> ()
            axes = Constant <value_ints = [0]> ()
            begin = ConstantOfShape <value = float[1] {0.5}> (shape)
            t1 = Shape <start = 0, end = 1> (x)
            t = Squeeze (t1)
            out = Loop (t, "", begin) <body = b (int64 i, bool c, float log) => (bool d, float longer) {
              d = Identity (c)
              before = Sub (i, three)
              from = Max (before, zero)
              from1 = Reshape (from, list1)
              next = Add (i, one)
              to1 = Reshape (next, list1)
              window = Slice (x, from1, to1, axes)
              y = MatMul (window, w)
              m = ReduceMax <keepdims = 1> (y, axes)
              longer = Concat <axis = 0> (log, m)
            }>
        }""".replace("begin =", "shape = Constant <value_ints = [1, 4]> ()  begin ="),
        {"x": (7, 3), "w": (3, 4)},
    ),
    "a list of states, joined after the loop": (
        """g (int64 n, float[D] h0, float[D,D] w) => (float y) {
            zero = Constant <value_ints = [0]> ()
            empty = SequenceEmpty <dtype = 1> ()
            h, all = Loop (n, "", h0, empty) <body = b (int64 i, bool c, float u, seq(float) l) => (bool d, float v, seq(float) m) {
              d = Identity (c)
              row = Unsqueeze (u, zero)
              p = MatMul (row, w)
              s = Squeeze (p, zero)
              v = Tanh (s)
              m = SequenceInsert (l, v)
            }>
            rows = ConcatFromSequence <axis = 0, new_axis = 1> (all)
            a = MatMul (rows, h)
            y = Softmax <axis = 0> (a)
        }""",
        {"n": 4, "h0": (3,), "w": (3, 3)},
    ),
}


def without_shapes(graph, inside=False):
    """The graph without the shapes that the text above cannot leave out: `float` says "a scalar"."""
    for value in [*(graph.input if inside else []), *graph.output, *graph.value_info]:
        if value.type.HasField("tensor_type") and value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.ClearField("shape")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                without_shapes(attribute.g, inside=True)


# With checkpoints, the loops of these run step by step: their states are kept in lists.
KEPT_IN_LISTS = {"a state that rules cannot prove to keep its extent", "clusters, whose number is an extent"}
KINDS = [(case, "none") for case in CASES] + [(case, "sqrt") for case in CASES if case not in KEPT_IN_LISTS]


def natively(made, feeds, monkeypatch):
    """The session of a gradient, which in three runs gave the interpreter's bits."""
    run_as(monkeypatch, "0")
    want = [r.tobytes() for r in rondel.InferenceSession(made).run(None, feeds)]
    run_as(monkeypatch, "2")
    session = rondel.InferenceSession(made)
    for _ in range(3):
        assert [r.tobytes() for r in session.run(None, feeds)] == want
    return session


@pytest.mark.parametrize(("case", "checkpoint"), KINDS)
def test_forward_and_reverse_loops_run_natively(case, checkpoint, monkeypatch):
    text, described = CASES[case]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}')
    without_shapes(model.graph)
    random = np.random.default_rng(0)
    feeds = {name: np.array(d) if isinstance(d, int) else random.standard_normal(d, np.float32) for name, d in described.items()}
    variables = [name for name, value in feeds.items() if value.dtype == np.float32]
    output = model.graph.output[0].name
    (y,) = rondel.InferenceSession(model).run([output], feeds)
    feeds["u"] = random.standard_normal(y.shape, np.float32)
    made = rondel.grad(model, variables, output, "u", checkpoint=checkpoint)
    session = natively(made, feeds, monkeypatch)
    loops = {node: how for node, how in session.how_it_ran().items() if "(If)" not in node}
    assert len(loops) > 1 and set(loops.values()) == {"natively, as a whole"}, loops


#: Models whose gradients, with checkpoints after every two trips, need storage that long expressions describe.
IN_SEGMENTS = {
    "states that scans give each other": (
        """g (double[?] x, double[N] scanned) => (double[?] last) {
            last, items = Scan <num_scan_inputs = 1, body = b (double[N] s, double[N] t, double[] e) => (double[] s2, double[N] t2) {
              s2 = Identity (t)
              t2 = Sigmoid (t)
            }> (scanned, x, scanned)
        }""",
        {"x": (4,), "scanned": (4,)},
    ),
    "slices of a state, added to it": (
        """g (double[M,N] x, double a) => (double[M,N] last) {
            zero = Constant <value_ints = [0]> ()
            one = Constant <value_ints = [1]> ()
            axis = Constant <value_int = 1> ()
            shape = Shape (x)
            trips = Gather (shape, axis)
            state, last = Loop (trips, "", x, x) <body = b (int64 i, bool go, double[M] s, double[?,?] t) => (bool on, double[M] s2, double[] t2) {
              on = Identity (go)
              first = Slice (s, zero, one, zero)
              first_shape = Shape (first)
              none = Constant <value_int = 0> ()
              row = Expand (none, first_shape)
              s2 = ScatterElements <axis = 0, reduction = "add"> (s, row, first)
              t2 = Add (t, a)
            }>
        }""",
        {"x": (2, 4), "a": ()},
    ),
}


@pytest.mark.parametrize("case", IN_SEGMENTS)
def test_storage_for_segments_is_proved_to_suffice(case, monkeypatch):
    text, shapes = IN_SEGMENTS[case]
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]>\n{text}')
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal(shape) for name, shape in {**shapes, "u": next(iter(shapes.values()))}.items()}
    made = rondel.grad(model, list(shapes), "last", "u", checkpoint=2)
    monkeypatch.setenv("RONDEL_VERIFY", "1")
    natively(made, feeds, monkeypatch)


@pytest.mark.parametrize("columns", [2, 0])
def test_the_adjoint_of_a_scan_of_no_elements_has_its_shape(columns, monkeypatch):
    """What the inner loop makes of the column has no rank, as far as the rules know, and so has the adjoint of the column."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 22]>
        g (double[?,?] x, double[3,3] w, int64[1,1] row) => (double[3,3] y) {
            y = Scan <num_scan_inputs = 2, scan_input_axes = [-1, -1], body = outer (double[3,3] s, double[N] column, double[?] first) => (double[3,3] s2) {
              trips = Shape (column)
              axes = Constant <value_ints = [0]> ()
              last, s2 = Loop (trips, "", first, s) <body = inner (int64 i, bool go, double[] c, double[3,3] t) => (bool on, double[N] c2, double[3,3] t2) {
                sum = ReduceLogSum <keepdims = 0> (c, axes)
                width = Constant <value_ints = [3]> ()
                sums = Expand (sum, width)
                update = Unsqueeze (sums, axes)
                t2 = ScatterND <reduction = "min"> (t, row, update)
                c2 = Identity (column)
                on = Identity (go)
              }>
            }> (w, x, x)
        }""")
    random = np.random.default_rng(0)
    feeds = {"x": random.uniform(0.1, 0.3, (2, columns)), "w": random.standard_normal((3, 3)), "row": np.array([[2]]), "u": np.ones((3, 3))}
    made = rondel.grad(model, ["x"], "y", "u", checkpoint=2)
    for jit in ("0", "2"):
        run_as(monkeypatch, jit)
        (gradient,) = rondel.InferenceSession(made).run(["grad_x"], feeds)
        assert gradient.shape == (2, columns)
        assert gradient.any() == (columns > 0)
