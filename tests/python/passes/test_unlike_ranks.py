"""`If`s in loops whose branches give unlike ranks: what reads them is computed in each branch, so that the loop runs natively.

Each model runs in all ways, and as it is written, interpreted: the same bits, and errors that name the same nodes.
"""

import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, i64, in_all_ways, model, options, refused, scalar

CONSTANTS = """int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] first = {0}, int64[1] flat = {-1}, float half = {0.5}"""
#: What an exporter writes for `q = v.squeeze(0)` if it does not know the shape of v.
SQUEEZE = """
    shape = Shape (v)  rows = Gather (shape, zero)  is_one = Equal (rows, one)
    q = If (is_one) <then_branch = y () => (a) { a = Squeeze (v, first) }, else_branch = n () => (b) { b = Identity (v) }>
"""
ODD = "r = Mod (i, two)  odd = Equal (r, one)\n"


def chosen(then, otherwise, condition="odd", name="q"):
    return f"{name} = If ({condition}) <then_branch = y{name} () => (a{name}) {{ {then} }}, else_branch = n{name} () => (b{name}) {{ {otherwise} }}>\n"


def looped(inputs, body, initial="s0", trips="n", results="next", outputs="final"):
    declared = ", ".join(f"float[] {name}" for name in outputs.split(", "))
    return f"""main ({inputs}, int64 n) => ({declared}) <{CONSTANTS}> {{
      {outputs} = Loop ({trips}, , {initial}) <body = trip (int64 i, bool go, s) => (bool on, {results}) {{ on = Identity (go)
        {body} }}> }}"""


