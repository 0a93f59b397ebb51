"""Export to ONNX: a model that is read back gives the same results, onnx's checker accepts it, other runtimes run it.

`models.run` also exports every model that it runs, and compares.
"""

import glob
import os
import re
import stat
import subprocess
import sys

import export_report
import ml_dtypes
import numpy as np
import onnx
import pytest
import rondel
from machine import run_model
from models import agree, f32, i64, in_onnxruntime, interpreter, model, refused, run, same, scalar, session
from nets import F32, I64, Net
from onnx import TensorProto, helper, numpy_helper
from programs import random_program
from rondel.network import DataType, LoopOutput, MatrixOperation, PaddingMode, PoolingType
from backend_suite import NOT_DETERMINED, cases, model_of
from networks_of_sums import EXTENTS, sums_of_columns

PROGRAMS = int(os.environ.get("RONDEL_PROGRAMS", "400")) // 2
WAYS = {
    "as read": {},
    "as compiled": {"compiled": True},
    "opset 17": {"opset": 17},
    "opset 13": {"opset": 13},
    "newest opset": {"opset": onnx.defs.onnx_opset_version()},
}

# onnx's shape inference fails on these models, whoever writes them: ONNX's own function body of AffineGrid has branches that
# are never taken and a Range with a limit of shape [1]; an optional is declared with the type of its element.
NOT_INFERRED = re.compile(r"affine_grid|loop16_seq_none")


# ---- every model of the suite -----------------------------------------------------------------------------


def read(path, declared):
    """An input of the suite's stored data, by its declared type."""
    raw = open(path, "rb").read()
    kinds = {"sequence_type": (onnx.SequenceProto, numpy_helper.to_list), "optional_type": (onnx.OptionalProto, numpy_helper.to_optional)}
    proto, value = kinds.get(declared.WhichOneof("value"), (onnx.TensorProto, numpy_helper.to_array))
    return value(proto.FromString(raw))


def inputs_of(case, source):
    if case.data_sets is None:
        folder = os.path.join(case.model_dir, "test_data_set_0")
        count = len(glob.glob(f"{folder}/input_*.pb"))
        return [read(f"{folder}/input_{k}.pb", source.graph.input[k].type) for k in range(count)]
    return [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in case.data_sets[0][0]]


def interpreted(source, inputs):
    s = rondel.InferenceSession(source, interpreter())
    return s.run(None, {port.name: x for port, x in zip(s.get_inputs(), inputs)})


SUITE = [name for name, (kind, _) in cases().items() if kind != "real"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SUITE)
def test_a_model_of_the_suite_comes_back_the_same(name):
    _, case = cases()[name]
    source = model_of(case)
    inputs = inputs_of(case, source)
    try:
        want = interpreted(source, inputs)
    except rondel.UnsupportedError:
        # The model has unsupported ops or types; test_backend_suite.py counts such models.
        pytest.skip("the model itself is not supported")
    for way, options in WAYS.items():
        try:
            written = rondel.export(source, **options)
        except (rondel.CallerError, rondel.UnsupportedError) as error:
            assert "cannot express it" in str(error) and "opset" in options, f"{way}: {error}"
            named = re.search(r"\((\w+)\): opset", str(error))
            export_report.refuse(way, named[1] if named else "Identity")
            continue
        onnx.checker.check_model(written, full_check=not NOT_INFERRED.search(name))
        if not NOT_DETERMINED.search(name):
            agree(interpreted(written, inputs), want)
        export_report.same[way] += 1


# ---- random programs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, PROGRAMS, 20))
def test_random_programs_come_back_the_same(first):
    for seed in range(first, min(first + 20, PROGRAMS)):
        source, feeds = random_program(seed)
        want = run_model(source, feeds)
        for options in ({}, {"compiled": True}, {"opset": 13}):
            got = session(rondel.export(source, **options), options=interpreter()).run(None, feeds)
            for g, w in zip(got, want, strict=True):
                assert g.dtype == w.dtype and g.shape == w.shape, f"seed {seed}, {options}"
                assert np.array_equal(g, w), f"seed {seed}, {options}: {g} instead of {w}"


# ---- other runtimes ---------------------------------------------------------------------------------------


