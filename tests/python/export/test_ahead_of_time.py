"""Compiled models: `rondel compile`, called from C and from Python, with the bits of a session."""

import ctypes.util
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from models import run_options

import rondel

from fuzz.programs import Rejected, program

#: how many random programs are compiled
COUNT = int(os.environ.get("RONDEL_AHEAD_PROGRAMS", "110"))


def model(text):
    return onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]>\n' + text)


ROOT = model("""
root (float[n] a) => (float[n] r, float[k] steps)
<int64 most = {50}, float one = {1}, float small = {0.00001}> {
  yes = Constant <value = bool {1}> ()
  start = Max (a, one)
  r, steps = Loop (most, yes, start) <body = newton (int64 i, bool go, x) => (bool on, better, worst) {
    square = Mul (x, x)
    error = Sub (square, a)
    twice = Add (x, x)
    step = Div (error, twice)
    better = Sub (x, step)
    size = Abs (step)
    worst = ReduceMax <keepdims = 0> (size)
    on = Greater (worst, small)
  }>
}""")

#: a state that grows, in a loop that data end
GROWING = model("""
grow (float[n, 2] x, int64 most) => (float[m, 2] y, int64[k] seen) {
  yes = Constant <value = bool {1}> ()
  limit = Constant <value = float {40}> ()
  y, seen = Loop (most, yes, x) <body = b (int64 i, bool go, float[p, 2] v) => (bool on, float[q, 2] w, int64 count) {
    last = Slice (v, minus, end, axis0)
    next = Add (last, last)
    w = Concat <axis = 0> (v, next)
    sum = ReduceSum <keepdims = 0> (next)
    on = Less (sum, limit)
    shape = Shape (w)
    count = Gather (shape, zero)
  }>
}""".replace("yes = Constant", """minus = Constant <value_ints = [-1]> ()
  end = Constant <value_ints = [9223372036854775807]> ()
  axis0 = Constant <value_ints = [0]> ()
  zero = Constant <value_int = 0> ()
  yes = Constant""", 1))

BRANCH = model("""
branch (float[n] x, bool c) => (float[n] y) {
  y = If (c) <then_branch = t () => (float[n] a) { a = Exp (x) }, else_branch = e () => (float[n] b) { b = Neg (x) }>
}""")

WORDS = model("""
words (string[n] s, bool[n] c, float[n] x) => (string[n] t, float[n] y) {
  twice = StringConcat (s, s)
  t = Where (c, s, twice)
  y = Neg (x)
}""")


def lstm(hidden=64):
    """A Scan of an LSTM cell written out, with weights of some hundred KB."""
    rng = np.random.default_rng(0)
    made = model(f"""
    lstm (float[t, 32] x, float[1, {hidden}] h0, float[1, {hidden}] c0) => (float[t, 1, {hidden}] hs, float[1, {hidden}] c) {{
      h, c, hs = Scan <num_scan_inputs = 1, body = cell (float[1, {hidden}] h_in, float[1, {hidden}] c_in, float[32] e)
          => (float[1, {hidden}] h_out, float[1, {hidden}] c_out, float[1, {hidden}] item) {{
        axes = Constant <value_ints = [0]> ()
        row = Unsqueeze (e, axes)
        a = MatMul (row, W)
        b = MatMul (h_in, R)
        z = Add (a, b)
        i, o, f, g = Split <axis = 1, num_outputs = 4> (z)
        si = Sigmoid (i)
        so = Sigmoid (o)
        sf = Sigmoid (f)
        tg = Tanh (g)
        kept = Mul (sf, c_in)
        new = Mul (si, tg)
        c_out = Add (kept, new)
        tc = Tanh (c_out)
        h_out = Mul (so, tc)
        item = Identity (h_out)
      }}> (h0, c0, x)
    }}""")
    for name, shape in [("W", (32, 4 * hidden)), ("R", (hidden, 4 * hidden))]:
        made.graph.initializer.append(onnx.numpy_helper.from_array(rng.normal(0, 0.1, shape).astype(np.float32), name))
    return made


