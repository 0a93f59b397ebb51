"""A rank or an extent that an op refuses where the model declares it is refused in the run where the model does not."""

import copy

import numpy as np
import pytest
import rondel
from op_cases import OPS
from test_ops_against_onnxruntime import build

OPSET = 24
MOST = 3  #: cases of an op: with other ranks, or other attributes

#: A scale or a zero point of one element may have any rank where the model does not say which.
OF_ONE_ELEMENT = {("QuantizeLinear", 1), ("QuantizeLinear", 2), ("DequantizeLinear", 1), ("DequantizeLinear", 2)}


def unlike_cases(op):
    """The inputs, attributes and number of outputs of the first cases that differ in ranks or attributes."""
    dtypes, cases, _ = OPS[op]
    found = {}
    for inputs, attributes, outputs in cases(np.random.default_rng(1), "float32" if "float32" in dtypes else dtypes[0], OPSET):
        found.setdefault((tuple(x is None or x.ndim for x in inputs), *sorted(attributes)), (inputs, attributes, outputs))
    return list(found.values())[:MOST]


def with_input(inputs, k, x):
    return [np.asarray(x, inputs[k].dtype) if j == k else y for j, y in enumerate(inputs)]


def of_other_rank(inputs):
    """(k, the inputs with another rank of input k): an axis of one element more in front, or the first row alone."""
    for k, x in enumerate(inputs):
        for other in () if x is None else (x[None], x[0]) if x.ndim and len(x) else (x[None],):
            yield k, with_input(inputs, k, other)


def of_other_extent(inputs):
    """(k, the inputs with another extent of input k): one more, one alone, or none."""
    for k, x in enumerate(inputs):
        for axis in range(0 if x is None else x.ndim):
            if n := x.shape[axis]:
                for rows in {(*range(n), n - 1), (0,), ()} - {tuple(range(n))}:
                    yield k, with_input(inputs, k, np.take(x, np.array(rows, np.int64), axis))


def declaring(model, feeds):
    """The model with the shapes of the feeds."""
    made = of_any_result(model)
    for port in made.graph.input:
        for extent, n in zip(port.type.tensor_type.shape.dim, feeds[port.name].shape, strict=True):
            extent.dim_value = n
    return made


def of_any_result(model):
    made = copy.deepcopy(model)
    for port in made.graph.output:
        port.type.tensor_type.ClearField("shape")
    return made


def of_any_rank(model):
    made = of_any_result(model)
    for port in made.graph.input:
        port.type.tensor_type.ClearField("shape")
    return made


def refusal_of(model):
    try:
        rondel.InferenceSession(model)
    except rondel.CallerError as error:
        return str(error)
    return None


def check_refused(model, feeds, k, refusal):
    session = rondel.InferenceSession(model)
    for _ in range(2):  # the second run may be compiled for its shapes
        with pytest.raises(rondel.CallerError):
            got = session.run(None, feeds)
            pytest.fail(f"input {k}: {[x.shape for x in got]}, where a model that declares its shapes says: {refusal}")


@pytest.mark.parametrize("op", sorted(OPS))
def test_a_shape_that_is_refused_is_refused_in_the_run(op, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "quick")
    for inputs, attributes, outputs in unlike_cases(op):
        for k, given in (*of_other_rank(inputs), *of_other_extent(inputs)):
            feeds = {f"x{j}": x for j, x in enumerate(given) if x is not None}
            model = build(op, OPSET, given, attributes, outputs)
            refusal = refusal_of(declaring(model, feeds))
            if refusal is None or (op, k) in OF_ONE_ELEMENT:
                continue
            check_refused(of_any_rank(model), feeds, k, refusal)
            if refusal_of(of_any_result(model)) is None:  # names of extents alone prove nothing
                check_refused(of_any_result(model), feeds, k, refusal)
