"""Ops of the user's own: rondel.register_op, in runs, loops, gradients, exports, pickles and the command line."""

import pickle
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import onnx
import onnx.parser
import pytest

import rondel

X = np.array([1, 2, 3], np.float32)


@pytest.fixture(autouse=True)
def no_ops_stay():
    yield
    for domain, name in rondel.registered_ops():
        rondel.unregister_op(domain, name)


def model(body, imports='"my.ops" : 7', ir=10):
    return onnx.parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : 21, {imports}]>\n{body}')


def session(body, **more):
    return rondel.InferenceSession(model(body, **more))


def triple(register=rondel.register_op, **options):
    register("my.ops", "Triple", lambda x: 3 * x, **options)


TRIPLE = "agraph (float[n] x) => (float[n] y) { t = my.ops.Triple (x) y = Neg (t) }"


def test_an_op_is_found_by_domain_and_name_whatever_version_is_imported():
    triple()
    for version in (1, 7, 2**40):
        made = session(TRIPLE, imports=f'"my.ops" : {version}')
        np.testing.assert_array_equal(made.run(None, {"x": X})[0], -3 * X)
    with pytest.raises(rondel.CallerError, match="Triple of my.opts, version 7 is not known.*register"):
        session(TRIPLE.replace("my.ops.", "my.opts."), imports='"my.opts" : 7')
    with pytest.raises(rondel.CallerError, match="'my.ops', which the model does not import"):
        session(TRIPLE, imports='"other" : 7')


def test_attributes_come_with_their_onnx_types_and_inputs_that_are_left_out_as_none():
    seen = {}

    def keep(*inputs, **attributes):
        seen.update(attributes, inputs=inputs)
        return inputs[0]

    rondel.register_op("my.ops", "Keep", keep)
    body = """agraph (float[n] x) => (float[n] y) {
      y = my.ops.Keep <i = 3, f = 0.5, s = "text", ints = [1, 2], floats = [1.0, 0.25], strings = ["a", "b"],
                       t = float[2] {1, 2}> (x, , x) }"""
    given = model(body)
    given.graph.node[0].attribute.append(onnx.helper.make_attribute("raw", b"\xff\x00"))
    given.graph.node[0].attribute.append(onnx.helper.make_attribute("none", [], attr_type=onnx.AttributeProto.INTS))
    given.graph.node[0].attribute.append(
        onnx.helper.make_attribute("type", onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT64, [2]), attr_type=onnx.AttributeProto.TYPE_PROTO)
    )
    rondel.InferenceSession(given).run(None, {"x": X})
    inputs, tensor = seen.pop("inputs"), seen.pop("t")
    assert seen == {"i": 3, "f": 0.5, "s": "text", "ints": [1, 2], "floats": [1.0, 0.25], "strings": ["a", "b"],
                    "raw": b"\xff\x00", "none": [], "type": "tensor(int64)"}  # fmt: skip
    assert [type(seen[k]) for k in ("i", "f", "s")] == [int, float, str]
    assert tensor.dtype == np.float32 and tensor.tolist() == [1, 2]
    assert len(inputs) == 3 and inputs[1] is None and inputs[0].tolist() == [1, 2, 3]
    assert not inputs[0].flags.writeable


def test_attributes_of_functions_are_resolved():
    rondel.register_op("my.ops", "Scale", lambda x, by: x * np.float32(by))
    text = """<ir_version: 10, opset_import: ["" : 21, "my.ops" : 1, "local" : 1]>
    agraph (float[n] x) => (float[n] y) { y = local.twice <by = 4.0> (x) }
    <domain: "local", opset_import: ["" : 21, "my.ops" : 1]>
    twice <by> (x) => (y) { a = my.ops.Scale <by : float = @by> (x) y = my.ops.Scale <by : float = @by> (a) }"""
    np.testing.assert_array_equal(rondel.InferenceSession(onnx.parser.parse_model(text)).run(None, {"x": X})[0], 16 * X)


