"""Runs with OrtValues, with inputs and outputs bound to memory, and on a thread of their own."""

import asyncio
import threading

import numpy as np
import pytest
from models import f32, i64, model, refused, run_options, same, session
from runtimes import MUL, both

import rondel

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
ADD = "main (float[n] x, float[n] y) => (float[n] sum, float[n] difference) { sum = Add (x, y)  difference = Sub (x, y) }"


def value(array):
    return rondel.OrtValue.ortvalue_from_numpy(array)


# ---- values ---------------------------------------------------------------------------------------------


@both
def test_packages_find_the_file_of_a_session(ort, tmp_path):
    data = model(ADD).SerializeToString()
    path = tmp_path / "add.onnx"
    path.write_bytes(data)
    s = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert s._model_path == str(path) and s._model_bytes is None
    assert [p.name for p in s._inputs_meta] == ["x", "y"] == [p.name for p in s._sess.inputs_meta]
    assert [p.name for p in s._outputs_meta] == ["sum", "difference"] == [p.name for p in s._sess.outputs_meta]
    s = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert s._model_path is None and s._model_bytes == data


@both
def test_runs_with_values(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    v = ort.OrtValue.ortvalue_from_numpy(X)
    same(s.run(["Y"], {"X": v})[0], X * X)
    for names in (["Y"], [], None):
        (result,) = s.run_with_ort_values(names, {"X": v})
        assert isinstance(result, ort.OrtValue) and result.data_type() == "tensor(float)"
        same(result.numpy(), X * X)
    inner = s._sess.run_with_ort_values({"X": v._get_c_value()}, ["Y"], ort.RunOptions())
    assert isinstance(inner, ort.capi._pybind_state.OrtValueVector) and inner.element_type_at(0) == 1
    same(inner[0].numpy(), X * X)


def test_values_that_are_no_tensors():
    s = session("main (seq(float[n]) q, optional(float[n]) o) => (seq(float[n]) r, optional(float[n]) p) { r = Identity (q)  p = Identity (o) }")
    r, p = s.run_with_ort_values(None, {"q": rondel.OrtValue([f32(1), f32(2, 3)], "seq(tensor(float))")})
    assert r.is_tensor_sequence() and r.data_type() == "seq(tensor(float))" and not p.has_value()
    same(r.to_list()[1], f32(2, 3))
    with refused(rondel.CallerError, "numpy", "seq(tensor(float))", "to_list()"):
        r.numpy()
    with refused(rondel.CallerError, "numpy", "empty"):
        p.numpy()


def test_an_array_where_a_value_is_expected():
    with refused(rondel.CallerError, "input 'X'", "ndarray", "OrtValue", "`run` takes arrays"):
        session(MUL).run_with_ort_values(None, {"X": X})
    with refused(rondel.CallerError, "input_feed", "list"):
        session(MUL).run_with_ort_values(None, [value(X)])


# ---- bound memory ---------------------------------------------------------------------------------------


@both
def test_bound_inputs(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    x = X.copy()
    ways = (
        lambda b: b.bind_cpu_input("X", x),
        lambda b: b.bind_ortvalue_input("X", ort.OrtValue.ortvalue_from_numpy(x)),
        lambda b: b.bind_input("X", "cpu", 0, np.float32, [3, 2], x.ctypes.data),
        lambda b: b.bind_input("X", "cpu", 0, 1, [3, 2], x.ctypes.data),
    )
    for bind in ways:
        x[...] = X
        binding = s.io_binding()
        bind(binding)
        binding.bind_output("Y")
        for factor in (1, 2):
            x[...] = X * factor  # is read in place
            binding.synchronize_inputs()
            s.run_with_iobinding(binding)
            binding.synchronize_outputs()
            same(binding.copy_outputs_to_cpu()[0], X * X * factor)
            same(binding.get_outputs()[0].numpy(), X * X * factor)


@both
def test_outputs_go_into_the_callers_memory(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    targets = np.zeros((2, 3, 2), np.float32)
    kept = ort.OrtValue.ortvalue_from_numpy(targets[1])
    for k, bind in enumerate((
        lambda b: b.bind_output("Y", "cpu", 0, np.float32, [3, 2], targets[0].ctypes.data),
        lambda b: b.bind_ortvalue_output("Y", kept),
    )):  # fmt: skip
        binding = s.io_binding()
        binding.bind_cpu_input("X", X)
        bind(binding)
        for factor in (1, 3):
            binding.bind_cpu_input("X", X * factor)
            s.run_with_iobinding(binding)
            same(targets[k], X * X * factor)
            same(binding.copy_outputs_to_cpu()[0], X * X * factor)
        assert binding.get_outputs()[0].data_ptr() == targets[k].ctypes.data


@both
def test_an_empty_array_may_be_at_0(ort):
    """As torch.empty(0).data_ptr() is: the cache of a decoder's first step."""
    s = ort.InferenceSession(model(ADD).SerializeToString(), providers=["CPUExecutionProvider"])
    binding = s.io_binding()
    for name in ("x", "y"):
        binding.bind_input(name, "cpu", 0, np.float32, [0], 0)
    binding.bind_output("sum")
    s.run_with_iobinding(binding)
    assert binding.copy_outputs_to_cpu()[0].shape == (0,)


@both
def test_the_inner_binding_of_a_binding(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    binding = s.io_binding()
    binding.bind_cpu_input("X", X)
    binding._iobinding.bind_output("Y", ort.capi._pybind_state.OrtDevice(ort.capi._pybind_state.OrtDevice.cpu(), ort.capi._pybind_state.OrtDevice.default_memory(), 0))
    s.run_with_iobinding(binding)
    same(binding._iobinding.get_outputs()[0].numpy(), X * X)
    same(binding.get_outputs()[0].numpy(), X * X)


@both
def test_inner_bindings(ort):
    inner = ort.capi._pybind_state
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    cpu = inner.OrtDevice(inner.OrtDevice.cpu(), inner.OrtDevice.default_memory(), 0)
    v = inner.OrtValue.ortvalue_from_numpy(X, cpu)
    for bind in (lambda b: b.bind_ortvalue_input("X", v), lambda b: b.bind_input("X", cpu, np.float32, X.shape, v.data_ptr()), lambda b: b.bind_input("X", X)):
        binding = inner.SessionIOBinding(s._sess)
        bind(binding)
        binding.bind_output("Y", cpu)
        s._sess.run_with_iobinding(binding, None)
        assert isinstance(binding.get_outputs(), inner.OrtValueVector)
        same(binding.get_outputs()[0].numpy(), X * X)


def test_a_state_stays_in_its_memory():
    """An input and an output in the same memory: the state of a step."""
    s = session("main (float[n] x, float[n] d) => (float[n] next) { next = Add (x, d) }")
    state = value(f32(1, 2))
    binding = s.io_binding()
    binding.bind_ortvalue_input("x", state)
    binding.bind_cpu_input("d", f32(10, 20))
    binding.bind_ortvalue_output("next", state)
    for _ in range(3):
        s.run_with_iobinding(binding)
    same(state.numpy(), f32(31, 62))


def test_the_order_of_outputs_is_that_of_binding():
    s = session(ADD)
    binding = s.io_binding()
    binding.bind_cpu_input("x", f32(3))
    binding.bind_cpu_input("y", f32(1))
    binding.bind_output("difference")
    s.run_with_iobinding(binding)
    assert len(binding.get_outputs()) == 1
    binding.bind_output("sum")
    s.run_with_iobinding(binding)
    same(np.concatenate(binding.copy_outputs_to_cpu()), f32(2, 4))
    assert len(binding.get_outputs_as_ortvaluevector()) == 2
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []
    binding.clear_binding_inputs()
    binding.bind_output("sum")
    with refused(rondel.CallerError, "Required inputs (['x', 'y']) are missing from input feed ([])."):
        s.run_with_iobinding(binding)


@both
def test_an_output_without_memory_may_have_a_type(ort):
    s = ort.InferenceSession(MUL, providers=["CPUExecutionProvider"])
    binding = s.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y", "cpu", 0, np.float32, [3, 2])
    s.run_with_iobinding(binding)
    same(binding.copy_outputs_to_cpu()[0], X * X)


def test_if_a_target_does_not_fit_none_is_written():
    s = session(ADD)
    good, short, other = np.zeros(2, np.float32), np.zeros(3, np.float32), np.zeros(2)
    for wrong, words in ((short, ("float32[3]", "float32[2]")), (other, ("float64[2]",))):
        binding = s.io_binding()
        binding.bind_cpu_input("x", f32(1, 2))
        binding.bind_cpu_input("y", f32(1, 2))
        binding.bind_ortvalue_output("sum", value(good))
        binding.bind_ortvalue_output("difference", value(wrong))
        with refused(rondel.CallerError, "output 'difference'", *words):
            s.run_with_iobinding(binding)
        assert not good.any() and binding.get_outputs() == []


def test_a_list_has_no_memory_to_bind():
    s = session("main (seq(float[n]) q) => (seq(float[n]) r) { r = Identity (q) }")
    binding = s.io_binding()
    binding.bind_cpu_input("q", [f32(1)])
    binding.bind_ortvalue_output("r", value(f32(0)))
    with refused(rondel.CallerError, "output 'r'", "seq(tensor(float))"):
        s.run_with_iobinding(binding)
    binding.bind_output("r")
    s.run_with_iobinding(binding)
    same(binding.copy_outputs_to_cpu()[0][0], f32(1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: b.bind_cpu_input("Z", X), ("no input 'Z'", "'X'")),
        (lambda b: b.bind_output("Z"), ("no output 'Z'", "'Y'")),
        (lambda b: b.bind_ortvalue_input("X", X), ("'X'", "ndarray", "ortvalue_from_numpy")),
        (lambda b: b.bind_ortvalue_output("Y", X), ("'Y'", "ndarray")),
        (lambda b: b.bind_ortvalue_output("Y", rondel.OrtValue(None, "optional(tensor(float))")), ("'Y'", "optional")),
        (lambda b: b.bind_output("Y", buffer_ptr=1), ("`element_type` and `shape` are to be provided if pre-allocated memory is provided",)),
        (lambda b: b.bind_input("X", "cpu", 0, np.float32, [3, 2], 0), ("address", "0")),
        (lambda b: b.bind_input("X", "cpu", 0, np.float32, [3, 2], X), ("address",)),
        (lambda b: b.bind_input("X", "cpu", 0, str, [3, 2], 8), ("strings",)),
        (lambda b: b._session.run_with_iobinding(b), ("no output is bound",)),
        (lambda b: b._session.run_with_iobinding(X), ("iobinding", "ndarray")),
        (lambda b: rondel.InferenceSession(MUL).run_with_iobinding(b), ("the session that created it",)),
    ],
)
def test_what_cannot_be_bound(call, words):
    with refused(rondel.CallerError, *words):
        call(rondel.InferenceSession(MUL).io_binding())


# ---- threads --------------------------------------------------------------------------------------------


@both
def test_run_async(ort):
    done, got = threading.Event(), []
    chosen = ort.SessionOptions()
    chosen.intra_op_num_threads = 2
    s = ort.InferenceSession(MUL, chosen, providers=["CPUExecutionProvider"])

    def callback(outputs, data, failure):
        got.append((outputs, data, failure))
        done.set()

    s.run_async(["Y"], {"X": X}, callback, "my data")
    assert done.wait(10)
    ((outputs, data, failure),) = got
    assert data == "my data" and failure == ""
    same(outputs[0], X * X)


def test_run_async_says_what_went_wrong():
    done, got = threading.Event(), []
    s = session("main (float[n] x, int64 k) => (float y) { y = Gather (x, k) }")
    s.run_async(None, {"x": f32(1), "k": np.array(7)}, lambda *said: (got.append(said), done.set()))
    assert done.wait(10)
    ((outputs, data, failure),) = got
    assert outputs == [] and data is None and "Gather" in failure and "7" in failure
    with refused(rondel.CallerError, "Required inputs (['k'])"):
        s.run_async(None, {"x": f32(1)}, print)
    with refused(rondel.CallerError, "callback", "str"):
        s.run_async(None, {"x": f32(1), "k": i64(0)}, "print")


@pytest.fixture
def op_that_raises():
    """A session whose op raises what is put into the list."""
    raised = []

    def op(x):
        if raised:
            raise raised[0]
        return x

    rondel.register_op("async", "Op", op)
    yield session("main (float[n] x) => (float[n] y) { y = async.Op (x) }", domains={"async": 1}), raised
    rondel.unregister_op("async", "Op")


@pytest.mark.parametrize("error, text", [(ValueError("no"), "no"), (SystemExit(3), "SystemExit: 3"), (asyncio.CancelledError(), "CancelledError: ")])
def test_run_async_calls_back_whatever_an_op_raises(error, text, op_that_raises, monkeypatch):
    s, raised = op_that_raises
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    done, got = threading.Event(), []
    raised.append(error)
    s.run_async(None, {"x": f32(1)}, lambda *said: (got.append(said), done.set()))
    assert done.wait(10)
    ((outputs, _, failure),) = got
    assert outputs == [] and text in failure


class Later:
    """In place of threading.Thread: the work waits for `join`."""

    made = []

    def __init__(self, target, name):
        self.join = target
        self.made.append(self)

    def start(self):
        pass


def test_run_async_takes_the_options_as_they_are_then(monkeypatch):
    """One RunOptions serves many runs: each has the values from when it was asked for. Only `terminate` reaches those under way."""
    s = session("main (float[n] x) => (float[n] y) { y = RandomUniformLike <dtype = 1> (x) }")
    one, given, got = run_options(deadline=100), {"x": f32(*range(9))}, []
    want = [s.run(None, given, run_options(seed=k))[0] for k in range(3)]
    monkeypatch.setattr("rondel.session.threading.Thread", Later)
    for k in range(3):
        one.seed = k
        s.run_async(None, given, lambda *said: got.append(said), k, one)
    one.deadline, one.max_trips, one.max_memory_bytes = 0, 0, 0
    for late in Later.made[-3:]:
        late.join()
    assert [data for _, data, _ in got] == [0, 1, 2] and {failure for *_, failure in got} == {""}
    for (outputs, *_), expected in zip(got, want, strict=True):
        same(outputs[0], expected)
    one.deadline, one.max_memory_bytes = None, 2**40
    s.run_async(None, given, lambda *said: got.append(said), 3, one)
    one.terminate = True
    Later.made[-1].join()
    assert "terminate flag" in got[-1][2]
