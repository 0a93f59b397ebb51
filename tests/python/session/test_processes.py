"""Sessions in threads, in asyncio, in pickles and in other processes, beyond what docs/processes.md shows."""

import json
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import rondel
from models import scalar, session

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "python" / "workers.py"

# x is multiplied by its element of the trip's number: [2, 3] gives [4, 6], [24, 36]; in trip 2 Gather fails.
MODULE = '''
import asyncio, concurrent.futures, multiprocessing, os, signal, sys, threading, time
import numpy as np, onnx, rondel

POWERS = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
    powers (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, "", x) <body = step (int64 i, bool go, float[2] now) => (bool on, float[2] next) {
        on = Identity (go)  picked = Gather (now, i)  next = Mul (now, picked)
      }>
    }""")
ENDLESS = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
    endless (float x) => (float y) {
      y = Loop ("", "", x) <body = step (int64 i, bool go, now) => (bool on, next) { on = Identity (go)  next = Cos (now) }>
    }""")
X = np.array([2, 3], np.float32)

def power(session, n, options=None):
    return session.run(None, {"n": np.array(n), "x": X}, options)[0].tolist()

def in_child(work):
    """The exit code of a forked child that does this work."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
'''


def program(tmp_path, main):
    """What the program prints; spawned workers import it."""
    path = tmp_path / "program.py"
    path.write_text(MODULE + '\nif __name__ == "__main__":\n' + textwrap.indent(textwrap.dedent(main), "    "))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{how} [1.0, 8.0, 27.0]" for how in ("fork", "spawn", "the parent's session", "a pickled session")]


def test_an_error_of_a_worker_says_where_it_happened(tmp_path):
    out = program(tmp_path, """
    session = rondel.InferenceSession(POWERS)
    for method in ("fork", "spawn", "forkserver"):
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
            try:
                pool.submit(power, session, 3).result()
            except rondel.Error as error:
                print(type(error).__name__, error.trips, "Gather" in str(error), "Gather" in error.message, error.frames == error.frames[:] != ())
    """)
    assert len(out.splitlines()) == 3
    assert {line.split(" ", 1)[1] for line in out.splitlines()} == {"(2,) True False True"}


def test_limits_travel_to_a_worker(tmp_path):
    assert program(tmp_path, """
    options = rondel.SessionOptions()
    options.max_trips = 2
    session, run_options = rondel.InferenceSession(POWERS, options), rondel.RunOptions()
    run_options.max_trips = 1
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(power, session, 2).result())
        for arguments in ((3,), (2, run_options)):
            try:
                pool.submit(power, session, *arguments).result()
            except rondel.LimitExceeded as error:
                print(type(error).__name__, error.trips)
    """) == "[24.0, 36.0]\nLimitExceeded (2,)\nLimitExceeded (1,)\n"


def test_a_fork_while_other_threads_run(tmp_path):
    """The child's runs, its new sessions, its threads, its deadlines and run_async are its own; the parent's runs go on."""
    assert program(tmp_path, """
    session, endless = rondel.InferenceSession(POWERS), rondel.InferenceSession(ENDLESS)
    power(session, 2)
    stop, ended = rondel.RunOptions(), []

    def run():
        try:
            endless.run(None, {"x": np.float32(1)}, stop)
        except rondel.Cancelled:
            ended.append(1)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)

    def in_threads():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return set(map(tuple, pool.map(lambda _: power(session, 2), range(8)))) == {(24.0, 36.0)}

    def late():
        options = rondel.RunOptions()
        options.deadline = 0.05
        try:
            endless.run(None, {"x": np.float32(1)}, options)
        except rondel.DeadlineExceeded:
            return True

    def called_back():
        done, said = threading.Event(), []
        session.run_async(None, {"n": np.array(1), "x": X}, lambda *answer: (said.append(answer), done.set()), 7)
        return done.wait(60) and said[0][0][0].tolist() == [4.0, 6.0] and said[0][1:] == (7, "")

    for work in (lambda: power(session, 2) == [24.0, 36.0], lambda: power(rondel.InferenceSession(POWERS), 2) == [24.0, 36.0], in_threads, late, called_back):
        print(in_child(work), end=" ")
    print(len(ended), end=" ")
    stop.terminate = True
    for thread in threads:
        thread.join()
    print(len(ended))
    """) == "0 0 0 0 0 0 3\n"


def test_a_fork_while_another_thread_makes_its_first_run(tmp_path):
    """What that run has locked stays locked in the child, which makes plans of its own for the same session."""
    assert program(tmp_path, """
    steps = " ".join(f"v{k + 1} = {('Sin', 'Cos', 'Tanh', 'Neg')[k % 4]} (v{k})" for k in range(1500))
    body = f"step (int64 i, bool go, v0) => (bool on, last) {{ on = Identity (go)  {steps}  last = Identity (v1500) }}"
    text = f"long (int64 n, float[m] x) => (float[m] y) {{ y = Loop (n, , x) <body = {body}> }}"
    session = rondel.InferenceSession(onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + text))
    feeds, found = {"n": np.array(2), "x": np.ones(5, np.float32)}, []
    first = threading.Thread(target=lambda: found.append(session.run(None, feeds)[0].tolist()))
    first.start()
    time.sleep(0.05)
    assert not found
    print(in_child(lambda: session.run(None, feeds)[0].shape == session.run(None, {**feeds, "n": np.array(3)})[0].shape == (5,)))
    first.join()
    print(found == [session.run(None, feeds)[0].tolist()])
    """) == "0\nTrue\n"


