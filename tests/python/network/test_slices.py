"""Slices of networks with sizes known at run time: their results, and their exported form."""

import collections
import random

import numpy as np
import onnx
import pytest
import rondel
from models import WAYS, f32, i64, in_all_ways, in_onnxruntime, interpreter, model, sliced_positions, run_as, same, session
from nets import I32, I64, Net
from rondel.network import FillOperation, SampleMode

B, H = 3, 4


def nodes(net):
    """The number of nodes of each op in the exported model, bodies included."""
    count = collections.Counter()

    def walk(graph):
        for node in graph.node:
            count[node.op_type] += 1
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    walk(attribute.g)

    walk(onnx.load_from_string(net.network.to_onnx()).graph)
    return dict(count)


def size_like(net, x, width=H):
    """The shape [batch of x, width], as onnx-tensorrt computes it."""
    rows = net.sliced(net.shape(x), (0,), (1,))
    layer = net.network.add_concatenation([rows, net.i64([width])])
    return layer.get_output(0)


def part(net, x, start, size, stride=(1, 1), mode=None):
    """A slice of x; start and size: tuples of numbers, or tensors."""
    given = [(1, 1) if not isinstance(v, tuple) else v for v in (start, size)]
    layer = net.network.add_slice(x, *given, stride)
    for k, v in ((1, start), (2, size)):
        if not isinstance(v, tuple):
            layer.set_input(k, v)
    if mode is not None:
        layer.mode = mode
    return layer.get_output(0)


# ---- the exported form ---------------------------------------------------------------------------------------


def gate_of_the_same_batch(net):
    x = net.input("x", (-1, 4 * H))
    net.mark(part(net, x, (0, H), size_like(net, x)))


def gate_of_another_batch(net):
    x, h = net.input("x", (-1, 4 * H)), net.input("h", (-1, H))
    net.mark(part(net, x, (0, H), net.shape(h)))


def constant_part_of_a_batch(net):
    net.mark(part(net, net.input("x", (-1, H)), (0, 1), (2, 2)))


def last_row(net):
    x = net.input("x", (-1, H))
    rows = net.op(net.sliced(net.shape(x), (0,), (1,)), net.i64([1]), "SUB")
    start = net.network.add_concatenation([rows, net.i64([0])]).get_output(0)
    net.mark(part(net, x, start, (1, H)))


def part_of_one_axis_of_three(net):
    """The first axis may be empty, so a Reshape to the sizes would not detect a wrong size."""
    x, h = net.input("x", (-1, -1, H)), net.input("h", (-1,))
    sizes = [net.sliced(net.shape(x), (0,), (1,)), net.shape(h), net.i64([H])]
    layer = net.network.add_slice(x, (0, 1, 0), (1, 1, 1), (1, 1, 1))
    layer.set_input(2, net.network.add_concatenation(sizes).get_output(0))
    net.mark(layer.get_output(0))


def broadcast(net):
    net.mark(part(net, net.input("x", (1, H)), (0, 0), (B, H), (0, 1)))


def broadcast_of_a_row(net):
    net.mark(part(net, net.input("x", (B, H)), (1, 0), (5, H), (0, 1)))


def tiles(net):
    net.mark(part(net, net.input("x", (1, H)), (0, 0), (B, 2 * H), mode=SampleMode.WRAP))


def zeros(net):
    fill = net.network.add_fill((2,), FillOperation.LINSPACE)
    for k, v in enumerate([size_like(net, net.input("x", (-1, 2))), net.f32(0), net.f32([0, 0])]):
        fill.set_input(k, v)
    net.mark(fill.get_output(0))


def halved(net):
    net.mark(net.op(net.input("x", (), I32), net.constant(2, I32), "FLOOR_DIV"))


WRITTEN = [
    (gate_of_the_same_batch, {"Slice": 1}),
    (gate_of_another_batch, {"Shape": 1, "Add": 1, "Slice": 1, "Reshape": 1}),
    (constant_part_of_a_batch, {"Slice": 1, "Reshape": 1}),
    (last_row, {"Shape": 1, "Slice": 2, "Sub": 1, "Concat": 1, "Less": 1, "Where": 1, "Add": 1, "Reshape": 1}),
    (part_of_one_axis_of_three, {"Shape": 2, "Slice": 1, "Concat": 1, "Gather": 2, "Add": 1, "Range": 1}),
    (broadcast, {"Expand": 1}),
    (broadcast_of_a_row, {"Slice": 1, "Expand": 1}),
    (tiles, {"Tile": 1}),
    (zeros, {"Shape": 1, "Slice": 1, "Concat": 1, "Expand": 1}),
    (halved, {"Div": 1, "Mul": 1, "Less": 1, "Cast": 1, "Sub": 1}),
]


