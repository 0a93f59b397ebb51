"""deepx: the table of the language's specification, row by row, with effects computed by hand; known answers from the tests of
the original implementation; how a session runs lines, reports errors, and keeps its values."""

import numpy as np
import pytest

import rondel
import rondel.arrays
from rondel import CallerError, deepx

T1, T2 = np.array([6, 2, 9], np.float32), np.array([4, 2, -2], np.float32)
G = np.array([1, 10, 100], np.float32)


def session_with(**tensors):
    session = deepx.Session()
    for name, value in tensors.items():
        session[name] = np.asarray(value)
    return session


def printed(session, text):
    shown = []
    session.run(text, on_print=shown.append)
    return "".join(shown)


# ---- the specification's table: rows without a gradient


@pytest.mark.parametrize(
    "text, value",
    [
        ("0." + "0" * 330 + "1", 0.0),
        ("-0." + "0" * 330 + "1", -0.0),
        ("1" + "0" * 330, np.inf),
        ("-1" + "0" * 330 + ".5", -np.inf),
        ("0." + "0" * 330 + "1e331", 1.0),
        ("1" + "0" * 330 + "e-330", 1.0),
        ("0." + "0" * 330 + "1e700", np.inf),
        ("1" + "0" * 330 + "e-700", 0.0),
        ("1e400", np.inf),
        ("1E+400", np.inf),
        ("1e-400", 0.0),
        ("-12.5E-99999999999999999999", -0.0),
        ("1e99999999999999999999", np.inf),
        ("0e99999", 0.0),
        ("+5", 5.0),
        ("-0", -0.0),
        ("-00", -0.0),
        ("0", 0.0),
    ],
)
def test_numbers_beyond_every_dtype(text, value):
    session = deepx.Session()
    session.run(f"argset@float64 {text}->z")
    assert session["z"] == value and np.signbit(session["z"]) == np.signbit(value)


@pytest.mark.parametrize(
    "dtype, text, value",
    [
        ("bfloat16", "72339069014638593", 2.0**56 + 2.0**49),
        ("bfloat16", "-72339069014638593", -(2.0**56) - 2.0**49),
        ("bfloat16", "72339069014638592", 2.0**56),
        ("bfloat16", "9223372036854775807", 2.0**63),
        ("float16", "2049", 2048.0),
        ("bfloat16", "1.0039062500000000000001", 1.0078125),
        ("bfloat16", "1.00390625", 1.0),
        ("bfloat16", "-100390625000000000001e-20", -1.0078125),
        ("float16", "65519.9999999999999999999", 65504.0),
        ("float16", "65520", np.inf),
        ("float16", "1e-400", 0.0),
        ("float16", "-0", -0.0),
        ("float32", "1.00000005960464477540", 1 + 2.0**-23),
        ("float32", "1.00000005960464477539", 1.0),
        ("float32", "9007200328482817", 2.0**53 + 2.0**30),
        ("float32", "1e-45", 2.0**-149),
        ("float32", "-1e-46", -0.0),
        ("float32", "-1e39", -np.inf),
    ],
)
def test_numbers_are_rounded_once(dtype, text, value):
    session = deepx.Session()
    session.run(f"newtensor@{dtype} [1]->t\nconstant {text}->t")
    (stored,) = session["t"].astype(np.float64)
    assert stored == value and np.signbit(stored) == np.signbit(value)


@pytest.mark.parametrize(
    "dtype, text, value",
    [
        ("int64", "9007199254740993.0", 2**53 + 1),
        ("int64", "1000000000000000001.000", 10**18 + 1),
        ("int64", "-9223372036854775808.0", -(2**63)),
        ("int64", "9.223372036854775807e18", 2**63 - 1),
        ("int64", "9.223372036854775808e18", None),
        ("int64", "9007199254740992.5", None),
        ("int8", "0.99999999999999999999", None),
        ("int8", "1" + "0" * 400 + "e-400", 1),
        ("int8", "0e99999999999999999999", 0),
        ("int8", "-0.0", 0),
        ("int8", "1e400", None),
        ("int8", "nan", None),
        ("bool", "1.0", True),
        ("bool", "1.00000000000000000001", None),
    ],
)
def test_integers_are_exact(dtype, text, value):
    session = deepx.Session()
    if value is None:
        with pytest.raises(CallerError, match=f"{dtype} does not hold"):
            session.run(f"argset@{dtype} {text}->z")
    else:
        session.run(f"argset@{dtype} {text}->z")
        assert session["z"] == value


