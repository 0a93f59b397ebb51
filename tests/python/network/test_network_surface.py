"""TensorRT's Python names exist, with its keywords and defaults; a wrong argument never raises a TypeError."""

import gc
import inspect
import json
import pathlib
import pydoc
import re
import weakref

import ml_dtypes
import numpy as np
import pytest
from models import refused, same
from nets import F32, I64, Net

import rondel
from rondel import network as trt
from rondel.network import *  # noqa: F403
from rondel.network import DataType, ElementWiseOperation, LoopOutput, Network, TripLimit

# Names in TensorRT's bindings: a method, then its parameters; '=' marks a default.
NETWORK = """
add_input name dtype shape | mark_output tensor | unmark_output tensor
get_layer index | get_input index | get_output index
add_convolution_nd input num_output_maps kernel_shape kernel bias= | add_activation input type
add_pooling_nd input type window_size | add_scale input mode shift= scale= power=
add_scale_nd input mode shift= scale= power= channel_axis= | add_softmax input | add_concatenation inputs
add_elementwise input1 input2 op | add_unary input op | add_padding_nd input pre_padding post_padding
add_shuffle input | add_slice input start shape stride | add_reduce input op axes keep_dims
add_topk input op k axes indices_type= | add_gather input indices axis | add_scatter data indices updates mode
add_gather_v2 input indices mode | add_matrix_multiply input0 op0 input1 op1 | add_constant shape weights
add_identity input | add_cast input to_type | add_loop | add_shape input
add_select condition then_input else_input | add_assertion condition message | add_fill shape op output_type=
add_quantize input scale output_type= | add_dequantize input scale output_type= | add_if_conditional
add_einsum inputs equation | add_one_hot indices values depth axis | add_non_zero input indices_type=
add_normalization input scale bias axesMask | add_cumulative input axis op exclusive reverse
add_squeeze input axes | add_unsqueeze input axes
"""
LOOP = """
add_recurrence initial_value | add_trip_limit tensor kind | add_iterator tensor axis= reverse=
add_loop_output tensor kind axis=
"""
CONDITIONAL = "set_condition condition | add_input input | add_output true_subgraph_output false_subgraph_output"
LAYER = "get_input index | get_output index | set_input index tensor | set_output_type index dtype | get_output_type index"
TENSOR = "set_dimension_name index name | get_dimension_name index"

ATTRIBUTES = {
    "INetworkDefinition": "name num_layers num_inputs num_outputs has_implicit_batch_dimension builder flags",
    "ITensor": "name shape dtype is_network_input is_network_output",
    "ILayer": "name type num_inputs num_outputs precision precision_is_set metadata",
    "ILoop": "name",
    "IIfConditional": "name",
    "IActivationLayer": "type alpha beta",
    "IAssertionLayer": "message",
    "ICastLayer": "to_type",
    "IConcatenationLayer": "axis",
    "IConditionLayer": "conditional",
    "IConstantLayer": "weights shape",
    "IConvolutionLayer": "num_output_maps kernel_size_nd stride_nd padding_nd pre_padding post_padding padding_mode dilation_nd"
    " num_groups kernel bias",
    "ICumulativeLayer": "op exclusive reverse",
    "IDequantizeLayer": "axis to_type",
    "IEinsumLayer": "equation",
    "IElementWiseLayer": "op",
    "IFillLayer": "shape operation alpha beta to_type is_alpha_beta_int64",
    "IGatherLayer": "axis mode num_elementwise_dims",
    "IIfConditionalInputLayer": "conditional",
    "IIfConditionalOutputLayer": "conditional",
    "IIteratorLayer": "axis reverse loop",
    "ILoopOutputLayer": "axis kind loop",
    "IMatrixMultiplyLayer": "op0 op1",
    "INonZeroLayer": "indices_type",
    "INormalizationLayer": "epsilon axes num_groups compute_precision",
    "IOneHotLayer": "axis",
    "IPaddingLayer": "pre_padding_nd post_padding_nd",
    "IPoolingLayer": "type window_size_nd stride_nd padding_nd pre_padding post_padding padding_mode blend_factor"
    " average_count_excludes_padding",
    "IQuantizeLayer": "axis to_type",
    "IRecurrenceLayer": "loop",
    "IReduceLayer": "op axes keep_dims",
    "IScaleLayer": "mode shift scale power channel_axis",
    "IScatterLayer": "axis mode",
    "IShuffleLayer": "first_transpose reshape_dims second_transpose zero_is_placeholder",
    "ISliceLayer": "start shape stride mode axes",
    "ISoftMaxLayer": "axes",
    "ITopKLayer": "op k axes",
    "ITripLimitLayer": "kind loop",
    "IUnaryLayer": "op",
}

