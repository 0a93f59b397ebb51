"""Every run ends soon after its deadline, its terminate flag or Ctrl-C, whatever it computes.

Each case is a run that would take seconds. loops.md promises a millisecond; the tests assert a looser
bound. Test machines are shared: where a bound is missed, it is multiplied by how many times as long any computation
takes at that time. `bench/stops.py` measures.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import rondel
from long_runs import CASES, HEAD, f32, overrun, session_of, slowdown

SANITIZED = os.environ.get("RONDEL_SANITIZED", "")
SLOWER = {"address": 10, "thread": 50}.get(SANITIZED, 1)
"""Work that is done between two looks at the clock takes longer under a sanitizer (`./dev` says under which): a
convolution ended 36 ms after its deadline under that of addresses, a TopK 380 ms under that of threads. 1 in all
other runs."""
BOUND = 0.25 * SLOWER
"""Seconds, of one run."""
USUAL = 0.01 * SLOWER
"""Seconds, of the median of some."""


def within(bound, measure):
    """Whether a measurement in seconds is below the bound, of three; what other processes take of the cores does not count."""
    for _ in range(3):
        seconds = measure()
        if seconds < bound or seconds < bound * slowdown():
            return True
        print(f"{seconds * 1e3:.1f} ms")
    return False


@pytest.mark.parametrize("jit", ["1", "0"], ids=["native", "interpreted"])
@pytest.mark.parametrize("case", CASES)
def test_a_deadline_ends_it(case, jit, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    graph, feeds = CASES[case]
    session, given = session_of(graph), feeds()
    assert within(USUAL, lambda: statistics.median(overrun(session, given) for _ in range(5)))


@pytest.mark.parametrize("jit", ["2", "1", "0"], ids=["compiled", "tiered", "interpreted"])
def test_a_deadline_ends_a_first_run_at_any_moment(jit, monkeypatch):
    """A first run infers shapes, lowers, and waits for code: the deadlines fall into each of these phases."""
    monkeypatch.setenv("RONDEL_JIT", jit)
    body = " ".join(f"v{k + 1} = {op} (v{k})" for k, op in enumerate(
        ["Sin", "Exp", "Tanh", "Neg", "Abs", "Sqrt", "Erf", "Floor"] * 30))
    graph = f"""g (float[n] x) => (float[n] y, float[m,p] z) {{
        axis = Constant <value_int = 0> () t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        m = Constant <value_int = 3> ()
        y, z = Loop (m, go, x) <body = step (int64 i, bool c, float[n] v0) => (bool d, float[n] v240, float[n] w) {{
            d = Identity (c) {body} w = CumSum (v240, axis) }}> }}"""
    feeds = {"x": f32(7)}
    for _ in range(2):  # the first run includes the set-up of the process
        session = session_of(graph)
        begin = time.perf_counter()
        session.run(None, feeds)
    whole = time.perf_counter() - begin
    late = []
    for k in range(16):
        session = session_of(graph)
        try:
            late.append(overrun(session, feeds, whole * k / 20))
        except AssertionError:  # this run ended before its deadline
            pass
    print(f"first run {whole * 1e3:.1f} ms, over by {[round(1e3 * x, 1) for x in sorted(late)[-5:]]} ms")
    assert len(late) > 5
    if statistics.median(late) >= USUAL or max(late) >= BOUND:
        factor = slowdown()
        assert statistics.median(late) < USUAL * factor and max(late) < BOUND * factor


ENDLESS = """g (float x) => (float y) { t = Constant <value_int = 1> () go = Cast <to = 9> (t)
    y = Loop (, go, x) <body = step (int64 i, bool c, float s) => (bool d, float z) { d = Identity (c) z = Add (s, x) }> }"""
PRODUCT = "g (float[m,k] a, float[k,n] b) => (float[m,n] y) { y = MatMul (a, b) }"


def test_short_deadlines_do_not_keep_a_session_from_getting_ready():
    """A second run finishes the preparation that an earlier run began, whatever its deadline."""
    body = " ".join(f"v{k + 1} = {op} (v{k})" for k, op in enumerate(["Sin", "Exp", "Tanh", "Neg"] * 500))
    session = session_of(f"g (float[n] v0) => (float[n] v2000) {{ {body} }}")
    options = rondel.RunOptions()
    for deadline in (0.0005,) * 8:
        options.deadline = deadline
        with contextlib.suppress(rondel.DeadlineExceeded):
            session.run(None, {"v0": f32(3)}, options)
    options.deadline = 10
    session.run(None, {"v0": f32(3)}, options)  # prepared; the next run takes the time of a run alone
    begin = time.perf_counter()
    session.run(None, {"v0": f32(3)})
    options.deadline = 20 * (time.perf_counter() - begin)
    fresh = session_of(f"g (float[n] v0) => (float[n] v2000) {{ {body} }}")
    for _ in range(100):  # each goes on with the preparation; on a busy machine one takes more than its usual time
        with contextlib.suppress(rondel.DeadlineExceeded):
            fresh.run(None, {"v0": f32(3)}, options)
            break
    else:
        pytest.fail("no run came to its end")


@pytest.mark.parametrize("graph, feeds", [(ENDLESS, {"x": np.float32(1)}),
                                          (PRODUCT, {"a": f32(6000, 6000), "b": f32(6000, 6000)})])
def test_the_terminate_flag_ends_it(graph, feeds):
    session = session_of(graph)

    def seconds_after_the_flag():
        options, set_at = rondel.RunOptions(), []

        def end():
            set_at.append(time.perf_counter())
            options.terminate = True

        threading.Timer(0.1, end).start()
        with pytest.raises(rondel.Cancelled):
            session.run(None, feeds, options)
        return time.perf_counter() - set_at[0]

    assert within(BOUND, seconds_after_the_flag)


def run_python(code, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300,
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


# The thread sanitizer calls a handler only when the thread blocks, which a run that computes does not.
@pytest.mark.skipif(SANITIZED == "thread", reason="the thread sanitizer holds back signals")
def test_ctrl_c_ends_a_run_of_the_main_thread():
    out = run_python(INTERRUPTED + """
    for delay in 0.2, 0.005, 0.1:   # before the first look at the pipe, too
        try:
            later(delay)  # a busy machine may send it before the run
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
    assert max(map(float, out[:3])) < BOUND or max(map(float, out[:3])) < BOUND * slowdown(), out