def test_rows_that_set_arguments():
    session = deepx.Session()
    session.run("argset@int32 1->a1")
    assert session["a1"] == 1 and session.kind("a1") == ("argument", np.int32, ())
    session.run("argset@int32 2->a1")  # the second row sets a1 again, though its description says a2
    assert session["a1"] == 2
    session.run("argset@int32 1 2 3->vec1\nargset@int32 0 1 2->vec2")
    np.testing.assert_array_equal(session["vec1"], np.array([1, 2, 3], np.int32))
    assert session.kind("vec2") == ("vector", np.int32, (3,))
    session.run("argset@int32 1->a\nargdel a")
    assert session.names() == ["a1", "vec1", "vec2"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "bool"])
def test_arguments_of_every_dtype(dtype):
    session = deepx.Session()
    session.run(f"argset@{dtype} 1->a\nargset@{dtype} 1 0->v\nvecset@{dtype} 1->one")
    expected = rondel.arrays.numpy_dtype({"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
                                          "int32": "i32", "int16": "i16", "int8": "i8", "bool": "bool"}[dtype])  # fmt: skip
    assert session["a"].dtype == expected and session["a"] == 1 and session["a"].shape == ()
    assert session["v"].tolist() == [1, 0] and session["one"].shape == (1,)


def test_rows_that_make_and_delete_tensors():
    session = deepx.Session()
    session.run("argset@int32 1 2 3->vec1\nnewtensor@int32 vec1->t1")
    assert session.kind("t1") == ("tensor", np.int32, (1, 2, 3))  # the vector is the shape
    np.testing.assert_array_equal(session["t1"], np.zeros((1, 2, 3), np.int32))
    session.run("deltensor t1")
    assert "t1" not in session


def test_rows_that_fill():
    session = session_with(t1=np.zeros((2, 2), np.int32))
    session.run("argset@int32 7->a1\nconstant@int32 a1->t1")
    np.testing.assert_array_equal(session["t1"], [[7, 7], [7, 7]])
    session.run("argset@int32 3->a2\narange@int32 a1 a2->t1")
    np.testing.assert_array_equal(session["t1"], [[7, 10], [13, 16]])
    session.run("uniform@int32 a2 a1->t1")
    assert ((session["t1"] >= 3) & (session["t1"] < 7)).all()


@pytest.mark.parametrize("line", ["arange@int32 a1 a2>t1", "uniform@int32 a1 a2>t1"])
def test_rows_without_an_arrow(line):
    """As they are printed in the table."""
    session = session_with(t1=np.zeros(2, np.int32))
    session.run("argset@int32 1->a1\nargset@int32 2->a2")
    column = line.index(">") + 1
    with pytest.raises(CallerError, match=f"^line 1, column {column}: .*write '->'"):
        session.run(line)
    np.testing.assert_array_equal(session["t1"], [0, 0])


# ---- rows with a gradient: (forward, backward, value, gradient of t1, gradient of t2), with a1 = 2