def test_a_profile_of_a_forked_child_leaves_the_parents_alone(tmp_path):
    files = program(tmp_path, """
    options = rondel.SessionOptions()
    options.enable_profiling = True
    session = rondel.InferenceSession(POWERS, options)

    def work():
        power(session, 1)
        name = session.end_profiling()
        return name.endswith(f"_{os.getpid()}.json")

    assert in_child(work) == 0
    power(session, 2)
    power(session, 2)
    session.end_profiling()
    print(*sorted(f for f in os.listdir() if f.endswith(".json")), sep="\\n")
    """).split()
    runs = [sum(event["name"] == "model_run" for event in json.loads((tmp_path / f).read_text())) for f in files]
    assert sorted(runs) == [1, 2]


def test_asyncio_goes_on_while_runs_go_on(tmp_path):
    """Runs of both ways end in the order in which they can; the loop does other work meanwhile; a closed loop hurts nobody."""
    assert program(tmp_path, """
    endless, session = rondel.InferenceSession(ENDLESS), rondel.InferenceSession(POWERS)

    async def main():
        loop, options = asyncio.get_running_loop(), rondel.RunOptions()
        answer = loop.create_future()
        endless.run_async(None, {"x": np.float32(1)}, lambda o, _, e: loop.call_soon_threadsafe(answer.set_result, e), None, options)
        threaded = [asyncio.create_task(asyncio.to_thread(power, session, 2)) for _ in range(20)]
        for _ in range(20):
            await asyncio.sleep(0.001)
        print({tuple(y) for y in await asyncio.gather(*threaded)}, answer.done())
        options.terminate = True
        print(await answer)

    asyncio.run(main())
    """) == "{(24.0, 36.0)} False\nthe run was ended by its terminate flag\n"


def test_a_callback_that_fails_is_told_and_ends_nothing(tmp_path):
    assert program(tmp_path, """
    session = rondel.InferenceSession(POWERS)
    seen, done = [], threading.Event()
    threading.excepthook = lambda said: (seen.append((said.exc_type.__name__, said.thread.name)), done.set())
    session.run_async(None, {"n": np.array(1), "x": X}, lambda *answer: 1 / 0)
    assert done.wait(60)
    print(seen, power(session, 1))
    """) == "[('ZeroDivisionError', 'rondel run_async')] [4.0, 6.0]\n"


def test_python_waits_for_run_async_and_not_for_daemons(tmp_path):
    assert program(tmp_path, """
    endless, session = rondel.InferenceSession(ENDLESS), rondel.InferenceSession(POWERS)
    threading.Thread(target=endless.run, args=(None, {"x": np.float32(1)}), daemon=True).start()
    session.run_async(None, {"n": np.array(2), "x": X}, lambda outputs, *_: (time.sleep(0.1), print(outputs[0].tolist())))
    """) == "[24.0, 36.0]\n"


def test_what_is_pickled_of_an_error():
    error = rondel.CallerError("node 'a' (Add): no")
    error.frames = (("node 'a' (Add)", 3),)
    there = pickle.loads(pickle.dumps(error))
    assert (type(there), str(there), there.frames, there.trips) == (rondel.CallerError, str(error), error.frames, (3,))


def test_many_threads_share_a_session():
    text = """
    main (int64 m, float[k] x) => (float[k] y, float[n, k] s) {
      y, s = Loop (m, , x) <body: graph = body (i, go, a) => (go, b, a) { b = Add (a, x) }>
    }"""
    s = session(text)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            x, m = rng.integers(0, 9, rng.integers(0, 50)).astype(np.float32), int(rng.integers(1, 12))
            y, stack = s.run(None, {"m": scalar(m), "x": x})
            want = x[None] * np.arange(1, m + 1, dtype=np.float32)[:, None]
            if not (np.array_equal(y, x * (m + 1)) and np.array_equal(stack, want)):
                wrong.append((seed, m, len(x)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not wrong, wrong
    assert not any(t.is_alive() for t in threads)


def test_the_interpreter_lock_is_released_while_running():
    # The loop is endless: only this thread, which needs the lock, can terminate it.
    text = "main (float x) => (float y) { y = Loop (, , x) <body: graph = body (i, go, b) => (go, c) { c = Add (b, x) }> }"
    s, stop, ended = session(text), rondel.RunOptions(), []

    def work():
        try:
            s.run(None, {"x": scalar(1, np.float32)}, stop)
        except rondel.Cancelled:
            ended.append(True)

    runner = threading.Thread(target=work, daemon=True)
    runner.start()
    progress = sum(1 for _ in range(100_000))
    stop.terminate = True
    runner.join(60)
    assert progress == 100_000
    assert ended == [True]
