"""ONNX Scan: scanned inputs, stacked outputs, axes, directions, and the batched form of version 8."""

import numpy as np
import pytest
import rondel
from models import SCAN_VERSIONS, f32, i64, refused, run, same, scalar, session, strings

RUNNING_SUM = """
main (float[2] s0, float[l, 2] x) => (float[2] total, float[l, 2] sums) {
  [summing] total, sums = Scan (s0, x) <num_scan_inputs: int = 1, body: graph =
      body (float[2] s, float[2] e) => (float[2] t, float[2] item) {
    t = Add (s, e)
    item = Identity (t)
  }>
}"""


@pytest.mark.parametrize("version", SCAN_VERSIONS)
def test_every_version_runs(version):
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    total, sums = run(RUNNING_SUM, {"s0": f32(10, 20), "x": x}, opset=version)
    want = f32(10, 20) + np.cumsum(x, axis=0, dtype=np.float32)
    same(total, want[-1])
    same(sums, want)


def scan_model(state, elements, body, inputs, outputs, attributes=""):
    """A model of one Scan over the graph inputs named in `inputs` (the last of them the scans)."""
    count = len(elements)
    listed = ", ".join(name for name, _ in inputs)
    given = ", ".join(f"{kind} {name}" for name, kind in inputs)
    results = ", ".join(f"float[] {name}" for name in outputs)
    formal = ", ".join([*state, *elements])
    results_of_body, lines = body
    return f"""
    main ({given}) => ({results}) {{
      [scanning] {", ".join(outputs)} = Scan ({listed}) <num_scan_inputs: int = {count}{attributes}, body: graph =
          body ({formal}) => ({results_of_body}) {{ {lines} }}>
    }}"""


def test_no_states():
    text = scan_model([], ["e"], ("d", "d = Add (e, e)"), [("x", "float[3, 2]")], ["y"])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    same(run(text, {"x": x})[0], 2 * x)


def test_only_finals():
    text = scan_model(["s"], ["e"], ("t", "t = Add (s, e)"), [("s0", "float"), ("x", "float[4]")], ["y"])
    same(run(text, {"s0": scalar(1, np.float32), "x": f32(1, 2, 3, 4)})[0], scalar(11, np.float32))


def test_several_states_and_scans():
    text = """
    main (float s0, float p0, float[l] x, float[l, 2] y) => (float s, float p, float[l] d, float[l, 2] e) {
      s, p, d, e = Scan (s0, p0, x, y) <num_scan_inputs: int = 2, body: graph = body (a, b, u, v) => (a2, b2, u2, v2) {
        a2 = Add (a, u)
        b2 = Mul (b, u)
        u2 = Sub (a2, b2)
        v2 = Add (v, u)
      }>
    }"""
    x, y = f32(1, 2, 3), np.arange(6, dtype=np.float32).reshape(3, 2)
    s, p, d, e = run(text, {"s0": scalar(0, np.float32), "p0": scalar(1, np.float32), "x": x, "y": y})
    same(s, scalar(6, np.float32))
    same(p, scalar(6, np.float32))
    same(d, f32(1 - 1, 3 - 2, 6 - 6))
    same(e, y + x[:, None])


# ---- axes and directions --------------------------------------------------------------------------------

SHAPE = (2, 3, 4)
DATA = np.arange(24, dtype=np.float32).reshape(SHAPE)


