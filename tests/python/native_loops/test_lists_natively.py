"""Loops that carry lists of tensors, as one native program: beside an oracle, in all ways, and without a fault in check mode."""

import machine
import numpy as np
import pytest
import rondel
from models import WAYS, agree, f32, in_all_ways, model, run_as, scalar, session

X = np.arange(3, dtype=np.float32) - 1


def one_loop(body, kind="float[3]", initial="q0 = SequenceEmpty ()", after="", outputs="float r", go='""', item="float[A]"):
    """A loop over a list `q`, from `q0`; the body makes `w`, the next list, and `r`, of which the sum of each trip is stacked."""
    return f"""main (int64 n, float[3] x, float[M] y, int64 k) => (seq({item}) last, float[T] sums{outputs and ", " + outputs if after else ""})
      <bool yes = {{1}}, int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64 end = {{-1}}, int64[1] first = {{0}}, float most = {{9}}> {{
      {initial}
      last, sums = Loop (n, {go}, q0) <body = b (int64 i, bool go, seq({item}) q) => (bool on, seq({item}) w, float s) {{
        f = Cast <to = 1> (i)
        t = Mul (x, f)
        {body}
        s = ReduceSum <keepdims = 0> (r)
      }}>
      {after}
    }}"""


ENDLESS = "on = Identity (go)  "
ADD = ENDLESS + "w = SequenceInsert (q, t)  "
SOME = "q0 = SequenceConstruct (x, x)"
SLICES = "n1 = Add (i, one)  l = Unsqueeze (n1, first)  u = Slice (y, first, l)  "
LOOPS = {
    "the last one": one_loop(ADD + "r = SequenceAt (w, end)"),
    "the one before": one_loop(ADD + "c = SequenceLength (q)  m = Mod (k, c)  r = SequenceAt (q, m)", initial=SOME),
    "the first one, counted from the end": one_loop(ADD + "c = SequenceLength (w)  m = Neg (c)  r = SequenceAt (w, m)"),
    "its length": one_loop(ADD + "c = SequenceLength (q)  r = Cast <to = 1> (c)"),
    "joined": one_loop(ADD + "r = ConcatFromSequence <axis = 0> (w)"),
    "joined from the end": one_loop(ADD + "r = ConcatFromSequence <axis = -1> (w)", initial=SOME),
    "stacked": one_loop(ADD + "r = ConcatFromSequence <axis = 1, new_axis = 1> (w)"),
    "before it has grown, and after": one_loop(ADD + "a = SequenceLength (q)  m = SequenceAt (w, a)  r = Add (m, x)"),
    "appended from itself": one_loop(ENDLESS + "a = SequenceAt (q, end)  v = Add (a, x)  w = SequenceInsert (q, v)  r = Identity (v)", initial=SOME),
    "two in a trip": one_loop(ENDLESS + "v = SequenceInsert (q, t)  w = SequenceInsert (v, x)  r = SequenceAt (w, i)"),
    "two continuations": one_loop(ADD + "v = SequenceInsert (q, x)  a = SequenceAt (v, end)  b = SequenceAt (w, end)  r = Sub (a, b)"),
    "before the first": one_loop(ENDLESS + "w = SequenceInsert (q, t, zero)  r = SequenceAt (w, end)"),
    "before a position": one_loop(ENDLESS + "c = SequenceLength (q)  d = Add (c, one)  m = Mod (k, d)  w = SequenceInsert (q, t, m)  r = SequenceAt (w, zero)"),
    "before the last": one_loop(ENDLESS + "w = SequenceInsert (q, t, end)  r = ConcatFromSequence <axis = 0, new_axis = 1> (w)", initial=SOME),
    "without the first": one_loop(ENDLESS + "v = SequenceErase (q, zero)  w = SequenceInsert (v, t)  r = SequenceAt (w, zero)", initial=SOME),
    "without the last": one_loop(ENDLESS + "v = SequenceInsert (q, t)  u = SequenceInsert (v, x)  w = SequenceErase (u)  r = SequenceAt (w, end)"),
    "without a position": one_loop(ENDLESS + "v = SequenceInsert (q, t)  u = SequenceInsert (v, x)  c = SequenceLength (u)  m = Mod (k, c)  w = SequenceErase (u, m)  r = SequenceAt (w, end)"),
    "in some trips": one_loop(ENDLESS + """p = Mod (i, two)  is = Equal (p, zero)
        w = If (is) <then_branch = t () => (seq(float[A]) a) { a = SequenceInsert (q, t) }, else_branch = e () => (seq(float[A]) b) { b = Identity (q) }>
        r = SequenceAt (w, end)"""),
    "data end it": one_loop("w = SequenceInsert (q, t)  r = SequenceAt (w, end)  a = ReduceMax <keepdims = 0> (r)  on = Less (a, most)", go="yes"),
    "an inner loop fills it": one_loop(ENDLESS + """w = Loop (two, "", q) <body = inner (int64 j, bool d, seq(float[A]) v) => (bool e, seq(float[A]) z) {
        e = Identity (d)  g = Cast <to = 1> (j)  h = Add (t, g)  z = SequenceInsert (v, h) }>  r = ConcatFromSequence <axis = 0> (w)"""),
    "an inner loop reads it": one_loop(ADD + """c = SequenceLength (w)  a = Sub (x, x)
        r = Loop (c, "", a) <body = inner (int64 j, bool d, float[3] v) => (bool e, float[3] z) { e = Identity (d)  g = SequenceAt (w, j)  z = Add (v, g) }>"""),
    "an inner loop makes another": one_loop(ADD + """c = SequenceLength (w)  none = SequenceEmpty ()
        o = Loop (c, "", none) <body = inner (int64 j, bool d, seq(float[A]) v) => (bool e, seq(float[A]) z) { e = Identity (d)  g = SequenceAt (w, j)  z = SequenceInsert (v, g, zero) }>
        r = SequenceAt (o, end)"""),
    "read after it": one_loop(ADD + "a = SequenceAt (w, zero)  r = Add (a, t)", after="out = SequenceAt (last, k)", outputs="float[3] out"),
    "of unlike lengths": one_loop(ENDLESS + SLICES + "w = SequenceInsert (q, u)  r = SequenceAt (w, end)"),
    "of unlike lengths, any of them": one_loop(ENDLESS + SLICES + "w = SequenceInsert (q, u)  c = SequenceLength (w)  m = Mod (k, c)  r = SequenceAt (w, m)"),
    "of unlike lengths, joined": one_loop(ENDLESS + SLICES + "w = SequenceInsert (q, u)  r = ConcatFromSequence <axis = 0> (w)", initial="q0 = SequenceConstruct (y, x)"),
    "of unlike lengths, without the last": one_loop(ENDLESS + SLICES + "v = SequenceInsert (q, u)  a = SequenceInsert (v, x)  w = SequenceErase (a)  r = SequenceAt (w, end)"),
    "of one length, which nothing tells": one_loop(ENDLESS + "l = Unsqueeze (k, first)  a = Abs (l)  u = Slice (y, first, a)  w = SequenceInsert (q, u)  r = ConcatFromSequence <axis = 0, new_axis = 1> (w)"),
}  # fmt: skip
FEEDS = [(3, 4, 1), (1, 1, 0), (5, 7, 2), (2, 0, 5), (40, 9, 7)]