def test_several_outputs_and_any_number_of_inputs():
    rondel.register_op("my.ops", "Spread", lambda *xs: (np.stack(xs).min(0), np.stack(xs).max(0)))
    made = session("agraph (float[n] x, float[n] z) => (float[n] lo, float[n] hi) { lo, hi = my.ops.Spread (x, z, x) }")
    lo, hi = made.run(None, {"x": X, "z": X[::-1]})
    assert lo.tolist() == [1, 2, 1] and hi.tolist() == [3, 2, 3]
    first = session("agraph (float[n] x) => (float[n] lo) { lo = my.ops.Spread (x) }")  # an output is not named
    assert first.run(None, {"x": X})[0].tolist() == [1, 2, 3]


def test_every_dtype_comes_and_goes():
    rondel.register_op("my.ops", "Same", lambda x: x)
    for dtype in rondel.arrays._BY_NUMBER:
        name = rondel.arrays.onnx_name(dtype)
        x = np.array(["a", "é", ""], object) if dtype == "str" else np.array([1, 2, 1]).astype(rondel.arrays.numpy_dtype(dtype))
        node = onnx.helper.make_node("Same", ["x"], ["y"], domain="my.ops")
        ports = [onnx.helper.make_tensor_value_info(n, rondel.arrays.onnx_number(dtype), ["n"]) for n in "xy"]
        graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:])
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 25), onnx.helper.make_opsetid("my.ops", 1)], ir_version=13)
        y = rondel.InferenceSession(made).run(None, {"x": x})[0]
        assert y.dtype == x.dtype and y.tolist() == x.tolist(), name
        assert rondel.InferenceSession(made).run(None, {"x": x[:0]})[0].shape == (0,), name


# ---- types


def test_types_of_outputs_come_from_the_second_function():
    seen = []

    def types(x, n=1):
        seen.append(x)
        return rondel.TensorType(np.dtype(np.int64), (*x.shape, n))

    rondel.register_op("my.ops", "Ranks", lambda x, n=1: np.tile(x.argsort()[:, None], (1, n)), types=types)
    made = session("agraph (float[n] x) => (y) { y = my.ops.Ranks <n = 2> (x) }")
    assert (made.get_outputs()[0].type, made.get_outputs()[0].shape) == ("tensor(int64)", ["n", 2])
    assert seen[0] == (np.dtype(np.float32), ("n",))
    assert made.run(None, {"x": -X})[0].tolist() == [[2, 2], [1, 1], [0, 0]]
    assert (np.dtype(np.float32), (3,)) in seen


@pytest.mark.parametrize(
    "types, expected",
    [
        (lambda x: x, [("tensor(float)", ["n"])]),
        (lambda x: np.float64, [("tensor(double)", None)]),
        (lambda x: ("int8", (None, 3)), [("tensor(int8)", [None, 3])]),
        (lambda x: [x, (bool, ())], [("tensor(float)", ["n"]), ("tensor(bool)", [])]),
        (lambda x: (np.float32, str), [("tensor(float)", None), ("tensor(string)", None)]),
        (lambda x: (x, x), [("tensor(float)", ["n"])] * 2),
    ],
)
def test_ways_to_write_types(types, expected):
    rondel.register_op("my.ops", "Op", lambda x: x, types=types)
    names = ", ".join("yz"[: len(expected)])
    made = session(f"agraph (float[n] x) => ({names}) {{ {names} = my.ops.Op (x) }}")
    assert [(p.type, p.shape) for p in made.get_outputs()] == expected


