"""Models and data on which steps of training are tested."""

import models
import numpy as np
from onnx import numpy_helper

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(12, 3)).astype(np.float32)
Y = RANDOM.normal(size=(12, 2)).astype(np.float32)
LABELS = RANDOM.integers(0, 2, 12)


def linear(dtype=np.float32, opset=21, **more):
    """y = x w + b, in f32 or f64."""
    kind = {np.float32: "float", np.float64: "double"}[dtype]
    proto = models.model(f"linear ({kind}[N, 3] x) => ({kind}[N, 2] y) {{ p = MatMul (x, w) y = Add (p, b) }}", opset)
    random = np.random.default_rng(1)
    for name, shape in {"w": (3, 2), "b": (2,)}.items():
        proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=shape).astype(dtype), name))
    for key, value in more.items():
        setattr(proto, key, value)
    return proto


def initial(proto):
    return {t.name: numpy_helper.to_array(t).astype(np.float64) for t in proto.graph.initializer}


def mse_gradients(p, x, y):
    """(the loss, its gradients) in f64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    error = x @ p["w"] + p["b"] - y
    scaled = 2 * error / error.size
    return np.mean(error**2), {"w": x.T @ scaled, "b": scaled.sum(0)}


CLASSIFIER = "net (float[N, 3] x) => (float[N, 2] logits, float[N, 2] log) { logits = MatMul (x, w) log = LogSoftmax <axis = 1> (logits) }"


def classifier(opset=21):
    proto = models.model(CLASSIFIER, opset)
    proto.graph.initializer.append(numpy_helper.from_array(np.random.default_rng(2).normal(size=(3, 2)).astype(np.float32), "w"))
    return proto


def cross_entropy(w, x, labels):
    """(the mean, its gradient) in f64."""
    z = x.astype(np.float64) @ w
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    one_hot = np.eye(2)[labels]
    return -np.log((p * one_hot).sum(1)).mean(), x.astype(np.float64).T @ (p - one_hot) / len(x)


DEEP = """deep (float[N, 3] x) => (float[N, 2] y) <float two = {2}, int64[2] shape = {-1, 4}> {
  a = MatMul (x, w1) r = Relu (a) d = Mul (r, two) s = Reshape (d, shape) y = MatMul (s, w2) }"""


def deep():
    proto = models.model(DEEP)
    random = np.random.default_rng(3)
    for name, shape in {"w1": (3, 4), "w2": (4, 2), "unused": (5,)}.items():
        proto.graph.initializer.append(numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name))
    return proto


BATCH_NORM = "net (float[N, 3] x) => (float[N, 3] y) { n = BatchNormalization <momentum = 0.75> (x, scale, bias, mean, var) y = Mul (n, w) }"


def batch_norm():
    proto = models.model(BATCH_NORM)
    for name, value in {"scale": 1, "bias": 0, "mean": 0.5, "var": 2, "w": 1}.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.full(3, value, np.float32), name))
    return proto
