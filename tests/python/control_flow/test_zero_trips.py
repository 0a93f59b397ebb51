"""Random loops without trips: extents of stacks are inferred, else declared, else 0 (docs/loops.md, rule 3).

ONNX Runtime infers shapes from the model alone, Rondel also from the feeds; ONNX Runtime is the oracle if both infer the same.
"""

import os
import random

import numpy as np
import onnxruntime
import pytest
import rondel
from models import WAYS, model, refused, run_as, session
from onnx import TensorProto, helper

PROGRAMS = 300
SEED = int(os.environ.get("RONDEL_SEED", "0"))

# Kinds of items: nodes, and the extents inferred from the model ("?": unknown; None: unknown rank).
KINDS = {
    "state": ([("Identity", ["a"], {})], [2, 3]),
    "capture": ([("Neg", ["w"], {})], [4]),
    "joined": ([("Concat", ["a", "a"], {"axis": 1})], [2, 6]),
    "shape from data": ([("Reshape", ["w", "two"], {})], ["?", "?"]),
    "expanded": ([("Expand", ["w", "three"], {})], ["?", "?", 4]),
    "filled": ([("ConstantOfShape", ["two"], {})], ["?", "?"]),
    "repeated": ([("Tile", ["a", "two"], {})], ["?", "?"]),
    "cut": ([("Slice", ["a", "one", "one", "one"], {})], ["?", "?"]),
    "found": ([("NonZero", ["a"], {}), ("Cast", ["last"], {"to": TensorProto.FLOAT})], [2, "?"]),
    "unranked": ([("Reshape", ["w", "some"], {})], None),
    "squeezed": ([("Squeeze", ["u"], {})], None),
}
# Extents that are inferred from the feeds if the rank is declared.
TOLD_BY_FEEDS = {"squeezed": [4]}


def declared_as(rng, inferred):
    """A declared shape that does not contradict the inferred one; None: no shape."""
    if rng.random() < 0.2:
        return None
    extents = inferred if inferred is not None else ["?"] * rng.randrange(4)
    return [
        rng.choice([e, f"d{rng.randrange(3)}", None]) if e != "?" else rng.choice([rng.randrange(1, 6), f"d{rng.randrange(3)}", None])
        for e in extents
    ]


def expected(kind, declared, with_feeds):
    """The shape of the stack by the rule; without feeds, the shape that ONNX Runtime gives."""
    inferred = KINDS[kind][1]
    told = TOLD_BY_FEEDS.get(kind)
    if with_feeds and told is not None and declared is not None and len(declared) == len(told):
        inferred = told
    if inferred is None:
        inferred = ["?"] * len(declared) if declared is not None else []
    said = declared if declared is not None else [None] * len(inferred)
    return [0] + [e if e != "?" else d if isinstance(d, int) else 0 for e, d in zip(inferred, said, strict=True)]


def program(rng):
    """(model of one loop, [(kind, declared shape) of each stack])."""
    chosen = [rng.choice(list(KINDS)) for _ in range(rng.randrange(1, 4))]
    nodes = [helper.make_node("Identity", ["go"], ["more"]), helper.make_node("Neg", ["a"], ["b"])]
    outputs = [
        helper.make_tensor_value_info("more", TensorProto.BOOL, []),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, [2, 3]),
    ]
    stacked = []
    for k, kind in enumerate(chosen):
        steps, inferred = KINDS[kind]
        for j, (op, inputs, attributes) in enumerate(steps):
            name = f"item{k}" if j + 1 == len(steps) else f"part{k}"
            nodes.append(helper.make_node(op, [f"part{k}" if i == "last" else i for i in inputs], [name], **attributes))
        declared = declared_as(rng, inferred)
        outputs.append(helper.make_tensor_value_info(f"item{k}", TensorProto.FLOAT, declared))
        stacked.append((kind, declared))
    body = helper.make_graph(
        nodes,
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 3]),
        ],
        outputs,
    )
    stacks = [f"s{k}" for k in range(len(chosen))]
    inputs = [("m", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [2, 3])]
    inputs += [("w", TensorProto.FLOAT, [4]), ("u", TensorProto.FLOAT, None), ("some", TensorProto.INT64, ["k"])]
    inputs += [(name, TensorProto.INT64, [n]) for name, n in (("one", 1), ("two", 2), ("three", 3))]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["m", "c", "x"], ["y", *stacks], body=body)],
        "main",
        [helper.make_tensor_value_info(*given) for given in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ["y", *stacks]],
    )
    opset = helper.make_opsetid("", 21)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10), stacked


