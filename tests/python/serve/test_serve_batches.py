"""Which models are batched, and that a batch gives each request what it would get alone."""

import json

import numpy as np
import onnx
import pytest

pytest.importorskip("fastapi")

from serving import SUM, TANH, Gate, Port, ask, in_parallel, infer, model, tensor, wait_for  # noqa: E402

import rondel  # noqa: E402
from rondel.serve import ModelSettings, Server, rows  # noqa: E402

W = "float[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
YES = "yes = Constant <value = bool {1}> ()"

#: Models whose rows do not influence each other, each with the body of a graph.
APART = {
    "elementwise": "g (float[b,4] x) => (float[b,4] y) { y = Tanh (x) }",
    "bias": "g (float[b,4] x) => (float[b,4] y) <float[4] c = {1, 2, 3, 4}> { y = Add (x, c) }",
    "two inputs": "g (float[b,4] x, float[b,1] z) => (float[b,4] y) { y = Mul (x, z) }",
    "product": f"g (float[b,4] x) => (float[b,3] y) <{W}> {{ z = MatMul (x, w)  y = Relu (z) }}",
    "Gemm": f"g (float[b,4] x) => (float[b,3] y) <{W}, float[3] c = {{1, 2, 3}}> {{ y = Gemm (x, w, c) }}",
    "softmax": "g (float[b,4] x) => (float[b,4] y) { y = Softmax <axis = -1> (x) }",
    "LayerNormalization": "g (float[b,4] x) => (float[b,4] y) <float[4] s = {1, 2, 3, 4}> { y = LayerNormalization (x, s) }",
    "scale of every row": """g (float[b,3,4] x) => (float[b,3,4] y) <float[1,1,4] s = {1, 2, 3, 4}, float[3,1] c = {1, 2, 3}> {
        y = LayerNormalization (x, s, c) }""",
    "reduction": "g (float[b,3,4] x) => (float[b,3] y) <int64[1] a = {2}> { y = ReduceMean <keepdims = 0> (x, a) }",
    "argmax": "g (float[b,4] x) => (int64[b] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }",
    "there and back": "g (float[b,3,4] x) => (float[b,4,3] y) { t = Transpose <perm = [2,0,1]> (x)  u = Sin (t)  y = Transpose <perm = [1,0,2]> (u) }",
    "flatten": "g (float[b,2,3,4] x) => (float[b,24] y) { y = Flatten (x) }",
    "reshape": "g (float[b,2,6] x) => (float[b,12] y) <int64[2] s = {-1, 12}> { y = Reshape (x, s) }",
    "exporters' reshape": """g (float[b,3,4] x) => (float[b,k] y) <int64[1] m = {-1}, int64 zero = {0}, int64[1] a = {0}> {
        s = Shape (x) d = Gather (s, zero) e = Unsqueeze (d, a) c = Concat <axis = 0> (e, m) y = Reshape (x, c) }""",
    "embedding": f"g (int64[b,2] x) => (float[b,2,3] y) <{W}> {{ y = Gather (w, x) }}",
    "conv": "g (float[b,1,5] x) => (float[b,1,4] y) <float[1,1,2] k = {1, 2}> { y = Conv (x, k) }",
    "attention": """g (float[b,3,4] q, float[b,5,4] k) => (float[b,3,4] y) {
        t = Transpose <perm = [0,2,1]> (k) s = MatMul (q, t) p = Softmax (s) y = MatMul (p, k) }""",
    "slice and concat": """g (float[b,4] x) => (float[b,4] y) <int64[1] o = {0}, int64[1] t = {2}, int64[1] f = {4}, int64[1] a = {1}> {
        l = Slice (x, o, t, a) r = Slice (x, t, f, a) y = Concat <axis = 1> (r, l) }""",
    "zeros of its size": """g (float[b,4] x) => (float[b,4] y) { s = Shape (x) z = ConstantOfShape (s) y = Max (x, z) }""",
    "counted loop": f"""g (float[b,4] x) => (float[b,4] y) <int64 n = {{5}}> {{ {YES}
        y = Loop (n, yes, x) <body = l (int64 i, bool go, float[b,4] s) => (bool on, float[b,4] z) {{ z = Sin (s) on = Identity (go) }}> }}""",
    "scan": """g (float[b,6,4] x, float[b,4] h) => (float[b,6,4] y) {
        t = Transpose <perm = [1,0,2]> (x)
        last, u = Scan <num_scan_inputs = 1, body = l (float[b,4] s, float[b,4] e) => (float[b,4] z, float[b,4] o) { z = Add (s, e) o = Tanh (z) }> (h, t)
        y = Transpose <perm = [1,0,2]> (u) }""",
    "If": f"""g (float[b,4] x) => (float[b,4] y) {{ {YES}
        y = If (yes) <then_branch = t () => (float[b,4] p) {{ p = Sin (x) }}, else_branch = e () => (float[b,4] q) {{ q = Cos (x) }}> }}""",
}

