"""`rondel inspect --passes`: what each pass did to a loop and, in one line, why it did no more."""

import onnx
import pytest
from models import model
from rondel_cli.main import main


def remarks(text, capsys, tmp_path):
    """{loop: [line]}, spaces made one."""
    onnx.save(model(text), tmp_path / "m.onnx")
    assert main(["inspect", str(tmp_path / "m.onnx"), "--passes"]) == 0
    table, *loops = capsys.readouterr().out.split("\nloop ")
    assert table.startswith("pipeline")
    found = {}
    for loop in loops:
        name, *lines = loop.splitlines()
        found[name] = [" ".join(line.split()) for line in lines]
    return found


def counted(condition, states="int64 k, float[3] s", nexts="int64 k2, float[3] s2"):
    return f"""main (float[3] x, int64 n) => (float[3] y) {{
      t = Constant <value = bool {{1}}> ()  zero = Constant <value = int64 {{0}}> ()
      [steps] k, y = Loop (, t, zero, x) <body = b (int64 i, bool go, {states}) => (bool on, {nexts}) {{
        one = Constant <value = int64 {{1}}> ()  s2 = Tanh (s)  {condition} }}>
    }}"""


RNN = """main (float[T, 4, 32] x, float[4, 32] h0, float[32, 32] W, float[32, 32] R, float[32, 16] V) => (float[T, 4, 16] ys) {
  h, ys = Scan <num_scan_inputs = 1, body = b (float[4, 32] h, float[4, 32] xt) => (float[4, 32] h2, float[4, 16] o) {
    [xw] a = MatMul (xt, W)  [hr] r = MatMul (h, R)  sum = Add (a, r)  h2 = Tanh (sum)  [out] o = MatMul (h2, V) }> (h0, x)
}"""
SLICES = """main (float[T, 3] x, float[3] s0%s) => (float[3] s) { %s
  s = Loop (n, , s0) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] s2) {
    on = Identity (go)  [pick] xt = Gather (x, i)  s2 = Add (s, xt) }>
}"""
LISTS = """main (float[3] x, int64 n) => (float[N, 3] y%s) { no = SequenceEmpty ()
  s, l, m = Loop (n, , x, no, no) <body = b (int64 i, bool go, float[3] s, seq(float[3]) l, seq(float[3]) m) => (bool on, float[3] s2, seq(float[3]) l2, seq(float[3]) m2) {
    on = Identity (go)  s2 = Tanh (s)  l2 = SequenceInsert (l, s2)  e = Exp (s)  m2 = SequenceInsert (m, e) }>
  y = ConcatFromSequence <axis = 0, new_axis = 1> (l)  %s }"""
BRANCHES = """main (float[3] x, int64 n, bool training) => (float[3] y) {
  y = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] s2) { on = Identity (go)
    [mode] d = If (training) <then_branch = a () => (a1) { a1 = Neg (s) }, else_branch = c () => (b1) { b1 = Tanh (s) }>
    q = ReduceMax <keepdims = 0> (d)  zero = Constant <value = float {0}> ()  c = Greater (q, zero)
    [sign] s2 = If (c) <then_branch = a2 () => (a3) { a3 = Neg (d) }, else_branch = c2 () => (b3) { b3 = Exp (d) }> }>
}"""
INVARIANTS = """main (float[16, 16] x, float[16, 16] W, float[K, 16] V, int64 n) => (float[16, 16] y) {
  y, dead, same = Loop (n, , x, x, W) <body = b (int64 i, bool go, float[16, 16] s, float[16, 16] dead, float[16, 16] same)
      => (bool on, float[16, 16] s2, float[16, 16] dead2, float[16, 16] same2) { on = Identity (go)
    [ww] w = MatMul (same, W)  [sv] v = MatMul (x, V)  r = ReduceMax <keepdims = 0> (v)  a = MatMul (s, w)  s2 = Add (a, r)
    dead2 = Neg (dead)  same2 = Identity (same) }>
}"""
SOLVER = """main (float[8, 8] A, float[8] b, float[8] x0) => (float[8] x) {
  t = Constant <value = bool {1}> ()  a0 = MatMul (A, x0)
  [solve] x, r = Loop (, t, x0, a0) <body = body (int64 i, bool go, float[8] x, float[8] r) => (bool on, float[8] x2, float[8] r2) {
    ax = MatMul (A, x)  d = Sub (b, ax)  x2 = Add (x, d)  [next] r2 = MatMul (A, x2)
    q = ReduceMax <keepdims = 0> (r2)  one = Constant <value = float {1}> ()  on = Greater (q, one) }>
}"""
UNLIKE = """main (float[3] x, float a, int64 n) => (float[] y, float[] all) <int64 two = {2}, int64 one = {1}> {
  y, all = Loop (n, , x) <body = f (int64 i, bool go, float[3] s) => (bool on, float[3] t, %s) {
    on = Identity (go)  m = Mod (i, two)  odd = Equal (m, one)
    [pick] q = If (odd) <then_branch = g () => (u) { u = Neg (x) }, else_branch = h () => (v) { v = Neg (a) }>  %s }> }"""