@pytest.mark.parametrize("axis_in", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("axis_out", [0, 1, 2, -1, -3])
def test_axes(axis_in, axis_out):
    attributes = f", scan_input_axes: ints = [{axis_in}], scan_output_axes: ints = [{axis_out}]"
    text = scan_model([], ["e"], ("d", "d = Add (e, e)"), [("x", "float[2, 3, 4]")], ["y"], attributes)
    items = [2 * np.take(DATA, k, axis_in) for k in range(SHAPE[axis_in])]
    same(run(text, {"x": DATA})[0], np.stack(items, axis_out))


@pytest.mark.parametrize("reverse_in", [0, 1])
@pytest.mark.parametrize("reverse_out", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_directions_on_both_sides(reverse_in, reverse_out, axis):
    attributes = (
        f", scan_input_directions: ints = [{reverse_in}], scan_output_directions: ints = [{reverse_out}]"
        f", scan_input_axes: ints = [{axis}], scan_output_axes: ints = [{axis}]"
    )
    text = scan_model(
        ["s"],
        ["e"],
        ("t, item", "t = Add (s, e) item = Identity (t)"),
        [("s0", "float[3]" if axis else "float[2]"), ("x", "float[3, 2]")],
        ["total", "y"],
        attributes,
    )
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    s = np.zeros(3 if axis else 2, np.float32)
    steps = range(x.shape[axis])
    items = []
    for k in reversed(steps) if reverse_in else steps:
        s = s + np.take(x, k, axis)
        items.append(s)
    total, y = run(text, {"s0": np.zeros_like(s), "x": x})
    same(total, s)
    same(y, np.stack(items[::-1] if reverse_out else items, axis))


def test_one_tensor_scanned_both_ways():
    text = """
    main (float[l] x) => (float[l] y, float[l] z) {
      y, z = Scan (x, x) <num_scan_inputs: int = 2, scan_input_directions: ints = [0, 1], body: graph =
          body (a, b) => (s, d) {
        s = Add (a, b)
        d = Sub (a, b)
      }>
    }"""
    x = f32(1, 2, 4, 8)
    y, z = run(text, {"x": x})
    same(y, x + x[::-1])
    same(z, x - x[::-1])


def test_two_stacks_of_different_axes_and_directions():
    text = """
    main (float[l, 2] x) => (float[2, l] y, float[l, 2] z) {
      y, z = Scan (x) <num_scan_inputs: int = 1, scan_output_axes: ints = [1, 0],
          scan_output_directions: ints = [0, 1], body: graph = body (e) => (u, v) {
        u = Neg (e)
        v = Identity (e)
      }>
    }"""
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    y, z = run(text, {"x": x})
    same(y, -x.T)
    same(z, x[::-1])


def test_body_input_straight_to_body_output():
    text = scan_model(["s"], ["e"], ("e, s, e", ""), [("s0", "float"), ("x", "float[3]")], ["f", "y", "z"])
    f, y, z = run(text, {"s0": scalar(9, np.float32), "x": f32(1, 2, 3)})
    same(f, scalar(3, np.float32))
    same(y, f32(9, 1, 2))
    same(z, f32(1, 2, 3))


@pytest.mark.parametrize("dtype", ["float16", "double", "int8", "uint64", "bool"])
def test_dtypes(dtype):
    text = f"""
    main ({dtype}[3] x) => ({dtype}[3] y) {{
      y = Scan (x) <num_scan_inputs: int = 1, scan_output_directions: ints = [1], body: graph =
          body (e) => (item) {{ item = Identity (e) }}>
    }}"""
    x = np.array([0, 1, 1], {"double": np.float64}.get(dtype, dtype))
    same(run(text, {"x": x})[0], x[::-1])


def test_string_scans():
    text = """
    main (string[1] s0, string[l, 1] x) => (string[1] s, string[l, 1] y, string[l, 1] z) {
      s, y, z = Scan (s0, x) <num_scan_inputs: int = 1, scan_output_directions: ints = [0, 1], body: graph =
          body (a, e) => (e, a, e) { }>
    }"""
    long = "longer than any small string buffer would hold by itself"
    s, y, z = run(text, {"s0": strings("start"), "x": strings([long], ["b"], [""])})
    same(s, strings(""))
    same(y, strings(["start"], [long], ["b"]))
    same(z, strings([""], ["b"], [long]))


# ---- lengths --------------------------------------------------------------------------------------------


def test_length_zero():
    total, sums = run(RUNNING_SUM, {"s0": f32(1, 2), "x": np.zeros((0, 2), np.float32)})
    same(total, f32(1, 2))
    same(sums, np.zeros((0, 2), np.float32))


@pytest.mark.parametrize("axis_out", [0, 1, -1])
def test_length_zero_on_other_axes(axis_out):
    attributes = f", scan_input_axes: ints = [1], scan_output_axes: ints = [{axis_out}]"
    text = scan_model([], ["e"], ("d", "d = Add (e, e)"), [("x", "float[3, l]")], ["y"], attributes)
    want = np.zeros((0, 3) if axis_out == 0 else (3, 0), np.float32)
    same(run(text, {"x": np.zeros((3, 0), np.float32)})[0], want)


def test_empty_elements():
    text = scan_model([], ["e"], ("d", "d = Add (e, e)"), [("x", "float[k, l]")], ["y"], ", scan_input_axes: ints = [1]")
    same(run(text, {"x": np.zeros((0, 4), np.float32)})[0], np.zeros((4, 0), np.float32))


def test_unequal_lengths_name_two_scans():
    text = """
    main (float[a] left, float[b] right) => (float[c] y) {
      [uneven] y = Scan (left, right) <num_scan_inputs: int = 2, body: graph = body (p, q) => (s) { s = Add (p, q) }>
    }"""
    same(run(text, {"left": f32(1, 2), "right": f32(3, 4)})[0], f32(4, 6))
    with refused(rondel.CallerError, "uneven", ("left", "p"), ("right", "q"), "2", "3"):
        run(text, {"left": f32(1, 2), "right": f32(1, 2, 3)})


def test_unequal_lengths_known_from_the_file_are_refused_at_load_or_run():
    text = """
    main (float[2] left, float[3] right) => (float[c] y) {
      [uneven] y = Scan (left, right) <num_scan_inputs: int = 2, body: graph = body (p, q) => (s) { s = Add (p, q) }>
    }"""
    with refused(rondel.CallerError, "uneven", "2", "3"):
        run(text, {"left": f32(1, 2), "right": f32(1, 2, 3)})


# ---- invalid states and items ---------------------------------------------------------------------------


def test_state_shape_change_is_an_error():
    text = scan_model(
        ["carried"],
        ["e"],
        ("grown", "grown = Concat <axis: int = 0> (carried, carried)"),
        [("s0", "float[k]"), ("x", "float[l]")],
        ["y"],
    )
    with refused(rondel.CallerError, "scanning", ("carried", "grown"), "trip 0", "[1]", "[2]"):
        run(text, {"s0": f32(1), "x": f32(1, 2)})


def test_state_dtype_change_is_refused():
    text = scan_model(
        ["carried"], ["e"], ("d", "d = Cast <to: int = 7> (carried)"), [("s0", "float"), ("x", "float[l]")], ["y"]
    )
    with refused(rondel.CallerError, "scanning", ("carried", "d")):
        session(text)


def test_item_shape_change_is_an_error():
    text = """
    main (int64[l] counts) => (float[] y) {
      one = Constant <value_floats: floats = [1.0]> ()
      [ragged] y = Scan (counts) <num_scan_inputs: int = 1, body: graph = body (n) => (item) {
        axis = Constant <value_ints: ints = [0]> ()
        shape = Unsqueeze (n, axis)
        item = Expand (one, shape)
      }>
    }"""
    same(run(text, {"counts": i64(2, 2)})[0], np.ones((2, 2), np.float32))
    with refused(rondel.CallerError, "ragged", "item", "trip 2", "[2]", "[3]"):
        run(text, {"counts": i64(2, 2, 3)})


def test_captures_from_every_level():
    text = """
    main (float[l] x, float k) => (float[l, m] y) {
      twice = Add (k, k)
      y = Scan (x) <num_scan_inputs: int = 1, body: graph = rows (r) => (row) {
        scaled = Mul (r, twice)
        row = Scan (x) <num_scan_inputs: int = 1, body: graph = columns (c) => (cell) {
          t = Mul (c, scaled)
          cell = Add (t, k)
        }>
      }>
    }"""
    x = f32(1, 2, 3)
    same(run(text, {"x": x, "k": scalar(5, np.float32)})[0], np.outer(x * 10, x).astype(np.float32) + np.float32(5))


def test_scan_in_a_loop_in_a_scan():
    text = """
    main (int64 m, float[l] x) => (float[l] y) {
      zero = Constant <value_float: float = 0.0> ()
      y = Scan (x) <num_scan_inputs: int = 1, body: graph = outer (e) => (item) {
        item = Loop (m, , e) <body: graph = middle (i, go, a) => (go, b) {
          sum = Scan (zero, x) <num_scan_inputs: int = 1, body: graph = inner (s, f) => (t) { t = Add (s, f) }>
          b = Add (a, sum)
        }>
      }>
    }"""
    x = f32(1, 2, 3)
    same(run(text, {"m": scalar(2), "x": x})[0], x + 12)


def test_outputs_named_nothing():
    text = RUNNING_SUM.replace("total, sums = Scan", '"", sums = Scan').replace("(float[2] total, ", "(", 1)
    x = np.ones((3, 2), np.float32)
    same(run(text, {"s0": f32(0, 0), "x": x})[0], np.cumsum(x, axis=0, dtype=np.float32))


# ---- what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, -1, 3, 2**40, -(2**62)])
def test_num_scan_inputs_out_of_range_is_refused(count):
    text = RUNNING_SUM.replace("num_scan_inputs: int = 1", f"num_scan_inputs: int = {count}")
    with refused(rondel.CallerError, "summing", "num_scan_inputs", str(count)):
        session(text)


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("scan_input_axes", "0, 0"),
        ("scan_output_axes", "0, 0"),
        ("scan_input_directions", "0, 0"),
        ("scan_output_directions", "0, 0"),
        ("scan_input_directions", "2"),
        ("scan_output_directions", "-1"),
        ("scan_input_axes", "2"),
        ("scan_input_axes", "-3"),
        ("scan_output_axes", "2"),
        ("scan_output_axes", "-3"),
    ],
)
def test_wrong_axes_and_directions_are_refused(attribute, values):
    text = RUNNING_SUM.replace("num_scan_inputs: int = 1", f"num_scan_inputs: int = 1, {attribute}: ints = [{values}]")
    with refused(rondel.CallerError, "summing", (attribute, "axis", "direction")):
        run(text, {"s0": f32(0, 0), "x": np.ones((3, 2), np.float32)})


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [("s", "s, s"), ("s, e, f", "s, e"), ("s, e", "s")],
    ids=["an input too few", "an input too many", "an output too few"],
)
def test_body_arity_mismatch_is_refused(inputs, outputs):
    text = f"""
    main (float s0, float[l] x) => (float total, float[l] sums) {{
      [crooked] total, sums = Scan (s0, x) <num_scan_inputs: int = 1, body: graph = body ({inputs}) => ({outputs}) {{ }}>
    }}"""
    with refused(rondel.CallerError, "crooked"):
        session(text)


