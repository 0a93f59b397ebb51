"""ONNX If: value, shape and errors come from the branch taken; the other branch is not evaluated."""

import numpy as np
import pytest
import rondel
from models import FALSE, IF_VERSIONS, TRUE, check_mode, f32, i64, refused, run, same, scalar, session, strings

CHOICE = """
main (bool c, float[2] x) => (float[2] y, float[2] z) {
  y, z = If (c) <
    then_branch: graph = yes () => (float[2] a, float[2] b) { a = Add (x, x)  b = Identity (x) },
    else_branch: graph = no () => (float[2] p, float[2] q) { p = Sub (x, x)  q = Add (p, x) }
  >
}"""


@pytest.mark.parametrize("version", IF_VERSIONS)
@pytest.mark.parametrize("taken", [True, False])
def test_every_version_runs(version, taken):
    y, z = run(CHOICE, {"c": np.array(taken), "x": f32(1, 3)}, opset=version)
    same(y, f32(2, 6) if taken else f32(0, 0))
    same(z, f32(1, 3))


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(("declared", "shape"), [("[1]", (1,)), ("[1, 1]", (1, 1)), ("[a, b]", (1, 1)), ("[]", (1, 1, 1))])
def test_condition_of_one_element_and_any_rank(taken, declared, shape):
    text = CHOICE.replace("bool c", f"bool{declared} c")
    same(run(text, {"c": np.full(shape, taken), "x": f32(1, 3)})[0], f32(2, 6) if taken else f32(0, 0))


def test_condition_of_two_elements_is_an_error():
    for declared in ("bool[2] c", "bool[k] c", "bool[] c"):
        with refused(rondel.CallerError, "(If)", "the condition is bool[2]; expected one element"):
            run(CHOICE.replace("bool c", declared), {"c": np.array([True, True]), "x": f32(1, 3)})


def test_condition_of_another_dtype_is_refused():
    with refused(rondel.CallerError, "if", "bool"):
        session(CHOICE.replace("bool c", "float c"))


