"""The rest of onnxruntime's Python API: functions of the package, providers, logs, seeds, exceptions, and names that are not here."""

import copy
import gc
import importlib
import pickle
import re
import subprocess
import sys
import threading
import types
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from models import f32, make_model, model, options, refused, run_options, same, session, tensor, value
from runtimes import MUL, both

import rondel
from rondel import logs, missing_names, not_here

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
DOUBLE = "main (float[n] x) => (float[n] y) { y = Add (x, x) }"


@pytest.fixture
def unsaid(monkeypatch):
    """A process that has not warned of anything yet."""
    monkeypatch.setattr(missing_names, "_said", set())


# ---- functions of the package ---------------------------------------------------------------------------


@both
def test_what_the_package_says_of_itself(ort):
    assert ort.get_device() == "CPU"
    assert ort.get_version_string() == ort.__version__
    assert "Build Info" in ort.get_build_info()
    assert ort.get_all_providers()[-1] == "CPUExecutionProvider" and "CUDAExecutionProvider" in ort.get_all_providers()
    assert "CPUExecutionProvider" in ort.get_available_providers()
    ort.disable_telemetry_events()


def test_every_provider_of_onnxruntime_is_known():
    assert set(onnxruntime.get_all_providers()) <= set(rondel.get_all_providers())


