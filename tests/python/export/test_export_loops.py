"""Loops exported to ONNX: they run in ONNX Runtime, and are a Scan or a Loop as their trip count tells; lengths and stacks, also without trips."""

import ml_dtypes
import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, i64, in_onnxruntime, model, refused, run, same, scalar, session
from nets import F32, I64, Net
from networks_of_sums import EXTENTS, sums_of_columns
from onnx import TensorProto
from rondel.network import DataType, LoopOutput

LOOPS = {
    "counted, with items": (
        """
        main (int64 m, float[2] x) => (float[2] y, float[n, 2] s, int64[n] t) {
          y, s, t = Loop (m, , x) <body: graph = b (int64 i, bool go, float[2] a) => (bool more, float[2] b, float[2] c, int64 j) {
            more = Identity (go)
            b = Add (a, a)
            c = Neg (a)
            j = Identity (i)
          }>
        }""",
        {"m": scalar(3), "x": f32(1, 2)},
    ),
    "until a condition from data": (
        """
        main (bool go, float[2] x) => (float[2] y, float[n] s) {
          y, s = Loop (, go, x) <body: graph = b (int64 i, bool go_, float[2] a) => (bool more, float[2] b, float c) {
            b = Add (a, a)
            c = ReduceMax <keepdims: int = 0> (b)
            most = Constant <value_float: float = 50.0> ()
            more = Less (c, most)
          }>
        }""",
        {"go": np.array(True), "x": f32(1, 2)},
    ),
    "scans of every axis and direction": (
        """
        main (float[2] x, float[2, 3] u, float[3, 2] v) => (float[2] y, float[2, 3] s) {
          y, s = Scan <num_scan_inputs: int = 2, scan_input_axes: ints = [1, 0], scan_input_directions: ints = [1, 0],
                       scan_output_axes: ints = [1], scan_output_directions: ints = [1],
                       body: graph = b (float[2] a, float[2] e, float[2] f) => (float[2] b, float[2] c) {
            c = Mul (e, f)
            b = Add (a, c)
          }> (x, u, v)
        }""",
        {"x": f32(1, 2), "u": f32([1, 2, 3], [4, 5, 6]), "v": f32([1, 2], [3, 4], [5, 6])},
    ),
    "a loop in a branch in a loop": (
        """
        main (int64 m, float[2] x) => (float[2] y) {
          y = Loop (m, , x) <body: graph = b (int64 i, bool go, float[2] x) => (bool more, float[2] z) {
            more = Identity (go)
            one = Constant <value_int: int = 1> ()
            first = Less (i, one)
            z = If (first) <
              then_branch: graph = t () => (float[2] p) {
                p = Loop (m, , x) <body: graph = c (int64 i, bool go, float[2] x) => (bool on, float[2] q) {
                  on = Identity (go)
                  q = Add (x, x)
                }>
              },
              else_branch: graph = e () => (float[2] p) { p = Neg (x) }>
          }>
        }""",
        {"m": scalar(3), "x": f32(1, 2)},
    ),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_run_in_onnx_runtime(name, compiled):
    text, feeds = LOOPS[name]
    want = run(text, feeds)
    got = in_onnxruntime(rondel.export(model(text), compiled=compiled), feeds)
    for g, w in zip(got, want, strict=True):
        same(g, w)


@pytest.mark.parametrize("reads", [False, True], ids=["not read", "read"])
@pytest.mark.parametrize("condition", [False, True])
def test_a_condition_that_does_not_stop_a_loop_is_written_as_true(condition, reads):
    """cond is left out, so the body's condition does not count; ONNX Runtime stops on it all the same."""
    text = f"""main (int64 m, float x) => (float y, bool[n] seen) {{
      y, seen = Loop (m, , x) <body: graph = body (int64 i, bool go, float a) => (bool more, float b, bool item) {{
        b = Add (a, a)  more = Constant <value: tensor = bool {{{int(condition)}}}> ()  item = Identity ({"go" if reads else "more"})
      }}>
    }}"""
    feeds = {"m": scalar(5), "x": scalar(1, np.float32)}
    want = run(text, feeds)
    same(want[0], scalar(32, np.float32))
    for got, w in zip(in_onnxruntime(rondel.export(model(text)), feeds), want, strict=True):
        same(got, w)


def test_a_loop_over_float8_runs_in_onnx_runtime():
    """ONNX has no Slice, Gather, Concat and Expand for float8: they are written with casts to another dtype."""
    ort = pytest.importorskip("onnxruntime")
    net = Net()
    x, trips, extent = net.input("x", (16, 16), DataType.FP8), net.input("m", (), DataType.INT64), net.input("k", (), DataType.INT64)
    loop = net.loop(trips)
    column = loop.add_iterator(x, 1, True).get_output(0)
    for kind, axis in ((LoopOutput.CONCATENATE, 1), (LoopOutput.REVERSE, 0)):
        stack = loop.add_loop_output(column, kind, axis)
        stack.set_input(1, extent)
        net.network.mark_output(stack.get_output(0))
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    counts = {"m": np.array(16), "k": np.array(18)}
    want = net.network.build_session().run(None, {"x": codes.view(ml_dtypes.float8_e4m3fn), **counts})
    other = ort.InferenceSession(net.network.to_onnx(), providers=["CPUExecutionProvider"])
    bound = other.io_binding()
    bound.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy_with_onnx_type(codes, TensorProto.FLOAT8E4M3FN))
    for name, value in counts.items():
        bound.bind_cpu_input(name, value)
    for port in other.get_outputs():
        bound.bind_output(port.name)
    other.run_with_iobinding(bound)
    for got, expected in zip(bound.get_outputs(), want, strict=True):
        same(got.numpy().view(np.uint8), expected.view(np.uint8))