LOOPS = {
    "counted, with items": (
        """
        main (int64 m, float[2] x) => (float[2] y, float[n, 2] s, int64[n] t) {
          y, s, t = Loop (m, , x) <body: graph = b (int64 i, bool go, float[2] a) => (bool more, float[2] b, float[2] c, int64 j) {
            more = Identity (go)
            b = Add (a, a)
            c = Neg (a)
            j = Identity (i)
          }>
        }""",
        {"m": scalar(3), "x": f32(1, 2)},
    ),
    "until a condition from data": (
        """
        main (bool go, float[2] x) => (float[2] y, float[n] s) {
          y, s = Loop (, go, x) <body: graph = b (int64 i, bool go_, float[2] a) => (bool more, float[2] b, float c) {
            b = Add (a, a)
            c = ReduceMax <keepdims: int = 0> (b)
            most = Constant <value_float: float = 50.0> ()
            more = Less (c, most)
          }>
        }""",
        {"go": np.array(True), "x": f32(1, 2)},
    ),
    "scans of every axis and direction": (
        """
        main (float[2] x, float[2, 3] u, float[3, 2] v) => (float[2] y, float[2, 3] s) {
          y, s = Scan <num_scan_inputs: int = 2, scan_input_axes: ints = [1, 0], scan_input_directions: ints = [1, 0],
                       scan_output_axes: ints = [1], scan_output_directions: ints = [1],
                       body: graph = b (float[2] a, float[2] e, float[2] f) => (float[2] b, float[2] c) {
            c = Mul (e, f)
            b = Add (a, c)
          }> (x, u, v)
        }""",
        {"x": f32(1, 2), "u": f32([1, 2, 3], [4, 5, 6]), "v": f32([1, 2], [3, 4], [5, 6])},
    ),
    "a loop in a branch in a loop": (
        """
        main (int64 m, float[2] x) => (float[2] y) {
          y = Loop (m, , x) <body: graph = b (int64 i, bool go, float[2] x) => (bool more, float[2] z) {
            more = Identity (go)
            one = Constant <value_int: int = 1> ()
            first = Less (i, one)
            z = If (first) <
              then_branch: graph = t () => (float[2] p) {
                p = Loop (m, , x) <body: graph = c (int64 i, bool go, float[2] x) => (bool on, float[2] q) {
                  on = Identity (go)
                  q = Add (x, x)
                }>
              },
              else_branch: graph = e () => (float[2] p) { p = Neg (x) }>
          }>
        }""",
        {"m": scalar(3), "x": f32(1, 2)},
    ),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_run_in_onnx_runtime(name, compiled):
    text, feeds = LOOPS[name]
    want = run(text, feeds)
    got = in_onnxruntime(rondel.export(model(text), compiled=compiled), feeds)
    for g, w in zip(got, want, strict=True):
        same(g, w)


@pytest.mark.parametrize("reads", [False, True], ids=["not read", "read"])
@pytest.mark.parametrize("condition", [False, True])
def test_a_condition_that_does_not_stop_a_loop_is_written_as_true(condition, reads):
    """cond is left out, so the body's condition does not count; ONNX Runtime stops on it all the same."""
    text = f"""main (int64 m, float x) => (float y, bool[n] seen) {{
      y, seen = Loop (m, , x) <body: graph = body (int64 i, bool go, float a) => (bool more, float b, bool item) {{
        b = Add (a, a)  more = Constant <value: tensor = bool {{{int(condition)}}}> ()  item = Identity ({"go" if reads else "more"})
      }}>
    }}"""
    feeds = {"m": scalar(5), "x": scalar(1, np.float32)}
    want = run(text, feeds)
    same(want[0], scalar(32, np.float32))
    for got, w in zip(in_onnxruntime(rondel.export(model(text)), feeds), want, strict=True):
        same(got, w)


def test_a_loop_over_float8_runs_in_onnx_runtime():
    """ONNX has no Slice, Gather, Concat and Expand for float8: they are written with casts to another dtype."""
    ort = pytest.importorskip("onnxruntime")
    net = Net()
    x, trips, extent = net.input("x", (16, 16), DataType.FP8), net.input("m", (), DataType.INT64), net.input("k", (), DataType.INT64)
    loop = net.loop(trips)
    column = loop.add_iterator(x, 1, True).get_output(0)
    for kind, axis in ((LoopOutput.CONCATENATE, 1), (LoopOutput.REVERSE, 0)):
        stack = loop.add_loop_output(column, kind, axis)
        stack.set_input(1, extent)
        net.network.mark_output(stack.get_output(0))
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    counts = {"m": np.array(16), "k": np.array(18)}
    want = net.network.build_session().run(None, {"x": codes.view(ml_dtypes.float8_e4m3fn), **counts})
    other = ort.InferenceSession(net.network.to_onnx(), providers=["CPUExecutionProvider"])
    bound = other.io_binding()
    bound.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy_with_onnx_type(codes, TensorProto.FLOAT8E4M3FN))
    for name, value in counts.items():
        bound.bind_cpu_input(name, value)
    for port in other.get_outputs():
        bound.bind_output(port.name)
    other.run_with_iobinding(bound)
    for got, expected in zip(bound.get_outputs(), want, strict=True):
        same(got.numpy().view(np.uint8), expected.view(np.uint8))


# ---- random draws -----------------------------------------------------------------------------------------

DRAWS = {
    "uniform": "y = RandomUniform <shape: ints = [3, 4], low: float = -2.0, high: float = 5.0> ()",
    "uniform in f64": "a = RandomUniform <shape: ints = [12], dtype: int = 11> () y = Cast <to: int = 1> (a)",
    "uniform in f16": "a = RandomUniform <shape: ints = [12], dtype: int = 10> () y = Cast <to: int = 1> (a)",
    "with a seed of its own": "y = RandomUniform <shape: ints = [5], seed: float = 3.5> ()",
    "normal": "y = RandomNormal <shape: ints = [3, 4], mean: float = 1.0, scale: float = 2.0> ()",
    "normal in f64": "a = RandomNormal <shape: ints = [12], dtype: int = 11> () y = Cast <to: int = 1> (a)",
    "like x": "y = RandomUniformLike (x)",
    "nothing": "y = RandomUniform <shape: ints = [0, 2]> ()",
    "Bernoulli": "a = Abs (x) b = Exp (a) c = Reciprocal (b) y = Bernoulli (c)",
    "Multinomial": "a = Multinomial <sample_size: int = 6> (x) y = Cast <to: int = 1> (a)",
    "two, in loops in loops": """
        m = Constant <value_int: int = 3> ()
        _, y = Loop (m, , x) <body: graph = outer (int64 i, bool go, float[2, 3] a) => (bool on, float[2, 3] b, float[3, 2, 3] c) {
          on = Identity (go)
          b, c = Loop (m, , a) <body: graph = inner (int64 j, bool going, float[2, 3] d) => (bool more, float[2, 3] e, float[2, 3] f) {
            more = Identity (going)
            r = RandomUniformLike (d)
            s = RandomNormalLike (d)
            e = Add (d, r)
            f = Mul (e, s)
          }>
        }>""",
}


def seeded(seed):
    options = rondel.RunOptions()
    options.seed = seed
    return options


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_compiled_to_the_same_numbers(name):
    source = model(f"main (float[2, 3] x) => (y) {{ {DRAWS[name]} }}")
    x = {"x": f32([1, 0, 2], [0.5, 3, -1])}
    written = rondel.export(source, compiled=True)
    onnx.checker.check_model(written, full_check=True)
    assert "Random" not in str(onnx.load_from_string(written).graph)
    assert rondel.export(session(source), compiled=True) == written
    s, back = session(source), session(written)
    agree(back.run(None, x), s.run(None, x))
    for seed in (7, 2**64 - 1):
        want = s.run(None, x, seeded(seed))
        feeds = {**x, "seed": np.array(seed, np.uint64)}
        agree(back.run(None, feeds), want)
        in_ort = in_onnxruntime(written, feeds)
        assert in_ort is not None
        np.testing.assert_allclose(in_ort[0], want[0], rtol=3e-6, atol=3e-6)