def test_without_types_the_model_says_them_or_the_first_input():
    rondel.register_op("my.ops", "Sum", lambda x, to=0: x.sum(keepdims=True).astype(np.float64 if to else np.float32))
    declared = "agraph (float[n] x) => (double[1] y) <double[1] t> { t = my.ops.Sum <to = 1> (x) y = Neg (t) }"
    assert session(declared).run(None, {"x": X})[0].tolist() == [-6]
    assert session("agraph (float[n] x) => (y) { t = my.ops.Sum (x) y = Neg (t) }").run(None, {"x": X})[0].tolist() == [-6]
    rondel.register_op("my.ops", "Source", lambda: X)
    with pytest.raises(rondel.CallerError, match="declares no type for output 't'"):
        session("agraph () => (y) { t = my.ops.Source () y = Neg (t) }")
    assert session("agraph () => (float[3] y) { y = my.ops.Source () }").run(None, {})[0].tolist() == [1, 2, 3]


def test_types_by_running_call_the_function_once_for_dtypes_and_ranks():
    calls = []

    def ranks(x):
        calls.append(x.copy())
        return x.argsort()

    rondel.register_op("my.ops", "Ranks", ranks, types="run")
    made = session("agraph (float[n] x) => (y) { t = my.ops.Ranks (x) y = Neg (t) }")
    assert made.get_outputs()[0].type == "tensor(int64)" and [c.tolist() for c in calls] == [[0]]
    for k in (3, 2):
        made.run(None, {"x": X[:k]})
    assert len(calls) == 3
    with pytest.raises(rondel.CallerError, match="the rank of input 0 is not known"):
        session("agraph (float[] x, int64[k] s) => (y) { t = Reshape (x, s) y = my.ops.Ranks (t) }")


def test_the_function_is_not_called_while_compiling_unless_it_is_pure():
    calls = []

    def f(x):
        calls.append(threading.current_thread())
        return x + 1

    body = "agraph (float[n] x) => (float[3] y, float[n] z) <float[3] c = {1, 2, 3}> { y = my.ops.F (c) t = my.ops.F (x) u = my.ops.F (x) z = Add (t, u) }"
    rondel.register_op("my.ops", "F", f)
    made = session(body)
    rondel.inspect(model(body))
    rondel.export(model(body))
    assert calls == []
    made.run(None, {"x": X})
    assert len(calls) == 3
    rondel.register_op("my.ops", "F", f, types=lambda x: x, pure=True, replace=True)
    made = session(body)
    folded = len(calls)
    assert folded > 3
    y, z = made.run(None, {"x": X})
    assert folded < len(calls) <= folded + 2 and y.tolist() == [2, 3, 4] and z.tolist() == [4, 6, 8]


# ---- errors


def test_an_exception_keeps_its_place_and_is_the_cause():
    def fails(x, limit):
        raise KeyError(f"no {limit}")

    rondel.register_op("my.ops", "Fails", fails)
    made = session("""agraph (float[n] x) => (float[n] y) <int64 five = {5}, bool yes = {1}> {
      y = Loop (five, yes, x) <body = b (int64 i, bool go, s) => (bool go2, s2) {
        go2 = Identity (go)  [inner] s2 = my.ops.Fails <limit = 4> (s) }> }""")
    with pytest.raises(rondel.CallerError) as caught:
        made.run(None, {"x": X})
    assert str(caught.value) == "node 'y' (Loop), trip 0: node 'inner' (Fails): its function failed: KeyError: 'no 4'; 0=f32[3]"
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.node == "node 'inner' (Fails)" and caught.value.trips == (0,)
    assert "in fails" in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "function, types, message",
    [
        (lambda x: x.astype(np.float64), None, "output 0 is f64[3]; expected f32[?]"),
        (lambda x: x[None], None, "output 0 is f32[1, 3]; expected f32[?]"),
        (lambda x: x[:2], lambda x: x, "output 0 is f32[2]; expected f32[3]"),
        (lambda x: x[:2], lambda x: (x.dtype, (4,)), "output 0 is f32[2]; expected f32[4]"),
        (lambda x: None, None, "gave None for output 0"),
        (lambda x: None, "run", "gave None for output 0"),
        (lambda x: (), None, "gave 0 of 1 outputs"),
        (lambda x: object(), None, "holds a object"),
        (lambda x: x, lambda x: (x.dtype, (-1,)), "gives the extent -1"),
        (lambda x: x, lambda x: [], "gives 0 types for 1 outputs"),
        (lambda x: x, lambda x: 3, "expected a TensorType"),
        (lambda x: x, lambda x: None, "it gave None for output 0; expected a TensorType"),
        (lambda x: x, lambda x: (x.dtype, (2.5,)), "extent 2.5"),
        (lambda x: x, lambda x: 1 / 0, "its function `types` failed: ZeroDivisionError"),
    ],
)
def test_what_does_not_fit_is_refused(function, types, message):
    rondel.register_op("my.ops", "Op", function, types=types)
    with pytest.raises(rondel.CallerError) as caught:
        session("agraph (float[n] x) => (float[k] y) { y = my.ops.Op (x) }").run(None, {"x": X})
    assert message in str(caught.value) and "(Op)" in str(caught.value)


