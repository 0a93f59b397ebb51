"""Long runs of every kind of work, for tests and benchmarks of deadlines, and how much longer a busy machine takes."""

import os
import threading
import time

import numpy as np
from onnx.parser import parse_model

import rondel

HEAD = '<ir_version: 9, opset_import: ["": 18]>'


def f32(*shape):
    return np.ones(shape, np.float32)


def random_indices(count, below):
    return np.random.default_rng(0).integers(0, below, count)


# name: graph, feeds. Sizes are such that one core takes a second or more.
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
    "conv of many channels": ("g (float[n,c,h,w] x, float[m,c,1,1] w) => (float[n,m,p,q] y) { y = Conv (x, w) }",
                              lambda: {"x": f32(1, 6000, 40, 40), "w": f32(12000, 6000, 1, 1)}),
    "conv of float64": ("g (double[n,c,h,w] x, double[m,c,5,5] w) => (double[n,m,p,q] y) { y = Conv (x, w) }",
                        lambda: {"x": np.ones((1, 8, 3000, 3000)), "w": np.ones((2, 8, 5, 5))}),
    "max pool": ("g (float[n,c,h,w] x) => (float[n,c,p,q] y) { y = MaxPool <kernel_shape = [401, 401]> (x) }",
                 lambda: {"x": f32(1, 1, 4000, 4000)}),
    "global pools of one plane": ("""g (float[n,c,h,w] x) => (float[n,c,p,q] y) {
                                  a = GlobalAveragePool (x) m = GlobalMaxPool (x) y = Add (a, m) }""",
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
    "items of a sequence": (
        """g (float[n,m] x) => (float[p,q] y) { one = Constant <value_int = 1> ()
        s = SplitToSequence <axis = 0> (x, one) a = ConcatFromSequence <axis = 0> (s)
        t = SplitToSequence <axis = 0> (a, one) b = ConcatFromSequence <axis = 0> (t)
        u = SplitToSequence <axis = 0> (b, one) y = ConcatFromSequence <axis = 0> (u) }""",
        lambda: {"x": f32(1_000_000, 1)}),
    "items read from a sequence": (
        """g (float[n,m] x, float[k,m] first) => (float[k,m] y) {
        s = SplitToSequence <axis = 0> (x) t = Constant <value_int = 1> () go = Cast <to = 9> (t) at = Constant <value_int = 7> ()
        y = Loop (, go, first) <body = step (int64 i, bool c, float[k,m] v) => (bool d, float[k,m] z) { d = Identity (c)
        e = SequenceAt (s, at) z = Add (v, e) }> }""",
        lambda: {"x": f32(20_000, 4), "first": f32(1, 4)}),
    "a stack of strings": (
        """g (string[n] x) => (string[k,n] y) { t = Constant <value_int = 1> () go = Cast <to = 9> (t)
        y = Loop (, go) <body = step (int64 i, bool c) => (bool d, string[n] z) { d = Identity (c) z = Identity (x) }> }""",
        lambda: {"x": np.array(["a", "longer than what fits into a string itself"])}),
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


def session_of(graph):
    return rondel.InferenceSession(parse_model(f"{HEAD} {graph}"))


def overrun(session, feeds, deadline=0.05):
    """Seconds from the deadline to the end of the run. Raises AssertionError if the run ends before its deadline."""
    options = rondel.RunOptions()
    options.deadline = deadline
    begin = time.perf_counter()
    try:
        session.run(None, feeds, options)
    except rondel.DeadlineExceeded:
        return time.perf_counter() - begin - deadline
    raise AssertionError(f"the run ended before its deadline of {deadline} s")


def slowdown(seconds=0.1):
    """How many times as long as alone a thread on each core takes now to compute for `seconds`: 1 if nobody else wants the cores."""
    x, found = f32(1 << 16), []

    def compute():
        begin, own = time.perf_counter(), time.thread_time()
        while time.thread_time() - own < seconds:
            np.sin(x)
        found.append((time.perf_counter() - begin) / (time.thread_time() - own))

    threads = [threading.Thread(target=compute) for _ in os.sched_getaffinity(0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(found)
