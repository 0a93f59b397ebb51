"""A rank or an extent that an op refuses where the model declares it is refused in the run where the model does not."""

import copy
import functools

import backend_suite
import numpy as np
import pytest
import rondel
from op_cases import OPS
from test_ops_against_onnxruntime import build

OPSET = 24
MOST = 3  #: cases of an op: with other ranks, or other attributes
LARGEST = 3000  #: elements of an input

#: A scale or a zero point of one element may have any rank where the model does not say which.
OF_ONE_ELEMENT = {("QuantizeLinear", 1), ("QuantizeLinear", 2), ("DequantizeLinear", 1), ("DequantizeLinear", 2)}


def unlike_cases(op):
    """The inputs, attributes and number of outputs of the first cases that differ in ranks or attributes."""
    dtypes, cases, _ = OPS[op]
    found = {}
    for inputs, attributes, outputs in cases(np.random.default_rng(1), "float32" if "float32" in dtypes else dtypes[0], OPSET):
        found.setdefault((tuple(x is None or x.ndim for x in inputs), *sorted(attributes)), (inputs, attributes, outputs))
    return list(found.values())[:MOST]


@functools.cache
def suite_cases():
    """{op: [(model, inputs)]} of onnx's backend suite, for ops that OPS lacks: the first cases of one node that differ in ranks or attributes."""
    found = {}
    for kind, case in backend_suite.cases().values():
        model = backend_suite.model_of(case) if kind == "node" and "expanded" not in case.name else None
        if model is None or len(model.graph.node) != 1 or not all(p.type.HasField("tensor_type") for p in model.graph.input):
            continue
        (node,), inputs = model.graph.node, [np.asarray(x) for x in case.data_sets[0][0]]
        if node.op_type in OPS or any(a.HasField("g") for a in node.attribute) or any(x.size > LARGEST for x in inputs):
            continue
        key = *(x.ndim for x in inputs), *sorted(a.name for a in node.attribute), *map(bool, node.input)
        found.setdefault(node.op_type, {}).setdefault(key, (model, inputs))
    return {op: list(cases.values())[:MOST] for op, cases in sorted(found.items())}


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
    return with_extents(model, feeds, lambda extent, name, axis, n: setattr(extent, "dim_value", n))


def of_any_extents(model, feeds):
    return with_extents(model, feeds, lambda extent, name, axis, n: setattr(extent, "dim_param", f"{name}_{axis}"))


def of_any_rank(model):
    made = copy.deepcopy(model)
    for port in (*made.graph.input, *made.graph.output):
        port.type.tensor_type.ClearField("shape")
    return made


def with_extents(model, feeds, declare):
    made = of_any_rank(model)
    for port in made.graph.input:
        port.type.tensor_type.shape.SetInParent()
        for axis, n in enumerate(feeds[port.name].shape):
            declare(port.type.tensor_type.shape.dim.add(), port.name, axis, n)
    return made


def refusal_of(model):
    try:
        rondel.InferenceSession(model)
    except rondel.Error as error:
        return str(error)
    return None


def check_refused(model, feeds, k, refusal):
    session = rondel.InferenceSession(model)
    for _ in range(2):  # the second run may be compiled for its shapes
        with pytest.raises(rondel.CallerError):
            got = session.run(None, feeds)
            pytest.fail(f"input {k}: {[x.shape for x in got]}, where a model that declares its shapes says: {refusal}")


def check(op, model, feeds, k):
    refusal = refusal_of(declaring(model, feeds))
    if refusal is None or (op, k) in OF_ONE_ELEMENT:
        return
    for less_known in (of_any_extents(model, feeds), of_any_rank(model)):
        if refusal_of(less_known) is None:
            check_refused(less_known, feeds, k, refusal)


@pytest.mark.parametrize("op", sorted(OPS))
def test_a_shape_that_is_refused_is_refused_in_the_run(op, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "quick")
    for inputs, attributes, outputs in unlike_cases(op):
        for k, given in (*of_other_rank(inputs), *of_other_extent(inputs)):
            feeds = {f"x{j}": x for j, x in enumerate(given) if x is not None}
            check(op, build(op, OPSET, given, attributes, outputs), feeds, k)


@pytest.mark.parametrize("op", sorted(suite_cases()))
def test_a_shape_of_the_suite_that_is_refused_is_refused_in_the_run(op, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "quick")
    for model, inputs in suite_cases()[op]:
        for k, given in (*of_other_rank(inputs), *of_other_extent(inputs)):
            feeds = {port.name: x for port, x in zip(model.graph.input, given, strict=True)}
            check(op, model, feeds, k)