@pytest.mark.parametrize("loop", LOOPS)
def test_lists_in_loops(loop, monkeypatch):
    made = model(LOOPS[loop])
    sessions = in_all_ways(made, monkeypatch)
    for trips, length, k in FEEDS:
        feeds = {"n": np.array(trips), "x": X, "y": np.arange(length, dtype=np.float32) + 0.5, "k": np.array(k)}
        check(made, sessions, feeds)
    if loop != "of one length, which nothing tells":  # what is joined is divided into that length, which data decide
        assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"


def check(made, sessions, feeds):
    """Each session gives what the oracle gives, or refuses what it refuses."""
    try:
        want = machine.run_model(made, feeds)
    except machine.WrongProgram:
        want = None
    for way, s in sessions.items():
        if want is None:
            with pytest.raises(rondel.Error):
                s.run(None, feeds)
            continue
        for got, expected in zip(s.run(None, feeds), want, strict=True):
            assert type(got) is type(expected), way
            for a, b in zip(got, expected, strict=True) if isinstance(got, list) else [(got, expected)]:
                assert a.shape == b.shape and a.dtype == b.dtype, way
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=str(way))

ERASED = {
    "nothing is erased from a list that is empty, in a branch that never runs": ("""main (int64 n, float[M] x, int64 k)=>(seq(float[]) last) <int64[1] z={0},int64 five={5}> { q0=SequenceEmpty() last=Loop(n,"",q0)<body=b(int64 i,bool g,seq(float[A]) q)=>(bool g2,seq(float[A]) w){g2=Identity(g) i1=Unsqueeze(i,z) s=Slice(x,z,i1) c=Less(five,k) w=If(c)<then_branch=t()=>(seq(float[A]) u){u=SequenceErase(q0)},else_branch=e()=>(seq(float[A]) y){y=SequenceInsert(q,s)}>}> }""", {"n":scalar(1),"x":f32(1, 2),"k":scalar(1)}),
    "the last one of a ragged list is erased, now and then": ("""main (int64 n, float[M] x, int64 k)=>(seq(float[]) last, int64 m) <int64[1] z={0},int64 two={2}, int64 zero={0}> { q0=SequenceEmpty() last=Loop(n,"",q0)<body=b(int64 i,bool g,seq(float[A]) q)=>(bool g2,seq(float[A]) w){g2=Identity(g) i1=Unsqueeze(i,z) s=Slice(x,z,i1) l=SequenceLength(q) c=Less(two,l) w=If(c)<then_branch=t()=>(seq(float[A]) u){u=SequenceErase(q)},else_branch=e()=>(seq(float[A]) y){y=SequenceInsert(q,s)}>}> m=SequenceLength(last) }""", {"n":scalar(9),"x":f32(*range(12)),"k":scalar(1)}),
    "the last one of a ragged list is erased": ("""main (int64 n, float[M] x, float[K] x2)=>(seq(float[]) last) { q0=SequenceConstruct(x,x2,x) last=Loop(n,"",q0)<body=b(int64 i,bool g,seq(float[A]) q)=>(bool g2,seq(float[A]) w){g2=Identity(g) w=SequenceErase(q)}> }""", {"n":scalar(2),"x":f32(0, 1, 2),"x2":f32(0, 1)}),
}