ENUMS = {
    "DataType": "FLOAT HALF INT8 INT32 BOOL UINT8 FP8 BF16 INT64 INT4 FP4 E8M0",
    "ElementWiseOperation": "SUM PROD MAX MIN SUB DIV POW FLOOR_DIV AND OR XOR EQUAL GREATER LESS",
    "UnaryOperation": "EXP LOG SQRT RECIP ABS NEG SIN COS TAN SINH COSH ASIN ACOS ATAN ASINH ACOSH ATANH CEIL FLOOR ERF NOT SIGN"
    " ROUND ISINF ISNAN",
    "ActivationType": "RELU SIGMOID TANH LEAKY_RELU ELU SELU SOFTSIGN SOFTPLUS CLIP HARD_SIGMOID SCALED_TANH THRESHOLDED_RELU"
    " GELU_ERF GELU_TANH",
    "MatrixOperation": "NONE TRANSPOSE VECTOR",
    "ReduceOperation": "SUM PROD MAX MIN AVG",
    "TripLimit": "COUNT WHILE",
    "LoopOutput": "LAST_VALUE CONCATENATE REVERSE",
    "GatherMode": "DEFAULT ELEMENT ND",
    "ScatterMode": "ELEMENT ND",
    "FillOperation": "LINSPACE RANDOM_UNIFORM RANDOM_NORMAL",
    "TopKOperation": "MAX MIN",
    "PoolingType": "MAX AVERAGE MAX_AVERAGE_BLEND",
    "PaddingMode": "EXPLICIT_ROUND_DOWN EXPLICIT_ROUND_UP SAME_UPPER SAME_LOWER",
    "ScaleMode": "UNIFORM CHANNEL ELEMENTWISE",
    "SampleMode": "STRICT_BOUNDS WRAP CLAMP FILL REFLECT",
    "CumulativeOperation": "SUM",
    "NetworkDefinitionCreationFlag": "EXPLICIT_BATCH STRONGLY_TYPED",
    "BuilderFlag": "FP16 INT8 BF16 TF32 REFIT STRIP_PLAN WEIGHT_STREAMING STRICT_TYPES STRICT_NANS",
    "EngineCapability": "STANDARD SAFETY DLA_STANDALONE",
    "DeviceType": "GPU DLA",
    "HardwareCompatibilityLevel": "NONE AMPERE_PLUS",
    "TilingOptimizationLevel": "NONE FAST MODERATE FULL",
    "MemoryPoolType": "WORKSPACE TACTIC_DRAM",
    "ProfilingVerbosity": "LAYER_NAMES_ONLY NONE DETAILED",
}
OTHERS = "Builder Dims Dims2 Dims3 Dims4 DimsHW IBuilderConfig ILogger IOptimizationProfile Logger Network Permutation Weights"


def listed(text):
    return [row.split() for part in text.strip().split("\n") for row in part.split("|") if row.strip()]