#: Models whose rows influence each other, or of which that is not known: the body, and a part of the reason.
MIXED = {
    "mean of rows": ("g (float[b,4] x) => (float[b,4] y) <int64[1] a = {0}> { m = ReduceMean (x, a) y = Sub (x, m) }", "it reduces the rows"),
    "mean of all": ("g (float[b,4] x) => (float[b,4] y) { m = ReduceMean (x) y = Sub (x, m) }", "it reduces the rows"),
    "softmax": ("g (float[b,4] x) => (float[b,4] y) { y = Softmax <axis = 0> (x) }", "it normalises over the rows"),
    "sums": ("g (float[b,4] x) => (float[b,4] y) <int64 a = {0}> { y = CumSum (x, a) }", "it sums over the rows"),
    "first row": ("g (float[b,4] x) => (float[b,4] y) <int64[1] a = {0}> { f = Gather (x, a) y = Sub (x, f) }", "selects rows by their number"),
    "transposed": ("g (float[b,4] x) => (float[4,b] y) { y = Transpose (x) }", "output 'y' does not have the rows along its first axis"),
    "rows by rows": ("g (float[b,4] x) => (float[b,b] y) { t = Transpose (x) y = MatMul (x, t) }", "different axes"),
    "how many": ("g (float[b,4] x) => (float[b,4] y) { s = Shape <end = 1> (x) c = Cast <to = 1> (s) y = Div (x, c) }", "computes with the number of rows"),
    "size": ("g (float[b,4] x) => (float[b,4] y) { s = Size (x) c = Cast <to = 1> (s) y = Div (x, c) }", "no rule for this op"),
    "a weight for each row": ("g (float[b,2] x) => (float[b,2] y) <float[3,1] c = {1, 2, 3}> { y = Add (x, c) }", "an extent along the rows"),
    "a scale for each row": ("g (float[b,2] x) => (float[b,2] y) <float[2,2] s = {1, 2, 3, 4}> { y = LayerNormalization (x, s) }", "an extent along the rows"),
    "a bias for each row": ("""g (float[b,2] x) => (float[b,2] y) <float[2] s = {1, 2}, float[3,1] c = {1, 2, 3}> {
        y = LayerNormalization (x, s, c) }""", "an extent along the rows"),
    "two symbols": ("g (float[b,4] x, float[c,4] z) => (float[b,4] y) { y = Add (x, z) }", "expected one symbol"),
    "fixed": ("g (float[2,4] x) => (float[2,4] y) { y = Tanh (x) }", "not symbolic"),
    "square": ("g (float[b,b] x) => (float[b,b] y) { y = Tanh (x) }", "the extent 'b' twice"),
    "shared output": ("g (float[b,4] x) => (float[b,4] y, float[2] c) { y = Tanh (x) c = Constant <value = float[2] {1, 2}> () }", "output 'c'"),
    "random": ("g (float[b,4] x) => (float[b,4] y) { r = RandomNormalLike (x) y = Add (x, r) }", "random"),
    "joined": ("g (float[b,4] x) => (float[k,2] y) <int64[2] s = {-1, 2}> { y = Reshape (x, s) }", "may join the axis"),
    "pooled places": ("g (float[b,1,4] x) => (float[b,1,2] y, int64[b,1,2] i) { y, i = MaxPool <kernel_shape = [2], strides = [2]> (x) }", "count the elements"),
    "choice by data": ("""g (float[b,4] x) => (float[b,4] y) { m = ReduceMax <keepdims = 0> (x) z = Constant <value = float {0}> () c = Greater (m, z)
        y = If (c) <then_branch = t () => (float[b,4] p) { p = Sin (x) }, else_branch = e () => (float[b,4] q) { q = Cos (x) }> }""", "reduces the rows"),
    "trips by data": (f"""g (float[b] x) => (float[b] y) <int64 n = {{50}}> {{ {YES}
        y = Loop (n, yes, x) <body = l (int64 i, bool go, float[b] s) => (bool on, float[b] z) {{
            z = Cos (s) d = Sub (z, s) m = ReduceMax <keepdims = 0> (d) e = Constant <value = float {{0.1}}> () on = Greater (m, e) }}> }}""", "reduces the rows"),
    "rolled": (f"""g (float[b,4] x) => (float[b,4] y) <int64 n = {{2}}> {{ {YES}
        y = Loop (n, yes, x) <body = l (int64 i, bool go, float[b,4] s) => (bool on, float[k,4] z) {{ z = Concat <axis = 0> (s, s) on = Identity (go) }}> }}""", "appends to the rows"),
    "pairs": ("g (float[b,4] x) => (float[b,4] y) <int64[1] a = {1}> { v, i = TopK <axis = 0> (x, a) y = Sub (x, v) }", "compares the rows"),
}  # fmt: skip


