"""Options of onnxruntime that are here: read before they are set, stored, honoured, or refused in words; copies of options."""

import copy
import json
import os
import pickle
import warnings

import numpy as np
import onnx
import pytest
from models import f32, i64, make_model, model, options, refused, same, session, tensor, value
from runtimes import MUL, both

import rondel
from rondel import missing_names

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
LOOP = """
main (float[n] x, int64 most) => (float[n] y) {
  [root] y = Loop (most, , x) <body = body (int64 i, bool go, s) => (bool on, t) { on = Identity (go)  t = Mul (s, s) }>
}"""


@pytest.fixture
def unsaid(monkeypatch):
    """A process that has not warned of anything yet."""
    monkeypatch.setattr(missing_names, "_said", set())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- reading and setting --------------------------------------------------------------------------------


def test_every_option_has_onnxruntimes_default():
    import onnxruntime

    for ours, theirs in ((rondel.SessionOptions(), onnxruntime.SessionOptions()), (rondel.RunOptions(), onnxruntime.RunOptions())):
        names = [n for n in dir(theirs) if not n.startswith("_") and not callable(getattr(theirs, n))]
        assert len(names) >= 5
        for name in names:
            there = getattr(theirs, name)
            assert getattr(ours, name) == (int(there) if hasattr(there, "__members__") else there), name


@both
def test_enumerations_read_back(ort):
    made = ort.SessionOptions()
    assert made.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    made.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert made.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    assert made.graph_optimization_level.name == "ORT_ENABLE_EXTENDED"
    assert made.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL and made.execution_order == ort.ExecutionOrder.DEFAULT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        made.execution_order = ort.ExecutionOrder.PRIORITY_BASED
    assert made.execution_mode == ort.ExecutionMode.ORT_PARALLEL and made.execution_order.name == "PRIORITY_BASED"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("enable_profiling", 2),
        ("enable_mem_pattern", "no"),
        ("execution_mode", 7),
        ("execution_order", "DEFAULT"),
        ("log_severity_level", 5),
        ("log_severity_level", -2),
        ("log_verbosity_level", 1.5),
        ("logid", 3),
        ("profile_file_prefix", 3),
        ("optimized_model_filepath", "a\0b"),
        ("inter_op_num_threads", -2),
    ],
)
def test_onnxruntimes_options_are_checked_too(name, wrong):
    with refused(rondel.CallerError, f"SessionOptions.{name} is {wrong!r}", "expected"):
        setattr(rondel.SessionOptions(), name, wrong)