def test_equal_extents_that_types_claim_are_checked():
    rondel.register_op("my.ops", "Op", lambda x: x[:-1], types=lambda x: (x.dtype, x.shape if isinstance(x.shape[0], str) else (None,)))
    made = session("agraph (float[n] x) => (y) { t = my.ops.Op (x) y = Add (t, x) }")
    with pytest.raises(rondel.CallerError, match="axis 0 is as long as axis 0 of input 0, which is 3"):
        made.run(None, {"x": X})


def test_only_tensors_come_in():
    triple()
    with pytest.raises(rondel.UnsupportedError, match="take tensors only"):
        session("agraph (float[n] x) => (y) { s = SequenceConstruct (x) y = my.ops.Triple (s) }")


def test_wrong_registrations_are_refused():
    triple()
    with pytest.raises(rondel.CallerError, match="registered already"):
        triple()
    triple(replace=True)
    for domain, name in (("", "Mine"), ("ai.onnx", "Mine"), ("ai.onnx.ml", "Scaler"), ("my.ops", "")):
        with pytest.raises(rondel.CallerError):
            rondel.register_op(domain, name, lambda x: x)
    for wrong in (3, None, "no text of a function", b"bytes"):
        with pytest.raises(rondel.CallerError):
            rondel.register_op("my.ops", "Wrong", wrong)
    with pytest.raises(rondel.CallerError, match="types is a int"):
        rondel.register_op("my.ops", "Wrong", lambda x: x, types=3)
    for pure, replace, message in (("yes", False, "pure is 'yes'; expected True or False"), (False, "yes", "replace is 'yes'; expected")):
        with pytest.raises(rondel.CallerError, match=message):
            rondel.register_op("my.ops", "Wrong", lambda x: x, pure=pure, replace=replace)
    with pytest.raises(rondel.CallerError, match="'Wrong' of domain 'my.ops' is not registered; registered are: my.ops.Triple"):
        rondel.unregister_op("my.ops", "Wrong")
    assert rondel.registered_ops() == [("my.ops", "Triple")]