@pytest.mark.parametrize("build, want", WRITTEN, ids=[build.__name__ for build, _ in WRITTEN])
def test_few_nodes_are_written(build, want):
    net = Net()
    build(net)
    assert nodes(net) == want


@pytest.mark.parametrize("divisor", [3, -3, [2, -2]])
def test_floor_division_by_a_constant(divisor):
    net, x = Net(), np.array([[-7, 7], [6, -6], [-(2**31), 2**31 - 1], [0, -1]], np.int32)
    by = np.broadcast_to(np.array(divisor, np.int32), (1, 2))
    net.mark(net.op(net.input("x", (-1, 2), I32), net.constant(by, I32), "FLOOR_DIV"))
    want = x // by
    for got in (net.run_one({"x": x}, oracle=False), in_onnxruntime(net.network.to_onnx(), {"x": x})[0]):
        same(got, want)


def test_a_linspace_along_one_axis_of_two():
    net = Net()
    fill = net.network.add_fill((2,), FillOperation.LINSPACE)
    for k, v in enumerate([net.input("size", (2,), I64), net.f32(1), net.f32([0, 2])]):
        fill.set_input(k, v)
    net.mark(fill.get_output(0))
    same(net.run_one({"size": np.array([2, 3])}, oracle=False), f32([1, 3, 5], [1, 3, 5]))


# ---- the same everywhere -------------------------------------------------------------------------------------


def outcome(attempt):
    try:
        return attempt()
    except Exception as error:
        assert "internal" not in str(error), error
        return None


def everywhere(net, feeds):
    """The results: native, interpreted, of the exported model, in ONNX Runtime; None for an error."""
    written = net.network.to_onnx()
    return {
        "native": outcome(lambda: net.network.build_session().run(None, feeds)[0]),
        "interpreted": outcome(lambda: net.network.build_session(interpreter()).run(None, feeds)[0]),
        "from the file": outcome(lambda: rondel.InferenceSession(written).run(None, feeds)[0]),
        "ONNX Runtime": outcome(lambda: in_onnxruntime(written, feeds)[0]),
    }


def random_slice(rng):
    """(network that slices x of two axes, feeds, expected result); network None: refused when built; result None: an error."""
    net, extents = Net(), [rng.randrange(4) for _ in range(2)]
    told = tuple(rng.choice([-1, -1, n]) for n in extents)
    start = [rng.choice([0, 0, 0, 1, 1, 2, -1]) for _ in range(2)]
    stride = [rng.choice([1, 1, 1, 1, 2, -1]) for _ in range(2)]
    size = [rng.choice([n, n, rng.randrange(4)]) for n in extents]
    feeds = {"x": np.arange(np.prod(extents), dtype=np.float32).reshape(extents)}
    x = net.input("x", told)

    def given(name, values, ways):
        way = rng.choice(ways)
        if way == "shape":
            feeds[name] = np.zeros([max(v, 0) for v in values], np.float32)
            return net.shape(net.input(name, (-1, values[1] if rng.random() < 0.5 else -1)))
        if way == "input":
            feeds[name] = np.array(values)
            return net.input(name, (2,), I64)
        return tuple(values)

    if rng.random() < 0.2:
        size[rng.randrange(2)] -= 2
    try:
        at = given("start", start, ["numbers", "numbers", "input"])
        ways = ["shape", "numbers", "input"] if min(size) >= 0 else ["numbers", "input"]
        y = part(net, x, at, given("size", size, ways), tuple(stride))
        count = rng.randrange(3)
        if count:  # the same slice in a loop
            loop = net.loop(count)
            carried = net.recurrence(loop, x, lambda s: net.add(s, net.f32([[0.0]])))
            net.joined(loop, part(net, carried, at, net.shape(y) if min(size) < 0 else given("size2", size, ways), tuple(stride)))
        else:
            net.mark(y)
        net.network.build_session()
    except rondel.Error:
        net = None  # refused when it is built
    index = [s + d * np.arange(max(n, 0)) for s, d, n in zip(start, stride, size)]
    inside = min(size) >= 0 and all(((0 <= i) & (i < n)).all() for i, n in zip(index, extents))
    want = feeds["x"][np.ix_(*index)] if inside else None
    if inside and net is not None and count:
        want = np.stack([want] * count)
    return net, feeds, want