@both
def test_numbers_that_onnxruntime_takes(ort, unsaid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made, limits = ort.SessionOptions(), ort.RunOptions()
        made.enable_profiling, made.use_deterministic_compute, made.inter_op_num_threads, limits.terminate = 1, 0, -1, 1
    assert (made.enable_profiling, made.use_deterministic_compute, made.inter_op_num_threads, limits.terminate) == (True, False, -1, True)


@pytest.mark.parametrize(
    ("kind", "name", "plain", "odd"),
    [
        (rondel.SessionOptions, "enable_cpu_mem_arena", True, False),
        (rondel.SessionOptions, "enable_mem_pattern", True, False),
        (rondel.SessionOptions, "enable_mem_reuse", True, False),
        (rondel.SessionOptions, "use_per_session_threads", True, False),
        (rondel.SessionOptions, "inter_op_num_threads", 1, 4),
        (rondel.SessionOptions, "execution_mode", 0, 1),
        (rondel.SessionOptions, "execution_order", 0, 2),
        (rondel.SessionOptions, "log_verbosity_level", 0, 1),
        (rondel.RunOptions, "only_execute_path_to_fetches", False, True),
        (rondel.RunOptions, "log_verbosity_level", 0, 1),
    ],
)
def test_what_has_no_meaning_here_warns_once(unsaid, kind, name, plain, odd):
    made = kind()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setattr(made, name, plain)
    with pytest.warns(UserWarning, match=f"{kind.__name__}.{name} is ignored: ") as said:
        setattr(made, name, odd)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        setattr(kind(), name, odd)
    assert getattr(made, name) == odd


def test_what_always_holds_does_not_warn(unsaid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options(use_deterministic_compute=True, logid="mine", log_severity_level=3, enable_profiling=False)


def test_keyword_arguments_of_sessions(unsaid):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rondel.InferenceSession(MUL, enable_fallback=0, read_config_from_model=0, disabled_optimizers=None)
    with pytest.warns(UserWarning, match="disabled_optimizers.*graph_optimization_level"):
        rondel.InferenceSession(MUL, disabled_optimizers=["ConstantFolding"])
    with pytest.warns(UserWarning, match="read_config_from_model"):
        rondel.InferenceSession(MUL, read_config_from_model=1)
    with refused(rondel.CallerError, "no argument 'session_options'", "did you mean 'sess_options'"):
        rondel.InferenceSession(MUL, session_options=options())


# ---- configuration entries ------------------------------------------------------------------------------


@both
def test_configuration_entries(ort, unsaid):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, limits = ort.SessionOptions(), ort.RunOptions()
        made.add_session_config_entry("KEY", "value")
        limits.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert made.get_session_config_entry("KEY") == "value"
    assert limits.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
    with pytest.raises(RuntimeError, match="SessionOptions does not have configuration with key: OTHER"):
        made.get_session_config_entry("OTHER")
    with pytest.raises(RuntimeError, match="RunOptions does not have configuration with key: OTHER"):
        limits.get_run_config_entry("OTHER")


def test_configuration_entries_without_a_meaning_warn_once(unsaid):
    made = rondel.SessionOptions()
    with pytest.warns(UserWarning, match="'session.disable_prepacking' is ignored"):
        made.add_session_config_entry("session.disable_prepacking", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.add_session_config_entry("session.disable_prepacking", "0")
        made.add_session_config_entry("session.optimized_model_external_initializers_file_name", "x.bin")
    with refused(rondel.CallerError, "'KEY': 1", "text"):
        made.add_session_config_entry("KEY", 1)


@pytest.mark.parametrize("value", ["0", "1"])
def test_denormals_as_zero(value):
    """Not beside onnxruntime, which leaves the arithmetic of this thread changed."""
    made = rondel.SessionOptions()
    made.add_session_config_entry("session.set_denormal_as_zero", value)
    small = session(model("g (float[4] x) => (float[4] y) <float k = {1e-10}> { y = Mul (x, k) }"), options=made)
    (y,) = small.run(None, {"x": np.full(4, 1e-30, np.float32)})
    same(y, np.full(4, 0.0 if value == "1" else 1e-40, np.float32))


@pytest.mark.parametrize("jit", ["0", "quick", "2"])
def test_powers_of_denormals_that_are_zero(jit, monkeypatch):
    monkeypatch.setenv("RONDEL_JIT", jit)
    power = session(model("g (float[n] x, float[n] e) => (float[n] y) { y = Pow (x, e) }"), options=rondel.SessionOptions(denormals_as_zero=True))
    (y,) = power.run(None, {"x": np.float32([-1e-40, 1e-40, 4]), "e": np.float32([2.5, -1.5, 0.5])})
    same(y, np.float32([0, np.inf, 2]))


def test_denormals_as_zero_is_an_option_of_its_own():
    made = rondel.SessionOptions(denormals_as_zero=True)
    assert made.denormals_as_zero
    made.add_session_config_entry("session.set_denormal_as_zero", "0")
    assert not made.denormals_as_zero
    with refused(rondel.CallerError, "set_denormal_as_zero", "'yes'", "'0' or '1'"):
        made.add_session_config_entry("session.set_denormal_as_zero", "yes")
    assert made.get_session_config_entry("session.set_denormal_as_zero") == "0"


# ---- dimensions -----------------------------------------------------------------------------------------


def dimensions():
    """x of [batch, channel, 5], and y, a value of the same type."""
    made = model("main (float[batch, channel, 5] x) => (float[batch, channel, 5] y) { y = Abs (x) }")
    for port in (*made.graph.input, *made.graph.output):
        port.type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
        port.type.tensor_type.shape.dim[1].denotation = "DATA_CHANNEL"
    return made.SerializeToString()


@both
@pytest.mark.parametrize("by", ["name", "denotation"])
def test_dimensions_get_extents(ort, by):
    made = ort.SessionOptions()
    names = ("batch", "channel") if by == "name" else ("DATA_BATCH", "DATA_CHANNEL")
    for name, extent in zip(names, (3, 4), strict=True):
        getattr(made, f"add_free_dimension_override_by_{by}")(name, extent)
    s = ort.InferenceSession(dimensions(), made, providers=["CPUExecutionProvider"])
    assert s.get_inputs()[0].shape == [3, 4, 5] == s.get_outputs()[0].shape
    with pytest.raises(ort.capi._pybind_state.InvalidArgument):
        s.run(None, {"x": np.zeros((2, 4, 5), np.float32)})
    same(s.run(None, {"x": -np.ones((3, 4, 5), np.float32)})[0], np.ones((3, 4, 5), np.float32))


def test_dimensions_in_other_calls(folder):
    made = rondel.SessionOptions()
    made.add_free_dimension_override_by_name("batch", 3)
    (folder / "model.onnx").write_bytes(dimensions())
    for source in ("model.onnx", dimensions(), onnx.load("model.onnx")):
        assert rondel.inspect(source, made).inputs[0].shape == [3, "channel", 5]
        assert rondel.InferenceSession(rondel.export(source, sess_options=made)).get_inputs()[0].shape == [3, "channel", 5]
    total = model("main (float[batch] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }")
    assert rondel.grad(total, ["x"], sess_options=made).graph.output[1].type.tensor_type.shape.dim[0].dim_value == 3


def test_dimensions_of_items_of_sequences():
    made = rondel.SessionOptions()
    made.add_free_dimension_override_by_name("n", 3)
    s = session("main (seq(float[n,2]) x) => (float[n,2] y) <int64 zero = {0}> { y = SequenceAt (x, zero) }", options=made)
    same(s.run(None, {"x": [np.ones((3, 2), np.float32)]})[0], np.ones((3, 2), np.float32))
    with refused(rondel.CallerError, "x", "[5, 2]", "[3, 2]"):
        s.run(None, {"x": [np.ones((5, 2), np.float32)]})


def test_what_changes_a_model_changes_a_gradient_once():
    made = rondel.SessionOptions()
    made.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(f32(5, 6)))
    made.add_free_dimension_override_by_name("n", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = "main (float[n] x) => (float y, float[n] z) <float[2] W = {1, 2}> { z = Add (x, W)  y = ReduceSum <keepdims = 0> (x) }"
        total, gradients = rondel.value_and_grad(model(text), "x", "y", sess_options=made)({"x": f32(3, 4)})
    assert total == 7
    same(gradients["x"], f32(1, 1))


def test_what_is_no_file_cannot_be_changed():
    made = rondel.SessionOptions()
    made.add_free_dimension_override_by_name("n", 2)
    s = session("main (float[n] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }")
    for call in (rondel.export, lambda s, **how: rondel.grad(s, "x", **how), lambda s, **how: rondel.value_and_grad(s, "x", **how)):
        with refused(rondel.CallerError, "add_free_dimension_override_by_name", "a session is none"):
            call(s, sess_options=made)
    with refused(rondel.CallerError, "add_free_dimension_override_by_name", "a model in MDF is none"):
        rondel.mdf.loads({"m": {"graphs": {"g": {"nodes": {"n": {"output_ports": {"y": {"value": "1"}}}}}}}}, made)


def test_dimensions_that_are_not_there(unsaid):
    made = rondel.SessionOptions()
    made.add_free_dimension_override_by_name("bach", 3)
    with pytest.warns(UserWarning, match="no dimension of the model has the name 'bach'; there are: 'batch', 'channel'"):
        rondel.InferenceSession(dimensions(), made)
    for wrong, words in ((-1, ("'n'", "-1")), (1.5, ("1.5",)), ("3", ("'3'",))):
        with refused(rondel.CallerError, "dimension 'n'", *words):
            made.add_free_dimension_override_by_name("n", wrong)
    with refused(rondel.CallerError, "denotation", "None"):
        made.add_free_dimension_override_by_denotation(None, 1)


# ---- initializers ---------------------------------------------------------------------------------------


@both
def test_initializers_are_replaced(ort):
    made = ort.SessionOptions()
    weights = ort.OrtValue.ortvalue_from_numpy(X[:, ::-1].copy())
    made.add_initializer("W", weights)
    s = ort.InferenceSession(MUL, made, providers=["CPUExecutionProvider"])
    same(s.run(None, {"X": X})[0], X * X[:, ::-1])


def in_a_file(location="far.bin", offset=None, length=None):
    """y = x + W; W, of two i64, is in an external file."""
    weights = tensor("W", i64(0, 0))
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", offset), ("length", length)):
        if text is not None:
            weights.external_data.add(key=key, value=str(text))
    node = onnx.helper.make_node("Add", ["x", "W"], ["y"])
    port = [value(n, onnx.TensorProto.INT64, [2]) for n in "xy"]
    return make_model([node], port[:1], port[1:], [weights]).SerializeToString()


@both
def test_external_initializers(ort, folder):
    (folder / "model.onnx").write_bytes(in_a_file())
    made = ort.SessionOptions()
    kept = ort.OrtValue.ortvalue_from_numpy(i64(10, 20))
    made.add_external_initializers(["W"], [kept])
    s = ort.InferenceSession("model.onnx", made, providers=["CPUExecutionProvider"])
    same(s.run(None, {"x": i64(1, 2)})[0], i64(11, 22))


@both
def test_external_files_in_memory(ort, folder):
    (folder / "model.onnx").write_bytes(in_a_file(offset=8, length=16))
    data = i64(7, 10, 20).tobytes()
    made = ort.SessionOptions()
    made.add_external_initializers_from_files_in_memory(["far.bin"], [data], [len(data)])
    s = ort.InferenceSession("model.onnx", made, providers=["CPUExecutionProvider"])
    same(s.run(None, {"x": i64(1, 2)})[0], i64(11, 22))


def test_external_files_that_stay_where_they_are(folder):
    """A model with a replaced initializer still reads the others from its own folder."""
    (folder / "far").mkdir()
    (folder / "far" / "far.bin").write_bytes(i64(10, 20).tobytes())
    made = onnx.load_model_from_string(in_a_file())
    made.graph.initializer.append(tensor("V", i64(1)))
    made.graph.node.append(onnx.helper.make_node("Mul", ["y", "V"], ["z"]))
    made.graph.output.append(value("z", onnx.TensorProto.INT64, [2]))
    (folder / "far" / "model.onnx").write_bytes(made.SerializeToString())
    chosen = rondel.SessionOptions()
    chosen.add_initializer("V", rondel.OrtValue.ortvalue_from_numpy(i64(3)))
    s = rondel.InferenceSession("far/model.onnx", chosen)
    same(s.run(["z"], {"x": i64(1, 2)})[0], i64(33, 66))
    assert chosen.external_data_dir is None


def test_files_of_bodies():
    body = "body (int64 i, bool go, s) => (bool on, t) { on = Identity (go)  t = Add (s, W) }"
    made = model(f"main (int64[2] x) => (int64[2] y) {{ y = Loop (two, , x) <body = {body}> }}")
    made.graph.initializer.append(tensor("two", np.array(2)))
    made.graph.node[0].attribute[0].g.initializer.append(onnx.load_model_from_string(in_a_file()).graph.initializer[0])
    chosen = rondel.SessionOptions()
    chosen.add_external_initializers_from_files_in_memory(["far.bin"], [i64(10, 20)], [16])
    same(rondel.InferenceSession(made, chosen).run(None, {"x": i64(1, 2)})[0], i64(21, 42))


def arrays_of(*them):
    return [rondel.OrtValue.ortvalue_from_numpy(x) for x in them]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda o: o.add_initializer("W", X), ("'W'", "ndarray", "OrtValue")),
        (lambda o: o.add_initializer("W", rondel.OrtValue([], "seq(tensor(float))")), ("'W'", "seq(tensor(float))")),
        (lambda o: o.add_initializer(3, arrays_of(X)[0]), ("3", "text")),
        (lambda o: o.add_initializer("V", arrays_of(X)[0]), ("no initializer 'V'", "'W'")),
        (lambda o: o.add_initializer("W", arrays_of(f32(1))[0]), ("'W'", "tensor(float)[1]", "tensor(float)[3, 2]")),
        (lambda o: o.add_initializer("W", arrays_of(X.astype("f8"))[0]), ("'W'", "tensor(double)", "tensor(float)[3, 2]")),
        (lambda o: o.add_external_initializers(["W"], arrays_of(X, X)), ("1 names", "2 values")),
        (lambda o: o.add_external_initializers_from_files_in_memory(["a"], [b""], []), ("1 names", "0 lengths")),
        (lambda o: o.add_external_initializers_from_files_in_memory(["a"], ["text"], [4]), ("'a'", "str", "bytes")),
        (lambda o: o.add_external_initializers_from_files_in_memory(["a"], [b"ab"], [3]), ("'a'", "3", "at most 2")),
        (lambda o: o.add_external_initializers_from_files_in_memory(["a"], [b"ab"], [2]), ("no tensor", "'a'")),
    ],
)
def test_initializers_that_do_not_fit(call, words):
    made = rondel.SessionOptions()
    with refused(rondel.CallerError, *words):
        call(made)
        rondel.InferenceSession(MUL, made)


