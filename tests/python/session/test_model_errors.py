"""Models that are wrong: unknown ops, opsets, names, attributes and operands raise an error that names the node, the value and what was expected."""

import numpy as np
import pytest
import rondel
from models import f32, i64, make_model, model, refused, run, session, tensor, value
from onnx import helper
from session_cases import GOOD

# ---- ops, domains, versions ------------------------------------------------------------------------------


def test_an_unknown_op_is_named():
    with refused(rondel.CallerError, "strange", "Frobnicate"):
        session("main (float[2] x) => (float[2] y) { [strange] y = Frobnicate (x) }")


def test_an_unknown_domain_is_named():
    text = "main (float[2] x) => (float[2] y) { [strange] y = com.example.Sum (x) }"
    with refused(rondel.CallerError, "com.example"):
        session(text, domains={"com.example": 1})


def test_a_domain_that_is_not_imported_is_named():
    with refused(rondel.CallerError, "com.example"):
        session("main (float[2] x) => (float[2] y) { [strange] y = com.example.Sum (x) }")


def test_an_opset_newer_than_ours_is_refused():
    with refused(rondel.CallerError, "999"):
        session(GOOD, opset=999)


def test_an_opset_of_zero_or_less_is_refused():
    for opset in (0, -1):
        made = model(GOOD)
        made.opset_import[0].version = opset
        with refused(rondel.CallerError, "imports", str(opset)):
            session(made)


def test_a_model_without_opset_import_is_refused():
    made = model(GOOD)
    del made.opset_import[:]
    with refused(rondel.CallerError, "import"):
        session(made)


def test_an_ir_version_newer_than_ours_is_refused():
    made = model(GOOD)
    made.ir_version = 9999
    with refused(rondel.CallerError, "ir", "9999"):
        session(made)


def test_an_op_before_its_first_opset_is_refused():
    with refused(rondel.CallerError, "Trilu", "13"):
        session("main (float[2, 2] x) => (float[2, 2] y) { y = Trilu (x) }", opset=13)


def test_an_op_that_is_missing_is_unsupported_and_named():
    made = model("main (string[2] x) => (string[2] y) { [words] y = com.microsoft.CropAndResize (x) }")
    made.opset_import.add(domain="com.microsoft", version=1)
    with refused(rondel.UnsupportedError, "words", "op CropAndResize of com.microsoft"):
        rondel.InferenceSession(made.SerializeToString())


# ---- names -----------------------------------------------------------------------------------------------


def test_a_cycle_is_refused():
    text = "main (float[2] x) => (float[2] y) { a = Add (x, b)  b = Neg (a)  y = Neg (b) }"
    with refused(rondel.CallerError, ("a", "b")):
        session(text)


def test_nodes_out_of_order_are_refused_by_name():
    text = "main (float[2] x) => (float[2] y) { y = Neg (later)  later = Abs (x) }"
    with refused(rondel.CallerError, "later"):
        session(text)


def test_a_value_that_nobody_makes_is_named():
    with refused(rondel.CallerError, "ghost"):
        session("main (float[2] x) => (float[2] y) { [haunted] y = Add (x, ghost) }")


def test_an_output_that_nobody_makes_is_named():
    with refused(rondel.CallerError, "ghost"):
        session("main (float[2] x) => (float[2] ghost) { y = Neg (x) }")


def test_a_value_that_is_made_twice_is_refused():
    with refused(rondel.CallerError, "twin"):
        session("main (float[2] x) => (float[2] twin) { twin = Neg (x)  twin = Abs (x) }")


def test_an_input_that_is_made_again_is_refused():
    with refused(rondel.CallerError, "x"):
        session("main (float[2] x) => (float[2] x) { x = Neg (x) }")


def test_an_initializer_and_a_node_of_one_name_are_refused():
    node = helper.make_node("Neg", ["x"], ["w"])
    made = make_model([node], [value("x", 1, [2])], [value("w", 1, [2])], [tensor("w", f32(1, 2))])
    with refused(rondel.CallerError, "w"):
        session(made)


