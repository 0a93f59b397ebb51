"""Nodes for which ONNX has no op, or no op in their dtype: other runtimes run the ops that are written in their place."""

import ml_dtypes
import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, in_onnxruntime, model, refused, scalar, session
from nets import I64, Net
from onnx.reference import ReferenceEvaluator
from rondel.network import DataType, LoopOutput, PaddingMode, PoolingType, nptype


def elsewhere(written, feeds, evaluator=True):
    """The results in Rondel, in ONNX Runtime if it has the kernels, and in onnx's reference evaluator."""
    onnx.checker.check_model(written, full_check=True)
    by_onnx = ReferenceEvaluator(onnx.load_from_string(written)).run(None, feeds) if evaluator else None
    return [x for x in (session(written).run(None, feeds), in_onnxruntime(written, feeds), by_onnx) if x is not None]


@pytest.mark.parametrize("mode", [PaddingMode.EXPLICIT_ROUND_DOWN, PaddingMode.EXPLICIT_ROUND_UP, PaddingMode.SAME_UPPER])
@pytest.mark.parametrize("extents", [(2, 2, 5, 7), (-1, 2, -1, -1)], ids=["static", "dynamic"])
def test_pools_of_long_integers(extents, mode):
    """Max pooling of int64, windows of 2 x 3 with strides 1 x 2. No float can represent 2**62 + 1."""
    net = Net()
    layer = net.network.add_pooling_nd(net.input("x", extents, I64), PoolingType.MAX, (2, 3))
    layer.stride_nd, layer.pre_padding, layer.post_padding = (1, 2), (1, 0), (0, 1)
    layer.padding_mode = mode
    net.mark(layer.get_output(0))
    x = np.random.default_rng(0).integers(-9, 9, (2, 2, 5, 7)) + np.where(np.arange(7) % 3 == 0, 2**62, -(2**62))
    (got,) = net.run({"x": x}, oracle=False)
    padding = {PaddingMode.EXPLICIT_ROUND_DOWN: [(1, 0), (0, 1)], PaddingMode.EXPLICIT_ROUND_UP: [(1, 0), (0, 2)]}
    padded = np.pad(x, [(0, 0), (0, 0), *padding.get(mode, [(0, 1), (1, 1)])], constant_values=-(2**63))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))[:, :, :, ::2]
    agree(got, np.ascontiguousarray(windows.max((4, 5))))
    results = elsewhere(net.network.to_onnx(), {"x": x})
    assert len(results) == 3
    for result in results:
        agree(result, [got])


@pytest.mark.parametrize("extents, opset", [((4, 5), None), ((4, 5), 13), ((-1, -1), None)])
@pytest.mark.parametrize("dtype", [DataType.COMPLEX64, DataType.COMPLEX128])
def test_complex_numbers_are_compared(dtype, extents, opset):
    """Written with Unique along an axis, where NaN equals nothing, in onnx's reference evaluator as in Rondel."""
    net = Net()
    net.mark(net.op(net.input("x", (extents[0], 1), dtype), net.input("y", (1, extents[1]), dtype), "EQUAL"))
    nan, inf = np.nan, np.inf
    x = np.array([[1 + 2j], [complex(0.0, -0.0)], [complex(inf, nan)], [complex(inf, 0)]], nptype(dtype))
    y = np.array([[1 + 2j, 1 - 2j, complex(-0.0, 0.0), complex(inf, nan), complex(inf, 0)]], nptype(dtype))
    feeds = {"x": x, "y": y}
    (want,) = net.run(feeds, oracle=False)
    agree(want, x == y)
    assert want.tolist()[2:] == [[False] * 5, [False] * 4 + [True]]
    results = elsewhere(net.network.to_onnx(opset=opset), feeds)
    assert len(results) == 2  # ONNX Runtime does not support complex numbers
    for result in results:
        agree(result, [want])
    if extents[1] < 0:
        for result in elsewhere(net.network.to_onnx(opset=opset), {"x": x, "y": y[:, :0]}):
            agree(result, [np.zeros((4, 0), bool)])