@both
def test_what_a_session_says_of_its_model(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    (x,), (y,) = s.get_inputs(), s.get_outputs()
    assert isinstance(x, ort.NodeArg) and str(x) == "NodeArg(name='X', type='tensor(float)', shape=[3, 2])"
    assert (y.name, y.type, y.shape) == ("Y", "tensor(float)", [3, 2])
    meta = s.get_modelmeta()
    assert isinstance(meta, ort.ModelMetadata) and meta.graph_name == "mul test" and meta.custom_metadata_map == {}
    assert s.get_providers() == ["CPUExecutionProvider"] and s.get_provider_options() == {"CPUExecutionProvider": {}}


@both
def test_what_a_session_says_of_its_ports_cannot_be_changed(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    shape = s.get_inputs()[0].shape
    s.get_inputs()[0].shape[0] = 7
    assert s.get_inputs()[0].shape == shape
    with pytest.raises(AttributeError):
        s.get_inputs()[0].name = "q"


@both
@pytest.mark.parametrize("name", ["²", "٣", "03", "9" * 19, "1" * 5000, " 3"])
def test_a_dimension_called_by_digits_is_a_name(ort, name):
    made = model("main (float[n] x) => (float[n] y) { y = Neg (x) }", opset=13)
    for port in (*made.graph.input, *made.graph.output):
        port.type.tensor_type.shape.dim[0].dim_param = name
    s = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    assert s.get_inputs()[0].shape == [name] == s.get_outputs()[0].shape


def test_set_seed():
    draws = session("main () => (float[4] y) { y = RandomUniform <shape = [4]> () }")
    first = draws.run(None, {})[0]
    try:
        rondel.set_seed(3)
        assert rondel.RunOptions().seed == 3
        same(draws.run(None, {})[0], draws.run(None, {}, run_options(seed=3))[0])
        assert (draws.run(None, {})[0] != first).any()
        same(draws.run(None, {}, run_options(seed=0))[0], first)
    finally:
        rondel.set_seed(0)
    same(draws.run(None, {})[0], first)
    with refused(rondel.CallerError, "seed", "-1", "0 or more"):
        rondel.set_seed(-1)


@both
def test_forms_of_texts(ort):
    s = ort.InferenceSession(model("main (string[2, 2] s) => (string[2, 2] t) { t = Identity (s) }").SerializeToString())
    for texts in (np.array(["this", "is", "Olá", "你好"]), np.array(["a", "b", "c", "d"], object), np.array([b"must", b"have", b"same", b"size"], np.void)):
        want = [x.tobytes().decode() if isinstance(x, np.void) else x for x in texts]
        assert s.run(None, {"s": texts.reshape(2, 2)})[0].reshape(-1).tolist() == want


# ---- providers ------------------------------------------------------------------------------------------


@both
def test_provider_arguments(ort):
    check = ort.capi.onnxruntime_inference_collection.check_and_normalize_provider_args
    for given, wanted in (
        ((None, None), ([], [])),
        ((["a"], None), (["a"], [{}])),
        (([("a", {1: 2}), "b"], None), (["a", "b"], [{"1": "2"}, {}])),
        ((["a", "b"], [{1: 2}, {}]), (["a", "b"], [{"1": "2"}, {}])),
    ):
        assert check(*given, ["a", "b", "c"]) == wanted
    with pytest.warns(UserWarning):
        assert check(["a", "b", "a"], [{"x": 1}, {}, {"y": 2}], ["a", "b"]) == (["a", "b"], [{"x": "1"}, {}])
    with pytest.warns(UserWarning):
        assert check(["d"], None, ["a"]) == (["d"], [{}])
    for wrong in ((3, None), ([3], None), (["a"], 3), (["a"], ["no dict"]), (["a", "b"], [{1: 2}]), ([("a", {1: 2})], [{3: 4}])):
        with pytest.raises(ValueError):
            check(*wrong, ["a", "b", "c"])


@both
def test_set_providers(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    s.set_providers(["CPUExecutionProvider"])
    assert s.get_providers() == ["CPUExecutionProvider"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="Unknown Provider Type: InvalidProvider"):
            s.set_providers(["InvalidProvider"])


def test_providers_that_are_not_here():
    s = session(MUL)
    with pytest.warns(UserWarning, match="no provider 'CUDAExecutionProvider' here; available: CPUExecutionProvider") as said:
        s.set_providers(["CUDAExecutionProvider"])
    assert said[0].filename == __file__
    with refused(rondel.CallerError, "Unknown Provider Type: CUDAExecutor", "did you mean 'CUDAExecutionProvider'"), warnings.catch_warnings():
        warnings.simplefilter("error")
        s.set_providers(["CUDAExecutor"])
    with pytest.warns(UserWarning, match="the options .*use_arena.* of CPUExecutionProvider are ignored"):
        rondel.InferenceSession(MUL, providers=["CPUExecutionProvider"], provider_options=[{"use_arena": 1}])
    s.disable_fallback()
    same(s.run(None, {"X": X})[0], X * X)


def test_calls_without_effect_warn(unsaid):
    for call, word in ((rondel.enable_telemetry_events, "telemetry"), (session(MUL).enable_fallback, "enable_fallback"),
                       (lambda: rondel.set_default_logger_verbosity(2), "severity")):  # fmt: skip
        with pytest.warns(UserWarning, match=word):
            call()


# ---- the log --------------------------------------------------------------------------------------------


@pytest.fixture
def lines(monkeypatch):
    """What the log says, and its settings as they were afterwards."""
    monkeypatch.setattr(logs, "_default", logs.WARNING)
    monkeypatch.setattr(logs, "_callback", None)
    said = []
    return said


def test_a_callback_gets_the_lines(lines):
    rondel.set_default_logger_callback(lambda *line: lines.append(line), severity=0)
    s = rondel.InferenceSession(MUL, options(logid="mine"))
    s.run(None, {"X": X}, run_options(logid="first"))
    (made, ran) = lines
    assert made[:4] == (1, "rondel", "mine", "session") and "mul_1.onnx" in made[4] and re.search(r"made in [\d.]+ ms", made[4])
    assert ran[:4] == (0, "rondel", "first", "run") and re.search(r"took \d+ us", ran[4])
    s.run(None, {"X": X}, run_options(log_severity_level=1))
    assert len(lines) == 2
    rondel.set_default_logger_callback(None)
    s.run(None, {"X": X}, run_options(log_severity_level=2))
    assert len(lines) == 2


def test_a_callback_that_fails_ends_nothing(lines, capsys):
    def callback(*line):
        raise ValueError("on purpose")

    rondel.set_default_logger_callback(callback, severity=0)
    same(session(MUL).run(None, {"X": X})[0], X * X)
    assert "ValueError: on purpose" in capsys.readouterr().err


def test_lines_go_to_stderr(lines, capsys):
    made = rondel.InferenceSession(MUL, options(logid="mine", log_severity_level=1))
    assert re.fullmatch(r"\d{4}-.* \[I:rondel:mine, session\] InferenceSession\('.*mul_1.onnx'\) was made in .* ms\n", capsys.readouterr().err)
    rondel.set_default_logger_severity(0)
    made.run(None, {"X": X})
    assert "[V:rondel:, run]" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [5, -1, 1.5, True, None])
def test_severities(lines, wrong):
    for call in (rondel.set_default_logger_severity, lambda x: rondel.set_default_logger_callback(print, x)):
        with refused(rondel.CallerError, "severity", repr(wrong), "4 (fatal)"):
            call(wrong)
    with refused(rondel.CallerError, "callback", "'print'"):
        rondel.set_default_logger_callback("print")


def test_a_severity_above_warnings_silences_them(lines):
    odd = 'main (float x) => (float y) { y = Loop ("", "", x) <body = b (int64 i, bool go, float s) => (bool on, float t) { on = Less (s, s)  t = Add (s, s) }> }'
    with pytest.warns(rondel.ModelWarning):
        rondel.InferenceSession(model(odd))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rondel.InferenceSession(model(odd), options(log_severity_level=3))


# ---- exceptions -----------------------------------------------------------------------------------------


@both
def test_exceptions_have_onnxruntimes_names(ort, tmp_path):
    inner = ort.capi.onnxruntime_pybind11_state
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    with pytest.raises(inner.NoSuchFile):
        ort.InferenceSession(str(tmp_path / "nope.onnx"))
    with pytest.raises(inner.InvalidProtobuf):
        ort.InferenceSession(b"\xff\xff\xff")
    for damaged in (b"no model", Path(MUL).read_bytes()[:-9]):
        (tmp_path / "damaged.onnx").write_bytes(damaged)
        with pytest.raises(inner.InvalidProtobuf):
            ort.InferenceSession(str(tmp_path / "damaged.onnx"))
    with pytest.raises(inner.InvalidGraph):
        ort.InferenceSession(model("main (float[2] x) => (float[2] y) { y = Add (x) }").SerializeToString())
    for names, feeds in ((None, {"X": X.astype(np.float64)}), (None, {"X": X[:2]}), (["Z"], {"X": X}), (None, {"X": X, "Q": X})):
        with pytest.raises(inner.InvalidArgument):
            s.run(names, feeds)
    with pytest.raises(inner.InvalidArgument):
        gather = "main (float[n] x, int64 k) => (float y) { y = Gather (x, k) }"
        ort.InferenceSession(model(gather).SerializeToString()).run(None, {"x": f32(1), "k": np.array(7)})
    with pytest.raises(ValueError) as caught:
        s.run(None, {"Q": X})
    assert "Required inputs (['X']) are missing from input feed (['Q'])." in str(caught.value)


def missing_op():
    """A model of an op that is not here."""
    made = model("main (string[2] x) => (string[2] y) { y = com.microsoft.CropAndResize (x) }")
    made.opset_import.add(domain="com.microsoft", version=1)
    return made


def test_exceptions_derive_from_ours():
    inner, outer = rondel.capi.onnxruntime_pybind11_state, onnxruntime.capi.onnxruntime_pybind11_state
    named = [n for n in dir(inner) if isinstance(getattr(inner, n), type) and issubclass(getattr(inner, n), Exception)]
    assert len(named) >= 12 and all(issubclass(getattr(inner, n), rondel.Error) for n in named)
    theirs = {n for n in dir(outer) if isinstance(getattr(outer, n), type) and issubclass(getattr(outer, n), Exception)}
    assert all(n in named or n in not_here.CAPI for n in theirs)
    with refused(rondel.CallerError, "node 'y' (Add)") as caught:
        session("main (float[2] x) => (float[2] y) { y = Add (x) }")
    assert caught.value.node == "node 'y' (Add)" and type(caught.value).__name__ == "InvalidGraph"
    with pytest.raises(inner.NotImplemented) as caught:
        rondel.InferenceSession(missing_op().SerializeToString())
    assert isinstance(caught.value, rondel.UnsupportedError)


def test_what_is_missing_and_what_was_expected():
    s = session("main (float[n] x, optional(float) o, int64[2, m] k) => (float[n] y) { y = Neg (x) }")
    expected = "Required inputs (['x', 'k']) are missing from input feed (['o']). 'x' is f32[n], 'k' is i64[2, m]"
    with refused(rondel.CallerError, expected):
        s.run(None, {"o": None})


# ---- names that are not here ----------------------------------------------------------------------------


def public(owner):
    return [n for n in dir(owner) if not n.startswith("_")]


#: Modules and imports that are visible in onnxruntime, and are no part of its API.
INNER = {"capi", "contextlib", "cuda_version", "import_capi_exception", "onnxruntime_validation", "package_name", "version"}


def test_every_name_of_onnxruntime_is_here_or_says_what_to_use():
    theirs = set(public(onnxruntime)) - INNER
    absent = {n for n in theirs if not hasattr(rondel, n)}
    assert len(theirs) > 50 and absent == absent & set(not_here.MODULE)
    inner, outer = rondel.capi.onnxruntime_pybind11_state, onnxruntime.capi.onnxruntime_pybind11_state
    assert {n for n in public(outer) if not hasattr(inner, n)} <= set(not_here.CAPI | not_here.MODULE)
    pairs = (
        (session(MUL), onnxruntime.InferenceSession(MUL), not_here.SESSION),
        (rondel.SessionOptions(), onnxruntime.SessionOptions(), not_here.SESSION_OPTIONS),
        (rondel.RunOptions(), onnxruntime.RunOptions(), not_here.RUN_OPTIONS),
        (session(MUL).io_binding(), onnxruntime.InferenceSession(MUL).io_binding(), {}),
        (rondel.OrtValue.ortvalue_from_numpy(X), onnxruntime.OrtValue.ortvalue_from_numpy(X), not_here.ORT_VALUE),
        (rondel.OrtDevice.make("cpu", 0), onnxruntime.OrtDevice.make("cpu", 0), {}),
        (rondel.SparseTensor, onnxruntime.SparseTensor, {}),
    )
    for ours, there, table in pairs:
        assert {n for n in public(there) if not hasattr(ours, n)} <= set(table), type(ours)


def test_the_page_names_what_is_here():
    page = (Path(__file__).parents[3] / "docs" / "onnxruntime.md").read_text()
    here = page[page.index("## What is here") : page.index("## What is not here")]
    cells = [line.split("|")[1] for line in here.splitlines() if line.startswith("|")]
    named = [n for cell in cells for n in re.findall(r"`([\w.]+)`", cell) if not n.startswith("...")]
    owners = (rondel, session(MUL), rondel.SessionOptions(), rondel.RunOptions())
    assert len(named) > 40
    for name in named:
        first, *rest = name.split(".")
        found = next((getattr(x, first) for x in owners if hasattr(x, first)), None)
        assert found is not None and all(hasattr(found, part) for part in rest), name


OWNERS = {
    "rondel": (rondel, not_here.MODULE),
    "rondel.capi.onnxruntime_pybind11_state": (rondel.capi.onnxruntime_pybind11_state, not_here.CAPI | not_here.MODULE),
    "InferenceSession": (rondel.InferenceSession(MUL), not_here.SESSION),
    "SessionOptions": (rondel.SessionOptions(), not_here.SESSION_OPTIONS),
    "RunOptions": (rondel.RunOptions(), not_here.RUN_OPTIONS),
    "OrtValue": (rondel.OrtValue.ortvalue_from_numpy(X), not_here.ORT_VALUE),
}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, (_, table) in OWNERS.items() for name in table])
def test_names_that_are_not_here(kind, name):
    owner, table = OWNERS[kind]
    assert not hasattr(owner, name)
    with refused(rondel.UnsupportedError, f"{kind}.{name} is not here: {table[name]}"):
        getattr(owner, name)


