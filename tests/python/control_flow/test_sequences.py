"""Sequence and Optional ops: lists in, lists out, empty ones and positions from the end among them."""

import time
import weakref

import numpy as np
import pytest
import rondel
from models import f32, i64, model, refused, run, same, scalar, session, strings, value
from onnx import TensorProto, helper
from onnx.parser import parse_model


def lists(got, want):
    assert isinstance(got, list)
    for a, b in zip(got, want, strict=True):
        same(a, b)


Q = [f32(1), f32(2, 3), f32(4, 5, 6)]


@pytest.mark.parametrize("opset", [11, 13, 21, 25])
def test_construct_insert_erase_at_length(opset):
    text = """
    main (float[n] a, float[m] b, int64 k) => (seq(float[l]) q, seq(float[l]) r, seq(float[l]) s, float[l] e, int64 n) {
      q = SequenceConstruct (a, b, a)
      r = SequenceInsert (q, b, k)
      s = SequenceErase (r, k)
      e = SequenceAt (r, k)
      n = SequenceLength (r)
    }"""
    a, b = f32(1, 2), f32(3)
    q, r, s, e, n = run(text, {"a": a, "b": b, "k": scalar(1)}, opset=opset)
    lists(q, [a, b, a])
    lists(r, [a, b, b, a])
    lists(s, [a, b, a])
    same(e, b)
    same(n, scalar(4))


@pytest.mark.parametrize("position", range(-3, 3))
def test_at(position):
    text = "main (seq(float[n]) q, int64 k) => (float[n] e) { e = SequenceAt (q, k) }"
    same(run(text, {"q": Q, "k": scalar(position)})[0], Q[position])
    narrow = text.replace("int64 k", "int32 k")
    same(run(narrow, {"q": Q, "k": scalar(position, np.int32)})[0], Q[position])


@pytest.mark.parametrize("position", [None, *range(-3, 4)])
def test_insert(position):
    given = "" if position is None else ", k"
    text = f"main (seq(float[n]) q, float[1] x, int64 k) => (seq(float[n]) r) {{ r = SequenceInsert (q, x{given}) }}"
    want = list(Q)
    want.insert(len(Q) if position is None else position, f32(9))
    lists(run(text, {"q": Q, "x": f32(9), "k": scalar(position or 0)})[0], want)


@pytest.mark.parametrize("position", [None, *range(-3, 3)])
def test_erase(position):
    given = "" if position is None else ", k"
    text = f"main (seq(float[n]) q, int64 k) => (seq(float[n]) r) {{ r = SequenceErase (q{given}) }}"
    want = list(Q)
    del want[-1 if position is None else position]
    lists(run(text, {"q": Q, "k": scalar(position or 0)})[0], want)


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("r = SequenceAt (q, k)", 3),
        ("r = SequenceAt (q, k)", -4),
        ("r = SequenceErase (q, k)", 3),
        ("r = SequenceErase (q, k)", -4),
        ("r = SequenceInsert (q, x, k)", 4),
        ("r = SequenceInsert (q, x, k)", -4),
    ],
)
def test_positions_out_of_range_are_errors(line, position):
    kind = "float[n]" if "At" in line else "seq(float[n])"
    text = f"main (seq(float[n]) q, float[1] x, int64 k) => ({kind} r) {{ [where] {line} }}"
    with refused(rondel.CallerError, "where", str(position), "3"):
        run(text, {"q": Q, "x": f32(9), "k": scalar(position)})


def test_empty():
    text = """
    main () => (seq(int64[n]) q, int64 n, seq(int64[n]) r) {
      q = SequenceEmpty <dtype: int = 7> ()
      n = SequenceLength (q)
      x = Constant <value_ints: ints = [3]> ()
      r = SequenceInsert (q, x)
    }"""
    q, n, r = run(text)
    assert q == []
    same(n, scalar(0))
    lists(r, [i64(3)])
    with refused(rondel.CallerError, "where"):
        run(
            """main (int64 k) => (float[n] e) {
              q = SequenceEmpty ()
              [where] e = SequenceAt (q, k)
            }""",
            {"k": scalar(0)},
        )


def test_element_types_must_agree():
    with refused(rondel.CallerError, "mixed"):
        session("main (float[1] a, int64[1] b) => (seq(float[n]) q) { [mixed] q = SequenceConstruct (a, b) }")
    with refused(rondel.CallerError, "mixed"):
        session("main (seq(float[n]) q, int64[1] b) => (seq(float[n]) r) { [mixed] r = SequenceInsert (q, b) }")


