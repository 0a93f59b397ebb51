"""Bodies that an ONNX Loop refuses, the types that each of its versions takes, and errors inside trips."""

import ml_dtypes
import numpy as np
import pytest
import rondel
from loop_cases import DOUBLING
from models import LOOP_VERSIONS, f32, refused, run, same, scalar, session


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        ("i, go", "go, x"),
        ("i, go, a, extra", "go, x"),
        ("i, go, a", "go"),
        ("i", "i"),
    ],
    ids=["an input too few", "an input too many", "an output too few", "no condition"],
)
def test_body_arity_mismatch_is_refused(inputs, outputs):
    text = f"""
    main (int64 m, float x) => (float y) {{
      [crooked] y = Loop (m, , x) <body: graph = body ({inputs}) => ({outputs}) {{ }}>
    }}"""
    with refused(rondel.CallerError, "crooked", "body"):
        session(text)


def test_more_outputs_than_the_body_gives_are_refused():
    text = """
    main (int64 m, float x) => (float y) {
      [crooked] y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, a) { }>
    }"""
    with refused(rondel.CallerError, "crooked"):
        session(text)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("int64 m", "int32 m"), "int32"),
        (("bool c", "float c"), "float"),
        (("int64 i,", "int32 i,"), "int32"),
    ],
    ids=["trip count", "condition", "trip index"],
)
def test_wrong_dtypes_of_the_loops_own_inputs_are_refused(change, word):
    text = DOUBLING.replace(*change)
    with refused(rondel.CallerError, (word, word.replace("int", "i"), "f32")):
        session(text)


def test_a_state_that_changes_its_dtype_is_refused():
    text = """
    main (int64 m, float x) => (float y) {
      y = Loop (m, , x) <body: graph = body (i, go, acc) => (more, acc_out) {
        more = Identity (go)
        acc_out = Cast <to: int = 7> (acc)
      }>
    }"""
    with refused(rondel.CallerError, "loop", "acc"):
        session(text)


# ---- types and versions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opset", "type_text"),
    [
        (11, "seq(float[k])"),
        (12, "seq(float[k])"),
        (15, "optional(float[k])"),
        (13, "bfloat16[k]"),
        (16, "float8e4m3fn[k]"),
        (18, "float8e5m2[k]"),
        (19, "int4[k]"),
        (20, "uint4[k]"),
        (21, "float4e2m1[k]"),
        (23, "float8e8m0[k]"),
        (24, "int2[k]"),
    ],
)
def test_a_type_before_its_version_is_refused(opset, type_text):
    text = f"""
    main (int64 m, {type_text} x) => ({type_text} y) {{
      y = Loop (m, , x) <body: graph = body (i, go, {type_text} a) => (go, a) {{ }}>
    }}"""
    version = max(v for v in LOOP_VERSIONS if v <= opset)
    name = type_text.split("(")[0].split("[")[0]
    short = {"seq": "sequence", "bfloat16": "bf16", "float8e4m3fn": "f8e4m3fn", "float8e5m2": "f8e5m2"}
    shorter = {"int4": "i4", "uint4": "u4", "float4e2m1": "f4e2m1", "float8e8m0": "f8e8m0", "int2": "i2"}
    names = (name, {**short, **shorter}.get(name, name))
    with refused(rondel.CallerError, "loop", names, (str(version), str(opset))):
        session(text, opset=opset)


@pytest.mark.parametrize(
    ("opset", "type_text", "dtype"),
    [
        (16, "bfloat16[k]", "bfloat16"),
        (19, "float8e4m3fn[k]", "float8_e4m3fn"),
        (19, "float8e5m2[k]", "float8_e5m2"),
        (21, "int4[k]", "int4"),
        (21, "uint4[k]", "uint4"),
        (23, "float4e2m1[k]", "float4_e2m1fn"),
        (24, "float8e8m0[k]", "float8_e8m0fnu"),
        (25, "int2[k]", "int2"),
        (25, "uint2[k]", "uint2"),
        (1, "double[k]", "float64"),
        (1, "float16[k]", "float16"),
        (1, "uint8[k]", "uint8"),
        (1, "int16[k]", "int16"),
        (1, "bool[k]", "bool"),
        (1, "complex64[k]", "complex64"),
    ],
)
def test_a_type_from_its_version_on_is_carried_and_stacked(opset, type_text, dtype):
    text = f"""
    main (int64 m, {type_text} x) => ({type_text} y, {type_text.replace("[", "[n, ")} s) {{
      y, s = Loop (m, , x) <body: graph = body (i, go, {type_text} a) => (go, a, a) {{ }}>
    }}"""
    x = np.array([1, 0, 1], dtype=getattr(ml_dtypes, dtype, dtype))
    y, s = run(text, {"m": scalar(2), "x": x}, opset=max(opset, 13) if opset == 1 else opset)
    assert y.dtype == x.dtype
    assert s.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))
    np.testing.assert_array_equal(s.astype(np.float32), np.stack([x, x]).astype(np.float32))


# ---- errors inside trips ---------------------------------------------------------------------------------

FAILS_AT_THREE = """
main (int64 m, float[3] table) => (float[n] s) {
  s = Loop (m, "") <body: graph = body (i, go) => (go, item) { [pick] item = Gather (table, i) }>
}"""


def test_an_error_inside_a_trip_names_the_node():
    same(run(FAILS_AT_THREE, {"m": scalar(3), "table": f32(5, 6, 7)})[0], f32(5, 6, 7))
    with refused(rondel.CallerError, "pick", "gather", "3"):
        run(FAILS_AT_THREE, {"m": scalar(4), "table": f32(5, 6, 7)})


@pytest.mark.parametrize("bad", [0, 1, 64, 1000, 5000])
def test_an_error_at_any_trip_is_found_there(bad):
    text = """
    main (int64 m, int64[k] table) => (int64[n] s) {
      hundred = Constant <value_int: int = 100> ()
      s = Loop (m, "") <body: graph = body (i, go) => (go, item) {
        divisor = Gather (table, i)
        [share] item = Div (hundred, divisor)
      }>
    }"""
    table = np.full(6000, 7, np.int64)
    same(run(text, {"m": scalar(6000), "table": table})[0], np.full(6000, 14, np.int64))
    table[bad] = 0
    with refused(rondel.CallerError, "share", "zero", f"trip {bad}"):
        run(text, {"m": scalar(6000), "table": table})
    if bad:
        same(run(text, {"m": scalar(bad), "table": table})[0], np.full(bad, 14, np.int64))