def test_a_file_in_memory_that_is_too_short():
    made = rondel.SessionOptions()
    made.add_external_initializers_from_files_in_memory(["far.bin"], [i64(1, 2)], [16])
    with refused(rondel.CallerError, "'W'", "16 bytes from byte 8", "'far.bin'", "only 16"):
        rondel.InferenceSession(in_a_file(offset=8, length=16), made)


@pytest.mark.parametrize(("place", "words"), [({"offset": -8, "length": 8}, "-8"), ({"offset": 0, "length": -16}, "-16"), ({"offset": "x"}, "x")])
def test_a_place_in_a_file_that_is_none(place, words):
    made = rondel.SessionOptions()
    made.add_external_initializers_from_files_in_memory(["far.bin"], [i64(1, 2)], [16])
    with refused(rondel.CallerError, "'W'", words, "expected an offset and a length of 0 or more"):
        rondel.InferenceSession(in_a_file(**place), made)


def test_initializers_that_are_strings():
    text = "main (string[n] x) => (string[n] y) { y = StringConcat (x, W) }"
    made = model(text)
    made.graph.initializer.append(onnx.helper.make_tensor("W", onnx.TensorProto.STRING, [1], [b"?"]))
    for new in (np.array([b"!"]), np.array(["!"]), np.array(["!"], object)):
        chosen = rondel.SessionOptions()
        chosen.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(new))
        assert rondel.InferenceSession(made, chosen).run(None, {"x": np.array(["a", "b"])})[0].tolist() == ["a!", "b!"]


