"""Misuse of the Python package: a wrong argument raises CallerError, which names the argument and says what was expected.

Forms that onnxruntime accepts must work; they are at the end.
"""

import types

import numpy as np
import onnx.parser
import onnxruntime
import pytest
import rondel
from models import FALSE, f32, i64, model, refused, run, same, scalar, session, strings
from runtimes import both

ADD = "main (float[2] x, int64 n) => (float[2] y) { m = Cast <to: int = 1> (n)  y = Add (x, m) }"
FEEDS = {"x": f32(1, 2), "n": scalar(1)}
TEXTS = "main (string[k] s) => (string[k] t) { t = Identity (s) }"
LIST = "main (seq(float[2]) q) => (int64 n) { n = SequenceLength (q) }"


# ---- options --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *[("intra_op_num_threads", w) for w in (-1, 2**31, 1.5, "4", None, True)],
        *[("graph_optimization_level", w) for w in (4, -1, "all", None, 1.0)],
        *[("max_memory_bytes", w) for w in (-1, 2**64, 1e9, "1 GB", None)],
        *[("max_trips", w) for w in (-1, 2**63, 10.0, "10", None, FALSE, i64(1, 2))],
        *[("loop_cond", w) for w in ("Spec", "", None, 1)],
        *[(name, w) for name in ("jit", "strict") for w in (2, -1, 1.0, "no", None)],
        *[("external_data_dir", w) for w in (3, ["a"], "a\0b", "a\udcff")],
    ],
)
def test_session_options(name, wrong):
    made = rondel.SessionOptions()
    before = getattr(made, name)
    with refused(rondel.CallerError, f"SessionOptions.{name} is ", repr(wrong), "expected"):
        setattr(made, name, wrong)
    assert getattr(made, name) == before


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *[("deadline", w) for w in (-1, float("nan"), "1", True, [1])],
        *[("seed", w) for w in (-1, 2**64, 1.5, "1", None)],
        *[("terminate", w) for w in (2, None, "yes")],
        *[("max_trips", w) for w in (-1, 2**63, 1.5, None)],
        *[("max_memory_bytes", w) for w in (-1, 2**64, 1e9, None)],
    ],
)
def test_run_options(name, wrong):
    with refused(rondel.CallerError, f"RunOptions.{name} is ", repr(wrong), "expected"):
        setattr(rondel.RunOptions(), name, wrong)


def test_options_that_nobody_has():
    with refused(rondel.CallerError, "max_trip", "did you mean 'max_trips'"):
        rondel.SessionOptions().max_trip = 3
    with refused(rondel.CallerError, "timeout"):
        rondel.RunOptions().timeout = 3
    with refused(AttributeError, "SessionOptions has no option 'timeout'"):
        rondel.SessionOptions().timeout = 3


def test_options_are_keywords_too():
    made = rondel.SessionOptions(max_trips=7, jit=False, logid="a")
    assert (made.max_trips, made.jit, made.logid) == (7, False, "a")
    rondel.set_seed(5)
    try:
        limits = rondel.RunOptions(deadline=2, max_trips=3)
        assert (limits.deadline, limits.max_trips, limits.seed, rondel.RunOptions(seed=4).seed) == (2, 3, 5, 4)
    finally:
        rondel.set_seed(0)
    with refused(AttributeError, "SessionOptions has no option 'max_trip'; did you mean 'max_trips'?"):
        rondel.SessionOptions(max_trip=3)
    with refused(rondel.CallerError, "RunOptions.deadline is 'x'; expected seconds"):
        rondel.RunOptions(deadline="x")


def test_options_of_another_class():
    for wrong in (3, {}, rondel.RunOptions(), onnxruntime.SessionOptions()):
        with refused(rondel.CallerError, "sess_options", type(wrong).__name__, "rondel.SessionOptions"):
            rondel.InferenceSession(model(ADD), wrong)
        with refused(rondel.CallerError, "sess_options", type(wrong).__name__):
            rondel.inspect(model(ADD), wrong)
    for wrong in (3, {}, rondel.SessionOptions()):
        with refused(rondel.CallerError, "run_options", type(wrong).__name__, "rondel.RunOptions"):
            session(ADD).run(None, FEEDS, wrong)


