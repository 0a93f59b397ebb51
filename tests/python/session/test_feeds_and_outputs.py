"""Feeds and outputs that a session takes and gives: layouts, lists, strings, sequences; outputs by name, which share no memory with anything."""

import array

import numpy as np
import onnx
import pytest
import rondel
from models import TRUE, f32, make_model, refused, run, same, scalar, session, strings, tensor, value
from session_cases import DOUBLE

# ---- feeds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lay",
    [
        lambda a: a,
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
        lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a: a.T.copy().T,
        lambda a: a.astype(a.dtype.newbyteorder(">")),
        lambda a: np.ma.masked_array(a),
        lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
    ],
    ids=["plain", "fortran", "strided", "backwards", "transposed", "big endian", "subclass", "unaligned"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float64, np.int16])
def test_feeds_of_every_memory_layout_are_read(lay, dtype):
    names = {np.float32: "float", np.int64: "int64", np.float64: "double", np.int16: "int16"}
    name = names[dtype]
    a = np.arange(12).reshape(3, 4).astype(dtype)
    same(run(f"main ({name}[3, 4] x) => ({name}[3, 4] y) {{ y = Identity (x) }}", {"x": lay(a)})[0], a)


def test_feeds_may_be_scalars_and_lists():
    same(run("main (float x) => (float y) { y = Neg (x) }", {"x": np.float32(2)})[0], scalar(-2, np.float32))
    same(run(DOUBLE, {"x": np.broadcast_to(np.float32(1), (3,))})[0], f32(2, 2, 2))
    # A Python list or number has no dtype: it takes the dtype of the input, if every value fits.
    same(run(DOUBLE, {"x": [1.0, 2.0]})[0], f32(2, 4))
    same(run("main (int64 k) => (int64 y) { y = Neg (k) }", {"k": 3})[0], scalar(-3))
    same(run("main (bool b) => (bool y) { y = Not (b) }", {"b": True})[0], np.array(False))
    with pytest.raises((ValueError, TypeError)):
        run("main (int64 k) => (int64 y) { y = Neg (k) }", {"k": 2.5})


@pytest.mark.parametrize(("dtype", "given", "wrong"), [
    ("int4", [8, -9], "i4 does not hold -9; its range is -8 to 7"),
    ("uint4", [16], "u4 does not hold 16; its range is 0 to 15"),
    ("int2", [2], "i2 does not hold 2; its range is -2 to 1"),
    ("uint8", array.array("b", [-1]), "u8 does not hold -1"),
    ("int8", [np.array([300, 1]), np.array([1, 2])], "i8 does not hold 300"),
    ("int8", memoryview(np.array([300])), "i8 does not hold 300"),
    ("int32", array.array("q", [2**40 + 7]), "i32 does not hold 1099511627783"),
    ("int64", [2**63, -1], "i64 does not hold 9223372036854775808"),
    ("int64", [2**63], "i64 does not hold 9223372036854775808"),
    ("int64", [10**30], "i64 does not hold 1000000000000000000000000000000"),
    ("float16", [70000.0], "f16 does not hold 70000; its largest number is 65504"),
    ("float16", [10**400], "f16 does not hold integers beyond 65504"),
    ("bfloat16", [1e39], "bf16 does not hold 1e+39; its largest number is 3.38953e+38"),
    ("float", [np.array([1e300]), np.array([1.0])], "f32 does not hold 1e+300"),
    ("float", [1, 1e40], "f32 does not hold 1e+40"),
    ("float8e4m3fn", [1000.0], "f8e4m3fn does not hold 1000; its largest number is 448"),
    ("float4e2m1", [100.0], "f4e2m1 does not hold 100; its largest number is 6"),
])  # fmt: skip
def test_numbers_that_the_dtype_of_an_input_does_not_hold(dtype, given, wrong):
    with refused(rondel.CallerError, f"input 'x': {wrong}"):
        identity_of(dtype).run(None, {"x": given})


@pytest.mark.parametrize(("dtype", "given"), [
    ("int64", [2**53 + 1, 0.0]), ("int64", [2**63 - 1, -(2**63)]), ("uint64", [2**64 - 1, 1.0]), ("int8", [np.array([-128, 1.0]), [127, True]]),
    ("int4", [-8, 7]), ("float", [np.inf, -np.inf, 2.0**127]), ("float16", array.array("d", [65504.0, 0.5])), ("float4e2m1", [6, -0.5]), ("int8", []),
])  # fmt: skip
def test_numbers_without_a_dtype_keep_their_values(dtype, given):
    (got,) = identity_of(dtype).run(None, {"x": given})
    assert got.astype(object).tolist() == np.array(given, object).tolist()


def identity_of(dtype):
    ports = [value(name, onnx.TensorProto.DataType.Value(dtype.upper()), None) for name in "xy"]
    return rondel.InferenceSession(make_model([onnx.helper.make_node("Identity", ["x"], ["y"])], ports[:1], ports[1:], opset=25))


@pytest.mark.parametrize(
    "words",
    [strings("a", "", "é漢"), np.array(["a", "", "é漢"]), np.array([b"a", b"", "é漢".encode()]), ["a", "", "é漢"]],
    ids=["objects", "fixed width", "bytes", "list"],
)
def test_feeds_may_be_strings_in_every_form(words):
    (y,) = run("main (string[3] x) => (string[3] y) { y = Identity (x) }", {"x": words})
    assert y.dtype == object
    assert y.tolist() == ["a", "", "é漢"]


