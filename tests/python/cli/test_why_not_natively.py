"""In one line, why a loop is not native: the first node or state at fault, what about it, and what would help."""

import pytest
import rondel
from models import model, session

import numpy as np

# What a trip does; `s` is f32[8], and `t` its next value.
MASK = "a form of fixed size, such as a mask, would do"
DATA = "compute it from shapes, constants or the trip"
ZERO = "zero = Constant <value = int64[1] {0}> ()"
BOXES = """list = Constant <value = int64[3] {1, 1, 8}> ()  s2 = Concat <axis = 0> (s, s, s, s)
        eight = Constant <value = int64[3] {1, 8, 4}> ()  boxes = Reshape (s2, eight)  scores = Reshape (s, list)  [find] at = NonMaxSuppression (boxes, scores)"""
TRIPS = {
    f"{BOXES}  f = Cast <to = 1> (at)  q = ReduceSum <keepdims = 0> (f)  t = Sub (s, q)":
        f"node 'find' (NonMaxSuppression) makes values whose sizes data decide; {MASK}",
    f"{BOXES}  m = ReduceMax <keepdims = 0> (at)  f = Cast <to = 1> (m)  [text] a = Cast <to = 8> (s)  b = Cast <to = 1> (a)  t = Sub (b, f)":
        f"node 'find' (NonMaxSuppression) makes values whose sizes data decide; {MASK}; and 1 other reason",
    f"{BOXES}  f = Cast <to = 1> (at)  c = Softmax (f)  q = ReduceMax <keepdims = 0> (c)  t = Sub (s, q)":
        f"node 'find' (NonMaxSuppression) makes values whose sizes data decide; {MASK} (4 more follow from it)",
    "k = ArgMax <axis = 0> (s)  minus = Constant <value = int64[1] {-1}> ()  shape = Concat <axis = 0> (k, minus)  [fold] z = Reshape (s, shape)  q = ReduceSum <keepdims = 0> (z)  t = Add (s, q)":
        f"node 'fold' (Reshape) needs 'shape' before the run, and data decide it; {DATA}",
    "[text] a = Cast <to = 8> (s)  b = Cast <to = 1> (a)  t = Add (b, s)":
        "node 'text' (Cast) makes text; strings run step by step (1 more follows from it)",
    f"{ZERO}  k = ArgMax <axis = 0, keepdims = 0> (s)  z = Unsqueeze (s, zero)  l = SequenceConstruct (s, z, s, s, s, s, s, s)  m = SequenceAt (l, k)  q = ReduceSum <keepdims = 0> (m)  t = Add (s, q)":
        "node 'l' (SequenceConstruct) makes a list; tensors of one rank that differ in one extent at most would do (1 more follows from it)",
    f"""no = Constant <value = float {{0}}> ()  q = ReduceSum <keepdims = 0> (s)  c = Greater (q, no)  {ZERO}
        [choose] r = If (c) <then_branch = a () => (a1) {{ a1 = Unsqueeze (s, zero) }}, else_branch = b () => (b1) {{ b1 = Neg (s) }}>
        r2 = Tanh (r)  l = Squeeze (r2, zero)  k = ReduceSum <keepdims = 0> (l)  t = Add (s, k)""":
        "the branches of node 'choose' (If) give output 'r' as f32[1, 8] and f32[8]; give both one rank, and extents with bounds (2 more follow from it)",
}
# Models whose loop is the node 'y' (Loop).
MODELS = {
    """main (float[3] x, int64 n) => (y) { y = Loop (n, , x) <body = b (int64 i, bool go, s) => (bool on, t) {
       on = Identity (go)  zero = Constant <value = int64[1] {0}> ()  t = Unsqueeze (s, zero) }> }""":
        "state 's' begins as f32[3] and becomes f32[...]; keep its rank (1 more follows from it)",
    """main (float[3] x, int64 n) => (float[3] y) { no = SequenceEmpty ()
       y, all = Loop (n, , x, no) <body = b (int64 i, bool go, float[3] s, seq(float[3]) l) => (bool on, float[3] t, seq(float[3]) m) {
       on = Identity (go)  k = SequenceInsert (l, s)  z = Concat <axis = 0> (s, s)  d = Constant <value = int64[1] {0}> ()  u = Unsqueeze (z, d)
       m = SequenceInsert (k, u)  zero = Constant <value = int64 {0}> ()  first = SequenceAt (m, zero)  t = Add (first, s) }> }""":
        "state 'l' is a list; tensors of one rank that differ in one extent at most would do",
    """main (float[3] x, int64 n) => (float[3] y) { o = Optional (x)
       y, p = Loop (n, , x, o) <body = b (int64 i, bool go, float[3] s, optional(float[3]) held) => (bool on, float[3] t, optional(float[3]) next) {
       on = Identity (go)  v = OptionalGetElement (held)  q = ReduceSum <keepdims = 0> (v)  t = Add (q, s)
       d = Constant <value = int64[1] {0}> ()  u = Unsqueeze (t, d)  next = Optional (u) }> }""":
        "state 'held' is an optional; one that holds tensors of one rank would do",
}