# ---- a Scan or a Loop ------------------------------------------------------------------------------------


def written_loops(net, path):
    return [(written, reason) for _, written, reason in net.network.to_onnx(path).loops]


def test_a_scan_computes_no_condition():
    """The body's condition stops nothing, and what it reads, the trip index, is not there in a Scan."""
    source = model("""main (int64[n] x) => (int64[n] y) <int64 most = {1}, int64[0] scalar = {}> {
      extent = Shape (x)
      rows = Reshape (extent, scalar)
      y = Loop (rows, "") <body = b (int64 i, bool go) => (bool on, int64 v) { v = Gather (x, i) on = Less (i, most) }>
    }""")
    feeds = {"x": i64(3, 1, 2)}
    for compiled in (False, True):
        written = rondel.export(source, compiled=compiled)
        assert [n.op_type for n in onnx.load_from_string(written).graph.node] == ["Scan"]
        same(session(written).run(None, feeds)[0], feeds["x"])


@pytest.mark.parametrize("extent", [0, 1, 4])
@pytest.mark.parametrize("told", [False, True], ids=["no length", "and a length"])
@pytest.mark.parametrize("way", EXTENTS)
def test_a_count_read_from_a_shape_makes_a_scan(way, told, extent, tmp_path):
    net = sums_of_columns(EXTENTS[way], *[EXTENTS[way]] * told)
    feeds = {"x": np.arange(2 * extent, dtype=np.float32).reshape(2, extent), "h": f32(1, 2), "z": np.zeros(extent, np.float32)}
    want = net.run(feeds)
    assert written_loops(net, tmp_path / "n.onnx") == [("Scan", "")]
    written = (tmp_path / "n.onnx").read_bytes()
    onnx.checker.check_model(written, full_check=True)
    assert "Slice" not in [node.op_type for node in onnx.load_from_string(written).graph.node]
    agree(session(written).run(None, feeds), want)
    if extent > 0:  # ONNX Runtime 1.31 cannot run a Scan of extent 0: it raises an error or crashes
        agree(in_onnxruntime(written, feeds), want)


# Trip counts that are computed from the extent but may differ from it, and the number of trips for four columns.
OTHER_COUNTS = {
    "one less": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(1), "SUB"), 3),
    "another axis": (lambda net, x: net.gather(net.shape(x), net.i64(0)), 2),
    "the less of two": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(3), "MIN"), 3),
    "the less of two, which it is": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(9), "MIN"), 4),
    "how many elements": (lambda net, x: net.op(net.reduced(net.shape(x)), net.i64(2), "FLOOR_DIV"), 4),
}


@pytest.mark.parametrize("way", OTHER_COUNTS)
def test_another_count_makes_a_loop(way, tmp_path):
    count, trips = OTHER_COUNTS[way]
    net = sums_of_columns(count)
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(2, 4), "h": f32(1, 2), "z": np.zeros(4, np.float32)}
    want = net.run(feeds)
    same(want[2], feeds["x"].T[:trips][::-1])
    assert written_loops(net, tmp_path / "n.onnx") == [("Loop", "it has a trip count of its own")]
    for result in (session(tmp_path / "n.onnx").run(None, feeds), in_onnxruntime(str(tmp_path / "n.onnx"), feeds)):
        agree(result, want)


def test_a_count_that_more_iterators_may_not_have_makes_a_loop(tmp_path):
    net = Net()
    x, z = net.input("x", (-1,)), net.input("z", (-1,))
    loop = net.loop(net.gather(net.shape(x), net.i64(0)))
    both = net.add(*(loop.add_iterator(t, 0).get_output(0) for t in (x, z)))
    net.joined(loop, both)
    assert written_loops(net, tmp_path / "n.onnx")[0][0] == "Loop"
    feeds = {"x": f32(1, 2), "z": f32(3, 4, 5)}  # iterated tensors may be longer than the count
    for result in (net.run(feeds), session(tmp_path / "n.onnx").run(None, feeds), in_onnxruntime(str(tmp_path / "n.onnx"), feeds)):
        same(result[0], f32(4, 6))
    with refused(rondel.CallerError, "extent 2"):
        net.network.build_session().run(None, {"x": f32(3, 4, 5), "z": f32(1, 2)})