def feeds(rng):
    by_count = rng.random() < 0.5
    ones = {name: np.ones(n, np.int64) for name, n in (("one", 1), ("two", 2), ("three", 3))}
    return {
        "m": np.array(rng.choice([0, -3]) if by_count else 5, np.int64),
        "c": np.array(by_count),
        "x": np.ones((2, 3), np.float32),
        "w": np.ones(4, np.float32),
        "u": np.ones((1, 4), np.float32),
        "some": np.array([2, 2], np.int64),
        **ones,
        "two": np.array([2, 2], np.int64),
    }


@pytest.mark.parametrize("part", range(10))
def test_random_loops_of_no_trip_give_what_is_inferred_else_declared(part):
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    for k in range(part, PROGRAMS, 10):
        rng = random.Random(f"{SEED}/{k}")
        made, stacked = program(rng)
        given = feeds(rng)
        mine = rondel.InferenceSession(made).run(None, given)
        written = rondel.InferenceSession(rondel.export(made)).run(None, given)
        theirs = onnxruntime.InferenceSession(made.SerializeToString(), quiet).run(None, given)
        got = [[list(x.shape) for x in results[1:]] for results in (mine, written, theirs)]
        want = [[expected(kind, declared, with_feeds) for kind, declared in stacked] for with_feeds in (True, True, False)]
        assert got == want, f"RONDEL_SEED={SEED}, program {k}: {got} instead of {want}\n{made}"


# The inner loop stacks x, whose rank only the run tells.
EMPTY_INSIDE = """
g (float[] x, int64 n, int64 k) => (float[] out) {
  yes = Constant <value = bool {1}> ()
  out = Loop (n, yes) <body = outer (int64 i, bool go) => (bool on, float[] rows) {
    on = Identity (go)
    rows = Loop (k, yes) <body = inner (int64 j, bool go2) => (bool on2, DECLARED item) { on2 = Identity (go2)  item = Neg (x) }>
  }>
}"""


@pytest.mark.parametrize("declared, empty", [("float[]", (2, 0)), ("float[r,c]", (2, 0, 3, 1))])
def test_the_rank_of_an_inner_stack_of_no_trip_is_the_same_natively(declared, empty, monkeypatch):
    for jit in WAYS:
        run_as(monkeypatch, jit)
        session = rondel.InferenceSession(model(EMPTY_INSIDE.replace("DECLARED", declared)))
        for trips, shape in [(0, empty), (2, (2, 2, 3, 1))]:
            feeds = {"x": np.ones((3, 1), np.float32), "n": np.array(2), "k": np.array(trips)}
            assert session.run(None, feeds)[0].shape == shape