def test_the_way_out_leads_there():
    ways = [way for _, table in OWNERS.values() for way in table.values()]
    places = {"rondel": rondel, "SessionOptions": rondel.SessionOptions(), "RunOptions": rondel.RunOptions()}
    named = {pair for way in ways for pair in re.findall(r"\b(rondel|SessionOptions|RunOptions)\.(\w+)", way)}
    assert ("SessionOptions", "max_memory_bytes") in named
    assert not [name for owner, name in named if not hasattr(places[owner], name)]
    for owner in (rondel, rondel.InferenceSession(MUL), rondel.RunOptions()):
        with pytest.raises(AttributeError, match="no_such_name") as caught:
            owner.no_such_name  # noqa: B018
        assert not isinstance(caught.value, rondel.Error)


# ---- modules that come with the package -----------------------------------------------------------------


def test_modules_are_loaded_when_they_are_first_used():
    code = """
import sys, rondel
lazy = ("backend", "code_cache", "deepx", "functions", "mdf", "network", "prediction", "ray", "serve", "sweeps", "torch", "train")
assert not [n for n in lazy if "rondel." + n in sys.modules], sys.modules
assert set(lazy) < set(dir(rondel))
rondel.functions.onnx.add, rondel.network.Network, rondel.mdf.load, rondel.backend.prepare
assert "onnxruntime" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_module_whose_package_is_missing_says_so():
    if importlib.util.find_spec("torch"):
        assert rondel.torch.Function
    else:
        with pytest.raises(ImportError, match="torch"):
            rondel.torch  # noqa: B018


# ---- copies and texts -----------------------------------------------------------------------------------

LOOP = """
main (float[n] x, int64 most) => (float[n] y) {
  [root] y = Loop (most, , x) <body = body (int64 i, bool go, s) => (bool on, t) { on = Identity (go)  t = Mul (s, s) }>
}"""


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_sessions(copied, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.onnx").write_bytes(model(LOOP).SerializeToString())
    for source in ("loop.onnx", model(LOOP)):
        made = rondel.InferenceSession(source, options(max_trips=5))
        there = copied(made)
        assert there is not made and there.get_session_options().max_trips == 5
        same(there.run(None, {"x": f32(2), "most": np.array(2)})[0], f32(16))
        with refused(rondel.LimitExceeded, "5 trips"):
            there.run(None, {"x": f32(1), "most": np.array(6)})


class Named(rondel.InferenceSession):
    """A session whose __init__ takes something else than InferenceSession's."""

    def __init__(self, path, name):
        super().__init__(path)
        self.name = name


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_what_was_set_on_a_session(copied):
    made = Named(MUL, "squares")
    made.tag = [1, 2]
    there = copied(made)
    assert type(there) is Named and (there.name, there.tag) == ("squares", [1, 2])
    same(there.run(None, {"X": X})[0], X * X)