@pytest.mark.parametrize("name", ERASED)
def test_the_last_one_of_unlike_tensors_is_erased(name, monkeypatch):
    text, feeds = ERASED[name]
    made = model(text)
    want = machine.run_model(made, feeds)
    for way in WAYS:
        run_as(monkeypatch, way)
        running = session(made)
        for _ in range(2):
            agree(running.run(None, feeds), want)
        assert way == "0" or set(running.how_it_ran().values()) == {"natively, as a whole"}


def giving(body, made=""):
    """A loop over what is given: a list and an optional as inputs, a tensor in parts; `r` of each trip is stacked."""
    return f"""main (int64 n, seq(float[L, 2]) q, optional(float[2]) o, float[P] x, int64[K] lengths, int64 each) => (float[T] sums)
      <int64 zero = {{0}}, int64 one = {{1}}, float[2] two = {{1, 3}}> {{
      {made}
      sums = Loop (n, "") <body = b (int64 i, bool go) => (bool on, float s) {{
        on = Identity (go)
        {body}
        s = ReduceSum <keepdims = 0> (r)
      }}>
    }}"""


GIVEN = {
    "an input, one after the other": giving("c = SequenceLength (q)  m = Mod (i, c)  r = SequenceAt (q, m)"),
    "an input, joined": giving("r = ConcatFromSequence <axis = 0> (q)"),
    "parts of lengths of their own": giving("c = SequenceLength (parts)  m = Mod (i, c)  r = SequenceAt (parts, m)", "parts = SplitToSequence <axis = 0> (x, lengths)"),
    "parts of one length": giving("c = SequenceLength (alike)  m = Mod (i, c)  r = SequenceAt (alike, m)", "alike = SplitToSequence <axis = 0> (x, each)"),
    "an optional": giving("""has = OptionalHasElement (o)
        r = If (has) <then_branch = t () => (float[2] a) { a = OptionalGetElement (o) }, else_branch = e () => (float[2] b) { b = Identity (two) }>"""),
}  # fmt: skip
ROWS = [np.arange(2 * k, dtype=np.float32).reshape(k, 2) for k in (1, 0, 3)]
GIVEN_FEEDS = [
    {"n": np.array(4), "q": ROWS, "o": None, "x": np.arange(7, dtype=np.float32), "lengths": np.array([3, 0, 4]), "each": np.array(3)},
    {"n": np.array(2), "q": ROWS[:1], "o": f32(5, 6), "x": np.arange(2, dtype=np.float32), "lengths": np.array([2]), "each": np.array(2**62)},
    {"n": np.array(0), "q": [], "o": f32(5, 6), "x": np.zeros(0, np.float32), "lengths": np.array([0]), "each": np.array(1)},
    {"n": np.array(1), "q": [], "o": None, "x": np.arange(2, dtype=np.float32), "lengths": np.array([1]), "each": np.array(1)},
    {"n": np.array(1), "q": ROWS, "o": None, "x": np.arange(2, dtype=np.float32), "lengths": np.array([3, -1]), "each": np.array(0)},
    {"n": np.array(1), "q": ROWS, "o": None, "x": np.arange(2, dtype=np.float32), "lengths": np.array([1, 1]), "each": np.array(-2)},
]  # fmt: skip