def inputs_of(session, count, seed):
    """Random inputs with this many rows."""
    random = np.random.default_rng(seed)
    made = {}
    for port in session.get_inputs():
        shape = [count, *port.shape[1:]]
        made[port.name] = random.integers(0, 4, shape) if "int64" in port.type else random.standard_normal(shape, np.float32)
    return made


@pytest.mark.parametrize("name", APART)
def test_rows_apart(name):
    made = model(APART[name])
    assert rows.why_rows_mix(made.SerializeToString()) is None
    session = rondel.InferenceSession(made)
    parts = [inputs_of(session, count, seed) for seed, count in enumerate((1, 3, 2))]
    together = session.run(None, {n: np.concatenate([p[n] for p in parts]) for n in parts[0]})
    alone = [session.run(None, p) for p in parts]
    for k, whole in enumerate(together):
        np.testing.assert_array_equal(whole, np.concatenate([a[k] for a in alone]))


@pytest.mark.parametrize("name", MIXED)
def test_rows_that_mix(name):
    text, reason = MIXED[name]
    assert reason in rows.why_rows_mix(model(text).SerializeToString())


def test_the_square_root_of_the_first_page_is_not_batched():
    newton = """root (float[n] a) => (float[n] r) <int64 most = {50}, float small = {0.00001}> { yes = Constant <value = bool {1}> ()
      r = Loop (most, yes, a) <body = newton (int64 i, bool go, float[n] x) => (bool on, float[n] better) {
        square = Mul (x, x) error = Sub (square, a) twice = Add (x, x) step = Div (error, twice) better = Sub (x, step)
        size = Abs (step) worst = ReduceMax <keepdims = 0> (size) on = Greater (worst, small) }> }"""
    assert "it reduces the rows" in rows.why_rows_mix(model(newton).SerializeToString())


def test_no_model_and_old_models_are_not_batched(tmp_path):
    assert "onnx cannot read" in rows.why_rows_mix(b"nothing")
    old = onnx.parser.parse_model('<ir_version: 4, opset_import: ["" : 8]> g (float[b,4] x) => (float[b,4] y) { y = Tanh (x) }')
    assert "opset is 8" in rows.why_rows_mix(old.SerializeToString())


