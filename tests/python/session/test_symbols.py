"""Rondel works in one process with other libraries that contain their own protobuf, LLVM and onnx."""

import glob
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys

import pytest
import rondel

RUN_RONDEL = """
text = '<ir_version: 8, opset_import: ["" : 18]> main (int64 m, float[2] x) => (float[2] y) {' \\
       ' y = Loop (m, , x) <body: graph = body (i, go, a) => (go, b) { b = Add (a, x) }> }'
import onnx.parser as parser
import numpy as np
model = parser.parse_model(text)
s = rondel.InferenceSession(model.SerializeToString())
y, = s.run(None, {"m": np.array(3), "x": np.array([1, 2], np.float32)})
assert y.tolist() == [4.0, 8.0], y
try:
    rondel.InferenceSession(b"no model")
except rondel.Error:
    pass
"""

# For each other library, code that uses it, not merely loads it.
OTHERS = {
    "onnx": """
import onnx.checker, onnx.shape_inference, onnx.parser as p
m = p.parse_model('<ir_version: 8, opset_import: ["" : 18]> f (float[2] x) => (float[2] y) { y = Neg (x) }')
onnx.checker.check_model(m, full_check=True)
assert len(onnx.shape_inference.infer_shapes(m).graph.node) == 1
""",
    "onnxruntime": """
import numpy, onnx.parser as p
m = p.parse_model('<ir_version: 8, opset_import: ["" : 18]> f (float[2] x) => (float[2] y) { y = Neg (x) }')
t = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
assert t.run(None, {"x": numpy.ones(2, numpy.float32)})[0].tolist() == [-1.0, -1.0]
""",
    "llvmlite": """
import llvmlite.binding as b
b.initialize_native_target()
b.initialize_native_asmprinter()
module = b.parse_assembly("define i32 @three() { ret i32 3 }")
engine = b.create_mcjit_compiler(module, b.Target.from_default_triple().create_target_machine())
engine.finalize_object()
import ctypes
assert ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("three"))() == 3
""",
}


def works(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, env=os.environ)
    assert done.returncode == 0, f"exit {done.returncode}\n{script}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("first", ["rondel", "other"])
@pytest.mark.parametrize("runs_first", ["rondel", "other"])
def test_two_libraries_in_one_process(other, first, runs_first):
    pytest.importorskip(other)
    imports = ["import rondel", f"import {other}"]
    uses = [RUN_RONDEL, OTHERS[other]]
    works("\n".join([*(imports if first == "rondel" else imports[::-1]), *(uses if runs_first == "rondel" else uses[::-1])]))


def test_all_libraries_in_every_order():
    present = [name for name in OTHERS if importlib.util.find_spec(name)]
    orders = list(itertools.permutations(["rondel", *present]))
    for order in (orders[0], orders[-1], orders[len(orders) // 2]):
        imports = [f"import {name}" for name in order]
        works("\n".join([*imports, *(RUN_RONDEL if name == "rondel" else OTHERS[name] for name in order)]))


def test_rondel_alone_needs_numpy_only():
    works("import sys, rondel; assert 'onnx' not in sys.modules and 'onnxruntime' not in sys.modules; rondel.SessionOptions()")


def test_the_extension_exports_no_symbols_of_libraries_inside_it():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm here")
    libraries = glob.glob(os.path.join(os.path.dirname(rondel._rondel.__file__), "**", "*.so*"), recursive=True)
    assert libraries
    for library in libraries:
        listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        names = [line.split()[-1] for line in listed.splitlines()]
        foreign = [n for n in names if any(w in n for w in ("protobuf", "4llvm", "4onnx", "LLVM"))]
        assert not foreign, f"{library} exports {len(foreign)} of other libraries' symbols: {foreign[:5]}"