ROWS = [
    ("add@float32 t1 t2->t3", "add@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
     [10, 4, 7], [1, 10, 100], [1, 10, 100]),
    ("add_scalar@float32 t1 a1->t3", "add_scalar@float32 t1(t1_grad) a1<-t3(t3_grad)",
     [8, 4, 11], [1, 10, 100], None),
    ("sub@float32 t1 t2->t3", "sub@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
     [2, 0, 11], [1, 10, 100], [-1, -10, -100]),
    ("mul@float32 t1 t2->t3", "mul@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
     [24, 4, -18], [4, 20, -200], [6, 20, 900]),
    ("mul_scalar@float32 t1 a1->t3", "mul_scalar@float32 t1(t1_grad) a1<-t3(t3_grad)",
     [12, 4, 18], [2, 20, 200], None),
    ("div@float32 t1 t2->t3", "div@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
     [1.5, 1, -4.5], [0.25, 5, -50], [-0.375, -5, -225]),
    ("div_scalar@float32 t1 a1->t3", "div_scalar@float32 t1(t1_grad) a1<-t3(t3_grad)",
     [3, 1, 4.5], [0.5, 5, 50], None),
    # The remainder of 9 / -2 is 1 = 9 - (-2) * (-4); the gradient of the divisor is -quotient = 4.
    ("mod@float32 t1 t2->t3", "mod@float32 t1(t1_grad) t2(t2_grad)<-t3(t3_grad)",
     [2, 0, 1], [1, 10, 100], [-1, -10, 400]),
    ("mod_scalar@float32 t1 a1->t3", "mod_scalar@float32 t1(t1_grad) a1<-t3(t3_grad)",
     [0, 0, 1], [1, 10, 100], None),
    ("exp@float32 t1->t3", "exp@float32 t1(t1_grad)<-t3(t3_grad)",
     [403.42879, 7.3890561, 8103.0839], [403.42879, 73.890561, 810308.39], None),
    ("sqrt@float32 t1->t3", "sqrt@float32 t1(t1_grad)<-t3(t3_grad)",
     [2.4494897, 1.4142136, 3], [0.20412415, 3.5355339, 16.666667], None),
    ("log@float32 t1->t3", "log@float32 t1(t1_grad)<-t3(t3_grad)",
     [1.7917595, 0.69314718, 2.1972246], [0.16666667, 5, 11.111111], None),
    ("max@float32 t1 t2->t3", "max@float32 t1 t2<-t3",
     [6, 2, 9], [1, 5, 100], [0, 5, 0]),
    ("max_scalar@float32 t1 a1->t3", "max_scalar@float32 t1 a1<-t3",
     [6, 2, 9], [1, 5, 100], None),
    ("min@float32 t1 t2->t3", "min@float32 t1 t2<-t3",
     [4, 2, -2], [0, 5, 0], [1, 5, 100]),
    ("min_scalar@float32 t1 a1->t3", "min_scalar@float32 t1 a1<-t3",
     [2, 2, 2], [0, 5, 0], None),
]  # fmt: skip


@pytest.mark.parametrize("forward, backward, value, grad1, grad2", ROWS, ids=[row[0].split("@")[0] for row in ROWS])
def test_two_way_rows(forward, backward, value, grad1, grad2):
    zeros = np.zeros(3, np.float32)
    session = session_with(t1=T1, t2=T2, t3=zeros, t3_grad=G, t1_grad=zeros, t2_grad=zeros)
    session.run("argset@float32 2->a1")
    session.run(forward)
    np.testing.assert_allclose(session["t3"], np.array(value, np.float32), 3e-7)
    for times in (1, 2):  # gradients accumulate
        session.run(backward)
        np.testing.assert_allclose(session["t1_grad"], times * np.array(grad1, np.float32), 5e-7)
        if grad2 is not None:
            np.testing.assert_allclose(session["t2_grad"], times * np.array(grad2, np.float32), 5e-7)
    np.testing.assert_array_equal(session["t3_grad"], G)


def test_the_row_of_sum():
    session = session_with(t1=np.arange(24, dtype=np.float32).reshape(2, 3, 4), t3=np.zeros(3, np.float32))
    session["t1_grad"], session["t3_grad"] = np.ones((2, 3, 4), np.float32), G
    session.run("argset@int32 0 2->vec2\nsum@float32 t1 vec2->t3")
    np.testing.assert_array_equal(session["t3"], [60, 92, 124])
    session.run("sum@float32 t1 vec2<-t3")
    np.testing.assert_array_equal(session["t1_grad"], 1 + np.broadcast_to(G[None, :, None], (2, 3, 4)))