#: Rules that read attributes in old opsets and inputs in new ones: (opset, body, None or a part of the reason).
OPSETS = {
    "how many, sliced": (9, """g (float[b,4] x) => (float[b,4] y) {
        s = Shape (x) k = Slice <starts = [0], ends = [1]> (s) f = Cast <to = 1> (k) y = Div (x, f) }""", "computes with the number of rows"),
    "how many, sliced by inputs": (11, """g (float[b,4] x) => (float[b,4] y) <int64[1] o = {0}, int64[1] t = {1}> {
        s = Shape (x) k = Slice (s, o, t) f = Cast <to = 1> (k) y = Div (x, f) }""", "computes with the number of rows"),
    "width, sliced": (9, """g (float[b,4] x) => (float[b,4] y) {
        s = Shape (x) k = Slice <starts = [1], ends = [2]> (s) f = Cast <to = 1> (k) y = Div (x, f) }""", None),
    "a slice of a row of extents": (9, """g (float[b,4] x) => (float[b,4] y) {
        t = Transpose (x) s = Shape (t) u = Unsqueeze <axes = [0]> (s) k = Slice <starts = [0], ends = [1], axes = [0]> (u)
        f = Cast <to = 1> (k) r = ReduceSum <keepdims = 0> (f) y = Div (x, r) }""", "more than one axis"),
    "rows of extents": (11, """g (float[b,4] x) => (float[b,4] y) <int64[1,1] o = {1}> {
        t = Transpose (x) s = Shape (t) k = Gather (s, o) f = Cast <to = 1> (k) r = ReduceSum <keepdims = 0> (f) y = Div (x, r) }""", "more than one axis"),
    "first row": (9, "g (float[b,4] x) => (float[b,4] y) { f = Slice <starts = [0], ends = [1]> (x) y = Sub (x, f) }", "selects rows by their number"),
    "columns": (9, "g (float[b,4] x) => (float[b,2] y) { y = Slice <starts = [0], ends = [2], axes = [1]> (x) }", None),
    "sum": (11, "g (float[b,4] x) => (float[b] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }", None),
    "sum of rows": (11, "g (float[b,4] x) => (float[b,4] y) { s = ReduceSum <axes = [0]> (x) y = Sub (x, s) }", "it reduces the rows"),
    "axes": (11, "g (float[b,4] x) => (float[b,4] y) { u = Unsqueeze <axes = [1]> (x) y = Squeeze <axes = [1]> (u) }", None),
    "padded": (9, "g (float[b,4] x) => (float[b,6] y) { y = Pad <pads = [0, 1, 0, 1]> (x) }", None),
    "padded rows": (9, "g (float[b,4] x) => (float[k,4] y) { y = Pad <pads = [1, 0, 0, 0]> (x) }", "it pads the rows"),
    "clipped": (9, "g (float[b,4] x) => (float[b,4] y) { y = Clip <min = 0.0, max = 1.0> (x) }", None),
    "largest": (9, "g (float[b,4] x) => (float[b,2] y, int64[b,2] i) { y, i = TopK <k = 2, axis = 1> (x) }", None),
    "largest rows": (9, "g (float[b,4] x) => (float[2,4] y, int64[2,4] i) { y, i = TopK <k = 2, axis = 0> (x) }", "compares the rows"),
    "RMSNormalization": (23, "g (float[b,2] x) => (float[b,2] y) <float[1,2] s = {1, 2}> { y = RMSNormalization (x, s) }", None),
    "RMSNormalization by rows": (23, """g (float[b,2] x) => (float[b,2] y) <float[2,2] s = {1, 2, 3, 4}> {
        y = RMSNormalization (x, s) }""", "an extent along the rows"),
    "split": (11, "g (float[b,4] x) => (float[b,1] y, float[b,3] z) { y, z = Split <axis = 1, split = [1, 3]> (x) }", None),
}  # fmt: skip


@pytest.mark.parametrize("name", OPSETS)
def test_rules_of_old_opsets(name):
    opset, text, reason = OPSETS[name]
    found = rows.why_rows_mix(onnx.parser.parse_model(f'<ir_version: 4, opset_import: ["" : {opset}]>\n{text}').SerializeToString())
    assert found is None if reason is None else reason in found


def test_shapes_that_a_file_only_claims_are_not_believed():
    """A value_info that says that a column of three weights is one number."""
    lying = model("g (float[b,2] x, float[3,1] c) => (float[b,2] y) { d = Identity (c) y = Add (x, d) }")
    value = lying.graph.input.pop()
    lying.graph.initializer.append(onnx.helper.make_tensor("c", onnx.TensorProto.FLOAT, [3, 1], [1, 2, 3]))
    lying.graph.value_info.append(onnx.helper.make_tensor_value_info("d", value.type.tensor_type.elem_type, [1, 1]))
    assert "an extent along the rows" in rows.why_rows_mix(lying.SerializeToString())


STATES = {
    "the state of a body": ("float[n,3,1] s", "float[n,3,1] z", "z = Add (s, c)", "an extent along the rows"),
    "the result of a body": ("float[n,3] s", "float[n,3] z", "z = Identity (s)", None),
    "no shapes": ("float[] s", "float[] z", "z = Sin (s)", None),
}