def test_a_handler_of_the_callers_own_is_called_after_the_run():
    out = run_python(INTERRUPTED + """
    called = []
    signal.signal(signal.SIGINT, lambda *_: called.append(1))
    later(0.05)
    try:
        run(1.0)
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
        run(1.0)
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
            signal.alarm(120)
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
    assert len(out) == 4, out
    assert max(map(float, out)) < BOUND or max(map(float, out)) < BOUND * slowdown(), out


# "ThreadSanitizer: dup thread with used id": it supports no new threads after a fork of a process with threads.
@pytest.mark.skipif(SANITIZED == "thread", reason="the thread sanitizer supports no threads of a child of fork")
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


def test_a_deadline_ends_one_large_program():
    session = session_of("g (float[n] a) => (float[n] y) { b = Sin (a) c = Exp (b) d = Tanh (c) e = Cos (d) f = Sin (e) y = Exp (f) }")
    x = f32(30_000_000)
    assert within(BOUND, lambda: overrun(session, {"a": x}, 0.02))


def test_the_result_of_a_run_past_its_deadline_is_not_returned():
    """The last step may end after the deadline: the copy of a large result is part of the run."""
    session = session_of("g (float[n] x) => (float[n] y) { y = Identity (x) }")
    x = f32(1 << 29)
    assert within(BOUND, lambda: overrun(session, {"x": x}, 0.02))


@pytest.mark.parametrize("options", ["none", "default"])
def test_runs_that_follow_each_other_do_not_wake_the_thread_that_watches_them(options):
    """The thread looks from time to time; a wake for each run costs a short run more than its work."""
    switches = run_python(FORKED + f"""
    session = session_of("g (float[n] x) => (float[n] y) {{ y = Neg (x) }}")
    feeds, options = {{"x": np.ones(3, np.float32)}}, {{"none": None, "default": rondel.RunOptions()}}[{options!r}]
    def sleeps():
        for task in os.listdir("/proc/self/task"):
            if open(f"/proc/self/task/{{task}}/comm").read().strip() == "rondel-watch":
                status = open(f"/proc/self/task/{{task}}/status").read()
                return int(status.split("voluntary_ctxt_switches:")[1].split()[0])
    session.run(None, feeds, options)
    before, begin = sleeps(), time.monotonic()
    for _ in range(5000): session.run(None, feeds, options)
    print(sleeps() - before, time.monotonic() - begin)
    """)
    count, seconds = switches.split()
    assert int(count) < 500 + float(seconds) / 300e-6