@pytest.mark.parametrize("seed", range(300))
def test_strict_slices_are_the_same_everywhere(seed):
    net, feeds, want = random_slice(random.Random(seed))
    if net is None:
        assert want is None
        return
    for where, got in everywhere(net, feeds).items():
        assert (got is None) == (want is None), f"{where}: {got}, expected {want}"
        if want is not None:
            same(got, want)


# ---- loops ---------------------------------------------------------------------------------------------------


def gated(batch):
    """A loop whose body slices two gates, with the batch size of its state."""
    net = Net()
    x, h0 = net.input("x", (5, -1, 2 * H)), net.input("h", (-1, H))
    for t, axis in ((x, 1), (h0, 0)):
        if batch:
            t.set_dimension_name(axis, batch)
    size = net.shape(h0)
    loop = net.loop(5)
    item = loop.add_iterator(x).get_output(0)

    def step(h):
        return net.add(net.mul(part(net, item, (0, 0), size), h), part(net, item, (0, H), size))

    net.last(loop, net.recurrence(loop, h0, step))
    return net


def test_rows_of_slices_may_be_dense_or_not_in_turn(monkeypatch):
    """One step reads whole tensors, rows that are dense, and rows that are not, also reversed and broadcast."""
    text = """main (float[4, 9] x, int64[2] from, int64[2] to, int64[2] step) => (float[?, ?] y, float[?] z) <int64[2] axes = {0, 1}, int64[1] last = {1}> {
      v = Slice (x, from, to, axes, step)
      y = Mul (v, v)
      z = ReduceSum <keepdims = 0> (v, last)
    }"""
    x = np.arange(36, dtype=np.float32).reshape(4, 9)
    parts = [((0, 0), (4, 9), (1, 1)), ((0, 1), (4, 6), (1, 1)), ((0, 0), (4, 9), (1, 2)), ((1, 2), (3, 7), (1, 1)), ((0, 8), (4, 3), (1, -1))]
    for jit in WAYS:
        run_as(monkeypatch, jit)
        s = session(text)
        for begin, end, step in [*parts, *parts[::-1], *parts]:
            y, z = s.run(None, {"x": x, "from": i64(*begin), "to": i64(*end), "step": i64(*step)})
            v = x[begin[0] : end[0] : step[0], begin[1] : end[1] : step[1]]
            np.testing.assert_array_equal(y, v * v)
            np.testing.assert_array_equal(z, v.sum(1))


def test_a_loop_that_slices_to_its_batch_runs_natively():
    net = gated("batch")
    (loop,) = rondel.inspect(net.network.to_onnx()).loops
    assert loop["execution"] == "natively, as a whole"
    x, h = np.random.default_rng(0).normal(size=(5, B, 2 * H)).astype(np.float32), np.zeros((B, H), np.float32)
    got = net.run_one({"x": x, "h": h}, oracle=False)
    for gates in x:
        h = gates[:, :H] * h + gates[:, H:]
    np.testing.assert_allclose(got, h, rtol=1e-6)


@pytest.mark.parametrize("rows, refused", [(B, False), (2, False), (1, False), (B + 1, True)])
def test_a_loop_that_slices_part_of_a_batch(rows, refused):
    net = gated(None)
    feeds = {"x": np.ones((5, B, 2 * H), np.float32), "h": np.ones((rows, H), np.float32)}
    if refused:
        with pytest.raises(rondel.CallerError, match=r"along axis 0 it takes 4 elements from 0 in steps of 1, of an extent of 3"):
            net.run(feeds, oracle=False)
        return
    session = net.network.build_session()
    same(session.run(None, feeds)[0], np.full((rows, H), 6, np.float32))
    same(rondel.InferenceSession(net.network.to_onnx()).run(None, feeds)[0], np.full((rows, H), 6, np.float32))