def test_the_seed_has_a_name_of_its_own(tmp_path):
    source = model("main (float[2] seed) => (float[2] y) { a = RandomUniformLike (seed) y = Add (a, seed) }")
    report = rondel.export(source, tmp_path / "m.onnx", compiled=True)
    assert any("it is the input 'seed_1', and 0 where" in note for note in report.notes), report.notes
    x = f32(0, 10)
    agree(run(tmp_path / "m.onnx", {"seed": x}), run(source, {"seed": x}))
    output = rondel.export(model("main () => (float[2] seed) { seed = RandomUniform <shape: ints = [2]> () }"), compiled=True)
    assert [port.name for port in onnx.load_from_string(output).graph.input] == ["seed_1"]


def test_draws_are_not_written_out_as_they_are_read():
    source = model("main () => (float[2] y) { y = RandomUniform <shape: ints = [2]> () }")
    assert [n.op_type for n in onnx.load_from_string(rondel.export(source)).graph.node] == ["RandomUniform"]
    with refused(rondel.CallerError, "opset 17 cannot express it", "begins in opset 18"):
        rondel.export(source, opset=17, compiled=True)


# ---- assertions -------------------------------------------------------------------------------------------


def asserted(place):
    """A network that gives x after three doublings, and asserts that x, or each value on the way, is below `most`."""
    net = Net()
    x, most = net.input("x", (2,)), net.input("most", (2,))

    def below(value):
        layer = net.network.add_assertion(net.less(value, most), "too large")
        layer.name = "is below"

    def doubled(value):
        if place == "in a loop":
            below(value)
        return net.add(value, value)

    if place == "in the model":
        below(x)
    loop = net.loop(3)
    y = net.recurrence(loop, x, doubled)
    net.last(loop, y)
    return net.network


@pytest.mark.parametrize("place", ["in the model", "in a loop"])
@pytest.mark.parametrize("compiled", [False, True], ids=["as read", "as compiled"])
def test_assertions_are_kept(place, compiled, tmp_path):
    network = asserted(place)
    written = rondel.export(network, compiled=compiled)
    onnx.checker.check_model(written, full_check=True)
    good = {"x": f32(1, 2), "most": f32(9, 9)}
    want = network.build_session().run(None, good)
    agree(session(written).run(None, good), want)
    agree(in_onnxruntime(written, good), want)
    bad = {"x": f32(1, 2), "most": f32(9, 2 if place == "in the model" else 8)}
    with refused(rondel.CallerError, "too large"):
        network.build_session().run(None, bad)
    with refused(rondel.CallerError, "node 'is below: too large'"):
        session(written).run(None, bad)
    with refused(rondel.CallerError, "node 'is below: too large'"):
        session(rondel.export(written, compiled=compiled)).run(None, bad)
    with pytest.raises(Exception, match="Name:'is below: too large'"):
        in_onnxruntime(written, bad)
    report = rondel.export(network, tmp_path / "m.onnx", compiled=compiled, assertions=False)
    assert any("is left out, as asked" in note for note in report.notes), report.notes
    session(tmp_path / "m.onnx").run(None, bad)


def test_an_output_that_is_an_input_does_not_carry_assertions():
    source = model("""main (float x, float[3] row, int64 trips) => (float[n,3] rows, float x) {
  empty = SequenceEmpty <dtype = 1> ()
  list = Loop (trips, "", empty) <body = b (int64 i, bool go, seq(float[3]) s) => (bool on, seq(float[3]) t) {
    on = Identity (go)
    t = SequenceInsert (s, row)
  }>
  rows = ConcatFromSequence <axis = 0, new_axis = 1> (list)
}""")
    feeds = {"x": f32(2)[0], "row": f32(0, 1, 2), "trips": np.int64(2)}
    written = rondel.export(source, compiled=True)
    agree(session(written).run(None, feeds), session(source).run(None, feeds))
    onnx.checker.check_model(rondel.grad(source, ["row"], ["rows"]), full_check=True)


def test_an_assertion_holds_where_the_result_is_empty():
    """Some runtimes do not check the index of a Gather with an empty result: possibly empty results go through an If."""
    net = Net()
    x, most = net.input("x", (-1,)), net.input("most")
    net.network.add_assertion(net.less(most, net.f32(9)), "too large")
    net.mark(net.mul(x, net.f32([2])))
    written = net.network.to_onnx()
    onnx.checker.check_model(written, full_check=True)
    empty = np.zeros(0, np.float32)
    same(session(written).run(None, {"x": empty, "most": np.array(3, np.float32)})[0], empty)
    for x in (empty, f32(1, 2)):
        with refused(rondel.CallerError, "too large"):
            session(written).run(None, {"x": x, "most": np.array(10, np.float32)})
        with pytest.raises(Exception, match="too large"):
            in_onnxruntime(written, {"x": x, "most": np.array(10, np.float32)})


# ---- ports without a rank ---------------------------------------------------------------------------------


def test_what_has_no_rank_is_held_by_an_optional(tmp_path):
    source = model("main (float[] x, int64[n] s) => (float[] y, float[2] z) { y = Reshape (x, s) z = Neg (x) }")
    report = rondel.export(source, tmp_path / "m.onnx")
    assert [note[:3] for note in report.notes] == ["'x'", "'y'"] and "as an optional" in report.notes[0]
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    feeds = {"x": f32(1, 2), "s": np.array([2, 1])}
    for result in (run(tmp_path / "m.onnx", feeds), in_onnxruntime(str(tmp_path / "m.onnx"), feeds)):
        same(result[0], f32([1], [2]))
        same(result[1], f32(-1, -2))


def test_an_output_that_is_an_input_without_a_rank():
    source = model("main (float[] x) => (float[] x, float[] y) { y = Neg (x) }")
    written = rondel.export(source)
    onnx.checker.check_model(written, full_check=True)
    for results in (run(written, {"x": f32(1, 2)}), in_onnxruntime(written, {"x": f32(1, 2)})):
        same(results[0], f32(1, 2))
        same(results[1], f32(-1, -2))