CASES = {
    "a condition that counts": (
        counted("k2 = Add (k, one)  on = Less (k2, n)"),
        {"node 'steps' (Loop)": [
            "simplify_states state 'k' is left out: it follows from the trip index",
            "count_trips 'k2' < 'n' became the trip count"]}),
    "a condition that counts and more": (
        counted("k2 = Add (k, one)  c = Less (k2, n)  q = ReduceMax <keepdims = 0> (s2)  f = Cast <to = 9> (q)  on = And (c, f)"),
        {"node 'steps' (Loop)": [
            "simplify_states state 'k' is left out: it follows from the trip index",
            "count_trips 'k2' < 'n' became the trip count",
            "count_trips the condition 'f' stays: it compares no integers"]}),
    "a bound that changes": (
        counted("k2 = Add (k, one)  m = Mul (i, i)  on = Less (k2, m)"),
        {"node 'steps' (Loop)": [
            "simplify_states state 'k' is left out: it follows from the trip index",
            "count_trips 'k2' < 'm' stays: only one side may change, and by the same number in each trip"]}),
    "a count that would not be exact": (
        counted("two = Constant <value = int64 {2}> ()  k2 = Add (k, two)  on = Less (k2, n)"),
        {"node 'steps' (Loop)": [
            "simplify_states state 'k' is left out: it follows from the trip index",
            "count_trips 'k2' < 'n' stays: the count would not be exact for every bound"]}),
    "products": (
        RNN,
        {"node 'h' (Scan)": [
            "batch_before_loop node 'xw' (MatMul) is computed for all trips before the loop",
            "batch_before_loop node 'hr' (MatMul) stays: 'h' does not follow from what the loop scans",
            "batch_after_loop node 'out' (MatMul) is computed for all trips after the loop",
            "batch_after_loop node 'hr' (MatMul) stays: the loop does more with its result than to stack it"]}),
    "slices of all of a tensor": (
        SLICES % ("", "l = Shape <start = 0, end = 1> (x)  none = Constant <value = int64[0] {}> ()  n = Reshape (l, none)"),
        {"node 's' (Loop)": [
            "simplify_scans node 'pick' (Gather) became a scan of 'x'",
            "simplify_scans the trip count is left out: it is the extent of what is scanned"]}),
    "slices of a part": (
        SLICES % (", int64 n", ""),
        {"node 's' (Loop)": [
            "simplify_scans node 'pick' (Gather) becomes no scan: the trip count is not known to be the extent of 'x'"]}),
    "lists": (
        LISTS % ("", "") ,
        {"node 's' (Loop)": [
            "lists_to_tensors list 'l' became a tensor",
            "remove_dead_loop_parts state 'm' is left out: only its own next value reads it"]}),
    "a list that is a result": (
        LISTS % (", seq(float[3]) kept", "kept = Identity (m)"),
        {"node 's' (Loop)": [
            "lists_to_tensors list 'l' became a tensor",
            "lists_to_tensors list 'm' stays: it is a result of the graph or of a body",
            "pack_lists list 'm' became a tensor that grows"]}),
    "a list of unlike tensors": (
        LISTS.replace("m2 = SequenceInsert (m, e)", "two = Concat <axis = 0> (e, e)  m1 = SequenceInsert (m, two)  zero = Constant <value = int64[1] {0}> ()  wide = Unsqueeze (e, zero)  m2 = SequenceInsert (m1, wide)")
        % (", seq(float[]) kept", "kept = Identity (m)"),
        {"node 's' (Loop)": [
            "lists_to_tensors list 'l' became a tensor",
            "lists_to_tensors list 'm' stays: a trip may append one tensor to it, and no more",
            "batch_after_loop node 'two' (Concat) stays: the loop does more with its result than to stack it",
            "pack_lists list 'm' stays: its tensors have different ranks"]}),
    "branches": (
        BRANCHES,
        {"node 'y' (Loop)": [
            "unswitch_loops node 'mode' (If) is decided before the loop",
            "unswitch_loops node 'sign' (If) stays: its condition is made in the loop"]}),
    "invariants": (
        INVARIANTS,
        {"node 'y' (Loop)": [
            "simplify_states state 'same' is left out: no trip changes it",
            "remove_dead_loop_parts state 'dead' is left out: only its own next value reads it",
            "hoist_invariants node 'ww' (MatMul) moved before the loop",
            "hoist_invariants node 'sv' (MatMul) stays: it may fail, and the loop may make no trip"]}),
    "what the trip before has computed": (
        SOLVER,
        {"node 'solve' (Loop)": [
            "count_trips the condition 'on' stays: it compares no integers",
            "remove_dead_loop_parts state 'r' is left out: only its own next value reads it",
            "predictive_commoning node 'ax' (MatMul) became a state: the trip before has computed it"]}),
    "ranks that data decide": (
        UNLIKE % ("float item", "t = Add (s, q)  item = ReduceSum <keepdims = 0> (q)"),
        {"node 'y' (Loop)": ["unswitch_loops node 'pick' (If) stays: its condition is made in the loop", "move_into_branches what follows node 'pick' (If) is computed in its branches"]}),
    "ranks that data decide, and a stack": (
        UNLIKE % ("float[k] item", "item = Add (x, q)  t = Add (s, item)"),
        {"node 'y' (Loop)": [
            "unswitch_loops node 'pick' (If) stays: its condition is made in the loop",
            "move_into_branches what follows node 'pick' (If) stays there: a loop without trips would stack another shape"]}),
    "a rank that the first trip gives": (
        """main (float[3] x, int64 n) => (float[] y) <float zero = {0}> {
          y = Loop (n, , zero) <body = f (int64 i, bool go, float s) => (bool on, float t) { on = Identity (go)  t = Add (s, x) }> }""",
        {"node 'y' (Loop)": ["peel_loops the first trip, in which states get their ranks, is computed before the others, if there is one"]}),
    "a rank that each trip changes": (
        """main (float[3] x, int64 n) => (float[] y) <int64[1] first = {0}> {
          y = Loop (n, , x) <body = f (int64 i, bool go, float[] s) => (bool on, float[] t) { on = Identity (go)  t = Unsqueeze (s, first) }> }""",
        {"node 'y' (Loop)": ["peel_loops no trip is taken out of it: the ranks of its states are not known to hold from the second trip on, and 8 trips at most are not certain"]}),
    "no loop": ("main (float[3] x) => (float[3] y) { y = Tanh (x) }", {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_remarks(case, capsys, tmp_path):
    text, wanted = CASES[case]
    assert remarks(text, capsys, tmp_path) == wanted