def test_an_item_keeps_the_rank_that_the_model_tells_when_its_op_is_expanded():
    """Gemm becomes a product of whatever ranks: of what has no rank, nothing is known of it."""
    made = model("""main (float x, int64 n) => (float[?,?,?] y) {
  cond = Constant <value = bool {1}> ()
  y = Loop (n, cond) <body = b (int64 i, bool go) => (bool on, float[3,3] p) { on = Identity (go)  p = Gemm (x, x) }>
}""")
    made.graph.input[0].type.tensor_type.ClearField("shape")
    (y,) = session(made).run(None, {"x": np.zeros((1, 2), np.float32), "n": np.array(0)})
    assert y.shape == (0, 3, 3)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_an_extent_that_a_captured_count_would_tell_is_the_same_natively(count, monkeypatch):
    """The rows of `s` follow from k, which the loop that makes no trip captures: types tell shapes, values do not."""
    made = model("""main (int64 k, float x) => (float[?,?,?] y) {
  yes = Constant <value = bool {1}> ()
  none = Constant <value = int64 {0}> ()
  three = Constant <value = int64 {3}> ()
  y = Loop (three, yes) <body = outer (int64 h, bool go) => (bool on, float[?,?] z) {
    on = Identity (go)
    z = Loop (none, yes) <body = empty (int64 i, bool go2) => (bool on2, float[?] t) {
      on2 = Identity (go2)
      s = Loop (k, yes) <body = rows (int64 j, bool go3) => (bool on3, float r) { on3 = Identity (go3)  r = Identity (x) }>
      t = Add (s, s)
    }>
  }>
}""")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        (y,) = session(made).run(None, {"k": np.array(count), "x": np.float32(1)})
        assert y.shape == (3, 0, 0)


def test_a_node_that_could_not_run_says_nothing_but_others_do(monkeypatch):
    made = model("""main (float[?] x, float[?,?] z, bool no) => (float[?,?] y, float[?,?,?] w) {
  y, w = Loop ("", no) <body = b (int64 i, bool go) => (bool on, float[?] item, float[?,?] product) {
    on = Identity (go)
    item = Identity (x)
    product = MatMul (z, z)
  }>
}""")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        y, w = session(made).run(None, {"x": np.ones(2, np.float32), "z": np.ones((1, 3), np.float32), "no": np.array(False)})
        assert y.shape == (0, 2) and w.shape == (0, 0, 0)


def test_an_item_of_a_fixed_shape_does_not_depend_on_the_rules_that_make_it(monkeypatch):
    """The inner loop, which may make no trip, stacks a scalar out of a slice that may be too short in the trips that are not made."""
    made = model("""main (int64[n] x, int64 trips, int64 inner) => (int64[s] y) {
  yes = Constant <value = bool {1}> ()
  axis = Constant <value = int64[1] {0}> ()
  zero = Constant <value = int64[1] {0}> ()
  far = Constant <value = int64[1] {1000}> ()
  y = Loop (trips, yes, x) <body = outer (int64 i, bool go, int64[k] s) => (bool on, int64[m] t) {
    on = Identity (go)
    rows = Loop (inner, yes) <body = b (int64 j, bool go2) => (bool on2, int64 item) {
      on2 = Identity (go2)
      one = Slice (s, zero, far, axis, far)
      first = Squeeze (one, axis)
      item = Add (first, j) }>
    t = Concat <axis = 0> (s, rows)
  }>
}""")
    for jit in WAYS:
        run_as(monkeypatch, jit)
        ours = session(made)
        for x, trips, inner in [((5, 6), 3, 2), ((), 3, 0), ((7,), 2, 0), ((5, 6), 0, 2)]:
            (y,) = ours.run(None, {"x": np.array(x, np.int64), "trips": np.array(trips), "inner": np.array(inner)})
            assert y.tolist() == [*x, *([x[0] if x else 0, (x[0] if x else 0) + 1][:inner] * trips)]
        assert jit == "0" or set(ours.how_it_ran().values()) == {"natively, as a whole"}
        with pytest.raises(rondel.CallerError):
            ours.run(None, {"x": np.array([], np.int64), "trips": np.array(1), "inner": np.array(1)})


