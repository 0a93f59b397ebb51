"""intra_op_num_threads is respected: the number of threads that runs of a fresh process start. Nothing else depends on it."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from models import model
from onnx import numpy_helper

import rondel

# For each given count, runs a session with it and prints the number of threads started since the beginning,
# without the watchdog and the compiler thread, which every process has.
BEGUN = """
import pathlib, sys
import numpy as np, onnx.parser, rondel

def names():
    return {p.name: (p / "comm").read_text().strip() for p in pathlib.Path("/proc/self/task").iterdir()}

text = '''<ir_version: 10, opset_import: ["" : 21]>
main (float[1, 32, 64, 64] x, float[32, 32, 3, 3] w) => (float[] y) { y = Conv (x, w) }'''
feeds = {"x": np.ones((1, 32, 64, 64), np.float32), "w": np.ones((32, 32, 3, 3), np.float32)}
limits = rondel.RunOptions()
limits.deadline = 100
before = names()
for count in sys.argv[1:]:
    options = rondel.SessionOptions()
    options.intra_op_num_threads = int(count)
    session = rondel.InferenceSession(onnx.parser.parse_model(text), options)
    for _ in range(3):
        session.run(None, feeds, limits)
    new = [name for task, name in names().items() if task not in before]
    assert "rondel-watch" in new, new
    print(len([name for name in new if name not in ("rondel-watch", "rondel-compile")]))
"""


def threads_begun(*counts):
    arguments = [sys.executable, "-c", BEGUN, *map(str, counts)]
    environment = {name: value for name, value in os.environ.items() if name not in ("RONDEL_DIVIDE", "RONDEL_JIT")}
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_session_uses_the_threads_it_was_given(count):
    assert threads_begun(count) == [count - 1]  # the calling thread is one of them


def test_sessions_of_one_process_keep_their_own_counts():
    cores = len(os.sched_getaffinity(0))
    assert threads_begun(1, 0, 1) == [0, cores - 1, cores - 1]


# ---- native code --------------------------------------------------------------------------------------------

# Each is large enough for several threads by default, and has what the division could get wrong.
LARGE = {
    "by elements": """m (float[n, k] x, int64 t) => (float[n, k] y) <bool yes = {1}> {
      y = Loop (t, yes, x) <body = step (int64 i, bool go, a) => (bool on, b) { on = Identity (go)  c = Mul (a, a)  d = Sub (c, a)  b = Sin (d) }> }""",
    "rows": "m (float[n, k] x, int64 t) => (float[n, k] y, float[n] z) { y = Softmax (x)  s = ReduceSumSquare <keepdims = 0> (x, one)  z = Sqrt (s) }",
    "map": """m (float[n, k] x, int64 t) => (float[n] y, float[n, k] z) {
      y, z = Scan <num_scan_inputs = 1, body = row (a) => (s, e) { e = Exp (a)  s = ReduceSum <keepdims = 0> (e) }> (x) }""",
    "products": "m (float[n, k] x, int64 t) => (float[k, k] y, float[n, n] z) { w = Transpose (x)  y = MatMul (w, x)  z = MatMul (x, w) }",
    "product in a loop": """m (float[n, k] x, int64 t) => (float[n, k] y) <bool yes = {1}> { w = Transpose (x)  g = MatMul (w, x)  h = Mul (g, small)
      y = Loop (t, yes, x) <body = step (int64 i, bool go, a) => (bool on, b) { on = Identity (go)  c = MatMul (a, h)  b = Tanh (c) }> }""",
    "gather": "m (float[n, k] x, int64 t) => (float[n, k] y) { r = Range (zero, ends, three)  i = Mod (r, ends)  y = Gather (x, i) }",
}


def loaded(text, threads, jit="2", divide="0"):
    made = model(text)
    for name, value in {"one": np.array([1]), "small": np.float32(1e-3), "zero": np.array(0), "three": np.array(3), "ends": np.array(700)}.items():
        if name in {i for node in made.graph.node for i in node.input}:
            made.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    options = rondel.SessionOptions()
    options.intra_op_num_threads = threads
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RONDEL_JIT", jit)
        patch.setenv("RONDEL_DIVIDE", divide)
        return rondel.InferenceSession(made, options)


def bits(session, shape=(700, 400)):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    return [y.tobytes() for y in session.run(None, {"x": x, "t": np.array(7)})]


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
def test_results_do_not_depend_on_the_number_of_threads(text):
    want = bits(loaded(text, 1))
    for threads in (2, 3, 8):
        assert bits(loaded(text, threads)) == want
    for jit in ("quick", "2"):
        assert bits(loaded(text, 3, jit, divide="1")) == want


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("divide", ["0", "1"])
def test_the_first_trip_that_fails_is_reported(threads, divide):
    """The index that is named, of the many that are out of range."""
    session = loaded("m (float[n, k] x, int64[m] i, int64 t) => (float[m, k] y) { y = Gather (x, i) }", threads, divide=divide)
    x, i = np.zeros((50, 300), np.float32), np.arange(9000) % 50
    i[1234::7] = np.arange(100, 100 + len(i[1234::7]))
    for _ in range(5):
        with pytest.raises(rondel.Error, match=r"\b100\b"):
            session.run(None, {"x": x, "i": i, "t": np.array(0)})


@pytest.mark.parametrize("threads", [2, 8])
def test_a_deadline_ends_what_threads_share(threads):
    session = loaded(LARGE["by elements"], threads)
    limits = rondel.RunOptions()
    limits.deadline = 0.05
    x = np.zeros((700, 400), np.float32)
    with pytest.raises(rondel.DeadlineExceeded):
        session.run(None, {"x": x, "t": np.array(10**7)}, limits)
    assert bits(session) == bits(loaded(LARGE["by elements"], 1))


def test_sessions_of_many_threads_share_the_pool():
    sessions = [loaded(text, 3, "quick", "1") for text in LARGE.values()]
    want = [bits(loaded(text, 1), (70, 40)) if name != "gather" else None for name, text in LARGE.items()]
    wrong = []

    def work(turn):
        for k in range(len(sessions)):
            at = (k + turn) % len(sessions)
            if want[at] is not None and bits(sessions[at], (70, 40)) != want[at]:
                wrong.append(at)

    callers = [threading.Thread(target=work, args=(turn,)) for turn in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
