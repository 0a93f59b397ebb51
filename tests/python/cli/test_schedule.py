"""`rondel inspect --schedule`: the loop nests of a model, what each computes, where it stores it, and why.

tests/compile/schedule_test.cpp has whole schedules, for one processor; here are models as files have them, on any processor.
"""

import re

import onnx
import pytest
from models import model

import rondel
from rondel.inspection import schedule_text
from rondel_cli.main import main

CHAIN = "main (float[N] x, float[N] y, float[M] z) => (float[N] d, float[M] c) { a = Neg (x)  b = Mul (a, y)  c = Abs (z)  d = Exp (b) }"
SOFTMAX = "main (float[M, N] x) => (float[M, N] y) { y = Softmax (x) }"
ELEMENTS = """main (float[512, 512] c, float[512, 512] z0) => (float[512, 512] z) <int64 most = {1000}> {
  z = Loop (most, , z0) <body = b (int64 i, bool go, float[512, 512] s) => (bool on, float[512, 512] t) {
    on = Identity (go)  q = Mul (s, s)  t = Add (q, c) }>
}"""
GROWING = """main (float[1, 8] x0, float[L, 8] log0, float[8, 8] w, int64 n) => (float[1, 8] x, float[K, 8] log, float[S, 1, 8] ys) {
  x, log, ys = Loop (n, , x0, log0) <body = b (int64 i, bool go, float[1, 8] s, float[j, 8] l) => (bool on, float[1, 8] t, float[k, 8] l2, float[1, 8] p) {
    on = Identity (go)  p = MatMul (s, w)  t = Tanh (p)  l2 = Concat <axis = 0> (l, t) }>
}"""
LSTM = """main (float[T, 1, 64] x, float[1, 64] h0, float[1, 64] c0, float[64, 256] W, float[64, 256] R) => (float[T, 1, 64] ys) {
  [cell] h, c, ys = Scan <num_scan_inputs = 1, body = b (float[1, 64] h, float[1, 64] c, float[1, 64] xt) => (float[1, 64] h2, float[1, 64] c2, float[1, 64] y) {
    a = MatMul (xt, W)  r = MatMul (h, R)  s = Add (a, r)  i, o, f, g = Split <axis = 1, num_outputs = 4> (s)
    si = Sigmoid (i)  so = Sigmoid (o)  sf = Sigmoid (f)  tg = Tanh (g)
    fc = Mul (sf, c)  ig = Mul (si, tg)  c2 = Add (fc, ig)  tc = Tanh (c2)  h2 = Mul (so, tc)  y = Identity (h2) }> (h0, c0, x)
}"""
NESTED = """main (float[N] x, int64 n, int64 m) => (float[N] y) {
  [outer] y = Loop (n, , x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] s2) { on = Identity (go)
    [inner] t = Loop (m, , s) <body = c (int64 j, bool run, float[N] u) => (bool stay, float[N] u2) { stay = Identity (run)  u2 = Sin (u) }>
    total = ReduceSum <keepdims = 0> (t)  s2 = Div (t, total) }>
}"""
BRANCH = """main (float[N] x, int64 n) => (float[N] y) {
  y = Loop (n, , x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] s2) { on = Identity (go)
    q = ReduceMax <keepdims = 0> (s)  zero = Constant <value = float {0}> ()  c = Greater (q, zero)
    [sign] s2 = If (c) <then_branch = a2 () => (a3) { a3 = Neg (s) }, else_branch = c2 () => (b3) { b3 = Exp (s) }> }>
}"""
STEPS = """main (float[N] x, int64 n) => (float[N] y) {
  y = Loop (n, , x) <body = b (int64 i, bool go, float[N] s) => (bool on, float[N] t) { on = Identity (go)
    u = Cast <to = 8> (s)  v = Cast <to = 1> (u)  t = Sin (v) }>
}"""

