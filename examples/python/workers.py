"""Worker processes, each with a session of its own: forked, spawned, and with a session that is sent to them."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import onnx
import rondel

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
powers (int64 trips, float base) => (float last) {
  one = Constant <value = float {1.0}> ()
  last = Loop (trips, "", one) <body = step (int64 i, bool go, float now) => (bool on, float next) {
    on = Identity (go)
    next = Mul (now, base)
  }>
}"""


def open_model(path):
    """Called once in each worker."""
    global session
    session = rondel.InferenceSession(path)


def power(base):
    return run(session, base)


def run(session, base):
    return float(session.run(None, {"trips": np.array(3), "base": np.array(base, np.float32)})[0])


if __name__ == "__main__":  # a spawned worker imports this file
    onnx.save(onnx.parser.parse_model(MODEL), "powers.onnx")
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, context, open_model, ("powers.onnx",)) as pool:
            print(method, list(pool.map(power, [1, 2, 3])))

    open_model("powers.onnx")
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        print("the parent's session", list(pool.map(power, [1, 2, 3])))
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        print("a pickled session", list(pool.map(run, [session] * 3, [1, 2, 3])))