def test_a_scalar_cannot_be_scanned():
    text = scan_model([], ["e"], ("d", "d = Add (e, e)"), [("x", "float")], ["y"])
    with refused(rondel.CallerError, "scanning", ("rank", "axis", "scalar")):
        run(text, {"x": scalar(1, np.float32)})


@pytest.mark.parametrize("kind", ["seq(float[2])", "optional(float[2])"])
def test_sequences_and_optionals_are_refused_in_every_version(kind):
    text = f"""
    main ({kind} s0, float[l] x) => ({kind} s) {{
      s = Scan (s0, x) <num_scan_inputs: int = 1, body: graph = body ({kind} a, float e) => ({kind} a) {{ }}>
    }}"""
    with refused(rondel.CallerError, "scan", ("sequence", "seq", "optional")):
        session(text, opset=25)


@pytest.mark.parametrize(
    ("opset", "type_text"),
    [
        (13, "bfloat16"),
        (15, "bfloat16"),
        (18, "float8e4m3fn"),
        (20, "int4"),
        (22, "float4e2m1"),
        (23, "float8e8m0"),
        (24, "int2"),
    ],
)
def test_a_type_before_its_version_is_refused(opset, type_text):
    text = f"""
    main ({type_text}[l] x) => ({type_text}[l] y) {{
      y = Scan (x) <num_scan_inputs: int = 1, body: graph = body ({type_text} e) => ({type_text} e) {{ }}>
    }}"""
    version = max(v for v in SCAN_VERSIONS if v <= opset)
    short = {"bfloat16": "bf16", "float8e4m3fn": "f8e4m3fn", "int4": "i4", "float4e2m1": "f4e2m1"}
    short |= {"float8e8m0": "f8e8m0", "int2": "i2"}
    with refused(rondel.CallerError, "scan", (type_text, short[type_text]), (str(version), str(opset))):
        session(text, opset=opset)


