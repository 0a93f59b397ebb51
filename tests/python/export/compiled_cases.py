"""Models that are compiled ahead of time, with feeds, and how to compile and load one."""

import numpy as np
import onnx
import rondel
from models import model

F32 = np.float32

ROOT = model("""
root (float[n] a) => (float[n] r, float[k] steps)
<int64 most = {50}, float one = {1}, float small = {0.00001}> {
  yes = Constant <value = bool {1}> ()
  start = Max (a, one)
  r, steps = Loop (most, yes, start) <body = newton (int64 i, bool go, x) => (bool on, better, worst) {
    square = Mul (x, x)
    error = Sub (square, a)
    twice = Add (x, x)
    step = Div (error, twice)
    better = Sub (x, step)
    size = Abs (step)
    worst = ReduceMax <keepdims = 0> (size)
    on = Greater (worst, small)
  }>
}""")

#: a state that grows, in a loop that data end
GROWING = model("""
grow (float[n, 2] x, int64 most) => (float[m, 2] y, int64[k] seen) {
  minus = Constant <value_ints = [-1]> ()
  end = Constant <value_ints = [9223372036854775807]> ()
  axis0 = Constant <value_ints = [0]> ()
  zero = Constant <value_int = 0> ()
  yes = Constant <value = bool {1}> ()
  limit = Constant <value = float {40}> ()
  y, seen = Loop (most, yes, x) <body = b (int64 i, bool go, float[p, 2] v) => (bool on, float[q, 2] w, int64 count) {
    last = Slice (v, minus, end, axis0)
    next = Add (last, last)
    w = Concat <axis = 0> (v, next)
    sum = ReduceSum <keepdims = 0> (next)
    on = Less (sum, limit)
    shape = Shape (w)
    count = Gather (shape, zero)
  }>
}""")

BRANCH = model("""
branch (float[n] x, bool c) => (float[n] y) {
  y = If (c) <then_branch = t () => (float[n] a) { a = Exp (x) }, else_branch = e () => (float[n] b) { b = Neg (x) }>
}""")

WORDS = model("""
words (string[n] s, bool[n] c, float[n] x) => (string[n] t, float[n] y) {
  twice = StringConcat (s, s)
  t = Where (c, s, twice)
  y = Neg (x)
}""")


def lstm(hidden=64):
    """A Scan of an LSTM cell written out, with weights of some hundred KB."""
    rng = np.random.default_rng(0)
    made = model(f"""
    lstm (float[t, 32] x, float[1, {hidden}] h0, float[1, {hidden}] c0) => (float[t, 1, {hidden}] hs, float[1, {hidden}] c) {{
      h, c, hs = Scan <num_scan_inputs = 1, body = cell (float[1, {hidden}] h_in, float[1, {hidden}] c_in, float[32] e)
          => (float[1, {hidden}] h_out, float[1, {hidden}] c_out, float[1, {hidden}] item) {{
        axes = Constant <value_ints = [0]> ()
        row = Unsqueeze (e, axes)
        a = MatMul (row, W)
        b = MatMul (h_in, R)
        z = Add (a, b)
        i, o, f, g = Split <axis = 1, num_outputs = 4> (z)
        si = Sigmoid (i)
        so = Sigmoid (o)
        sf = Sigmoid (f)
        tg = Tanh (g)
        kept = Mul (sf, c_in)
        new = Mul (si, tg)
        c_out = Add (kept, new)
        tc = Tanh (c_out)
        h_out = Mul (so, tc)
        item = Identity (h_out)
      }}> (h0, c0, x)
    }}""")
    for name, shape in [("W", (32, 4 * hidden)), ("R", (hidden, 4 * hidden))]:
        made.graph.initializer.append(onnx.numpy_helper.from_array(rng.normal(0, 0.1, shape).astype(np.float32), name))
    return made


def one_op(op):
    return model(f"g (float[n] x) => (float[n] y) {{ y = {op} (x) }}")


def cases(*feeds):
    return [{name: np.asarray(x) for name, x in one.items()} for one in feeds]


NATIVE = {
    "root": (ROOT, cases(*({"a": np.linspace(1, 100, n, dtype=F32)} for n in (1, 3, 1000)))),
    "growing": (GROWING, cases({"x": np.ones((2, 2), F32), "most": np.int64(100)}, {"x": np.full((1, 2), 0.3, F32), "most": np.int64(3)})),
    "branch": (BRANCH, cases(*({"x": np.linspace(-1, 1, n, dtype=F32), "c": np.array(c)} for n in (1, 7) for c in (True, False)))),
    "lstm": (lstm(), cases(*({"x": np.random.default_rng(t).normal(size=(t, 32)).astype(F32), "h0": np.zeros((1, 64), F32), "c0": np.ones((1, 64), F32)} for t in (1, 5)))),
}


def compiled(folder, proto, name="model", **options):
    """(CompiledModel, CompileReport)"""
    report = rondel.compile_model(proto, folder / f"{name}.so", **options)
    return rondel.load_compiled(report.library), report
