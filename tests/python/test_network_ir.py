"""A network is compiled from the same graph as its ONNX twin, and so runs at the same speed: shown by their text."""

import re

from models import model
from nets import I64, Net

import rondel
from rondel.network import ActivationType, MatrixOperation


def plain(text):
    """The text without names: values numbered as they appear, no sources, no names of ports.

    Nor with `fixed`: that a recurrence keeps its shape is checked, and changes nothing else.
    """
    text = re.sub(r" fixed=\[[0-9, ]*\]", "", text)
    text = re.sub(r"\s*// from \"[^\n]*", "", text)
    text = re.sub(r'^graph "[^"]*"', "graph", text)
    text = re.sub(r"^  (inputs|outputs|declared) .*\n", "", text, flags=re.MULTILINE)
    numbers = {}
    return re.sub(r"%(\"[^\"]*\"|[^\s:,()=]+)", lambda m: f"%{numbers.setdefault(m[0], len(numbers))}", text)


def same_graph(net, text):
    """As compiled: the network without the identities that ONNX needs, both without what nothing needs."""
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


def test_a_while():
    # ONNX tests at the end of a trip, so the twin has the test twice, as a while limit becomes.
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