class Guarded(rondel.InferenceSession):
    retries = 3

    def __init__(self, path):
        super().__init__(path)
        self.lock, self.retries = threading.Lock(), 5

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "lock"}


def test_a_subclass_chooses_what_is_pickled():
    made = Guarded(MUL)
    for there in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        assert there.retries == 5 and not hasattr(there, "lock") and there._session is not made._session
        same(there.run(None, {"X": X})[0], X * X)
    plain = rondel.InferenceSession(MUL)
    plain.lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(plain)


def test_what_hides_a_method_is_not_copied():
    made = rondel.InferenceSession(MUL)
    run = made.run
    made.run = lambda *args: [2 * x for x in run(*args)]
    same(copy.copy(made).run(None, {"X": X})[0], X * X)
    assert pickle.loads(pickle.dumps(made)).run(None, {"X": X})[0].tolist() == (X * X).tolist()


@both
def test_a_subclass_that_overrides_run_changes_no_other_way_to_run(ort):
    class Doubled(ort.InferenceSession):
        def run(self, *args):
            return [2 * x for x in super().run(*args)]

    made = Doubled(MUL, providers=["CPUExecutionProvider"])
    same(made.run(None, {"X": X})[0], 2 * X * X)
    same(made.run_with_ort_values(None, {"X": ort.OrtValue.ortvalue_from_numpy(X)})[0].numpy(), X * X)