def test_a_sequence_given_to_two_readers_stays_what_it_was():
    text = """
    main (seq(float[n]) q, float[1] x) => (seq(float[n]) r, seq(float[n]) s, seq(float[n]) t) {
      r = SequenceInsert (q, x)
      s = SequenceErase (q)
      t = Identity (q)
    }"""
    r, s, t = run(text, {"q": Q, "x": f32(9)})
    lists(r, [*Q, f32(9)])
    lists(s, Q[:-1])
    lists(t, Q)


@pytest.mark.parametrize("opset", [11, 24])
def test_split_to_sequence(opset):
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    text = "main (float[4, 3] x, int64{} s) => (seq(float[a, b]) q) {{ q = SplitToSequence <axis: int = {}> (x, s) }}"
    lists(run(text.format("", 0), {"x": x, "s": scalar(3)}, opset)[0], [x[:3], x[3:]])
    lists(run(text.format("[2]", 1), {"x": x, "s": i64(1, 2)}, opset)[0], [x[:, :1], x[:, 1:]])
    lists(run(text.format("[3]", -2), {"x": x, "s": i64(1, 0, 3)}, opset)[0], [x[:1], x[:0], x[1:]])
    rows = "main (float[4, 3] x) => (seq(float[b]) q) {{ q = SplitToSequence <axis: int = 0, keepdims: int = {}> (x) }}"
    lists(run(rows.format(1), {"x": x}, opset)[0], [x[k : k + 1] for k in range(4)])
    lists(run(rows.format(0), {"x": x}, opset)[0], list(x))
    with refused(rondel.CallerError, "splittosequence"):
        run(text.format("[2]", 0), {"x": x, "s": i64(1, 2)}, opset)


def test_concat_from_sequence():
    q = [np.full((2, k), k, np.float32) for k in (1, 0, 3)]
    text = "main (seq(float[n, m]) q) => (float[] y) {{ [joined] y = ConcatFromSequence <axis: int = {}, new_axis: int = {}> (q) }}"
    same(run(text.format(1, 0), {"q": q})[0], np.concatenate(q, 1))
    same(run(text.format(-1, 0), {"q": q})[0], np.concatenate(q, 1))
    alike = [np.full((2, 3), k, np.float32) for k in range(4)]
    for axis in (0, 1, 2, -1, -3):
        same(run(text.format(axis, 1), {"q": alike})[0], np.stack(alike, axis))
    with refused(rondel.CallerError, "joined"):
        run(text.format(0, 0), {"q": q})
    with refused(rondel.CallerError, "joined"):
        run(text.format(0, 1), {"q": q})
    with refused(rondel.CallerError, "joined", "empty"):
        run(text.format(0, 0), {"q": []})


def test_sequences_of_strings():
    text = """
    main (seq(string[n]) q) => (string[n] y, seq(string[n]) r) {
      y = ConcatFromSequence <axis: int = 0> (q)
      r = SequenceErase (q)
    }"""
    long = "a string beyond the reach of small buffers, kept whole"
    y, r = run(text, {"q": [strings("a"), strings(long, ""), strings("é")]})
    same(y, strings("a", long, "", "é"))
    lists(r, [strings("a"), strings(long, "")])


def test_results_alias_no_feed():
    text = "main (seq(float[n]) q) => (seq(float[n]) r, float[n] e) { k = Constant <value_int: int = 0> ()  r = Identity (q)  e = SequenceAt (q, k) }"
    r, e = run(text, {"q": Q})
    for y in (*r, e):
        y[:] = 99
    lists(Q, [f32(1), f32(2, 3), f32(4, 5, 6)])
    assert not np.shares_memory(r[0], e)


# ---- optionals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opset", [18, 21, 25])
def test_has_and_get_element(opset):
    text = """
    main (optional(float[2]) o, float[2] x) => (bool a, bool b, bool c) {
      a = OptionalHasElement (o)
      b = OptionalHasElement (x)
      c = OptionalHasElement ()
    }"""
    for o in (None, f32(1, 2)):
        a, b, c = run(text, {"o": o, "x": f32(3, 4)}, opset)
        same(a, np.array(o is not None))
        same(b, np.array(True))
        same(c, np.array(False))
    get = "main (optional(float[2]) o) => (float[2] y) { [inside] y = OptionalGetElement (o) }"
    same(run(get, {"o": f32(1, 2)}, opset)[0], f32(1, 2))
    with refused(rondel.CallerError, "inside", "empty"):
        run(get, {"o": None}, opset)