def test_an_option_that_does_not_fit_is_no_damaged_file():
    made = rondel.SessionOptions()
    made.add_initializer("V", arrays_of(X)[0])
    with pytest.raises(rondel.CallerError) as caught:
        rondel.InferenceSession(MUL, made)
    assert type(caught.value) is rondel.capi.onnxruntime_pybind11_state.InvalidGraph


# ---- the optimized model --------------------------------------------------------------------------------


@both
def test_the_optimized_model_is_written(ort, folder):
    made = ort.SessionOptions()
    made.optimized_model_filepath = "optimized.onnx"
    ort.InferenceSession(MUL, made, providers=["CPUExecutionProvider"])
    if ort is rondel:
        onnx.checker.check_model("optimized.onnx")
    same(rondel.InferenceSession("optimized.onnx").run(None, {"X": X})[0], X * X)


def test_a_copy_of_a_session_does_not_write_the_optimized_model_again(folder):
    made = rondel.InferenceSession(MUL, options(optimized_model_filepath="optimized.onnx"))
    os.remove("optimized.onnx")
    same(copy.deepcopy(made).run(None, {"X": X})[0], X * X)
    assert not list(folder.iterdir()) and made.get_session_options().optimized_model_filepath == "optimized.onnx"


def big():
    """Weights of 8 KiB and of 8 bytes."""
    weights = np.arange(2048, dtype=np.float32)
    nodes = [onnx.helper.make_node("Mul", ["x", "W"], ["h"]), onnx.helper.make_node("Add", ["h", "b"], ["y"])]
    return make_model(nodes, [value("x", shape=[2048])], [value("y", shape=[2048])], [tensor("W", weights), tensor("b", f32(1))])