def test_what_a_table_does_not_fit_is_not_read_before_a_loop_of_no_trip(monkeypatch):
    """The table's elements are indices of axis 1, but its rows may be too many."""
    made = model("""main (float[n, 2] x, int64 trips) => (float[2, 2] y) {
  table = Constant <value = int64[2, 2] {0, 1, 1, 0}> ()
  zeros = Constant <value = float[2, 2] {0, 0, 0, 0}> ()
  y = Loop (trips, , zeros) <body = b (int64 i, bool go, float[2, 2] s) => (bool on, float[2, 2] t) {
    on = Identity (go)
    picked = GatherElements <axis = 1> (x, table)
    t = Add (s, picked)
  }>
}""")
    short, long = np.array([[1, 2]], np.float32), np.array([[1, 2], [3, 4]], np.float32)
    for way in WAYS:
        run_as(monkeypatch, way)
        s = session(made)
        (y,) = s.run(None, {"x": short, "trips": np.array(0)})
        assert (y == 0).all()
        (y,) = s.run(None, {"x": long, "trips": np.array(2)})
        assert (y == [[2, 4], [8, 6]]).all()
        with refused(rondel.CallerError, "GatherElements", "out of range"):
            s.run(None, {"x": short, "trips": np.array(1)})


@pytest.mark.parametrize(
    "op, shape, feeds",
    [
        ("CumSum (x, axis)", (4,), {"axis": np.array(3)}),
        ("ReduceSum <keepdims = 0> (x, axes)", (4,), {"axes": np.array([5])}),
        ("ReduceMax <keepdims = 0> (x, axes)", (4,), {"axes": np.array([-3])}),
        ("DFT (x, , axis)", (2, 1), {"axis": np.array(9)}),
    ],
)
def test_what_data_make_fail_is_not_computed_for_a_loop_of_no_trip(op, shape, feeds, monkeypatch):
    inputs = "".join(f", int64{[] if value.ndim == 0 else list(value.shape)} {name}" for name, value in feeds.items())
    made = model(f"""main (float{list(shape)} x, float s, int64 trips{inputs}) => (float last) {{
  last = Loop (trips, , s) <body = b (int64 i, bool go, float[] p) => (bool on, float q) {{
    on = Identity (go)
    found = {op}
    sum = ReduceSum <keepdims = 0> (found)
    q = Add (p, sum) }}>
}}""")
    for way in WAYS:
        run_as(monkeypatch, way)
        ours, given = session(made), {"x": np.ones(shape, np.float32), "s": np.float32(7), **feeds}
        assert ours.run(None, {**given, "trips": np.array(0)})[0] == 7
        with pytest.raises(rondel.CallerError, match="ax[ei]s"):
            ours.run(None, {**given, "trips": np.array(1)})


@pytest.mark.parametrize("count, ends", [("trips", "go"), ("most", "never")])
def test_a_bound_that_data_make_fail_is_not_computed_for_a_loop_of_no_trip(count, ends, monkeypatch):
    """The counter is compared with the sum of a range whose step, 0, is an error."""
    made = model(f"""main (int64 n, int64 step, int64 trips, bool never) => (int64 last) <int64 zero = {{0}}, int64 one = {{1}}, int64 most = {{100}}, bool go = {{1}}> {{
  last = Loop ({count}, {ends}, zero) <body = b (int64 i, bool g, int64 p) => (bool on, int64 q) {{
    q = Add (p, one)
    steps = Range (zero, n, step)
    bound = ReduceSum <keepdims = 0> (steps)
    on = Less (q, bound) }}>
}}""")
    for way in WAYS:
        run_as(monkeypatch, way)
        ours = session(made)
        given = {"n": np.array(3), "step": np.array(0), "trips": np.array(0), "never": np.array(False)}
        assert ours.run(None, given)[0] == 0
        assert ours.run(None, {**given, "trips": np.array(9), "never": np.array(True), "step": np.array(1)})[0] == 3
        with refused(rondel.CallerError, "Range", "delta is 0"):
            ours.run(None, {**given, "trips": np.array(9), "never": np.array(True)})