def test_a_scan_computes_no_condition():
    """The body's condition stops nothing, and what it reads, the trip index, is not there in a Scan."""
    source = model("""main (int64[n] x) => (int64[n] y) <int64 most = {1}, int64[0] scalar = {}> {
      extent = Shape (x)
      rows = Reshape (extent, scalar)
      y = Loop (rows, "") <body = b (int64 i, bool go) => (bool on, int64 v) { v = Gather (x, i) on = Less (i, most) }>
    }""")
    feeds = {"x": i64(3, 1, 2)}
    for compiled in (False, True):
        written = rondel.export(source, compiled=compiled)
        assert [n.op_type for n in onnx.load_from_string(written).graph.node] == ["Scan"]
        same(session(written).run(None, feeds)[0], feeds["x"])


def test_an_output_that_declares_no_rank_gets_the_one_that_is_known():
    source = model("main (float[n,2] x) => (float[] y, float[n,m] z) { y = Sin (x) z = Cos (x) }")
    source.graph.output[0].type.tensor_type.ClearField("shape")
    for compiled in (False, True):
        written = onnx.load_from_string(rondel.export(source, compiled=compiled))
        onnx.checker.check_model(written, full_check=True)
        shapes = [[d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim] for o in written.graph.output]
        assert shapes == [["n", 2], ["n", "m"]]


# ---- outputs that nobody reads ------------------------------------------------------------------------------

UNREAD = {
    "TopK": "float[4] x) => (int64[2] y) { k = Constant <value: tensor = int64[1] {2}> () v, y = TopK (x, k) }",
    "MaxPool": "float[1, 1, 4] x) => (int64[1, 1, 3] y) { v, y = MaxPool <kernel_shape = [2]> (x) }",
    "Dropout": "float[4] x) => (bool[4] y) { v, y = Dropout (x) }",
    "Split": "float[4] x) => (float[2] y) { y, v = Split <num_outputs = 2> (x) }",
    "LSTM": """float[3, 1, 2] x, float[1, 8, 2] w, float[1, 8, 2] r) => (float[1, 1, 2] y) {
      v, y = LSTM <hidden_size = 2> (x, w, r) }""",
}


@pytest.mark.parametrize("op", UNREAD)
def test_an_output_that_nobody_reads(op):
    source = model(f"main ({UNREAD[op]}")
    feeds = {p.name: np.random.default_rng(3).random(p.shape, np.float32) for p in session(source).get_inputs()}
    written = rondel.export(source)
    onnx.checker.check_model(written, full_check=True)
    want = session(source).run(None, feeds)
    agree(session(written).run(None, feeds), want)
    np.testing.assert_allclose(in_onnxruntime(written, feeds)[0], want[0], rtol=1e-6)


# ---- networks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_an_output_that_is_listed_twice_is_written_once(compiled):
    made = model("main (float[2] x) => (float[2] z, float[2] y) { z = Neg (x)  y = Identity (z) }")
    made.graph.output.append(made.graph.output[1])
    written = rondel.export(made, compiled=compiled)
    for values in (session(written).run(None, {"x": f32(1, 2)}), in_onnxruntime(written, {"x": f32(1, 2)})):
        assert [v.tolist() for v in values] == [[-1, -2]] * 3


def test_a_network_is_saved_as_onnx(tmp_path):
    """The sum of the columns of x from last to first, and the partial sums."""
    net = Net()
    x = net.input("x", (2, 3), F32)
    loop = net.loop(net.i64(3))
    step = loop.add_iterator(x, 1, True).get_output(0)
    total = net.recurrence(loop, net.constant(np.zeros(2, np.float32)), lambda so_far: net.add(so_far, step))
    net.last(loop, total)
    feeds = {"x": f32([1, 2, 3], [4, 5, 6])}
    want = net.network.build_session().run(None, feeds)
    same(want[0], f32(6, 15))
    written = net.network.to_onnx()
    onnx.checker.check_model(written, full_check=True)
    for result in (session(written).run(None, feeds), in_onnxruntime(written, feeds)):
        agree(result, want)
    assert net.network.to_onnx(tmp_path / "n.onnx").loops[0][1:] == ("Scan", "")
    agree(rondel.InferenceSession(tmp_path / "n.onnx").run(None, feeds), want)


@pytest.mark.parametrize("opset", [None, 13, 17, 22])
@pytest.mark.parametrize("equation, shapes", [
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]), ("...ij,...jk->...ik", [(3, 4), (5, 4, 2)]),
    ("i...,...j->...ij", [(3, 2, 5), (4,)]), ("...i,...i,j->...j", [(3,), (2, 5, 3), (4,)]),
])  # fmt: skip
def test_ellipses_of_different_ranks_are_taken_by_all(equation, shapes, opset):
    net = Net()
    operands = [net.input(f"x{k}", shape) for k, shape in enumerate(shapes)]
    net.mark(net.network.add_einsum(operands, equation).get_output(0))
    random = np.random.default_rng(0)
    feeds = {f"x{k}": random.integers(-3, 4, shape).astype(np.float32) for k, shape in enumerate(shapes)}
    want = np.einsum(equation, *feeds.values())
    taken_by_all(net, feeds, want, opset)


# Extents, then attributes of the layer. In the first case, the last window that rounding up adds would lie in padding only.
ROUNDED_UP = {
    "in padding": ([7], {"kernel": [2], "stride_nd": [2], "pre_padding": [1], "post_padding": [1]}),
    "over the end": ([8], {"kernel": [3], "stride_nd": [2], "pre_padding": [0], "post_padding": [0]}),
    "both": ([7, 8], {"kernel": [2, 3], "stride_nd": [2, 2], "pre_padding": [1, 0], "post_padding": [1, 0]}),
    "between windows": ([7], {"kernel": [1], "stride_nd": [5], "pre_padding": [0], "post_padding": [0]}),
}