def test_weights_of_the_optimized_model_in_a_file(folder):
    (folder / "out").mkdir()
    made = options(optimized_model_filepath="out/optimized.onnx")
    made.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights.bin")
    made.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "100")
    for _ in range(2):  # files that are there are replaced
        rondel.InferenceSession(big(), made)
        assert os.path.getsize("out/weights.bin") == 8192 and os.path.getsize("out/optimized.onnx") < 2000
    want = np.arange(2048, dtype=np.float32) * 2 + 1
    same(rondel.InferenceSession("out/optimized.onnx").run(None, {"x": np.full(2048, 2, np.float32)})[0], want)


@pytest.mark.parametrize(
    ("name", "least", "words"),
    [
        ("a/b.bin", "100", ("a/b.bin", "beside")),
        ("b.bin", "many", ("many", "bytes")),
        ("b.bin", "²", ("²", "bytes")),
        ("optimized.onnx", "100", ("'optimized.onnx', the model itself",)),
    ],
)
def test_files_of_weights_that_cannot_be(folder, name, least, words):
    made = options(optimized_model_filepath="optimized.onnx")
    made.add_session_config_entry("session.optimized_model_external_initializers_file_name", name)
    made.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", least)
    with refused(rondel.CallerError, *words):
        rondel.InferenceSession(big(), made)
    assert not list(folder.iterdir())


