"""What an ONNX Loop carries and what it stacks: states that change, items, results that are left out, strings, sequences and optionals."""

import numpy as np
import pytest
import rondel
from loop_cases import DOUBLING, doubling
from models import LOOP_VERSIONS, TRUE, WAYS, f32, i64, make_model, refused, run, run_as, same, scalar, session, strings, value
from onnx import TensorProto, helper

# ---- states ----------------------------------------------------------------------------------------------


def test_a_state_may_change_its_shape():
    text = """
    main (int64 m, float[k] x) => (float[l] y, int64[n] sizes) {
      y, sizes = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, size) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, x)
        size = Size (b)
      }>
    }"""
    y, sizes = run(text, {"m": scalar(4), "x": f32(1, 2)})
    same(y, np.tile(f32(1, 2), 5))
    same(sizes, i64(4, 6, 8, 10))


RANK_GROWS = """
main (int64 m, float[1] x) => (float[] y) {
  axis = Constant <value_ints: ints = [0]> ()
  y = Loop (m, , x) <body: graph = body (i, go, a) => (more, b) {
    more = Identity (go)
    b = Unsqueeze (a, axis)
  }>
}"""


@pytest.mark.parametrize("m", [0, 1, 3])
def test_a_state_may_change_its_rank(m):
    (y,) = run(RANK_GROWS, {"m": scalar(m), "x": f32(7)})
    same(y, np.full((1,) * (m + 1), 7, np.float32))


def test_a_state_may_change_its_shape_against_the_declared_one():
    # Declared shapes of body inputs are hints.
    text = """
    main (int64 m, float[2] x) => (float[k] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[2] a) => (bool more, float[k] b) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, a)
      }>
    }"""
    same(run(text, {"m": scalar(3), "x": f32(1, 2)})[0], np.tile(f32(1, 2), 8))


@pytest.mark.parametrize("jit", WAYS)
def test_a_product_reads_a_state_of_one_element_before_it_changes(jit, monkeypatch):
    # The product reads the state from memory, but its next value is computed in a register.
    run_as(monkeypatch, jit)
    text = """
    main (int64 m, float[1, 1] x) => (float[1, 1] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[1, 1] a) => (bool more, float[1, 1] b) {
        more = Identity (go)
        p = MatMul (a, a)
        b = Neg (p)
      }>
    }"""
    same(run(text, {"m": scalar(3), "x": f32([2])})[0], f32([-256]))


def test_states_swap():
    text = """
    main (int64 m, float a0, float b0) => (float a, float b) {
      a, b = Loop (m, , a0, b0) <body: graph = body (i, go, p, q) => (go, q, p) { }>
    }"""
    a, b = run(text, {"m": scalar(3), "a0": scalar(1, np.float32), "b0": scalar(2, np.float32)})
    same(a, scalar(2, np.float32))
    same(b, scalar(1, np.float32))


def test_a_body_may_give_one_value_twice():
    # The body returns its input `a` as two items.
    text = """
    main (int64 m, int64 x) => (int64 y, int64[n] s, int64[n] t, int64[n] u) {
      y, s, t, u = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a, a, i) { b = Add (a, i) }>
    }"""
    y, s, t, u = run(text, {"m": scalar(4), "x": scalar(10)})
    same(y, scalar(16))
    same(s, i64(10, 10, 11, 13))
    same(t, s)
    same(u, i64(0, 1, 2, 3))


def test_a_loop_may_have_items_only():
    text = """
    main (int64 m) => (int64[n] s) {
      s = Loop (m, "") <body: graph = body (i, go) => (go, item) { item = Mul (i, i) }>
    }"""
    same(run(text, {"m": scalar(5)})[0], i64(0, 1, 4, 9, 16))


def test_one_result_is_required():
    body = helper.make_graph([], "body", [value("i", 7, []), value("go", 9, [])], [value("go", 9, [])])
    loop = helper.make_node("Loop", ["m", "c"], [], name="idle", body=body)
    same_x = helper.make_node("Identity", ["m"], ["y"])
    inputs = [value("m", TensorProto.INT64, []), value("c", TensorProto.BOOL, [])]
    with refused(rondel.CallerError, "idle"):
        session(make_model([loop, same_x], inputs, [value("y", TensorProto.INT64, [])]))