@pytest.mark.parametrize("opset", [None, 13, 19, 22])
@pytest.mark.parametrize("excludes", [True, False])
@pytest.mark.parametrize("kind", [PoolingType.AVERAGE, PoolingType.MAX])
@pytest.mark.parametrize("how", ROUNDED_UP)
def test_pools_that_round_up_are_taken_by_all(how, kind, excludes, opset):
    extents, attributes = ROUNDED_UP[how]
    net = Net()
    layer = net.network.add_pooling_nd(net.input("x", (1, 1, *extents)), kind, attributes["kernel"])
    for name in ("stride_nd", "pre_padding", "post_padding"):
        setattr(layer, name, attributes[name])
    layer.padding_mode = PaddingMode.EXPLICIT_ROUND_UP
    layer.average_count_excludes_padding = excludes
    net.mark(layer.get_output(0))
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, *extents)).astype(np.float32)}
    # In an average, padding counts and elements that rounding up adds do not: no single padding expresses both.
    inferred = (how, kind, excludes) != ("both", PoolingType.AVERAGE, False) or opset == 22
    taken_by_all(net, feeds, net.network.build_session().run(None, feeds)[0], opset, inferred)


def taken_by_all(net, feeds, want, opset, inferred=True):
    """The exported network gives `want` here and in ONNX Runtime, and its declared extents agree with onnx's shape inference."""
    written = net.network.to_onnx(opset=opset)
    onnx.checker.check_model(written, full_check=inferred)
    for result in (net.network.build_session(), session(written)):
        np.testing.assert_allclose(result.run(None, feeds)[0], want, rtol=1e-6)
    in_ort = in_onnxruntime(written, feeds)[0]
    assert in_ort.shape == np.shape(want)
    np.testing.assert_allclose(in_ort, want, rtol=1e-6)


def written_loops(net, path):
    return [(written, reason) for _, written, reason in net.network.to_onnx(path).loops]


@pytest.mark.parametrize("extent", [0, 1, 4])
@pytest.mark.parametrize("told", [False, True], ids=["no length", "and a length"])
@pytest.mark.parametrize("way", EXTENTS)
def test_a_count_read_from_a_shape_makes_a_scan(way, told, extent, tmp_path):
    net = sums_of_columns(EXTENTS[way], *[EXTENTS[way]] * told)
    feeds = {"x": np.arange(2 * extent, dtype=np.float32).reshape(2, extent), "h": f32(1, 2), "z": np.zeros(extent, np.float32)}
    want = net.run(feeds)
    assert written_loops(net, tmp_path / "n.onnx") == [("Scan", "")]
    written = (tmp_path / "n.onnx").read_bytes()
    onnx.checker.check_model(written, full_check=True)
    assert "Slice" not in [node.op_type for node in onnx.load_from_string(written).graph.node]
    agree(session(written).run(None, feeds), want)
    if extent > 0:  # ONNX Runtime 1.31 cannot run a Scan of extent 0: it raises an error or crashes
        agree(in_onnxruntime(written, feeds), want)


@pytest.mark.parametrize("length", [3, lambda net, x: net.gather(net.shape(x), net.i64(0))], ids=["a number", "from a shape"])
def test_a_length_that_is_the_count_makes_nothing(length, tmp_path):
    """Even if the loop is not a Scan, no nodes are added."""
    net = Net()
    x = net.input("x", (3, 2))
    loop = net.loop(3)
    i = net.counter(loop)
    net.joined(loop, net.mul(net.reshaped(net.cast(i, F32), (1, 1)), x), 0, length if isinstance(length, int) else length(net, x))
    assert written_loops(net, tmp_path / "n.onnx") == [("Loop", "it has no scans")]
    written = onnx.load(tmp_path / "n.onnx")
    assert [node.op_type for node in written.graph.node][-1] == "Loop"
    assert [d.dim_value for d in written.graph.output[0].type.tensor_type.shape.dim] == [3, 3, 2]
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for result in (net.run({"x": x}), in_onnxruntime(str(tmp_path / "n.onnx"), {"x": x})):
        same(result[0], np.stack([0 * x, x, 2 * x]))


@pytest.mark.parametrize("count, length", [(3, 4), (3, 3), (0, 0), (-1, 0), (-1, -1), (3, 2), (0, -1)])
@pytest.mark.parametrize("known", [False, True])
def test_a_length_is_the_count_or_more(known, count, length, tmp_path):
    """A length below the number of trips is an error in every runtime, also for 0 trips; a build error if both are known."""
    net = Net()
    numbers = {"n": count, "k": length} if length != count else {"n": count}
    given = [net.i64(number) if known else net.input(name, (), I64) for name, number in numbers.items()]
    loop = net.loop(given[0])
    net.joined(loop, net.counter(loop), 0, given[-1])
    if known and length < max(count, 0):
        with refused(rondel.CallerError, "(LoopOutput) of loop 0: its length", f"the loop makes {max(count, 0)} trips"):
            net.network.to_onnx(tmp_path / "n.onnx")
        return
    net.network.to_onnx(tmp_path / "n.onnx")
    feeds = {} if known else {name: np.array(number) for name, number in numbers.items()}
    for attempt in (
        lambda: net.network.build_session().run(None, feeds),
        lambda: session(tmp_path / "n.onnx").run(None, feeds),
        lambda: in_onnxruntime(str(tmp_path / "n.onnx"), feeds),
    ):
        if length >= max(count, 0):
            same(attempt()[0], np.array([*range(count), *[0] * (length - max(count, 0))], np.int64))
        else:
            with pytest.raises(Exception, match="(?i)length|shape|negative|expand"):
                attempt()


# Trip counts that are computed from the extent but may differ from it, and the number of trips for four columns.
OTHER_COUNTS = {
    "one less": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(1), "SUB"), 3),
    "another axis": (lambda net, x: net.gather(net.shape(x), net.i64(0)), 2),
    "the less of two": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(3), "MIN"), 3),
    "the less of two, which it is": (lambda net, x: net.op(EXTENTS["gather"](net, x), net.i64(9), "MIN"), 4),
    "how many elements": (lambda net, x: net.op(net.reduced(net.shape(x)), net.i64(2), "FLOOR_DIV"), 4),
}