@pytest.mark.parametrize("wrong", ["CPUExecutionProvider", 3, [3], [None], [[]], [(3, {})]])
def test_providers(wrong):
    with refused(rondel.CallerError, "providers", "expected"):
        rondel.InferenceSession(model(ADD), providers=wrong)


# ---- models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong", [None, 3, 2.5, ["model"], {"graph": 1}, onnx.ModelProto, object(), "a\0b.onnx", np.zeros(3)]
)
@pytest.mark.parametrize("call", [rondel.InferenceSession, rondel.inspect])
def test_models_of_no_known_kind(call, wrong):
    with refused(rondel.CallerError, "model"):
        call(wrong)


def test_a_part_of_a_model_is_no_model():
    for part in (model(ADD).graph, model(ADD).graph.node[0]):
        with refused(rondel.CallerError, "not an ONNX model"):
            rondel.InferenceSession(part)


# ---- feeds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [None, [f32(1, 2)], (1, 2), f32(1, 2), "x", 3, {"x"}])
def test_feeds_that_are_no_dict(wrong):
    with refused(rondel.CallerError, "input_feed", type(wrong).__name__, "dict"):
        session(ADD).run(None, wrong)


@pytest.mark.parametrize("key", [0, None, b"x", ("x",), "\udcff"])
def test_keys_that_are_no_input(key):
    with refused(rondel.CallerError, ("key " + repr(key), "no input"), ("expected", "the inputs are")):
        session(ADD).run(None, {**FEEDS, key: f32(1)})


@pytest.mark.parametrize("wrong", ["y", b"y", 3, [3], [None], [b"y"]])
def test_output_names(wrong):
    with refused(rondel.CallerError, "output_names", repr(wrong if not isinstance(wrong, list) else wrong[0])):
        session(ADD).run(wrong, FEEDS)


class Broken:
    def numpy(self):
        raise RuntimeError("call detach first")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.array([1.0, None], dtype=object), ("holds a NoneType, None",)),
        (np.array([{}, []], dtype=object), ("dict",)),
        (np.array([object()], dtype=object), ("holds a object",)),
        (np.array([1.0, 2], dtype=object), ("an array of dtype object, which np.asarray(x, np.float32) converts",)),
        ([1.0, None], ("holds a NoneType, None",)),
        (np.array(["a", "b"], dtype=np.dtypes.StringDType()), ("str",)),
        (np.array([1, 2], dtype="datetime64[s]"), ("datetime64",)),
        (np.zeros(2, dtype=[("a", "f4")]), ("NumPy dtype",)),
        (np.array(["a", "b"]), ("str",)),
        ([[1.0, 2.0], [3.0]], ("list",)),
        ([None, 3], ("NoneType",)),
        ([1.0, "a"], ("str",)),
        ({"a": 1}, ("dict",)),
        ("text", ("str",)),
        (object(), ("object",)),
        (len, ("builtin",)),
        (types.SimpleNamespace(), ("SimpleNamespace",)),
        (Broken(), ("Broken", "call detach first")),
        (np.float32, ("type",)),
        ([1 + 2j, 0], (("complex", "c128"),)),
        (None, ("empty",)),
        ([f32(1, 2), f32(3)], ("list",)),
        (2**70, (("f32[]",))),
    ],
)
def test_feeds_that_are_no_tensor(wrong, words):
    with refused(rondel.CallerError, "input 'x'", "expected", *words):
        session(ADD).run(None, {**FEEDS, "x": wrong})


@pytest.mark.parametrize(
    ("wrong", "words"), [(2**63, ("does not hold",)), (2**70, ("does not hold",)), (1.5, ("f64",)), (True, ("bool",)), ("1", ("str",)), ([1.5], ("f64",)), ([1e19], ("does not hold",)), ([np.inf], ("does not hold",))]
)
def test_numbers_that_do_not_fit(wrong, words):
    with refused(rondel.CallerError, "input 'n'", *words):
        session(ADD).run(None, {**FEEDS, "n": wrong})