@pytest.mark.parametrize("declared, empty", [("int64[3]", (1, 0, 3)), ("int64[r]", (1, 0, 3)), ("int64[]", (1, 0))])
def test_what_the_body_declares_holds_where_an_outer_state_changes_its_rank(declared, empty, monkeypatch):
    """When the inner loop is read, the state still has the type of its first value, which tells all that is declared."""
    made = model(f"""main (bool yes, int64[3] first) => (int64[] out) {{
  last, out = Loop ("", yes, first) <body = outer (int64 i, bool go, int64[] state) => (bool on, int64[] next, int64[] rows) {{
    on = Constant <value = bool {{0}}> ()
    next = Constant <value_int = 0> ()
    rows = Loop ("", on) <body = inner (int64 j, bool go2) => (bool on2, {declared} item) {{ on2 = Identity (go2)  item = Identity (state) }}>
  }}>
}}""")
    for way in WAYS:
        run_as(monkeypatch, way)
        (out,) = session(made).run(None, {"yes": np.array(True), "first": np.zeros(3, np.int64)})
        assert out.shape == empty


def test_a_recurrence_of_no_step_has_its_rank_where_another_one_gives_its_input(monkeypatch):
    made = model("""main (float x, float[1,8,2] w, float[1,8,2] r) => (float[?,?,?,?] y) {
  h = LSTM <hidden_size = 2> (x, w, r)
  one = Constant <value_ints = [1]> ()
  flat = Squeeze (h, one)
  y = LSTM <hidden_size = 2> (flat, w, r)
}""")
    made.graph.input[0].type.tensor_type.ClearField("shape")
    weights = {"w": np.ones((1, 8, 2), np.float32), "r": np.ones((1, 8, 2), np.float32)}
    for way in WAYS:
        run_as(monkeypatch, way)
        assert session(made).run(None, {"x": np.ones((0, 3, 2), np.float32), **weights})[0].shape == (0, 1, 3, 2)


def test_a_plan_for_certain_shapes_tells_no_more_of_an_item_whose_operands_do_not_go_together(monkeypatch):
    """Without trips, `grown` keeps a shape that the weights do not go with: the model tells one extent of the product alone.
    A run that fails and a second one without trips make a plan for the shapes of x."""
    made = model("""main (float[m,n,k] x, int64 trips) => (float[?,?,?,?] y, float[?,?,?] z) {
  w = Constant <value = float[6,3] {1,-2,-0.5,0.5,0,-1,2,1,1.5,-0.5,1.5,-0.5,-2,1.5,1,0,1,0}> ()
  shift = Constant <value = float[3,3,6] {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> ()
  y, z = Loop (trips, "") <body = outer (int64 i, bool go) => (bool on, float[?,?,?] product, float[?,?,?,?] chosen) {
    on = Identity (go)
    grown, last, flags = Loop (trips, "", x, x) <body = inner (int64 j, bool go2, float[?,?,?] a, float[?,?,?] b) => (bool on2, float[?,?,?] joined, float[?,?,?] next, bool flag) {
      on2 = Identity (go2)
      joined = Concat <axis = 2> (x, a)
      next = Constant <value = float[3,1,6] {3,1,1,3,-1,1,3,1,0,3,-1,0,2,3,3,2,-3,3}> ()
      flag = Constant <value = bool {1}> ()
    }>
    product = MatMul (grown, w)
    chosen = Where (flags, shift, last)
  }>
}""")
    for way in WAYS:
        run_as(monkeypatch, way)
        ours = session(made)
        with refused(rondel.CallerError, "MatMul", "inner extents"):
            ours.run(None, {"x": np.zeros((0, 1, 3), np.float32), "trips": np.array(2)})
        for _ in range(3):
            y, _ = ours.run(None, {"x": np.zeros((0, 3, 3), np.float32), "trips": np.array(0)})
            assert y.shape == (0, 0, 0, 3)
