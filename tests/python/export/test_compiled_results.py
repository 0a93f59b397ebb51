"""Compiled models (`rondel compile`) give what a session gives: bits, errors, limits, for every shape, from several threads, on random programs."""

import os
import pickle
import threading
import warnings

import numpy as np
import onnx
import pytest
import rondel
from compiled_cases import F32, NATIVE, ROOT, WORDS, compiled
from fuzz.programs import Rejected, program
from models import agree, model, run_options


def ran_natively(loaded):
    how = loaded.how_it_ran(tiers=True)
    assert how and all(text.startswith("natively, as a whole") and "interpreted" not in text for text in how.values()), how


@pytest.mark.parametrize("name", NATIVE)
def test_a_compiled_model_gives_the_bits_of_a_session_natively(tmp_path, name):
    proto, feeds = NATIVE[name]
    session = rondel.InferenceSession(proto)
    loaded, report = compiled(tmp_path, proto)
    assert not report.not_compiled and report.programs > 0
    for one in feeds:
        agree(loaded.run(None, one), session.run(None, one))
        ran_natively(loaded)
    assert [(p.name, p.type, p.shape) for p in loaded.get_inputs()] == [(p.name, p.type, p.shape) for p in session.get_inputs()]
    assert [(p.name, p.type, p.shape) for p in loaded.get_outputs()] == [(p.name, p.type, p.shape) for p in session.get_outputs()]