@pytest.mark.parametrize("way", OTHER_COUNTS)
def test_another_count_makes_a_loop(way, tmp_path):
    count, trips = OTHER_COUNTS[way]
    net = sums_of_columns(count)
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(2, 4), "h": f32(1, 2), "z": np.zeros(4, np.float32)}
    want = net.run(feeds)
    same(want[2], feeds["x"].T[:trips][::-1])
    assert written_loops(net, tmp_path / "n.onnx") == [("Loop", "it has a trip count of its own")]
    for result in (session(tmp_path / "n.onnx").run(None, feeds), in_onnxruntime(str(tmp_path / "n.onnx"), feeds)):
        agree(result, want)


@pytest.mark.parametrize("start, size, stride", [(1, 2, 1), (3, 2, -2), (2, 3, 0), (-1, 0, 1), (-1, 1, 1), (2, 3, 1), (0, -1, 1)])
def test_a_strict_slice_by_values_that_come_with_the_run(start, size, stride, tmp_path):
    """The exported model gives the same slices in other runtimes, and an error if a slice is out of bounds."""
    net = Net()
    parts = [net.input(name, (1,), I64) for name in ("start", "size", "stride")]
    layer = net.network.add_slice(net.input("x", (-1,)), (0,), (1,), (1,))
    for k, part in enumerate(parts):
        layer.set_input(k + 1, part)
    net.mark(layer.get_output(0))
    net.network.to_onnx(tmp_path / "n.onnx")
    x, at = f32(1, 2, 3, 4), start + stride * np.arange(max(size, 0))
    feeds = {"x": x, "start": np.array([start]), "size": np.array([size]), "stride": np.array([stride])}
    inside = size >= 0 and all(0 <= i < 4 for i in at)
    for attempt in (
        lambda: net.run(feeds, oracle=False),
        lambda: session(tmp_path / "n.onnx").run(None, feeds),
        lambda: in_onnxruntime(str(tmp_path / "n.onnx"), feeds),
    ):
        if inside:
            same(attempt()[0], x[at])
        else:
            with pytest.raises(Exception, match="(?i)bounds|elements|out of"):
                attempt()


def test_a_count_that_more_iterators_may_not_have_makes_a_loop(tmp_path):
    net = Net()
    x, z = net.input("x", (-1,)), net.input("z", (-1,))
    loop = net.loop(net.gather(net.shape(x), net.i64(0)))
    both = net.add(*(loop.add_iterator(t, 0).get_output(0) for t in (x, z)))
    net.joined(loop, both)
    assert written_loops(net, tmp_path / "n.onnx")[0][0] == "Loop"
    feeds = {"x": f32(1, 2), "z": f32(3, 4, 5)}  # iterated tensors may be longer than the count
    for result in (net.run(feeds), session(tmp_path / "n.onnx").run(None, feeds), in_onnxruntime(str(tmp_path / "n.onnx"), feeds)):
        same(result[0], f32(4, 6))
    with refused(rondel.CallerError, "extent 2"):
        net.network.build_session().run(None, {"x": f32(3, 4, 5), "z": f32(1, 2)})


def stacks_of_no_trip(kind, axis, length, static, conditional):
    """A loop, possibly with no trips, around an inner loop with stacks on every axis."""
    net = Net()
    x, count = net.input("x", (2, 3) if static else (-1, -1)), net.input("count", (), I64)
    outer = net.loop(count)
    s = net.recurrence(outer, x, lambda s: net.sliced(s, (0, 0), (2, 3)) if static else net.unary(s, "NEG"))
    inner = net.loop(2)
    row = inner.add_iterator(s, 0, reverse=conditional).get_output(0)
    t = net.recurrence(inner, s, lambda t: net.add(t, s))
    stacks = []
    for item, at in ((row, min(axis, 1)), (t, axis), (x, axis)):
        layer = inner.add_loop_output(item, kind, at)
        if length is not None:
            layer.set_input(1, net.i64(length) if static else net.op(net.i64(length), net.network.get_input(1), "MAX"))
        stacks.append(layer.get_output(0))
    for stack in stacks:
        for outer_kind in (LoopOutput.CONCATENATE, LoopOutput.REVERSE):
            net.joined(outer, stack, len(stack.shape) if conditional else 0, kind=outer_kind)
    return net


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("conditional", [True, False], ids=["last axis", "first axis"])
@pytest.mark.parametrize("length", [None, 2, 5])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", [LoopOutput.CONCATENATE, LoopOutput.REVERSE], ids=["in order", "reversed"])
def test_stacks_where_no_trip_is_made_come_back_the_same(kind, axis, length, static, conditional):
    net = stacks_of_no_trip(kind, axis, length, static, conditional)
    made = net.network.build_session()
    ways = [net.network.to_onnx(), rondel.export(made, compiled=True), net.network.to_onnx(opset=13)]
    for count in (0, 1):
        feeds = {"x": np.ones((2, 3), np.float32), "count": scalar(count)}
        want = made.run(None, feeds)
        for written in ways:
            got = session(written).run(None, feeds)
            for g, w in zip(got, want, strict=True):
                same(g, w)
            agree(session(rondel.export(written)).run(None, feeds), want)


def test_a_session_is_saved_as_onnx():
    assert rondel.export(session(DOUBLE)) == rondel.export(model(DOUBLE))


# ---- files and errors -------------------------------------------------------------------------------------

DOUBLE = "main (float[2] x) => (float[2] y) { y = Add (x, x) }"


