"""Wrong arguments of a network's methods and attributes: each raises CallerError, never a TypeError, and names the argument and what was expected."""

import inspect

import numpy as np
import pytest
import rondel
from models import refused
from nets import F32, Net
from rondel import network as trt
from rondel.network import DataType, ElementWiseOperation, LoopOutput, Network, TripLimit
from tensorrt_names import ATTRIBUTES, NETWORK, listed

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


def test_a_layer_is_not_a_tensor():
    net = Net()
    with refused(rondel.CallerError, "add_unary", "input", "get_output(0)"):
        net.network.add_unary(net.network.add_identity(net.f32(1)), trt.UnaryOperation.NEG)


def test_a_tensor_of_another_network_is_refused():
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


def test_errors_of_inputs_and_outputs_name_the_method():
    net = Net()
    x = net.input("x", ())
    for method, argument in (("get_input", 1), ("get_output", 0), ("get_layer", 0), ("unmark_output", x)):
        with refused(rondel.CallerError, f"Network.{method}: "):
            getattr(net.network, method)(argument)
    net.network.mark_output(x)
    with refused(rondel.CallerError, "Network.mark_output: "):
        net.network.mark_output(x)


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
def test_a_constant_of_another_size_is_refused(shape, array):
    with refused(rondel.CallerError):
        n = Network()
        n.mark_output(n.add_constant(shape, array).get_output(0))
        n.build_session()


def test_text_that_is_no_text_and_indices_that_are_no_numbers_are_refused():
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


def transposed(n, x, order):
    layer = n.add_shuffle(x)
    layer.first_transpose = order
    return layer.get_output(0)


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
    lambda n, x: transposed(n, x, (0, 0)).shape: "first_transpose is a tuple; expected an order of axes, in which each number below"
    " their count is once, such as (1, 0), not (0, 0)",
    lambda n, x: n.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.NONE).get_output(0).shape: "layer 0"
    " (MatrixMultiply): inner extents 3 and 2 differ; a=f32[2, 3] b=f32[2, 3]; transpose one of them?",
}  # fmt: skip


@pytest.mark.parametrize("call", MESSAGES, ids=range(len(MESSAGES)))
def test_a_message_names_the_argument_and_what_was_expected(call):
    net = Net()
    x = net.input("x", (2, 3))
    with refused(rondel.CallerError, MESSAGES[call]):
        call(net.network, x)