@pytest.mark.parametrize("kind, methods", [
    (trt.INetworkDefinition, NETWORK), (trt.ILoop, LOOP), (trt.IIfConditional, CONDITIONAL), (trt.ILayer, LAYER),
    (trt.ITensor, TENSOR),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_methods_have_tensorrts_keywords(kind, methods):
    for name, *parameters in listed(methods):
        found = list(inspect.signature(getattr(kind, name)).parameters.values())[1:]
        words = [p.name + ("" if p.default is inspect.Parameter.empty else "=") for p in found]
        assert words == parameters, f"{kind.__name__}.{name}"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_there(name):
    kind = getattr(trt, name)
    assert not [a for a in ATTRIBUTES[name].split() if not hasattr(kind, a)]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_help_says_what_an_attribute_is(name):
    kind = getattr(trt, name)
    told = " ".join(pydoc.plain(pydoc.render_doc(kind)).replace("|", " ").split())
    texts = [x.__doc__ for a in ATTRIBUTES[name].split() if isinstance(x := getattr(kind, a), property)]
    assert texts and not [text for text in texts if not text or text == trt.arguments.Attribute.__doc__ or text not in told]


def test_classes_of_layers_may_be_derived():
    class Mine(trt.IShuffleLayer):
        pass

    class Other(trt.ITensor):
        pass

    assert Mine.first_transpose is trt.IShuffleLayer.first_transpose and Other.shape is trt.ITensor.shape


def test_python_has_what_the_headers_of_the_layers_set_and_get():
    root = pathlib.Path(__file__).parents[3]
    declared = "".join((root / "include/rondel/network" / name).read_text() for name in ("layer.h", "layers.h", "loop.h"))
    bound = "".join(path.read_text() for path in (root / "python/bindings").glob("network*.cpp"))
    methods = re.findall(r"\b((?:set|get|is)[A-Z]\w*)\(", declared)
    assert len(methods) > 150 and [m for m in methods if not re.search(rf"::{m}\b|\.{m}\(", bound)] == ["isV2"]


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations_are_there(name):
    assert not [v for v in ENUMS[name].split() if not hasattr(getattr(trt, name), v)]


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations_are_ints_and_say_their_names(name):
    kind = getattr(trt, name)
    for member in kind:
        assert int(member) == member == kind(int(member)) and isinstance(member, int)
        assert str(member) == repr(member) == f"{member}" == f"{name}.{member.name}"
    in_order = name not in ("BuilderFlag", "ProfilingVerbosity", "MemoryPoolType")  # of these enumerations only some members are listed above
    if in_order:
        assert [int(getattr(kind, v)) for v in ENUMS[name].split()] == list(range(len(ENUMS[name].split())))


def test_numbers_of_enumerations_are_tensorrts():
    found = {name: int(getattr(trt.LayerType, name)) for name in ("CONVOLUTION", "CAST", "CONSTANT", "TRIP_LIMIT", "LOOP_OUTPUT",
             "CONDITION", "CONDITIONAL_OUTPUT", "NORMALIZATION", "CUMULATIVE", "RESIZE", "PLUGIN_V3")}  # fmt: skip
    assert found == {"CONVOLUTION": 0, "CAST": 1, "CONSTANT": 19, "TRIP_LIMIT": 26, "LOOP_OUTPUT": 29, "CONDITION": 34,
                     "CONDITIONAL_OUTPUT": 36, "NORMALIZATION": 45, "CUMULATIVE": 49, "RESIZE": 25, "PLUGIN_V3": 46}  # fmt: skip
    assert (int(trt.BuilderFlag.REFIT), int(trt.ProfilingVerbosity.DETAILED), int(trt.MemoryPoolType.TACTIC_DRAM)) == (4, 2, 4)
    assert int(trt.Logger.VERBOSE) == 4 and str(trt.Logger.VERBOSE) == "Severity.VERBOSE"


def test_a_member_of_an_enumeration_is_no_number_of_an_argument():
    net = Net()
    x = net.input("x", (2, 2))
    with refused(rondel.CallerError, "add_gather", "axis is GatherMode.ND; expected a whole number"):
        net.network.add_gather(x, net.i64(0), trt.GatherMode.ND)
    with refused(rondel.CallerError, "add_reduce", "keep_dims is ReduceOperation.PROD; expected True or False"):
        net.network.add_reduce(x, trt.ReduceOperation.SUM, 1, trt.ReduceOperation.PROD)
    with refused(rondel.CallerError, "add_constant", "weights is TripLimit.WHILE"):
        net.network.add_constant((), TripLimit.WHILE)
    with refused(rondel.CallerError, "Network.add_input: dtype is the class float32; expected a DataType, such as"):
        net.network.add_input("y", np.float32, (2,))
    with refused(rondel.CallerError, "add_cast", "to_type is the int 0; expected a DataType"):
        net.network.add_cast(x, 0)


SIZES = {"FLOAT": 4, "HALF": 2, "BF16": 2, "INT8": 1, "INT32": 4, "INT64": 8, "BOOL": 1, "UINT8": 1, "FP8": 1, "INT4": 0.5,
         "FP4": 0.5, "DOUBLE": 8, "COMPLEX128": 16, "INT2": 0.25, "STRING": None}  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
def test_itemsize(name):
    assert getattr(DataType, name).itemsize == SIZES[name]


def test_all_names_come_with_a_star():
    names = {**globals()}
    assert not [name for name in [*ATTRIBUTES, *ENUMS, *OTHERS.split()] if name not in names or name not in trt.__all__]
    assert names["__builtins__"]["bool"] is bool and "bool" not in trt.__all__
    assert trt.bool == DataType.BOOL and trt.float32 == DataType.FLOAT


def test_everything_says_what_it_is():
    undocumented = [
        f"{kind}.{name}"
        for kind in ("Network", "ILoop", "IIfConditional")
        for name, x in vars(getattr(trt, kind)).items()
        if name.startswith("add_") and not (x.__doc__ or "").strip()
    ]
    assert not undocumented
    assert "initial_value: rondel.network.layers.ITensor" in str(inspect.signature(trt.ILoop.add_recurrence))


# ---- introspection -----------------------------------------------------------------------------------------


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


def test_a_session_outlives_its_network():
    net = Net()
    net.mark(net.relu(net.input("x", (2,))))
    session = net.network.build_session()
    del net
    gc.collect()
    same(session.run(None, {"x": np.float32([-1, 1])})[0], np.float32([0, 1]))


# ---- constants ---------------------------------------------------------------------------------------------

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
def test_numbers_without_a_type(written, dtype):
    n = Network()
    layer = n.add_constant(np.shape(written), written)
    assert layer.get_output(0).dtype == dtype
    assert layer.weights.reshape(np.shape(written)).tolist() == np.asarray(written).tolist()


def test_weights():
    w = trt.Weights(np.float32([[1, 2]]))
    assert (w.dtype, w.size, w.nbytes, len(w)) == (F32, 2, 8, 2) and w.numpy().tolist() == [[1, 2]]
    assert trt.Weights(F32).size == 0
    array = np.int32([4, 5])
    assert trt.Weights(DataType.INT32, array.__array_interface__["data"][0], 2).numpy().tolist() == [4, 5]
    assert trt.nptype(DataType.HALF) is np.float16 and trt.volume((2, 3)) == 6 and trt.volume(()) == 1


def test_shapes_may_be_written_in_many_ways():
    n = Network()
    for k, shape in enumerate([(2, 3), [2, 3], np.array([2, 3]), trt.Dims((2, 3)), trt.Dims2(2, 3), trt.DimsHW(2, 3)]):
        assert n.add_input(f"x{k}", F32, shape).shape == (2, 3)
    assert n.add_input("y", F32, 4).shape == (4,) and n.add_input("z", F32, []).shape == ()
    assert trt.DimsHW(2, 3).w == 3


# ---- wrong arguments ---------------------------------------------------------------------------------------

WRONG = [object(), None, 3.5, "x", -(10**30), [object()], {"a": 1}, Network(), DataType, np.zeros((2, 2), complex), b"x", True]


def every_call():
    """Methods of a network and its objects, each with valid arguments."""
    net = Net()
    n = net.network
    x, i, flag = net.input("x", (2, 2)), net.i64(1), net.constant(True)
    net.mark(net.relu(x))
    vector = net.i64([0])
    loop, conditional, layer = n.add_loop(), n.add_if_conditional(), n.add_shuffle(x)
    f32 = np.float32
    right = {
        "add_input": ("y", F32, (2,)), "mark_output": (x,), "unmark_output": (x,), "get_layer": (0,), "get_input": (0,),
        "get_output": (0,), "add_convolution_nd": (x, 1, (1, 1), np.ones((1, 1, 1, 1), f32)),
        "add_activation": (x, trt.ActivationType.RELU), "add_pooling_nd": (x, trt.PoolingType.MAX, (1, 1)),
        "add_scale": (x, trt.ScaleMode.UNIFORM), "add_scale_nd": (x, trt.ScaleMode.UNIFORM), "add_softmax": (x,),
        "add_concatenation": ([x, x],), "add_elementwise": (x, x, ElementWiseOperation.SUM),
        "add_unary": (x, trt.UnaryOperation.NEG), "add_padding_nd": (x, (1, 1), (1, 1)), "add_shuffle": (x,),
        "add_slice": (x, (0, 0), (1, 1), (1, 1)), "add_reduce": (x, trt.ReduceOperation.SUM, 1, True),
        "add_topk": (x, trt.TopKOperation.MAX, 1, 1), "add_gather": (x, i, 0),
        "add_scatter": (x, i, x, trt.ScatterMode.ELEMENT), "add_gather_v2": (x, i, trt.GatherMode.DEFAULT),
        "add_matrix_multiply": (x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.NONE), "add_constant": ((2,), f32([1, 2])),
        "add_identity": (x,), "add_cast": (x, F32), "add_loop": (), "add_shape": (x,),
        "add_select": (flag, x, x), "add_assertion": (flag, "no"), "add_fill": ((2,), trt.FillOperation.LINSPACE),
        "add_quantize": (x, net.f32(1)), "add_dequantize": (x, net.f32(1)), "add_if_conditional": (),
        "add_einsum": ([x], "ij->ji"), "add_one_hot": (i, net.f32([0, 1]), i, 0), "add_non_zero": (x,),
        "add_normalization": (x, x, x, 1), "add_cumulative": (x, i, trt.CumulativeOperation.SUM, False, False),
        "add_squeeze": (x, vector), "add_unsqueeze": (x, vector),
    }  # fmt: skip
    assert set(right) == {row[0] for row in listed(NETWORK)}
    for name, arguments in right.items():
        yield n, name, arguments
    yield loop, "add_recurrence", (x,)
    yield loop, "add_trip_limit", (i, TripLimit.COUNT)
    yield loop, "add_iterator", (x, 0, False)
    yield loop, "add_loop_output", (x, LoopOutput.CONCATENATE, 0)
    yield conditional, "set_condition", (flag,)
    yield conditional, "add_input", (x,)
    yield conditional, "add_output", (x, x)
    yield layer, "get_input", (0,)
    yield layer, "get_output", (0,)
    yield layer, "set_input", (0, x)
    yield layer, "set_output_type", (0, F32)
    yield x, "set_dimension_name", (0, "rows")


@pytest.mark.parametrize("name", [f"{type(o).__name__}.{name}" for o, name, _ in every_call()])
def test_a_wrong_argument_is_the_callers_error(name):
    owner, method, right = next((o, m, a) for o, m, a in every_call() if f"{type(o).__name__}.{m}" == name)
    call = getattr(owner, method)
    for k, argument in enumerate(right):
        for wrong in WRONG:
            try:
                call(*right[:k], wrong, *right[k + 1 :])
            except rondel.CallerError as error:
                if type(wrong) is object:  # no method accepts an object(): the message names the method and the argument
                    parameter = list(inspect.signature(call).parameters)[k]
                    assert method in str(error) and parameter in str(error), str(error)
                continue
            except rondel.UnsupportedError:
                continue
            assert type(wrong) is not object, f"{name} took an object() for {argument!r}"
    with refused(rondel.CallerError, method, "too many"):
        call(*right, *[1] * 9)
    with refused(rondel.CallerError, method, "no_such_thing"):
        call(*right, no_such_thing=1)
    if right:
        with refused(rondel.CallerError, method, "missing"):
            call()


def attributes_that_can_be_set():
    for kind, names in ATTRIBUTES.items():
        for name in names.split():
            found = getattr(getattr(trt, kind), name)
            if isinstance(found, property) and found.fset is not None:
                yield kind, name


@pytest.mark.parametrize("kind, name", list(attributes_that_can_be_set()))
def test_a_wrong_attribute_is_the_callers_error(kind, name):
    owners = [o for o, _, _ in every_call()]
    net = owners[0]
    for owner, method, right in every_call():
        net = owner if isinstance(owner, Network) else net
        made = getattr(owner, method)(*right)
        owners += [owner, made]
    owners += [net.add_if_conditional().set_condition(net.add_constant((), np.array(True)).get_output(0))]
    owner = next(o for o in owners if isinstance(o, getattr(trt, kind)))
    with refused(rondel.CallerError, name):
        setattr(owner, name, object())
    with pytest.raises(AttributeError):
        owner.no_such_attribute = 1


@pytest.mark.parametrize("wrong", [{"path": 3}, {"path": "/no/such/folder/x.onnx"}, {"opset": "x"}, {"opset": 3}, {"no": 1}])
def test_saving_wrongly_is_the_callers_error(wrong):
    net = Net()
    net.mark(net.relu(net.input("x", (2,))))
    with refused(rondel.CallerError, next(iter(wrong)) if wrong.get("path") == 3 else ""):
        net.network.to_onnx(**wrong)


def test_a_layer_is_not_a_tensor():
    net = Net()
    with refused(rondel.CallerError, "add_unary", "input", "get_output(0)"):
        net.network.add_unary(net.network.add_identity(net.f32(1)), trt.UnaryOperation.NEG)


def test_a_tensor_of_another_network():
    a, b = Net(), Net()
    theirs = b.input("x", ())
    theirs_too = b.relu(theirs)
    with refused(rondel.CallerError, "Network.add_elementwise: input2 is input 'x' of another network"):
        a.add(a.f32(1), theirs)
    with refused(rondel.CallerError, "add_concatenation: inputs[1] is the output of layer 0 (Activation) of another network"):
        a.network.add_concatenation([a.f32(1), theirs_too])
    with refused(rondel.CallerError, "Network.mark_output: tensor is input 'x' of another network"):
        a.network.mark_output(theirs)
    with refused(rondel.CallerError, "loop 0.add_recurrence: initial_value is input 'x' of another network"):
        a.network.add_loop().add_recurrence(theirs)
    with refused(rondel.CallerError, "conditional 0.set_condition: condition is input 'x' of another network"):
        a.network.add_if_conditional().set_condition(theirs)
    layer = a.network.add_identity(a.f32(1))
    layer.name = "same"
    with refused(rondel.CallerError, "layer 'same' (Identity).set_input: tensor is input 'x' of another network"):
        layer.set_input(0, theirs)


def test_an_argument_and_a_build_call_a_loop_by_one_name():
    net = Net()
    loop = net.network.add_loop()
    with refused(rondel.CallerError, "loop 0.add_recurrence: initial_value is the int 3"):
        loop.add_recurrence(3)
    net.mark(loop.add_loop_output(loop.add_recurrence(net.f32(1)).get_output(0), LoopOutput.LAST_VALUE).get_output(0))
    with refused(rondel.CallerError, "loop 0 has no trip limit"):
        net.network.build_session()
    loop.name = "rows"
    with refused(rondel.CallerError, "loop 'rows'.add_recurrence"):
        loop.add_recurrence(3)


@pytest.mark.parametrize("shape, array", [((2,), np.float32([1, 2, 3])), ((-1,), np.float32([1])), ((2, 2), np.float32([1]))])
def test_a_constant_of_another_size(shape, array):
    with refused(rondel.CallerError):
        n = Network()
        n.mark_output(n.add_constant(shape, array).get_output(0))
        n.build_session()


def test_text_that_is_no_text_and_layers_that_are_no_numbers():
    net = Net()
    n, x = net.network, net.input("x", (2,))
    net.relu(x)
    alone = "a\ud800"
    for call in (
        lambda: n.add_input(alone, F32, (1,)),
        lambda: n.add_einsum([x], alone),
        lambda: n.add_assertion(net.constant(True), alone),
        lambda: setattr(x, "name", alone),
        lambda: setattr(n[0], "metadata", alone),
        lambda: setattr(n.add_loop(), "name", alone),
        lambda: x.set_dimension_name(0, alone),
    ):
        with pytest.raises(rondel.CallerError, match="surrogate"):
            call()
    for index in ("a", slice(0, 1), None, 1.5, x):
        with pytest.raises(rondel.CallerError, match=r"Network.__getitem__: index is .*; expected a whole number"):
            n[index]
    assert n[-1] == n.get_layer(n.num_layers - 1) and [layer.name for layer in n]


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


MESSAGES = {
    lambda n, x: n.add_input("y", F32, (None, 3)): "Network.add_input: shape[0] is None; expected a whole number, or -1: known only when",
    lambda n, x: n.add_input("y", F32, (3, "batch")): "Network.add_input: shape[1] is the str 'batch'; expected a whole number, or -1",
    lambda n, x: setattr(x, "shape", (3.5,)): "input 'x': shape[0] is the float 3.5; expected a whole number, or -1",
    lambda n, x: n.add_slice(x, (0, None), (1, 1), (1, 1)): "Network.add_slice: start[1] is None; expected a whole number",
    lambda n, x: n.add_concatenation([x, n.add_identity(x)]): "Network.add_concatenation: inputs[1] is an IIdentityLayer; expected a"
    " tensor: its get_output(0)",
    lambda n, x: n.add_reduce(x, trt.ReduceOperation.SUM, (1,), True): "Network.add_reduce: axes is a tuple; expected a mask, in which"
    " bit k stands for axis k: 1 << 1",
    lambda n, x: n.add_reduce(x, trt.ReduceOperation.SUM, [0, 2], True): "Network.add_reduce: axes is a list; expected a mask, in which"
    " bit k stands for axis k: 1 << 0 | 1 << 2",
    lambda n, x: setattr(n.add_softmax(x), "axes", -1): "axes is the int -1; expected a mask, in which bit k stands for axis k: 1 << k for",
    lambda n, x: n.add_elementwise(x, x, 0): "Network.add_elementwise: op is the int 0; expected an ElementWiseOperation, such as",
    lambda n, x: n.add_constant((3,), np.zeros(2, np.float32)): "Network.add_constant: a constant of f32[3] takes 3 elements; its"
    " weights have 2",
    lambda n, x: n.add_constant((2,), [[1], [2, 3]]): "Network.add_constant: weights: Weights of a list: ",
    lambda n, x: n.add_input("x", F32, ()): "Network.add_input: input 'x': there is one of this name already; each is fed by its own",
    lambda n, x: n.add_input("", F32, ()): "Network.add_input: a new input has no name",
    lambda n, x: transposed(n, x, (2, 1, 0)).shape: "layer 0 (Shuffle): the first transpose of f32[2, 3] has the order [2, 1, 0];"
    " expected each of 2 axes once",
    lambda n, x: n.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.NONE).get_output(0).shape: "layer 0"
    " (MatrixMultiply): inner extents 3 and 2 differ; a=f32[2, 3] b=f32[2, 3]; transpose one of them?",
}  # fmt: skip


def transposed(n, x, order):
    layer = n.add_shuffle(x)
    layer.first_transpose = order
    return layer.get_output(0)


@pytest.mark.parametrize("call", MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_names_the_argument_and_what_was_expected(call):
    net = Net()
    x = net.input("x", (2, 3))
    with refused(rondel.CallerError, MESSAGES[call]):
        call(net.network, x)
