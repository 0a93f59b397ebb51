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
