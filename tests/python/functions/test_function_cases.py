"""onnx's own test cases of single nodes as calls of rondel.functions.onnx: with arrays, and traced in a branch."""

import collections
import warnings

import numpy as np
import pytest
from onnx import AttributeProto, defs, helper, numpy_helper

from rondel.functions import onnx as f
from rondel.functions.operators import operators

#: The number of cases per operator; the backend suite runs all cases as models.
MOST = 3
DRAWS = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


def array_of(proto):
    kind = type(proto).__name__
    read = {"TensorProto": numpy_helper.to_array, "SequenceProto": numpy_helper.to_list, "OptionalProto": numpy_helper.to_optional}
    return read[kind](proto) if kind in read else proto


def cases():
    """(name, function, arguments, attributes, expected, rtol) of nodes that Rondel runs, in the opset of the functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some cases divide by zero
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    known = operators(f._opset)
    count = collections.Counter()
    for case in collected:
        node = case.model.graph.node[0]
        op = known.get(node.op_type) if node.domain == "" and len(case.model.graph.node) == 1 else None
        if op is None or not op.runs or op.deprecated or op.name in DRAWS or not all(node.output) or count[op.name] == MOST:
            continue
        version = next(o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx"))
        if defs.get_schema(op.name, version).since_version != op.since_version:
            continue
        count[op.name] += 1
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if any(p.form != "single" for p in op.outputs) and not any(a.type == AttributeProto.GRAPH for a in node.attribute):
            attributes["outputs"] = len(node.output)
        inputs, outputs = case.data_sets[0]
        given = dict(zip([i.name for i in case.model.graph.input], map(array_of, inputs)))
        arguments = [given[name] if name else None for name in node.input]
        yield pytest.param(getattr(f, op.python_name), arguments, attributes, list(map(array_of, outputs)), case.rtol, id=case.name)


def assert_same(got, expected, rtol):
    if isinstance(expected, list):
        assert isinstance(got, list)
        for x, y in zip(got, expected, strict=True):
            assert_same(x, y, rtol)
    elif expected is None:
        assert got is None
    elif expected.dtype.kind in "OUS":
        assert got.tolist() == np.vectorize(lambda s: s.decode() if isinstance(s, bytes) else s, otypes=[object])(expected).tolist()
    else:
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        narrow = expected.dtype.kind == "V" or expected.dtype.itemsize < 4
        wide = np.float32 if narrow and expected.dtype.kind not in "iub" else expected.dtype
        np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=max(rtol, 1e-3 if narrow else 1e-5), atol=1e-5)


#: Cases that cannot be run as a call of a function, and why.
REFUSED = {
    "causal_conv_with_state": "Rondel does not run it, though it has a body",
    "test_col2im]": "nothing but its image_shape says how many axes the image has",
    "linear_e4m3fn": "its scale and its zero point have other shapes, which is only allowed where both are known",
}


@pytest.mark.parametrize("function, arguments, attributes, expected, rtol", list(cases()))
def test_cases_of_onnx(function, arguments, attributes, expected, rtol, request):
    why = next((why for part, why in REFUSED.items() if part in request.node.name), None)
    if why:
        pytest.skip(why)
    results = [function(*arguments, **attributes)]
    if not any(hasattr(x, "node") for x in attributes.values()):

        def branch():
            return function(*arguments, **attributes)

        results += [f.if_(True, then_branch=branch, else_branch=branch) for _ in range(2)]  # the second call reuses the graph
    for got in results:
        got = got if isinstance(got, tuple) else (got,)
        for x, y in zip(got, expected, strict=True):
            assert_same(x, y, rtol)