def loop_of(trip):
    return f"""main (float[8] x, int64 n) => (float[8] y) {{
      y = Loop (n, , x) <body = body (int64 i, bool go, float[8] s) => (bool on, float[8] t) {{ on = Identity (go)  {trip} }}>
    }}"""


def execution(text, name="node 'y' (Loop)"):
    report = rondel.inspect(model(text))
    return {part["name"]: part["execution"] for part in report.loops + report.branches}[name]


@pytest.mark.parametrize(("text", "why"), [*((loop_of(trip), why) for trip, why in TRIPS.items()), *MODELS.items()])
def test_inspect_names_what_is_at_fault(text, why):
    assert execution(text) == f"step by step: {why}"
    assert len(execution(text)) <= 170


def test_a_loop_that_ran_says_the_same():
    for trip, why in list(TRIPS.items())[:2]:
        s = session(loop_of(trip))
        s.run(None, {"x": np.ones(8, np.float32), "n": np.int64(2)})
        assert s.how_it_ran() == {"node 'y' (Loop)": f"step by step: {why}"}


def test_inner_loops_stay_native():
    trip = f"""{BOXES}  l = Shape (at)  f = Cast <to = 1> (l)  q = ReduceSum <keepdims = 0> (f)  ten = Constant <value = int64 {{10}}> ()
      [inner] t = Loop (ten, , s) <body = c (int64 j, bool go2, float[8] a) => (bool on2, float[8] a2) {{ on2 = Identity (go2)  a2 = Mul (a, q) }}>"""
    assert execution(loop_of(trip)).startswith("step by step: node 'find' (NonMaxSuppression) makes")
    assert execution(loop_of(trip), "node 'inner' (Loop)") == "natively, as a whole"


def test_an_if_whose_branches_differ_in_rank_runs_natively_for_each_condition():
    text = """main (float[3] x, bool c) => (y) { zero = Constant <value = int64[1] {0}> ()
      [choose] y = If (c) <then_branch = a () => (a1) { a1 = Unsqueeze (x, zero) }, else_branch = b () => (b1) { b1 = Neg (x) }> }"""
    assert execution(text, "node 'choose' (If)") == "natively, as a whole, each branch on its own, for shapes that come again"
    s = session(text)
    s.run(None, {"x": np.ones(3, np.float32), "c": np.bool_(True)})
    assert s.how_it_ran() == {"node 'choose' (If)": "natively, as a whole"}


def test_shapes_that_come_once_hide_no_reason():
    """The first shapes get code of their own in vain; the next would get some only if they came again."""
    trip = next(trip for trip in TRIPS if "[fold]" in trip)
    s = session(loop_of(trip).replace("float[8]", "float[m]"))
    why = f"step by step: {TRIPS[trip]}"
    for length, how in (3, why), (4, f"{why}; code for these very shapes would be made if they came again"):
        x = np.zeros(length, np.float32)
        x[1] = 1
        s.run(None, {"x": x, "n": np.int64(1)})
        assert s.how_it_ran() == {"node 'y' (Loop)": how}