@pytest.mark.parametrize("name", STATES)
def test_shapes_that_a_body_only_claims_are_not_believed(name):
    """A state that is a matrix, which its body calls [n,3,1]: a column of three weights would then be no weight for each row."""
    state, result, body, reason = STATES[name]
    found = rows.why_rows_mix(model(f"""g (float[n,3] x) => (float[n,3] y) <int64 m = {{2}}, float[3,1] c = {{1, 2, 3}}> {{ {YES}
        y = Loop (m, yes, x) <body = l (int64 i, bool go, {state}) => (bool on, {result}) {{ {body} on = Identity (go) }}> }}""").SerializeToString())
    assert found is None if reason is None else reason in found


def test_outputs_that_a_file_only_claims_are_not_believed():
    """A state that is a column of three after a trip: the declared output says that it is one number."""
    text = f"""g (float[n,3] x) => (float[n,3] y, float[1,1] t) <int64 m = {{2}}, float[1,1] o = {{1}}> {{ {YES}
        t = Loop (m, yes, o) <body = l (int64 i, bool go, float[1,1] s) => (bool on, float[1,1] z) {{ z = Concat <axis = 0> (s, s) on = Identity (go) }}>
        y = Add (x, t) }}"""
    assert "an extent along the rows" in rows.why_rows_mix(model(text).SerializeToString())


def test_loops_in_loops_and_after_loops():
    """The shapes of states are those of their initial values, as far as all trips keep them."""
    inner = "z = Loop (m, go, u) <body = k (int64 j, bool gone, float[] s2) => (bool on2, float[] z2) { z2 = Add (s2, c) on2 = Identity (gone) }>"
    text = f"""g (float[n,3] x) => (float[n,3] y) <int64 m = {{2}}, float[1,3] c = {{1, 2, 3}}> {{ {YES}
        l = Loop (m, yes, x) <body = l (int64 i, bool go, float[] s) => (bool on, float[] z) {{ u = Sin (s) {inner} on = Identity (go) }}>
        y = Add (l, c) }}"""
    assert rows.why_rows_mix(model(text).SerializeToString()) is None
    assert "an extent along the rows" in rows.why_rows_mix(model(text.replace("float[1,3] c", "float[3,1] c")).SerializeToString())


# ---- batches that form ---------------------------------------------------------------------------------------------


def served(gate, **settings):
    return Server({"gate": (gate, ModelSettings(**{"batch": "on", **settings}))}, http_port=0, grpc_port=None)


def fill(s, gate, *requests):
    """Starts a request that holds the model, then these; waits until all of them wait. Returns the futures."""
    first = in_parallel(lambda: infer(s.url, "gate", tensor("x", [[0, 0]])))
    assert gate.entered.acquire(timeout=20)
    futures = in_parallel(*(lambda r=r: infer(s.url, "gate", tensor("x", r)) for r in requests))
    wait_for(lambda: len(s.service.models.find("gate")._queue) == len(requests))
    return first + futures


def test_what_waits_is_run_together():
    gate = Gate()
    with served(gate) as s:
        given = [np.full((k % 3 + 1, 2), k) for k in range(8)]
        futures = fill(s, gate, *given)
        gate.open.set()
        for x, future in zip([np.zeros((1, 2)), *given], futures):
            status, _, found = future.result(20)
            assert status == 200
            np.testing.assert_array_equal(found["y"], 2 * x)
        assert sum(gate.runs) == 1 + sum(len(x) for x in given) and len(gate.runs) < 1 + len(given)


def test_batches_have_few_sizes():
    """Of 1 + 7 requests of a row each, the first runs alone, and then what waits in powers of two."""
    gate = Gate()
    with served(gate) as s:
        futures = fill(s, gate, *[np.ones((1, 2))] * 7)
        gate.open.set()
        assert all(f.result(20)[0] == 200 for f in futures) and gate.runs == [1, 4, 2, 1]


def test_a_batch_has_at_most_so_many_rows():
    gate = Gate()
    with served(gate, max_batch=4) as s:
        futures = fill(s, gate, *[np.ones((n, 2)) for n in (3, 3, 1, 9, 1)])
        gate.open.set()
        assert [f.result(20)[0] for f in futures] == [200] * 6
        assert sum(gate.runs[1:]) == 17
        assert max(n for n in gate.runs if n != 9) <= 4, "what is larger than a batch runs alone"


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_request_that_fails_does_not_take_others_with_it(error):
    gate = Gate(error=error)
    with served(gate) as s:
        futures = fill(s, gate, [[1, 1]], [[-1, 0]], [[2, 2]])
        gate.open.set()
        found = [f.result(20) for f in futures]
        assert [status for status, _, _ in found] == [200, 200, 500, 200]
        np.testing.assert_array_equal(found[3][2]["y"], [[4, 4]])