def test_outputs_may_have_empty_names():
    text = DOUBLING.replace("y, before, trips = Loop", '"", before, "" = Loop').replace(
        "(float[2] y, float[n, 2] before, int64[n] trips)", "(float[n, 2] before)", 1
    )
    (before,) = run(text, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})
    same(before, doubling([1, 3], 3)[1])


def test_results_nobody_reads_may_be_left_out():
    text = DOUBLING.replace("y, before, trips = Loop", "y = Loop").replace(
        "(float[2] y, float[n, 2] before, int64[n] trips)", "(float[2] y)", 1
    )
    with_all = run(DOUBLING, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})
    without = text.replace("(bool more, float[2] b, float[2] item, int64 index)", "(bool more, float[2] b)")
    same(run(without, {"m": scalar(3), "c": TRUE, "last": scalar(9), "x": f32(1, 3)})[0], with_all[0])


# ---- items -----------------------------------------------------------------------------------------------


def test_constant_and_captured_items_repeat():
    text = """
    main (int64 m, float[2] x) => (float[n, 2] s, float[n] t) {
      y, s, t = Loop (m, , x) <body: graph = body (i, go, a) => (go, a, x, one) {
        one = Constant <value_float: float = 1.0> ()
      }>
    }"""
    s, t = run(text, {"m": scalar(3), "x": f32(1, 2)})
    same(s, f32([1, 2], [1, 2], [1, 2]))
    same(t, f32(1, 1, 1))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0,), (2, 0, 3)])
def test_items_stack_on_a_new_axis(shape):
    extents = f"[{', '.join(map(str, shape))}]" if shape else ""
    stacked = f"[n{''.join(f', {e}' for e in shape)}]"
    text = f"""
    main (int64 m, float{extents} x) => (float{stacked} s) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a) {{ b = Add (a, a) }}>
    }}"""
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    same(run(text, {"m": scalar(3), "x": x})[0], np.stack([x, 2 * x, 4 * x]))


def test_item_shape_change_of_equal_byte_size_is_an_error():
    text = """
    main (int64 m, float[2, 3] x) => (float[n, 2, 3] s) {
      [turning] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, turned) {
        more = Identity (go)
        b = Transpose (a)
        turned = Identity (a)
      }>
    }"""
    x = np.zeros((2, 3), np.float32)
    assert run(text, {"m": scalar(1), "x": x})[0].shape == (1, 2, 3)
    with refused(rondel.CallerError, "turning", ("turned", "'a'"), ("trip 1", "trip 2"), "2,3", "3,2"):
        run(text, {"m": scalar(2), "x": x})


def test_item_shape_change_is_an_error():
    text = """
    main (int64 m, float[1] x) => (float[n, k] s) {
      [growing] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, grown) {
        more = Identity (go)
        b = Concat <axis: int = 0> (a, a)
        grown = Identity (a)
      }>
    }"""
    with refused(rondel.CallerError, "growing", ("grown", "'a'"), "trip 1", "[1]", "[2]"):
        run(text, {"m": scalar(3), "x": f32(1)})


@pytest.mark.parametrize("kind", ["sequence", "optional"])
def test_only_tensors_are_items(kind):
    make = {"sequence": "item = SequenceConstruct (a)", "optional": "item = Optional (a)"}[kind]
    text = f"""
    main (int64 m, float[1] x) => (float[1] y) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, item) {{
        b = Add (a, a)
        {make}
      }}>
    }}"""
    with refused(rondel.CallerError, "item", (kind, kind[:3])):
        session(text)


# ---- strings, sequences, optionals -----------------------------------------------------------------------


def test_items_and_states_may_be_strings():
    text = """
    main (int64 m, string[2] x) => (string[2] y, string[n, 2] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (more, b, item) {
        more = Identity (go)
        zero = Constant <value_ints: ints = [0]> ()
        one = Constant <value_ints: ints = [1]> ()
        two = Constant <value_ints: ints = [2]> ()
        head = Slice (a, zero, one, zero)
        tail = Slice (a, one, two, zero)
        b = Concat <axis: int = 0> (tail, head)
        item = Identity (a)
      }>
    }"""
    long = "a string too long for any small buffer inside a string object, é"
    y, s = run(text, {"m": scalar(3), "x": strings("", long)})
    same(y, strings(long, ""))
    same(s, np.array([["", long], [long, ""], ["", long]], dtype=object))


