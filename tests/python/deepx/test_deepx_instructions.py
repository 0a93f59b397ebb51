"""Each deepx instruction against NumPy, in every dtype that it takes; gradients against finite differences."""

import numpy as np
import pytest

from rondel import CallerError, arrays, deepx

NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "bool": "bool",
}  # fmt: skip
SETS = {
    "floats": list(NAMES)[:4],
    "numbers": list(NAMES)[:8],
    "integers and bool": list(NAMES)[4:],
    "all": list(NAMES),
}
#: Relative tolerance of results: a few units in the last place.
TOLERANCE = {"float64": 1e-14, "float32": 2e-6, "float16": 2e-3, "bfloat16": 2e-2}


def dtype_of(name):
    return arrays.numpy_dtype(NAMES[name])


def c_div(a, b):
    return np.trunc(a / b).astype(a.dtype) if a.dtype.kind == "i" else a / b


def bounded(shape, low, high, seed=0):
    """Numbers that every dtype can represent, none of them 0."""
    drawn = np.random.default_rng(seed).uniform(low, high, shape)
    return np.where(np.abs(drawn) < 1, 1, drawn)


A, B = bounded((3, 4), 1, 4), bounded((3, 4), 1, 4, seed=1)
SIGNED, MIXED = bounded((3, 4), -4, 4), bounded((3, 4), -4, 4, seed=1)

# instruction: (line, input a, input b, function from the inputs to the expected output).
ELEMENTWISE = {
    "add": ("add {a} {b}->c", SIGNED, MIXED, lambda a, b: a + b),
    "sub": ("sub {a} {b}->c", SIGNED, MIXED, lambda a, b: a - b),
    "mul": ("mul {a} {b}->c", SIGNED, MIXED, lambda a, b: a * b),
    "div": ("div {a} {b}->c", SIGNED, MIXED, c_div),
    "mod": ("mod {a} {b}->c", SIGNED, MIXED, np.fmod),
    "pow": ("pow {a} {b}->c", A, np.round(B), lambda a, b: a**b),
    "max": ("max {a} {b}->c", SIGNED, MIXED, np.maximum),
    "min": ("min {a} {b}->c", SIGNED, MIXED, np.minimum),
    "add_scalar": ("add_scalar {a} 3->c", SIGNED, None, lambda a: a + a.dtype.type(3)),
    "sub_scalar": ("sub_scalar {a} 3->c", SIGNED, None, lambda a: a - a.dtype.type(3)),
    "rsubscalar": ("rsubscalar 3 {a}->c", SIGNED, None, lambda a: a.dtype.type(3) - a),
    "mul_scalar": ("mul_scalar {a} 3->c", SIGNED, None, lambda a: a * a.dtype.type(3)),
    "div_scalar": ("div_scalar {a} 3->c", SIGNED, None, lambda a: c_div(a, a.dtype.type(3))),
    "rdivscalar": ("rdivscalar 3 {a}->c", SIGNED, None, lambda a: c_div(np.full_like(a, 3), a)),
    "mod_scalar": ("mod_scalar {a} 3->c", SIGNED, None, lambda a: np.fmod(a, a.dtype.type(3))),
    "pow_scalar": ("pow_scalar {a} 2->c", SIGNED, None, lambda a: a * a),
    "rpowscalar": ("rpowscalar 2 {a}->c", A, None, lambda a: a.dtype.type(2) ** a),
    "max_scalar": ("max_scalar {a} 2->c", SIGNED, None, lambda a: np.maximum(a, a.dtype.type(2))),
    "min_scalar": ("min_scalar {a} 2->c", SIGNED, None, lambda a: np.minimum(a, a.dtype.type(2))),
    "exp": ("exp {a}->c", SIGNED, None, np.exp),
    "sqrt": ("sqrt {a}->c", A, None, np.sqrt),
    "log": ("log {a}->c", A, None, np.log),
    "sin": ("sin {a}->c", SIGNED, None, np.sin),
    "cos": ("cos {a}->c", SIGNED, None, np.cos),
    "tan": ("tan {a}->c", SIGNED, None, np.tan),
    "invert": ("invert {a}->c", SIGNED, None, np.invert),
    "copytensor": ("copytensor {a}->c", SIGNED, None, lambda a: a),
    "switch": ("switch {a} {b} cases->c", SIGNED, MIXED, lambda a, b: np.where(A > B, b, a)),
    "equal": ("equal {a} {b}->c", np.round(A), np.round(B), lambda a, b: a == b),
    "notequal": ("notequal {a} {b}->c", np.round(A), np.round(B), lambda a, b: a != b),
    "equal_scalar": ("equal_scalar {a} 2->c", np.round(A), None, lambda a: a == a.dtype.type(2)),
    "notequal_scalar": ("notequal_scalar {a} 2->c", np.round(A), None, lambda a: a != a.dtype.type(2)),
    "less": ("less {a} {b}->c", A, B, lambda a, b: a < b),
    "less_scalar": ("less_scalar {a} 2->c", A, None, lambda a: a < a.dtype.type(2)),
    "greater": ("greater {a} {b}->c", A, B, lambda a, b: a > b),
    "greater_scalar": ("greater_scalar {a} 2->c", A, None, lambda a: a > a.dtype.type(2)),
}  # fmt: skip
SHAPED = {
    "sum": ("sum {a} [0 -1]->c", A, None, lambda a: a.sum((0, -1), a.dtype)),
    "prod": ("prod {a} [1]->c", np.round(A), None, lambda a: a.prod(1, a.dtype)),
    "reducemax": ("reducemax {a} [0] true->c", SIGNED, None, lambda a: a.max(0, keepdims=True)),
    "reducemin": ("reducemin {a} [1]->c", SIGNED, None, lambda a: a.min(1)),
    "matmul": ("matmul {a} b->c", A[:, :2], A[:2, :3], lambda a, b: np.matmul(a, b).astype(a.dtype)),
    "concat": ("concat {a} {b} -1->c", A, B[:, :2], lambda a, b: np.concatenate([a, b], -1)),
    "reshape": ("reshape {a} [2 6]->c", A, None, lambda a: a.reshape(2, 6)),
    "transpose": ("transpose {a} [1 2 0]->c", bounded((2, 3, 4), 1, 4), None, lambda a: a.transpose(1, 2, 0)),
    "expand": ("expand {a} [2 3 4]->c", A[:, :1], None, lambda a: np.broadcast_to(a, (2, 3, 4))),
    "repeat": ("repeat {a} [2 3]->c", A, None, lambda a: np.tile(a, (2, 3))),
    "indexselect": ("indexselect {a} i 1->c", A, None, lambda a: a[:, [[0, 2], [3, -1]]]),
}  # fmt: skip
CASES = ELEMENTWISE | SHAPED
ROWS = {row.name: row for row in deepx.instructions()}