@pytest.mark.parametrize("loop", GIVEN)
def test_lists_and_optionals_that_are_given(loop, monkeypatch):
    made = model(GIVEN[loop])
    sessions = in_all_ways(made, monkeypatch)
    for feeds in GIVEN_FEEDS:
        check(made, sessions, feeds)
    assert set(sessions["2", "0"].how_it_ran().values()) == {"natively, as a whole"}


HOLDING = {
    "it begins empty": ("o0 = Optional <type: type_proto = float[3]> ()", "h = Add (t, x)  w = Optional (h)"),
    "it begins with something": ("o0 = Optional (x)", "h = Add (t, x)  w = Optional (h)"),
    "it is emptied": ("o0 = Optional (x)", """p = Mod (i, two)  is = Equal (p, zero)
        w = If (is) <then_branch = y () => (optional(float[3]) a) { a = Optional <type: type_proto = float[3]> () }, else_branch = z () => (optional(float[3]) b) { b = Optional (t) }>"""),
    "it is filled once": ("o0 = Optional <type: type_proto = float[3]> ()",
        "w = If (has) <then_branch = y () => (optional(float[3]) a) { a = Identity (q) }, else_branch = z () => (optional(float[3]) b) { b = Optional (t) }>"),
    "its length changes": ("o0 = Optional <type: type_proto = float[A]> ()",
        "n1 = Add (i, one)  l = Unsqueeze (n1, first)  u = Slice (y, first, l)  w = Optional (u)"),
}  # fmt: skip


