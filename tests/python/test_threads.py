"""intra_op_num_threads is respected: the number of threads that runs of a fresh process start."""

import os
import subprocess
import sys

import pytest

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
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "RONDEL_JIT")}
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_session_uses_the_threads_it_was_given(count):
    assert threads_begun(count) == [count - 1]  # the calling thread is one of them


def test_sessions_of_one_process_keep_their_own_counts():
    cores = len(os.sched_getaffinity(0))
    assert threads_begun(1, 0, 1) == [0, cores - 1, cores - 1]