def test_weights_and_model_are_both_written_or_neither(folder):
    made = options(optimized_model_filepath="optimized.onnx")
    made.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights.bin")
    (folder / "optimized.onnx").mkdir()
    with refused(rondel.CallerError, "optimized.onnx"):
        rondel.InferenceSession(big(), made)
    assert [p.name for p in folder.iterdir()] == ["optimized.onnx"]


# ---- profiles -------------------------------------------------------------------------------------------


@both
def test_profiles(ort, folder):
    made = ort.SessionOptions()
    made.enable_profiling = True
    made.profile_file_prefix = "times"
    s = ort.InferenceSession(MUL, made, providers=["CPUExecutionProvider"])
    s.run(None, {"X": X})
    begun = s.get_profiling_start_time_ns()
    path = s.end_profiling()
    assert path.startswith("times_") and path.endswith(".json") and begun > 0
    lines = open(path).read().splitlines()
    assert lines[0] == "[" and lines[-1] == "]"
    events = json.loads("".join(lines))
    assert all({"cat", "pid", "tid", "dur", "ts", "ph", "name", "args"} <= set(e) and e["ph"] in ("X", "C", "M") for e in events)
    assert "model_run" in {e["name"] for e in events}


def test_a_profile_is_written_where_it_was_made(folder, monkeypatch):
    (folder / "other").mkdir()
    (folder / "times").mkdir()
    s = session(MUL, options=options(enable_profiling=True, profile_file_prefix="times/first"))
    s.run(None, {"X": X})
    monkeypatch.chdir(folder / "other")
    path = s.end_profiling()
    assert os.path.dirname(path) == str(folder / "times") and json.load(open(path)) and not list((folder / "other").iterdir())
    gone = session(MUL, options=options(enable_profiling=True, profile_file_prefix=str(folder / "times" / "second")))
    for file in (folder / "times").iterdir():
        file.unlink()
    (folder / "times").rmdir()
    with refused(rondel.CallerError, "the profile cannot be written to", "No such file or directory"):
        gone.end_profiling()