@pytest.mark.parametrize("form", HOLDING)
def test_optionals_in_loops(form, monkeypatch):
    initial, step = HOLDING[form]
    made = model(f"""main (int64 n, float[3] x, float[M] y) => (optional(float[A]) last, float[T] sums, bool[T] had)
      <int64 zero = {{0}}, int64 one = {{1}}, int64 two = {{2}}, int64[1] first = {{0}}, float none = {{-7}}> {{
      {initial}
      last, sums, had = Loop (n, "", o0) <body = b (int64 i, bool go, optional(float[A]) q) => (bool on, optional(float[A]) w, float s, bool has) {{
        on = Identity (go)
        f = Cast <to = 1> (i)
        t = Mul (x, f)
        has = OptionalHasElement (q)
        s = If (has) <then_branch = y () => (float a) {{ held = OptionalGetElement (q)  a = ReduceSum <keepdims = 0> (held) }}, else_branch = z () => (float b) {{ b = Identity (none) }}>
        {step}
      }}>
    }}""")
    sessions = in_all_ways(made, monkeypatch)
    for trips in (0, 1, 2, 5):
        feeds = {"n": np.array(trips), "x": X, "y": np.arange(9, dtype=np.float32)}
        want = machine.run_model(made, feeds)
        for s in sessions.values():
            got = s.run(None, feeds)
            assert (got[0] is None) == (want[0] is None)
            agree(got[1:], want[1:])
            if want[0] is not None:
                agree(got[:1], want[:1])
    assert sessions["2", "0"].how_it_ran()["node 'last' (Loop)"] == "natively, as a whole"


def test_an_empty_optional_is_opened(monkeypatch):
    text = """main (int64 n, float[3] x) => (float[3] r) <int64 one = {1}> {
      o0 = Optional <type: type_proto = float[3]> ()
      o, r = Loop (n, "", o0, x) <body = b (int64 i, bool go, optional(float[3]) q, float[3] v) => (bool on, optional(float[3]) w, float[3] u) {
        on = Identity (go)  u = OptionalGetElement (q)  w = Optional (v) }>
    }"""
    for way in WAYS:
        run_as(monkeypatch, way)
        s = session(text)
        agree(s.run(["r"], {"n": scalar(0), "x": X}), [X])
        with pytest.raises(rondel.CallerError, match="node 'u' .*the optional is empty"):
            s.run(["r"], {"n": scalar(1), "x": X})


@pytest.mark.parametrize("made_in", ["the branch", "the graph", "the body"])
def test_unlike_tensors_are_joined_in_a_branch_that_never_runs(made_in, monkeypatch):
    construct = "l = SequenceConstruct (x, z)"
    places = [construct if made_in == place else "" for place in ("the graph", "the body", "the branch")]
    text = f"""main (int64 n, float[2, 3] x, float[3, 2] z, bool c) => (float[A, B] y) {{
      {places[0]}
      y = Loop (n, "", x) <body = b (int64 i, bool go, float[A, B] s) => (bool on, float[A, B] w) {{
        on = Identity (go)
        {places[1]}
        w = If (c) <then_branch = t () => (float[A, B] a) {{ {places[2]}  a = ConcatFromSequence <axis = 0> (l) }}, else_branch = e () => (float[A, B] b) {{ b = Neg (s) }}>
      }}>
    }}"""
    feeds = {"n": scalar(1), "x": np.ones((2, 3), np.float32), "z": np.ones((3, 2), np.float32)}
    for way in WAYS:
        run_as(monkeypatch, way)
        s = session(text)
        agree(s.run(None, {**feeds, "c": scalar(False, np.bool_)}), [-feeds["x"]])
        with pytest.raises(rondel.CallerError, match="cannot be joined along axis 0"):
            s.run(None, {**feeds, "c": scalar(True, np.bool_)})


def test_tensors_of_a_list_need_not_have_the_extents_that_names_say(monkeypatch):
    """A file names extents of the tensors in a list as those of other inputs; nothing checks them."""
    text = """main (int64 n, float[N] x, seq(float[N]) q) => (float[M] y, float[T] sums) <int64 zero = {0}> {
      none = SequenceEmpty ()
      l, sums = Loop (n, "", none) <body = b (int64 i, bool go, seq(float[A]) s) => (bool on, seq(float[A]) w, float sum) {
        on = Identity (go)  e = SequenceAt (q, i)  w = SequenceInsert (s, e)  c = ConcatFromSequence <axis = 0> (w)  sum = ReduceSum <keepdims = 0> (c) }>
      y = SequenceAt (l, zero)
    }"""
    for way in WAYS:
        run_as(monkeypatch, way)
        agree(session(text).run(None, {"n": scalar(2), "x": f32(1, 2), "q": [f32(1, 2, 3), f32(4)]}), [f32(1, 2, 3), f32(6, 10)])