def test_unlike_requests_are_run_apart():
    x = [np.ones((2, 4), np.float32), np.ones((1, 5), np.float32)]
    with Server({"any": (model("g (float[b,k] x) => (float[b,k] y) { y = Tanh (x) }"), ModelSettings(batch_delay=0.2))}, http_port=0, grpc_port=None) as s:
        assert s.service.models.find("any").batches
        for future, given in zip(in_parallel(*(lambda g=g: infer(s.url, "any", tensor("x", g)) for g in x)), x):
            np.testing.assert_allclose(future.result(20)[2]["y"], np.tanh(given), rtol=1e-6)


def test_outputs_that_do_not_fit_a_batch_are_computed_alone():
    """Said to keep rows apart, and does not."""
    mean = model("g (float[b,2] x) => (float[k,2] y) <int64[1] a = {0}> { y = ReduceMean (x, a) }")
    with Server({"mean": (mean, ModelSettings(batch="on", batch_delay=0.3))}, http_port=0, grpc_port=None) as s:
        given = [np.full((2, 2), k) for k in range(4)]
        futures = in_parallel(*(lambda g=g: infer(s.url, "mean", tensor("x", g)) for g in given))
        for k, future in enumerate(futures):
            np.testing.assert_array_equal(future.result(20)[2]["y"], [[k, k]])


SUMS = "float[2] y) <int64[1] a = {0}> { y = ReduceSum <keepdims = 0> (x, a) }"

#: Models that are told to keep the rows apart, and declare outputs that have no rows: the body, and what is said of it.
REFUTED = {
    "a fixed extent": ("g (float[b,2] x) => (" + SUMS, "the first extent of its output 'y' is 2, however many rows come; expected an extent that is the rows, 'b'"),
    "another axis": ("g (float[b,k] x) => (float[k] y) <int64[1] a = {0}> { y = ReduceSum <keepdims = 0> (x, a) }", "the first extent of its output 'y' is 'k'"),
    "a scalar": ("g (float[b,2] x) => (float[b,2] z, float y) { z = Neg (x) y = ReduceSum <keepdims = 0> (x) }", "its output 'y' is a scalar"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_what_is_said_of_rows_is_refused_where_the_outputs_say_otherwise(name):
    text, reason = REFUTED[name]
    with pytest.raises(rondel.CallerError, match=f"model 'one' is told to be batched.*{reason}"):
        Server({"one": (model(text), ModelSettings(batch="on"))}, http_port=0, grpc_port=None).start()
    with Server({"one": model(text)}, http_port=0, grpc_port=None) as s:
        assert not s.service.models.find("one").batches


@pytest.mark.parametrize("shape", [["b", 2], ["k", 2], [None, 2], None, []])
def test_what_is_said_of_rows_is_believed_where_the_outputs_leave_it_open(shape):
    """Exporters name the extents of outputs anew; onnxruntime's [] may also be a tensor of unknown rank."""
    gate = Gate()
    gate.get_outputs = lambda: [Port("y", shape)]
    with served(gate) as s:
        assert s.service.models.find("gate").batches


def test_what_is_told_about_batches():
    with Server({"a": TANH, "b": (TANH, ModelSettings(batch="off"))}, http_port=0, grpc_port=None) as s:
        sizes = [json.loads(ask(s.url, f"/v2/models/{name}/config")[2])["max_batch_size"] for name in "ab"]
        assert sizes == [32, 0] and "told not to" in s.service.models.find("b").why_alone
        assert s.service.models.find("a").why_alone is None


def test_a_request_with_a_budget_of_its_own_runs_alone():
    with Server({"sum": (SUM, ModelSettings(batch_delay=0.2))}, http_port=0, grpc_port=None) as s:
        inputs = [tensor(n, [[1, 2]]) for n in ("x", "state")]
        futures = in_parallel(*(lambda: infer(s.url, "sum", *inputs, max_trips=5) for _ in range(3)))
        assert all(f.result(20)[0] == 200 for f in futures)
        assert b'rondel_batch_rows_bucket{le="1.0",model="sum"} 3.0' in ask(s.url, "/metrics")[2]
