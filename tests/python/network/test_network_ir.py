"""A network and the equivalent ONNX model have the same graph, compared as text, and so run at the same speed."""

import re

import numpy as np
import pytest
from models import f32, model, refused, same
from nets import I64, Net
from networks_of_sums import EXTENTS, sums_of_columns

import rondel
from rondel.network import ActivationType, DataType, MatrixOperation


def plain(text):
    """The text without names: values numbered as they appear, no sources, no names of ports.

    `fixed` is removed, too: it only adds the check that a recurrence keeps its shape.
    """
    text = re.sub(r" fixed=\[[0-9, ]*\]", "", text)
    text = re.sub(r"\s*// from \"[^\n]*", "", text)
    text = re.sub(r'^graph "[^"]*"', "graph", text)
    text = re.sub(r"^  (inputs|outputs|declared) .*\n", "", text, flags=re.MULTILINE)
    numbers = {}
    return re.sub(r"%(\"[^\"]*\"|[^\s:,()=]+)", lambda m: f"%{numbers.setdefault(m[0], len(numbers))}", text)


def same_graph(net, text):
    """Asserts that the compiled graphs are equal. Compilation removes the identities that ONNX needs, and dead nodes."""
    network, twin = net.network.build_session(), rondel.InferenceSession(model(text))
    assert plain(network.ir_text(imported=False)) == plain(twin.ir_text(imported=False))


def test_a_counted_loop():
    net = Net()
    n, x = net.input("n", (), I64), net.input("x", (4,))
    loop = net.loop(n)
    s = net.recurrence(loop, x, lambda s: net.relu(net.add(s, x)))
    net.last(loop, s)
    net.joined(loop, s)
    same_graph(net, """
    twin (int64 n, float[4] x) => (float[4] last, float[k, 4] all) {
      last, all = Loop (n, "", x) <body = step (int64 i, bool go, float[4] s) => (bool on, float[4] next, float[4] item) {
        sum = Add (s, x)
        next = Relu (sum)
        on = Identity (go)
        item = Identity (s)
      }>
    }""")


def test_a_matrix_recurrence():
    net = Net()
    n, w, h0 = net.input("n", (), I64), net.input("w", (8, 8)), net.input("h", (1, 8))
    loop = net.loop(n)
    layer = loop.add_recurrence(h0)
    product = net.network.add_matrix_multiply(layer.get_output(0), MatrixOperation.NONE, w, MatrixOperation.NONE)
    layer.set_input(1, net.network.add_activation(product.get_output(0), ActivationType.TANH).get_output(0))
    net.last(loop, layer.get_output(0))
    same_graph(net, """
    twin (int64 n, float[8, 8] w, float[1, 8] h) => (float[1, 8] last) {
      last = Loop (n, "", h) <body = step (int64 i, bool go, float[1, 8] now) => (bool on, float[1, 8] next) {
        product = MatMul (now, w)
        next = Tanh (product)
        on = Identity (go)
      }>
    }""")


def test_a_scan():
    net = Net()
    x, h0 = net.input("x", (5, 3)), net.input("h", (3,))
    loop = net.loop(5)
    now = loop.add_iterator(x, 0, reverse=True).get_output(0)
    h = net.recurrence(loop, h0, lambda h: net.relu(net.add(net.mul(h, h0), now)))
    net.last(loop, h)
    net.joined(loop, h, 1)
    net.reversed(loop, now)
    same_graph(net, """
    twin (float[5, 3] x, float[3] h) => (float[3] last, float[3, 5] all, float[5, 3] back) {
      last, all, back = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1, 0],
                              scan_output_directions = [0, 1],
                              body = step (float[3] s, float[3] now) => (float[3] next, float[3] item, float[3] same) {
        scaled = Mul (s, h)
        sum = Add (scaled, now)
        next = Relu (sum)
        item = Identity (s)
        same = Identity (now)
      }> (h, x)
    }""")


SUMS_OF_COLUMNS = """
    twin (float[2, N] x, float[2] h, float[N] z) => (float[2] last, float[2, N] all, float[N, 2] backwards) {
      last, all, backwards = Scan <num_scan_inputs = 2, scan_input_axes = [1, 1], scan_input_directions = [0, 1], scan_output_axes = [1, 0],
                              body = step (float[2] s, float[2] column, float[2] back) => (float[2] next, float[2] item, float[2] same) {
        next = Add (s, column)
        item = Identity (s)
        same = Identity (back)
      }> (h, x, x)
    }"""


@pytest.mark.parametrize("way", EXTENTS)
def test_a_scan_whose_count_is_read_from_a_shape(way):
    same_graph(sums_of_columns(EXTENTS[way]), SUMS_OF_COLUMNS)


