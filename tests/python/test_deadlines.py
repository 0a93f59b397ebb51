"""Every run ends soon after its deadline, its terminate flag or Ctrl-C, whatever it is doing.

Each case is a run that would take seconds. loops.md promises a millisecond; the bound here is a
quarter of a second because test machines are shared. `pytest -s` prints the overshoots.
"""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from onnx.parser import parse_model

import rondel

DEADLINE = 0.05
BOUND = 0.25
HEAD = '<ir_version: 9, opset_import: ["": 18]>'


def f32(*shape):
    return np.ones(shape, np.float32)


# name: graph, feeds. Sizes are such that one core takes seconds.
CASES = {
    "matmul": ("g (float[m,k] a, float[k,n] b) => (float[m,n] y) { y = MatMul (a, b) }",
               lambda: {"a": f32(6000, 6000), "b": f32(6000, 6000)}),
    "matmul of known extents": (
        "g (float[6000,6000] a, float[6000,6000] b) => (float[6000,6000] y) { y = MatMul (a, b) }",
        lambda: {"a": f32(6000, 6000), "b": f32(6000, 6000)}),
    "matmul, few long rows": (
        "g (float[m,k] a, float[k,n] b) => (float[m,n] y) { y = MatMul (a, b) }",
        lambda: {"a": f32(40, 1 << 22), "b": f32(1 << 22, 16)}),
    "matmul of float16": (
        "g (float16[m,k] a, float16[k,n] b) => (float16[m,n] y) { y = MatMul (a, b) }",
        lambda: {"a": np.ones((4000, 4000), np.float16), "b": np.ones((4000, 4000), np.float16)}),
    "gemm": ("g (float[m,k] a, float[n,k] b, float[n] c) => (float[m,n] y) { y = Gemm <transB = 1> (a, b, c) }",
             lambda: {"a": f32(6000, 6000), "b": f32(6000, 6000), "c": f32(6000)}),
    "conv of one image": ("g (float[n,c,h,w] x, float[m,c,5,5] w) => (float[n,m,p,q] y) { y = Conv (x, w) }",
                          lambda: {"x": f32(1, 128, 900, 900), "w": f32(128, 128, 5, 5)}),
    "conv of a batch": ("g (float[n,c,h,w] x, float[m,c,5,5] w) => (float[n,m,p,q] y) { y = Conv (x, w) }",
                        lambda: {"x": f32(1000, 64, 60, 60), "w": f32(128, 64, 5, 5)}),
    "max pool": ("g (float[n,c,h,w] x) => (float[n,c,p,q] y) { y = MaxPool <kernel_shape = [15, 15]> (x) }",
                 lambda: {"x": f32(1, 1, 4000, 4000)}),
    "global pool of one plane": ("g (float[n,c,h,w] x) => (float[n,c,p,q] y) { y = GlobalAveragePool (x) }",
                                 lambda: {"x": f32(1, 1, 20000, 20000)}),
    "cumsum": ("""g (float[n,m] x) => (float[n,m] y) { axis = Constant <value_int = 0> ()
               a = CumSum (x, axis) b = CumSum (a, axis) c = CumSum (b, axis) y = CumSum (c, axis) }""",
               lambda: {"x": f32(50_000_000, 2)}),
    "cumsum of one row": ("""g (double[n] x) => (double[n] y) { axis = Constant <value_int = 0> ()
                          a = CumSum (x, axis) b = CumSum (a, axis) c = CumSum (b, axis) y = CumSum (c, axis) }""",
                          lambda: {"x": np.ones(100_000_000)}),
    "concat": ("g (float[n,m] x) => (float[p,q] y) { a = Concat <axis = 1> (x, x, x, x) y = Concat <axis = 1> (a, a, a) }",
               lambda: {"x": f32(8_000_000, 4)}),
    "scatter_nd": ("""g (float[n] x, int64[k,1] i, float[k] u) => (float[n] y) {
                   a = ScatterND <reduction = "add"> (x, i, u) b = ScatterND <reduction = "add"> (a, i, u)
                   c = ScatterND <reduction = "add"> (b, i, u) y = ScatterND <reduction = "add"> (c, i, u) }""",
                   lambda: {"x": f32(100_000_000), "i": random_indices(30_000_000, 100_000_000)[:, None],
                            "u": f32(30_000_000)}),
    "top_k": ("g (float[n] x, int64[1] k) => (float[p] y, int64[p] i) { y, i = TopK (x, k) }",
              lambda: {"x": np.random.default_rng(1).random(20_000_000, np.float32), "k": np.array([10_000_000])}),
    "non_zero": ("g (float[n] x) => (int64[1,p] y) { a = NonZero (x) b = Cast <to = 1> (a) y = NonZero (b) }",
                 lambda: {"x": f32(150_000_000)}),
    "reduction": ("""g (float[n] x) => (float y) { a = Exp (x) b = Sin (a) c = Exp (b) d = Sin (c) e = Exp (d)
                  y = ReduceSum <keepdims = 0> (e) }""", lambda: {"x": f32(100_000_000)}),
    "softmax of one row": ("g (float[n] x) => (float[n] y) { a = Softmax (x) b = Softmax (a) c = Softmax (b) y = Softmax (c) }",
                           lambda: {"x": f32(100_000_000)}),
    "numbers to text": ("g (float[n] x) => (string[n] y) { y = Cast <to = 8> (x) }",
                        lambda: {"x": np.random.default_rng(1).random(3_000_000, np.float32)}),
    "one trip of element-wise work": (
        """g (float[n] x) => (float[n] y) { m = Constant <value_int = 1> () t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        y = Loop (m, go, x) <body = step (int64 i, bool c, float[n] s) => (bool d, float[n] z) { d = Identity (c)
        e = Sin (s) f = Exp (e) h = Sin (f) j = Exp (h) k = Sin (j) l = Exp (k) o = Sin (l) z = Exp (o) }> }""",
        lambda: {"x": f32(60_000_000)}),
    "one trip of a product": (
        """g (float[n,n] x) => (float[n,n] y) { m = Constant <value_int = 1> () t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        y = Loop (m, go, x) <body = step (int64 i, bool c, float[n,n] s) => (bool d, float[n,n] z) { d = Identity (c)
        z = MatMul (s, x) }> }""",
        lambda: {"x": f32(6000, 6000)}),
    "one trip of a nest": (
        """g (float[n] x) => (float[n] y) { m = Constant <value_int = 1> () t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        axis = Constant <value_int = 0> ()
        y = Loop (m, go, x) <body = step (int64 i, bool c, float[n] s) => (bool d, float[n] z) { d = Identity (c)
        a = CumSum (s, axis) b = CumSum (a, axis) e = CumSum (b, axis) z = CumSum (e, axis) }> }""",
        lambda: {"x": f32(150_000_000)}),
    "a loop of scalars": (
        """g (float x) => (float y) { m = Constant <value_int = 9000000000000> () t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        y = Loop (m, go, x) <body = step (int64 i, bool c, float s) => (bool d, float z) { d = Identity (c)
        a = Mul (s, x) z = Add (a, x) }> }""",
        lambda: {"x": np.float32(1)}),
}