# ---- attributes and operands -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (x)", ("add",)),
        ("y = Neg (x, x)", ("neg",)),
        ("y, z = Neg (x)", ("neg",)),
        ("y = Add (x, )", ("add",)),
        ("y = Neg ()", ("neg",)),
    ],
)
def test_a_wrong_number_of_inputs_or_outputs_is_refused(line, words):
    with refused(rondel.CallerError, *words):
        session(f"main (float[2] x) => (float[2] y) {{ [odd] {line} }}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('y = Transpose <perm: string = "ab"> (x)', ("transpose", "perm")),
        ("y = Concat (x, x)", ("concat", "axis")),
        ("y = Neg <colour: int = 3> (x)", ("neg", "colour")),
        ("y = Concat <axis: int = 5> (x, x)", ("concat", "axis", "5")),
        ("y = Transpose <perm: ints = [0, 0]> (x)", ("transpose", "perm")),
        ("y = Transpose <perm: ints = [0, 7]> (x)", ("transpose", "perm")),
        ("y = Transpose <perm: ints = [0]> (x)", ("transpose", "perm")),
        ("y = Cast <to: int = 99> (x)", ("cast", "99")),
        ("y = Softmax <axis: int = 2> (x)", ("softmax", "axis")),
    ],
)
def test_wrong_attributes_are_refused(line, words):
    with refused(rondel.CallerError, *words):
        run(f"main (float[2, 3] x) => (float[] y) {{ [odd] {line} }}", {"x": np.ones((2, 3), np.float32)})


@pytest.mark.parametrize(
    ("line", "name", "field"),
    [("y = LeakyRelu <alpha: float = 1.0> (x)", "alpha", "f"), ("y = Concat <axis: int = 1> (x, x)", "axis", "i"), ("y = Transpose <perm: ints = [0, 1]> (x)", "perm", "ints")],
)
def test_an_attribute_with_a_value_of_another_type_is_refused(line, name, field):
    made = model(f"main (float[2, 3] x) => (float[a, b] y) {{ [odd] {line} }}")
    attribute = made.graph.node[0].attribute[0]
    attribute.ClearField(field)
    attribute.s = b"1"
    with refused(rondel.CallerError, "odd", f"attribute '{name}'", "a value of another type") as told:
        session(made)
    assert str(told.value).count("odd") == 1


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("shape, axis", [("[3]", 1), ("[2, 3]", 2), ("", 0)])
def test_an_axis_behind_the_last_one_of_an_old_softmax_is_refused(op, shape, axis):
    with refused(rondel.CallerError, op.lower(), f"axis {axis}", "one of its axes"):
        session(f"main (float{shape} x) => (float{shape} y) {{ [odd] y = {op} <axis: int = {axis}> (x) }}", 11)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (x, n)", ("add", ("f32", "float"), ("i64", "int64"))),
        ("y = And (x, x)", ("and", "bool")),
        ("y = BitwiseAnd (x, x)", ("bitwiseand",)),
        ("y = Reshape (x, x)", ("reshape", "shape")),
        ("y = Gather (x, x)", ("gather", "indices")),
    ],
)
def test_operands_of_wrong_dtypes_are_refused(line, words):
    with refused(rondel.CallerError, "odd", *words):
        session(f"main (float[2] x, int64[2] n) => (float[] y) {{ [odd] {line} }}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("y = Add (a, b)", ("2,3", "4,5")),
        ("y = MatMul (a, b)", ("3", "4")),
        ("y = Concat <axis: int = 0> (a, b)", ("2,3", "4,5")),
        ("y = Reshape (a, s)", ("2,3", "7")),
        ("y = Expand (a, s)", ("2,3", "7")),
        ("y = Gemm (a, b)", ("3", "4")),
        ("y = Gather (a, s)", ("7",)),
        ("y = Squeeze (a, zero)", ("squeeze",)),
        ("y = Split <num_outputs: int = 1> (a, s)", ("split",)),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["shapes in the file", "shapes from the feeds"])
def test_operands_of_shapes_that_do_not_fit_are_refused(line, words, known):
    a, b = ("float[2, 3]", "float[4, 5]") if known else ("float[p, q]", "float[r, s]")
    text = f"""
    main ({a} a, {b} b) => (float[] y) {{
      s = Constant <value_ints: ints = [7]> ()
      zero = Constant <value_ints: ints = [0]> ()
      [clash] {line}
    }}"""
    feeds = {"a": np.ones((2, 3), np.float32), "b": np.ones((4, 5), np.float32)}
    with refused(rondel.CallerError, "clash", *words):
        run(text, feeds)


def test_a_node_that_fails_while_constants_fold_is_named_though_its_like_came_before():
    text = """main (int64[2] x) => (int64[2] y) {
      two = Constant <value: tensor = int64[2] {2, 2}> ()
      none = Constant <value: tensor = int64[2] {2, 0}> ()
      [fine] p = Div (two, two)
      [broken] q = Div (two, none)
      r = Add (p, q)
      y = Add (x, r)
    }"""
    with refused(rondel.CallerError, "broken", "zero"):
        run(text, {"x": i64(1, 2)})