def weights(dtype=np.float32, elements=3000):
    """y = x + w, with w large enough for external data."""
    w = numpy_helper.from_array(np.arange(elements, dtype=dtype), "w")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [elements])],
        [w],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_bytes_or_a_file(tmp_path):
    written = rondel.export(model(DOUBLE))
    assert isinstance(written, bytes)
    report = rondel.export(model(DOUBLE), tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == written
    assert report.opset == 21 and report.bytes == len(written) and report.external_bytes == 0
    assert report.op_counts == {"Add": 1} and report.loops == [] and report.notes == []
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    same(run(tmp_path / "m.onnx", {"x": f32(1, 2)})[0], f32(2, 4))


def test_external_data(tmp_path):
    report = rondel.export(weights(), tmp_path / "m.onnx", external_data=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    assert report.external_bytes == (tmp_path / "m.onnx.data").stat().st_size == 12000
    assert report.bytes < 1000
    same(session(tmp_path / "m.onnx").run(None, {"x": f32(1)})[0], np.arange(3000, dtype=np.float32) + 1)
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    (got,) = in_onnxruntime(str(tmp_path / "m.onnx"), {"x": f32(1)})
    same(got, np.arange(3000, dtype=np.float32) + 1)


def test_external_data_begins_at_pages(tmp_path):
    source = weights()
    more = source.graph.initializer.add()
    more.CopyFrom(numpy_helper.from_array(np.ones(2000, np.float32), "v"))
    source.graph.node.add().CopyFrom(helper.make_node("Neg", ["v"], ["z"]))
    source.graph.output.add().CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2000]))
    rondel.export(source, tmp_path / "m.onnx", external_data=True)
    loaded = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    offsets = {t.name: {e.key: e.value for e in t.external_data} for t in loaded.graph.initializer}
    assert offsets["w"] == {"location": "m.onnx.data", "offset": "0", "length": "12000"}
    assert offsets["v"] == {"location": "m.onnx.data", "offset": "12288", "length": "8000"}


@pytest.mark.parametrize("name, data", [("a..b.onnx", "a.%2Eb.onnx.data"), ("..x", ".%2Ex.data"), ("x..", "x.%2E.data"), ("...", ".%2E.%2Edata"),
                                        ("back\\slash.onnx", "back%5Cslash.onnx.data"), ("a%2Eb é.onnx", "a%2Eb é.onnx.data")])
def test_names_of_external_data_that_onnx_refuses(tmp_path, name, data):
    rondel.export(weights(), tmp_path / name, external_data=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, data])
    want = np.arange(3000, dtype=np.float32) + 1
    same(session(tmp_path / name).run(None, {"x": f32(1)})[0], want)
    same(in_onnxruntime(str(tmp_path / name), {"x": f32(1)})[0], want)
    assert len(onnx.load(tmp_path / name).graph.initializer[0].raw_data) == 12000


def test_bytes_hold_no_external_data():
    with refused(rondel.CallerError, "give a path"):
        rondel.export(weights(), external_data=True)


@pytest.mark.parametrize("where", ["none/m.onnx", "."])
def test_a_place_that_cannot_be_written(tmp_path, where):
    with refused(rondel.CallerError, "cannot write to"):
        rondel.export(model(DOUBLE), tmp_path / where)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written():
    with refused(rondel.CallerError, "cannot write to"):
        rondel.export(model(DOUBLE), "/proc/self/m.onnx")  # fails for root, too


def test_links_stay_and_what_is_no_file_is_not_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    for to in (tmp_path / "folder" / "there.onnx", tmp_path / "folder" / "new.onnx"):
        link = tmp_path / f"link to {to.name}"
        link.symlink_to(to)
        to.write_bytes(b"") if to.name == "there.onnx" else None
        rondel.export(model(DOUBLE), link)
        assert link.is_symlink() and onnx.load(to).graph.node
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(rondel.CallerError, match="circle"):
        rondel.export(model(DOUBLE), tmp_path / "circle")
    os.mkfifo(tmp_path / "pipe")
    for write in (lambda: rondel.export(model(DOUBLE), tmp_path / "pipe"), lambda: rondel.compile_model(model(DOUBLE), tmp_path / "pipe")):
        with pytest.raises(rondel.CallerError, match="pipe.*no file that could be replaced"):
            write()
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_fails_leaves_what_was_there(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"what was there")
    with refused(rondel.CallerError, "opset"):
        rondel.export(model(DOUBLE), path, opset=99)
    assert path.read_bytes() == b"what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("opset", [1, 10, 99, -1])
def test_opsets_there_are_not(opset):
    with refused(rondel.CallerError, f"no way to opset {opset}", "11 to"):
        rondel.export(model(DOUBLE), opset=opset)


def test_an_op_that_an_opset_does_not_have():
    with refused(rondel.CallerError, "node 'y' (BitwiseNot)", "opset 17", "begins in opset 18", "opset 18 has it"):
        rondel.export(model("m (int32[2] x) => (int32[2] y) { y = BitwiseNot (x) }"), opset=17)


def test_a_model_that_cannot_be_read(tmp_path):
    with refused(rondel.CallerError, "cannot read"):
        rondel.export(tmp_path / "none.onnx")
    with refused(rondel.CallerError, "the 7 bytes are no model of a kind that is read here", "onnx (", ".onnx"):
        rondel.export(b"nothing")
    with refused(rondel.CallerError, "expected a path, bytes, a ModelProto, a session or a network"):
        rondel.export(3)


# ---- what export keeps ------------------------------------------------------------------------------------


def test_what_the_model_says_of_itself_is_kept():
    source = model(DOUBLE)
    source.domain, source.doc_string, source.model_version = "a.b", "what it is", 7
    source.graph.doc_string, source.graph.name = "its graph", "the graph"
    helper.set_model_props(source, {"key": "value"})
    written = onnx.load_from_string(rondel.export(source))
    assert (written.domain, written.doc_string, written.model_version) == ("a.b", "what it is", 7)
    assert (written.graph.doc_string, written.graph.name) == ("its graph", "the graph")
    assert {p.key: p.value for p in written.metadata_props} == {"key": "value"}
    assert (written.producer_name, written.producer_version) == ("rondel", rondel.__version__)


