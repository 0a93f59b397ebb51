"""Every model of onnx's suite and random programs, exported to ONNX in each way and read back: the same results, and onnx's checker accepts them.

`models.run` also exports every model that it runs, and compares.
"""

import glob
import os
import re

import export_report
import numpy as np
import onnx
import pytest
import rondel
from backend_suite import NOT_DETERMINED, cases, model_of
from machine import run_model
from models import agree, interpreter, session
from onnx import TensorProto, numpy_helper
from programs import random_program

WAYS = {
    "as read": {},
    "as compiled": {"compiled": True},
    "opset 17": {"opset": 17},
    "opset 13": {"opset": 13},
    "newest opset": {"opset": onnx.defs.onnx_opset_version()},
}

# onnx's shape inference fails on these models, whoever writes them: ONNX's own function body of AffineGrid has branches that
# are never taken and a Range with a limit of shape [1]; an optional is declared with the type of its element.
NOT_INFERRED = re.compile(r"affine_grid|loop16_seq_none")


def read(path, declared):
    """An input of the suite's stored data, by its declared type."""
    raw = open(path, "rb").read()
    kinds = {"sequence_type": (onnx.SequenceProto, numpy_helper.to_list), "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}
    proto, value = kinds.get(declared.WhichOneof("value"), (onnx.TensorProto, numpy_helper.to_array))
    return value(proto.FromString(raw))


def inputs_of(case, source):
    if case.data_sets is None:
        folder = os.path.join(case.model_dir, "test_data_set_0")
        count = len(glob.glob(f"{folder}/input_*.pb"))
        return [read(f"{folder}/input_{k}.pb", source.graph.input[k].type) for k in range(count)]
    return [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in case.data_sets[0][0]]


def interpreted(source, inputs):
    s = rondel.InferenceSession(source, interpreter())
    return s.run(None, {port.name: x for port, x in zip(s.get_inputs(), inputs)})


SUITE = [name for name, (kind, _) in cases().items() if kind != "real"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SUITE)
def test_a_model_of_the_suite_comes_back_the_same(name):
    _, case = cases()[name]
    source = model_of(case)
    inputs = inputs_of(case, source)
    try:
        want = interpreted(source, inputs)
    except rondel.UnsupportedError:
        # The model has unsupported ops or types; test_backend_suite.py counts such models.
        pytest.skip("the model itself is not supported")
    for way, options in WAYS.items():
        try:
            written = rondel.export(source, **options)
        except (rondel.CallerError, rondel.UnsupportedError) as error:
            assert "cannot express it" in str(error) and "opset" in options, f"{way}: {error}"
            named = re.search(r"\((\w+)\): opset", str(error))
            export_report.refuse(way, named[1] if named else "Identity")
            continue
        onnx.checker.check_model(written, full_check=not NOT_INFERRED.search(name))
        if not NOT_DETERMINED.search(name):
            agree(interpreted(written, inputs), want)
        export_report.same[way] += 1


PROGRAMS = int(os.environ.get("RONDEL_PROGRAMS", "400")) // 2


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_programs_come_back_the_same(first):
    for seed in range(first, min(first + 20, PROGRAMS)):
        source, feeds = random_program(seed)
        want = run_model(source, feeds)
        for options in ({}, {"compiled": True}, {"opset": 13}):
            got = session(rondel.export(source, **options), options=interpreter()).run(None, feeds)
            for g, w in zip(got, want, strict=True):
                assert g.dtype == w.dtype and g.shape == w.shape, f"seed {seed}, {options}"
                assert np.array_equal(g, w), f"seed {seed}, {options}: {g} instead of {w}"