def compiled(folder, proto, name="model", **options):
    """(CompiledModel, CompileReport)"""
    report = rondel.compile_model(proto, folder / f"{name}.so", **options)
    return rondel.load_compiled(report.library), report


def same_bits(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert np.array_equal(a, b) if a.dtype == object else a.tobytes() == b.tobytes()


def ran_natively(loaded):
    how = loaded.how_it_ran(tiers=True)
    assert how and all(text.startswith("natively, as a whole") and "interpreted" not in text for text in how.values()), how


def cases(*feeds):
    return [{name: np.asarray(x) for name, x in one.items()} for one in feeds]


F32 = np.float32
NATIVE = {
    "root": (ROOT, cases(*({"a": np.linspace(1, 100, n, dtype=F32)} for n in (1, 3, 1000)))),
    "growing": (GROWING, cases({"x": np.ones((2, 2), F32), "most": np.int64(100)}, {"x": np.full((1, 2), 0.3, F32), "most": np.int64(3)})),
    "branch": (BRANCH, cases(*({"x": np.linspace(-1, 1, n, dtype=F32), "c": np.array(c)} for n in (1, 7) for c in (True, False)))),
    "lstm": (lstm(), cases(*({"x": np.random.default_rng(t).normal(size=(t, 32)).astype(F32), "h0": np.zeros((1, 64), F32), "c0": np.ones((1, 64), F32)} for t in (1, 5)))),
}


@pytest.mark.parametrize("name", NATIVE)
def test_a_compiled_model_gives_the_bits_of_a_session_natively(tmp_path, name):
    proto, feeds = NATIVE[name]
    session = rondel.InferenceSession(proto)
    loaded, report = compiled(tmp_path, proto)
    assert not report.not_compiled and report.programs > 0
    for one in feeds:
        same_bits(loaded.run(None, one), session.run(None, one))
        ran_natively(loaded)
    assert [(p.name, p.type, p.shape) for p in loaded.get_inputs()] == [(p.name, p.type, p.shape) for p in session.get_inputs()]
    assert [(p.name, p.type, p.shape) for p in loaded.get_outputs()] == [(p.name, p.type, p.shape) for p in session.get_outputs()]


def test_a_library_needs_no_llvm_and_no_onnx_and_exports_its_functions_only(tmp_path):
    _, report = compiled(tmp_path, ROOT)
    needed = subprocess.run(["readelf", "-d", report.library], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"NEEDED.*\[(.*)\]", needed)
    assert not [lib for lib in libraries if "LLVM" in lib or "rondel" in lib or "python" in lib or "onnx" in lib or "proto" in lib]
    assert b"_ZN4llvm" not in pathlib.Path(report.library).read_bytes()
    symbols = subprocess.run(["nm", "-D", "--defined-only", report.library], capture_output=True, text=True, check=True).stdout
    assert {line.split()[-1] for line in symbols.splitlines()} == {"model_run", "model_free", "model_ports", "rondel_compiled_model"}
    assert report.library_bytes == os.path.getsize(report.library) < 16 << 20


def test_weights_of_megabytes_are_in_the_library_once(tmp_path):
    weights = np.random.default_rng(0).normal(size=(1024, 2048)).astype(F32)
    proto = model("g (float[n, 1024] x) => (float[n, 2048] y, float[n, 2048] z) { y = MatMul (x, W)  z = Neg (y) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "W"))
    loaded, report = compiled(tmp_path, proto)
    assert weights.nbytes <= report.weight_bytes < weights.nbytes + 4096
    assert os.path.getsize(report.library) < weights.nbytes + (16 << 20)
    x = np.random.default_rng(1).normal(size=(3, 1024)).astype(F32)
    same_bits(loaded.run(None, {"x": x}), rondel.InferenceSession(proto).run(None, {"x": x}))


def test_strings_are_refused_with_their_node_or_run_as_steps(tmp_path):
    with pytest.raises(rondel.UnsupportedError, match=r"node 't' \(Where\).*strings"):
        rondel.compile_model(WORDS, tmp_path / "words.so")
    assert list(tmp_path.iterdir()) == []
    loaded, report = compiled(tmp_path, WORDS, allow_steps=True)
    assert "node 't' (Where)" in str(report.not_compiled)
    feeds = {"s": np.array(["a", "", "ç"], object), "c": np.array([True, False, False]), "x": np.ones(3, F32)}
    same_bits(loaded.run(None, feeds), rondel.InferenceSession(WORDS).run(None, feeds))


def test_inputs_and_outputs_that_are_no_tensors_are_refused_by_name(tmp_path):
    proto = model("g (seq(float[n]) items) => (float[m] y) { y = ConcatFromSequence <axis = 0> (items) }")
    with pytest.raises(rondel.UnsupportedError, match=r"input 'items' is seq\(tensor\(float\)\)"):
        rondel.compile_model(proto, tmp_path / "m.so")


def test_a_loop_that_runs_step_by_step_is_refused_with_its_node_and_the_reason(tmp_path):
    proto = model("""
    g (float[2] x) => (float[m] y) {
      most = Constant <value_int = 9> ()
      y = Loop (most, "", x) <body = b (int64 i, bool go, v) => (bool on, w) {
        on = Identity (go)
        axes = Constant <value_ints = [0]> ()
        w = Unsqueeze (v, axes)
      }>
    }""")
    with pytest.raises(rondel.UnsupportedError, match=r"node 'y' \(Loop\): runs step by step"):
        rondel.compile_model(proto, tmp_path / "m.so")
    loaded, report = compiled(tmp_path, proto, allow_steps=True)
    assert "node 'y' (Loop)" in dict(report.not_compiled)
    same_bits(loaded.run(None, {"x": np.ones(2, F32)}), rondel.InferenceSession(proto).run(None, {"x": np.ones(2, F32)}))


# ---- shapes


def test_shapes_without_code_are_interpreted_with_the_same_bits(tmp_path):
    session = rondel.InferenceSession(ROOT)
    loaded, report = compiled(tmp_path, ROOT, shapes={"a": [1]})
    assert report.cases == 1
    one, many = {"a": np.array([7], F32)}, {"a": np.linspace(1, 50, 9, dtype=F32)}
    same_bits(loaded.run(None, one), session.run(None, one))
    ran_natively(loaded)
    same_bits(loaded.run(None, many), session.run(None, many))
    assert "interpreted" in str(loaded.how_it_ran(tiers=True))


def test_open_extents_have_code_for_every_class(tmp_path):
    proto = model("g (float[n] x, float[m] y) => (float[k] z) { z = Add (x, y) }")
    loaded, report = compiled(tmp_path, proto)
    assert report.cases == 4 and not report.not_compiled  # 1 1, 1 m, n 1, n n; n m does not broadcast
    session = rondel.InferenceSession(proto)
    for n, m in [(1, 1), (1, 4), (4, 1), (4, 4)]:
        feeds = {"x": np.arange(n, dtype=F32), "y": np.ones(m, F32)}
        same_bits(loaded.run(None, feeds), session.run(None, feeds))


def test_extents_of_one_name_may_differ_as_in_a_session(tmp_path):
    proto = model("g (float[n] x, float[n] y) => (float[1] s) { a = ReduceSum (x)  b = ReduceSum (y)  s = Add (a, b) }")
    session = rondel.InferenceSession(proto)
    loaded, _ = compiled(tmp_path, proto, shapes=[{"x": [None]}, {"x": [3], "y": [5]}])
    for n, m in [(4, 4), (3, 5)]:
        feeds = {"x": np.arange(n, dtype=F32), "y": np.ones(m, F32)}
        same_bits(loaded.run(None, feeds), session.run(None, feeds))


def test_sizes_that_data_decide_are_compiled_for_samples(tmp_path):
    proto = model("g (float[n] x) => (float[m] y) { i = NonZero (x)  axes = Constant <value_ints = [0]> ()  j = Squeeze (i, axes)  v = Gather (x, j)  y = Exp (v) }")
    feeds = {"x": np.array([0, 1, 0, 2], F32)}
    for samples in ([feeds], feeds):
        loaded, _ = compiled(tmp_path, proto, samples=samples)
        same_bits(loaded.run(None, feeds), rondel.InferenceSession(proto).run(None, feeds))
    with pytest.raises(rondel.CallerError, match="samples is a int; expected a dict by the names of inputs, or a list"):
        rondel.compile_model(proto, tmp_path / "m.so", samples=3)


@pytest.mark.parametrize(
    "shapes, what",
    [
        ({"a": [0, -1]}, "an extent of input 'a' is -1"),
        ({"b": [1]}, "'b', which is no input"),
        ({"a": [1, 2]}, r"the shape of input 'a' has 2 extents; the model declares f32\[n\]"),
        ({"a": [-3]}, "an extent of input 'a' is -3"),
        ([3], "shapes holds a"),
        (3, "shapes is a int; expected a dict by the names of inputs, or a list"),
        ({"a": 3}, r"the shape of input 'a' is 3; expected a list of extents, as \[3\]"),
        ({"a": None}, r"the shape of input 'a' is None; expected a list of extents, as \[2, None\]"),
        ({"a": [np.array([1, 2])]}, "an extent of input 'a' is a ndarray"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(tmp_path, shapes, what):
    with pytest.raises(rondel.CallerError, match=what):
        rondel.compile_model(ROOT, tmp_path / "m.so", shapes=shapes)
    assert list(tmp_path.iterdir()) == []


# ---- places, names, processors


def test_a_place_that_cannot_be_written_is_refused_before_the_model_is_read(tmp_path):
    with pytest.raises(rondel.CallerError, match="there is no folder .*missing"):
        rondel.compile_model("no model.onnx", tmp_path / "missing" / "m.so")
    with pytest.raises(rondel.CallerError, match="is a folder"):
        rondel.compile_model("no model.onnx", tmp_path)


def test_errors_that_are_not_about_the_model_have_no_name_of_such_errors(tmp_path):
    for wrong in (
        lambda: rondel.compile_model(ROOT, tmp_path / "missing" / "m.so"),
        lambda: rondel.compile_model(ROOT, tmp_path),
        lambda: rondel.compile_model(ROOT, tmp_path / "m.so", shapes={"a": [1, 2]}),
    ):
        with pytest.raises(rondel.CallerError) as raised:
            wrong()
        assert type(raised.value) is rondel.CallerError


def test_a_process_that_ignores_its_children_compiles(tmp_path):
    (tmp_path / "root.onnx").write_bytes(ROOT.SerializeToString())
    code = "import rondel, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); rondel.compile_model('root.onnx', 'm.so'); rondel.load_compiled('m.so')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize("name", ["int", "a-b", "rondel_x", "1x"])
def test_a_name_that_c_does_not_take_is_refused(tmp_path, name):
    with pytest.raises(rondel.CallerError, match="no identifier of C"):
        rondel.compile_model(ROOT, tmp_path / "m.so", name=name)


def test_without_a_c_compiler_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(rondel.UnsupportedError, match="needs a C compiler to link it.*install"):
        rondel.compile_model(ROOT, tmp_path / "m.so")
    monkeypatch.setenv("CC", "/nothing/cc")
    with pytest.raises(rondel.UnsupportedError, match="CC is '/nothing/cc', which is no program"):
        rondel.compile_model(ROOT, tmp_path / "m.so")


def one_op(op):
    return model(f"g (float[n] x) => (float[n] y) {{ y = {op} (x) }}")


def test_a_file_that_was_replaced_is_loaded_anew(tmp_path):
    x = np.array([-1, 2], F32)
    for op, want in (("Neg", [1, -2]), ("Abs", [1, 2]), ("Neg", [1, -2])):
        loaded, _ = compiled(tmp_path, one_op(op))
        assert loaded.run(None, {"x": x})[0].tolist() == want
        again = rondel.load_compiled(tmp_path / "model.so")
        assert again.run(None, {"x": x})[0].tolist() == want


def test_what_is_no_file_and_the_model_itself_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(rondel.CallerError, match="pipe.*no file"):
        rondel.compile_model(one_op("Neg"), tmp_path / "pipe")
    onnx.save(one_op("Neg"), tmp_path / "model.onnx")
    before = (tmp_path / "model.onnx").read_bytes()
    for places in ({"path": tmp_path / "model.onnx"}, {"path": tmp_path / "model.so", "header": tmp_path / "model.onnx"}):
        with pytest.raises(rondel.CallerError, match="model.onnx is the model itself"):
            rondel.compile_model(tmp_path / "model.onnx", **places)
    assert (tmp_path / "model.onnx").read_bytes() == before


def test_threads_may_compile_to_one_path(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda op: rondel.compile_model(one_op(op), tmp_path / "model.so"), ["Neg"] * 6))
    assert rondel.load_compiled(tmp_path / "model.so").run(None, {"x": np.ones(1, F32)})[0].tolist() == [-1]


def test_functions_of_this_process_are_refused_by_name(tmp_path):
    rondel.register_op("my.ops", "Half", lambda x: x / 2)
    try:
        made = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21, "my.ops" : 1]> g (float[n] x) => (float[n] y) { y = my.ops.Half (x) }')
        for allow_steps in (False, True):
            with pytest.raises(rondel.UnsupportedError, match="my.ops.Half is a function of this process"):
                rondel.compile_model(made, tmp_path / "model.so", allow_steps=allow_steps)
    finally:
        rondel.unregister_op("my.ops", "Half")


def test_a_failed_link_leaves_what_was_there(tmp_path, monkeypatch):
    old = tmp_path / "model.so"
    old.write_text("old")
    monkeypatch.setenv("CC", "/bin/false")
    with pytest.raises(rondel.UnsupportedError, match="cannot link"):
        rondel.compile_model(ROOT, old)
    assert old.read_text() == "old" and os.listdir(tmp_path) == ["model.so"]


def test_code_for_another_processor_runs_here_or_is_refused_with_a_sentence(tmp_path):
    feeds = NATIVE["root"][1][2]
    want = rondel.InferenceSession(ROOT).run(None, feeds)
    loaded, report = compiled(tmp_path, ROOT, "old", cpu="x86-64-v2")
    assert report.cpu == "x86-64-v2" and "avx" not in report.instruction_sets
    same_bits(loaded.run(None, feeds), want)
    flags = set(re.search(r"flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text())[1].split())
    if "avx512_fp16" not in flags:
        report = rondel.compile_model(ROOT, tmp_path / "new.so", cpu="sapphirerapids")
        with pytest.raises(rondel.UnsupportedError, match="was compiled for the processor sapphirerapids, and this one lacks .*avx512fp16"):
            rondel.load_compiled(report.library)
    with pytest.raises(rondel.CallerError, match="there is no processor 'pdp11' of 64 bits"):
        rondel.compile_model(ROOT, tmp_path / "m.so", cpu="pdp11")


# ---- files that are no compiled models


def test_foreign_and_damaged_files_are_refused_before_the_loader_sees_them(tmp_path):
    _, report = compiled(tmp_path, ROOT)
    whole = pathlib.Path(report.library).read_bytes()
    broken = tmp_path / "broken.so"
    for length in [0, 3, 63, 64, 200, 4096, len(whole) // 2, len(whole) - 1]:
        broken.write_bytes(whole[:length])
        with pytest.raises(rondel.CallerError, match="is cut off|is no compiled model"):
            rondel.load_compiled(broken)
    (tmp_path / "text.so").write_text("not code")
    for path, what in [(tmp_path / "text.so", "no compiled model"), (tmp_path, "is no file"), (tmp_path / "none.so", "there is no such file")]:
        with pytest.raises(rondel.CallerError, match=what):
            rondel.load_compiled(path)
    with pytest.raises(rondel.CallerError, match="no compiled model"):
        rondel.load_compiled(ctypes.util.find_library("m") and "/lib/x86_64-linux-gnu/libm.so.6")
    at = whole.index(b"Rondel\0") + 8
    broken.write_bytes(whole[:at] + b"\x63" + whole[at + 1 :])
    with pytest.raises(rondel.UnsupportedError, match="another version of Rondel"):
        rondel.load_compiled(broken)


# ---- what a session does


def test_wrong_inputs_have_the_errors_of_a_session(tmp_path):
    loaded, _ = compiled(tmp_path, ROOT)
    for feeds, what in [
        ({}, "Required inputs"),
        ({"a": np.ones(3)}, r"input 'a' is f64\[3\]; expected f32\[n\]"),
        ({"a": np.ones((3, 1), F32)}, r"input 'a' is f32\[3,1\]; expected f32\[n\]"),
        ({"a": np.ones(3, F32), "b": 1}, "there is no input 'b'"),
    ]:
        with pytest.raises(rondel.CallerError, match=what):
            loaded.run(None, feeds)
    same_bits(loaded.run(["steps"], {"a": np.ones((6, 2), F32)[::2, 0]}), rondel.InferenceSession(ROOT).run(["steps"], {"a": np.ones(3, F32)}))


def test_limits_and_pickles_are_those_of_a_session(tmp_path):
    forever = model("""
    g (float x) => (float y) { y = Loop ("", "", x) <body = b (int64 i, bool go, v) => (bool on, w) { on = Identity (go)  w = Mul (v, v) }> }""")
    loaded, _ = compiled(tmp_path, forever)
    x = {"x": np.array(1, F32)}
    for error, words, limits in [
        (rondel.DeadlineExceeded, "deadline", {"deadline": 0.05}),
        (rondel.LimitExceeded, "trip 1000: the budget of 1000 trips is used up", {"max_trips": 1000}),
        (rondel.LimitExceeded, "memory", {"max_memory_bytes": 0}),
        (rondel.CallerError, "max_trips is 0; a compiled model expects 1 or more", {"max_trips": 0}),
    ]:
        with pytest.raises(error, match=words):
            loaded.run(None, x, run_options(**limits))
    options = rondel.RunOptions()
    threading.Timer(0.1, lambda: setattr(options, "terminate", True)).start()
    with pytest.raises(rondel.Cancelled):
        loaded.run(None, x, options)
    with pytest.raises(rondel.Cancelled):  # the flag is set
        compiled(tmp_path, model("g (float x) => (float y) { y = Neg (x) }"))[0].run(None, x, options)
    assert pickle.loads(pickle.dumps(loaded)).get_inputs()[0].name == "x"


def test_what_needs_a_graph_is_refused(tmp_path):
    loaded, _ = compiled(tmp_path, model("g (float x) => (float y) { y = Neg (x) }"))
    for call in (lambda m: m.ir_text(), rondel.export, lambda m: rondel.grad(m, "x"), lambda m: rondel.jvp(m, "x")):
        with pytest.raises(rondel.UnsupportedError, match="needs the graph of the model, which a compiled model does not have"):
            call(loaded)


def test_two_threads_run_one_model(tmp_path):
    proto, feeds = NATIVE["lstm"]
    loaded, _ = compiled(tmp_path, proto)
    want = [rondel.InferenceSession(proto).run(None, one) for one in feeds]
    wrong = []

    def work(k):
        for _ in range(200):
            got = loaded.run(None, feeds[k])
            if any(a.tobytes() != b.tobytes() for a, b in zip(got, want[k])):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_random_numbers_follow_the_seed(tmp_path):
    proto = model("g (float[n] x) => (float[n] y) { r = RandomNormalLike (x)  y = Add (x, r) }")
    loaded, _ = compiled(tmp_path, proto)
    session = rondel.InferenceSession(proto)
    options = rondel.RunOptions()
    options.seed = 7
    feeds = {"x": np.zeros(9, F32)}
    same_bits(loaded.run(None, feeds, options), session.run(None, feeds, options))


def test_an_input_with_a_default_may_be_left_out(tmp_path):
    proto = model("g (float[2] x, float[2] b) => (float[2] y) { y = Add (x, b) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], F32), "b"))
    loaded, _ = compiled(tmp_path, proto)
    assert loaded.run(None, {"x": np.zeros(2, F32)})[0].tolist() == [1, 2]
    assert loaded.run(None, {"x": np.zeros(2, F32), "b": np.ones(2, F32)})[0].tolist() == [1, 1]


@pytest.mark.parametrize("first", range(0, COUNT, 10))
def test_random_programs_have_the_bits_of_a_session(tmp_path, first):
    """The programs of tests/fuzz, for the shapes of their feeds."""
    compared = 0
    for seed in range(first, first + 10):
        try:
            made = program(seed)
        except Rejected:
            continue
        data = made.model.SerializeToString()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = rondel.InferenceSession(data)
            if any(not p.type.startswith("tensor(") for p in [*session.get_inputs(), *session.get_outputs()]):
                continue
            shapes = [{name: list(np.shape(x)) for name, x in case.feeds.items()} for case in made.cases]
            loaded, _ = compiled(tmp_path, data, f"p{seed}", shapes=shapes, allow_steps=True)
        for case in made.cases:
            outcomes = []
            for runs in (session, loaded):
                options = rondel.RunOptions()
                options.deadline = 20
                try:
                    outcomes.append(runs.run(None, case.feeds, options))
                except rondel.Error as error:
                    outcomes.append((type(error).__mro__[1:], str(error)))
            if isinstance(outcomes[0], tuple) or isinstance(outcomes[1], tuple):
                assert outcomes[0] == outcomes[1], seed
            else:
                same_bits(outcomes[1], outcomes[0])
            compared += 1
    assert compared > 0


# ---- C

PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "root.h"

static int fails(const char* what, const rondel_tensor* inputs, size_t count) {
  rondel_results* r = root_run(inputs, count, NULL);
  const int failed = r->status == RONDEL_INVALID && r->count == 0 && strstr(r->error, what) != NULL;
  if (!failed) printf("expected '%s': %d %s\n", what, r->status, r->error);
  root_free(r);
  return failed;
}

int main(void) {
  const float a[] = {2, 9, 100};
  const int64_t shape[] = {3}, square[] = {3, 1}, negative[] = {-1};
  const rondel_tensor good[ROOT_INPUT_COUNT] = {[ROOT_INPUT_A] = {RONDEL_F32, 1, shape, a}};
  const rondel_tensor bad[] = {{RONDEL_F64, 1, shape, a},  {RONDEL_F32, 2, square, a}, {RONDEL_F32, 1, NULL, a}, {RONDEL_F32, 1, shape, NULL},
                               {RONDEL_F32, 1, negative, a}, {99, 1, shape, a}, {RONDEL_F32, 1, shape, (const char*)a + 1}, {RONDEL_STRING, 1, shape, a},
                               {RONDEL_LEFT_OUT, 0, NULL, NULL}, {RONDEL_F32, -2, shape, a}};
  const char* what[] = {"expected f32[n]", "expected f32[n]", "shape is a null pointer", "data is a null pointer", "input 'a'", "its dtype is 99",
                        "not aligned", "expected f32", "input 'a' is missing", "its rank is -2"};
  for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k)
    if (!fails(what[k], &bad[k], 1)) return 1;
  if (!fails("0 inputs are given", good, 0) || !fails("null pointer", NULL, 1)) return 1;

  const char* error = NULL;
  const rondel_ports* ports = root_ports(&error);
  if (ports == NULL) return printf("%s\n", error), 1;
  printf("%s %s %s\n", ports->inputs[0].name, ports->inputs[0].type, ports->inputs[0].shape[0]);
  rondel_run_options options = {.max_trips = 2};
  rondel_results* r = root_run(good, ROOT_INPUT_COUNT, &options);
  printf("%d %s\n", r->status == RONDEL_LIMIT, r->error);
  root_free(r);
  r = root_run(good, ROOT_INPUT_COUNT, NULL);
  if (r->status != RONDEL_OK) return printf("%s\n", r->error), 1;
  const rondel_tensor root = r->outputs[ROOT_OUTPUT_R], steps = r->outputs[ROOT_OUTPUT_STEPS];
  const float* roots = root.data;
  printf("%g %g %g after %d trips\n", roots[0], roots[1], roots[2], (int)steps.shape[0]);
  root_free(r);
  return 0;
}
"""


@pytest.mark.parametrize("compiler", ["cc", "clang-14"])
def test_a_c_program_calls_a_compiled_model(tmp_path, compiler):
    rondel.compile_model(ROOT, tmp_path / "root.so")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "program.c", "./root.so", "-o", "program"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "program"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        "a tensor(float) n",
        "1 node 'r' (Loop), trip 2: the budget of 2 trips is used up; raise the run's max_trips",
        "1.41421 3 10 after 8 trips",
    ]


def test_the_header_is_cxx_too_and_two_models_share_a_program(tmp_path):
    rondel.compile_model(ROOT, tmp_path / "root.so")
    rondel.compile_model(BRANCH, tmp_path / "branch.so")
    (tmp_path / "both.cpp").write_text("""
    #include "root.h"
    #include "branch.h"
    int main() {
      const float x[] = {4};
      const int64_t one[] = {1};
      const bool c = true;
      const rondel_tensor a{RONDEL_F32, 1, one, x}, inputs[] = {a, {RONDEL_BOOL, 0, nullptr, &c}};
      auto *r = root_run(&a, 1, nullptr), *b = branch_run(inputs, BRANCH_INPUT_COUNT, nullptr);
      const bool right = r->status == RONDEL_OK && b->status == RONDEL_OK && *static_cast<const float*>(r->outputs[0].data) == 2 &&
                         *static_cast<const float*>(b->outputs[0].data) > 54;
      root_free(r);
      branch_free(b);
      return right ? 0 : 1;
    }""")
    subprocess.run(["g++", "-Wall", "-Werror", "both.cpp", "./root.so", "./branch.so", "-o", "both"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "both"], cwd=tmp_path, check=True)


# ---- the command


def rondel_command(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "rondel_cli.main", *arguments], cwd=folder, capture_output=True, text=True)


def test_the_command(tmp_path):
    onnx.save(ROOT, tmp_path / "root.onnx")
    onnx.save(WORDS, tmp_path / "words.onnx")
    done = rondel_command(tmp_path, "compile", "root.onnx", "-o", "root.so", "--shape", "a=?", "--cpu", "x86-64-v2", "-i", "a=random:f32[5]")
    assert done.returncode == 0, done.stderr
    assert "wrote root.so" in done.stdout and "wrote root.h" in done.stdout and "x86-64-v2" in done.stdout
    refused = rondel_command(tmp_path, "compile", "words.onnx", "-o", "words.so")
    assert refused.returncode == 3 and "(Where)" in refused.stderr and not (tmp_path / "words.so").exists()
    allowed = rondel_command(tmp_path, "compile", "words.onnx", "-o", "words.so", "--allow-steps")
    assert allowed.returncode == 0 and "(Where)" in allowed.stdout
    for wrong in (["--shape", "a"], ["--shape", "a=x"]):
        assert rondel_command(tmp_path, "compile", "root.onnx", "-o", "root.so", *wrong).returncode == 2
    assert rondel_command(tmp_path, "compile", "root.onnx", "-o", "none/root.so").returncode == 1