@pytest.mark.parametrize("wrong", [[None, 3], [None, "a"], ["a", None], ["a", 3], [3, "a"], [1.5], [["a"], "b"], ["\ud800"]])
def test_texts(wrong):
    with refused(rondel.CallerError, "input 's'"):
        session(TEXTS).run(None, {"s": wrong})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (f32(1, 2), ("ndarray", "list")),
        ({"a": f32(1, 2)}, ("dict", "list")),
        ("ab", ("str", "list")),
        ([f32(1, 2), None], ("item 1", "None")),
        ([f32(1, 2), [f32(1, 2), f32(1)]], ("item 1",)),
        ([["a", "b"]], ("item 0", "str")),
        ([i64(1, 2)], (("i64"), ("f32"))),
        ([f32(1, 2), i64(1, 2)], (("i64"), ("f32"))),
        ([f32(1, 2, 3)], ("f32[3]",)),
    ],
)
def test_lists(wrong, words):
    with refused(rondel.CallerError, "input 'q'", *words):
        session(LIST).run(None, {"q": wrong})


# ---- outputs --------------------------------------------------------------------------------------------


def test_an_output_that_numpy_cannot_hold():
    text = "main (int64[k] s) => (float[] big) { big = ConstantOfShape (s) }"
    with refused(rondel.UnsupportedError, "output 'big'", "f32[1099511627776,1099511627776,0]", "NumPy"):
        session(text).run(None, {"s": i64(2**40, 2**40, 0)})


def test_texts_come_back_as_they_went():
    odd = b"\xff caf\xc3\xa9".decode("utf-8", "surrogateescape")
    got = session(TEXTS).run(None, {"s": [odd, "b"]})[0]
    same(got, strings(odd, "b"))
    same(session(TEXTS).run(None, {"s": got})[0], strings(odd, "b"))


# ---- the backend ----------------------------------------------------------------------------------------


def test_the_backend_counts_its_inputs():
    import rondel.backend

    with refused(rondel.CallerError, "3 inputs", "takes 2"):
        rondel.backend.prepare(model(ADD)).run([f32(1, 2), scalar(1), scalar(2)])


def test_the_backend_runs_a_node():
    import rondel.backend

    def run(op, inputs, given, **fields):
        (found,) = rondel.backend.run_node(onnx.helper.make_node(op, inputs, ["y"], **fields), given)
        return found.tolist()

    array, scalars = f32(1, 2), [f32(3, 5), f32(1, 1)]
    assert run("Sub", ["a", "b"], {"b": scalars[1], "a": scalars[0]}) == run("Sub", ["a", "b"], scalars) == [2, 4]
    assert run("Add", ["a", "a"], [array]) == [2, 4] and run("Neg", ["a"], array) == [-1, -2] and run("Neg", ["a"], [[1.0, 2.0]]) == [-1, -2]
    assert run("SequenceLength", ["s"], [scalars]) == 2 and run("SequenceAt", ["s", "k"], [[array, array[:1]], np.int64(1)]) == [1]
    assert run("Binarizer", ["a"], [array], domain="ai.onnx.ml", threshold=1.5) == [0, 1] and run("Gelu", ["a"], [0 * array], domain="com.microsoft") == [0, 0]
    assert run("DictVectorizer", ["m"], [{"a": 1.5}], domain="ai.onnx.ml", string_vocabulary=["a", "b"]) == [[1.5, 0]]
    for inputs, given, words in (
        (["a"], [array, array], "2 inputs are given; the node takes 1"), (["a", "b"], [array], "inputs given are a; the node takes a, b"),
        (["a"], {"a": array, "b": array}, "inputs given are a, b; the node takes a"), (["a"], [None], "input 'a' is None"),
        (["a"], [np.zeros(2, "M8[s]")], "input 'a' has NumPy dtype datetime64"),
    ):  # fmt: skip
        with pytest.raises(rondel.CallerError, match=words):
            run("Neg", inputs, given)


def test_the_backend_says_what_is_compatible():
    import rondel.backend

    unknown = model("main (float x) => (float y) { y = Frobnicate (x) }")
    assert rondel.backend.is_compatible(model(ADD)) and rondel.backend.is_compatible(model(ADD), None)
    assert not rondel.backend.is_compatible(unknown) and not rondel.backend.is_compatible(model(ADD), "CUDA")
    for no_model in (3, "nowhere.onnx"):
        with pytest.raises(rondel.CallerError):
            rondel.backend.is_compatible(no_model)