@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_sum_of_everything(shape):
    session = session_with(t1=np.array([[1, 2], [3, 4]], np.float32), t3=np.zeros(shape, np.float32))
    session["t1_grad"], session["t3_grad"] = np.zeros((2, 2), np.float32), np.full(shape, 5, np.float32)
    session.run("sum t1 [0 -1]->t3\nsum t1(t1_grad) [0 1]<-t3(t3_grad)")
    assert session["t3"].shape == shape and session["t3"].item() == 10
    np.testing.assert_array_equal(session["t1_grad"], np.full((2, 2), 5))


# ---- known answers from the original's tests


def test_add_and_div_of_the_original():
    session = deepx.Session()
    session.run("""
        argset@int32 2 3->v
        newtensor@float32 v->a
        newtensor@float32 v->b
        newtensor@float32 v->c
        newtensor@float32 v->a_grad
        newtensor@float32 v->b_grad
        newtensor@float32 v->c_grad
        arange@float32 0 1->a
        constant@float32 0.5->b
        constant@float32 3.33->c_grad
        add@float32 a b->c
        add@float32 a(a_grad) b(b_grad)<-c(c_grad)
    """)
    np.testing.assert_array_equal(session["c"], np.arange(6).reshape(2, 3) + np.float32(0.5))
    np.testing.assert_array_equal(session["a_grad"], np.full((2, 3), np.float32(3.33)))
    np.testing.assert_array_equal(session["b_grad"], np.full((2, 3), np.float32(3.33)))
    session.run("constant@float32 0->a_grad\ndiv@float32 a(a_grad) b<-c(c_grad)")
    np.testing.assert_array_equal(session["a_grad"], np.full((2, 3), np.float32(6.66)))


@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_takes_no_gradient_of_the_greater_and_less(name):
    nan, zeros = np.nan, np.zeros(3, np.float32)
    session = session_with(a=np.array([nan, 1, nan]), b=np.array([1, nan, nan]), c=np.zeros(3), c_grad=np.ones(3))
    session["a_grad"], session["b_grad"], session["r"], session["r_grad"] = np.zeros(3), np.zeros(3), np.zeros(1), np.ones(1)
    session.run(f"{name} a b->c\n{name} a b<-c")
    assert np.isnan(session["c"]).all()
    np.testing.assert_array_equal(session["a_grad"], zeros)
    np.testing.assert_array_equal(session["b_grad"], zeros)
    session.run(f"{name}_scalar a 5<-c\nreduce{name} b(b_grad) [0] true<-r(r_grad)")
    np.testing.assert_array_equal(session["a_grad"][[0, 2]], [0, 0])
    assert np.isnan(session["b_grad"]).all()


def test_relu_of_the_original():
    session = session_with(a=np.array([-1, 0.25, 0.75, 2], np.float32), c=np.zeros(4, np.float32))
    session["a_grad"], session["c_grad"] = np.zeros(4, np.float32), np.full(4, 2.5, np.float32)
    session.run("max_scalar@float32 a 0.5->c\nmax_scalar@float32 a(a_grad) 0.5<-c(c_grad)")
    np.testing.assert_array_equal(session["c"], np.array([0.5, 0.5, 0.75, 2], np.float32))
    np.testing.assert_array_equal(session["a_grad"], np.array([0, 0, 2.5, 2.5], np.float32))


def test_matmul_of_the_original():
    session = deepx.Session()
    session.run("""
        newtensor@float32 [2 3 7]->a
        newtensor@float32 [2 7 4]->b
        newtensor@float32 [2 3 4]->c
        newtensor@float32 [2 3 7]->a_grad
        newtensor@float32 [2 7 4]->b_grad
        newtensor@float32 [2 3 4]->c_grad
        arange@float32 0 1->a
        constant@float32 0.5->b
        constant@float32 3.33->c_grad
        matmul@float32 a b->c
        matmul@float32 a(a_grad) b(b_grad)<-c(c_grad)
    """)
    assert session["c"][0, 0, 0] == 10.5 and session["c"][1, 2, 3] == 133
    np.testing.assert_allclose(session["a_grad"], np.full((2, 3, 7), 6.66), 1e-6)
    np.testing.assert_allclose(session["b_grad"][0, 0], np.full(4, 69.93), 1e-6)
    np.testing.assert_allclose(session["b_grad"][1, 6], np.full(4, 339.66), 1e-6)


