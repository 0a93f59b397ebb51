"""What ONNX has no op for that gives the same: random draws, which are compiled to the same numbers, and assertions."""

import numpy as np
import onnx
import pytest
import rondel
from models import agree, f32, in_onnxruntime, model, refused, run, run_options, same, session
from nets import Net

# ---- random draws ----------------------------------------------------------------------------------------

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
        want = s.run(None, x, run_options(seed=seed))
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


# ---- assertions ------------------------------------------------------------------------------------------


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
