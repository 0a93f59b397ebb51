"""Networks, layers, tensors and weights as Python objects: what they say while a network is built, what a session keeps of them, constants of every dtype."""

import gc
import json
import weakref

import ml_dtypes
import numpy as np
import pytest
import rondel
from models import refused, same
from nets import F32, I64, Net
from rondel import network as trt
from rondel.network import DataType, ElementWiseOperation, LoopOutput, Network, TripLimit


def test_a_network_can_be_looked_through():
    net = Net()
    n = net.network
    x = net.input("x", (2, -1))
    loop = net.loop(3, "rows")
    layer = loop.add_recurrence(x)
    layer.name = "state"
    layer.set_input(1, net.relu(layer.get_output(0)))
    net.last(loop, layer.get_output(0))
    assert (n.num_inputs, n.num_outputs, n.num_layers, len(n)) == (1, 1, 5, 5)
    assert [type(l).__name__ for l in n] == [
        "IConstantLayer", "ITripLimitLayer", "IRecurrenceLayer", "IActivationLayer", "ILoopOutputLayer"]  # fmt: skip
    assert n[2] == layer == n.get_layer(2) and n[-1].kind == LoopOutput.LAST_VALUE
    assert layer.loop == loop and layer.loop.name == "rows" and n[1].kind == TripLimit.COUNT
    assert layer.type == trt.LayerType.RECURRENCE and layer.num_inputs == 2
    assert layer.get_input(0) == x == n.get_input(0) and hash(layer.get_input(0)) == hash(x)
    assert layer.get_input(1) == n[3].get_output(0) != x
    assert x.shape == (2, -1) and x.dtype == F32 and x.is_network_input and not x.is_network_output
    assert n.get_output(0).is_network_output
    with pytest.raises(IndexError):
        n[5]


def test_types_and_shapes_are_known_while_building():
    net = Net()
    x = net.input("x", (2, 3))
    loop = net.loop(4)
    row = loop.add_iterator(x, 1).get_output(0)
    assert row.shape == (2,)
    layer = loop.add_loop_output(row, LoopOutput.CONCATENATE, 1)
    layer.set_input(1, net.i64(5))
    assert layer.get_output(0).shape == (2, 5) and layer.get_output(0).dtype == F32
    assert net.less(row, row).dtype == DataType.BOOL


def test_windows_say_their_defaults():
    net = Net()
    x = net.input("x", (1, 1, 4, 4))
    pool = net.network.add_pooling_nd(x, trt.PoolingType.MAX, (2, 3))
    conv = net.network.add_convolution_nd(x, 1, (2, 3), np.ones((1, 1, 2, 3), np.float32))
    for layer in (pool, conv):
        assert layer.stride_nd == (1, 1)
        assert layer.padding_nd == layer.pre_padding == layer.post_padding == (0, 0)
    assert conv.dilation_nd == (1, 1)


def test_numbers_of_a_fill_are_those_set_last():
    net = Net()
    fill = net.network.add_fill((2,), trt.FillOperation.LINSPACE)
    fill.alpha, fill.beta = 1, 2
    assert (fill.alpha, fill.beta, fill.is_alpha_beta_int64()) == (1, 2, True)
    fill.alpha = 0.5
    assert (fill.alpha, fill.beta, fill.is_alpha_beta_int64()) == (0.5, 2, False)
    net.mark(fill.get_output(0))
    same(net.run_one(oracle=False), np.float32([0.5, 2.5]))


def test_of_a_parameter_and_its_input_the_last_one_set_counts():
    net = Network()
    constant = lambda values, dtype: net.add_constant(np.shape(values), np.array(values, dtype)).get_output(0)  # noqa: E731
    x = net.add_input("x", DataType.FLOAT, (6,))
    part, shaped, filled = net.add_slice(x, (0,), (2,), (1,)), net.add_shuffle(x), net.add_fill((3,), trt.FillOperation.LINSPACE)
    part.set_input(1, constant([3], np.int32))
    shaped.set_input(1, constant([2, 3], np.int32))
    filled.set_input(1, constant(5, np.float32))
    filled.set_input(2, constant([2], np.float32))
    for layer in (part, shaped, filled):
        net.mark_output(layer.get_output(0))
    feeds = {"x": np.arange(6, dtype=np.float32)}
    assert (part.start, shaped.reshape_dims, filled.alpha, filled.beta) == (None, None, -1, -1)
    assert [y.tolist() for y in net.build_session().run(None, feeds)] == [[3, 4], [[0, 1, 2], [3, 4, 5]], [5, 7, 9]]
    part.start, shaped.reshape_dims, filled.alpha, filled.beta = (1,), (3, 2), 1, 1
    assert (part.start, shaped.reshape_dims, filled.alpha, filled.beta) == ((1,), (3, 2), 1, 1)
    assert [y.tolist() for y in net.build_session().run(None, feeds)] == [[1, 2], [[0, 1], [2, 3], [4, 5]], [1, 2, 3]]