def test_the_later_examples():
    """The original's Python examples, which it compares with PyTorch."""
    session = deepx.Session()
    session.run("newtensor@float32 [3 4 5]->t\narange@float32 0 1->t\nnewtensor@float32 [4]->s\nsum@float32 t [0 2]->s")
    np.testing.assert_array_equal(session["s"], [330, 405, 480, 555])
    session.run("newtensor@float32 [2 2]->x\nconstant@float32 10->x\nadd@float32 x x->x\nadd_scalar@float32 x 0.5->x")
    np.testing.assert_array_equal(session["x"], np.full((2, 2), 20.5))
    session.run("constant@float32 2->x\naddscalar@float32 x -1.5->x")
    np.testing.assert_array_equal(session["x"], np.full((2, 2), 0.5))


# ---- how lines run


def test_lines_run_one_after_another_together():
    """Each write makes a new version of a tensor: earlier lines read the old one."""
    session = session_with(a=np.array([1.0]), b=np.array([0.0]), c=np.array([0.0]))
    session.run("add a a->b\nadd_scalar a 10->a\nadd a b->c\nmul c c->c\nadd_scalar a 1->a")
    assert (session["a"], session["b"], session["c"]) == (12, 2, 169)


def test_an_argument_is_read_when_its_line_runs():
    session = session_with(a=np.array([1.0]), b=np.array([0.0]))
    session.run("argset@float64 2->s\nmul_scalar a s->a\nargset@float64 5->s\nmul_scalar a s->b")
    assert (session["a"], session["b"]) == (2, 10)


def test_one_value_serves_as_a_vector():
    once = session_with(t=np.ones(1), u=np.ones(1))
    once.run("argset@float64 5->s\nconstant s->t\nsettensor s->u")
    assert once["t"] == once["u"] == 5
    session = deepx.Session()
    session.run("argset@int32 4->n\nnewtensor@float32 n->t\nvecset@int32 3->v\nnewtensor@float32 v->u")
    assert session.kind("t")[2] == (4,) and session.kind("u")[2] == (3,)


def test_arguments_of_other_dtypes():
    session = session_with(a=np.array([3.0], np.float32), i=np.array([3], np.int32))
    session.run("argset@int64 2->n\nargset@float64 0.5->x\nmul_scalar a n->a\nmul_scalar a x->a\nadd_scalar i n->i")
    assert session["a"] == 3 and session["i"] == 5
    with pytest.raises(CallerError, match="line 1, column 14: 'x' is 0.5, which int32 does not hold"):
        session.run("add_scalar i x->i")


def test_gradients_of_one_tensor_twice_and_of_some_only():
    session = session_with(t=np.array([3.0]), u=np.array([5.0]), y=np.array([0.0]), dy=np.array([2.0]))
    session["dt"], session["du"] = np.array([0.0]), np.array([0.0])
    session.run("mul t(dt) t(dt)<-y(dy)")
    assert session["dt"] == 12
    session.run("mul t u(du)<-y(dy)")
    assert (session["dt"], session["du"]) == (12, 6)
    session.run("mul t(dt) u()<-y(dy)")
    assert (session["dt"], session["du"]) == (22, 6)


def test_a_gradient_may_be_added_to_the_one_it_comes_from():
    session = session_with(t=np.array([3.0]), dt=np.array([2.0]))
    session.run("mul_scalar t(dt) 4<-t(dt)")
    assert session["dt"] == 10