def test_weights_of_megabytes_are_in_the_library_once(tmp_path):
    weights = np.random.default_rng(0).normal(size=(1024, 2048)).astype(F32)
    proto = model("g (float[n, 1024] x) => (float[n, 2048] y, float[n, 2048] z) { y = MatMul (x, W)  z = Neg (y) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "W"))
    loaded, report = compiled(tmp_path, proto)
    assert weights.nbytes <= report.weight_bytes < weights.nbytes + 4096
    assert os.path.getsize(report.library) < weights.nbytes + (16 << 20)
    x = np.random.default_rng(1).normal(size=(3, 1024)).astype(F32)
    agree(loaded.run(None, {"x": x}), rondel.InferenceSession(proto).run(None, {"x": x}))


def test_strings_are_refused_with_their_node_or_run_as_steps(tmp_path):
    with pytest.raises(rondel.UnsupportedError, match=r"node 't' \(Where\).*strings"):
        rondel.compile_model(WORDS, tmp_path / "words.so")
    feeds = {"s": np.array(["a", "", "ç"], object), "c": np.array([True, False, False]), "x": np.ones(3, F32)}
    with pytest.raises(rondel.UnsupportedError, match=r"node 't' \(Where\).*strings"):
        rondel.compile_model(WORDS, tmp_path / "words.so", samples=feeds)
    assert list(tmp_path.iterdir()) == []
    loaded, report = compiled(tmp_path, WORDS, allow_steps=True)
    assert "node 't' (Where)" in str(report.not_compiled)
    agree(loaded.run(None, feeds), rondel.InferenceSession(WORDS).run(None, feeds))


def test_strings_that_are_copied_in_another_order_are_refused_too(tmp_path):
    turned = model("""g (string[3,4] x) => (string[12] y) <int64[1] all = {-1}> { t = Transpose (x)  y = Reshape (t, all) }""")
    with pytest.raises(rondel.UnsupportedError, match=r"node 'y' \(Reshape\).*strings"):
        rondel.compile_model(turned, tmp_path / "turned.so")
    loaded, _ = compiled(tmp_path, turned, allow_steps=True)
    x = np.array([[f"{row}{column}" for column in range(4)] for row in range(3)], object)
    np.testing.assert_array_equal(loaded.run(None, {"x": x})[0], x.T.ravel())


def test_inputs_and_outputs_that_are_no_tensors_are_refused_by_name(tmp_path):
    proto = model("g (seq(float[n]) items) => (float[m] y) { y = ConcatFromSequence <axis = 0> (items) }")
    with pytest.raises(rondel.UnsupportedError, match=r"input 'items' is seq\(tensor\(float\)\)"):
        rondel.compile_model(proto, tmp_path / "m.so")


def test_a_loop_that_runs_step_by_step_is_refused_with_its_node_and_the_reason(tmp_path):
    proto = model("""
    g (float[2] x) => (float[m] y) {
      most = Constant <value_int = 9> ()
      y = Loop (most, "", x) <body = b (int64 i, bool go, v) => (bool on, w) {
        on = Identity (go)
        axes = Constant <value_ints = [0]> ()
        w = Unsqueeze (v, axes)
      }>
    }""")
    with pytest.raises(rondel.UnsupportedError, match=r"node 'y' \(Loop\): runs step by step"):
        rondel.compile_model(proto, tmp_path / "m.so")
    loaded, report = compiled(tmp_path, proto, allow_steps=True)
    assert "node 'y' (Loop)" in dict(report.not_compiled)
    agree(loaded.run(None, {"x": np.ones(2, F32)}), rondel.InferenceSession(proto).run(None, {"x": np.ones(2, F32)}))


# ---- shapes ----------------------------------------------------------------------------------------------


def test_shapes_without_code_are_interpreted_with_the_same_bits(tmp_path):
    session = rondel.InferenceSession(ROOT)
    loaded, report = compiled(tmp_path, ROOT, shapes={"a": [1]})
    assert report.cases == 1
    one, many = {"a": np.array([7], F32)}, {"a": np.linspace(1, 50, 9, dtype=F32)}
    agree(loaded.run(None, one), session.run(None, one))
    ran_natively(loaded)
    agree(loaded.run(None, many), session.run(None, many))
    assert "interpreted" in str(loaded.how_it_ran(tiers=True))


def test_open_extents_have_code_for_every_class(tmp_path):
    proto = model("g (float[n] x, float[m] y) => (float[k] z) { z = Add (x, y) }")
    loaded, report = compiled(tmp_path, proto)
    assert report.cases == 4 and not report.not_compiled  # 1 1, 1 m, n 1, n n; n m does not broadcast
    session = rondel.InferenceSession(proto)
    for n, m in [(1, 1), (1, 4), (4, 1), (4, 4)]:
        feeds = {"x": np.arange(n, dtype=F32), "y": np.ones(m, F32)}
        agree(loaded.run(None, feeds), session.run(None, feeds))


def test_extents_of_one_name_may_differ_as_in_a_session(tmp_path):
    proto = model("g (float[n] x, float[n] y) => (float[1] s) { a = ReduceSum (x)  b = ReduceSum (y)  s = Add (a, b) }")
    session = rondel.InferenceSession(proto)
    loaded, _ = compiled(tmp_path, proto, shapes=[{"x": [None]}, {"x": [3], "y": [5]}])
    for n, m in [(4, 4), (3, 5)]:
        feeds = {"x": np.arange(n, dtype=F32), "y": np.ones(m, F32)}
        agree(loaded.run(None, feeds), session.run(None, feeds))


def test_sizes_that_data_decide_are_compiled_for_samples(tmp_path):
    proto = model("g (float[n] x) => (float[m] y) { i = NonZero (x)  axes = Constant <value_ints = [0]> ()  j = Squeeze (i, axes)  v = Gather (x, j)  y = Exp (v) }")
    feeds = {"x": np.array([0, 1, 0, 2], F32)}
    for samples in ([feeds], feeds):
        loaded, _ = compiled(tmp_path, proto, samples=samples)
        agree(loaded.run(None, feeds), rondel.InferenceSession(proto).run(None, feeds))
    loaded, _ = compiled(tmp_path, proto, samples={"x": [0, 1, 0, 2]})
    agree(loaded.run(None, feeds), rondel.InferenceSession(proto).run(None, feeds))
    with pytest.raises(rondel.CallerError, match="samples is a int; expected a dict by the names of inputs, or a list"):
        rondel.compile_model(proto, tmp_path / "m.so", samples=3)
    for call in (lambda: rondel.compile_model(proto, 3), lambda: rondel.compile_model(proto, tmp_path / "m.so", header=3), lambda: rondel.load_compiled(3)):
        with pytest.raises(rondel.CallerError, match="(path|header) is 3; expected a path"):
            call()


@pytest.mark.parametrize("batch", ["2", "b"])
@pytest.mark.parametrize("made", ["ConstantOfShape (sizes)", "Expand (one, sizes)"])
@pytest.mark.parametrize("sampled", [False, True])
def test_known_extents_beside_those_that_data_decide_stay_known(tmp_path, batch, made, sampled):
    proto = model(f"""
    g (float[{batch}, k] x, int64[1] n) => (float[{batch}, m] y) {{
      rows = Shape <end = 1> (x)
      sizes = Concat <axis = 0> (rows, n)
      one = Constant <value = float {{1}}> ()
      z = {made}
      y = Concat <axis = 1> (x, z)
    }}""")
    feeds = {"x": np.ones((2, 3), F32), "n": np.array([2])}
    loaded, report = compiled(tmp_path, proto, shapes={"x": [2, 3]}, samples=feeds if sampled else None)
    assert not report.not_compiled
    agree(loaded.run(None, feeds), rondel.InferenceSession(proto).run(None, feeds))


#: the numbers of elements that are not zero, which no shape tells
FOUND = "i = NonZero (x)  j = NonZero (y)  axis = Constant <value_ints = [0]> ()  a = Squeeze (i, axis)  b = Squeeze (j, axis)"
SUM = model(f"g (float[n] x, float[n] y) => (int64[m] z) {{ {FOUND}  z = Add (a, b) }}")
SUMS = model(f"""
g (float[n] x, float[n] y) => (int64[m] z) {{
  {FOUND}
  most = Constant <value_int = 3> ()
  z = Loop (most, "", a) <body = sums (int64 t, bool go, int64[p] v) => (bool on, int64[q] w) {{ on = Identity (go)  w = Add (v, b) }}>
}}""")


@pytest.mark.parametrize("proto, node", [(SUM, r"'z' \(Add\)"), (SUMS, r"'z' \(Loop\)")])
def test_nodes_that_sizes_of_samples_fit_have_their_code(tmp_path, proto, node):
    feeds = {"x": np.array([0, 1, 0, 2], F32), "y": np.array([3, 0, 4, 0], F32)}
    with pytest.raises(rondel.UnsupportedError, match=rf"(?s)node {node}: .*samples \(-i\) give those of a run"):
        rondel.compile_model(proto, tmp_path / "m.so")
    loaded, report = compiled(tmp_path, proto, samples=feeds)
    assert not report.not_compiled
    agree(loaded.run(None, feeds), rondel.InferenceSession(proto).run(None, feeds))
    if proto is SUMS:
        ran_natively(loaded)


@pytest.mark.parametrize(
    "shapes, what",
    [
        ({"a": [0, -1]}, "an extent of input 'a' is -1"),
        ({"b": [1]}, "'b', which is no input"),
        ({"a": [1, 2]}, r"the shape of input 'a' has 2 extents; the model declares f32\[n\]"),
        ({"a": [-3]}, "an extent of input 'a' is -3"),
        ([3], "shapes holds a"),
        (3, "shapes is a int; expected a dict by the names of inputs, or a list"),
        ({"a": 3}, r"the shape of input 'a' is 3; expected a list of extents, as \[3\]"),
        ({"a": None}, r"the shape of input 'a' is None; expected a list of extents, as \[2, None\]"),
        ({"a": [np.array([1, 2])]}, "an extent of input 'a' is a ndarray"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(tmp_path, shapes, what):
    with pytest.raises(rondel.CallerError, match=what):
        rondel.compile_model(ROOT, tmp_path / "m.so", shapes=shapes)
    assert list(tmp_path.iterdir()) == []


# ---- what a session does ---------------------------------------------------------------------------------


def test_wrong_inputs_have_the_errors_of_a_session(tmp_path):
    loaded, _ = compiled(tmp_path, ROOT)
    for feeds, what in [
        ({}, "Required inputs"),
        ({"a": np.ones(3)}, r"input 'a' is f64\[3\]; expected f32\[n\]"),
        ({"a": np.ones((3, 1), F32)}, r"input 'a' is f32\[3,1\]; expected f32\[n\]"),
        ({"a": np.ones(3, F32), "b": 1}, "there is no input 'b'"),
    ]:
        with pytest.raises(rondel.CallerError, match=what):
            loaded.run(None, feeds)
    agree(loaded.run(["steps"], {"a": np.ones((6, 2), F32)[::2, 0]}), rondel.InferenceSession(ROOT).run(["steps"], {"a": np.ones(3, F32)}))


def test_limits_and_pickles_are_those_of_a_session(tmp_path):
    forever = model("""
    g (float x) => (float y) { y = Loop ("", "", x) <body = b (int64 i, bool go, v) => (bool on, w) { on = Identity (go)  w = Mul (v, v) }> }""")
    loaded, _ = compiled(tmp_path, forever)
    x = {"x": np.array(1, F32)}
    for error, words, limits in [
        (rondel.DeadlineExceeded, "deadline", {"deadline": 0.05}),
        (rondel.LimitExceeded, "trip 1000: the budget of 1000 trips is used up", {"max_trips": 1000}),
        (rondel.LimitExceeded, "memory", {"max_memory_bytes": 0}),
        (rondel.CallerError, "max_trips is 0; a compiled model expects 1 or more", {"max_trips": 0}),
    ]:
        with pytest.raises(error, match=words):
            loaded.run(None, x, run_options(**limits))
    options = rondel.RunOptions()
    threading.Timer(0.1, lambda: setattr(options, "terminate", True)).start()
    with pytest.raises(rondel.Cancelled):
        loaded.run(None, x, options)
    with pytest.raises(rondel.Cancelled):  # the flag is set
        compiled(tmp_path, model("g (float x) => (float y) { y = Neg (x) }"))[0].run(None, x, options)
    assert pickle.loads(pickle.dumps(loaded)).get_inputs()[0].name == "x"


def test_what_needs_a_graph_is_refused(tmp_path):
    loaded, _ = compiled(tmp_path, model("g (float x) => (float y) { y = Neg (x) }"))
    for call in (lambda m: m.ir_text(), rondel.export, lambda m: rondel.grad(m, "x"), lambda m: rondel.jvp(m, "x")):
        with pytest.raises(rondel.UnsupportedError, match="needs the graph of the model, which a compiled model does not have"):
            call(loaded)


def test_functions_of_this_process_are_refused_by_name(tmp_path):
    rondel.register_op("my.ops", "Half", lambda x: x / 2)
    try:
        made = model("g (float[n] x) => (float[n] y) { y = my.ops.Half (x) }", domains={"my.ops": 1})
        for allow_steps in (False, True):
            with pytest.raises(rondel.UnsupportedError, match="my.ops.Half is a function of this process"):
                rondel.compile_model(made, tmp_path / "model.so", allow_steps=allow_steps)
    finally:
        rondel.unregister_op("my.ops", "Half")


def test_two_threads_run_one_model(tmp_path):
    proto, feeds = NATIVE["lstm"]
    loaded, _ = compiled(tmp_path, proto)
    want = [rondel.InferenceSession(proto).run(None, one) for one in feeds]
    wrong = []

    def work(k):
        for _ in range(200):
            got = loaded.run(None, feeds[k])
            if any(a.tobytes() != b.tobytes() for a, b in zip(got, want[k])):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (0, 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_random_numbers_follow_the_seed(tmp_path):
    proto = model("g (float[n] x) => (float[n] y) { r = RandomNormalLike (x)  y = Add (x, r) }")
    loaded, _ = compiled(tmp_path, proto)
    session = rondel.InferenceSession(proto)
    feeds = {"x": np.zeros(9, F32)}
    agree(loaded.run(None, feeds, run_options(seed=7)), session.run(None, feeds, run_options(seed=7)))


def test_an_input_with_a_default_may_be_left_out(tmp_path):
    proto = model("g (float[2] x, float[2] b) => (float[2] y) { y = Add (x, b) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], F32), "b"))
    loaded, _ = compiled(tmp_path, proto)
    assert loaded.run(None, {"x": np.zeros(2, F32)})[0].tolist() == [1, 2]
    assert loaded.run(None, {"x": np.zeros(2, F32), "b": np.ones(2, F32)})[0].tolist() == [1, 1]


# ---- random programs -------------------------------------------------------------------------------------

#: how many random programs are compiled
COUNT = int(os.environ.get("RONDEL_AHEAD_PROGRAMS", "110"))


@pytest.mark.parametrize("first", range(0, COUNT, 10))
def test_random_programs_have_the_bits_of_a_session(tmp_path, first):
    """The programs of tests/fuzz, for the shapes of their feeds."""
    compared = 0
    for seed in range(first, first + 10):
        try:
            made = program(seed)
        except Rejected:
            continue
        data = made.model.SerializeToString()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = rondel.InferenceSession(data)
            if any(not p.type.startswith("tensor(") for p in [*session.get_inputs(), *session.get_outputs()]):
                continue
            shapes = [{name: list(np.shape(x)) for name, x in case.feeds.items()} for case in made.cases]
            loaded, _ = compiled(tmp_path, data, f"p{seed}", shapes=shapes, allow_steps=True)
        for case in made.cases:
            outcomes = []
            for runs in (session, loaded):
                try:
                    outcomes.append(runs.run(None, case.feeds, run_options(deadline=20)))
                except rondel.Error as error:
                    outcomes.append((type(error).__mro__[1:], str(error)))
            if isinstance(outcomes[0], tuple) or isinstance(outcomes[1], tuple):
                assert outcomes[0] == outcomes[1], seed
            else:
                agree(outcomes[1], outcomes[0])
            compared += 1
    assert compared > 0
