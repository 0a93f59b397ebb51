"""Small builders for test models, and the assertions that the tests share.

Models are written in ONNX's own text form, so that a test shows its model and its expectation together:

    run("f (float[2] x) => (float[2] y) { y = Add (x, x) }", {"x": [1, 2]})

An untyped name is legal inside bodies; `float` is a scalar, `float[]` a tensor of unknown rank.
"""

from __future__ import annotations

import contextlib
import re

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import rondel

LOOP_VERSIONS = [1, 11, 13, 16, 19, 21, 23, 24, 25]
SCAN_VERSIONS = [9, 11, 16, 19, 21, 23, 24, 25]  # Scan-8 has another form and its own tests
IF_VERSIONS = [1, 11, 13, 16, 19, 21, 23, 24, 25]
INT64_MAX = 2**63 - 1


def ir_version(opset: int) -> int:
    """The least IR version that may carry this opset (3 is the first with opset imports)."""
    with contextlib.suppress(Exception):
        return max(3, helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))
    return 10


def model(text: str, opset: int = 21, ir: int | None = None, domains: dict[str, int] | None = None):
    """A ModelProto from the text of its graph (and of its local functions, after the graph)."""
    imports = {"": opset, **(domains or {})}
    listed = ", ".join(f'"{d}" : {v}' for d, v in imports.items())
    header = f"<ir_version: {ir or ir_version(opset)}, opset_import: [{listed}]>"
    return onnx.parser.parse_model(f"{header}\n{text}")


def session(source, opset: int = 21, options=None, domains=None):
    """A session of a model given as text, ModelProto, bytes or path."""
    if isinstance(source, str) and "=>" in source:
        source = model(source, opset, domains=domains)
    return rondel.InferenceSession(source, options)


def run(source, feeds=None, opset: int = 21, options=None, run_options=None, domains=None):
    """All outputs. If the test sets no options, check mode, the interpreter and the exported model must give the same bits."""
    if isinstance(source, str) and "=>" in source:
        source = model(source, opset, domains=domains)
    outputs = session(source, opset, options, domains).run(None, feeds or {}, run_options)
    if options is None and run_options is None:
        with check_mode():
            agree(outputs, session(source).run(None, feeds or {}))
        agree(outputs, session(source, options=interpreter()).run(None, feeds or {}))
        agree(outputs, session(rondel.export(source), options=interpreter()).run(None, feeds or {}))
    return outputs


def in_onnxruntime(written, feeds):
    """The outputs of ONNX Runtime, without its optimiser; None if it lacks a kernel or does not support a type."""
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        s = ort.InferenceSession(written, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        assert re.search(r"NOT_IMPLEMENTED|not implemented|NotImplemented|not currently registered or supported", str(error)), error
        return None
    return s.run(None, feeds)


WAYS = ["0", "1", "2", "checked"]  #: of running: RONDEL_JIT, or natively in check mode


def run_as(monkeypatch, way):
    """Sessions made from now on run in this way."""
    monkeypatch.setenv("RONDEL_JIT", "quick" if way == "checked" else way)
    monkeypatch.setenv("RONDEL_CHECK", "1" if way == "checked" else "0")


def sliced_positions(start, end, step, extent):
    """What ONNX's Slice takes. NumPy's takes nothing where a negative step starts before the first element; ONNX's takes that element."""
    if step < 0 and start < -extent:
        start = 0
    return list(range(extent))[start:end:step] if extent else []


def in_all_ways(made, monkeypatch, **fields):
    """Sessions of one model by (RONDEL_JIT, RONDEL_CHECK), whose storage plans are proved; `fields` are options."""
    monkeypatch.setenv("RONDEL_VERIFY", "1")
    sessions = {}
    for jit in ("0", "quick", "1", "2"):
        for check in ("0", "1"):
            monkeypatch.setenv("RONDEL_JIT", jit)
            monkeypatch.setenv("RONDEL_CHECK", check)
            sessions[jit, check] = session(made, options=options(**fields))
    return sessions


@contextlib.contextmanager
def check_mode():
    """Sessions made within run natively and check themselves: every index, and reads of what nothing wrote."""
    with pytest.MonkeyPatch.context() as patch:
        run_as(patch, "checked")
        yield


def interpreter():
    """Options that disable generated code."""
    return options(jit=False)


def agree(native, interpreted):
    """Asserts that two results are equal bit for bit: tensors, lists of tensors, None."""
    assert type(native) is type(interpreted), f"native gives {native}, the interpreter {interpreted}"
    if isinstance(native, list):
        assert len(native) == len(interpreted)
        for a, b in zip(native, interpreted, strict=True):
            agree(a, b)
    elif isinstance(native, np.ndarray):
        assert native.dtype == interpreted.dtype and native.shape == interpreted.shape
        equal = native.tolist() == interpreted.tolist() if native.dtype == object else native.tobytes() == interpreted.tobytes()
        assert equal, f"native gives {native}, the interpreter {interpreted}"


def options(**fields):
    """SessionOptions with these fields set."""
    made = rondel.SessionOptions()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def run_options(**fields):
    made = rondel.RunOptions()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def f32(*values):
    return np.array(values, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def scalar(value, dtype=np.int64):
    return np.array(value, dtype)


TRUE = np.array(True)
FALSE = np.array(False)


def same(got, want):
    """Asserts that two tensors are equal: dtype, shape and elements (NaN equals NaN)."""
    want = np.asarray(want)
    got = np.asarray(got)
    assert got.dtype == want.dtype, f"dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "OUS":
        assert got.tolist() == want.tolist()
    elif want.dtype.kind in "fc":
        np.testing.assert_array_equal(got, want)
    else:
        assert got.tobytes() == np.ascontiguousarray(want).tobytes(), f"{got} is not {want}"


def strings(*values):
    return np.array(values, dtype=object)


@contextlib.contextmanager
def refused(kind, *words):
    """Asserts that the block raises `kind`, with each of the words in the message (of a tuple: one word)."""
    with pytest.raises(kind) as caught:
        yield caught
    says(caught.value, *words)


def says(error, *words):
    """Asserts that the error's message has each word, ignoring case and the spaces inside shapes."""
    message = str(error).lower()
    dense = message.replace(" ", "")
    for word in words:
        choices = word if isinstance(word, tuple) else (word,)
        found = any(c.lower() in message or c.lower().replace(" ", "") in dense for c in choices)
        assert found, f"no {' or '.join(choices)!r} in the message: {error}"


def tensor(name, array):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def value(name, dtype=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def make_model(nodes, inputs, outputs, initializers=(), opset=21, functions=(), domains=None, **graph_fields):
    """A ModelProto from its parts, for models that the text form cannot express."""
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(initializers), **graph_fields)
    imports = [helper.make_opsetid(d, v) for d, v in {"": opset, **(domains or {})}.items()]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir_version(opset))


def ops_of(model):
    """Every op of a model, in its graph, its bodies and its local functions, without the functions' own names."""
    local = {(f.domain, f.name) for f in model.functions}
    found = set()

    def visit(nodes):
        for node in nodes:
            if (node.domain, node.op_type) not in local:
                found.add(f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type)
            for attribute in node.attribute:
                for graph in [attribute.g, *attribute.graphs]:
                    visit(graph.node)

    visit(model.graph.node)
    for function in model.functions:
        visit(function.node)
    return found
