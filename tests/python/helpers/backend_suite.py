"""The cases of onnx's backend suite: their models, and the ops in them."""

import functools
import os
import re

import onnx
from onnx.backend.test.loader import load_model_tests

# The kinds of tests: the loader's name -> the runner's name.
KINDS = {
    "node": "Node",
    "simple": "Simple",
    "pytorch-converted": "PyTorchConverted",
    "pytorch-operator": "PyTorchOperator",
    "real": "Real",
}

# The model does not determine these results: they come from NumPy's global generator.
NOT_DETERMINED = re.compile(r"test_bernoulli|test_training_dropout(?!_zero_ratio)")


def model_of(case):
    if case.model is not None:
        return case.model
    if case.model_dir is not None:
        return onnx.load(os.path.join(case.model_dir, "model.onnx"))
    return onnx.load(os.path.join(os.path.dirname(onnx.__file__), "..", case.url))


@functools.cache
def cases():
    listed = ((kind, case) for kind in KINDS for case in load_model_tests(kind=kind))
    return {f"{kind}/{case.name}": (kind, case) for kind, case in sorted(listed, key=lambda kc: (kc[0], kc[1].name))}
