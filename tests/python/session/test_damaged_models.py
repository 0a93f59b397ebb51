"""Sources that are no model: missing, empty, cut off, noise, of another kind, nested too deeply. Each raises an error of the right kind; none may crash."""

import random

import numpy as np
import onnx
import pytest
import rondel
from models import f32, refused, run, value
from onnx import TensorProto, helper
from session_cases import FEEDS, good_bytes


def test_the_kinds_of_errors():
    assert issubclass(rondel.Error, Exception)
    assert issubclass(rondel.CallerError, (rondel.Error,)) and issubclass(rondel.CallerError, ValueError)
    assert issubclass(rondel.UnsupportedError, rondel.Error)
    assert issubclass(rondel.UnsupportedError, NotImplementedError)
    for kind in (rondel.InternalError, rondel.LimitExceeded, rondel.Cancelled, rondel.DeadlineExceeded):
        assert issubclass(kind, rondel.Error)
        assert not issubclass(kind, rondel.CallerError)


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere.onnx"
    with refused(rondel.CallerError, "nowhere.onnx"):
        rondel.InferenceSession(str(path))
    with refused(rondel.CallerError, "nowhere.onnx"):
        rondel.InferenceSession(path)


def test_a_folder_is_not_a_model(tmp_path):
    with refused(rondel.CallerError, tmp_path.name):
        rondel.InferenceSession(str(tmp_path))


@pytest.mark.parametrize("source", ["file", "bytes"])
def test_an_empty_model_is_refused(source, tmp_path):
    path = tmp_path / "empty.onnx"
    path.write_bytes(b"")
    with refused(rondel.CallerError, ("empty", "no graph", "model")):
        rondel.InferenceSession(str(path) if source == "file" else b"")


@pytest.mark.parametrize("read", [rondel.InferenceSession, rondel.inspect, rondel.export])
@pytest.mark.parametrize("name, content", [("notes.txt", b"hello"), ("model", b"graph {}")])
def test_a_file_of_a_kind_that_nobody_reads_is_refused(read, name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with refused(rondel.CallerError, f"'{path}' is no model of a kind that is read here", "onnx (", ".onnx"):
        read(path)
    with refused(rondel.CallerError, f"the {len(content)} bytes are no model", "onnx ("):
        read(content)


def test_a_model_is_known_by_what_it_holds_where_its_name_says_nothing(tmp_path):
    for name in ("model.onnx", "MODEL.ONNX", "model", "model.bin"):
        path = tmp_path / name
        path.write_bytes(good_bytes())
        assert rondel.InferenceSession(path).run(None, FEEDS)[0].tolist() == [[2.0] * 3] * 2


# ---- damaged bytes ---------------------------------------------------------------------------------------


def test_a_model_cut_anywhere_never_crashes():
    whole = good_bytes()
    for length in range(1, len(whole)):
        try:
            s = rondel.InferenceSession(whole[:length])
        except rondel.InternalError as error:
            pytest.fail(f"{length} of {len(whole)} bytes: blamed on ourselves: {error}")
        except rondel.Error:
            continue
        # A truncated file may end at the end of a field (a graph without its opset import), so that it parses: it must not crash either.
        with np.errstate(all="ignore"):
            try:
                s.run(None, FEEDS)
            except rondel.InternalError as error:
                pytest.fail(f"{length} of {len(whole)} bytes: blamed on ourselves: {error}")
            except rondel.Error:
                pass


def test_a_file_that_is_cut_off_is_the_callers_error(tmp_path):
    whole = good_bytes()
    path = tmp_path / "cut.onnx"
    path.write_bytes(whole[: len(whole) // 2])
    with refused(rondel.CallerError, "cut.onnx"):
        rondel.InferenceSession(str(path))


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes_are_refused(seed):
    source = random.Random(seed)
    noise = source.randbytes(source.choice([1, 2, 7, 64, 1000, 4096]))
    with pytest.raises((rondel.CallerError, rondel.UnsupportedError)):
        rondel.InferenceSession(noise)


@pytest.mark.parametrize("seed", range(200))
def test_flipped_bytes_never_crash(seed):
    source = random.Random(seed)
    spoiled = bytearray(good_bytes())
    for _ in range(source.randint(1, 4)):
        spoiled[source.randrange(len(spoiled))] = source.randrange(256)
    try:
        rondel.InferenceSession(bytes(spoiled)).run(None, FEEDS)
    except rondel.InternalError as error:
        pytest.fail(f"seed {seed}: blamed on ourselves: {error}")
    except rondel.Error:
        pass


# ---- depth -----------------------------------------------------------------------------------------------


def nested_if(levels):
    def branch(level):
        if level == 0:
            node = helper.make_node("Neg", ["x"], ["r0"])
        else:
            inner = branch(level - 1)
            node = helper.make_node("If", ["c"], [f"r{level}"], then_branch=inner, else_branch=inner)
        return helper.make_graph([node], f"g{level}", [], [value(f"r{level}", TensorProto.FLOAT, [2])])

    graph = branch(levels)
    graph.input.extend([value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def test_nesting_loads_or_is_refused_in_reasonable_time():
    np.testing.assert_array_equal(
        run(nested_if(6), {"c": np.array(True), "x": f32(1, 2)})[0],
        f32(-1, -2),
    )


def field(number, payload):
    """An encoded length-delimited protobuf field: the protobuf package refuses messages nested this deep."""
    length, size = b"", len(payload)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


@pytest.mark.parametrize("levels", [20, 100, 1000, 4000])
def test_very_deep_nesting_never_crashes(levels):
    # One branch nests, the other is flat: the size stays linear in the depth.
    shell = helper.make_graph([], "g", [], [value("r", TensorProto.FLOAT, [2])]).SerializeToString()
    flat = field(1, helper.make_node("Neg", ["x"], ["r"]).SerializeToString()) + shell
    is_graph = bytes([20 << 3 & 127 | 128, 20 >> 4, 5])  # AttributeProto.type = GRAPH
    other = field(5, field(1, b"else_branch") + field(6, flat) + is_graph)
    nested = flat
    for _ in range(levels):
        attribute = field(5, field(1, b"then_branch") + field(6, nested) + is_graph)
        node = field(1, b"c") + field(2, b"r") + field(4, b"If") + attribute + other
        nested = field(1, node) + shell
    inputs = b"".join(
        field(11, v.SerializeToString()) for v in (value("c", TensorProto.BOOL, []), value("x", TensorProto.FLOAT, [2]))
    )
    header = helper.make_model(onnx.GraphProto(), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    header.ClearField("graph")
    whole = header.SerializeToString() + field(7, nested + inputs)
    try:
        (r,) = rondel.InferenceSession(whole).run(None, {"c": np.array(True), "x": f32(1, 2)})
    except rondel.InternalError as error:
        pytest.fail(f"blamed on ourselves: {error}")
    except rondel.Error:
        assert levels > 20, "twenty levels are what people write"
    else:
        np.testing.assert_array_equal(r, f32(-1, -2))
