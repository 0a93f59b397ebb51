"""What the tests of `rondel serve` share: models, a session that waits until it is told to go on, and plain HTTP."""

import concurrent.futures
import json
import threading
import urllib.error
import urllib.request

import numpy as np
import onnx


def model(text):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}')


TANH = model("tanh (float[b,4] x) => (float[b,4] y) { y = Tanh (x) }")
SUM = model("sum (float[b,2] x, float[b,2] state) => (float[b,2] y, float[b,2] stateN) { stateN = Add (x, state)  y = Identity (stateN) }")
TRIPS = model("""trips (int64 n, float[k] x) => (float[k] y) {
  y = Loop (n, , x) <body = b (int64 i, bool go, float[k] s) => (bool on, float[k] z) { z = Cos (s)  on = Identity (go) }>
}""")


ENDLESS = model("""endless (float[b] x) => (float[b] y) {
  y = Loop ("", "", x) <body = l (int64 i, bool go, float[b] s) => (bool on, float[b] z) { z = Cos (s)  on = Identity (go) }>
}""")


class Port:
    def __init__(self, name, shape, type="tensor(float)"):
        self.name, self.shape, self.type = name, shape, type


class Gate:
    """A session with onnxruntime's interface: y = 2 x + add, but each run waits until `open` is set. `runs`: the rows of each.

    A run of negative numbers raises `error`.
    """

    def __init__(self, add=0.0, error=ValueError):
        self.open, self.entered, self.runs, self.add, self.error = threading.Event(), threading.Semaphore(0), [], add, error

    def get_inputs(self):
        return [Port("x", ["b", 2])]

    def get_outputs(self):
        return [Port("y", ["b", 2])]

    def run(self, names, feeds, options=None):
        self.runs.append(len(feeds["x"]))
        self.entered.release()
        assert self.open.wait(20)
        if (feeds["x"] < 0).any():
            raise self.error("a negative number")
        return [2 * feeds["x"] + self.add]


def ask(url, path, body=None, headers={}, method=None):
    """(status, headers, body) of a request; a dict is sent as JSON."""
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(url + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def tensor(name, array, datatype="FP32"):
    array = np.asarray(array)
    return {"name": name, "datatype": datatype, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def infer(url, name, *inputs, **parameters):
    """(status, headers, {output: array} or the error's text)."""
    status, headers, body = ask(url, f"/v2/models/{name}/infer", {"inputs": list(inputs), "parameters": parameters})
    said = json.loads(body)
    if status != 200:
        return status, headers, said["error"]
    return status, headers, {o["name"]: np.array(o["data"]).reshape(o["shape"]) for o in said["outputs"]}


def in_parallel(*calls):
    """Starts all calls; their futures."""
    pool = concurrent.futures.ThreadPoolExecutor(len(calls))
    futures = [pool.submit(call) for call in calls]
    pool.shutdown(wait=False)
    return futures


def wait_for(condition, seconds=10):
    """Waits until the condition holds."""
    pause = threading.Event()
    for _ in range(int(seconds * 200)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError(f"{condition} did not come true")