@pytest.mark.parametrize(
    ("opset", "type_text", "dtype"),
    [
        (16, "bfloat16", "bfloat16"),
        (19, "float8e4m3fn", "float8_e4m3fn"),
        (21, "int4", "int4"),
        (23, "float4e2m1", "float4_e2m1fn"),
        (24, "float8e8m0", "float8_e8m0fnu"),
        (25, "int2", "int2"),
        (9, "complex64", "complex64"),
    ],
)
def test_a_type_from_its_version_on_is_scanned(opset, type_text, dtype):
    import ml_dtypes

    text = f"""
    main ({type_text}[l, 2] x) => ({type_text}[l, 2] y) {{
      y = Scan (x) <num_scan_inputs: int = 1, scan_input_directions: ints = [1], body: graph =
          body ({type_text}[2] e) => ({type_text}[2] e) {{ }}>
    }}"""
    x = np.array([[0, 1], [1, 1], [1, 0]]).astype(getattr(ml_dtypes, dtype, dtype))
    (y,) = run(text, {"x": x}, opset=opset)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x[::-1].astype(np.float32))


# ---- version 8: a batch, with a length for each sample --------------------------------------------------

SCAN8 = """
main ({lens_input}float[b, 2] s0, float[b, l, 2] x) => (float[b, 2] total, float[b, l, 2] sums) {{
  [batched] total, sums = Scan ({lens}, s0, x) <num_scan_inputs: int = 1{attributes}, body: graph =
      body (float[2] s, float[2] e) => (float[2] t, float[2] item) {{
    t = Add (s, e)
    item = Identity (t)
  }}>
}}"""


