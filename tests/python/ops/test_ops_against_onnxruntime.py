"""Every promised op, on every dtype of its schema, in every version, against another runtime.

The oracle is ONNX Runtime if it has the kernel (without optimisers: they change results), else onnx's reference
evaluator. Data movement, comparisons and integers must agree bit for bit, floats within the tolerance of the op.
A failure prints the seed, the inputs' shapes and the attributes.
"""

import contextlib
import functools
import zlib

import models
import numpy as np
import onnx
import onnx.reference
import pytest
import rondel
from models import in_onnxruntime, interpreter, ir_version, session
from onnx import helper
from op_cases import OPS
from op_inputs import EVERYTHING, dtype_of
from supported_ops import LEARNED, RANDOM, SUPPORTED, TRAINING

ort = pytest.importorskip("onnxruntime")

NEWEST = min(25, onnx.defs.onnx_opset_version())
OLDEST = 7  # older versions broadcast in another way, and no other runtime supports them

# Native code may differ from the interpreter for these ops; for all others it must agree bit for bit.
INEXACT = {"MatMul", "Gemm", "Conv", "LSTM"}

# Ops whose results are sums of products.
PRODUCTS = {*INEXACT, "ConvTranspose", "DFT", "Det", "GridSample", "Resize", "STFT"}

# The tolerance of narrow floats, for all ops: two units in the last place plus the rounding of each step.
NARROW = {"float16": 4e-3, "bfloat16": 3e-2}


def versions(op):
    since = {s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and s.domain == ""}
    return sorted({max(v, OLDEST) for v in since if v <= NEWEST} | {NEWEST})


def takes(op, opset, dtype):
    """Whether the schema of the op in this opset accepts the dtype for its data input (the first; of Where the second)."""
    words = {"float32": "float", "float64": "double"}
    schema = onnx.defs.get_schema(op, opset)
    data = schema.inputs[1 if op == "Where" else 0]
    return f"tensor({words.get(dtype, dtype)})" in data.types


def onnx_type(array):
    if array.dtype.kind in "OU":
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def build(op, opset, inputs, attributes, outputs):
    names = [f"x{k}" if x is not None else "" for k, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{k}" for k in range(outputs)], name="tested", **attributes)
    given = [
        helper.make_tensor_value_info(name, onnx_type(x), [f"{name}_{d}" for d in range(x.ndim)])
        for name, x in zip(names, inputs, strict=True)
        if x is not None
    ]
    results = [onnx.ValueInfoProto(name=f"y{k}") for k in range(outputs)]
    graph = helper.make_graph([node], "one_op", given, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version(opset))
    model = onnx.shape_inference.infer_shapes(model)
    for inferred, declared in zip(model.graph.output, results, strict=True):
        if not inferred.HasField("type"):
            declared.type.tensor_type.elem_type = onnx_type(inputs[0])
            inferred.CopyFrom(declared)
    return model


@functools.lru_cache(maxsize=4)
def ort_session(serialized):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])


def ort_is_no_oracle(op, inputs, attributes):
    """Known wrong answers and crashes of ONNX Runtime 1.30 for single ops."""
    shapes = [x.shape for x in inputs if x is not None]
    empty = any(0 in s for s in shapes)
    if op.startswith("Reduce") and empty:
        return True
    if op in ("DFT", "STFT"):
        return True  # ONNX Runtime sums products in float32: 1e-4 off
    if op == "StringSplit":
        return True  # ONNX Runtime splits "" into nothing, and strips the rest; the op's text has Python's split
    if op == "Gather" and inputs[0].dtype == object:
        return True  # ONNX Runtime gives empty strings from opset 25 on
    return op in ("MatMul", "MatMulInteger") and empty or op in ("Mod", "Div") and inputs[0].dtype.kind in "iu" and empty


#: The last opset whose version of the op an oracle has. Later versions only take more dtypes.
LAST_OF_ORACLES = {"MaxRoiPool": 21}


def expected(model, op, feeds, inputs, attributes):
    """The oracle's results and its name."""
    if not ort_is_no_oracle(op, inputs, attributes):
        with contextlib.suppress(Exception):
            return ort_session(model.SerializeToString()).run(None, feeds), "onnxruntime"
    with np.errstate(all="ignore"):
        results = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    for result, declared in zip(results, model.graph.output, strict=True):
        if onnx_type(np.asarray(result)) != declared.type.tensor_type.elem_type:
            raise LookupError("the reference evaluator gives another dtype than the schema says")
    return results, "onnx.reference"