def nest(depth):
    """`depth` nested loops, which add y to x in each innermost trip. Every 16th loop makes two trips, the others one."""
    net = Net()
    value, more = net.input("x", (2,)), net.input("y", (2,))
    loops = [net.loop(2 if d % 16 == 0 else 1, f"loop {d}") for d in range(depth)]
    recurrences = []
    for loop in loops:
        recurrences.append(loop.add_recurrence(value))
        value = recurrences[-1].get_output(0)
    value = net.add(value, more)
    for loop, recurrence in reversed(list(zip(loops, recurrences))):
        recurrence.set_input(1, value)
        value = loop.add_loop_output(recurrence.get_output(0), LoopOutput.LAST_VALUE).get_output(0)
    net.network.mark_output(value)
    return net.network


@pytest.mark.parametrize("opset", [None, 13])
@pytest.mark.parametrize("depth, functions", [(31, 0), (32, 1), (70, 2)])
def test_nests_too_deep_for_readers_are_functions(depth, functions, opset, tmp_path):
    network = nest(depth)
    written = network.to_onnx(opset=opset)
    assert len(onnx.load_from_string(written).functions) == functions
    feeds = {"x": f32(1, 2), "y": f32(1, 1)}
    want = [feeds["x"] + 2 ** (1 + (depth - 1) // 16)]
    agree(network.build_session().run(None, feeds), want)
    results = elsewhere(written, feeds)
    assert len(results) == 3
    for result in results:
        agree(result, want)
    agree(session(rondel.export(written, compiled=True)).run(None, feeds), want)
    notes = network.to_onnx(tmp_path / "n.onnx", opset=opset).notes
    assert any("functions of the model" in note for note in notes) == (functions > 0), notes


# ---- sequences of the dtypes that ONNX has no ops on sequences of --------------------------------------------

NARROW = {"bfloat16": (16, ml_dtypes.bfloat16), "float8e4m3fn": (17, ml_dtypes.float8_e4m3fn), "uint4": (21, ml_dtypes.uint4)}


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("name", NARROW)
def test_loops_hand_narrow_sequences_through(name, compiled):
    """ONNX's Identity does not support these sequences."""
    source = model(f"""
    main (int64 m, seq({name}[2]) x) => (seq({name}[2]) y) {{
      y = Loop (m, , x) <body: graph = b (int64 i, bool go, seq({name}[2]) s) => (bool go, seq({name}[2]) s) {{ }}>
    }}""")
    written = rondel.export(source, compiled=compiled)
    onnx.checker.check_model(written, full_check=True)
    x = [np.array(v).astype(NARROW[name][1]) for v in ([1, 2], [3, 4])]
    agree(session(written).run(None, {"m": scalar(2), "x": x}), [x])


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_sequences_that_no_port_is_hold_a_wider_dtype(name, compiled):
    source = model(f"""
    main (int64 m, float a) => (float b) {{
      x = SequenceEmpty <dtype: int = {NARROW[name][0]}> ()
      y, b = Loop (m, , x, a) <body: graph = body (int64 i, bool go, seq({name}) s, float e) => (bool go, seq({name}) s, float f) {{
        f = Neg (e)
      }}>
    }}""")
    feeds = {"m": scalar(3), "a": scalar(2, np.float32)}
    for result in elsewhere(rondel.export(source, compiled=compiled), feeds):
        agree(result, [scalar(-2, np.float32)])


def test_a_narrow_list_that_only_its_split_knows_is_written_as_it_is():
    """SplitToSequence gives lists of bfloat16 since opset 24, where no other op on lists takes them."""
    source = model("""
    main (bfloat16[4] x, seq(bfloat16[2]) given) => (seq(bfloat16[2]) parts, seq(bfloat16[2]) same) {
      two = Constant <value = int64 {2}> ()
      parts = SplitToSequence (x, two)
      m = Constant <value = int64 {1}> ()
      same = Loop (m, , given) <body: graph = b (int64 i, bool go, seq(bfloat16[2]) s) => (bool go, seq(bfloat16[2]) s) { }>
    }""", opset=25)
    written = rondel.export(source)
    onnx.checker.check_model(written, full_check=True)
    x = np.array([1, 2, 3, 4]).astype(ml_dtypes.bfloat16)
    parts = [x[:2], x[2:]]
    agree(session(written).run(None, {"x": x, "given": parts}), [parts, parts])


@pytest.mark.parametrize("name", NARROW)
def test_a_port_that_no_op_makes_is_refused(name):
    source = model(f"main () => (seq({name}) y) {{ y = SequenceEmpty <dtype: int = {NARROW[name][0]}> () }}")
    with refused(rondel.UnsupportedError, "node 'y' (SequenceEmpty)", "no wider dtype can stand for it, since 'y' is one"):
        rondel.export(source)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("opset", [13, 21])
def test_remainders_of_floats_with_the_sign_of_the_divisor(opset, dtype):
    """Mod has them from opset 28 on. ONNX Runtime's Where loses the signs of zeros."""
    name = {"float64": "double", "float32": "float"}.get(np.dtype(dtype).name, np.dtype(dtype).name)
    text = f"f ({name}[n, 1] a, {name}[1, m] b) => ({name}[n, m] c) {{ c = Mod (a, b) }}"
    some = [0.0, -0.0, 5.5, -5.5, 4.0, -4.0, 1e-4, -1e-4, np.inf, -np.inf, np.nan]
    a, b = np.array(some, dtype)[:, None], np.array(some[2:], dtype)[None]
    made = model(text, 28)
    want = session(made).run(None, {"a": a, "b": b})[0]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(want, np.mod(a, b))
    written = rondel.export(made, opset=opset)
    assert all(len(n.attribute) == 1 for n in onnx.load_from_string(written).graph.node if n.op_type == "Mod")
    got = session(written).run(None, {"a": a, "b": b})[0]
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])
    np.testing.assert_array_equal(in_onnxruntime(written, {"a": a, "b": b})[0], want)


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize("dtype, tolerance", [("float", 1e-6), ("double", 1e-14), ("float16", 1e-3)])
@pytest.mark.parametrize("call", ["Gelu (x)", "Mish (x)", "Swish <alpha = 1.5> (x)"])
def test_activations_in_opsets_that_lack_them(call, dtype, tolerance, opset):
    made = model(f"main ({dtype}[n] x) => ({dtype}[n] y) {{ y = {call} }}", 24)
    x = np.linspace(-8, 8, 501).astype({"float": np.float32, "double": np.float64, "float16": np.float16}[dtype])
    (want,) = session(made).run(None, {"x": x})
    for (result,) in elsewhere(rondel.export(made, opset=opset), {"x": x}, evaluator=False):
        np.testing.assert_allclose(result, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_comparisons_in_an_opset_that_lacks_them(dtype):
    name = {np.float32: "float", np.int64: "int64"}[dtype]
    made = model(f"main ({name}[n] x, {name}[n] y) => (bool[n] a, bool[n] b) {{ a = LessOrEqual (x, y)  b = GreaterOrEqual (x, y) }}")
    x, y = (np.array(v, dtype) for v in ([1, 2, 3, 0], [1, 3, 2, 0]))
    if dtype == np.float32:
        x[3] = np.nan
    for a, b in elsewhere(rondel.export(made, opset=11), {"x": x, "y": y}):
        assert a.tolist() == (x <= y).tolist() and b.tolist() == (x >= y).tolist()


@pytest.mark.parametrize("op", ["Squeeze", "Unsqueeze"])
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_a_list_of_no_axes_changes_nothing(op, opset):
    text = f"g (float[1, 3] x) => (float[a, b] y) {{ e = Constant <value = int64[0] {{}}> ()  y = {op} (x, e) }}"
    x = f32([1, 2, 3])
    for got in elsewhere(rondel.export(model(text), opset=opset), {"x": x}):
        agree(got, [x])


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("m", ["m", ""], ids=["counted", "by an inner condition"])
def test_loops_make_their_trips_in_onnxs_evaluator(m, compiled):
    """It takes a condition that is left out as false, so a loop without one is written with the constant true."""
    text = f"""main (int64 m, float x) => (float y) {{
      go = Constant <value = bool {{1}}> ()
      y = Loop ({m}, go, x) <body: graph = b (int64 i, bool on, float a) => (bool more, float b) {{
        one = Constant <value_int: int = 1> ()  next = Add (i, one)  three = Constant <value_int: int = 3> ()
        more = {"Identity (on)" if m else "Less (next, three)"}  b = Add (a, a)
      }}>
    }}"""
    feeds = {"m": scalar(3), "x": scalar(1, np.float32)}
    written = rondel.export(model(text), compiled=compiled)
    results = elsewhere(written, feeds)
    assert len(results) == 3
    for got in results:
        agree(got, [scalar(8, np.float32)])
    assert rondel.export(written) == rondel.export(rondel.export(written))


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("opset", [11, 13, 21])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("extents, shapes", [("2, 3, 4", [(2, 3, 4)]), ("N, M, 4", [(2, 3, 4), (0, 3, 4), (2, 0, 4), (0, 0, 4)]), ("2, 0, 4", [(2, 0, 4)])],
                         ids=["static", "dynamic", "empty"])
def test_softmax_that_flattens_its_input(extents, shapes, op, opset, compiled):
    """Before opset 13 it worked on a matrix; onnx's evaluator knows the newest only."""
    source = model(f"g (float[{extents}] x) => (float[{extents}] y) {{ y = {op} <axis = 1> (x) }}", 11)
    written = rondel.export(source, opset=opset, compiled=compiled)
    ops = [n.op_type for n in onnx.load_from_string(written).graph.node]
    assert ops == [op] or compiled or opset > 11
    for shape in shapes:
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        (want,) = session(source).run(None, {"x": x})
        results = elsewhere(written, {"x": x}, evaluator=False)
        assert len(results) == 2
        for (got,) in results:
            assert got.shape == shape
            np.testing.assert_allclose(got, want, 1e-5, 1e-6)


@pytest.mark.parametrize("x, shape, fits", [((2, 3), (3, 2), True), ((2, 3), (-1, 6), True), ((0, 3), (0, 5), True), ((2, 0), (0, 7), True),
                                            ((2, 3), (0, 3), False), ((2, 3), (-1, 0), False), ((0, 3), (2, 3), False)])
def test_a_zero_in_a_shape_is_an_extent_of_zero_before_it_could_be_said(x, shape, fits):
    text = "g (float[N, M] x, int64[2] s) => (float[a, b] y) { y = Reshape <allowzero = 1> (x, s) }"
    source = model(text)
    written = rondel.export(source, opset=13)
    feeds = {"x": np.ones(x, np.float32), "s": np.array(shape)}
    if not fits:
        for refuses in (source, written):
            with pytest.raises(rondel.CallerError):
                session(refuses).run(None, feeds)
        return
    for (got,) in elsewhere(written, feeds):
        agree(got, feeds["x"].reshape(got.shape))
        assert list(got.shape) == [6 // np.prod(np.abs(shape)) if e < 0 else e for e in shape]


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize("zeros", ["int8[3] wz = {0, 0, 0}", "int8[3] wz = {4, 4, 4}", "int8[3] wz = {-128, 5, 127}", "int8 wz = {4}"])
def test_convolutions_with_zero_points_of_channels_run_elsewhere(zeros, opset):
    """ONNX Runtime's ConvInteger takes one zero point of w."""
    w = ", ".join(map(str, np.random.default_rng(1).integers(-128, 127, 24)))
    source = model(f"""
    g (uint8[1, 2, 4, 4] x) => (uint8[1, 3, 4, 4] y)
    <float xs = {{0.5}}, uint8 xz = {{3}}, float[3] ws = {{0.01, 0.02, 0.03}}, {zeros}, float ys = {{4}}, uint8 yz = {{90}}, int8[3, 2, 2, 2] w = {{{w}}}> {{
      y = QLinearConv <pads = [1, 0, 0, 1]> (x, xs, xz, w, ws, wz, ys, yz)
    }}""")
    x = np.random.default_rng(0).integers(0, 256, (1, 2, 4, 4)).astype(np.uint8)
    want = session(source).run(None, {"x": x})
    assert len(np.unique(want[0])) > 10
    results = elsewhere(rondel.export(source, opset=opset, compiled=True), {"x": x}, evaluator=False)
    assert len(results) == 2
    for got in results:
        agree(got, want)


@pytest.mark.parametrize("text", ["y = DequantizeLinear (x, s)", "y = Cast <to = 1> (x)"])
def test_the_reason_is_that_of_the_op_that_is_written(text):
    with refused(rondel.CallerError, "opset 13 cannot express it: Cast does not take tensor(int4)", "opset 21 has it"):
        rondel.export(model(f"g (int4[2] x) => (float[2] y) <float s = {{0.5}}> {{ {text} }}"), opset=13)


# What begins in a version of an op and shows in no attribute's name: the model, its opset, and what is refused.
WRAP = 'f (float[3] x, int64[2] p) => (float[n] y) { y = Pad <mode = "wrap"> (x, p) }'
WRAP_AXES = 'f (float[3] x) => (float[n] y) <int64[2] p = {1, 1}, int64[1] axes = {0}> { y = Pad <mode = "wrap"> (x, p, , axes) }'
MOST = 'f (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = ScatterElements <reduction = "max"> (x, i, u) }'
LEAST = 'f (float[3] x, int64[1, 1] i, float[1] u) => (float[3] y) { y = ScatterND <reduction = "min"> (x, i, u) }'
BEGINS_LATER = {
    "wrap": (WRAP, 19, 18),
    "wrap of axes": (WRAP_AXES, 19, 18),
    "wrap, before axes": (WRAP, 19, 13),
    "wrap of axes, before axes": (WRAP_AXES, 19, 13),
    "max": (MOST, 18, 17),
    "min": (LEAST, 18, 16),
    "max, before reductions": (MOST, 18, 13),
}


@pytest.mark.parametrize("name", BEGINS_LATER)
def test_values_of_attributes_that_begin_later(name):
    text, begins, opset = BEGINS_LATER[name]
    rondel.export(model(text, begins), opset=begins)
    with refused(rondel.CallerError, f"opset {opset} cannot express it", f"opset {begins} has it"):
        rondel.export(model(text, begins), opset=opset)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_grids_in_space_are_written_in_parts_before_they_begin(mode):
    text = f"""f (float[1, 2, 3, 4, 5] x, float[1, 2, 2, 2, 3] grid) => (float[1, 2, 2, 2, 2] y) {{ y = GridSample <mode = "{mode}"> (x, grid) }}"""
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((1, 2, 3, 4, 5)).astype(np.float32), "grid": rng.uniform(-1, 1, (1, 2, 2, 2, 3)).astype(np.float32)}
    want = session(text, 20).run(None, feeds)[0]
    written = rondel.export(model(text, 20), opset=18)
    assert "GridSample" not in [n.op_type for n in onnx.load_from_string(written).graph.node]
    np.testing.assert_allclose(in_onnxruntime(written, feeds)[0], want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("opset", [16, 20, None])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_integers_are_sampled_as_floats(mode, opset):
    """And rounded towards 0. onnx's evaluator rounds each product."""
    text = f"""f (int32[1, 1, 3, 3] x, float[1, 1, 3, 2] grid) => (int32[1, 1, 1, 3] y) {{ y = GridSample <mode = "{mode}"> (x, grid) }}"""
    x = np.arange(-4, 5, dtype=np.int32).reshape(1, 1, 3, 3) * 10
    feeds = {"x": x, "grid": f32(-0.6, -0.6, 0.7, 0.0, 0.5, 0.5).reshape(1, 1, 3, 2)}
    floats = session(text.replace("int32", "float"), 20).run(None, {**feeds, "x": x.astype(np.float32)})[0]
    written = rondel.export(model(text, 20), opset=opset)
    for got in (session(text, 20).run(None, feeds)[0], session(written).run(None, feeds)[0]):
        agree(got, np.trunc(floats).astype(np.int32))
