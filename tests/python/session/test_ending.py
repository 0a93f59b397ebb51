"""Processes that exit while other threads run or compile, and sessions that end while their code is compiled."""

import subprocess
import sys
import textwrap
import time

import pytest
from long_runs import slowdown

PREPARED = """
import threading, time
import numpy as np, onnx, rondel
FOREVER = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 21]>
    forever (float x) => (float y) {
      y = Loop ("", "", x) <body = step (int64 i, bool go, now) => (bool on, next) { on = Identity (go)  next = Mul (now, now) }>
    }''')
# Takes LLVM a second or more.
LONG = onnx.parser.parse_model('''<ir_version: 10, opset_import: ["" : 21]>
    long (int64 n, float[64] x) => (float[64] y) {
      y = Loop (n, "", x) <body = step (int64 i, bool go, v0) => (bool on, last) { on = Identity (go)  STEPS  last = Identity (v400) }>
    }'''.replace("STEPS", "  ".join(f"v{k + 1} = Softplus (v{k})" for k in range(400))))
X = {"x": np.array(1, np.float32)}

def limits(seconds):
    limits = rondel.RunOptions()
    limits.deadline = seconds
    return limits

def begin_compiling():
    session = rondel.InferenceSession(LONG)
    try:
        session.run(None, {"n": np.array(10**9), "x": np.ones(64, np.float32)}, limits(0.5))
    except rondel.DeadlineExceeded:
        pass
    return session

def in_threads(act):
    for k in range(8):
        threading.Thread(target=act, args=(k,), daemon=True).start()
    time.sleep(0.3)
"""


def process(code):
    """Runs the code in a process; returns the seconds it took. Any output is an error."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", PREPARED + textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), (done.returncode, done.stdout + done.stderr)
    return time.monotonic() - begin


@pytest.mark.parametrize(
    "act",
    [
        "def act(k): session.run(None, X)",
        "def act(k):\n    while True:\n        try: session.run(None, X, limits(0.001 * (k + 1)))\n        except rondel.Error: pass",
        "def act(k):\n    while True: rondel.InferenceSession(FOREVER)",
        "def act(k):\n    while True: rondel.export(FOREVER)",
        "def act(k): begin_compiling()",
    ],
    ids=["endless runs", "runs with deadlines", "sessions made", "exports", "runs that wait for code"],
)
def test_a_process_may_end_while_daemon_threads_are_at_work(act):
    for _ in range(4):
        seconds = process(f"session = rondel.InferenceSession(FOREVER)\n{act}\nin_threads(act)")
        assert seconds < 20 or seconds < 20 * slowdown()


def test_a_process_may_end_while_code_is_compiled():
    for _ in range(3):
        process("begin_compiling()")
        process("kept = begin_compiling()")


def test_a_session_that_ends_does_not_wait_for_its_code():
    process(f"""
    session = begin_compiling()
    begin = time.perf_counter()
    del session
    took = time.perf_counter() - begin
    assert took < {0.15 * slowdown()}, took
    again = begin_compiling()  # what was left undone is in nobody's way
    """)


def test_a_process_may_fork_while_the_code_of_a_session_that_ended_is_compiled():
    process("""
    import os
    begin_compiling()
    pid = os.fork()
    if pid == 0:
        rondel.InferenceSession(FOREVER)
        begin_compiling()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    """)


def test_a_process_may_fork_while_another_thread_makes_the_first_session():
    process("""
    import os, signal
    first = threading.Thread(target=lambda: rondel.InferenceSession(FOREVER))
    first.start()
    children = []
    while first.is_alive() and len(children) < 8:
        pid = os.fork()
        if pid == 0:
            signal.alarm(120)
            rondel.InferenceSession(FOREVER)
            os._exit(0)
        children.append(pid)
        time.sleep(0.005)
    first.join()
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
    """)


def test_a_process_may_fork_while_other_threads_share_native_code_and_drop_it():
    """Children compile, too: the code of the process is theirs, and no lock of it was held when they began."""
    process("""
    import os
    os.environ["RONDEL_JIT"] = "quick"

    def scaled(by):
        text = f'''<ir_version: 10, opset_import: ["" : 21]>
            scaled (int64 n, float x) => (float y) <float by = {{{by}}}> {{
              y = Loop (n, "", x) <body = step (int64 i, bool go, v) => (bool on, w) {{ on = Identity (go)  w = Mul (v, by) }}>
            }}'''
        session = rondel.InferenceSession(onnx.parser.parse_model(text))
        [y] = session.run(None, {"n": np.array(2), "x": np.array(1, np.float32)})
        assert y == by**2, (y, by)

    def act(k):
        by = k
        while True:
            scaled(by % 300 + 1)
            by += 8

    in_threads(act)
    for k in range(20):
        pid = os.fork()
        if pid == 0:
            scaled(400 + k)
            scaled(1)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0, k
    """)
