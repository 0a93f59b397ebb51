"""Networks saved as ONNX: the results are the same here and in ONNX Runtime; names of loops and layers are kept."""

import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, in_onnxruntime, refused, same, session
from nets import F32, I64, Net
from rondel.network import MatrixOperation, Network, PaddingMode, PoolingType


def test_a_network_is_saved_as_onnx(tmp_path):
    """The sum of the columns of x from last to first, and the partial sums."""
    net = Net()
    x = net.input("x", (2, 3), F32)
    loop = net.loop(net.i64(3))
    step = loop.add_iterator(x, 1, True).get_output(0)
    total = net.recurrence(loop, net.constant(np.zeros(2, np.float32)), lambda so_far: net.add(so_far, step))
    net.last(loop, total)
    feeds = {"x": f32([1, 2, 3], [4, 5, 6])}
    want = net.network.build_session().run(None, feeds)
    same(want[0], f32(6, 15))
    written = net.network.to_onnx()
    onnx.checker.check_model(written, full_check=True)
    for result in (session(written).run(None, feeds), in_onnxruntime(written, feeds)):
        agree(result, want)
    assert net.network.to_onnx(tmp_path / "n.onnx").loops[0][1:] == ("Scan", "")
    agree(rondel.InferenceSession(tmp_path / "n.onnx").run(None, feeds), want)


def taken_by_all(net, feeds, want, opset, inferred=True):
    """The exported network gives `want` here and in ONNX Runtime, and its declared extents agree with onnx's shape inference."""
    written = net.network.to_onnx(opset=opset)
    onnx.checker.check_model(written, full_check=inferred)
    for result in (net.network.build_session(), session(written)):
        np.testing.assert_allclose(result.run(None, feeds)[0], want, rtol=1e-6)
    in_ort = in_onnxruntime(written, feeds)[0]
    assert in_ort.shape == np.shape(want)
    np.testing.assert_allclose(in_ort, want, rtol=1e-6)


@pytest.mark.parametrize("opset", [None, 13, 17, 22])
@pytest.mark.parametrize("equation, shapes", [
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]), ("...ij,...jk->...ik", [(3, 4), (5, 4, 2)]),
    ("i...,...j->...ij", [(3, 2, 5), (4,)]), ("...i,...i,j->...j", [(3,), (2, 5, 3), (4,)]),
])  # fmt: skip
def test_ellipses_of_different_ranks_are_taken_by_all(equation, shapes, opset):
    net = Net()
    operands = [net.input(f"x{k}", shape) for k, shape in enumerate(shapes)]
    net.mark(net.network.add_einsum(operands, equation).get_output(0))
    random = np.random.default_rng(0)
    feeds = {f"x{k}": random.integers(-3, 4, shape).astype(np.float32) for k, shape in enumerate(shapes)}
    want = np.einsum(equation, *feeds.values())
    taken_by_all(net, feeds, want, opset)


# Extents, then attributes of the layer. In the first case, the last window that rounding up adds would lie in padding only.
ROUNDED_UP = {
    "in padding": ([7], {"kernel": [2], "stride_nd": [2], "pre_padding": [1], "post_padding": [1]}),
    "over the end": ([8], {"kernel": [3], "stride_nd": [2], "pre_padding": [0], "post_padding": [0]}),
    "both": ([7, 8], {"kernel": [2, 3], "stride_nd": [2, 2], "pre_padding": [1, 0], "post_padding": [1, 0]}),
    "between windows": ([7], {"kernel": [1], "stride_nd": [5], "pre_padding": [0], "post_padding": [0]}),
}


@pytest.mark.parametrize("opset", [None, 13, 19, 22])
@pytest.mark.parametrize("excludes", [True, False])
@pytest.mark.parametrize("kind", [PoolingType.AVERAGE, PoolingType.MAX])
@pytest.mark.parametrize("how", ROUNDED_UP)
def test_pools_that_round_up_are_taken_by_all(how, kind, excludes, opset):
    extents, attributes = ROUNDED_UP[how]
    net = Net()
    layer = net.network.add_pooling_nd(net.input("x", (1, 1, *extents)), kind, attributes["kernel"])
    for name in ("stride_nd", "pre_padding", "post_padding"):
        setattr(layer, name, attributes[name])
    layer.padding_mode = PaddingMode.EXPLICIT_ROUND_UP
    layer.average_count_excludes_padding = excludes
    net.mark(layer.get_output(0))
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, *extents)).astype(np.float32)}
    # In an average, padding counts and elements that rounding up adds do not: no single padding expresses both.
    inferred = (how, kind, excludes) != ("both", PoolingType.AVERAGE, False) or opset == 22
    taken_by_all(net, feeds, net.network.build_session().run(None, feeds)[0], opset, inferred)