def test_one_string_value_is_state_and_item_at_once():
    # A known bug of another runtime: the item is empty after the first trip.
    text = """
    main (int64 m, string[1] x) => (string[1] y, string[n, 1] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, item) {
        b = Identity (a)
        item = Identity (a)
      }>
    }"""
    word = "carried from trip to trip, and stacked as well"
    y, s = run(text, {"m": scalar(4), "x": strings(word)})
    same(y, strings(word))
    same(s, np.array([[word]] * 4, dtype=object))


SEQUENCE_STATE = """
main (int64 m, seq(float[k]) q, float[2] x) => (seq(float[k]) r, int64[n] lengths) {
  r, y, lengths = Loop (m, , q, x) <body: graph = body (i, go, s, a) => (more, s2, b, length) {
    more = Identity (go)
    s2 = SequenceInsert (s, a)
    b = Add (a, a)
    length = SequenceLength (s2)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 13])
def test_a_state_may_be_a_sequence(version):
    r, lengths = run(SEQUENCE_STATE, {"m": scalar(3), "q": [f32(9)], "x": f32(1, 2)}, opset=version)
    assert isinstance(r, list)
    for got, want in zip(r, [f32(9), f32(1, 2), f32(2, 4), f32(4, 8)], strict=True):
        same(got, want)
    same(lengths, i64(2, 3, 4))


def test_a_sequence_without_trips_stays_as_it_was():
    r, lengths = run(SEQUENCE_STATE, {"m": scalar(0), "q": [], "x": f32(1, 2)})
    assert r == []
    same(lengths, np.zeros(0, np.int64))


OPTIONAL_STATE = """
main (int64 m, optional(float[2]) o) => (optional(float[2]) p, bool[n] had) {
  p, had = Loop (m, , o) <body: graph = body (int64 i, bool go, optional(float[2]) a)
      => (bool more, optional(float[2]) b, bool has) {
    more = Identity (go)
    has = OptionalHasElement (a)
    next = If (has) <
      then_branch: graph = full () => (float[2] t) {
        inside = OptionalGetElement (a)
        t = Add (inside, inside)
      },
      else_branch: graph = empty () => (float[2] e) { e = Constant <value_floats: floats = [1.0, 3.0]> () }
    >
    b = Optional (next)
  }>
}"""


@pytest.mark.parametrize("version", [v for v in LOOP_VERSIONS if v >= 18 or v == 16])
def test_a_state_may_be_an_optional(version):
    p, had = run(OPTIONAL_STATE, {"m": scalar(3), "o": None}, opset=version)
    same(p, f32(4, 12))
    same(had, np.array([False, True, True]))
    p, had = run(OPTIONAL_STATE, {"m": scalar(2), "o": f32(1, 1)}, opset=version)
    same(p, f32(4, 4))
    same(had, np.array([True, True]))


def test_an_optional_without_trips_stays_empty():
    p, had = run(OPTIONAL_STATE, {"m": scalar(0), "o": None})
    assert p is None
    same(had, np.zeros(0, bool))


def test_a_state_may_be_an_optional_sequence():
    text = """
    main (int64 m, optional(seq(float[1])) o) => (optional(seq(float[1])) p) {
      p = Loop (m, , o) <body: graph = body (int64 i, bool go, optional(seq(float[1])) a)
          => (bool more, optional(seq(float[1])) b) {
        more = Identity (go)
        has = OptionalHasElement (a)
        one = Constant <value_floats: floats = [1.0]> ()
        next = If (has) <
          then_branch: graph = full () => (seq(float[1]) t) {
            inside = OptionalGetElement (a)
            t = SequenceInsert (inside, one)
          },
          else_branch: graph = empty () => (seq(float[1]) e) { e = SequenceEmpty () }
        >
        b = Optional (next)
      }>
    }"""
    (p,) = run(text, {"m": scalar(3), "o": None})
    assert [x.tolist() for x in p] == [[1.0], [1.0]]