def taken(name):
    return SETS[ROWS[name].dtypes] if ROWS[name].dtypes else list(NAMES)


def run_case(name, dtype):
    """(result, expected result) of one instruction in one dtype."""
    line, a, b, expected = CASES[name]
    t = dtype_of(dtype)
    session = deepx.Session()
    values = [x.astype(t) for x in (a, b) if x is not None]
    with np.errstate(all="ignore"):
        wanted = expected(*(values))
    for key, x in zip("ab", values):
        session[key] = x
    session["cases"] = A > B
    session["i"] = np.array([[0, 2], [3, -1]], np.int32)
    if name != "copytensor":
        session["c"] = np.zeros(wanted.shape, wanted.dtype)
    session.run(line.format(a="a", b="b").replace(" ", f"@{dtype} ", 1))
    return session["c"], wanted


@pytest.mark.parametrize("name, dtype", [(n, t) for n in CASES for t in taken(n)])
def test_against_numpy(name, dtype):
    got, wanted = run_case(name, dtype)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    if wanted.dtype.kind in "ib":
        np.testing.assert_array_equal(got, wanted)
    else:
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), tolerance, tolerance)


def test_every_instruction_that_computes_is_tried():
    others = {
        "settensor", "constant", "arange", "uniform", "normal", "dropout", "todtype",  # below
        "argset", "vecset", "argdel", "newtensor", "deltensor", "renametensor", "print", "save", "load", "loadtensordata",
        "loop", "while",
    }  # fmt: skip
    assert set(CASES) | others == set(ROWS)


@pytest.mark.parametrize("name", [n for n in CASES if "float32" not in taken(n) or len(taken(n)) < len(NAMES)])
def test_other_dtypes_are_refused(name):
    line, *_ = CASES[name]
    for dtype in set(NAMES) - set(taken(name)):
        session = deepx.Session()
        for key in ("a", "b", "c", "cases", "i"):
            session[key] = np.zeros((2, 2), dtype_of(dtype))
        with pytest.raises(CallerError, match=f"'{name}' takes .*; {dtype} is none of them"):
            session.run(line.format(a="a", b="b"))