@pytest.mark.parametrize("start, size, stride", [(1, 2, 1), (3, 2, -2), (2, 3, 0), (-1, 0, 1), (-1, 1, 1), (2, 3, 1), (0, -1, 1)])
def test_a_strict_slice_by_values_of_the_run_is_taken_by_all(start, size, stride, tmp_path):
    """The exported model gives the same slices in other runtimes, and an error if a slice is out of bounds."""
    net = Net()
    parts = [net.input(name, (1,), I64) for name in ("start", "size", "stride")]
    layer = net.network.add_slice(net.input("x", (-1,)), (0,), (1,), (1,))
    for k, part in enumerate(parts):
        layer.set_input(k + 1, part)
    net.mark(layer.get_output(0))
    net.network.to_onnx(tmp_path / "n.onnx")
    x, at = f32(1, 2, 3, 4), start + stride * np.arange(max(size, 0))
    feeds = {"x": x, "start": np.array([start]), "size": np.array([size]), "stride": np.array([stride])}
    inside = size >= 0 and all(0 <= i < 4 for i in at)
    for attempt in (
        lambda: net.run(feeds, oracle=False),
        lambda: session(tmp_path / "n.onnx").run(None, feeds),
        lambda: in_onnxruntime(str(tmp_path / "n.onnx"), feeds),
    ):
        if inside:
            same(attempt()[0], x[at])
        else:
            with pytest.raises(Exception, match="(?i)bounds|elements|out of"):
                attempt()


# ---- names of loops and layers ---------------------------------------------------------------------------


def counting_network():
    net = Net()
    loop = net.loop(3, "count up")
    net.last(loop, net.recurrence(loop, net.f32(1), net.relu))
    return net.network


def test_names_of_loops_and_layers_are_kept():
    network = counting_network()
    for i in range(network.num_layers):
        network.get_layer(i).name = f"my layer {i}"
    names = [n.name for n in onnx.load_from_string(rondel.export(network)).graph.node]
    assert "count up" in names, names


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g)


def test_a_name_is_the_loops_own(tmp_path):
    """Only the Loop has the loop's name; nodes added around or inside it get the name with a number. Layers likewise."""
    net = Net()
    x, count, most = net.input("x", (-1, 3)), net.input("n", (), I64), net.input("most", (), I64)
    loop = net.loop(count, "rows")
    row = loop.add_iterator(x, 0, reverse=True).get_output(0)
    net.joined(loop, net.relu(row), 1, most)
    table = net.network.add_matrix_multiply(x, MatrixOperation.TRANSPOSE, x, MatrixOperation.NONE)
    table.name = "table"
    net.mark(table.get_output(0))
    report = net.network.to_onnx(tmp_path / "n.onnx")
    assert [loop[0] for loop in report.loops] == ["rows"]
    nodes = list(nodes_of(onnx.load(tmp_path / "n.onnx").graph))
    assert [node.op_type for node in nodes if node.name == "rows"] == ["Loop"]
    assert [node.op_type for node in nodes if node.name == "table"] == ["MatMul"]
    names = [node.name for node in nodes if node.name]
    assert len(names) == len(set(names)) and sum(name.startswith("rows_") for name in names) > 5


def test_loops_that_nobody_named_have_a_name(tmp_path):
    net = Net()
    count = net.input("n", (), I64)
    for name in (None, "named", None):
        loop = net.loop(count, name)
        net.last(loop, net.counter(loop))
    report = net.network.to_onnx(tmp_path / "n.onnx")
    assert [loop[0] for loop in report.loops] == ["loop", "named", "loop_1"]
    written = onnx.load(tmp_path / "n.onnx")
    assert [node.name for node in written.graph.node if node.op_type == "Loop"] == ["loop", "named", "loop_1"]
    assert [loop["name"] for loop in rondel.inspect(tmp_path / "n.onnx").loops] == [f"node '{n}' (Loop)" for n in ("loop", "named", "loop_1")]


@pytest.mark.parametrize("wrong", [{"opset": "x"}, {"opset": 1.5}, {"opset": 2**70}, {"external_data": "yes"}, {"compiled": None}, {"assertions": 1.5},
                                   {"sess_options": 3}, {"path": 3}])
def test_arguments_of_another_kind_are_refused(wrong):
    with refused(rondel.CallerError, next(iter(wrong)), "expected"):
        rondel.export(counting_network(), **wrong)


def test_the_class_of_networks_is_no_model():
    for use in (rondel.export, rondel.InferenceSession, lambda model: rondel.grad(model, "x")):
        with refused(rondel.CallerError, "the model is a class (Network)"):
            use(Network)


def test_a_model_in_mdf_says_how_it_becomes_one():
    model = rondel.mdf.loads({"m": {"graphs": {"g": {"nodes": {"a": {"output_ports": {"y": {"value": "1"}}}}}}}})
    with refused(rondel.CallerError, "the model is a Model", "session(...) makes a session"):
        rondel.export(model)
    assert rondel.export(model.session())