def difference(got, want, rtol, least=1e-3):
    """The difference of two results as words; None if they agree. Below `least` in size the error is absolute: rtol * least."""
    want = np.asarray(want)
    if want.dtype.kind == "U":
        want = want.astype(object)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype == object or want.dtype.kind in "iub":
        wrong = got != want
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        a, b = got.astype(wide), want.astype(wide)
        with np.errstate(all="ignore"):
            close = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rtol * np.maximum(np.abs(b), least))
        wrong = ~close
    if not np.any(wrong):
        return None
    at = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(wrong)))
    a, b = np.atleast_1d(got)[at], np.atleast_1d(want)[at]
    return f"{int(np.sum(wrong))} of {want.size} elements; at {at}: {a!r} instead of {b!r}"


def least_size(op, dtype, inputs):
    """The `least` of `difference`. For sums it is the size of the terms: terms may cancel, their errors do not."""
    if not (op.startswith("Reduce") or op in {*PRODUCTS, "Sum", "Mean", "CumSum"}):
        return 1e-3
    terms = [np.abs(x.astype(np.float64)) for x in inputs if x is not None]
    largest = max(x.max(initial=0, where=np.isfinite(x)) for x in terms)
    return largest * (8 if dtype in NARROW else 1)


def bit_difference(native, interpreted):
    """The difference of two results as words; None if they agree bit for bit."""
    if native.dtype == object or native.dtype != interpreted.dtype or native.shape != interpreted.shape:
        return difference(native, interpreted, 0)
    if native.tobytes() == interpreted.tobytes():
        return None
    return difference(native, interpreted, 0) or "zeros or NaN of other bits"


def check(op, opset, dtype, rtol):
    """(lines that describe the differences, number of compared cases) of one op and dtype."""
    seed = zlib.crc32(f"{op} {dtype}".encode())
    cases = OPS[op][1]
    tolerance = max(rtol, NARROW.get(dtype, 0)) if rtol else 0
    if dtype == "float64":
        tolerance = rtol  # ONNX Runtime computes some of these in float32
    lines = []
    compared = 0
    sessions = {}
    for inputs, attributes, outputs in cases(np.random.default_rng(seed), dtype, opset):
        model = build(op, opset, inputs, attributes, outputs)
        feeds = {f"x{k}": x for k, x in enumerate(inputs) if x is not None}
        shapes = [None if x is None else list(x.shape) for x in inputs]
        where = f"{op}-{opset} {dtype} {shapes} {attributes or ''} (seed {seed})"
        try:
            older = min(opset, LAST_OF_ORACLES.get(op, opset))
            asked = model if older == opset else build(op, older, inputs, attributes, outputs)
            want, oracle = expected(asked, op, feeds, inputs, attributes)
        except Exception:
            continue
        compared += 1
        least = least_size(op, dtype, inputs)
        key = model.SerializeToString(deterministic=True)
        try:
            if key not in sessions:
                sessions[key] = rondel.InferenceSession(model)
            got = sessions[key].run(None, feeds)
            interpreted = rondel.InferenceSession(model, interpreter()).run(None, feeds)
        except rondel.Error as error:
            lines.append(f"{where}: {type(error).__name__}: {error}")
            continue
        for k, (a, b) in enumerate(zip(got, interpreted, strict=True)):
            differs = difference(a, b, tolerance, least) if op in INEXACT else bit_difference(a, b)
            if differs:
                lines.append(f"{where}, output {k}, native against interpreter: {differs}")
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            differs = difference(a, b, tolerance, least)
            if differs:
                lines.append(f"{where}, output {k}, against {oracle}: {differs}")
    return lines, compared


ALL = [(op, opset) for op in OPS for opset in versions(op)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("op", "opset"), ALL, ids=[f"{op}-{opset}" for op, opset in ALL])
def test_op(op, opset):
    dtypes, _, rtol = OPS[op]
    dtypes = [dtype for dtype in dtypes if takes(op, opset, dtype)]
    if opset != NEWEST:  # versions differ in their form, not in their arithmetic: two dtypes are enough for older ones
        dtypes = ([d for d in ("float32", "int64") if d in dtypes] or dtypes)[:2]
    lines, compared = [], 0
    for dtype in dtypes:
        differing, count = check(op, opset, dtype, rtol)
        lines += differing
        compared += count
    if lines:
        pytest.fail("\n".join([f"{len(lines)} differences in {compared} cases:", *lines[:30]]), pytrace=False)
    assert compared, "no oracle had this op at all"


