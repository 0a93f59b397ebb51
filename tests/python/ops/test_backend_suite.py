"""The whole onnx backend suite, through the suite's own runner and `rondel.backend`.

A test must pass if all its ops are in supported_ops.py. The model of any other test may be refused on loading, with an error
that names the op (the test counts as unsupported); if the model loads, the test must pass.
"""

import functools
import re

import backend_report
import numpy as np
import onnx
import pytest
import rondel
import rondel.backend
from onnx import helper
from onnx.backend.test import BackendTest
from backend_suite import KINDS, NOT_DETERMINED, cases, model_of
from models import ops_of
from supported_ops import SUPPORTED

# The reference rounds to float16 after each product of a sum; we round the sum once.
ROUNDED_ONCE = {"test_attention_4d_causal_fp16", "test_attention_4d_causal_fp16_expanded"}
# The results have NumPy's rounding errors in float32 where zeros should be; we transform in float64 and give zeros.
IMPRECISE = {"test_dft_inverse", "test_dft_inverse_opset19"}
# ImageDecoder reads three formats; the run refuses others by name.
OTHER_FORMATS = {f"test_image_decoder_decode_{name}_rgb" for name in ("bmp", "jpeg2k", "pnm", "tiff")}
# The runner takes len() of each item of a list of results, which arrays of rank 0 do not have.
COMPARED_HERE = {"test_loop16_seq_none"}


@functools.cache
def runner():
    return BackendTest(rondel.backend, __name__).test_cases


def run_case(kind, case):
    """Runs the suite's own test as its runner does: with its data, comparison and tolerance."""
    name = f"{case.name}_cpu"
    suite = runner()[f"OnnxBackend{KINDS[kind]}ModelTest"]
    getattr(suite(name), name)()


def compare_here(case):
    """Runs the data sets of a case and compares item by item, with the suite's tolerance."""
    assert case.data_sets
    for inputs, outputs in case.data_sets:
        results = rondel.backend.prepare(case.model, "CPU").run(list(inputs))
        assert len(results) == len(outputs)
        for got, want in zip(results, outputs):
            assert isinstance(got, list) == isinstance(want, list)
            pairs = list(zip(got, want, strict=True)) if isinstance(want, list) else [(got, want)]
            for g, w in pairs:
                assert g.dtype == w.dtype and g.shape == w.shape
                np.testing.assert_allclose(g, w, rtol=case.rtol, atol=case.atol)


def named_by(error, ops):
    """The ops that an error message names: ops of the model, or an op inside the body of a function op."""
    inside = re.search(r"\bop (\w+) of", str(error))
    if inside and inside[1] not in SUPPORTED:
        return [inside[1]]
    return [op for op in ops if re.search(rf"(?<!\w){re.escape(op.split('.')[-1])}(?!\w)", str(error), re.IGNORECASE)]


@pytest.fixture(scope="module", autouse=True)
def models_folder(tmp_path_factory):
    """The runner copies the data of its larger models here instead of into the home folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_MODELS", str(tmp_path_factory.mktemp("onnx_models")))
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases())
def test_case(name):
    kind, case = cases()[name]
    model = model_of(case)
    missing = ops_of(model) - SUPPORTED
    try:
        rondel.backend.prepare(model, "CPU")
    except rondel.UnsupportedError as error:
        named = named_by(error, missing)
        if named:
            backend_report.unsupported[name] = max(named, key=len)
            pytest.skip(f"unsupported: {error}")
        backend_report.failed.append(name)
        pytest.fail(f"refused as unsupported, but {'every op is promised' if not missing else 'no op is named'}: {error}")
    except Exception:
        backend_report.failed.append(name)
        raise
    if case.name in ROUNDED_ONCE:
        pytest.xfail("Attention is not among the promised ops: two of 192 float16 results are one unit off")
    if case.name in IMPRECISE:
        pytest.xfail("the case wants 1.9e-07, the rounding error of NumPy's transform in float32, where 0 is right (and ours)")
    if NOT_DETERMINED.search(case.name):
        pytest.skip("the result is random")
    if case.name in OTHER_FORMATS:
        with pytest.raises(rondel.UnsupportedError, match="JPEG, PNG and WebP can be decoded"):
            run_case(kind, case)
        # The refusal is checked above. The suite's counts call this unsupported, so it is neither passed nor failed.
        backend_report.unsupported[name] = "ImageDecoder"
        pytest.skip("unsupported: BMP, JPEG 2000, PNM and TIFF would take four more libraries (docs/dependencies.md)")
    try:
        compare_here(case) if case.name in COMPARED_HERE else run_case(kind, case)
    except BaseException:
        backend_report.failed.append(name)
        raise
    backend_report.passed.append(name)


def test_devices():
    assert rondel.backend.supports_device("CPU")
    assert not rondel.backend.supports_device("CUDA")


def test_run_model_and_run_node():
    x = np.array([1, -2], np.float32)
    node = helper.make_node("Abs", ["x"], ["y"])
    (y,) = rondel.backend.run_node(node, [x])
    assert y.tolist() == [1, 2]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    assert rondel.backend.run_model(model, [x])[0].tolist() == [1, 2]