def test_an_op_of_onnxruntime_that_rondel_has_is_replaced_where_asked():
    source = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
        agraph (float[n] x) => (float[n] y) { y = com.microsoft.QuickGelu (x) }"""
    with pytest.raises(rondel.CallerError, match="'QuickGelu' of domain 'com.microsoft' is one of Rondel's own; ask to replace it"):
        rondel.register_op("com.microsoft", "QuickGelu", lambda x: 2 * x)
    rondel.register_op("com.microsoft", "QuickGelu", lambda x: 2 * x, replace=True)
    assert rondel.InferenceSession(onnx.parser.parse_model(source)).run(None, {"x": X})[0].tolist() == (2 * X).tolist()
    rondel.unregister_op("com.microsoft", "QuickGelu")
    assert rondel.InferenceSession(onnx.parser.parse_model(source)).run(None, {"x": X})[0].tolist() != (2 * X).tolist()


def test_sessions_keep_what_they_had():
    triple()
    old = session(TRIPLE)
    rondel.register_op("my.ops", "Triple", lambda x: 30 * x, replace=True)
    new = session(TRIPLE)
    rondel.unregister_op("my.ops", "Triple")
    assert old.run(None, {"x": X})[0].tolist() == [-3, -6, -9] and new.run(None, {"x": X})[0].tolist() == [-30, -60, -90]
    with pytest.raises(rondel.CallerError, match="is not known"):
        session(TRIPLE)
    assert old.custom_ops == [("my.ops", "Triple")]


# ---- threads, limits


def test_runs_release_the_gil_and_two_sessions_meet_in_the_function():
    meeting = threading.Barrier(2, timeout=60)

    def meet(x):
        meeting.wait()  # both threads are in the function at once
        return x

    rondel.register_op("my.ops", "Meet", meet)
    made = [session(TRIPLE.replace("Triple", "Meet")) for _ in range(2)]
    found = []
    threads = [threading.Thread(target=lambda s=s: found.append(s.run(None, {"x": X})[0].tolist())) for s in made]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[-1, -2, -3]] * 2


def test_a_function_may_run_rondel_itself():
    triple()
    inner = session(TRIPLE)
    rondel.register_op("my.ops", "Nested", lambda x: inner.run(None, {"x": x})[0])
    outer = session(TRIPLE.replace("Triple", "Nested"))
    assert outer.run(None, {"x": X})[0].tolist() == [3, 6, 9]
    results = []
    threads = [threading.Thread(target=lambda: results.append(outer.run(None, {"x": X})[0].tolist())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [[3, 6, 9]] * 4


ENDLESS = """agraph (float[n] x) => (float[n] y) <int64 many = {1000000000}, bool yes = {1}> {
  y = Loop (many, yes, x) <body = b (int64 i, bool go, s) => (bool go2, s2) { go2 = Identity (go) s2 = my.ops.Op (s) }> }"""


def test_deadlines_and_flags_end_a_run_between_calls():
    options = rondel.RunOptions()

    def op(x):
        options.terminate = True
        return x

    rondel.register_op("my.ops", "Op", op)
    with pytest.raises(rondel.Cancelled):
        session(ENDLESS).run(None, {"x": X}, options)
    rondel.register_op("my.ops", "Op", lambda x: time.sleep(0.01) or x, replace=True)
    limits = rondel.RunOptions()
    limits.deadline = 0.05
    with pytest.raises(rondel.DeadlineExceeded):
        session(ENDLESS).run(None, {"x": X}, limits)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_goes_through(kind):
    def op(x):
        raise kind

    rondel.register_op("my.ops", "Op", op)
    made = session(ENDLESS)
    with pytest.raises(kind):
        made.run(None, {"x": X})


def test_arrays_that_a_function_keeps_do_no_harm():
    kept = []
    rondel.register_op("my.ops", "Op", lambda x: kept.append(x) or x)
    body = ENDLESS.replace("1000000000", "50").replace("s2 = my.ops.Op (s)", "t = Neg (s) s2 = my.ops.Op (t)")
    made = session(body)
    y = made.run(None, {"x": np.arange(100000, dtype=np.float32)})[0]
    del made
    assert y[7] == 7 and len(kept) == 50 and all(np.isfinite(x).all() for x in kept)


def test_outputs_are_copies():
    held = X.copy()
    rondel.register_op("my.ops", "Held", lambda: held)
    y = session("agraph () => (float[3] y) { y = my.ops.Held () }").run(None, {})[0]
    y[0] = 9
    assert held[0] == 1


def test_a_budget_of_memory_holds():
    rondel.register_op("my.ops", "Big", lambda x: np.zeros(10**6, np.float32))
    options = rondel.SessionOptions()
    options.max_memory_bytes = 10**6
    made = rondel.InferenceSession(model("agraph (float[n] x) => (float[k] y) { t = my.ops.Big (x) y = Neg (t) }"), options)
    with pytest.raises(rondel.LimitExceeded):
        made.run(None, {"x": X})


# ---- loops, branches


def test_in_a_loop_the_other_steps_stay_native():
    calls = []
    rondel.register_op("my.ops", "Log", lambda x: calls.append(1) or np.log1p(np.abs(x)), types=lambda x: x)
    made = session("""agraph (float[n] x) => (float[n] y, float[k] s) <int64 ten = {10}, bool yes = {1}> {
      y, s = Loop (ten, yes, x) <body = b (int64 i, bool go, s) => (bool go2, s2, item) {
        go2 = Identity (go) a = Mul (s, s) c = Add (a, s) l = my.ops.Log (c) s2 = Neg (l) item = ReduceSum <keepdims = 0> (s2) }> }""")
    y, s = made.run(None, {"x": X})
    expected, sums = X, []
    for _ in range(10):
        expected = -np.log1p(np.abs(expected * expected + expected))
        sums.append(expected.sum())
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    np.testing.assert_allclose(s, sums, rtol=1e-5)
    assert len(calls) == 10
    assert "step by step: node 'l' (Log)" in made.how_it_ran()["node 'y' (Loop)"]


def test_in_scans_and_branches():
    triple(types=lambda x: x)
    scanned = session("""agraph (float[3,2] x, float[2] a) => (float[2] last, float[3,2] all) {
      last, all = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] s2, float[2] o) {
        t = my.ops.Triple (e) s2 = Add (s, t) o = Identity (s2) }> (a, x) }""")
    last, everything = scanned.run(None, {"x": np.arange(6, dtype=np.float32).reshape(3, 2), "a": np.zeros(2, np.float32)})
    assert last.tolist() == [18, 27] and everything.tolist() == [[0, 3], [6, 12], [18, 27]]
    calls = []
    rondel.register_op("my.ops", "Note", lambda x: calls.append(1) or x)
    branch = session("""agraph (float[n] x, bool c) => (float[n] y) {
      y = If (c) <then_branch = t () => (float[n] a) { a = my.ops.Note (x) }, else_branch = e () => (float[n] b) { b = Neg (x) }> }""")
    assert branch.run(None, {"x": X, "c": False})[0].tolist() == [-1, -2, -3] and not calls
    assert branch.run(None, {"x": X, "c": True})[0].tolist() == [1, 2, 3] and len(calls) == 1


# ---- gradients


def test_gradients():
    rondel.register_op(
        "my.ops",
        "Power",
        lambda x, k, by=2.0: (x ** np.float32(by) * np.float32(k[0]), x),
        types=lambda x, k, by=2.0: [x, x],
        gradient=lambda inputs, outputs, adjoints, by=2.0: (adjoints[0] * np.float32(by * inputs[1][0]) * inputs[0] ** np.float32(by - 1) + adjoints[1], None),
    )
    text = "agraph (float[3] x) => (float y) <int64[1] k = {5}> { p, same = my.ops.Power <by = 3.0> (x, k) t = Mul (p, p) y = ReduceSum <keepdims = 0> (t) }"
    written = rondel.grad(model(text), wrt=["x"])
    made = rondel.InferenceSession(written)
    np.testing.assert_allclose(made.run(["grad_x"], {"x": X})[0], 2 * 5 * X**3 * 15 * X**2, rtol=1e-5)
    assert made.custom_ops == [("my.ops", "Power"), ("my.ops", "Power.gradient")]


def test_gradients_through_loops():
    rondel.register_op("my.ops", "Sin", np.sin, types=lambda x: x, gradient=lambda x, y, dy: dy[0] * np.cos(x[0]))
    loop = """agraph (double[3] x) => (double y) <int64 n = {4}, bool yes = {1}> {
      s = Loop (n, yes, x) <body = b (int64 i, bool go, a) => (bool go2, b2) { go2 = Identity (go) c = OP (a) b2 = Add (c, a) }>
      y = ReduceSum <keepdims = 0> (s) }"""
    x = np.array([0.1, 0.7, 2.0])
    ours, standard = (rondel.InferenceSession(rondel.grad(model(loop.replace("OP", op)), wrt=["x"])).run(None, {"x": x}) for op in ("my.ops.Sin", "Sin"))
    for a, b in zip(ours, standard):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_missing_gradient_says_what_to_do():
    triple()
    with pytest.raises(rondel.UnsupportedError, match=r"node 't' \(Triple\) has no gradient.*`gradient=`"):
        rondel.grad(model(TRIPLE.replace("y = Neg", "s = Neg").replace("(t) }", "(t) y = ReduceSum <keepdims = 0> (s) }").replace("float[n] y", "float y")), wrt=["x"])


def test_wrong_adjoints_are_refused():
    rondel.register_op("my.ops", "Op", lambda x: 2 * x, types=lambda x: x, gradient=lambda x, y, dy: dy[0][:2])
    made = rondel.InferenceSession(rondel.grad(model("agraph (float[3] x) => (float y) { t = my.ops.Op (x) y = ReduceSum <keepdims = 0> (t) }"), wrt=["x"]))
    with pytest.raises(rondel.CallerError, match=r"\(Op.gradient\).*output 0 is f32\[2\]; expected f32\[3\]"):
        made.run(None, {"x": X})


# ---- export, pickles, the command line


def test_export_keeps_the_node_as_it_was_read():
    rondel.register_op("my.ops", "Keep", lambda *x, **_: (x[0], x[0]))
    body = """agraph (float[n] x) => (float[n] y) {
      y, z = my.ops.Keep <i = 3, f = 0.1, s = "text", ints = [1, 2], floats = [1.0], strings = ["a"], t = float[2] {1, 2}> (x, , x) }"""
    given = model(body)
    written = onnx.load_from_string(rondel.export(given))
    assert {i.domain: i.version for i in written.opset_import}["my.ops"] == 7
    node, before = written.graph.node[0], given.graph.node[0]
    assert (node.domain, node.op_type, list(node.input), len(node.output)) == ("my.ops", "Keep", ["x", "", "x"], 2)

    def of(n):
        return {a.name: onnx.helper.get_attribute_value(a) for a in n.attribute if a.name != "t"}

    assert of(node) == of(before)
    np.testing.assert_array_equal(*(onnx.numpy_helper.to_array(a.t) for n in (node, before) for a in n.attribute if a.name == "t"))
    assert rondel.InferenceSession(written).run(None, {"x": X})[0].tolist() == [1, 2, 3]


def test_an_onnx_function_is_compiled_differentiated_and_exported_as_its_nodes():
    function = '<domain: "any", opset_import: ["" : 21]> swish <beta> (x) => (y) { b = Constant <value_float : float = @beta> () s = Mul (x, b) t = Sigmoid (s) y = Mul (x, t) }'
    rondel.register_op("my.ops", "MySwish", function)
    text = ENDLESS.replace("1000000000", "5").replace("my.ops.Op", "my.ops.MySwish <beta = 1.5>")
    made = session(text)
    expected = X
    for _ in range(5):
        expected = expected / (1 + np.exp(-1.5 * expected))
    np.testing.assert_allclose(made.run(None, {"x": X})[0], expected, rtol=1e-5)
    assert made.how_it_ran() == {"node 'y' (Loop)": "natively, as a whole"} and made.custom_ops == [("my.ops", "MySwish")]
    assert {n.domain for n in onnx.load_from_string(rondel.export(model(text))).graph.node} == {""}
    proto = onnx.parser.parse_function(function)
    rondel.register_op("my.ops", "MySwish", proto, replace=True)
    np.testing.assert_allclose(session(text).run(None, {"x": X})[0], expected, rtol=1e-5)


def test_a_pickled_session_says_what_it_needs():
    triple()
    made = session(TRIPLE)
    pickled = pickle.dumps(made)
    assert pickle.loads(pickled).run(None, {"x": X})[0].tolist() == [-3, -6, -9]
    rondel.unregister_op("my.ops", "Triple")
    with pytest.raises(rondel.CallerError, match="not registered in this process: 'Triple' of domain 'my.ops'; call rondel.register_op"):
        pickle.loads(pickled)


def test_inspect_names_the_ops():
    triple()
    report = rondel.inspect(model(TRIPLE))
    assert report.custom_ops == [("my.ops", "Triple")] and "ops of your own\n  my.ops.Triple" in str(report)
    assert "my.ops.Triple" in session(TRIPLE).ir_text(imported=True)
    rondel.unregister_op("my.ops", "Triple")
    report = rondel.inspect(model(TRIPLE))
    assert not report.runs and "register" in str(report) and report.custom_ops == []


@pytest.fixture
def command(tmp_path):
    onnx.save(model(TRIPLE), tmp_path / "triple.onnx")
    (tmp_path / "my_ops.py").write_text('import rondel\nrondel.register_op("my.ops", "Triple", lambda x: 3 * x)\n')
    (tmp_path / "broken.py").write_text("1 / 0\n")

    def run(*arguments):
        done = subprocess.run([sys.executable, "-m", "rondel_cli.main", *arguments], cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_command_line_loads_ops(command):
    for option in (["--ops", "my_ops.py"], ["--custom", "my_ops"]):
        assert command("check", "triple.onnx", *option)[:2] == (0, "triple.onnx will run\n")
        code, out, _ = command("run", "triple.onnx", "-i", "x=1,2,3", *option)
        assert code == 0 and "-3, -6, -9" in out
    assert "ops of your own\n  my.ops.Triple" in command("inspect", "triple.onnx", "--ops", "my_ops.py")[1]
    code, out, err = command("check", "triple.onnx")
    assert code == 3 and "--ops FILE.py" in out
    assert command("check", "triple.onnx", "--ops", "none.py")[0] == 2
    code, _, err = command("check", "triple.onnx", "--ops", "broken.py")
    assert code == 1 and "--ops broken.py: it raised ZeroDivisionError: division by zero" in err
    for name in ("no_such_module", "no_such_package.module"):
        assert command("check", "triple.onnx", "--custom", name) == (2, "", f"rondel: --custom {name}: there is no such module\n")
    for name in ("", ".my_ops"):
        code, _, err = command("check", "triple.onnx", "--custom", name)
        assert code == 2 and err.startswith(f"rondel: --custom '{name}': expected the name of a module"), err


def test_a_gradient_takes_no_name_from_the_user():
    rondel.register_op("my.ops", "ZGrad", lambda x: x + 1)
    rondel.register_op("my.ops", "Z", lambda x: x, gradient=lambda inputs, outputs, adjoints: adjoints)
    rondel.unregister_op("my.ops", "Z")
    got = session("agraph (float[n] x) => (float[n] y) { y = my.ops.ZGrad (x) }").run(None, {"x": X})[0]
    assert got.tolist() == [2, 3, 4]


def test_a_process_may_end_while_a_daemon_thread_is_in_an_op(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import threading, time
import numpy as np, onnx.parser, rondel
began = threading.Event()
def slow(x):
    began.set()
    time.sleep(1)
    return x
rondel.register_op("my.ops", "Slow", slow)
model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21, "my.ops" : 1]> g (float[n] x) => (float[n] y) { y = my.ops.Slow (x) }')
session = rondel.InferenceSession(model)
threading.Thread(target=session.run, args=(None, {"x": np.ones(1, np.float32)}), daemon=True).start()
began.wait()
print("done")
""")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