# ---- Cast: every dtype to every other -------------------------------------------------------------------

CASTABLE = [d for d in EVERYTHING if not d.startswith("complex")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset", [9, 13, 19, 25])
@pytest.mark.parametrize("source", CASTABLE)
def test_cast(source, opset):
    lines = []
    rng = np.random.default_rng(7)
    for target in CASTABLE:
        if "bfloat16" in (source, target) and opset < 13:
            continue
        # Only values that the target can represent: the standard leaves most other casts undefined.
        limits = {"int8": (-9, 9), "uint8": (0, 9), "bool": (0, 1)}
        low, high = limits.get(target, (0, 90) if target.startswith("uint") else (-90, 90))
        if source == "string":
            values = [["1", "0", "7"], ["1.5", "-2.25", "0"]][target in ("float32", "float64", "float16", "bfloat16")]
            x = np.array(values, object)
        elif source == "bool":
            x = rng.integers(0, 2, 9).astype(bool)
        else:
            x = rng.integers(max(low, 0 if source.startswith("u") else low), high + 1, 9).astype(dtype_of(source))
        if source == "string" and target in ("bool", "string"):
            continue
        if target == "string" and source not in ("int32", "int64"):
            continue
        kind = onnx_type(np.zeros(1, dtype_of(target)))
        model = build("Cast", opset, [x], {"to": kind}, 1)
        try:
            (want,), oracle = expected(model, "Cast", {"x0": x}, [x], {})
        except Exception:
            continue
        try:
            (got,) = rondel.InferenceSession(model).run(None, {"x0": x})
        except rondel.Error as error:
            lines.append(f"{source} to {target}: {type(error).__name__}: {error}")
            continue
        differs = difference(got, want, 0)
        if differs:
            lines.append(f"{source} to {target}, against {oracle}: {differs}")
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64", "uint32"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
def test_float_to_integer_saturates_and_nan_gives_zero(source, target):
    limits = np.iinfo(target)
    x = np.array([np.nan, np.inf, -np.inf, 60000, -60000, 1.9, -1.9, 0.0], source)
    want = [0 if np.isnan(v) else int(np.clip(np.trunc(v), limits.min, limits.max)) if np.isfinite(v) else
            (limits.max if v > 0 else limits.min) for v in x.astype(np.float64)]
    kind = onnx_type(np.zeros(1, target))
    model = build("Cast", 21, [x], {"to": kind}, 1)
    assert rondel.InferenceSession(model).run(None, {"x0": x})[0].tolist() == want


@pytest.mark.parametrize("opset", [7, 22])
@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_norms_of_channels(dtype, p, opset):
    for shape in ((2, 3, 4), (1, 2, 3, 5), (2, 2, 2, 2, 3), (2, 0, 3)):
        x = np.random.default_rng(p).standard_normal(shape).astype(dtype)
        (got,) = rondel.InferenceSession(build("GlobalLpPool", opset, [x], {"p": p}, 1)).run(None, {"x0": x})
        want = (np.abs(x.astype(np.float64)) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / p)
        assert difference(got, want.astype(dtype), NARROW.get(dtype, 1e-5)) is None


def test_stft_of_a_signal_without_its_last_axis():
    """As PyTorch's exporter writes it."""
    made = models.model("""main (float[b,n] x) => (float[b,f,k,2] y) <int64 step = {4}, int64 frame = {8}, float[8] window = {1, 2, 3, 4, 4, 3, 2, 1}> {
      y = STFT <onesided = 1> (x, step, window, frame)
    }""", opset=17)
    feeds = {"x": np.random.default_rng(0).normal(size=(2, 24)).astype(np.float32)}
    want = in_onnxruntime(made.SerializeToString(), feeds)[0]
    for s in (session(made), session(rondel.export(made))):
        np.testing.assert_allclose(s.run(None, feeds)[0], want, atol=1e-4)


def test_the_list_of_ops_is_whole():
    elsewhere = {"BitCast", "Cast", "Col2Im", "GlobalLpPool", "ImageDecoder", "Upsample", "Constant", "ConstantOfShape", "If", "Loop", "Scan", *RANDOM.split(), *TRAINING.split(), *LEARNED.split()}
    sequences = {op for op in SUPPORTED if "Sequence" in op or "Optional" in op}
    assert set(OPS) | elsewhere | sequences == SUPPORTED