def test_symbols_and_defaults_are_kept():
    source = model("m (float[N, 2] x, float[2] w) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    written = rondel.export(source)
    loaded = onnx.load_from_string(written)
    assert [d.dim_param or d.dim_value for d in loaded.graph.input[0].type.tensor_type.shape.dim] == ["N", 2]
    s = session(written)
    assert [p.name for p in s.get_overridable_initializers()] == ["w"]
    same(s.run(None, {"x": f32([1, 1])})[0], f32([2, 3]))


def names_of(graph, found):
    for node in graph.node:
        found += [n for n in node.output if n]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += [v.name for v in attribute.g.input]
                names_of(attribute.g, found)
    return found


def test_names_that_shadow_are_made_unique():
    source = model("""
    main (int64 m, float[2] x) => (float[2] y) {
      y = Loop (m, , x) <body: graph = body (int64 i, bool go, float[2] x) => (bool more, float[2] t) {
        more = Identity (go)
        t = Add (x, x)
      }>
    }""")
    written = onnx.load_from_string(rondel.export(source))
    names = names_of(written.graph, [v.name for v in written.graph.input])
    assert len(names) == len(set(names)) and "x" in names and "x_1" in names
    same(run(source, {"m": scalar(3), "x": f32(1, 2)})[0], f32(8, 16))


def test_functions_are_inlined():
    source = model(
        "main (float[2] x) => (float[2] y) { y = own.Twice (x) }\n"
        '<domain: "own", opset_import: ["" : 21]> Twice (a) => (b) { b = Add (a, a) }',
        domains={"own": 1},
    )
    written = onnx.load_from_string(rondel.export(source))
    assert len(written.functions) == 0 and [n.op_type for n in written.graph.node] == ["Add"]


# ---- the command line -------------------------------------------------------------------------------------


def convert(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "rondel_cli.main", "convert", *map(str, arguments)], capture_output=True, text=True
    )


COUNTED = """
main (int64 m, float[2] x, float[T, 2] s) => (float[2] y, float[2] z) {
  y = Loop (m, , x) <body: graph = counted (int64 i, bool go, float[2] a) => (bool more, float[2] b) {
    more = Identity (go)
    b = Add (a, a)
  }>
  z = Scan <num_scan_inputs: int = 1, body: graph = summed (float[2] c, float[2] e) => (float[2] d) { d = Add (c, e) }> (x, s)
}"""


def test_the_command_line_says_what_it_wrote(tmp_path):
    onnx.save(model(COUNTED), tmp_path / "in.onnx")
    done = convert(tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--opset", 17)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(re.match(r"y +Loop +it has no scans", line) for line in lines), done.stdout
    assert any(re.match(r"z +Scan", line) for line in lines), done.stdout
    assert f"wrote {tmp_path / 'out.onnx'}: opset 17" in done.stdout
    feeds = {"m": scalar(2), "x": f32(1, 2), "s": f32([1, 1], [2, 2])}
    agree(run(tmp_path / "out.onnx", feeds), run(tmp_path / "in.onnx", feeds))


def test_the_command_line_refuses(tmp_path):
    onnx.save(model("m (int32[2] x) => (int32[2] y) { y = BitwiseNot (x) }"), tmp_path / "in.onnx")
    done = convert(tmp_path / "in.onnx", "-o", tmp_path / "out.onnx", "--opset", 13)
    assert done.returncode == 1 and "BitwiseNot begins in opset 18" in done.stderr
    assert not (tmp_path / "out.onnx").exists()
    assert "--external-data" in convert("--help").stdout


def counting_network():
    net = Net()
    loop = net.loop(3, "count up")
    net.last(loop, net.recurrence(loop, net.f32(1), net.relu))
    return net.network


def test_names_of_loops_and_layers_are_kept():
    network = counting_network()
    for i in range(network.num_layers):
        network.get_layer(i).name = f"my layer {i}"
    names = [n.name for n in onnx.load_from_string(rondel.export(network)).graph.node]
    assert "count up" in names, names


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g)


def test_a_name_is_the_loops_own(tmp_path):
    """Only the Loop has the loop's name; nodes added around or inside it get the name with a number. Layers likewise."""
    net = Net()
    x, count, most = net.input("x", (-1, 3)), net.input("n", (), I64), net.input("most", (), I64)
    loop = net.loop(count, "rows")
    row = loop.add_iterator(x, 0, reverse=True).get_output(0)
    net.joined(loop, net.relu(row), 1, most)
    table = net.network.add_matrix_multiply(x, MatrixOperation.TRANSPOSE, x, MatrixOperation.NONE)
    table.name = "table"
    net.mark(table.get_output(0))
    report = net.network.to_onnx(tmp_path / "n.onnx")
    assert [loop[0] for loop in report.loops] == ["rows"]
    nodes = list(nodes_of(onnx.load(tmp_path / "n.onnx").graph))
    assert [node.op_type for node in nodes if node.name == "rows"] == ["Loop"]
    assert [node.op_type for node in nodes if node.name == "table"] == ["MatMul"]
    names = [node.name for node in nodes if node.name]
    assert len(names) == len(set(names)) and sum(name.startswith("rows_") for name in names) > 5


def test_loops_that_nobody_named_have_a_name(tmp_path):
    net = Net()
    count = net.input("n", (), I64)
    for name in (None, "named", None):
        loop = net.loop(count, name)
        net.last(loop, net.counter(loop))
    report = net.network.to_onnx(tmp_path / "n.onnx")
    assert [loop[0] for loop in report.loops] == ["loop", "named", "loop_1"]
    written = onnx.load(tmp_path / "n.onnx")
    assert [node.name for node in written.graph.node if node.op_type == "Loop"] == ["loop", "named", "loop_1"]
    assert [loop["name"] for loop in rondel.inspect(tmp_path / "n.onnx").loops] == [f"node '{n}' (Loop)" for n in ("loop", "named", "loop_1")]


@pytest.mark.parametrize("wrong", [{"opset": "x"}, {"opset": 1.5}, {"opset": 2**70}, {"external_data": "yes"}, {"compiled": None}, {"assertions": 1.5},
                                   {"sess_options": 3}, {"path": 3}])
def test_arguments_of_another_kind(wrong):
    with refused(rondel.CallerError, next(iter(wrong)), "expected"):
        rondel.export(counting_network(), **wrong)