def scan8(lengths=True, attributes=""):
    lens_input = "int64[b] lens, " if lengths else ""
    return SCAN8.format(lens_input=lens_input, lens="lens" if lengths else "", attributes=attributes)


def scan8_expected(s0, x, lens, reverse=False):
    totals, sums = s0.copy(), np.zeros_like(x)
    for b, length in enumerate(lens):
        order = range(length - 1, -1, -1) if reverse else range(length)
        for trip, k in enumerate(order):
            totals[b] = totals[b] + x[b, k]
            sums[b, trip] = totals[b]
    return totals, sums


SCAN8_X = np.arange(24, dtype=np.float32).reshape(3, 4, 2) + 1
SCAN8_S0 = np.array([[100, 200], [300, 400], [500, 600]], np.float32)


def test_scan8_without_lengths():
    want = scan8_expected(SCAN8_S0, SCAN8_X, [4, 4, 4])
    for got, expected in zip(run(scan8(False), {"s0": SCAN8_S0, "x": SCAN8_X}, opset=8), want, strict=True):
        same(got, expected)


@pytest.mark.parametrize("lens", [(4, 4, 4), (1, 2, 3), (0, 4, 2), (0, 0, 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan8_lengths_shorter_than_the_extent(lens, reverse):
    # A reversed scan starts at the sample's own end; the padding is zeros after the items.
    text = scan8(attributes=", directions: ints = [1]" if reverse else "")
    got = run(text, {"lens": i64(*lens), "s0": SCAN8_S0, "x": SCAN8_X}, opset=8)
    for have, want in zip(got, scan8_expected(SCAN8_S0, SCAN8_X, lens, reverse), strict=True):
        same(have, want)


def test_scan8_empty_sequence_and_empty_batch():
    x = np.zeros((3, 0, 2), np.float32)
    total, sums = run(scan8(False), {"s0": SCAN8_S0, "x": x}, opset=8)
    same(total, SCAN8_S0)
    same(sums, x)
    total, sums = run(scan8(False), {"s0": SCAN8_S0[:0], "x": SCAN8_X[:0]}, opset=8)
    same(total, SCAN8_S0[:0])
    assert sums.shape[0] == 0


@pytest.mark.parametrize("lens", [(5, 1, 1), (1, 1, -1), (1, 2**40, 1)])
def test_scan8_lengths_out_of_range_are_errors(lens):
    bad = next(n for n in lens if not 0 <= n <= 4)
    with refused(rondel.CallerError, "batched", str(bad)):
        run(scan8(), {"lens": i64(*lens), "s0": SCAN8_S0, "x": SCAN8_X}, opset=8)


def test_scan8_one_length_for_each_sample():
    with refused(rondel.CallerError, "batched"):
        run(scan8().replace("int64[b] lens", "int64[c] lens"), {"lens": i64(1, 1), "s0": SCAN8_S0, "x": SCAN8_X}, opset=8)


def test_scan8_batch_extents_must_agree():
    with refused(rondel.CallerError, "batched"):
        text = scan8(False).replace("float[b, 2] s0", "float[c, 2] s0")
        run(text, {"s0": SCAN8_S0[:2], "x": SCAN8_X}, opset=8)