def random_indices(count, below):
    return np.random.default_rng(0).integers(0, below, count)


def session_of(graph):
    return rondel.InferenceSession(parse_model(f"{HEAD} {graph}"))


def overshoot(session, feeds, options=None, error=rondel.DeadlineExceeded):
    options = options or rondel.RunOptions()
    options.deadline = options.deadline or DEADLINE
    begin = time.perf_counter()
    with pytest.raises(error):
        session.run(None, feeds, options)
    return time.perf_counter() - begin - DEADLINE


@pytest.mark.parametrize("jit", ["1", "0"], ids=["native", "interpreted"])
@pytest.mark.parametrize("case", CASES)
def test_a_deadline_ends_it(case, jit, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    graph, feeds = CASES[case]
    session = session_of(graph)
    given = {name: x for name, x in feeds().items()}
    worst = max(overshoot(session, given) for _ in range(2))
    print(f"{case} ({'native' if jit == '1' else 'interpreted'}): {worst * 1e3:.1f} ms over")
    assert worst < BOUND


ENDLESS = """g (float x) => (float y) { t = Constant <value_int = 1> () go = Cast <to = 9> (t)
    y = Loop (, go, x) <body = step (int64 i, bool c, float s) => (bool d, float z) { d = Identity (c) z = Add (s, x) }> }"""
PRODUCT = "g (float[m,k] a, float[k,n] b) => (float[m,n] y) { y = MatMul (a, b) }"


@pytest.mark.parametrize("graph, feeds", [(ENDLESS, {"x": np.float32(1)}),
                                          (PRODUCT, {"a": f32(6000, 6000), "b": f32(6000, 6000)})])
def test_the_terminate_flag_ends_it(graph, feeds):
    session, options = session_of(graph), rondel.RunOptions()
    set_at = []

    def end():
        set_at.append(time.perf_counter())
        options.terminate = True

    timer = threading.Timer(0.1, end)
    timer.start()
    with pytest.raises(rondel.Cancelled):
        session.run(None, feeds, options)
    over = time.perf_counter() - set_at[0]
    print(f"{over * 1e3:.1f} ms after the flag")
    assert over < BOUND


def run_python(code, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60,
                          env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.strip())
    return done.stdout


INTERRUPTED = f"""
    import os, signal, threading, time
    import numpy as np, rondel
    from onnx.parser import parse_model
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in what they run in the background
    ENDLESS = '''{HEAD} {ENDLESS}'''
    session = rondel.InferenceSession(parse_model(ENDLESS))
    sent = []
    def later(delay, number=signal.SIGINT):
        def send():
            sent.append(time.perf_counter())
            os.kill(os.getpid(), number)
        threading.Timer(delay, send).start()
    def run(deadline=30.0):
        options = rondel.RunOptions()
        options.deadline = deadline
        session.run(None, {{"x": np.float32(1)}}, options)
"""


def test_ctrl_c_ends_a_run_of_the_main_thread():
    out = run_python(INTERRUPTED + """
    for delay in 0.2, 0.005, 0.1:   # before the first look at the pipe, too
        later(delay)
        try:
            run()
        except KeyboardInterrupt:
            print(time.perf_counter() - sent[-1])
    # What ended that run does not end the next.
    try:
        run(0.05)
    except rondel.DeadlineExceeded:
        print("done")
    """).split()
    assert out[-1] == "done" and len(out) == 4, out
    assert all(float(seconds) < BOUND for seconds in out[:3]), out


def test_a_handler_of_the_callers_own_is_called_after_the_run():
    out = run_python(INTERRUPTED + """
    called = []
    signal.signal(signal.SIGINT, lambda *_: called.append(1))
    later(0.05)
    try:
        run(0.3)
    except rondel.DeadlineExceeded:
        print(called)
    """)
    assert out.strip() == "[1]"


def test_other_signals_end_nothing():
    out = run_python(INTERRUPTED + """
    called = []
    signal.signal(signal.SIGUSR1, lambda *_: called.append(1))
    later(0.05, signal.SIGUSR1)
    try:
        run(0.3)
    except rondel.DeadlineExceeded:
        print(called)
    """)
    assert out.strip() == "[1]"


FORKED = f"""
    import os, signal, sys, time
    import numpy as np, rondel
    from onnx.parser import parse_model
    HEAD = '''{HEAD}'''
    def session_of(graph): return rondel.InferenceSession(parse_model(HEAD + graph))
    def deadline(seconds):
        options = rondel.RunOptions()
        options.deadline = seconds
        return options
    def in_child(work):
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            work()
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status
    endless = session_of('''{ENDLESS}''')
    def honoured():
        begin = time.perf_counter()
        try: endless.run(None, {{"x": np.float32(1)}}, deadline(0.05))
        except rondel.DeadlineExceeded: print(time.perf_counter() - begin - 0.05)
"""


def test_a_child_of_fork_honours_deadlines():
    out = run_python(FORKED + """
    honoured()          # begins the watchdog here
    in_child(honoured)
    in_child(lambda: in_child(honoured))
    honoured()          # and the parent's goes on
    """).split()
    assert len(out) == 4 and all(float(seconds) < BOUND for seconds in out), out


def test_a_child_of_fork_compiles():
    out = run_python(FORKED + f"""
    product = '''{PRODUCT}'''
    a = np.ones((1000, 1000), np.float32)
    def multiply(session):
        assert session.run(None, {{"a": a, "b": a}})[0][0, 0] == 1000
        print("multiplied")
    before = session_of(product)
    multiply(before)                                # compiled in the parent
    fresh = session_of(product)
    in_child(lambda: (multiply(before), multiply(fresh), multiply(session_of(product))))
    multiply(fresh)
    """)
    assert out.split() == ["multiplied"] * 5


def test_a_child_of_fork_convolves():
    run_python(FORKED + """
    conv = session_of("g (float[n,c,h,w] x, float[m,c,3,3] w) => (float[n,m,p,q] y) { y = Conv (x, w) }")
    feeds = {"x": np.ones((2, 16, 64, 64), np.float32), "w": np.ones((16, 16, 3, 3), np.float32)}
    def convolve(): assert conv.run(None, feeds)[0][0, 0, 0, 0] == 144
    convolve()
    in_child(convolve)
    """)


def test_the_result_of_a_run_past_its_deadline_is_not_returned():
    """The last step may end after the deadline: the copy of a large result counts as well."""
    session = session_of("g (float[n] x) => (float[n] y) { y = Identity (x) }")
    x = f32(1 << 29)
    options = rondel.RunOptions()
    options.deadline = 0.02
    begin = time.perf_counter()
    with pytest.raises(rondel.DeadlineExceeded):
        session.run(None, {"x": x}, options)
    assert time.perf_counter() - begin < 0.02 + BOUND