def test_a_profile_does_not_grow_without_end(folder, monkeypatch):
    s = session(MUL, options=options(enable_profiling=True))
    monkeypatch.setattr(type(s._profile._events), "MOST", 3)
    for _ in range(7):
        s.run(None, {"X": X})
    events = json.load(open(s.end_profiling()))
    own = [e for e in events if e["cat"] == "Session"]
    assert len(own) == 3 and "5 more events were not kept" in {e["name"] for e in events}


@pytest.mark.parametrize("text", ["[1]", "null", '[{"ph": "X"}]', "{}", "["])
def test_what_is_no_profile(folder, text):
    (folder / "p.json").write_text(text)
    with refused(rondel.CallerError, "'p.json' is no profile"):
        rondel.profiling.profile_html("p.json")
    assert rondel.profiling.ProfilePath("p.json")._repr_html_() is None


def test_profiles_say_how_loops_ran(folder):
    s = session(LOOP, options=options(enable_profiling=True))
    s.run(None, {"x": f32(1, 2), "most": np.array(3)})
    run = json.load(open(s.end_profiling()))[-1]
    assert run["args"] == {"how_it_ran": s.how_it_ran()} and "node 'root' (Loop)" in s.how_it_ran()
    with refused(rondel.CallerError, "end_profiling", "ended already"):
        s.end_profiling()
    events = len(s._profile._events)
    s.run(None, {"x": f32(1, 2), "most": np.array(3)})
    assert len(s._profile._events) == events
    with refused(rondel.CallerError, "end_profiling", "enable_profiling = True"):
        session(LOOP).end_profiling()
    assert session(LOOP).get_profiling_start_time_ns() == 0
    with refused(rondel.CallerError, "'no/such/folder/times_", "profile_file_prefix"):
        session(LOOP, options=options(enable_profiling=True, profile_file_prefix="no/such/folder/times"))


MANY_SHAPES = """main (int64 n, int64[r] tail, float[1, 1] x) => (float[k] y) <int64 one = {1}, int64[1] zero = {0}, int64[1] ones = {1}> {
  y = Loop (n, "") <body = b (int64 i, bool go) => (bool on, float item) {
    on = Identity (go)  next = Add (i, one)  height = Unsqueeze (next, zero)  image = Concat <axis = 0> (height, tail)
    rank = Shape (image)  block = Expand (ones, rank)  all = ReduceProd <keepdims = 1> (image)
    shape = Concat <axis = 0> (ones, ones, all)  v = Expand (x, shape)  c = Col2Im (v, image, block)  item = ReduceSum <keepdims = 0> (c)
  }>
}"""


def test_a_profile_keeps_the_names_of_plans_that_its_run_has_dropped(folder, monkeypatch):
    """A step whose plan depends on shapes keeps the plans of 64 of them."""
    monkeypatch.setenv("RONDEL_JIT", "0")

    def names(trips):
        s = session(MANY_SHAPES, options=options(enable_profiling=True))
        feeds = {"n": np.array(trips), "tail": i64(2), "x": np.ones((1, 1), np.float32)}
        same(s.run(None, feeds)[0], np.arange(2, 2 + 2 * trips, 2, dtype=np.float32))
        return {e["name"] for e in json.load(open(s.end_profiling())) if not e["name"].startswith("trip ")}

    few = names(3)
    assert "node 'c' (Col2Im)" in few and names(150) == few


def test_a_profile_is_written_when_its_session_ends(folder):
    made = options(enable_profiling=True)
    sessions = [session(LOOP, options=made) for _ in range(2)]
    del sessions
    assert len(list(folder.glob("onnxruntime_profile__*.json"))) == 2