def test_an_input_that_is_not_set_is_none():
    net = Net()
    n, x = net.network, net.input("x", (3,))
    loop = net.loop(3)
    state = loop.add_recurrence(x)
    assert state.num_inputs == 1 and state.get_input(0) == x and state.get_input(1) is None
    assert loop.add_loop_output(x, LoopOutput.CONCATENATE).get_input(1) is None
    assert [n.add_slice(x, (0,), (1,), (1,)).get_input(k) for k in range(1, 6)] == [None] * 5
    assert n.add_shuffle(x).get_input(1) is None
    for index in (2, -1):
        with refused(rondel.CallerError, "(Recurrence)", f"no input {index}"):
            state.get_input(index)


def test_the_dtype_of_an_output_may_be_set():
    net = Net()
    x = net.input("x", (3,))
    layer = net.network.add_elementwise(x, net.f32([1, 1, 1]), ElementWiseOperation.SUB)
    layer.get_output(0).dtype = DataType.BOOL
    assert layer.output_type_is_set(0) and layer.get_output(0).dtype == DataType.BOOL
    net.mark(layer.get_output(0))
    same(net.network.build_session().run(None, {"x": np.float32([1, 2, 3])})[0], np.array([False, True, True]))


def test_a_network_may_be_changed_and_built_again():
    net = Net()
    loop = net.loop(net.input("n", (), I64))
    layer = loop.add_recurrence(net.f32(1))
    layer.set_input(1, net.add(layer.get_output(0), net.f32(1)))
    net.last(loop, layer.get_output(0))
    before = net.network.build_session()
    layer.set_input(1, net.mul(layer.get_output(0), net.f32(2)))
    assert net.run_one({"n": 3}) == 8
    assert before.run(None, {"n": 3}) == [4]


# ---- lifetimes and sessions ------------------------------------------------------------------------------


def test_a_tensor_keeps_its_network_alive():
    n = Network()
    t = n.add_unary(n.add_input("x", F32, (2,)), trt.UnaryOperation.NEG).get_output(0)
    alive = weakref.ref(n)
    del n
    gc.collect()
    assert alive() is not None and t.shape == (2,)
    del t
    gc.collect()
    assert alive() is None


def test_a_session_outlives_its_network():
    net = Net()
    net.mark(net.relu(net.input("x", (2,))))
    session = net.network.build_session()
    del net
    gc.collect()
    same(session.run(None, {"x": np.float32([-1, 1])})[0], np.float32([0, 1]))


def negation():
    n = Network()
    x = n.add_input("x", DataType.FLOAT, (-1,))
    x.set_dimension_name(0, "N")
    n.mark_output(n.add_unary(x, trt.UnaryOperation.NEG).get_output(0))
    return n


def test_a_session_honours_its_options(tmp_path, capsys):
    options = rondel.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "times")
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level, options.max_trips = 1, 3
    s = negation().build_session(options)
    options.max_trips = 4
    assert "was made in" in capsys.readouterr().err and s.get_session_options().max_trips == 3
    same(rondel.InferenceSession(tmp_path / "optimized.onnx").run(None, {"x": np.ones(2, np.float32)})[0], -np.ones(2, np.float32))
    s.run(None, {"x": np.ones(2, np.float32)})
    events = {event["name"] for event in json.load(open(s.end_profiling()))}
    assert {"model_loading_and_session_initialization", "model_run"} <= events


def test_options_that_change_a_file_are_refused():
    dimension, weights = rondel.SessionOptions(), rondel.SessionOptions()
    dimension.add_free_dimension_override_by_name("N", 5)
    weights.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(np.zeros(2)))
    for options, name in ((dimension, "add_free_dimension_override_by_name"), (weights, "add_initializer")):
        with refused(rondel.CallerError, f"SessionOptions.{name}", "a model that is built in code is none", "rondel.export"):
            negation().build_session(options)


# ---- constants -------------------------------------------------------------------------------------------