def test_print():
    session = session_with(t3=np.array([[0.5, -1], [1e-10, 3]], np.float32), b=np.array([True, False]), n=np.arange(3))
    assert printed(session, "print t3") == "t3: float32[2, 2]\n[[0.5, -1],\n [1e-10, 3]]\n"
    assert printed(session, "print t3 %.2f") == "t3: float32[2, 2]\n[[0.50, -1.00],\n [0.00, 3.00]]\n"
    assert printed(session, "print t3 %+.1f") == "t3: float32[2, 2]\n[[+0.5, -1.0],\n [+0.0, +3.0]]\n"
    assert printed(session, 'print t3 "%-8.2f"') == "t3: float32[2, 2]\n[[0.50    , -1.00   ],\n [0.00    , 3.00    ]]\n"
    assert printed(session, "print t3 %5.f") == "t3: float32[2, 2]\n[[    0,    -1],\n [    0,     3]]\n"
    assert printed(session, 'print t3 "% 06.1e"') == "t3: float32[2, 2]\n[[ 5.0e-01, -1.0e+00],\n [ 1.0e-10,  3.0e+00]]\n"
    assert printed(session, "print n %d\nprint n %3d") == "n: int64[3]\n[0, 1, 2]\nn: int64[3]\n[  0,   1,   2]\n"
    assert printed(session, 'print n %-+3d\nprint n "%02d"') == "n: int64[3]\n[+0 , +1 , +2 ]\nn: int64[3]\n[00, 01, 02]\n"
    with pytest.raises(CallerError, match="line 1, column 9: '%d' is no format of bool; bool is shown without one"):
        session.run("print b %d")
    assert printed(session, "print b\nprint n") == "b: bool[2]\n[true, false]\nn: int64[3]\n[0, 1, 2]\n"
    assert printed(session, "argset@float32 1.5->a\nprint a\nvecset@int32 1->v\nprint(v)") == "a: float32[]\n1.5\nv: int32[1]\n[1]\n"
    session["long"] = np.arange(2000)
    assert printed(session, "print long") == "long: int64[2000]\n[0, 1, 2, ..., 1997, 1998, 1999]\n"
    session["none"] = np.zeros((2, 0))
    assert printed(session, "print none") == "none: float64[2, 0]\n[]\n"
    for wrong in ("%s", "%", "%.99999f", "2f", "{:f}", "%5", "%--+.f2", "%.123f"):
        with pytest.raises(CallerError, match="line 1, column 10: .* is no format of floats"):
            session.run(f'print t3 "{wrong}"')


def test_nan_is_shown_without_a_sign():
    session = session_with(t=np.array([np.nan, -np.nan, -np.inf]))
    assert printed(session, "print t\nprint t %.1f") == "t: float64[3]\n[nan, nan, -inf]\nt: float64[3]\n[nan, nan, -inf]\n"
    assert printed(session, 'print t %5.1f\nprint t "%-5.1f"') == "t: float64[3]\n[  nan,   nan,  -inf]\nt: float64[3]\n[nan  , nan  , -inf ]\n"


def test_print_goes_to_standard_output(capsys):
    deepx.Session().run("argset@int32 1->a\nprint a")
    assert capsys.readouterr().out == "a: int32[]\n1\n"


def test_names_are_any_words():
    session = deepx.Session()
    session.run("newtensor@float32 [2]->层.权重/w-1\nconstant@float32 2->层.权重/w-1")
    np.testing.assert_array_equal(session["层.权重/w-1"], [2, 2])


def test_copies_are_values():
    session = session_with(a=np.array([1.0, 2.0]))
    session.run("copytensor a->b\nadd_scalar a 1->a\nrenametensor c->a")
    np.testing.assert_array_equal(session["b"], [1, 2])
    np.testing.assert_array_equal(session["c"], [2, 3])
    assert session.names() == ["b", "c"]
    session.run("add_scalar b 5->b\ncopytensor b->c")
    np.testing.assert_array_equal(session["c"], [6, 7])


# ---- the session as a mapping