@pytest.mark.parametrize("way", EXTENTS)
def test_a_scan_whose_stacks_are_told_its_length(way):
    """TensorRT requires the length of a concatenation."""
    net = sums_of_columns(EXTENTS["slice, reshaped"], EXTENTS[way])
    same_graph(net, SUMS_OF_COLUMNS)
    assert [port.shape for port in net.network.build_session().get_outputs()] == [[2], [2, "N"], ["N", 2]]


def test_the_cast_of_an_extent_that_int32_does_not_hold():
    """An error instead of a wrapped number: a cast of an extent is exact, or an error."""
    net = Net()
    x, data = net.input("x", (-1, 0)), net.input("data", (), I64)
    layer = net.network.add_cast(net.shape(x), DataType.INT32)
    layer.name = "narrow"
    net.mark(layer.get_output(0))
    net.mark(net.cast(data, DataType.INT32))
    s = net.network.build_session()
    feeds = {"x": np.zeros((2**31 - 1, 0), np.float32), "data": np.array(2**31)}
    shape, number = s.run(None, feeds)
    same(shape, np.array([2**31 - 1, 0], np.int32))
    same(number, np.array(-(2**31), np.int32))
    with refused(rondel.CallerError, "narrow", "2147483648"):
        s.run(None, {**feeds, "x": np.zeros((2**31, 0), np.float32)})


def test_a_dimension_that_is_not_the_same_after_all():
    """A count removed because two dimensions have the same name takes effect if their extents differ in a run."""
    s = sums_of_columns(EXTENTS["of another with the same dimension"]).network.build_session()
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(2, 4), "h": f32(1, 1)}
    for extent, last in ((4, f32(7, 23)), (2, f32(2, 10)), (4, f32(7, 23))):
        same(s.run(None, {**feeds, "z": np.zeros(extent, np.float32)})[0], last)
    with refused(rondel.CallerError, "count is 6", "extent along axis 1 is 4"):
        s.run(None, {**feeds, "z": np.zeros(6, np.float32)})


def test_a_length_that_is_not_the_same_after_all():
    s = sums_of_columns(EXTENTS["gather"], EXTENTS["of another with the same dimension"]).network.build_session()
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    feeds = {"x": x, "h": f32(1, 1)}
    for extent in (4, 6, 4):
        backwards = s.run(None, {**feeds, "z": np.zeros(extent, np.float32)})[2]
        same(backwards, np.concatenate([x.T[::-1], np.zeros((extent - 4, 2), np.float32)]))
    with refused(rondel.CallerError, " is 2, but the loop make", "4 trips"):
        s.run(None, {**feeds, "z": np.zeros(2, np.float32)})


def test_a_count_that_is_a_length_is_cast_once():
    net = Net()
    n = net.input("n", (), DataType.INT32)
    loop = net.loop(n)
    net.joined(loop, net.counter(loop), 0, n)
    assert net.network.build_session().ir_text(imported=True).count(" = cast(") == 1


@pytest.mark.parametrize("cond", ["", "yes"], ids=["no condition", "a condition that is true"])
def test_a_loop_of_onnx_that_is_a_scan(cond):
    """A Loop whose count is an extent and which gathers slices by the trip index: a scan as some exporters write it."""
    loop, scan = (rondel.InferenceSession(model(text)).ir_text(imported=False) for text in (f"""
    twin (float[N, 3] x, float[3] h) => (float[3] last, float[k, 3] all) {{
      yes = Constant <value = bool {{1}}> ()
      first = Constant <value_int = 0> ()
      shape = Shape (x)
      n = Gather (shape, first)
      last, all = Loop (n, {cond or '""'}, h) <body = step (int64 i, bool go, float[3] s) => (bool on, float[3] next, float[3] item) {{
        now = Gather (x, i)
        next = Add (s, now)
        on = Identity (go)
        item = Identity (s)
      }}>
    }}""", """
    twin (float[N, 3] x, float[3] h) => (float[3] last, float[k, 3] all) {
      last, all = Scan <num_scan_inputs = 1, body = step (float[3] s, float[3] now) => (float[3] next, float[3] item) {
        next = Add (s, now)
        item = Identity (s)
      }> (h, x)
    }"""))
    assert plain(loop) == plain(scan)


def test_a_while():
    # ONNX tests at the end of a trip, so the equivalent model has the test twice, like the graph of a while limit.
    net = Net()
    i0, last = net.input("i", (), I64), net.input("last", (), I64)
    loop = net.loop()
    i = net.recurrence(loop, i0, lambda i: net.add(i, i))
    net.go_while(loop, net.less(i, last))
    net.last(loop, i)
    same_graph(net, """
    twin (int64 i, int64 last) => (int64 end) {
      begin = Less (i, last)
      end = Loop ("", begin, i) <body = step (int64 trip, bool go, int64 now) => (bool on, int64 next) {
        next = Add (now, now)
        on = Less (next, last)
      }>
    }""")