ARRAYS = [np.arange(4).astype(t) for t in ("f4", "f8", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8", "c16")]
ARRAYS += [np.arange(4).astype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
ARRAYS += [np.array([0, 1, 1, 0, 1]).astype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn)]
ARRAYS += [np.array([0, 1, -2, 1, -1]).astype(ml_dtypes.int2), np.array([0, 1, 3, 2, 1]).astype(ml_dtypes.uint2)]
ARRAYS += [np.array(["a", "bé", ""], dtype=object), np.arange(6, dtype=">f4"), np.arange(12.0).reshape(3, 4)[:, ::2].T]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: a.dtype.name)
def test_a_constant_of_any_type(array):
    n = Network()
    layer = n.add_constant(array.shape, array)
    n.mark_output(layer.get_output(0))
    assert layer.weights.reshape(array.shape).tolist() == array.tolist()
    same(n.build_session().run(None, {})[0], array.astype(array.dtype.newbyteorder("=")) if array.dtype.kind != "O" else array)


def test_a_constant_is_a_copy():
    n = Network()
    array = np.float32([1, 2])
    n.mark_output(n.add_constant((2,), array).get_output(0))
    session = n.build_session()
    array[:] = 9
    same(session.run(None, {})[0], np.float32([1, 2]))
    same(n.build_session().run(None, {})[0], np.float32([1, 2]))


@pytest.mark.parametrize("written, dtype", [(3, I64), (2.5, F32), ([1, 2], I64), ([[1.5]], F32), (True, DataType.BOOL)])
def test_numbers_without_a_dtype_get_one(written, dtype):
    n = Network()
    layer = n.add_constant(np.shape(written), written)
    assert layer.get_output(0).dtype == dtype
    assert layer.weights.reshape(np.shape(written)).tolist() == np.asarray(written).tolist()


def test_weights_are_arrays_of_a_dtype():
    w = trt.Weights(np.float32([[1, 2]]))
    assert (w.dtype, w.size, w.nbytes, len(w)) == (F32, 2, 8, 2) and w.numpy().tolist() == [[1, 2]]
    assert trt.Weights(F32).size == 0
    array = np.int32([4, 5])
    assert trt.Weights(DataType.INT32, array.__array_interface__["data"][0], 2).numpy().tolist() == [4, 5]
    assert len(trt.Weights(F32, 0, 0)) == 0
    for wrong in ((F32, 0, 2), (DataType.INT4, 0, 2), (F32, "x", 2), (F32, 2**70, 2), (F32, 8, True), (F32, 8, -1), (DataType.STRING, 8, 1), (3, 8, 1)):
        with pytest.raises(rondel.CallerError):
            trt.Weights(*wrong)
    assert trt.nptype(DataType.HALF) is np.float16 and trt.volume((2, 3)) == 6 and trt.volume(()) == 1


@pytest.mark.parametrize(
    ("dtype", "packed", "elements"),
    [
        (DataType.INT4, [0x21, 0xF3, 0x08], [1, 2, 3, -1, -8]), (DataType.UINT4, [0x21, 0xF3, 0x08], [1, 2, 3, 15, 8]),
        (DataType.INT2, [0b11100100, 0b10], [0, 1, -2, -1, -2]), (DataType.UINT2, [0b11100100, 0b10], [0, 1, 2, 3, 2]),
        (DataType.FP4, [0x21, 0xF3, 0x08], [0.5, 1, 1.5, -6, -0.0]),
    ],
)  # fmt: skip
def test_small_elements_at_an_address_are_packed(dtype, packed, elements):
    memory = np.array(packed, np.uint8)
    weights = trt.Weights(dtype, memory.__array_interface__["data"][0], 5)
    assert weights.dtype == dtype and weights.numpy().tolist() == elements
    assert weights.engine()[2] == 5 and trt.foundation._packed(weights.numpy(), int(8 * dtype.itemsize)).tolist() == packed


def test_shapes_may_be_written_in_many_ways():
    n = Network()
    for k, shape in enumerate([(2, 3), [2, 3], np.array([2, 3]), trt.Dims((2, 3)), trt.Dims2(2, 3), trt.DimsHW(2, 3)]):
        assert n.add_input(f"x{k}", F32, shape).shape == (2, 3)
    assert n.add_input("y", F32, 4).shape == (4,) and n.add_input("z", F32, []).shape == ()
    assert trt.DimsHW(2, 3).w == 3