def test_feeds_may_be_empty_or_scalars():
    for shape in ((0,), (2, 0), ()):
        extents = f"[{', '.join(map(str, shape))}]" if shape else ""
        x = np.zeros(shape, np.float32)
        same(run(f"main (float{extents} x) => (float{extents} y) {{ y = Identity (x) }}", {"x": x})[0], x)


def test_feeds_may_be_sequences_and_optionals():
    text = """
    main (seq(float[k]) q, optional(float[2]) o) => (seq(float[k]) r, bool has) {
      r = Identity (q)
      has = OptionalHasElement (o)
    }"""
    for q in ([], [f32(1)], (f32(1), f32(1, 2, 3))):
        r, has = run(text, {"q": q, "o": None})
        assert isinstance(r, list)
        for got, want in zip(r, q, strict=True):
            same(got, want)
            assert not np.shares_memory(got, want)
        assert not has
    assert run(text, {"q": [], "o": f32(1, 2)})[1]


def test_a_feed_may_be_a_bool_of_numpy():
    text = "main (bool c, float x) => (float y) { y = Where (c, x, x) }"
    same(run(text, {"c": np.bool_(True), "x": np.float32(4)})[0], scalar(4, np.float32))
    same(run(text, {"c": TRUE, "x": np.float32(4)})[0], scalar(4, np.float32))


def test_tensors_of_other_libraries_are_read_through_dlpack():
    class Owner:
        def __init__(self, array):
            self.array, self.dtype, self.reads = array, array.dtype, 0

        def __dlpack__(self, **how):
            self.reads += 1
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    owner = Owner(f32(1, 2))
    same(session("f (float[N] x) => (float[N] y) { y = Neg (x) }").run(None, {"x": owner})[0], f32(-1, -2))
    assert owner.reads == 1


def test_feeds_are_never_written():
    x = f32(1, 1)
    x.setflags(write=False)
    session(DOUBLE).run(None, {"x": x})
    assert (x == 1).all()


# ---- outputs ---------------------------------------------------------------------------------------------

THREE = "main (float[n] x) => (float[n] a, float[n] b, float[n] c) { a = Add (x, x)  b = Neg (x)  c = Identity (x) }"


def test_outputs_are_given_by_name_and_in_order():
    s = session(THREE)
    x = f32(1, 2)
    want = {"a": 2 * x, "b": -x, "c": x}
    for names in (["a"], ["c", "a"], ["b", "b"], ("c", "b", "a"), ["a", "b", "c"]):
        got = s.run(names, {"x": x})
        assert isinstance(got, list)
        for name, y in zip(names, got, strict=True):
            same(y, want[name])
    for empty in (None, []):
        assert len(s.run(empty, {"x": x})) == 3


def test_an_unknown_output_is_refused_with_the_known_ones():
    with refused(rondel.CallerError, "d", ("a", "b", "c")):
        session(THREE).run(["a", "d"], {"x": f32(1)})


def test_an_output_not_asked_for_need_not_be_computed():
    text = """
    main (float[n] x, int64 k) => (float good, float bad) { good = ReduceSum <keepdims: int = 0> (x)  bad = Gather (x, k) }"""
    same(session(text).run(["good"], {"x": f32(1, 2), "k": scalar(0)})[0], scalar(3, np.float32))


def test_outputs_alias_nothing():
    # c and d are x itself, w and v are a weight: each output is a separate copy.
    text = """
    main (float[n] x) => (float[n] c, float[n] d, float[2] w, float[2] v) <float[2] weight = {1.0, 2.0}> {
      c = Identity (x)
      d = Identity (c)
      w = Identity (weight)
      shape = Constant <value_ints: ints = [2]> ()
      v = Reshape (weight, shape)
    }"""
    s = session(text)
    x = f32(5, 6)
    outputs = s.run(None, {"x": x})
    for i, y in enumerate(outputs):
        assert not np.shares_memory(x, y)
        for z in outputs[i + 1 :]:
            assert not np.shares_memory(y, z)
        y[:] = 99  # each output is writable
    same(x, f32(5, 6))
    for y, want in zip(s.run(None, {"x": x}), [x, x, f32(1, 2), f32(1, 2)], strict=True):
        same(y, want)


def test_inputs_and_initializers_may_be_outputs():
    made = make_model([], [value("x", 1, [2])], [value("x", 1, [2]), value("w", 1, [1])], [tensor("w", f32(3))])
    x, w = run(made, {"x": f32(1, 2)})
    same(x, f32(1, 2))
    same(w, f32(3))


def test_results_of_earlier_runs_stay():
    s = session(DOUBLE)
    results = [s.run(None, {"x": np.full(1000, k, np.float32)})[0] for k in range(20)]
    for k, y in enumerate(results):
        same(y, np.full(1000, 2 * k, np.float32))


def test_sessions_may_go_while_outputs_live():
    s = session(DOUBLE)
    (y,) = s.run(None, {"x": np.full(100_000, 3, np.float32)})
    del s
    same(y, np.full(100_000, 6, np.float32))