@both
def test_the_private_names_that_packages_set(ort):
    made = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    made._model_path = "elsewhere/model.onnx"
    assert made._model_path == "elsewhere/model.onnx" and made._sess_options is not None
    same(made.run(None, {"X": X})[0], X * X)


def test_a_session_is_not_printed_with_the_loops_of_another_file(tmp_path):
    path = tmp_path / "loop.onnx"
    path.write_bytes(model(LOOP).SerializeToString())
    made = rondel.InferenceSession(path)
    assert "node 'root' (Loop)" in repr(made)
    path.write_bytes(model(LOOP.replace("[root]", "[another]")).SerializeToString())
    assert "another" not in repr(made)


def test_a_copy_finds_external_data_from_another_folder(tmp_path, monkeypatch):
    weights = tensor("W", f32(1, 2))
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="w.data")
    ports = [value(name, shape=[2]) for name in "xy"]
    made = make_model([onnx.helper.make_node("Add", ["x", "W"], ["y"])], ports[:1], ports[1:], [weights])
    for folder in ("data", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "data" / "w.data").write_bytes(f32(1, 2).tobytes())
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(rondel.InferenceSession(made.SerializeToString(), options(external_data_dir="data")))
    monkeypatch.chdir(tmp_path / "elsewhere")
    same(pickle.loads(pickled).run(None, {"x": f32(1, 1)})[0], f32(2, 3))


