"""Functions inside a model: attributes, defaults, bodies, names, opsets, cycles; and ops that the standard defines as functions."""

import numpy as np
import pytest
import rondel
from models import f32, model, refused, run, same, scalar, session


def test_functions_hand_attributes_to_functions_inside():
    text = """
    main (float[2, 3] x) => (float[] y, float[] z) {
      y = local.outer <axis = 1> (x)
      z = local.outer <axis = 0> (x)
    }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    outer <axis> (x) => (y) {
      t = Neg (x)
      y = local.inner <which: int = @axis, count = 2> (t)
    }
    <domain: "local", opset_import: ["" : 18]>
    inner <which, count> (t) => (y) {
      n = Constant <value_int: int = @count> ()
      f = CastLike (n, t)
      m = Mul (t, f)
      axes = Constant <value_int: int = @which> ()
      one = Constant <value_ints: ints = [1]> ()
      where = Reshape (axes, one)
      y = ReduceSum <keepdims: int = 0> (m, where)
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    y, z = run(text, {"x": x}, opset=18, domains={"local": 1})
    same(y, -2 * x.sum(1))
    same(z, -2 * x.sum(0))


def test_attributes_of_functions_have_defaults():
    text = """
    main (float[2] x) => (float[2] y, float[2] z) {
      y = local.scaled (x)
      z = local.scaled <by = 5.0> (x)
    }
    <domain: "local", opset_import: ["" : 18]>
    scaled <by: float = 3.0> (x) => (y) {
      k = Constant <value_float: float = @by> ()
      y = Mul (x, k)
    }"""
    y, z = run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})
    same(y, f32(3, 6))
    same(z, f32(5, 10))


def test_bodies_call_functions_and_functions_have_bodies():
    text = """
    main (int64 m, float x) => (float y) {
      y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) { b = local.twice_if (a, go) }>
    }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    twice_if (a, c) => (b) {
      b = If (c) <
        then_branch: graph = yes () => (t) { t = local.twice (a) },
        else_branch: graph = no () => (e) { e = Neg (a) }
      >
    }
    <domain: "local", opset_import: ["" : 18]>
    twice (a) => (b) { b = Add (a, a) }"""
    same(run(text, {"m": scalar(3), "x": scalar(1, np.float32)}, opset=18, domains={"local": 1})[0], scalar(8, np.float32))


def test_function_names_do_not_clash_with_the_callers():
    text = """
    main (float[2] x) => (float[2] y) {
      t = Neg (x)
      a = local.f (t)
      b = local.f (a)
      y = Add (b, t)
    }
    <domain: "local", opset_import: ["" : 18]>
    f (x) => (y) { t = Add (x, x)  y = Add (t, x) }"""
    same(run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})[0], f32(-10, -20))


def test_inputs_and_outputs_of_functions_may_be_left_out():
    text = """
    main (float[2] x) => (float[2] y) { y = local.f (x) }
    <domain: "local", opset_import: ["" : 18]>
    f (x, high) => (y, unused) { y = Clip (x, , high)  unused = Neg (x) }"""
    same(run(text, {"x": f32(1, 2)}, opset=18, domains={"local": 1})[0], f32(1, 2))


def test_a_function_may_have_another_opset_than_the_model():
    # Before opset 13, the axes of ReduceSum are an attribute.
    text = """
    main (float[2, 3] x) => (float[2] y) { y = local.rows (x) }
    <domain: "local", opset_import: ["" : 18]>
    rows (x) => (y) { a = Constant <value_ints: ints = [1]> ()  y = ReduceSum <keepdims: int = 0> (x, a) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = model(text, 18, domains={"local": 1})
    same(run(made, {"x": x})[0], x.sum(1))


@pytest.mark.parametrize("length", [1, 2, 5])
def test_cyclic_functions_are_refused(length):
    functions = "".join(
        f"""
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    f{k} (x) => (y) {{ y = local.f{(k + 1) % length} (x) }}"""
        for k in range(length)
    )
    text = f"main (float[2] x) => (float[2] y) {{ y = local.f0 (x) }}{functions}"
    with refused(rondel.CallerError, ("cycle", "cyclic", "recurs", "itself")):
        session(text, opset=18, domains={"local": 1})


def test_functions_that_double_each_other_do_not_explode():
    # Thirty levels, each of which calls the one below twice: a billion nodes if inlined without limit.
    levels = 30
    functions = "".join(
        f"""
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    f{k} (x) => (y) {{ t = local.f{k + 1} (x)  y = local.f{k + 1} (t) }}"""
        for k in range(levels)
    )
    functions += f"""
    <domain: "local", opset_import: ["" : 18]>
    f{levels} (x) => (y) {{ y = Neg (x) }}"""
    text = f"main (float[2] x) => (float[2] y) {{ y = local.f0 (x) }}{functions}"
    with pytest.raises((rondel.CallerError, rondel.LimitExceeded, rondel.UnsupportedError)):
        session(text, opset=18, domains={"local": 1})


def test_an_unknown_function_is_named():
    text = """
    main (float[2] x) => (float[2] y) { y = local.g (x) }
    <domain: "local", opset_import: ["" : 18]>
    f (x) => (y) { y = Neg (x) }"""
    with refused(rondel.CallerError, "g"):
        session(text, opset=18, domains={"local": 1})


def test_ops_that_the_standard_defines_as_functions():
    # Bodies that depend on attributes and types come from the onnx library.
    text = """
    main (float[2, 3] x) => (float[2, 3] a, float[2, 3] b, float[2, 3] c, int64[2, 3] d) {
      a = HardSwish (x)
      b = Softmax <axis: int = 0> (x)
      c = LogSoftmax <axis: int = 1> (x)
      like = Constant <value_int: int = 1> ()
      d = CastLike (x, like)
    }"""
    x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
    a, b, c, d = run(text, {"x": x})
    e0, e1 = np.exp(x - x.max(0)), np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(a, x * np.clip(x / 6 + 0.5, 0, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b, e0 / e0.sum(0), rtol=1e-5)
    np.testing.assert_allclose(c, np.log(e1 / e1.sum(1, keepdims=True)), rtol=1e-5)
    same(d, x.astype(np.int64))