def test_the_backend_has_one_device():
    import onnxruntime.backend
    import rondel.backend

    for backend in (onnxruntime.backend, rondel.backend):
        with pytest.raises(RuntimeError, match="Incompatible device expected 'CUDA', got 'CPU'"):
            backend.prepare(model(ADD, opset=13), "CUDA")
        assert backend.prepare(model(ADD, opset=13), None) is not None


# ---- what works -----------------------------------------------------------------------------------------


def test_what_onnxruntime_takes():
    made = rondel.SessionOptions()
    made.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert made.graph_optimization_level == 1
    made.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    made.log_severity_level = 3
    made.intra_op_num_threads = np.int64(1)
    made.jit = np.bool_(True)
    s = rondel.InferenceSession(path_or_bytes=model(ADD), sess_options=made, providers=("CPUExecutionProvider",))
    assert s.get_session_options().intra_op_num_threads == 1
    limits = rondel.RunOptions()
    limits.deadline, limits.log_severity_level = 10, 3
    for names in (None, [], ["y"], ("y",), iter(["y"]), np.array(["y"])):
        same(s.run(names, FEEDS, limits)[0], f32(2, 3))
    same(s.run(None, types.MappingProxyType({"x": [1, 2], "n": 1}))[0], f32(2, 3))


@both
def test_lists_of_bools_and_of_whole_floats_are_numbers(ort):
    for dtype, x in (("float", [True, False]), ("int64", [True, False]), ("int64", [1.0, 0.0]), ("uint8", [1.0, 0.0]), ("float16", [True, False])):
        text = f"main ({dtype}[n] x) => ({dtype}[n] y) {{ y = Identity (x) }}"
        s = ort.InferenceSession(model(text, opset=13).SerializeToString(), providers=["CPUExecutionProvider"])
        same(s.run(None, {"x": x})[0], np.array([1, 0], {"float": np.float32}.get(dtype, dtype)))
    bools = ort.InferenceSession(model("main (bool[n] x) => (bool[n] y) { y = Identity (x) }", opset=13).SerializeToString(), providers=["CPUExecutionProvider"])
    for x in ([1, 0], [1.0, 0.0]):
        same(bools.run(None, {"x": x})[0], np.array([True, False]))


def test_a_list_of_other_numbers_is_no_list_of_bools():
    for x in ([2], [0.5], [-1]):
        with refused(rondel.CallerError, "input 'x' is", "expected bool[n]"):
            session("main (bool[n] x) => (bool[n] y) { y = Identity (x) }").run(None, {"x": x})


def test_strings_of_numpys_string_dtype():
    words = np.array(["a", "bé"], dtype=np.dtypes.StringDType())
    same(session(TEXTS).run(None, {"s": words})[0], strings("a", "bé"))
    value = rondel.OrtValue.ortvalue_from_numpy(words)
    assert value.data_type() == "tensor(string)"
    same(session(TEXTS).run(None, {"s": value})[0], strings("a", "bé"))
    missing = np.array(["a", None], dtype=np.dtypes.StringDType(na_object=None))
    with refused(rondel.CallerError, "input 's' holds a NoneType"):
        session(TEXTS).run(None, {"s": missing})


def test_onnxruntimes_enums_are_ours_too():
    made = rondel.SessionOptions()
    for name, level in onnxruntime.GraphOptimizationLevel.__members__.items():
        assert getattr(rondel.GraphOptimizationLevel, name) == int(level)
        made.graph_optimization_level = getattr(rondel.GraphOptimizationLevel, name)
        assert made.graph_optimization_level == int(level)
    made.execution_mode = rondel.ExecutionMode.ORT_SEQUENTIAL


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_an_operand_left_out_of_many(op):
    with pytest.raises(rondel.CallerError, match=rf"\({op}\).*input 0 is left out"):
        rondel.InferenceSession(onnx.parser.parse_model(
            f'<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => (float[n] y) {{ y = {op} (, x) }}'))


def test_lists_take_the_dtype_of_the_items():
    assert run(LIST, {"q": [[1.0, 2.0], (3, 4)]})[0] == 2