# By model: lines of its schedule, in order, each with its indentation.
EXPECTED = {
    CHAIN: """
program 'd' (Exp)
  for elements [N]: fused 'a' (Neg), 'b' (Mul), 'd' (Exp)
    stored at registers (read nowhere else): 'a', 'b'
    parallel: threads may share it
program 'c' (Abs)
  for elements [M]: 'c' (Abs)""",
    SOFTMAX: """
  by rows: for rows [M] of elements [N]
    reduce [M, N] to [M, 1]: 'y' (Softmax) as reduce_max
    for elements [M, N]: fused 'y' (Softmax) as sub, exp
    reduce [M, N] to [M, 1]: 'y' (Softmax) as reduce_sum""",
    ELEMENTS: """
'z' (Loop): natively, as a whole
  for elements [512, 512]
    all trips for one element before the next, because each element of the states is computed from elements at its own index
    vectorised over L lanes, because LLVM vectorises innermost loops only
    parallel: threads may share it
    for trips of 'z' (Loop): 1,000
      stored at registers: 's'""",
    GROWING: """
'x' (Loop): natively, as a whole
  for trips of 'x' (Loop): as many as 'n' says
    its trips depend on each other: they hand on 's', 'l'
    not element by element: extents of its states change
    product [1, 8]: 'p' (MatMul)
      tiled: tiles of T x T in registers, L lanes in a vector
    for elements [1, 8]: 't' (Tanh)
      stored at state 's', in place: 't'
      stored at state 'l', in place: 'l2'
    copy 'p' to stack 'ys'""",
    LSTM: """
'cell' (Scan): natively, as a whole
  for trips of 'cell' (Scan): T
    its trips depend on each other: they hand on 'h', 'c'
    product [1, 256]: 'r' (MatMul)
      stored at a local array (for 's' (Add)): 'r'
      stored at state 'c', in place: 'c2'
      stored at state 'h', in place and stack 'ys': 'h2'""",
    NESTED: """
'outer' (Loop): natively, as a whole
  for trips of 'outer' (Loop): as many as 'n' says
    not element by element: 'inner' (Loop) is not computed element by element
    for elements [N]
      for trips of 'inner' (Loop): as many as 'm' says
        'u2' (Sin)
    reduce [N] to []: 'total' (ReduceSum)
    for elements [N]: 's2' (Div)
      not fused with 'total' (ReduceSum): another index space""",
    BRANCH: """
    'sign' (If)
      then
        for elements [N]: 'a3' (Neg)
          stored at state 's', in place: 'a3'
      else
        for elements [N]: 'b3' (Exp)
          stored at state 's', in place: 'b3'""",
    STEPS: """
'y' (Loop): step by step, for shapes as declared: node 'u' (Cast) makes text; strings run step by step (1 more follows from it)
  kernel call: 'u' (Cast) as convert_text
  program 't' (Sin)
    for elements [N]: 't' (Sin)""",
}


def on_any_processor(text):
    """The text without the numbers that depend on the processor."""
    text = re.sub(r"\b\d+ lanes", "L lanes", text)
    return re.sub(r"tiles of \d+ x \d+ ", "tiles of T x T ", text)


@pytest.mark.parametrize("text", EXPECTED, ids=["chain", "softmax", "elements", "growing", "lstm", "nested", "branch", "steps"])
def test_the_command_shows_each_nest(text, capsys, tmp_path):
    onnx.save(model(text), tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--schedule"]) == 0
    shown = iter(on_any_processor(capsys.readouterr().out).splitlines())
    for line in EXPECTED[text].strip("\n").splitlines():
        assert line in shown, f"there is no line {line!r} behind those before"


def test_a_node_of_several_steps_is_told_apart(tmp_path):
    """Of the parts of a Softmax with few and short rows, each is a program of its own, and says why."""
    said = schedule_text(model("main (float[4, 8] x) => (float[4, 8] y) { y = Softmax (x) }"))
    assert said.count("program 'y' (Softmax) as ") == 4
    assert "not fused with 'y' (Softmax) as reduce_max: rows are shorter than 16, and not computed several at once\n" in said


def test_short_rows_are_in_registers():
    said = schedule_text(model("main (float[M, 8] x) => (float[M, 8] y) { y = Softmax (x) }"))
    assert "because rows are short: several are computed at once, in registers\n" in said
    assert said.count("program ") == 1


def test_options_decide_what_is_shown():
    options = rondel.SessionOptions()
    options.graph_optimization_level = rondel.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert "fused" in schedule_text(model(CHAIN)) and "fused" not in schedule_text(model(CHAIN), options)


def test_a_model_that_cannot_run_has_no_schedule(tmp_path, capsys):
    onnx.save(model("main (float[2] x, float[3] y) => (float[2] z) { z = Add (x, y) }"), tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--schedule"]) == 1
    out, err = capsys.readouterr()
    assert not out and err.startswith("rondel: node 'z' (Add)")