@pytest.mark.parametrize("dtype", NAMES)
def test_fills(dtype):
    session = deepx.Session()
    session.run(f"newtensor@{dtype} [2 3]->c\nconstant@{dtype} 1->c")
    t = dtype_of(dtype)
    np.testing.assert_array_equal(session["c"], np.ones((2, 3), t))
    session.run(f"settensor@{dtype} [0 1 1 0 1 0]->c")
    np.testing.assert_array_equal(session["c"], np.array([[0, 1, 1], [0, 1, 0]], t))
    if dtype != "bool":
        session.run(f"arange@{dtype} 3 2->c")
        np.testing.assert_array_equal(session["c"], np.arange(3, 15, 2).reshape(2, 3).astype(t))
    assert session["c"].dtype == t


@pytest.mark.parametrize("dtype", SETS["numbers"])
def test_uniform_numbers(dtype):
    session = deepx.Session(seed=5)
    lines = f"newtensor@{dtype} [100 100]->c\nuniform@{dtype} -4 6->c"
    session.run(lines)
    drawn = session["c"].astype(np.float64)
    assert drawn.min() >= -4 and drawn.max() < 6
    assert abs(drawn.mean() - (0.5 if "int" in dtype else 1)) < 0.15
    if "int" in dtype:
        assert set(np.unique(drawn)) == set(range(-4, 6))
    again = deepx.Session(seed=5)
    again.run(lines)
    np.testing.assert_array_equal(session["c"], again["c"])
    other = deepx.Session(seed=6)
    other.run(lines)
    assert (session["c"] != other["c"]).any()


@pytest.mark.parametrize("low, high", [(2**63 - 2, 2**63 - 1), (2**53 + 1, 2**53 + 2), (-(2**63), -(2**63) + 3), (2**62 + 1, 2**62 + 4)])
def test_integers_beyond_those_of_float64_are_within_their_bounds(low, high):
    session = deepx.Session(seed=2)
    session.run(f"newtensor@int64 [300]->c\nuniform@int64 {low} {high}->c")
    assert set(session["c"].tolist()) == set(range(low, high))


def test_integers_of_the_whole_range_are_drawn():
    session = deepx.Session(seed=2)
    session.run(f"newtensor@int64 [10000]->c\nuniform@int64 {-(2**63)} {2**63 - 1}->c")
    drawn = session["c"].astype(np.float64) / 2.0**63
    assert abs(drawn.mean()) < 0.03 and drawn.min() < -0.99 and drawn.max() > 0.99


def test_normal_numbers_and_dropout():
    session = deepx.Session(seed=1)
    session.run("newtensor@float32 [100 100]->c\nnormal@float32 2 0.5->c")
    assert abs(session["c"].mean() - 2) < 0.02 and abs(session["c"].std() - 0.5) < 0.02
    session.run("constant@float32 3->c\ndropout@float32 0.25->c")
    assert set(np.unique(session["c"])) == {0.0, 3.0}
    assert abs((session["c"] == 0).mean() - 0.25) < 0.03


def test_seeds_of_draws():
    """Equal seeds on lines give equal numbers; 0 means no seed; lines without a seed differ, run together or one by one."""
    session = deepx.Session(seed=1)
    session.run("newtensor@float32 [8]->a\nnewtensor@float32 [8]->b\nnewtensor@float32 [8]->c\nnewtensor@float32 [8]->d")
    session.run("uniform@float32 0 1 7->a\nuniform@float32 0 1 7->b\nuniform@float32 0 1 0->c\nuniform@float32 0 1->d")
    np.testing.assert_array_equal(session["a"], session["b"])
    assert (session["c"] != session["d"]).all() and (session["a"] != session["c"]).all()
    one_by_one = deepx.Session(seed=1)
    for line in ("newtensor@float32 [8]->c", "newtensor@float32 [8]->d", "uniform 0 1->c", "uniform 0 1->d"):
        one_by_one.run(line)
    np.testing.assert_array_equal(session["d"], one_by_one["d"])


@pytest.mark.parametrize("to", NAMES)
@pytest.mark.parametrize("dtype", NAMES)
def test_todtype(dtype, to):
    values = np.array([0, 1, 1, 0]) if "bool" in (dtype, to) else np.array([-2.5, 1.75, 3, -100])
    session = deepx.Session()
    session["a"] = a = values.astype(dtype_of(dtype))
    session["c"] = np.zeros(4, dtype_of(to))
    session.run(f"todtype@{dtype} a->c")
    np.testing.assert_array_equal(session["c"], a.astype(dtype_of(to)))


def test_switch_by_number():
    session = deepx.Session()
    for k, name in enumerate("xyz"):
        session[name] = np.full(4, k + 1, np.float32)
    session["cases"] = np.array([2, 0, 1, 2], np.int32)
    session["c"] = np.zeros(4, np.float32)
    session.run("switch x y z cases->c")
    np.testing.assert_array_equal(session["c"], [3, 1, 2, 3])
    session["cases"] = np.array([2, 0, 1, 3], np.int32)
    with pytest.raises(CallerError, match="line 2, column 1: .*case 3 is not one of 0 to 2"):
        session.run("\nswitch x y z cases->c")
    np.testing.assert_array_equal(session["c"], [3, 1, 2, 3])