def test_get_element_of_a_tensor_is_the_tensor():
    text = "main (float[2] x) => (float[2] y) { y = OptionalGetElement (x) }"
    same(run(text, {"x": f32(1, 2)})[0], f32(1, 2))


@pytest.mark.parametrize("jit", ["0", "1", "quick", "2"])
@pytest.mark.parametrize("n", ["n", "1, 1, 4"])
def test_get_element_of_a_tensor_that_is_computed(jit, n, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    text = f"""main (float[{n}] x) => (float[{n}] y, float[{n}] z) {{
      a = Sin (x)  b = OptionalGetElement (a)
      c = Cos (x)  d = OptionalGetElement (c)
      y = Neg (b)  z = Neg (d)
    }}"""
    x = np.arange(4, dtype=np.float32).reshape(4 if n == "n" else (1, 1, 4))
    y, z = run(text, {"x": x}, 18)
    np.testing.assert_allclose(y, -np.sin(x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(z, -np.cos(x), rtol=1e-6, atol=1e-6)


def test_optional_of_a_sequence():
    text = """
    main (seq(float[n]) q) => (optional(seq(float[n])) o, seq(float[n]) r) {
      o = Optional (q)
      r = OptionalGetElement (o)
    }"""
    o, r = run(text, {"q": Q})
    lists(o, Q)
    lists(r, Q)


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        ("optional(float[])", None),
        ("optional(float[n, 3])", ["n", 3]),
        ("optional(float)", []),
        ("optional(seq(float[n]))", []),
        ("seq(float[n])", []),
        ("float[]", None),
        ("float[n, 3]", ["n", 3]),
    ],
)
def test_shapes_of_inputs_that_are_no_plain_tensors(declared, shape):
    s = session(f"main ({declared} x) => ({declared} y) {{ y = Identity (x) }}", opset=18)
    assert s.get_inputs()[0].shape == shape
    assert s.get_outputs()[0].shape == shape


def test_an_empty_optional():
    node = helper.make_node(
        "Optional", [], ["o"], type=helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    )
    has = helper.make_node("OptionalHasElement", ["o"], ["y"])
    made = model("main () => (bool y) { y = Constant <value = bool {1}> () }")
    del made.graph.node[:]
    made.graph.node.extend([node, has])
    same(run(made)[0], np.array(False))


def test_an_empty_optional_without_a_type():
    made = model("main (bool go) => (bool y) { none = Optional () y = OptionalHasElement (none) }")
    with refused(rondel.CallerError, "an empty optional needs the attribute 'type'"):
        session(made)


# ---- ConstantOfShape ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint16, np.int64, np.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3)])
def test_constant_of_shape(dtype, shape):
    filler = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], [1])
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], value=filler)
    graph = helper.make_graph(
        [node], "g", [value("s", TensorProto.INT64, ["k"])], [value("y", filler.data_type, None)]
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    same(run(made, {"s": np.array(shape, np.int64)})[0], np.ones(shape, dtype))


def test_constant_of_shape_is_float_zero_by_default():
    text = "main (int64[k] s) => (float[] y) { y = ConstantOfShape (s) }"
    same(run(text, {"s": i64(2, 2)})[0], np.zeros((2, 2), np.float32))
    with refused(rondel.CallerError, ("-1", "negative")):
        run(text, {"s": i64(2, -1)})


APPENDED = """
main (int64 n) => (seq(float[]) q) {{
  zero = SequenceEmpty <dtype: int = 1> ()
  q = Loop (n, "", zero) <body: graph = body (int64 i, bool on, seq(float[]) s) => (bool more, seq(float[]) t) {{
    more = Identity (on)
    x = Cast <to: int = 1> (i)
    {step}
  }}>
}}"""

STEPS = {
    "append": "t = SequenceInsert (s, x)",
    "append under a condition": """
    three = Constant <value_int: int = 3> ()  none = Constant <value_int: int = 0> ()
    rest = Mod (i, three)  odd = Greater (rest, none)
    t = If (odd) <then_branch: graph = yes () => (a) { a = SequenceInsert (s, x) },
                  else_branch: graph = no () => (b) { b = Identity (s) }>""",
    "append in an inner loop": """
    two = Constant <value_int: int = 2> ()
    t = Loop (two, "", s) <body: graph = inner (int64 j, bool run, seq(float[]) u) => (bool runs, seq(float[]) v) {
      runs = Identity (run)
      v = SequenceInsert (u, x)
    }>""",
    "append and take off": "a = SequenceInsert (s, x)  b = SequenceInsert (a, x)  t = SequenceErase (b)",
}
WANT = {
    "append": lambda n: list(range(n)),
    "append under a condition": lambda n: [i for i in range(n) if i % 3],
    "append in an inner loop": lambda n: [i for i in range(n) for _ in range(2)],
    "append and take off": lambda n: list(range(n)),
}


@pytest.mark.parametrize("how", STEPS)
def test_appending(how):
    """The results of appending; tests/session/allocation_test.cpp tests its cost."""
    (q,) = run(APPENDED.format(step=STEPS[how]), {"n": scalar(2_000)}, opset=18)
    assert [float(x) for x in q] == WANT[how](2_000)


def test_a_sequence_that_others_hold_is_not_changed():
    """A sequence with other references is not changed in place: an initial value, an earlier state, a value read after the loop."""
    text = """
    main (int64 n, seq(float[]) q, float[] x) => (seq(float[]) r, seq(float[]) kept, seq(float[]) again, int64[k] lengths) {
      r, kept, lengths = Loop (n, "", q, q) <body: graph =
          body (int64 i, bool on, seq(float[]) s, seq(float[]) before) => (bool more, seq(float[]) t, seq(float[]) last, int64 length) {
        more = Identity (on)
        t = SequenceInsert (s, x)
        last = Identity (s)
        length = SequenceLength (s)
      }>
      again = SequenceInsert (q, x)
    }"""
    r, kept, again, lengths = run(text, {"n": scalar(4), "q": Q, "x": f32(9)}, opset=18)
    nine = [f32(9)]
    lists(r, Q + 4 * nine)
    lists(kept, Q + 3 * nine)
    lists(again, Q + nine)
    same(lengths, i64(3, 4, 5, 6))


def test_a_sequence_that_branches_share_is_not_changed():
    text = """
    main (bool c, seq(float[]) q, float[] x) => (seq(float[]) r, seq(float[]) s) {
      a = SequenceInsert (q, x)
      r = If (c) <then_branch: graph = yes () => (y) { y = SequenceInsert (a, x) }, else_branch: graph = no () => (z) { z = Identity (a) }>
      s = SequenceErase (a)
    }"""
    for c in (True, False):
        r, s = run(text, {"c": np.array(c), "q": Q, "x": f32(9)}, opset=18)
        lists(r, Q + [f32(9)] * (2 if c else 1))
        lists(s, Q)


def test_the_text_of_a_growing_sequence_is_counted_once():
    text = """
    main (int64 n, double[100] x) => (int64 k) {
      zero = SequenceEmpty <dtype: int = 8> ()
      q = Loop (n, "", zero) <body: graph = body (int64 i, bool on, seq(string[]) s) => (bool more, seq(string[]) t) {
        more = Identity (on)
        y = Cast <to: int = 8> (x)
        t = SequenceInsert (s, y)
      }>
      k = SequenceLength (q)
    }"""
    x = np.random.default_rng(0).random(100)  # texts too long for the inline buffer of a string
    limited = rondel.SessionOptions()
    limited.max_memory_bytes = 4_000_000
    same(session(text, 20, limited).run(None, {"n": scalar(200), "x": x})[0], scalar(200))
    with refused(rondel.LimitExceeded, "memory"):
        session(text, 20, limited).run(None, {"n": scalar(2_000), "x": x})


def test_a_long_sequence_of_arrays_is_let_go_of():
    """The items of a long sequence are released on another thread; Python arrays among them are released, too."""
    session = rondel.InferenceSession(parse_model("""<ir_version: 9, opset_import: ["": 18]>
        g (seq(float[n]) s, float[n] x) => (seq(float[n]) t) { t = SequenceInsert (s, x) }"""))
    arrays = [np.full(2, k, np.float32) for k in range(20_000)]
    alive = [weakref.ref(a) for a in arrays]
    (t,) = session.run(None, {"s": arrays, "x": np.zeros(2, np.float32)})
    assert len(t) == 20_001 and t[19_999][1] == 19_999
    del t, arrays
    end = time.monotonic() + 20
    while any(a() is not None for a in alive) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(a() is not None for a in alive)