# ---- copies ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_options(copied):
    made = options(max_trips=7, external_data_dir="far", logid="mine", graph_optimization_level=1, enable_profiling=True)
    made.add_session_config_entry("session.optimized_model_external_initializers_file_name", "x.bin")
    made.add_free_dimension_override_by_name("batch", 3)
    made.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(X))
    there = copied(made)
    assert repr(there) == repr(made) and there.max_trips == 7 and there.logid == "mine"
    assert there.get_session_config_entry("session.optimized_model_external_initializers_file_name") == "x.bin"
    assert rondel.inspect(dimensions_with_weights(), there).inputs[0].shape == [3, "channel"]
    there.max_trips = 8
    there.add_free_dimension_override_by_name("channel", 4)
    assert made.max_trips == 7 and rondel.inspect(dimensions_with_weights(), made).inputs[0].shape == [3, "channel"]
    limits = rondel.RunOptions()
    limits.seed, limits.deadline, limits.logid = 3, 1.5, "mine"
    there = copied(limits)
    assert (there.seed, there.deadline, there.logid, there.terminate) == (3, 1.5, "mine", False)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_session_keeps_the_options_that_it_was_made_with(copied):
    weights = f32(5, 6)
    made = options(max_trips=3)
    made.add_free_dimension_override_by_name("n", 2)
    made.add_initializer("W", rondel.OrtValue.ortvalue_from_numpy(weights))
    s = session("main (float[n] x) => (float[n] y) <float[2] W = {1, 2}> { y = Add (x, W) }", options=made)
    made.max_trips = weights[:] = 100
    made.add_free_dimension_override_by_name("n", 7)
    for there in (s, copied(s)):
        assert there.get_inputs()[0].shape == [2] and there.get_session_options().max_trips == 3
        same(there.run(None, {"x": f32(0, 0)})[0], f32(5, 6))


@both
def test_the_options_of_a_session_are_a_copy(ort):
    made = ort.SessionOptions()
    made.intra_op_num_threads = 2
    s = ort.InferenceSession(MUL, made, providers=["CPUExecutionProvider"])
    made.intra_op_num_threads = 1
    assert s.get_session_options() is not made and s.get_session_options().intra_op_num_threads == 2


def dimensions_with_weights():
    made = model("main (float[batch, channel] x) => (float[batch, channel] y) { y = Abs (x) }")
    made.graph.initializer.append(tensor("W", X))
    return made


def test_options_are_printed_as_far_as_they_are_set():
    assert repr(rondel.SessionOptions()) == "SessionOptions()"
    assert repr(options(max_trips=3, logid="a")) == "SessionOptions(max_trips=3, logid='a')"


@pytest.mark.parametrize("jit", [True, False])
def test_a_run_may_have_less_than_the_session(jit):
    made = rondel.InferenceSession(model(LOOP), options(max_trips=100, jit=jit))
    feeds, limits = {"x": np.ones(1000, np.float32), "most": np.int64(50)}, rondel.RunOptions()
    for _ in range(3):  # interpreted, then native
        limits.max_trips, limits.max_memory_bytes = 10, 10**9
        with pytest.raises(rondel.LimitExceeded, match="the budget of 10 trips is used up; raise the run's max_trips"):
            made.run(None, feeds, limits)
        limits.max_trips, limits.max_memory_bytes = 50, 1000
        with pytest.raises(rondel.LimitExceeded, match="the memory budget of 1000 bytes does not allow .*; raise the run's max_memory_bytes"):
            made.run(None, feeds, limits)
        limits.max_memory_bytes = 10**6
        same(made.run(None, feeds, limits)[0], feeds["x"])
        limits.max_trips = 10**9
        with pytest.raises(rondel.LimitExceeded, match="the budget of 100 trips is used up; raise the session's max_trips"):
            made.run(None, feeds | {"most": np.int64(500)}, limits)
    there = pickle.loads(pickle.dumps(limits))
    assert (there.max_trips, there.max_memory_bytes) == (10**9, 10**6)