def test_rondel_in_place_of_onnxruntime():
    code = """
import rondel
from rondel import as_onnxruntime
as_onnxruntime.install()
import onnxruntime
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
import onnxruntime.capi._pybind_state as inner
assert ort is rondel and InvalidArgument is rondel.capi.onnxruntime_pybind11_state.InvalidArgument and inner is rondel.capi._pybind_state
as_onnxruntime.install()
import onnxruntime.quantization
from onnxruntime.quantization.quant_utils import QuantType
assert onnxruntime.quantization.__spec__.origin.replace("\\\\", "/").endswith("onnxruntime/quantization/__init__.py")
try:
    import onnxruntime.session
except ModuleNotFoundError as error:
    assert str(error) == "No module named 'onnxruntime.session': Rondel is in the place of onnxruntime, and has none"
else:
    raise AssertionError("a second copy of a module of Rondel's")
import onnxruntime.backend
assert onnxruntime.backend is rondel.backend and rondel.backend.__name__ == "rondel.backend"
used = onnxruntime.quantization.calibrate.onnxruntime
as_onnxruntime.uninstall()
import onnxruntime.capi.onnxruntime_pybind11_state as real
import onnxruntime.quantization.calibrate as calibrate
assert used is rondel and calibrate.onnxruntime.__name__ == "onnxruntime" and not hasattr(rondel, "quantization")
assert real.InvalidArgument is not InvalidArgument
import onnxruntime
assert onnxruntime.__name__ == "onnxruntime"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_session_in_another_process(tmp_path):
    (tmp_path / "pickled").write_bytes(pickle.dumps(session(MUL)))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).run(None, {'X': [[1, 2], [3, 4], [5, 6]]})[0].sum())"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "pickled"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == "91.0\n"


def test_a_session_built_in_code_says_how_to_copy_it():
    n = rondel.network.Network()
    n.mark_output(n.add_input("x", rondel.network.DataType.FLOAT, (2,)))
    with refused(rondel.CallerError, "built in code", "the bytes of rondel.export(session)") as said:
        pickle.dumps(n.build_session())
    assert "network" not in str(said.value)
    assert "input   x: tensor(float)[2]" in repr(n.build_session())


def test_a_session_is_printed_with_its_file_ports_and_loops(tmp_path):
    path = tmp_path / "loop.onnx"
    path.write_bytes(model(LOOP).SerializeToString())
    made = rondel.InferenceSession(path)
    assert repr(made).splitlines() == [
        f"InferenceSession('{path}')",
        "  input   x: tensor(float)[n]",
        "  input   most: tensor(int64)[]",
        "  output  y: tensor(float)[n]",
        "  loop    node 'root' (Loop): natively, as a whole",
    ]
    assert repr(session(LOOP)).startswith("InferenceSession of 'main'\n")
    path.unlink()
    assert repr(made).splitlines()[-1] == "  output  y: tensor(float)[n]"
    optional = session("main (float[n] x, float[1] b) => (float[n] y) <float[1] b = {1}> { y = Add (x, b) }")
    assert "  input   x: tensor(float)[n]\n  input   b: tensor(float)[1] (optional)\n" in repr(optional)
    assert "tensor(float)[1] (optional)" in optional._repr_html_()


def test_a_report_is_printed_as_the_command_does(tmp_path, capsys):
    from rondel_cli.main import main

    path = tmp_path / "loop.onnx"
    path.write_bytes(model(LOOP).SerializeToString())
    assert main(["inspect", str(path)]) == 0
    report = rondel.inspect(path)
    assert str(report) + "\n" == capsys.readouterr().out and repr(report) == str(report)
    wrong = rondel.inspect(missing_op())
    assert not wrong.runs and str(wrong).splitlines()[-1].startswith("error: node 'y' (CropAndResize): ")


class Texts(HTMLParser):
    """The texts of HTML, each with its tag. Elements must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1], data))


def test_a_report_in_a_notebook():
    texts = Texts(rondel.inspect(model(LOOP))._repr_html_()).texts
    for cell in (("td", "x"), ("td", "tensor(float)[n]"), ("td", "Loop"), ("li", "runs   natively, as a whole"), ("li", "state  s: f32[n]")):
        assert cell in texts, texts
    made = model("main (float[n] x) => (float[n] y) { y = Neg (x) }")
    made.graph.input[0].name = made.graph.node[0].input[0] = "<b>x</b>"
    assert "<b>" not in rondel.inspect(made)._repr_html_()
    assert "<b>" not in rondel.InferenceSession(made)._repr_html_()