@pytest.mark.parametrize("size, step", [(2**33, 2**31), (2**40, 2**24), (2**61, 4), (2**62, 4)])
def test_sizes_whose_reach_is_no_number_are_refused_after_export(size, step):
    net = Net()
    x = net.input("x", (-1, -1))
    layer = net.network.add_slice(x, (0, 0), (1, 1), (1, step))
    rows = net.sliced(net.shape(x), (0,), (1,))
    layer.set_input(2, net.network.add_concatenation([rows, net.i64([size])]).get_output(0))
    net.mark(layer.get_output(0))
    for session in (net.network.build_session(), rondel.InferenceSession(net.network.to_onnx())):
        with pytest.raises(rondel.Error):
            session.run(None, {"x": np.zeros((2, 3), np.float32)})


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("extent", range(4))
def test_bounds_beyond_either_end(extent, given, monkeypatch):
    """Constant bounds and bounds that are given, of an extent that is known or not, in a loop and before it, beside ONNX Runtime."""
    text = """main (float[n] x, int64 trips{inputs}) => (float[m] y, float[t,m2] rows) <int64[1] axis = {{0}}{constants}> {{
      y = Slice (x, start, end, axis, step)
      rows = Loop (trips, "") <body = b (int64 i, bool go) => (bool on, float[m2] row) {{
        on = Identity (go)
        part = Slice (x, start, end, axis, step)
        row = Neg (part)
      }}>
    }}"""
    x, far = np.arange(1, extent + 1, dtype=np.float32), np.iinfo(np.int64).max
    cases = [(s, e, step) for step in (1, -1, -2) for s in (-5, -3, -1, 0, 2, 5, -far, far) for e in (-5, -1, 0, 3, -far, far)]
    if not given:
        cases = cases[extent::7]
    sessions = {}
    for start, end, step in cases:
        bounds = {"start": i64(start), "end": i64(end), "step": i64(step)}
        if given and step not in sessions:
            sessions[step] = in_all_ways(text.format(inputs=", int64[1] start, int64[1] end", constants=f", int64[1] step = {{{step}}}"), monkeypatch)
        constants = ", ".join(f"int64[1] {k} = {{{v[0]}}}" for k, v in bounds.items())
        ways = sessions[step] if given else in_all_ways(text.format(inputs="", constants=", " + constants), monkeypatch)
        feeds = {"x": x, "trips": np.array(2), **({k: bounds[k] for k in ("start", "end")} if given else {})}
        want = x[sliced_positions(start, end, step, extent)]
        if not given and extent and not (step < 0 and end == far):  # ONNX Runtime takes all then
            same(in_onnxruntime(model(text.format(inputs="", constants=", " + constants)).SerializeToString(), feeds)[0], want)
        for s in ways.values():
            y, rows = s.run(None, feeds)
            same(y, want)
            same(rows, -np.stack([want, want]))


@pytest.mark.parametrize("step", [1, 2, -1])
def test_a_step_whose_bounds_change_from_trip_to_trip(step):
    """Types follow from the elements of the bounds; the shape class changes with signs, ones and equal numbers."""
    model = onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        bounds (int64 n, float[R,C] x, int64[T] starts, int64[T] ends) => (seq(float) parts)
        <bool yes = {{1}}, int64[1] axis = {{1}}, int64[1] step = {{{step}}}, int64[1] zero = {{0}}> {{
          none = SequenceEmpty <dtype = 1> ()
          parts = Loop (n, yes, none) <body = b (int64 i, bool go, seq(float) before) => (bool on, seq(float) after) {{
            on = Identity (go)
            at = Unsqueeze (i, zero)
            start = Gather (starts, at)  end = Gather (ends, at)
            part = Slice (x, start, end, axis, step)
            negative = Neg (part)
            first = SequenceInsert (before, part)
            after = SequenceInsert (first, negative) }}> }}""")
    rng = np.random.default_rng(step + 5)
    x = rng.standard_normal((3, 7)).astype(np.float32)
    far = np.iinfo(np.int64).max
    pairs = [(s, e) for s in (*range(-9, 10), far, -far) for e in (0, 1, 2, 5, 7, 8, -1, -3, -8, far, -far)]
    pairs = [pairs[k] for k in rng.permutation(len(pairs))] + [(k, k + 1) for k in range(9)] + [(k, k + 3) for k in range(9)]
    starts, ends = np.array(pairs, np.int64).T
    session = rondel.InferenceSession(model.SerializeToString())
    for columns in (7, 1, 7):
        given = np.ascontiguousarray(x[:, :columns])
        parts = session.run(None, {"n": np.array(len(pairs)), "x": given, "starts": starts, "ends": ends})[0]
        for (start, end), part, negative in zip(pairs, parts[::2], parts[1::2]):
            want = given[:, sliced_positions(start, end, step, columns)]
            assert part.shape == want.shape, (start, end)
            np.testing.assert_array_equal(part, want)
            np.testing.assert_array_equal(negative, -want)