# ---- lengths and stacks ----------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [3, lambda net, x: net.gather(net.shape(x), net.i64(0))], ids=["a number", "from a shape"])
def test_a_length_that_is_the_count_makes_nothing(length, tmp_path):
    """Even if the loop is not a Scan, no nodes are added."""
    net = Net()
    x = net.input("x", (3, 2))
    loop = net.loop(3)
    i = net.counter(loop)
    net.joined(loop, net.mul(net.reshaped(net.cast(i, F32), (1, 1)), x), 0, length if isinstance(length, int) else length(net, x))
    assert written_loops(net, tmp_path / "n.onnx") == [("Loop", "it has no scans")]
    written = onnx.load(tmp_path / "n.onnx")
    assert [node.op_type for node in written.graph.node][-1] == "Loop"
    assert [d.dim_value for d in written.graph.output[0].type.tensor_type.shape.dim] == [3, 3, 2]
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for result in (net.run({"x": x}), in_onnxruntime(str(tmp_path / "n.onnx"), {"x": x})):
        same(result[0], np.stack([0 * x, x, 2 * x]))


@pytest.mark.parametrize("count, length", [(3, 4), (3, 3), (0, 0), (-1, 0), (-1, -1), (3, 2), (0, -1)])
@pytest.mark.parametrize("known", [False, True])
def test_a_length_is_the_count_or_more(known, count, length, tmp_path):
    """A length below the number of trips is an error in every runtime, also for 0 trips; a build error if both are known."""
    net = Net()
    numbers = {"n": count, "k": length} if length != count else {"n": count}
    given = [net.i64(number) if known else net.input(name, (), I64) for name, number in numbers.items()]
    loop = net.loop(given[0])
    net.joined(loop, net.counter(loop), 0, given[-1])
    if known and length < max(count, 0):
        with refused(rondel.CallerError, "(LoopOutput) of loop 0: its length", f"the loop makes {max(count, 0)} trips"):
            net.network.to_onnx(tmp_path / "n.onnx")
        return
    net.network.to_onnx(tmp_path / "n.onnx")
    feeds = {} if known else {name: np.array(number) for name, number in numbers.items()}
    for attempt in (
        lambda: net.network.build_session().run(None, feeds),
        lambda: session(tmp_path / "n.onnx").run(None, feeds),
        lambda: in_onnxruntime(str(tmp_path / "n.onnx"), feeds),
    ):
        if length >= max(count, 0):
            same(attempt()[0], np.array([*range(count), *[0] * (length - max(count, 0))], np.int64))
        else:
            with pytest.raises(Exception, match="(?i)length|shape|negative|expand"):
                attempt()


def stacks_of_no_trip(kind, axis, length, static, conditional):
    """A loop, possibly with no trips, around an inner loop with stacks on every axis."""
    net = Net()
    x, count = net.input("x", (2, 3) if static else (-1, -1)), net.input("count", (), I64)
    outer = net.loop(count)
    s = net.recurrence(outer, x, lambda s: net.sliced(s, (0, 0), (2, 3)) if static else net.unary(s, "NEG"))
    inner = net.loop(2)
    row = inner.add_iterator(s, 0, reverse=conditional).get_output(0)
    t = net.recurrence(inner, s, lambda t: net.add(t, s))
    stacks = []
    for item, at in ((row, min(axis, 1)), (t, axis), (x, axis)):
        layer = inner.add_loop_output(item, kind, at)
        if length is not None:
            layer.set_input(1, net.i64(length) if static else net.op(net.i64(length), net.network.get_input(1), "MAX"))
        stacks.append(layer.get_output(0))
    for stack in stacks:
        for outer_kind in (LoopOutput.CONCATENATE, LoopOutput.REVERSE):
            net.joined(outer, stack, len(stack.shape) if conditional else 0, kind=outer_kind)
    return net


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("conditional", [True, False], ids=["last axis", "first axis"])
@pytest.mark.parametrize("length", [None, 2, 5])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", [LoopOutput.CONCATENATE, LoopOutput.REVERSE], ids=["in order", "reversed"])
def test_stacks_where_no_trip_is_made_come_back_the_same(kind, axis, length, static, conditional):
    net = stacks_of_no_trip(kind, axis, length, static, conditional)
    made = net.network.build_session()
    ways = [net.network.to_onnx(), rondel.export(made, compiled=True), net.network.to_onnx(opset=13)]
    for count in (0, 1):
        feeds = {"x": np.ones((2, 3), np.float32), "count": scalar(count)}
        want = made.run(None, feeds)
        for written in ways:
            got = session(written).run(None, feeds)
            for g, w in zip(got, want, strict=True):
                same(g, w)
            agree(session(rondel.export(written)).run(None, feeds), want)