@pytest.mark.parametrize("c", [TRUE, FALSE])
def test_branches_of_other_shape_and_rank(c):
    text = """
    main (bool c, float[2, 3] x) => (float[] y) {
      y = If (c) <
        then_branch: graph = yes () => (a) { a = Flatten <axis: int = 0> (x) },
        else_branch: graph = no () => (b) { b = ReduceSum <keepdims: int = 0> (x) }
      >
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    same(run(text, {"c": c, "x": x})[0], x.reshape(1, 6) if c else scalar(15, np.float32))


def test_shapes_flow_on_after_the_branches():
    text = """
    main (bool c, float[k] x) => (float[l] z, int64[1] n) {
      y = If (c) <
        then_branch: graph = yes () => (a) { a = Concat <axis: int = 0> (x, x) },
        else_branch: graph = no () => (b) { b = Identity (x) }
      >
      z = Add (y, y)
      n = Shape (y)
    }"""
    for c, want in ((TRUE, f32(2, 4, 2, 4)), (FALSE, f32(2, 4))):
        z, n = run(text, {"c": c, "x": f32(1, 2)})
        same(z, want)
        same(n, i64(len(want)))


@pytest.mark.parametrize("version", [13, 16, 21, 25])
def test_sequences(version):
    text = """
    main (bool c, float[2] x) => (seq(float[2]) y) {
      y = If (c) <
        then_branch: graph = yes () => (seq(float[2]) a) { a = SequenceConstruct (x, x) },
        else_branch: graph = no () => (seq(float[2]) b) { b = SequenceEmpty () }
      >
    }"""
    assert [e.tolist() for e in run(text, {"c": TRUE, "x": f32(1, 2)}, opset=version)[0]] == [[1, 2], [1, 2]]
    assert run(text, {"c": FALSE, "x": f32(1, 2)}, opset=version)[0] == []


@pytest.mark.parametrize("version", [16, 21, 25])
def test_optionals(version):
    text = """
    main (bool c, float[2] x) => (optional(float[2]) y) {
      y = If (c) <
        then_branch: graph = yes () => (optional(float[2]) a) { a = Optional (x) },
        else_branch: graph = no () => (optional(float[2]) b) {
          b = Optional <type: type_proto = float[2]> ()
        }
      >
    }"""
    same(run(text, {"c": TRUE, "x": f32(1, 2)}, opset=version)[0], f32(1, 2))
    assert run(text, {"c": FALSE, "x": f32(1, 2)}, opset=version)[0] is None


def test_strings():
    text = """
    main (bool c, string[1] x) => (string[k] y) {
      y = If (c) <
        then_branch: graph = yes () => (a) { a = Concat <axis: int = 0> (x, x) },
        else_branch: graph = no () => (b) { b = Identity (x) }
      >
    }"""
    same(run(text, {"c": TRUE, "x": strings("é")})[0], strings("é", "é"))
    same(run(text, {"c": FALSE, "x": strings("é")})[0], strings("é"))


def test_only_the_branch_taken_can_fail():
    text = """
    main (bool c, float[3] x, int64 k) => (float y) {
      y = If (c) <
        then_branch: graph = yes () => (a) { [pick] a = Gather (x, k) },
        else_branch: graph = no () => (b) { b = ReduceSum <keepdims: int = 0> (x) }
      >
    }"""
    feeds = {"x": f32(1, 2, 3), "k": scalar(7)}
    same(run(text, {"c": FALSE, **feeds})[0], scalar(6, np.float32))
    with refused(rondel.CallerError, "pick", "7"):
        run(text, {"c": TRUE, **feeds})


@pytest.mark.parametrize("p", [TRUE, FALSE])
@pytest.mark.parametrize("q", [TRUE, FALSE])
def test_nested_with_captures(p, q):
    text = """
    main (bool p, bool q, float x) => (float y) {
      y = If (p) <
        then_branch: graph = yes () => (a) {
          two = Add (x, x)
          a = If (q) <
            then_branch: graph = yes2 () => (b) { b = Mul (two, two) },
            else_branch: graph = no2 () => (b) { b = Add (two, x) }
          >
        },
        else_branch: graph = no () => (a) { a = Neg (x) }
      >
    }"""
    want = (36 if q else 9) if p else -3
    same(run(text, {"p": p, "q": q, "x": scalar(3, np.float32)})[0], scalar(want, np.float32))


def test_a_branch_returns_its_capture():
    text = """
    main (bool c, float[2] x, float[2] z) => (float[2] y) {
      y = If (c) <then_branch: graph = yes () => (x) { }, else_branch: graph = no () => (z) { }>
    }"""
    x = f32(1, 2)
    (y,) = run(text, {"c": TRUE, "x": x, "z": f32(3, 4)})
    same(y, x)
    assert not np.shares_memory(y, x)
    same(run(text, {"c": FALSE, "x": x, "z": f32(3, 4)})[0], f32(3, 4))


def test_inside_a_loop():
    text = """
    main (int64 m, int64 x) => (int64 y, int64[n] s) {
      two = Constant <value_int: int = 2> ()
      zero = Constant <value_int: int = 0> ()
      one = Constant <value_int: int = 1> ()
      three = Constant <value_int: int = 3> ()
      y, s = Loop (m, , x) <body: graph = collatz (i, go, a) => (more, b, a) {
        r = Mod (a, two)
        even = Equal (r, zero)
        b = If (even) <
          then_branch: graph = half () => (h) { h = Div (a, two) },
          else_branch: graph = up () => (u) { t = Mul (a, three)  u = Add (t, one) }
        >
        at_one = Equal (b, one)
        more = Not (at_one)
      }>
    }"""
    seen, a = [], 7
    for _ in range(5):
        seen.append(a)
        a = a // 2 if a % 2 == 0 else 3 * a + 1
    y, s = run(text, {"m": scalar(5), "x": scalar(7)})
    same(y, scalar(a))
    same(s, i64(*seen))


def test_output_counts_must_agree():
    text = """
    main (bool c, float x) => (float y, float z) {
      [torn] y, z = If (c) <
        then_branch: graph = yes () => (a, b) { a = Neg (x)  b = Abs (x) },
        else_branch: graph = no () => (p) { p = Neg (x) }
      >
    }"""
    with refused(rondel.CallerError, "torn"):
        session(text)


def test_dtypes_must_agree():
    text = """
    main (bool c, float x) => (float y) {
      [torn] y = If (c) <
        then_branch: graph = yes () => (a) { a = Neg (x) },
        else_branch: graph = no () => (b) { b = Cast <to: int = 7> (x) }
      >
    }"""
    with refused(rondel.CallerError, "torn"):
        session(text)


def test_branches_take_no_inputs():
    text = """
    main (bool c, float x) => (float y) {
      [torn] y = If (c) <
        then_branch: graph = yes (float e) => (a) { a = Neg (e) },
        else_branch: graph = no () => (b) { b = Abs (x) }
      >
    }"""
    with refused(rondel.CallerError, "torn"):
        session(text)


@pytest.mark.parametrize(
    ("opset", "type_text"),
    [(12, "seq(float[k])"), (15, "optional(float[k])"), (15, "bfloat16[k]"), (18, "float8e5m2[k]"), (20, "int4[k]")],
)
def test_a_type_before_its_version_is_refused(opset, type_text):
    text = f"""
    main (bool c, {type_text} x) => ({type_text} y) {{
      y = If (c) <then_branch: graph = yes () => ({type_text} x) {{ }}, else_branch: graph = no () => ({type_text} x) {{ }}>
    }}"""
    version = max(v for v in IF_VERSIONS if v <= opset)
    with refused(rondel.CallerError, "if", (str(version), str(opset))):
        session(text, opset=opset)


def test_stacks_of_loops_in_nested_branches():
    """What bounds the extent of a result is in both branches, also where the program of one pair of conditions holds all of them."""

    def loop(last, stack, op):
        return f"""{last}, {stack} = Loop (n, go, x) <body = f (int64 i, bool b, float[2] s) => (bool on, float[2] t, float[2] y) {{
            e = Add (i, one)  on = Less (e, end)  t = {op} (s)  y = Identity (t) }}>"""

    text = f"""
    main (float[2] x, bool c, bool d, int64 n, int64 end) => (float[2] last, float[?, 2] all) <int64 zero = {{0}}, int64 one = {{1}}> {{
      go = Less (zero, end)
      last, all = If (d) <
        then_branch = a () => (float[2] l, float[?, 2] m) {{
          l, m = If (c) <then_branch = v () => (float[2] p, float[?, 2] q) {{ {loop("p", "q", "Neg")} }},
                         else_branch = w () => (float[2] u, float[?, 2] r) {{ {loop("u", "r", "Abs")} }}> }},
        else_branch = b () => (float[2] h, float[?, 2] k) {{ {loop("h", "k", "Exp")} }}>
    }}"""
    with check_mode():
        decider = session(text)
        for end in (1, 2, 0, 4, 4, 4):
            for c in (True, False):
                feeds = {"x": f32(1, -2), "c": np.array(c), "d": np.array(True), "n": np.int64(4), "end": np.int64(end)}
                same(decider.run(None, feeds)[1], np.stack([f32(1, -2) * (-1) ** (t + 1) if c else f32(1, 2) for t in range(end)] or [f32(0, 0)])[:end])


def test_branches_that_broadcast_the_same_extents():
    """What x and the state broadcast to has one name, which each branch measures, and is measured again for what follows the branches."""
    text = """
    main (float[?] x, float[?] start, float least) => (float[?] last, float[?, ?] all) <int64 n = {3}, bool go = {1}> {
      last, all = Loop (n, go, start) <body = f (int64 i, bool b, float[?] s) => (bool on, float[?] next, float[?] item) <float one = {1}> {
        on = Identity (b)  largest = ReduceMax <keepdims = 0> (s)  c = Less (largest, least)
        y = If (c) <
          then_branch = yes () => (float[?] p) { p = Max (s, x) },
          else_branch = no () => (float[?] q) { q = Sub (s, x) }>
        item = Mul (y, y)  next = Add (item, one) }>
    }"""
    with check_mode():
        both = session(text)
        for start, x in ((f32(1, 2), f32(3)), (f32(1), f32(1, -2, 3)), (f32(2, 0), f32(1, 1))):
            for least in (-1, 5, 100):
                feeds = {"x": x, "start": start, "least": np.float32(least)}
                last, items = start, []
                for _ in range(3):
                    y = np.maximum(last, x) if last.max() < least else last - x
                    items.append(y * y)
                    last = items[-1] + 1
                same(both.run(None, feeds)[0], last)
                same(both.run(None, feeds)[1], np.stack(items))