def test_a_loop_in_a_notebook():
    (loop,) = rondel.inspect(model(LOOP)).loops
    assert isinstance(loop, dict) and loop["states"] == ["s: f32[n]"]
    assert Texts(loop._repr_html_()).texts == [("p" if k == 0 else "li", line.strip()) for k, line in enumerate(str(loop).splitlines())]


def test_a_session_and_its_profile_in_a_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = rondel.InferenceSession(model(LOOP), options(enable_profiling=True))
    for n in (1, 2, 3):
        session.run(None, {"x": np.ones(n, np.float32), "most": np.array(2)})
    texts = Texts(session._repr_html_()).texts
    for cell in (("p", "InferenceSession of 'main'"), ("td", "most"), ("td", "tensor(int64)[]"), ("td", "y"), ("td", "node 'root' (Loop)"), ("td", "natively, as a whole")):
        assert cell in texts, texts

    path = session.end_profiling()
    texts = Texts(path._repr_html_()).texts
    runs = texts.index(("td", "model_run"))
    assert texts[0] == ("p", path) and texts[runs + 1] == ("td", "3")
    total, mean, least, most = (float(text) for _, text in texts[runs + 2 : runs + 6])
    assert 0 <= least <= mean <= most <= total and abs(total / 3 - mean) < 0.001
    assert texts[-2:] == [("td", "node 'root' (Loop)"), ("td", "natively, as a whole")]
    (tmp_path / path).write_text("[")
    assert path._repr_html_() is None
    (tmp_path / path).unlink()
    assert path._repr_html_() is None and path.endswith(".json")


def test_a_session_does_not_outlive_its_last_use():
    import weakref

    s = session(MUL)
    binding = s.io_binding()
    gone = weakref.ref(s)
    del s, binding
    gc.collect()
    assert gone() is None


# ---- feeds ----------------------------------------------------------------------------------------------

GRID = np.arange(6, dtype=np.float32).reshape(2, 3)
LAYOUTS = {
    "row-major": GRID,
    "column-major": np.asfortranarray(GRID),
    "backwards": GRID[::-1][::-1],
    "another byte order": GRID.astype(">f4"),
    "not aligned": np.frombuffer(b"\0" + GRID.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
    "read-only": np.frombuffer(GRID.tobytes(), np.float32).reshape(2, 3),
    "broadcast": np.broadcast_to(GRID[:1], (2, 3)),
    "a subclass": np.ma.array(GRID),
    "lists": GRID.tolist(),
    "no rows": GRID[:0],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_feed_may_lie_in_memory_in_any_way(layout):
    s = session("g (float[a,b] x) => (float[a,b] y) { y = Neg (x) }")
    x = LAYOUTS[layout]
    for feeds in ({"x": x}, types.MappingProxyType({"x": x})):
        same(s.run(None, feeds)[0], -np.array(x, np.float32))


def test_feeds_beside_lists_and_in_the_background():
    s = session("g (seq(float[n]) x, float[n] z) => (float[m] y) { v = ConcatFromSequence <axis = 0> (x)  y = Mul (v, z) }")
    one, done, got = np.array([3], np.float32), threading.Event(), []
    feeds = {"x": [one, one], "z": one}
    same(s.run(None, feeds)[0], np.array([9, 9], np.float32))
    s.run_async(None, feeds, lambda *said: (got.append(said), done.set()))
    assert done.wait(10) and got[0][2] == ""
    same(got[0][0][0], np.array([9, 9], np.float32))
    with pytest.raises(rondel.CallerError, match="a list of arrays"):
        s.run(None, {"x": one, "z": one})


def test_text_that_is_no_utf8_comes_back_as_it_was_given():
    s = session("g (string[n] x, string[n] z) => (string[n] y) { y = StringConcat (x, z) }")
    given = np.array(["\udc80ä", b"\xff\xfe", np.str_("é")], object)
    got = s.run(None, {"x": given, "z": np.array(["b", "", "d"])})[0]
    assert got.tolist() == ["\udc80äb", "\udcff\udcfe", "éd"]
    for bad, why in (("\ud800", "no Unicode"), (3, "holds a int, 3")):
        with pytest.raises(rondel.CallerError, match=why):
            s.run(None, {"x": np.array([bad], object), "z": np.array(["b"])})