def test_epsilon():
    session = deepx.Session()
    session["a"] = np.array([1, 1, np.inf, np.nan], np.float32)
    session["b"] = np.array([1.25, 2, np.inf, np.nan], np.float32)
    session["c"] = np.zeros(4, bool)
    session.run("equal a b 0.5->c")
    np.testing.assert_array_equal(session["c"], [True, False, True, False])
    session.run("notequal_scalar a 1.5 0.5->c")
    np.testing.assert_array_equal(session["c"], [False, False, True, True])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_epsilon_of_integers_whose_distance_does_not_fit(dtype):
    session, (least, most) = deepx.Session(), (np.iinfo(dtype).min, np.iinfo(dtype).max)
    session["a"] = np.array([least, most, least, 3, 3], dtype)
    session["b"] = np.array([0, least, most, 4, 5], dtype)
    session["c"] = np.zeros(5, bool)
    session.run("equal a b 1->c")
    np.testing.assert_array_equal(session["c"], [False, False, False, True, False])


# ---- gradients

TWO_WAY = [name for name in CASES if ROWS[name].backward]


def test_what_has_a_gradient_is_tried():
    assert {n for n, row in ROWS.items() if row.backward} == set(TWO_WAY) | {"todtype"}


def with_gradients(line):
    return line.format(a="a(ga)", b="b(gb)").replace("b->", "b(gb)->").replace("b(gb)(gb)", "b(gb)").replace("->c", "<-c(gc)")


@pytest.mark.parametrize("name", TWO_WAY)
def test_gradients_against_finite_differences(name):
    line, a, b, _ = CASES[name]
    rng = np.random.default_rng(3)
    # No two compared numbers are equal.
    inputs = {"a": a + rng.uniform(0.05, 0.1, a.shape)}
    if b is not None:
        inputs["b"] = b + rng.uniform(0.15, 0.2, b.shape)
    session = deepx.Session()
    session["cases"], session["i"] = A > B, np.array([[0, 2], [3, -1]], np.int32)

    def forward(values):
        for key, x in values.items():
            session[key] = x
        session.run(line.format(a="a", b="b"))
        return session["c"]

    session["c"] = np.zeros(run_case(name, "float64")[1].shape)
    seed = rng.normal(size=forward(inputs).shape)
    session["gc"] = seed
    start = {key: rng.normal(size=x.shape) for key, x in inputs.items()}
    for key, x in start.items():
        session["g" + key] = x
    session["c"] = np.full(seed.shape, np.nan)  # gradients do not depend on the forward value
    session.run(with_gradients(line))
    np.testing.assert_array_equal(session["gc"], seed)
    session["c"] = np.zeros(seed.shape)
    for key, x in inputs.items():
        numeric = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            step = 1e-6
            up, down = x.copy(), x.copy()
            up[at] += step
            down[at] -= step
            numeric[at] = ((forward(inputs | {key: up}) - forward(inputs | {key: down})) / (2 * step) * seed).sum()
        np.testing.assert_allclose(session["g" + key] - start[key], numeric, 1e-6, 1e-7, err_msg=key)


@pytest.mark.parametrize("dtype", SETS["floats"])
@pytest.mark.parametrize("name", TWO_WAY)
def test_gradients_have_the_dtype(name, dtype):
    line, a, b, _ = CASES[name]
    session = deepx.Session()
    session["cases"], session["i"] = A > B, np.array([[0, 2], [3, -1]], np.int32)
    wanted = run_case(name, dtype)[1]
    for key, x in (("a", a), ("b", b)):
        if x is not None:
            session[key] = x.astype(dtype_of(dtype))
            session["g" + key] = np.zeros(x.shape, dtype_of(dtype))
    session["c"] = np.zeros(wanted.shape, dtype_of(dtype))
    session["gc"] = np.ones(wanted.shape, dtype_of(dtype))
    session.run(with_gradients(line))
    gradient = session["ga"].astype(np.float64)
    assert session["ga"].dtype == dtype_of(dtype) and np.isfinite(gradient).all()


def test_todtype_has_a_gradient():
    session = deepx.Session()
    session.run("newtensor@float32 [2]->a\nnewtensor@float64 [2]->c\nnewtensor@float32 [2]->ga\nnewtensor@float64 [2]->gc")
    session.run("settensor@float64 [2 3]->gc\ntodtype@float32 a(ga)<-c(gc)")
    np.testing.assert_array_equal(session["ga"], np.array([2, 3], np.float32))
