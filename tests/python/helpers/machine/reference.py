"""Ops that run on onnx's reference evaluator, a node at a time; it shares no code with Rondel, either."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import onnx.reference
from onnx import helper

NAMES = [
    "Attention", "BatchNormalization", "Celu", "ConvInteger", "ConvTranspose", "DequantizeLinear", "Det", "DynamicQuantizeLinear", "Elu",
    "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax", "InstanceNormalization", "LRN", "LayerNormalization", "LogSoftmax", "LpNormalization",
    "MatMulInteger", "MeanVarianceNormalization", "Mish", "QLinearMatMul", "QuantizeLinear", "RMSNormalization", "Resize", "ReverseSequence", "RotaryEmbedding",
    "Selu", "Shrink", "Softsign",
]  # fmt: skip
OPSET = 25  #: its attributes are those of the newest version; GroupNormalization is only written where they are the same


def _run(op):
    def run(attributes, *inputs):
        outputs = attributes["outputs"]
        given = {k: v for k, v in attributes.items() if k != "outputs"}
        evaluator = _evaluator(op, outputs, tuple(x is not None for x in inputs), repr(sorted(given.items())), _Same(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of means over nothing
            results = evaluator.run(None, {f"x{k}": x for k, x in enumerate(inputs) if x is not None})
        results = [r.astype(inputs[0].dtype) if r.dtype.kind == "f" and inputs[0].dtype.kind not in "iub" else r for r in results]
        return results if op in MANY else results[0]

    return run


class _Same(dict):
    """Attributes as an argument of a cached function, which tells them apart by another argument."""

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return True


@cache
def _evaluator(op, outputs, given, _, attributes):
    names = [f"x{k}" if there else "" for k, there in enumerate(given)]
    node = helper.make_node(op, names, [f"y{k}" for k in range(outputs)], **attributes)
    inputs = [helper.make_tensor_value_info(n, 1, None) for n in names if n]
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info(n, 1, None) for n in node.output])
    return onnx.reference.ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]))


def _reversed(a, x, lengths):
    assert lengths.shape == (x.shape[a.get("batch_axis", 1)],), "a length for each sequence"
    assert np.all((lengths >= 1) & (lengths <= x.shape[a.get("time_axis", 0)])), "a length out of range"
    return _run("ReverseSequence")(a, x, lengths)


def _by_channel(op):
    """The evaluator broadcasts a scale of any length."""

    def run(a, x, *by_channel):
        assert all(v.shape == (x.shape[1],) for v in by_channel), "a number for each channel"
        return _run(op)(a, x, *by_channel)

    return run


def _scaled(op):
    """The evaluator broadcasts what is normalised to a larger scale."""

    def run(a, x, *scale):
        made = _run(op)(a, x, *scale)
        assert made.shape == x.shape, "a scale that broadcasts to x"
        return made

    return run


def _attention(a, q, k, v, *rest):
    """By ONNX's function body, an extent of 0 keeps another axis of the keys and values."""
    assert all(x.ndim < 4 or 0 not in x.shape[1:] for x in (k, v)), "heads of nothing"
    return _run("Attention")(a, q, k, v, *rest)


def _quantized(a, x, *rest):
    assert np.all(np.isfinite(x)), "the evaluator casts what is infinite, and what NaN becomes is not specified"
    return _run("QuantizeLinear")(a, x, *rest)


def _dynamically_quantized(a, x):
    """By ONNX's definition the scale of zeros, or of nothing, is 0; the evaluator gives zeros a scale of its own."""
    if not x.any():
        return [np.zeros(x.shape, np.uint8), np.array(0, np.float32), np.array(0, np.uint8)]
    return _run("DynamicQuantizeLinear")(a, x)


MANY = {"DynamicQuantizeLinear"}
OPS = {
    **{op: _run(op) for op in NAMES}, "Attention": _attention, "DynamicQuantizeLinear": _dynamically_quantized, "QuantizeLinear": _quantized,
    "ReverseSequence": _reversed,
    **{op: _by_channel(op) for op in ("BatchNormalization", "GroupNormalization", "InstanceNormalization")},
    **{op: _scaled(op) for op in ("LayerNormalization", "RMSNormalization")},
}  # fmt: skip
