"""A rank that an op refuses where the model declares it is refused in the run where it does not."""

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


def of_other_rank(inputs):
    """(k, the inputs with another rank of input k): an axis of one element more in front, or the first row alone."""
    for k, x in enumerate(inputs):
        for other in () if x is None else (x[None], x[0]) if x.ndim and len(x) else (x[None],):
            yield k, [np.asarray(other, x.dtype) if j == k else y for j, y in enumerate(inputs)]


def without_shapes(model):
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.ClearField("shape")
    return model


@pytest.mark.parametrize("op", sorted(OPS))
def test_a_rank_that_is_refused_is_refused_in_the_run(op, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", "quick")
    for inputs, attributes, outputs in unlike_cases(op):
        for k, given in of_other_rank(inputs):
            model = build(op, OPSET, given, attributes, outputs)
            try:
                rondel.InferenceSession(model)
            except rondel.CallerError as error:
                refusal = str(error)
            else:
                continue
            if (op, k) in OF_ONE_ELEMENT:
                continue
            session = rondel.InferenceSession(without_shapes(model))
            for _ in range(2):
                with pytest.raises(rondel.CallerError):
                    got = session.run(None, {f"x{j}": x for j, x in enumerate(given) if x is not None})
                    pytest.fail(f"input {k}: {[x.shape for x in got]}, where a model that declares its ranks says: {refusal}")