def test_mapping():
    session = deepx.Session()
    session["t"] = [[1, 2], [3, 4]]
    assert session["t"].dtype == np.int64 and list(session) == ["t"] and len(session) == 1 and "t" in session
    array = session["t"]
    array[:] = 0
    np.testing.assert_array_equal(session["t"], [[1, 2], [3, 4]])
    mine = np.ones(2, np.float32)
    session["t"] = mine
    mine[:] = 7
    np.testing.assert_array_equal(session["t"], [1, 1])
    del session["t"]
    assert dict(session) == {}
    with pytest.raises(KeyError):
        session["t"]
    with pytest.raises(KeyError):
        del session["t"]


@pytest.mark.parametrize("name", ["", "1", "true", "a b", "a,b", "a(b)", "a//b", "a->b", '"a"', "a\nb", "-1e5"])
def test_names_that_no_program_can_write(name):
    with pytest.raises(CallerError, match="is no name"):
        deepx.Session()[name] = np.zeros(2)


@pytest.mark.parametrize("value", [np.zeros(2, np.complex64), np.array(["a"]), np.zeros(2, np.uint8), object()])
def test_values_that_programs_do_not_have(value):
    with pytest.raises(CallerError):
        deepx.Session()["a"] = value


@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"max_memory_bytes": "1"}, {"max_trips": -1}, {"threads": 2**40}, {"jit": 1}, {"folder": "/nowhere/x"}, {"folder": 3}, {"folder": "a\0b"}, {"folder": "\ud800"}]
)
def test_wrong_options(options):
    with pytest.raises(CallerError):
        deepx.Session(**options)


def test_the_kind_of_a_name():
    session = session_with(t=np.zeros((2, 3), np.float32))
    assert session.kind("t") == ("tensor", np.float32, (2, 3)) and session.kind("none") is None
    for name in (3, "\ud800"):
        assert name not in session
        for given in (session.kind, deepx.help, lambda name: session.__setitem__(name, 1)):
            with pytest.raises(CallerError, match="a name is .*; expected a str"):
                given(name)


def test_a_session_is_used_by_one_at_a_time():
    session = session_with(t=np.zeros(2))
    with pytest.raises(CallerError, match="under way"):
        session.run("print t", on_print=lambda text: session.run("print t"))
    session.run("add_scalar t 1->t")
    np.testing.assert_array_equal(session["t"], [1, 1])


@pytest.mark.parametrize("arguments", [{"on_print": 5}, {"on_line": "x"}, {"keep_going": 1}, {"deadline": -1}, {"text": 5}])
def test_wrong_arguments_of_a_run(arguments):
    with pytest.raises(CallerError):
        deepx.Session().run(**{"text": "print t", **arguments})


def test_an_exception_of_a_callback_goes_through():
    session = session_with(t=np.zeros(2))

    def refuse(text):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        session.run("add_scalar t 1->t\nprint t", on_print=refuse)
    np.testing.assert_array_equal(session["t"], [1, 1])


def test_interpreted_and_compiled_agree():
    text = "newtensor@float32 [50]->t\nuniform@float32 -2 2->t\nsin t->t\nmul t t->t\nexp t->t\nnewtensor@float32 []->s\nsum t [0]->s"
    fast, slow = deepx.Session(), deepx.Session(jit=False)
    fast.run(text), slow.run(text)
    np.testing.assert_array_equal(fast["t"], slow["t"])
    assert fast["s"] == slow["s"]


def test_help():
    assert "mul@T a(a_grad) b(b_grad) <- c(c_grad)" in deepx.help("mul")
    assert deepx.help("mulscalar") == deepx.help("mul_scalar")
    with pytest.raises(CallerError, match="there is no instruction 'mull'; did you mean 'mul'"):
        deepx.help("mull")
    assert all(row.doc and row.name in deepx.help(row.name) for row in deepx.instructions())


def test_the_module_has_no_other_errors():
    with pytest.raises(rondel.Error) as caught:
        session_with(a=np.zeros(1)).run("// id=4\nadd a b->c // id=5 sent_at=7\n")
    assert caught.value.line == 2 and caught.value.metadata == {"id": "5", "sent_at": "7"}