X, ROW, ONE = f32(1, -2, 3), f32(4, 5, 6).reshape(1, 3), f32(7)
UNLIKE = ODD + chosen("aq = Mul (x, half)", "bq = Add (y, half)")
CASES = {
    "one element and a scalar, into a state": (looped("float[1] x, float y", UNLIKE + "next = Add (s, q)", "x"), {"x": ONE, "y": scalar(2, np.float32)}),
    "a row and a list, into a state": (looped("float[k] x, float[1,k] y", UNLIKE + "next = Add (s, q)", "y"), {"x": X, "y": ROW}),
    "a row and a list, reduced": (looped("float[k] x, float[1,k] y, float s0", UNLIKE + "e = Abs (q)  m = ReduceMax <keepdims = 0> (e)  next = Add (s, m)"), {"x": X, "y": ROW, "s0": scalar(1, np.float32)}),
    "a row and a list, flattened": (looped("float[k] x, float[1,k] y", UNLIKE + "e = Reshape (q, flat)  next = Sub (e, s)", "x"), {"x": X, "y": ROW}),
    "a product": (
        looped("float[k] x, float[m,k] y, float[k,l] w, float s0", UNLIKE + "p = MatMul (q, w)  m = ReduceSum <keepdims = 0> (p)  next = Max (s, m)"),
        {"x": X, "y": np.ones((2, 3), np.float32), "w": np.ones((3, 2), np.float32), "s0": scalar(1, np.float32)}),
    "a softmax": (looped("float[k] x, float[1,k] y, float s0", UNLIKE + "e = Softmax (q)  m = ReduceMax <keepdims = 0> (e)  next = Add (s, m)"), {"x": X, "y": ROW, "s0": scalar(1, np.float32)}),
    "a normalisation": (
        looped("float[k] x, float[1,k] y, float[k] w, float s0", UNLIKE + "e = LayerNormalization (q, w)  m = ReduceMax <keepdims = 0> (e)  next = Add (s, m)"),
        {"x": X, "y": ROW, "w": X, "s0": scalar(1, np.float32)}),
    "sizes": (looped("float[k] x, float[1,k] y, float s0", UNLIKE + "e = Size (q)  f = Cast <to = 1> (e)  next = Add (s, f)"), {"x": X, "y": ROW, "s0": scalar(0, np.float32)}),
    "the same condition again": (
        looped("float[k] x, float y", UNLIKE + chosen("ap = Neg (q)", "bp = Mul (x, q)", name="p") + "next = Add (s, p)", "x"), {"x": X, "y": scalar(2, np.float32)}),
    "a condition in a condition": (
        looped("float[k] x, float y", "big = Greater (i, two)\n" + ODD + chosen(chosen("aq = Neg (x)", "bq = Abs (y)") + "ap = Exp (q)", "bp = Identity (x)", "big", "p") + "next = Add (s, p)", "x"),
        {"x": X, "y": scalar(2, np.float32)}),
    "squeezed rows that data choose": (
        looped("float[m,k] x, float s0", "few = Mod (i, two)  last = Add (few, one)  stop = Unsqueeze (last, first)  v = Slice (x, first, stop)" + SQUEEZE + "e = Mul (q, q)  m = ReduceSum <keepdims = 0> (e)  next = Add (s, m)"),
        {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "s0": scalar(1, np.float32)}),
    "squeezed positions": (
        looped("float[k] x, float s0", "up = Greater (x, s)  found = NonZero (up)  v = Transpose <perm = [1, 0]> (found)" + SQUEEZE + "e = Cast <to = 1> (q)  m = ReduceSum <keepdims = 0> (e)  d = Mul (m, half)  next = Add (s, d)"),
        {"x": X, "s0": scalar(-1, np.float32)}),
    "in an inner loop": (
        looped("float[k] x, float[1,k] y", ODD + "next = Loop (two, , s) <body = inner (int64 j, bool go1, t) => (bool on1, u) { on1 = Identity (go1)  c = Equal (i, j)" + chosen("aq = Neg (x)", "bq = Identity (y)", "c") + "u = Add (t, q) }>", "y"),
        {"x": X, "y": ROW}),
    "read by an inner loop": (
        looped("float[k] x, float y", UNLIKE + "next = Loop (two, , s) <body = inner (int64 j, bool go1, t) => (bool on1, u) { on1 = Identity (go1)  u = Add (t, q) }>", "x"), {"x": X, "y": scalar(2, np.float32)}),
    "stacked": (looped("float[k] x, float y", UNLIKE + "item = Add (x, q)  next = Add (s, item)", "x", results="next, item", outputs="final, all"), {"x": X, "y": scalar(2, np.float32)}),
    "stacked sums": (looped("float[k] x, float y", UNLIKE + "item = ReduceSum <keepdims = 0> (q)  next = Add (s, item)", "x", results="next, item", outputs="final, all"), {"x": X, "y": scalar(2, np.float32)}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_same_bits_natively(case, monkeypatch):
    text, feeds = CASES[case]
    made = model(text)
    written = rondel.InferenceSession(made, options(jit=False, graph_optimization_level=0))
    for way, session in in_all_ways(made, monkeypatch).items():
        for n in (3, 0, 6, 3):
            given = feeds | {"n": np.int64(n)}
            agree(session.run(None, given), written.run(None, given))
        assert way[0] == "0" or session.how_it_ran()["node 'final' (Loop)"] == "natively, as a whole", way


def test_errors_name_the_nodes_of_the_model(monkeypatch):
    text = looped("float[k] x, float[1,k] y, int64 at", UNLIKE + "e = Reshape (q, flat)  g = Gather (e, at)  next = Add (s, g)", "half")
    for session in in_all_ways(model(text), monkeypatch).values():
        with refused(rondel.Error, "node 'final' (Loop), trip 0: node 'g' (Gather): index 3 is out of range for extent 3"):
            session.run(None, {"x": X, "y": ROW, "at": np.int64(3), "n": np.int64(4)})


def test_a_condition_may_have_unlike_ranks(monkeypatch):
    """The state's rank changes, and with it that of what ends the loop."""
    text = """main (float x, int64 n, bool go0) => (float[] y) <int64 two = {2}, int64 one = {1}, int64[1] first = {0}, float far = {4}> {
      y = Loop (n, go0, x) <body = trip (int64 i, bool go, float s) => (bool on, next) { r = Mod (i, two)  odd = Equal (r, one)
        q = If (odd) <then_branch = a () => (u) { u = Add (x, far) }, else_branch = b () => (v) { v = Unsqueeze (x, first) }>
        on = Less (s, far)  next = Neg (q) }> }"""
    for session in in_all_ways(model(text), monkeypatch).values():
        given = {"x": scalar(1, np.float32), "go0": np.array(True)}
        assert [session.run(None, given | {"n": np.int64(n)})[0].shape for n in (0, 1, 2, 3)] == [(), (1,), (), (1,)]


def test_what_is_exported_is_the_model():
    """Nodes move in compiled graphs alone."""
    written = onnx.load_from_string(rondel.export(model(CASES["a row and a list, reduced"][0])))
    loop = next(node for node in written.graph.node if node.op_type == "Loop")
    assert "ReduceMax" in [node.op_type for node in loop.attribute[0].g.node]


def test_shapes_decide_before_the_loop():
    """What shapes decide needs no copies."""
    text = looped("float[m,k] v, float s0", SQUEEZE + "e = Mul (q, s)  next = ReduceMax <keepdims = 0> (e)")
    for rows in (1, 2):
        made = rondel.InferenceSession(model(text))
        made.run(None, {"v": np.ones((rows, 3), np.float32), "s0": scalar(1, np.float32), "n": i64(2)[0]})
        assert made.how_it_ran()["node 'final' (Loop)"] == "natively, as a whole"


@pytest.mark.parametrize("jit", ["0", "quick"])
def test_a_branch_that_is_not_taken_may_give_a_state_another_rank(monkeypatch, jit):
    monkeypatch.setenv("RONDEL_JIT", jit)
    made = model(
        """g (bool grows, float[3,3] h, int64[3,3] xs) => (float[?,?,?] rows) {
        rows = Scan <num_scan_inputs = 1, body = b (float[] s, int64[] x) => (float[] next) {
          one = Constant <value = int64[1] {0}> ()
          next = If (grows) <then_branch = t () => (float[] a) { a = Unsqueeze (s, one) }, else_branch = e () => (float[] b) { b = Neg (s) }>
        }> (h, xs) }"""
    )
    last = rondel.InferenceSession(made).run(None, {"grows": np.array(False), "h": np.ones((3, 3), np.float32), "xs": np.ones((3, 3), np.int64)})[0]
    np.testing.assert_array_equal(last, -np.ones((3, 3), np.float32))
